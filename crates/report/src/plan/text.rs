//! Text reports on plans.

use crate::Printer;
use crate::table::{Table, count, cut};
use slackline_analysis::plan_check::Check;
use slackline_analysis::storage::storage_peaks;
use slackline_core::interval::MakespanInterval;
use slackline_core::plan::{Planned, Plans, is_limited, staging, three_digits};
use slackline_core::{Failure, plan_check};
use slackline_model::schedule::{Detail, Limits};
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{Problem, ProcId, approx};
use slackline_schedule::qos::pareto::Aim;
use slackline_schedule::qos::within_limits::WITHIN_LIMITS;
use slackline_view::gantt::TerminalOptions;
use slackline_view::{Chart, gantt};
use std::path::Path;

/// Names of workflow and platform.
pub fn place(problem: &Problem<'_>) -> String {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let name = |name: &str, what: &str| match name {
        "" => format!("a {what}"),
        name => name.to_string(),
    };
    let machines = match (platform.hosts().len(), problem.procs()) {
        (hosts, procs) if hosts == procs => count(hosts, "processor"),
        (hosts, procs) => format!("{}, {}", count(hosts, "host"), count(procs, "core")),
    };
    format!(
        "{} ({}) on {} ({machines})",
        name(workflow.name(), "workflow"),
        count(workflow.len(), "task"),
        name(platform.name(), "platform"),
    )
}

/// Chart of a plan, with its figures as facts.
pub fn chart(problem: &Problem<'_>, plan: &Planned, lower_bound: f64) -> Chart {
    let mut chart = Chart::of_schedule(problem, &plan.schedule).with_bound(lower_bound);
    chart.title = place(problem);
    chart.facts = vec![format!("planned by {}", plan.algorithm.name)];
    if plan.check.as_ref().is_some_and(differs) {
        chart.facts.push(format!("simulated {}", fmt_seconds(plan.end())));
    }
    chart.facts.extend([
        gap(plan.end(), lower_bound),
        format!("speed-up {}", three_digits(plan.summary.speedup)),
        format!("utilisation {:.0} %", 100.0 * plan.summary.utilisation),
        format!("{} moved", fmt_bytes(plan.summary.bytes_moved)),
    ]);
    chart
}

/// Most tasks whose widths are listed.
const LISTED: usize = 40;

/// Widths and processors of the tasks of a moldable plan; empty for others.
pub fn widths(problem: &Problem<'_>, plan: &Planned, width: usize) -> String {
    let workflow = problem.workflow();
    if !workflow.is_moldable() {
        return String::new();
    }
    let mut table = Table::new(&["<task", ">width", "<processors", ">start", ">end"]);
    let mut tasks: Vec<_> = workflow.tasks().collect();
    let start = |t| plan.schedule.placement(t).map_or(0.0, |p| p.start);
    tasks.sort_by(|&a, &b| start(a).total_cmp(&start(b)).then(a.cmp(&b)));
    for &task in tasks.iter().take(LISTED) {
        let Some(placement) = plan.schedule.placement(task) else { continue };
        table.row([
            workflow.task_name(task).to_string(),
            placement.procs().len().to_string(),
            ranges(problem, placement.procs()),
            fmt_seconds(placement.start),
            fmt_seconds(placement.finish),
        ]);
    }
    let more = tasks.len().saturating_sub(LISTED);
    let rest = if more > 0 { format!("... and {more} more\n") } else { String::new() };
    format!("{}{rest}", table.render(width))
}

/// Results of each of several workflows; empty where there is one.
pub fn workflows(plan: &Planned, width: usize) -> String {
    let named = |d: &&(&str, Detail)| d.0 == "workflows";
    let Some((_, Detail::List(rows))) = plan.schedule.details.iter().find(named) else {
        return String::new();
    };
    let late = rows.first().is_some_and(|row| match row {
        Detail::Record(parts) => parts.iter().any(|(name, _)| *name == "arrived"),
        _ => false,
    });
    let mut headings = vec!["<workflow"];
    headings.extend(late.then_some(">arrives"));
    headings.extend([">finish", ">alone", ">stretch"]);
    let mut table = Table::new(&headings);
    for row in rows.iter().take(LISTED) {
        let Detail::Record(parts) = row else { continue };
        let cell = |(name, value): &(&str, Detail)| match value {
            Detail::Text(text) => cut(text, 40),
            Detail::Number(number) if *name == "stretch" => format!("{number:.2}"),
            Detail::Number(number) => fmt_seconds(*number),
            _ => String::new(),
        };
        table.row(parts.iter().map(cell));
    }
    let more = rows.len().saturating_sub(LISTED);
    let rest = if more > 0 { format!("... and {more} more\n") } else { String::new() };
    format!("{}{rest}", table.render(width))
}

