//! Plans as genes: the order of the tasks and a processor for each. What the evolutionary methods share.

use super::QosContext;
use super::pareto::Point;
use crate::list::Partial;
use rand::RngExt;
use slackline_model::rng::Stream;
use slackline_model::{ProcId, Schedule, TaskId};

/// Odds of a change of order, and of one of place.
const MUTATION: f64 = 0.5;

/// A plan: tasks with their processors, parents first.
#[derive(Clone, PartialEq)]
pub(super) struct Genome(Vec<(TaskId, ProcId)>);

impl Genome {
    /// By falling upward rank, on random processors.
    pub(super) fn random(course: &QosContext<'_, '_>, random: &mut Stream) -> Genome {
        Genome(course.order.iter().map(|&task| (task, any(course, task, random))).collect())
    }

    /// By falling upward rank, where a schedule has them.
    pub(super) fn read(course: &QosContext<'_, '_>, schedule: &Schedule) -> Genome {
        let gene = |&task: &TaskId| Some((task, schedule.placement(task)?.proc()));
        Genome(course.order.iter().filter_map(gene).collect())
    }

    /// The schedule, without insertion; none where a task cannot go.
    pub(super) fn decode(&self, course: &QosContext<'_, '_>) -> Option<(Point, Schedule)> {
        let mut partial = Partial::appending(course.problem);
        let mut point = Point { makespan: 0.0, cost: course.prices.spent() };
        for &(task, proc) in &self.0 {
            let slot = partial.slot_on(task, proc);
            if !slot.possible() {
                return None;
            }
            partial.place(task, slot);
            point.makespan = point.makespan.max(slot.finish);
            point.cost += course.prices.cost_on(task, proc);
        }
        let schedule = partial.into_schedule();
        if !course.prices.is_exact() {
            point.cost = course.prices.of_plan(&schedule);
        }
        Some((point, schedule))
    }

    /// Makespan and cost; none where a task cannot go.
    pub(super) fn measure(&self, course: &QosContext<'_, '_>) -> Option<Point> {
        self.decode(course).map(|(point, _)| point)
    }

    /// Takes over the processors of another plan for a window of tasks.
    fn cross(&self, other: &Genome, random: &mut Stream) -> Genome {
        let n = self.0.len();
        let (a, b) = (random.random_range(0..=n), random.random_range(0..=n));
        let mut theirs = std::collections::HashMap::new();
        theirs.extend(other.0.iter().copied());
        let mut child = self.clone();
        for gene in &mut child.0[a.min(b)..a.max(b)] {
            gene.1 = theirs.get(&gene.0).copied().unwrap_or(gene.1);
        }
        child
    }

    /// A child of two plans, changed with even odds in order and in place.
    pub(super) fn child(
        first: &Genome,
        second: &Genome,
        course: &QosContext<'_, '_>,
        random: &mut Stream,
    ) -> Genome {
        let mut child = first.cross(second, random);
        if random.random_bool(MUTATION) {
            child.swap(course, random);
        }
        if random.random_bool(MUTATION) {
            child.replace(course, random);
        }
        child
    }

    /// Exchanges two tasks that follow each other on one processor, if precedence allows.
    fn swap(&mut self, course: &QosContext<'_, '_>, random: &mut Stream) {
        let first = random.random_range(0..self.0.len());
        let (task, proc) = self.0[first];
        let Some(next) = self.0[first + 1..].iter().position(|&(_, p)| p == proc) else { return };
        let second = first + 1 + next;
        let other = self.0[second].0;
        let workflow = course.problem.workflow();
        // A path between tasks of the order passes through tasks between them: parents are enough.
        let between = self.0[first + 1..=second].iter();
        let fed = between.clone().any(|&(t, _)| workflow.predecessors(t).any(|(p, _)| p == task));
        let feeds =
            between.take(next).any(|&(t, _)| workflow.predecessors(other).any(|(p, _)| p == t));
        if !fed && !feeds {
            self.0.swap(first, second);
        }
    }

    /// Gives a random task a random processor.
    fn replace(&mut self, course: &QosContext<'_, '_>, random: &mut Stream) {
        let at = random.random_range(0..self.0.len());
        self.0[at].1 = any(course, self.0[at].0, random);
    }
}

/// A random processor that can run a task.
fn any(course: &QosContext<'_, '_>, task: TaskId, random: &mut Stream) -> ProcId {
    let procs = course.problem.procs();
    let from = random.random_range(0..procs);
    let mut turns = (0..procs).map(|k| ProcId::new((from + k) % procs));
    let fits = |proc: &ProcId| {
        course.prices.cost_on(task, *proc).is_finite()
            && course.problem.available_from(*proc).is_finite()
    };
    turns.find(fits).unwrap_or(ProcId(0))
}
