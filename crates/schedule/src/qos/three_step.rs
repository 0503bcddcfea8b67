//! Three steps for machines that are paid by the quantum: partition, provision, schedule (the outline of J.
//! Rouzaud-Cornabas as described in section 3.4.1 of F. Suter's habilitation thesis, 2014; completed here).
//!
//! 1. *Partition*: along the order of upward ranks a task joins the group with which it shares most
//!    data, as long as the group's serial time on the reference machine stays within `quanta` billing
//!    quanta and the graph of groups stays without cycles: a group that feeds another and waits for it
//!    too could never be provided for. The reference is the kind of machine on which the whole workflow
//!    costs least.
//! 2. *Provision*: groups in topological order. Each gets one machine, a new one of some kind or one in
//!    use, at the least additional bill among those that meet the deadline (as far as follows from
//!    the shortest path below the group), else the one that ends first. A paid quantum with room left
//!    thus costs nothing.
//! 3. *Schedule*: the tasks of a group by falling upward rank on the cores of its machine, each where it
//!    finishes first.
//!
//! The groups are reported with the plan: they read as leases of machines or as batch jobs (`cores` for
//! `walltime`, which is the duration times `safety`). Ties: more data, then the lower group; earlier end, then
//! the lower host. O(v g + e g) for g groups, plus g e h for h machines in use.

use super::{Prices, QosContext};
use crate::list::trial::Trial;
use crate::list::{Partial, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::{Detail, Lease, in_use};
use slackline_model::units::Quantity;
use slackline_model::{HostId, Problem, ProcId, Schedule, TaskId, approx};

/// Registry entry.
pub const THREE_STEP: Algorithm = Algorithm {
    name: "three-step",
    family: Family::Qos,
    basis: Basis::Own,
    about: "groups of tasks that fill billing quanta, one machine each",
    source: "after the outline in F. Suter, habilitation thesis, ENS Lyon, 2014",
    complexity: "O((v + e) g)",
    parameters: &[QUANTA, QUANTUM, SAFETY],
    needs: &[],
    plan,
};

const QUANTA: Parameter = Parameter::new(
    "quanta",
    Kind::Count(1, 1_000_000),
    "1",
    "billing quanta that the serial time of a group may fill",
);
const QUANTUM: Parameter = Parameter::new(
    "quantum",
    Kind::Quantity(Quantity::Duration),
    "auto",
    "length of a quantum, or the longest job of a batch system; auto: the longest of the platform",
);
const SAFETY: Parameter = Parameter::new(
    "safety",
    Kind::Number(1.0, 1000.0),
    "1",
    "factor from a group's duration to the walltime to ask for",
);

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = THREE_STEP.values(request)?;
    let course = QosContext::new(problem, request);
    let reference = reference(&course);
    let quanta = values.count("quanta")? as f64;
    let most = quanta * values.maybe_number("quantum").unwrap_or_else(|| longest_quantum(problem));
    let seconds = |task| match course.prices.seconds(task, reference) {
        seconds if seconds.is_finite() => seconds,
        _ => problem.best_exec(task),
    };
    let groups = Groups::of(problem, &course.order, seconds, most);
    provide(&course, groups.in_order(), values.number("safety")?)
}

/// The kind of machine on which all tasks together cost least; of equal ones the fastest, then the
/// first.
fn reference(course: &QosContext<'_, '_>) -> usize {
    let prices = &course.prices;
    let sum = |figure: &dyn Fn(TaskId) -> f64| course.order.iter().map(|&t| figure(t)).sum::<f64>();
    let key = |kind| (sum(&|t| prices.cost(t, kind)), sum(&|t| prices.seconds(t, kind)));
    let less = |a: (f64, f64), b: (f64, f64)| {
        approx::lt(a.0, b.0) || approx::eq(a.0, b.0) && approx::lt(a.1, b.1)
    };
    let keys: Vec<(f64, f64)> = (0..prices.kinds()).map(key).collect();
    (0..keys.len()).reduce(|best, k| if less(keys[k], keys[best]) { k } else { best }).unwrap_or(0)
}

/// The longest billing quantum of the platform; infinite where nothing is paid by the quantum, so that groups
/// are not limited.
fn longest_quantum(problem: &Problem<'_>) -> f64 {
    let quanta = problem.platform().classes().iter().map(|class| class.billing.quantum);
    let longest = quanta.fold(0.0, f64::max);
    if longest > 0.0 { longest } else { f64::INFINITY }
}

/// The groups of tasks and which feed which.
pub(super) struct Groups {
    pub(super) members: Vec<Vec<TaskId>>,
    pub(super) feeds: Vec<Vec<usize>>,
}

