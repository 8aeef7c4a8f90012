//! Whether a call may run, as the family's policy says.

use super::AgentMachine;
use crate::call::{AuditDefault, EffectClass, Gate, read_arguments};
use crate::family::ToolSpec;
use crate::policy::gate::{Audit, CallFacts, Origin, ToolFacts, Verdict, decide};

/// What the policy says to a call of a tool, before or after the host's check of it was asked.
pub(super) fn gate(machine: &AgentMachine, tool: &ToolSpec, arguments: &str, audit: Audit) -> Gate {
    if machine.only_looks() && tool.effect != EffectClass::ReadOnly {
        let why = format!("`{}` changes things and this agent only looks", tool.name);
        return Gate::Block(why.into());
    }
    // What cannot be read never comes here; without arguments no rule about them means a call.
    let arguments = read_arguments(arguments).unwrap_or_default();
    let facts = ToolFacts {
        name: &tool.name,
        server: None,
        origin: Origin::Host,
        effect: tool.effect,
        declared: None,
    };
    let said =
        |audit| decide(&machine.family.policy, &facts, &CallFacts { arguments: &arguments, audit });
    match said(audit) {
        Verdict::Allow => Gate::Pass,
        Verdict::Ask { reason } => Gate::Ask(reason.to_string().into()),
        Verdict::Block { reason } => Gate::Block(reason.to_string().into()),
        Verdict::Audit { kind } => Gate::Audit {
            audit: kind.into(),
            default: match said(Audit::Unregistered) {
                Verdict::Allow => AuditDefault::Never,
                Verdict::Ask { .. } | Verdict::Block { .. } | Verdict::Audit { .. } => {
                    AuditDefault::Ask
                }
            },
        },
    }
}
