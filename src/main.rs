//! The launcher: one process that runs, resumes or inspects families, on a store in a directory.

mod launcher;

use std::process::ExitCode;

fn main() -> ExitCode {
    launcher::launch()
}
