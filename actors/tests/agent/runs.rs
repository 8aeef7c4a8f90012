//! Several runs on one session: the history goes on, the numbers and the children do not.

use std::collections::BTreeSet;

use kinfolk_actors::agent::{Command, Key, Outcome};
use kinfolk_actors::call::CallKind;
use kinfolk_actors::context::RequestMessage;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{CallId, RequestNo, RunId};
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

use crate::bench::{Bench, thinks};
use crate::fixture::*;

/// The ends that the first run of each example has, after a look and a subagent in flight.
fn ends() -> [(&'static str, Vec<Command>); 3] {
    let started = scout_started(1, &proposed(1, &ask_scout("t"), CallKind::Subagent), "t");
    let reported = reported_by(report(&started, "found"));
    let came_back = settle(Key::Child(id(1)), reported);
    let error = Failure::new(ErrorCode::ModelQuota, "no money left");
    let failed = Outcome::ModelFailed { error, usage: Usage::default(), cost: None };
    [
        ("completed", vec![came_back.clone(), says(2, "done")]),
        ("failed", vec![came_back, settle(Key::Model(RequestNo(2)), failed)]),
        ("cancelled", vec![cancel(), settle(Key::Child(id(1)), Outcome::Gone)]),
    ]
}

#[test]
fn the_next_run_begins_afresh_on_the_same_history() {
    for (name, commands) in ends() {
        let batch = vec![raw_call("look", "{}"), ask_scout("t")];
        let mut lead = Bench::lead(family())
            .given(&[start("go"), calls(1, batch), done(id(0), "r")])
            .given(&commands);
        assert!(!lead.state.has_live_children(), "{name}");
        let before = lead.state.transcript.len();

        lead.next_run(2);
        let events = [run_started("more", &family()), user("more"), requested(1)];
        lead.check(&start("more"), &events, &thinks(1));
        assert_eq!(lead.state.transcript.len(), before + 1, "{name}");
        assert_eq!((lead.state.runs, lead.state.run.calls, lead.state.children.len()), (2, 0, 0));
        assert_eq!(lead.ledger.subagents_left(), family().caps.max_subagents);

        lead.take(&calls(1, vec![raw_call("look", "{}")])).unwrap();
        let second = CallId { run: RunId(Uuid::from_u128(2)), ..id(0) };
        lead.take(&done(second, "again")).unwrap();
        assert_paired(&lead.request().messages);
        let ids: Vec<String> = lead.results().into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, ["call_1_0", "call_1_1", "call_2_0"], "{name}");

        lead.take(&says(2, "over")).unwrap();
        let used = Usage { turns: 2, tool_calls: 1, ..usage(2, 20, 10) };
        assert_eq!(lead.finished().usage, used, "{name}");
    }
}

/// Every call is answered once, in order, directly after its message, under an id of its own.
pub fn assert_paired(messages: &[RequestMessage]) {
    let mut open: Vec<&str> = vec![];
    let mut seen = BTreeSet::new();
    for message in messages {
        match message {
            RequestMessage::ToolResult { id, .. } => {
                assert!(!open.is_empty(), "the result of {id} answers no call");
                assert_eq!(open.remove(0), &**id);
            }
            RequestMessage::User(_) => assert_eq!(open, Vec::<&str>::new()),
            RequestMessage::Assistant { calls, .. } => {
                assert_eq!(open, Vec::<&str>::new());
                for call in calls {
                    assert!(seen.insert(&*call.id), "{} is there twice", call.id);
                    let arguments = serde_json::from_str(&call.arguments);
                    assert!(matches!(arguments, Ok(serde_json::Value::Object(_))));
                    assert!(!call.name.is_empty());
                    open.push(&call.id);
                }
            }
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}
