//! `kinfolk inspect`: looks into a store that no process owns. It changes nothing.

use std::io::{self, Write as _};
use std::path::Path;

use kinfolk::output::events::events;
use kinfolk::output::exit;
use kinfolk::output::family_view::FamilyView;
use kinfolk::output::inspect::{families, sessions};
use kinfolk::ports::store::Store;
use kinfolk::settings::run::{EventFilter, InspectSettings, InspectTarget};
use kinfolk::store::sled::SledStore;
use kinfolk_actors::event::Recorded;
use kinfolk_actors::id::{Offset, RunId, SessionId};

use super::error::LaunchError;

/// Shows sessions, families or events.
pub async fn inspect(settings: InspectSettings) -> Result<u8, LaunchError> {
    let data = settings.data;
    if !SledStore::exists(&data) {
        return Err(LaunchError::NoStore(data));
    }
    let store = SledStore::open(&data).map_err(LaunchError::Unopened)?;
    let mut text = Vec::new();
    match (settings.target, settings.events) {
        (None, None) => sessions(&store.sessions().await?, settings.output, &mut text),
        (target, filter) => {
            let (session, run) = find(&store, target, &data).await?;
            // Damage in the middle of a session must not hide what stands before it.
            let (recorded, damage) = read_session(&store, &session).await;
            let written = match filter {
                Some(filter) => show_events(recorded, filter, run, &mut text),
                None => {
                    let views = FamilyView::of_session(&recorded);
                    let shown: Vec<FamilyView> = views
                        .into_iter()
                        .filter(|view| run.is_none_or(|run| run == view.run))
                        .collect();
                    families(&shown, settings.output, &mut text)
                }
            };
            if let Some(error) = damage {
                print(&text)?;
                return Err(error.into());
            }
            written
        }
    }
    .map_err(LaunchError::Output)?;
    print(&text)?;
    Ok(exit::COMPLETED)
}

fn show_events(
    recorded: Vec<Recorded>,
    filter: EventFilter,
    run: Option<RunId>,
    text: &mut Vec<u8>,
) -> io::Result<()> {
    events(recorded, filter, run, text)
}

/// The session that is meant, and the run if one is.
async fn find(
    store: &SledStore,
    target: Option<InspectTarget>,
    data: &Path,
) -> Result<(SessionId, Option<RunId>), LaunchError> {
    let nothing = |name: String| LaunchError::NothingToShow { name, data: data.to_owned() };
    match target {
        None => {
            let newest = store.sessions().await?.into_iter().next();
            let found = newest.map(|summary| (summary.session, None));
            found.ok_or_else(|| LaunchError::NoSession(data.to_owned()))
        }
        Some(InspectTarget::Session(session)) => match store.session(&session).await? {
            Some(_) => Ok((session, None)),
            None => Err(nothing(session.to_string())),
        },
        Some(InspectTarget::RunOrSession(run, session)) => match store.run(run).await? {
            Some(summary) => Ok((summary.session, Some(run))),
            None => match store.session(&session).await? {
                Some(_) => Ok((session, None)),
                None => Err(nothing(session.to_string())),
            },
        },
    }
}

/// All events that can be read, and what keeps the rest from being read.
async fn read_session(
    store: &SledStore,
    session: &SessionId,
) -> (Vec<Recorded>, Option<kinfolk::ports::store::StoreError>) {
    /// Records that are read at a time.
    const PAGE: usize = 64 * 1024;
    let (mut recorded, mut from) = (Vec::new(), Offset(0));
    loop {
        match store.read(session, from, PAGE).await {
            Ok(records) => {
                let Some(last) = records.last() else { return (recorded, None) };
                from = last.end();
                recorded.extend(records.iter().flat_map(|record| record.recorded()));
            }
            Err(error) => return (recorded, Some(error)),
        }
    }
}

fn print(text: &[u8]) -> Result<(), LaunchError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        // A reader that went away early has seen what it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(LaunchError::Output(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
