//! One function checks any schedule against its problem and says which rule broke where.

use super::{Lease, Schedule, pools};
use crate::approx;
use crate::ids::{FileId, HostId, ProcId, TaskId};
use crate::problem::{Problem, Unmet};
use thiserror::Error;

/// Limits that the user sets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Most money.
    pub budget: Option<f64>,
    /// Latest end.
    pub deadline: Option<f64>,
}

/// Whether a cost is within a limit. Where a budget is just enough the money left is zero but for
/// rounding, so the tolerance is absolute too.
#[inline]
pub fn affordable(cost: f64, limit: f64) -> bool {
    cost <= limit + approx::EPSILON * (limit.abs() + 1.0)
}

/// A broken rule, with the tasks and times that break it.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages say it
pub enum Violation {
    #[error("unscheduled: task '{task}' has no place in the schedule")]
    Unscheduled { task: String },
    #[error("size: the schedule has {given} tasks, the workflow {wanted}")]
    Size { given: usize, wanted: usize },
    #[error("date: task '{task}' runs from {start} to {finish}")]
    Date { task: String, start: f64, finish: f64 },
    #[error("processor: task '{task}' is on processor {proc}, there are only {procs}")]
    UnknownProcessor { task: String, proc: u32, procs: usize },
    #[error("width: task '{task}' has {given} processors, it takes {min} to {max}")]
    Width { task: String, given: usize, min: u32, max: u32 },
    #[error("width: task '{task}' has processor '{proc}' twice")]
    RepeatedProcessor { task: String, proc: String },
    #[error(
        "span: task '{task}' is spread over '{first}' and '{second}', which are not of one cluster"
    )]
    Span { task: String, first: String, second: String },
    #[error("span: task '{task}' runs on '{first}' and '{second}', but cannot leave its host")]
    LeavesHost { task: String, first: String, second: String },
    #[error("{resource}: task '{task}' does not fit on host '{host}'")]
    DoesNotFit { task: String, host: String, resource: String },
    #[error("pool: {tasks} hold {sum} of {pool} of {place} at {at}, it has {capacity}")]
    Pool { tasks: String, pool: String, place: String, at: f64, sum: String, capacity: String },
    #[error("window: task '{task}' runs from {start} to {finish} on '{host}', outside its windows")]
    Window { task: String, host: String, start: f64, finish: f64 },
    #[error("devices: task '{task}' has {ids}: {why}")]
    Devices { task: String, ids: String, why: String },
    #[error(
        "duration: task '{task}' takes {given} s from {start} to its end, but needs {needed} s there"
    )]
    Duration { task: String, start: f64, given: f64, needed: f64 },
    #[error("precedence: task '{child}' starts at {start}, before '{parent}' ends at {finish}")]
    Precedence { child: String, parent: String, start: f64, finish: f64 },
    #[error(
        "data: task '{child}' starts at {start}, but the data of '{parent}' arrives at {arrival}"
    )]
    DataArrival { child: String, parent: String, start: f64, arrival: f64 },
    #[error(
        "overlap: '{first}' (until {finish}) and '{second}' (from {start}) share processor '{proc}'"
    )]
    Overlap { proc: String, first: String, second: String, finish: f64, start: f64 },
    #[error("release: task '{task}' starts at {start}, it may not before {release}")]
    Release { task: String, start: f64, release: f64 },
    #[error("availability: task '{task}' starts at {start} on '{proc}', which is free from {from}")]
    Availability { task: String, proc: String, start: f64, from: f64 },
    #[error("fixed: task '{task}' has already started and was moved")]
    Moved { task: String },
    #[error("input: task '{task}' starts at {start}, but '{file}' is at '{host}' at {arrival}")]
    InputArrival { task: String, file: String, host: String, start: f64, arrival: f64 },
    #[error("transfer: '{file}' moves at {start}, before '{parent}' ends at {finish}")]
    EarlyTransfer { file: String, parent: String, start: f64, finish: f64 },
    #[error("transfer: '{file}' takes {given} s from {start} on, but needs {needed} s")]
    QuickTransfer { file: String, start: f64, given: f64, needed: f64 },
    #[error(
        "link: transfers of '{link}', which serves one at a time, overlap: one ends at {finish}, the next \
         begins at {start}"
    )]
    LinkOverlap { link: String, finish: f64, start: f64 },
    #[error("lease: task '{task}' runs from {start} to {finish} on '{host}', outside its leases")]
    OutsideLease { task: String, host: String, start: f64, finish: f64 },
    #[error("lease: '{host}' is leased from {from}, it can be ready at {earliest} at the earliest")]
    EarlyLease { host: String, from: f64, earliest: f64 },
    #[error("lease: '{host}' is leased twice at {at}")]
    DoubleLease { host: String, at: f64 },
    #[error("budget: the schedule costs {cost}, more than {budget}")]
    Budget { cost: f64, budget: f64 },
    #[error("deadline: the schedule ends at {makespan} s, after {deadline} s")]
    Deadline { makespan: f64, deadline: f64 },
}

