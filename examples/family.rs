//! A lead that asks two subagents at once and merges what they report.
//!
//! `cargo run --example family` prints the family's events, one line for each, and the answer. The
//! model follows a script, so that it needs no network and no key.

use kinfolk::{Event, Family, RunEvent, Runtime, Scripted, ScriptedReply, Subagent};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::builder().model("scripted:harbour", script()).start().await?;
    let family = Family::lead("You plan, delegate and merge.")
        .subagent(Subagent::explore("scout", "Looks into one part and reports"))
        .subagent(Subagent::explore("counter", "Counts what it is told to count"));
    let session = runtime.session("harbour").family(family).open().await?;

    let mut run = session.start("What is in the harbour?").await?;
    while let Some(event) = run.next().await {
        if let RunEvent::Journaled(recorded) = event {
            let (offset, agent) = (recorded.offset.0, recorded.agent);
            println!("{offset:>3} {agent:<6} {}", describe(&recorded.event));
        }
    }
    let outcome = run.outcome().await?;
    println!("\n{}", outcome.text);
    for agent in &outcome.agents {
        println!(
            "{}: {} turns, {} tokens out",
            agent.name, agent.usage.turns, agent.usage.output_tokens
        );
    }
    runtime.shutdown().await;
    Ok(())
}

fn script() -> Scripted {
    let ask = ScriptedReply::text("I ask two at once.")
        .call("call_subagent", r#"{"agent":"scout","task":"Look at the pier."}"#)
        .call("call_subagent", r#"{"agent":"counter","task":"Count the boats."}"#);
    Scripted::builder()
        .reply("lead", 1, ask)
        .reply("lead", 2, ScriptedReply::text("The pier is new, and three boats lie there."))
        .reply("scout", 1, ScriptedReply::text("The pier is new."))
        .reply("counter", 1, ScriptedReply::text("Three boats."))
        .build()
}

fn describe(event: &Event) -> String {
    match event {
        Event::RunStarted(started) => format!("the run starts: {}", started.input),
        Event::ModelRequest(request) => format!("asks {}", request.model),
        Event::ToolStarted(tool) => format!("{} begins", tool.name),
        Event::ToolFinished(tool) => format!("{} has its result", tool.name),
        Event::SubagentStarted(started) => format!("starts {}: {}", started.name, started.task),
        Event::SubagentFinished(finished) => format!("reports: {}", finished.summary),
        Event::RunFinished(finished) => format!("the run is over: {:?}", finished.outcome),
        other => other.name().replace('_', " "),
    }
}
