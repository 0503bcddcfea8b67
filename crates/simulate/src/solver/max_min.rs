//! Bounded weighted max-min fairness, solved again only where something changed.
//!
//! Allocation: maximise lexicographically the sorted vector of weight x rate (the *level*),
//! under capacities and bounds (Bertsekas & Gallager, Data Networks, 6.5.2; used for flows by
//! Casanova & Marchal 2002). The solution is unique, and it is the only allocation in which every variable
//! is at its bound or crosses a saturated constraint on which nobody has a higher level.
//!
//! That certificate is local, which is what the algorithm lives on. Write `o_i(l)` for the level
//! at which variable i is held by anything but constraint l (its bound, its other constraints).
//! The level of l is the root of `sum_i ratio_i * min(o_i(l), level) = capacity`, infinite when
//! the capacity suffices for all. Levels that satisfy these equations together give the
//! certificate, hence the solution. So after a change only the constraints it touches are
//! computed anew; one whose level stays as it was passes nothing on. Constraints
//! are taken lowest level first: a level depends on lower levels only, so that in this order few
//! are computed twice. An unsaturated constraint knows up to which level its
//! variables may rise harmlessly (its *room*) and is not even looked at below that. A saturated
//! one crossed by many knows the sums its level follows from (its *balance*): as long as nobody
//! has to be held elsewhere, a change runs from constraint to constraint and touches no variable.
//!
//! Cost: the variables of the constraints whose inputs change, times the length of their routes.
//! Ties: a variable held equally by several constraints stays with the one that holds it;
//! a new one goes to the first in its list. Two levels within [`SAME`] of each other are the
//! same. If rounding should ever keep the iteration from settling, the system is solved whole.

use super::system::{NOBODY, Room, System};

/// Relative distance of two levels that are equal but for rounding.
pub const SAME: f64 = 1e-13;

/// A constraint used up to this relative excess still counts as not saturated.
const FULL: f64 = 1e-12;

impl System {
    /// Brings all rates to the max-min allocation after any changes.
    pub fn solve_max_min(&mut self) {
        let mut patience = 1000 + 20 * self.constraint_count();
        while let Some(next) = self.queue.pop() {
            self.constraints[next.constraint as usize].queued = false;
            if !self.rebalance(next.constraint) {
                self.refill(next.constraint);
            }
            patience -= 1;
            if patience == 0 {
                self.solve_whole();
                return;
            }
        }
    }

    /// Computes the level of one constraint from the levels around it and passes a change on.
    fn refill(&mut self, at: u32) {
        let old = self.levels[at as usize];
        let new = self.local_level(at);
        if new == f64::INFINITY {
            self.constraints[at as usize].balance.valid = false;
            self.measure_room(at);
            if old == f64::INFINITY {
                return self.register(at);
            }
        } else if old < f64::INFINITY && (new - old).abs() <= SAME * old {
            return self.set_balance(at);
        }
        self.levels[at as usize] = new;
        self.report_constraint(at);
        for k in 0..self.constraints[at as usize].crossings.len() {
            let variable = self.constraints[at as usize].crossings[k].variable;
            self.follow(variable, at, old, new);
        }
        if old == f64::INFINITY || new == f64::INFINITY {
            self.register(at);
        }
        if new < f64::INFINITY {
            self.set_balance(at);
        }
    }

    /// The level at which `at` is saturated, given the levels of everything else.
    fn local_level(&mut self, at: u32) -> f64 {
        let constraint = &self.constraints[at as usize];
        self.scratch.clear();
        let mut wanted = 0.0;
        let mut ratios = 0.0;
        for crossing in &constraint.crossings {
            let variable = &self.variables[crossing.variable as usize];
            let elsewhere = if variable.bottleneck == at {
                let mut least = variable.ceiling;
                for element in &self.elements[variable.elements()] {
                    if element.constraint != at {
                        least = least.min(self.levels[element.constraint as usize]);
                    }
                }
                least
            } else {
                self.level_of(variable)
            };
            wanted += crossing.ratio * elsewhere;
            ratios += crossing.ratio;
            self.scratch.push((elsewhere, crossing.ratio));
        }
        if wanted <= constraint.capacity * (1.0 + FULL) || self.scratch.is_empty() {
            return f64::INFINITY;
        }
        water_level(&self.scratch, ratios, constraint.capacity, self.levels[at as usize])
    }

