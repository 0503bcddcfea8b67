//! Hubs: constraints crossed by many variables, whose level follows from sums instead of from every variable. For
//! *level* and *holder* see [`max_min`](super::max_min).
//!
//! The level of a saturated constraint is (capacity - what variables held elsewhere consume) /
//! (sum of ratios of those it holds). A hub keeps these sums, and a *tie* to every constraint with
//! which it shares variables that one of the two holds. A change of level runs along the ties and
//! touches no variable, until those of one tie have to be held at its other end: then these move,
//! and no other variable is visited.
//!
//! Most ties lead to constraints that are far from full. Only those that are full, or not far from
//! it, are *watched*; the hub knows the level up to which the others are not updated.

use super::max_min::SAME;
use super::system::{NO_ID, System, Variable, larger};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Fewest variables of a hub: constraints with fewer are recomputed as fast as updated from sums (measured).
const WORTH_A_HUB: usize = 12;

/// Adjustments after which sums are recomputed: each adds a relative rounding error of about 1e-16.
pub(super) const MAX_AGE: u32 = 4000;

/// Fraction of a term: a sum that is less after the term was subtracted has lost six bits or more to cancellation.
pub(super) const LOST_DIGITS: f64 = 1.0 / 64.0;

/// Rounds of moving variables after which a hub is recomputed.
const MAX_ROUNDS: usize = 20;

/// A tie becomes watched when its constraint may be saturated below this multiple of the hub's level.
const NEAR: f64 = 17.0 / 16.0;

/// A tie is no longer watched when its constraint cannot be saturated below this multiple, which is larger than
/// [`NEAR`] so that ties do not change back and forth.
const FAR: f64 = 9.0 / 8.0;

/// The variables that a hub shares with another constraint.
#[derive(Clone, Copy, Debug)]
struct Tie {
    constraint: u32,
    /// Variables held by the hub that cross the constraint.
    held: u32,
    /// Variables held by the constraint that cross the hub.
    lost: u32,
    /// Position of this tie in the list of the constraint.
    place: u32,
    /// Its position among the watched ties, or [`NO_ID`].
    watched: u32,
    /// Consumption of the constraint per unit of the hub's level.
    ratios: f64,
}

/// A tie that is updated at every change of level. These are copies in one array: the loop over them takes most of the
/// solver's time.
#[derive(Clone, Copy, Debug)]
struct Watched {
    ratios: f64,
    constraint: u32,
    slot: u32,
}

/// Sums over the variables that cross a saturated constraint; what those held elsewhere consume is in
/// its load. Kept through every change of holder or level while they are valid.
#[derive(Clone, Debug, Default)]
pub(super) struct Hub {
    constraint: u32,
    /// Whether the sums are up to date.
    pub(super) valid: bool,
    /// Variables held here.
    members: u32,
    /// Sum of ratios of the variables held here.
    ratios: f64,
    /// At least the level of every variable without a holder.
    loose: f64,
    /// At most the ceiling of every variable held here.
    ceiling: f64,
    /// At most the guard of every constraint whose tie is not watched; none of these is saturated.
    guard: f64,
    ties: Vec<Tie>,
    /// The slot of the tie to a constraint.
    slots: HashMap<u32, u32, BuildHasherDefault<Scatter>>,
    watched: Vec<Watched>,
}

impl Hub {
    fn unwatch(&mut self, place: usize) {
        let gone = self.watched.swap_remove(place);
        self.ties[gone.slot as usize].watched = NO_ID;
        if let Some(moved) = self.watched.get(place) {
            self.ties[moved.slot as usize].watched = place as u32;
        }
    }
}

/// Multiplicative hash of ids (2^64 over the golden ratio).
#[derive(Clone, Copy, Debug, Default)]
struct Scatter(u64);

