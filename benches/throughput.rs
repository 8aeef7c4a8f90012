//! A first figure of what a family costs: families and turns a second with a scripted model, on the
//! store in memory and on sled, and what a turn costs early and late in a long run.
//!
//! A family is a lead that starts three subagents in one reply and merges their reports; each
//! subagent makes two parallel calls, one more, and answers: 11 turns and 12 calls. There is no
//! network and no model in it, so the figures are the runtime's own cost. `cargo bench`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kinfolk::definition::{Family, Subagent};
use kinfolk::model::scripted::{Scripted, ScriptedReply};
use kinfolk::ports::tool::Call;
use kinfolk::runtime::{Runtime, RuntimeBuilder};
use kinfolk::tools::tool::Tool;

/// Families in flight at once.
const CONCURRENCY: usize = 64;
/// Model replies of one family.
const TURNS: usize = 11;
/// Turns of the long run.
const LONG: u32 = 1_000;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

fn echo() -> Tool {
    Tool::function("echo", "Says it back", |echo: Echo, _: Call| async move { echo.text })
        .read_only()
}

fn script() -> Scripted {
    let say = r#"{"text":"hello"}"#;
    let delegate = r#"{"agent":"worker","task":"echo three times"}"#;
    let start = ScriptedReply::text("I split the work.")
        .call("call_subagent", delegate)
        .call("call_subagent", delegate)
        .call("call_subagent", delegate);
    Scripted::builder()
        .reply("lead", 1, start)
        .reply("lead", 2, ScriptedReply::text("All three have reported; this is the answer."))
        .reply("worker", 1, ScriptedReply::text("").call("echo", say).call("echo", say))
        .reply("worker", 2, ScriptedReply::text("").call("echo", say))
        .reply("worker", 3, ScriptedReply::text("I have echoed three times, as I was told."))
        .build()
}

fn family() -> Family {
    Family::lead("You plan, delegate and merge.")
        .tool(echo())
        .subagent(Subagent::explore("worker", "Echoes."))
}

async fn families(runtime: &Runtime, count: usize, label: &str) {
    let run = |n: usize| {
        let session = runtime.session(&format!("{label}-{n}")).family(family());
        async move {
            let session = session.open().await.expect("the family is sound");
            let run = session.start("go").await.expect("the run starts");
            let outcome = run.outcome().await.expect("the run ends");
            assert!(outcome.text.starts_with("All three"), "{outcome:?}");
        }
    };
    futures::stream::iter(0..count).map(run).buffer_unordered(CONCURRENCY).collect::<()>().await;
}

async fn throughput(name: &str, builder: RuntimeBuilder, count: usize) {
    let runtime = builder.model("scripted:bench", script()).start().await.expect("it starts");
    families(&runtime, CONCURRENCY, "warm").await;
    let (cpu, clock) = (cpu_time(), Instant::now());
    families(&runtime, count, "run").await;
    let (wall, cpu) = (clock.elapsed(), cpu_time() - cpu);
    let per_second = |n: usize| n as f64 / wall.as_secs_f64();
    println!(
        "{name:<8} {:>9.0} families/s {:>9.0} turns/s {:>8.0} µs CPU/family  ({count} families, {CONCURRENCY} at once)",
        per_second(count),
        per_second(count * TURNS),
        cpu.as_secs_f64() * 1e6 / count as f64,
    );
    runtime.shutdown().await;
}

/// What a turn costs at the start and at the end of a run of a thousand.
async fn long_run() {
    let script = (1..LONG).fold(Scripted::builder(), |script, turn| {
        script.reply("lead", turn, ScriptedReply::text("").call("echo", r#"{"text":"again"}"#))
    });
    let script = script.reply("lead", LONG, ScriptedReply::text("done")).build();
    let runtime = Runtime::builder().model("scripted:long", script).start().await.expect("starts");
    let family = Family::lead("You echo.").tool(echo());
    let session = runtime.session("long").family(family).open().await.expect("opens");
    let mut run = session.start("go").await.expect("starts");
    let (mut marks, mut turns) = (Vec::new(), 0_u32);
    while let Some(event) = run.next().await {
        if event.to_string().contains(r#""role":"assistant""#) {
            turns += 1;
            if turns % 100 == 0 {
                marks.push(Instant::now());
            }
        }
    }
    let between: Vec<Duration> = marks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (first, last) = (between.first(), between.last());
    let (Some(first), Some(last)) = (first, last) else { return };
    println!(
        "long run {:>9.1} µs a turn after 100, {:.1} µs a turn after {} (ratio {:.2})",
        first.as_secs_f64() * 1e4,
        last.as_secs_f64() * 1e4,
        LONG - 100,
        last.as_secs_f64() / first.as_secs_f64(),
    );
    runtime.shutdown().await;
}

/// User and system time of this process, in steps of the kernel's tick (10 ms).
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let ticks = |n: usize| fields.get(n).and_then(|t| t.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

fn main() {
    // `cargo test --benches` only has to see that it runs.
    let quick = std::env::args().any(|argument| argument == "--test");
    let (in_memory, on_disk) = if quick { (64, 64) } else { (20_000, 5_000) };
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let tokio = Arc::new(tokio.expect("the runtime starts"));
    tokio.block_on(async {
        throughput("memory", Runtime::builder().memory(), in_memory).await;
        let data = tempfile::tempdir().expect("a directory for the store");
        let on_sled = Runtime::builder().sled(data.path()).expect("the store opens");
        throughput("sled", on_sled, on_disk).await;
        long_run().await;
    });
}
