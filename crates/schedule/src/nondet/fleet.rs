//! Kinds of machines, and machines that are leased: which are taken, for how long, for what.
//!
//! A machine is paid per lease, from the begin of its first task to the end of its last, in whole
//! quanta. Once leased it is kept as long as it is paid for.

use super::NondetError;
use slackline_model::platform::Billing;
use slackline_model::{HostId, Platform, Problem, ProcId, TaskId, approx};
use std::cmp::Ordering;
use std::sync::Arc;

/// Machines that are the same: a class of the platform.
#[derive(Clone, Debug)]
pub struct MachineKind {
    /// Name of the class.
    pub name: Arc<str>,
    /// The machines.
    pub hosts: Vec<HostId>,
    /// Money per machine and second.
    pub price: f64,
    /// Billing rule of its leases.
    pub billing: Billing,
    /// Processors of a machine.
    cores: u32,
    /// Class of run times.
    class: usize,
}

impl MachineKind {
    /// Number of machines.
    pub fn count(&self) -> u32 {
        self.hosts.len() as u32
    }
}

/// All kinds, and the times of tasks on them.
#[derive(Clone, Debug)]
pub struct Kinds<'p> {
    problem: &'p Problem<'p>,
    kinds: Vec<MachineKind>,
}

impl<'p> Kinds<'p> {
    /// The leasable classes of a platform; all where none is leasable. `problem` is that of the
    /// tasks alone.
    pub fn new(problem: &'p Problem<'p>) -> Kinds<'p> {
        let platform: &Platform = problem.platform();
        let any = platform.has_leasable();
        let leased = platform.classes().iter().filter(|class| class.leasable || !any);
        let first = |host: HostId| ProcId(problem.procs_of(host).start);
        let kind = |class: &slackline_model::platform::Class| MachineKind {
            name: class.name.clone(),
            hosts: class.hosts.clone(),
            price: class.price,
            billing: class.billing,
            cores: class.cores.max(1),
            class: problem.class_of(first(class.hosts[0])),
        };
        Kinds { problem, kinds: leased.filter(|c| !c.hosts.is_empty()).map(kind).collect() }
    }

    /// The kinds, in the order of the platform.
    pub fn all(&self) -> &[MachineKind] {
        &self.kinds
    }

    /// The problem of the tasks alone.
    pub fn problem(&self) -> &'p Problem<'p> {
        self.problem
    }

    /// Fewest and most machines that a task can take; none where it fits on none.
    pub fn widths(&self, kind: usize, task: u32) -> Option<(u32, u32)> {
        let (kind, task) = (&self.kinds[kind], TaskId(task));
        let workflow = self.problem.workflow();
        let (least, most) = workflow.width(task);
        if !self.problem.exec(task, kind.class).is_finite() {
            return None;
        }
        let fewest = least.div_ceil(kind.cores);
        let most = if workflow.spreads(task) {
            (most / kind.cores).max(fewest).min(kind.count())
        } else {
            // Its processors are those of one machine.
            1
        };
        (fewest <= most).then_some((fewest, most))
    }

    /// Seconds of a task on so many machines.
    pub fn seconds(&self, kind: usize, task: u32, machines: u32) -> f64 {
        let cores = self.kinds[kind].cores.saturating_mul(machines);
        let (least, most) = self.problem.workflow().width(TaskId(task));
        let procs = cores.clamp(least, most);
        self.problem.exec_wide(TaskId(task), self.kinds[kind].class, procs)
    }

    /// The kinds that can run all of these tasks.
    pub fn able(&self, tasks: &[u32], part: &str) -> Result<Vec<usize>, NondetError> {
        let unable = |kind: usize| tasks.iter().find(|&&t| self.widths(kind, t).is_none());
        let able: Vec<usize> = (0..self.kinds.len()).filter(|&k| unable(k).is_none()).collect();
        if !able.is_empty() {
            return Ok(able);
        }
        let why = match (
            self.kinds.first(),
            tasks.iter().find(|&&t| (0..self.kinds.len()).all(|k| self.widths(k, t).is_none())),
        ) {
            (None, _) => "the platform has none that can be leased".to_string(),
            (_, Some(&task)) => {
                format!("'{}' fits on none", self.problem.workflow().task_name(TaskId(task)))
            }
            _ => "each fits on some, but not all on one".to_string(),
        };
        Err(NondetError::NoKind { part: part.to_string(), why })
    }

    /// Time on one machine, mean over the kinds that can run the task.
    pub fn work(&self, task: u32) -> f64 {
        let times = (0..self.kinds.len()).filter_map(|kind| {
            let (fewest, _) = self.widths(kind, task)?;
            Some(f64::from(fewest) * self.seconds(kind, task, fewest))
        });
        let (sum, count) = times.fold((0.0, 0.0), |(sum, count), t| (sum + t, count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }

    /// Least cost of running tasks one after the other on one machine (as many as the widest needs).
    pub fn floor(&self, tasks: &[u32], able: &[usize]) -> f64 {
        if tasks.is_empty() {
            return 0.0;
        }
        let cost = |&kind: &usize| {
            let width = |&t: &u32| self.widths(kind, t).map_or(1, |(fewest, _)| fewest);
            let widest = tasks.iter().map(width).max().unwrap_or(1);
            let seconds: f64 = tasks.iter().map(|t| self.seconds(kind, *t, width(t))).sum();
            let kind = &self.kinds[kind];
            f64::from(widest) * kind.price * kind.billing.billed_seconds(seconds)
        };
        able.iter().map(cost).fold(f64::INFINITY, f64::min)
    }
}

/// A time for which a machine is paid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lease {
    /// Begin of its first task.
    pub from: f64,
    /// End of its last.
    pub to: f64,
}

