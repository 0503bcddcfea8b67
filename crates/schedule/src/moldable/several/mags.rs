//! MAGS: Malleable Allocations with Guaranteed Stretch (Casanova, Desprez, Suter, ICPP 2010).
//!
//! If every graph had the same stretch, it could be no less than `S*`. Periods of growing length give each
//! graph a date by which it has to end, at most `1 + lambda` times that required by that stretch, and
//! processors until then. Tasks are mapped backwards in time, period by period from the last, with the widths
//! that biCPA gives for the graph's processors of the period, by largest level of the reversed graph; a task
//! that does not fit waits for the period before. The slack by which all periods are stretched is the least, to
//! 1 %, for which everything fits. Backfilled at the end. O(log) attempts of O(v p) each.

use super::periods::{Direction, Periods, whole};
use super::{BACKFILLED, Batch, Graph, SEVERAL, one_cluster};
use crate::moldable::MAX_WIDTH;
use crate::moldable::mapping::{edge_arrival, inputs_arrival};
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::approx::{self, sort_key};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::Detail;
use slackline_model::{HostId, Placement, Problem, ProcId, Schedule, TaskId};

const PERIODS: Parameter = Parameter::new(
    "periods",
    Kind::Choice(&["backward", "forward"]),
    "backward",
    "from the last date down, as the published figure, or from the first up, as the formula",
);
const LAMBDA: Parameter = Parameter::new(
    "lambda",
    Kind::Number(1e-3, 1e6),
    "1",
    "each period ends 1 + lambda times as late as the one before",
)
.published("1");
const PI: Parameter =
    Parameter::new("pi", Kind::Number(0.0, f64::INFINITY), "0", "least length of a period, s");

/// Registry entry.
pub const MAGS: Algorithm = Algorithm {
    name: "mags",
    about: "several graphs by dates that stretch all of them about alike, with a guarantee",
    source: "Casanova, Desprez, Suter, ICPP 2010",
    complexity: "O(v p) per attempt",
    parameters: &[PERIODS, LAMBDA, PI, BACKFILLED, MAX_WIDTH],
    plan: mags,
    ..SEVERAL
};

/// Slacks this close are the same.
const TOLERANCE: f64 = 0.01;

fn mags(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = MAGS.values(request)?;
    let machines = one_cluster(problem, &values, MAGS.name)?;
    let batch = Batch::new(&machines)?;
    let now = problem.state().now;
    let mut order: Vec<usize> = (0..batch.graphs.len()).collect();
    let left = |g: usize| (batch.graphs[g].alone - now).max(0.0);
    order.sort_by(|&a, &b| left(a).total_cmp(&left(b)).then(a.cmp(&b)));
    let alone: Vec<f64> = order.iter().map(|&g| left(g)).collect();
    let direction = match values.word("periods") {
        "forward" => Direction::Forward,
        _ => Direction::Backward,
    };
    let shape = (values.number("lambda")?, values.number("pi")?);
    let widths: Vec<Vec<Vec<u32>>> =
        order.iter().map(|&g| batch.widths(&batch.graphs[g])).collect();
    let attempt = |slack: f64| {
        let periods = Periods::new(&alone, machines.size(), direction, shape, slack);
        let graphs: Vec<&Graph> = order.iter().map(|&g| &batch.graphs[g]).collect();
        let schedule = Backwards::new(&batch, &periods, now).run(&graphs, &widths)?;
        Some((slack, periods, schedule))
    };
    let mut high = 1.0;
    let mut found = attempt(high);
    while found.is_none() && high < 1e6 {
        high *= 2.0;
        found = attempt(high);
    }
    let Some(mut found) = found else {
        let why = "its tasks do not fit into any periods".to_string();
        return Err(PlanError::Unsupported { algorithm: MAGS.name, why });
    };
    let mut low = 1.0;
    while high - low > TOLERANCE * low {
        let middle = (low + high) / 2.0;
        match attempt(middle) {
            Some(better) => (found, high) = (better, middle),
            None => low = middle,
        }
    }
    let (slack, periods, schedule) = found;
    let numbers = |list: &[f64]| Detail::List(list.iter().map(|&x| Detail::Number(x)).collect());
    let facts = vec![
        ("slack", Detail::Number(slack)),
        ("fair_stretch", Detail::Number(periods.stretch)),
        ("periods", numbers(&periods.ends)),
        ("guarantee", Detail::Number(guarantee(&periods, &alone))),
    ];
    Ok(batch.told(schedule, values.switch("backfill"), facts))
}

