//! The socket, from both sides, in a directory of its own.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener as BlockingListener;

use futures::FutureExt;
use kinfolk_actors::id::AgentId;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::client::{Answered, ask};
use super::server::ControlSocket;
use super::*;
use crate::settings::value::OutputFormat;
use crate::store::memory::MemoryStore;

const RUN: RunId = RunId(uuid::Uuid::from_u128(7));

/// Writes down what it is asked; refuses what is said to `deaf`, and takes its time with `slow`.
#[derive(Default)]
struct Notes {
    store: Arc<MemoryStore>,
    heard: Mutex<Vec<String>>,
    slow: tokio::sync::Notify,
}

impl Notes {
    fn note(&self, what: String) -> Done<'_> {
        let (deaf, slow) = (what.contains("deaf"), what.contains("slow"));
        self.heard.lock().push(what);
        let refused = || ControlError::new(ControlCode::Refused, "it does not hear");
        async move {
            if slow {
                self.slow.notified().await;
            }
            if deaf { Err(refused()) } else { Ok(()) }
        }
        .boxed()
    }
}

impl Controlled for Notes {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    fn approve(&self, approval: AskId, answer: Approval) -> Done<'_> {
        self.note(format!("approve {approval} {:?} {:?}", answer.says, answer.reason))
    }

    fn answer(&self, question: AskId, text: Arc<str>, by: Option<Arc<str>>) -> Done<'_> {
        self.note(format!("answer {question} {text} {by:?}"))
    }

    fn steer(&self, run: RunId, text: Arc<str>) -> Done<'_> {
        self.note(format!("steer {run} {text}"))
    }

    fn queue(&self, run: RunId, text: Arc<str>) -> Done<'_> {
        self.note(format!("queue {run} {text}"))
    }

    fn cancel(&self, run: RunId, reason: Arc<str>) -> Done<'_> {
        assert_ne!(&*reason, "panic");
        self.note(format!("cancel {run} {reason}"))
    }

    fn compact(&self, session: SessionId) -> Done<'_> {
        self.note(format!("compact {session}"))
    }
}

/// A data directory, its owner, and what that heard.
struct Scene {
    dir: TempDir,
    notes: Arc<Notes>,
}

impl Scene {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), notes: Arc::default() }
    }

    async fn open(&self) -> Result<ControlSocket, SocketError> {
        ControlSocket::open(self.dir.path(), Arc::clone(&self.notes) as Arc<dyn Controlled>).await
    }

    async fn ask(&self, request: Request) -> Result<Answered, SocketError> {
        ask(self.dir.path(), &request).await
    }

    fn file(&self) -> std::path::PathBuf {
        socket_of(self.dir.path())
    }
}

fn steer(text: &str) -> Request {
    Request::Steer { run: RUN, text: text.into() }
}

fn done() -> Answered {
    Answered { text: String::new(), reply: Reply::Done }
}

#[tokio::test]
async fn every_wish_reaches_the_owner_as_it_was_said() {
    let scene = Scene::new();
    let _socket = scene.open().await.unwrap();
    let ask = AskId { run: RUN, agent: AgentId(2), n: 1 };
    let answer =
        Approval { says: Say::Deny, by: None, reason: Some("no\nway".into()), raised: None };
    let requests = [
        Request::Approve { approval: ask, answer },
        Request::Answer { question: ask, text: "é\"".into(), by: Some("ada".into()) },
        steer("left"),
        Request::Queue { run: RUN, text: "next".into() },
        Request::Cancel { run: RUN, reason: "enough".into() },
        Request::Compact { session: "trip".parse().unwrap() },
    ];
    for request in requests {
        assert_eq!(scene.ask(request).await.unwrap(), done());
    }
    let run = "00000000-0000-0000-0000-000000000007";
    let expected = [
        format!("approve {run}:sub-2:q1 Deny Some(\"no\\nway\")"),
        format!("answer {run}:sub-2:q1 é\" Some(\"ada\")"),
        format!("steer {run} left"),
        format!("queue {run} next"),
        format!("cancel {run} enough"),
        "compact trip".to_owned(),
    ];
    assert_eq!(*scene.notes.heard.lock(), expected);
}

#[tokio::test]
async fn a_refusal_comes_back_with_its_code_and_words() {
    let scene = Scene::new();
    let _socket = scene.open().await.unwrap();
    let Err(SocketError::Refused(error)) = scene.ask(steer("deaf")).await else { panic!() };
    assert_eq!(error, ControlError::new(ControlCode::Refused, "it does not hear"));
    let panics = Request::Cancel { run: RUN, reason: "panic".into() };
    let Err(SocketError::Refused(error)) = scene.ask(panics).await else { panic!() };
    assert_eq!(error.code, ControlCode::Failed);
    // The owner goes on.
    assert_eq!(scene.ask(steer("left")).await.unwrap(), done());
}

