//! Genetic algorithm, in the manner of Wang, Siegel, Roychowdhury, Maciejewski (JPDC 47(1), 1997).
//!
//! A chromosome is a precedence-feasible list and a processor map, decoded without insertion.
//! Population 50, one of them HEFT's plan, the others random; tournaments of two; one-point crossover
//! of the list (the tail in the other parent's order, which keeps precedence) and of the map, with
//! probability 0.4; mutation 0.1 of list and map each; the best survives. 1,000 iterations
//! (generations), fewer after 150 without improvement. O(v + e) per chromosome. Ties: the earlier one.

use super::MetaContext;
use crate::best::walk::Draft;
use crate::registry::{Algorithm, Basis, Family, PlanError, Request};
use rand::RngExt;
use slackline_model::rng::Stream;
use slackline_model::{Problem, Schedule, approx};

/// Registry entry.
pub const GA: Algorithm = Algorithm {
    name: "ga",
    family: Family::Search,
    basis: Basis::Recalled,
    about: "genetic algorithm over lists and processor maps",
    source: "Wang et al., JPDC 47(1), 1997",
    complexity: "O(v + e) per chromosome, 50 per iteration",
    parameters: &[],
    needs: &[],
    plan,
};

const POPULATION: usize = 50;
const GENERATIONS: u64 = 1000;
const PATIENCE: u64 = 150;
const CROSSOVER: f64 = 0.4;
const MUTATION: f64 = 0.1;

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let ground = match MetaContext::new(GA.name, problem, request)? {
        Ok(ground) => ground,
        Err(done) => return Ok(done),
    };
    let mut random = ground.random("ga");
    let n = ground.compact.len();
    let mut walk = ground.decoder(&ground.first);
    let mut people: Vec<(f64, Draft)> = vec![(walk.makespan(), ground.first.clone())];
    while people.len() < POPULATION {
        let plan = ground.random_plan(&mut random);
        walk.set(&plan);
        people.push((walk.makespan(), plan));
    }
    let mut best = fittest(&people).clone();
    let mut since = 0;
    for _ in 0..ground.iterations(GENERATIONS, POPULATION as f64) {
        if ground.budget.is_over() || since == PATIENCE {
            break;
        }
        let mut next = vec![best.clone()];
        while next.len() < POPULATION {
            let mut child = tournament(&people, &mut random).clone();
            if random.random_bool(CROSSOVER) {
                child = cross(&child, tournament(&people, &mut random), &mut random);
            }
            if random.random_bool(MUTATION) {
                ground.shift(&mut child, &mut random);
            }
            if random.random_bool(MUTATION) {
                let task = random.random_range(0..n);
                child.choice[task] = ground.any_bank(task, &mut random);
            }
            walk.set(&child);
            next.push((walk.makespan(), child));
        }
        people = next;
        since += 1;
        let leader = fittest(&people);
        if approx::lt(leader.0, best.0) {
            best = leader.clone();
            since = 0;
        }
    }
    Ok(ground.schedule(problem, &best.1))
}

fn fittest(people: &[(f64, Draft)]) -> &(f64, Draft) {
    let mut best = &people[0];
    for one in &people[1..] {
        if approx::lt(one.0, best.0) {
            best = one;
        }
    }
    best
}

fn tournament<'p>(people: &'p [(f64, Draft)], random: &mut Stream) -> &'p Draft {
    let a = &people[random.random_range(0..people.len())];
    let b = &people[random.random_range(0..people.len())];
    if approx::lt(b.0, a.0) { &b.1 } else { &a.1 }
}

/// The head of one list and the rest in the order of the other; likewise the map.
fn cross(a: &Draft, b: &Draft, random: &mut Stream) -> Draft {
    let n = a.order.len();
    let cut = random.random_range(0..=n);
    let mut taken = vec![false; n];
    let mut order = a.order[..cut].to_vec();
    order.iter().for_each(|&t| taken[t as usize] = true);
    order.extend(b.order.iter().filter(|&&t| !taken[t as usize]));
    let cut = random.random_range(0..=n);
    let choice = a.choice[..cut].iter().chain(&b.choice[cut..]).copied().collect();
    Draft { order, choice }
}
