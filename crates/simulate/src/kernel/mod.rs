//! The kernel: a clock, activities that consume shared capacities, and what ends when.
//!
//! An activity waits out its latency, then works at the rate the solver gives it until its
//! amount is done. The kernel knows capacities and activities; it has no idea of hosts, links
//! or schedules.
//!
//! Between two changes of its bottleneck an activity is never touched. All activities held by
//! one constraint have the same level L(t) (weight x rate), so that each of them ends when the integral of
//! L has grown by amount x weight. The kernel keeps that integral per constraint (the *virtual
//! time* of Parekh & Gallager's generalized processor sharing), the virtual date at which each
//! member ends, and one entry of the agenda per constraint. A change of level moves that one entry.
//!
//! Everything that ends within [`SIMULTANEOUS`] of the earliest end is one instant and is
//! handed out together, in the order in which the activities were started.

mod agenda;
mod groups;
mod heap;

use agenda::Agenda;
use groups::Groups;
use thiserror::Error;

use crate::solver::{NO_ID, System, Use};

/// Relative distance of dates that are one instant.
pub const SIMULTANEOUS: f64 = 1e-12;

/// The rule by which concurrent activities share a capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Bounded weighted max-min fairness.
    #[default]
    MaxMin,
    /// Fair bottleneck, for parallel tasks.
    FairBottleneck,
}

/// A capacity of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstraintId(pub u32);

/// An activity of the kernel; stays distinct from later ones that reuse its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActivityId {
    slot: u32,
    generation: u32,
}

impl ActivityId {
    /// A small number, unique among the activities alive at one moment.
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

/// Something to be done.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// Units to be done (bytes, flop); 0 ends with the latency.
    pub amount: f64,
    /// Seconds before the work begins, during which nothing is consumed.
    pub latency: f64,
    /// A share is inversely proportional to it.
    pub weight: f64,
    /// Upper limit of the rate, in units per second; may be infinite.
    pub bound: f64,
    /// Consumption per unit of rate; each constraint at most once.
    pub uses: &'a [Use],
    /// Handed back with the event that ends the activity.
    pub tag: u64,
}

/// The end of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The activity; its id is no longer valid.
    pub activity: ActivityId,
    /// The tag given at the start.
    pub tag: u64,
}

/// The result of one call of [`Kernel::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An instant at which activities ended.
    Instant,
    /// The given date; nothing ended up to it.
    Limit,
    /// Nothing is alive (and no finite date was given).
    Idle,
}

/// The reason why an activity is refused.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum WorkError {
    /// A quantity is not a number, negative or infinite where it must not be.
    #[error("{what} is {value}, which is not possible")]
    BadQuantity {
        /// Name of the quantity.
        what: &'static str,
        /// The offending value.
        value: f64,
    },
    /// A constraint that does not exist, or is named twice.
    #[error("constraint {0} is unknown or used twice")]
    BadConstraint(u32),
}

/// Activities are alive, but none of them can ever end.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("the simulation cannot advance beyond {date} s: {} activities have no rate", .waiting.len())]
pub struct Stalled {
    /// The date after which no activity advances.
    pub date: f64,
    /// The activities (with their tags) and, for each, the constraint that holds it, if any.
    pub waiting: Vec<(ActivityId, u64, Option<ConstraintId>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// Waits out its latency.
    Starting,
    /// Takes part in the sharing.
    Working,
    /// Set aside.
    Suspended,
}

#[derive(Clone, Copy, Debug)]
struct Activity {
    /// Units left at `since`; stale while a group keeps the activity.
    remaining: f64,
    since: f64,
    /// Units per second since `since`, when no group keeps the activity.
    rate: f64,
    /// Seconds of latency left at `since`.
    latency: f64,
    sequence: u64,
    tag: u64,
    generation: u32,
    state: State,
}

/// Clock, activities and capacities.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    clock: f64,
    system: System,
    sharing: Sharing,
    activities: Vec<Activity>,
    free: Vec<u32>,
    alive: usize,
    sequence: u64,
    agenda: Agenda,
    groups: Groups,
    finished: Vec<Finished>,
    /// Endings of the present instant with their order of starting.
    ended: Vec<(u64, Finished)>,
}

