//! The stories have to reach what the laws speak of, each at least a hundred times.

use kinfolk_actors::brain::StepContext;
use kinfolk_actors::instruction::InstructionKind;

use crate::coverage::{name, reached, table};
use crate::families::verdict;

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
    let mut expected: Vec<(&str, String)> = vec![];
    let mut expect = |kind, names: &[&str]| {
        expected.extend(names.iter().map(|name| (kind, (*name).to_owned())));
    };
    expect("context", &StepContext::PHASES);
    let kinds: Vec<String> = InstructionKind::ALL.iter().map(name).collect();
    expect("instruction", &kinds.iter().map(String::as_str).collect::<Vec<_>>());
    expect("phase", PHASES);
    expect("standing", STANDINGS);
    expect("reason", REASONS);
    expect("outcome of a run", &["Completed", "PartialSuccess", "Cancelled", "Failed"]);
    expect("refusal", REFUSALS);
    expect("code", CODES);
    expect("status", STATUSES);
    expect("event", EVENTS);
    expect("key", KEYS);
    expect("outcome", OUTCOMES);
    expect("command", COMMANDS);
    expect("decision", &["Approved", "Denied", "DeniedAndStop", "Expired", "Withdrawn"]);
    expect("trigger", &["Threshold", "Overflow", "Manual"]);
    expect("source", SOURCES);
    expect("limit", &["steps", "tool_calls", "tokens", "cost", "time"]);
    let races = reached("race", "lost");
    assert!(races >= ENOUGH, "races: {races}\n{}", table());
    let missing: Vec<String> = expected
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
    let few: Vec<String> = LAWS
        .iter()
        .map(|law| (law, reached("case", law)))
        .filter(|(_, cases)| *cases < CASES)
        .map(|(law, cases)| format!("{law}: {cases}"))
        .collect();
    assert!(few.is_empty(), "{few:?}");
}

const LAWS: &[&str] = &[
    "asks",
    "calls",
    "commands",
    "delivered",
    "notices",
    "fencing",
    "gates",
    "limits",
    "pairing",
    "passport",
    "prefix",
    "progress",
    "rest",
    "stillness",
    "sums",
    "terminal",
];

const PHASES: &[&str] = &[
    "resting",
    "deciding",
    "thinking",
    "acting",
    "compacting",
    "asking",
    "interrupted",
    "ending",
    "done",
];

/// All but `Preparing`, which an agent is only within one decision.
const STANDINGS: &[&str] = &[
    "Planning",
    "Acting",
    "Observing",
    "Verifying",
    "Cancelling",
    "AwaitingUser",
    "AwaitingParent",
    "AwaitingTool",
    "Interrupted",
    "Completed",
    "PartialSuccess",
    "Cancelled",
    "Failed",
];

const REASONS: &[&str] = &[
    "Completed",
    "UserRequested",
    "UserAborted",
    "MaxStepsExceeded",
    "MaxStepsCompleted",
    "CostLimitExceeded",
    "Timeout",
    "AgentDecision",
    "QueuedMessageInterrupt",
    "ErrorRecovery",
    "SystemShutdown",
    "BudgetCompleted",
    "LoopDetected",
];

const REFUSALS: &[&str] = &[
    "RunActive",
    "AtRest",
    "AlreadyEnding",
    "Sealed",
    "NotALead",
    "Stale",
    "Misfit",
    "AlreadyAnswered",
    "StaleAnswer",
    "UnknownAsk",
    "NotAwaited",
    "NothingToCompact",
    "NoSuchTool",
    "NotInterrupted",
    "NothingQueued",
    "TooMuchWaiting",
];

/// The codes of the failures that the kernel itself finds.
const CODES: &[&str] = &[
    "loop.detected",
    "model.tool_call_required",
    "model.cancelled",
    "model.context_overflow",
    "context.full",
    "context.compaction_failed",
    "limit.steps",
    "limit.tool_calls",
    "limit.tokens",
    "limit.cost",
    "limit.time",
    "harness.agent_crashed",
    "harness.effect_panicked",
    "harness.brain_stuck",
    "harness.service_down",
];

const STATUSES: &[&str] = &[
    "Ok",
    "Error",
    "Timeout",
    "Cancelled",
    "Denied",
    "Blocked",
    "Malformed",
    "UnknownTool",
    "UnknownOutcome",
    "Limit",
];

const EVENTS: &[&str] = &[
    "RunStarted",
    "RunResumed",
    "RunInterrupted",
    "Message",
    "ModelRequest",
    "ModelFailed",
    "ToolStarted",
    "ToolFinished",
    "CallAudited",
    "CallDeferred",
    "ToolsActivated",
    "ApprovalRequested",
    "ApprovalSettled",
    "QuestionAsked",
    "QuestionAnswered",
    "CompactionAsked",
    "InterruptAsked",
    "CompactionStarted",
    "CompactionFinished",
    "LimitWarning",
    "LimitReached",
    "SubagentStarted",
    "SubagentFinished",
    "Ending",
    "RunFinished",
];

const KEYS: &[&str] = &[
    "Model",
    "Tool",
    "Lease",
    "Audit",
    "Child",
    "Tell",
    "Summary",
    "Closing",
    "Deadline",
    "TimerCall",
    "TimerAsk",
];

const OUTCOMES: &[&str] = &[
    "Replied",
    "ModelFailed",
    "Tool",
    "Deferred",
    "Leased",
    "Audited",
    "Child",
    "ChildAsks",
    "Told",
    "Summarised",
    "Fired",
    "Panicked",
    "Gone",
];

const COMMANDS: &[&str] = &[
    "Start",
    "Recovered",
    "Settle",
    "Steer",
    "Queue",
    "Approve",
    "Answer",
    "Deliver",
    "Compact",
    "Activate",
    "Interrupt",
    "Resume",
    "Cancel",
];

const SOURCES: &[&str] = &["Input", "Guidance", "Queued", "Notice", "Question", "Hint", "Virtual"];
