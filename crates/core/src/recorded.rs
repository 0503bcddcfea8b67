//! Records of other workflow engines, accepted as a workflow, a platform, a schedule or a scenario.

use crate::context::Context;
use crate::failure::Failure;
use slackline_formats::document::RecordedMachine;
use slackline_formats::trace::{self, TraceFormat};
use slackline_formats::{Document, Format, FormatError, scenario, schedule_json};
use slackline_generate::GenerateError;
use slackline_generate::platform::recorded::{Machine, usual};
use slackline_import::{Engine, Options, RecordedRun, Summary};
use slackline_io::{FileAccess, is_standard};
use slackline_model::{Platform, Problem, Schedule};
use std::path::{Path, PathBuf};

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

/// A machine as a run recorded it, with what its number of processors counts for.
pub fn machine(m: &RecordedMachine, cores: fn(u32) -> u32) -> Machine {
    Machine {
        name: m.name.clone(),
        cores: m.cores.map(|known| cores(known.max(1.0) as u32)),
        speed: m.speed_mhz.map(|mhz| mhz * 1e6),
        memory: m.memory_bytes.filter(|bytes| *bytes > 0.0),
    }
}

/// The machines of a recorded run as a platform with the usual network.
pub fn machines_platform(
    machines: &[RecordedMachine],
    cores: fn(u32) -> u32,
) -> Result<Platform, GenerateError> {
    let machines: Vec<Machine> = machines.iter().map(|m| machine(m, cores)).collect();
    usual(&machines)
}

/// Reads the records under some paths.
pub fn records(
    paths: &[PathBuf],
    from: Option<Engine>,
    sizes: Option<PathBuf>,
    context: &mut Context<'_>,
) -> Result<RecordedRun, Failure> {
    if let [path] = paths
        && from.is_none()
        && crate::run::log_of(path).is_file()
    {
        return Ok(crate::run::history::RunHistory::read(path, context)?.recorded());
    }
    let options = Options { from, sizes, strict: context.strict };
    Ok(slackline_import::read(paths, &options, &context.files)?)
}

/// Writes a recorded run into a folder: workflow, platform, trace, plan, the scenario of its waits, and the summary.
pub fn write(
    run: &RecordedRun,
    summary: &Summary,
    folder: &Path,
    files: &FileAccess,
) -> Result<(), Failure> {
    let document = run.document()?;
    let platform_text = run.platform_toml();
    let platform = run.platform()?;
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::from(FormatError::from(e).in_file(folder)))?;
    files.write(&folder.join("workflow.json"), |out| Format::WfFormat.write(&document, out))?;
    files.write(&folder.join("platform.toml"), |out| out.write_all(platform_text.as_bytes()))?;
    let workflow = &document.workflow;
    let recorded = run.trace();
    files.write(&folder.join("trace.jsonl"), |out| {
        trace::write(&recorded, TraceFormat::JsonLines, workflow, &platform, out)
    })?;
    let problem = Problem::new(workflow, &platform).map_err(Failure::input)?;
    let schedule = run.schedule();
    files.write(&folder.join("plan.json"), |out| schedule_json::write(&problem, &schedule, out))?;
    scenario::write_scenario(files, &folder.join("recorded.toml"), &run.scenario())?;
    files.write(&folder.join("import.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, summary).map_err(std::io::Error::from)?;
        out.write_all(b"\n")
    })?;
    Ok(())
}
