//! Supervision on ractor: restart policy, generations that never overlap, stops in two phases.
