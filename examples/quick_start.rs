//! The lines of the README: a lead with one tool, on a model that follows a script.
//!
//! `cargo run --example quick_start` needs no network and no key.

use kinfolk::{Call, Family, Runtime, Scripted, ScriptedReply, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    name: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Scripted::builder() // `OpenAi::from_env()?` asks a real one
        .reply("lead", 1, ScriptedReply::default().call("weather", r#"{"name":"Esbjerg"}"#))
        .reply("lead", 2, ScriptedReply::text("Esbjerg is sunny: take the ferry to Fanø."))
        .build();
    let weather = |city: City, _: Call| async move { format!("{}: sunny", city.name) };
    let weather = Tool::function("weather", "Weather of a city today", weather).read_only();
    let runtime = Runtime::builder().model("scripted:trip", model).start().await?;
    let family = Family::lead("You plan trips.").tool(weather);
    let session = runtime.session("trip-42").family(family).open().await?;
    let mut run = session.start("Plan a weekend in Esbjerg").await?; // durable when this returns
    while let Some(event) = run.next().await {
        println!("{event}"); // one JSON object a line
    }
    println!("{}", run.outcome().await?.text);
    runtime.shutdown().await;
    Ok(())
}
