//! A command's process group: the only owner of its processes.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::signal::unix::SignalKind;

/// A process and everything in its group. Dropping it kills the whole group at once: whoever drops
/// it has no time to give.
#[derive(Debug)]
pub(super) struct Group {
    child: Box<dyn ChildWrapper>,
    killed: bool,
}

/// The ends of a command's pipes.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

impl Group {
    /// Starts a command as the leader of its own group.
    pub(super) fn spawn(command: &mut CommandWrap) -> io::Result<Self> {
        Ok(Self { child: command.spawn()?, killed: false })
    }

    /// Takes the pipes; they are there once.
    pub(super) fn pipes(&mut self) -> Pipes {
        Pipes {
            stdin: self.child.stdin().take(),
            stdout: self.child.stdout().take(),
            stderr: self.child.stderr().take(),
        }
    }

    /// Waits for the leader, not for the rest of the group. Cancel-safe.
    ///
    /// The wrapper's own wait would wait for every child in the group, which never ends where this
    /// process is the container's first one and inherits what a command left in the background.
    pub(super) async fn leader_ends(&mut self) -> io::Result<ExitStatus> {
        self.child.inner_mut().wait().await
    }

    /// Asks the whole group to end.
    pub(super) fn terminate(&self) {
        // The only failure is that nobody is left to ask.
        let _ = self.child.signal(SignalKind::terminate().as_raw_value());
    }

    /// Kills what is left of the group. Only the first time does anything: the group's number may
    /// be another's later.
    pub(super) fn kill(&mut self) {
        if !self.killed {
            self.killed = true;
            // The only failure is that nobody is left to kill.
            let _ = self.child.start_kill();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
