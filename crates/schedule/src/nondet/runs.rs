//! Runs of workflows with choices and loops as the plans have them: every release is mapped on
//! the machines as they are, times come true.

use super::allocate::{Part, candidates, choose};
use super::fleet::{Batch, Fleet, Kinds, Lease};
use super::plans::{Parts, Plan, check_confidence, shares};
use super::{NondetError, Options};
use slackline_model::approx;
use slackline_model::control::{
    Control, Decider, Decision, Due, InstanceId, MOST_INSTANCES, Released, UnfoldError, Walk,
};
use std::sync::Arc;

/// A task instance of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedInstance {
    /// Its name, with the passes of the loops around it.
    pub name: String,
    /// The task.
    pub task: u32,
    /// The kind of machines.
    pub kind: usize,
    /// The machines.
    pub machines: Vec<u32>,
    /// Begin.
    pub start: f64,
    /// End.
    pub end: f64,
}

/// A sub-workflow that was released.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// Its number among the parts.
    pub part: usize,
    /// When.
    pub at: f64,
    /// The money it had, where it was planned then.
    pub money: Option<f64>,
}

/// Instances, leases and bill of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The instances, in order of release.
    pub instances: Vec<PlacedInstance>,
    /// Outcomes of the decisions, in the order in which they were taken.
    pub outcomes: Vec<(Decision, u32)>,
    /// Releases of sub-workflows with their dates.
    pub released: Vec<Release>,
    /// All leases: kind, machine, time.
    pub leases: Vec<(usize, u32, Lease)>,
    /// End of the last task.
    pub makespan: f64,
    /// The bill of all leases.
    pub cost: f64,
    /// Machine seconds paid for.
    pub paid_seconds: f64,
}

struct Running<'a> {
    kinds: &'a Kinds<'a>,
    options: &'a Options,
    plan: &'a Plan,
    parts: &'a Parts,
    walk: Walk,
    fleet: Fleet,
    ends: Vec<f64>,
    /// Instances that are not done.
    open: Vec<InstanceId>,
    run: Run,
}

/// Common data of all runs of one workflow.
pub struct Course<'a> {
    control: Arc<Control>,
    kinds: &'a Kinds<'a>,
    plan: &'a Plan,
    parts: Parts,
}

impl<'a> Course<'a> {
    /// Runs of a workflow by these plans.
    pub fn new(
        control: Arc<Control>,
        kinds: &'a Kinds<'a>,
        plan: &'a Plan,
    ) -> Result<Course<'a>, NondetError> {
        let parts = Parts::of(&control, kinds)?;
        Ok(Course { control, kinds, plan, parts })
    }

    /// Simulates one run with decisions made by `decider`.
    pub fn run(&self, options: &Options, decider: &mut dyn Decider) -> Result<Run, NondetError> {
        check_confidence(&self.control, options)?;
        let (walk, start) = Walk::new(self.control.clone());
        let mut running = Running {
            kinds: self.kinds,
            options,
            plan: self.plan,
            parts: &self.parts,
            walk,
            fleet: Fleet::fresh(self.kinds),
            ends: Vec::new(),
            open: Vec::new(),
            run: Run {
                instances: Vec::new(),
                outcomes: Vec::new(),
                released: Vec::new(),
                leases: Vec::new(),
                makespan: 0.0,
                cost: 0.0,
                paid_seconds: 0.0,
            },
        };
        running.release(&start, 0.0);
        let mut now = 0.0;
        loop {
            running.end_until(now);
            if let Some(due) = running.walk.due().first() {
                running.decide(due, now, &self.control, decider)?;
                continue;
            }
            let next = running.open.iter().map(|&i| running.ends[i as usize]);
            let next = next.fold(f64::INFINITY, f64::min);
            if next.is_infinite() {
                break;
            }
            now = next;
        }
        let Running { mut run, fleet, .. } = running;
        run.makespan = run.instances.iter().map(|i| i.end).fold(0.0, f64::max);
        run.cost = fleet.bill(self.kinds);
        run.paid_seconds = fleet.paid_seconds(self.kinds);
        run.leases = fleet.leases().collect();
        Ok(run)
    }
}

/// One run by plans made beforehand; see [`Course`] for many.
pub fn run(
    control: &Arc<Control>,
    kinds: &Kinds<'_>,
    plan: &Plan,
    options: &Options,
    decider: &mut dyn Decider,
) -> Result<Run, NondetError> {
    Course::new(control.clone(), kinds, plan)?.run(options, decider)
}

