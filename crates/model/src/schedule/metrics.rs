//! Figures of a schedule that people ask for.

use super::Schedule;
use crate::problem::Problem;

/// What a plan promises.
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

/// Money: per task where time is billed exactly, per leased machine where it is billed in quanta.
pub fn cost(problem: &Problem<'_>, schedule: &Schedule) -> f64 {
    let platform = problem.platform();
    let mut total = 0.0;
    // (first start, last finish) of the machines that are billed as a whole.
    let mut spans: Vec<Option<(f64, f64)>> = vec![None; platform.hosts().len()];
    for placement in schedule.placements.iter().flatten() {
        for &proc in placement.procs() {
            let host = problem.host_of(proc);
            let class = platform.class(platform.host(host).class);
            if class.leasable || class.billing.quantum > 0.0 || class.billing.minimum > 0.0 {
                let span = spans[host.index()].get_or_insert((placement.start, placement.finish));
                *span = (span.0.min(placement.start), span.1.max(placement.finish));
            } else {
                total += placement.seconds() * problem.price(proc);
            }
        }
    }
    for lease in &schedule.leases {
        spans[lease.host.index()] = None;
        total += machine_cost(problem, lease.host, lease.to - lease.from);
    }
    for (index, span) in spans.iter().enumerate() {
        if let Some((from, to)) = span {
            total += machine_cost(problem, crate::HostId::new(index), to - from);
        }
    }
    total
}

fn machine_cost(problem: &Problem<'_>, host: crate::HostId, seconds: f64) -> f64 {
    let host = problem.platform().host(host);
    let billing = problem.platform().class(host.class).billing;
    billing.billed_seconds(seconds) * host.price * f64::from(host.cores)
}

/// A file goes at most once to each host that reads it.
fn bytes_moved(problem: &Problem<'_>, schedule: &Schedule) -> f64 {
    let workflow = problem.workflow();
    let hosts_of =
        |task| schedule.placement(task).map(|p| problem.hosts_of(p.procs())).unwrap_or_default();
    let mut total = 0.0;
    for file in workflow.files() {
        let Some(producer) = workflow.producer(file) else { continue };
        let mut hosts = hosts_of(producer);
        for consumer in workflow.consumers(file) {
            for host in hosts_of(consumer) {
                if !hosts.contains(&host) {
                    hosts.push(host);
                    total += workflow.file_bytes(file);
                }
            }
        }
    }
    total
}
