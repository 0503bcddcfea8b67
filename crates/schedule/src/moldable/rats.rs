//! RATS: Redistribution-Aware Two-Step scheduling (Hunold, Rauber, Suter, Cluster 2008).
//!
//! Widths come from CPA. While mapping, a task may change its width to that of a parent and take
//! that parent's very processors: the data of this parent then need not move. It grows (stretches)
//! or shrinks (packs) to it if the widths are close enough (`rats-delta`), or if it costs little
//! more work, or ends no later when narrower (`rats-time-cost`). Every set of a parent is taken over once.
//!
//! Tasks are taken in rounds of ready ones, by falling bottom level; of equal levels first the one
//! with the closest parent, or the one that gains most. Published as one bound of widths, used as
//! two. Ties: the wider parent, then the lower task. O(v p (v + e)).

use super::cpa::{CPA, loop_facts};
use super::machines::Machines;
use super::mapping::Mapper;
use super::report::told;
use super::{BACKFILL, MAX_WIDTH, Steps, on_first, room};
use crate::list::Readiness;
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::approx::{self, sort_key};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule, TaskId};

const MIN_DELTA: Parameter = Parameter::new(
    "mindelta",
    Kind::Number(0.0, 1.0),
    "0.5",
    "by which part of its width a task may shrink to that of a parent",
);
const MAX_DELTA: Parameter = Parameter::new(
    "maxdelta",
    Kind::Number(0.0, f64::INFINITY),
    "0.5",
    "by which part of its width a task may grow to that of a parent",
)
.published("0.5");
const RHO_MIN: Parameter = Parameter::new(
    "rho-min",
    Kind::Number(0.0, 1.0),
    "0.5",
    "least work of a task over its work when it grows to the width of a parent",
);

/// Registry entry: widths that are close enough.
pub const DELTA: Algorithm = Algorithm {
    name: "rats-delta",
    about: "CPA; tasks take over the processors of a parent of about their width",
    source: "Hunold, Rauber, Suter, Cluster 2008",
    parameters: &[MIN_DELTA, MAX_DELTA, BACKFILL, MAX_WIDTH],
    plan: rats_delta,
    ..CPA
};

/// Registry entry: little more work.
pub const TIME_COST: Algorithm = Algorithm {
    name: "rats-time-cost",
    about: "CPA; tasks take over the processors of a parent where that costs little work",
    parameters: &[RHO_MIN, BACKFILL, MAX_WIDTH],
    plan: rats_time_cost,
    ..DELTA
};

/// When a task takes over the processors of a parent.
enum Strategy {
    Delta { shrink: f64, grow: f64 },
    TimeCost { least: f64 },
}

fn rats_delta(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = DELTA.values(request)?;
    let (shrink, grow) = (values.number("mindelta")?, values.number("maxdelta")?);
    rats(&DELTA, problem, &values, Strategy::Delta { shrink, grow })
}

fn rats_time_cost(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = TIME_COST.values(request)?;
    let least = values.number("rho-min")?;
    rats(&TIME_COST, problem, &values, Strategy::TimeCost { least })
}

fn rats(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    values: &Values,
    strategy: Strategy,
) -> Result<Schedule, PlanError> {
    let machines = Machines::single(problem, values.maybe_count("max-width"), algorithm.name)?;
    let mut growing = on_first(&machines);
    growing
        .balance(machines.size() as f64, |g, task| g.width[task.index()] < room(&machines, task));
    let mut reuse = Reuse {
        machines: &machines,
        mapper: Mapper::new(&machines),
        strategy,
        width: &growing.width,
        taken: vec![false; problem.tasks()],
        reused: 0,
    };
    let (mut readiness, mut ready) = Readiness::new(problem);
    while !ready.is_empty() {
        let mut round = std::mem::take(&mut ready);
        while !round.is_empty() {
            let next = reuse.first(&round, growing.levels());
            let task = round.remove(next);
            reuse.map(task)?;
            readiness.placed(task, |child| ready.push(child));
        }
    }
    let mut facts = loop_facts(growing.iterations(), growing.critical_path());
    facts.push(("reused", Detail::Count(reuse.reused)));
    let steps = Steps { packing: false, backfill: values.switch("backfill") };
    Ok(told(&machines, steps.finished(&machines, reuse.mapper).schedule, facts))
}

struct Reuse<'m, 'a, 'p> {
    machines: &'m Machines<'a, 'p>,
    mapper: Mapper<'m, 'a, 'p>,
    strategy: Strategy,
    width: &'m [u32],
    /// Parents whose processors a child has taken over.
    taken: Vec<bool>,
    reused: u64,
}

