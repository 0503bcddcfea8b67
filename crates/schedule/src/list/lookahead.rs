//! Lookahead: HEFT that evaluates a choice by its effect on the children (Bittencourt, Sakellariou, Madeira,
//! PDP 2010).
//!
//! HEFT's order. A task is tried on every processor; its children are then placed where they
//! finish first, and the processor wins after which they do best. A task without children goes
//! where it finishes itself first. Parents of a child that are not placed yet are left out.
//! About p e searches over p processors: O(e p^2). Ties: lower task index, lower processor.
//!
//! Judgement of the children (`children`):
//! - `together`: placed one after another by falling rank, beside each other; the latest end
//!   counts (the method of the paper);
//! - `alone`: each as if it were the only child; the latest end counts;
//! - `weighted`: as the first, but the mean of their ends weighted by their ranks
//!   counts, so that children which do not matter for the makespan weigh little.

use super::ranks::{self, TRANSFER, Weights};
use super::trial::Trial;
use super::{Partial, ReadyList, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::approx::sort_key;
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::{Problem, Schedule, TaskId, approx};

/// Registry entry.
pub const LOOKAHEAD: Algorithm = Algorithm {
    name: "lookahead",
    family: Family::List,
    basis: Basis::Published,
    about: "HEFT order; the processor after which the children finish first",
    source: "Bittencourt, Sakellariou, Madeira, PDP 2010",
    complexity: "O(e p^2)",
    parameters: &[CHILDREN, TRANSFER],
    needs: &[],
    plan: |problem, request| {
        let values = LOOKAHEAD.values(request)?;
        let judge = match values.word(CHILDREN.name) {
            "alone" => Judge::LatestAlone,
            "weighted" => Judge::WeightedMean,
            _ => Judge::Latest,
        };
        plan(problem, Weights::of(&values), judge)
    },
};

/// The other ways to judge children are recalled.
pub(crate) const RECALLED: Algorithm = Algorithm { basis: Basis::Recalled, ..LOOKAHEAD };

const CHILDREN: Parameter = Parameter::new(
    "children",
    Kind::Choice(&["together", "alone", "weighted"]),
    "together",
    "how the children are judged: the latest placed beside each other, the latest as if each \
     were alone, or the mean of their ends weighted by rank",
);

/// Evaluation of a trial from the finish times of the children.
#[derive(Clone, Copy, PartialEq)]
enum Judge {
    Latest,
    LatestAlone,
    WeightedMean,
}

fn plan(problem: &Problem<'_>, weights: Weights, judge: Judge) -> Result<Schedule, PlanError> {
    let rank = ranks::upward_by(problem, weights);
    let mut ready = ReadyList::new(problem, &rank);
    let mut partial = Partial::new(problem);
    let mut looking = Looking { rank: &rank, judge, trial: Trial::new(problem.procs()) };
    while let Some(task) = ready.pop() {
        let slot = if problem.workflow().out_degree(task) == 0 {
            partial.earliest_finish(task)?
        } else {
            looking.choose(&mut partial, task)?
        };
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}

struct Looking<'r> {
    rank: &'r [f64],
    judge: Judge,
    trial: Trial,
}

impl Looking<'_> {
    fn choose(&mut self, partial: &mut Partial<'_, '_>, task: TaskId) -> Result<Slot, PlanError> {
        let problem = partial.problem();
        let mut children: Vec<TaskId> =
            problem.workflow().successors(task).map(|(child, _)| child).collect();
        let key = |t: &TaskId| sort_key(self.rank[t.index()]);
        children.sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.cmp(b)));

        let ready = partial.data_ready(task).to_vec();
        let wide = problem.workflow().width(task).0 > 1;
        let mut best: Option<(f64, Slot)> = None;
        let mut possible: Option<Slot> = None;
        for proc in problem.proc_ids() {
            let host = problem.host_of(proc);
            if wide && problem.procs_of(host).start != proc.0 {
                continue;
            }
            let slot = partial.slot_after(task, proc, ready[host.index()]);
            if !slot.possible() {
                continue;
            }
            possible = possible.or(Some(slot));
            let least = best.map_or(f64::INFINITY, |(least, _)| least);
            // No child ends before the task does.
            if !approx::lt(slot.finish, least) {
                continue;
            }
            self.trial.place(partial, task, slot);
            let score = self.score(partial, &children, least);
            self.trial.clear(partial);
            if approx::lt(score, least) {
                best = Some((score, slot));
            }
        }
        // Where no child has a place yet that all its parents reach, any place will do.
        best.map(|(_, slot)| slot).or(possible).ok_or_else(|| partial.nowhere(task))
    }

    /// Evaluates the children with the task on trial. Returns some value not below `least` as soon as the
    /// result is known not to be below it.
    fn score(&mut self, partial: &mut Partial<'_, '_>, children: &[TaskId], least: f64) -> f64 {
        let (mut latest, mut sum, mut weight) = (0.0f64, 0.0, 0.0);
        for &child in children {
            let Some(slot) = self.trial.earliest_finish(partial, child) else {
                return f64::INFINITY;
            };
            if self.judge != Judge::LatestAlone {
                self.trial.place(partial, child, slot);
            }
            latest = latest.max(slot.finish);
            if self.judge != Judge::WeightedMean && !approx::lt(latest, least) {
                return latest;
            }
            sum += slot.finish * self.rank[child.index()];
            weight += self.rank[child.index()];
        }
        if self.judge == Judge::WeightedMean && weight > 0.0 { sum / weight } else { latest }
    }
}