/// All rules that a schedule breaks; empty means it is right.
pub fn validate(problem: &Problem<'_>, schedule: &Schedule, limits: &Limits) -> Vec<Violation> {
    let mut check = Check { problem, schedule, found: Vec::new() };
    let wanted = problem.tasks();
    if schedule.placements.len() != wanted {
        let given = schedule.placements.len();
        return vec![Violation::Size { given, wanted }];
    }
    for task in problem.workflow().tasks() {
        check.placement(task);
    }
    // The rules below compare placements with each other: they need sane ones.
    if check.found.is_empty() {
        for task in problem.workflow().tasks() {
            check.parents(task);
            check.inputs(task);
        }
        check.overlaps();
        check.found.extend(pools::exceeded(problem, schedule));
        check.found.extend(pools::outside_windows(problem, schedule));
        check.found.extend(pools::wrong_devices(problem, schedule));
        check.transfers();
        check.links();
        check.leases();
        check.limits(limits);
    }
    check.found
}

struct Check<'a, 'p> {
    problem: &'a Problem<'p>,
    schedule: &'a Schedule,
    found: Vec<Violation>,
}

impl Check<'_, '_> {
    fn name(&self, task: TaskId) -> String {
        self.problem.workflow().task_name(task).to_string()
    }

    /// A task on its own: place, width, fit, dates, duration.
    fn placement(&mut self, task: TaskId) {
        let problem = self.problem;
        let name = self.name(task);
        let Some(placement) = self.schedule.placement(task) else {
            return self.found.push(Violation::Unscheduled { task: name });
        };
        let (start, finish) = (placement.start, placement.finish);
        if !start.is_finite() || !finish.is_finite() || start < 0.0 || finish < start {
            return self.found.push(Violation::Date { task: name, start, finish });
        }
        if let Some(fixed) = problem.state().fixed(task) {
            if fixed != placement {
                self.found.push(Violation::Moved { task: name });
            }
            return;
        }
        let procs = placement.procs();
        if let Some(bad) = procs.iter().find(|p| p.index() >= problem.procs()) {
            let (proc, procs) = (bad.0, problem.procs());
            return self.found.push(Violation::UnknownProcessor { task: name, proc, procs });
        }
        if let Some(pair) = procs.windows(2).find(|pair| pair[0] == pair[1]) {
            let proc = problem.proc_name(pair[0]);
            return self.found.push(Violation::RepeatedProcessor { task: name, proc });
        }
        let (min, max) = problem.workflow().width(task);
        if procs.len() < min as usize || procs.len() > max as usize {
            let given = procs.len();
            return self.found.push(Violation::Width { task: name, given, min, max });
        }
        let host = |proc| problem.platform().host(problem.host_of(proc));
        let first = placement.proc();
        let kind = |proc| (problem.class_of(proc), host(proc).class);
        if let Some(&other) = procs.iter().find(|&&p| kind(p) != kind(first)) {
            let (first, second) = (problem.proc_name(first), problem.proc_name(other));
            return self.found.push(Violation::Span { task: name, first, second });
        }
        let home = problem.host_of(first);
        let away = |&&p: &&ProcId| problem.host_of(p) != home;
        if !problem.workflow().spreads(task)
            && let Some(&other) = procs.iter().find(away)
        {
            let (first, second) = (problem.proc_name(first), problem.proc_name(other));
            return self.found.push(Violation::LeavesHost { task: name, first, second });
        }
        let needed = problem.exec_wide(task, problem.class_of(first), procs.len() as u32);
        if needed.is_infinite() {
            let host = problem.host_of(first);
            let width = procs.len() as u32;
            let own = procs.iter().filter(|&&p| problem.host_of(p) == host).count() as u32;
            let at = (host, own, width);
            let unmet = problem.pools().first_unmet(problem.workflow(), task, at);
            let window = || problem.pools().windows(host).first().map(|_| Unmet::Window);
            let resource = unmet.or_else(window).unwrap_or(Unmet::Cores).to_string();
            let host = problem.platform().host(host).name.to_string();
            return self.found.push(Violation::DoesNotFit { task: name, host, resource });
        }
        // Rounding of a date grows with the date, not with the duration.
        let given = finish - start;
        if (given - needed).abs() > approx::tolerance(finish, needed) {
            self.found.push(Violation::Duration { task: name.clone(), start, given, needed });
        }
        let release = problem.release(task);
        if approx::lt(start, release) {
            self.found.push(Violation::Release { task: name.clone(), start, release });
        }
        for &proc in procs {
            let from = problem.available_from(proc);
            if approx::lt(start, from) {
                let proc = problem.proc_name(proc);
                self.found.push(Violation::Availability { task: name.clone(), proc, start, from });
            }
        }
    }

