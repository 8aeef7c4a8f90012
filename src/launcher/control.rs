//! The commands that reach a live run through the control socket of the process that owns it.

use std::path::Path;

use kinfolk::control::asks::{OpenAsk, of_store};
use kinfolk::control::{Reply, Request, SocketError, client};
use kinfolk::definition::Family;
use kinfolk::output::asks::asks;
use kinfolk::output::exit;
use kinfolk::ports::store::Store;
use kinfolk::runtime::Runtime;
use kinfolk::settings::run::{ControlSettings, Wait};
use kinfolk::settings::value::OutputFormat;
use kinfolk::store::sled::SledStore;
use kinfolk_actors::event::Event;
use kinfolk_actors::id::{RunId, SessionId};

use super::error::LaunchError;
use super::inspect::print;
use super::watch::{Watch, watch};

/// Asks the owner of a data directory for something, or does it here if there is none and no live
/// run is needed.
pub async fn control(settings: ControlSettings) -> Result<u8, LaunchError> {
    let ControlSettings { request, data, output } = settings;
    if !SledStore::exists(&data) {
        return Err(LaunchError::NoStore(data));
    }
    match client::ask(&data, &request).await {
        Ok(answered) => match answered.reply {
            Reply::Done => Ok(exit::COMPLETED),
            Reply::Asks(open) => show(&open, &data, output),
        },
        Err(SocketError::NoOwner(_)) => alone(request, &data, output).await,
        Err(error) => Err(error.into()),
    }
}

/// What can be done where nobody owns the data directory.
async fn alone(request: Request, data: &Path, output: OutputFormat) -> Result<u8, LaunchError> {
    let run = match request {
        Request::Approvals => {
            let store = SledStore::open(data).map_err(LaunchError::Unopened)?;
            return show(&of_store(&store).await?, data, output);
        }
        Request::Compact { session } => return compact(session, data, output).await,
        // `kinfolk inspect` has a way of its own.
        Request::Inspect(_) => None,
        Request::Approve { approval, answer: _ } => Some(approval.run),
        Request::Answer { question, text: _, by: _ } => Some(question.run),
        Request::Steer { run, text: _ }
        | Request::Queue { run, text: _ }
        | Request::Cancel { run, reason: _ } => Some(run),
    };
    Err(match run {
        Some(run) => unreachable_run(run, data).await?,
        None => LaunchError::NoOwner { data: data.to_owned(), run: None },
    })
}

/// Why nothing can be said to a run where nobody owns the data directory.
async fn unreachable_run(run: RunId, data: &Path) -> Result<LaunchError, LaunchError> {
    let store = SledStore::open(data).map_err(LaunchError::Unopened)?;
    let data = data.to_owned();
    Ok(match store.run(run).await? {
        None => LaunchError::NothingToShow { name: run.to_string(), data },
        Some(found) if found.finished.is_some() => LaunchError::Over(run),
        Some(_) => LaunchError::NoOwner { data, run: Some(run) },
    })
}

fn show(open: &[OpenAsk], data: &Path, output: OutputFormat) -> Result<u8, LaunchError> {
    let mut text = Vec::new();
    asks(open, output, Some(data), &mut text).map_err(LaunchError::Output)?;
    print(&String::from_utf8_lossy(&text))
}

/// A run that compacts the session and does nothing else, with the family of its newest run.
async fn compact(session: SessionId, data: &Path, output: OutputFormat) -> Result<u8, LaunchError> {
    let runtime = Runtime::builder().sled(data).map_err(LaunchError::Unopened)?.start().await?;
    let family = newest_family(runtime.store().as_ref(), &session).await?;
    let nothing =
        || LaunchError::NothingToShow { name: session.to_string(), data: data.to_owned() };
    let family = Family::frozen(family.ok_or_else(nothing)?);
    let open = runtime.session(session.as_str()).family(family).open().await?;
    let run = open.compact().await?;
    watch(&runtime, run, Watch { output, wait: Wait::Leave, data }).await
}

/// The family of a session's newest run.
async fn newest_family(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Option<kinfolk_actors::family::Family>, LaunchError> {
    let summary = store.session(session).await?;
    let Some(newest) = summary.and_then(|summary| summary.newest) else { return Ok(None) };
    let records = store.read(session, newest.first, 1).await?;
    let started = records.iter().flat_map(|record| &record.events).find_map(Event::run_started);
    let Some(hash) = started.map(|started| started.family) else { return Ok(None) };
    let Some(json) = store.family(hash).await? else { return Ok(None) };
    serde_json::from_str(&json).map(Some).map_err(LaunchError::Family)
}
