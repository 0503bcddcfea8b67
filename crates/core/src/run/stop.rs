//! Ending a run from another process: the engine that drives it, and what an engine that is gone left behind.

use super::history::{AttemptState, RunHistory};
use super::settings;
use super::status::RunState;
use crate::context::Context;
use crate::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_engine::{Note, Process, Record};
use slackline_machines::attempt::{boot, end_orphans};
use slackline_machines::{folder, slurm};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two checks of a process that was asked to end.
const PAUSE: Duration = Duration::from_millis(50);

/// The end of a run that was asked for: the JSON document `slackline/stop/1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StopReport {
    /// `slackline/stop/1`.
    pub schema: &'static str,
    /// The folder of the run.
    pub folder: String,
    /// The state of the run before.
    pub was: RunState,
    /// The state of the run now.
    pub state: RunState,
    /// Processes of tasks that an engine which is gone had left on this machine, and that were ended.
    pub ended_processes: usize,
    /// Batch jobs that it had left, and that were cancelled.
    pub cancelled_jobs: usize,
}

/// Ends a run and everything that belongs to it, within a time.
pub fn stop(
    path: &Path,
    patience: Duration,
    context: &mut Context<'_>,
) -> Result<StopReport, Failure> {
    let history = RunHistory::read(path, context)?;
    let was = history.state();
    if let Some(driver) = &history.driver {
        if !driver.is_here {
            let message = format!(
                "{}: process {} on {} drives this run, and this is another machine",
                path.display(),
                driver.pid,
                driver.host
            );
            return Err(
                Failure::work(message).with_help(format!("on {}: slackline stop", driver.host))
            );
        }
        let clock = Instant::now();
        driver.terminate();
        while driver.is_there() {
            if clock.elapsed() > patience {
                let message = format!(
                    "{}: process {} was asked to end and is still there",
                    path.display(),
                    driver.pid
                );
                return Err(Failure::work(message).with_help(format!(
                    "kill {} ends it at once; resume continues later",
                    driver.pid
                )));
            }
            std::thread::sleep(PAUSE);
        }
    }
    let (ended_processes, cancelled_jobs) = end_leftovers(path, &history)?;
    let state = RunHistory::read(path, context)?.state();
    Ok(StopReport {
        schema: "slackline/stop/1",
        folder: path.display().to_string(),
        was,
        state,
        ended_processes,
        cancelled_jobs,
    })
}

/// Ends remaining processes and batch jobs of a run without an engine process.
fn end_leftovers(path: &Path, history: &RunHistory) -> Result<(usize, usize), Failure> {
    let run = &history.header.id;
    let (request, _) = settings::of_header(&history.header)?;
    if request.execution.slurm.is_some() {
        let cancelled = slurm::cancel_jobs(run).map_err(Failure::work)?;
        return Ok((0, cancelled));
    }
    // Numbers of processes mean something since the start of the machine that they are of.
    let recovered = folder::read(path).map_err(Failure::input)?;
    let mut is_same_boot = false;
    let mut known: Vec<Process> = Vec::new();
    for (_, record) in &recovered.records {
        match record {
            Record::Note(Note::Driven { boot: then, .. }) => is_same_boot = *then == boot(),
            Record::Note(Note::Process { process, .. }) if is_same_boot => known.push(*process),
            _ => {}
        }
    }
    let open = |state| !matches!(state, AttemptState::Done | AttemptState::Failed);
    let any = history.tasks.iter().flat_map(|task| &task.attempts).any(|a| open(a.state));
    let ended = if any { end_orphans(run, &[], &known) } else { 0 };
    Ok((ended, 0))
}
