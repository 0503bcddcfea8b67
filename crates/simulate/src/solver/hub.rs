//! Hubs: constraints crossed by many, whose level follows from sums instead of from everybody.
//!
//! The level of a saturated constraint is (capacity - what variables held elsewhere consume) /
//! (sum of ratios of those it holds). A hub keeps these sums, and a *tie* to every constraint with
//! which it shares variables that one of the two holds. A change of level runs along the ties and
//! touches no variable, until those of one tie have to be held at its other end: then these move,
//! and nobody else is looked at.
//!
//! Most ties lead to constraints that are far from full. Only those that are full, or not far from
//! it, are *watched*; the hub knows the level up to which the others need not be told.

use super::max_min::SAME;
use super::system::{NOBODY, System, Variable};

/// Constraints crossed by fewer variables are computed anew as fast as from sums.
const WORTH_A_HUB: usize = 12;

/// Adjustments after which sums are computed anew, against rounding.
const MAX_AGE: u32 = 4000;

/// A sum of which less than this part is left has lost digits.
pub(super) const LOST_DIGITS: f64 = 1.0 / 64.0;

/// Rounds of moving variables after which a hub is computed anew.
const MAX_ROUNDS: usize = 20;

/// Ties whose constraints may fill below this multiple of the hub's level are watched,
const NEAR: f64 = 17.0 / 16.0;

/// and no longer watched when they may not below this one.
const FAR: f64 = 9.0 / 8.0;

/// What a hub shares with another constraint.
#[derive(Clone, Copy, Debug)]
struct Tie {
    constraint: u32,
    /// Variables held by the hub that cross the constraint.
    held: u32,
    /// Variables held by the constraint that cross the hub.
    lost: u32,
    watched: bool,
    /// What one unit of the hub's level consumes of the constraint.
    ratios: f64,
}

/// Sums over the variables that cross a saturated constraint. Kept through every change of holder
/// or level while they are valid.
#[derive(Clone, Debug, Default)]
pub(super) struct Hub {
    constraint: u32,
    /// The sums hold.
    pub(super) valid: bool,
    /// Variables held here.
    members: u32,
    /// How often the sums were adjusted since they were computed.
    age: u32,
    /// Sum of ratios of the variables held here.
    ratios: f64,
    /// What the variables held elsewhere consume.
    rest: f64,
    /// No variable held by another constraint has a higher level.
    low: f64,
    /// No variable held by nobody has a higher level.
    loose: f64,
    /// No variable held here has a lower bound.
    ceiling: f64,
    /// No constraint of a tie that is not watched has a lower guard, or is full.
    guard: f64,
    ties: Vec<Tie>,
    watched: Vec<u32>,
}

/// Whether a variable is counted in or out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    In,
    Out,
}

impl Entry {
    fn count(self, number: &mut u32) {
        *number = match self {
            Entry::In => *number + 1,
            Entry::Out => *number - 1,
        };
    }

    /// Adjusts a sum; false when it has lost digits.
    fn sum(self, total: &mut f64, part: f64) -> bool {
        match self {
            Entry::In => *total += part,
            Entry::Out => *total -= part,
        }
        *total >= LOST_DIGITS * part
    }
}

impl System {
    /// Computes the level of a hub from its sums, moves those who are to be held elsewhere or here,
    /// and passes the change on; false when the sums do not tell.
    pub(super) fn rebalance(&mut self, at: u32) -> bool {
        let index = self.constraints[at as usize].hub;
        if index == NOBODY {
            return false;
        }
        // Every round is a step of Newton's method, as in `water_level`.
        for _ in 0..MAX_ROUNDS {
            let hub = &self.hubs[index as usize];
            if !hub.valid || hub.members == 0 || hub.age > MAX_AGE {
                return false;
            }
            let capacity = self.constraints[at as usize].capacity;
            let left = capacity - hub.rest;
            let old = self.levels[at as usize];
            let new = left / hub.ratios;
            // A small rest of many terms, or nothing at all, is computed from the terms.
            let sound = capacity > 0.0 && left >= LOST_DIGITS * LOST_DIGITS * capacity;
            if !(sound && new >= hub.loose && new <= hub.ceiling) {
                return false;
            }
            if (new - old).abs() <= SAME * old {
                return true;
            }
            if new > hub.guard {
                self.look_around(index, new);
            }
            self.levels[at as usize] = new;
            self.report_constraint(at);
            if !self.spread(index, old, new) {
                return true;
            }
        }
        false
    }

