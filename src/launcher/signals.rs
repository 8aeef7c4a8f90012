//! What the person or the system wants of a run, as signals say it.

use kinfolk::output::exit;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::error::LaunchError;

/// The exit code of a process that was told to end by SIGTERM, as shells count: 128 + 15.
pub(super) const TERMINATED: u8 = 143;

/// What the person or the system wants of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Cancel it.
    Cancel,
    /// Stop the work and leave it unfinished.
    Terminate,
}

/// Hears signals for as long as it is kept, whatever else goes on: the first of a kind is a wish,
/// the second ends the process at once.
pub(super) struct Signals {
    pub(super) wishes: mpsc::Receiver<Wish>,
    _listener: AbortOnDropHandle<()>,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, LaunchError> {
        let listen = |kind| signal(kind).map_err(LaunchError::System);
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut terminate = listen(SignalKind::terminate())?;
        // One of each kind at most.
        let (tell, wishes) = mpsc::channel(2);
        let listener = async move {
            let (mut interrupted, mut terminated) = (false, false);
            loop {
                let (seen, wish, code) = tokio::select! {
                    _ = interrupt.recv() => (&mut interrupted, Wish::Cancel, exit::CANCELLED),
                    _ = terminate.recv() => (&mut terminated, Wish::Terminate, TERMINATED),
                };
                if std::mem::replace(seen, true) {
                    std::process::exit(code.into());
                }
                // Nobody waits for wishes once the run is over.
                let _ = tell.try_send(wish);
            }
        };
        Ok(Self { wishes, _listener: AbortOnDropHandle::new(tokio::spawn(listener)) })
    }
}
