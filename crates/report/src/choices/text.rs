//! Text reports on workflows with choices and loops.

use crate::Printer;
use crate::table::{Table, count, wrap};
use slackline_analysis::forecast::{Chance, Distribution, Forecast};
use slackline_core::Failure;
use slackline_core::choices::{ASSUMES, PlannedChoices};
use slackline_model::Workflow;
use slackline_model::control::{Control, Count, Item, RegionId};
use slackline_model::units::fmt_seconds;
use slackline_schedule::nondet::{Options, Run};
use std::fmt::Write;

fn number(value: f64) -> String {
    match value {
        v if v.is_infinite() => "no limit".to_string(),
        v if v.fract() == 0.0 && v.abs() < 1e15 => format!("{v:.0}"),
        v => format!("{v:.3}"),
    }
}

fn mean_and_sd(count: &Count) -> String {
    if count.variance > 0.0 {
        format!("{} ± {:.3}", number(count.mean), count.variance.sqrt())
    } else {
        number(count.mean)
    }
}

/// The tree of regions.
pub fn regions(control: &Control) -> String {
    let mut out = String::new();
    region(control, RegionId::WORKFLOW, 1, &mut out);
    out
}

fn region(control: &Control, id: RegionId, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let mut tasks: Vec<&str> = Vec::new();
    let items = &control.region(id).items;
    for &item in items {
        match item {
            Item::Task(_) => tasks.push(control.item_name(item)),
            Item::Choice(c) => {
                flush(&mut tasks, &indent, out);
                let choice = &control.choices()[c as usize];
                let by = choice
                    .by
                    .map_or(String::new(), |t| format!(", decided by {}", control.task_name(t)));
                let _ = writeln!(out, "{indent}◇ choice {}{by}", choice.name);
                for branch in &choice.branches {
                    let known = if choice.is_known { "" } else { " (unknown)" };
                    let chance = format!("{:.4}", 100.0 * branch.probability);
                    let chance = chance.trim_end_matches('0').trim_end_matches('.');
                    let empty = control.region(branch.region).items.is_empty();
                    let skip = if empty { ": nothing" } else { "" };
                    let _ = writeln!(out, "{indent}  ├ {} {chance} %{known}{skip}", branch.name);
                    region(control, branch.region, depth + 2, out);
                }
            }
            Item::Loop(l) => {
                flush(&mut tasks, &indent, out);
                let spec = &control.loops()[l as usize];
                let by = spec
                    .by
                    .map_or(String::new(), |t| format!(", decided by {}", control.task_name(t)));
                let passes = spec.law.passes();
                let limit = if passes.most.is_finite() {
                    format!("at most {:.0}", passes.most)
                } else {
                    "no limit".to_string()
                };
                let mean = mean_and_sd(&passes);
                let _ = writeln!(out, "{indent}↻ loop {}: {mean} passes, {limit}{by}", spec.name);
                region(control, spec.body, depth + 2, out);
                if !control.region(spec.again).items.is_empty() {
                    let _ = writeln!(out, "{indent}  ↩ between two passes");
                    region(control, spec.again, depth + 2, out);
                }
            }
        }
    }
    flush(&mut tasks, &indent, out);
}

fn flush(tasks: &mut Vec<&str>, indent: &str, out: &mut String) {
    const SHOWN: usize = 12;
    if tasks.is_empty() {
        return;
    }
    let more = tasks.len().saturating_sub(SHOWN);
    let names = tasks[..tasks.len() - more].join(", ");
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let _ = writeln!(out, "{indent}{names}{rest}");
    tasks.clear();
}

/// Sub-workflows with their executions.
pub fn parts(control: &Control, width: usize) -> String {
    let parts = control.split();
    let counts = control.executions(&parts);
    let mut table = Table::new(&["<sub-workflow", ">executions", ">least", ">most", "<tasks"]);
    for (part, count) in parts.iter().zip(&counts) {
        let tasks: Vec<&str> = part.tasks.iter().map(|&t| control.task_name(t)).collect();
        let tasks = if tasks.is_empty() { "-".to_string() } else { tasks.join(", ") };
        table.row([
            part.name.clone(),
            mean_and_sd(count),
            number(count.least),
            number(count.most),
            crate::table::cut(&tasks, 60),
        ]);
    }
    table.render(width)
}