/// Plans that no other one of a search beats in time and money; empty where there is one at most.
pub fn alternatives(plan: &Planned, width: usize) -> String {
    const SHOWN: usize = 12;
    let all: Vec<_> = slackline_core::plan::alternatives(&plan.schedule.details).collect();
    if all.len() < 2 {
        return String::new();
    }
    let mut table = Table::new(&[">makespan", ">cost", "<found by"]);
    for (by, point) in all.iter().take(SHOWN) {
        table.row([fmt_seconds(point.makespan), three_digits(point.cost), by.to_string()]);
    }
    let more = all.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!("... and {more} more\n") } else { String::new() };
    format!("Plans that no other one found beats:\n\n{}{rest}", table.render(width))
}

/// Processors as a cluster and their ranges in it: `c 0-13`.
fn ranges(problem: &Problem<'_>, procs: &[ProcId]) -> String {
    let class = |p: ProcId| problem.platform().host(problem.host_of(p)).class;
    let Some(&first) = procs.first() else { return String::new() };
    let cluster = class(first);
    // Place among the processors of the cluster, for those up to the last.
    let last = procs.iter().map(|p| p.0).max().unwrap_or(first.0);
    let mut members = 0;
    let places: Vec<usize> = (0..=last)
        .map(|p| {
            members += usize::from(class(ProcId(p)) == cluster);
            members
        })
        .collect();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for place in procs.iter().map(|&p| places[p.index()].saturating_sub(1)) {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == place => *last = place,
            _ => spans.push((place, place)),
        }
    }
    let span = |&(from, to): &(usize, usize)| {
        if from == to { from.to_string() } else { format!("{from}-{to}") }
    };
    let spans: Vec<String> = spans.iter().map(span).collect();
    format!("{} {}", problem.platform().class(cluster).name, spans.join(","))
}

/// Distance of a makespan from the lower bound.
fn gap(makespan: f64, lower_bound: f64) -> String {
    let above = above_bound(makespan, lower_bound);
    match above {
        a if a < 0.0005 => "the best possible".to_string(),
        a if a < 0.1 => format!("at most {:.1} % above the best possible", 100.0 * a),
        a if a.is_finite() => format!("at most {:.0} % above the best possible", 100.0 * a),
        _ => "no lower bound".to_string(),
    }
}

fn above_bound(makespan: f64, lower_bound: f64) -> f64 {
    if approx::le(makespan, lower_bound) { 0.0 } else { makespan / lower_bound - 1.0 }
}

