//! Shows a run until it is over or rests, and ends it when the person or the system asks for that.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kinfolk::control::asks::of_store;
use kinfolk::control::server::ControlSocket;
use kinfolk::events::RunEvent;
use kinfolk::output::asks::{asks, quoted};
use kinfolk::output::exit;
use kinfolk::output::renderer::{Renderer, Stream, Style};
use kinfolk::runtime::{OutcomeError, Run, Runtime, Settled, StartError};
use kinfolk::settings::run::Wait;
use kinfolk::settings::value::OutputFormat;
use kinfolk_actors::id::{Offset, SessionId};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::error::LaunchError;
use super::raising::advice;
use super::signals::{Signals, TERMINATED, Wish};

/// How a run is watched.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// How it is shown.
    pub output: OutputFormat,
    /// What happens while a person is asked.
    pub wait: Wait,
    /// The data directory.
    pub data: &'a Path,
}

/// Shows a run until it is over or rests, and says how it went. Meanwhile other processes reach it
/// through the control socket. The first Ctrl-C cancels the whole family, the second ends the
/// process at once; SIGTERM stops the work in order and leaves the run unfinished, to be resumed.
pub async fn watch(runtime: &Runtime, run: Run, how: Watch<'_>) -> Result<u8, LaunchError> {
    let mut signals = Signals::listen()?;
    let socket = open_socket(runtime, how.data).await;
    let mut renderer = renderer(how.output);
    let mut next = Some(run);
    let mut code = Ok(exit::COMPLETED);
    while let Some(run) = next.take() {
        let watched = Watched { runtime, run, how: &how, renderer: &mut renderer, last: None };
        code = match watched.until_rest(&mut signals).await {
            // Input that was queued meanwhile starts a run by itself.
            Ok(Rest::Over { code, session }) => match following(runtime, &session).await {
                Ok(run) => {
                    next = run;
                    Ok(code)
                }
                Err(error) => Err(error),
            },
            Ok(Rest::Left(code)) => Ok(code),
            Err(error) => Err(error),
        };
    }
    if let Some(socket) = socket {
        socket.close().await;
    }
    runtime.shutdown().await;
    match renderer.write_error() {
        Some(error) => Err(LaunchError::Output(io::Error::new(error.kind(), error.to_string()))),
        None => code,
    }
}

async fn following(runtime: &Runtime, session: &SessionId) -> Result<Option<Run>, LaunchError> {
    Ok(runtime.session(session.as_str()).open().await?.active().await.map_err(StartError::Store)?)
}

/// The run goes on without it too.
async fn open_socket(runtime: &Runtime, data: &Path) -> Option<ControlSocket> {
    match ControlSocket::open(data, Arc::new(runtime.clone())).await {
        Ok(socket) => Some(socket),
        Err(error) => {
            eprintln!("kinfolk: other commands cannot reach this run: {error}");
            None
        }
    }
}

/// How a run came to rest.
enum Rest {
    /// It is over.
    Over { code: u8, session: SessionId },
    /// It is left as it stands.
    Left(u8),
}

/// A run that is shown.
struct Watched<'a> {
    runtime: &'a Runtime,
    run: Run,
    how: &'a Watch<'a>,
    renderer: &'a mut Renderer,
    /// The last event that was shown.
    last: Option<Offset>,
}