/// Prints the plans of sub-workflows, with the money and the machines of each.
pub fn plan(planned: &PlannedChoices<'_>, output: &mut dyn Printer) -> Result<(), Failure> {
    let PlannedChoices { template, platform, kinds, plan, options, .. } = planned;
    let (name, method) = (template.tasks.name(), options.method.name());
    let headline = format!(
        "{name} on {}, planned by {method} under a budget of {}",
        platform.name(),
        number(options.budget)
    );
    output.say(&format!("{}\n\n", output.bold(&headline)))?;
    let mut table = Table::new(&[
        "<sub-workflow",
        ">executions",
        ">paid for",
        ">money",
        ">cost",
        ">makespan",
        "<machines",
        "<widths",
    ]);
    for (at, part) in plan.parts.iter().enumerate() {
        let chosen = &plan.plans[at];
        let Some(candidate) = &chosen.candidate else {
            let executions = mean_and_sd(&plan.executions[at]);
            let nothing = "-".to_string();
            let mut cells = vec![part.name.clone(), executions, number(plan.shared.planned[at])];
            cells.extend(std::iter::repeat_n(nothing, 5));
            table.row(cells);
            continue;
        };
        let kind = &kinds.all()[candidate.kind];
        let widths = part.tasks.iter().zip(&candidate.widths);
        let widths: Vec<String> =
            widths.map(|(&t, w)| format!("{} {w}", template.control.task_name(t))).collect();
        let too_dear = if chosen.feasible { "" } else { " (too much)" };
        table.row([
            part.name.clone(),
            mean_and_sd(&plan.executions[at]),
            number(plan.shared.planned[at]),
            number(plan.shared.money[at]),
            format!("{}{too_dear}", number(candidate.cost)),
            fmt_seconds(candidate.makespan),
            format!("{} of {}", candidate.machines, kind.name),
            crate::table::cut(&widths.join(", "), 40),
        ]);
    }
    output.say(&table.render(output.style().width))?;
    let confidence = (1e6 * options.confidence).round() / 1e4;
    let text = format!(
        "Planned cost {} (executions paid for at a confidence of {confidence} %), expected at most {}.",
        number(plan.planned_cost()),
        number(plan.expected_cost()),
    );
    output.say(&format!("\n{}\n", wrap(&text, 0, output.style().width).trim_end()))
}

/// Prints one run.
pub fn run(
    planned: &PlannedChoices<'_>,
    run: &Run,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let PlannedChoices { template, kinds, plan, options, .. } = planned;
    let control = &template.control;
    let kept = if Options::affords(run.cost, options.budget) { "within" } else { "above" };
    let facts = format!(
        "{}: {}, makespan {}, cost {} ({kept} the budget of {})",
        options.method.name(),
        count(run.instances.len(), "task"),
        fmt_seconds(run.makespan),
        number(run.cost),
        number(options.budget),
    );
    output.say(&format!("{}\n\n", output.bold(&facts)))?;
    let mut table = Table::new(&["<decision", "<outcome"]);
    for (decision, outcome) in &run.outcomes {
        let outcome = control.outcome_name(decision, *outcome).to_string();
        table.row([decision.name.clone(), outcome]);
    }
    if !run.outcomes.is_empty() {
        output.say(&format!("{}\n", table.render(output.style().width)))?;
    }
    let mut table = Table::new(&[">released at", "<sub-workflow", ">money"]);
    for release in &run.released {
        let money = release.money.map_or("-".to_string(), number);
        table.row([fmt_seconds(release.at), plan.parts[release.part].name.clone(), money]);
    }
    output.say(&format!("{}\n", table.render(output.style().width)))?;
    let mut table = Table::new(&["<task", "<machines", ">start", ">end"]);
    let platform = kinds.problem().platform();
    for instance in &run.instances {
        let kind = &kinds.all()[instance.kind];
        let hosts = instance.machines.iter().map(|&m| &*platform.host(kind.hosts[m as usize]).name);
        let hosts = crate::table::cut(&hosts.collect::<Vec<_>>().join(", "), 30);
        let dates = [instance.start, instance.end].map(fmt_seconds);
        table.row([instance.name.clone(), hosts].into_iter().chain(dates));
    }
    output.say(&table.render(output.style().width))
}

