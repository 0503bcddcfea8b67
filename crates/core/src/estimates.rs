//! Figures of earlier runs in the place of estimates: what a workflow's run folder has measured of its tasks and files.

use crate::context::Context;
use crate::failure::Failure;
use slackline_machines::folder::{self, Estimates};
use slackline_machines::up_to_date::History;
use slackline_model::Workflow;
use slackline_model::median::upper_median;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Remark on dates that follow from the estimates of a file alone, without a stated machine.
pub(crate) const RELATIVE: &str =
    "no machine is stated and no run of the workflow is known: times are relative, and no dates";

/// The figures of a folder that concern a workflow; none where nothing of it was measured.
pub(crate) fn of(history: &History, workflow: &Workflow) -> Option<Estimates> {
    if workflow.control().is_some() || workflow.cost_table().is_some() {
        return None;
    }
    let mut found = Estimates::default();
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut measured: BTreeMap<&str, f64> = BTreeMap::new();
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for made in history.last() {
        if let Some(seconds) = made.seconds {
            measured.insert(&made.name, seconds);
            if !made.kind.is_empty() {
                kinds.entry(&made.kind).or_default().push(seconds);
            }
        }
        let files = made.outputs.iter();
        sizes.extend(files.map(|file| (file.name.as_str(), file.bytes as f64)));
    }
    let mut wanted = BTreeSet::new();
    for task in workflow.tasks() {
        let name = workflow.task_name(task);
        if let Some(seconds) = measured.get(name) {
            found.tasks.insert(name.to_string(), *seconds);
        } else {
            wanted.insert(workflow.kind_name(workflow.kind(task)));
        }
    }
    for kind in wanted {
        if let Some(median) = kinds.get_mut(kind).and_then(|values| upper_median(values)) {
            found.kinds.insert(kind.to_string(), median);
        }
    }
    for file in workflow.files() {
        let name = workflow.file_name(file);
        if let Some(bytes) = sizes.get(name).filter(|bytes| **bytes != workflow.file_bytes(file)) {
            found.files.insert(name.to_string(), *bytes);
        }
    }
    (!found.tasks.is_empty() || !found.kinds.is_empty()).then_some(found)
}

/// A workflow with the figures of earlier runs.
pub(crate) fn apply(estimates: &Estimates, workflow: Workflow) -> Result<Workflow, Failure> {
    if workflow.control().is_some() || workflow.cost_table().is_some() {
        return Ok(workflow);
    }
    let mut workflow = workflow;
    if !estimates.files.is_empty() {
        let mut builder = workflow.reopen().map_err(Failure::input)?;
        for (name, bytes) in &estimates.files {
            if let Some(file) = builder.file_id(name) {
                builder.set_file_bytes(file, *bytes).map_err(Failure::input)?;
            }
        }
        workflow = builder.build().map_err(Failure::input)?;
    }
    let speed = workflow.reference_speed();
    Ok(workflow.with_work(speed, |w, task| {
        let own = estimates.tasks.get(w.task_name(task));
        let seconds = own.or_else(|| estimates.kinds.get(w.kind_name(w.kind(task))));
        seconds.map_or(w.work(task), |seconds| seconds * speed)
    }))
}

/// The figures of the run folder beside a workflow, which is said.
pub(crate) fn beside(
    path: &Path,
    workflow: &Workflow,
    context: &mut Context<'_>,
) -> Option<Estimates> {
    let folder = path.with_extension("run");
    let log = folder::log_of(&folder);
    if !log.is_file() {
        return None;
    }
    let found = folder::history(&log).ok().and_then(|history| of(&history, workflow))?;
    context.note(&format!(
        "estimates of {} of {} tasks are times of the runs in {} (--no-history leaves them out)",
        found.tasks.len(),
        workflow.len(),
        folder.display()
    ));
    Some(found)
}
