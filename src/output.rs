//! How the launcher shows events and stores to people and scripts.
