//! Dates at which hosts refused tasks.
//!
//! What is placed stays: where a task found neither a processor nor room in a pool, no task will that demands and
//! takes at least as much. So the stretch in which a search found nothing is kept by classes of amounts and
//! of run times, and a search for a task of the class, or of a larger one, begins where it ends.

use super::PoolUse;
use slackline_model::problem::PoolId;
use slackline_model::{HostId, Placement, Problem, ProcId, TaskId};
use std::cell::Cell;

/// Classes of run times, four to each power of two, up to the longest.
const LENGTHS: usize = 24;

/// Bits of a number that do not tell apart such classes.
const SHIFT: u32 = 50;

/// Most classes of amounts.
const AMOUNTS: usize = 16;

/// Most pairs of task and host that are checked for classes.
const SAMPLE: usize = 8192;

/// No task of a class, or a larger one, can start from the first date on until the second.
#[derive(Clone, Copy)]
struct Stretch {
    from: f64,
    until: f64,
}

impl Stretch {
    const NONE: Stretch = Stretch { from: f64::INFINITY, until: f64::NEG_INFINITY };

    /// This and another one, if they meet; else the later.
    fn join(self, other: Stretch) -> Stretch {
        if other.from <= self.until && self.from <= other.until {
            Stretch { from: self.from.min(other.from), until: self.until.max(other.until) }
        } else if other.until > self.until {
            other
        } else {
            self
        }
    }
}

/// What is known of one host.
#[derive(Clone)]
struct OfHost {
    /// The pool in which its tasks are compared; none where there is none.
    pool: Option<PoolId>,
    /// The shortest class of run times.
    shortest: u64,
    /// Not all dates of its processors are dates of the pool.
    is_noisy: bool,
}

/// A class of tasks on a host.
#[derive(Clone, Copy)]
pub(crate) struct Class(usize);

/// Stretches of all hosts.
#[derive(Clone)]
pub(crate) struct Refusals {
    /// Least amounts of the classes.
    amounts: Vec<u64>,
    hosts: Vec<OfHost>,
    /// By host, amount and run time.
    stretches: Vec<Cell<Stretch>>,
}

impl Refusals {
    /// Nothing was searched; none where no host has a pool of its own.
    pub(crate) fn new(problem: &Problem<'_>, used: &PoolUse) -> Option<Refusals> {
        let (pools, profiles) = (&used.pools, &used.profiles);
        let workflow = problem.workflow();
        let hosts = problem.platform().hosts().len().max(1);
        let step = (problem.tasks() * hosts).div_ceil(SAMPLE).max(1);
        let sample = || (0..problem.tasks()).step_by(step).map(TaskId::new);
        let mut amounts: Vec<u64> = Vec::new();
        let mut hosts = Vec::new();
        for host in problem.platform().host_ids() {
            let procs = problem.procs_of(host);
            let mut pool: Option<PoolId> = None;
            let mut longest = 0.0f64;
            for task in sample().filter(|_| !procs.is_empty()) {
                let seconds = problem.exec(task, problem.class_of(ProcId(procs.start)));
                longest = longest.max(if seconds.is_finite() { seconds } else { 0.0 });
                pools.each_use(workflow, task, (host, 1, 1), |used, amount| {
                    let limited = profiles[used as usize].is_some();
                    let own = !pools.all()[used as usize].is_shared;
                    if limited && own && *pool.get_or_insert(used) == used {
                        amounts.push(amount);
                    }
                });
            }
            let begins_late = procs.clone().any(|proc| problem.available_from(ProcId(proc)) != 0.0);
            let shortest = (longest.to_bits() >> SHIFT).saturating_sub(LENGTHS as u64 - 1);
            hosts.push(OfHost { pool, shortest, is_noisy: begins_late });
            amounts.sort_unstable();
            amounts.dedup();
        }
        if amounts.is_empty() {
            return None;
        }
        let classes = amounts.len().min(AMOUNTS);
        let amounts: Vec<u64> =
            (0..classes).map(|k| amounts[k * amounts.len() / classes]).collect();
        let stretches = vec![Cell::new(Stretch::NONE); hosts.len() * amounts.len() * LENGTHS];
        Some(Refusals { amounts, hosts, stretches })
    }

