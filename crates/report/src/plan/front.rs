//! `slackline plan --front`: time against cost over many planners and budgets.

use super::text::place;
use crate::Printer;
use crate::table::Table;
use slackline_core::Failure;
use slackline_core::plan::{FrontPlan, FrontReport, three_digits};
use slackline_model::schedule::Limits;
use slackline_model::units::fmt_seconds;
use slackline_model::{Problem, approx};
use slackline_schedule::qos::pareto::Point;
use slackline_view::front::{Front, FrontPoint, svg};
use std::path::Path;

/// Draws a front into a file, where one is named, and prints it as a document or a table.
pub fn show(
    problem: &Problem<'_>,
    found: &FrontReport,
    limits: &Limits,
    (drawn, json): (Option<&Path>, bool),
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    if let Some(path) = drawn {
        let picture = svg(&picture(problem, &found.points, limits));
        crate::picture::write(output.files(), path, &picture)?;
    }
    if json {
        return output.json(found);
    }
    tell(problem, &found.points, limits, drawn, output)
}

fn tell(
    problem: &Problem<'_>,
    points: &[FrontPlan],
    limits: &Limits,
    written: Option<&Path>,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let best: Vec<&FrontPlan> = points.iter().filter(|p| !p.dominated).collect();
    let headline = format!("{} plans of {}", points.len(), place(problem));
    output.say(&format!("{}\n\n", output.bold(&headline)))?;
    output.say(&format!("{} that no other beats in time and cost:\n\n", best.len()))?;
    let mut table = Table::new(&[">makespan", ">cost", "<found by", "<"]);
    let limited = limits.budget.is_some() || limits.deadline.is_some();
    // Several planners may have found the same.
    let same = |a: &&FrontPlan, b: &&FrontPlan| {
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
    output.say(&table.render(output.style().width))?;
    if let Some(path) = written {
        output.say(&format!("\nPicture written to {}\n", path.display()))?;
    }
    Ok(())
}

/// Names of the methods that found a plan.
fn finders(plans: &[&FrontPlan]) -> String {
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

fn picture(problem: &Problem<'_>, points: &[FrontPlan], limits: &Limits) -> Front {
    let best = points.iter().filter(|p| !p.dominated).count();
    let point = |p: &FrontPlan| FrontPoint {
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
