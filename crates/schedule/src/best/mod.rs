//! `best`: the best plan that a short search finds.
//!
//! A portfolio of list planners gives the first plans; a few islands then walk on from them by
//! simulated annealing over orders and banks (`walk`), and share the best plan after
//! every round. The search ends at its limit, or as soon as the plan is as short as the lower bound.
//! Never worse than the best of its portfolio. Iterations are counted per evaluated change, over all
//! islands; the number of islands and rounds is fixed, so that threads do not change the plan.
//! Ties: the plan found first, in the order of the portfolio and of the islands.

mod before;
mod shared;
pub(crate) mod walk;

use crate::bounds::{Bounder, lower_bound};
use crate::budget::Budget;
use crate::compact::Compact;
use crate::registry::{Algorithm, Basis, Family, PlanError, Request, every};
use rand::RngExt;
use rayon::prelude::*;
use slackline_model::approx::sort_key;
use slackline_model::rng::{self, Stream};
use slackline_model::{Problem, Schedule, approx};
use walk::{Draft, NONE, Walk};

/// Registry entry.
pub const BEST: Algorithm = Algorithm {
    name: "best",
    family: Family::Search,
    basis: Basis::Own,
    about: "portfolio of list planners, then annealing of order and place on several islands",
    source: "Slackline",
    complexity: "O(v + e) per iteration",
    parameters: &[],
    needs: &[],
    plan,
};

/// Walks that search side by side.
const ISLANDS: usize = 4;
/// Number of rounds after each of which the islands exchange their best plan.
const ROUNDS: usize = 8;
/// Changes between two checks of the clock.
const SLICE: u64 = 256;
/// Tasks x banks beyond which only the portfolio is run.
const LARGEST: usize = 20_000_000;
/// Tasks x processors beyond which only planners that grow slowly take part.
const MODERATE: usize = 100_000;
const LARGE: usize = 400_000;
const SLOWLY: [&str; 9] = [
    "heft",
    "peft",
    "cpop",
    "hcpt",
    "heft-median",
    "heft-worst",
    "heft-best",
    "heft-simple-worst",
    "heft-simple-best",
];

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    search(problem, request, None)
}

/// Searches with a lower bound that the caller already knows.
pub(crate) fn search(
    problem: &Problem<'_>,
    request: &Request,
    bound: Option<f64>,
) -> Result<Schedule, PlanError> {
    let budget = Budget::start(request);
    let portfolio = portfolio(problem, request, &budget)?;
    let unfinished = problem.workflow().tasks().any(|t| problem.state().fixed(t).is_none());
    if !unfinished || problem.tasks() * problem.platform().hosts().len() > LARGEST {
        return Ok(shortest(portfolio));
    }
    if problem.has_pools() {
        let bound = bound.unwrap_or_else(|| lower_bound(problem));
        budget.proved(bound);
        portfolio.iter().for_each(|plan| budget.found(plan.makespan()));
        return Ok(shared::search(problem, request, &budget, bound, portfolio));
    }
    // Tasks over several hosts are more than a walk over banks can move.
    let Ok(compact) = Compact::new(problem) else { return Ok(shortest(portfolio)) };
    let bound = bound.unwrap_or_else(|| lower_bound(problem));
    budget.proved(bound);
    portfolio.iter().for_each(|plan| budget.found(plan.makespan()));
    let tails = Bounder::new(problem, &compact).levels().tail;
    let plans: Vec<Draft> = portfolio
        .iter()
        .filter_map(|s| compact.read(s))
        .map(|(order, choice)| Draft { order, choice })
        .collect();
    let archipelago = Archipelago { compact: &compact, tails: &tails, bound, request, budget };
    let found = in_pool(request.threads, || archipelago.search(plans));
    let first = shortest(portfolio);
    // Insertion into gaps of wide tasks, and inputs that leave in turn, cannot be expressed as a list: keep the
    // better of both.
    Ok(match found {
        Some((makespan, plan)) if approx::lt(makespan, first.makespan()) => {
            let found = compact.schedule(problem, &plan.order, &plan.choice);
            if approx::lt(found.makespan(), first.makespan()) { found } else { first }
        }
        _ => first,
    })
}

