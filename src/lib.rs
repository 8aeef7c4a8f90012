//! Kinfolk runs families of LLM agents: a lead, the subagents that it starts, their tools and
//! everything that they say, supervised as one tree, durable step by step, cancellable as a whole.
//!
//! A run survives the process. Each step is in the journal before anything that it implies
//! happens, so that a run that was cut off, also by `kill -9`, goes on where its journal ends.
//!
//! # Quick start
//!
//! A lead with one tool, on a model that follows a script: no network, no key.
//!
//! ```
//! use kinfolk::{Call, Family, Runtime, Scripted, ScriptedReply, Tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct City { name: String }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let model = Scripted::builder() // `OpenAi::from_env()?` asks a real one
//!         .reply("lead", 1, ScriptedReply::default().call("weather", r#"{"name":"Esbjerg"}"#))
//!         .reply("lead", 2, ScriptedReply::text("Esbjerg is sunny: take the ferry to Fanø."))
//!         .build();
//!     let weather = |city: City, _: Call| async move { format!("{}: sunny", city.name) };
//!     let weather = Tool::function("weather", "Weather of a city today", weather).read_only();
//!     let runtime = Runtime::builder().model("scripted:trip", model).start().await?;
//!     let family = Family::lead("You plan trips.").tool(weather);
//!     let session = runtime.session("trip-42").family(family).open().await?;
//!     let mut run = session.start("Plan a weekend in Esbjerg").await?; // durable when this returns
//!     while let Some(event) = run.next().await {
//!         println!("{event}"); // one JSON object a line
//!     }
//!     println!("{}", run.outcome().await?.text);
//!     # assert_eq!(&*run.outcome().await?.text, "Esbjerg is sunny: take the ferry to Fanø.");
//!     runtime.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! # Where to look
//!
//! * [`Runtime::builder`] says where a runtime keeps its journal and which models it has;
//!   [`RuntimeBuilder::sled`] keeps it in a directory.
//! * [`Family`] and [`Subagent`] say who takes part, [`Tool`] what they can do, [`Caps`] how large
//!   the family may grow, [`ApprovalMode`] whether tools that change something run.
//! * [`Session::start`] starts a run, [`Session::resume`] and [`Runtime::resume`] go on with one.
//! * [`Run`] is a stream of [`RunEvent`]s and everything of a [`RunControl`], which whoever does not
//!   read the stream has alone: a [`cancel`](RunControl::cancel) that returns when the whole tree
//!   is dead, an [`outcome`](RunControl::outcome), [`steer`](RunControl::steer),
//!   [`queue`](RunControl::queue), [`interrupt`](RunControl::interrupt),
//!   [`resume`](RunControl::resume) and more.
//! * A run that waits for a person, a client or a later answer is parked: [`RunControl::settled`]
//!   says so, [`Session::pending`] what is asked, [`RunControl::approve`],
//!   [`RunControl::answer`] and [`RunControl::deliver`] go on with it, also in another process
//!   after [`Runtime::resume`].
//!
//! The three hooks that hosts know from agent loops are calls here. Whether a run is cancelled, a
//! tool reads from [`Call::cancelled`] and an executor from its [`Stop`](ports::executor::Stop).
//! To wait for a human in the loop is [`RunControl::settled`], [`Session::pending`] and an answer.
//! Messages that came in meanwhile are drained into the run by [`RunControl::steer`], or left to
//! the next one by [`RunControl::queue`].
//!
//! Beyond that:
//!
//! * [`ports`] are the traits behind which models, stores, tools and the clock stand; adapters of
//!   one's own implement them. [`model`], [`store`] and [`tools`] are those that come along.
//! * [`actors`] is the crate that decides: pure, without clock, I/O or randomness.
//!
//! A handle that is dropped stops nothing; a run goes on until it ends, is cancelled, or its
//! runtime is shut down. Several runtimes can live in one process; nothing is global. Futures say
//! in their docs whether they can be dropped without harm.

/// The Rust of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod control;
pub mod definition;
pub mod events;
pub(crate) mod family;
pub(crate) mod gateway;
pub(crate) mod hub;
pub(crate) mod journal;
pub mod model;
pub mod output;
pub(crate) mod panic_text;
pub mod ports;
pub mod runtime;
pub mod settings;
pub(crate) mod shell;
pub mod store;
pub(crate) mod supervise;
pub mod tools;

pub use kinfolk_actors as actors;
pub use kinfolk_actors::agent::{Approve, Refusal, RunStanding, Verdict};
pub use kinfolk_actors::call::CallStatus;
pub use kinfolk_actors::compaction::{CompactionSettings, Fallback};
pub use kinfolk_actors::event::{Event, FinishReason, Outcome};
pub use kinfolk_actors::failure::{Attribution, ErrorCode, Failure};
pub use kinfolk_actors::family::{Caps, Delivery, ToolChoice, ToolChoicePlan};
pub use kinfolk_actors::id::{AgentId, AskId, CallId, Offset, RunId, SessionId};
pub use kinfolk_actors::limits::{ChildBudget, Limits, OnLimit};
pub use kinfolk_actors::money::Money;
pub use kinfolk_actors::policy::{Mode as ApprovalMode, Policy};
pub use kinfolk_actors::profile::ProfileOverrides;
pub use kinfolk_actors::time::Millis;
pub use kinfolk_actors::usage::Usage;

pub use crate::definition::amounts::{hours, minutes, seconds};
pub use crate::definition::{Family, Subagent};
pub use crate::events::{Progress, ProgressKind, RunEvent};
pub use crate::model::explorer::Explorer;
pub use crate::model::openai::{OpenAi, OpenAiSettings};
pub use crate::model::retry::RetryPolicy;
pub use crate::model::scripted::{Scripted, ScriptedReply};
pub use crate::ports::audit::Audit;
pub use crate::ports::cost::CostFunction;
pub use crate::ports::executor::{Executor, ExecutorKind};
pub use crate::ports::tool::{Call, RunTool, ToolAnswer, ToolOutput};
pub use crate::runtime::{
    Attended, CancelError, FamilyError, OpenError, OutcomeError, Pending, PendingAsk, Run,
    RunControl, RunOutcome, Runtime, RuntimeBuilder, RuntimeError, Session, SessionBuilder,
    Settled, StartError, WishError,
};
pub use crate::tools::answer::{Answer, Json};
pub use crate::tools::tool::Tool;
