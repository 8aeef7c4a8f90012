//! The tools of a family by name, and the one way in which a call of them is run.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jsonschema::Validator;
use kinfolk_actors::call::{CallStatus, read_arguments};
use kinfolk_actors::id::CallId;
use kinfolk_actors::text::{bounded, head};
use serde_json::{Map, Value};
use tokio::task::JoinError;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::panic_text::panic_text;
use crate::ports::tool::{Call, ToolAnswer, ToolOutput};
use crate::tools::own_task::OwnTask;
use crate::tools::tool::Tool;

/// How long a cancelled call may take to end by itself before it is dropped.
pub const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// The most bytes of one output that are kept in memory; the rest is cut with a mark.
pub const OUTPUT_CAP: usize = 1024 * 1024;

/// The longest name of a tool in bytes; providers refuse longer ones.
pub const NAME_CAP: usize = 64;

/// The most schema errors of one call that the model is told of at once.
const ERRORS_TOLD: usize = 5;

/// The most bytes of one schema error: it may quote an argument of any size.
const ERROR_CAP: usize = 500;

/// Tools by name. Each has a valid name of its own and a schema of one JSON object, compiled once.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<Arc<str>, Arc<Held>>,
}

/// A tool that was checked.
struct Held {
    tool: Tool,
    schema: Validator,
}

/// A tool that a toolbox cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolboxError {
    /// The name is not one that calls can use.
    #[error("`{name}` is not a valid tool name: use 1 to 64 of A-Z a-z 0-9 _ -")]
    Name {
        /// The name, cut to a readable length.
        name: String,
    },
    /// Another tool has the name.
    #[error("there are two tools named `{name}`: rename or remove one")]
    Duplicate {
        /// The name that both have.
        name: Arc<str>,
    },
    /// The arguments' schema is not the schema of a JSON object.
    #[error("the schema of the tool `{name}` cannot be used: {reason}")]
    Schema {
        /// The tool.
        name: Arc<str>,
        /// What is wrong with its schema.
        reason: String,
    },
}

/// One call to run.
#[derive(Clone, Debug)]
pub struct Dispatch<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// The call's id.
    pub call: CallId,
    /// The arguments as the model wrote them.
    pub arguments: &'a str,
    /// The run's workspace directory, if it has one.
    pub workspace: Option<Arc<Path>>,
    /// Fires when the call has to end.
    pub cancelled: CancellationToken,
}

/// How a call ended and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The status, and the text for the model: at most [`OUTPUT_CAP`] bytes and a mark; or that
    /// the result comes later.
    pub answer: ToolAnswer,
    /// From the start of the call to its end.
    pub duration: Duration,
}

impl Ran {
    /// What the tool said, unless it answers later.
    #[must_use]
    pub fn output(self) -> Option<ToolOutput> {
        match self.answer {
            ToolAnswer::Done(output) => Some(output),
            ToolAnswer::Later => None,
        }
    }
}

impl Toolbox {
    /// A toolbox of these tools.
    ///
    /// # Errors
    /// The first tool that cannot be taken, by name.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, ToolboxError> {
        let mut toolbox = Self::default();
        for tool in tools {
            toolbox.add(tool)?;
        }
        Ok(toolbox)
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Its name is invalid or taken, or its schema is not the schema of an object. The toolbox is
    /// unchanged then.
    pub fn add(&mut self, tool: Tool) -> Result<(), ToolboxError> {
        let name = Arc::clone(&tool.spec().name);
        if !is_name(&name) {
            return Err(ToolboxError::Name { name: head(&name, 2 * NAME_CAP).to_owned() });
        }
        if self.tools.contains_key(&name) {
            return Err(ToolboxError::Duplicate { name });
        }
        let schema = compiled(&tool.spec().schema)
            .map_err(|reason| ToolboxError::Schema { name: Arc::clone(&name), reason })?;
        self.tools.insert(name, Arc::new(Held { tool, schema }));
        Ok(())
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name).map(|held| &held.tool)
    }

    /// The tools in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values().map(|held| &held.tool)
    }

    /// Runs one call to its end, whatever happens in it: never fails and never panics.
    ///
    /// | what happens | status |
    /// | --- | --- |
    /// | no tool of that name | `unknown_tool` |
    /// | the arguments are not JSON or do not fit the schema | `malformed` |
    /// | the tool answers | its own, or later |
    /// | the tool panics | `error`, with the panic's text |
    /// | its time is up | `timeout`; the tool is dropped |
    /// | cancelled, and the tool still succeeds within [`CANCEL_GRACE`] | `ok` |
    /// | cancelled, else | `cancelled`; the tool is dropped |
    ///
    /// The tool runs as a task of its own, so that one that blocks its thread holds up neither its
    /// time limit nor a cancel, as long as the runtime has another thread. The blocked thread
    /// itself cannot be ended: the call is answered without it, and it stays lost until the tool
    /// gives it back.
    ///
    /// Dropping the future drops the tool, at its next await if it is at work just then, and fires
    /// the call's own token, so that blocking work of the tool ends too. Needs a tokio runtime.
    pub async fn run(&self, dispatch: Dispatch<'_>) -> Ran {
        let started = Instant::now();
        let answer = match self.prepare(&dispatch) {
            Ok((tool, arguments)) => supervised(tool, arguments, dispatch).await,
            Err(refused) => refused.into(),
        };
        let answer = match answer {
            ToolAnswer::Done(ToolOutput { status, text }) => {
                ToolOutput { status, text: bounded(&text, OUTPUT_CAP).text }.into()
            }
            ToolAnswer::Later => ToolAnswer::Later,
        };
        Ran { answer, duration: started.elapsed() }
    }

    /// The tool and the arguments that fit its schema, or the result that says why not.
    fn prepare(&self, call: &Dispatch<'_>) -> Result<(&Tool, Map<String, Value>), ToolOutput> {
        let Some(held) = self.tools.get(call.name) else {
            let names: Vec<&str> = self.tools.keys().map(AsRef::as_ref).collect();
            let asked = head(call.name, 2 * NAME_CAP);
            let text = format!("no tool `{asked}`; the tools are: {}", names.join(", "));
            return Err(ToolOutput { status: CallStatus::UnknownTool, text: text.into() });
        };
        let arguments = read_arguments(call.arguments).map_err(malformed)?;
        let arguments = Value::Object(arguments);
        let errors = misfits(&held.schema, &arguments);
        match arguments {
            Value::Object(arguments) if errors.is_empty() => Ok((&held.tool, arguments)),
            _ => Err(malformed(format!("the arguments do not fit:\n{}", errors.join("\n")))),
        }
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.keys()).finish()
    }
}

