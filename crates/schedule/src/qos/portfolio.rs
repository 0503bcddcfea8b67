//! Many plans of one problem over time and money: the plans of the front, from which
//! [`within-limits`](super::within_limits) chooses.
//!
//! Planners that use limits get budgets in steps from the cheapest plan's cost to HEFT's, and deadlines that
//! grow tighter with them. In addition there are the plans on a part of the machines: HEFT and `three-step` on
//! the first k machines of one kind, for every k (steps of a quarter above 16 on large problems). The order of
//! plans is fixed here and does not depend on the number of threads.

use super::pareto::{self, Aim, Point};
use super::{FAST, Prices, cheapest, exact_cost, three_step};
use crate::list::heft;
use crate::registry::{self, Algorithm, Family, Need, PlanError, Request};
use rayon::prelude::*;
use slackline_model::problem::State;
use slackline_model::schedule::{Limits, cost};
use slackline_model::{ClassId, Problem, ProcId, Schedule, approx};
use std::sync::atomic::Ordering;

/// Budgets from the cheapest plan's cost to the fastest's, both included.
const STEPS: usize = 11;
/// Tasks times processors up to which planners that take more than a moment are tried.
const MODERATE: usize = 100_000;
/// Tasks times machines of a kind up to which every number of machines is tried.
const EVERY_COUNT: usize = 200_000;
/// Plans that are made at once; the best ones of each batch are kept.
const BATCH: usize = 16;

/// Machines of one kind that a plan was confined to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rented {
    /// The kind of machine.
    pub class: ClassId,
    /// The number of machines, the first ones of the kind.
    pub count: usize,
}

/// A plan and how it was made.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The planner.
    pub algorithm: &'static Algorithm,
    /// The limits in its request.
    pub told: Limits,
    /// The machines it was confined to; none: all.
    pub rented: Option<Rented>,
    /// Makespan and cost.
    pub point: Point,
    /// The plan.
    pub schedule: Schedule,
}

/// The ends between which budgets and deadlines make sense.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The plan of `cheapest`.
    pub cheapest: Point,
    /// The plan of HEFT.
    pub fastest: Point,
    /// Costs as planners price tasks: at exact seconds where time is billed so.
    priced: (f64, f64),
}

impl Scale {
    /// The scale of a problem.
    pub fn of(problem: &Problem<'_>) -> Result<Scale, PlanError> {
        let exact = Prices::new(problem).is_exact();
        let end = |method: &Algorithm| {
            let schedule = method.plan(problem, &Request::default())?;
            let point = point(problem, &schedule);
            let priced = if exact { exact_cost(problem, &schedule) } else { point.cost };
            Ok::<_, PlanError>((point, priced))
        };
        let (cheapest, least) = end(&cheapest::CHEAPEST)?;
        let (fastest, most) = end(&heft::HEFT)?;
        Ok(Scale { cheapest, fastest, priced: (least, most) })
    }
}

/// Makespan and cost of a plan.
pub fn point(problem: &Problem<'_>, schedule: &Schedule) -> Point {
    Point { makespan: schedule.makespan(), cost: cost(problem, schedule) }
}

