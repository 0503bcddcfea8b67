//! Fair-bottleneck sharing, the rule of the L07 model of parallel tasks.
//!
//! In every round what is left of each constraint is divided equally, in units of the resource,
//! among the variables that still grow on it; a variable grows by the least its constraints
//! allow and stops at its bound or when one of them is exhausted. Unlike max-min on rates this
//! gives a large and a small transfer on one link the same bytes per second.
//!
//! Variables limited by different constraints in a circle leave something over in each round, so
//! that convergence is geometric at worst: a constraint counts as exhausted at 1e-12 of its
//! capacity, and after [`MAX_ROUNDS`] the rates reached (feasible at any time) are taken.
//! Weights play no part. Only the connected components that changed are solved. Cost: rounds x elements of the component.

use super::system::{NO_ID, System};

/// Rounds after which the rates reached are good enough.
pub const MAX_ROUNDS: usize = 500;

const EXHAUSTED: f64 = 1e-12;

impl System {
    /// Brings all rates to the fair-bottleneck allocation after any changes.
    pub fn solve_fair_bottleneck(&mut self) {
        let (constraints, variables) = self.component();
        let mut left = vec![0.0; self.constraints.len()];
        let mut growing_on = vec![0u32; self.constraints.len()];
        for &c in &constraints {
            left[c as usize] = self.constraints[c as usize].capacity;
        }
        let mut reached = vec![0.0f64; variables.len()];
        let mut step = vec![0.0f64; variables.len()];
        let mut active: Vec<usize> = (0..variables.len()).collect();
        for _ in 0..MAX_ROUNDS {
            if active.is_empty() {
                break;
            }
            for &c in &constraints {
                growing_on[c as usize] = 0;
            }
            for &k in &active {
                for element in &self.elements[self.variables[variables[k] as usize].elements()] {
                    growing_on[element.constraint as usize] += 1;
                }
            }
            for &k in &active {
                let variable = &self.variables[variables[k] as usize];
                let mut room = variable.ceiling / variable.weight - reached[k];
                for element in &self.elements[variable.elements()] {
                    let c = element.constraint as usize;
                    room = room.min(left[c] / f64::from(growing_on[c]) / element.coefficient);
                }
                step[k] = room.max(0.0);
            }
            for &k in &active {
                reached[k] += step[k];
                for element in &self.elements[self.variables[variables[k] as usize].elements()] {
                    left[element.constraint as usize] -= element.coefficient * step[k];
                }
            }
            active.retain(|&k| {
                let variable = &self.variables[variables[k] as usize];
                let bound = variable.ceiling / variable.weight;
                reached[k] < bound * (1.0 - EXHAUSTED)
                    && self.elements[variable.elements()].iter().all(|element| {
                        let c = element.constraint as usize;
                        left[c] > EXHAUSTED * self.constraints[c].capacity
                    })
            });
        }
        for (k, &id) in variables.iter().enumerate() {
            let variable = &mut self.variables[id as usize];
            let level = reached[k] * variable.weight;
            if level != variable.own_level {
                variable.own_level = level;
                self.report_variable(id);
            }
        }
    }

    /// The constraints reachable from those that changed, and the variables that cross them.
    fn component(&mut self) -> (Vec<u32>, Vec<u32>) {
        let mut constraints: Vec<u32> = Vec::new();
        while let Some(next) = self.queue.pop() {
            constraints.push(next);
        }
        let mut seen = vec![false; self.variables.len()];
        let mut variables = Vec::new();
        // A variable without constraints belongs to no component but has a bound to reach.
        for k in 0..self.changed_variables.len() {
            let id = self.changed_variables[k];
            if !seen[id as usize] && self.variables[id as usize].attached {
                seen[id as usize] = true;
                variables.push(id);
            }
        }
        let mut next = 0;
        while next < constraints.len() {
            let here = constraints[next] as usize;
            next += 1;
            for k in 0..self.constraints[here].crossings.len() {
                let id = self.constraints[here].crossings[k].variable;
                if seen[id as usize] {
                    continue;
                }
                seen[id as usize] = true;
                variables.push(id);
                for at in self.variables[id as usize].elements() {
                    let other = self.elements[at].constraint;
                    if !self.loads[other as usize].queued {
                        self.loads[other as usize].queued = true;
                        constraints.push(other);
                    }
                }
            }
        }
        for &c in &constraints {
            self.loads[c as usize].queued = false;
        }
        // The same order whatever the order of the changes.
        variables.sort_unstable();
        for &id in &variables {
            self.variables[id as usize].bottleneck = NO_ID;
        }
        (constraints, variables)
    }
}
