//! Questions to a state beside its story: what would follow if this came now?

use kinfolk_actors::agent::{
    AgentMachine, AgentState, Audited, Command, Key, Outcome, RawCall, RawReply, Refusal,
    Summarised,
};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{Finish, FinishReason, Outcome as End, SubagentFinished};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, AskId};
use kinfolk_actors::machine::Machine;
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;

use crate::outcome::usage;
use crate::setting::MODEL;
use crate::world::Step;

/// What would follow if the agent took this command now.
pub fn follow(step: &Step, command: &Command) -> Result<AgentState, Refusal> {
    let events = step.machine.decide(&step.after, command, &step.facts)?;
    let mut state = step.after.clone();
    events.iter().for_each(|event| AgentMachine::evolve(&mut state, event));
    Ok(state)
}

/// Outcomes of which each key can have some.
pub fn outcomes(step: &Step) -> Vec<Outcome> {
    let error = Failure::new(ErrorCode::ModelTimeout, "slow");
    let overflow = Failure::new(ErrorCode::ModelContextOverflow, "too large");
    let summarised = |result| {
        Outcome::Summarised(Summarised {
            result,
            fallback: None,
            cost: None,
            usage: Usage::default(),
            duration: Millis(1),
        })
    };
    let call = |name: &str, arguments: &str| RawCall {
        provider_id: "".into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let task = r#"{"agent":"scout","task":"t"}"#;
    let batch = vec![call("write", "{}"), call("call_subagent", task), call("ask_user", "{}")];
    let report = SubagentFinished {
        subagent: AgentId(1),
        status: End::Completed,
        summary: "found".into(),
        finish_reason: FinishReason::Completed,
        usage: Usage::default(),
        error: None,
    };
    let question = AskId { run: step.machine.run, agent: AgentId(99), n: 77 };
    vec![
        Outcome::Replied(replied("text", vec![])),
        Outcome::Replied(replied("", batch)),
        Outcome::ModelFailed { error, usage: Usage::default(), cost: None },
        Outcome::ModelFailed { error: overflow, usage: Usage::default(), cost: None },
        Outcome::Tool { status: CallStatus::Ok, text: "r".into(), duration: Millis(1) },
        Outcome::Deferred,
        Outcome::Leased,
        Outcome::Audited(Audited::Intervene),
        Outcome::Audited(Audited::Fine),
        Outcome::Audited(Audited::Unregistered),
        Outcome::Child { report: Box::new(report), duration: Millis(1) },
        Outcome::ChildAsks { question, text: "which?".into() },
        Outcome::Told { refused: None },
        Outcome::Told { refused: Some("gone".into()) },
        summarised(Ok("notes".into())),
        summarised(Err(Failure::new(ErrorCode::CompactionFailed, "nothing"))),
        Outcome::Fired,
        Outcome::Panicked { message: "oh".into() },
        Outcome::Gone,
    ]
}

fn replied(text: &str, calls: Vec<RawCall>) -> RawReply {
    RawReply {
        cost: None,
        text: text.into(),
        calls,
        finish: Finish::Stop,
        usage: usage(10, 5),
        model: MODEL.into(),
        duration: Millis(3),
        opaque: None,
    }
}

/// Whether work under a key can have that outcome.
pub fn fits(key: Key, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Replied(_) | Outcome::ModelFailed { .. } => matches!(key, Key::Model(_)),
        Outcome::Tool { .. } | Outcome::Deferred => matches!(key, Key::Tool(_)),
        Outcome::Leased => matches!(key, Key::Lease(_)),
        Outcome::Audited(_) => matches!(key, Key::Audit(_)),
        Outcome::Child { .. } | Outcome::ChildAsks { .. } => matches!(key, Key::Child(_)),
        Outcome::Told { .. } => matches!(key, Key::Tell(_)),
        Outcome::Summarised(_) => matches!(key, Key::Summary(_)),
        Outcome::Fired => matches!(key, Key::Timer(_)),
        Outcome::Panicked { .. } | Outcome::Gone => true,
    }
}
