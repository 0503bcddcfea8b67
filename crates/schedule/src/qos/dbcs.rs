//! DBCS: Deadline-Budget Constrained Scheduling (Arabnejad, Barbosa, Prodan, Future Generation
//! Computer Systems 55, 2016; chapter 8 of Arabnejad's thesis).
//!
//! By falling upward rank, each task on the processor of largest quality among those that leave enough
//! for the cheapest processors of all later tasks. The quality is the time left until the task's own
//! deadline plus the money saved against the processor that would finish first. Own deadlines come from
//! the workflow's by least execution and mean transfer times; a task that ends exactly then is late, and
//! if it is late everywhere the earliest finish counts alone. The budget is never exceeded, the deadline
//! may be missed. O(e p). Ties: earlier finish, lower cost, lower processor. With less money than the
//! cheapest plan costs it gives the cheapest plan.
//!
//! The weight of money is the least cost of what is not placed yet over the money not spent. The
//! source defines "what" in two ways; `ratio` has both and two more.

use super::choice::{self, Span};
use super::{Course, Offer, cheapest};
use crate::list::ranks::Weights;
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::affordable;
use slackline_model::{Problem, Schedule, TaskId, approx};

/// Registry entry.
pub const DBCS: Algorithm = Algorithm {
    name: "dbcs",
    family: Family::Qos,
    basis: Basis::Published,
    about: "budget kept, deadline sought: quality of a processor from sub-deadline and cost",
    source: "Arabnejad, Barbosa, Prodan, FGCS 55, 2016",
    complexity: "O(e p)",
    parameters: &[RATIO],
    needs: &[Need::Budget, Need::Deadline],
    plan,
};

const RATIO: Parameter = Parameter::new(
    "ratio",
    Kind::Choice(&["current", "total", "rest", "none"]),
    "current",
    "tasks whose least cost weighs money: unplaced ones with the current, all, unplaced ones after \
     it, none",
)
.published("current");

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let ratio = Ratio::read(DBCS.values(request)?.word("ratio"));
    let course = Course::new(problem, request);
    if course.too_poor() {
        return cheapest::plan(problem);
    }
    let mut quality = Quality::new(&course, ratio);
    course.place(|at, task, offers| quality.choose(at, task, offers))
}

/// Tasks whose least cost is compared with the money left to weigh cost against time.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ratio {
    Current,
    Total,
    Rest,
    None,
}

impl Ratio {
    fn read(word: &str) -> Ratio {
        match word {
            "total" => Ratio::Total,
            "rest" => Ratio::Rest,
            "none" => Ratio::None,
            _ => Ratio::Current,
        }
    }
}

/// State of the quality measure of processors while tasks are placed.
pub(super) struct Quality<'c> {
    ratio: Ratio,
    left: f64,
    least_from: &'c [f64],
    pub(super) deadlines: Vec<f64>,
}

impl<'c> Quality<'c> {
    pub(super) fn new(course: &'c Course<'_, '_>, ratio: Ratio) -> Self {
        let deadlines = deadlines(course.problem, course.deadline);
        Quality { ratio, left: course.money, least_from: &course.least_from, deadlines }
    }

    /// The most the task at a position may cost (CL).
    pub(super) fn limit(&self, at: usize) -> f64 {
        self.left - self.least_from[at + 1]
    }

    /// The weight of money.
    pub(super) fn weight(&self, at: usize) -> f64 {
        let least = match self.ratio {
            Ratio::Current => self.least_from[at],
            Ratio::Total => self.least_from[0],
            Ratio::Rest => self.least_from[at + 1],
            Ratio::None => 0.0,
        };
        if self.left > 0.0 { least / self.left } else { 0.0 }
    }

    /// The quality (Q) of every offer.
    pub(super) fn of(&self, at: usize, task: TaskId, offers: &[Offer]) -> Vec<f64> {
        let (limit, weight) = (self.limit(at), self.weight(at));
        let best = &offers[choice::first(offers)];
        let (times, costs) = (Span::of(offers, |o| o.slot.finish), Span::of(offers, |o| o.cost));
        // Without a deadline every processor is in time; any date that all meet gives the same order.
        let deadline = self.deadlines[task.index()];
        let deadline = if deadline.is_finite() { deadline } else { 2.0 * times.high };
        let quality = |offer: &Offer| {
            if !affordable(offer.cost, limit) {
                return f64::NEG_INFINITY;
            }
            match approx::lt(offer.slot.finish, deadline) {
                true => {
                    times.share(deadline - offer.slot.finish)
                        + costs.share(best.cost - offer.cost) * weight
                }
                false => times.share(-offer.slot.finish),
            }
        };
        offers.iter().map(quality).collect()
    }

    pub(super) fn choose(&mut self, at: usize, task: TaskId, offers: &[Offer]) -> usize {
        let chosen = choice::largest(offers, &self.of(at, task, offers));
        // Only where the cheapest processor is cut off from the task's data.
        let chosen = chosen.unwrap_or_else(|| choice::cheapest(offers));
        self.left -= offers[chosen].cost;
        chosen
    }
}

/// The latest end of every task if all that follows runs at its fastest.
fn deadlines(problem: &Problem<'_>, deadline: f64) -> Vec<f64> {
    let workflow = problem.workflow();
    let best: Vec<f64> = workflow.tasks().map(|t| problem.best_exec(t)).collect();
    let mut latest = vec![deadline; workflow.len()];
    for &task in workflow.topological_order().iter().rev() {
        for (child, edge) in workflow.successors(task) {
            let transfer = Weights::MEAN.transfer(problem, edge);
            let before = latest[child.index()] - transfer - best[child.index()];
            latest[task.index()] = latest[task.index()].min(before);
        }
    }
    latest
}
