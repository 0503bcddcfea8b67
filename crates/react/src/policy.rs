//! The door between a method and the world: events, decisions, plans.

use crate::data_location::Holders;
use crate::explanation::Explanation;
use crate::plan_simulator::PlanSimulator;
use crate::situation::Situation;
use serde::{Deserialize, Serialize};
use slackline_model::schedule::{Detail, Lease, Schedule, leases};
use slackline_model::{ClassId, FileId, HostId, Placement, Problem, Procs, TaskId, Workflow};
use slackline_schedule::PlanError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Something the policy is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The execution begins.
    Start,
    /// A further workflow arrived; its tasks are the given ones.
    WorkflowArrived {
        /// Its tasks.
        tasks: Range<u32>,
    },
    /// A workflow grew: a choice was made or a loop went round.
    TasksAdded {
        /// The new tasks.
        tasks: Range<u32>,
    },
    /// A task began to compute.
    TaskStarted(TaskId),
    /// A task ended.
    TaskFinished(TaskId),
    /// A task ended without result; it waits again.
    TaskFailed(TaskId),
    /// A task that was rewound counts as done again: what it had written is back.
    TaskRestored(TaskId),
    /// A task failed for the last time and is not tried again.
    TaskAbandoned(TaskId),
    /// The pause after a failure of a task is over: it may be tried again.
    RetryDue(TaskId),
    /// A file is complete at its holders.
    TransferFinished {
        /// File that was transferred.
        file: FileId,
        /// Destination.
        to: Holders,
    },
    /// A transfer broke off.
    TransferFailed {
        /// File of the failed transfer.
        file: FileId,
        /// Destination of the failed transfer.
        to: Holders,
    },
    /// A complete copy is gone.
    CopyLost {
        /// Lost file.
        file: FileId,
        /// Former location.
        holders: Holders,
    },
    /// The monitored speed of a host changed.
    HostChanged(HostId),
    /// The monitored network changed.
    NetworkChanged,
    /// A host is gone, with everything on it.
    HostLost(HostId),
    /// A host is back; what it kept is there again.
    HostBack(HostId),
    /// A leased machine is ready.
    LeaseReady(HostId),
    /// A lease has ended: the machine was given back or went away.
    LeaseEnded(HostId),
    /// The date asked for by [`Decision::WakeAt`].
    WakeUp,
    /// A decision could not be carried out.
    Rejected {
        /// Refused decision.
        decision: Box<Decision>,
        /// The rule it broke.
        why: String,
    },
}

impl Event {
    /// Whether there is more work now than before.
    pub fn is_growth(&self) -> bool {
        matches!(self, Event::WorkflowArrived { .. } | Event::TasksAdded { .. })
    }
}

/// Something the policy wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Follow this plan for the unfinished rest from now on.
    Adopt(Plan),
    /// Start a task on these processors as soon as its data is there, before anything queued.
    Start {
        /// Task to assign.
        task: TaskId,
        /// Its processors.
        procs: Procs,
    },
    /// Stop a placed or running task; it waits again.
    Cancel(TaskId),
    /// Forget that these finished tasks were done: their results are gone or not worth fetching.
    Rewind(Vec<TaskId>),
    /// Take the earlier results of rewound tasks, which are there again; what was begun again of
    /// them is given up.
    Restore(Vec<TaskId>),
    /// Bring a file to a host.
    Copy {
        /// File to transfer.
        file: FileId,
        /// From where; the engine chooses when not given.
        from: Option<HostId>,
        /// To where.
        to: HostId,
    },
    /// Delete a copy.
    Drop {
        /// File to drop.
        file: FileId,
        /// Host of the copy.
        host: HostId,
    },
    /// Call again at this date.
    WakeAt(f64),
    /// Rent a machine of a class that exists only while leased; [`Event::LeaseReady`] says which it is.
    /// It is kept until it is given back, or the run ends.
    Lease(ClassId),
    /// Give back a rented machine, on which nothing is to run any more.
    Release(HostId),
    /// Give a workflow up: its tasks that have not begun are never started.
    Abandon {
        /// Index of the workflow in [`Situation::arrived`].
        workflow: u32,
        /// Reason of the refusal.
        why: String,
    },
    /// There is no way to finish.
    GiveUp(String),
}

