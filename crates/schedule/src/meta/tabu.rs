//! Tabu search (Glover, ORSA Journal on Computing 1(3), 1989 and 2(1), 1990; as in Arabnejad,
//! Barbosa, Euro-Par 2011 workshops).
//!
//! Variables are the tasks, values their processors; the list is HEFT's, decoded without insertion.
//! From random values, each iteration takes the best move of a task to another processor that is not
//! tabu, or that beats the best plan (aspiration); the way back is tabu for max(7, sqrt v)
//! iterations. Where v p is large, a random sample of the moves is evaluated. After a stretch without
//! improvement the search goes back to its best plan with a few random values (diversification).
//! O(v + e) per move evaluated. Ties: lower task, lower processor.

use super::MetaContext;
use crate::best::walk::Draft;
use crate::registry::{Algorithm, Basis, Family, PlanError, Request};
use rand::RngExt;
use slackline_model::{Problem, Schedule, approx};

/// Registry entry.
pub const TABU: Algorithm = Algorithm {
    name: "tabu",
    family: Family::Search,
    basis: Basis::Recalled,
    about: "tabu search over the processors of the tasks",
    source: "Glover, ORSA J. Computing 1(3), 1989; Arabnejad, Barbosa, Euro-Par 2011",
    complexity: "O((v + e) v p) per iteration, sampled where large",
    parameters: &[],
    needs: &[],
    plan,
};

const ITERATIONS: u64 = 1000;
const NEIGHBOURS: usize = 200;
const PATIENCE: u64 = 100;

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let ground = match MetaContext::new(TABU.name, problem, request)? {
        Ok(ground) => ground,
        Err(done) => return Ok(done),
    };
    let mut random = ground.random("tabu");
    let (n, banks) = (ground.compact.len(), ground.compact.banks());
    let values = (0..n).map(|t| ground.any_bank(t, &mut random)).collect();
    let mut current = Draft { order: ground.first.order.clone(), choice: values };
    let mut walk = ground.decoder(&current);
    let (mut best, mut best_cost) = (current.clone(), walk.makespan());
    let tenure = (n as f64).sqrt().max(7.0) as u64;
    // Until when a task may not go back to a bank.
    let mut tabu = vec![0u64; n * banks];
    let all: Vec<(usize, u32)> = (0..n)
        .flat_map(|t| (0..banks).map(move |s| (t, s as u32)))
        .filter(|&(t, s)| ground.compact.seconds(t, s as usize).is_finite())
        .collect();
    let looked_at = all.len().min(NEIGHBOURS);
    let mut since = 0;
    for iteration in 1..=ground.iterations(ITERATIONS, looked_at as f64) {
        if ground.budget.is_over() {
            break;
        }
        let mut chosen: Option<(f64, usize, u32)> = None;
        for k in 0..looked_at {
            let sampled = all.len() > NEIGHBOURS;
            let (task, bank) = all[if sampled { random.random_range(0..all.len()) } else { k }];
            let before = current.choice[task];
            if bank == before {
                continue;
            }
            current.choice[task] = bank;
            walk.set(&current);
            current.choice[task] = before;
            let cost = walk.makespan();
            let allowed =
                tabu[task * banks + bank as usize] < iteration || approx::lt(cost, best_cost);
            if allowed && chosen.is_none_or(|(least, _, _)| approx::lt(cost, least)) {
                chosen = Some((cost, task, bank));
            }
        }
        let Some((cost, task, bank)) = chosen else { continue };
        let before = std::mem::replace(&mut current.choice[task], bank);
        tabu[task * banks + before as usize] = iteration + tenure;
        if approx::lt(cost, best_cost) {
            (best, best_cost, since) = (current.clone(), cost, 0);
        } else {
            since += 1;
            if since == PATIENCE {
                since = 0;
                current.clone_from(&best);
                for _ in 0..n.div_ceil(10) {
                    let task = random.random_range(0..n);
                    current.choice[task] = ground.any_bank(task, &mut random);
                }
            }
        }
    }
    Ok(ground.schedule(problem, &best))
}
