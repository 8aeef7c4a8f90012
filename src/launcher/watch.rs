//! Shows a run to its end, and ends it when the person or the system asks for that.

use std::io;

use kinfolk::output::exit;
use kinfolk::output::renderer::{Renderer, Stream, Style};
use kinfolk::runtime::{Run, Runtime};
use kinfolk::settings::value::OutputFormat;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::error::LaunchError;

/// The exit code of a process that was told to end by SIGTERM, as shells count: 128 + 15.
const TERMINATED: u8 = 143;

/// What the person or the system wants of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// Cancel it.
    Cancel,
    /// Stop the work and leave it unfinished.
    Terminate,
}

/// Hears signals for as long as it is kept, whatever else goes on: the first of a kind is a wish,
/// the second ends the process at once.
struct Signals {
    wishes: mpsc::Receiver<Wish>,
    _listener: AbortOnDropHandle<()>,
}

impl Signals {
    fn listen() -> Result<Self, LaunchError> {
        let listen = |kind| signal(kind).map_err(LaunchError::System);
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut terminate = listen(SignalKind::terminate())?;
        // One of each kind at most.
        let (tell, wishes) = mpsc::channel(2);
        let listener = async move {
            let (mut interrupted, mut terminated) = (false, false);
            loop {
                let (seen, wish, code) = tokio::select! {
                    _ = interrupt.recv() => (&mut interrupted, Wish::Cancel, exit::CANCELLED),
                    _ = terminate.recv() => (&mut terminated, Wish::Terminate, TERMINATED),
                };
                if std::mem::replace(seen, true) {
                    std::process::exit(code.into());
                }
                // Nobody waits for wishes once the run is over.
                let _ = tell.try_send(wish);
            }
        };
        Ok(Self { wishes, _listener: AbortOnDropHandle::new(tokio::spawn(listener)) })
    }
}

/// Shows a run until it is over and says how it went. The first Ctrl-C cancels the whole family,
/// the second ends the process at once; SIGTERM stops the work in order and leaves the run
/// unfinished, to be resumed.
pub async fn watch(
    runtime: &Runtime,
    mut run: Run,
    output: OutputFormat,
) -> Result<u8, LaunchError> {
    let mut signals = Signals::listen()?;
    let mut renderer = renderer(output);
    // Kept until the run is over.
    let mut cancelling: Option<AbortOnDropHandle<()>> = None;
    let control = run.control();
    let mut shown = false;
    let finished = loop {
        tokio::select! {
            event = run.next(), if !shown => match event {
                Some(event) => renderer.show(&event, &mut io::stdout(), &mut io::stderr()),
                None => if let Some(error) = run.trouble().cloned() {
                    runtime.shutdown().await;
                    return Err(error.into());
                } else {
                    shown = true;
                },
            },
            finished = control.outcome(), if shown => break finished,
            Some(wish) = signals.wishes.recv() => match wish {
                Wish::Cancel => {
                    eprintln!("kinfolk: cancelling; a second Ctrl-C ends the process at once");
                    cancelling = Some(cancel(&run));
                }
                Wish::Terminate => {
                    runtime.shutdown().await;
                    eprintln!("kinfolk: terminated; go on with `kinfolk resume {}`", run.id());
                    return Ok(TERMINATED);
                }
            },
        }
    };
    runtime.shutdown().await;
    drop(cancelling);
    match renderer.write_error() {
        Some(error) => Err(LaunchError::Output(io::Error::new(error.kind(), error.to_string()))),
        None => Ok(exit::exit_code(&finished?)),
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
