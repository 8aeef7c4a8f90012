//! What the tests of the runtime share: a model and a tool that wait where a test wants them to, a
//! model that checks every request, and the checks of a whole run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kinfolk_actors::agent::RawReply;
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::context::{ModelRequest, RequestMessage};
use kinfolk_actors::event::{Event, Message, Recorded};
use kinfolk_actors::id::{AgentId, CallId, Offset, SessionId};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::definition::{Family, Subagent};
use crate::events::RunEvent;
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::ports::model::{ModelCall, ModelError, ModelProvider, Purpose};
use crate::ports::tool::Call;
use crate::runtime::{Run, Runtime, Session};
use crate::tools::tool::Tool;

/// The longest wait for anything; only a broken test takes so long.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits, but not for ever.
pub async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let Ok(done) = tokio::time::timeout(PATIENCE, work).await else { panic!("never: {what}") };
    done
}

/// Places where work waits until the test lets it go on.
#[derive(Clone)]
pub struct Gate(Arc<watch::Sender<GateState>>);

#[derive(Default)]
struct GateState {
    closed: BTreeSet<String>,
    arrived: HashMap<String, usize>,
}

impl Gate {
    /// A gate that is closed at these places.
    pub fn closed<'a>(places: impl IntoIterator<Item = &'a str>) -> Self {
        let closed = places.into_iter().map(str::to_owned).collect();
        Self(Arc::new(watch::Sender::new(GateState { closed, ..GateState::default() })))
    }

    /// Work passes, or waits.
    pub async fn pass(&self, place: &str) {
        self.0.send_modify(|state| *state.arrived.entry(place.to_owned()).or_default() += 1);
        let mut state = self.0.subscribe();
        drop(state.wait_for(|state| !state.closed.contains(place)).await);
    }

    /// Waits until work has come to a place that often.
    pub async fn arrived(&self, place: &str, times: usize) {
        let mut state = self.0.subscribe();
        let there = |state: &GateState| state.arrived.get(place).is_some_and(|n| *n >= times);
        within(&format!("{times} at {place}"), state.wait_for(there)).await.unwrap();
    }

    /// How often work has come to a place.
    pub fn count(&self, place: &str) -> usize {
        self.0.borrow().arrived.get(place).copied().unwrap_or(0)
    }

    /// Lets work pass at one place.
    pub fn open_at(&self, place: &str) {
        self.0.send_modify(|state| state.closed.retain(|closed| closed != place));
    }

    /// Lets work pass everywhere.
    pub fn open(&self) {
        self.0.send_modify(|state| state.closed.clear());
    }
}

/// A scripted model that waits at `AGENT#NUMBER`, checks every request and counts.
#[derive(Clone)]
pub struct Model(Arc<ModelInner>);

