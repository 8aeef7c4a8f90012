//! Settings of the launcher, parsed before anything starts.
