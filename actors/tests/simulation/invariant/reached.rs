//! No law: it counts what is reached, so that the others cannot hold for nothing.

use kinfolk_actors::agent::{Command, Key, Timer};
use kinfolk_actors::event::{Event, Message};

use super::Invariant;
use crate::coverage::{name, note};
use crate::world::{Step, World};

pub struct Reached;

impl Invariant for Reached {
    fn name(&self) -> &'static str {
        "reached"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        note("command", &name(&step.command));
        if let Err(refusal) = &step.result {
            note("refusal", &name(refusal));
        }
        if let (Command::Settle { key, outcome }, Ok(_)) = (&step.command, &step.result) {
            note("key", &key_name(*key));
            note("outcome", &name(outcome));
        }
        for event in step.events() {
            note("event", &name(event));
            match event {
                Event::ToolFinished(finished) => note("status", &name(&finished.result.status)),
                Event::ModelFailed(failed) => note("code", failed.error.code.as_str()),
                Event::CompactionFinished(finished) => {
                    note("compaction", if finished.ok { "ok" } else { "failed" });
                    let error = finished.error.as_ref();
                    error.inspect(|error| note("code", error.code.as_str()));
                }
                Event::CompactionStarted(started) => note("trigger", &name(&started.trigger)),
                Event::ApprovalSettled(settled) => note("decision", &name(&settled.decision)),
                Event::Message(Message::User(message)) => note("source", &name(&message.source)),
                Event::RunFinished(finished) => {
                    note("outcome of a run", &name(&finished.outcome));
                    note("reason", &name(&finished.finish_reason));
                    let error = finished.error.as_ref();
                    error.inspect(|error| note("code", error.code.as_str()));
                }
                Event::SubagentFinished(finished) => {
                    note("reason", &name(&finished.finish_reason));
                    let error = finished.error.as_ref();
                    error.inspect(|error| note("code", error.code.as_str()));
                }
                Event::LimitReached(reached) => note("limit", reached.limit.as_str()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn key_name(key: Key) -> String {
    match key {
        Key::Timer(Timer::Closing) => "Closing".to_owned(),
        Key::Timer(Timer::Deadline) => "Deadline".to_owned(),
        Key::Timer(Timer::Call(_)) => "TimerCall".to_owned(),
        Key::Timer(Timer::Ask(_)) => "TimerAsk".to_owned(),
        other => name(&other),
    }
}