/// The largest stretch that the dates allow.
fn guarantee(periods: &Periods, alone: &[f64]) -> f64 {
    let by = alone.iter().zip(&periods.last).filter(|(time, _)| **time > 0.0);
    by.map(|(time, &period)| periods.ends[period] / time).fold(1.0, f64::max)
}

/// Tasks mapped backwards in time.
struct Backwards<'b, 'm, 'a, 'p> {
    batch: &'b Batch<'m, 'a, 'p>,
    periods: &'b Periods,
    /// Date at which the first period begins.
    origin: f64,
    schedule: Schedule,
}

impl<'b, 'm, 'a, 'p> Backwards<'b, 'm, 'a, 'p> {
    fn new(batch: &'b Batch<'m, 'a, 'p>, periods: &'b Periods, origin: f64) -> Self {
        let schedule = Schedule::start(batch.problem());
        Backwards { batch, periods, origin, schedule }
    }

    /// All tasks of all graphs; none if some are left.
    fn run(mut self, graphs: &[&Graph], widths: &[Vec<Vec<u32>>]) -> Option<Schedule> {
        for period in (0..self.periods.ends.len()).rev() {
            let given = whole(&self.periods.share[period], self.batch.processors());
            let mut first = 0;
            for (index, graph) in graphs.iter().enumerate() {
                let procs = &self.batch.machines.clusters[0].procs[first..first + given[index]];
                first += given[index];
                if let Some(width) = given[index].checked_sub(1).map(|q| &widths[index][q]) {
                    self.fill(period, graph, procs, width);
                }
            }
        }
        let complete = graphs.iter().flat_map(|g| &g.tasks);
        complete.copied().all(|t| self.schedule.placement(t).is_some()).then_some(self.schedule)
    }

    /// Maps what fits of a graph into a period, from its end.
    fn fill(&mut self, period: usize, graph: &Graph, procs: &[ProcId], width: &[u32]) {
        let machines = self.batch.machines.only(procs);
        let workflow = self.batch.problem().workflow();
        let (begin, end) = self.periods.span(period);
        let (begin, end) = (self.origin + begin, self.origin + end);
        let mut wide = vec![0u32; workflow.len()];
        for (task, &w) in graph.tasks.iter().zip(width) {
            if let Some((least, most)) = machines.widths(*task, 0) {
                wide[task.index()] = w.clamp(least, most);
            }
        }
        let time = |t: TaskId| match wide[t.index()] {
            0 => 0.0,
            w => machines.seconds(t, 0, w),
        };
        // In the reversed graph the level of a task is the longest way from an entry to its end.
        let above = workflow.top_levels(time, |_| 0.0);
        let level = |t: TaskId| sort_key(above[t.index()] + time(t));
        // Until when each processor is free, looking back from the end.
        let mut free: Vec<(f64, ProcId)> = procs.iter().map(|&p| (end, p)).collect();
        let mut stuck: Vec<TaskId> = Vec::new();
        loop {
            let placed = |t: TaskId| self.schedule.placement(t).is_some();
            let ready = graph.tasks.iter().copied().filter(|&t| {
                wide[t.index()] > 0
                    && !placed(t)
                    && !stuck.contains(&t)
                    && workflow.successors(t).all(|(child, _)| placed(child))
            });
            let Some(task) = ready.reduce(|a, b| if level(b) > level(a) { b } else { a }) else {
                return;
            };
            // Children in this period wait for it; the processors free the longest are taken last.
            let starts = workflow.successors(task).filter_map(|(c, _)| self.schedule.placement(c));
            let due = starts.map(|p| p.start).fold(end, f64::min);
            let Some(chosen) = self.choose(task, &mut free, due, wide[task.index()] as usize)
            else {
                stuck.push(task);
                continue;
            };
            let until = self.due_on(task, &chosen, due).min(earliest(&free, &chosen));
            let start = until - time(task);
            if approx::lt(start, begin.max(self.batch.problem().release(task)))
                || !self.early(task, &chosen, start)
            {
                stuck.push(task);
                continue;
            }
            for entry in free.iter_mut().filter(|(_, p)| chosen.contains(p)) {
                entry.0 = start;
            }
            self.schedule.place(task, Placement::wide(&chosen, start, until));
        }
    }

