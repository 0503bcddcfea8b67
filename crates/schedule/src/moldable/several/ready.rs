//! Mapping of several graphs from one list of ready tasks (N'takpé, Suter, PDSEC 2009).
//!
//! A task enters the list when its parents have *ended*, so that a small graph is not pushed
//! behind all tasks of a large one. While a processor is idle the first task of the list is mapped
//! where it ends first.

use super::{Batch, one_cluster};
use crate::list::Readiness;
use crate::moldable::Steps;
use crate::moldable::mapping::Mapper;
use crate::moldable::report::Fact;
use crate::registry::PlanError;
use slackline_model::approx::{self, sort_key};
use slackline_model::parameter::Values;
use slackline_model::{Problem, Schedule, TaskId};

/// Order of ready tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// The largest bottom level.
    Level,
    /// Of the graph that is shortest alone; then the largest level.
    Dedicated,
    /// The largest level over the square of what its graph takes alone.
    Weight,
}

/// Plans all graphs together with the widths and facts returned by `choose`.
pub(super) fn plan(
    problem: &Problem<'_>,
    values: &Values,
    algorithm: &'static str,
    choose: impl FnOnce(&Batch<'_, '_, '_>) -> Result<(Vec<u32>, Vec<Fact>), PlanError>,
) -> Result<Schedule, PlanError> {
    let machines = one_cluster(problem, values, algorithm)?;
    let batch = Batch::new(&machines)?;
    let (width, facts) = choose(&batch)?;
    let rank = match values.word("order") {
        "dedicated" => Rank::Dedicated,
        "weight" => Rank::Weight,
        _ => Rank::Level,
    };
    let steps = Steps::of(values);
    let schedule = map(&batch, &width, rank, steps)?;
    Ok(batch.told(schedule, steps.backfill, facts))
}

/// Maps all graphs together; tasks have given widths.
pub(super) fn map(
    batch: &Batch<'_, '_, '_>,
    width: &[u32],
    rank: Rank,
    steps: Steps,
) -> Result<Schedule, PlanError> {
    let problem = batch.problem();
    let level = batch.levels(width);
    let mut alone = vec![1.0; problem.tasks()];
    for graph in &batch.graphs {
        for task in &graph.tasks {
            alone[task.index()] = graph.alone;
        }
    }
    // Smaller comes first.
    let key = |t: TaskId| {
        let (level, alone) = (level[t.index()], alone[t.index()]);
        match rank {
            Rank::Level => (0.0, -sort_key(level)),
            Rank::Dedicated => (sort_key(alone), -sort_key(level)),
            Rank::Weight => (0.0, -sort_key(level / (alone * alone))),
        }
    };
    let mut mapper = Mapper::new(batch.machines);
    let (mut readiness, first) = Readiness::new(problem);
    // Tasks whose parents are mapped, with the date at which these have ended.
    let mut coming: Vec<(f64, TaskId)> = first.into_iter().map(|t| (mapper.ready(t), t)).collect();
    let mut ready: Vec<TaskId> = Vec::new();
    let mut now = problem.state().now;
    while !ready.is_empty() || !coming.is_empty() {
        coming.retain(|&(date, task)| {
            let later = approx::gt(date, now);
            if !later {
                ready.push(task);
            }
            later
        });
        let idle = mapper.idle_from(0);
        if ready.is_empty() || approx::gt(idle, now) {
            let next = coming.iter().map(|c| c.0).fold(f64::INFINITY, f64::min);
            now = match ready.is_empty() {
                true => next,
                false => idle.min(next),
            };
            continue;
        }
        let compare = |a: &TaskId, b: &TaskId| {
            let (a_key, b_key) = (key(*a), key(*b));
            a_key.0.total_cmp(&b_key.0).then(a_key.1.total_cmp(&b_key.1)).then(a.cmp(b))
        };
        let Some(at) = (0..ready.len()).min_by(|&a, &b| compare(&ready[a], &ready[b])) else {
            break;
        };
        let task = ready.remove(at);
        let slot = mapper.packed(task, 0, width[task.index()], steps.packing);
        let Some(slot) = slot.filter(|s| s.finish.is_finite()) else {
            let task = problem.workflow().task_name(task).to_string();
            return Err(PlanError::Nowhere { task });
        };
        mapper.place(task, slot.not_before(now));
        readiness.placed(task, |child| coming.push((mapper.ready(child), child)));
    }
    Ok(mapper.schedule)
}