impl Groups {
    /// Cuts the tasks, given parents first, into groups of at most so many seconds.
    pub(super) fn of(
        problem: &Problem<'_>,
        order: &[TaskId],
        seconds: impl Fn(TaskId) -> f64,
        most: f64,
    ) -> Groups {
        let workflow = problem.workflow();
        let mut groups = Groups { members: Vec::new(), feeds: Vec::new() };
        let mut group_of = vec![usize::MAX; workflow.len()];
        let mut filled: Vec<f64> = Vec::new();
        for &task in order {
            // Data shared with the groups of the parents.
            let mut parents: Vec<(usize, f64)> = Vec::new();
            for (parent, edge) in workflow.predecessors(task) {
                let group = group_of[parent.index()];
                let bytes = workflow.edge_bytes(edge);
                match parents.iter_mut().find(|(g, _)| *g == group) {
                    Some((_, shared)) => *shared += bytes,
                    None if group != usize::MAX => parents.push((group, bytes)),
                    None => {}
                }
            }
            parents.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let with_data = parents.iter().filter(|(_, bytes)| *bytes > 0.0).map(|(g, _)| *g);
            let needs = seconds(task);
            let has_room = |&g: &usize| approx::le(filled[g] + needs, most);
            let joined = with_data
                .chain(0..groups.members.len())
                .filter(has_room)
                .find(|&g| !groups.leads_to_any(g, &parents))
                .unwrap_or_else(|| {
                    groups.members.push(Vec::new());
                    groups.feeds.push(Vec::new());
                    groups.members.len() - 1
                });
            if joined == filled.len() {
                filled.push(0.0);
            }
            filled[joined] += needs;
            group_of[task.index()] = joined;
            groups.members[joined].push(task);
            for (parent, _) in parents {
                if parent != joined && !groups.feeds[parent].contains(&joined) {
                    groups.feeds[parent].push(joined);
                }
            }
        }
        groups
    }

    /// Whether a path leads from a group to one of some others.
    fn leads_to_any(&self, from: usize, others: &[(usize, f64)]) -> bool {
        if others.iter().all(|&(group, _)| group == from) {
            return false;
        }
        let mut seen = vec![false; self.members.len()];
        let mut stack = vec![from];
        seen[from] = true;
        while let Some(group) = stack.pop() {
            for &next in &self.feeds[group] {
                if others.iter().any(|&(other, _)| other == next && other != from) {
                    return true;
                }
                if !seen[next] {
                    seen[next] = true;
                    stack.push(next);
                }
            }
        }
        false
    }

    /// The groups, each after those that feed it; of ready ones the first made.
    pub(super) fn in_order(self) -> Vec<Vec<TaskId>> {
        let mut waiting = vec![0; self.members.len()];
        for &next in self.feeds.iter().flatten() {
            waiting[next] += 1;
        }
        let ready = (0..waiting.len()).filter(|&g| waiting[g] == 0);
        let mut ready: std::collections::BTreeSet<usize> = ready.collect();
        let (mut members, mut order) = (self.members, Vec::new());
        while let Some(group) = ready.pop_first() {
            order.push(std::mem::take(&mut members[group]));
            for &next in &self.feeds[group] {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    ready.insert(next);
                }
            }
        }
        order
    }
}

/// When a machine is in use.
type Use = Option<(f64, f64)>;

/// Gives every group a machine and places its tasks there.
fn provide(
    course: &QosContext<'_, '_>,
    groups: Vec<Vec<TaskId>>,
    safety: f64,
) -> Result<Schedule, PlanError> {
    let problem = course.problem;
    let platform = problem.platform();
    let below = problem.workflow().bottom_levels(|t| problem.best_exec(t), |_| 0.0);
    let mut partial = Partial::new(problem);
    let mut trial = Trial::new(problem.procs());
    let fixed = problem.state().fixed.iter().flatten();
    let mut used: Vec<Use> = in_use(problem, fixed.map(|p| (p.procs(), p.start, p.finish)));
    let mut told = Vec::new();
    for group in groups {
        let tail = |task: &TaskId| below[task.index()] - problem.best_exec(*task);
        let after = group.iter().map(tail).fold(f64::INFINITY, f64::min);
        let latest = course.deadline - if after.is_finite() { after } else { 0.0 };
        let mut best: Option<(bool, f64, f64, HostId)> = None;
        for host in candidates(&course.prices, problem, &used) {
            let Some(span) = try_on(&mut partial, &mut trial, &group, host) else { continue };
            let late = approx::gt(span.1, latest);
            let more = bill(problem, host, widened(used[host.index()], span))
                - bill(problem, host, used[host.index()]);
            let better = best.is_none_or(|(was_late, least, end, _)| {
                let cheaper =
                    approx::lt(more, least) || approx::eq(more, least) && approx::lt(span.1, end);
                match (late, was_late) {
                    (false, true) => true,
                    (true, false) => false,
                    (true, true) => approx::lt(span.1, end),
                    (false, false) => cheaper,
                }
            });
            if better {
                best = Some((late, more, span.1, host));
            }
        }
        let Some((.., host)) = best else {
            place_anywhere(&mut partial, &group)?;
            use_hosts(&partial, &group, &mut used);
            continue;
        };
        let span = place_on(&mut partial, &group, host)?;
        use_hosts(&partial, &group, &mut used);
        told.push(group_detail(problem, &group, host, span, safety));
    }
    let mut schedule = partial.into_schedule();
    let leased = |&(_, h): &(&Use, HostId)| platform.class(platform.host(h).class).leasable;
    for (span, host) in used.iter().zip(platform.host_ids()).filter(leased) {
        if let Some((from, to)) = *span {
            let class = platform.host(host).class;
            schedule.leases.push(Lease { class, host, from, to });
        }
    }
    schedule.details.push(("groups", Detail::List(told)));
    Ok(schedule)
}

