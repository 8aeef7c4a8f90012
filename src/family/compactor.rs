//! The family's compactor: one summary of a history, from its request to its outcome. Like the
//! tool executor it is an actor that is there only while there is something to do.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_actors::agent::{AgentMachine, AgentState, Key, Outcome, RawReply, Summarised};
use kinfolk_actors::call::{CallKind, Gate, ProposedCall};
use kinfolk_actors::compaction::summary::{self, Asked, Judged, Plan};
use kinfolk_actors::compaction::{Fallback, Trigger, digest};
use kinfolk_actors::context::{ModelRequest, model_request};
use kinfolk_actors::estimate::RequestSize;
use kinfolk_actors::event::Reply;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, CallId, RequestNo};
use kinfolk_actors::profile::ModelProfile;
use kinfolk_actors::time::Millis;
use kinfolk_actors::transcript::Entry;
use kinfolk_actors::usage::Usage;
use tokio::time::Instant;

use super::activation::{Activation, Living};
use super::effects::StopSignal;
use super::model_effect::InTurn;
use super::on_demand::{Desk, Job};
use super::ordering::{self, HOST_GRACE};
use crate::model::retry::call_with_retries;
use crate::ports::executor::{ExecutorKind, Task};
use crate::ports::model::{ModelCall, ModelError, NoDeltas, Purpose};

/// One summary to write.
pub(crate) struct SummaryJob {
    agent: AgentId,
    /// `lead`, or the subagent's name.
    name: Arc<str>,
    /// Which of the agent's compactions of the run it is.
    n: u32,
    /// The agent's next request.
    ordinary: ModelRequest,
    /// The model that writes the summary, and what is known of it.
    model: Arc<str>,
    profile: ModelProfile,
    /// The most output tokens that the limits have set aside for it.
    max_output: u64,
    /// The size of the request that the same model has just refused as too large.
    refused: Option<u64>,
    /// What stands for the summary if no model can write one.
    fallback: Option<Arc<str>>,
}

impl SummaryJob {
    /// The summary that a compaction asks for.
    pub fn new(name: Arc<str>, n: u32, machine: &AgentMachine, state: &AgentState) -> Self {
        let ordinary = model_request(machine, state);
        let model = Arc::clone(machine.summary_model());
        let profile = machine.profile_of(&model).into_owned();
        let compaction = state.compaction();
        let overflow = compaction.is_some_and(|it| it.trigger == Trigger::Overflow);
        let refused =
            (overflow && model == ordinary.model).then(|| RequestSize::of(&ordinary).total());
        let fallback = match machine.family.compaction.fallback {
            Fallback::None => None,
            Fallback::Digest => {
                let most = compaction.map_or(0, |compaction| compaction.entries);
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                let old: Vec<Arc<Entry>> =
                    state.transcript.entries().take(most).map(Arc::clone).collect();
                Some(digest::digest(&old, profile.summary_cap()).into())
            }
        };
        let max_output =
            compaction.map_or(profile.summary_cap(), |compaction| compaction.max_output);
        let agent = machine.id();
        Self { agent, name, n, ordinary, model, profile, max_output, refused, fallback }
    }
}

impl Job for SummaryJob {
    const ACTOR: &'static str = "compactor";

    fn desk(family: &Activation) -> &Desk<Self> {
        &family.summaries
    }

    fn begin(self, living: &Living, done: impl FnOnce() + Send + 'static) {
        let Living { family, generation, scope: _ } = living.clone();
        let (agent, key) = (self.agent, Key::Summary(self.n));
        let executor = family.executor(&self.name, ExecutorKind::Summary);
        // No grace for a request of our own: dropping it closes its connection.
        let grace = if executor.is_some() { HOST_GRACE } else { Duration::ZERO };
        let own = Arc::clone(&family);
        let model = Arc::clone(&self.model);
        let work = move |stop: StopSignal| async move {
            let outcome = match executor {
                None => Outcome::Summarised(self.write(&own).await),
                Some(executor) => {
                    let Self { name, n, model, ordinary, max_output, .. } = self;
                    let request = Box::new(ordinary);
                    let task = Task::Summary { n, model, request, max_output };
                    ordering::run(&own, &*executor, (agent, name), task, stop).await
                }
            };
            own.priced(&model, outcome)
        };
        let effects = Arc::clone(&family.effects);
        effects.start((agent, key), grace, work, move |outcome| {
            family.report(generation, agent, key, outcome);
            done();
        });
    }
}