impl Kernel {
    /// An empty kernel at date 0.
    pub fn new(sharing: Sharing) -> Self {
        let system = match sharing {
            Sharing::MaxMin => System::new(),
            Sharing::FairBottleneck => System::for_fair_bottleneck(),
        };
        Kernel { sharing, system, ..Kernel::default() }
    }

    /// The date of the simulation.
    pub fn clock(&self) -> f64 {
        self.clock
    }

    /// Number of activities that have not ended.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// Adds a capacity (not negative; infinite is allowed).
    pub fn add_constraint(&mut self, capacity: f64) -> Result<ConstraintId, WorkError> {
        check("a capacity", capacity, capacity >= 0.0)?;
        self.groups.add_constraint();
        Ok(ConstraintId(self.system.add_constraint(capacity)))
    }

    /// Adds a capacity that depends on how many activities consume it: 1, 2, …, the last entry
    /// for more.
    pub fn add_stepped_constraint(&mut self, steps: &[f64]) -> Result<ConstraintId, WorkError> {
        for &capacity in steps {
            check("a capacity", capacity, capacity >= 0.0)?;
        }
        self.groups.add_constraint();
        Ok(ConstraintId(self.system.add_stepped_constraint(steps)))
    }

    /// The capacity of a constraint.
    pub fn capacity(&self, constraint: ConstraintId) -> f64 {
        self.system.capacity(constraint.0)
    }

    /// Changes a capacity from now on.
    pub fn set_capacity(
        &mut self,
        constraint: ConstraintId,
        capacity: f64,
    ) -> Result<(), WorkError> {
        check("a capacity", capacity, capacity >= 0.0)?;
        self.system.set_capacity(constraint.0, capacity);
        Ok(())
    }

    /// Returns the present consumption of a constraint.
    pub fn load(&mut self, constraint: ConstraintId) -> f64 {
        self.settle();
        self.system.load(constraint.0)
    }

