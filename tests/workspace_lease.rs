//! Changing tools run one at a time in a directory, whatever it is called.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kinfolk::{ApprovalMode, Call, Family, Runtime, Scripted, ScriptedReply, Tool};
use tokio::sync::Semaphore;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn two_names_of_one_directory_are_one_workspace() {
    let script = Scripted::builder()
        .reply("lead", 1, ScriptedReply::text("").call("change", "{}"))
        .reply("lead", 2, ScriptedReply::text("changed"))
        .build();
    let runtime = Runtime::builder().model("scripted:change", script).start().await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("x");
    std::fs::create_dir(&other).unwrap();
    let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (begun, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let change = {
        let (at_once, most, begun, go) = (at_once.clone(), most.clone(), begun.clone(), go.clone());
        Tool::function("change", "Changes something", move |_: Nothing, _: Call| {
            let (at_once, most, begun, go) =
                (at_once.clone(), most.clone(), begun.clone(), go.clone());
            async move {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                begun.add_permits(1);
                go.acquire().await.unwrap().forget();
                at_once.fetch_sub(1, Ordering::SeqCst);
                "done"
            }
        })
    };
    let mut runs = Vec::new();
    for (name, directory) in [("one", dir.path().to_owned()), ("two", other.join(".."))] {
        let family = Family::lead("You change things.")
            .tool(change.clone())
            .approval(ApprovalMode::AutoRun)
            .workspace(directory);
        let session = runtime.session(name).family(family).open().await.unwrap();
        runs.push(session.start("go").await.unwrap());
    }
    for _ in 0..runs.len() {
        begun.acquire().await.unwrap().forget();
        go.add_permits(1);
    }
    for run in runs {
        assert_eq!(run.outcome().await.unwrap().text.as_ref(), "changed");
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
}