/// Runs something on so many threads.
pub(crate) fn in_pool<T: Send>(threads: Option<usize>, run: impl FnOnce() -> T + Send) -> T {
    let pool = threads.and_then(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().ok());
    match pool {
        Some(pool) => pool.install(run),
        // Without the means for another pool, the common one gives the same result.
        None => run(),
    }
}

/// The plans of the list planners, those that fail left out; an error only if all fail.
fn portfolio(
    problem: &Problem<'_>,
    request: &Request,
    budget: &Budget,
) -> Result<Vec<Schedule>, PlanError> {
    let takes_part = |a: &&Algorithm| match problem.tasks() * problem.procs() {
        size if size > LARGE => SLOWLY[..3].contains(&a.name),
        size if size > MODERATE => SLOWLY.contains(&a.name),
        _ => a.family == Family::List,
    };
    // Names for another mean of transfers make the same plan on most networks.
    let differs = |a: &&Algorithm| !a.name.ends_with("-meantime");
    let members: Vec<&Algorithm> = every().filter(differs).filter(takes_part).collect();
    let request = &request.without_parameters();
    let run = |a: &&Algorithm| {
        // HEFT always runs: there is a plan whatever the budget.
        if a.name != "heft" && budget.is_over() {
            return None;
        }
        Some(a.plan(problem, request))
    };
    let results: Vec<Result<Schedule, PlanError>> =
        in_pool(request.threads, || members.par_iter().filter_map(run).collect());
    let (mut plans, mut error) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(plan) => plans.push(plan),
            Err(e) => error = error.or(Some(e)),
        }
    }
    match error {
        Some(error) if plans.is_empty() => Err(error),
        _ => Ok(plans),
    }
}

fn shortest(plans: Vec<Schedule>) -> Schedule {
    let mut best: Option<Schedule> = None;
    for plan in plans {
        if best.as_ref().is_none_or(|b| approx::lt(plan.makespan(), b.makespan())) {
            best = Some(plan);
        }
    }
    best.unwrap_or_default()
}

/// The islands and what they share.
struct Archipelago<'a> {
    compact: &'a Compact,
    tails: &'a [f64],
    bound: f64,
    request: &'a Request,
    budget: Budget,
}

/// One walk with its own random numbers and its best plan.
struct Island<'c> {
    walk: Walk<'c>,
    random: Stream,
    best: Draft,
    best_makespan: f64,
}

