//! The owner's side of the socket.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::pending;
use parking_lot::Mutex;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::place::{self, Found, Identity};
use super::wire::{self, Line, PART, Read};
use super::{ControlCode, ControlError, Controlled, MAX_REQUEST, Reply, Request, SOCKET};
use super::{SocketError, asks, look, socket_of};

/// The most connections at once. One more makes those give way that have had an answer and say
/// nothing; if there are none, it is turned away.
const MAX_CONNECTIONS: usize = 16;

/// How long a connection may take for one line of a request, or to take one line of an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a new connection may say nothing: whoever connects has something to say.
const FIRST: Duration = Duration::from_secs(2);

/// How long a new connection waits for others to give way.
const GIVING_WAY: Duration = Duration::from_millis(100);

/// The most bytes that are read of a request that is too long, so that its sender, who would not
/// read before all is written, hears why.
const MAX_DRAINED: u64 = 60 * 1024 * 1024;

/// How long a closing socket waits for wishes that are being carried out.
const CLOSING: Duration = Duration::from_secs(5);

/// An open control socket, until it is [closed](Self::close). When it is dropped its file is removed
/// too, and wishes that are being carried out are given up.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    identity: Option<Identity>,
    closing: CancellationToken,
    listener: AbortOnDropHandle<()>,
}

impl ControlSocket {
    /// Listens in a data directory. Whoever calls owns its store: what is left of a dead owner is
    /// replaced, the socket of a live one is not. Needs a tokio runtime.
    ///
    /// # Errors
    /// Somebody listens there, something else has the socket's name, or the system refuses.
    pub async fn open(data: &Path, controlled: Arc<dyn Controlled>) -> Result<Self, SocketError> {
        let path = socket_of(data);
        if let Found::Socket { .. } = place::look_at(&path, data)? {
            let short = place::short(data, SOCKET)?;
            if UnixStream::connect(&short.path).await.is_ok() {
                return Err(SocketError::InUse(path));
            }
        }
        let listener = bind(data)?;
        let identity = place::identity(&path);
        let closing = CancellationToken::new();
        let listener = tokio::spawn(listen(listener, controlled, closing.clone()));
        Ok(Self { path, identity, closing, listener: AbortOnDropHandle::new(listener) })
    }

    /// Takes nothing new and returns once everybody who waits has been answered, for a few seconds
    /// at most. Whoever cancels a run hears so that it is dead.
    pub async fn close(mut self) {
        self.remove_file();
        self.closing.cancel();
        // A wish that takes longer is given up with the listener, which owns it.
        let _ = timeout(CLOSING, &mut self.listener).await;
    }

    fn remove_file(&mut self) {
        // A successor may have put its own there.
        if self.identity.is_some() && place::identity(&self.path) == self.identity {
            // What stays behind is found to be stale by the next owner.
            let _ = fs::remove_file(&self.path);
        }
        self.identity = None;
    }

    /// The socket's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.remove_file();
    }
}

/// Binds inside of a private directory and moves the socket to its place, so that nobody can reach
/// it before its mode is set, and a link at its place is replaced and not followed.
fn bind(data: &Path) -> Result<UnixListener, SocketError> {
    let path = socket_of(data);
    let io = |error| SocketError::Io { path: path.clone(), error };
    let private = data.join(format!(".control-{}", std::process::id()));
    // A leftover of a process that died here and had the same id.
    let _ = fs::remove_dir_all(&private);
    DirBuilder::new().mode(0o700).create(&private).map_err(io)?;
    let bound = (|| {
        let short = place::short(&private, "s")?;
        let listener = UnixListener::bind(&short.path).map_err(io)?;
        let made = private.join("s");
        fs::set_permissions(&made, Permissions::from_mode(0o600)).map_err(io)?;
        fs::rename(&made, &path).map_err(io)?;
        Ok(listener)
    })();
    let _ = fs::remove_dir_all(&private);
    bound
}

/// The wishes that are being carried out. They outlive the connections that brought them and end
/// with the listener: what is still at work when the last owner goes is aborted.
#[derive(Clone, Default)]
struct Orders(Arc<Mutex<JoinSet<()>>>);

impl Orders {
    /// Carries a wish out, whether or not its caller waits. None if it panicked.
    async fn carry_out(
        &self,
        request: Request,
        runs: Arc<dyn Controlled>,
    ) -> Option<Result<Reply, ControlError>> {
        let (done, result) = oneshot::channel();
        {
            let mut orders = self.0.lock();
            while orders.try_join_next().is_some() {}
            orders.spawn(async move {
                // Nobody may be left who hears it.
                let _ = done.send(order(request, runs).await);
            });
        }
        result.await.ok()
    }

    /// Waits until all are carried out.
    async fn end(&self) {
        let mut left = std::mem::take(&mut *self.0.lock());
        while left.join_next().await.is_some() {}
    }
}