#[tokio::test]
async fn the_store_is_looked_at_through_its_owner() {
    let scene = Scene::new();
    let _socket = scene.open().await.unwrap();
    let look = |target| look::Look { target, events: None, output: OutputFormat::Text };
    let answered = scene.ask(Request::Inspect(look(None))).await.unwrap();
    assert_eq!(answered, Answered { text: "no sessions\n".into(), reply: Reply::Done });
    let nobody = crate::settings::run::InspectTarget::Session("nobody".parse().unwrap());
    let Err(SocketError::Refused(error)) = scene.ask(Request::Inspect(look(Some(nobody)))).await
    else {
        panic!()
    };
    assert_eq!(error.code, ControlCode::NotFound);
    let open = scene.ask(Request::Approvals).await.unwrap();
    assert_eq!(open.reply, Reply::Asks(Vec::new()));
}

/// What the owner says to these bytes.
async fn said(scene: &Scene, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(scene.file()).await.unwrap();
    // It may close before it has read all.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn lines_that_are_no_requests_are_answered_and_long_ones_end_the_connection() {
    let scene = Scene::new();
    let _socket = scene.open().await.unwrap();
    let steer = serde_json::to_string(&steer("left")).unwrap();
    let answer =
        said(&scene, format!("nonsense\n{{\"verb\":\"fly\"}}\n{steer}\n").as_bytes()).await;
    let codes: Vec<bool> =
        answer.lines().map(|line| line.contains("control.bad_request")).collect();
    assert_eq!(codes, [true, true, false], "{answer}");
    assert_eq!(answer.lines().last(), Some(r#"{"ok":"done"}"#));
    // A line without its end is not carried out.
    assert_eq!(said(&scene, steer.as_bytes()).await, "");
    let mut long = vec![b' '; MAX_REQUEST];
    long.extend_from_slice(b" \n");
    let answer = said(&scene, &long).await;
    assert!(answer.contains("control.too_long"), "{answer}");
    let mut longer = vec![b' '; 2 * MAX_REQUEST];
    longer.extend_from_slice(b"x\n");
    let answer = said(&scene, &longer).await;
    assert!(answer.contains("control.too_long"), "{answer}");
    assert_eq!(scene.notes.heard.lock().len(), 1);
}

#[tokio::test]
async fn empty_texts_and_ids_that_are_none_are_told_as_the_command_line_tells_them() {
    let scene = Scene::new();
    let _socket = scene.open().await.unwrap();
    let question = AskId { run: RUN, agent: AgentId(0), n: 1 };
    for request in [
        steer(" \n"),
        Request::Queue { run: RUN, text: "".into() },
        Request::Answer { question, text: "".into(), by: None },
    ] {
        let Err(SocketError::Refused(error)) = scene.ask(request).await else { panic!() };
        let expected = "`text` is empty; say something";
        assert_eq!(error, ControlError::new(ControlCode::BadRequest, expected));
    }
    assert_eq!(*scene.notes.heard.lock(), Vec::<String>::new());
    for (verb, rest) in [("steer", "text"), ("queue", "text"), ("cancel", "reason")] {
        let line = format!("{{\"verb\":\"{verb}\",\"run\":\"x\",\"{rest}\":\"left\"}}\n");
        let answer = said(&scene, line.as_bytes()).await;
        assert!(answer.contains("`x` is not a valid run id: use the id"), "{answer}");
    }
}

#[tokio::test]
async fn silent_connections_keep_nobody_out() {
    let scene = Scene::new();
    let _socket = scene.open().await.unwrap();
    let mut silent = Vec::new();
    for _ in 0..16 {
        silent.push(UnixStream::connect(scene.file()).await.unwrap());
    }
    // Whoever has not said anything yet may still do so; one more hears that it is too much.
    let Err(SocketError::Refused(error)) = scene.ask(steer("x")).await else { panic!() };
    assert_eq!(error.code, ControlCode::Unavailable);
    // Once they had an answer and say nothing more, they give way.
    let line = format!("{}\n", serde_json::to_string(&steer("one")).unwrap());
    for stream in &mut silent {
        stream.write_all(line.as_bytes()).await.unwrap();
        let mut answer = [0; 14];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"{\"ok\":\"done\"}\n");
    }
    assert_eq!(scene.ask(steer("two")).await.unwrap(), done());
    assert_eq!(scene.notes.heard.lock().len(), 17);
}

#[tokio::test]
async fn a_connection_that_never_says_anything_is_closed_soon() {
    let scene = Scene::new();
    let _socket = scene.open().await.unwrap();
    let mut silent = UnixStream::connect(scene.file()).await.unwrap();
    let closed = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        silent.read_to_end(&mut Vec::new()).await
    });
    assert_eq!(closed.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn the_socket_is_private_and_goes_with_its_owner() {
    let scene = Scene::new();
    assert!(matches!(scene.ask(steer("x")).await, Err(SocketError::NoOwner(_))));
    let socket = scene.open().await.unwrap();
    let mode = std::fs::symlink_metadata(scene.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names: Vec<_> = std::fs::read_dir(scene.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, [SOCKET]);
    drop(socket);
    assert!(!scene.file().exists());
    assert!(matches!(scene.ask(steer("x")).await, Err(SocketError::NoOwner(_))));
}

#[tokio::test]
async fn what_a_dead_owner_left_is_replaced_and_a_live_one_is_not() {
    let scene = Scene::new();
    drop(BlockingListener::bind(scene.file()).unwrap());
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(scene.file(), private).unwrap();
    assert!(matches!(scene.ask(steer("x")).await, Err(SocketError::NoOwner(_))));
    let socket = scene.open().await.unwrap();
    assert_eq!(scene.ask(steer("left")).await.unwrap(), done());
    assert!(matches!(scene.open().await, Err(SocketError::InUse(_))));
    assert_eq!(scene.ask(steer("right")).await.unwrap(), done());
    // A successor's socket is not removed by the owner before it.
    std::fs::remove_file(scene.file()).unwrap();
    let successor = scene.open().await.unwrap();
    drop(socket);
    assert_eq!(scene.ask(steer("on")).await.unwrap(), done());
    drop(successor);
}

#[tokio::test]
async fn links_files_and_sockets_of_others_are_refused() {
    let scene = Scene::new();
    let elsewhere = scene.dir.path().join("elsewhere");
    let _listener = BlockingListener::bind(&elsewhere).unwrap();
    symlink(&elsewhere, scene.file()).unwrap();
    assert!(matches!(scene.open().await, Err(SocketError::NotASocket(_))));
    assert!(matches!(scene.ask(steer("x")).await, Err(SocketError::NotASocket(_))));
    std::fs::remove_file(scene.file()).unwrap();
    std::fs::write(scene.file(), "mine").unwrap();
    assert!(matches!(scene.open().await, Err(SocketError::NotASocket(_))));
    assert_eq!(std::fs::read(scene.file()).unwrap(), b"mine");
    std::fs::remove_file(scene.file()).unwrap();
    let _open_to_all = BlockingListener::bind(scene.file()).unwrap();
    let all = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(scene.file(), all).unwrap();
    assert!(matches!(scene.ask(steer("x")).await, Err(SocketError::NotPrivate { .. })));
}

#[tokio::test]
async fn a_closing_socket_answers_who_waits_and_takes_nobody_new() {
    let scene = Scene::new();
    let socket = scene.open().await.unwrap();
    let idle = UnixStream::connect(scene.file()).await.unwrap();
    let data = scene.dir.path().to_owned();
    let waits = tokio::spawn(async move { ask(&data, &steer("slow")).await });
    while scene.notes.heard.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    let closes = tokio::spawn(socket.close());
    while scene.file().exists() {
        tokio::task::yield_now().await;
    }
    assert!(matches!(scene.ask(steer("x")).await, Err(SocketError::NoOwner(_))));
    assert!(!waits.is_finished());
    scene.notes.slow.notify_one();
    assert_eq!(waits.await.unwrap().unwrap(), done());
    closes.await.unwrap();
    drop(idle);
    assert_eq!(scene.notes.heard.lock().len(), 1);
}

#[tokio::test]
async fn a_wish_at_work_ends_with_the_socket_that_owns_it() {
    let scene = Scene::new();
    let socket = scene.open().await.unwrap();
    let data = scene.dir.path().to_owned();
    let waits = tokio::spawn(async move { ask(&data, &steer("slow")).await });
    while scene.notes.heard.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    // Whoever asked goes away; the wish does not.
    waits.abort();
    assert!(waits.await.unwrap_err().is_cancelled());
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert!(Arc::strong_count(&scene.notes) > 1);
    drop(socket);
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(Arc::strong_count(&scene.notes), 1, "nobody is left at work");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_long_path_is_no_hindrance() {
    let mut scene = Scene::new();
    let long = scene.dir.path().join("d".repeat(120)).join("e".repeat(120));
    std::fs::create_dir_all(&long).unwrap();
    let notes = Arc::clone(&scene.notes) as Arc<dyn Controlled>;
    let socket = ControlSocket::open(&long, notes).await.unwrap();
    assert_eq!(ask(&long, &steer("left")).await.unwrap(), done());
    assert_eq!(socket.path(), long.join(SOCKET));
    drop(socket);
    assert!(!long.join(SOCKET).exists());
    scene.notes = Arc::default();
}

#[test]
fn requests_have_the_form_that_is_documented() {
    let table = [
        (
            steer("left"),
            r#"{"verb":"steer","run":"00000000-0000-0000-0000-000000000007","text":"left"}"#,
        ),
        (Request::Approvals, r#"{"verb":"approvals"}"#),
        (
            Request::Approve {
                approval: AskId { run: RUN, agent: AgentId::LEAD, n: 0 },
                answer: Approval { says: Say::DenyAndStop, by: None, reason: None, raised: None },
            },
            concat!(
                r#"{"verb":"approve","approval":"00000000-0000-0000-0000-000000000007:lead:q0","#,
                r#""answer":{"says":"deny_and_stop"}}"#
            ),
        ),
    ];
    for (request, json) in table {
        assert_eq!(serde_json::to_string(&request).unwrap(), json);
        assert_eq!(serde_json::from_str::<Request>(json).unwrap(), request);
    }
    let unknown = serde_json::from_str::<ControlCode>(r#""control.of_tomorrow""#).unwrap();
    assert_eq!(unknown, ControlCode::Other);
}