impl Watched<'_> {
    async fn until_rest(mut self, signals: &mut Signals) -> Result<Rest, LaunchError> {
        // Kept until the run is over.
        let mut cancelling: Option<AbortOnDropHandle<()>> = None;
        let control = self.run.control();
        // A run that rests is asked again once something has happened.
        let (mut all_shown, mut moved) = (false, true);
        loop {
            tokio::select! {
                event = self.run.next(), if !all_shown => match event {
                    Some(event) => {
                        moved |= event.offset().is_some();
                        self.show(&event);
                    }
                    None => match self.run.trouble() {
                        Some(error) => return Err(error.clone().into()),
                        None => all_shown = true,
                    },
                },
                finished = control.outcome(), if all_shown => {
                    let code = exit::exit_code(&finished?);
                    let session = self.run.session().clone();
                    return Ok(match cancelling {
                        Some(_) => Rest::Left(code),
                        None => Rest::Over { code, session },
                    });
                }
                settled = control.settled(), if moved && !all_shown => {
                    moved = false;
                    if cancelling.is_none() && let Some(code) = self.settled(settled).await? {
                        return Ok(Rest::Left(code));
                    }
                }
                Some(wish) = signals.wishes.recv() => match wish {
                    Wish::Cancel => {
                        eprintln!("kinfolk: cancelling; a second Ctrl-C ends the process at once");
                        cancelling = Some(cancel(&self.run));
                    }
                    Wish::Terminate => {
                        self.runtime.shutdown().await;
                        let (run, data) = (self.run.id(), quoted(self.how.data));
                        eprintln!(
                            "kinfolk: terminated; go on with `kinfolk resume --data {data} {run}`"
                        );
                        return Ok(Rest::Left(TERMINATED));
                    }
                },
            }
        }
    }

    fn show(&mut self, event: &RunEvent) {
        self.last = event.offset().or(self.last);
        self.renderer.show(event, &mut io::stdout(), &mut io::stderr());
    }

    /// The exit code of a run that rests, unless it is to be waited for.
    async fn settled(
        &mut self,
        settled: Result<Settled, OutcomeError>,
    ) -> Result<Option<u8>, LaunchError> {
        match settled {
            // Its events come to an end by themselves; an error is told with its outcome.
            Ok(Settled::Finished(_)) | Err(_) => Ok(None),
            Ok(Settled::Parked(_)) => {
                self.catch_up().await?;
                self.tell_asks().await?;
                Ok(match self.how.wait {
                    Wait::Leave => Some(exit::PARKED),
                    Wait::Stay => None,
                })
            }
            Ok(Settled::Interrupted(why)) => {
                self.catch_up().await?;
                let store = self.runtime.store();
                let advice = advice(store.as_ref(), self.how.data, self.run.id(), &why).await?;
                eprintln!("kinfolk: {advice}");
                Ok(Some(exit::LIMIT))
            }
        }
    }

    /// Shows what is durable already.
    async fn catch_up(&mut self) -> Result<(), LaunchError> {
        /// A journal that another run of the session has added to would be waited for in vain.
        const PATIENCE: Duration = Duration::from_secs(1);
        let summary = self.runtime.store().session(self.run.session()).await?;
        let head = summary.map_or(Offset(0), |summary| summary.head);
        while self.last.is_none_or(|last| last.0 + 1 < head.0) {
            match timeout(PATIENCE, self.run.next()).await {
                Ok(Some(event)) => self.show(&event),
                Ok(None) | Err(_) => break,
            }
        }
        Ok(())
    }

    /// Says what is asked and which command answers.
    async fn tell_asks(&self) -> Result<(), LaunchError> {
        let run = self.run.id();
        let mut open = of_store(self.runtime.store().as_ref()).await?;
        open.retain(|ask| ask.run == run);
        let data = self.how.data;
        let mut text = Vec::new();
        if open.is_empty() {
            eprintln!("kinfolk: the run waits for a result from outside");
        } else {
            eprintln!("kinfolk: the run waits for a person:");
            asks(&open, OutputFormat::Text, Some(data), &mut text).map_err(LaunchError::Output)?;
            eprint!("{}", String::from_utf8_lossy(&text));
        }
        if self.how.wait == Wait::Leave {
            let data = quoted(data);
            eprintln!(
                "kinfolk: answer while `kinfolk resume --wait --data {data} {run}` holds the run"
            );
        }
        Ok(())
    }
}

/// The cancel's outcome arrives as the run's last event.
fn cancel(run: &Run) -> AbortOnDropHandle<()> {
    let control = run.control();
    AbortOnDropHandle::new(tokio::spawn(async move {
        if let Err(error) = control.cancel("interrupted from the terminal").await {
            eprintln!("kinfolk: {error}");
        }
    }))
}

fn renderer(output: OutputFormat) -> Renderer {
    match output {
        OutputFormat::Json => Renderer::json(),
        OutputFormat::Text => {
            let (stdout, stderr) = (Stream::of(&io::stdout()), Stream::of(&io::stderr()));
            let no_color = std::env::var_os("NO_COLOR");
            Renderer::text(Style::for_streams(stdout, stderr, no_color.as_deref()))
        }
    }
}
