//! Bounded weighted max-min fairness, solved again only where something changed.
//!
//! Allocation: maximise lexicographically the sorted vector of weight x rate (the *level*),
//! under capacities and bounds (Bertsekas & Gallager, Data Networks, 6.5.2; used for flows by
//! Casanova & Marchal 2002). The solution is unique, and it is the only allocation in which every variable
//! is at its bound or crosses a saturated constraint on which no variable has a higher level.
//!
//! That certificate is local, which is what the algorithm lives on. Write `o_i(l)` for the level at
//! which variable i is held by anything but constraint l (its bound, its other constraints). The
//! level of l is the root of `sum_i ratio_i * min(o_i(l), level) = capacity`, infinite when the
//! capacity suffices for all. Levels that satisfy these equations together give the certificate,
//! hence the solution. So after a change only the constraints it touches are recomputed; one whose
//! level stays as it was passes nothing on. Constraints are taken lowest level first: a level
//! depends on lower levels only, so that in this order few are computed twice. An unsaturated
//! constraint keeps the level up to which its variables may rise without saturating it (its *guard*) and is not
//! checked below that. A saturated one crossed by many (a *hub*) knows the sums its level
//! follows from: a change runs from constraint to constraint and touches no variable but those that
//! have to be held elsewhere.
//!
//! Cost: the variables of the constraints whose inputs change, times the length of their routes.
//! Ties: a variable held equally by several constraints stays with the one that holds it;
//! a new one goes to the first in its list. Two levels within [`SAME`] of each other are the
//! same. If rounding should ever keep the iteration from settling, the system is solved whole.

use super::system::{NO_ID, System};

/// Relative distance of two levels that are equal but for rounding.
pub const SAME: f64 = 1e-13;

/// A constraint used up to this relative excess still counts as not saturated.
const FULL: f64 = 1e-12;

impl System {
    /// Brings all rates to the max-min allocation after any changes.
    pub fn solve_max_min(&mut self) {
        let mut patience = 1000 + 20 * self.constraint_count();
        while let Some(at) = self.queue.pop() {
            if !self.rebalance(at) {
                self.refill(at);
            }
            // Only now: what it changed around it comes back to it, but it has settled.
            self.loads[at as usize].queued = false;
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
            self.forget_sums(at);
            if old == f64::INFINITY {
                return self.register(at);
            }
        } else if old < f64::INFINITY && (new - old).abs() <= SAME * old {
            return self.sum_up(at);
        }
        if new < f64::INFINITY {
            self.loads[at as usize].watch_all();
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
            self.sum_up(at);
        }
    }

    /// The level at which `at` is saturated, given the levels of everything else; when it is not,
    /// its room is measured.
    fn local_level(&mut self, at: u32) -> f64 {
        let constraint = &self.constraints[at as usize];
        self.scratch.clear();
        let mut wanted = 0.0;
        let mut ratios = 0.0;
        let mut highest = 0.0f64;
        for crossing in &constraint.crossings {
            let elsewhere = match crossing.holder {
                NO_ID => self.variables[crossing.variable as usize].own_level,
                holder if holder != at => self.levels[holder as usize],
                _ => {
                    let variable = &self.variables[crossing.variable as usize];
                    let mut least = variable.ceiling;
                    for element in &self.elements[variable.elements()] {
                        if element.constraint != at {
                            least = least.min(self.levels[element.constraint as usize]);
                        }
                    }
                    least
                }
            };
            wanted += crossing.ratio * elsewhere;
            ratios += crossing.ratio;
            highest = highest.max(elsewhere);
            self.scratch.push((elsewhere, crossing.ratio));
        }
        let capacity = constraint.capacity;
        if wanted <= capacity * (1.0 + FULL) || self.scratch.is_empty() {
            let (guard, rest) = find_guard(&self.scratch, capacity, ratios, highest);
            let load = &mut self.loads[at as usize];
            (load.rest, load.guard, load.age) = (rest, guard, 0);
            load.limit = rest.max(capacity);
            return f64::INFINITY;
        }
        water_level(&self.scratch, ratios, capacity, self.levels[at as usize])
    }

    /// Adjusts one variable to the new level of constraint `at` (it was `old`) and updates its
    /// other constraints.
    #[inline]
    fn follow(&mut self, id: u32, at: u32, old: f64, new: f64) {
        let variable = self.variables[id as usize];
        let held = variable.bottleneck == at;
        let before = match variable.bottleneck {
            NO_ID => variable.own_level,
            _ if held => old,
            holder => self.levels[holder as usize],
        };
        let (mut after, mut holder) = (new, at);
        if held && new > before {
            if variable.ceiling < after {
                (after, holder) = (variable.ceiling, NO_ID);
            }
            for element in &self.elements[variable.elements()] {
                let here = self.levels[element.constraint as usize];
                if here < after {
                    (after, holder) = (here, element.constraint);
                }
            }
            if after == f64::INFINITY {
                holder = NO_ID;
            }
        } else if !held && new >= before {
            return;
        }
        if holder == variable.bottleneck {
            for k in variable.elements() {
                let element = self.elements[k];
                if element.constraint != at {
                    let ratio = element.ratio;
                    self.pass_on(element.constraint, ratio, before, after);
                }
            }
            return;
        }
        // `at` itself is summed up afterwards.
        self.change_holder(id, before, (after, holder), at);
    }

    /// Gives a variable another level and holder and updates its constraints (but not `except`).
    pub(super) fn change_holder(
        &mut self,
        id: u32,
        before: f64,
        (after, holder): (f64, u32),
        except: u32,
    ) {
        let variable = self.variables[id as usize];
        self.leave(&variable, before, except);
        let variable = self.set_holder(id, after, holder);
        self.enter(&variable, after, except);
        self.report_variable(id);
        for k in variable.elements() {
            let element = self.elements[k];
            if element.constraint != except {
                let level = self.levels[element.constraint as usize];
                if level < f64::INFINITY {
                    self.enqueue(element.constraint, level);
                } else {
                    let ratio = element.ratio;
                    self.pass_on(element.constraint, ratio, before, after);
                }
            }
        }
    }
}

/// Computes the level to which the variables of an unsaturated constraint may rise, given their
/// `(level, ratio)` pairs: all of them to the level that fills it, if none is above. Else half of
/// the rest goes to a common guard, half to those already above it. Also returns their consumption
/// with none below the guard.
fn find_guard(pairs: &[(f64, f64)], capacity: f64, ratios: f64, highest: f64) -> (f64, f64) {
    if pairs.is_empty() || capacity == f64::INFINITY {
        return (f64::INFINITY, 0.0);
    }
    let mut guard = capacity / ratios;
    if highest <= guard * (1.0 - FULL) {
        return (guard * (1.0 - FULL), capacity * (1.0 - FULL));
    }
    let load: f64 = pairs.iter().map(|&(level, ratio)| level * ratio).sum();
    let spare = (0.5 * (capacity - load)).max(0.0);
    let budget = capacity - spare;
    // Root of sum ratio * max(level, guard) = budget, approached from above.
    let mut below = usize::MAX;
    let mut rest = load;
    for _ in 0..pairs.len() + 4 {
        let (mut used, mut free, mut count) = (0.0, 0.0, 0);
        for &(level, ratio) in pairs {
            if level > guard {
                used += ratio * level;
            } else {
                free += ratio;
                count += 1;
            }
        }
        rest = used + free * guard;
        if count == below || count == 0 {
            break;
        }
        below = count;
        guard = ((budget - used) / free).max(0.0);
    }
    (guard * (1.0 - FULL), rest)
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
