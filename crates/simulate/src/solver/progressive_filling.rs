//! Progressive filling: the textbook algorithm for bounded weighted max-min fairness.
//!
//! All levels rise together; a variable stops when it meets its bound or when a constraint it
//! crosses is full (Bertsekas & Gallager, Data Networks, 6.5.2). O(rounds x constraints +
//! elements). Always feasible: a constraint without capacity holds its variables at zero.
//! Ties: constraints that fill at the same level all hold their variables; a variable crossing
//! several of them is held by the lowest id.

use super::system::{NO_ID, System};

/// Levels of the variables and of the constraints, and the constraint that holds each variable.
pub(super) struct Filling {
    pub(super) levels: Vec<f64>,
    pub(super) holders: Vec<u32>,
    pub(super) constraint_levels: Vec<f64>,
}

impl System {
    /// Solves everything from scratch, whatever changed.
    pub fn solve_whole(&mut self) {
        self.queue.clear();
        self.hubs.iter_mut().for_each(|hub| hub.valid = false);
        // Nothing is known about how far an unsaturated constraint is from filling.
        for load in &mut self.loads {
            load.queued = false;
            load.watch_all();
        }
        let filling = self.fill_progressively();
        for constraint in 0..self.levels.len() {
            let level = filling.constraint_levels[constraint];
            if self.levels[constraint] != level {
                self.levels[constraint] = level;
                self.report_constraint(constraint as u32);
            }
        }
        for id in 0..self.variables.len() {
            if !self.variables[id].attached {
                continue;
            }
            let (level, holder) = (filling.levels[id], filling.holders[id]);
            let variable = &self.variables[id];
            let moved =
                variable.bottleneck != holder || (holder == NO_ID && variable.own_level != level);
            self.set_holder(id as u32, level, holder);
            if moved {
                self.report_variable(id as u32);
            }
        }
    }

    /// The levels progressive filling gives, without touching the present ones.
    pub(super) fn fill_progressively(&self) -> Filling {
        let constraints = self.constraints.len();
        let mut left: Vec<f64> = self.constraints.iter().map(|c| c.capacity).collect();
        let mut growing: Vec<f64> = vec![0.0; constraints];
        let mut active: Vec<u32> = Vec::new();
        for (id, variable) in self.variables.iter().enumerate() {
            if variable.attached {
                active.push(id as u32);
                for element in &self.elements[variable.elements()] {
                    growing[element.constraint as usize] += element.coefficient / variable.weight;
                }
            }
        }
        let mut filling = Filling {
            levels: vec![0.0; self.variables.len()],
            holders: vec![NO_ID; self.variables.len()],
            constraint_levels: vec![f64::INFINITY; constraints],
        };
        let mut crossed_by: Vec<u32> = vec![0; constraints];
        while !active.is_empty() {
            // Counting is exact where subtracting shares leaves a rounding residue.
            crossed_by.fill(0);
            for &id in &active {
                for element in &self.elements[self.variables[id as usize].elements()] {
                    crossed_by[element.constraint as usize] += 1;
                }
            }
            let mut level = f64::INFINITY;
            for c in 0..constraints {
                if crossed_by[c] > 0 {
                    level = level.min(left[c].max(0.0) / growing[c]);
                }
            }
            let lowest_ceiling = active
                .iter()
                .map(|&id| self.variables[id as usize].ceiling)
                .fold(f64::INFINITY, f64::min);
            let bounded = lowest_ceiling < level;
            let level = level.min(lowest_ceiling);
            if !bounded {
                for c in 0..constraints {
                    let full = left[c].max(0.0) / growing[c] <= level * (1.0 + 1e-14);
                    if crossed_by[c] > 0 && level < f64::INFINITY && full {
                        filling.constraint_levels[c] = level;
                    }
                }
            }
            let before = active.len();
            active.retain(|&id| {
                let variable = &self.variables[id as usize];
                let elements = &self.elements[variable.elements()];
                let holder = elements
                    .iter()
                    .map(|e| e.constraint)
                    .filter(|&c| filling.constraint_levels[c as usize] < f64::INFINITY)
                    .min();
                let held = if bounded { variable.ceiling <= level } else { holder.is_some() };
                if !held && level < f64::INFINITY {
                    return true;
                }
                filling.levels[id as usize] = level;
                filling.holders[id as usize] =
                    if bounded { NO_ID } else { holder.unwrap_or(NO_ID) };
                for element in elements {
                    let ratio = element.coefficient / variable.weight;
                    left[element.constraint as usize] -= ratio * level;
                    growing[element.constraint as usize] -= ratio;
                }
                false
            });
            debug_assert!(active.len() < before, "every round holds a variable");
            if active.len() == before {
                break;
            }
        }
        filling
    }
}
