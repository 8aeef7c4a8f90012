//! Bytes that changed on the disk, and writes that a crash cut off, made by opening the engine
//! underneath a closed store.

use std::path::Path;

use kinfolk::ports::store::{Claim, Epoch, Record, Store, StoreError};
use kinfolk::store::sled::SledStore;
use kinfolk_actors::id::Offset;

use crate::fixture::{all, append, append_of, extend, finished, run, session, started, texts};

/// Changes a closed store's trees.
fn underneath<T>(path: &Path, change: impl FnOnce(&sled::Db) -> T) -> T {
    let db = (0..200)
        .find_map(|_| match sled::open(path) {
            Ok(db) => Some(db),
            Err(_) => {
                std::thread::sleep(std::time::Duration::from_millis(10));
                None
            }
        })
        .unwrap();
    let made = change(&db);
    db.flush().unwrap();
    made
}

fn get(db: &sled::Db, tree: &str, key: &[u8]) -> Option<sled::IVec> {
    db.open_tree(tree).unwrap().get(key).unwrap()
}

fn set(db: &sled::Db, tree: &str, key: &[u8], value: Option<&[u8]>) {
    let tree = db.open_tree(tree).unwrap();
    match value {
        Some(value) => tree.insert(key, value).unwrap(),
        None => tree.remove(key).unwrap(),
    };
}

/// Flips one bit in the middle of the record with that sequence; gives its bytes then.
fn damage(path: &Path, sequence: u64) -> Vec<u8> {
    underneath(path, |db| {
        let mut bytes = get(db, "journal", &sequence.to_be_bytes()).unwrap().to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        set(db, "journal", &sequence.to_be_bytes(), Some(&bytes));
        bytes
    })
}

/// Sessions `s` (offsets 0-1, 2, 3-5, 6) and `t`, interleaved; `s` has sequences 0, 2, 4, 5.
async fn filled(path: &Path) -> Vec<Record> {
    let store = SledStore::open(path).unwrap();
    let mut s = store.claim(&session("s")).await.unwrap();
    let mut t = store.claim(&session("t")).await.unwrap();
    extend(&store, "s", &mut s, &[&["0", "1"]]).await;
    extend(&store, "t", &mut t, &[&["x"]]).await;
    extend(&store, "s", &mut s, &[&["2"]]).await;
    extend(&store, "t", &mut t, &[&["y"]]).await;
    extend(&store, "s", &mut s, &[&["3", "4", "5"], &["6"]]).await;
    all(&store, "s").await
}

async fn firsts(store: &SledStore, from: u64, limit: usize) -> Result<Vec<u64>, StoreError> {
    let records = store.read(&session("s"), Offset(from), limit).await?;
    Ok(records.iter().map(|record| record.first.0).collect())
}

#[tokio::test]
async fn a_damaged_record_is_named_kept_and_stepped_over_by_nobody() {
    for (sequence, offsets, index) in
        [(0, "0 to 1", 0), (2, "2 to 2", 1), (4, "3 to 5", 2), (5, "6 to 6", 3)]
    {
        let directory = tempfile::tempdir().unwrap();
        let whole = filled(directory.path()).await;
        let kept = damage(directory.path(), sequence);
        let store = SledStore::open(directory.path()).unwrap();

        let Err(StoreError::Damaged { what, detail }) = firsts(&store, 0, 9).await else {
            panic!("record {sequence} was read");
        };
        assert_eq!(
            what,
            format!("the record of session `s` with offsets {offsets} (sequence {sequence})")
        );
        assert_eq!(detail, "its checksum does not match");
        let before: Vec<u64> = whole[..index].iter().map(|record| record.first.0).collect();
        assert_eq!(firsts(&store, 0, index).await, Ok(before));
        let after: Vec<u64> = whole[index + 1..].iter().map(|record| record.first.0).collect();
        assert_eq!(firsts(&store, whole[index].end().0, 9).await, Ok(after));
        assert_eq!(all(&store, "t").await.len(), 2, "other sessions read on");

        // The session lives: its owner goes on after the damage.
        let mut claim = store.claim(&session("s")).await.unwrap();
        assert_eq!(claim, Claim { epoch: Epoch(2), head: Offset(7) });
        extend(&store, "s", &mut claim, &[&["7"]]).await;
        assert_eq!(firsts(&store, 7, 9).await, Ok(vec![7]));
        drop(store);
        underneath(directory.path(), |db| {
            let key = sequence.to_be_bytes();
            assert_eq!(get(db, "quarantine", &key).unwrap(), kept);
            assert_eq!(get(db, "journal", &key).unwrap(), kept);
        });
    }
}

