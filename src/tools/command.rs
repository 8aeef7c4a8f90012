//! Tools that run a command.