/// When inputs travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transfers {
    /// Results are sent to the hosts of all consumers as soon as they exist.
    Push,
    /// The first `window` tasks not yet started of each processor ask for their inputs.
    Pull {
        /// Number of tasks ahead.
        window: u32,
    },
}

impl Default for Transfers {
    fn default() -> Self {
        Transfers::Pull { window: 1 }
    }
}

/// A task and its processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The task.
    pub task: TaskId,
    /// Its processor, or several for a wide task, in ascending order.
    pub procs: Procs,
}

/// From where a host should fetch a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Source {
    /// The file.
    pub file: FileId,
    /// Destination host.
    pub to: HostId,
    /// Source host.
    pub from: HostId,
}

/// Placement and order for the unfinished rest. The order of a processor's queue is the order
/// of the assignments; a placed or running task that is assigned elsewhere migrates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Unfinished tasks in the order of their queues.
    pub assignments: Vec<Assignment>,
    /// Preferred sources; the engine fetches from the producer, or the nearest copy, otherwise.
    /// Inputs of the workflow leave the origin in this order.
    pub sources: Vec<Source>,
    /// When inputs travel.
    pub transfers: Transfers,
    /// When to have the machines that exist only while leased. One that is not here is ordered as soon as
    /// a task is assigned to it. All are given back when nothing is left to run there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<Lease>,
}

impl Plan {
    /// The unfinished part of a schedule, in order of planned start, and parents before children
    /// also where both start at the same date but for rounding.
    pub fn of_schedule(problem: &Problem<'_>, schedule: &Schedule, transfers: Transfers) -> Plan {
        let state = problem.state();
        let open = |t: &TaskId| state.fixed(*t).is_none_or(|p| p.finish > state.now);
        let mut order: Vec<(&Placement, TaskId)> = problem
            .workflow()
            .tasks()
            .filter(open)
            .filter_map(|t| Some((schedule.placement(t)?, t)))
            .collect();
        order.sort_by(|(a, first), (b, second)| {
            let dates = a.start.total_cmp(&b.start).then(a.finish.total_cmp(&b.finish));
            dates.then(first.cmp(second))
        });
        parents_first(problem.workflow(), &mut order);
        let assign = |(placement, task): (&Placement, TaskId)| {
            let procs = placement.procs().into();
            Assignment { task, procs }
        };
        let assignments = order.into_iter().map(assign).collect();
        let inputs = schedule.transfers.iter().filter(|t| {
            problem.workflow().producer(t.file).is_none() && problem.state().inputs_listed
        });
        let sources = inputs.map(|t| Source { file: t.file, to: t.to, from: t.from }).collect();
        let leases = leases(problem, schedule).into_iter().filter(|l| l.to > state.now).collect();
        Plan { assignments, sources, transfers, leases }
    }

    /// The same where its dates count from the one at which it is adopted.
    pub(crate) fn begun_at(mut self, date: f64) -> Plan {
        for lease in &mut self.leases {
            lease.from += date;
            lease.to += date;
        }
        self
    }
}