/// The planners of a front: all that do not search; on large problems those that take little more time
/// than HEFT.
pub fn contenders(problem: &Problem<'_>) -> Vec<&'static Algorithm> {
    let whole = Limits { budget: Some(0.0), deadline: Some(0.0) };
    let moderate = problem.tasks().saturating_mul(problem.procs()) <= MODERATE;
    let quick = |a: &Algorithm| {
        FAST.iter().any(|f| f.name == a.name) || ["heft", "cpop", "peft", "hcpt"].contains(&a.name)
    };
    let fits = |a: &&Algorithm| match a.family {
        Family::List | Family::Qos if !moderate => quick(a),
        Family::List => true,
        Family::Qos => FAST.iter().any(|f| f.name == a.name) || a.name == "moheft",
        _ => false,
    };
    let able = |a: &&Algorithm| a.lacks(problem, &whole).is_none();
    registry::ALL.iter().filter(fits).filter(able).collect()
}

/// Limits for successive runs of a planner: the given ones, or budgets, and with them deadlines that grow
/// tighter with growing budget, unless the user has set one.
pub fn sweep(algorithm: &Algorithm, scale: &Scale, limits: &Limits) -> Vec<Limits> {
    let needs = |need| algorithm.needs.contains(&need);
    if !needs(Need::Budget) && !needs(Need::Deadline) {
        return vec![*limits];
    }
    let between = |from: f64, to: f64, share: f64| from + share * (to - from);
    let step = |k: usize| {
        let share = k as f64 / (STEPS - 1) as f64;
        let dearest = scale.priced.1.max(scale.priced.0);
        let slow = scale.cheapest.makespan.max(scale.fastest.makespan);
        let deadline = || between(slow, scale.fastest.makespan, share);
        let budget = between(scale.priced.0, dearest, share);
        let deadline = needs(Need::Deadline).then(|| limits.deadline.unwrap_or_else(deadline));
        Limits { budget: Some(budget), deadline }
    };
    (0..STEPS).map(step).collect()
}

/// A plan to make.
#[derive(Clone, Copy)]
pub struct PlanJob {
    algorithm: &'static Algorithm,
    told: Limits,
    rented: Option<Rented>,
}

impl PlanJob {
    /// A job for a planner with limits.
    pub fn of(algorithm: &'static Algorithm, told: Limits) -> PlanJob {
        PlanJob { algorithm, told, rented: None }
    }
}

/// HEFT and `three-step` on k machines of one kind: for every kind that has a price or is not the only one.
pub fn rentals(problem: &Problem<'_>, limits: &Limits) -> Vec<PlanJob> {
    let platform = problem.platform();
    if !platform.is_priced() || problem.workflow().is_moldable() {
        return Vec::new();
    }
    let mut jobs = Vec::new();
    for (class, kind) in platform.classes().iter().enumerate().filter(|(_, c)| c.cores > 0) {
        // No more machines than tasks are ever used.
        let most = kind.hosts.len().min(problem.tasks());
        let every = problem.tasks().saturating_mul(most) <= EVERY_COUNT;
        let mut count = 1;
        while count <= most {
            let rented = Some(Rented { class: ClassId::new(class), count });
            for algorithm in [&heft::HEFT, &three_step::THREE_STEP] {
                jobs.push(PlanJob { algorithm, told: *limits, rented });
            }
            count = if every || count < 16 || count == most {
                count + 1
            } else {
                (count + count / 4).min(most)
            };
        }
    }
    jobs
}

/// The problem with the first machines of some kinds alone; none where that is not possible.
pub(super) fn confined<'p>(problem: &Problem<'p>, counts: &[usize]) -> Option<Problem<'p>> {
    let platform = problem.platform();
    let mut keep = vec![false; platform.hosts().len()];
    for (kind, &count) in platform.classes().iter().zip(counts) {
        kind.hosts.iter().take(count).for_each(|host| keep[host.index()] = true);
    }
    let mut available = problem.state().available.clone();
    available.resize(problem.procs(), problem.state().now);
    for proc in problem.proc_ids().filter(|&p| !keep[problem.host_of(p).index()]) {
        available[proc.index()] = f64::INFINITY;
    }
    let state = State { available, ..problem.state().clone() };
    problem.clone().with_state(state).ok()
}

fn only(problem: &Problem<'_>, rented: Rented) -> Vec<usize> {
    let mut counts = vec![0; problem.platform().classes().len()];
    counts[rented.class.index()] = rented.count;
    counts
}

/// Upward ranks as they are where there is nothing but these machines.
fn ranks_on(problem: &Problem<'_>, rented: Rented) -> Vec<f64> {
    let workflow = problem.workflow();
    let hosts = &problem.platform().class(rented.class).hosts;
    let proc = |k: usize| problem.procs_of(hosts[k]).next().map(ProcId);
    let (first, second) = (proc(0), if rented.count > 1 { proc(1) } else { None });
    let seconds = |task| first.map_or(0.0, |proc| problem.exec_on(task, proc));
    let transfer = |edge| match (first, second) {
        (Some(a), Some(b)) => problem.edge_transfer(edge, &[a], &[b]),
        _ => 0.0,
    };
    workflow.bottom_levels(seconds, transfer)
}

/// Makes a plan; none where the planner cannot plan this.
fn make(
    problem: &Problem<'_>,
    job: &PlanJob,
    request: &Request,
) -> Result<Option<Candidate>, PlanError> {
    let PlanJob { algorithm, told, rented } = *job;
    let request = Request { limits: told, ..request.clone() };
    let made = match rented {
        None => algorithm.plan(problem, &request),
        Some(rented) => {
            let Some(part) = confined(problem, &only(problem, rented)) else { return Ok(None) };
            if algorithm.name == heft::HEFT.name {
                heft::by_rank(&part, &ranks_on(problem, rented))
            } else {
                algorithm.plan(&part, &request)
            }
        }
    };
    let schedule = match made {
        Ok(schedule) => schedule,
        Err(PlanError::Unsupported { .. } | PlanError::Infeasible { .. }) => return Ok(None),
        // Tasks that do not fit on the machines of one kind.
        Err(PlanError::Nowhere { .. }) if rented.is_some() => return Ok(None),
        Err(error) => return Err(error),
    };
    let point = point(problem, &schedule);
    Ok(Some(Candidate { algorithm, told, rented, point, schedule }))
}

