//! CAFM: coarse-grain allocation, fine-grain mapping (Casanova, Desprez, Suter, JPDC 70(12), 2010).
//!
//! Every graph is first a moldable job: its time on p processors is that of biCPA's widths for p, mapped on p.
//! The dual approximation for independent jobs determines the number of processors of each. Then boxes of that
//! many processors and that time are placed, longest first, shortest first, smallest area first, or on shelves
//! of growing length, and the tasks of each graph mapped inside its box; or (-cra) there are no boxes, and all
//! graphs are mapped together with the widths of so many processors. Backfilled at the end. O(n p) mappings for
//! n graphs.

use super::dual::{self, Job};
use super::{BACKFILLED, Batch, Graph, PACKED, RANK, SEVERAL, one_cluster, ready};
use crate::moldable::MAX_WIDTH;
use crate::moldable::machines::Machines;
use crate::moldable::mapping::{Mapper, by_priority};
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::approx::sort_key;
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, ProcId, Schedule};

const PRECISION: Parameter = Parameter::new(
    "precision",
    Kind::Number(1e-6, 1.0),
    "0.01",
    "how closely the least length of all jobs together is searched, relative",
);

/// Order and shape in which boxes are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Boxes {
    Longest,
    Shortest,
    SmallestArea,
    Shelves,
}

/// Registry entry: longest box first.
pub const LPTF: Algorithm = Algorithm {
    name: "cafm-lptf",
    about: "several graphs in boxes, the longest box first",
    complexity: "O(n p) mappings, n graphs",
    parameters: &[PRECISION, BACKFILLED, MAX_WIDTH],
    plan: |problem, request| boxed(problem, request, "cafm-lptf", Boxes::Longest),
    ..SEVERAL
};

/// Registry entry: shortest box first.
pub const SPTF: Algorithm = Algorithm {
    name: "cafm-sptf",
    about: "several graphs in boxes, the shortest box first",
    plan: |problem, request| boxed(problem, request, "cafm-sptf", Boxes::Shortest),
    ..LPTF
};

/// Registry entry: smallest box first.
pub const SAF: Algorithm = Algorithm {
    name: "cafm-saf",
    about: "several graphs in boxes, the smallest area first",
    plan: |problem, request| boxed(problem, request, "cafm-saf", Boxes::SmallestArea),
    ..LPTF
};

/// Registry entry: shelves.
pub const K_SHELVES: Algorithm = Algorithm {
    name: "cafm-k-shelves",
    about: "several graphs in boxes on shelves of growing length",
    plan: |problem, request| boxed(problem, request, "cafm-k-shelves", Boxes::Shelves),
    ..LPTF
};

/// Registry entry: no boxes.
pub const CRA: Algorithm = Algorithm {
    name: "cafm-cra",
    about: "several graphs with the processors of the dual approximation as their shares",
    parameters: &[PRECISION, RANK, PACKED, BACKFILLED, MAX_WIDTH],
    plan: without_boxes,
    ..LPTF
};

/// A graph as a job, with its widths per number of processors.
struct Moldable {
    job: Job,
    widths: Vec<Vec<u32>>,
}

fn moldable(batch: &Batch<'_, '_, '_>, graph: &Graph) -> Result<Moldable, PlanError> {
    let widths = batch.widths(graph);
    let mut job = Vec::new();
    for (index, width) in widths.iter().enumerate() {
        let procs = &batch.machines.clusters[0].procs[..=index];
        let begin = batch.problem().state().now;
        // Fewer processors than some task needs: not a way to run the graph.
        let time = match inside(batch, graph, width, procs, begin) {
            Ok(schedule) => end(graph, &schedule) - begin,
            Err(PlanError::Nowhere { .. }) => f64::INFINITY,
            Err(other) => return Err(other),
        };
        job.push(time);
    }
    Ok(Moldable { job, widths })
}

fn end(graph: &Graph, schedule: &Schedule) -> f64 {
    let ends = graph.tasks.iter().filter_map(|&t| Some(schedule.placement(t)?.finish));
    ends.fold(0.0, f64::max)
}

