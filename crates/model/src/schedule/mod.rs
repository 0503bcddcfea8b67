//! Schedules: which processors run each task and when; and the check that a schedule is right.

mod detail;
mod metrics;
mod pools;
mod procs;
mod validate;

pub use detail::Detail;
pub use metrics::{Stretch, Summary, bills, cost, in_use, leases};
pub use pools::{DevicesInUse, devices, keeps_pools, pool_named, use_over_time};
pub use procs::Procs;
pub use validate::{Limits, Violation, affordable, validate};

use crate::ids::{ClassId, FileId, HostId, LinkId, ProcId, TaskId};
use crate::problem::Problem;
use serde::{Deserialize, Serialize};

/// The processors and the time of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    procs: Procs,
    /// Begin of the computation.
    pub start: f64,
    /// End of the computation.
    pub finish: f64,
}

impl Placement {
    /// On one processor.
    pub fn new(proc: ProcId, start: f64, finish: f64) -> Placement {
        Placement { procs: proc.into(), start, finish }
    }

    /// On several processors, kept in ascending order.
    pub fn wide(procs: &[ProcId], start: f64, finish: f64) -> Placement {
        if let &[one] = procs {
            return Placement::new(one, start, finish);
        }
        let mut sorted = procs.to_vec();
        sorted.sort_unstable();
        Placement { procs: sorted.into(), start, finish }
    }

    /// Its processors in ascending order.
    #[inline]
    pub fn procs(&self) -> &[ProcId] {
        &self.procs
    }

    /// Its first processor.
    #[inline]
    pub fn proc(&self) -> ProcId {
        self.procs.first().copied().unwrap_or(ProcId(0))
    }

    /// Seconds it takes.
    pub fn seconds(&self) -> f64 {
        self.finish - self.start
    }
}

/// A transfer that the planner planned.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTransfer {
    /// The file.
    pub file: FileId,
    /// The sender.
    pub from: HostId,
    /// The receiver.
    pub to: HostId,
    /// On which link it queues, where the method plans single links.
    pub link: Option<LinkId>,
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
}

/// A machine that is rented. It computes only meanwhile; files on it can be read and written at any
/// time, and costs nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    /// Class of the machine.
    pub class: ClassId,
    /// The machine.
    pub host: HostId,
    /// Begin of use and of billing: `setup` seconds after it was ordered.
    pub from: f64,
    /// End; infinite while it is not known.
    pub to: f64,
}

impl Lease {
    /// Whether the machine has not been given back.
    pub fn is_open(&self) -> bool {
        self.to == f64::INFINITY
    }
}

/// A placement for every task, and where the method plans them, transfers and leases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Per task; `None` only in schedules that are still being made.
    pub placements: Vec<Option<Placement>>,
    /// Planned transfers.
    pub transfers: Vec<PlannedTransfer>,
    /// Planned leases.
    pub leases: Vec<Lease>,
    /// Devices of tasks by their ids, if they were assigned; not written by planners.
    pub devices: Vec<(TaskId, Vec<u32>)>,
    /// Further results of the method: the number of its iterations, its choices, its guarantees.
    pub details: Vec<(&'static str, Detail)>,
}

impl Schedule {
    /// A schedule in which nothing is placed yet, except what the problem says is fixed.
    pub fn start(problem: &Problem<'_>) -> Schedule {
        let placements = match problem.state().fixed.as_slice() {
            [] => vec![None; problem.tasks()],
            fixed => fixed.to_vec(),
        };
        Schedule { placements, ..Schedule::default() }
    }

    /// The placement of a task.
    #[inline]
    pub fn placement(&self, task: TaskId) -> Option<&Placement> {
        self.placements.get(task.index())?.as_ref()
    }

    /// Places a task.
    pub fn place(&mut self, task: TaskId, placement: Placement) {
        self.placements[task.index()] = Some(placement);
    }

    /// End of the last task, or of the last planned transfer: results may have to be sent back.
    pub fn makespan(&self) -> f64 {
        let tasks = self.placements.iter().flatten().map(|p| p.finish);
        tasks.chain(self.transfers.iter().map(|t| t.finish)).fold(0.0, f64::max)
    }

    /// The tasks of every processor in the order they run there.
    pub fn orders(&self, procs: usize) -> Vec<Vec<TaskId>> {
        let mut orders: Vec<Vec<TaskId>> = vec![Vec::new(); procs];
        for (index, placement) in self.placements.iter().enumerate() {
            for proc in placement.iter().flat_map(|p| p.procs()) {
                if let Some(order) = orders.get_mut(proc.index()) {
                    order.push(TaskId::new(index));
                }
            }
        }
        let key = |t: &TaskId| {
            let p = self.placement(*t);
            p.map_or((0.0, 0.0), |p| (p.start, p.finish))
        };
        for order in &mut orders {
            order.sort_by(|a, b| {
                let (a_key, b_key) = (key(a), key(b));
                a_key.0.total_cmp(&b_key.0).then(a_key.1.total_cmp(&b_key.1)).then(a.cmp(b))
            });
        }
        orders
    }
}
