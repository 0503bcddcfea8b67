//! Workflows that are known together, of tasks whose width is given.
//!
//! The time of a workflow alone is that of HEFT's plan (the fairness policies: their pivot's). Its stretch is
//! its time in the joint plan over that, both from its arrival (the earliest date at which one of its tasks may
//! start); the unfairness of a plan is the sum of the distances of the stretches from their mean.

pub mod fairness;
pub mod paths;
pub mod shares;
pub mod spss;

use crate::list::{Partial, ReadyList, hybrid_bmct, ranks};
use crate::registry::PlanError;
use slackline_model::schedule::Detail;
use slackline_model::workflow::Member;
use slackline_model::{Problem, Schedule, TaskId};

/// Method that plans a workflow alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pivot {
    Heft,
    HybridBmct,
}

impl Pivot {
    /// An empty plan in which tasks go where this method lets them.
    fn partial<'a, 'p>(self, problem: &'a Problem<'p>) -> Partial<'a, 'p> {
        match self {
            Pivot::Heft => Partial::new(problem),
            Pivot::HybridBmct => Partial::appending(problem),
        }
    }

    fn place(self, partial: &mut Partial<'_, '_>, tasks: &[TaskId]) -> Result<(), PlanError> {
        match self {
            Pivot::Heft => place_each(partial, tasks),
            Pivot::HybridBmct => hybrid_bmct::place(partial, tasks.iter().copied()),
        }
    }
}

/// Puts tasks where they finish first, one after the other.
fn place_each(partial: &mut Partial<'_, '_>, tasks: &[TaskId]) -> Result<(), PlanError> {
    for &task in tasks {
        let slot = partial.earliest_finish(task)?;
        partial.place(task, slot);
    }
    Ok(())
}

/// One of the workflows.
struct Graph {
    /// Its unfinished tasks by falling upward rank, parents first.
    tasks: Vec<TaskId>,
    /// When it arrives.
    arrived: f64,
    /// Seconds from then to its end if it were alone.
    alone: f64,
}

/// All workflows of a problem.
struct Batch<'a, 'p> {
    problem: &'a Problem<'p>,
    rank: Vec<f64>,
    graphs: Vec<Graph>,
    /// Per task: when it would end if its workflow were alone.
    own: Vec<f64>,
}

impl<'a, 'p> Batch<'a, 'p> {
    fn new(
        problem: &'a Problem<'p>,
        pivot: Pivot,
        algorithm: &'static str,
    ) -> Result<Self, PlanError> {
        check_several(problem, algorithm)?;
        let rank = ranks::upward(problem);
        let part_of = parts(problem);
        let members = problem.workflow().members();
        let mut tasks = vec![Vec::new(); members.len()];
        let mut ready = ReadyList::new(problem, &rank);
        while let Some(task) = ready.pop() {
            tasks[part_of[task.index()]].push(task);
        }
        let mut own = vec![0.0; problem.tasks()];
        let mut graphs = Vec::new();
        for (member, tasks) in members.iter().zip(tasks) {
            let mut partial = pivot.partial(problem);
            pivot.place(&mut partial, &tasks)?;
            let all = member.tasks.clone().map(TaskId);
            for task in all.clone() {
                own[task.index()] = partial.placement(task).map_or(0.0, |p| p.finish);
            }
            let arrived = arrival(problem, member);
            let alone = all.map(|t| own[t.index()]).fold(arrived, f64::max) - arrived;
            graphs.push(Graph { tasks, arrived, alone });
        }
        Ok(Batch { problem, rank, graphs, own })
    }

    /// The finished plan with the end and stretch of every workflow, and further facts.
    fn told(&self, partial: Partial<'_, '_>, facts: Vec<(&'static str, Detail)>) -> Schedule {
        let mut schedule = partial.into_schedule();
        let alone: Vec<f64> = self.graphs.iter().map(|g| g.alone).collect();
        schedule.details.extend(facts);
        schedule.details.push(outcome(self.problem, &schedule, &alone));
        let stretches = stretches(self.problem, &schedule, &alone);
        let mean = stretches.iter().sum::<f64>() / stretches.len() as f64;
        let unfairness = stretches.iter().map(|s| (s - mean).abs()).sum();
        schedule.details.push(("unfairness", Detail::Number(unfairness)));
        schedule
    }
}

/// Fails where there is one workflow.
pub(crate) fn check_several(
    problem: &Problem<'_>,
    algorithm: &'static str,
) -> Result<(), PlanError> {
    match problem.workflow().members().len() {
        0 | 1 => {
            let why = "it plans several workflows, there is one".to_string();
            Err(PlanError::Unsupported { algorithm, why })
        }
        _ => Ok(()),
    }
}

/// Per task: the workflow it belongs to.
fn parts(problem: &Problem<'_>) -> Vec<usize> {
    let mut part_of = vec![0; problem.tasks()];
    for (part, member) in problem.workflow().members().iter().enumerate() {
        part_of[member.tasks.start as usize..member.tasks.end as usize].fill(part);
    }
    part_of
}

fn ends<'a>(problem: &'a Problem<'_>, schedule: &'a Schedule) -> impl Iterator<Item = f64> + 'a {
    problem.workflow().members().iter().map(|member| {
        let places = member.tasks.clone().filter_map(|t| schedule.placement(TaskId(t)));
        places.map(|p| p.finish).fold(0.0, f64::max)
    })
}

/// When the first task of a workflow may start.
pub(crate) fn arrival(problem: &Problem<'_>, member: &Member) -> f64 {
    let dates = member.tasks.clone().map(|t| problem.release(TaskId(t)));
    dates.reduce(f64::min).unwrap_or(0.0)
}

fn stretches(problem: &Problem<'_>, schedule: &Schedule, alone: &[f64]) -> Vec<f64> {
    let members = problem.workflow().members().iter();
    let took = members.zip(ends(problem, schedule)).map(|(m, end)| end - arrival(problem, m));
    let stretch = |(took, &alone): (f64, &f64)| if alone > 0.0 { took / alone } else { 1.0 };
    took.zip(alone).map(stretch).collect()
}

/// Reports the end and stretch of every workflow, given their times `alone`. Arrivals are included if some
/// workflow arrives later than the start.
pub(crate) fn outcome(
    problem: &Problem<'_>,
    schedule: &Schedule,
    alone: &[f64],
) -> (&'static str, Detail) {
    let stretches = stretches(problem, schedule, alone);
    let members = problem.workflow().members().iter();
    let late = members.clone().any(|m| arrival(problem, m) > problem.state().now);
    let rows = members.zip(ends(problem, schedule)).zip(alone.iter().zip(stretches));
    let rows = rows.map(|((member, finish), (&alone, stretch))| {
        let mut row = vec![("name", Detail::Text(member.name.clone()))];
        row.extend(late.then(|| ("arrived", Detail::Number(arrival(problem, member)))));
        row.extend([
            ("finish", Detail::Number(finish)),
            ("alone", Detail::Number(alone)),
            ("stretch", Detail::Number(stretch)),
        ]);
        Detail::Record(row)
    });
    ("workflows", Detail::List(rows.collect()))
}

#[cfg(test)]
mod tests;
