//! Records of other workflow engines, accepted as a workflow, a platform, a schedule or a scenario.

use crate::context::Context;
use crate::failure::Failure;
use slackline_formats::{Document, Format, FormatError};
use slackline_import::{Engine, Options, RecordedRun};
use slackline_io::{FileAccess, is_standard};
use slackline_model::{Problem, Schedule};
use std::path::Path;

/// Returns the engine whose records a path holds, if any. Only folders and regular files are opened, and of a
/// file only its beginning is read.
pub fn engine_of(path: &Path, files: &FileAccess) -> Option<Engine> {
    if is_standard(path) || crate::run::log_of(path).is_file() {
        return None;
    }
    let meta = std::fs::metadata(path).ok()?;
    (meta.is_dir() || meta.is_file()).then(|| slackline_import::recognise(path, files))?
}

/// Reads the records under a path.
pub fn read(path: &Path, context: &Context<'_>) -> Result<RecordedRun, Failure> {
    let options = Options { strict: context.strict, ..Options::default() };
    Ok(slackline_import::read(&[path.to_path_buf()], &options, &context.files)?)
}

/// The workflow of a recorded run; repairs of damaged records become warnings of the document.
pub fn document(run: &RecordedRun, path: &Path) -> Result<Document, Failure> {
    let mut document = run.document().map_err(|e: FormatError| e.in_file(path))?;
    let warnings = run.repairs.iter().map(|(repair, times)| {
        let times = if *times == 1 { "once".to_string() } else { format!("{times} times") };
        format!("repaired {times}: {repair}")
    });
    let is_timed = run.tasks.iter().any(|t| t.last().is_some_and(|a| a.seconds().is_some()));
    let untimed = "the records have no run times: tasks count as taking none".to_string();
    document.warnings = warnings.chain((!is_timed).then_some(untimed)).collect();
    Ok(document)
}

/// The format that reports name for the workflow of such records.
pub const FORMAT: Format = Format::WfFormat;

/// The placements of a recorded run as a schedule; fails where the problem has other tasks or hosts.
pub(crate) fn schedule(
    path: &Path,
    problem: &Problem<'_>,
    context: &Context<'_>,
) -> Result<Schedule, Failure> {
    let run = read(path, context)?;
    let platform = run.platform().map_err(|e| e.in_file(path))?;
    let workflow = problem.workflow();
    let fail = |message: String| {
        Failure::input(format!("{}: {message}", path.display()))
            .with_help("a recorded plan is for its own workflow and hosts")
    };
    let same_tasks = run.tasks.len() == workflow.len()
        && run.tasks.iter().zip(workflow.tasks()).all(|(t, id)| t.name == workflow.task_name(id));
    if !same_tasks {
        return Err(fail(format!("records of another workflow than '{}'", workflow.name())));
    }
    let hosts = problem.platform().hosts();
    let same_hosts = platform.hosts().len() == hosts.len()
        && platform.hosts().iter().zip(hosts).all(|(a, b)| a.name == b.name && a.cores == b.cores);
    if !same_hosts {
        return Err(fail(format!("recorded on other hosts than '{}'", problem.platform().name())));
    }
    Ok(run.schedule())
}