    /// A task against its parents: order and arrival of data.
    fn parents(&mut self, task: TaskId) {
        let problem = self.problem;
        let (Some(placement), None) = (self.schedule.placement(task), problem.state().fixed(task))
        else {
            return;
        };
        let start = placement.start;
        for (parent, edge) in problem.workflow().predecessors(task) {
            let Some(source) = self.schedule.placement(parent) else { continue };
            let finish = source.finish;
            if approx::lt(start, finish) {
                let (child, parent) = (self.name(task), self.name(parent));
                self.found.push(Violation::Precedence { child, parent, start, finish });
                continue;
            }
            let arrival = problem.edge_arrival(edge, finish, source.procs(), placement.procs());
            if approx::lt(start, arrival) {
                let (child, parent) = (self.name(task), self.name(parent));
                self.found.push(Violation::DataArrival { child, parent, start, arrival });
            }
        }
    }

    /// A task against its staged inputs: each has to reach every place it runs at.
    fn inputs(&mut self, task: TaskId) {
        let problem = self.problem;
        let Some(placement) = self.schedule.placement(task) else { return };
        let start = placement.start;
        for &file in problem.staged_inputs(task) {
            let arrival = problem.arrival_at(file, placement.procs());
            if approx::lt(start, arrival) && !self.is_passed_on(file, placement.proc(), start) {
                let file = problem.workflow().file_label(file);
                let host = problem.host_of(placement.proc());
                let host = problem.platform().host(host).name.to_string();
                let task = self.name(task);
                self.found.push(Violation::InputArrival { task, file, host, start, arrival });
            }
        }
    }

    /// Whether a planned transfer brings an input there in time from a place that has it by then.
    fn is_passed_on(&self, file: FileId, to: ProcId, by: f64) -> bool {
        let problem = self.problem;
        let place = |host: HostId| problem.platform().place_of(host);
        let to = place(problem.host_of(to));
        let planned = || self.schedule.transfers.iter().filter(|t| t.file == file);
        let has = |from: HostId, at: f64| {
            let copies = problem.state().copies_of(file);
            copies.iter().any(|c| place(c.host) == from && approx::le(c.at, at))
                || planned().any(|t| place(t.to) == from && approx::le(t.finish, at))
        };
        planned()
            .any(|t| place(t.to) == to && approx::le(t.finish, by) && has(place(t.from), t.start))
    }

    /// One task at a time on every processor.
    fn overlaps(&mut self) {
        for (proc, order) in self.schedule.orders(self.problem.procs()).iter().enumerate() {
            let mut last: Option<(TaskId, f64)> = None;
            for &task in order {
                let Some(placement) = self.schedule.placement(task) else { continue };
                if let Some((before, finish)) = last
                    && approx::lt(placement.start, finish)
                    && placement.finish > placement.start
                {
                    self.found.push(Violation::Overlap {
                        proc: self.problem.proc_name(crate::ProcId::new(proc)),
                        first: self.name(before),
                        second: self.name(task),
                        finish,
                        start: placement.start,
                    });
                }
                if last.is_none_or(|(_, finish)| placement.finish > finish) {
                    last = Some((task, placement.finish));
                }
            }
        }
    }

