//! The commands that talk to the process that owns a data directory.

use std::path::PathBuf;

use kinfolk_actors::limits::Limits;

use super::arguments::{
    AnswerArguments, ApprovalsArguments, ApproveArguments, CancelArguments, CompactArguments,
    SteerArguments,
};
use super::variables::Variables;
use super::{data, limits};
use crate::control::{Approval, Request, Say};
use crate::settings::error::{Place, SettingsError};
use crate::settings::run::ControlSettings;
use crate::settings::value::{self, OutputFormat};

pub(super) fn approvals(
    arguments: ApprovalsArguments,
    env: &Variables<'_>,
) -> Result<ControlSettings, SettingsError> {
    Ok(ControlSettings {
        request: Request::Approvals,
        data: data(arguments.shown.data.data, env)?,
        output: env.or(arguments.shown.output, "output", value::output_format)?.unwrap_or_default(),
    })
}

pub(super) fn approve(
    arguments: ApproveArguments,
    env: &Variables<'_>,
) -> Result<ControlSettings, SettingsError> {
    let raised = limits(&arguments.raised);
    let raised = (raised != Limits::default()).then_some(raised);
    let says = match (arguments.stop, &arguments.deny) {
        (true, _) => Say::DenyAndStop,
        (false, Some(_)) => Say::Deny,
        (false, None) => Say::Approve,
    };
    if raised.is_some() && says != Say::Approve {
        let problem = "a limit is raised by a yes; leave `--deny` and `--stop` out";
        return Err(Place::CommandLine.error(problem));
    }
    let reason = arguments.deny.filter(|reason| !reason.trim().is_empty());
    let approval =
        Approval { says, by: arguments.by.map(Into::into), reason: reason.map(Into::into), raised };
    control(
        Request::Approve { approval: arguments.approval, answer: approval },
        arguments.data.data,
        env,
    )
}

pub(super) fn answer(
    arguments: AnswerArguments,
    env: &Variables<'_>,
) -> Result<ControlSettings, SettingsError> {
    let text = said("the answer", &arguments.text)?.into();
    let by = arguments.by.map(Into::into);
    let request = Request::Answer { question: arguments.question, text, by };
    control(request, arguments.data.data, env)
}

pub(super) fn steer(
    arguments: SteerArguments,
    env: &Variables<'_>,
) -> Result<ControlSettings, SettingsError> {
    let text = said("the text", &arguments.text)?.into();
    let request = if arguments.queue {
        Request::Queue { run: arguments.run, text }
    } else {
        Request::Steer { run: arguments.run, text }
    };
    control(request, arguments.data.data, env)
}

pub(super) fn cancel(
    arguments: CancelArguments,
    env: &Variables<'_>,
) -> Result<ControlSettings, SettingsError> {
    let reason = said("the reason", &arguments.reason)?.into();
    control(Request::Cancel { run: arguments.run, reason }, arguments.data.data, env)
}

pub(super) fn compact(
    arguments: CompactArguments,
    env: &Variables<'_>,
) -> Result<ControlSettings, SettingsError> {
    control(Request::Compact { session: arguments.session }, arguments.data.data, env)
}

fn said<'t>(what: &str, text: &'t str) -> Result<&'t str, SettingsError> {
    if text.trim().is_empty() {
        return Err(Place::CommandLine.error(format!("{what} is empty; say something")));
    }
    Ok(text)
}

fn control(
    request: Request,
    directory: Option<PathBuf>,
    env: &Variables<'_>,
) -> Result<ControlSettings, SettingsError> {
    Ok(ControlSettings { request, data: data(directory, env)?, output: OutputFormat::default() })
}
