//! Everything that the launcher is told, parsed before anything starts: the command line, the
//! environment and the family file. Flags win over the environment, the environment over the file.
//!
//! Whatever is wrong is one [`SettingsError`](error::SettingsError) that names the file, line or
//! option and what would be right. Nothing here starts work; what comes out is plain data.

pub mod agent_tools;
pub mod error;
pub mod family_file;
#[cfg(feature = "cli")]
pub mod flags;
pub mod freeze;
pub mod run;
pub(crate) mod table;
pub mod value;
