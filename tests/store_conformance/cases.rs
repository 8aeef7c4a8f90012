//! What every adapter promises.

use kinfolk::ports::store::{Claim, Epoch, RunSummary, SessionSummary, Store, StoreError};
use kinfolk_actors::family::FamilyHash;
use kinfolk_actors::id::Offset;
use kinfolk_actors::time::Timestamp;

use crate::fixture::{
    all, append, append_of, extend, fenced, finished, run, session, started, text, texts,
};

pub async fn an_unknown_session_has_nothing(store: &dyn Store) {
    let unknown = session("unknown");
    assert_eq!(store.read(&unknown, Offset(0), 10).await, Ok(Vec::new()));
    assert_eq!(store.session(&unknown).await, Ok(None));
    assert_eq!(store.sessions().await, Ok(Vec::new()));
    assert_eq!(store.run(run(1)).await, Ok(None));
    assert_eq!(store.family(FamilyHash([0; 32])).await, Ok(None));
}

pub async fn a_claim_makes_a_session_and_counts_up(store: &dyn Store) {
    let claim = |epoch| Ok(Claim { epoch: Epoch(epoch), head: Offset(0) });
    assert_eq!(store.claim(&session("s")).await, claim(1));
    assert_eq!(store.claim(&session("s")).await, claim(2));
    assert_eq!(store.claim(&session("t")).await, claim(1));
    let summary = SessionSummary { session: session("s"), head: Offset(0), newest: None };
    assert_eq!(store.session(&session("s")).await, Ok(Some(summary)));
    assert_eq!(all(store, "s").await, []);
}

pub async fn appends_are_read_back_in_order_and_dense(store: &dyn Store) {
    let mut claim = store.claim(&session("s")).await.unwrap();
    let first = append("s", claim, texts(&["a", "b"]));
    assert_eq!(store.commit(vec![first.clone()]).await, [Ok(())]);
    claim.head = Offset(2);
    let second = append("s", claim, vec![started(), finished(), text("c")]);
    assert_eq!(store.commit(vec![second.clone()]).await, [Ok(())]);
    assert_eq!(all(store, "s").await, [(*first.record).clone(), (*second.record).clone()]);
    let again = store.claim(&session("s")).await;
    assert_eq!(again, Ok(Claim { epoch: Epoch(2), head: Offset(5) }));
}

pub async fn an_append_without_a_claim_is_fenced(store: &dyn Store) {
    for epoch in [0, 1] {
        let claim = Claim { epoch: Epoch(epoch), head: Offset(0) };
        let verdict = store.commit(vec![append("s", claim, texts(&["a"]))]).await;
        assert_eq!(verdict, [fenced("s", epoch, 0)]);
    }
    assert_eq!(store.session(&session("s")).await, Ok(None));
}

pub async fn an_append_of_an_old_owner_is_fenced(store: &dyn Store) {
    let old = store.claim(&session("s")).await.unwrap();
    let new = store.claim(&session("s")).await.unwrap();
    let future = Claim { epoch: Epoch(3), ..new };
    assert_eq!(store.commit(vec![append("s", old, texts(&["old"]))]).await, [fenced("s", 1, 0)]);
    assert_eq!(store.commit(vec![append("s", future, texts(&["x"]))]).await, [fenced("s", 3, 0)]);
    let kept = append("s", new, texts(&["new"]));
    assert_eq!(store.commit(vec![kept.clone()]).await, [Ok(())]);
    assert_eq!(all(store, "s").await, [(*kept.record).clone()]);
}

pub async fn an_append_at_a_wrong_head_is_fenced(store: &dyn Store) {
    let mut claim = store.claim(&session("s")).await.unwrap();
    extend(store, "s", &mut claim, &[&["a", "b"]]).await;
    for head in [0, 1, 3] {
        let wrong = Claim { head: Offset(head), ..claim };
        let verdict = store.commit(vec![append("s", wrong, texts(&["x"]))]).await;
        assert_eq!(verdict, [fenced("s", 1, head)]);
    }
    assert_eq!(all(store, "s").await.len(), 1);
}

pub async fn an_append_without_events_is_refused(store: &dyn Store) {
    let claim = store.claim(&session("s")).await.unwrap();
    let detail = "an append without events".to_owned();
    let refused = Err(StoreError::Write { detail });
    assert_eq!(store.commit(vec![append("s", claim, Vec::new())]).await, [refused]);
    assert_eq!(store.commit(vec![append("s", claim, texts(&["a"]))]).await, [Ok(())]);
}