/// Prints a forecast: distributions of makespan and cost over many runs.
pub fn forecast(
    planned: &PlannedChoices<'_>,
    forecast: &Forecast,
    (deadline, seed): (Option<f64>, u64),
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let (runs, options) = (forecast.runs.len(), planned.options);
    let title = planned.template.tasks.name();
    let headline =
        format!("{title}: forecast of {} by {}", count(runs, "run"), options.method.name());
    output.say(&format!("{}\n\n", output.bold(&headline)))?;
    let mut table =
        Table::new(&["<", ">mean", ">sd", ">least", ">10 %", ">median", ">90 %", ">most"]);
    let row = |name: &str, of: &Distribution, text: &dyn Fn(f64) -> String| {
        let all = [of.mean, of.sd, of.least, of.p10, of.p50, of.p90, of.most];
        let mut cells = vec![name.to_string()];
        cells.extend(all.map(text));
        cells
    };
    table.row(row("makespan", &forecast.makespan, &|v| fmt_seconds(v)));
    table.row(row("cost", &forecast.cost, &number));
    output.say(&format!("{}\n", table.render(output.style().width)))?;
    let chance = |chance: &Chance| {
        format!(
            "{:.1} % of runs (95 % interval {:.1} to {:.1} %)",
            100.0 * chance.share,
            100.0 * chance.low,
            100.0 * chance.high
        )
    };
    let mut kept =
        format!("Budget of {} kept: {}.\n", number(options.budget), chance(&forecast.budget));
    if let (Some(deadline), Some(share)) = (deadline, &forecast.deadline) {
        let _ = writeln!(kept, "Deadline of {} kept: {}.", fmt_seconds(deadline), chance(share));
        let _ = writeln!(kept, "Both kept: {}.", chance(&forecast.both));
    }
    output.say(&format!("{kept}\n"))?;
    if !forecast.explained.is_empty() {
        output.say(
            "What explains the spread (share of the variance between the courses of a block):\n\n",
        )?;
        let mut table = Table::new(&[
            "<block",
            ">makespan",
            ">cost",
            "<course",
            ">runs",
            ">mean makespan",
            ">mean cost",
        ]);
        for one in &forecast.explained {
            for (at, course) in one.courses.iter().enumerate().take(8) {
                let first = at == 0;
                let percent = |share: f64| {
                    if first { format!("{:.0} %", 100.0 * share) } else { String::new() }
                };
                table.row([
                    if first { one.block.clone() } else { String::new() },
                    percent(one.makespan),
                    percent(one.cost),
                    course.outcome.clone(),
                    format!("{:.1} %", 100.0 * course.share),
                    fmt_seconds(course.makespan),
                    number(course.cost),
                ]);
            }
        }
        output.say(&format!("{}\n", table.render(output.style().width)))?;
    }
    let text = format!("Runs 0 to {} of seed {seed}; {ASSUMES}.", runs - 1);
    output.say(&wrap(&text, 0, output.style().width))
}

/// Choices and loops of a workflow: its regions, and its sub-workflows.
pub fn of_control(workflow: &Workflow, control: &Control, output: &dyn Printer) -> String {
    let headline = format!(
        "{}: {}, {}, {}",
        workflow.name(),
        count(workflow.len(), "task"),
        count(control.choices().len(), "choice"),
        count(control.loops().len(), "loop")
    );
    format!(
        "{}\n\n{}\n{}",
        output.bold(&headline),
        regions(control),
        parts(control, output.style().width)
    )
}