    /// The activities that consume a constraint now (those in their latency do not yet).
    pub fn users(
        &self,
        constraint: ConstraintId,
    ) -> impl ExactSizeIterator<Item = ActivityId> + '_ {
        self.system.crossing(constraint.0).map(|slot| self.id(slot))
    }

    /// All activities alive with their tags, by slot.
    pub fn activities(&self) -> impl Iterator<Item = (ActivityId, u64)> + '_ {
        let alive = self.activities.iter().enumerate().filter(|(_, a)| a.state != State::Free);
        alive.map(|(slot, a)| (self.id(slot as u32), a.tag))
    }

    /// Returns the constraints that an activity consumes (or will consume after its latency).
    pub fn uses(&self, activity: ActivityId) -> impl Iterator<Item = Use> + '_ {
        self.slot(activity).into_iter().flat_map(|slot| self.system.uses(slot))
    }

    /// Activities that are alive but consume nothing: in their latency, or suspended.
    pub fn dormant(&self) -> impl Iterator<Item = ActivityId> + '_ {
        let dormant = |a: &Activity| matches!(a.state, State::Starting | State::Suspended);
        let found = self.activities.iter().enumerate().filter(move |(_, a)| dormant(a));
        found.map(|(slot, _)| self.id(slot as u32))
    }

    /// Order of starting.
    pub fn sequence(&self, activity: ActivityId) -> u64 {
        self.activities.get(activity.slot()).map_or(0, |a| a.sequence)
    }

    /// Date at which something may end next; infinite when nothing has a date.
    pub fn next_date(&mut self) -> f64 {
        self.settle();
        self.agenda.first().map_or(f64::INFINITY, |(date, _)| date)
    }

    /// Starts an activity now.
    pub fn start(&mut self, work: Work<'_>) -> Result<ActivityId, WorkError> {
        self.check_work(&work)?;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.activities.push(Activity {
                remaining: 0.0,
                since: 0.0,
                rate: 0.0,
                latency: 0.0,
                sequence: 0,
                tag: 0,
                generation: 0,
                state: State::Free,
            });
            self.groups.add_slot();
            self.activities.len() as u32 - 1
        });
        self.system.define(slot, work.weight, work.bound, work.uses);
        let activity = &mut self.activities[slot as usize];
        activity.remaining = work.amount;
        activity.latency = work.latency;
        activity.tag = work.tag;
        activity.sequence = self.sequence;
        self.sequence += 1;
        self.alive += 1;
        self.begin(slot);
        Ok(self.id(slot))
    }

    /// Starts an activity that only lets time pass.
    pub fn sleep(&mut self, duration: f64, tag: u64) -> Result<ActivityId, WorkError> {
        let bound = f64::INFINITY;
        self.start(Work { amount: 0.0, latency: duration, weight: 1.0, bound, uses: &[], tag })
    }

    /// Whether the activity is still alive.
    pub fn is_alive(&self, activity: ActivityId) -> bool {
        self.slot(activity).is_some()
    }

    /// Ends an activity at once, without an event; false when it had ended already.
    pub fn cancel(&mut self, activity: ActivityId) -> bool {
        let Some(slot) = self.slot(activity) else { return false };
        self.halt(slot);
        self.retire(slot);
        true
    }

    /// Sets an activity aside: it consumes nothing until resumed.
    pub fn suspend(&mut self, activity: ActivityId) -> bool {
        let Some(slot) = self.slot(activity) else { return false };
        self.halt(slot);
        self.activities[slot as usize].state = State::Suspended;
        true
    }

    /// Resumes a suspended activity.
    pub fn resume(&mut self, activity: ActivityId) -> bool {
        let Some(slot) = self.slot(activity) else { return false };
        if self.activities[slot as usize].state == State::Suspended {
            self.begin(slot);
        }
        true
    }

    /// Units left to be done.
    pub fn remaining(&self, activity: ActivityId) -> Option<f64> {
        let slot = self.slot(activity)?;
        if let Some(to_go) = self.groups.to_go(slot, self.clock) {
            return Some(to_go / self.system.weight(slot));
        }
        let Activity { remaining, since, rate, .. } = self.activities[slot as usize];
        Some(left_after(remaining, rate, self.clock - since))
    }

    /// Units per second now.
    pub fn rate(&mut self, activity: ActivityId) -> Option<f64> {
        self.settle();
        Some(self.system.rate(self.slot(activity)?))
    }

    /// Changes the weight and the bound of an activity from now on; false when it had ended.
    pub fn reweigh(
        &mut self,
        activity: ActivityId,
        weight: f64,
        bound: f64,
    ) -> Result<bool, WorkError> {
        check("a weight", weight, weight > 0.0 && weight < f64::INFINITY)?;
        check("a bound", bound, bound >= 0.0)?;
        let Some(slot) = self.slot(activity) else { return Ok(false) };
        if self.activities[slot as usize].state == State::Working {
            self.bring_up_to_date(slot);
        }
        self.system.reweigh(slot, weight, bound);
        Ok(true)
    }

    /// Advances to the next instant at which something ends, or to `until`, whichever comes
    /// first; what ended is in [`Kernel::finished`].
    pub fn step(&mut self, until: f64) -> Result<Step, Stalled> {
        self.finished.clear();
        loop {
            self.settle();
            let Some((date, _)) = self.agenda.first().filter(|&(date, _)| date <= until) else {
                if until < f64::INFINITY {
                    self.clock = self.clock.max(until);
                    return Ok(Step::Limit);
                }
                return if self.alive == 0 { Ok(Step::Idle) } else { Err(self.stalled()) };
            };
            self.clock = self.clock.max(date);
            let horizon = self.clock * (1.0 + SIMULTANEOUS);
            while let Some((date, id)) = self.agenda.first().filter(|&(date, _)| date <= horizon) {
                debug_assert!(!date.is_nan());
                if id % 2 == 0 {
                    self.agenda.remove(id);
                    self.come_due(id / 2);
                } else {
                    let reached = self.groups.reached(id / 2, horizon);
                    while let Some(slot) = self.groups.due(id / 2, reached) {
                        self.end(slot);
                    }
                    // The level will be another, but not by much: re-dating it moves little.
                    self.agenda.set(id, self.groups.next_end(id / 2));
                }
            }
            if !self.ended.is_empty() {
                self.ended.sort_unstable_by_key(|&(sequence, _)| sequence);
                self.finished.extend(self.ended.drain(..).map(|(_, finished)| finished));
                return Ok(Step::Instant);
            }
        }
    }

    /// Returns the activities that ended at the instant reached by the last [`Kernel::step`], in
    /// order of starting.
    pub fn finished(&self) -> &[Finished] {
        &self.finished
    }

    /// Forgets all activities and goes back to date 0; constraints stay, with the capacities
    /// they have now.
    pub fn reset(&mut self) {
        self.clock = 0.0;
        self.system.clear_variables();
        self.activities.clear();
        self.free.clear();
        self.alive = 0;
        self.sequence = 0;
        self.agenda.clear();
        self.groups.clear();
        self.finished.clear();
        self.ended.clear();
    }

    fn id(&self, slot: u32) -> ActivityId {
        ActivityId { slot, generation: self.activities[slot as usize].generation }
    }

    fn slot(&self, id: ActivityId) -> Option<u32> {
        let activity = self.activities.get(id.slot as usize)?;
        let same = activity.generation == id.generation && activity.state != State::Free;
        same.then_some(id.slot)
    }

    /// Starts or resumes: first the rest of the latency, then the work.
    fn begin(&mut self, slot: u32) {
        let activity = &mut self.activities[slot as usize];
        activity.since = self.clock;
        activity.rate = 0.0;
        if activity.latency > 0.0 || activity.remaining == 0.0 {
            activity.state = State::Starting;
            self.agenda.set(2 * slot, self.clock + activity.latency);
        } else {
            activity.state = State::Working;
            self.system.attach(slot);
        }
    }

    /// The agenda says that the latency, or a work no constraint holds, is over.
    fn come_due(&mut self, slot: u32) {
        let activity = &mut self.activities[slot as usize];
        if activity.state == State::Starting && activity.remaining > 0.0 {
            activity.latency = 0.0;
            self.begin(slot);
        } else {
            self.end(slot);
        }
    }

    fn end(&mut self, slot: u32) {
        let Activity { sequence, tag, .. } = self.activities[slot as usize];
        self.ended.push((sequence, Finished { activity: self.id(slot), tag }));
        self.halt(slot);
        self.retire(slot);
    }

    /// Removes an activity from all structures that would advance it.
    fn halt(&mut self, slot: u32) {
        match self.activities[slot as usize].state {
            State::Starting => {
                let activity = &mut self.activities[slot as usize];
                activity.latency = (activity.latency - (self.clock - activity.since)).max(0.0);
                self.agenda.remove(2 * slot);
            }
            State::Working => {
                self.bring_up_to_date(slot);
                self.agenda.remove(2 * slot);
                self.system.detach(slot);
            }
            State::Suspended | State::Free => {}
        }
        self.activities[slot as usize].rate = 0.0;
        self.activities[slot as usize].since = self.clock;
    }

    fn retire(&mut self, slot: u32) {
        self.system.release(slot);
        let activity = &mut self.activities[slot as usize];
        activity.state = State::Free;
        activity.generation = activity.generation.wrapping_add(1);
        self.free.push(slot);
        self.alive -= 1;
    }

    /// Computes what is left of a working activity now and takes it out of its group.
    fn bring_up_to_date(&mut self, slot: u32) {
        let now = self.clock;
        if self.groups.home(slot) != NO_ID {
            let to_go = self.groups.leave(slot, now);
            self.activities[slot as usize].remaining = to_go / self.system.weight(slot);
        } else {
            let activity = &mut self.activities[slot as usize];
            activity.remaining =
                left_after(activity.remaining, activity.rate, now - activity.since);
        }
        self.activities[slot as usize].since = now;
        self.activities[slot as usize].rate = 0.0;
    }

    /// Solves the sharing if something changed, and dates what comes next.
    fn settle(&mut self) {
        if self.system.is_stale() {
            match self.sharing {
                Sharing::MaxMin => self.system.solve_max_min(),
                Sharing::FairBottleneck => self.system.solve_fair_bottleneck(),
            }
            for &constraint in self.system.changed_constraints() {
                let level = self.system.level(constraint);
                self.groups.set_level(constraint, level, self.clock);
            }
            for k in 0..self.system.changed_variables().len() {
                let slot = self.system.changed_variables()[k];
                if self.system.attached(slot) {
                    self.regroup(slot);
                }
            }
            self.system.acknowledge();
        }
        let Kernel { groups, agenda, .. } = self;
        groups.drain_touched(|constraint, date| agenda.set(2 * constraint + 1, date));
    }

    /// Moves an activity to the group of the constraint that holds it now.
    fn regroup(&mut self, slot: u32) {
        let holder = self.system.bottleneck(slot);
        if holder != NO_ID && self.groups.home(slot) == holder {
            return;
        }
        self.bring_up_to_date(slot);
        let remaining = self.activities[slot as usize].remaining;
        if holder != NO_ID {
            self.agenda.remove(2 * slot);
            self.groups.join(slot, holder, remaining * self.system.weight(slot), self.clock);
        } else {
            let rate = self.system.rate(slot);
            self.activities[slot as usize].rate = rate;
            let duration = if remaining == 0.0 { 0.0 } else { remaining / rate };
            self.agenda.set(2 * slot, self.clock + duration);
        }
    }

    /// Returns all activities that have not ended, each with the constraint that holds it.
    pub fn stalled(&self) -> Stalled {
        let waiting = self.activities.iter().enumerate().filter(|(_, a)| a.state != State::Free);
        let waiting = waiting.map(|(slot, a)| {
            let holder = self.system.bottleneck(slot as u32);
            let holder = (holder != NO_ID).then_some(ConstraintId(holder));
            (self.id(slot as u32), a.tag, holder)
        });
        Stalled { date: self.clock, waiting: waiting.collect() }
    }

    fn check_work(&self, work: &Work<'_>) -> Result<(), WorkError> {
        check("an amount of work", work.amount, work.amount >= 0.0 && work.amount < f64::INFINITY)?;
        check("a latency", work.latency, work.latency >= 0.0 && work.latency < f64::INFINITY)?;
        check("a weight", work.weight, work.weight > 0.0 && work.weight < f64::INFINITY)?;
        check("a bound", work.bound, work.bound >= 0.0)?;
        for (k, used) in work.uses.iter().enumerate() {
            let coefficient = used.coefficient;
            check("a consumption", coefficient, coefficient > 0.0 && coefficient < f64::INFINITY)?;
            let twice = work.uses[..k].iter().any(|other| other.constraint == used.constraint);
            if twice || used.constraint as usize >= self.system.constraint_count() {
                return Err(WorkError::BadConstraint(used.constraint));
            }
        }
        Ok(())
    }
}

/// Computes the amount left of `remaining` after `seconds` at `rate` (which may be infinite).
fn left_after(remaining: f64, rate: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { (remaining - rate * seconds).max(0.0) } else { remaining }
}

fn check(what: &'static str, value: f64, fine: bool) -> Result<(), WorkError> {
    if fine { Ok(()) } else { Err(WorkError::BadQuantity { what, value }) }
}