impl Reuse<'_, '_, '_> {
    /// The parents whose processors are still to be had, with their widths.
    fn parents(&self, task: TaskId) -> impl Iterator<Item = (TaskId, u32)> + '_ {
        let machines = self.machines;
        let fits = machines.widths(task, 0);
        let spreads = machines.problem.workflow().spreads(task);
        machines.problem.workflow().predecessors(task).filter_map(move |(parent, _)| {
            let procs = self.mapper.schedule.placement(parent)?.procs();
            let (least, most) = fits?;
            let width = procs.len() as u32;
            let allowed = (least..=most).contains(&width)
                && (spreads || machines.problem.hosts_of(procs).len() == 1)
                && procs.iter().all(|p| machines.clusters[0].procs.binary_search(p).is_ok());
            (allowed && !self.taken[parent.index()]).then_some((parent, width))
        })
    }

    /// The second key of a ready task: smaller is sooner.
    fn key(&self, task: TaskId) -> f64 {
        let own = self.width[task.index()];
        let time = |width| self.machines.seconds(task, 0, width);
        match self.strategy {
            Strategy::Delta { .. } => {
                let distance = |(_, width): (TaskId, u32)| f64::from(width.abs_diff(own));
                self.parents(task).map(distance).fold(f64::INFINITY, f64::min)
            }
            Strategy::TimeCost { .. } => {
                let gain = |(_, width): (TaskId, u32)| time(own) - time(width);
                -self.parents(task).map(gain).fold(f64::NEG_INFINITY, f64::max)
            }
        }
    }

    /// Position of the task that comes next.
    fn first(&self, round: &[TaskId], level: &[f64]) -> usize {
        let key = |t: TaskId| (-sort_key(level[t.index()]), self.key(t));
        let mut best = 0;
        let mut least = key(round[0]);
        for (at, &task) in round.iter().enumerate().skip(1) {
            let next = key(task);
            let order = next.0.total_cmp(&least.0).then(approx::cmp(next.1, least.1));
            if order.then(task.cmp(&round[best])).is_lt() {
                (best, least) = (at, next);
            }
        }
        best
    }

    fn map(&mut self, task: TaskId) -> Result<(), PlanError> {
        let own = self.mapper.slot(task, 0, self.width[task.index()]);
        if let Some(parent) = self.parent_to_follow(task, own.map_or(f64::INFINITY, |s| s.finish)) {
            let procs = self.mapper.schedule.placement(parent).map(|p| p.procs().to_vec());
            let procs = procs.unwrap_or_default();
            let (start, finish) = self.on(task, parent);
            self.mapper.place_on(task, 0, &procs, (start, finish));
            self.taken[parent.index()] = true;
            self.reused += 1;
            return Ok(());
        }
        let Some(slot) = own else {
            let task = self.machines.problem.workflow().task_name(task).to_string();
            return Err(PlanError::Nowhere { task });
        };
        self.mapper.place(task, slot);
        Ok(())
    }

    /// Start and end of a task on the processors of a parent.
    fn on(&self, task: TaskId, parent: TaskId) -> (f64, f64) {
        let procs = self.mapper.schedule.placement(parent).map_or(&[][..], |p| p.procs());
        let start = self.mapper.start_on(task, procs);
        (start, start + self.machines.seconds(task, 0, procs.len() as u32))
    }

    /// The parent whose processors a task takes over, if any.
    fn parent_to_follow(&self, task: TaskId, finish: f64) -> Option<TaskId> {
        let own = self.width[task.index()];
        match self.strategy {
            Strategy::Delta { shrink, grow } => {
                let close = |&(_, width): &(TaskId, u32)| within(own, width, shrink, grow);
                let closest = self.parents(task).filter(close).reduce(|best, next| {
                    let key = |(_, width): (TaskId, u32)| (width.abs_diff(own), u32::MAX - width);
                    if key(next) < key(best) { next } else { best }
                });
                Some(closest?.0)
            }
            Strategy::TimeCost { least } => {
                let time = |width| self.machines.seconds(task, 0, width);
                let cost = |width: u32| ratio(own, width, time);
                let wider = |&(_, width): &(TaskId, u32)| width >= own;
                let stretch = self.parents(task).filter(wider).reduce(|best, next| {
                    if approx::gt(cost(next.1), cost(best.1)) { next } else { best }
                });
                let stretch = stretch.filter(|s| approx::le(least, cost(s.1))).map(|s| s.0);
                let pack = self
                    .parents(task)
                    .filter(|p| !wider(p))
                    .map(|p| p.0)
                    .filter(|&p| approx::le(self.on(task, p).1, finish));
                let sooner = |a: TaskId, b: TaskId| {
                    if approx::lt(self.on(task, b).1, self.on(task, a).1) { b } else { a }
                };
                stretch.into_iter().chain(pack).reduce(sooner)
            }
        }
    }
}

/// Whether a task of width `own` may take width `other`.
fn within(own: u32, other: u32, shrink: f64, grow: f64) -> bool {
    let bound = if other >= own { grow } else { shrink } * f64::from(own);
    approx::le(f64::from(own.abs_diff(other)), bound)
}

/// Work at width `own` over work at width `other` (the paper's rho).
fn ratio(own: u32, other: u32, time: impl Fn(u32) -> f64) -> f64 {
    let work = |width: u32| time(width) * f64::from(width);
    if work(other) > 0.0 { work(own) / work(other) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_source() {
        // Width 6 and half of it up or down: 3 to 9.
        let allowed: Vec<u32> = (1..=12).filter(|&w| within(6, w, 0.5, 0.5)).collect();
        assert_eq!(allowed, [3, 4, 5, 6, 7, 8, 9]);
        // A serial tenth, one second alone.
        let rho = |w| ratio(6, w, |width| 0.1 + 0.9 / f64::from(width));
        let rounded = |w| (rho(w) * 1e4).round() / 1e4;
        assert_eq!([8, 9, 15, 30].map(rounded), [0.8824, 0.8333, 0.625, 0.3846]);
        assert!((rho(4) - 1.154).abs() < 5e-4);
    }
}