    /// Passes a new level of a hub on and moves variables; false when none had to move.
    fn spread(&mut self, index: u32, old: f64, new: f64) -> bool {
        let mut above = std::mem::take(&mut self.moving);
        let mut k = 0;
        while let Some(&slot) = self.hubs[index as usize].watched.get(k) {
            let hub = &mut self.hubs[index as usize];
            let tie = &mut hub.ties[slot as usize];
            let Tie { constraint, held, ratios, .. } = *tie;
            let level = self.levels[constraint as usize];
            let guard = self.rooms[constraint as usize].guard;
            if held == 0 || (level == f64::INFINITY && guard >= new * FAR) {
                tie.watched = false;
                hub.watched.swap_remove(k);
                hub.guard = hub.guard.min(guard);
                continue;
            }
            if level < new {
                above.push(constraint);
            }
            self.pass_on(constraint, ratios, old, new);
            k += 1;
        }
        let at = self.hubs[index as usize].constraint;
        let mut moved = false;
        for constraint in above.drain(..) {
            moved |= self.reseat(at, constraint);
        }
        let hub = &mut self.hubs[index as usize];
        if new < hub.low {
            hub.low = 0.0;
            for tie in hub.ties.iter().filter(|tie| tie.lost > 0) {
                let level = self.levels[tie.constraint as usize];
                if level > new {
                    above.push(tie.constraint);
                } else {
                    hub.low = hub.low.max(level);
                }
            }
            for constraint in above.drain(..) {
                moved |= self.reseat(constraint, at);
            }
        }
        self.moving = above;
        moved
    }

    /// Gives the variables held by `holder` that cross `other` to whoever holds them lowest; true
    /// when one moved.
    fn reseat(&mut self, holder: u32, other: u32) -> bool {
        let crossings = |at: u32| self.constraints[at as usize].crossings.len();
        let (through, there) =
            if crossings(other) <= crossings(holder) { (other, holder) } else { (holder, other) };
        let mut moved = false;
        for k in 0..self.constraints[through as usize].crossings.len() {
            let id = self.constraints[through as usize].crossings[k].variable;
            let variable = self.variables[id as usize];
            if variable.bottleneck != holder {
                continue;
            }
            let before = self.levels[holder as usize];
            let (mut after, mut lowest, mut common) = (before, holder, false);
            for element in &self.elements[variable.elements()] {
                common |= element.constraint == there;
                let here = self.levels[element.constraint as usize];
                if here < after {
                    (after, lowest) = (here, element.constraint);
                }
            }
            if common && lowest != holder {
                self.change_holder(id, before, (after, lowest), NOBODY);
                moved = true;
            }
        }
        moved
    }

