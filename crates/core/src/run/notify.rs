//! The command that is carried out when a run is over.

use super::clock::now;
use super::history::RunHistory;
use super::status::RunState;
use crate::context::Context;
use std::path::Path;
use std::process::{Command, Stdio};

/// Carries a shell line out with the state of the run in its environment; that it fails is no failure of the run.
pub fn notify(line: &str, folder: &Path, context: &mut Context<'_>) {
    let history = match RunHistory::read(folder, context) {
        Ok(history) => history,
        Err(_) => return, // there is no run to report
    };
    let mut status = history.status(now());
    // This process has yet to give the folder back.
    if history.is_driven() && history.over.is_none() {
        status.state = RunState::Stopped;
    }
    let done = Command::new("sh")
        .arg("-c")
        .arg(line)
        .env("SLACKLINE_STATE", status.state.name())
        .env("SLACKLINE_FOLDER", folder)
        .env("SLACKLINE_WORKFLOW", &status.workflow)
        .env("SLACKLINE_TASKS", status.tasks.to_string())
        .env("SLACKLINE_TASKS_DONE", status.tasks_done.to_string())
        .env("SLACKLINE_TASKS_FAILED", status.tasks_failed.to_string())
        .env("SLACKLINE_SECONDS", format!("{:.3}", status.elapsed))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    match done {
        Ok(status) if status.success() => {}
        Ok(status) => context.warning(&format!("--notify: {line}: {status}")),
        Err(error) => context.warning(&format!("--notify: {line}: {error}")),
    }
}
