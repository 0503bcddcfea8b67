//! Partial critical paths under a deadline, as cheap as possible (Abrishami, Naghibzadeh, Epema, IEEE
//! TPDS 23(8), 2012: PCP; Future Generation Computer Systems 29, 2013: IC-PCP and IC-PCPD2), from
//! general knowledge.
//!
//! The workflow is taken apart backwards: from the end, and then from every task that was dealt with, the
//! path of those parents whose data would come last. With least times and mean transfers each task has an
//! earliest start and a latest end, which follow what was decided.
//!
//! - `pcp`: the time between the earliest start and the latest end of a path is shared among its tasks in
//!   proportion to their least times. Then, by falling upward rank, each task takes the cheapest processor
//!   that meets its part, else the one where it finishes first.
//! - `ic-pcp`: a whole path goes to the cheapest machine, one in use or the first unused of a kind, on which
//!   every task meets its latest end, else to the one on which it ends first.
//! - `ic-pcpd2`: time is shared as in `pcp`; each task then takes the processor that adds least to
//!   the bill of its machine.
//!
//! O(v (v + e)). Ties: earlier end, lower processor. Without a deadline: the cheapest plan. The originals
//! lease machines without limit and always meet the deadline; here it may be missed.

use super::{Course, Offer, cheapest, choice};
use crate::list::{Partial, Timeline};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::platform::Billing;
use slackline_model::{HostId, Problem, ProcId, Schedule, TaskId, approx};

/// Registry entry.
pub const PCP: Algorithm = Algorithm {
    name: "pcp",
    family: Family::Qos,
    basis: Basis::Recalled,
    about: "deadline shared out along partial critical paths, cheapest processor in time",
    source: "Abrishami, Naghibzadeh, Epema, IEEE TPDS 23(8), 2012",
    complexity: "O(v (v + e) + e p)",
    parameters: &[],
    needs: &[Need::Deadline],
    plan: |problem, request| plan(problem, request, Form::Shared),
};

/// Registry entry.
pub const IC_PCP: Algorithm = Algorithm {
    name: "ic-pcp",
    about: "partial critical paths, each on the cheapest machine in time",
    source: "Abrishami, Naghibzadeh, Epema, FGCS 29, 2013",
    plan: |problem, request| plan(problem, request, Form::Whole),
    ..PCP
};

/// Registry entry.
pub const IC_PCPD2: Algorithm = Algorithm {
    name: "ic-pcpd2",
    about: "deadline shared out along partial critical paths, least addition to a machine's bill",
    plan: |problem, request| plan(problem, request, Form::Billed),
    ..IC_PCP
};

/// Treatment of a path by the variants of the method.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Shared,
    Whole,
    Billed,
}

fn plan(problem: &Problem<'_>, request: &Request, form: Form) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, request);
    if course.deadline.is_infinite() {
        return cheapest::plan(problem);
    }
    let mut windows = Windows::new(&course);
    windows.go_through(|windows, path| match form {
        Form::Whole => windows.put_on_one_machine(path),
        _ => windows.share(path),
    });
    match form {
        Form::Whole => place_on(&course, &windows.machine),
        Form::Shared => {
            course.place(|_, task, offers| in_time(offers, windows.end[task.index()], |o| o.cost))
        }
        Form::Billed => {
            let mut spans: Vec<Option<(f64, f64)>> = vec![None; problem.platform().hosts().len()];
            course.place(|_, task, offers| {
                let host = |o: &Offer| problem.host_of(o.slot.proc);
                let more = |o: &Offer| addition(problem, host(o), spans[host(o).index()], o);
                let chosen = in_time(offers, windows.end[task.index()], more);
                let (at, slot) = (host(&offers[chosen]).index(), offers[chosen].slot);
                let (from, to) = spans[at].unwrap_or((slot.start, slot.finish));
                spans[at] = Some((from.min(slot.start), to.max(slot.finish)));
                chosen
            })
        }
    }
}

/// The offer of least price among those that end in time, else the one that ends first.
fn in_time(offers: &[Offer], end: f64, price: impl Fn(&Offer) -> f64) -> usize {
    let let_in = |o: &Offer| approx::le(o.slot.finish, end);
    let priced: Vec<Offer> = offers.iter().map(|o| Offer { cost: price(o), ..*o }).collect();
    let mut best: Option<usize> = None;
    for at in (0..offers.len()).filter(|&at| let_in(&offers[at])) {
        let better = |b: usize| {
            let (next, best) = (&priced[at], &priced[b]);
            approx::lt(next.cost, best.cost)
                || approx::eq(next.cost, best.cost)
                    && approx::lt(next.slot.finish, best.slot.finish)
        };
        if best.is_none_or(better) {
            best = Some(at);
        }
    }
    best.unwrap_or_else(|| choice::first(offers))
}

