//! Text reports on simulated runs: one in detail, several side by side.

use super::{curve, several};
use crate::Printer;
use crate::plan::text::{beside_recorded, bounds};
use crate::table::{Table, count, cut, wrap};
use slackline_core::simulation::Ran;
use slackline_core::{Failure, plan_check};
use slackline_engine::Usage;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{Problem, Schedule};
use slackline_view::Chart;
use slackline_view::gantt::{self, TerminalOptions};

/// Steps of the usage lines.
const STEPS: usize = 32;

/// Hosts and links whose usage is shown.
const SHOWN: usize = 5;

/// Whether it was simulated or done, as people say it.
fn how(real: bool) -> &'static str {
    if real { "run" } else { "simulated" }
}

/// Title of a chart of a run.
pub fn title(problem: &Problem<'_>, name: &str, real: bool) -> String {
    let (workflow, platform) = (problem.workflow().name(), problem.platform().name());
    format!("{workflow} on {platform}, {} with {name}", how(real))
}

/// The line under the title of a chart.
pub fn facts(problem: &Problem<'_>, ran: &Ran) -> Vec<String> {
    let c = &ran.outcome.counters;
    let length = match ran.unfinished() {
        None => format!("makespan {}", fmt_seconds(ran.outcome.makespan)),
        Some(_) => format!("stuck at {}", fmt_seconds(ran.outcome.makespan)),
    };
    let mut facts = vec![length, count(problem.tasks(), "task")];
    facts.push(format!("{} moved", fmt_bytes(c.bytes_moved)));
    if c.migrations > 0 {
        facts.push(format!("{} migrated", count(c.migrations, "task")));
    }
    if c.hosts_lost > 0 {
        facts.push(format!("{} lost", count(c.hosts_lost, "host")));
    }
    let computed = ran.metrics.waste.computed_seconds;
    if computed > 0.0 {
        facts.push(format!("{} computed without use", fmt_seconds(computed)));
    }
    facts
}

/// One run: figures, chart, busiest hosts and links.
pub fn one(problem: &Problem<'_>, ran: &Ran, output: &mut dyn Printer) -> Result<(), Failure> {
    let headline = output.bold(&title(problem, &ran.name, ran.real));
    output.say(&format!("{headline}\n\n"))?;
    if !ran.outcomes.is_empty() {
        let text = format!("Decisions: {}.", ran.outcomes.join(", "));
        output.say(&format!("{}\n", wrap(&text, 0, output.style().width)))?;
    }
    output.say(&summary(problem, ran, output.style().width))?;
    output.say("\n")?;
    if !ran.served.is_empty() {
        output.say(&several::tables(problem, ran, output.style().width))?;
        output.say("\n")?;
    }
    let chart = Chart::of_trace(problem, &ran.outcome.trace).without_idle_hosts();
    let options = TerminalOptions {
        width: output.style().width,
        colour: output.style().colour,
        ..TerminalOptions::default()
    };
    output.say(&gantt::terminal(&chart, &options))?;
    output.say(&usage(problem, ran, output.style().width))
}

