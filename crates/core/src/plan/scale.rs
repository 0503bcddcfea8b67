//! Reference values for budgets and deadlines: the least cost, the cheapest and the fastest plan found.

use super::Planned;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::schedule::{Detail, Limits, affordable};
use slackline_model::units::fmt_seconds;
use slackline_model::{Problem, approx};
use slackline_schedule::PlanError;
use slackline_schedule::qos::pareto::{Aim, Point, best_for};
use slackline_schedule::qos::{least_cost, portfolio};

/// Makespan and cost of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct End {
    /// Seconds.
    pub makespan: f64,
    /// Cost of the plan.
    pub cost: f64,
}

/// The ends between which limits make sense.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scale {
    /// No plan costs less.
    pub least_cost: f64,
    /// The cheapest plan that was found.
    pub cheapest: End,
    /// The fastest plan that was found.
    pub fastest: End,
}

/// The plans that a method found and that no other of it beats: how, and makespan and cost.
pub fn alternatives<'d>(
    details: &'d [(&'static str, Detail)],
) -> impl Iterator<Item = (&'d str, Point)> {
    let lists = details.iter().filter_map(|(name, detail)| match detail {
        Detail::List(rows) if *name == "alternatives" => Some(rows),
        _ => None,
    });
    lists.flatten().filter_map(|row| match row {
        Detail::Record(parts) => match parts.as_slice() {
            [(_, Detail::Text(by)), (_, Detail::Number(makespan)), (_, Detail::Number(cost))] => {
                Some((by.as_str(), Point { makespan: *makespan, cost: *cost }))
            }
            _ => None,
        },
        _ => None,
    })
}

/// Puts the ends of alternatives off by a wait.
pub(crate) fn delay_alternatives(details: &mut [(&'static str, Detail)], wait: f64) {
    for (name, detail) in details {
        let Detail::List(rows) = detail else { continue };
        if *name != "alternatives" {
            continue;
        }
        for row in rows {
            let Detail::Record(parts) = row else { continue };
            for (name, value) in parts {
                if let ("makespan", Detail::Number(end)) = (&**name, value) {
                    *end += wait;
                }
            }
        }
    }
}

impl Scale {
    /// The ends of the plans at hand, of HEFT's and of the plan that takes the cheapest machine for each task.
    pub(crate) fn of(
        problem: &Problem<'_>,
        plans: &[Planned],
        wait: f64,
    ) -> Result<Scale, PlanError> {
        let mut usual = portfolio::Scale::of(problem)?;
        usual.cheapest.makespan += wait;
        usual.fastest.makespan += wait;
        let own = |p: &Planned| Point { makespan: p.summary.makespan, cost: p.summary.cost };
        let points = [usual.cheapest, usual.fastest].into_iter().chain(plans.iter().map(own));
        let others = plans.iter().flat_map(|p| alternatives(&p.schedule.details));
        let points: Vec<Point> = points.chain(others.map(|(_, point)| point)).collect();
        let end = |aim| {
            let Point { makespan, cost } = points[best_for(&points, &Limits::default(), aim)];
            End { makespan, cost }
        };
        let (cheapest, fastest) = (end(Aim::Cheapest), end(Aim::Fastest));
        Ok(Scale { least_cost: least_cost(problem), cheapest, fastest })
    }

    /// Extends the scale by one plan.
    pub(crate) fn with(mut self, makespan: f64, cost: f64) -> Scale {
        let end = End { makespan, cost };
        let point = |end: End| Point { makespan: end.makespan, cost: end.cost };
        for (known, aim) in [(&mut self.cheapest, Aim::Cheapest), (&mut self.fastest, Aim::Fastest)]
        {
            if best_for(&[point(*known), point(end)], &Limits::default(), aim) == 1 {
                *known = end;
            }
        }
        self
    }

    /// Explains which limits would be feasible, for limits that no plan at hand keeps.
    pub(crate) fn advice(&self, limits: &Limits, lower_bound: f64) -> String {
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
                format!("the {what} plan found takes {seconds} and costs {cost}")
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
