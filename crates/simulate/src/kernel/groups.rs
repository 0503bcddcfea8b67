//! Activities held by one constraint, in virtual time.
//!
//! The virtual time of a group is the integral of its level. A member that has `w` units of
//! level x seconds to go when it joins ends at virtual date now + `w`, whatever the level does
//! in between.

use super::heap::Heap;
use crate::solver::NO_ID;

#[derive(Clone, Debug)]
struct Group {
    /// Virtual time at `date`.
    virtual_time: f64,
    date: f64,
    /// Speed of virtual time since `date`.
    level: f64,
    /// Virtual dates at which members end.
    ends: Heap,
    touched: bool,
}

/// The groups of all constraints.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    groups: Vec<Group>,
    /// The constraint that holds an activity, or [`NO_ID`].
    homes: Vec<u32>,
    /// Per activity: its position in its group.
    places: Vec<u32>,
    touched: Vec<u32>,
}

impl Groups {
    /// Makes room for one more constraint.
    pub(super) fn add_constraint(&mut self) {
        self.groups.push(Group {
            virtual_time: 0.0,
            date: 0.0,
            level: 0.0,
            ends: Heap::default(),
            touched: false,
        });
    }

    /// Makes room for one more activity.
    pub(super) fn add_slot(&mut self) {
        self.homes.push(NO_ID);
        self.places.push(0);
    }

    pub(super) fn clear(&mut self) {
        for group in &mut self.groups {
            group.virtual_time = 0.0;
            group.date = 0.0;
            group.level = 0.0;
            group.ends.clear();
            group.touched = false;
        }
        self.homes.clear();
        self.places.clear();
        self.touched.clear();
    }

    /// The constraint that holds an activity, as far as the groups know.
    #[inline]
    pub(super) fn home(&self, slot: u32) -> u32 {
        self.homes[slot as usize]
    }

    /// Lets virtual time run at a new speed from `now` on.
    pub(super) fn set_level(&mut self, constraint: u32, level: f64, now: f64) {
        self.touch(constraint);
        let group = &mut self.groups[constraint as usize];
        if group.ends.is_empty() {
            group.virtual_time = 0.0;
        } else {
            group.virtual_time += group.level * (now - group.date);
            // Much faster in the past than now: the ends of members would lose digits.
            if group.virtual_time > 1024.0 * level * now {
                group.ends.advance(group.virtual_time);
                group.virtual_time = 0.0;
            }
        }
        group.date = now;
        // A constraint without members has an infinite level; its members are about to
        // leave, and infinity times no time is not a number.
        group.level = if level < f64::INFINITY { level } else { 0.0 };
    }

    /// Adds an activity with `to_go` = amount x weight left to a group.
    pub(super) fn join(&mut self, slot: u32, constraint: u32, to_go: f64, now: f64) {
        self.touch(constraint);
        let group = &mut self.groups[constraint as usize];
        if group.ends.is_empty() {
            group.virtual_time = 0.0;
            group.date = now;
        }
        let end = virtual_now(group, now) + to_go;
        self.homes[slot as usize] = constraint;
        group.ends.push(end, slot, &mut self.places);
    }

    /// Takes an activity out of its group; gives amount x weight left.
    pub(super) fn leave(&mut self, slot: u32, now: f64) -> f64 {
        let home = std::mem::replace(&mut self.homes[slot as usize], NO_ID);
        self.touch(home);
        let group = &mut self.groups[home as usize];
        let place = self.places[slot as usize];
        let end = group.ends.date(place);
        group.ends.remove(place, &mut self.places);
        (end - virtual_now(group, now)).max(0.0)
    }

    /// Amount x weight left of a member.
    pub(super) fn to_go(&self, slot: u32, now: f64) -> Option<f64> {
        let group = self.groups.get(self.homes[slot as usize] as usize)?;
        Some((group.ends.date(self.places[slot as usize]) - virtual_now(group, now)).max(0.0))
    }

    /// The member that ends first, if it ends up to the virtual date `reached`.
    pub(super) fn due(&self, constraint: u32, reached: f64) -> Option<u32> {
        let first = self.groups[constraint as usize].ends.first();
        first.filter(|&(end, _)| end <= reached).map(|(_, slot)| slot)
    }

    /// The virtual date at `horizon`, or that of the first end if it is later.
    pub(super) fn reached(&self, constraint: u32, horizon: f64) -> f64 {
        let group = &self.groups[constraint as usize];
        let first = group.ends.first().map_or(0.0, |(end, _)| end);
        virtual_now(group, horizon).max(first)
    }

    /// Gives the groups whose next end may have moved, with its date (infinite: never).
    pub(super) fn drain_touched(&mut self, mut visit: impl FnMut(u32, f64)) {
        for &constraint in &self.touched {
            let group = &mut self.groups[constraint as usize];
            group.touched = false;
            visit(constraint, next_end(group));
        }
        self.touched.clear();
    }

    /// Date of the next end in a group at its present level (infinite: never).
    pub(super) fn next_end(&self, constraint: u32) -> f64 {
        next_end(&self.groups[constraint as usize])
    }

    #[inline]
    fn touch(&mut self, constraint: u32) {
        let group = &mut self.groups[constraint as usize];
        if !group.touched {
            group.touched = true;
            self.touched.push(constraint);
        }
    }
}

#[inline]
fn virtual_now(group: &Group, now: f64) -> f64 {
    group.virtual_time + group.level * (now - group.date)
}

fn next_end(group: &Group) -> f64 {
    group.ends.first().map_or(f64::INFINITY, |(end, _)| {
        let to_go = end - group.virtual_time;
        if to_go <= 0.0 { group.date } else { group.date + to_go / group.level }
    })
}
