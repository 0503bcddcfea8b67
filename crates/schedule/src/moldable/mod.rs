//! Moldable tasks: how many processors each task gets, which, and when (Suter, habilitation, 2014,
//! and the papers named in the modules).
//!
//! A cluster is a class of equal machines; no task leaves its cluster. The shared steps live here
//! once: `allocation` (the loop of CPA), `mapping` (whole sets of processors in list order, and
//! packing), `backfill`, `virtual_cluster` (clusters of different speeds as one), `report`. Ties go to fewer
//! processors, then to the lower cluster, task and processor. Allocation sees no transfers, mapping
//! counts them without contention.

mod allocation;
mod backfill;
mod guarantee;
mod machines;
mod mapping;
mod report;
mod virtual_cluster;

pub mod bicpa;
pub mod bihcpa;
pub mod cpa;
pub mod cpr;
pub mod delta_cts;
pub mod hcpa;
pub mod mcgas;
pub mod mcpa;
pub mod mheft;
pub mod one_step;
pub mod rats;
pub mod scrap;
pub mod several;

use crate::registry::PlanError;
use allocation::Allocation;
use machines::Machines;
use mapping::{Mapper, by_priority, map_by};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::{Problem, TaskId};

/// Parameter of the mapping of widths to a schedule.
const PACKING: Parameter = Parameter::new(
    "packing",
    Kind::Switch,
    "no",
    "narrow a task that would wait for processors if it then starts sooner and ends no later",
);
const BACKFILL: Parameter = Parameter::new(
    "backfill",
    Kind::Switch,
    "no",
    "move tasks of the finished plan into earlier holes where no task is delayed",
);
const MAX_WIDTH: Parameter = Parameter::new(
    "max-width",
    Kind::Count(1, u32::MAX as u64),
    "auto",
    "most processors of a task; auto: what the task and its cluster allow",
);

/// The parameters of methods that first fix widths and then map.
const TWO_STEP: &[Parameter] = &[PACKING, BACKFILL, MAX_WIDTH];

/// The steps after the allocation, as set by their parameters.
#[derive(Clone, Copy)]
struct Steps {
    packing: bool,
    backfill: bool,
}

impl Steps {
    fn of(values: &Values) -> Steps {
        Steps { packing: values.switch("packing"), backfill: values.switch("backfill") }
    }

    /// Maps tasks of given widths on the first cluster by falling priority.
    fn map<'m, 'a, 'p>(
        self,
        machines: &'m Machines<'a, 'p>,
        width: &[u32],
        priority: &[f64],
    ) -> Result<Mapper<'m, 'a, 'p>, PlanError> {
        let order = by_priority(machines.problem, priority);
        self.map_in_order(machines, width, order)
    }

    /// Maps tasks in a given order, which may leave tasks out.
    fn map_in_order<'m, 'a, 'p>(
        self,
        machines: &'m Machines<'a, 'p>,
        width: &[u32],
        order: impl IntoIterator<Item = TaskId>,
    ) -> Result<Mapper<'m, 'a, 'p>, PlanError> {
        let mapper = map_by(machines, order, |mapper, task| {
            mapper.packed(task, 0, width[task.index()], self.packing)
        })?;
        Ok(self.finished(machines, mapper))
    }

    fn finished<'m, 'a, 'p>(
        self,
        machines: &'m Machines<'a, 'p>,
        mut mapper: Mapper<'m, 'a, 'p>,
    ) -> Mapper<'m, 'a, 'p> {
        if self.backfill {
            backfill::backfill(machines, &mut mapper.schedule, &mapper.placed);
        }
        mapper
    }
}

/// Number of clusters that can be used.
pub(crate) fn clusters(problem: &Problem<'_>) -> usize {
    Machines::new(problem, None).map_or(0, |machines| machines.clusters.len())
}

/// The allocation loop over the first cluster.
fn on_first<'a, 'p>(
    machines: &'a Machines<'_, 'p>,
) -> Allocation<'p, impl Fn(TaskId, u32) -> f64 + 'a> {
    Allocation::new(machines.problem, |task, width| machines.seconds(task, 0, width))
}

/// Widest a task may be on the first cluster.
fn room(machines: &Machines<'_, '_>, task: TaskId) -> u32 {
    machines.widths(task, 0).map_or(0, |(_, most)| most)
}

#[cfg(test)]
mod tests;
