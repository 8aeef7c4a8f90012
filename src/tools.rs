//! Tools: from functions, from commands, and the built-in ones that read a workspace.
//!
//! A [`Tool`](tool::Tool) is a specification and what runs it. A [`Toolbox`](toolbox::Toolbox)
//! takes tools whose names and schemas hold, and runs calls: it reads and checks the arguments,
//! keeps the time, catches panics and ends what was cancelled. Tools know nothing of agents,
//! approvals or the journal.

pub mod answer;
pub mod command;
mod own_task;
pub mod tool;
pub mod toolbox;
pub mod workspace;