/// Addition of a task to the bill of its machine.
fn addition(problem: &Problem<'_>, host: HostId, used: Option<(f64, f64)>, offer: &Offer) -> f64 {
    let host = problem.platform().host(host);
    let class = problem.platform().class(host.class);
    if class.billing == Billing::EXACT && !class.leasable {
        return offer.cost;
    }
    let bill = |(from, to): (f64, f64)| {
        class.billing.billed_seconds(to - from) * host.price * f64::from(host.cores)
    };
    let slot = offer.slot;
    let (from, to) = used.unwrap_or((slot.start, slot.finish));
    bill((from.min(slot.start), to.max(slot.finish))) - used.map_or(0.0, bill)
}

/// When tasks may start and have to end, as far as is decided.
struct Windows<'c, 'a, 'p> {
    course: &'c Course<'a, 'p>,
    /// Seconds of each task: the least ones until it has a machine.
    seconds: Vec<f64>,
    start: Vec<f64>,
    end: Vec<f64>,
    settled: Vec<bool>,
    machine: Vec<Option<ProcId>>,
    lines: Vec<Timeline>,
    used: Vec<bool>,
}

impl<'c, 'a, 'p> Windows<'c, 'a, 'p> {
    fn new(course: &'c Course<'a, 'p>) -> Self {
        let problem = course.problem;
        let workflow = problem.workflow();
        let fixed = |t: TaskId| problem.state().fixed(t);
        let start = |t: TaskId| fixed(t).map_or(problem.release(t), |p| p.start);
        let end =
            |t: TaskId| fixed(t).map_or(course.deadline, |p| p.finish.max(problem.state().now));
        let mut windows = Windows {
            course,
            seconds: workflow.tasks().map(|t| problem.best_exec(t)).collect(),
            start: workflow.tasks().map(start).collect(),
            end: workflow.tasks().map(end).collect(),
            settled: workflow.tasks().map(|t| fixed(t).is_some()).collect(),
            machine: workflow.tasks().map(|t| fixed(t).map(|p| p.proc())).collect(),
            lines: problem
                .proc_ids()
                .map(|p| Timeline::new(problem.available_from(p), 0.0))
                .collect(),
            used: vec![false; problem.platform().hosts().len()],
        };
        windows.update();
        windows
    }

    fn transfer(&self, from: TaskId, to: TaskId, edge: slackline_model::EdgeId) -> f64 {
        let problem = self.course.problem;
        let host = |t: TaskId| self.machine[t.index()].map(|p| problem.host_of(p));
        match (host(from), host(to)) {
            (Some(a), Some(b)) if a == b => 0.0,
            _ => problem.mean_edge_transfer(edge),
        }
    }

    /// When an unsettled or settled task ends at the earliest.
    fn finish(&self, task: TaskId) -> f64 {
        match self.settled[task.index()] {
            true => self.end[task.index()],
            false => self.start[task.index()] + self.seconds[task.index()],
        }
    }

    /// Earliest starts and latest ends of what is not settled.
    fn update(&mut self) {
        let problem = self.course.problem;
        let workflow = problem.workflow();
        for &task in workflow.topological_order() {
            if self.settled[task.index()] {
                continue;
            }
            let arrival = |(parent, edge)| self.finish(parent) + self.transfer(parent, task, edge);
            let data = workflow.predecessors(task).map(arrival).fold(0.0, f64::max);
            self.start[task.index()] = problem.release(task).max(data);
        }
        for &task in workflow.topological_order().iter().rev() {
            if self.settled[task.index()] {
                continue;
            }
            let latest = |(child, edge): (TaskId, _)| {
                let begin = match self.settled[child.index()] {
                    true => self.start[child.index()],
                    false => self.end[child.index()] - self.seconds[child.index()],
                };
                begin - self.transfer(task, child, edge)
            };
            let ends = workflow.successors(task).map(latest);
            self.end[task.index()] = ends.fold(self.course.deadline, f64::min);
        }
    }

    /// Takes the workflow apart into partial critical paths and settles each.
    fn go_through(&mut self, mut settle: impl FnMut(&mut Self, &[TaskId])) {
        let workflow = self.course.problem.workflow();
        // None represents the end of the workflow, whose parents are the exits.
        let mut from: Vec<Option<TaskId>> = vec![None];
        while let Some(&task) = from.last() {
            let Some(last) = self.critical_parent(task) else {
                from.pop();
                continue;
            };
            let mut path = vec![last];
            while let Some(parent) = path.last().and_then(|&t| self.critical_parent(Some(t))) {
                path.push(parent);
            }
            path.reverse();
            settle(self, &path);
            self.update();
            from.extend(path.into_iter().map(Some));
        }
        debug_assert!(workflow.tasks().all(|t| self.settled[t.index()]));
    }

