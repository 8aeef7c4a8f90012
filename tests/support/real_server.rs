//! A real model server for tests: one that runs already, or one that is installed and started here.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// The longest wait for one thing, the first installation included.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A server, and its process if this test has started it.
pub struct Server {
    pub url: String,
    _process: Option<Child>,
}

pub async fn server() -> Option<Server> {
    if let Ok(url) = env::var("KINFOLK_REAL_MODEL_URL") {
        return Some(Server { url, _process: None });
    }
    match env::var("KINFOLK_REAL_MODEL").as_deref() {
        Ok("required") => Some(start().await),
        Ok(other) => panic!("KINFOLK_REAL_MODEL is `{other}`; it can only be `required`"),
        Err(_) => None,
    }
}

async fn start() -> Server {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_model/run.sh");
    let default = || Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-model");
    let venv = env::var_os("KINFOLK_REAL_MODEL_VENV").map_or_else(default, PathBuf::from);
    let mut process = Command::new(script)
        .arg(venv)
        .args(["--with-stdin", "--context", "2048"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the script that starts the real model cannot run");
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let ready = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some(url) = line.strip_prefix("READY ") {
                return url.to_owned();
            }
        }
        panic!("the real model ended before it was ready; its messages are above");
    };
    let url = timeout(PATIENCE, ready).await.expect("the real model does not get ready");
    Server { url, _process: Some(process) }
}

/// Done when the server works on nothing.
pub async fn slots_are_idle(url: &str) {
    loop {
        let slots = reqwest::get(format!("{url}/slots")).await.unwrap();
        let slots: Vec<serde_json::Value> = slots.json().await.unwrap();
        if slots.iter().all(|slot| slot["is_processing"] == false) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
