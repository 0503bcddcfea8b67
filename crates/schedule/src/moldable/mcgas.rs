//! MCGAS: Multi-Cluster Guaranteed Allocation Scheduling (Dutot, N'takpé, Suter, Casanova, IEEE
//! TPDS 20(7), 2009), after Skutella and Lepère, Trystram, Woeginger.
//!
//! A linear programme finds times of all tasks that minimise the larger of longest path and mean work; times
//! are rounded (`mu`) to widths, widths bounded (`b`), and every ready task starts as soon as one cluster has
//! enough idle processors. On clusters of equal machines, where wider is never slower nor cheaper and data move
//! for nothing, the makespan is at most `guarantee` times the best. By default it takes the `mu` and `b` of the
//! best guarantee.
//!
//! The programme in its compact form: the time D of a task is between its times t(l) at full widths l; its work
//! is convex and piecewise linear in D, so a mixture of the corners. One variable per task and width, one row
//! per task and dependency.

use super::cpa::CPA;
use super::guarantee::Guarantee;
use super::machines::Machines;
use super::mapping::{Mapper, Slot};
use super::report::told;
use super::{BACKFILL, MAX_WIDTH, Steps};
use crate::list::{Readiness, unfinished};
use crate::registry::{Algorithm, PlanError, Request};
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection};
use slackline_model::approx::{self, sort_key};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule, TaskId};

const MU: Parameter = Parameter::new(
    "mu",
    Kind::Number(0.0, 1.0),
    "auto",
    "how times are rounded: near 0 the path, near 1 the work grows little; auto: best guarantee",
);
const BOUND: Parameter = Parameter::new(
    "b",
    Kind::Count(1, u32::MAX as u64),
    "auto",
    "widest a task may be after rounding; auto: best guarantee",
);

/// Registry entry.
pub const MCGAS: Algorithm = Algorithm {
    name: "mcgas",
    about: "widths from a linear programme, with a guaranteed distance from the best",
    source: "Dutot, N'takpé, Suter, Casanova, IEEE TPDS 20(7), 2009",
    complexity: "a linear programme of v p variables and v + e rows",
    parameters: &[MU, BOUND, BACKFILL, MAX_WIDTH],
    plan: mcgas,
    ..CPA
};

fn mcgas(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = MCGAS.values(request)?;
    let machines = Machines::new(problem, values.maybe_count("max-width"))?;
    check_equal(&machines)?;
    let sizes: Vec<usize> = machines.clusters.iter().map(|c| c.size()).collect();
    let best = Guarantee::best(&sizes);
    let bound = values.maybe_count("b").map_or(best.bound, |b| b as u32);
    let guarantee = Guarantee::of(&sizes, bound, values.maybe_number("mu").unwrap_or(best.mu));
    let home = |task| (0..machines.clusters.len()).find(|&c| machines.widths(task, c).is_some());
    // The largest cluster bounds the width of a task.
    let widest = |task| {
        (0..machines.clusters.len())
            .filter_map(|c| Some((machines.widths(task, c)?, c)))
            .reduce(|best, next| if next.0.1 > best.0.1 { next } else { best })
    };
    let Programme { times, span } = solve(&machines, |task| {
        let ((least, most), cluster) = widest(task)?;
        Some((least..=most).map(|w| machines.seconds(task, cluster, w)).collect())
    })?;
    let mut width = vec![1; problem.tasks()];
    for task in unfinished(problem) {
        let (Some(((least, most), _)), Some(cluster)) = (widest(task), home(task)) else {
            continue;
        };
        let limit = times[task.index()] / (1.0 - guarantee.mu);
        let fits = |&w: &u32| approx::le(machines.seconds(task, cluster, w), limit);
        let rounded = (least..=most).find(fits).unwrap_or(most);
        width[task.index()] = rounded.min(guarantee.bound).max(least);
    }
    let mapper = greedy(&machines, &width)?;
    let steps = Steps { packing: false, backfill: values.switch("backfill") };
    let facts = vec![
        ("constraint", Detail::Count(u64::from(guarantee.bound))),
        ("mu", Detail::Number(guarantee.mu)),
        ("guarantee", Detail::Number(guarantee.ratio)),
        ("programme", Detail::Number(span)),
    ];
    Ok(told(&machines, steps.finished(&machines, mapper).schedule, facts))
}

