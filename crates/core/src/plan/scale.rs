//! What budgets and deadlines can be measured by: the least cost, the cheapest plan, the fastest one.

use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::schedule::{Limits, Summary, affordable};
use slackline_model::units::fmt_seconds;
use slackline_model::{Problem, Schedule, approx};
use slackline_schedule::list::heft;
use slackline_schedule::qos::{cheapest, exact_cost, least_cost};
use slackline_schedule::{Algorithm, PlanError, Request};

/// Makespan and cost of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct End {
    /// Seconds.
    pub makespan: f64,
    /// What it costs.
    pub cost: f64,
}

/// The ends between which limits make sense.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scale {
    /// No plan costs less.
    pub least_cost: f64,
    /// The cheapest plan.
    pub cheapest: End,
    /// HEFT's plan.
    pub fastest: End,
    /// What both cost at exact seconds, as planners price them.
    #[serde(skip)]
    pub exact: (f64, f64),
}

impl Scale {
    pub(crate) fn of(problem: &Problem<'_>) -> Result<Scale, PlanError> {
        let end = |method: &Algorithm| {
            let schedule: Schedule = (method.plan)(problem, &Request::default())?;
            let Summary { makespan, cost, .. } = Summary::of(problem, &schedule);
            Ok::<_, PlanError>((End { makespan, cost }, exact_cost(problem, &schedule)))
        };
        let (cheapest, least) = end(&cheapest::CHEAPEST)?;
        let (fastest, most) = end(&heft::HEFT)?;
        Ok(Scale { least_cost: least_cost(problem), cheapest, fastest, exact: (least, most) })
    }

    /// What it would take to keep limits that no plan at hand keeps.
    pub fn advice(&self, limits: &Limits, lower_bound: f64) -> String {
        let mut advice = Vec::new();
        if let Some(budget) = limits.budget.filter(|&b| !affordable(self.least_cost, b)) {
            let (least, budget) = (three_digits(self.least_cost), three_digits(budget));
            advice.push(format!("no plan costs less than {least}, so none keeps {budget}"));
        }
        if let Some(deadline) = limits.deadline.filter(|&d| approx::gt(lower_bound, d)) {
            let (bound, deadline) = (fmt_seconds(lower_bound), fmt_seconds(deadline));
            advice.push(format!("no plan ends before {bound}, so none keeps {deadline}"));
        }
        if advice.is_empty() {
            let told = |what: &str, end: End| {
                let (seconds, cost) = (fmt_seconds(end.makespan), three_digits(end.cost));
                format!("the {what} plan takes {seconds} and costs {cost}")
            };
            advice.push(told("cheapest", self.cheapest));
            advice.push(told("fastest", self.fastest));
            advice.push("other algorithms, or more machines, may find a plan that fits".into());
        }
        advice.join("; ")
    }
}

/// Three significant digits, without an exponent where people would not expect one.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.2e}"),
    }
}
