//! The tool `call_subagent` as a model is told of it. What it does is decided by the kernel.

use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{CALL_SUBAGENT, ToolSpec};
use serde_json::json;

/// The tool that starts one of these subagents and waits for its report.
///
/// Its class is `idempotent`: a call has one id, and one id never starts a second subagent.
#[must_use]
pub fn call_subagent(names: &[&str]) -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "agent": {
                "type": "string",
                "enum": names,
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
        },
        "required": ["agent", "task"],
        "additionalProperties": false
    });
    ToolSpec {
        name: CALL_SUBAGENT.into(),
        description: "Gives a task to a subagent, waits until it is done, and returns its report. \
                      Several calls in one reply run side by side."
            .into(),
        schema: schema.to_string().into(),
        effect: EffectClass::Idempotent,
    }
}
