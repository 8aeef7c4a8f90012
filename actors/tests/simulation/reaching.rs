//! The stories have to reach what the laws speak of, each at least a hundred times. Every list is
//! complete: a new variant breaks the build here, until it is reached or named as out of reach.

use kinfolk_actors::agent::{Command, Key, Outcome, Phase, Refusal, RunStanding, Timer};
use kinfolk_actors::brain::StepContext;
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::compaction::Trigger;
use kinfolk_actors::event::{Decision, Event, FinishReason, Outcome as End, Source};
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::instruction::InstructionKind;
use kinfolk_actors::limits::LimitKind;

use crate::coverage::{name, reached, snake, table, variants};
use crate::families::verdict;
use crate::invariant;

/// How often each thing has to be reached in a whole test run.
const ENOUGH: u64 = 100;

/// How often each law has to have had something to say: each is held over 10,000 families.
const CASES: u64 = 1_000;

#[test]
fn every_corner_is_reached_a_hundred_times() {
    let verdict = verdict();
    if !verdict.whole() {
        return;
    }
    let races = reached("race", "lost");
    assert!(races >= ENOUGH, "races: {races}\n{}", table());
    let missing: Vec<String> = expected()
        .iter()
        .map(|(kind, what)| (kind, what, reached(kind, what)))
        .filter(|(_, _, times)| *times < ENOUGH)
        .map(|(kind, what, times)| format!("{kind} {what}: {times}"))
        .collect();
    assert!(missing.is_empty(), "reached too seldom: {missing:#?}\n{}", table());
}

#[test]
fn every_law_has_seen_a_thousand_cases() {
    if !verdict().whole() {
        return;
    }
    let laws = invariant::all();
    let laws = laws.iter().map(|law| law.name()).filter(|law| !OF_EVERY_STEP.contains(law));
    let few: Vec<String> = laws
        .chain(["notices"])
        .map(|law| (law, reached("case", law)))
        .filter(|(law, cases)| *cases < if *law == RARE { ENOUGH } else { CASES })
        .map(|(law, cases)| format!("{law}: {cases}"))
        .collect();
    assert!(few.is_empty(), "{few:?}");
}

/// It speaks only of calls that change something and were under way when the process died.
const RARE: &str = "crash";

/// What speaks of every step, so that it is never without a case, and what is no law.
const OF_EVERY_STEP: [&str; 5] = ["dense", "flight", "reached", "replay", "tree"];

fn expected() -> Vec<(&'static str, String)> {
    let mut expected: Vec<(&str, String)> = vec![];
    let mut expect = |kind, names: Vec<String>| {
        expected.extend(names.into_iter().map(|name| (kind, name)));
    };
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let snakes = |names: &[&str]| names.iter().map(|name| snake(name)).collect();
    expect("context", owned(&StepContext::PHASES));
    expect("instruction", InstructionKind::ALL.iter().map(name).collect());
    expect("phase", snakes(phases()));
    expect("standing", owned(standings()));
    expect("reason", owned(reasons()));
    expect("outcome of a run", owned(ends()));
    expect("refusal", owned(refusals()));
    let codes = ErrorCode::ALL.iter().filter(|code| is_found_here(code));
    expect("code", codes.map(|code| code.as_str().to_owned()).collect());
    expect("status", owned(statuses()));
    expect("event", owned(events()));
    expect("key", owned(keys()));
    expect("key", timers().iter().map(|timer| key_of(timer)).collect());
    expect("outcome", owned(outcomes()));
    expect("command", owned(commands()));
    expect("decision", owned(decisions()));
    expect("trigger", owned(triggers()));
    expect("source", owned(sources()));
    expect("limit", snakes(limits()));
    expected
}

/// Timers are counted by what they wait for.
fn key_of(timer: &str) -> String {
    match timer {
        "Call" | "Ask" => format!("Timer{timer}"),
        other => other.to_owned(),
    }
}

/// Whether the kernel itself finds a failure of this code. The others are made by what it is told
/// of: models, stores and hosts.
fn is_found_here(code: &ErrorCode) -> bool {
    match code {
        ErrorCode::ModelContextOverflow
        | ErrorCode::ModelCancelled
        | ErrorCode::ModelToolCallRequired
        | ErrorCode::LoopDetected
        | ErrorCode::ContextFull
        | ErrorCode::CompactionFailed
        | ErrorCode::LimitSteps
        | ErrorCode::LimitToolCalls
        | ErrorCode::LimitTokens
        | ErrorCode::LimitCost
        | ErrorCode::LimitTime
        | ErrorCode::AgentCrashed
        | ErrorCode::EffectPanicked
        | ErrorCode::BrainStuck
        | ErrorCode::ServiceDown => true,
        ErrorCode::ModelUnreachable
        | ErrorCode::ModelTimeout
        | ErrorCode::ModelRateLimited
        | ErrorCode::ModelUnavailable
        | ErrorCode::ModelUnauthorized
        | ErrorCode::ModelQuota
        | ErrorCode::ModelNotFound
        | ErrorCode::ModelBadRequest
        | ErrorCode::ModelTruncated
        | ErrorCode::ModelProtocol
        | ErrorCode::ModelScriptExhausted
        | ErrorCode::StoreWriteFailed
        | ErrorCode::StoreReadFailed
        | ErrorCode::StoreDamaged
        | ErrorCode::StoreFenced
        | ErrorCode::Overloaded
        | ErrorCode::Other(_) => false,
    }
}