async fn listen(
    listener: UnixListener,
    controlled: Arc<dyn Controlled>,
    closing: CancellationToken,
) {
    /// The wait after an accept that failed, for example because all descriptors are in use.
    const AFTER_FAILURE: Duration = Duration::from_millis(100);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // Both are aborted with this task.
    let orders = Orders::default();
    let mut connections = JoinSet::new();
    let until = Until { closing: closing.clone(), crowded: Arc::default() };
    loop {
        let Some(accepted) = closing.run_until_cancelled(listener.accept()).await else { break };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                let work = (Arc::clone(&controlled), orders.clone());
                let (places, until) = (Arc::clone(&places), until.clone());
                connections.spawn(async move {
                    match place(places, &until).await {
                        Some(_place) => serve(stream, work, until).await,
                        None => turn_away(stream).await,
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the control socket could not take a connection");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
    orders.end().await;
}

/// What ends a connection that says nothing.
#[derive(Clone)]
struct Until {
    /// The socket closes.
    closing: CancellationToken,
    /// Others want its place.
    crowded: Arc<Notify>,
}

/// A place for one more connection.
async fn place(places: Arc<Semaphore>, until: &Until) -> Option<OwnedSemaphorePermit> {
    if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
        return Some(place);
    }
    until.crowded.notify_waiters();
    timeout(GIVING_WAY, places.acquire_owned()).await.ok()?.ok()
}

async fn turn_away(mut stream: UnixStream) {
    let message = "the owner of the data directory has too many connections; try again";
    let line = Line::Error(ControlError::new(ControlCode::Unavailable, message));
    // Whoever does not take it is too late.
    let _ = timeout(FIRST, wire::write(&mut stream, &line)).await;
}

/// Whether a request begins before the connection has to end.
async fn begins(from: &mut (impl AsyncBufRead + Unpin), answered: bool, until: &Until) -> bool {
    let (patience, crowded) = match answered {
        true => (PATIENCE, until.crowded.notified().left_future()),
        false => (FIRST, pending().right_future()),
    };
    tokio::select! {
        biased;
        // What waits here already when the socket closes is taken; what comes later is not.
        read = timeout(patience, from.fill_buf()) => matches!(read, Ok(Ok(_))),
        () = until.closing.cancelled() => false,
        () = crowded => false,
    }
}

/// One connection to its end. What goes wrong with it is the other side's loss.
async fn serve(mut stream: UnixStream, work: (Arc<dyn Controlled>, Orders), until: Until) {
    let (from, mut to) = stream.split();
    let mut from = BufReader::new(from);
    let mut answered = false;
    while begins(&mut from, answered, &until).await {
        answered = true;
        let read = timeout(PATIENCE, wire::read(&mut from, MAX_REQUEST));
        let read = tokio::select! {
            biased;
            read = read => read,
            () = until.closing.cancelled() => return,
        };
        let (line, last) = match read {
            Ok(Ok(Read::End) | Err(_)) | Err(_) => return,
            Ok(Ok(Read::TooLong)) => {
                let drained = wire::drain(&mut from, MAX_DRAINED);
                let _ = timeout(PATIENCE, until.closing.run_until_cancelled(drained)).await;
                let message = format!("a request has at most {MAX_REQUEST} bytes; say less");
                (Line::Error(ControlError::new(ControlCode::TooLong, message)), true)
            }
            Ok(Ok(Read::Line(line))) => match carry_out(&line, &work, &mut to).await {
                Ok(line) => (line, false),
                Err(_) => return,
            },
        };
        match timeout(PATIENCE, wire::write(&mut to, &line)).await {
            Ok(Ok(())) if !last => {}
            Ok(Ok(()) | Err(_)) | Err(_) => return,
        }
    }
}

/// Carries one request out and says with which line its answer ends.
async fn carry_out(
    line: &[u8],
    (controlled, orders): &(Arc<dyn Controlled>, Orders),
    to: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<Line> {
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => {
            let message = format!("this is not a request: {error}");
            return Ok(Line::Error(ControlError::new(ControlCode::BadRequest, message)));
        }
    };
    if let Some(empty) = says_nothing(&request) {
        return Ok(Line::Error(empty));
    }
    if let Request::Inspect(query) = request {
        return match look::look(controlled.store().as_ref(), &query).await {
            Ok(text) => {
                for part in parts(&text) {
                    let part = Line::Part(part.to_owned());
                    timeout(PATIENCE, wire::write(to, &part))
                        .await
                        .map_err(std::io::Error::from)??;
                }
                Ok(Line::Ok(Reply::Done))
            }
            Err(error) => Ok(Line::Error(error.into())),
        };
    }
    Ok(match orders.carry_out(request, Arc::clone(controlled)).await {
        Some(Ok(reply)) => Line::Ok(reply),
        Some(Err(error)) => Line::Error(error),
        None => {
            let message = "the owner could not carry it out; its log says why";
            Line::Error(ControlError::new(ControlCode::Failed, message))
        }
    })
}

/// Why a request is no request that has words to carry and carries none.
fn says_nothing(request: &Request) -> Option<ControlError> {
    match request {
        Request::Steer { text, run: _ }
        | Request::Queue { text, run: _ }
        | Request::Answer { text, question: _, by: _ } => text
            .trim()
            .is_empty()
            .then(|| ControlError::new(ControlCode::BadRequest, "`text` is empty; say something")),
        Request::Inspect(_)
        | Request::Approvals
        | Request::Approve { .. }
        | Request::Cancel { .. }
        | Request::Compact { .. } => None,
    }
}

async fn order(request: Request, runs: Arc<dyn Controlled>) -> Result<Reply, ControlError> {
    match request {
        // Answered before, in parts.
        Request::Inspect(_) => {}
        Request::Approvals => {
            return Ok(Reply::Asks(asks::of_store(runs.store().as_ref()).await?));
        }
        Request::Approve { approval, answer } => runs.approve(approval, answer).await?,
        Request::Answer { question, text, by } => runs.answer(question, text, by).await?,
        Request::Steer { run, text } => runs.steer(run, text).await?,
        Request::Queue { run, text } => runs.queue(run, text).await?,
        Request::Cancel { run, reason } => runs.cancel(run, reason).await?,
        Request::Compact { session } => runs.compact(session).await?,
    }
    Ok(Reply::Done)
}

/// A text in parts that end between characters.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut at = rest.len().min(PART);
        while !rest.is_char_boundary(at) {
            at -= 1;
        }
        let (part, after) = rest.split_at(at);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}
