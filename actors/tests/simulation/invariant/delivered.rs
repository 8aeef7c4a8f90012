//! What was taken is heard exactly once: guidance, queued input, and the notice of each subagent
//! in the background.

use std::collections::BTreeMap;
use std::sync::Arc;

use kinfolk_actors::agent::{ChildState, Command};
use kinfolk_actors::context::{RequestMessage, model_request};
use kinfolk_actors::event::{ChildMode, Event, Message, Source};
use kinfolk_actors::id::{AgentId, CallId, RunId};

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

type Chain = (Option<RunId>, AgentId);

#[derive(Default)]
pub struct Delivered {
    /// What each chain was told since its last compaction.
    told: BTreeMap<Chain, Vec<Arc<str>>>,
    notices: BTreeMap<CallId, u32>,
}

impl Invariant for Delivered {
    fn name(&self) -> &'static str {
        "delivered"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        let agent = step.agent();
        let chain = ((!agent.is_lead()).then_some(step.machine.run), agent);
        if let (Command::Steer(steer), Ok(events)) = (&step.command, &step.result) {
            let answered = events.iter().any(|event| matches!(event, Event::QuestionAnswered(_)));
            if steer.from.is_none() && !answered {
                self.told.entry(chain).or_default().push(Arc::clone(&steer.text));
            }
        }
        for event in step.events() {
            match event {
                Event::CompactionFinished(finished) if finished.ok => {
                    self.told.remove(&chain);
                }
                Event::Message(Message::User(message)) => match message.source {
                    Source::Notice => {
                        let call = message.for_call.ok_or("a notice of nobody")?;
                        *self.notices.entry(call).or_default() += 1;
                        hold!(self.notices[&call] == 1, "{call} is told twice");
                        // Who stops a subagent is told by the result of the stop.
                        let child = step.before.children.get(&call).map(|child| &child.state);
                        let stopped = child == Some(&ChildState::Stopping);
                        if !stopped {
                            self.told.entry(chain).or_default().push(Arc::clone(&message.text));
                        }
                    }
                    Source::Queued | Source::Input => {
                        self.told.entry(chain).or_default().push(Arc::clone(&message.text));
                    }
                    Source::Guidance | Source::Question | Source::Hint | Source::Virtual => {}
                },
                Event::RunFinished(_) | Event::SubagentFinished(_) => self.all_told(step)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn end(&mut self, world: &World) -> Result<(), String> {
        for (agent, loaded) in &world.loaded {
            let chain = ((!agent.is_lead()).then_some(world.run), *agent);
            let Some(told) = self.told.get(&chain) else { continue };
            let request = model_request(&loaded.machine, &loaded.state);
            let queued = &loaded.state.queued;
            for text in told {
                note("case", self.name());
                let expected = told.iter().filter(|other| *other == text).count();
                let read = request.messages.iter().map(words).chain(queued.iter());
                let heard: usize = read.map(|words| times(words, text)).sum();
                // Notices without words of their own may be the same in two runs.
                let wordless = text.starts_with('{')
                    && !["say-", "well-"].iter().any(|word| text.contains(word));
                hold!(
                    heard == expected || (heard > expected && wordless),
                    "{agent} was told {text} {expected} times and has it {heard} times"
                );
            }
        }
        Ok(())
    }
}

impl Delivered {
    /// At an agent's end each of its subagents has been heard once.
    fn all_told(&self, step: &Step) -> Result<(), String> {
        for (call, child) in &step.after.children {
            let notices = self.notices.get(call).copied().unwrap_or_default();
            let expected = u32::from(child.started.mode == ChildMode::Background);
            let subagent = child.started.subagent;
            hold!(notices == expected, "{subagent} has {notices} notices and not {expected}");
            note("case", "notices");
        }
        Ok(())
    }
}

fn words(message: &RequestMessage) -> &Arc<str> {
    match message {
        RequestMessage::User(text)
        | RequestMessage::Assistant { text, .. }
        | RequestMessage::ToolResult { text, .. } => text,
    }
}

/// How often a text stands in another as a whole: `steer-1` is not in `steer-12`.
fn times(words: &str, text: &str) -> usize {
    let whole = |(at, _): &(usize, &str)| {
        !words[at + text.len()..].starts_with(|next: char| next.is_ascii_digit())
    };
    words.match_indices(text).filter(whole).count()
}
