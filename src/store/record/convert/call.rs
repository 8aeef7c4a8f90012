//! Calls: proposed, gated, ended.

use std::sync::Arc;

use kinfolk_actors::call::{AuditDefault, CallKind, CallResult, CallStatus, Gate, ProposedCall};
use kinfolk_actors::event::ToolFinished;
use kinfolk_actors::time::Millis;

use super::super::Unreadable;
use super::super::event::{GateV1, ProposedCallV2};
use super::super::number::Numbered;
use super::super::parts::ToolFinishedV1;

impl From<&ProposedCall> for ProposedCallV2 {
    fn from(call: &ProposedCall) -> Self {
        Self {
            call: call.call.into(),
            alias: Arc::clone(&call.alias),
            name: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
            kind: call.kind.number(),
            gate: (&call.gate).into(),
            provider_id: Arc::clone(&call.provider_id),
        }
    }
}

impl TryFrom<ProposedCallV2> for ProposedCall {
    type Error = Unreadable;

    fn try_from(stored: ProposedCallV2) -> Result<Self, Unreadable> {
        Ok(Self {
            call: stored.call.into(),
            alias: stored.alias,
            name: stored.name,
            arguments: stored.arguments,
            kind: CallKind::of(stored.kind)?,
            gate: stored.gate.try_into()?,
            provider_id: stored.provider_id,
        })
    }
}

impl From<&Gate> for GateV1 {
    fn from(gate: &Gate) -> Self {
        match gate {
            Gate::Pass => Self::Pass,
            Gate::Ask(reason) => Self::Ask(Arc::clone(reason)),
            Gate::Audit { audit, default } => {
                Self::Audit { audit: Arc::clone(audit), default: default.number() }
            }
            Gate::Block(reason) => Self::Block(Arc::clone(reason)),
        }
    }
}

impl TryFrom<GateV1> for Gate {
    type Error = Unreadable;

    fn try_from(stored: GateV1) -> Result<Self, Unreadable> {
        Ok(match stored {
            GateV1::Pass => Self::Pass,
            GateV1::Ask(reason) => Self::Ask(reason),
            GateV1::Audit { audit, default } => {
                Self::Audit { audit, default: AuditDefault::of(default)? }
            }
            GateV1::Block(reason) => Self::Block(reason),
        })
    }
}

impl From<&ToolFinished> for ToolFinishedV1 {
    fn from(event: &ToolFinished) -> Self {
        Self {
            call: event.call.into(),
            name: Arc::clone(&event.name),
            status: event.result.status.number(),
            text: Arc::clone(&event.result.text),
            full_size: event.result.full_size,
            duration_ms: event.duration_ms.0,
        }
    }
}

impl TryFrom<ToolFinishedV1> for ToolFinished {
    type Error = Unreadable;

    fn try_from(stored: ToolFinishedV1) -> Result<Self, Unreadable> {
        let status = CallStatus::of(stored.status)?;
        Ok(Self {
            call: stored.call.into(),
            name: stored.name,
            // As it was taken: the cap of this version does not cut an old result again.
            result: CallResult { status, text: stored.text, full_size: stored.full_size },
            duration_ms: Millis(stored.duration_ms),
        })
    }
}