/// The tasks of a graph on certain processors from a date on.
fn inside(
    batch: &Batch<'_, '_, '_>,
    graph: &Graph,
    width: &[u32],
    procs: &[ProcId],
    begin: f64,
) -> Result<Schedule, PlanError> {
    let machines: Machines<'_, '_> = batch.machines.only(procs);
    let problem = batch.problem();
    let mut wide = vec![1; problem.tasks()];
    let mut counts = vec![false; problem.tasks()];
    for (task, &w) in graph.tasks.iter().zip(width) {
        let nowhere = || PlanError::Nowhere { task: problem.workflow().task_name(*task).into() };
        let (least, most) = machines.widths(*task, 0).ok_or_else(nowhere)?;
        wide[task.index()] = w.clamp(least, most);
        counts[task.index()] = true;
    }
    let mut mapper = Mapper::new(&machines);
    mapper.hold_until(begin);
    let order = by_priority(problem, &batch.levels(&wide));
    for task in order.into_iter().filter(|t| counts[t.index()]) {
        if let Some(slot) = mapper.slot(task, 0, wide[task.index()]) {
            mapper.place(task, slot);
        }
    }
    Ok(mapper.schedule)
}

fn allotted(
    batch: &Batch<'_, '_, '_>,
    precision: f64,
    name: &'static str,
) -> Result<(Vec<Moldable>, dual::Allotment), PlanError> {
    let jobs: Vec<Moldable> =
        batch.graphs.iter().map(|g| moldable(batch, g)).collect::<Result<_, _>>()?;
    let times: Vec<Job> = jobs.iter().map(|j| j.job.clone()).collect();
    let found = dual::allot(&times, batch.processors(), precision);
    let why = || "no number of processors runs every graph".to_string();
    let found = found.ok_or_else(|| PlanError::Unsupported { algorithm: name, why: why() })?;
    Ok((jobs, found))
}

fn boxed(
    problem: &Problem<'_>,
    request: &Request,
    name: &'static str,
    placing: Boxes,
) -> Result<Schedule, PlanError> {
    let values = LPTF.values(request)?;
    let machines = one_cluster(problem, &values, name)?;
    let batch = Batch::new(&machines)?;
    let (jobs, found) = allotted(&batch, values.number("precision")?, name)?;
    let time = |graph: usize, width: usize| jobs[graph].job[width - 1];
    let mut free: Vec<f64> = problem.proc_ids().map(|_| problem.state().now).collect();
    let mut schedule = Schedule::start(problem);
    let mut place = |graph: usize, width: usize, not_before: f64, free: &mut Vec<f64>| {
        let mut procs = machines.clusters[0].procs.clone();
        let key = |p: &ProcId| sort_key(free[p.index()]);
        procs.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
        procs.truncate(width);
        procs.sort_unstable();
        let begin = procs.iter().map(|p| free[p.index()]).fold(not_before, f64::max);
        let one = &batch.graphs[graph];
        let inner = inside(&batch, one, &jobs[graph].widths[width - 1], &procs, begin)?;
        for &task in &one.tasks {
            if let Some(placement) = inner.placement(task) {
                schedule.place(task, placement.clone());
            }
        }
        let until = end(one, &inner).max(begin);
        procs.iter().for_each(|p| free[p.index()] = until);
        Ok::<f64, PlanError>(until)
    };
    if placing == Boxes::Shelves {
        let times: Vec<Job> = jobs.iter().map(|j| j.job.clone()).collect();
        let mut begin = problem.state().now;
        for shelf in dual::shelves(&times, machines.size(), found.length) {
            let mut until = begin;
            for (graph, width) in shelf {
                until = f64::max(until, place(graph, width, begin, &mut free)?);
            }
            begin = until;
        }
    } else {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        let key = |g: usize| {
            let (width, time) = (found.processors[g], time(g, found.processors[g]));
            match placing {
                Boxes::Longest => -sort_key(time),
                Boxes::SmallestArea => sort_key(time * width as f64),
                _ => sort_key(time),
            }
        };
        order.sort_by(|&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
        for graph in order {
            place(graph, found.processors[graph], 0.0, &mut free)?;
        }
    }
    Ok(batch.told(schedule, values.switch("backfill"), facts(&found)))
}

fn without_boxes(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = CRA.values(request)?;
    ready::plan(problem, &values, CRA.name, |batch| {
        let (jobs, found) = allotted(batch, values.number("precision")?, CRA.name)?;
        let width =
            batch.gathered(|graph, _| jobs[graph].widths[found.processors[graph] - 1].clone());
        Ok((width, facts(&found)))
    })
}

fn facts(found: &dual::Allotment) -> Vec<(&'static str, Detail)> {
    let list = found.processors.iter().map(|&p| Detail::Count(p as u64)).collect();
    vec![("constraint", Detail::List(list)), ("length", Detail::Number(found.length))]
}
