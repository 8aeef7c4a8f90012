//! A family that is cancelled while its subagents wait for a model that never answers.
//!
//! `cargo run --example cancel`: `Run::cancel` returns when the whole tree is dead and its terminal
//! event is durable. The session lives on and takes the next run.

use kinfolk::{Event, Family, RunEvent, Runtime, Scripted, ScriptedReply, Subagent};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ask = ScriptedReply::text("Two of you, please.")
        .call("call_subagent", r#"{"agent":"scout","task":"Look left."}"#)
        .call("call_subagent", r#"{"agent":"scout","task":"Look right."}"#);
    let model =
        Scripted::builder().reply("lead", 1, ask).reply("scout", 1, ScriptedReply::stall()).build();
    let runtime = Runtime::builder().model("scripted:stall", model).start().await?;
    let family = Family::lead("You delegate.").subagent(Subagent::explore("scout", "Looks"));
    let session = runtime.session("patience").family(family).open().await?;

    let mut run = session.start("Look around").await?;
    let mut asked = 0;
    while asked < 2 {
        let Some(event) = run.next().await else { break };
        // The scouts are at work once both have a request in flight.
        if let RunEvent::Journaled(recorded) = event
            && !recorded.agent.is_lead()
            && matches!(recorded.event, Event::ModelRequest(_))
        {
            asked += 1;
            println!("{} waits for its model", recorded.agent);
        }
    }
    let outcome = run.cancel("nobody waits that long").await?;
    println!("{:?}, {:?}", outcome.outcome, outcome.finish_reason);
    while let Some(event) = run.next().await {
        println!("{event}");
    }
    runtime.shutdown().await;
    Ok(())
}