impl Archipelago<'_> {
    fn search(&self, mut plans: Vec<Draft>) -> Option<(f64, Draft)> {
        let makespan = |plan: &Draft| Walk::new(self.compact, self.tails, plan.clone()).makespan();
        let mut rated: Vec<(f64, Draft)> = plans.drain(..).map(|p| (makespan(&p), p)).collect();
        // The same orders with every bank left open, which is another planner for each.
        for at in 0..rated.len() {
            let open = Draft { choice: vec![NONE; self.compact.len()], ..rated[at].1.clone() };
            rated.push((makespan(&open), open));
        }
        rated.sort_by(|a, b| sort_key(a.0).total_cmp(&sort_key(b.0)));
        let last = rated.len().checked_sub(1)?;
        let mut islands: Vec<Island<'_>> = (0..ISLANDS)
            .map(|i| {
                // The two best plans, each twice.
                let (best_makespan, plan) = rated[(i / 2).min(last)].clone();
                let walk = Walk::new(self.compact, self.tails, plan);
                let random = rng::stream(self.request.seed, "best/island", i as u64);
                Island { best: walk.decided(), walk, random, best_makespan }
            })
            .collect();
        let mut left = match (self.request.iterations, self.request.time_limit) {
            (Some(iterations), _) => iterations,
            (None, Some(_)) => u64::MAX,
            (None, None) => default_iterations(self.compact),
        };
        let mut pass = left.min(default_iterations(self.compact));
        while left > 0 && !self.done(&islands) {
            self.pass(&mut islands, pass);
            left -= pass;
            pass = left.min(pass.saturating_mul(2));
        }
        let mut best = &islands[0];
        for island in &islands[1..] {
            if approx::lt(island.best_makespan, best.best_makespan) {
                best = island;
            }
        }
        Some((best.best_makespan, best.best.clone()))
    }

    fn done(&self, islands: &[Island<'_>]) -> bool {
        islands.iter().for_each(|island| self.budget.found(island.best_makespan));
        let reached = |i: &Island<'_>| approx::le(i.best_makespan, self.bound);
        self.budget.is_over() || islands.iter().any(reached)
    }

    /// One annealing from warm to cold with so many iterations.
    fn pass(&self, islands: &mut [Island<'_>], iterations: u64) {
        let share = (iterations / (ISLANDS * ROUNDS) as u64).max(1);
        for round in 0..ROUNDS {
            islands.par_iter_mut().enumerate().for_each(|(i, island)| {
                let warm = 0.012 * (1.0 + i as f64 * 0.5);
                let at = |r: usize| warm * (0.02f64).powf(r as f64 / ROUNDS as f64);
                island.anneal(self, share, (at(round), at(round + 1)));
            });
            if self.done(islands) {
                return;
            }
            self.exchange(islands);
        }
        for island in islands {
            let best = island.best.clone();
            island.walk.set(&best);
        }
    }

    /// Replaces the plan of the worst island by that of the best one.
    fn exchange(&self, islands: &mut [Island<'_>]) {
        let (mut best, mut worst) = (0, 0);
        for i in 1..islands.len() {
            if approx::lt(islands[i].best_makespan, islands[best].best_makespan) {
                best = i;
            }
            if approx::gt(islands[i].walk.makespan(), islands[worst].walk.makespan()) {
                worst = i;
            }
        }
        let (plan, makespan) = (islands[best].best.clone(), islands[best].best_makespan);
        let target = &mut islands[worst];
        target.walk.set(&plan);
        if approx::lt(makespan, target.best_makespan) {
            (target.best, target.best_makespan) = (plan, makespan);
        }
    }
}

impl Island<'_> {
    fn anneal(&mut self, shared: &Archipelago<'_>, iterations: u64, heat: (f64, f64)) {
        let mut accepted = 0usize;
        let scale = self.best_makespan;
        for k in 0..iterations {
            if k % SLICE == 0 && shared.budget.is_over() {
                return;
            }
            let progress = k as f64 / iterations as f64;
            let temperature = scale * heat.0 * (heat.1 / heat.0).powf(progress);
            let luck: f64 = self.random.random_range(f64::MIN_POSITIVE..1.0);
            let limit = self.walk.makespan() - temperature * luck.ln();
            if !self.walk.step(&mut self.random, limit) {
                continue;
            }
            accepted += 1;
            if approx::lt(self.walk.makespan(), self.best_makespan) {
                self.best_makespan = self.walk.makespan();
                self.best = self.walk.decided();
                if approx::le(self.best_makespan, shared.bound) {
                    return;
                }
            }
            if accepted.is_multiple_of(64) {
                self.walk.tidy();
            }
        }
    }
}

/// About a second for a hundred tasks on two cores, a few for thousands.
fn default_iterations(compact: &Compact) -> u64 {
    let size = (compact.len() + compact.parents.len()) as f64;
    let steps = (8e7 / size.powf(0.9)) as u64 + 1000;
    // Few tasks have few plans.
    steps.min(20_000 * compact.len() as u64)
}

#[cfg(test)]
mod tests;