/// Figures of a plan, line by line.
pub fn summary(
    problem: &Problem<'_>,
    plan: &Planned,
    (lower_bound, recorded): (f64, Option<f64>),
    limits: &Limits,
    width: usize,
) -> String {
    let summary = &plan.summary;
    let mut table = Table::new(&["<", "<", "<"]);
    let mut row = |name: &str, value: String, remark: String| {
        table.row([name.to_string(), value, remark]);
    };
    let end = plan.end();
    let plain = plain_seconds(end);
    let and = |word: &str| if plain.is_empty() { word.into() } else { format!("{plain}, {word}") };
    match &plan.check {
        Some(check) if differs(check) => {
            row("makespan", fmt_seconds(end), and("as simulated"));
            row("planned", fmt_seconds(summary.makespan), difference(check));
            for (seconds, what) in plan_check::why(check, "levels that change") {
                row("", seconds, format!("by {what}"));
            }
        }
        Some(_) => row("makespan", fmt_seconds(end), and("as planned and as simulated")),
        None => row("makespan", fmt_seconds(end), and("as planned")),
    }
    if let Some(interval) = &plan.interval {
        row("interval", bounds(interval), interval_remark(interval));
    }
    if let Some(recorded) = recorded {
        row("recorded", fmt_seconds(recorded), beside_recorded(end, recorded));
    }
    row("lower bound", fmt_seconds(lower_bound), gap(end, lower_bound));
    let staged = staging(problem, &plan.schedule);
    if staged > 1e-3 * summary.makespan {
        let share = 100.0 * staged / summary.makespan;
        let remark = format!("{share:.0} % of the plan: inputs on their way from the origin");
        row("staging", fmt_seconds(staged), remark);
    }
    if let Some(deadline) = limits.deadline {
        let (early, gap) = (deadline - summary.makespan, (deadline - summary.makespan).abs());
        let met = if early >= 0.0 { "met, to spare:" } else { "missed by" };
        row("deadline", fmt_seconds(deadline), format!("{met} {}", fmt_seconds(gap)));
        let priced = problem.platform().is_priced() && limits.budget.is_none();
        if priced && plan.algorithm.name == WITHIN_LIMITS.name {
            let (what, remark) = match plan.aim {
                Aim::Cheapest => ("cheapest plan found", "that meets it; --fastest: the fastest"),
                Aim::Fastest => ("fastest plan found", "that meets it"),
            };
            row("chosen", what.to_string(), remark.to_string());
        }
    }
    row("speed-up", three_digits(summary.speedup), "over the fastest single processor".into());
    let used = match summary.used_procs {
        0 => "no processor has work".to_string(),
        1 => "of the one processor used".to_string(),
        used => format!("of the {used} processors used"),
    };
    row("utilisation", format!("{:.0} %", 100.0 * summary.utilisation), used);
    if problem.platform().is_priced() || limits.budget.is_some() {
        row("cost", three_digits(summary.cost), String::new());
    }
    if let Some(budget) = limits.budget {
        let (left, gap) = (budget - summary.cost, (budget - summary.cost).abs());
        let met = if left >= 0.0 { "kept, left over:" } else { "exceeded by" };
        row("budget", three_digits(budget), format!("{met} {}", three_digits(gap)));
    }
    for (name, detail) in &plan.schedule.details {
        let value = match detail {
            Detail::Count(count) => count.to_string(),
            Detail::Number(number) => three_digits(*number),
            Detail::Text(text) => text.clone(),
            // Lists and records are for programs.
            Detail::List(_) | Detail::Record(_) => continue,
        };
        row(&name.replace('_', " "), value, String::new());
    }
    row("data moved", fmt_bytes(summary.bytes_moved), "between hosts".into());
    let peaks = storage_peaks(problem, &plan.schedule);
    let bounded = peaks.iter().filter(|peak| peak.capacity.is_some());
    if let Some(most) = bounded.max_by(|a, b| a.peak.total_cmp(&b.peak)) {
        let of = most.capacity.map_or(String::new(), |c| format!(" of {}", fmt_bytes(c)));
        let kept = fmt_bytes(most.peak_kept);
        let remark = format!("{of} at most on '{}', {kept} if nothing is deleted", most.place);
        row("storage", fmt_bytes(most.peak), remark.trim_start().to_string());
    }
    if let Some(spread) = &plan.robustness {
        row("with errors", fmt_seconds(spread.mean), "mean makespan".into());
        row("", fmt_seconds(spread.p95), "not exceeded in 95 % of the samples".into());
        row("slack", fmt_seconds(spread.slack), "mean delay of a task that does no harm".into());
    }
    table.render(width)
}

/// The bounds of a makespan.
pub fn bounds(interval: &MakespanInterval) -> String {
    format!("{} to {}", fmt_seconds(interval.low), fmt_seconds(interval.high))
}

/// Meaning of the bounds of a makespan.
pub fn interval_remark(interval: &MakespanInterval) -> String {
    format!("{:.0} % of runs, by the {}", 100.0 * interval.level, interval.speeds.covers())
}

/// The run is visibly longer or shorter than the plan.
fn differs(check: &Check) -> bool {
    (check.simulated - check.planned).abs() > 5e-4 * check.planned
}

/// Ratio of a forecast to the recorded run of the workflow.
pub fn beside_recorded(end: f64, recorded: f64) -> String {
    let times = recorded / end;
    if end <= 0.0 {
        "the run that the workflow was recorded from".to_string()
    } else if times >= 2.0 {
        format!("the recorded run took {times:.1} times as long")
    } else {
        format!("by the recorded run, {:+.0} %", 100.0 * (times - 1.0))
    }
}

/// Ratio of the run to the plan.
fn difference(check: &Check) -> String {
    let Check { planned, simulated, .. } = *check;
    if planned > 0.0 {
        format!("{:+.1} % in the run", (simulated / planned - 1.0) * 100.0)
    } else {
        "not so in the run".to_string()
    }
}