fn check_equal(machines: &Machines<'_, '_>) -> Result<(), PlanError> {
    let first = machines.pace(0);
    for (index, cluster) in machines.clusters.iter().enumerate() {
        if !approx::eq(machines.pace(index), first) {
            let why = format!(
                "it needs machines of one speed, '{}' and '{}' differ",
                machines.clusters[0].name, cluster.name
            );
            return Err(PlanError::Unsupported { algorithm: MCGAS.name, why });
        }
    }
    Ok(())
}

/// Solution of the linear programme: seconds of every task, and a lower bound of the makespan of plans without
/// transfers.
struct Programme {
    times: Vec<f64>,
    span: f64,
}

/// The times of all tasks for which the larger of longest path and work per processor is least.
/// `times(task)` are those of its widths, the narrowest first.
fn solve(
    machines: &Machines<'_, '_>,
    times: impl Fn(TaskId) -> Option<Vec<f64>>,
) -> Result<Programme, PlanError> {
    let problem = machines.problem;
    let workflow = problem.workflow();
    let failed = |what: &dyn std::fmt::Display| PlanError::Unsupported {
        algorithm: MCGAS.name,
        why: format!("its linear programme was not solved ({what})"),
    };
    let open: Vec<TaskId> = unfinished(problem).collect();
    // Numbers near 1 keep the solver well.
    let alone = |t: TaskId| times(t).and_then(|t| t.first().copied()).unwrap_or(0.0);
    let scale = open.iter().map(|&t| alone(t)).fold(0.0, f64::max);
    if scale <= 0.0 {
        return Ok(Programme { times: vec![0.0; workflow.len()], span: 0.0 });
    }
    let mut programme = microlp::Problem::new(OptimizationDirection::Minimize);
    let span = programme.add_var(1.0, (0.0, f64::INFINITY));
    let mut starts = vec![None; workflow.len()];
    let mut corners: Vec<Vec<(microlp::Variable, f64)>> = vec![Vec::new(); workflow.len()];
    let mut work = LinearExpr::empty();
    for &task in &open {
        starts[task.index()] = Some(programme.add_var(0.0, (0.0, f64::INFINITY)));
        let times = times(task).unwrap_or_default();
        let least = workflow.width(task).0;
        let mut one = LinearExpr::empty();
        for (at, &seconds) in times.iter().enumerate() {
            let corner = programme.add_var(0.0, (0.0, f64::INFINITY));
            one.add(corner, 1.0);
            work.add(corner, corner_work(&times, least, at) / scale);
            corners[task.index()].push((corner, seconds / scale));
        }
        programme.add_constraint(one, ComparisonOp::Eq, 1.0);
    }
    work.add(span, -(machines.size() as f64));
    programme.add_constraint(work, ComparisonOp::Le, 0.0);
    for &task in &open {
        // End of the task <= start of each child, or the end of all.
        let row = |until| {
            let mut row = LinearExpr::empty();
            if let Some(start) = starts[task.index()] {
                row.add(start, 1.0);
            }
            for &(corner, seconds) in &corners[task.index()] {
                row.add(corner, seconds);
            }
            row.add(until, -1.0);
            row
        };
        let children: Vec<_> =
            workflow.successors(task).filter_map(|(child, _)| starts[child.index()]).collect();
        if children.is_empty() {
            programme.add_constraint(row(span), ComparisonOp::Le, 0.0);
        }
        for child in children {
            programme.add_constraint(row(child), ComparisonOp::Le, 0.0);
        }
    }
    let solution = programme.solve().map_err(|error| failed(&error))?;
    let solution = solution.into_solution().map_err(|_| failed(&"no solution"))?;
    let time = |task: TaskId| {
        let parts = corners[task.index()].iter();
        parts.map(|&(corner, seconds)| solution.var_value(corner) * seconds).sum::<f64>() * scale
    };
    let span = solution.var_value(span) * scale;
    Ok(Programme { times: workflow.tasks().map(time).collect(), span })
}

/// Work of a task whose time is that of its width number `at`: every narrower width is given up to
/// the part by which the time falls short of its own.
fn corner_work(times: &[f64], least: u32, at: usize) -> f64 {
    let work = |l: usize| times[l] * f64::from(least + l as u32);
    let step = |l: usize| (1.0 - times[at] / times[l]) * (work(l + 1) - work(l));
    work(0) + (0..at).filter(|&l| times[l] > 0.0).map(step).sum::<f64>()
}