impl Hasher for Scatter {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    fn write_u32(&mut self, id: u32) {
        self.0 = (self.0 ^ u64::from(id)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
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
    /// Computes the level of a hub from its sums, moves the variables that are to be held elsewhere
    /// or here, and passes the change on; false when the sums do not suffice.
    pub(super) fn rebalance(&mut self, at: u32) -> bool {
        let index = self.constraints[at as usize].hub;
        if index == NO_ID {
            return false;
        }
        // Every round is a step of Newton's method, as in `water_level`.
        for _ in 0..MAX_ROUNDS {
            let (hub, load) = (&self.hubs[index as usize], &self.loads[at as usize]);
            if !hub.valid || hub.members == 0 || load.age > MAX_AGE {
                return false;
            }
            let capacity = self.constraints[at as usize].capacity;
            let left = capacity - load.rest;
            let old = self.levels[at as usize];
            let new = left / hub.ratios;
            // Where little of the capacity is left, cancellation has cost digits: recompute from the terms.
            let sound = capacity > 0.0 && left >= LOST_DIGITS * LOST_DIGITS * capacity;
            if !(sound && new >= hub.loose && new <= hub.ceiling) {
                return false;
            }
            if (new - old).abs() <= SAME * old {
                return true;
            }
            if new > hub.guard {
                self.watch_near(index, new);
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
        let System { hubs, levels, loads, queue, .. } = self;
        let hub = &mut hubs[index as usize];
        let far = larger(old, new * FAR);
        let mut k = 0;
        while let Some(&Watched { ratios, constraint, .. }) = hub.watched.get(k) {
            let level = levels[constraint as usize];
            let load = &mut loads[constraint as usize];
            if load.guard >= far {
                hub.guard = hub.guard.min(load.guard);
                hub.unwatch(k);
                continue;
            }
            let must_check = load.shift(ratios, old, new) & !load.queued;
            if must_check | (level < new) {
                if level < new {
                    above.push(constraint);
                }
                if must_check {
                    load.queued = true;
                    queue.push(if level < f64::INFINITY { level } else { new }, constraint);
                }
            }
            k += 1;
        }
        let at = hub.constraint;
        let mut moved = false;
        for constraint in above.drain(..) {
            moved |= self.reseat(at, constraint);
        }
        let (hub, load) = (&self.hubs[index as usize], &mut self.loads[at as usize]);
        if new < load.low {
            load.low = 0.0;
            for tie in hub.ties.iter().filter(|tie| tie.lost > 0) {
                let level = self.levels[tie.constraint as usize];
                if level > new {
                    above.push(tie.constraint);
                } else {
                    load.low = load.low.max(level);
                }
            }
            for constraint in above.drain(..) {
                moved |= self.reseat(constraint, at);
            }
        }
        self.moving = above;
        moved
    }

    /// Moves the variables held by `holder` that cross `other` to the constraint with the lowest level among those they
    /// cross; true when one moved.
    fn reseat(&mut self, holder: u32, other: u32) -> bool {
        let crossings = |at: u32| self.constraints[at as usize].crossings.len();
        // Most variables that cross `other` are held elsewhere, and skipped quickly.
        let (through, there) = if crossings(other) <= 4 * crossings(holder) {
            (other, holder)
        } else {
            (holder, other)
        };
        let mut moved = false;
        for k in 0..self.constraints[through as usize].crossings.len() {
            let crossing = self.constraints[through as usize].crossings[k];
            if crossing.holder != holder {
                continue;
            }
            let id = crossing.variable;
            let variable = self.variables[id as usize];
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
                self.change_holder(id, before, (after, lowest), NO_ID);
                moved = true;
            }
        }
        moved
    }

    /// Updates the load of a constraint for a consumer held by another constraint, of `ratio` per unit of level, whose
    /// level changed from `old` to `new`; queues the constraint where it has to be checked.
    #[inline]
    pub(super) fn pass_on(&mut self, at: u32, ratio: f64, old: f64, new: f64) {
        if self.loads[at as usize].shift(ratio, old, new) {
            let level = self.levels[at as usize];
            self.enqueue(at, if level < f64::INFINITY { level } else { new });
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
            if index != NO_ID && constraint != except && self.hubs[index as usize].valid {
                let ratio = self.elements[at].ratio;
                self.book_at(index, variable, ratio, level, entry);
            }
        }
    }

    fn book_at(&mut self, index: u32, variable: &Variable, ratio: f64, level: f64, entry: Entry) {
        let hub = &mut self.hubs[index as usize];
        let at = hub.constraint;
        let load = &mut self.loads[at as usize];
        load.age += 1;
        if variable.bottleneck != at {
            // This sum is only compared with the capacity: cancellation does no harm.
            entry.sum(&mut load.rest, ratio * level);
            if variable.bottleneck == NO_ID {
                hub.loose = hub.loose.max(level);
                return;
            }
            load.low = load.low.max(level);
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
            let Tie { held, watched, ratios, .. } = *tie;
            let hub = &mut self.hubs[index as usize];
            if held == 0 {
                hub.ties[slot as usize].ratios = 0.0;
                if watched != NO_ID {
                    hub.unwatch(watched as usize);
                }
            } else {
                sound &= exact;
                if watched != NO_ID {
                    hub.watched[watched as usize].ratios = ratios;
                } else if entry == Entry::In && held == 1 {
                    self.watch_if_near(index, slot, self.levels[at as usize]);
                }
            }
        }
        self.hubs[index as usize].valid &= sound;
    }

    /// The tie between a hub and a constraint.
    fn tie(&mut self, index: u32, to: u32) -> u32 {
        let Hub { ties, slots, .. } = &mut self.hubs[index as usize];
        *slots.entry(to).or_insert_with(|| {
            let (slot, tied) = (ties.len() as u32, &mut self.constraints[to as usize].tied);
            let place = tied.len() as u32;
            let (watched, ratios) = (NO_ID, 0.0);
            ties.push(Tie { constraint: to, held: 0, lost: 0, place, watched, ratios });
            tied.push((index, slot));
            slot
        })
    }

    /// Watches a tie whose constraint is saturated, or near it (see [`NEAR`]) at the given level of the hub.
    fn watch_if_near(&mut self, index: u32, slot: u32, level: f64) {
        let hub = &mut self.hubs[index as usize];
        let tie = &mut hub.ties[slot as usize];
        let constraint = tie.constraint as usize;
        let guard = self.loads[constraint].guard;
        if self.levels[constraint] < f64::INFINITY || guard < level * NEAR {
            tie.watched = hub.watched.len() as u32;
            let Tie { constraint, ratios, .. } = *tie;
            hub.watched.push(Watched { ratios, constraint, slot });
        } else {
            hub.guard = hub.guard.min(guard);
        }
    }

    /// `at` is newly saturated, or has another guard: the hubs that hold its variables
    /// may have to watch it.
    pub(super) fn register(&mut self, at: u32) {
        for k in 0..self.constraints[at as usize].tied.len() {
            let (index, slot) = self.constraints[at as usize].tied[k];
            let hub = &self.hubs[index as usize];
            let tie = &hub.ties[slot as usize];
            if hub.valid && tie.held > 0 && tie.watched == NO_ID {
                self.watch_if_near(index, slot, self.levels[hub.constraint as usize]);
            }
        }
    }

    /// Watches all ties whose constraints are saturated, or near it at a new level of the hub.
    fn watch_near(&mut self, index: u32, level: f64) {
        self.hubs[index as usize].guard = f64::INFINITY;
        for slot in 0..self.hubs[index as usize].ties.len() {
            let tie = &self.hubs[index as usize].ties[slot];
            if tie.held > 0 && tie.watched == NO_ID {
                self.watch_if_near(index, slot as u32, level);
            }
        }
    }

    /// Sums up the variables that cross a saturated constraint, where that is worth it.
    pub(super) fn sum_up(&mut self, at: u32) {
        if self.constraints[at as usize].crossings.len() < WORTH_A_HUB {
            return self.forget_sums(at);
        }
        let index = match self.constraints[at as usize].hub {
            NO_ID => {
                self.hubs.push(Hub { constraint: at, ..Hub::default() });
                self.constraints[at as usize].hub = self.hubs.len() as u32 - 1;
                self.hubs.len() as u32 - 1
            }
            known => known,
        };
        self.untie(index);
        let hub = &mut self.hubs[index as usize];
        let Hub { ties, slots, watched, .. } = std::mem::take(hub);
        let (ceiling, guard) = (f64::INFINITY, f64::INFINITY);
        let empty = Hub { ties, slots, watched, ..Hub::default() };
        *hub = Hub { constraint: at, valid: true, ceiling, guard, ..empty };
        self.loads[at as usize].watch_all();
        for k in 0..self.constraints[at as usize].crossings.len() {
            let crossing = self.constraints[at as usize].crossings[k];
            let variable = self.variables[crossing.variable as usize];
            let level = self.level_of(&variable);
            self.book_at(index, &variable, crossing.ratio, level, Entry::In);
        }
        self.loads[at as usize].age = 0;
    }

    /// Marks the sums of a constraint as out of date, or as not worth keeping.
    pub(super) fn forget_sums(&mut self, at: u32) {
        let index = self.constraints[at as usize].hub;
        if index != NO_ID {
            self.hubs[index as usize].valid = false;
            self.untie(index);
        }
    }

    /// Removes all ties of a hub, also from the lists of the constraints.
    fn untie(&mut self, index: u32) {
        let Hub { ties, slots, watched, .. } = &mut self.hubs[index as usize];
        let mut ties = std::mem::take(ties);
        slots.clear();
        watched.clear();
        for Tie { constraint, place, .. } in ties.drain(..) {
            let tied = &mut self.constraints[constraint as usize].tied;
            tied.swap_remove(place as usize);
            if let Some(&(other, slot)) = tied.get(place as usize) {
                self.hubs[other as usize].ties[slot as usize].place = place;
            }
        }
        self.hubs[index as usize].ties = ties;
    }
}
