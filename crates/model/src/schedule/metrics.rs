//! Figures of a schedule that people ask for.

use super::{Lease, Schedule};
use crate::problem::Problem;
use crate::{HostId, ProcId, approx};

/// Figures of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// End of the last task.
    pub makespan: f64,
    /// Least time of all tasks one after the other on a single processor, over the makespan.
    pub speedup: f64,
    /// Busy share of the processors that are used, over the makespan.
    pub utilisation: f64,
    /// Processors that run at least one task.
    pub used_procs: usize,
    /// Money for computation, billed as the machines' classes say.
    pub cost: f64,
    /// Bytes that change hosts.
    pub bytes_moved: f64,
}

impl Summary {
    /// The figures of a schedule.
    pub fn of(problem: &Problem<'_>, schedule: &Schedule) -> Summary {
        let makespan = schedule.makespan();
        let mut busy = vec![0.0f64; problem.procs()];
        for placement in schedule.placements.iter().flatten() {
            for proc in placement.procs() {
                busy[proc.index()] += placement.seconds();
            }
        }
        let used_procs = busy.iter().filter(|&&b| b > 0.0).count();
        let area = makespan * used_procs as f64;
        let utilisation = if area > 0.0 { busy.iter().sum::<f64>() / area } else { 0.0 };
        let alone = sequential_seconds(problem);
        Summary {
            makespan,
            speedup: if makespan > 0.0 { alone / makespan } else { 1.0 },
            utilisation,
            used_procs,
            cost: cost(problem, schedule),
            bytes_moved: bytes_moved(problem, schedule),
        }
    }
}

/// Time of the whole workflow on the one machine that runs it fastest.
fn sequential_seconds(problem: &Problem<'_>) -> f64 {
    (0..problem.classes())
        .map(|class| problem.workflow().tasks().map(|t| problem.exec(t, class)).sum())
        .filter(|sum: &f64| sum.is_finite())
        .reduce(f64::min)
        // No machine fits every task: take each task's best.
        .unwrap_or_else(|| problem.workflow().tasks().map(|t| problem.best_exec(t)).sum())
}

/// A stretch of computation: where, from when, until when.
pub type Stretch<'a> = (&'a [ProcId], f64, f64);

/// Money of a plan: per task where time is billed exactly, per machine where it is billed in quanta or
/// leased, and for data that leaves a site or cluster with a transfer price.
pub fn cost(problem: &Problem<'_>, schedule: &Schedule) -> f64 {
    let machines: f64 = bills(problem, stretches(schedule), &schedule.leases).iter().sum();
    machines + transfer_cost(problem, schedule)
}

fn transfer_cost(problem: &Problem<'_>, schedule: &Schedule) -> f64 {
    let platform = problem.platform();
    if !platform.prices_transfers() {
        return 0.0;
    }
    let mut total = 0.0;
    each_movement(problem, schedule, |bytes, sources, to| {
        let prices = sources.iter().map(|&from| platform.transfer_price(from, to));
        // Where several places have it, the cheapest sends it.
        total += bytes * prices.reduce(f64::min).unwrap_or(0.0);
    });
    total
}

/// The leases of a plan: its own, and where it has none for a machine that exists only while leased,
/// from the machine's first task to its last. By host, then by date.
pub fn leases(problem: &Problem<'_>, schedule: &Schedule) -> Vec<Lease> {
    let platform = problem.platform();
    let leasable = |host: HostId| platform.class(platform.host(host).class).leasable;
    uses(problem, stretches(schedule), &schedule.leases, leasable)
}

fn stretches(schedule: &Schedule) -> impl Iterator<Item = Stretch<'_>> + Clone {
    schedule.placements.iter().flatten().map(|p| (p.procs(), p.start, p.finish))
}

/// Money per host for stretches of computation, planned or done, under some leases.
pub fn bills<'s>(
    problem: &Problem<'_>,
    stretches: impl Iterator<Item = Stretch<'s>> + Clone,
    leases: &[Lease],
) -> Vec<f64> {
    let platform = problem.platform();
    let whole = |host: HostId| platform.class(platform.host(host).class).is_billed_whole();
    let mut bills = vec![0.0; platform.hosts().len()];
    for (procs, start, finish) in stretches.clone() {
        for &proc in procs.iter().filter(|&&p| !whole(problem.host_of(p))) {
            bills[problem.host_of(proc).index()] += (finish - start) * problem.price(proc);
        }
    }
    for lease in uses(problem, stretches, leases, whole) {
        bills[lease.host.index()] += machine_cost(problem, lease.host, lease.to - lease.from);
    }
    bills
}

