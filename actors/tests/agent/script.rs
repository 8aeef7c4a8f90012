//! What a random history of a family is made of.

use kinfolk_actors::agent::{RawCall, RawReply};
use kinfolk_actors::event::Finish;
use kinfolk_actors::family::{ApprovalMode, CALL_SUBAGENT};
use proptest::prelude::*;

use crate::fixture::{ask_scout, raw_call, reply, with_id};

/// A random history.
#[derive(Clone, Debug)]
pub struct Script {
    pub max_subagents: u32,
    pub max_parallel: u32,
    pub max_depth: u32,
    pub approval: ApprovalMode,
    pub ops: Vec<Op>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Op {
    Start,
    /// One of the things in flight ends somehow. With `raced` the agent decides by what it knew
    /// before another agent's last outcome.
    Settle {
        pick: usize,
        how: How,
        raced: bool,
    },
    Cancel {
        pick: usize,
    },
    /// Everything but the journal is lost; the family is loaded again, perhaps only to end.
    Crash {
        to_end: bool,
    },
}

#[derive(Clone, Debug)]
pub struct How {
    pub calls: Vec<u8>,
    pub die: u8,
}

pub fn script() -> impl Strategy<Value = Script> {
    let how = (prop::collection::vec(0u8..16, 0..12), 0u8..32)
        .prop_map(|(calls, die)| How { calls, die });
    let op = prop_oneof![
        2 => Just(Op::Start),
        30 => (any::<usize>(), how, any::<bool>())
            .prop_map(|(pick, how, raced)| Op::Settle { pick, how, raced }),
        1 => any::<usize>().prop_map(|pick| Op::Cancel { pick }),
        3 => prop::bool::weighted(0.1).prop_map(|to_end| Op::Crash { to_end }),
    ];
    let approval = prop_oneof![1 => Just(ApprovalMode::Manual), 4 => Just(ApprovalMode::AutoRun)];
    (0u32..6, 1u32..4, 0u32..3, approval, prop::collection::vec(op, 1..60)).prop_map(
        |(max_subagents, max_parallel, max_depth, approval, ops)| Script {
            max_subagents,
            max_parallel,
            max_depth,
            approval,
            ops,
        },
    )
}

pub fn raw_reply(calls: &[u8], die: u8) -> RawReply {
    let mut raw = reply("I say", calls.iter().map(|kind| call(*kind)).collect());
    if die == 3 {
        raw.finish = Finish::Length;
    }
    raw
}

fn call(kind: u8) -> RawCall {
    match kind {
        0..=3 => ask_scout("t"),
        4..=6 => raw_call("look", "{}"),
        7 => with_id("same", "look", r#"{"n":1}"#),
        8 => with_id("same", "look", r#"{"n":2}"#),
        9 => raw_call("put", "  "),
        10 => raw_call("book", "{}"),
        11 => raw_call("write", r#"{"text":"x"}"#),
        12 => raw_call("", "{}"),
        13 => raw_call("look", r#"{"cut"#),
        14 => raw_call("write", "[]"),
        _ => raw_call(CALL_SUBAGENT, r#"{"agent":"ghost","task":"t"}"#),
    }
}
