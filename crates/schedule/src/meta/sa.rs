//! Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 220, 1983; as in Arabnejad, Barbosa,
//! Euro-Par 2011 workshops).
//!
//! A precedence-feasible list and a processor map, decoded without insertion. Moves: another
//! processor for one task, or another place in the list. The first temperature accepts the step from
//! the best to the worst of a first sample (HEFT's plan and random ones) with probability 0.9;
//! chains of v moves; geometric cooling by 0.9 (the publication's 0.1 leaves a handful of levels);
//! ends a ten-thousandth of the first temperature, or at the limit on iterations (moves).
//! O(v + e) per move. Ties: the plan found first.

use super::MetaContext;
use crate::registry::{Algorithm, Basis, Family, PlanError, Request};
use rand::RngExt;
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const SA: Algorithm = Algorithm {
    name: "sa",
    family: Family::Search,
    basis: Basis::Published,
    about: "simulated annealing of list and processor map",
    source: "Kirkpatrick et al., Science 220, 1983; Arabnejad, Barbosa, Euro-Par 2011",
    complexity: "O(v + e) per iteration (move)",
    parameters: &[],
    needs: &[],
    plan,
};

const SAMPLE: usize = 10;
const COOLING: f64 = 0.9;
const LAST_TEMPERATURE: f64 = 1e-4;

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let ground = match MetaContext::new(SA.name, problem, request)? {
        Ok(ground) => ground,
        Err(done) => return Ok(done),
    };
    let mut random = ground.random("sa");
    let n = ground.compact.len();
    let mut current = ground.first.clone();
    let mut walk = ground.decoder(&current);
    let mut cost = walk.makespan();
    let (mut best, mut best_cost) = (current.clone(), cost);
    let mut worst_cost = cost;
    for _ in 1..SAMPLE {
        walk.set(&ground.random_plan(&mut random));
        if walk.makespan().is_finite() {
            worst_cost = worst_cost.max(walk.makespan());
        }
    }
    let first = ((best_cost - worst_cost) / 0.9f64.ln()).max(best_cost * 1e-3);
    let mut temperature = first;
    let levels = (LAST_TEMPERATURE.ln() / COOLING.ln()) as u64;
    let mut left = ground.iterations(levels * n as u64, 1.0);
    'cooling: while temperature > first * LAST_TEMPERATURE {
        for _ in 0..n {
            if left == 0 || ground.budget.is_over() {
                break 'cooling;
            }
            left -= 1;
            let mut next = current.clone();
            if random.random_bool(0.5) {
                let task = random.random_range(0..n);
                next.choice[task] = ground.any_bank(task, &mut random);
            } else {
                ground.shift(&mut next, &mut random);
            }
            walk.set(&next);
            let change = walk.makespan() - cost;
            let luck: f64 = random.random_range(0.0..1.0);
            if change < 0.0 || luck <= (-change / temperature).exp() {
                (current, cost) = (next, walk.makespan());
                if cost < best_cost {
                    (best, best_cost) = (current.clone(), cost);
                }
            }
        }
        temperature *= COOLING;
    }
    Ok(ground.schedule(problem, &best))
}