#[derive(Clone, Debug, Default)]
struct Machine {
    /// In order of time; later tasks may extend the last.
    leases: Vec<Lease>,
}

impl Machine {
    /// End of the last task, 0 if there was none.
    fn to(&self) -> f64 {
        self.leases.last().map_or(0.0, |lease| lease.to)
    }

    /// Until when it is paid; never before 0.
    fn paid_until(&self, billing: &Billing) -> f64 {
        self.leases.last().map_or(0.0, |l| l.from + billing.billed_seconds(l.to - l.from))
    }
}

/// The machines of all kinds as a run has them.
#[derive(Clone, Debug)]
pub struct Fleet {
    machines: Vec<Vec<Machine>>,
}

/// Tasks that are placed together.
pub(super) struct Batch<'a> {
    /// The task of each entry.
    pub(super) tasks: &'a [u32],
    /// Per entry: the entries it waits for.
    pub(super) waits: &'a [Vec<usize>],
    /// Per entry: when everything outside is there.
    pub(super) ready: &'a [f64],
    /// Per entry: how many machines.
    pub(super) widths: &'a [u32],
}

/// Machines and dates of an entry of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// Machines, by their number in the kind.
    pub machines: Vec<u32>,
    /// Begin.
    pub start: f64,
    /// End.
    pub end: f64,
}

/// Additional cost of a machine's lease because of a task, and whether the task begins a new lease.
struct Extra {
    cost: f64,
    new_lease: bool,
}

impl Fleet {
    /// A fleet without leases.
    pub fn fresh(kinds: &Kinds<'_>) -> Fleet {
        let machines = |kind: &MachineKind| vec![Machine::default(); kind.hosts.len()];
        Fleet { machines: kinds.all().iter().map(machines).collect() }
    }