    /// The unsettled parent whose data comes last; of equal ones the lower task.
    fn critical_parent(&self, task: Option<TaskId>) -> Option<TaskId> {
        let workflow = self.course.problem.workflow();
        let later = |a: (TaskId, f64), b: (TaskId, f64)| if approx::gt(b.1, a.1) { b } else { a };
        let open = |t: &TaskId| !self.settled[t.index()];
        let found = match task {
            Some(task) => workflow
                .predecessors(task)
                .filter(|(parent, _)| open(parent))
                .map(|(parent, edge)| {
                    (parent, self.finish(parent) + self.transfer(parent, task, edge))
                })
                .reduce(later),
            None => workflow
                .tasks()
                .filter(|t| open(t) && workflow.successors(*t).all(|(c, _)| !open(&c)))
                .map(|t| (t, self.finish(t)))
                .reduce(later),
        };
        found.map(|(parent, _)| parent)
    }

    /// Shares the time of a path among its tasks in proportion to their least times.
    fn share(&mut self, path: &[TaskId]) {
        let (Some(&first), Some(&last)) = (path.first(), path.last()) else { return };
        let (from, to) = (self.start[first.index()], self.end[last.index()]);
        let all: f64 = path.iter().map(|t| self.seconds[t.index()]).sum();
        let (mut before, mut begin) = (0.0, from);
        for &task in path {
            before += self.seconds[task.index()];
            let part = if all > 0.0 { before / all } else { 1.0 };
            self.start[task.index()] = begin;
            self.end[task.index()] = from + (to - from).max(0.0) * part;
            self.settled[task.index()] = true;
            begin = self.end[task.index()];
        }
    }

    /// Puts a path on the cheapest machine on which every task ends in time.
    fn put_on_one_machine(&mut self, path: &[TaskId]) {
        let problem = self.course.problem;
        let mut fresh = vec![false; self.course.prices.kinds()];
        let mut best: Option<Stay> = None;
        for proc in problem.proc_ids() {
            let kind = self.course.prices.kind_of(proc);
            let unused = !self.used[problem.host_of(proc).index()];
            if unused && std::mem::replace(&mut fresh[kind], true) {
                continue;
            }
            if let Some(stay) = self.stay_on(path, proc)
                && best.as_ref().is_none_or(|best| stay.better_than(best))
            {
                best = Some(stay);
            }
        }
        for (at, &task) in path.iter().enumerate() {
            self.settled[task.index()] = true;
            let Some(Stay { proc, times, .. }) = &best else { continue };
            let (start, end) = times[at];
            (self.start[task.index()], self.end[task.index()]) = (start, end);
            self.machine[task.index()] = Some(*proc);
            self.lines[proc.index()].occupy(start, end);
            self.used[problem.host_of(*proc).index()] = true;
        }
    }

    /// Dates and cost of a path on a processor; none if some task cannot run there.
    fn stay_on(&self, path: &[TaskId], proc: ProcId) -> Option<Stay> {
        let problem = self.course.problem;
        let mut stay = Stay { proc, late: false, cost: 0.0, end: 0.0, times: Vec::new() };
        for &task in path {
            let seconds = self.course.prices.seconds(task, self.course.prices.kind_of(proc));
            if !seconds.is_finite() || problem.available_from(proc).is_infinite() {
                return None;
            }
            let data = match stay.times.is_empty() {
                true => self.start[task.index()],
                false => problem.release(task),
            };
            let start = self.lines[proc.index()].earliest(stay.end.max(data), seconds);
            stay.end = start + seconds;
            stay.cost += self.course.prices.cost_on(task, proc);
            stay.late |= approx::gt(stay.end, self.end[task.index()]);
            stay.times.push((start, stay.end));
        }
        Some(stay)
    }
}

/// A path on one processor: what it costs and when its tasks run.
struct Stay {
    proc: ProcId,
    late: bool,
    cost: f64,
    end: f64,
    times: Vec<(f64, f64)>,
}

impl Stay {
    /// In time first; then the cheaper, among late ones the sooner.
    fn better_than(&self, other: &Stay) -> bool {
        let sooner = approx::lt(self.end, other.end);
        match (self.late, other.late) {
            (false, false) => {
                approx::lt(self.cost, other.cost) || approx::eq(self.cost, other.cost) && sooner
            }
            (true, true) => sooner,
            (late, _) => !late,
        }
    }
}

/// Builds the schedule by falling upward rank, every task on its machine.
fn place_on(course: &Course<'_, '_>, machine: &[Option<ProcId>]) -> Result<Schedule, PlanError> {
    let mut partial = Partial::new(course.problem);
    for &task in &course.order {
        let own = machine[task.index()].map(|proc| partial.slot_on(task, proc));
        let slot = match own.filter(|slot| slot.possible()) {
            Some(slot) => slot,
            None => partial.earliest_finish(task)?,
        };
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}