/// Whether providers take it as the name of a tool.
fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=NAME_CAP).contains(&name.len()) && name.chars().all(allowed)
}

fn compiled(schema: &str) -> Result<Validator, String> {
    let schema: Value =
        serde_json::from_str(schema).map_err(|error| format!("it is not JSON: {error}"))?;
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return Err("arguments are one JSON object, so it must say `\"type\": \"object\"`".into());
    }
    jsonschema::validator_for(&schema).map_err(|error| error.to_string())
}

/// What is wrong with the arguments, a line each: where, and what would be right.
fn misfits(schema: &Validator, arguments: &Value) -> Vec<String> {
    let line = |error: jsonschema::ValidationError<'_>| {
        let text = error.to_string();
        let text = match head(&text, ERROR_CAP) {
            whole if whole.len() == text.len() => text,
            cut => format!("{cut} [cut]"),
        };
        match error.instance_path().as_str() {
            "" => format!("- {text}"),
            path => format!("- at `{}`: {text}", head(path, ERROR_CAP)),
        }
    };
    schema.iter_errors(arguments).take(ERRORS_TOLD).map(line).collect()
}

fn malformed(text: String) -> ToolOutput {
    ToolOutput { status: CallStatus::Malformed, text: text.into() }
}

/// Runs a tool under its time limit and the call's token.
async fn supervised(
    tool: &Tool,
    arguments: Map<String, Value>,
    dispatch: Dispatch<'_>,
) -> ToolAnswer {
    let cancelled = dispatch.cancelled;
    if cancelled.is_cancelled() {
        return cancelled_output("cancelled before it began").into();
    }
    // The tool's own token also fires on a timeout and when this future is dropped: blocking work
    // cannot be dropped, it has to be told.
    let own = cancelled.child_token();
    let _ended = own.clone().drop_guard();
    let call = Call::new(dispatch.call, arguments, dispatch.workspace, own);
    let runs = tool.clone();
    let mut work = OwnTask::start(async move { runs.run(call).await });
    let settled =
        |ended: Result<ToolAnswer, JoinError>| match ended.map_err(JoinError::try_into_panic) {
            Ok(answer) => answer,
            Err(Ok(panic)) => panicked(tool.name(), panic).into(),
            Err(Err(_)) => cancelled_output("the runtime is shutting down").into(),
        };
    tokio::select! {
        biased;
        ended = work.end() => {
            let answer = settled(ended);
            if cancelled.is_cancelled() { after_cancel(answer) } else { answer }
        }
        () = cancelled.cancelled() => match timeout(CANCEL_GRACE, work.end()).await {
            Ok(ended) => after_cancel(settled(ended)),
            Err(_) => cancelled_output("cancelled before it was done").into(),
        },
        () = sleep(tool.time_limit()) => {
            let text = format!("it took longer than its limit of {:?}", tool.time_limit());
            ToolOutput { status: CallStatus::Timeout, text: text.into() }.into()
        }
    }
}

/// What a tool said after its call was cancelled. A success is a fact and stays one; any failure
/// may be the cancel's doing.
fn after_cancel(answer: ToolAnswer) -> ToolAnswer {
    match answer {
        ToolAnswer::Done(ToolOutput { status, text }) if status.is_error() => {
            ToolOutput { status: CallStatus::Cancelled, text }.into()
        }
        ToolAnswer::Done(_) | ToolAnswer::Later => answer,
    }
}

fn cancelled_output(text: &str) -> ToolOutput {
    ToolOutput { status: CallStatus::Cancelled, text: text.into() }
}

fn panicked(name: &str, panic: Box<dyn Any + Send>) -> ToolOutput {
    let text = panic_text(panic.as_ref());
    ToolOutput::error(format!("the tool `{name}` panicked: {text}"))
}
