//! Each kind of actor dies in the middle of a family: the outcome is that of an undisturbed run.

use kinfolk_actors::agent::AgentState;
use kinfolk_actors::brain::{Brain, PhaseBrain, StepContext};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{Event, Outcome};
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::id::AgentId;
use kinfolk_actors::instruction::Instruction;

use super::store_faults::Faulty;
use super::support::{
    Gate, HELPERS, Model, Shape, check_events, family, records, script, session, until, within,
};
use crate::runtime::{Run, RunOutcome, Runtime};
use crate::supervise::unit::{Generation, UnitStatus};

#[derive(Clone, Copy, Debug)]
enum Kind {
    Lead,
    Subagent,
    Executor,
    Journal,
    Gateway,
    Shard,
}

/// Where the family stands, all of it, when the actor dies.
#[derive(Clone, Copy, Debug)]
enum Point {
    LeadThinks,
    ChildrenThink,
    ToolsRun,
    LeadConcludes,
}

impl Point {
    fn places(self) -> Vec<String> {
        match self {
            Self::LeadThinks => vec!["lead#1".to_owned()],
            Self::ChildrenThink => HELPERS.iter().map(|helper| format!("{helper}#1")).collect(),
            Self::ToolsRun => HELPERS.iter().map(|helper| format!("look:{helper}")).collect(),
            Self::LeadConcludes => vec!["lead#3".to_owned()],
        }
    }
}

/// The family after an actor of that kind has died and, if it has to, come back.
async fn disturb(kind: Kind, runtime: &Runtime, run: &mut Run) {
    let inner = &runtime.inner;
    let slot = inner.slot(run.session());
    let family = slot.family_of(run.id()).unwrap();
    let died = match kind {
        Kind::Lead => family.panic_agent(AgentId::LEAD),
        Kind::Subagent => family.panic_agent(AgentId(2)),
        Kind::Executor => family.jobs.panic_executor(),
        Kind::Shard => {
            inner.node.panic_shard(run.session());
            true
        }
        Kind::Journal => {
            inner.services.journal.panic_writer();
            return came_back(runtime, "journal").await;
        }
        Kind::Gateway => {
            inner.services.gateway.panic();
            return came_back(runtime, "gateway").await;
        }
    };
    assert!(died, "there is no {kind:?} to panic");
    until(run, "a new attempt", |recorded| matches!(recorded.event, Event::RunResumed(_))).await;
}

async fn came_back(runtime: &Runtime, service: &str) {
    let mut status = runtime.inner.node.root().supervisor().status(&service.into()).unwrap();
    let second = UnitStatus::Running { generation: Generation(2) };
    within(service, status.wait_for(|status| *status == second)).await.unwrap();
}

async fn run_family(point: Option<Point>, kind: Option<Kind>) -> (RunOutcome, Shape) {
    let places = point.map(Point::places).unwrap_or_default();
    let gate = Gate::closed(places.iter().map(String::as_str));
    let model = Model::new(script(), &gate);
    let store = Faulty::default();
    let runtime =
        Runtime::builder().store(store).model("test:m", model.clone()).start().await.unwrap();
    let session = session(&runtime, "s", family(&gate)).await;
    let mut run = session.start("Go").await.unwrap();
    for place in &places {
        gate.arrived(place, 1).await;
    }
    if let Some(kind) = kind {
        disturb(kind, &runtime, &mut run).await;
    }
    gate.open();
    let outcome = within("the outcome", run.outcome()).await.unwrap();
    let events = records(&runtime, session.id()).await;
    let shape = check_events(&events);
    model.check();
    let finished = events.iter().filter(|one| matches!(one.event, Event::RunFinished(_))).count();
    assert_eq!(finished, 1);
    within("shutdown", runtime.shutdown()).await;
    (outcome, shape)
}

async fn check(point: Point, kinds: &[Kind]) {
    let (calm, calm_shape) = run_family(None, None).await;
    assert_eq!(&*calm.text, "All is well.");
    for kind in kinds {
        let (outcome, shape) = run_family(Some(point), Some(*kind)).await;
        assert_eq!(shape, calm_shape, "{kind:?} at {point:?}");
        let undisturbed = RunOutcome { duration_ms: outcome.duration_ms, ..calm.clone() };
        assert_eq!(outcome, undisturbed, "{kind:?} at {point:?}");
    }
}

#[tokio::test]
async fn k02_an_actor_dies_while_the_lead_thinks() {
    check(Point::LeadThinks, &[Kind::Lead, Kind::Journal, Kind::Gateway, Kind::Shard]).await;
}

