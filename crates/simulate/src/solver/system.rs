//! Storage of a sharing system: flat arrays, `u32` ids, both directions of the incidence.
//!
//! A constraint keeps the list of the variables that cross it now; a variable keeps its elements
//! in a pool with one free list per size, so that a running simulation allocates nothing.

use super::hub::{Hub, LOST_DIGITS, MAX_AGE};
use super::queue::Queue;

/// No id: as a holder, of a variable at its own bound or without any; elsewhere, no hub or no position.
pub const NO_ID: u32 = u32::MAX;

/// Consumption of a constraint by one unit of rate of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The constraint that is consumed.
    pub constraint: u32,
    /// Units of capacity taken by one unit of rate; positive.
    pub coefficient: f64,
}

/// One variable as seen from a constraint it crosses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    /// Capacity taken by one unit of *level*: coefficient / weight.
    pub(super) ratio: f64,
    pub(super) variable: u32,
    /// Position of this element in the list of the variable.
    pub(super) element: u32,
    /// The constraint that holds the variable, or [`NO_ID`]: kept here because passes over a
    /// constraint mostly need to know no more of its variables.
    pub(super) holder: u32,
}

/// One constraint as seen from a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) coefficient: f64,
    /// Capacity taken by one unit of *level*: coefficient / weight.
    pub(super) ratio: f64,
    pub(super) constraint: u32,
    /// Position of this crossing in the list of the constraint, while the variable is attached.
    pub(super) position: u32,
}

/// The rate of one activity. Rates are handled as *levels*, weight x rate: variables held by one
/// constraint all have its level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub(super) weight: f64,
    /// Level at which the variable's own bound holds it.
    pub(super) ceiling: f64,
    /// Level while no constraint holds the variable; otherwise it has that constraint's.
    pub(super) own_level: f64,
    /// The constraint that holds the variable, or [`NO_ID`].
    pub(super) bottleneck: u32,
    pub(super) first: u32,
    pub(super) len: u32,
    pub(super) attached: bool,
    pub(super) reported: bool,
}

impl Variable {
    const EMPTY: Variable = Variable {
        weight: 1.0,
        ceiling: f64::INFINITY,
        own_level: 0.0,
        bottleneck: NO_ID,
        first: 0,
        len: 0,
        attached: false,
        reported: false,
    };

    pub(super) fn elements(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }
}

/// A capacity that variables share.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub(super) capacity: f64,
    /// Capacity with 1, 2, … variables, the last one for more; empty where it does not depend
    /// on their number.
    pub(super) steps: Box<[f64]>,
    pub(super) reported: bool,
    pub(super) crossings: Vec<Crossing>,
    /// Its place among the hubs, or [`NO_ID`].
    pub(super) hub: u32,
    /// Hubs that have a tie to this constraint, with the slot of the tie.
    pub(super) tied: Vec<(u32, u32)>,
}

/// Consumption of a constraint by variables held elsewhere: all that a change of their level has to
/// touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Consumption of the variables held elsewhere, with those below the guard counted at the
    /// guard.
    pub(super) rest: f64,
    /// Variables may rise to this level without a check of the constraint; zero while saturated.
    pub(super) guard: f64,
    /// The constraint has to be checked when `rest` is more; while saturated, at any change.
    pub(super) limit: f64,
    /// No variable held by another constraint has a higher level.
    pub(super) low: f64,
    /// Number of adjustments of the sum since it was computed.
    pub(super) age: u32,
    pub(super) queued: bool,
}

impl Load {
    /// The load of a constraint that no variable crosses: the first one is noticed.
    pub(super) fn none(capacity: f64) -> Load {
        let guard = f64::INFINITY;
        Load { rest: 0.0, guard, limit: capacity, low: 0.0, age: 0, queued: false }
    }

    /// Makes every change a reason to check the constraint.
    pub(super) fn watch_all(&mut self) {
        let queued = self.queued;
        *self = Load { guard: 0.0, limit: f64::NEG_INFINITY, queued, ..Load::none(0.0) };
    }

    /// Updates the load when a consumer of `ratio` per unit of level changes from level `old` to
    /// `new`; true when the constraint has to be checked.
    #[inline]
    pub(super) fn shift(&mut self, ratio: f64, old: f64, new: f64) -> bool {
        self.low = larger(self.low, new);
        self.add(ratio * (larger(new, self.guard) - larger(old, self.guard)))
    }

    #[inline]
    fn add(&mut self, more: f64) -> bool {
        self.rest += more;
        self.age += 1;
        (self.rest > self.limit) | (self.age > MAX_AGE)
    }
}