/// Makes the plans of some jobs, in their order. Ends early when the request's stop flag is set.
pub fn each(
    problem: &Problem<'_>,
    jobs: &[PlanJob],
    request: &Request,
    mut visit: impl FnMut(Candidate),
) -> Result<(), PlanError> {
    for batch in jobs.chunks(BATCH) {
        if request.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            break;
        }
        let made: Vec<_> = batch.par_iter().map(|job| make(problem, job, request)).collect();
        for candidate in made {
            if let Some(candidate) = candidate? {
                visit(candidate);
            }
        }
    }
    Ok(())
}

/// The best machines to rent, kind by kind: from some numbers of machines on, one more or fewer of one kind, or one
/// kind instead of another, as long as HEFT's plan on them is better. The plan, if better than `best`.
pub(super) fn climb(
    problem: &Problem<'_>,
    start: &Candidate,
    better: &(dyn Fn(Point, Point) -> bool + Sync),
    request: &Request,
) -> Option<Candidate> {
    /// Most tasks times processors that all plans together may visit.
    const EFFORT: usize = 20_000_000;
    let platform = problem.platform();
    let kinds = platform.classes().len();
    let mut counts = vec![0usize; kinds];
    let mut used = vec![false; platform.hosts().len()];
    for placement in start.schedule.placements.iter().flatten() {
        for &proc in placement.procs() {
            used[problem.host_of(proc).index()] = true;
        }
    }
    for host in platform.host_ids().filter(|h| used[h.index()]) {
        counts[platform.host(host).class.index()] += 1;
    }
    let one = problem.tasks().max(1) * problem.procs().max(1);
    let mut left = (EFFORT / one).min(400);
    let mut best: Option<(Point, Schedule)> = None;
    let mut bar = start.point;
    loop {
        let mut next: Vec<Vec<usize>> = Vec::new();
        let shift = |less: Option<usize>, more: Option<usize>| {
            let mut counts = counts.clone();
            if let Some(kind) = less {
                counts[kind] = counts[kind].checked_sub(1)?;
            }
            if let Some(kind) = more {
                counts[kind] += 1;
                (counts[kind] <= platform.classes()[kind].hosts.len()).then_some(())?;
            }
            Some(counts)
        };
        for kind in 0..kinds {
            next.extend(shift(Some(kind), None));
            next.extend(shift(None, Some(kind)));
            next.extend(
                (0..kinds).filter(|&k| k != kind).filter_map(|k| shift(Some(kind), Some(k))),
            );
        }
        next.truncate(left);
        left -= next.len();
        let stopped = request.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if next.is_empty() || stopped {
            break;
        }
        let plan = |counts: Vec<usize>| {
            let part = confined(problem, &counts)?;
            let schedule = (heft::HEFT.plan)(&part, &Request::default()).ok()?;
            Some((counts, point(problem, &schedule), schedule))
        };
        let made: Vec<_> = next.into_par_iter().map(plan).collect();
        let mut found = None;
        for (tried, point, schedule) in made.into_iter().flatten() {
            if better(point, bar) {
                bar = point;
                found = Some((tried, schedule));
            }
        }
        let Some((tried, schedule)) = found else { break };
        counts = tried;
        best = Some((bar, schedule));
    }
    let (point, schedule) = best?;
    let (told, rented) = (Limits::default(), None);
    Some(Candidate { algorithm: &heft::HEFT, told, rented, point, schedule })
}

/// Plans that no other beats in time and money, one for each pair of figures, by makespan.
#[derive(Debug, Default)]
pub(super) struct Front(Vec<(Point, String)>);

impl Front {
    pub(super) fn add(&mut self, point: Point, name: impl FnOnce() -> String) {
        let same =
            |a: Point| approx::eq(a.makespan, point.makespan) && approx::eq(a.cost, point.cost);
        if self.0.iter().any(|&(p, _)| p.dominates(point) || same(p)) {
            return;
        }
        self.0.retain(|&(p, _)| !point.dominates(p));
        let at = self.0.partition_point(|(p, _)| p.makespan < point.makespan);
        self.0.insert(at, (point, name()));
    }

    pub(super) fn into_plans(self) -> Vec<(Point, String)> {
        self.0
    }
}

/// Whether to give one plan rather than another.
pub(super) fn chooser(limits: Limits, aim: Aim) -> impl Fn(Point, Point) -> bool + Sync {
    move |a, b| pareto::better(a, b, &limits, aim)
}