/// Makespans above a minute or two also in plain seconds.
fn plain_seconds(seconds: f64) -> String {
    if seconds < 99.95 { String::new() } else { format!("{seconds:.1} s") }
}

/// Table of several plans of one problem.
pub fn comparison(
    problem: &Problem<'_>,
    plans: &[Planned],
    lower_bound: f64,
    width: usize,
) -> String {
    let checked = plans.iter().any(|p| p.check.is_some());
    let mut headings = vec!["<algorithm", ">makespan"];
    if checked {
        headings.push(">planned");
    }
    headings.extend([">to best", ">over bound", ">took"]);
    let (priced, spread) =
        (problem.platform().is_priced(), plans.iter().any(|p| p.robustness.is_some()));
    if priced {
        headings.push(">cost");
    }
    if spread {
        headings.extend([">mean", ">p95", ">slack"])
    } else {
        headings.extend([">used", ">moved"])
    }
    // A terminal may hold less; the first are missed least.
    let spare = ["moved", "used", "took", "slack", "to best", "planned"];
    let mut table = Table::new(&headings).sparing(&spare);
    let mut sorted: Vec<&Planned> = plans.iter().collect();
    sorted.sort_by(|a, b| a.end().total_cmp(&b.end()));
    let shortest = sorted.first().map_or(0.0, |p| p.end());
    for plan in sorted {
        let summary = &plan.summary;
        let mut cells = vec![plan.algorithm.name.to_string(), fmt_seconds(plan.end())];
        if checked {
            cells.push(fmt_seconds(summary.makespan));
        }
        cells.extend([
            format!("{:.3}", if shortest > 0.0 { plan.end() / shortest } else { 1.0 }),
            format!("{:.1} %", 100.0 * above_bound(plan.end(), lower_bound)),
            fmt_seconds(plan.wall_seconds),
        ]);
        if priced {
            cells.push(three_digits(summary.cost));
        }
        match &plan.robustness {
            Some(spread) => {
                cells.extend([spread.mean, spread.p95, spread.slack].map(fmt_seconds));
            }
            None => {
                cells.push(format!("{:.0} %", 100.0 * summary.utilisation));
                cells.push(fmt_bytes(summary.bytes_moved));
            }
        }
        table.row(cells);
    }
    table.render(width)
}

/// Prints plans: the best one, and the others beside it; `written` names files that were written.
pub fn tell(
    all: &Plans<'_>,
    is_checked: bool,
    written: [(&str, Option<&Path>); 2],
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let Plans { problem, plans, lower_bound, limits, .. } = all;
    let (best, bound) = (all.best(), (*lower_bound, all.recorded_makespan));
    let lower_bound = *lower_bound;
    if plans.len() > 1 {
        let headline = format!("{} plans of {}", plans.len(), place(problem));
        output.say(&format!("{}\n\n", output.bold(&headline)))?;
        output.say(&comparison(problem, plans, lower_bound, output.style().width))?;
        output.say(&format!(
            "\n{}\n\n",
            output.bold(&format!("The plan of {}", best.algorithm.name))
        ))?;
        if is_limited(limits) {
            output.say(&summary(problem, best, bound, limits, output.style().width))?;
            output.say("\n")?;
        }
    } else {
        let headline = format!("{}, planned by {}", place(problem), best.algorithm.name);
        output.say(&format!("{}\n\n", output.bold(&headline)))?;
        output.say(&summary(problem, best, bound, limits, output.style().width))?;
        output.say("\n")?;
    }
    if is_checked && problem.tasks() > plan_check::MOST_TASKS {
        let text = "Not checked by simulation: more than 100,000 tasks.\n\n";
        output.say(text)?;
    }
    let options = TerminalOptions {
        width: output.style().width,
        colour: output.style().colour,
        ..TerminalOptions::default()
    };
    let widths = widths(problem, best, output.style().width);
    let workflows = workflows(best, output.style().width);
    let alternatives = alternatives(best, output.style().width);
    for table in [alternatives, workflows, widths].iter().filter(|t| !t.is_empty()) {
        output.say(&format!("{table}\n"))?;
    }
    let chart = chart(problem, best, lower_bound).without_idle_hosts();
    output.say(&gantt::terminal(&chart, &options))?;
    for (index, (what, path)) in
        written.iter().filter_map(|(what, path)| Some((what, (*path)?))).enumerate()
    {
        let gap = if index == 0 { "\n" } else { "" };
        output.say(&format!("{gap}{what} written to {}\n", path.display()))?;
    }
    Ok(())
}
