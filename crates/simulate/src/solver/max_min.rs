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
//! variables may rise harmlessly (its *guard*) and is not even looked at below that. A saturated
//! one that affects no other knows the sums its level follows from (its *balance*) and is
//! computed in constant time, however many variables it holds.
//!
//! Cost: the variables of the constraints whose inputs change, times the length of their routes.
//! Ties: a variable held equally by several constraints stays with the one that holds it;
//! a new one goes to the first in its list. Two levels within [`SAME`] of each other are the
//! same. If rounding should ever keep the iteration from settling, the system is solved whole.

use super::system::{Balance, NOBODY, System};

/// Relative distance of two levels that are equal but for rounding.
pub const SAME: f64 = 1e-13;

/// Constraints crossed by fewer variables are computed anew as fast as from a balance.
const WORTH_A_BALANCE: usize = 12;

/// Adjustments after which sums are computed anew, against rounding.
const MAX_AGE: u32 = 200;

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

    /// Computes the level of one constraint from its balance; false when the balance does not
    /// hold, or the level would leave the range in which nothing else changes.
    fn rebalance(&mut self, at: u32) -> bool {
        let constraint = &mut self.constraints[at as usize];
        let Balance { valid, members, age, ratios, rest, low, high } = constraint.balance;
        if !valid || members == 0 || age > MAX_AGE {
            return false;
        }
        let old = self.levels[at as usize];
        let new = (constraint.capacity - rest) / ratios;
        if !(new > low && new <= high) {
            return false;
        }
        if (new - old).abs() > SAME * old {
            self.levels[at as usize] = new;
            self.report_constraint(at);
        }
        true
    }

    /// Computes the level of one constraint from the levels around it and passes a change on.
    fn refill(&mut self, at: u32) {
        let old = self.levels[at as usize];
        let new = self.local_level(at);
        if new == f64::INFINITY {
            self.constraints[at as usize].balance.valid = false;
            self.set_guard(at);
            if old == f64::INFINITY {
                self.lower_limits(at);
                return;
            }
        } else if old < f64::INFINITY && (new - old).abs() <= SAME * old {
            self.set_balance(at);
            return;
        }
        self.levels[at as usize] = new;
        self.report_constraint(at);
        for k in 0..self.constraints[at as usize].crossings.len() {
            let variable = self.constraints[at as usize].crossings[k].variable;
            self.follow(variable, at, old, new);
        }
        if new == f64::INFINITY {
            self.lower_limits(at);
        } else {
            if old == f64::INFINITY {
                // What is held elsewhere and crosses this constraint now has an effect on it.
                for k in 0..self.constraints[at as usize].crossings.len() {
                    let variable = self.constraints[at as usize].crossings[k].variable;
                    let holder = self.variables[variable as usize].bottleneck;
                    if holder != at && holder != NOBODY {
                        self.constraints[holder as usize].balance.valid = false;
                    }
                }
            }
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

    /// After `local_level` found `at` unsaturated: how far its variables may rise.
    fn set_guard(&mut self, at: u32) {
        let capacity = self.constraints[at as usize].capacity;
        // Root of sum ratio * max(level, guard) = capacity, approached from above.
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
            guard = ((capacity - used) / free).max(0.0);
        }
        self.constraints[at as usize].guard = guard * (1.0 - FULL);
    }

    /// The guard of `at` is new: those who hold its variables may not pass it unnoticed.
    fn lower_limits(&mut self, at: u32) {
        let guard = self.constraints[at as usize].guard;
        for k in 0..self.constraints[at as usize].crossings.len() {
            let variable = self.constraints[at as usize].crossings[k].variable;
            let holder = self.variables[variable as usize].bottleneck;
            if holder != NOBODY {
                let balance = &mut self.constraints[holder as usize].balance;
                balance.high = balance.high.min(guard);
            }
        }
    }

    /// Sums up who crosses a saturated constraint, where that is worth it.
    fn set_balance(&mut self, at: u32) {
        self.constraints[at as usize].balance.valid = false;
        let constraint = &self.constraints[at as usize];
        if constraint.crossings.len() < WORTH_A_BALANCE {
            return;
        }
        let mut balance = Balance { valid: true, high: f64::INFINITY, ..Balance::UNKNOWN };
        for crossing in &constraint.crossings {
            let variable = &self.variables[crossing.variable as usize];
            if variable.bottleneck != at {
                let level = self.level_of(variable);
                balance.rest += crossing.ratio * level;
                balance.low = balance.low.max(level);
                continue;
            }
            balance.members += 1;
            balance.ratios += crossing.ratio;
            balance.high = balance.high.min(variable.ceiling);
            for element in &self.elements[variable.elements()] {
                if element.constraint == at {
                    continue;
                }
                if self.levels[element.constraint as usize] < f64::INFINITY {
                    return;
                }
                let guard = self.constraints[element.constraint as usize].guard;
                balance.high = balance.high.min(guard);
            }
        }
        self.constraints[at as usize].balance = balance;
    }

    /// Adjusts one variable to the new level of constraint `at` and wakes its other constraints.
    #[inline]
    fn follow(&mut self, id: u32, at: u32, old: f64, new: f64) {
        let variable = &mut self.variables[id as usize];
        let (before, after);
        if variable.bottleneck == at {
            before = old;
            if new <= before {
                after = new;
            } else {
                let (first, last) = (variable.first, variable.first + variable.len);
                let (mut least, mut holder) = (new, at);
                if variable.ceiling < least {
                    (least, holder) = (variable.ceiling, NOBODY);
                }
                for element in &self.elements[first as usize..last as usize] {
                    let here = self.levels[element.constraint as usize];
                    if here < least {
                        (least, holder) = (here, element.constraint);
                    }
                }
                if least == f64::INFINITY {
                    holder = NOBODY;
                }
                after = least;
                if holder != at {
                    variable.own_level = least;
                    variable.bottleneck = holder;
                    self.report_variable(id);
                }
            }
        } else {
            before = match variable.bottleneck {
                NOBODY => variable.own_level,
                holder => self.levels[holder as usize],
            };
            if new >= before {
                return;
            }
            after = new;
            if variable.bottleneck != NOBODY {
                self.constraints[variable.bottleneck as usize].balance.valid = false;
            }
            variable.bottleneck = at;
            self.report_variable(id);
        }
        for k in self.variables[id as usize].elements() {
            let other = self.elements[k].constraint;
            if other == at {
                continue;
            }
            let level = self.levels[other as usize];
            let constraint = &mut self.constraints[other as usize];
            constraint.balance.valid = false;
            if level < f64::INFINITY {
                self.enqueue(other, level);
            } else if after > before && after > constraint.guard {
                self.enqueue(other, after);
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