/// Every ready task starts, by falling bottom level, as soon as one cluster has enough idle
/// processors.
fn greedy<'m, 'a, 'p>(
    machines: &'m Machines<'a, 'p>,
    width: &[u32],
) -> Result<Mapper<'m, 'a, 'p>, PlanError> {
    let problem = machines.problem;
    let workflow = problem.workflow();
    let time = |t: TaskId| {
        let home = (0..machines.clusters.len()).find(|&c| machines.widths(t, c).is_some());
        home.map_or(0.0, |c| machines.seconds(t, c, width[t.index()]))
    };
    let level = workflow.bottom_levels(time, |_| 0.0);
    let mut mapper = Mapper::new(machines);
    let (mut readiness, mut waiting) = Readiness::new(problem);
    while !waiting.is_empty() {
        let slot = |task: TaskId| {
            let slots = (0..machines.clusters.len()).filter_map(|c| {
                let (_, most) = machines.widths(task, c)?;
                mapper.slot(task, c, width[task.index()].min(most))
            });
            slots.reduce(|best, next| if approx::lt(next.start, best.start) { next } else { best })
        };
        // Who can start first does; of those the one with most behind it.
        let mut best: Option<((f64, f64, TaskId), usize, Slot)> = None;
        for (at, &task) in waiting.iter().enumerate() {
            let Some(slot) = slot(task) else {
                let task = workflow.task_name(task).to_string();
                return Err(PlanError::Nowhere { task });
            };
            let key = (sort_key(slot.start), -sort_key(level[task.index()]), task);
            if best.as_ref().is_none_or(|(other, ..)| key < *other) {
                best = Some((key, at, slot));
            }
        }
        let Some((_, at, slot)) = best else { break };
        let task = waiting.remove(at);
        mapper.place(task, slot);
        readiness.placed(task, |child| waiting.push(child));
    }
    Ok(mapper)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{instance, number, plan, widths};
    use super::*;

    /// One task of a serial half on two processors: the programme gives it 0.75 s, which is
    /// rounded to one processor and 1 s.
    #[test]
    fn rounding_by_hand() {
        let i = instance(&[(1.0, 0.5)], &[], &[(2, 1.0)]);
        let problem = Problem::new(&i.workflow, &i.platform).unwrap();
        let machines = Machines::new(&problem, None).unwrap();
        let times =
            solve(&machines, |t| Some((1..=2).map(|w| machines.seconds(t, 0, w)).collect()));
        let Programme { times, span } = times.unwrap();
        assert!((times[0] - 0.75).abs() < 1e-9 && (span - 0.75).abs() < 1e-9);
        let given = vec![("mu".to_string(), "0.5".to_string()), ("b".to_string(), "2".to_string())];
        let request = Request { given, ..Request::default() };
        let schedule = mcgas(&problem, &request).unwrap();
        assert_eq!((widths(&schedule), schedule.makespan()), (vec![1], 1.0));
    }

    #[test]
    fn unequal_machines_are_refused_by_name() {
        let i = instance(&[(1.0, 0.5)], &[], &[(2, 1.0), (2, 1.5)]);
        let problem = Problem::new(&i.workflow, &i.platform).unwrap();
        let error = mcgas(&problem, &Request::default()).unwrap_err().to_string();
        assert!(error.contains("'c0' and 'c1' differ"), "{error}");
    }

    #[test]
    fn it_states_what_it_guarantees() {
        let tasks = [(9.0, 0.1), (20.0, 0.0), (14.0, 0.2), (5.0, 0.3)];
        let i = instance(&tasks, &[(0, 1), (0, 2), (1, 3), (2, 3)], &[(20, 1.0), (20, 1.0)]);
        let problem = Problem::new(&i.workflow, &i.platform).unwrap();
        let schedule = plan(&problem, "mcgas", &[]);
        assert!((number(&schedule, "guarantee") - 5.707).abs() < 6e-4);
        assert_eq!(number(&schedule, "constraint"), 11.0);
        let bound = number(&schedule, "programme");
        assert!(schedule.makespan() <= number(&schedule, "guarantee") * bound);
    }
}
