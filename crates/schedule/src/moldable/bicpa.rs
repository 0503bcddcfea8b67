//! biCPA: bi-criteria CPA (Desprez, Suter, CCGrid 2010).
//!
//! One run of CPA's loop gives, for every number P' of processors, the widths that CPA would choose for so
//! many. Each is mapped on the whole cluster; the planned makespans and the processor-seconds are weighed
//! against those of CPA: -M the shortest that costs no more, -W the cheapest that is no longer, -E the one
//! whose two ratios are closest, -S the one with the least sum of ratios. E and S consider plans that are not
//! dominated in both, and with `restrict` only those no worse than CPA in either. Ties: less work, fewer
//! processors. O(v p (v + e)) and p mappings.

use super::allocation::Allocation;
use super::cpa::{CPA, loop_facts};
use super::machines::Machines;
use super::mapping::{Mapper, by_priority};
use super::report::{Fact, told, work};
use super::{BACKFILL, MAX_WIDTH, PACKING, Steps, room};
use crate::list::unfinished;
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule, TaskId, approx};

const RESTRICT: Parameter = Parameter::new(
    "restrict",
    Kind::Switch,
    "yes",
    "E and S: only among plans no worse than CPA's in makespan and in work",
);

/// Criterion for the plan that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Criterion {
    Makespan,
    Work,
    Equity,
    Sum,
}

/// Registry entry: least makespan.
pub const M: Algorithm = Algorithm {
    name: "bicpa-m",
    about: "CPA for every number of processors; the shortest plan that works no more than CPA's",
    source: "Desprez, Suter, CCGrid 2010",
    complexity: "O(v p (v + e)), p mappings",
    parameters: &[RESTRICT, PACKING, BACKFILL, MAX_WIDTH],
    plan: bicpa_m,
    ..CPA
};

/// Registry entry: least work.
pub const W: Algorithm = Algorithm {
    name: "bicpa-w",
    about: "CPA for every number of processors; the plan of least work no longer than CPA's",
    plan: bicpa_w,
    ..M
};

/// Registry entry: both improve alike.
pub const E: Algorithm = Algorithm {
    name: "bicpa-e",
    about: "CPA for every number of processors; makespan and work improve alike",
    plan: bicpa_e,
    ..M
};

/// Registry entry: least sum of both ratios.
pub const S: Algorithm = Algorithm {
    name: "bicpa-s",
    about: "CPA for every number of processors; the least sum of relative makespan and work",
    plan: bicpa_s,
    ..M
};

fn bicpa_m(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    bicpa(&M, problem, request, Criterion::Makespan)
}

fn bicpa_w(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    bicpa(&W, problem, request, Criterion::Work)
}

fn bicpa_e(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    bicpa(&E, problem, request, Criterion::Equity)
}

fn bicpa_s(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    bicpa(&S, problem, request, Criterion::Sum)
}

fn bicpa(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    request: &Request,
    criterion: Criterion,
) -> Result<Schedule, PlanError> {
    let values = algorithm.values(request)?;
    let machines = Machines::single(problem, values.maybe_count("max-width"), algorithm.name)?;
    let tasks: Vec<TaskId> = unfinished(problem).collect();
    let candidates = candidates(&machines, &tasks, Steps::of(&values))?;
    let points: Vec<Point> = candidates.iter().map(|c| c.point).collect();
    let chosen = choose(&points, criterion, values.switch("restrict"));
    let mut candidates = candidates;
    let Candidate { schedule, facts, .. } = candidates.swap_remove(chosen);
    Ok(told(&machines, schedule, facts))
}

/// A plan for some number of processors as the criteria see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// For how many processors widths were chosen (P').
    pub(super) divisor: usize,
    pub(super) makespan: f64,
    pub(super) work: f64,
}

/// A plan that may be taken.
pub(super) struct Candidate {
    pub(super) point: Point,
    pub(super) schedule: Schedule,
    pub(super) facts: Vec<Fact>,
}