    /// Planned transfers leave after their producer has ended, and take as long as alone at least.
    fn transfers(&mut self) {
        let problem = self.problem;
        for transfer in &self.schedule.transfers {
            let (file, start) = (problem.workflow().file_label(transfer.file), transfer.start);
            let producer = problem.workflow().producer(transfer.file);
            if let Some(parent) = producer
                && let Some(source) = self.schedule.placement(parent)
                && approx::lt(start, source.finish)
            {
                let (parent, finish) = (self.name(parent), source.finish);
                self.found.push(Violation::EarlyTransfer { file, parent, start, finish });
                continue;
            }
            let bytes = problem.workflow().file_bytes(transfer.file);
            let needed = problem.transfer(bytes, transfer.from, transfer.to);
            let given = transfer.finish - start;
            // Blocks of a wide task's data are less than the file.
            let whole = producer.is_none();
            if whole && given < needed - approx::tolerance(transfer.finish, needed) {
                self.found.push(Violation::QuickTransfer { file, start, given, needed });
            }
        }
    }

    /// Links that serve one transfer at a time do.
    fn links(&mut self) {
        let platform = self.problem.platform();
        if !platform.is_fifo() {
            return;
        }
        let mut spans: Vec<(crate::LinkId, f64, f64)> = Vec::new();
        for transfer in &self.schedule.transfers {
            spans.extend(transfer.link.map(|link| (link, transfer.start, transfer.finish)));
        }
        spans.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)));
        for pair in spans.windows(2) {
            let ((link, _, finish), (next, start, _)) = (pair[0], pair[1]);
            if link == next && approx::lt(start, finish) {
                let link = platform.link(link).name.to_string();
                self.found.push(Violation::LinkOverlap { link, finish, start });
            }
        }
    }

    /// Machines are leased once at a time and not before they can be ready; on machines that exist only
    /// while leased, tasks run inside leases.
    fn leases(&mut self) {
        let platform = self.problem.platform();
        let mut leases: Vec<&Lease> = self.schedule.leases.iter().collect();
        leases.sort_by(|a, b| a.host.cmp(&b.host).then(a.from.total_cmp(&b.from)));
        for lease in &leases {
            let (from, earliest) = (lease.from, self.problem.obtainable_from(lease.host));
            // What was used before now was leased before now.
            if approx::lt(from, earliest) && from >= self.problem.state().now {
                let host = platform.host(lease.host).name.to_string();
                self.found.push(Violation::EarlyLease { host, from, earliest });
            }
        }
        for pair in leases.windows(2) {
            if pair[0].host == pair[1].host && approx::lt(pair[1].from, pair[0].to) {
                let (host, at) = (platform.host(pair[1].host).name.to_string(), pair[1].from);
                self.found.push(Violation::DoubleLease { host, at });
            }
        }
        for task in self.problem.workflow().tasks() {
            let Some(placement) = self.schedule.placement(task) else { continue };
            let (start, finish) = (placement.start, placement.finish);
            for host in self.problem.hosts_of(placement.procs()) {
                let mut leases = self.schedule.leases.iter().filter(|l| l.host == host).peekable();
                // A plan without leases rents each machine for as long as it is used.
                if !platform.class(platform.host(host).class).leasable || leases.peek().is_none() {
                    continue;
                }
                // What began in a lease that is over has its place there.
                let over = self.problem.state().leases.iter().filter(|l| !l.is_open());
                let mut all = leases.chain(over.filter(|l| l.host == host));
                if !all.any(|l| approx::le(l.from, start) && approx::le(finish, l.to)) {
                    let host = platform.host(host).name.to_string();
                    let task = self.name(task);
                    self.found.push(Violation::OutsideLease { task, host, start, finish });
                }
            }
        }
    }

    fn limits(&mut self, limits: &Limits) {
        let makespan = self.schedule.makespan();
        if let Some(deadline) = limits.deadline
            && approx::gt(makespan, deadline)
        {
            self.found.push(Violation::Deadline { makespan, deadline });
        }
        if let Some(budget) = limits.budget {
            let cost = super::metrics::cost(self.problem, self.schedule);
            if !affordable(cost, budget) {
                self.found.push(Violation::Budget { cost, budget });
            }
        }
    }
}
