//! `kinfolk inspect`: looks into a store, through the process that owns it if there is one. It
//! changes nothing.

use std::io::{self, Write as _};

use kinfolk::control::client;
use kinfolk::control::look::{Look, LookError, look};
use kinfolk::control::{Request, SocketError};
use kinfolk::output::exit;
use kinfolk::settings::run::InspectSettings;
use kinfolk::store::sled::SledStore;

use super::error::LaunchError;

/// Shows sessions, families or events.
pub async fn inspect(settings: InspectSettings) -> Result<u8, LaunchError> {
    let InspectSettings { target, events, data, output } = settings;
    if !SledStore::exists(&data) {
        return Err(LaunchError::NoStore(data));
    }
    let query = Look { target, events, output };
    match client::ask(&data, &Request::Inspect(query.clone())).await {
        Ok(answered) => return print(&answered.text),
        Err(SocketError::NoOwner(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let store = SledStore::open(&data).map_err(LaunchError::Unopened)?;
    match look(&store, &query).await {
        Ok(text) => print(&text),
        Err(LookError::Store { text, error }) => {
            print(&text)?;
            Err(error.into())
        }
        Err(error) => Err(LaunchError::Look { error, data }),
    }
}

pub(super) fn print(text: &str) -> Result<u8, LaunchError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // A reader that went away early has seen what it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(LaunchError::Output(error)),
        Ok(()) | Err(_) => Ok(exit::COMPLETED),
    }
}