/// Per machine: from the first stretch to the last, without what belongs to leases that are over. A lease
/// that runs began when it began; one that is only ordered counts where it is used.
pub fn in_use<'s>(
    problem: &Problem<'_>,
    stretches: impl Iterator<Item = Stretch<'s>>,
) -> Vec<Option<(f64, f64)>> {
    let (state, hosts) = (problem.state(), problem.platform().hosts().len());
    let mut over = vec![f64::NEG_INFINITY; if state.leases.is_empty() { 0 } else { hosts }];
    for lease in state.leases.iter().filter(|l| !l.is_open()) {
        let over = &mut over[lease.host.index()];
        *over = over.max(lease.to);
    }
    let mut spans: Vec<Option<(f64, f64)>> = vec![None; hosts];
    let widen = |span: &mut Option<(f64, f64)>, start: f64, finish: f64| {
        let (from, to) = span.unwrap_or((start, finish));
        *span = Some((from.min(start), to.max(finish)));
    };
    for (procs, start, finish) in stretches {
        for &proc in procs {
            let host = problem.host_of(proc).index();
            if over.get(host).is_none_or(|&over| approx::le(over, start)) {
                widen(&mut spans[host], start, finish);
            }
        }
    }
    for lease in state.leases.iter().filter(|l| l.is_open()) {
        let span = &mut spans[lease.host.index()];
        if lease.from <= state.now || span.is_some() {
            widen(span, lease.from, lease.from.max(state.now));
        }
    }
    spans
}

/// Periods of use of the chosen machines: as leased, else from the first stretch to the last; also
/// the leases that are over.
fn uses<'s>(
    problem: &Problem<'_>,
    stretches: impl Iterator<Item = Stretch<'s>>,
    leases: &[Lease],
    chosen: impl Fn(HostId) -> bool,
) -> Vec<Lease> {
    let platform = problem.platform();
    let mut spans = in_use(problem, stretches);
    let mut uses: Vec<Lease> = leases.iter().filter(|l| chosen(l.host)).cloned().collect();
    uses.iter().for_each(|lease| spans[lease.host.index()] = None);
    uses.extend(problem.state().leases.iter().filter(|l| !l.is_open() && chosen(l.host)).cloned());
    for (host, span) in platform.host_ids().zip(spans) {
        if let Some((from, to)) = span.filter(|_| chosen(host)) {
            uses.push(Lease { class: platform.host(host).class, host, from, to });
        }
    }
    uses.sort_by(|a, b| a.host.cmp(&b.host).then(a.from.total_cmp(&b.from)));
    uses
}

fn machine_cost(problem: &Problem<'_>, host: HostId, seconds: f64) -> f64 {
    let host = problem.platform().host(host);
    let billing = problem.platform().class(host.class).billing;
    billing.billed_seconds(seconds) * host.price * f64::from(host.cores)
}

fn bytes_moved(problem: &Problem<'_>, schedule: &Schedule) -> f64 {
    let mut total = 0.0;
    each_movement(problem, schedule, |bytes, _, _| total += bytes);
    total
}

/// Calls with the bytes of every file that moves, the places where it was at first, and the one that it goes
/// to: at most once to each place that reads it.
fn each_movement(
    problem: &Problem<'_>,
    schedule: &Schedule,
    mut moves: impl FnMut(f64, &[HostId], HostId),
) {
    let workflow = problem.workflow();
    let places_of =
        |task| schedule.placement(task).map(|p| problem.places_of(p.procs())).unwrap_or_default();
    for file in workflow.files() {
        let mut places = match workflow.producer(file) {
            Some(producer) => places_of(producer),
            None if !problem.state().inputs_listed => continue,
            None => {
                let copies = problem.state().copies_of(file).iter();
                copies.map(|c| problem.platform().place_of(c.host)).collect()
            }
        };
        let sources = places.len();
        for consumer in workflow.consumers(file) {
            for place in places_of(consumer) {
                if !places.contains(&place) {
                    places.push(place);
                    moves(workflow.file_bytes(file), &places[..sources], place);
                }
            }
        }
    }
}