impl Running<'_> {
    /// Ends the instances that end by a date; dates that agree within tolerance are one date.
    fn end_until(&mut self, now: f64) {
        let Running { open, ends, walk, .. } = self;
        open.retain(|&instance| {
            let over = approx::le(ends[instance as usize], now);
            if over {
                walk.end(instance);
            }
            !over
        });
    }

    fn decide(
        &mut self,
        due: &Due,
        now: f64,
        control: &Control,
        decider: &mut dyn Decider,
    ) -> Result<(), NondetError> {
        let mut outcome = 0;
        if let Some(decision) = control.decision_of(due) {
            outcome = decider.decide(control, &decision)?;
            self.run.outcomes.push((decision, outcome));
        }
        let released = self.walk.take(due, outcome);
        if self.walk.instances().len() > MOST_INSTANCES {
            return Err(UnfoldError::TooLong.into());
        }
        self.release(&released, now);
        Ok(())
    }

    /// Places what a decision set free.
    fn release(&mut self, released: &Released, now: f64) {
        let part = self.parts.parts.iter().position(|p| p.trigger == released.trigger);
        let Some(part) = part.filter(|_| !released.instances.is_empty()) else { return };
        // File order: what is first there is first among equals.
        let mut instances = released.instances.clone();
        instances.sort_by_key(|&i| (self.walk.instances()[i as usize].task, i));
        let tasks: Vec<u32> =
            instances.iter().map(|&i| self.walk.instances()[i as usize].task).collect();
        let mut waits: Vec<Vec<usize>> = Vec::new();
        let mut ready = Vec::new();
        for &instance in &instances {
            let mut within = Vec::new();
            let mut latest: f64 = 0.0;
            for wait in &self.walk.instances()[instance as usize].waits {
                match instances.iter().position(|i| i == wait) {
                    Some(at) => within.push(at),
                    None => latest = latest.max(self.ends[*wait as usize]),
                }
            }
            waits.push(within);
            ready.push(latest);
        }
        let (kind, machines, widths, money) = match self.options.adaptive {
            false => self.planned(part, &tasks),
            true => self.planned_anew(part, now, &tasks, &waits, &ready),
        };
        let batch = Batch { tasks: &tasks, waits: &waits, ready: &ready, widths: &widths };
        let spots = self.fleet.place(self.kinds, kind, machines, now, &batch);
        self.ends.resize(self.walk.instances().len(), 0.0);
        let mut placed: Vec<(InstanceId, PlacedInstance)> = Vec::new();
        for (&instance, spot) in instances.iter().zip(spots) {
            let of = &self.walk.instances()[instance as usize];
            self.ends[instance as usize] = spot.end;
            self.open.push(instance);
            let (name, task) = (of.name.clone(), of.task);
            let one = PlacedInstance {
                name,
                task,
                kind,
                machines: spot.machines,
                start: spot.start,
                end: spot.end,
            };
            placed.push((instance, one));
        }
        placed.sort_by_key(|(instance, _)| *instance);
        self.run.instances.extend(placed.into_iter().map(|(_, one)| one));
        self.run.released.push(Release { part, at: now, money });
    }

    /// As planned beforehand.
    fn planned(&self, part: usize, tasks: &[u32]) -> (usize, u32, Vec<u32>, Option<f64>) {
        let Some(candidate) = &self.plan.plans[part].candidate else {
            return (0, 1, vec![1; tasks.len()], None);
        };
        let known = &self.plan.parts[part].tasks;
        let width = |task: &u32| known.binary_search(task).map_or(1, |at| candidate.widths[at]);
        (candidate.kind, candidate.machines, tasks.iter().map(width).collect(), None)
    }

    /// As it is best now, with its share of the money that is left.
    fn planned_anew(
        &self,
        part: usize,
        now: f64,
        tasks: &[u32],
        waits: &[Vec<usize>],
        ready: &[f64],
    ) -> (usize, u32, Vec<u32>, Option<f64>) {
        let Parts { parts, work, floor, able } = self.parts;
        let options = self.options;
        let spent = self.fleet.bill(self.kinds);
        let planned: Vec<f64> = (self.walk.still_to_come(parts).iter().enumerate())
            .map(|(at, count)| {
                let released = if at == part { 1.0 } else { 0.0 };
                count.planned(options.confidence) + released
            })
            .collect();
        let left = (options.budget - spent).max(0.0);
        let money = shares(&planned, work, floor, left, options.share)[part];
        let place = Part { tasks, waits, ready, now, fleet: &self.fleet, spent };
        let found = candidates(&place, self.kinds, &able[part], money, options);
        match choose(found, money) {
            Some((best, _)) => (best.kind, best.machines, best.widths, Some(money)),
            None => (able[part][0], 1, vec![1; tasks.len()], Some(money)),
        }
    }
}