struct ModelInner {
    script: Scripted,
    gate: Gate,
    replied: Mutex<BTreeMap<String, usize>>,
    asked: Mutex<BTreeMap<String, usize>>,
    faults: Mutex<Vec<String>>,
    requests: Mutex<BTreeMap<String, ModelRequest>>,
    panics: Mutex<Option<String>>,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Model {
    pub fn new(script: Scripted, gate: &Gate) -> Self {
        let gate = gate.clone();
        let (replied, asked, faults, requests) = Default::default();
        let (now, most) = Default::default();
        let panics = Mutex::default();
        let (script, gate) = (script, gate);
        Self(Arc::new(ModelInner {
            script,
            gate,
            replied,
            asked,
            faults,
            requests,
            now,
            most,
            panics,
        }))
    }

    /// The same, but one request panics.
    pub fn panicking(self, key: &str) -> Self {
        *self.0.panics.lock() = Some(key.to_owned());
        self
    }

    /// The most requests that were in flight at once.
    pub fn most(&self) -> usize {
        self.0.most.load(Ordering::SeqCst)
    }

    /// Requests that are in flight.
    pub fn in_flight(&self) -> usize {
        self.0.now.load(Ordering::SeqCst)
    }

    /// How often each request was sent.
    pub fn asked(&self) -> BTreeMap<String, usize> {
        self.0.asked.lock().clone()
    }

    /// The request that was sent last under a key, `AGENT#NUMBER`.
    pub fn request(&self, key: &str) -> ModelRequest {
        self.0.requests.lock().get(key).cloned().unwrap_or_else(|| panic!("no request {key}"))
    }

    /// Every request was well paired.
    pub fn check_pairs(&self) {
        assert_eq!(*self.0.faults.lock(), Vec::<String>::new());
    }

    /// Every request was well paired, and none was answered twice. For one run of agents with
    /// different names.
    pub fn check(&self) {
        self.check_pairs();
        let twice: Vec<String> =
            self.0.replied.lock().iter().filter(|(_, n)| **n > 1).map(|(k, _)| k.clone()).collect();
        assert_eq!(twice, Vec::<String>::new(), "answered twice");
    }

    async fn play(&self, call: ModelCall<'_>) -> Result<RawReply, ModelError> {
        let inner = &self.0;
        // Keys of summaries say which of an agent's compactions they are for.
        let agent = match call.purpose {
            Purpose::Reply => call.agent.to_owned(),
            Purpose::Summary => format!("{}/summary", call.agent),
            Purpose::SummaryAgain => format!("{}/again", call.agent),
        };
        let key = format!("{agent}#{}", call.number.0);
        inner.requests.lock().insert(key.clone(), call.request.clone());
        *inner.asked.lock().entry(key.clone()).or_default() += 1;
        if let Err(fault) = check_pairing(call.request) {
            inner.faults.lock().push(format!("{key}: {fault}"));
        }
        let now = inner.now.fetch_add(1, Ordering::SeqCst) + 1;
        inner.most.fetch_max(now, Ordering::SeqCst);
        let _leaves = Leaves(&inner.now);
        inner.gate.pass(&key).await;
        tokio::task::yield_now().await;
        let panics = inner.panics.lock().as_ref() == Some(&key);
        assert!(!panics, "the model panics at {key}");
        let reply = inner.script.call(call).await?;
        *inner.replied.lock().entry(key).or_default() += 1;
        Ok(reply)
    }
}

struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ModelProvider for Model {
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        Box::pin(self.play(call))
    }
}

