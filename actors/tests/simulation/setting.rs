//! The families that are simulated: what may differ from one to the next is drawn by lot.

use std::sync::Arc;

use kinfolk_actors::brain::Brain;
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::compaction::CompactionSettings;
use kinfolk_actors::cost::Rates;
use kinfolk_actors::family::{
    ASK_PARENT, ASK_USER, CALL_SUBAGENT, Caps, Delivery, Family, FamilyHash, Invocation,
    MESSAGE_SUBAGENT, ModelEndpoint, Offer, Placement, Role, SPAWN_SUBAGENT, STOP_SUBAGENT,
    SubagentSpec, TASK_RETURN, ToolChoice, ToolChoicePlan, ToolSpec, WAIT_SUBAGENTS,
};
use kinfolk_actors::limits::{ChildBudget, Limits, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::policy::rule::Need;
use kinfolk_actors::policy::{Dynamic, Intervention, Mode, Policy};
use kinfolk_actors::profile::{ModelProfile, Prices};
use kinfolk_actors::time::Millis;

use crate::brain::{Honest, Wild};
use crate::dice::Dice;

pub const HASH: FamilyHash = FamilyHash([7; 32]);
pub const MODEL: &str = "test:model";

/// A family and the brain of its members.
#[derive(Clone)]
pub struct Setting {
    pub family: Arc<Family>,
    pub brain: Arc<dyn Brain>,
    /// Whether the brain does what a brain should.
    pub honest: bool,
    /// Whether its members start many others, so that they come into each other's way.
    pub crowded: bool,
}

impl Setting {
    pub fn draw(dice: &mut Dice) -> Self {
        let honest = !dice.one_in(4);
        let brain: Arc<dyn Brain> =
            if honest { Arc::new(Honest) } else { Arc::new(Wild { seed: dice.roll() }) };
        let crowded = dice.one_in(4);
        Self { family: Arc::new(family(dice, crowded)), brain, honest, crowded }
    }
}

fn family(dice: &mut Dice, crowded: bool) -> Family {
    let specs = [
        ("scout", Role::Explore, Delivery::Answer, Placement::Runtime),
        ("worker", Role::Task, Delivery::Answer, Placement::Runtime),
        ("clerk", Role::Task, Delivery::Return, Placement::Runtime),
        ("agency", Role::Task, Delivery::Answer, Placement::Client),
    ];
    let choice = match dice.below(12) {
        0 => ToolChoicePlan::always(ToolChoice::Required),
        1 => ToolChoicePlan { first: ToolChoice::Required, then: ToolChoice::Auto },
        _ => ToolChoicePlan::default(),
    };
    let own = if dice.one_in(4) { limits(dice) } else { Limits::default() };
    let subagents = specs.map(|(name, role, delivery, placement)| SubagentSpec {
        name: name.into(),
        description: "helps".into(),
        role,
        invocation: invocation(ToolChoicePlan::default(), own),
        delivery,
        placement,
        internal: false,
    });
    let lead = if dice.one_in(4) { limits(dice) } else { Limits::default() };
    let limited = dice.one_in(if crowded { 8 } else { 2 });
    Family {
        lead: invocation(choice, lead),
        subagents: subagents.into(),
        caps: if crowded { CROWD } else { caps(dice) },
        limits: if limited { limits(dice) } else { Limits::default() },
        on_limit: dice.one_of(&[
            OnLimit::Finish,
            OnLimit::Stop,
            OnLimit::Interrupt,
            OnLimit::Ask,
            OnLimit::Warn,
        ]),
        child_budget: dice.one_of(&[ChildBudget::Share, ChildBudget::Grant, ChildBudget::Mirror]),
        policy: policy(dice),
        approval_timeout: dice.one_in(2).then(|| Millis(1_000 + dice.below(9_000))),
        compaction: CompactionSettings {
            threshold: dice.one_in(2).then(|| 500 + dice.below(3_000)),
            keep: dice.one_in(2).then(|| dice.below(600)),
            ..CompactionSettings::default()
        },
        commands: Default::default(),
        models: [(MODEL.to_owned(), endpoint(dice))].into(),
        workspace: None,
    }
}

/// Room for many, and an end of it that is met.
const CROWD: Caps = Caps { max_subagents: 5, max_parallel: 4, max_depth: 3 };

fn caps(dice: &mut Dice) -> Caps {
    Caps { max_subagents: dice.small(7), max_parallel: dice.small(4), max_depth: dice.small(4) }
}

fn limits(dice: &mut Dice) -> Limits {
    let mut limits = Limits::default();
    match dice.below(6) {
        0 => limits.max_steps = Some(1 + dice.below(8)),
        1 => limits.max_tool_calls = Some(dice.below(8)),
        2 => limits.max_tokens = Some(600 + dice.below(4_000)),
        3 => limits.max_cost = Some(Money::from_pico(200_000_000 + dice.below(5_000_000_000))),
        4 => limits.max_time = Some(Millis(5_000 + dice.below(60_000))),
        _ => {
            limits.max_steps = Some(3 + dice.below(20));
            limits.max_tool_calls = Some(3 + dice.below(20));
            limits.max_time = Some(Millis(20_000 + dice.below(60_000)));
        }
    }
    limits
}

fn policy(dice: &mut Dice) -> Policy {
    let mode = dice.one_of(&[
        Mode::Manual,
        Mode::Manual,
        Mode::AllowList,
        Mode::AutoRun,
        Mode::AutoRun,
        Mode::Headless,
    ]);
    let audit = Dynamic {
        kind: "watch".to_owned(),
        default: dice.one_of(&[Need::Never, Need::Required]),
        policy: dice.one_of(&[Need::Required, Need::Always]),
    };
    let audited =
        ["put", "look"].map(|name| (name.to_owned(), Intervention::Dynamic(audit.clone())));
    let tools = if dice.one_in(2) { audited.into() } else { Default::default() };
    Policy { mode, tools, ..Policy::default() }
}

fn endpoint(dice: &mut Dice) -> ModelEndpoint {
    let mut profile = ModelProfile::unknown();
    (profile.window, profile.response) = (4_000 + dice.below(8_000), 500);
    profile.user_after_subagents = dice.one_in(2);
    if dice.one_in(2) {
        // A thousandth of a dollar for a thousand tokens.
        let price = Money::from_pico(1_000_000);
        let rates = Rates {
            input: price,
            cached_input: None,
            cache_write_5m: None,
            cache_write_1h: None,
            output: price.times(4),
            reasoning: None,
        };
        profile.prices = Some(Prices { rates, long_context: None });
    }
    ModelEndpoint { base_url: None, api_key_env: None, profile }
}

fn invocation(tool_choice: ToolChoicePlan, limits: Limits) -> Invocation {
    Invocation {
        prompt: "You are one of a family.".into(),
        model: MODEL.into(),
        tools: tools().into(),
        tool_choice,
        limits,
    }
}

fn tools() -> Vec<ToolSpec> {
    let read = EffectClass::ReadOnly;
    let here = Placement::Runtime;
    let mut tools = vec![
        tool("look", read, here),
        tool("put", EffectClass::Idempotent, here),
        tool("book", EffectClass::Reconcilable, here),
        tool("write", EffectClass::Changing, here),
        tool("fetch", read, Placement::Client),
        tool("order", EffectClass::Changing, Placement::Client),
        ToolSpec { offer: Offer::OnceActivated, ..tool("hidden", read, here) },
    ];
    let own = [
        CALL_SUBAGENT,
        SPAWN_SUBAGENT,
        WAIT_SUBAGENTS,
        MESSAGE_SUBAGENT,
        STOP_SUBAGENT,
        ASK_USER,
        ASK_PARENT,
        TASK_RETURN,
    ];
    tools.extend(own.map(|name| tool(name, read, here)));
    tools
}

fn tool(name: &str, effect: EffectClass, placement: Placement) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "".into(),
        schema: "{}".into(),
        effect,
        placement,
        offer: Offer::Always,
        cost: None,
    }
}