    /// After `local_level` found `at` unsaturated: how far its variables may rise. Half of what is
    /// left goes to a common guard, half to those already above it.
    fn measure_room(&mut self, at: u32) {
        let capacity = self.constraints[at as usize].capacity;
        let load: f64 = self.scratch.iter().map(|&(level, ratio)| level * ratio).sum();
        if self.scratch.is_empty() || capacity == f64::INFINITY {
            self.rooms[at as usize] = Room::ENDLESS;
            return;
        }
        let spare = (0.5 * (capacity - load)).max(0.0);
        let budget = capacity - spare;
        // Root of sum ratio * max(level, guard) = budget, approached from above.
        let mut guard = f64::INFINITY;
        let mut below = usize::MAX;
        for _ in 0..self.scratch.len() + 4 {
            let (mut used, mut free, mut count) = (0.0, 0.0, 0);
            for &(level, ratio) in &self.scratch {
                if level > guard {
                    used += ratio * level;
                } else {
                    free += ratio;
                    count += 1;
                }
            }
            if count == below || count == 0 {
                break;
            }
            below = count;
            guard = ((budget - used) / free).max(0.0);
        }
        self.rooms[at as usize] = Room { guard: guard * (1.0 - FULL), spare };
    }

    /// Adjusts one variable to the new level of constraint `at` (it was `old`) and tells its
    /// other constraints.
    #[inline]
    fn follow(&mut self, id: u32, at: u32, old: f64, new: f64) {
        let variable = self.variables[id as usize];
        let held = variable.bottleneck == at;
        let before = match variable.bottleneck {
            NOBODY => variable.own_level,
            _ if held => old,
            holder => self.levels[holder as usize],
        };
        let (mut after, mut holder) = (new, at);
        if held && new > before {
            if variable.ceiling < after {
                (after, holder) = (variable.ceiling, NOBODY);
            }
            for element in &self.elements[variable.elements()] {
                let here = self.levels[element.constraint as usize];
                if here < after {
                    (after, holder) = (here, element.constraint);
                }
            }
            if after == f64::INFINITY {
                holder = NOBODY;
            }
        } else if !held && new >= before {
            return;
        }
        if holder == variable.bottleneck {
            for k in variable.elements() {
                let element = self.elements[k];
                if element.constraint != at {
                    let ratio = element.coefficient / variable.weight;
                    self.pass_on(element.constraint, ratio, before, after);
                }
            }
            return;
        }
        // `at` itself is summed up afterwards; its level already is the new one.
        self.variables[id as usize].own_level = before;
        if held {
            self.variables[id as usize].bottleneck = NOBODY;
        }
        self.drop_role(id, at);
        self.variables[id as usize].own_level = after;
        self.variables[id as usize].bottleneck = holder;
        self.take_role(id, at);
        self.report_variable(id);
        for k in variable.elements() {
            let element = self.elements[k];
            if element.constraint != at {
                let level = self.levels[element.constraint as usize];
                if level < f64::INFINITY {
                    self.enqueue(element.constraint, level);
                } else {
                    let ratio = element.coefficient / variable.weight;
                    self.pass_on(element.constraint, ratio, before, after);
                }
            }
        }
    }
}

/// Root of `sum ratio * min(held, level) = capacity` over `(held, ratio)` pairs, which exists.
///
/// Newton's method on a concave piece-wise linear function: after the first step it approaches
/// from below and ends exactly once no pair changes side.
pub(super) fn water_level(pairs: &[(f64, f64)], ratios: f64, capacity: f64, guess: f64) -> f64 {
    let mut level = if guess < f64::INFINITY { guess } else { capacity / ratios };
    let mut below = usize::MAX;
    // Every step but the first moves at least one pair; the limit only guards against rounding.
    for _ in 0..pairs.len() + 4 {
        let (mut used, mut free, mut count) = (0.0, 0.0, 0);
        for &(held, ratio) in pairs {
            if held < level {
                used += ratio * held;
                count += 1;
            } else {
                free += ratio;
            }
        }
        if count == below {
            break;
        }
        below = count;
        level = if count == pairs.len() { capacity / ratios } else { (capacity - used) / free };
    }
    level.max(0.0)
}
