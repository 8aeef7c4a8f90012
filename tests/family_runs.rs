//! Families from start to end on the store in memory: what the newcomer's run looks like inside.

use kinfolk::definition::{Family, Subagent};
use kinfolk::model::explorer::Explorer;
use kinfolk::runtime::Runtime;

#[tokio::test]
async fn the_explorer_family_answers_about_a_real_directory() {
    let runtime =
        Runtime::builder().model("scripted:explorer", Explorer::default()).start().await.unwrap();
    let family = Family::lead("You explore.")
        .workspace(env!("CARGO_MANIFEST_DIR"))
        .subagent(Subagent::explore("explorer", "Looks into folders and reports."));
    let session = runtime.session("s").family(family).open().await.unwrap();
    let mut run = session.start("Look around").await.unwrap();
    while let Some(event) = run.next().await {
        let line = event.to_string();
        println!("{}", &line[..line.len().min(300)]);
    }
    let outcome = run.outcome().await.unwrap();
    println!("{}", outcome.text);
    assert!(outcome.text.contains("src"));
}
