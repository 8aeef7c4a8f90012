//! From a started command to its end: what it writes is read while its time, its exit and the
//! call's token are watched.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{Fuse, FusedFuture, join, join3};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::group::{Group, Pipes};
use super::output::{Output, drain};

/// How long a group may take to end after it was asked to, before it is killed.
const KILL_GRACE: Duration = Duration::from_millis(500);

/// How long pipes that others of the group hold open are read after the command itself has ended.
const PIPE_GRACE: Duration = Duration::from_millis(200);

/// How a command ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself, or by a signal of someone else.
    Exited(ExitStatus),
    /// By itself, but the system does not say how.
    Lost(io::Error),
    /// Its time was up.
    TimedOut,
    /// Its call was cancelled.
    Cancelled,
}

/// Runs a started command to its end. When this returns, its whole group is dead or about to be:
/// the last signal that it got was a kill.
///
/// Dropping the future kills the group.
pub(super) async fn run_to_end(
    mut group: Group,
    arguments: Vec<u8>,
    limit: Duration,
    cancelled: &CancellationToken,
) -> (End, Output) {
    let mut output = Output::default();
    let end = {
        let Pipes { stdin, stdout, stderr } = group.pipes();
        let pipes = join3(
            feed(stdin, arguments),
            drain(stdout, &mut output.head),
            drain(stderr, &mut output.tail),
        );
        let mut pipes = pin!(pipes.map(|_| ()).fuse());
        let ending = first_end(&mut group, limit, cancelled);
        let end = alongside(ending, pipes.as_mut()).await;
        match &end {
            End::Exited(_) | End::Lost(_) => {
                let _ = timeout(PIPE_GRACE, rest(pipes.as_mut())).await;
                group.kill();
            }
            End::TimedOut | End::Cancelled => stop(&mut group, pipes).await,
        }
        end
    };
    (end, output)
}

/// Whichever comes first.
async fn first_end(group: &mut Group, limit: Duration, cancelled: &CancellationToken) -> End {
    tokio::select! {
        biased;
        exited = group.leader_ends() => exited.map_or_else(End::Lost, End::Exited),
        () = cancelled.cancelled() => End::Cancelled,
        () = sleep(limit) => End::TimedOut,
    }
}

/// Asks the group to end, and kills what has not ended after a grace. A process that has closed
/// its pipes while the leader has ended gets no grace: nothing shows that it lives.
async fn stop<P: Future<Output = ()>>(group: &mut Group, mut pipes: Pin<&mut Fuse<P>>) {
    group.terminate();
    let _ = timeout(KILL_GRACE, join(group.leader_ends(), rest(pipes.as_mut()))).await;
    group.kill();
    // A killed process ends at once, unless the system holds it; then nobody waits for it here.
    let _ = timeout(PIPE_GRACE, join(group.leader_ends(), rest(pipes))).await;
}

/// Waits for `end` and lets the pipes go on meanwhile.
async fn alongside<T, P: Future<Output = ()>>(
    end: impl Future<Output = T>,
    pipes: Pin<&mut Fuse<P>>,
) -> T {
    let mut end = pin!(end);
    tokio::select! {
        biased;
        ended = &mut end => ended,
        () = rest(pipes) => end.await,
    }
}

/// What is left of the pipes; nothing if they have ended.
async fn rest<P: Future<Output = ()>>(mut pipes: Pin<&mut Fuse<P>>) {
    if !pipes.is_terminated() {
        pipes.as_mut().await;
    }
}

/// Writes the arguments and closes the pipe. A command that does not read them is not at fault.
async fn feed(stdin: Option<ChildStdin>, arguments: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(&arguments).await;
    }
}
