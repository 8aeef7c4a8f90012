//! Approvals and questions.

use std::sync::Arc;

use kinfolk_actors::event::{
    ApprovalRequested, ApprovalSettled, ApprovalSubject, Decision, QuestionAsked, QuestionKind,
};
use kinfolk_actors::id::CallId;
use kinfolk_actors::limits::{LimitKind, Limits};
use kinfolk_actors::policy::canonical::ArgumentDigest;
use kinfolk_actors::time::Timestamp;

use super::super::Unreadable;
use super::super::event::{
    ApprovalRequestedV1, ApprovalSettledV1, ApprovalSubjectV1, QuestionAskedV1,
};
use super::super::number::Numbered;
use super::super::parts::{CallIdV1, LimitsV1};

impl From<&ApprovalRequested> for ApprovalRequestedV1 {
    fn from(event: &ApprovalRequested) -> Self {
        Self {
            approval: event.approval.into(),
            subject: (&event.subject).into(),
            reason: Arc::clone(&event.reason),
            deadline: event.deadline.map(|deadline| deadline.0),
        }
    }
}

impl TryFrom<ApprovalRequestedV1> for ApprovalRequested {
    type Error = Unreadable;

    fn try_from(stored: ApprovalRequestedV1) -> Result<Self, Unreadable> {
        Ok(Self {
            approval: stored.approval.into(),
            subject: stored.subject.try_into()?,
            reason: stored.reason,
            deadline: stored.deadline.map(Timestamp),
        })
    }
}

impl From<&ApprovalSubject> for ApprovalSubjectV1 {
    fn from(subject: &ApprovalSubject) -> Self {
        match subject {
            ApprovalSubject::Tool { call, name, arguments, digest } => Self::Tool {
                call: (*call).into(),
                name: Arc::clone(name),
                arguments: Arc::clone(arguments),
                digest: digest.0,
            },
            ApprovalSubject::Limit { limit, scope } => {
                Self::Limit { limit: limit.number(), scope: (*scope).into() }
            }
        }
    }
}

impl TryFrom<ApprovalSubjectV1> for ApprovalSubject {
    type Error = Unreadable;

    fn try_from(stored: ApprovalSubjectV1) -> Result<Self, Unreadable> {
        Ok(match stored {
            ApprovalSubjectV1::Tool { call, name, arguments, digest } => {
                Self::Tool { call: call.into(), name, arguments, digest: ArgumentDigest(digest) }
            }
            ApprovalSubjectV1::Limit { limit, scope } => {
                Self::Limit { limit: LimitKind::of(limit)?, scope: scope.into() }
            }
        })
    }
}

impl From<&ApprovalSettled> for ApprovalSettledV1 {
    fn from(event: &ApprovalSettled) -> Self {
        Self {
            approval: event.approval.into(),
            decision: event.decision.number(),
            by: event.by.clone(),
            reason: event.reason.clone(),
            raised: event.raised.as_ref().map(LimitsV1::from),
        }
    }
}

impl TryFrom<ApprovalSettledV1> for ApprovalSettled {
    type Error = Unreadable;

    fn try_from(stored: ApprovalSettledV1) -> Result<Self, Unreadable> {
        Ok(Self {
            approval: stored.approval.into(),
            decision: Decision::of(stored.decision)?,
            by: stored.by,
            reason: stored.reason,
            raised: stored.raised.map(Limits::try_from).transpose()?,
        })
    }
}

impl From<&QuestionAsked> for QuestionAskedV1 {
    fn from(event: &QuestionAsked) -> Self {
        Self {
            question: event.question.into(),
            kind: event.kind.number(),
            text: Arc::clone(&event.text),
            options: event.options.clone(),
            call: event.call.map(CallIdV1::from),
        }
    }
}

impl TryFrom<QuestionAskedV1> for QuestionAsked {
    type Error = Unreadable;

    fn try_from(stored: QuestionAskedV1) -> Result<Self, Unreadable> {
        Ok(Self {
            question: stored.question.into(),
            kind: QuestionKind::of(stored.kind)?,
            text: stored.text,
            options: stored.options,
            call: stored.call.map(CallId::from),
        })
    }
}
