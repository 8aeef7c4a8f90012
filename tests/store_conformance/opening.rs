//! Opening, owning and reopening a store on disk.

use std::path::Path;

use kinfolk::ports::store::{Claim, Epoch, Store, StoreError};
use kinfolk::store::sled::SledStore;
use kinfolk_actors::family::FamilyHash;
use kinfolk_actors::id::Offset;

use crate::fixture::{
    all, append, append_of, extend, fenced, finished, run, session, started, texts,
};

/// The names of the files in a directory, with their lengths.
fn files(path: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(path).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, entry.metadata().unwrap().len())
        })
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_every_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for round in 0..6_u64 {
        let store = SledStore::open(directory.path()).unwrap();
        let claim = store.claim(&session("s")).await;
        let head = Offset(2 * round);
        assert_eq!(claim, Ok(Claim { epoch: Epoch(round + 1), head }));
        assert_eq!(all(&store, "s").await, expected);
        let events = vec![started(), finished()];
        let mut append = append_of("s", claim.unwrap(), run(u128::from(round)), round, events);
        append.family = Some((FamilyHash([7; 32]), "{}".into()));
        expected.push((*append.record).clone());
        assert_eq!(store.commit(vec![append]).await, [Ok(())]);
    }
    let store = SledStore::open(directory.path()).unwrap();
    assert_eq!(all(&store, "s").await, expected);
    assert_eq!(store.family(FamilyHash([7; 32])).await, Ok(Some("{}".into())));
    let sessions = store.sessions().await.unwrap();
    assert_eq!(sessions.len(), 1);
    let newest = sessions[0].newest.clone().unwrap();
    assert_eq!((newest.run, newest.finished), (run(5), Some(Offset(11))));
    assert_eq!(store.run(run(5)).await, Ok(Some(newest)));
    let old = Claim { epoch: Epoch(5), head: Offset(12) };
    let verdict = store.commit(vec![append("s", old, texts(&["x"]))]).await;
    assert_eq!(verdict, [fenced("s", 5, 12)], "a fence holds across reopening");
}

#[tokio::test]
async fn values_of_any_size_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let large = "x".repeat(3 << 20);
    let mut expected = Vec::new();
    {
        let store = SledStore::open(directory.path()).unwrap();
        let mut claim = store.claim(&session("s")).await.unwrap();
        for words in [&["small"][..], &[&large, "beside"], &[&large], &["last"]] {
            let append = append("s", claim, texts(words));
            claim.head = append.record.end();
            expected.push((*append.record).clone());
            assert_eq!(store.commit(vec![append]).await, [Ok(())]);
        }
        assert!(all(&store, "s").await == expected);
    }
    let store = SledStore::open(directory.path()).unwrap();
    assert!(all(&store, "s").await == expected);
}

#[tokio::test]
async fn a_record_that_is_too_large_is_refused_alone() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledStore::open(directory.path()).unwrap();
    let claim = store.claim(&session("s")).await.unwrap();
    let other = store.claim(&session("t")).await.unwrap();
    let huge = "x".repeat(65 << 20);
    let group = vec![append("s", claim, texts(&[&huge])), append("t", other, texts(&["a"]))];
    let verdicts = store.commit(group).await;
    assert!(matches!(verdicts[..], [Err(StoreError::Write { .. }), Ok(())]), "{verdicts:?}");
    assert_eq!(store.commit(vec![append("s", claim, texts(&["b"]))]).await, [Ok(())]);
}

/// The second opener is told who the first is; the first goes on undisturbed.
#[tokio::test]
async fn a_second_opener_is_told_who_owns_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledStore::open(directory.path()).unwrap();
    let Err(StoreError::InUse { path, owner }) = SledStore::open(directory.path()) else {
        panic!("a store was opened twice");
    };
    assert_eq!(path, directory.path().display().to_string());
    let expected = format!("process {} (since 2", std::process::id());
    assert!(owner.starts_with(&expected) && owner.ends_with("Z)"), "{owner}");
    assert_eq!(store.claim(&session("s")).await.map(|claim| claim.epoch), Ok(Epoch(1)));
    drop(store);
    SledStore::open(directory.path()).unwrap();
}

/// A job that nobody waits for any more still happens whole.
#[tokio::test]
async fn a_dropped_commit_happens_whole() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledStore::open(directory.path()).unwrap();
    let mut claim = store.claim(&session("s")).await.unwrap();
    extend(&store, "s", &mut claim, &[&["a"]]).await;
    let dropped = append("s", claim, texts(&["b", "c"]));
    {
        let mut commit = store.commit(vec![dropped.clone()]);
        // Polled once, so that it has begun.
        let once = futures::poll!(&mut commit);
        drop((once, commit));
    }
    // A claim waits for its turn behind what was begun, or takes it before: either way whole.
    let next = store.claim(&session("s")).await.unwrap();
    let records = all(&store, "s").await;
    match next.head {
        Offset(1) => assert_eq!(records.len(), 1),
        Offset(3) => assert_eq!(records[1], *dropped.record),
        Offset(other) => panic!("half an append: the head is {other}"),
    }
}

#[test]
fn a_newer_format_is_refused_and_nothing_is_touched() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("format"), "3\n").unwrap();
    let before = files(directory.path());
    let path = directory.path().display().to_string();
    let refused = SledStore::open(directory.path()).err();
    assert_eq!(refused, Some(StoreError::NewerFormat { path, found: 3, known: 2 }));
    assert_eq!(files(directory.path()), before);
}

/// Newer records are written from here on, so an older program has to be stopped.
#[test]
fn an_older_format_is_taken_up() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("format"), "1\n").unwrap();
    drop(SledStore::open(directory.path()).unwrap());
    assert_eq!(std::fs::read_to_string(directory.path().join("format")).unwrap(), "2\n");
}

#[test]
fn a_format_that_is_no_number_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    for text in ["", "one", "0", "70000", "-1"] {
        std::fs::write(directory.path().join("format"), text).unwrap();
        let refused = SledStore::open(directory.path());
        assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{text:?}");
    }
}

#[test]
fn an_unusable_path_is_an_error_of_opening() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "text").unwrap();
    for path in [file.clone(), file.join("below")] {
        match SledStore::open(&path) {
            Err(StoreError::Open { path: named, detail }) => {
                assert_eq!(named, path.display().to_string());
                assert!(!detail.is_empty());
            }
            other => panic!("{}: {other:?}", path.display()),
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"text");
}

#[cfg(unix)]
#[test]
fn a_new_directory_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b");
    SledStore::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn a_snapshot_that_was_never_finished_does_not_hide_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = SledStore::open(directory.path()).unwrap();
    let claim = store.claim(&session("s")).await.unwrap();
    let append = append_of("s", claim, run(0), 0, vec![started(), finished()]);
    let expected = vec![(*append.record).clone()];
    assert_eq!(store.commit(vec![append]).await, [Ok(())]);
    drop(store);
    // As the engine leaves it when the disk is full or the process is killed in the middle.
    for (name, bytes) in [("00000000000E47B1", 0), ("00000000000E47B2", 100)] {
        let file = directory.path().join(format!("snap.{name}.generating"));
        std::fs::write(file, vec![7; bytes]).unwrap();
    }
    let store = SledStore::open(directory.path()).unwrap();
    assert_eq!(all(&store, "s").await, expected);
}
