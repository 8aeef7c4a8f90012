//! One suite for the store port, run on every adapter, and what only the one on disk promises.

mod cases;
mod damage;
mod fixture;
mod kill;
mod opening;

/// Runs every case on every adapter.
macro_rules! conformance {
    ($($case:ident)*) => {
        mod memory {
            $(#[tokio::test]
            async fn $case() {
                crate::cases::$case(&kinfolk::store::memory::MemoryStore::new()).await;
            })*
        }

        mod sled {
            $(#[tokio::test]
            async fn $case() {
                let directory = tempfile::tempdir().unwrap();
                let store = kinfolk::store::sled::SledStore::open(directory.path()).unwrap();
                crate::cases::$case(&store).await;
            })*
        }
    };
}

conformance! {
    an_unknown_session_has_nothing
    a_claim_makes_a_session_and_counts_up
    appends_are_read_back_in_order_and_dense
    an_append_without_a_claim_is_fenced
    an_append_of_an_old_owner_is_fenced
    an_append_at_a_wrong_head_is_fenced
    an_append_without_events_is_refused
    a_refused_append_does_not_stop_the_others
    appends_of_one_session_in_a_group_build_on_each_other
    what_follows_a_refused_append_of_its_owner_is_refused
    a_new_owner_is_not_held_up_by_an_old_one_in_its_group
    a_read_starts_with_the_record_that_holds_the_offset
    runs_are_indexed_from_start_to_end
    a_late_end_of_an_older_run_leaves_the_newest
    sessions_come_newest_run_first
    families_are_kept_by_hash
    a_family_of_a_refused_append_is_not_kept
    committing_at_once_means_the_same
}
