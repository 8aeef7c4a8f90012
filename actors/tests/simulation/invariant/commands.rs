//! No command in any state panics, or leaves an agent that waits for nothing.

use std::sync::Arc;

use kinfolk_actors::agent::{
    Answer, Approve, Cause, Command, Deliver, Key, Recovered, Start, Steer, Timer, Verdict, failed,
};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::RunKind;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AskId, Attempt, CallId, RequestNo};
use kinfolk_actors::limits::Limits;

use super::{Invariant, hold, pairing, progress, rest};
use crate::coverage::note;
use crate::dice::mix;
use crate::probe;
use crate::world::{Step, World};

pub struct Commands;

impl Invariant for Commands {
    fn name(&self) -> &'static str {
        "commands"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        if !mix(&[world.seed, world.steps, 3]).is_multiple_of(64) {
            return Ok(());
        }
        note("case", self.name());
        for command in commands(step) {
            if let Ok(state) = probe::follow(step, &command) {
                let next = (&step.machine, &state);
                let holds = rest::alive(&state).and_then(|()| pairing::paired(next.0, next.1));
                hold!(holds.is_ok(), "{command:?}: {holds:?}");
            }
        }
        Ok(())
    }
}

fn commands(step: &Step) -> Vec<Command> {
    let (run, agent) = (step.machine.run, step.agent());
    let call = CallId { run, agent, n: 0 };
    let ask = AskId { run, agent, n: 0 };
    let crashed = failed(Failure::new(ErrorCode::AgentCrashed, "too often"));
    let recovered = |end| Command::Recovered(Recovered { attempt: Attempt(9), end });
    let text = || Arc::<str>::from("words");
    let start =
        |kind| Command::Start(Start { input: text(), kind, parent_run: None, prepared_at: None });
    let approve = |verdict| {
        Command::Approve(Approve { approval: ask, verdict, by: None, reason: None, raised: None })
    };
    let steer = |from| Command::Steer(Steer { text: text(), from });
    let cancel = |cause| Command::Cancel { cause, reason: text() };
    let raised = Some(Limits { max_steps: Some(99), ..Limits::none() });
    let mut commands = vec![
        start(RunKind::Request),
        start(RunKind::Queued),
        start(RunKind::Compact),
        recovered(None),
        recovered(Some(crashed)),
        steer(None),
        steer(Some(call)),
        Command::Queue { text: text() },
        approve(Verdict::Approve),
        approve(Verdict::Deny),
        approve(Verdict::DenyAndStop),
        Command::Answer(Answer { question: ask, text: text(), by: None }),
        Command::Deliver(Deliver { call, status: CallStatus::Ok, text: text() }),
        Command::Compact,
        Command::Activate { tools: vec!["hidden".into()] },
        Command::Interrupt { reason: text() },
        Command::Resume { raised: None },
        Command::Resume { raised },
        cancel(Cause::Requested),
        cancel(Cause::Parent),
    ];
    let mut keys = progress::keys(&step.after);
    keys.extend([
        Key::Model(RequestNo(1)),
        Key::Tool(call),
        Key::Lease(call),
        Key::Audit(call),
        Key::Child(call),
        Key::Tell(call),
        Key::Summary(1),
        Key::Timer(Timer::Closing),
        Key::Timer(Timer::Deadline),
        Key::Timer(Timer::Call(call)),
        Key::Timer(Timer::Ask(ask)),
    ]);
    for key in keys {
        let outcomes = probe::outcomes(step).into_iter();
        commands.extend(outcomes.map(|outcome| Command::Settle { key, outcome }));
    }
    commands
}