    /// The class of amounts that are at most this one.
    #[inline]
    pub(crate) fn at_most(&self, amount: u64) -> Option<usize> {
        self.amounts.partition_point(|&a| a <= amount).checked_sub(1)
    }

    /// The pool of a host in which its tasks are compared.
    #[inline]
    pub(crate) fn pool(&self, host: HostId) -> Option<PoolId> {
        self.hosts[host.index()].pool
    }

    /// Whether dates of a host may differ by rounding alone: a search that begins later may then end at another of
    /// them.
    #[inline]
    pub(crate) fn is_noisy(&self, used: &PoolUse, host: HostId) -> bool {
        let of = &self.hosts[host.index()];
        of.is_noisy || of.pool.is_some_and(|pool| used.is_noisy(pool))
    }

    /// A task is placed: all dates of processors have to be dates of the pool of their host.
    pub(crate) fn placed(
        &mut self,
        problem: &Problem<'_>,
        used: &PoolUse,
        task: TaskId,
        placement: &Placement,
    ) {
        if let [proc] = placement.procs() {
            let host = problem.host_of(*proc);
            let of = &mut self.hosts[host.index()];
            if let Some(pool) = of.pool.filter(|_| !of.is_noisy) {
                let takes = match used.memory_alone(problem, task) {
                    Some(bytes) => bytes > 0,
                    None => used.takes_from(problem, task, host, pool),
                };
                of.is_noisy = !takes || placement.start >= placement.finish;
            }
            return;
        }
        for host in problem.hosts_of(placement.procs()) {
            self.hosts[host.index()].is_noisy = true;
        }
    }

    /// The class of a task that takes so many seconds, and at least the amount of a class.
    #[inline]
    pub(crate) fn class(&self, host: HostId, amount: usize, seconds: f64) -> Option<Class> {
        let length = (seconds.to_bits() >> SHIFT).checked_sub(self.hosts[host.index()].shortest)?;
        let length = (length as usize).min(LENGTHS - 1);
        Some(Class((host.index() * self.amounts.len() + amount) * LENGTHS + length))
    }

    /// A date, not before this one, before which no task of the class can start.
    #[inline]
    pub(crate) fn not_before(&self, class: Class, date: f64) -> f64 {
        let (mut own, mut date) = (self.stretches[class.0].get(), date);
        let before = own.until;
        let row = class.0 % (LENGTHS * self.amounts.len());
        // What is refused to less is refused to more.
        if row >= LENGTHS {
            own = self.learn(class.0 - LENGTHS, own, date);
        }
        if !row.is_multiple_of(LENGTHS) {
            own = self.learn(class.0 - 1, own, date);
        }
        if own.until != before {
            self.stretches[class.0].set(own);
        }
        if own.from <= date && date < own.until {
            date = own.until;
        }
        date
    }

    #[inline]
    fn learn(&self, from: usize, own: Stretch, date: f64) -> Stretch {
        let other = self.stretches[from].get();
        if other.until > own.until && other.from <= date { own.join(other) } else { own }
    }

    /// No start was found for a task from one date on until another.
    pub(crate) fn add(&self, host: HostId, (amount, seconds): (u64, f64), from: f64, until: f64) {
        // Of the classes whose tasks all take at least as much.
        let known = self.amounts.partition_point(|&a| a < amount);
        let length =
            (seconds.to_bits() >> SHIFT) + u64::from(seconds.to_bits() << (64 - SHIFT) != 0);
        let Some(length) = length.checked_sub(self.hosts[host.index()].shortest) else { return };
        if from < until && known < self.amounts.len() && length < LENGTHS as u64 {
            let at = (host.index() * self.amounts.len() + known) * LENGTHS + length as usize;
            let own = &self.stretches[at];
            own.set(own.get().join(Stretch { from, until }));
        }
    }
}