#[tokio::test]
async fn k02_an_actor_dies_while_children_think() {
    let kinds = [Kind::Lead, Kind::Subagent, Kind::Journal, Kind::Gateway, Kind::Shard];
    check(Point::ChildrenThink, &kinds).await;
}

#[tokio::test]
async fn k02_an_actor_dies_while_tools_run() {
    let kinds =
        [Kind::Lead, Kind::Subagent, Kind::Executor, Kind::Journal, Kind::Gateway, Kind::Shard];
    check(Point::ToolsRun, &kinds).await;
}

#[tokio::test]
async fn k02_an_actor_dies_while_the_lead_concludes() {
    check(Point::LeadConcludes, &[Kind::Lead, Kind::Journal, Kind::Gateway, Kind::Shard]).await;
}

#[tokio::test]
async fn k02_the_end_of_a_run_is_found_that_nobody_was_told_of() {
    let gate = Gate::closed(["lead#3"]);
    let store = Faulty::default();
    let builder =
        Runtime::builder().store(store.clone()).model("test:m", Model::new(script(), &gate));
    let runtime = builder.start().await.unwrap();
    let session = session(&runtime, "s", family(&gate)).await;
    let mut run = session.start("Go").await.unwrap();
    gate.arrived("lead#3", 1).await;
    store.panic_after_the_next_commit();
    gate.open();
    assert_eq!(&*within("the outcome", run.outcome()).await.unwrap().text, "All is well.");
    until(&mut run, "the end", |one| matches!(one.event, Event::RunFinished(_))).await;
    assert!(within("no more", run.next()).await.is_none());
    check_events(&records(&runtime, session.id()).await);
}

/// A brain with a bug that strikes each time.
struct Buggy(fn(&StepContext, &AgentState) -> bool);

impl Brain for Buggy {
    fn next(&self, context: &StepContext, state: &AgentState) -> Vec<Instruction> {
        assert!(!(self.0)(context, state), "the brain has a bug");
        PhaseBrain.next(context, state)
    }
}

async fn with_bug(bug: fn(&StepContext, &AgentState) -> bool) -> (RunOutcome, Shape, usize) {
    let gate = Gate::closed([]);
    let model = Model::new(script(), &gate);
    let runtime = Runtime::builder().model("test:m", model.clone()).start().await.unwrap();
    let buggy = session(&runtime, "buggy", family(&gate).brain(Buggy(bug))).await;
    let sound = session(&runtime, "sound", family(&gate)).await;
    let run = buggy.start("Go").await.unwrap();
    let other = sound.start("Go").await.unwrap();
    let outcome = within("the outcome", run.outcome()).await.unwrap();
    assert_eq!(&*within("the other", other.outcome()).await.unwrap().text, "All is well.");
    let events = records(&runtime, buggy.id()).await;
    let others = records(&runtime, sound.id()).await;
    let resumed =
        |one: &&kinfolk_actors::event::Recorded| matches!(one.event, Event::RunResumed(_));
    assert_eq!(others.iter().filter(resumed).count(), 0, "the other family was disturbed");
    (outcome, check_events(&events), events.iter().filter(resumed).count())
}

#[tokio::test]
async fn k02_a_lead_that_crashes_each_time_fails_its_run() {
    let (outcome, _, restarts) = with_bug(|context, state| {
        state.runs > 0 && matches!(context, StepContext::ToolResult { .. })
    })
    .await;
    assert_eq!(outcome.outcome, Outcome::Failed);
    let error = outcome.error.unwrap();
    assert_eq!(error.code, ErrorCode::AgentCrashed);
    assert!(error.message.contains("the brain has a bug"), "{error}");
    assert_eq!(restarts, 6);
}

#[tokio::test]
async fn k02_subagents_that_crash_each_time_are_error_results_and_the_lead_goes_on() {
    let (outcome, shape, _) = with_bug(|context, state| {
        state.runs == 0 && matches!(context, StepContext::ToolResult { .. })
    })
    .await;
    assert_eq!((outcome.outcome, &*outcome.text), (Outcome::Completed, "All is well."));
    let ends = shape.values().filter(|(name, ..)| &**name == "call_subagent");
    let statuses: Vec<(CallStatus, bool)> =
        ends.map(|(_, status, text)| (*status, text.contains("harness.agent_crashed"))).collect();
    assert_eq!(statuses, [(CallStatus::Error, true); 3]);
}
