//! `exact`: the shortest plan, with a proof, for small problems.
//!
//! Branch and bound. A node is a partial schedule; its children start one more task whose parents
//! are placed, at some bank, not before the last start: every schedule without
//! needless idle time is reached, by the order of its starts. A node is cut off when
//!
//! - heads and tails (transfers included), the remaining work, or the tasks that must share a bank
//!   show that no completion is shorter than the plan at hand;
//! - a task would fit into an earlier gap of its bank (such schedules are not needed);
//! - its bank is as good as a lower one of which nothing has been used yet either;
//! - a node visited before had the same tasks done in the same places, cores and data no later, the
//!   last start no later and no larger sum of starts. (The sum makes the rules agree: each replaces
//!   a schedule by one whose sum is smaller, or not larger and visited earlier, so that some
//!   shortest schedule always survives.)
//!
//! The first plan comes from `best`. Exponential, for at most 128 unfinished tasks;
//! interruptible: time, iterations
//! (nodes, after as many of `best`) or the stop flag end it with the best plan and the bound proven so far. Tasks that may be
//! wider than one processor, or tasks fixed in the future, leave the search space that is proven:
//! then the plan is that of `best` and the bound the general one.

mod memo;
mod search;
mod shared;

use crate::best;
use crate::bounds::{Bounder, granule, lower_bound};
use crate::budget::Budget;
use crate::compact::Compact;
use crate::registry::{Algorithm, Basis, Family, PlanError, Request};
use search::Search;
use slackline_model::{Problem, Schedule, approx};

/// Registry entry.
pub const EXACT: Algorithm = Algorithm {
    name: "exact",
    family: Family::Search,
    basis: Basis::Own,
    about: "branch and bound: the shortest plan of small problems, with proof",
    source: "Slackline",
    complexity: "exponential",
    parameters: &[],
    needs: &[],
    plan,
};

/// Tasks that fit the set of placed tasks.
const MOST_TASKS: usize = 128;
/// Default limit on nodes.
const DEFAULT_NODES: u64 = 3_000_000;

/// A plan and what has been proven of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// The shortest plan found.
    pub schedule: Schedule,
    /// No schedule ends earlier.
    pub bound: f64,
    /// Nodes visited.
    pub nodes: u64,
}

impl Solved {
    /// The plan is proven to be a shortest one.
    pub fn is_optimal(&self) -> bool {
        approx::le(self.schedule.makespan(), self.bound)
    }
}

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    Ok(solve(problem, request)?.schedule)
}

/// Solves problems in which tasks share more than processors.
fn solve_shared(
    problem: &Problem<'_>,
    request: &Request,
    budget: Budget,
    bound: f64,
    schedule: Schedule,
) -> Solved {
    let compact = Compact::new(problem).ok().filter(|c| shared::is_faithful(problem, c));
    let Some(compact) = compact else { return Solved { schedule, bound, nodes: 0 } };
    let bounder = Bounder::new(problem, &compact);
    let nodes = request.iterations.unwrap_or(DEFAULT_NODES);
    let makespan = schedule.makespan();
    let mut search = shared::Search::new(problem, &compact, &bounder, makespan, (budget, nodes));
    let open = search.run();
    let schedule = search.schedule().unwrap_or(schedule);
    let makespan = schedule.makespan();
    let proven = match open {
        None => makespan,
        Some(open) => granule::round_up(bound.max(open), bounder.granule()).min(makespan),
    };
    Solved { schedule, bound: proven, nodes: search.nodes() }
}

/// The shortest plan, or the best one and a bound when a limit ends the search.
pub fn solve(problem: &Problem<'_>, request: &Request) -> Result<Solved, PlanError> {
    let budget = Budget::start(request);
    let unfinished = problem.workflow().tasks().filter(|&t| problem.state().fixed(t).is_none());
    let unfinished = unfinished.count();
    if unfinished > MOST_TASKS {
        let why = format!("{unfinished} unfinished tasks, the most is {MOST_TASKS}: use `best`");
        return Err(PlanError::Unsupported { algorithm: EXACT.name, why });
    }
    let bound = lower_bound(problem);
    let schedule = best::search(problem, request, Some(bound))?;
    let makespan = schedule.makespan();
    if approx::le(makespan, bound) {
        return Ok(Solved { schedule, bound, nodes: 0 });
    }
    if problem.has_pools() {
        return Ok(solve_shared(problem, request, budget, bound, schedule));
    }
    // Tasks over several hosts, and inputs that leave in turn, cannot be expressed with banks.
    let Some(compact) = Compact::new(problem).ok().filter(|c| c.faithful) else {
        return Ok(Solved { schedule, bound, nodes: 0 });
    };
    let bounder = Bounder::new(problem, &compact);
    let nodes = request.iterations.unwrap_or(DEFAULT_NODES);
    let mut search = Search::new(&compact, &bounder, makespan, budget, nodes);
    let open = search.run();
    let schedule = match search.found() {
        Some((order, banks)) => compact.schedule(problem, order, banks),
        None => schedule,
    };
    let makespan = schedule.makespan();
    let proven = match open {
        None => makespan,
        Some(open) => granule::round_up(bound.max(open), bounder.granule()).min(makespan),
    };
    Ok(Solved { schedule, bound: proven, nodes: search.nodes() })
}