    /// The processors that a task takes: all on one host unless it spreads, the host on which it
    /// can end last, of those the first.
    fn choose(
        &self,
        task: TaskId,
        free: &mut [(f64, ProcId)],
        due: f64,
        width: usize,
    ) -> Option<Vec<ProcId>> {
        let problem = self.batch.problem();
        if width == 1 || problem.workflow().spreads(task) {
            return Some(latest(free, due, width));
        }
        let mut hosts: Vec<HostId> = free.iter().map(|(_, p)| problem.host_of(*p)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let mut best: Option<(f64, Vec<ProcId>)> = None;
        for host in hosts {
            let mut own: Vec<(f64, ProcId)> =
                free.iter().copied().filter(|(_, p)| problem.host_of(*p) == host).collect();
            if own.len() < width {
                continue;
            }
            let chosen = latest(&mut own, due, width);
            let until = due.min(earliest(&own, &chosen));
            if best.as_ref().is_none_or(|(date, _)| approx::gt(until, *date)) {
                best = Some((until, chosen));
            }
        }
        best.map(|(_, chosen)| chosen)
    }

    /// When a task has to end on certain processors so that its data reach the children in time.
    fn due_on(&self, task: TaskId, procs: &[ProcId], due: f64) -> f64 {
        let problem = self.batch.problem();
        let workflow = problem.workflow();
        let dates = workflow.successors(task).filter_map(|(child, edge)| {
            let placed = self.schedule.placement(child)?;
            Some(placed.start - problem.edge_transfer(edge, procs, placed.procs()))
        });
        dates.fold(due, f64::min)
    }

    /// Whether finished parents and the state of the processors allow a start.
    fn early(&self, task: TaskId, procs: &[ProcId], start: f64) -> bool {
        let problem = self.batch.problem();
        let available = crate::compact::availability(problem).0;
        let there = problem.workflow().predecessors(task).filter_map(|(parent, edge)| {
            let source = problem.state().fixed(parent)?;
            let machines = self.batch.machines;
            Some(edge_arrival(machines, edge, source, procs))
        });
        let inputs = inputs_arrival(self.batch.machines, task, procs);
        there.fold(inputs, f64::max) <= start && procs.iter().all(|p| available[p.index()] <= start)
    }
}

/// The processors for a task that has to end by `due`: of those free until then the ones with
/// least time lost, then those that are free until latest.
fn latest(free: &mut [(f64, ProcId)], due: f64, width: usize) -> Vec<ProcId> {
    let key = |&(until, proc): &(f64, ProcId)| match approx::le(due, until) {
        true => (0, sort_key(until), proc),
        false => (1, -sort_key(until), proc),
    };
    free.sort_by(|a, b| {
        let (a_key, b_key) = (key(a), key(b));
        a_key.0.cmp(&b_key.0).then(a_key.1.total_cmp(&b_key.1)).then(a_key.2.cmp(&b_key.2))
    });
    let mut procs: Vec<ProcId> = free.iter().take(width).map(|f| f.1).collect();
    procs.sort_unstable();
    procs
}

/// Until when all of some processors are free.
fn earliest(free: &[(f64, ProcId)], procs: &[ProcId]) -> f64 {
    let dates = free.iter().filter(|(_, p)| procs.contains(p)).map(|f| f.0);
    dates.fold(f64::INFINITY, f64::min)
}
