//! `slackline plan --front`: time against cost over many planners and budgets.

use super::Plan;
use super::report::{place, three_digits};
use super::scale::Scale;
use crate::failure::Failure;
use crate::output::Output;
use crate::table::Table;
use serde::Serialize;
use slackline_model::schedule::{Limits, validate};
use slackline_model::units::fmt_seconds;
use slackline_model::{Problem, approx};
use slackline_schedule::Algorithm;
use slackline_schedule::qos::pareto::{self, Point};
use slackline_schedule::qos::portfolio::{self, Job};
use slackline_schedule::qos::within_limits;
use slackline_view::front::{Front, FrontPoint, svg};

/// The JSON document of a front.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    workflow: &'a str,
    platform: &'a str,
    #[serde(flatten)]
    scale: Scale,
    lower_bound: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<f64>,
    points: Vec<Found>,
}

/// A plan of the front.
#[derive(Serialize)]
struct Found {
    algorithm: &'static str,
    /// The machines it was confined to.
    #[serde(skip_serializing_if = "Option::is_none")]
    machines: Option<String>,
    #[serde(skip)]
    name: String,
    makespan: f64,
    cost: f64,
    dominated: bool,
    /// What the planner was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<f64>,
}

impl Plan {
    pub(super) fn front(&self, problem: &Problem<'_>, output: &mut Output) -> Result<(), Failure> {
        if !problem.platform().is_priced() {
            let help = "the platform says what a host costs with `price`";
            return Err(Failure::input("--front needs machines with prices").with_help(help));
        }
        let limits = self.limits.limits();
        let ends = portfolio::Scale::of(problem)?;
        let contenders = self.contenders(problem)?;
        self.check_options(&contenders)?;
        let told = |&algorithm: &&'static Algorithm| {
            let told = portfolio::sweep(algorithm, &ends, &limits).into_iter();
            told.map(move |told| Job::of(algorithm, told))
        };
        let mut jobs: Vec<Job> = contenders.iter().flat_map(told).collect();
        if self.algorithm.is_empty() {
            jobs.extend(portfolio::rentals(problem, &limits));
        }
        let mut points: Vec<Found> = Vec::new();
        let mut broken = None;
        let settings = self.search.settings(limits, &self.parameters.set);
        portfolio::each(problem, &jobs, &settings, |candidate| {
            let algorithm = candidate.algorithm.name;
            if let Some(rule) = validate(problem, &candidate.schedule, &Limits::default()).first() {
                broken.get_or_insert(format!("{algorithm} made an invalid plan: {rule}"));
            }
            let (name, point) = (within_limits::name(problem, &candidate), candidate.point);
            let same = |p: &Found| {
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
            points.push(Found {
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
        if let Some(Some(path)) = &self.front {
            crate::picture::write(&output.files, path, &svg(&picture(problem, &points, &limits)))?;
        }
        if self.json {
            output.json(&Document {
                schema: "slackline/front/1",
                workflow: problem.workflow().name(),
                platform: problem.platform().name(),
                scale,
                lower_bound: slackline_schedule::bounds::lower_bound(problem),
                budget: limits.budget,
                deadline: limits.deadline,
                points,
            })
        } else {
            self.tell_front(problem, &points, &limits, output)
        }
    }

    /// The planners asked for, else those of every front.
    fn contenders(&self, problem: &Problem<'_>) -> Result<Vec<&'static Algorithm>, Failure> {
        let whole = Limits { budget: Some(0.0), deadline: Some(0.0) };
        if !self.algorithm.is_empty() {
            return self.named(problem, &whole);
        }
        Ok(portfolio::contenders(problem))
    }

    fn tell_front(
        &self,
        problem: &Problem<'_>,
        points: &[Found],
        limits: &Limits,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let best: Vec<&Found> = points.iter().filter(|p| !p.dominated).collect();
        let headline = format!("{} plans of {}", points.len(), place(problem));
        output.say(&format!("{}\n\n", output.bold(&headline)))?;
        output.say(&format!("{} that no other beats in time and cost:\n\n", best.len()))?;
        let mut table = Table::new(&[">makespan", ">cost", "<found by", "<"]);
        let limited = limits.budget.is_some() || limits.deadline.is_some();
        // Several planners may have found the same.
        let same = |a: &&Found, b: &&Found| {
            approx::eq(a.makespan, b.makespan) && approx::eq(a.cost, b.cost)
        };
        for plans in best.chunk_by(same) {
            let point = Point { makespan: plans[0].makespan, cost: plans[0].cost };
            let kept = if limited && point.excess(limits) == 0.0 { "keeps the limits" } else { "" };
            table.row([
                fmt_seconds(point.makespan),
                three_digits(point.cost),
                finders(plans),
                kept.to_string(),
            ]);
        }
        output.say(&table.render(output.width))?;
        if let Some(Some(path)) = &self.front {
            output.say(&format!("\nPicture written to {}\n", path.display()))?;
        }
        Ok(())
    }
}

/// Who found a plan, by name.
fn finders(plans: &[&Found]) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<&str> = plans.iter().map(|p| p.name.as_str()).collect();
    names.dedup();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Sorts by makespan and says which plans are beaten.
fn mark(points: &mut [Found]) {
    let order = |p: &Found| (approx::sort_key(p.makespan), approx::sort_key(p.cost));
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

fn picture(problem: &Problem<'_>, points: &[Found], limits: &Limits) -> Front {
    let best = points.iter().filter(|p| !p.dominated).count();
    let point = |p: &Found| FrontPoint {
        name: p.name.clone(),
        makespan: p.makespan,
        cost: p.cost,
        dominated: p.dominated,
    };
    Front {
        title: place(problem),
        facts: vec![
            format!("{} plans", points.len()),
            format!("{best} that no other beats in time and cost"),
        ],
        points: points.iter().map(point).collect(),
        deadline: limits.deadline,
        budget: limits.budget,
    }
}