    /// All leases so far: kind, machine and time, in order.
    pub fn leases(&self) -> impl Iterator<Item = (usize, u32, Lease)> + '_ {
        self.machines.iter().enumerate().flat_map(|(kind, machines)| {
            machines.iter().enumerate().flat_map(move |(index, machine)| {
                machine.leases.iter().map(move |lease| (kind, index as u32, *lease))
            })
        })
    }

    /// Cost of all leases.
    pub fn bill(&self, kinds: &Kinds<'_>) -> f64 {
        self.leases()
            .map(|(kind, _, lease)| {
                let kind = &kinds.all()[kind];
                kind.price * kind.billing.billed_seconds(lease.to - lease.from)
            })
            .sum::<f64>()
            + 0.0 // not -0 where there is none
    }

    /// Seconds that are paid, and seconds between begin and end of leases.
    pub fn paid_seconds(&self, kinds: &Kinds<'_>) -> f64 {
        let billed = |(kind, _, lease): (usize, u32, Lease)| {
            kinds.all()[kind].billing.billed_seconds(lease.to - lease.from)
        };
        self.leases().map(billed).sum::<f64>() + 0.0
    }

    /// Places a batch that is asked for at a date on at most `most` machines of a kind, by
    /// earliest finish first and money second.
    pub(super) fn place(
        &mut self,
        kinds: &Kinds<'_>,
        kind: usize,
        most: u32,
        now: f64,
        batch: &Batch<'_>,
    ) -> Vec<Spot> {
        let seconds: Vec<f64> = (batch.tasks.iter().zip(batch.widths))
            .map(|(&task, &width)| kinds.seconds(kind, task, width))
            .collect();
        let levels = bottom_levels(batch.waits, &seconds);
        let pool = self.pool(&kinds.all()[kind], kind, most, now);
        let mut spots: Vec<Option<Spot>> = vec![None; batch.tasks.len()];
        for _ in 0..batch.tasks.len() {
            let mut next: Option<usize> = None;
            for at in 0..batch.tasks.len() {
                let free =
                    spots[at].is_none() && batch.waits[at].iter().all(|&w| spots[w].is_some());
                let better = |other: usize| match approx::cmp(levels[at], levels[other]) {
                    Ordering::Equal => batch.tasks[at] < batch.tasks[other],
                    order => order == Ordering::Greater,
                };
                if free && next.is_none_or(better) {
                    next = Some(at);
                }
            }
            let Some(at) = next else { break };
            let ends = batch.waits[at].iter().filter_map(|&w| spots[w].as_ref().map(|s| s.end));
            let ready = ends.fold(batch.ready[at].max(now), f64::max);
            let machine = &kinds.all()[kind];
            spots[at] =
                Some(self.put(machine, kind, &pool, batch.widths[at], now, ready, seconds[at]));
        }
        spots.into_iter().flatten().collect()
    }

    /// Whether a machine is still paid for, and so still there.
    fn is_alive(&self, kind: usize, index: u32, billing: &Billing, now: f64) -> bool {
        let machine = &self.machines[kind][index as usize];
        !machine.leases.is_empty() && approx::le(now, machine.paid_until(billing))
    }

    /// When a machine can begin something that is ready then.
    fn early(&self, kind: usize, index: u32, billing: &Billing, now: f64, ready: f64) -> f64 {
        let to = self.machines[kind][index as usize].to();
        if self.is_alive(kind, index, billing, now) {
            ready.max(to)
        } else {
            ready.max(to).max(now + billing.setup)
        }
    }

    /// The machines that may be used, at most so many.
    fn pool(&self, machine: &MachineKind, kind: usize, most: u32, now: f64) -> Vec<u32> {
        let mut left: Vec<u32> = (0..machine.count()).collect();
        if most >= machine.count() {
            return left;
        }
        let billing = &machine.billing;
        let better = |a: u32, b: u32| {
            let (one, other) = (&self.machines[kind][a as usize], &self.machines[kind][b as usize]);
            let early = |index| self.early(kind, index, billing, now, now);
            let alive = |index| self.is_alive(kind, index, billing, now);
            approx::cmp(early(a), early(b))
                .then(alive(b).cmp(&alive(a)))
                .then(approx::cmp(other.to(), one.to()))
                .then(approx::cmp(other.paid_until(billing), one.paid_until(billing)))
                .then(a.cmp(&b))
                == Ordering::Less
        };
        let mut pool = Vec::new();
        while (pool.len() as u32) < most {
            let Some(best) = least(&left, better) else { break };
            pool.push(left.swap_remove(best));
        }
        pool.sort_unstable();
        pool
    }

    /// The cheaper of going on with a lease and beginning a new one.
    fn extra(
        &self,
        machine: &MachineKind,
        at: (usize, u32),
        now: f64,
        start: f64,
        seconds: f64,
    ) -> Extra {
        let billing = &machine.billing;
        let fresh = machine.price * billing.billed_seconds(seconds);
        let one = &self.machines[at.0][at.1 as usize];
        let Some(lease) = one.leases.last().filter(|_| self.is_alive(at.0, at.1, billing, now))
        else {
            return Extra { cost: fresh, new_lease: true };
        };
        let longer = billing.billed_seconds(start + seconds - lease.from)
            - billing.billed_seconds(lease.to - lease.from);
        let on = machine.price * longer;
        let can_begin = approx::le(now.max(lease.to) + billing.setup, start);
        if can_begin && approx::lt(fresh, on) {
            Extra { cost: fresh, new_lease: true }
        } else {
            Extra { cost: on, new_lease: false }
        }
    }

    #[allow(clippy::too_many_arguments)] // a task, a place and three dates
    fn put(
        &mut self,
        machine: &MachineKind,
        kind: usize,
        pool: &[u32],
        width: u32,
        now: f64,
        ready: f64,
        seconds: f64,
    ) -> Spot {
        let billing = &machine.billing;
        let early = |index: u32| self.early(kind, index, billing, now, ready);
        let mut dates: Vec<f64> = pool.iter().map(|&index| early(index)).collect();
        dates.sort_by(f64::total_cmp);
        let width = (width as usize).min(dates.len()).max(1);
        let start = dates.get(width - 1).copied().unwrap_or(ready);
        struct Candidate {
            index: u32,
            extra: Extra,
            early: f64,
            to: f64,
            paid: f64,
        }
        let mut left: Vec<Candidate> = (pool.iter())
            .map(|&index| Candidate {
                index,
                extra: self.extra(machine, (kind, index), now, start, seconds),
                early: early(index),
                to: self.machines[kind][index as usize].to(),
                paid: self.machines[kind][index as usize].paid_until(billing),
            })
            .filter(|c| approx::le(c.early, start))
            .collect();
        let better = |a: &Candidate, b: &Candidate| {
            let at_once = |c: &Candidate| approx::le(c.early, ready);
            let money = match (
                a.extra.cost.abs() < 1e-12 && b.extra.cost.abs() < 1e-12,
                approx::cmp(a.extra.cost, b.extra.cost),
            ) {
                (true, _) => Ordering::Equal,
                (false, order) => order,
            };
            let dates =
                if at_once(a) { approx::cmp(b.to, a.to) } else { approx::cmp(a.early, b.early) };
            money
                .then(at_once(b).cmp(&at_once(a)))
                .then(dates)
                .then(approx::cmp(b.paid, a.paid))
                .then(a.index.cmp(&b.index))
                == Ordering::Less
        };
        let mut machines = Vec::with_capacity(width);
        while machines.len() < width && !left.is_empty() {
            let mut best = 0;
            for at in 1..left.len() {
                if better(&left[at], &left[best]) {
                    best = at;
                }
            }
            let chosen = left.swap_remove(best);
            let leases = &mut self.machines[kind][chosen.index as usize].leases;
            let end = start + seconds;
            match leases.last_mut().filter(|_| !chosen.extra.new_lease) {
                Some(lease) => lease.to = end,
                None => leases.push(Lease { from: start, to: end }),
            }
            machines.push(chosen.index);
        }
        machines.sort_unstable();
        Spot { machines, start, end: start + seconds }
    }
}

/// The position of the least element.
fn least(list: &[u32], better: impl Fn(u32, u32) -> bool) -> Option<usize> {
    let mut best = 0;
    for at in 1..list.len() {
        if better(list[at], list[best]) {
            best = at;
        }
    }
    (!list.is_empty()).then_some(best)
}

/// Longest path from the begin of each entry to the end.
pub(super) fn bottom_levels(waits: &[Vec<usize>], seconds: &[f64]) -> Vec<f64> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
    let mut missing = vec![0usize; waits.len()];
    for (at, list) in waits.iter().enumerate() {
        for &w in list {
            after[w].push(at);
            missing[w] += 1;
        }
    }
    let mut levels = seconds.to_vec();
    let mut done: Vec<usize> = (0..waits.len()).filter(|&at| missing[at] == 0).collect();
    while let Some(at) = done.pop() {
        let below = after[at].iter().map(|&a| levels[a]).fold(0.0, f64::max);
        levels[at] = seconds[at] + below;
        for &w in &waits[at] {
            missing[w] -= 1;
            if missing[w] == 0 {
                done.push(w);
            }
        }
    }
    levels
}
