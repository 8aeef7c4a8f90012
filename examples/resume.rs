//! A run that outlives its runtime: it starts on a store in a directory, the runtime is taken away
//! in the middle, and another one goes on where the journal ends.
//!
//! `cargo run --example resume` needs no network and no key. A process that is killed leaves the
//! same journal; `kinfolk run`, `kill -9` and `kinfolk resume` show that.

use std::time::Duration;

use kinfolk::{Event, Family, RunEvent, Runtime, Scripted, ScriptedReply, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = tempfile::tempdir()?;
    let slow = ScriptedReply::text("The tide is high.").after(Duration::from_secs(3600));

    let first = start(data.path(), slow).await?;
    let session = first.session("tides").family(family()).open().await?;
    let mut run = session.start("How is the tide?").await?;
    while let Some(event) = run.next().await {
        println!("{event}");
        if let RunEvent::Journaled(recorded) = event
            && matches!(recorded.event, Event::ToolFinished(_))
        {
            break; // The tool's result is durable; the model would think for an hour.
        }
    }
    let id = run.id();
    first.shutdown().await;
    drop((run, session, first));

    println!("-- another runtime on the same directory --");
    let second = start(data.path(), ScriptedReply::text("The tide is high.")).await?;
    let mut run = second.resume(id).await?; // its family comes from the journal
    while let Some(event) = run.next().await {
        println!("{event}");
    }
    println!("{}", run.outcome().await?.text);
    second.shutdown().await;
    Ok(())
}

/// A runtime on a directory. Its tools are registered, so that a resumed run finds them by name.
async fn start(
    data: &std::path::Path,
    answer: ScriptedReply,
) -> Result<Runtime, Box<dyn std::error::Error>> {
    let model = Scripted::builder()
        .reply("lead", 1, ScriptedReply::default().call("gauge", "{}"))
        .reply("lead", 2, answer)
        .build();
    let builder = Runtime::builder().sled(data)?.model("scripted:tides", model).tool(gauge());
    Ok(builder.start().await?)
}

fn family() -> Family {
    Family::lead("You know the sea.").tool(gauge())
}

fn gauge() -> Tool {
    Tool::function("gauge", "The water's height", |_: Nothing, _| async { "3.1 m" }).read_only()
}