pub async fn a_refused_append_does_not_stop_the_others(store: &dyn Store) {
    let a = store.claim(&session("a")).await.unwrap();
    let b = store.claim(&session("b")).await.unwrap();
    let c = store.claim(&session("c")).await.unwrap();
    let wrong = Claim { head: Offset(9), ..b };
    let group = vec![
        append("a", a, texts(&["1"])),
        append("b", wrong, texts(&["2"])),
        append("c", c, texts(&["3"])),
    ];
    assert_eq!(store.commit(group.clone()).await, [Ok(()), fenced("b", 1, 9), Ok(())]);
    assert_eq!(all(store, "a").await, [(*group[0].record).clone()]);
    assert_eq!(all(store, "b").await, []);
    assert_eq!(all(store, "c").await, [(*group[2].record).clone()]);
    assert_eq!(store.commit(Vec::new()).await, []);
}

pub async fn appends_of_one_session_in_a_group_build_on_each_other(store: &dyn Store) {
    let claim = store.claim(&session("s")).await.unwrap();
    let at = |head| Claim { head: Offset(head), ..claim };
    let group = vec![
        append("s", at(0), texts(&["a", "b"])),
        append("s", at(2), texts(&["c"])),
        append("s", at(3), texts(&["d"])),
    ];
    assert_eq!(store.commit(group.clone()).await, [Ok(()), Ok(()), Ok(())]);
    let expected: Vec<_> = group.iter().map(|append| (*append.record).clone()).collect();
    assert_eq!(all(store, "s").await, expected);
}

pub async fn what_follows_a_refused_append_of_its_owner_is_refused(store: &dyn Store) {
    let claim = store.claim(&session("s")).await.unwrap();
    let at = |head| Claim { head: Offset(head), ..claim };
    let group = vec![
        append("s", at(5), texts(&["a"])),
        append("s", at(6), texts(&["b"])),
        // Alone it would fit, but its owner decided it after what was refused.
        append("s", at(0), texts(&["c"])),
    ];
    let refused = [fenced("s", 1, 5), fenced("s", 1, 6), fenced("s", 1, 0)];
    assert_eq!(store.commit(group).await, refused);
    assert_eq!(all(store, "s").await, []);
    assert_eq!(store.commit(vec![append("s", at(0), texts(&["d"]))]).await, [Ok(())]);
}

pub async fn a_new_owner_is_not_held_up_by_an_old_one_in_its_group(store: &dyn Store) {
    let old = store.claim(&session("s")).await.unwrap();
    let new = store.claim(&session("s")).await.unwrap();
    let group = vec![append("s", old, texts(&["old"])), append("s", new, texts(&["new"]))];
    assert_eq!(store.commit(group.clone()).await, [fenced("s", 1, 0), Ok(())]);
    assert_eq!(all(store, "s").await, [(*group[1].record).clone()]);
}

pub async fn a_read_starts_with_the_record_that_holds_the_offset(store: &dyn Store) {
    let mut claim = store.claim(&session("s")).await.unwrap();
    let mut other = store.claim(&session("t")).await.unwrap();
    extend(store, "s", &mut claim, &[&["0", "1", "2"], &["3"]]).await;
    extend(store, "t", &mut other, &[&["x"], &["y"]]).await;
    extend(store, "s", &mut claim, &[&["4", "5"]]).await;
    let firsts = [
        (0, 9, vec![0, 3, 4]),
        (1, 9, vec![0, 3, 4]),
        (2, 9, vec![0, 3, 4]),
        (3, 9, vec![3, 4]),
        (4, 9, vec![4]),
        (5, 9, vec![4]),
        (6, 9, vec![]),
        (u64::MAX, 9, vec![]),
        (0, 2, vec![0, 3]),
        (2, 1, vec![0]),
        (3, 1, vec![3]),
        (0, 0, vec![]),
    ];
    for (from, limit, expected) in firsts {
        let records = store.read(&session("s"), Offset(from), limit).await.unwrap();
        let found: Vec<u64> = records.iter().map(|record| record.first.0).collect();
        assert_eq!(found, expected, "from {from}, limit {limit}");
    }
}

