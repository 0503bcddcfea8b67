//! BHEFT: Budget-constrained HEFT (Zheng, Sakellariou, GECON 2012; Journal of Grid Computing 11, 2013).
//!
//! By falling upward rank. What the budget has beyond the mean costs of the tasks not yet placed (SAB)
//! is shared among them in proportion to these; a task takes the processor on which it finishes first
//! among those within its mean cost and its share (CTB). A budget below the mean costs is not kept: a
//! task may still cost its mean. O(e p). Ties: lower cost, lower processor. Where no processor is within
//! the task's budget: the one that finishes first, or the cheapest when the budget is overdrawn. With
//! means over the processors that can be chosen this does not happen, unless one is cut off.

use super::{Course, Offer, choice, sums_from};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::{Problem, Schedule};

/// Registry entry.
pub const BHEFT: Algorithm = Algorithm {
    name: "bheft",
    family: Family::Qos,
    basis: Basis::Published,
    about: "HEFT within a budget per task from mean costs; may exceed low budgets",
    source: "Zheng, Sakellariou, Journal of Grid Computing 11, 2013",
    complexity: "O(e p)",
    parameters: &[],
    needs: &[Need::Budget],
    plan,
};

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let course = Course::new(problem, request);
    let mut shares = Shares::new(&course);
    course.place(|at, _, offers| shares.choose(at, offers))
}

/// Shares of the spare budget.
pub(super) struct Shares {
    left: f64,
    /// Mean cost of the task at each position, and of the tasks from there on.
    mean: Vec<f64>,
    mean_from: Vec<f64>,
}

impl Shares {
    pub(super) fn new(course: &Course<'_, '_>) -> Self {
        let mean = course.order.iter().map(|&task| course.prices.mean(task)).collect();
        let mean_from = sums_from(&course.order, |task| course.prices.mean(task));
        Shares { left: course.money, mean, mean_from }
    }

    /// The spare budget (SAB) and the budget of the task at a position (CTB).
    pub(super) fn of(&self, at: usize) -> (f64, f64) {
        let (mean, all) = (self.mean[at], self.mean_from[at]);
        let spare = self.left - all;
        let share = if all > 0.0 { spare * mean / all } else { 0.0 };
        (spare, mean + share.max(0.0))
    }

    pub(super) fn choose(&mut self, at: usize, offers: &[Offer]) -> usize {
        let (spare, limit) = self.of(at);
        let chosen = choice::first_within(offers, limit).unwrap_or_else(|| match spare >= 0.0 {
            true => choice::first(offers),
            false => choice::cheapest(offers),
        });
        self.left -= offers[chosen].cost;
        chosen
    }
}