/// Constraints, variables and their crossings.
#[derive(Clone, Debug, Default)]
pub struct System {
    pub(super) constraints: Vec<Constraint>,
    /// Level of every constraint: what the variables it holds have; infinite while unsaturated.
    pub(super) levels: Vec<f64>,
    pub(super) loads: Vec<Load>,
    pub(super) variables: Vec<Variable>,
    pub(super) elements: Vec<Element>,
    pub(super) hubs: Vec<Hub>,
    /// Free stretches of `elements`, by the logarithm of their length.
    free: [Vec<u32>; 32],
    pub(super) queue: Queue,
    pub(super) changed_constraints: Vec<u32>,
    pub(super) changed_variables: Vec<u32>,
    /// Levels say nothing about fair-bottleneck sharing: every departure matters.
    fair: bool,
    /// Work space: constraints whose variables may have to move.
    pub(super) moving: Vec<u32>,
    /// Work space of the solvers.
    pub(super) scratch: Vec<(f64, f64)>,
}

impl System {
    /// An empty system.
    pub fn new() -> Self {
        System::default()
    }

    /// An empty system to be solved by [`System::solve_fair_bottleneck`] only.
    pub fn for_fair_bottleneck() -> Self {
        System { fair: true, ..System::default() }
    }

    /// Adds a constraint; `capacity` is not negative (infinite: it never limits a variable).
    pub fn add_constraint(&mut self, capacity: f64) -> u32 {
        debug_assert!(capacity >= 0.0);
        self.constraints.push(Constraint {
            capacity,
            steps: Box::default(),
            reported: false,
            crossings: Vec::new(),
            hub: NO_ID,
            tied: Vec::new(),
        });
        self.loads.push(Load::none(capacity));
        self.levels.push(f64::INFINITY);
        self.levels.len() as u32 - 1
    }

    /// Adds a constraint whose capacity depends on how many variables cross it: 1, 2, …, the last
    /// entry for more.
    pub fn add_stepped_constraint(&mut self, steps: &[f64]) -> u32 {
        let constraint = self.add_constraint(steps.first().copied().unwrap_or(f64::INFINITY));
        self.constraints[constraint as usize].steps = steps.into();
        constraint
    }

    /// Gives a constraint the capacity of so many variables.
    fn step_capacity(&mut self, constraint: u32, variables: usize) {
        let steps = &self.constraints[constraint as usize].steps;
        let place = variables.clamp(1, steps.len().max(1)) - 1;
        if let Some(&capacity) = steps.get(place) {
            self.set_capacity(constraint, capacity);
        }
    }

    /// Number of constraints.
    pub fn constraint_count(&self) -> usize {
        self.levels.len()
    }

    /// The capacity of a constraint.
    pub fn capacity(&self, constraint: u32) -> f64 {
        self.constraints[constraint as usize].capacity
    }

    /// Changes the capacity of a constraint.
    pub fn set_capacity(&mut self, constraint: u32, capacity: f64) {
        debug_assert!(capacity >= 0.0);
        let before = self.constraints[constraint as usize].capacity;
        if before != capacity {
            self.constraints[constraint as usize].capacity = capacity;
            // Rounding that was nothing beside the old capacity is something beside this one.
            if capacity < LOST_DIGITS * before {
                self.forget_sums(constraint);
            }
            self.enqueue(constraint, 0.0);
        }
    }

    /// The level of a constraint: infinite while it is not saturated.
    pub fn level(&self, constraint: u32) -> f64 {
        self.levels[constraint as usize]
    }