fn phases() -> &'static [&'static str] {
    variants!(Phase {
        Resting,
        Deciding,
        Thinking,
        Acting,
        Compacting,
        Asking,
        Interrupted,
        Ending,
        Done
    })
}

/// An agent is `Preparing` only within one decision.
fn standings() -> &'static [&'static str] {
    variants!(RunStanding { Planning, Acting, Observing, Verifying, Cancelling, AwaitingUser, AwaitingParent, AwaitingTool, Interrupted, Completed, PartialSuccess, Cancelled, Failed } except { Preparing })
}

fn reasons() -> &'static [&'static str] {
    variants!(FinishReason {
        Completed,
        UserRequested,
        UserAborted,
        MaxStepsExceeded,
        MaxStepsCompleted,
        CostLimitExceeded,
        Timeout,
        AgentDecision,
        QueuedMessageInterrupt,
        ErrorRecovery,
        SystemShutdown,
        BudgetCompleted,
        LoopDetected
    })
}

fn ends() -> &'static [&'static str] {
    variants!(End { Completed, PartialSuccess, Cancelled, Failed })
}

/// No story prepares a start and lets time go by: examples do.
fn refusals() -> &'static [&'static str] {
    variants!(Refusal {
        RunActive,
        AtRest,
        AlreadyEnding,
        Sealed,
        NotALead,
        Stale,
        Misfit,
        AlreadyAnswered,
        StaleAnswer,
        UnknownAsk,
        NotAwaited,
        NothingToCompact,
        NoSuchTool,
        NotInterrupted,
        NothingQueued,
        TooMuchWaiting
    } except { HistoryChanged })
}

fn statuses() -> &'static [&'static str] {
    variants!(CallStatus {
        Ok,
        Error,
        Timeout,
        Cancelled,
        Denied,
        Blocked,
        Malformed,
        UnknownTool,
        UnknownOutcome,
        Limit
    })
}

fn events() -> &'static [&'static str] {
    variants!(Event {
        RunStarted,
        RunResumed,
        RunInterrupted,
        Message,
        ModelRequest,
        ModelFailed,
        ToolStarted,
        ToolFinished,
        CallAudited,
        CallDeferred,
        ToolsActivated,
        ApprovalRequested,
        ApprovalSettled,
        QuestionAsked,
        QuestionAnswered,
        QuestionWithdrawn,
        CompactionAsked,
        InterruptAsked,
        CompactionStarted,
        CompactionFinished,
        LimitWarning,
        LimitReached,
        SubagentStarted,
        SubagentFinished,
        Ending,
        RunFinished
    })
}

/// But the timers, which are counted each by itself.
fn keys() -> &'static [&'static str] {
    variants!(Key { Model, Tool, Lease, Audit, Child, Tell, Summary } except { Timer })
}

fn timers() -> &'static [&'static str] {
    variants!(Timer { Closing, Deadline, Call, Ask })
}

fn outcomes() -> &'static [&'static str] {
    variants!(Outcome {
        Replied,
        ModelFailed,
        Tool,
        Deferred,
        Leased,
        Audited,
        Child,
        ChildAsks,
        Told,
        Summarised,
        Fired,
        Panicked,
        Gone
    })
}

fn commands() -> &'static [&'static str] {
    variants!(Command {
        Start,
        Recovered,
        Settle,
        Steer,
        Queue,
        Approve,
        Answer,
        Deliver,
        Compact,
        Activate,
        Interrupt,
        Resume,
        Cancel
    })
}

fn decisions() -> &'static [&'static str] {
    variants!(Decision { Approved, Denied, DeniedAndStop, Expired, Withdrawn })
}

fn triggers() -> &'static [&'static str] {
    variants!(Trigger { Threshold, Overflow, Manual })
}

fn sources() -> &'static [&'static str] {
    variants!(Source { Input, Guidance, Queued, Notice, Question, Hint, Virtual })
}

fn limits() -> &'static [&'static str] {
    variants!(LimitKind { Steps, ToolCalls, Tokens, Cost, Time })
}
