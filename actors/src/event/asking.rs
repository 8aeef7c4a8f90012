//! What an agent asks of people: approvals and questions, each answered once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::account::Scope;
use crate::id::{AskId, CallId};
use crate::limits::{LimitKind, Limits};
use crate::policy::canonical::ArgumentDigest;
use crate::time::Timestamp;

/// See [`Event::ApprovalRequested`](super::Event::ApprovalRequested).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequested {
    /// The question's own id; the answer names it.
    pub approval: AskId,
    /// What is to be approved.
    #[serde(flatten)]
    pub subject: ApprovalSubject,
    /// Why it is asked.
    pub reason: Arc<str>,
    /// When silence becomes a no, if ever. In JSON, milliseconds since the Unix epoch.
    #[serde(default, rename = "deadline_ms", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// What a person is asked to approve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ApprovalSubject {
    /// A tool call. The approval is bound to it by the digest of its arguments.
    Tool {
        /// The call.
        call: CallId,
        /// The tool.
        name: Arc<str>,
        /// The arguments as JSON text.
        arguments: Arc<str>,
        /// The digest of the canonical arguments.
        digest: ArgumentDigest,
    },
    /// More of what a limit has used up.
    Limit {
        /// Which limit.
        limit: LimitKind,
        /// Whose; approving raises it there.
        scope: Scope,
    },
}

/// See [`Event::ApprovalSettled`](super::Event::ApprovalSettled).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalSettled {
    /// The question.
    pub approval: AskId,
    /// The answer.
    pub decision: Decision,
    /// Who gave it, as the host names people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// Why, told to the model if it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The limits from here on where the limit was met, if it was about one and approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<Limits>,
}

/// How an approval was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may run.
    Approved,
    /// It may not.
    Denied,
    /// It may not, and the run ends.
    DeniedAndStop,
    /// Nobody answered in time: a no.
    Expired,
    /// The run went on or ended without an answer: a later one is stale.
    Withdrawn,
}

/// See [`Event::QuestionAsked`](super::Event::QuestionAsked).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAsked {
    /// The question's own id; the answer names it.
    pub question: AskId,
    /// What kind of answer is wanted, and from whom.
    pub kind: QuestionKind,
    /// The question.
    pub text: Arc<str>,
    /// What can be chosen from, if anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Arc<str>>,
    /// The call whose result the answer becomes; none if the brain asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

/// What kind of answer a question wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Free text of a person.
    Text,
    /// One of the options, from a person.
    Choice,
    /// Free text of the parent agent.
    Parent,
}

/// See [`Event::QuestionAnswered`](super::Event::QuestionAnswered).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAnswered {
    /// The question.
    pub question: AskId,
    /// The answer.
    pub answer: Arc<str>,
    /// Who gave it, as the host names people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
}
