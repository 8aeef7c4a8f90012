//! The runs of a runtime, as the control socket reaches them.

use std::sync::Arc;

use futures::FutureExt;
use kinfolk_actors::agent::Approve;
use kinfolk_actors::event::{Outcome, RunFinished};
use kinfolk_actors::id::{AskId, RunId, SessionId};

use super::{Approval, ControlCode, ControlError, Controlled, Done};
use crate::ports::store::Store;
use crate::runtime::{CancelError, OutcomeError, RunControl, Runtime, StartError, WishError};

impl Controlled for Runtime {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(Self::store(self))
    }

    fn approve(&self, approval: AskId, answer: Approval) -> Done<'_> {
        let Approval { says, by, reason, raised } = answer;
        let answer = Approve { approval, verdict: says.into(), by, reason, raised };
        async move { Ok(alive(self, approval.run).await?.approve(answer).await?) }.boxed()
    }

    fn answer(&self, question: AskId, text: Arc<str>, by: Option<Arc<str>>) -> Done<'_> {
        async move { Ok(alive(self, question.run).await?.answer(question, text, by).await?) }
            .boxed()
    }

    fn steer(&self, run: RunId, text: Arc<str>) -> Done<'_> {
        async move { Ok(alive(self, run).await?.steer(text).await?) }.boxed()
    }

    fn queue(&self, run: RunId, text: Arc<str>) -> Done<'_> {
        async move { Ok(alive(self, run).await?.queue(text).await?) }.boxed()
    }

    fn cancel(&self, run: RunId, reason: Arc<str>) -> Done<'_> {
        async move { Ok(alive(self, run).await?.cancel(reason).await.map(drop)?) }.boxed()
    }

    fn compact(&self, session: SessionId) -> Done<'_> {
        async move {
            if let Some(run) = self.control_of(&session).await {
                return Ok(run.compact().await?);
            }
            if Store::session(self.store().as_ref(), &session).await?.is_none() {
                let text = format!("there is no session `{session}`; `kinfolk inspect` lists them");
                return Err(ControlError::new(ControlCode::NotFound, text));
            }
            let opened = self.session(session.as_str()).open().await;
            let session = opened
                .map_err(|error| ControlError::new(ControlCode::NotFound, error.to_string()))?;
            finished(session.compact().await?.control().outcome().await?)
        }
        .boxed()
    }
}

/// The run, if it is alive here.
async fn alive(runtime: &Runtime, run: RunId) -> Result<RunControl, ControlError> {
    let gone = || {
        let text = format!(
            "{run} is not at work in the process that owns the data directory: it is over, or has \
             to be resumed first"
        );
        ControlError::new(ControlCode::NotFound, text)
    };
    runtime.control(run).await?.ok_or_else(gone)
}

/// What a run that only compacts has come to.
fn finished(end: RunFinished) -> Result<(), ControlError> {
    match (end.outcome, end.error) {
        (Outcome::Completed | Outcome::PartialSuccess, _) => Ok(()),
        (Outcome::Cancelled | Outcome::Failed, Some(error)) => {
            Err(ControlError::new(ControlCode::Failed, error.to_string()))
        }
        (Outcome::Cancelled | Outcome::Failed, None) => {
            Err(ControlError::new(ControlCode::Failed, "the compaction was cancelled"))
        }
    }
}

impl From<WishError> for ControlError {
    fn from(error: WishError) -> Self {
        let code = match &error {
            WishError::Refused(refusal) => return Self::refused(refusal),
            WishError::NotActive => ControlCode::NotFound,
            WishError::Overloaded => ControlCode::Unavailable,
            WishError::Unknown => ControlCode::Failed,
        };
        Self::new(code, error.to_string())
    }
}

impl From<CancelError> for ControlError {
    fn from(error: CancelError) -> Self {
        let code = match &error {
            CancelError::NotActive => ControlCode::NotFound,
            CancelError::Outcome(_) => ControlCode::Failed,
        };
        Self::new(code, error.to_string())
    }
}

impl From<OutcomeError> for ControlError {
    fn from(error: OutcomeError) -> Self {
        Self::new(ControlCode::Failed, error.to_string())
    }
}

impl From<StartError> for ControlError {
    fn from(error: StartError) -> Self {
        let code = match &error {
            StartError::Refused(refusal) => return Self::refused(refusal),
            StartError::RunActive { .. } => ControlCode::Refused,
            StartError::NothingToResume(_) | StartError::NoSuchRun(_) => ControlCode::NotFound,
            StartError::ShuttingDown => ControlCode::Unavailable,
            StartError::NoFamily(_)
            | StartError::FamilyLost(_)
            | StartError::Open(_)
            | StartError::Store(_)
            | StartError::Failed(_) => ControlCode::Failed,
        };
        Self::new(code, error.to_string())
    }
}
