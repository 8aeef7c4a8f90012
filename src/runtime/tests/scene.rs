//! A frozen family with whatever a test needs, a script for it, and a clock that tests can pause.

use std::sync::Arc;

use kinfolk_actors::compaction::CompactionSettings;
use kinfolk_actors::family::{
    Caps, Delivery, Family as FrozenFamily, Invocation, ModelEndpoint, Placement, Role,
    SubagentSpec, ToolChoicePlan, ToolSpec,
};
use kinfolk_actors::id::{AskId, CallId};
use kinfolk_actors::limits::{ChildBudget, Limits, OnLimit};
use kinfolk_actors::policy::{Mode, Policy};
use kinfolk_actors::profile::ModelProfile;
use kinfolk_actors::time::{Millis, Timestamp};
use tokio::time::Instant;

use super::support::{Gate, Model, session, within};
use crate::definition::Family;
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::ports::clock::Clock;
use crate::ports::tool::Call;
use crate::runtime::{Pending, Run, Runtime, RuntimeBuilder, Session, Settled};
use crate::settings::agent_tools::{AGENT_TOOLS, agent_tool};
use crate::tools::tool::Tool;
use kinfolk_actors::agent::{Approve, RunStanding, Verdict};

/// The time of day as tokio's clock has it, so that a paused test pauses it too.
struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        let since = Millis::from(self.0.elapsed());
        Timestamp(1_790_000_000_000 + since.0)
    }
}

/// One family at work on a script.
pub struct Scene {
    pub runtime: Runtime,
    pub session: Session,
    /// What the session was opened with.
    pub family: Family,
    pub model: Model,
    pub gate: Gate,
}

/// What a scene is made of.
#[derive(Clone)]
pub struct Setup {
    script: Scripted,
    tools: Vec<Tool>,
    closed: Vec<&'static str>,
    family: FrozenFamily,
}

/// A family of a lead and the subagents `a`, `b` and `c`, all with every tool, on a script.
pub fn setup(script: Scripted) -> Setup {
    Setup { script, tools: Vec::new(), closed: Vec::new(), family: frozen() }
}

impl Setup {
    /// Gives everybody a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.family.lead.tools = with(&self.family.lead.tools, tool.spec());
        for subagent in &mut self.family.subagents {
            subagent.invocation.tools = with(&subagent.invocation.tools, tool.spec());
        }
        if tool.spec().placement == Placement::Runtime {
            self.tools.push(tool);
        }
        self
    }

    /// Closes the model's gate at `AGENT#NUMBER`, or a tool's.
    pub fn closed(mut self, places: &[&'static str]) -> Self {
        self.closed = places.to_vec();
        self
    }

    /// Changes the family.
    pub fn family(mut self, change: impl FnOnce(&mut FrozenFamily)) -> Self {
        change(&mut self.family);
        self
    }

    pub async fn open(self) -> Scene {
        self.open_with(|_, builder| builder, |family| family).await
    }

    /// With tools that wait at the gate, more of a runtime, and what cannot be frozen.
    pub async fn open_with(
        self,
        more: impl FnOnce(&Gate, RuntimeBuilder) -> RuntimeBuilder,
        given: impl FnOnce(Family) -> Family,
    ) -> Scene {
        let gate = Gate::closed(self.closed);
        let model = Model::new(self.script, &gate);
        let clock = PausedClock(Instant::now());
        let mut builder = Runtime::builder().model("test:m", model.clone()).clock(clock);
        for tool in self.tools {
            builder = builder.tool(tool);
        }
        let runtime = more(&gate, builder).start().await.unwrap();
        let family = given(Family::frozen(self.family));
        let session = session(&runtime, "s", family.clone()).await;
        Scene { runtime, session, family, model, gate }
    }
}

impl Scene {
    pub async fn start(&self) -> Run {
        self.session.start("Go").await.unwrap()
    }

    /// Waits until the run is parked, and tells what is asked.
    pub async fn parked(&self, run: &Run) -> Vec<Pending> {
        let settled = within("parked", run.settled()).await.unwrap();
        assert_eq!(settled, Settled::Parked(RunStanding::AwaitingUser));
        self.session.pending().await.unwrap()
    }

    /// Waits for a completed run and tells its answer.
    pub async fn text(&self, run: &Run) -> String {
        let outcome = within("the outcome", run.outcome()).await.unwrap();
        self.model.check_pairs();
        assert_eq!(outcome.error, None);
        outcome.text.to_string()
    }
}

/// A plain answer to an approval.
pub fn says(approval: AskId, verdict: Verdict) -> Approve {
    Approve { approval, verdict, by: Some("someone".into()), reason: None, raised: None }
}

/// A call of the lead of a run.
pub fn lead_call(run: &Run, n: u32) -> CallId {
    CallId { run: run.id(), agent: kinfolk_actors::id::AgentId::LEAD, n }
}

/// A reply that calls one tool.
pub fn calls(name: &str, arguments: &str) -> ScriptedReply {
    ScriptedReply::default().call(name, arguments)
}

/// A tool that changes something and says so. It waits at `change:AT`.
pub fn change(gate: &Gate) -> Tool {
    let gate = gate.clone();
    Tool::function("change", "Changes.", move |at: super::support::At, _: Call| {
        let gate = gate.clone();
        async move {
            gate.pass(&format!("change:{}", at.at)).await;
            format!("changed {}", at.at)
        }
    })
}

fn with(tools: &Arc<[ToolSpec]>, more: &ToolSpec) -> Arc<[ToolSpec]> {
    tools.iter().chain([more]).cloned().collect()
}

fn invocation(tools: Vec<ToolSpec>) -> Invocation {
    Invocation {
        prompt: "You work.".into(),
        model: "test:m".into(),
        tools: tools.into(),
        tool_choice: ToolChoicePlan::default(),
        limits: Limits::none(),
    }
}

fn frozen() -> FrozenFamily {
    let tools = || AGENT_TOOLS.iter().filter_map(|name| agent_tool(name, &["a", "b", "c"]));
    let subagent = |name: &str| SubagentSpec {
        name: name.into(),
        description: "Helps.".into(),
        role: Role::Task,
        invocation: invocation(tools().collect()),
        delivery: Delivery::Answer,
        placement: Placement::Runtime,
        internal: false,
    };
    let endpoint = ModelEndpoint { profile: ModelProfile::unknown(), ..ModelEndpoint::default() };
    FrozenFamily {
        lead: invocation(tools().collect()),
        subagents: ["a", "b", "c"].map(subagent).into(),
        caps: Caps::default(),
        limits: Limits::none(),
        on_limit: OnLimit::Finish,
        child_budget: ChildBudget::default(),
        policy: Policy { mode: Mode::Manual, ..Policy::default() },
        approval_timeout: None,
        compaction: CompactionSettings::default(),
        commands: std::collections::BTreeMap::new(),
        models: [("test:m".to_owned(), endpoint)].into(),
        workspace: None,
    }
}
