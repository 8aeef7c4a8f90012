//! The tools by which an agent deals with subagents, its parent and the user, as a model is told of
//! them. What they do is decided by the kernel; no toolbox holds them, and no call of them asks
//! anybody.

use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{
    ASK_PARENT, ASK_USER, CALL_SUBAGENT, MESSAGE_SUBAGENT, Offer, Placement, SPAWN_SUBAGENT,
    STOP_SUBAGENT, TASK_RETURN, ToolSpec, WAIT_SUBAGENTS,
};
use serde_json::{Map, Value, json};

/// The names of all of them. They are reserved.
pub const AGENT_TOOLS: [&str; 8] = [
    CALL_SUBAGENT,
    SPAWN_SUBAGENT,
    WAIT_SUBAGENTS,
    MESSAGE_SUBAGENT,
    STOP_SUBAGENT,
    ASK_USER,
    ASK_PARENT,
    TASK_RETURN,
];

/// Whether a tool is carried out by the kernel.
#[must_use]
pub fn is_agent_tool(name: &str) -> bool {
    AGENT_TOOLS.contains(&name)
}

/// Whether a tool starts subagents, so that it has to name them.
#[must_use]
pub fn starts_subagents(name: &str) -> bool {
    matches!(name, CALL_SUBAGENT | SPAWN_SUBAGENT)
}

/// Whether a tool has a sense only in a family with subagents.
#[must_use]
pub fn needs_subagents(name: &str) -> bool {
    starts_subagents(name) || matches!(name, WAIT_SUBAGENTS | MESSAGE_SUBAGENT | STOP_SUBAGENT)
}

/// The tool of that name, if it is one of these. Those that start subagents name the ones that may
/// be started.
///
/// The class of those that start, tell or stop somebody is `idempotent`: a call has one id, and one
/// id never does it twice.
#[must_use]
pub fn agent_tool(name: &str, subagents: &[&str]) -> Option<ToolSpec> {
    let (description, schema, effect) = match name {
        CALL_SUBAGENT => (CALL, start(subagents), EffectClass::Idempotent),
        SPAWN_SUBAGENT => (SPAWN, start(subagents), EffectClass::Idempotent),
        WAIT_SUBAGENTS => (WAIT, wait(), EffectClass::ReadOnly),
        MESSAGE_SUBAGENT => (MESSAGE, message(), EffectClass::Idempotent),
        STOP_SUBAGENT => (STOP, stop(), EffectClass::Idempotent),
        ASK_USER => (USER, ask(), EffectClass::ReadOnly),
        ASK_PARENT => (PARENT, ask(), EffectClass::ReadOnly),
        TASK_RETURN => (RETURN, result(), EffectClass::ReadOnly),
        _ => return None,
    };
    Some(ToolSpec {
        name: name.into(),
        description: description.into(),
        schema: schema.to_string().into(),
        effect,
        placement: Placement::Runtime,
        offer: Offer::Always,
        cost: None,
    })
}

const CALL: &str = "Gives a task to a subagent, waits until it is done, and returns its report. \
                    Several calls in one reply run side by side.";
const SPAWN: &str = "Gives a task to a subagent that works beside you, and returns its id at once. \
                     A message comes when it is done.";
const WAIT: &str =
    "Waits until subagents that work beside you are done, and returns their reports.";
const MESSAGE: &str =
    "Tells a subagent something while it works. It reads it before its next step.";
const STOP: &str = "Ends a subagent and all that it started.";
const USER: &str = "Asks the user and waits for the answer. Ask only what you cannot find out \
                    yourself and what the task depends on.";
const PARENT: &str = "Asks the agent that gave you the task and waits for the answer.";
const RETURN: &str = "Ends your task with its result. It must be the last call of your reply.";

fn object(properties: Value, required: &[&str]) -> Value {
    let mut object = Map::new();
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        object.insert("required".to_owned(), required.into());
    }
    object.insert("additionalProperties".to_owned(), false.into());
    Value::Object(object)
}

