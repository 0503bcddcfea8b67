//! A genetic algorithm under budget and deadline (Yu, Buyya, Scientific Programming 14, 2006), reconstructed
//! from its description in Arabnejad's comparison.
//!
//! An individual is an order of the tasks, at first by falling upward rank, and a processor for each,
//! decoded without insertion. 300 random individuals, at most 100 generations (`--iterations`), fewer on
//! large workflows. The better half survives; pairs of survivors exchange the processors of a window of
//! tasks; each child is changed with probability 0.5 by swapping two tasks of a processor and with 0.5 by
//! giving a task another one. Fitness is `max(cost / budget, 1) + max(makespan / deadline, 1)`. The search ends with the first plan within both limits. Ties: the older one.

use super::genome::Genome;
use super::pareto::{self, Point};
use super::{Course, cheapest};
use crate::budget::Budget;
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use rand::RngExt;
use slackline_model::approx;
use slackline_model::rng::{Stream, stream};
use slackline_model::schedule::Limits;
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const GA_QOS: Algorithm = Algorithm {
    name: "ga-qos",
    family: Family::Qos,
    basis: Basis::Recalled,
    about: "genetic algorithm for the first plan within budget and deadline",
    source: "Yu, Buyya, Scientific Programming 14, 2006",
    complexity: "O(v + e) per individual, 300 per iteration",
    parameters: &[],
    needs: &[Need::Budget, Need::Deadline],
    plan,
};

const POPULATION: usize = 300;
const GENERATIONS: u64 = 100;
/// Default limit of the effort of a run, in visits of a task or dependency.
const EFFORT: f64 = 1e9;

struct Individual {
    genome: Genome,
    point: Point,
    schedule: Schedule,
}

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, request);
    // Also the error for a task that can run nowhere.
    let safe = cheapest::plan(problem)?;
    if course.order.is_empty() {
        return Ok(safe);
    }
    let limits = request.limits;
    let mut random = stream(request.seed, "ga-qos", 0);
    let budget = Budget::start(request);
    let one = (course.order.len() + problem.workflow().edge_count()) as f64;
    let usual = GENERATIONS.min((EFFORT / one / POPULATION as f64) as u64).max(1);
    let mut people: Vec<Individual> = Vec::new();
    'search: for generation in 0..=request.iterations.unwrap_or(usual) {
        let parents = people.len();
        let born = if generation == 0 { POPULATION } else { POPULATION / 2 };
        for index in 0..born {
            let genome = match (generation, index) {
                // An existing plan costs nothing to evaluate, and there is always one.
                (0, 0) => Genome::read(&course, &safe),
                (0, _) => Genome::random(&course, &mut random),
                _ => child(&people[..parents], &course, &mut random),
            };
            let Some((point, schedule)) = genome.decode(&course) else { continue };
            people.push(Individual { genome, point, schedule });
            if point.excess(&limits) == 0.0 {
                break 'search;
            }
        }
        if people.is_empty() || budget.is_over() {
            break;
        }
        // Stable: of equal ones the older.
        people.sort_by(|a, b| key(a, &limits).total_cmp(&key(b, &limits)));
        people.truncate(POPULATION / 2);
    }
    let points: Vec<Point> = people.iter().map(|one| one.point).collect();
    match people.is_empty() {
        true => Ok(safe),
        false => Ok(people.swap_remove(pareto::best(&points, &limits)).schedule),
    }
}

fn child(parents: &[Individual], course: &Course<'_, '_>, random: &mut Stream) -> Genome {
    let mut parent = || &parents[random.random_range(0..parents.len())].genome;
    let (first, second) = (parent(), parent());
    Genome::child(first, second, course, random)
}

/// Fitness to make small.
fn key(one: &Individual, limits: &Limits) -> f64 {
    let share = |value: f64, limit: Option<f64>| {
        limit.map_or(1.0, |limit| (value / limit.max(f64::MIN_POSITIVE)).max(1.0))
    };
    let fitness = share(one.point.cost, limits.budget) + share(one.point.makespan, limits.deadline);
    approx::sort_key(fitness.min(f64::MAX))
}
