//! A server that plays scripts over raw TCP: it sends just the bytes that a test names, when the
//! test says so, and notes what it was sent and how each connection ended.

// Each test binary that includes this file uses another part of it.
#![allow(dead_code)]

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The longest wait for anything; only a broken test takes so long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What the server does after it has read a request.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends these bytes at once.
    Send(Vec<u8>),
    /// Sends these bytes one at a time.
    Drip(Vec<u8>),
    /// Waits.
    Sleep(Duration),
    /// Waits until the client has closed the connection.
    AwaitClose,
    /// Reads the next request of the same connection.
    NextRequest,
}

/// The head of an answer that is a stream of events.
pub const SSE: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A streamed answer that ends with the connection.
pub fn sse(body: &str) -> Vec<Step> {
    vec![Step::Send(format!("{SSE}{body}").into_bytes())]
}

/// A whole answer with a status and further header lines, each ending in CRLF.
pub fn answer(status: u16, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {length}\r\n{headers}\r\n");
    vec![Step::Send((head + body).into_bytes())]
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Connections accepted.
    pub connections: usize,
    /// Requests read whole.
    pub requests: usize,
    /// Connections that the client closed while the server waited for it.
    pub closed_by_client: usize,
}

/// A running server. It and its connections end with this value.
pub struct MockServer {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
    seen: watch::Receiver<Seen>,
    _task: JoinSet<()>,
}

struct Shared {
    requests: Arc<Mutex<Vec<String>>>,
    seen: watch::Sender<Seen>,
}

impl MockServer {
    /// Serves one script a connection, in this order; the last one serves all further ones.
    pub async fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen_sender, seen) = watch::channel(Seen::default());
        let shared = Arc::new(Shared { requests: Arc::clone(&requests), seen: seen_sender });
        let mut task = JoinSet::new();
        task.spawn(accept(listener, scripts, shared));
        Self { url, requests, seen, _task: task }
    }

    /// Every request so far: head and body as text.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }

    /// What has happened so far.
    pub fn seen(&self) -> Seen {
        *self.seen.borrow()
    }

    /// Waits until what has happened fits.
    pub async fn wait_until(&self, fits: impl Fn(&Seen) -> bool) -> Seen {
        let mut seen = self.seen.clone();
        let fitting = timeout(PATIENCE, seen.wait_for(|seen| fits(seen))).await;
        *fitting.expect("the server never saw it").expect("the server ended")
    }
}

async fn accept(listener: TcpListener, scripts: Vec<Vec<Step>>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let mut scripts = scripts.into_iter().peekable();
    let mut script = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.seen.send_modify(|seen| seen.connections += 1);
        script = scripts.next().unwrap_or(script);
        connections.spawn(play(stream, script.clone(), Arc::clone(&shared)));
    }
}

async fn play(mut stream: TcpStream, script: Vec<Step>, shared: Arc<Shared>) {
    stream.set_nodelay(true).unwrap();
    if !read_request(&mut stream, &shared).await {
        return;
    }
    for step in script {
        let sent = match step {
            Step::Send(bytes) => stream.write_all(&bytes).await,
            Step::Drip(bytes) => drip(&mut stream, &bytes).await,
            Step::Sleep(duration) => {
                tokio::time::sleep(duration).await;
                Ok(())
            }
            Step::AwaitClose => {
                let mut rest = [0; 64];
                while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {}
                shared.seen.send_modify(|seen| seen.closed_by_client += 1);
                return;
            }
            Step::NextRequest => {
                if !read_request(&mut stream, &shared).await {
                    return;
                }
                Ok(())
            }
        };
        if sent.is_err() {
            shared.seen.send_modify(|seen| seen.closed_by_client += 1);
            return;
        }
    }
}

async fn drip(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        stream.write_all(&[*byte]).await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Reads one request with its body; false if the client has closed first.
async fn read_request(stream: &mut TcpStream, shared: &Shared) -> bool {
    let mut read = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        if let Some(request) = whole_request(&read) {
            shared.requests.lock().push(request);
            shared.seen.send_modify(|seen| seen.requests += 1);
            return true;
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return false,
            Ok(n) => read.extend_from_slice(&buffer[..n]),
        }
    }
}

fn whole_request(read: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(read);
    let head = text.find("\r\n\r\n")? + 4;
    let length =
        |line: &str| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
    let body: usize = text[..head].lines().find_map(length).unwrap_or(0);
    (read.len() >= head + body).then(|| text.into_owned())
}
