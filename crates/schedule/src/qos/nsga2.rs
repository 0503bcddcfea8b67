//! NSGA-II over makespan and cost (Deb et al., IEEE TEC 6(2), 2002; for workflows Yu, Kirley, Buyya, Grid
//! 2007), from general knowledge.
//!
//! An individual is an order of the tasks and a processor for each, decoded without insertion. The first of 100
//! are HEFT's and the cheapest plan, the others random; 100 generations (`--iterations`), fewer on large
//! workflows. Parents win tournaments of two by front and room around them; children exchange a window of
//! processors and are changed with probability 0.5 each by swapping two tasks of a processor and by giving a
//! task another one. Parents and children together are thinned front by front. Given is the shortest plan
//! within the limits, else the one that breaks them least; all are reported as `front`.

use super::genome::Genome;
use super::moheft::give;
use super::pareto::{Point, spread};
use super::{Course, cheapest};
use crate::budget::Budget;
use crate::registry::{Algorithm, Basis, Family, PlanError, Request};
use rand::RngExt;
use slackline_model::rng::{Stream, stream};
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const NSGA2: Algorithm = Algorithm {
    name: "nsga2",
    family: Family::Qos,
    basis: Basis::Recalled,
    about: "evolution of a front of plans over time and cost",
    source: "Yu, Kirley, Buyya, Grid 2007",
    complexity: "O(v + e) per individual, 100 per iteration",
    parameters: &[],
    needs: &[],
    plan,
};

const POPULATION: usize = 100;
const GENERATIONS: u64 = 100;
/// Default limit of the effort of a run, in visits of a task or dependency.
const EFFORT: f64 = 1e9;

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, request);
    let (heft, _) = course.heft()?;
    if course.order.is_empty() {
        return Ok(heft);
    }
    let mut random = stream(request.seed, "nsga2", 0);
    let budget = Budget::start(request);
    let one = (course.order.len() + problem.workflow().edge_count()) as f64;
    let usual = GENERATIONS.min((EFFORT / one / POPULATION as f64) as u64).max(1);
    let first = [Genome::read(&course, &heft), Genome::read(&course, &cheapest::plan(problem)?)];
    let others = (first.len()..POPULATION).map(|_| Genome::random(&course, &mut random));
    let mut people: Vec<(Genome, Point)> = Vec::new();
    for genome in first.into_iter().chain(others.collect::<Vec<_>>()) {
        people.extend(genome.measure(&course).map(|point| (genome, point)));
    }
    for _ in 0..request.iterations.unwrap_or(usual) {
        if people.is_empty() || budget.is_over() {
            break;
        }
        let parents = people.len();
        for _ in 0..POPULATION {
            let child = child(&people[..parents], &course, &mut random);
            people.extend(child.measure(&course).map(|point| (child, point)));
        }
        let points: Vec<Point> = people.iter().map(|(_, point)| *point).collect();
        let kept = spread(&points, POPULATION);
        people = kept.into_iter().map(|at| people[at].clone()).collect();
    }
    let decoded = people.iter().filter_map(|(genome, _)| genome.decode(&course));
    // HEFT's own plan is there too: decoded without insertion it may be longer.
    let own = Point { makespan: heft.makespan(), cost: course.prices.of_plan(&heft) };
    Ok(give(std::iter::once((own, heft)).chain(decoded).collect(), &request.limits))
}

fn child(parents: &[(Genome, Point)], course: &Course<'_, '_>, random: &mut Stream) -> Genome {
    let mut parent = || {
        let (a, b) = (random.random_range(0..parents.len()), random.random_range(0..parents.len()));
        let (a, b) = (&parents[a], &parents[b]);
        if b.1.dominates(a.1) { &b.0 } else { &a.0 }
    };
    let (first, second) = (parent(), parent());
    Genome::child(first, second, course, random)
}