fn summary(problem: &Problem<'_>, ran: &Ran, width: usize) -> String {
    let (outcome, metrics) = (&ran.outcome, &ran.metrics);
    let c = &outcome.counters;
    let mut table = Table::new(&["<", "<"]);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    let done = outcome.schedule.placements.iter().flatten().count();
    match ran.unfinished() {
        None => {
            row("makespan", exact(outcome.makespan));
            if let Some(interval) = &ran.interval {
                let share = 100.0 * interval.level;
                row("interval", format!("{} ({share:.0} % of runs)", bounds(interval)));
            }
            if let Some(recorded) = ran.recorded {
                let beside = beside_recorded(outcome.makespan, recorded);
                row("recorded", format!("{} ({beside})", fmt_seconds(recorded)));
            }
            row(
                "normalised",
                format!("{:.2} times the critical path at mean speed (NSL)", metrics.nsl),
            );
        }
        Some(_) => {
            let when = fmt_seconds(outcome.makespan);
            row("unfinished", format!("{done} of {} tasks done, stuck at {when}", problem.tasks()));
        }
    }
    let promised = ran.planned.makespan();
    let more = match ran.unfinished() {
        None if promised > 0.0 => {
            format!(
                " ({} {:+.1} %)",
                if ran.real { "real" } else { "simulated" },
                (outcome.makespan / promised - 1.0) * 100.0
            )
        }
        _ => String::new(),
    };
    if outcome.arrived.len() > 1 {
        row("planned", format!("{} if all came at once", fmt_seconds(promised)));
    } else {
        row("planned", fmt_seconds(promised) + &more);
        let why = ran.check.as_ref().map(|c| plan_check::why(c, "what changed on the way"));
        let mut name = "difference";
        for (seconds, what) in why.unwrap_or_default() {
            row(std::mem::take(&mut name), format!("{seconds} by {what}"));
        }
        if ran.unfinished().is_none() {
            row("tasks late", lateness(problem, &ran.planned, &outcome.schedule));
        }
    }
    if let Some(quarters) = curve::quarters(problem, ran) {
        row("tasks done", quarters);
    }
    let transfers = count(c.transfers, "transfer");
    row("data moved", format!("{} in {transfers}", fmt_bytes(c.bytes_moved)));
    if c.replannings > 0 {
        let times = count(c.replannings, "time");
        let moving = c.remappings;
        row("re-planned", format!("{times}, {moving} of them moved work"));
    }
    if c.migrations > 0 {
        row("migrated", count(c.migrations, "task"));
    }
    if c.hosts_lost > 0 || c.failures > 0 {
        let (hosts, broken) = (count(c.hosts_lost, "host"), count(c.failures, "task"));
        let verb = if ran.unfinished().is_none() { "survived" } else { "met" };
        row("failures", format!("{verb}: {hosts} lost, {broken} broken off"));
    }
    if c.rewound > 0 {
        row("done again", format!("{} that had finished", count(c.rewound, "task")));
    }
    let waste = &metrics.waste;
    if waste.overhead() > 0.0 {
        let mut parts = vec![format!("{} of computing", fmt_seconds(waste.computed_seconds))];
        if waste.moved_seconds > 0.0 {
            let (bytes, moved) = (fmt_bytes(waste.moved_bytes), fmt_seconds(waste.moved_seconds));
            parts.push(format!("{bytes} in {moved} of transfers"));
        }
        row("without use", parts.join(", "));
    }
    if problem.platform().is_priced() {
        row("cost", cost(problem, ran));
    }
    if let Some(kept) = ran.keeps_limits() {
        row("limits", if kept { "kept".to_string() } else { "broken".to_string() });
    }
    row(&format!("{} in", how(ran.real)), fmt_seconds(ran.wall_seconds));
    table.render(width)
}

/// A time for people, and where that is rounded much the seconds.
fn exact(seconds: f64) -> String {
    match seconds {
        s if s < 99.95 => fmt_seconds(s),
        s => format!("{} ({s:.1} s)", fmt_seconds(s)),
    }
}

/// Cost of the run and of its first plan.
fn cost(problem: &Problem<'_>, ran: &Ran) -> String {
    let money = slackline_model::schedule::cost(problem, &ran.planned);
    format!("{:.2} (planned {money:.2})", ran.money.total)
}

/// Less than this part of a plan is not late.
const VISIBLE: f64 = 1e-3;

/// Number of tasks that ended later than planned, and the largest delay.
fn lateness(problem: &Problem<'_>, planned: &Schedule, real: &Schedule) -> String {
    let visible = VISIBLE * planned.makespan();
    let mut late = 0;
    let mut most = 0.0f64;
    for task in problem.workflow().tasks() {
        if let (Some(plan), Some(real)) = (planned.placement(task), real.placement(task))
            && real.finish - plan.finish > visible
        {
            late += 1;
            most = most.max(real.finish - plan.finish);
        }
    }
    match late {
        0 => "none".to_string(),
        _ => format!("{late} of {}, by {} at most", problem.tasks(), fmt_seconds(most)),
    }
}