fn start(subagents: &[&str]) -> Value {
    let properties = json!({
        "agent": {
            "type": "string",
            "enum": subagents,
            "description": "Which subagent to start."
        },
        "task": {
            "type": "string",
            "minLength": 1,
            "description": "The whole task, with everything that the subagent needs to know: \
                            it sees nothing of this conversation."
        },
        "label": {
            "type": "string",
            "description": "A short name for this piece of work, shown to people."
        },
        "write_scope": {
            "type": "array",
            "items": { "type": "string" },
            "description": "The paths that the subagent may change."
        }
    });
    object(properties, &["agent", "task"])
}

fn subagent() -> Value {
    json!({
        "type": "string",
        "pattern": "^sub-[0-9]+$",
        "description": "The subagent's id, for example `sub-1`."
    })
}

fn wait() -> Value {
    let mut one = subagent();
    if let Some(one) = one.as_object_mut() {
        one.remove("description");
    }
    let properties = json!({
        "subagents": {
            "type": "array",
            "items": one,
            "description": "The ids to wait for, for example [\"sub-1\"]; all that are at work if \
                            left out."
        },
        "timeout": {
            "type": "integer",
            "minimum": 1,
            "description": "The most seconds to wait; without it, until they are done."
        }
    });
    object(properties, &[])
}

fn message() -> Value {
    let properties = json!({
        "subagent": subagent(),
        "message": { "type": "string", "minLength": 1, "description": "What to tell it." }
    });
    object(properties, &["subagent", "message"])
}

fn stop() -> Value {
    object(json!({ "subagent": subagent() }), &["subagent"])
}

fn ask() -> Value {
    let properties = json!({
        "question": {
            "type": "string",
            "minLength": 1,
            "description": "The question, whole: whoever answers may not see this conversation."
        },
        "options": {
            "type": "array",
            "items": { "type": "string" },
            "description": "The answers to choose from, if it is a choice."
        }
    });
    object(properties, &["question"])
}

fn result() -> Value {
    let properties = json!({
        "result": {
            "type": "string",
            "minLength": 1,
            "description": "The whole result, with all that was asked for."
        }
    });
    object(properties, &["result"])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel reads (`actors/src/agent/arguments.rs`), and what it refuses.
    const ARGUMENTS: [(&str, &str, &str); 8] = [
        (
            CALL_SUBAGENT,
            r#"{"agent":"a","task":"t","label":"l","write_scope":["x"]}"#,
            r#"{"agent":"c","task":"t"}"#,
        ),
        (SPAWN_SUBAGENT, r#"{"agent":"b","task":"t"}"#, r#"{"agent":"b"}"#),
        (WAIT_SUBAGENTS, r#"{"subagents":["sub-1"],"timeout":5}"#, r#"{"subagents":["lead"]}"#),
        (MESSAGE_SUBAGENT, r#"{"subagent":"sub-2","message":"m"}"#, r#"{"message":"m"}"#),
        (STOP_SUBAGENT, r#"{"subagent":"sub-2"}"#, r#"{"subagent":"sub-2","now":true}"#),
        (ASK_USER, r#"{"question":"q","options":["x","y"]}"#, r#"{"question":""}"#),
        (ASK_PARENT, r#"{"question":"q"}"#, r#"{"text":"q"}"#),
        (TASK_RETURN, r#"{"result":"r"}"#, r#"{"result":{}}"#),
    ];

    #[test]
    fn each_has_a_schema_that_takes_what_the_kernel_reads() {
        for (name, good, bad) in ARGUMENTS {
            let tool = agent_tool(name, &["a", "b"]).unwrap();
            let schema: Value = serde_json::from_str(&tool.schema).unwrap();
            let schema = jsonschema::validator_for(&schema).unwrap();
            let fits = |text: &str| schema.is_valid(&serde_json::from_str(text).unwrap());
            assert_eq!((fits(good), fits(bad)), (true, false), "{name}");
        }
        let names: Vec<_> = ARGUMENTS.iter().map(|(name, _, _)| *name).collect();
        assert_eq!(names, AGENT_TOOLS);
        assert_eq!(agent_tool("read_file", &[]), None);
    }
}
