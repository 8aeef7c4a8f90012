//! SIGKILL at any moment: what was acknowledged is there, dense, and no more than one group of
//! what was not.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kinfolk::ports::store::{Claim, Store, StoreError};
use kinfolk::store::sled::SledStore;
use kinfolk_actors::id::Offset;

use crate::fixture::{all, append, session, text};

/// Set for the process that appends until it is killed: the store's directory.
const CHILD: &str = "KINFOLK_TEST_STORE_CHILD";

const ROUNDS: usize = 12;
const SESSIONS: [&str; 2] = ["a", "b"];

/// What the event at an offset says: enough to tell a lost, doubled or foreign record.
fn word(name: &str, offset: u64) -> String {
    format!("{name}-{offset}")
}

/// Appends to two sessions in groups and says each acknowledged head, until it is killed.
async fn append_for_ever(path: &Path) {
    let store = SledStore::open(path).unwrap();
    let mut claims = Vec::new();
    for name in SESSIONS {
        claims.push(store.claim(&session(name)).await.unwrap());
    }
    for turn in 0_u64.. {
        let mut group = Vec::new();
        for (name, claim) in SESSIONS.iter().zip(&mut claims) {
            let offsets = claim.head.0..=claim.head.0 + turn % 3;
            let events = offsets.map(|offset| text(&word(name, offset))).collect();
            let append = append(name, *claim, events);
            *claim = Claim { head: append.record.end(), ..*claim };
            group.push(append);
        }
        assert!(store.commit(group).await.iter().all(Result::is_ok));
        let mut out = std::io::stdout().lock();
        for (name, claim) in SESSIONS.iter().zip(&claims) {
            writeln!(out, "ack {name} {}", claim.head).unwrap();
        }
        out.flush().unwrap();
    }
}

/// The process that [`acknowledged_records_survive_kill_9`] starts and kills. Nothing otherwise.
#[tokio::test]
async fn child() {
    if let Some(path) = std::env::var_os(CHILD) {
        append_for_ever(Path::new(&path)).await;
    }
}

fn start(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills the child after it has said `acks` heads, and gives the newest of each session.
fn kill_after(path: &Path, acks: usize) -> [u64; 2] {
    let mut child = start(path);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut heads = [0; 2];
    let mut note = |line: &str| {
        let mut words = line.split(' ');
        let ("ack", Some(name), Some(head)) =
            (words.next().unwrap_or_default(), words.next(), words.next())
        else {
            return false;
        };
        let at = SESSIONS.iter().position(|session| *session == name).unwrap();
        heads[at] = head.parse().unwrap();
        true
    };
    let mut said = 0;
    while said < acks {
        let line = lines.next().expect("the child ended before it was killed");
        said += usize::from(note(&line));
    }
    if acks == 1 {
        let Err(StoreError::InUse { owner, .. }) = SledStore::open(path) else {
            panic!("the store of a living process was opened");
        };
        assert!(owner.starts_with(&format!("process {} (since ", child.id())), "{owner}");
    }
    child.kill().unwrap();
    // What it had said before it died counts too.
    for line in lines {
        note(&line);
    }
    child.wait().unwrap();
    heads
}

#[tokio::test]
async fn acknowledged_records_survive_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        let acknowledged = kill_after(directory.path(), 1 + round * 17 % 60);
        let store = SledStore::open(directory.path()).unwrap();
        for (name, acknowledged) in SESSIONS.iter().zip(acknowledged) {
            let mut next = 0;
            for record in all(&store, name).await {
                assert_eq!(record.first, Offset(next), "a gap in {name}, round {round}");
                for event in &record.events {
                    assert_eq!(*event, text(&word(name, next)));
                    next += 1;
                }
            }
            let summary = store.session(&session(name)).await.unwrap().unwrap();
            assert_eq!(summary.head, Offset(next), "round {round}");
            let unacknowledged = next.checked_sub(acknowledged);
            assert!(
                unacknowledged.is_some_and(|more| more <= 6),
                "round {round}: {name} has {next} of {acknowledged} acknowledged events"
            );
        }
    }
}