/// The busiest hosts and links over time, as lines of blocks.
fn usage(problem: &Problem<'_>, ran: &Ran, width: usize) -> String {
    let platform = problem.platform();
    let usage = Usage::of(platform, &ran.outcome.trace, STEPS);
    let hosts = platform.hosts().iter().map(|h| h.name.to_string()).zip(&usage.hosts);
    let links = platform.links().iter().map(|l| l.name.to_string()).zip(&usage.links);
    let mut text = String::new();
    for (what, rows) in [("hosts", hosts.collect::<Vec<_>>()), ("links", links.collect())] {
        let mut rows: Vec<(String, &Vec<f64>, f64)> = rows
            .into_iter()
            .map(|(name, steps)| (name, steps, steps.iter().sum::<f64>() / STEPS as f64))
            .filter(|(_, _, mean)| *mean > 0.0)
            .collect();
        rows.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
        if rows.is_empty() {
            continue;
        }
        let mut table = Table::new(&[&format!("<busiest {what}"), ">mean", "<over time"]);
        for (name, steps, mean) in rows.into_iter().take(SHOWN) {
            table.row([cut(&name, 24), format!("{:.0} %", mean * 100.0), blocks(steps)]);
        }
        text += "\n";
        text += &table.render(width);
    }
    text
}

/// Levels as a line of block characters, the highest of them full.
pub fn blocks(steps: &[f64]) -> String {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    steps.iter().map(|s| LEVELS[(s.clamp(0.0, 1.0) * 8.0).round() as usize]).collect()
}

const HEADINGS: [&str; 8] =
    ["<policy", ">makespan", ">NSL", ">moved", ">redone", ">lost", ">data", ">down"];

const EXPLANATION: &str = "
  NSL: makespan over the mean run times on the critical path; moved: tasks that
  migrated; redone: finished tasks that were computed again; lost:
  computing without use; down: hosts that were lost.
";

/// Several policies, the shortest run first, those that cannot finish last.
pub fn compare(
    problem: &Problem<'_>,
    runs: &[Ran],
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let (workflow, platform) = (problem.workflow().name(), problem.platform().name());
    let headline =
        format!("{workflow} on {platform}, {} policies under the same scenario", runs.len());
    output.say(&format!("{}\n\n", output.bold(&headline)))?;
    let mut table = Table::new(&HEADINGS);
    let mut sorted: Vec<&Ran> = runs.iter().collect();
    let key = |ran: &Ran| (ran.unfinished().is_some(), ran.outcome.makespan);
    sorted.sort_by(|a, b| {
        let ((stuck_a, length_a), (stuck_b, length_b)) = (key(a), key(b));
        stuck_a.cmp(&stuck_b).then(length_a.total_cmp(&length_b))
    });
    for ran in &sorted {
        let c = &ran.outcome.counters;
        let (makespan, nsl) = match ran.unfinished() {
            None => (fmt_seconds(ran.outcome.makespan), format!("{:.2}", ran.metrics.nsl)),
            Some(_) => ("unfinished".to_string(), "-".to_string()),
        };
        table.row([
            ran.name.clone(),
            makespan,
            nsl,
            c.migrations.to_string(),
            c.rewound.to_string(),
            fmt_seconds(c.lost_seconds),
            fmt_bytes(c.bytes_moved),
            c.hosts_lost.to_string(),
        ]);
    }
    output.say(&table.render(output.style().width))?;
    output.say(EXPLANATION)?;
    if runs.iter().all(|r| r.beside.is_some()) {
        output.say("\n")?;
        output.say(&several::compare(runs, output.style().width))?;
    }
    for ran in sorted {
        if let Some(why) = ran.unfinished() {
            let text = format!("{} cannot finish: {why}", ran.name);
            output.say(&format!("\n{}", wrap(&text, 2, output.style().width)))?;
        }
    }
    Ok(())
}