    /// The variables that cross a constraint now.
    pub fn crossing(&self, constraint: u32) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.constraints[constraint as usize].crossings.iter().map(|c| c.variable)
    }

    /// Returns the consumption of a constraint at the present rates.
    pub fn load(&self, constraint: u32) -> f64 {
        let mut load = 0.0;
        for crossing in &self.constraints[constraint as usize].crossings {
            let level = self.level_of(&self.variables[crossing.variable as usize]);
            if level > 0.0 {
                load += crossing.ratio * level;
            }
        }
        load
    }

    /// Gives `variable` (an id the caller chooses; ids should be dense) its weight, bound and
    /// constraints. It takes part in the sharing once attached.
    pub fn define(&mut self, variable: u32, weight: f64, bound: f64, uses: &[Use]) {
        debug_assert!(weight > 0.0 && bound >= 0.0);
        let slot = variable as usize;
        if slot >= self.variables.len() {
            self.variables.resize(slot + 1, Variable::EMPTY);
        }
        debug_assert!(self.variables[slot].len == 0, "a variable is released before it is reused");
        let first = self.take_stretch(uses.len());
        for (k, used) in uses.iter().enumerate() {
            let Use { constraint, coefficient } = *used;
            let ratio = coefficient / weight;
            self.elements[first as usize + k] =
                Element { coefficient, ratio, constraint, position: 0 };
        }
        self.variables[slot] = Variable {
            weight,
            ceiling: bound * weight,
            first,
            len: uses.len() as u32,
            ..Variable::EMPTY
        };
    }

    /// Forgets a variable; it must be detached.
    pub fn release(&mut self, variable: u32) {
        let slot = variable as usize;
        debug_assert!(!self.variables[slot].attached);
        let Variable { first, len, .. } = self.variables[slot];
        if len > 0 {
            self.free[size_class(len as usize)].push(first);
        }
        self.variables[slot].len = 0;
    }

    /// Returns the constraints that a variable consumes.
    pub fn uses(&self, variable: u32) -> impl ExactSizeIterator<Item = Use> + '_ {
        self.elements[self.variables[variable as usize].elements()]
            .iter()
            .map(|e| Use { constraint: e.constraint, coefficient: e.coefficient })
    }

    /// Lets a variable take part in the sharing.
    pub fn attach(&mut self, variable: u32) {
        let slot = variable as usize;
        let mut level = self.variables[slot].ceiling;
        let mut bottleneck = NO_ID;
        for at in self.variables[slot].elements() {
            let constraint = self.elements[at].constraint;
            let target = &self.constraints[constraint as usize];
            if !target.steps.is_empty() {
                self.step_capacity(constraint, target.crossings.len() + 1);
            }
        }
        for at in self.variables[slot].elements() {
            let Element { ratio, constraint, .. } = self.elements[at];
            let target = &mut self.constraints[constraint as usize];
            self.elements[at].position = target.crossings.len() as u32;
            let element = at as u32;
            target.crossings.push(Crossing { ratio, variable, element, holder: NO_ID });
            let here = self.levels[constraint as usize];
            if here < level {
                level = here;
                bottleneck = constraint;
            }
        }
        for at in self.variables[slot].elements() {
            let Element { ratio, constraint, .. } = self.elements[at];
            let load = &mut self.loads[constraint as usize];
            let saturated = self.levels[constraint as usize] < f64::INFINITY;
            if saturated || self.fair || load.add(ratio * level.max(load.guard)) {
                self.enqueue(constraint, level);
            }
        }
        self.variables[slot].attached = true;
        let attached = self.set_holder(variable, level, bottleneck);
        self.enter(&attached, level, NO_ID);
        self.report_variable(variable);
    }

    /// Takes a variable out of the sharing; it keeps its elements.
    pub fn detach(&mut self, variable: u32) {
        let slot = variable as usize;
        if !self.variables[slot].attached {
            return;
        }
        let leaving = self.variables[slot];
        let level = self.level_of(&leaving);
        self.leave(&leaving, level, NO_ID);
        for at in self.variables[slot].elements() {
            let Element { ratio, constraint, position, .. } = self.elements[at];
            let target = &mut self.constraints[constraint as usize];
            target.crossings.swap_remove(position as usize);
            if let Some(moved) = target.crossings.get(position as usize) {
                self.elements[moved.element as usize].position = position;
            }
            let here = self.levels[constraint as usize];
            // Less on an unsaturated constraint leaves it unsaturated.
            if here < f64::INFINITY || self.fair {
                self.enqueue(constraint, here);
            } else {
                let load = &mut self.loads[constraint as usize];
                load.add(-ratio * level.max(load.guard));
            }
            let target = &self.constraints[constraint as usize];
            if !target.steps.is_empty() {
                self.step_capacity(constraint, target.crossings.len());
            }
        }
        let target = &mut self.variables[slot];
        target.attached = false;
        target.own_level = 0.0;
        target.bottleneck = NO_ID;
    }

    /// Changes the weight and the bound of a variable.
    pub fn reweigh(&mut self, variable: u32, weight: f64, bound: f64) {
        debug_assert!(weight > 0.0 && bound >= 0.0);
        let attached = self.variables[variable as usize].attached;
        self.detach(variable);
        let target = &mut self.variables[variable as usize];
        target.weight = weight;
        target.ceiling = bound * weight;
        let elements = target.elements();
        for element in &mut self.elements[elements] {
            element.ratio = element.coefficient / weight;
        }
        if attached {
            self.attach(variable);
        }
    }

    /// The weight of a variable.
    pub fn weight(&self, variable: u32) -> f64 {
        self.variables[variable as usize].weight
    }

    /// The rate of a variable; infinite when nothing holds it, zero while it is detached.
    pub fn rate(&self, variable: u32) -> f64 {
        let variable = &self.variables[variable as usize];
        self.level_of(variable) / variable.weight
    }

    /// The level of a variable.
    #[inline]
    pub(super) fn level_of(&self, variable: &Variable) -> f64 {
        match variable.bottleneck {
            NO_ID => variable.own_level,
            holder => self.levels[holder as usize],
        }
    }

    /// Sets the holder of an attached variable; without one its own level counts.
    pub(super) fn set_holder(&mut self, variable: u32, level: f64, holder: u32) -> Variable {
        let target = &mut self.variables[variable as usize];
        target.own_level = level;
        if std::mem::replace(&mut target.bottleneck, holder) != holder {
            for element in &self.elements[target.elements()] {
                let crossings = &mut self.constraints[element.constraint as usize].crossings;
                crossings[element.position as usize].holder = holder;
            }
        }
        *target
    }

    /// The constraint that holds a variable, or [`NO_ID`].
    pub fn bottleneck(&self, variable: u32) -> u32 {
        self.variables[variable as usize].bottleneck
    }

    /// Whether a variable takes part in the sharing.
    pub fn attached(&self, variable: u32) -> bool {
        self.variables[variable as usize].attached
    }

    /// Whether something changed since the last solve.
    pub fn is_stale(&self) -> bool {
        !self.queue.is_empty() || !self.changed_variables.is_empty()
    }

    /// Constraints whose level changed since [`System::acknowledge`].
    pub fn changed_constraints(&self) -> &[u32] {
        &self.changed_constraints
    }

    /// Variables that were attached, or whose bottleneck or own rate changed, since
    /// [`System::acknowledge`]. A variable that merely follows the level of the constraint that
    /// holds it is not listed.
    pub fn changed_variables(&self) -> &[u32] {
        &self.changed_variables
    }

    /// Empties the lists of changes.
    pub fn acknowledge(&mut self) {
        for &constraint in &self.changed_constraints {
            self.constraints[constraint as usize].reported = false;
        }
        for &variable in &self.changed_variables {
            self.variables[variable as usize].reported = false;
        }
        self.changed_constraints.clear();
        self.changed_variables.clear();
    }

    /// Forgets every variable and keeps the constraints with the given capacities.
    pub fn clear_variables(&mut self) {
        for constraint in &mut self.constraints {
            constraint.crossings.clear();
            constraint.tied.clear();
            constraint.hub = NO_ID;
            constraint.reported = false;
        }
        self.levels.fill(f64::INFINITY);
        for (load, constraint) in self.loads.iter_mut().zip(&self.constraints) {
            *load = Load::none(constraint.capacity);
        }
        self.variables.clear();
        self.elements.clear();
        self.hubs.clear();
        self.free.iter_mut().for_each(Vec::clear);
        self.queue.clear();
        self.changed_constraints.clear();
        self.changed_variables.clear();
    }

    pub(super) fn enqueue(&mut self, constraint: u32, level: f64) {
        if !std::mem::replace(&mut self.loads[constraint as usize].queued, true) {
            self.queue.push(level, constraint);
        }
    }

    pub(super) fn report_constraint(&mut self, constraint: u32) {
        let target = &mut self.constraints[constraint as usize];
        if !target.reported {
            target.reported = true;
            self.changed_constraints.push(constraint);
        }
    }

    pub(super) fn report_variable(&mut self, variable: u32) {
        let target = &mut self.variables[variable as usize];
        if !target.reported {
            target.reported = true;
            self.changed_variables.push(variable);
        }
    }

    fn take_stretch(&mut self, len: usize) -> u32 {
        if len == 0 {
            return 0;
        }
        let class = size_class(len);
        if let Some(first) = self.free[class].pop() {
            return first;
        }
        let first = self.elements.len();
        let blank = Element { coefficient: 0.0, ratio: 0.0, constraint: 0, position: 0 };
        self.elements.resize(first + (1 << class), blank);
        first as u32
    }
}

/// The larger of two numbers that are numbers: one instruction, which [`f64::max`] is not.
#[inline]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Logarithm of the smallest power of two that is not below `len`.
fn size_class(len: usize) -> usize {
    len.next_power_of_two().trailing_zeros() as usize
}