#[tokio::test]
async fn a_record_that_is_gone_is_damage_too() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    underneath(directory.path(), |db| set(db, "journal", &2_u64.to_be_bytes(), None));
    let store = SledStore::open(directory.path()).unwrap();
    let missing = StoreError::Damaged {
        what: "the record with sequence 2 of session `s`".to_owned(),
        detail: "it is not there".to_owned(),
    };
    assert_eq!(firsts(&store, 0, 9).await, Err(missing));
    assert_eq!(firsts(&store, 0, 1).await, Ok(vec![0]));
    assert_eq!(firsts(&store, 3, 9).await, Ok(vec![3, 6]));
}

#[tokio::test]
async fn a_damaged_head_is_an_error_of_its_session_alone() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    underneath(directory.path(), |db| set(db, "heads", b"s", Some(b"rubbish")));
    let store = SledStore::open(directory.path()).unwrap();
    let what = "the head of session `s`".to_owned();
    let detail = "it has 7 bytes instead of 12".to_owned();
    let damaged = StoreError::Damaged { what, detail };
    assert_eq!(store.claim(&session("s")).await, Err(damaged.clone()));
    let claim = Claim { epoch: Epoch(1), head: Offset(7) };
    assert_eq!(store.commit(vec![append("s", claim, texts(&["7"]))]).await, [Err(damaged)]);
    assert_eq!(all(&store, "t").await.len(), 2);
    let others = store.sessions().await.unwrap();
    assert_eq!(others.iter().map(|other| other.session.as_str()).collect::<Vec<_>>(), ["t"]);
}

/// A crash between the journal's inserts and those of its index: the records are in the journal
/// and nothing else knows them.
#[tokio::test]
async fn records_that_a_crash_kept_from_the_index_are_indexed_at_the_next_start() {
    const INDEX: [(&str, &[u8]); 3] = [("heads", b"s"), ("heads", b"t"), ("meta", b"indexed")];
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let index = underneath(directory.path(), |db| INDEX.map(|(tree, key)| get(db, tree, key)));

    let (expected, sessions, ended) = {
        let store = SledStore::open(directory.path()).unwrap();
        // The appends of the same owner: a claim would be a durable change of its own.
        let claim = |head| Claim { epoch: Epoch(1), head: Offset(head) };
        let group = vec![
            append_of("s", claim(7), run(9), 50, vec![started()]),
            append_of("t", claim(2), run(8), 40, vec![started()]),
            append_of("s", claim(8), run(9), 60, vec![finished()]),
        ];
        assert_eq!(store.commit(group).await, [Ok(()), Ok(()), Ok(())]);
        (all(&store, "s").await, store.sessions().await, store.run(run(9)).await)
    };
    underneath(directory.path(), |db| {
        for ((tree, key), value) in INDEX.iter().zip(&index) {
            set(db, tree, key, value.as_deref());
        }
        db.open_tree("runs").unwrap().clear().unwrap();
    });

    let store = SledStore::open(directory.path()).unwrap();
    assert_eq!(all(&store, "s").await, expected);
    assert_eq!(store.sessions().await, sessions);
    assert_eq!(store.run(run(9)).await, ended);
    let claim = store.claim(&session("s")).await;
    assert_eq!(claim, Ok(Claim { epoch: Epoch(2), head: Offset(9) }));
}

/// Of the records after a crash, one is torn: it and what builds on it were never acknowledged,
/// are set aside, and their sequences are not given again.
#[tokio::test]
async fn a_torn_record_after_a_crash_is_set_aside_with_what_follows_it() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let index =
        underneath(directory.path(), |db| (get(db, "heads", b"s"), get(db, "meta", b"indexed")));
    {
        let store = SledStore::open(directory.path()).unwrap();
        let mut claim = Claim { epoch: Epoch(1), head: Offset(7) };
        extend(&store, "s", &mut claim, &[&["7"], &["8"], &["9"]]).await;
    }
    underneath(directory.path(), |db| {
        set(db, "heads", b"s", index.0.as_deref());
        set(db, "meta", b"indexed", index.1.as_deref());
    });
    let torn = damage(directory.path(), 7);

    let store = SledStore::open(directory.path()).unwrap();
    assert_eq!(firsts(&store, 0, 9).await, Ok(vec![0, 2, 3, 6, 7]));
    let mut claim = store.claim(&session("s")).await.unwrap();
    assert_eq!(claim.head, Offset(8));
    extend(&store, "s", &mut claim, &[&["eight"]]).await;
    assert_eq!(firsts(&store, 6, 9).await, Ok(vec![6, 7, 8]));
    drop(store);
    underneath(directory.path(), |db| {
        let aside = db.open_tree("quarantine").unwrap();
        let keys: Vec<u64> = aside
            .iter()
            .keys()
            .map(|key| u64::from_be_bytes(key.unwrap().as_ref().try_into().unwrap()))
            .collect();
        assert_eq!(keys, [7, 8]);
        assert_eq!(get(db, "quarantine", &7_u64.to_be_bytes()).unwrap(), torn);
    });
}
