//! Fairness policies (Zhao, Sakellariou, IPDPS 2006): workflows known together are slowed down
//! alike.
//!
//! Every workflow is first planned alone by a pivot. Then one task is placed at a time, where it finishes
//! first: the next one, by upward rank, of the workflow that is delayed most. A workflow's delay is the end of
//! its last placed task over the end of that task in the plan of its own. The finish-time policy computes it
//! when the workflow is served; the current-time policy for every workflow whenever a task is placed, so that
//! one that waits is delayed by the waiting: where its last task ends before the task just placed, the end of
//! that one counts. Workflows of which nothing is placed come first, the longest of them before the others.
//! With HEFT as pivot tasks go into gaps, with Hybrid.BMCT behind others. O(e p) twice and O(v n) for n
//! workflows. Ties: the workflow named first. Recalled: the papers' pivot Hybrid.BMCT also balances groups of
//! tasks of the joint plan.

use super::{Batch, Pivot};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::approx::sort_key;
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::{Problem, Schedule, TaskId};

const PIVOT: Parameter = Parameter::new(
    "pivot",
    Kind::Choice(&["heft", "hybrid-bmct"]),
    "heft",
    "what plans each workflow alone",
);

/// Registry entry: the finish-time policy.
pub const FINISH: Algorithm = Algorithm {
    name: "fairness-finish",
    family: Family::Several,
    basis: Basis::Recalled,
    about: "several workflows, next the one most delayed when it was last served",
    source: "Zhao, Sakellariou, IPDPS 2006",
    complexity: "O(e p + v n), n workflows",
    parameters: &[PIVOT],
    needs: &[Need::Several],
    plan: |problem, request| fair(problem, request, "fairness-finish", false),
};

/// Registry entry: the current-time policy.
pub const CURRENT: Algorithm = Algorithm {
    name: "fairness-current",
    about: "several workflows, next the one most delayed by now",
    plan: |problem, request| fair(problem, request, "fairness-current", true),
    ..FINISH
};

/// Progress of the joint plan with a workflow.
#[derive(Clone, Default)]
struct Progress {
    placed: usize,
    last: Option<TaskId>,
}

fn fair(
    problem: &Problem<'_>,
    request: &Request,
    name: &'static str,
    current: bool,
) -> Result<Schedule, PlanError> {
    let pivot = match FINISH.values(request)?.word(PIVOT.name) {
        "hybrid-bmct" => Pivot::HybridBmct,
        _ => Pivot::Heft,
    };
    let batch = Batch::new(problem, pivot, name)?;
    let mut partial = pivot.partial(problem);
    let mut progress = vec![Progress::default(); batch.graphs.len()];
    let mut clock = problem.state().now;
    loop {
        // Not served yet, then delay; the largest comes next.
        let key = |at: usize| match progress[at].last {
            None => (true, sort_key(batch.graphs[at].alone)),
            Some(task) => {
                let end = partial.finish_of(task);
                let end = if current { end.max(clock) } else { end };
                let (arrived, own) = (batch.graphs[at].arrived, batch.own[task.index()]);
                (false, sort_key(delay(end - arrived, own - arrived)))
            }
        };
        let open =
            (0..batch.graphs.len()).filter(|&g| progress[g].placed < batch.graphs[g].tasks.len());
        let later = |a: usize, b: usize| {
            let (a_key, b_key) = (key(a), key(b));
            let more = b_key.0.cmp(&a_key.0).then(b_key.1.total_cmp(&a_key.1));
            if more.is_gt() { b } else { a }
        };
        let Some(next) = open.reduce(later) else { break };
        let task = batch.graphs[next].tasks[progress[next].placed];
        let slot = partial.earliest_finish(task)?;
        partial.place(task, slot);
        clock = partial.finish_of(task);
        progress[next] = Progress { placed: progress[next].placed + 1, last: Some(task) };
    }
    Ok(batch.told(partial, Vec::new()))
}

/// Together over alone; what takes no time alone is not delayed by taking none.
fn delay(together: f64, alone: f64) -> f64 {
    if alone > 0.0 {
        together / alone
    } else if together > 0.0 {
        f64::INFINITY
    } else {
        1.0
    }
}
