//! Proportional sharing (N'takpé, Suter, PDSEC 2009) for tasks whose width is given.
//!
//! Each of n workflows gets the share mu/n + (1 - mu) c / sum c of the processors, c its critical path, the tasks of
//! its widest level or its work, in mean times. It never holds more processors at once than its
//! share of them, rounded, at least one. Tasks of all workflows are placed in the order in which
//! their parents end, those of higher upward rank first, each where it finishes first, into gaps. A task wider
//! than the share takes all of it. O(e p + v log v). Ties: lower task, lower processor. Recalled: the
//! source shares out the widths of moldable tasks (`cra-...`), here it is processors held at once.

use super::fairness::FINISH;
use super::{Batch, Graph, Pivot, parts};
use crate::list::{Partial, Readiness};
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::approx::sort_key;
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::Detail;
use slackline_model::workflow::Shape;
use slackline_model::{Problem, Schedule, TaskId};
use std::cmp::Reverse;
use std::collections::BTreeSet;

const MU: Parameter = Parameter::new(
    "mu",
    Kind::Number(0.0, 1.0),
    "0.5",
    "what of the processors is shared equally; the rest is in proportion",
);

/// Measure of a workflow to which its share is proportional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    CriticalPath,
    Width,
    Work,
}

/// Registry entry: shares by critical path.
pub const CP: Algorithm = Algorithm {
    name: "share-cp",
    about: "several workflows with shares of the processors by their critical paths",
    source: "N'takpé, Suter, PDSEC 2009",
    complexity: "O(e p + v log v)",
    parameters: &[MU],
    plan: |problem, request| shared(problem, request, "share-cp", Measure::CriticalPath),
    ..FINISH
};

/// Registry entry: shares by width.
pub const WIDTH: Algorithm = Algorithm {
    name: "share-width",
    about: "several workflows with shares of the processors by the tasks of their widest levels",
    plan: |problem, request| shared(problem, request, "share-width", Measure::Width),
    ..CP
};

/// Registry entry: shares by work.
pub const WORK: Algorithm = Algorithm {
    name: "share-work",
    about: "several workflows with shares of the processors by their work",
    plan: |problem, request| shared(problem, request, "share-work", Measure::Work),
    ..CP
};

/// When each of the processors that a workflow may hold is given back.
struct Share(Vec<f64>);

impl Share {
    fn of(part: f64, procs: usize, from: f64) -> Share {
        let held = (part * procs as f64).round().clamp(1.0, procs.max(1) as f64);
        Share(vec![from; held as usize])
    }

    /// Number of its processors that a task takes.
    fn taken(&self, width: u32) -> usize {
        (width as usize).min(self.0.len())
    }

    /// When a task of some width may begin.
    fn free_from(&mut self, width: u32) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0[self.taken(width) - 1]
    }

    /// A task that began when it might takes those that are given back first.
    fn hold(&mut self, width: u32, until: f64) {
        let taken = self.taken(width);
        self.0[..taken].fill(until);
    }
}

fn shared(
    problem: &Problem<'_>,
    request: &Request,
    name: &'static str,
    measure: Measure,
) -> Result<Schedule, PlanError> {
    let mu = CP.values(request)?.number(MU.name)?;
    let batch = Batch::new(problem, Pivot::Heft, name)?;
    let parts_of_all = portions(&weights(&batch, measure), mu);
    let from = problem.state().now;
    let mut shares: Vec<Share> =
        parts_of_all.iter().map(|&part| Share::of(part, problem.procs(), from)).collect();
    let part_of = parts(problem);
    let workflow = problem.workflow();
    let mut partial = Partial::new(problem);
    let (mut readiness, first) = Readiness::new(problem);
    // Dates and ranks are not negative: their bits sort as they do.
    let bits = |value: f64| sort_key(value.max(0.0)).to_bits();
    let entry = |partial: &Partial<'_, '_>, task: TaskId| {
        let ends = workflow.predecessors(task).map(|(p, _)| partial.finish_of(p));
        let date = ends.fold(problem.release(task), f64::max);
        (bits(date), Reverse(bits(batch.rank[task.index()])), task)
    };
    let mut waiting: BTreeSet<_> = first.into_iter().map(|t| entry(&partial, t)).collect();
    while let Some((_, _, task)) = waiting.pop_first() {
        let (share, width) = (&mut shares[part_of[task.index()]], workflow.width(task).0);
        let slot = partial.earliest_finish_from(task, share.free_from(width))?;
        partial.place(task, slot);
        share.hold(width, partial.finish_of(task));
        readiness.placed(task, |child| {
            waiting.insert(entry(&partial, child));
        });
    }
    let list = parts_of_all.into_iter().map(Detail::Number).collect();
    Ok(batch.told(partial, vec![("shares", Detail::List(list))]))
}

/// Measures of all workflows, to which their shares are proportional.
fn weights(batch: &Batch<'_, '_>, measure: Measure) -> Vec<f64> {
    let shape = Shape::of(batch.problem.workflow());
    let weight = |graph: &Graph| match measure {
        Measure::CriticalPath => {
            graph.tasks.iter().map(|t| batch.rank[t.index()]).fold(0.0, f64::max)
        }
        Measure::Work => graph.tasks.iter().map(|&t| batch.problem.mean_exec(t)).sum(),
        Measure::Width => f64::from(shape.width_of(&graph.tasks)),
    };
    batch.graphs.iter().map(weight).collect()
}

/// Shares of 1 that are in part equal, in part in proportion.
fn portions(weights: &[f64], mu: f64) -> Vec<f64> {
    let (graphs, total) = (weights.len() as f64, weights.iter().sum::<f64>());
    let proportion = |w: f64| if total > 0.0 { w / total } else { 1.0 / graphs };
    weights.iter().map(|&w| mu / graphs + (1.0 - mu) * proportion(w)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Share, portions};

    #[test]
    fn shares_by_hand() {
        let rounded = |mu| portions(&[10.0, 30.0, 60.0], mu).into_iter().map(|s| (s * 1e4).round());
        assert!(rounded(0.5).eq([2167.0, 3167.0, 4667.0]));
        assert!(rounded(0.0).eq([1000.0, 3000.0, 6000.0]));
        assert!(rounded(1.0).eq([3333.0; 3]));
    }

    #[test]
    fn a_share_holds_so_many_processors_at_once() {
        let mut share = Share::of(0.2, 10, 1.0);
        assert_eq!(share.free_from(1), 1.0);
        share.hold(1, 5.0);
        assert_eq!((share.free_from(1), share.free_from(2), share.free_from(9)), (1.0, 5.0, 5.0));
        share.hold(1, 7.0);
        assert_eq!(share.free_from(1), 5.0);
        assert_eq!(Share::of(0.01, 10, 0.0).0.len(), 1);
    }
}
