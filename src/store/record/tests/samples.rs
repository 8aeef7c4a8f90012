//! Fixed events. Golden files hold these values: they never change.

pub(super) mod v1;
pub(super) mod v2;

use kinfolk_actors::event::{Event, Message};
use kinfolk_actors::failure::{Attribution, ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, Attempt, CallId, Offset, RunId};
use kinfolk_actors::time::Timestamp;
use uuid::Uuid;

use crate::ports::store::Record;

/// How many kinds [`kind_of`] tells apart.
pub(super) const KINDS: usize = 27;

/// The stored number of each kind of event; a new kind breaks the build here, and then needs a
/// sample.
pub(super) fn kind_of(event: &Event) -> usize {
    match event {
        Event::RunStarted(_) => 0,
        Event::RunResumed(_) => 1,
        Event::Message(Message::User(_)) => 2,
        Event::Message(Message::Assistant(_)) => 3,
        Event::ModelRequest(_) => 4,
        Event::ModelFailed(_) => 5,
        Event::ToolStarted(_) => 6,
        Event::ToolFinished(_) => 7,
        Event::SubagentStarted(_) => 8,
        Event::SubagentFinished(_) => 9,
        Event::Ending(_) => 10,
        Event::RunFinished(_) => 11,
        Event::RunInterrupted(_) => 12,
        Event::CallAudited(_) => 13,
        Event::CallDeferred(_) => 14,
        Event::ToolsActivated(_) => 15,
        Event::ApprovalRequested(_) => 16,
        Event::ApprovalSettled(_) => 17,
        Event::QuestionAsked(_) => 18,
        Event::QuestionAnswered(_) => 19,
        Event::CompactionAsked => 20,
        Event::InterruptAsked { .. } => 21,
        Event::CompactionStarted(_) => 22,
        Event::CompactionFinished(_) => 23,
        Event::LimitWarning(_) => 24,
        Event::LimitReached(_) => 25,
        Event::QuestionWithdrawn { .. } => 26,
    }
}

/// A record of these events.
pub(super) fn record(events: Vec<Event>) -> Record {
    Record {
        session: "trip-42".parse().unwrap(),
        run: run(),
        attempt: Attempt(2),
        agent: AgentId(1),
        at: Timestamp(1_790_000_000_123),
        first: Offset(7),
        events,
    }
}

fn run() -> RunId {
    RunId(Uuid::from_u128(0x0199_7c0f_fee0_7000_8000_0000_0000_0001))
}

fn call() -> CallId {
    CallId { run: run(), agent: AgentId(1), n: 300 }
}

fn failure() -> Failure {
    Failure {
        code: ErrorCode::from("model.from_the_future"),
        attribution: Attribution::Provider,
        retryable: true,
        message: "Störung".into(),
    }
}
