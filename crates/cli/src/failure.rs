//! Why a verb could not do its work, and the exit code that says so.

use slackline_formats::{Fault, FormatError};
use slackline_model::parameter::ParameterError;
use slackline_model::{ProblemError, WorkflowError};
use slackline_schedule::PlanError;
use std::process::ExitCode;

/// An error on its way to the user.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Usage or input is wrong: exit code 2.
    Input { message: String, help: Option<String> },
    /// The work itself failed: exit code 1.
    Work { message: String, help: Option<String> },
    /// The user stopped the work: exit code 130, as a shell expects.
    Interrupted { message: String },
    /// Nobody reads our output any more: not our error.
    BrokenPipe,
}

impl Failure {
    pub(crate) fn input(message: impl ToString) -> Failure {
        Failure::Input { message: message.to_string(), help: None }
    }

    pub(crate) fn work(message: impl ToString) -> Failure {
        Failure::Work { message: message.to_string(), help: None }
    }

    pub(crate) fn with_help(mut self, text: impl Into<String>) -> Failure {
        if let Failure::Input { help, .. } | Failure::Work { help, .. } = &mut self {
            *help = Some(text.into());
        }
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Input { .. } => ExitCode::from(2),
            Failure::Work { .. } => ExitCode::from(1),
            Failure::Interrupted { .. } => ExitCode::from(130),
            Failure::BrokenPipe => ExitCode::SUCCESS,
        }
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Failure {
        let message = error.to_string();
        match error.fault {
            Fault::Input => Failure::Input { message, help: error.help },
            Fault::Machine => Failure::Work { message, help: error.help },
            Fault::ReaderGone => Failure::BrokenPipe,
        }
    }
}

impl From<WorkflowError> for Failure {
    fn from(error: WorkflowError) -> Failure {
        Failure::input(error)
    }
}

impl From<ProblemError> for Failure {
    fn from(error: ProblemError) -> Failure {
        match error {
            // Well-formed, but there is nothing to plan: like any other infeasible problem.
            ProblemError::FitsNowhere { .. } => {
                Failure::work(error).with_help("plan on a platform with larger hosts")
            }
            ProblemError::ColumnsDiffer { .. } => Failure::input(error)
                .with_help("a file that brings its processors along is planned without --platform"),
            _ => Failure::input(error),
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        match error {
            PlanError::Parameter(error) => error.into(),
            _ => Failure::work(error),
        }
    }
}

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Failure {
        Failure::input(error).with_help("slackline algorithms lists the parameters of every method")
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::work(format!("cannot write the output: {error}")),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::from(std::io::Error::from(error))
    }
}
