//! Several graphs of moldable tasks on one cluster (N'takpé, Suter, PDSEC 2009; Casanova, Desprez,
//! Suter, JPDC 70(12), 2010 and ICPP 2010).
//!
//! The makespan of every graph alone (the papers' C*) is that of biCPA-M with backfilling, for all methods. A
//! graph's stretch is the end of its last task over that.

pub mod boxes;
pub mod cra;
pub mod mags;

mod dual;
mod periods;
mod ready;

use super::allocation::Allocation;
use super::backfill::backfill;
use super::bicpa::{Criterion, Point, candidates, choose};
use super::cpa::CPA;
use super::machines::Machines;
use super::report::{Fact, told};
use super::{BACKFILL, PACKING, Steps, room};
use crate::registry::{Algorithm, Need, PlanError};
use crate::several::{arrival, check_several, outcome};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::workflow::Member;
use slackline_model::{Problem, Schedule, TaskId};

const RANK: Parameter = Parameter::new(
    "order",
    Kind::Choice(&["level", "dedicated", "weight"]),
    "level",
    "which ready task comes first: of largest bottom level, of the graph that is shortest alone, of \
     largest level over the square of that",
);

/// Packing and backfilling are part of these methods.
const PACKED: Parameter = Parameter { default: "yes", ..PACKING };
const BACKFILLED: Parameter = Parameter { default: "yes", ..BACKFILL };

/// Common members of the methods for several graphs.
const SEVERAL: Algorithm = Algorithm {
    source: "Casanova, Desprez, Suter, JPDC 70(12), 2010",
    needs: &[Need::Moldable, Need::Several],
    ..CPA
};

/// One of the graphs.
struct Graph {
    /// Its unfinished tasks.
    tasks: Vec<TaskId>,
    /// When it would end if it were alone.
    alone: f64,
}

/// All graphs on their cluster.
struct Batch<'m, 'a, 'p> {
    machines: &'m Machines<'a, 'p>,
    graphs: Vec<Graph>,
}

impl<'m, 'a, 'p> Batch<'m, 'a, 'p> {
    fn new(machines: &'m Machines<'a, 'p>) -> Result<Self, PlanError> {
        let problem = machines.problem;
        let steps = Steps { packing: false, backfill: true };
        let mut graphs = Vec::new();
        for member in problem.workflow().members() {
            let all = || member.tasks.clone().map(TaskId);
            let tasks: Vec<TaskId> =
                all().filter(|&t| problem.state().fixed(t).is_none()).collect();
            let done = all().filter_map(|t| Some(problem.state().fixed(t)?.finish));
            let mut alone = done.fold(0.0, f64::max);
            if !tasks.is_empty() {
                let plans = candidates(machines, &tasks, steps)?;
                let points: Vec<Point> = plans.iter().map(|c| c.point).collect();
                let chosen = &plans[choose(&points, Criterion::Makespan, true)].schedule;
                let ends = tasks.iter().filter_map(|&t| Some(chosen.placement(t)?.finish));
                alone = ends.fold(alone, f64::max);
            }
            graphs.push(Graph { tasks, alone });
        }
        Ok(Batch { machines, graphs })
    }

    fn problem(&self) -> &'a Problem<'p> {
        self.machines.problem
    }

    fn processors(&self) -> usize {
        self.machines.size()
    }

    /// The allocation loop over one graph.
    fn growing(
        &self,
        graph: &Graph,
    ) -> Allocation<'p, impl Fn(TaskId, u32) -> f64 + use<'m, 'a, 'p>> {
        let machines = self.machines;
        Allocation::of(machines.problem, &graph.tasks, |t, width| machines.seconds(t, 0, width))
    }

    /// Widths that biCPA gives a graph for every number of processors.
    fn widths(&self, graph: &Graph) -> Vec<Vec<u32>> {
        let mut growing = self.growing(graph);
        let machines = self.machines;
        let mut for_processors = |divisor: usize| {
            growing.balance(divisor as f64, |g, t| g.width[t.index()] < room(machines, t));
            graph.tasks.iter().map(|t| growing.width[t.index()]).collect()
        };
        (1..=self.processors()).map(&mut for_processors).collect()
    }

    /// The widths of all tasks, from those of each graph in the order of its tasks.
    fn gathered(&self, mut widths: impl FnMut(usize, &Graph) -> Vec<u32>) -> Vec<u32> {
        let mut all = vec![1; self.problem().tasks()];
        for (index, graph) in self.graphs.iter().enumerate() {
            for (task, width) in graph.tasks.iter().zip(widths(index, graph)) {
                all[task.index()] = width;
            }
        }
        all
    }

    /// Bottom levels of tasks of given widths.
    fn levels(&self, width: &[u32]) -> Vec<f64> {
        let time = |t: TaskId| self.machines.seconds(t, 0, width[t.index()]);
        self.problem().workflow().bottom_levels(time, |_| 0.0)
    }

    /// The finished plan: backfilled if wanted, with the end and stretch of every graph.
    fn told(&self, mut schedule: Schedule, backfilled: bool, mut facts: Vec<Fact>) -> Schedule {
        if backfilled {
            let open = self.graphs.iter().flat_map(|g| g.tasks.iter().copied());
            let mut order: Vec<TaskId> = open.collect();
            let start = |t: TaskId| schedule.placement(t).map_or(0.0, |p| p.start);
            order.sort_by(|&a, &b| start(a).total_cmp(&start(b)).then(a.cmp(&b)));
            backfill(self.machines, &mut schedule, &order);
        }
        let members = self.problem().workflow().members().iter();
        let took = |(g, m): (&Graph, &Member)| g.alone - arrival(self.problem(), m);
        let alone: Vec<f64> = self.graphs.iter().zip(members).map(took).collect();
        facts.push(outcome(self.problem(), &schedule, &alone));
        told(self.machines, schedule, facts)
    }
}

/// The machines of a method for several graphs.
fn one_cluster<'a, 'p>(
    problem: &'a Problem<'p>,
    values: &Values,
    algorithm: &'static str,
) -> Result<Machines<'a, 'p>, PlanError> {
    check_several(problem, algorithm)?;
    Machines::single(problem, values.maybe_count("max-width"), algorithm)
}

#[cfg(test)]
mod tests;