impl Candidate {
    pub(super) fn new(divisor: usize, mapper: Mapper<'_, '_, '_>, mut facts: Vec<Fact>) -> Self {
        let schedule = mapper.schedule;
        let (makespan, work) = (schedule.makespan(), work(&schedule));
        facts.push(("constraint", Detail::Count(divisor as u64)));
        Candidate { point: Point { divisor, makespan, work }, schedule, facts }
    }
}

/// The plans of some tasks, for all numbers of processors, CPA's last; equal widths are mapped once,
/// under the least number that gives them, but CPA's always under its own.
pub(super) fn candidates(
    machines: &Machines<'_, '_>,
    tasks: &[TaskId],
    steps: Steps,
) -> Result<Vec<Candidate>, PlanError> {
    let problem = machines.problem;
    let mut counts = vec![false; problem.tasks()];
    for task in tasks {
        counts[task.index()] = true;
    }
    let mut growing = Allocation::of(problem, tasks, |t, width| machines.seconds(t, 0, width));
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut mapped = None;
    for divisor in 1..=machines.size() {
        growing.balance(divisor as f64, |growing, task| {
            growing.width[task.index()] < room(machines, task)
        });
        if mapped == Some(growing.iterations()) && divisor < machines.size() {
            continue;
        }
        mapped = Some(growing.iterations());
        let facts = loop_facts(growing.iterations(), growing.critical_path());
        let order = by_priority(problem, growing.levels());
        let order = order.into_iter().filter(|t| counts[t.index()]);
        let mapper = steps.map_in_order(machines, &growing.width, order)?;
        candidates.push(Candidate::new(divisor, mapper, facts));
    }
    Ok(candidates)
}

/// The position of the plan that a criterion takes; the last one is CPA's.
pub(super) fn choose(points: &[Point], criterion: Criterion, restrict: bool) -> usize {
    let Some((last, cpa)) = points.iter().enumerate().next_back() else { return 0 };
    let no_longer = |p: &Point| approx::le(p.makespan, cpa.makespan);
    let no_dearer = |p: &Point| approx::le(p.work, cpa.work);
    // By makespan, then work, then number of processors.
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        let key =
            |i: usize| (approx::sort_key(points[i].makespan), approx::sort_key(points[i].work));
        let (a_key, b_key) = (key(a), key(b));
        a_key.0.total_cmp(&b_key.0).then(a_key.1.total_cmp(&b_key.1)).then(a.cmp(&b))
    });
    let ratio = |i: usize| {
        let by = |a: f64, b: f64| if b > 0.0 { a / b } else { 1.0 };
        (by(points[i].makespan, cpa.makespan), by(points[i].work, cpa.work))
    };
    let chosen = match criterion {
        Criterion::Makespan => order.into_iter().find(|&i| no_dearer(&points[i])),
        Criterion::Work => {
            let fits = order.into_iter().filter(|&i| no_longer(&points[i]));
            first_least(fits, |i| points[i].work, approx::lt)
        }
        Criterion::Equity | Criterion::Sum => {
            let mut front: Vec<usize> = Vec::new();
            for i in order {
                let fits = !restrict || (no_longer(&points[i]) && no_dearer(&points[i]));
                if fits && front.last().is_none_or(|&k| approx::le(points[i].work, points[k].work))
                {
                    front.push(i);
                }
            }
            if criterion == Criterion::Equity {
                let distance = |i: usize| (1.0 - ratio(i).1 / ratio(i).0).abs();
                first_least(front.into_iter(), distance, approx::lt)
            } else {
                // The front goes to less and less work: of equal sums the last.
                first_least(front.into_iter(), |i| ratio(i).0 + ratio(i).1, approx::le)
            }
        }
    };
    chosen.unwrap_or(last)
}

/// The element whose value is `before` that of all kept before it.
fn first_least(
    items: impl Iterator<Item = usize>,
    value: impl Fn(usize) -> f64,
    before: fn(f64, f64) -> bool,
) -> Option<usize> {
    items.reduce(|best, next| if before(value(next), value(best)) { next } else { best })
}