fn widened(span: Use, other: (f64, f64)) -> Use {
    Some(span.map_or(other, |(from, to)| (from.min(other.0), to.max(other.1))))
}

/// Cost of using a whole machine for a span.
fn bill(problem: &Problem<'_>, host: HostId, span: Use) -> f64 {
    let Some((from, to)) = span else { return 0.0 };
    let host = problem.platform().host(host);
    let billing = problem.platform().class(host.class).billing;
    billing.billed_seconds(to - from) * host.price * f64::from(host.cores)
}

/// Machines in use, and the first unused one of every kind.
fn candidates(prices: &Prices<'_, '_>, problem: &Problem<'_>, used: &[Use]) -> Vec<HostId> {
    let mut fresh = vec![false; prices.kinds()];
    let hosts = problem.platform().host_ids();
    hosts
        .filter(|host| {
            let Some(first) = problem.procs_of(*host).next() else { return false };
            let kind = prices.kind_of(ProcId(first));
            used[host.index()].is_some() || !std::mem::replace(&mut fresh[kind], true)
        })
        .collect()
}

/// The processor of a host on which a task ends first.
fn first_on(
    problem: &Problem<'_>,
    task: TaskId,
    host: HostId,
    slot_on: impl Fn(ProcId) -> Slot,
) -> Option<Slot> {
    let wide = problem.workflow().width(task).0 > 1;
    let procs = problem.procs_of(host).map(ProcId).take(if wide { 1 } else { usize::MAX });
    let slots = procs.map(slot_on).filter(Slot::possible);
    slots.reduce(|best, next| if approx::lt(next.finish, best.finish) { next } else { best })
}

/// First start and last end of a group on a machine, if it can run there.
fn try_on(
    partial: &mut Partial<'_, '_>,
    trial: &mut Trial,
    group: &[TaskId],
    host: HostId,
) -> Option<(f64, f64)> {
    let problem = partial.problem();
    let mut span: Use = None;
    for &task in group {
        let Some(slot) = first_on(problem, task, host, |p| trial.slot_on(partial, task, p)) else {
            span = None;
            break;
        };
        trial.place(partial, task, slot);
        span = widened(span, (slot.start, slot.finish));
    }
    trial.clear(partial);
    span
}

fn place_on(
    partial: &mut Partial<'_, '_>,
    group: &[TaskId],
    host: HostId,
) -> Result<(f64, f64), PlanError> {
    let problem = partial.problem();
    let mut span: Use = None;
    for &task in group {
        let slot = first_on(problem, task, host, |p| partial.slot_on(task, p));
        let slot = slot.ok_or_else(|| partial.nowhere(task))?;
        partial.place(task, slot);
        span = widened(span, (slot.start, slot.finish));
    }
    Ok(span.unwrap_or((0.0, 0.0)))
}

/// No machine can run all tasks of a group: each goes where it finishes first.
fn place_anywhere(partial: &mut Partial<'_, '_>, group: &[TaskId]) -> Result<(), PlanError> {
    for &task in group {
        let slot = partial.earliest_finish(task)?;
        partial.place(task, slot);
    }
    Ok(())
}

/// Counts the placed tasks of a group as use of all their machines.
fn use_hosts(partial: &Partial<'_, '_>, group: &[TaskId], used: &mut [Use]) {
    for placement in group.iter().filter_map(|&task| partial.placement(task)) {
        for host in partial.problem().hosts_of(placement.procs()) {
            let span = &mut used[host.index()];
            *span = widened(*span, (placement.start, placement.finish));
        }
    }
}

fn group_detail(
    problem: &Problem<'_>,
    group: &[TaskId],
    host: HostId,
    (from, to): (f64, f64),
    safety: f64,
) -> Detail {
    let name = |&task: &TaskId| Detail::Text(problem.workflow().task_name(task).to_string());
    let host = problem.platform().host(host);
    Detail::Record(vec![
        ("tasks", Detail::List(group.iter().map(name).collect())),
        ("machine", Detail::Text(host.name.to_string())),
        ("from", Detail::Number(from)),
        ("to", Detail::Number(to)),
        ("cores", Detail::Count(u64::from(host.cores))),
        ("walltime", Detail::Number((to - from) * safety)),
    ])
}
