//! Balances: levels from sums instead of from everybody.
//!
//! The level of a saturated constraint is (capacity - what variables held elsewhere consume) /
//! (sum of ratios of those it holds). With these sums, and for each constraint crossed by its
//! variables what one unit of its level consumes there, a change of level runs from constraint
//! to constraint and touches no variable, until somebody would have to be held elsewhere.

use super::max_min::SAME;
use super::system::{Balance, Dependent, NOBODY, System, Variable};

/// Constraints crossed by fewer variables are computed anew as fast as from a balance.
const WORTH_A_BALANCE: usize = 12;

/// Adjustments after which sums are computed anew, against rounding.
const MAX_AGE: u32 = 1000;

impl System {
    /// Computes the level of one constraint from its balance and passes a change on; false when
    /// the balance does not hold, or somebody would have to be held elsewhere.
    pub(super) fn rebalance(&mut self, at: u32) -> bool {
        let constraint = &self.constraints[at as usize];
        let Balance { valid, members, age, ratios, rest, low, high } = constraint.balance;
        if !valid || members == 0 || age > MAX_AGE {
            return false;
        }
        let old = self.levels[at as usize];
        let new = (constraint.capacity - rest) / ratios;
        let alone = |d: &Dependent| self.levels[d.constraint as usize] >= new;
        if !(new >= low && new <= high && constraint.dependents.iter().all(alone)) {
            return false;
        }
        if (new - old).abs() <= SAME * old {
            return true;
        }
        self.levels[at as usize] = new;
        self.report_constraint(at);
        for k in 0..self.constraints[at as usize].dependents.len() {
            let Dependent { constraint, ratios } = self.constraints[at as usize].dependents[k];
            self.pass_on(constraint, ratios, old, new);
        }
        true
    }

    /// Tells a constraint that what consumes `ratio` of it per unit of level went from level
    /// `old` to `new`, both held elsewhere.
    pub(super) fn pass_on(&mut self, at: u32, ratio: f64, old: f64, new: f64) {
        let level = self.levels[at as usize];
        if level < f64::INFINITY {
            let balance = &mut self.constraints[at as usize].balance;
            balance.rest += ratio * (new - old);
            balance.low = balance.low.max(new);
            balance.age += 1;
            self.enqueue(at, level);
        } else {
            let room = &mut self.rooms[at as usize];
            if new > old && new > room.guard {
                let more = ratio * (new - old.max(room.guard));
                if more > room.spare {
                    self.enqueue(at, new);
                } else {
                    room.spare -= more;
                }
            }
        }
    }

    /// Counts a variable, which has its holder and level, into the balances of its constraints
    /// (but not of `except`).
    pub(super) fn take_role(&mut self, id: u32, except: u32) {
        let variable = self.variables[id as usize];
        let level = self.level_of(&variable);
        for at in variable.elements() {
            let constraint = self.elements[at].constraint;
            let balance = &mut self.constraints[constraint as usize].balance;
            if constraint == except || !balance.valid {
                continue;
            }
            let ratio = self.elements[at].coefficient / variable.weight;
            balance.age += 1;
            if constraint == variable.bottleneck {
                balance.ratios += ratio;
                balance.members += 1;
                balance.high = balance.high.min(variable.ceiling);
                self.depend(&variable);
            } else {
                balance.rest += ratio * level;
                balance.low = balance.low.max(level);
            }
        }
    }

    /// Takes a variable, which still has its holder and level, out of the balances of its
    /// constraints (but not of `except`).
    pub(super) fn drop_role(&mut self, id: u32, except: u32) {
        let variable = self.variables[id as usize];
        let level = self.level_of(&variable);
        for at in variable.elements() {
            let constraint = self.elements[at].constraint;
            let balance = &mut self.constraints[constraint as usize].balance;
            if constraint == except || !balance.valid {
                continue;
            }
            let ratio = self.elements[at].coefficient / variable.weight;
            balance.age += 1;
            if constraint != variable.bottleneck {
                balance.rest -= ratio * level;
                continue;
            }
            // Without its largest part a sum has lost digits.
            balance.valid = ratio < 0.5 * balance.ratios;
            balance.ratios -= ratio;
            balance.members -= 1;
            for other in variable.elements() {
                let Some(ratio) = self.ratio_elsewhere(&variable, other) else { continue };
                let name = self.elements[other].constraint;
                let dependents = &mut self.constraints[constraint as usize].dependents;
                if let Some(known) = dependents.iter_mut().find(|d| d.constraint == name) {
                    known.ratios -= ratio;
                }
            }
        }
    }

