//! Activities held by one constraint, in virtual time.
//!
//! The virtual time of a group is the integral of its level. A member that has `w` units of
//! level x seconds to go when it joins ends at virtual date now + `w`, whatever the level does
//! in between.

use crate::solver::NOBODY;

#[derive(Clone, Debug)]
struct Group {
    /// Virtual time at `date`.
    virtual_time: f64,
    date: f64,
    /// Speed of virtual time since `date`.
    level: f64,
    members: Vec<u32>,
    /// The member that ends first, or [`NOBODY`] when that is to be found out.
    earliest: u32,
    touched: bool,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    /// The constraint that holds it, or [`NOBODY`].
    home: u32,
    /// Where it stands in the list of its group.
    place: u32,
    /// Virtual date of its end.
    end: f64,
}

/// The groups of all constraints.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    groups: Vec<Group>,
    members: Vec<Member>,
    touched: Vec<u32>,
}

impl Groups {
    /// Makes room for one more constraint.
    pub(super) fn add_constraint(&mut self) {
        self.groups.push(Group {
            virtual_time: 0.0,
            date: 0.0,
            level: 0.0,
            members: Vec::new(),
            earliest: NOBODY,
            touched: false,
        });
    }

    /// Makes room for one more activity.
    pub(super) fn add_slot(&mut self) {
        self.members.push(Member { home: NOBODY, place: 0, end: 0.0 });
    }

    pub(super) fn clear(&mut self) {
        for group in &mut self.groups {
            group.virtual_time = 0.0;
            group.date = 0.0;
            group.level = 0.0;
            group.members.clear();
            group.earliest = NOBODY;
            group.touched = false;
        }
        self.members.clear();
        self.touched.clear();
    }

    /// The constraint that holds an activity, as far as the groups know.
    #[inline]
    pub(super) fn home(&self, slot: u32) -> u32 {
        self.members[slot as usize].home
    }

    /// Lets virtual time run at a new speed from `now` on.
    pub(super) fn set_level(&mut self, constraint: u32, level: f64, now: f64) {
        self.touch(constraint);
        let group = &mut self.groups[constraint as usize];
        if group.members.is_empty() {
            group.virtual_time = 0.0;
        } else {
            group.virtual_time += group.level * (now - group.date);
            // Much faster in the past than now: the ends of members would lose digits.
            if group.virtual_time > 1024.0 * level * now {
                for &slot in &group.members {
                    self.members[slot as usize].end -= group.virtual_time;
                }
                group.virtual_time = 0.0;
            }
        }
        group.date = now;
        // A constraint that holds nobody any more has an infinite level; its members are about to
        // leave, and infinity times no time is not a number.
        group.level = if level < f64::INFINITY { level } else { 0.0 };
    }

    /// Adds an activity with `to_go` = amount x weight left to a group.
    pub(super) fn join(&mut self, slot: u32, constraint: u32, to_go: f64, now: f64) {
        self.touch(constraint);
        let group = &mut self.groups[constraint as usize];
        if group.members.is_empty() {
            group.virtual_time = 0.0;
            group.date = now;
        }
        let end = virtual_now(group, now) + to_go;
        let place = group.members.len() as u32;
        group.members.push(slot);
        if place == 0 {
            group.earliest = slot;
        } else if group.earliest != NOBODY {
            let first = &self.members[group.earliest as usize];
            if end < first.end {
                group.earliest = slot;
            }
        }
        self.members[slot as usize] = Member { home: constraint, place, end };
    }

    /// Takes an activity out of its group; gives amount x weight left.
    pub(super) fn leave(&mut self, slot: u32, now: f64) -> f64 {
        let Member { home, place, end } = self.members[slot as usize];
        self.touch(home);
        let group = &mut self.groups[home as usize];
        group.members.swap_remove(place as usize);
        if let Some(&moved) = group.members.get(place as usize) {
            self.members[moved as usize].place = place;
        }
        if group.earliest == slot {
            group.earliest = NOBODY;
        }
        self.members[slot as usize].home = NOBODY;
        (end - virtual_now(group, now)).max(0.0)
    }

    /// Amount x weight left of a member.
    pub(super) fn to_go(&self, slot: u32, now: f64) -> Option<f64> {
        let Member { home, end, .. } = self.members[slot as usize];
        let group = self.groups.get(home as usize)?;
        Some((end - virtual_now(group, now)).max(0.0))
    }

    /// Collects the members that end up to `horizon`; at least the first one.
    pub(super) fn due(&self, constraint: u32, horizon: f64, out: &mut Vec<u32>) {
        let group = &self.groups[constraint as usize];
        let reached = virtual_now(group, horizon);
        for &slot in &group.members {
            if self.members[slot as usize].end <= reached || slot == group.earliest {
                out.push(slot);
            }
        }
    }

    /// Gives the groups whose next end may have moved, with its date (infinite: never).
    pub(super) fn drain_touched(&mut self, mut visit: impl FnMut(u32, f64)) {
        for k in 0..self.touched.len() {
            let constraint = self.touched[k];
            let group = &mut self.groups[constraint as usize];
            group.touched = false;
            if group.earliest == NOBODY {
                let mut least = f64::INFINITY;
                for &slot in &group.members {
                    let end = self.members[slot as usize].end;
                    if end < least {
                        least = end;
                        group.earliest = slot;
                    }
                }
            }
            let date = if group.earliest == NOBODY {
                f64::INFINITY
            } else {
                let to_go = self.members[group.earliest as usize].end - group.virtual_time;
                if to_go <= 0.0 { group.date } else { group.date + to_go / group.level }
            };
            visit(constraint, date);
        }
        self.touched.clear();
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
