//! Time against cost over many planners and budgets.

use super::scale::Scale;
use super::{PlanInput, planners_named};
use crate::context::Context;
use crate::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::schedule::{Limits, validate};
use slackline_model::{Problem, approx};
use slackline_schedule::qos::pareto::{self, Point};
use slackline_schedule::qos::portfolio::{self, Job};
use slackline_schedule::qos::within_limits;
use slackline_schedule::{Algorithm, bounds};

/// The JSON document `slackline/front/1`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FrontReport {
    /// `slackline/front/1`.
    pub schema: &'static str,
    /// The workflow.
    pub workflow: String,
    /// The platform.
    pub platform: String,
    /// The ends of the front.
    #[serde(flatten)]
    pub scale: Scale,
    /// No plan ends before this date.
    pub lower_bound: f64,
    /// The budget that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The deadline that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// The plans, by makespan.
    pub points: Vec<FrontPlan>,
}

/// A plan of the front.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FrontPlan {
    /// Its planner.
    pub algorithm: &'static str,
    /// The machines it was confined to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<String>,
    /// Label of the planner and its confinement, for tables and charts.
    #[serde(skip)]
    pub name: String,
    /// Seconds.
    pub makespan: f64,
    /// Cost of the plan.
    pub cost: f64,
    /// Whether another plan is as good in one and better in the other.
    pub dominated: bool,
    /// The budget that the planner was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The deadline that the planner was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
}

impl PlanInput {
    /// Plans with many planners under many limits.
    pub fn front(
        &self,
        problem: &Problem<'_>,
        context: &mut Context<'_>,
    ) -> Result<FrontReport, Failure> {
        if !problem.platform().is_priced() {
            let help = "the platform says what a host costs with `price`";
            return Err(Failure::input("--front needs machines with prices").with_help(help));
        }
        let limits = self.request.limits.limits();
        let ends = portfolio::Scale::of(problem)?;
        let contenders = self.contenders(problem)?;
        self.check_options(&contenders)?;
        let told = |&algorithm: &&'static Algorithm| {
            let told = portfolio::sweep(algorithm, &ends, &limits).into_iter();
            told.map(move |told| Job::of(algorithm, told))
        };
        let mut jobs: Vec<Job> = contenders.iter().flat_map(told).collect();
        if self.request.planners.is_empty() {
            jobs.extend(portfolio::rentals(problem, &limits));
        }
        let mut points: Vec<FrontPlan> = Vec::new();
        let mut broken = None;
        let settings = self.search_request(limits, context);
        portfolio::each(problem, &jobs, &settings, |candidate| {
            let algorithm = candidate.algorithm.name;
            if let Some(rule) = validate(problem, &candidate.schedule, &Limits::default()).first() {
                broken.get_or_insert(format!("{algorithm} made an invalid plan: {rule}"));
            }
            let (name, point) = (within_limits::name(problem, &candidate), candidate.point);
            let same = |p: &FrontPlan| {
                p.name == name
                    && approx::eq(p.makespan, point.makespan)
                    && approx::eq(p.cost, point.cost)
            };
            if points.iter().any(same) {
                return;
            }
            let machines = candidate.rented.map(|rented| {
                let kind = &problem.platform().class(rented.class).name;
                format!("{} x {kind}", rented.count)
            });
            points.push(FrontPlan {
                algorithm,
                machines,
                name,
                makespan: point.makespan,
                cost: point.cost,
                dominated: false,
                budget: candidate.told.budget,
                deadline: candidate.told.deadline,
            });
        })?;
        if let Some(message) = broken {
            return Err(Failure::work(message));
        }
        let scale = Scale::of(problem, &[], 0.0)?;
        let scale = points.iter().fold(scale, |scale, p| scale.with(p.makespan, p.cost));
        mark(&mut points);
        Ok(FrontReport {
            schema: "slackline/front/1",
            workflow: problem.workflow().name().to_string(),
            platform: problem.platform().name().to_string(),
            scale,
            lower_bound: bounds::lower_bound(problem),
            budget: limits.budget,
            deadline: limits.deadline,
            points,
        })
    }

    /// The planners asked for, else those of every front.
    fn contenders(&self, problem: &Problem<'_>) -> Result<Vec<&'static Algorithm>, Failure> {
        let whole = Limits { budget: Some(0.0), deadline: Some(0.0) };
        if !self.request.planners.is_empty() {
            return planners_named(&self.request.planners, problem, &whole);
        }
        Ok(portfolio::contenders(problem))
    }
}

/// Sorts by makespan and marks the dominated plans.
fn mark(points: &mut [FrontPlan]) {
    let order = |p: &FrontPlan| (approx::sort_key(p.makespan), approx::sort_key(p.cost));
    points.sort_by(|a, b| {
        let (a, b) = (order(a), order(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let plain: Vec<Point> =
        points.iter().map(|p| Point { makespan: p.makespan, cost: p.cost }).collect();
    for (point, dominated) in points.iter_mut().zip(pareto::dominated(&plain)) {
        point.dominated = dominated;
    }
}