impl SummaryJob {
    /// Writes the summary. What each try used is counted, whatever came of it.
    async fn write(mut self, family: &Arc<Activation>) -> Summarised {
        let started = Instant::now();
        let mut usage = Usage::default();
        let asked = self.ask_until_done(family, &mut usage).await;
        let (result, fallback) = match (asked, self.fallback.take()) {
            (Err(error), Some(digest)) => {
                tracing::warn!(%error, agent = %self.agent, "a digest stands for the summary");
                (Ok(digest), Some(error))
            }
            (result, _) => (result, None),
        };
        let duration = Millis::from(started.elapsed());
        Summarised { result, fallback, usage, cost: None, duration }
    }

    /// Asks once more if the answer is no summary, and once more with less if the provider finds
    /// the request too large; as long as the limits have room for it beside what was used.
    async fn ask_until_done(
        &self,
        family: &Arc<Activation>,
        usage: &mut Usage,
    ) -> Result<Arc<str>, Failure> {
        let (mut asked, mut refused, mut may_shrink) = (Asked::First, self.refused, true);
        let mut max_output = self.max_output;
        loop {
            let room = summary::room(&self.profile, refused);
            let plan = Plan { model: &self.model, room, asked };
            let mut request = summary::request(&self.ordinary, &plan)
                .map_err(|full| Failure::new(ErrorCode::ContextFull, full.to_string()))?;
            request.max_output = Some(max_output);
            match self.ask(family, &request, asked, usage).await {
                Ok(reply) => {
                    usage.add(&reply.usage);
                    match summary::judge(&self.as_reply(family, reply), asked) {
                        Judged::Summary(text) => return Ok(text),
                        Judged::AskAgain => asked = Asked::Again,
                        Judged::Failed(why) => {
                            return Err(Failure::new(ErrorCode::CompactionFailed, why.to_string()));
                        }
                    }
                }
                Err(error) => {
                    usage.add(&error.usage);
                    let too_large = error.failure.code == ErrorCode::ModelContextOverflow;
                    if !too_large || !may_shrink {
                        return Err(error.failure);
                    }
                    (refused, may_shrink) = (Some(RequestSize::of(&request).total()), false);
                }
            }
            let room = family.room_for_retry(self.agent, &self.model, usage);
            let most = room.map_err(|why| Failure::new(ErrorCode::CompactionFailed, why))?;
            max_output = most.map_or(max_output, |most| most.min(max_output));
        }
    }

    async fn ask(
        &self,
        family: &Arc<Activation>,
        request: &ModelRequest,
        asked: Asked,
        before: &Usage,
    ) -> Result<RawReply, ModelError> {
        let in_turn = InTurn::new(family, &self.model, self.agent)?;
        let purpose = match asked {
            Asked::First => Purpose::Summary,
            Asked::Again => Purpose::SummaryAgain,
        };
        let (agent, number) = (&*self.name, RequestNo(self.n));
        let call = ModelCall { request, agent, purpose, number, deltas: &NoDeltas };
        let room = |failed: &Usage| {
            let mut used = *before;
            used.add(failed);
            family.room_for_retry(self.agent, &self.model, &used)
        };
        call_with_retries(&in_turn, call, &family.services.retries, &room, &|_retry| {}).await
    }

    /// The answer as the judge reads it. Its calls never run; that there are any is all that counts.
    fn as_reply(&self, family: &Activation, reply: RawReply) -> Reply {
        let call = CallId { run: family.run, agent: self.agent, n: 0 };
        let calls = reply.calls.iter().map(|raw| ProposedCall {
            call,
            alias: "".into(),
            name: Arc::clone(&raw.name),
            arguments: Arc::clone(&raw.arguments),
            kind: CallKind::Invalid,
            gate: Gate::Pass,
            provider_id: "".into(),
        });
        Reply {
            request: RequestNo(self.n),
            text: Arc::clone(&reply.text),
            calls: calls.collect(),
            finish: reply.finish,
            usage: reply.usage,
            cost: reply.cost,
            model: reply.model,
            duration_ms: reply.duration,
            opaque: None,
        }
    }
}
