//! From the command line to an exit code. Settings are parsed before anything starts; what goes on
//! is shown by the library's renderers.

mod control;
mod error;
mod inspect;
mod raising;
mod resume;
mod run;
mod signals;
mod watch;

use std::process::ExitCode;
use std::time::Duration;

use kinfolk::output::exit;
use kinfolk::settings::flags::{self, Parsed};

use self::error::LaunchError;

/// How long blocking work may still take when everything else is over.
const STRAGGLERS: Duration = Duration::from_millis(200);

/// Runs the launcher.
pub fn launch() -> ExitCode {
    let environment = |name: &str| std::env::var_os(name);
    let code = match flags::parse(std::env::args_os(), &environment) {
        Ok(Parsed::Show(text)) => show(&text),
        Ok(parsed) => report(work(parsed)),
        Err(error) => report(Err(error.into())),
    };
    ExitCode::from(code)
}

fn show(text: &str) -> u8 {
    use std::io::Write as _;
    // A reader that went away early has seen what it wanted.
    let _ = write!(std::io::stdout(), "{text}");
    exit::COMPLETED
}

fn report(result: Result<u8, LaunchError>) -> u8 {
    result.unwrap_or_else(|error| {
        eprintln!("kinfolk: {error}");
        error.exit_code()
    })
}

fn work(parsed: Parsed) -> Result<u8, LaunchError> {
    log_to_stderr();
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let tokio = tokio.map_err(LaunchError::System)?;
    let code = tokio.block_on(async {
        match parsed {
            Parsed::Run(options) => run::run(*options).await,
            Parsed::Resume(settings) => resume::resume(settings).await,
            Parsed::Inspect(settings) => inspect::inspect(settings).await,
            Parsed::Control(settings) => control::control(settings).await,
            Parsed::Show(text) => Ok(show(&text)),
        }
    });
    // Blocking work that does not hear of its end dies with the process; nobody waits for it.
    tokio.shutdown_timeout(STRAGGLERS);
    code
}

/// Warnings of the runtime go to stderr; `KINFOLK_LOG` takes another filter, for example `debug`.
fn log_to_stderr() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_env("KINFOLK_LOG");
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("kinfolk=warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
