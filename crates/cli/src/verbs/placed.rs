//! Placements and leases by name, as the JSON documents of plans and of runs list them.

use serde::Serialize;
use slackline_analysis::storage::{StoragePeak, storage_peaks};
use slackline_model::schedule::{Lease, PlannedTransfer, devices};
use slackline_model::{Platform, Problem, Schedule, TaskId};

/// Where and when a task runs.
#[derive(Serialize)]
pub(crate) struct Placed<'a> {
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    processor: Option<String>,
    /// All of them, and how many, where tasks may be wide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processors: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<usize>,
    start: f64,
    finish: f64,
    /// Ids of the devices it holds, where tasks demand any.
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<u32>>,
}

/// A planned transfer.
#[derive(Serialize)]
pub(crate) struct Moved<'a> {
    file: String,
    source: &'a str,
    target: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'a str>,
    start: f64,
    finish: f64,
}

/// Every transfer that is planned.
pub(crate) fn moved<'a>(problem: &Problem<'a>, schedule: &Schedule) -> Vec<Moved<'a>> {
    let platform = problem.platform();
    let row = |transfer: &PlannedTransfer| Moved {
        file: problem.workflow().file_label(transfer.file),
        source: &platform.host(transfer.from).name,
        target: &platform.host(transfer.to).name,
        link: transfer.link.map(|link| &*platform.link(link).name),
        start: transfer.start,
        finish: transfer.finish,
    };
    schedule.transfers.iter().map(row).collect()
}

/// Every task that has a place.
pub(crate) fn placed<'a>(problem: &Problem<'a>, schedule: &Schedule) -> Vec<Placed<'a>> {
    let workflow = problem.workflow();
    let may_be_wide = workflow.tasks().any(|t| workflow.width(t).1 > 1);
    let given = devices(problem, schedule);
    let row = |task: TaskId| {
        let placement = schedule.placement(task)?;
        let names = || placement.procs().iter().map(|&p| problem.proc_name(p));
        let width = placement.procs().len();
        Some(Placed {
            task: workflow.task_name(task),
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
#[derive(Serialize)]
pub(crate) struct Leased<'a> {
    host: &'a str,
    class: &'a str,
    from: f64,
    to: f64,
}

/// How much room files take at a place.
#[derive(Serialize)]
pub(crate) struct Stored {
    place: String,
    /// With deletion after the last reader.
    peak: f64,
    /// Without deletion.
    peak_kept: f64,
    at: f64,
    capacity: Option<f64>,
}

/// The peaks of all places at which a schedule puts files.
pub(crate) fn stored(problem: &Problem<'_>, schedule: &Schedule) -> Vec<Stored> {
    let row = |peak: StoragePeak| Stored {
        place: peak.place,
        peak: peak.peak,
        peak_kept: peak.peak_kept,
        at: peak.at,
        capacity: peak.capacity,
    };
    storage_peaks(problem, schedule).into_iter().map(row).collect()
}

/// Leases by name.
pub(crate) fn leased<'a>(platform: &'a Platform, leases: &[Lease]) -> Vec<Leased<'a>> {
    let named = |lease: &Lease| Leased {
        host: &platform.host(lease.host).name,
        class: &platform.class(lease.class).name,
        from: lease.from,
        to: lease.to,
    };
    leases.iter().map(named).collect()
}
