//! Placements and leases by name, as the JSON documents of plans and of runs list them. The names of types in the JSON Schemas
//! are older and stay.

use schemars::JsonSchema;
use serde::Serialize;
use slackline_analysis::storage::{StoragePeak, storage_peaks};
use slackline_model::schedule::{Lease, PlannedTransfer, devices};
use slackline_model::{Platform, Problem, Schedule, TaskId};

/// Processors and dates of a task.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Placed")]
pub struct TaskPlacement {
    /// The task, by name.
    pub task: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// Its processor, where it has one.
    pub processor: Option<String>,
    /// All its processors, where tasks may be wide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// Number of processors it takes.
    pub width: Option<usize>,
    /// Date in seconds.
    pub start: f64,
    /// Date in seconds.
    pub finish: f64,
    /// Ids of the devices it holds, where some task demands any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<Vec<u32>>,
}

/// A planned transfer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Moved")]
pub struct TransferEntry {
    /// The file.
    pub file: String,
    /// The host it leaves.
    pub source: String,
    /// The host it reaches.
    pub target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// The link that serves it, where links serve one transfer at a time.
    pub link: Option<String>,
    /// Date in seconds.
    pub start: f64,
    /// Date in seconds.
    pub finish: f64,
}

/// Every planned transfer.
pub(crate) fn moved(problem: &Problem<'_>, schedule: &Schedule) -> Vec<TransferEntry> {
    let platform = problem.platform();
    let row = |transfer: &PlannedTransfer| TransferEntry {
        file: problem.workflow().file_label(transfer.file),
        source: platform.host(transfer.from).name.to_string(),
        target: platform.host(transfer.to).name.to_string(),
        link: transfer.link.map(|link| platform.link(link).name.to_string()),
        start: transfer.start,
        finish: transfer.finish,
    };
    schedule.transfers.iter().map(row).collect()
}

/// Every task that is scheduled, in order of task numbers.
pub(crate) fn placed(problem: &Problem<'_>, schedule: &Schedule) -> Vec<TaskPlacement> {
    let workflow = problem.workflow();
    let may_be_wide = workflow.tasks().any(|t| workflow.width(t).1 > 1);
    let given = devices(problem, schedule);
    let row = |task: TaskId| {
        let placement = schedule.placement(task)?;
        let names = || placement.procs().iter().map(|&p| problem.proc_name(p));
        let width = placement.procs().len();
        Some(TaskPlacement {
            task: workflow.task_name(task).to_string(),
            processor: names().next().filter(|_| width == 1),
            processors: if may_be_wide { names().collect() } else { Vec::new() },
            width: may_be_wide.then_some(width),
            start: placement.start,
            finish: placement.finish,
            devices: given.get(task.index()).cloned(),
        })
    };
    workflow.tasks().filter_map(row).collect()
}

/// A machine that is rented.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Leased")]
pub struct LeaseEntry {
    /// The host.
    pub host: String,
    /// Its class.
    pub class: String,
    /// Begin of the lease in seconds.
    pub from: f64,
    /// End of the lease in seconds.
    pub to: f64,
}

/// The most room that files take at a place.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Stored")]
pub struct StorageEntry {
    /// The host, or the zone whose hosts share their storage.
    pub place: String,
    /// Bytes, with deletion after the last reader.
    pub peak: f64,
    /// Bytes, without deletion.
    pub peak_kept: f64,
    /// The first date of the peak, in seconds.
    pub at: f64,
    /// Bytes that the place holds, where that is bounded.
    pub capacity: Option<f64>,
}

/// Storage peaks of all places to which a schedule writes files.
pub(crate) fn stored(problem: &Problem<'_>, schedule: &Schedule) -> Vec<StorageEntry> {
    let row = |peak: StoragePeak| StorageEntry {
        place: peak.place,
        peak: peak.peak,
        peak_kept: peak.peak_kept,
        at: peak.at,
        capacity: peak.capacity,
    };
    storage_peaks(problem, schedule).into_iter().map(row).collect()
}

/// Leases with names of hosts and classes.
pub(crate) fn leased(platform: &Platform, leases: &[Lease]) -> Vec<LeaseEntry> {
    let named = |lease: &Lease| LeaseEntry {
        host: platform.host(lease.host).name.to_string(),
        class: platform.class(lease.class).name.to_string(),
        from: lease.from,
        to: lease.to,
    };
    leases.iter().map(named).collect()
}
