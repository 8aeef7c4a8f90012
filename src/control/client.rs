//! The side of whoever wants something of the owner of a data directory.

use std::io;
use std::path::Path;

use tokio::io::BufReader;
use tokio::net::UnixStream;

use super::place::{self, Found};
use super::wire::{self, Line, MAX_ANSWER, Read};
use super::{Reply, Request, SOCKET, SocketError, socket_of};

/// What an owner said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The parts of a long text, joined; empty for most requests.
    pub text: String,
    /// The reply.
    pub reply: Reply,
}

/// Asks the owner of a data directory and waits until it has carried it out. A cancel takes as long
/// as the run's tools need to end.
///
/// # Errors
/// [`SocketError::NoOwner`] if nobody listens; [`SocketError::Refused`] with what the owner says.
pub async fn ask(data: &Path, request: &Request) -> Result<Answered, SocketError> {
    let path = socket_of(data);
    let broken = |detail: String| SocketError::Broken { path: path.clone(), detail };
    let mut stream = connect(data).await?;
    let (from, mut to) = stream.split();
    let mut from = BufReader::new(from);
    // An owner that refuses before it has read all closes early; its answer says why.
    let written = wire::write(&mut to, request).await;
    let mut text = String::new();
    loop {
        let read = wire::read(&mut from, MAX_ANSWER).await;
        let line = match read.map_err(|error| broken(error.to_string()))? {
            Read::Line(line) => line,
            Read::TooLong => return Err(broken("its answer is too long".to_owned())),
            Read::End => {
                let error = written.err().map(|error| format!(" ({error})")).unwrap_or_default();
                return Err(broken(format!("it closed the connection{error}")));
            }
        };
        match serde_json::from_slice(&line).map_err(|error| broken(error.to_string()))? {
            Line::Part(part) => text.push_str(&part),
            Line::Ok(reply) => return Ok(Answered { text, reply }),
            Line::Error(error) => return Err(error.into()),
        }
    }
}

/// Connects to a socket that is private to the user who owns the directory.
async fn connect(data: &Path) -> Result<UnixStream, SocketError> {
    let path = socket_of(data);
    let Found::Socket { owner } = place::look_at(&path, data)? else {
        return Err(SocketError::NoOwner(data.to_owned()));
    };
    let short = place::short(data, SOCKET)?;
    let stream = UnixStream::connect(&short.path).await.map_err(|error| match error.kind() {
        // The file of an owner that died.
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            SocketError::NoOwner(data.to_owned())
        }
        _ => SocketError::Io { path: path.clone(), error },
    })?;
    let peer = stream.peer_cred().map_err(|error| SocketError::Io { path: path.clone(), error })?;
    if peer.uid() != owner {
        let why = "another user listens on it";
        return Err(SocketError::NotPrivate { path, why });
    }
    Ok(stream)
}