/// Each call has exactly one result, directly after its message, in call order, and no id is
/// used twice.
fn check_pairing(request: &ModelRequest) -> Result<(), String> {
    let (mut open, mut seen) = (Vec::<Arc<str>>::new(), BTreeSet::new());
    for message in &request.messages {
        match message {
            RequestMessage::ToolResult { id, .. } => {
                if open.first() != Some(id) {
                    return Err(format!("the result {id} is out of place"));
                }
                open.remove(0);
            }
            RequestMessage::User(_) | RequestMessage::Assistant { .. } if !open.is_empty() => {
                return Err(format!("without a result: {open:?}"));
            }
            RequestMessage::User(_) => {}
            RequestMessage::Assistant { calls, .. } => {
                open = calls.iter().map(|call| Arc::clone(&call.id)).collect();
                if let Some(twice) = open.iter().find(|id| !seen.insert((*id).clone())) {
                    return Err(format!("the id {twice} is used twice"));
                }
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("without a result: {open:?}")) }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct At {
    pub at: String,
}

/// A read-only tool that waits at `look:AT`.
pub fn look(gate: &Gate) -> Tool {
    let gate = gate.clone();
    Tool::function("look", "Looks.", move |At { at }: At, _: Call| {
        let gate = gate.clone();
        async move {
            gate.pass(&format!("look:{at}")).await;
            format!("seen {at}")
        }
    })
    .read_only()
}

/// A call of `look`.
pub fn looks(at: &str) -> ScriptedReply {
    ScriptedReply::default().call("look", format!(r#"{{"at":"{at}"}}"#))
}

/// The same reply with one more subagent.
pub fn delegates(reply: ScriptedReply, to: &str) -> ScriptedReply {
    reply.call("call_subagent", format!(r#"{{"agent":"{to}","task":"Do {to}."}}"#))
}

/// The helpers of the usual family.
pub const HELPERS: [&str; 3] = ["a", "b", "c"];

/// A lead that asks three helpers, looks itself, and answers. Each helper looks and reports.
pub fn script() -> Scripted {
    let asks = HELPERS.iter().fold(ScriptedReply::text("I ask."), |ask, to| delegates(ask, to));
    let mut script = Scripted::builder()
        .reply("lead", 1, asks)
        .reply("lead", 2, looks("lead"))
        .reply("lead", 3, ScriptedReply::text("All is well."));
    for helper in HELPERS {
        let report = ScriptedReply::text(format!("{helper} is done."));
        script = script.reply(helper, 1, looks(helper)).reply(helper, 2, report);
    }
    script.build()
}

/// The family of [`script`].
pub fn family(gate: &Gate) -> Family {
    let lead = Family::lead("You lead.").tool(look(gate));
    HELPERS
        .iter()
        .fold(lead, |family, helper| family.subagent(Subagent::explore(*helper, "Helps.")))
}

/// A session of a runtime with this family.
pub async fn session(runtime: &Runtime, name: &str, family: Family) -> Session {
    runtime.session(name).family(family).open().await.unwrap()
}

/// Everything that the store has of a session.
pub async fn records(runtime: &Runtime, session: &SessionId) -> Vec<Recorded> {
    let records = runtime.store().read(session, Offset(0), usize::MAX).await.unwrap();
    records.iter().flat_map(|record| record.recorded().collect::<Vec<_>>()).collect()
}

/// Reads a run's events until one fits.
pub async fn until(run: &mut Run, what: &str, fits: impl Fn(&Recorded) -> bool) -> Recorded {
    within(what, async {
        loop {
            match run.next().await {
                Some(RunEvent::Journaled(recorded)) if fits(&recorded) => {
                    return Recorded::clone(&recorded);
                }
                Some(_) => {}
                None => panic!("the run ended before: {what}"),
            }
        }
    })
    .await
}

/// What has to be the same however often a family was disturbed: each call, by the place of its
/// run in the session, its agent and its number, with its result.
pub type Shape = BTreeMap<(usize, AgentId, u32), (Arc<str>, CallStatus, Arc<str>)>;

/// Checks what holds for every finished session, and tells its shape.
pub fn check_events(events: &[Recorded]) -> Shape {
    let mut shape = Shape::new();
    let mut runs = Vec::new();
    let mut key = |call: CallId| {
        let known = runs.iter().position(|run| *run == call.run);
        let place = known.unwrap_or_else(|| {
            runs.push(call.run);
            runs.len() - 1
        });
        (place, call.agent, call.n)
    };
    let (mut proposed, mut started, mut reported) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut over: BTreeSet<(uuid::Uuid, AgentId)> = BTreeSet::new();
    for (place, recorded) in (0..).zip(events) {
        assert_eq!(recorded.offset, Offset(place), "offsets are dense");
        let agent = (recorded.run.0, recorded.agent);
        assert!(!over.contains(&agent), "after the end of its agent: {recorded:?}");
        assert!(!over.contains(&(recorded.run.0, AgentId::LEAD)), "after the run: {recorded:?}");
        match &recorded.event {
            Event::Message(Message::Assistant(reply)) => {
                proposed.extend(reply.calls.iter().map(|call| key(call.call)));
            }
            Event::ToolFinished(end) => {
                let result = &end.result;
                let told = (Arc::clone(&end.name), result.status, Arc::clone(&result.text));
                let before = shape.insert(key(end.call), told);
                assert!(before.is_none(), "two results: {recorded:?}");
            }
            Event::SubagentStarted(start) => {
                assert!(
                    started.insert((recorded.run.0, start.subagent)),
                    "started twice: {start:?}"
                );
            }
            Event::SubagentFinished(end) => {
                assert!(reported.insert((recorded.run.0, end.subagent)), "two reports: {end:?}");
                over.insert(agent);
            }
            Event::RunFinished(_) => {
                over.insert(agent);
            }
            Event::Message(Message::User(_))
            | Event::RunStarted(_)
            | Event::RunResumed(_)
            | Event::ModelRequest(_)
            | Event::ModelFailed(_)
            | Event::RunInterrupted(_)
            | Event::ToolStarted(_)
            | Event::CallAudited(_)
            | Event::CallDeferred(_)
            | Event::ToolsActivated(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalSettled(_)
            | Event::QuestionAsked(_)
            | Event::QuestionAnswered(_)
            | Event::QuestionWithdrawn { .. }
            | Event::CompactionAsked
            | Event::InterruptAsked { .. }
            | Event::CompactionStarted(_)
            | Event::CompactionFinished(_)
            | Event::LimitWarning(_)
            | Event::LimitReached(_)
            | Event::Ending(_) => {}
        }
    }
    assert_eq!(proposed, shape.keys().copied().collect(), "one result a call");
    assert_eq!(started, reported, "one report a subagent");
    shape
}
