//! The request that a state leads to.

use std::sync::Arc;

use kinfolk_actors::context::RequestMessage;
use kinfolk_actors::family::{Family, ToolChoice, ToolChoicePlan};

use crate::bench::Bench;
use crate::fixture::*;

fn with_choice(first: ToolChoice, then: ToolChoice) -> Family {
    let mut family = family();
    family.lead.tool_choice = ToolChoicePlan { first, then };
    family
}

#[test]
fn the_first_request_of_each_run_has_its_own_tool_choice() {
    let family = with_choice(ToolChoice::Required, ToolChoice::Auto);
    let mut lead = Bench::lead(family).given(&[start("go")]);
    assert_eq!(lead.request().tool_choice, ToolChoice::Required);
    lead = lead.given(&[calls(1, vec![raw_call("look", "{}")]), done(id(0), "r")]);
    assert_eq!(lead.request().tool_choice, ToolChoice::Auto);
    lead = lead.given(&[says(2, "done")]);
    lead.next_run(2);
    lead = lead.given(&[start("more")]);
    assert_eq!(lead.request().tool_choice, ToolChoice::Required);
}

#[test]
fn without_tools_nothing_is_required() {
    let mut family = with_choice(ToolChoice::Required, ToolChoice::Required);
    family.lead.tools = Arc::default();
    let lead = Bench::lead(family).given(&[start("go")]);
    assert_eq!(lead.request().tool_choice, ToolChoice::Auto);
}

#[test]
fn the_prompt_lists_the_subagents_where_they_can_be_started() {
    let lead = Bench::lead(family()).given(&[start("go")]);
    let prompt = "You are one of a family.\n\n\
                  Subagents that you can start with `call_subagent`:\n- scout: Looks";
    assert_eq!(&*lead.request().system, prompt);
    let alone = Bench::lead(capped(6, 3, 0)).given(&[start("go")]);
    assert_eq!(&*alone.request().system, "You are one of a family.");
}

#[test]
fn names_that_providers_refuse_are_mended_in_the_call_and_its_result() {
    let long = "n".repeat(100);
    for (written, sent) in [
        ("", "unnamed"),
        ("functions.look", "functions_look"),
        ("sieh nach ä", "sieh_nach__"),
        (&long, &long[..64]),
    ] {
        let lead =
            Bench::lead(family()).given(&[start("go"), calls(1, vec![raw_call(written, "{}")])]);
        let names: Vec<String> = lead.request().messages.iter().flat_map(names).collect();
        assert_eq!(names, [sent, sent]);
    }
}

fn names(message: &RequestMessage) -> Vec<String> {
    match message {
        RequestMessage::User(_) => vec![],
        RequestMessage::Assistant { calls, .. } => {
            calls.iter().map(|call| call.name.to_string()).collect()
        }
        RequestMessage::ToolResult { name, .. } => vec![name.to_string()],
    }
}

#[test]
fn an_empty_reply_is_no_message() {
    let mut lead = Bench::lead(family()).given(&[start("go"), says(1, " \n")]);
    lead.next_run(2);
    lead = lead.given(&[start("more")]);
    let expected = ["go", "more"].map(|text| RequestMessage::User(text.into()));
    assert_eq!(lead.request().messages, expected);
}
