//! HCPA: Heterogeneous CPA over several clusters (N'takpé, Suter, ICPADS 2006; N'takpé, Suter,
//! Casanova, ISPDC 2007).
//!
//! CPA's loop runs on a virtual cluster of the slowest speed and of the same power; a virtual width
//! corresponds, on each cluster, to the fewest processors that are as fast. A task may grow while it does not
//! fill every cluster; beyond the virtual one, while that can make it wider somewhere. Tasks are mapped by
//! falling bottom level where they end first. The version of 2007 uses the geometric area and packs; that of
//! 2006 the plain area. O(v P (v + e)) for P virtual processors. Ties: lower cluster.

use super::allocation::{Allocation, geometric};
use super::cpa::{CPA, loop_facts};
use super::machines::Machines;
use super::mapping::{Mapper, Slot, by_priority, map_by};
use super::report::{Fact, told};
use super::virtual_cluster::VirtualCluster;
use super::{BACKFILL, MAX_WIDTH, PACKING, Steps, TWO_STEP};
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::parameter::Parameter;
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule, TaskId, approx};
use std::cell::RefCell;

/// Registry entry: geometric area and packing.
pub const HCPA: Algorithm = Algorithm {
    name: "hcpa",
    about: "CPA on a virtual cluster of the slowest speed, mapped where tasks end first",
    source: "N'takpé, Suter, Casanova, ISPDC 2007",
    complexity: "O(v P (v + e)), P virtual processors",
    parameters: &[Parameter { default: "yes", ..PACKING }, BACKFILL, MAX_WIDTH],
    plan: hcpa,
    ..CPA
};

/// Registry entry: as first published.
pub const FIRST: Algorithm = Algorithm {
    name: "hcpa-2006",
    about: "HCPA as first published: plain area, no packing",
    source: "N'takpé, Suter, ICPADS 2006",
    parameters: TWO_STEP,
    plan: hcpa_2006,
    ..HCPA
};

fn hcpa(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    balanced(&HCPA, problem, request, geometric)
}

fn hcpa_2006(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    balanced(&FIRST, problem, request, |_, processors| processors)
}

fn balanced(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    request: &Request,
    divisor: fn(usize, f64) -> f64,
) -> Result<Schedule, PlanError> {
    let values = algorithm.values(request)?;
    let machines = Machines::new(problem, values.maybe_count("max-width"))?;
    let ground = VirtualCluster::new(&machines);
    let translation = Translation::new(&ground, &machines);
    let mut growing = Allocation::new(problem, |task, width| ground.seconds(task, width));
    let divisor = divisor(growing.len(), ground.size);
    growing
        .balance(divisor, |growing, task| translation.may_grow(task, growing.width[task.index()]));
    let mut facts = loop_facts(growing.iterations(), growing.critical_path());
    facts.extend(translation.facts(&growing.width));
    let mapper = translation.map(&growing.width, growing.levels(), Steps::of(&values))?;
    Ok(told(&machines, mapper.schedule, facts))
}

/// Virtual widths as widths on the clusters. Virtual widths only grow, and with them these.
pub(super) struct Translation<'v, 'm, 'a, 'p> {
    ground: &'v VirtualCluster<'m, 'a, 'p>,
    machines: &'m Machines<'a, 'p>,
    /// Task x cluster: found for the largest virtual width so far.
    known: RefCell<Vec<(u32, u32)>>,
}

impl<'v, 'm, 'a, 'p> Translation<'v, 'm, 'a, 'p> {
    pub(super) fn new(
        ground: &'v VirtualCluster<'m, 'a, 'p>,
        machines: &'m Machines<'a, 'p>,
    ) -> Self {
        let entries = machines.problem.tasks() * machines.clusters.len();
        Translation { ground, machines, known: RefCell::new(vec![(0, 0); entries]) }
    }

    /// The width of a task on a cluster; none where it cannot run.
    fn width(&self, task: TaskId, width: u32, cluster: usize) -> Option<u32> {
        let at = task.index() * self.machines.clusters.len() + cluster;
        let (before, found) = self.known.borrow()[at];
        if before == width {
            return Some(found);
        }
        let from = if before < width { found } else { 0 };
        let found = self.ground.translated(task, width, cluster, from)?;
        self.known.borrow_mut()[at] = (width, found);
        Some(found)
    }

    /// Some cluster is not yet filled by the task. One of faster processors may never be, however wide a task that is
    /// partly serial becomes: beyond the virtual cluster only one that would still give more counts.
    pub(super) fn may_grow(&self, task: TaskId, width: u32) -> bool {
        let beyond = f64::from(width) >= self.ground.size;
        let fastest = if beyond { self.ground.seconds(task, u32::MAX) } else { 0.0 };
        (0..self.machines.clusters.len()).any(|cluster| {
            let most = self.machines.widths(task, cluster).map(|w| w.1);
            let widths = most.zip(self.width(task, width, cluster));
            widths.is_some_and(|(most, now)| {
                now < most && approx::gt(self.machines.seconds(task, cluster, now), fastest)
            })
        })
    }

    /// Maps by falling level of the virtual cluster, each task where it ends first.
    pub(super) fn map(
        &self,
        width: &[u32],
        priority: &[f64],
        steps: Steps,
    ) -> Result<Mapper<'m, 'a, 'p>, PlanError> {
        let order = by_priority(self.machines.problem, priority);
        let mapper = map_by(self.machines, order, |mapper, task| {
            let slots = (0..self.machines.clusters.len()).filter_map(|cluster| {
                let width = self.width(task, width[task.index()], cluster)?;
                mapper.packed(task, cluster, width, steps.packing)
            });
            earliest_finish(slots)
        })?;
        Ok(steps.finished(self.machines, mapper))
    }

    /// The widths on the virtual cluster, and on the clusters.
    pub(super) fn facts(&self, width: &[u32]) -> Vec<Fact> {
        let tasks = || crate::list::unfinished(self.machines.problem);
        let count = |n: u32| Detail::Count(u64::from(n));
        let on = |c: usize| {
            let widths = tasks().map(|t| count(self.width(t, width[t.index()], c).unwrap_or(0)));
            Detail::List(widths.collect())
        };
        vec![
            ("virtual", Detail::List(tasks().map(|t| count(width[t.index()])).collect())),
            ("translated", Detail::List((0..self.machines.clusters.len()).map(on).collect())),
        ]
    }
}

/// The slot that ends first; of equal ones the first.
fn earliest_finish(slots: impl Iterator<Item = Slot>) -> Option<Slot> {
    slots.reduce(|best, slot| if approx::lt(slot.finish, best.finish) { slot } else { best })
}
