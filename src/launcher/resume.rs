//! `kinfolk resume`: goes on with an interrupted run, or shows the end of a finished one again.

use std::path::Path;

use kinfolk::runtime::{Run, Runtime, WishError};
use kinfolk::settings::run::ResumeSettings;
use kinfolk::store::sled::SledStore;
use kinfolk_actors::agent::Refusal;
use kinfolk_actors::family::ModelEndpoint;
use kinfolk_actors::id::RunId;
use kinfolk_actors::limits::Limits;

use super::error::LaunchError;
use super::watch::{Watch, watch};

/// Goes on with a run and shows what is new.
pub async fn resume(settings: ResumeSettings) -> Result<u8, LaunchError> {
    let data = settings.data;
    if !SledStore::exists(&data) {
        return Err(LaunchError::NoStore(data));
    }
    let endpoint = ModelEndpoint {
        base_url: settings.base_url.map(|told| told.value),
        api_key_env: settings.api_key_env.map(|told| told.value),
        // What is known of the model was frozen with the run.
        ..ModelEndpoint::default()
    };
    let runtime = Runtime::builder()
        .sled(&data)
        .map_err(LaunchError::Unopened)?
        .lead_endpoint(endpoint)
        .start()
        .await?;
    let run = match settings.run {
        Some(run) => run,
        None => newest_unfinished(&runtime, &data).await?,
    };
    let run = runtime.resume(run).await?;
    go_on(&run, settings.raised).await?;
    watch(&runtime, run, Watch { output: settings.output, wait: settings.wait, data: &data }).await
}

/// An interrupted run waits to be told to go on; every other one goes on by itself.
async fn go_on(run: &Run, raised: Limits) -> Result<(), LaunchError> {
    let raised = (raised != Limits::none()).then_some(raised);
    match run.resume(raised).await {
        Ok(()) => Ok(()),
        Err(
            WishError::Refused(Refusal::NotInterrupted | Refusal::AtRest) | WishError::NotActive,
        ) => {
            if raised.is_some() {
                eprintln!("kinfolk: the run was not interrupted; its limits stay as they are");
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

async fn newest_unfinished(runtime: &Runtime, data: &Path) -> Result<RunId, LaunchError> {
    let sessions = runtime.sessions().await?;
    let mut newest = sessions.into_iter().filter_map(|summary| summary.newest);
    let unfinished = newest.find(|run| run.finished.is_none());
    unfinished.map(|run| run.run).ok_or_else(|| LaunchError::NothingToResume(data.to_owned()))
}
