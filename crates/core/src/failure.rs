//! Errors of requests for their authors, and the exit code of a command.

use crate::bundled;
use slackline_engine::StageError;
use slackline_formats::{Fault, FormatError};
use slackline_generate::GenerateError;
use slackline_io::NO_SUCH_FILE;
use slackline_model::nearest::nearest;
use slackline_model::parameter::ParameterError;
use slackline_model::platform::RouteCache;
use slackline_model::{HostId, Platform, Problem, ProblemError, WorkflowError};
use slackline_schedule::PlanError;
use std::fmt;
use std::path::Path;

/// An error on its way to the user.
#[derive(Debug)]
pub enum Failure {
    /// Usage or input is wrong: exit code 2.
    Input {
        /// Description of the error.
        message: String,
        /// Suggested remedy.
        help: Option<String>,
    },
    /// The work itself failed: exit code 1.
    Work {
        /// Description of the error.
        message: String,
        /// Suggested remedy.
        help: Option<String>,
    },
    /// A signal stopped the work: 128 and its number is the exit code, as a shell expects.
    Interrupted {
        /// Name of the interrupted work and the way to resume it.
        message: String,
        /// The exit code.
        code: u8,
    },
    /// The reader of the output has closed it: not an error of ours.
    BrokenPipe,
}

impl Failure {
    /// Wrong usage or input.
    pub fn input(message: impl ToString) -> Failure {
        Failure::Input { message: message.to_string(), help: None }
    }

    /// Failed work.
    pub fn work(message: impl ToString) -> Failure {
        Failure::Work { message: message.to_string(), help: None }
    }

    /// Adds a suggested remedy.
    pub fn with_help(mut self, text: impl Into<String>) -> Failure {
        if let Failure::Input { help, .. } | Failure::Work { help, .. } = &mut self {
            *help = Some(text.into());
        }
        self
    }

    /// Prefixes the message with the place in another file that names the wrong one.
    pub fn named_by(mut self, place: &str) -> Failure {
        if let Failure::Input { message, .. } | Failure::Work { message, .. } = &mut self {
            *message = format!("{place}: {message}");
        }
        self
    }

    /// The exit code of a command that meets it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Input { .. } => 2,
            Failure::Work { .. } => 1,
            Failure::Interrupted { code, .. } => *code,
            Failure::BrokenPipe => 0,
        }
    }
}

/// Explains why there is no plan. Where a task has no place because hosts cannot reach each other, the message
/// names these hosts and the platform's file.
pub fn no_plan(error: PlanError, problem: &Problem<'_>, file: Option<&Path>) -> Failure {
    let (PlanError::Nowhere { task }, Some((from, to))) = (&error, gap(problem.platform())) else {
        return error.into();
    };
    let place = file.map_or(String::new(), |file| format!("{}: ", file.display()));
    let name = |host: HostId| &problem.platform().host(host).name;
    let message = format!(
        "{place}there is no route from host '{}' to host '{}': task '{task}' can get its data nowhere",
        name(from),
        name(to),
    );
    Failure::work(message).with_help("add a route, or leave out the hosts that are cut off")
}

/// Two hosts without a route between them, if there are any; a bounded number is checked.
fn gap(platform: &Platform) -> Option<(HostId, HostId)> {
    const MOST_PAIRS: usize = 200_000;
    let mut routes = RouteCache::new();
    let hosts: Vec<HostId> = platform.host_ids().collect();
    let pairs = hosts.iter().flat_map(|&from| hosts.iter().map(move |&to| (from, to)));
    let different = pairs.filter(|(from, to)| from != to).take(MOST_PAIRS);
    let mut cut = different.filter(|&(from, to)| routes.route_once(platform, from, to).is_err());
    cut.next()
}

/// Suggests an existing file, or a bundled one, with a name similar to that of a missing file.
fn nearest_file(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok();
    let mut known: Vec<String> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    known.sort();
    if folder.is_none() {
        let bundled = bundled::names("workflows").chain(bundled::names("platforms"));
        known.extend(bundled.map(str::to_string));
    }
    let near = nearest(name, known.iter().map(String::as_str))?;
    Some(format!("did you mean '{}'?", path.with_file_name(near).display()))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input { message, help } | Failure::Work { message, help } => {
                f.write_str(message)?;
                help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
            }
            Failure::Interrupted { message, .. } => f.write_str(message),
            Failure::BrokenPipe => f.write_str("the reader of the output is gone"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<FormatError> for Failure {
    fn from(mut error: FormatError) -> Failure {
        if error.message == NO_SUCH_FILE && error.help.is_none() {
            error.help = error.file.as_deref().and_then(nearest_file);
        }
        let message = error.to_string();
        match error.fault {
            Fault::Input => Failure::Input { message, help: error.help },
            Fault::Machine => Failure::Work { message, help: error.help },
            Fault::ReaderGone => Failure::BrokenPipe,
        }
    }
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Failure {
        Failure::input(error)
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
            ProblemError::Undecided { .. } => Failure::input(error).with_help(
                "plan and simulate take it under a budget; convert --draw SEED unfolds one course of it",
            ),
            _ => Failure::input(error),
        }
    }
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Failure {
        match error {
            StageError::Problem(error) => error.into(),
            StageError::Scenario(error) => Failure::input(error),
            StageError::Platform(error) => Failure::input(error),
            StageError::Arrivals(why) => Failure::input(why),
            StageError::Unfold(error) => Failure::input(error),
            StageError::Backend(error) => Failure::work(error),
            StageError::Disturbed => {
                let message =
                    "--transfers anticipated: transfers disturb each other on this platform";
                Failure::input(message).with_help(
                    "it takes a network of plain bandwidths and latencies that holds still",
                )
            }
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