/// Moves tasks behind their parents where dates that are equal but for rounding put them before:
/// of tasks without length, and of children that start when such a parent ends. Otherwise the order
/// stays; a queue in which a task waits for one behind it would never advance.
fn parents_first(workflow: &Workflow, order: &mut Vec<(&Placement, TaskId)>) {
    let mut position = vec![u32::MAX; workflow.len()];
    for (index, (_, task)) in order.iter().enumerate() {
        position[task.index()] = index as u32;
    }
    let of = |task: TaskId| position[task.index()];
    let listed = |task: TaskId| of(task) != u32::MAX;
    let late = |&(_, task): &(&Placement, TaskId)| {
        let parents = workflow.predecessors(task).map(|(parent, _)| parent);
        parents.filter(|&parent| listed(parent)).any(|parent| of(parent) > of(task))
    };
    if !order.iter().any(late) {
        return;
    }
    // By position, each once its parents are out.
    let missing =
        |task: TaskId| workflow.predecessors(task).filter(|&(parent, _)| listed(parent)).count();
    let mut missing: Vec<usize> = order.iter().map(|&(_, task)| missing(task)).collect();
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0..order.len() as u32).filter(|&at| missing[at as usize] == 0).map(Reverse).collect();
    let mut sorted = Vec::with_capacity(order.len());
    while let Some(Reverse(at)) = ready.pop() {
        let item = order[at as usize];
        sorted.push(item);
        for (child, _) in workflow.successors(item.1).filter(|&(child, _)| listed(child)) {
            let left = &mut missing[of(child) as usize];
            *left -= 1;
            if *left == 0 {
                ready.push(Reverse(of(child)));
            }
        }
    }
    *order = sorted;
}

/// When a policy learns of changes of the platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Monitoring {
    /// When they happen; each change is an event.
    #[default]
    Continuous,
    /// Only when the policy wakes up, as it is then.
    OnWakeUp,
}

/// A method that steers an execution.
pub trait Policy {
    /// Observations of the platform it asks for, the same throughout a run.
    fn monitoring(&self) -> Monitoring {
        Monitoring::Continuous
    }

    /// Whether these events call for a decision. Asked first, with a situation that is up to date
    /// but for progress, because to measure that costs more than most events are worth; a policy
    /// that says no is not called.
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        let _ = (events, now);
        true
    }

    /// Whether it uses the progress of tasks and transfers; otherwise that is not measured.
    fn looks_at_progress(&self) -> bool {
        true
    }

    /// Whether it lets the decision time pass itself, because what it has decided before continues meanwhile:
    /// its decisions take effect at once.
    fn keeps_time(&self) -> bool {
        false
    }

    /// Whether it can do anything with this problem; says why not. Asked before a run.
    fn check(&self, problem: &Problem<'_>) -> Result<(), PlanError> {
        let _ = problem;
        Ok(())
    }

    /// Whether it still has results to collect: the run continues for them when all tasks are done.
    fn collects(&self) -> bool {
        false
    }

    /// Further results of the run, once it is over.
    fn report(&self) -> Vec<(&'static str, Detail)> {
        Vec::new()
    }

    /// Something that follows plans into the future, for policies that ask it; given before the
    /// first call.
    fn equip(&mut self, simulator: Box<dyn PlanSimulator>) {
        drop(simulator);
    }

    /// Explanation of the last call, where it gives one; asked once after each.
    fn reasons(&mut self) -> Option<Explanation> {
        None
    }

    /// Called once per instant with everything that happened at it.
    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>);
}

/// A policy around another one, which answers all but calls.
pub trait Around {
    /// The other one.
    fn inner(&self) -> &dyn Policy;

    /// The same, to be told something.
    fn inner_mut(&mut self) -> &mut dyn Policy;

    /// Same contract as [`Policy::react`].
    fn call(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>);
}

impl<P: Around> Policy for P {
    fn monitoring(&self) -> Monitoring {
        self.inner().monitoring()
    }

    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        self.inner_mut().wants(events, now)
    }

    fn looks_at_progress(&self) -> bool {
        self.inner().looks_at_progress()
    }

    fn keeps_time(&self) -> bool {
        self.inner().keeps_time()
    }

    fn check(&self, problem: &Problem<'_>) -> Result<(), PlanError> {
        self.inner().check(problem)
    }

    fn collects(&self) -> bool {
        self.inner().collects()
    }

    fn report(&self) -> Vec<(&'static str, Detail)> {
        self.inner().report()
    }

    fn equip(&mut self, simulator: Box<dyn PlanSimulator>) {
        self.inner_mut().equip(simulator);
    }

    fn reasons(&mut self) -> Option<Explanation> {
        self.inner_mut().reasons()
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        self.call(events, now, decisions);
    }
}