    /// Tells a constraint that what consumes `ratio` of it per unit of level went from level
    /// `old` to `new`, both held by another constraint.
    #[inline]
    pub(super) fn pass_on(&mut self, at: u32, ratio: f64, old: f64, new: f64) {
        let level = self.levels[at as usize];
        if level < f64::INFINITY {
            let index = self.constraints[at as usize].hub;
            if index != NOBODY {
                let hub = &mut self.hubs[index as usize];
                hub.rest += ratio * (new - old);
                hub.low = hub.low.max(new);
                hub.age += 1;
            }
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

    /// Counts a variable that has its holder and the given level into the sums of the hubs it
    /// crosses (but not of `except`).
    #[inline]
    pub(super) fn enter(&mut self, variable: &Variable, level: f64, except: u32) {
        self.book(variable, level, Entry::In, except);
    }

    /// Counts a variable that still has its holder and the given level out again.
    #[inline]
    pub(super) fn leave(&mut self, variable: &Variable, level: f64, except: u32) {
        self.book(variable, level, Entry::Out, except);
    }

    #[inline]
    fn book(&mut self, variable: &Variable, level: f64, entry: Entry, except: u32) {
        for at in variable.elements() {
            let constraint = self.elements[at].constraint;
            let index = self.constraints[constraint as usize].hub;
            if index != NOBODY && constraint != except && self.hubs[index as usize].valid {
                let ratio = self.elements[at].ratio;
                self.book_at(index, variable, ratio, level, entry);
            }
        }
    }

    fn book_at(&mut self, index: u32, variable: &Variable, ratio: f64, level: f64, entry: Entry) {
        let hub = &mut self.hubs[index as usize];
        let at = hub.constraint;
        hub.age += 1;
        if variable.bottleneck != at {
            // Sums of what others consume are compared with the capacity: no digits to lose.
            entry.sum(&mut hub.rest, ratio * level);
            if variable.bottleneck == NOBODY {
                hub.loose = hub.loose.max(level);
                return;
            }
            hub.low = hub.low.max(level);
            let slot = self.tie(index, variable.bottleneck);
            entry.count(&mut self.hubs[index as usize].ties[slot as usize].lost);
            return;
        }
        entry.count(&mut hub.members);
        hub.ceiling = hub.ceiling.min(variable.ceiling);
        let mut sound = entry.sum(&mut hub.ratios, ratio);
        for other in variable.elements() {
            let element = self.elements[other];
            if element.constraint == at {
                continue;
            }
            let slot = self.tie(index, element.constraint);
            let tie = &mut self.hubs[index as usize].ties[slot as usize];
            entry.count(&mut tie.held);
            let exact = entry.sum(&mut tie.ratios, element.ratio);
            if tie.held == 0 {
                tie.ratios = 0.0;
            } else {
                sound &= exact;
            }
            if entry == Entry::In && tie.held == 1 && !tie.watched {
                self.watch_if_near(index, slot, self.levels[at as usize]);
            }
        }
        self.hubs[index as usize].valid &= sound;
    }

    /// The tie between a hub and a constraint.
    fn tie(&mut self, index: u32, to: u32) -> u32 {
        let tied = &mut self.constraints[to as usize].tied;
        if let Some(&(_, slot)) = tied.iter().find(|known| known.0 == index) {
            return slot;
        }
        let ties = &mut self.hubs[index as usize].ties;
        let slot = ties.len() as u32;
        ties.push(Tie { constraint: to, held: 0, lost: 0, watched: false, ratios: 0.0 });
        tied.push((index, slot));
        slot
    }

    /// Watches a tie whose constraint is full, or not far from it at the given level of the hub.
    fn watch_if_near(&mut self, index: u32, slot: u32, level: f64) {
        let hub = &mut self.hubs[index as usize];
        let tie = &mut hub.ties[slot as usize];
        let constraint = tie.constraint as usize;
        let guard = self.rooms[constraint].guard;
        if self.levels[constraint] < f64::INFINITY || guard < level * NEAR {
            tie.watched = true;
            hub.watched.push(slot);
        } else {
            hub.guard = hub.guard.min(guard);
        }
    }

    /// `at` is newly saturated, or its room was measured anew: the hubs that hold its variables
    /// may have to watch it.
    pub(super) fn register(&mut self, at: u32) {
        for k in 0..self.constraints[at as usize].tied.len() {
            let (index, slot) = self.constraints[at as usize].tied[k];
            let hub = &self.hubs[index as usize];
            let tie = &hub.ties[slot as usize];
            if hub.valid && tie.held > 0 && !tie.watched {
                self.watch_if_near(index, slot, self.levels[hub.constraint as usize]);
            }
        }
    }

    /// Watches all ties whose constraints are full or not far from it at a new level of the hub.
    fn look_around(&mut self, index: u32, level: f64) {
        self.hubs[index as usize].guard = f64::INFINITY;
        for slot in 0..self.hubs[index as usize].ties.len() {
            let tie = &self.hubs[index as usize].ties[slot];
            if tie.held > 0 && !tie.watched {
                self.watch_if_near(index, slot as u32, level);
            }
        }
    }

    /// Sums up who crosses a saturated constraint, where that is worth it.
    pub(super) fn sum_up(&mut self, at: u32) {
        if self.constraints[at as usize].crossings.len() < WORTH_A_HUB {
            return self.forget_sums(at);
        }
        let index = match self.constraints[at as usize].hub {
            NOBODY => {
                self.hubs.push(Hub { constraint: at, ..Hub::default() });
                self.constraints[at as usize].hub = self.hubs.len() as u32 - 1;
                self.hubs.len() as u32 - 1
            }
            known => known,
        };
        self.untie(index);
        let hub = &mut self.hubs[index as usize];
        let Hub { ties, watched, .. } = std::mem::take(hub);
        let (ceiling, guard) = (f64::INFINITY, f64::INFINITY);
        *hub = Hub { constraint: at, valid: true, ceiling, guard, ties, watched, ..Hub::default() };
        for k in 0..self.constraints[at as usize].crossings.len() {
            let crossing = self.constraints[at as usize].crossings[k];
            let variable = self.variables[crossing.variable as usize];
            let level = self.level_of(&variable);
            self.book_at(index, &variable, crossing.ratio, level, Entry::In);
        }
        self.hubs[index as usize].age = 0;
    }

    /// The sums of a constraint no longer hold, or are not worth keeping.
    pub(super) fn forget_sums(&mut self, at: u32) {
        let index = self.constraints[at as usize].hub;
        if index != NOBODY {
            self.hubs[index as usize].valid = false;
            self.untie(index);
        }
    }

    fn untie(&mut self, index: u32) {
        let Hub { ties, watched, .. } = &mut self.hubs[index as usize];
        for tie in ties.drain(..) {
            let tied = &mut self.constraints[tie.constraint as usize].tied;
            if let Some(place) = tied.iter().position(|known| known.0 == index) {
                tied.swap_remove(place);
            }
        }
        watched.clear();
    }
}