pub async fn runs_are_indexed_from_start_to_end(store: &dyn Store) {
    let mut claim = store.claim(&session("s")).await.unwrap();
    let begin = append_of("s", claim, run(7), 5_000, vec![text("before"), started()]);
    claim.head = begin.record.end();
    assert_eq!(store.commit(vec![begin]).await, [Ok(())]);
    let mut summary = RunSummary {
        run: run(7),
        session: session("s"),
        first: Offset(1),
        started: Timestamp(5_000),
        finished: None,
    };
    assert_eq!(store.run(run(7)).await, Ok(Some(summary.clone())));

    let end = append_of("s", claim, run(7), 6_000, vec![text("last"), finished()]);
    assert_eq!(store.commit(vec![end]).await, [Ok(())]);
    summary.finished = Some(Offset(3));
    assert_eq!(store.run(run(7)).await, Ok(Some(summary.clone())));
    let newest = Some(summary);
    let expected = SessionSummary { session: session("s"), head: Offset(4), newest };
    assert_eq!(store.session(&session("s")).await, Ok(Some(expected)));
    assert_eq!(store.run(run(8)).await, Ok(None));
}

pub async fn a_late_end_of_an_older_run_leaves_the_newest(store: &dyn Store) {
    let claim = store.claim(&session("s")).await.unwrap();
    let at = |head| Claim { head: Offset(head), ..claim };
    let group = vec![
        append_of("s", at(0), run(1), 10, vec![started()]),
        append_of("s", at(1), run(2), 20, vec![started()]),
        append_of("s", at(2), run(1), 30, vec![finished()]),
    ];
    assert_eq!(store.commit(group).await, [Ok(()), Ok(()), Ok(())]);
    let summary = store.session(&session("s")).await.unwrap().unwrap();
    assert_eq!(summary.newest.map(|newest| (newest.run, newest.finished)), Some((run(2), None)));
    let first = store.run(run(1)).await.unwrap().unwrap();
    assert_eq!(first.finished, Some(Offset(2)));
}

pub async fn sessions_come_newest_run_first(store: &dyn Store) {
    for (name, at) in [("b", 10), ("c", 30), ("a", 20)] {
        let claim = store.claim(&session(name)).await.unwrap();
        let append = append_of(name, claim, run(u128::from(at)), at, vec![started()]);
        assert_eq!(store.commit(vec![append]).await, [Ok(())]);
    }
    store.claim(&session("z")).await.unwrap();
    store.claim(&session("e")).await.unwrap();
    let sessions = store.sessions().await.unwrap();
    let names: Vec<_> = sessions.iter().map(|summary| summary.session.as_str()).collect();
    assert_eq!(names, ["c", "a", "b", "e", "z"]);
    for summary in sessions {
        assert_eq!(store.session(&summary.session.clone()).await, Ok(Some(summary)));
    }
}

pub async fn families_are_kept_by_hash(store: &dyn Store) {
    let mut claim = store.claim(&session("s")).await.unwrap();
    for _ in 0..2 {
        let mut append = append("s", claim, vec![started()]);
        append.family = Some((FamilyHash([7; 32]), r#"{"lead":1}"#.into()));
        claim.head = append.record.end();
        assert_eq!(store.commit(vec![append]).await, [Ok(())]);
    }
    assert_eq!(store.family(FamilyHash([7; 32])).await, Ok(Some(r#"{"lead":1}"#.into())));
    assert_eq!(store.family(FamilyHash([8; 32])).await, Ok(None));
}

pub async fn a_family_of_a_refused_append_is_not_kept(store: &dyn Store) {
    let claim = Claim { epoch: Epoch(1), head: Offset(0) };
    let mut append = append("s", claim, vec![started()]);
    append.family = Some((FamilyHash([7; 32]), "{}".into()));
    assert_eq!(store.commit(vec![append]).await, [fenced("s", 1, 0)]);
    assert_eq!(store.family(FamilyHash([7; 32])).await, Ok(None));
}

/// An adapter that does not answer at once takes the same appends the other way.
pub async fn committing_at_once_means_the_same(store: &dyn Store) {
    let claim = store.claim(&session("s")).await.unwrap();
    let at = |head| Claim { head: Offset(head), ..claim };
    let steps = [
        (append("s", at(0), texts(&["a"])), Ok(())),
        (append("s", at(0), texts(&["b"])), fenced("s", 1, 0)),
        (append("s", at(1), texts(&["c"])), Ok(())),
    ];
    for (append, expected) in steps {
        let verdict = match store.commit_now(&append) {
            Some(verdict) => verdict,
            None => store.commit(vec![append]).await.remove(0),
        };
        assert_eq!(verdict, expected);
    }
    let firsts: Vec<_> = all(store, "s").await.iter().map(|record| record.first.0).collect();
    assert_eq!(firsts, [0, 1]);
}
