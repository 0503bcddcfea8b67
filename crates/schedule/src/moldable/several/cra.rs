//! SELFISH and CRA: every graph gets a share of the cluster (N'takpé, Suter, PDSEC 2009; Casanova,
//! Desprez, Suter, JPDC 70(12), 2010).
//!
//! The share of a graph is everything (SELFISH), the same for all (NDAGS), or half that and half in proportion
//! to its critical path, its width or its work, all at one processor per task. Widths are those of SCRAP-MAX
//! within the share; all graphs are mapped together over the whole cluster and backfilled. `order` is the order
//! of ready tasks. O(n v p (v + e)) for n graphs.

use super::{BACKFILLED, Batch, Graph, PACKED, RANK, SEVERAL, ready};
use crate::moldable::MAX_WIDTH;
use crate::moldable::scrap::constrain;
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::schedule::Detail;
use slackline_model::workflow::Shape;
use slackline_model::{Problem, Schedule, TaskId};

/// Measure that determines the share of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    Everything,
    Equal,
    CriticalPath,
    Width,
    Work,
}

/// Registry entry: every graph as if it were alone.
pub const SELFISH: Algorithm = Algorithm {
    name: "selfish",
    about: "several graphs, each with widths as if it were alone",
    complexity: "O(n v p (v + e)), n graphs",
    parameters: &[RANK, PACKED, BACKFILLED, MAX_WIDTH],
    plan: |problem, request| shared(problem, request, "selfish", Share::Everything),
    ..SEVERAL
};

/// Registry entry: equal shares.
pub const NDAGS: Algorithm = Algorithm {
    name: "cra-ndags",
    about: "several graphs with equal shares of the cluster",
    plan: |problem, request| shared(problem, request, "cra-ndags", Share::Equal),
    ..SELFISH
};

/// Registry entry: shares by critical path.
pub const CP: Algorithm = Algorithm {
    name: "cra-cp",
    about: "several graphs with shares by their critical paths",
    plan: |problem, request| shared(problem, request, "cra-cp", Share::CriticalPath),
    ..SELFISH
};

/// Registry entry: shares by width.
pub const WIDTH: Algorithm = Algorithm {
    name: "cra-width",
    about: "several graphs with shares by the tasks of their widest levels",
    plan: |problem, request| shared(problem, request, "cra-width", Share::Width),
    ..SELFISH
};

/// Registry entry: shares by work.
pub const WORK: Algorithm = Algorithm {
    name: "cra-work",
    about: "several graphs with shares by their work",
    plan: |problem, request| shared(problem, request, "cra-work", Share::Work),
    ..SELFISH
};

fn shared(
    problem: &Problem<'_>,
    request: &Request,
    name: &'static str,
    share: Share,
) -> Result<Schedule, PlanError> {
    ready::plan(problem, &SELFISH.values(request)?, name, |batch| {
        let shares = shares(batch, share);
        let width = constrained(batch, &shares);
        let list = shares.into_iter().map(Detail::Number).collect();
        Ok((width, vec![("constraint", Detail::List(list))]))
    })
}

/// The share of every graph.
pub(super) fn shares(batch: &Batch<'_, '_, '_>, share: Share) -> Vec<f64> {
    let problem = batch.problem();
    let shape = Shape::of(problem.workflow());
    let alone = |t: TaskId| batch.machines.seconds(t, 0, problem.workflow().width(t).0);
    let graphs = batch.graphs.len() as f64;
    let weight = |graph: &Graph| match share {
        Share::Everything | Share::Equal => 1.0,
        Share::CriticalPath => batch.growing(graph).critical_path(),
        Share::Work => graph.tasks.iter().map(|&t| alone(t)).sum(),
        Share::Width => f64::from(shape.width_of(&graph.tasks)),
    };
    let weights: Vec<f64> = batch.graphs.iter().map(weight).collect();
    let total: f64 = weights.iter().sum();
    let part = |w: f64| match share {
        Share::Everything => 1.0,
        _ if total <= 0.0 => 1.0 / graphs,
        _ => mixed(w, total, graphs),
    };
    weights.into_iter().map(part).collect()
}

/// Half an equal share, half one in proportion.
fn mixed(weight: f64, total: f64, graphs: f64) -> f64 {
    1.0 / (2.0 * graphs) + weight / (2.0 * total)
}

/// SCRAP-MAX's widths of all graphs within their shares.
pub(super) fn constrained(batch: &Batch<'_, '_, '_>, shares: &[f64]) -> Vec<u32> {
    batch.gathered(|index, graph| {
        let mut growing = batch.growing(graph);
        constrain(&mut growing, batch.machines, shares[index], true);
        graph.tasks.iter().map(|task| growing.width[task.index()]).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::mixed;

    #[test]
    fn shares_by_hand() {
        let share = |weight: f64| (mixed(weight, 100.0, 3.0) * 1e4).round() / 1e4;
        assert_eq!([10.0, 30.0, 60.0].map(share), [0.2167, 0.3167, 0.4667]);
    }
}