    /// Ratio of an element of a variable, unless it is that of its holder.
    fn ratio_elsewhere(&self, variable: &Variable, at: usize) -> Option<f64> {
        let element = &self.elements[at];
        let elsewhere = element.constraint != variable.bottleneck;
        elsewhere.then(|| element.coefficient / variable.weight)
    }

    /// Makes the other constraints of a variable dependents of its holder where they must be.
    fn depend(&mut self, variable: &Variable) {
        let holder = variable.bottleneck as usize;
        for at in variable.elements() {
            let Some(ratio) = self.ratio_elsewhere(variable, at) else { continue };
            let name = self.elements[at].constraint;
            let guard = self.rooms[name as usize].guard;
            let sensitive =
                self.levels[name as usize] < f64::INFINITY || guard < self.levels[holder];
            let Books { dependents, balance } = Books::of(self, holder);
            if let Some(known) = dependents.iter_mut().find(|d| d.constraint == name) {
                known.ratios += ratio;
            } else if sensitive {
                dependents.push(Dependent { constraint: name, ratios: ratio });
            } else {
                balance.high = balance.high.min(guard);
            }
        }
    }

    /// `at` is newly saturated, or its room was measured anew: tells those who hold its variables
    /// what to look out for.
    pub(super) fn register(&mut self, at: u32) {
        let saturated = self.levels[at as usize] < f64::INFINITY;
        let guard = self.rooms[at as usize].guard;
        for counting in [false, true] {
            for k in 0..self.constraints[at as usize].crossings.len() {
                let crossing = self.constraints[at as usize].crossings[k];
                let holder = self.variables[crossing.variable as usize].bottleneck;
                if holder == NOBODY
                    || holder == at
                    || !self.constraints[holder as usize].balance.valid
                {
                    continue;
                }
                let sensitive = saturated || guard < self.levels[holder as usize];
                let Books { dependents, balance } = Books::of(self, holder as usize);
                let known = dependents.iter_mut().find(|d| d.constraint == at);
                match (counting, known) {
                    (false, Some(known)) => known.ratios = 0.0,
                    (false, None) if sensitive => {
                        dependents.push(Dependent { constraint: at, ratios: 0.0 });
                    }
                    (false, None) => balance.high = balance.high.min(guard),
                    (true, Some(known)) => known.ratios += crossing.ratio,
                    (true, None) => {}
                }
            }
        }
    }

    /// Sums up who crosses a saturated constraint, where that is worth it.
    pub(super) fn set_balance(&mut self, at: u32) {
        self.constraints[at as usize].balance.valid = false;
        if self.constraints[at as usize].crossings.len() < WORTH_A_BALANCE {
            return;
        }
        self.marks.resize(self.levels.len(), NOBODY);
        let mut dependents = std::mem::take(&mut self.constraints[at as usize].dependents);
        dependents.clear();
        let mut balance = Balance { valid: true, high: f64::INFINITY, ..Balance::UNKNOWN };
        let here = self.levels[at as usize];
        for crossing in &self.constraints[at as usize].crossings {
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
                let name = element.constraint;
                if name == at {
                    continue;
                }
                let guard = self.rooms[name as usize].guard;
                if self.levels[name as usize] == f64::INFINITY && guard >= here {
                    balance.high = balance.high.min(guard);
                    continue;
                }
                let ratio = element.coefficient / variable.weight;
                let mark = self.marks[name as usize];
                if mark == NOBODY {
                    self.marks[name as usize] = dependents.len() as u32;
                    dependents.push(Dependent { constraint: name, ratios: ratio });
                } else {
                    dependents[mark as usize].ratios += ratio;
                }
            }
        }
        for dependent in &dependents {
            self.marks[dependent.constraint as usize] = NOBODY;
        }
        self.constraints[at as usize].dependents = dependents;
        self.constraints[at as usize].balance = balance;
    }
}

/// The two parts of a constraint that change together.
struct Books<'a> {
    dependents: &'a mut Vec<Dependent>,
    balance: &'a mut Balance,
}

impl<'a> Books<'a> {
    fn of(system: &'a mut System, at: usize) -> Self {
        let constraint = &mut system.constraints[at];
        Books { dependents: &mut constraint.dependents, balance: &mut constraint.balance }
    }
}
