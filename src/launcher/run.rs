//! `kinfolk run`: one run in this process, durable in its data directory.

use kinfolk::definition::Family;
use kinfolk::model::catalog;
use kinfolk::runtime::Runtime;
use kinfolk::settings::freeze::Host;
use kinfolk::settings::run::RunOptions;
use kinfolk::tools::workspace::Workspace;
use kinfolk_actors::family::{ModelEndpoint, ToolSpec};
use std::sync::Arc;
use uuid::Uuid;

use super::error::LaunchError;
use super::watch::{Watch, watch};

/// Starts a run and shows it to its end.
pub async fn run(options: RunOptions) -> Result<u8, LaunchError> {
    let current_dir = std::env::current_dir().map_err(LaunchError::System)?;
    let tools = built_in_tools(&current_dir)?;
    let check_model = |name: &str, endpoint: &ModelEndpoint| {
        catalog::resolve(name, endpoint).map(drop).map_err(|error| error.to_string())
    };
    let host = Host { tools: &tools, check_model: &check_model, current_dir: &current_dir };
    let settings = options.resolve(&host)?;
    if let Some(workspace) = &settings.family.workspace {
        // Refuses a data directory that would hide the workspace, before a store is made in it.
        Workspace::open(workspace)?.hide(&settings.data)?;
    }
    let prompt = settings.prompt.read(&mut std::io::stdin().lock())?;
    let runtime =
        Runtime::builder().sled(&settings.data).map_err(LaunchError::Unopened)?.start().await?;
    let session = match settings.session {
        Some(session) => session.to_string(),
        None => Uuid::now_v7().to_string(),
    };
    let family = Family::frozen(settings.family);
    let session = runtime.session(&session).family(family).open().await?;
    let run = session.start(prompt).await?;
    let how = Watch { output: settings.output, wait: settings.wait, data: &settings.data };
    watch(&runtime, run, how).await
}

fn built_in_tools(directory: &std::path::Path) -> Result<Vec<ToolSpec>, LaunchError> {
    let workspace = Arc::new(Workspace::open(directory)?);
    Ok(workspace.tools().iter().map(|tool| tool.spec().clone()).collect())
}
