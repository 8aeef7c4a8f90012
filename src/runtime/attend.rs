//! Somebody who attends to an approval: if they go away without an answer, the answer is no.

use std::sync::Arc;

use kinfolk_actors::agent::{Approve, Command, Verdict};
use kinfolk_actors::id::AskId;

use super::control::RunControl;
use super::error::WishError;

/// An approval that a connection, a window or a task attends to. Dropped before it has answered, it
/// answers no, so that a client that disconnects cannot leave a call waiting for a yes that nobody
/// will give. An approval that nobody attends to goes on waiting.
#[must_use = "dropping it answers no"]
pub struct Attended {
    control: RunControl,
    approval: AskId,
    answered: bool,
}

impl RunControl {
    /// Attends to an approval until it is answered through what is returned.
    pub fn attend(&self, approval: AskId) -> Attended {
        Attended { control: self.clone(), approval, answered: false }
    }
}

impl Attended {
    /// Which approval it is.
    #[must_use]
    pub fn approval(&self) -> AskId {
        self.approval
    }

    /// Answers it, `by` whom the host says; returns when the answer is durable. If the future is
    /// dropped the answer may have been given all the same, else it is no.
    ///
    /// # Errors
    /// It was answered before, is not asked any more, or never was.
    pub async fn answer(
        mut self,
        verdict: Verdict,
        by: Option<Arc<str>>,
        reason: Option<Arc<str>>,
    ) -> Result<(), WishError> {
        let (control, approval) = (self.control.clone(), self.approval);
        let answer = Approve { approval, verdict, by, reason, raised: None };
        let answered = control.approve(answer).await;
        self.answered = true;
        answered
    }

    /// Leaves it to others: it goes on waiting.
    pub fn leave(mut self) {
        self.answered = true;
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let answer = Approve {
            approval: self.approval,
            verdict: Verdict::Deny,
            by: None,
            reason: Some("whoever was asked went away without an answer".into()),
            raised: None,
        };
        if let Some(family) = self.control.family() {
            // The answer is not awaited: a run that is over, or was answered, refuses it.
            drop(family.send(self.approval.agent, None, Command::Approve(answer)));
        }
    }
}
