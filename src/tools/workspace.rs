//! The built-in tools that read a workspace.
