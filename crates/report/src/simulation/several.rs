//! Text reports on several workflows that shared a platform.

use super::text::blocks;
use crate::table::{Table, count, cut};
use slackline_analysis::load_series::{LoadSeries, Loads};
use slackline_analysis::workflow_metrics::{Served, Totals};
use slackline_core::simulation::Ran;
use slackline_model::Problem;
use slackline_model::units::fmt_seconds;
use slackline_react::Arrived;

/// Workflows that are shown one by one; of more, the slowest ones.
const SHOWN: usize = 24;

/// Steps of the lines over time.
const STEPS: usize = 32;

/// Each workflow, each owner, and all together.
pub fn tables(problem: &Problem<'_>, ran: &Ran, width: usize) -> String {
    let mut text = each(ran, width);
    let owners = ran.by_owner();
    if owners.len() > 1 {
        let mut table = Table::new(&["<owner", ">workflows", ">mean time", ">TTR", ">kept"]);
        for (owner, served) in owners {
            let totals = Totals::of(served.iter().copied());
            let name = if owner.is_empty() { "(nobody)" } else { owner };
            table.row([
                cut(name, 24),
                served.len().to_string(),
                maybe(totals.mean_turnaround, fmt_seconds),
                maybe(totals.mean_ttr, two_digits),
                format!("{:.0} %", totals.success_rate),
            ]);
        }
        text += "\n";
        text += &table.render(width);
    }
    text += "\n";
    text += &together(ran, width);
    text += "\n";
    text += &over_time(problem, ran, width);
    text
}

fn maybe(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_string(), show)
}

fn two_digits(value: f64) -> String {
    format!("{value:.2}")
}

/// When each workflow came and went, and what it was worth.
fn each(ran: &Ran, width: usize) -> String {
    let priced = ran.served.iter().any(|s| s.cost > 0.0);
    let alone = ran.served.iter().any(|s| s.stretch.is_some());
    let limited = ran
        .outcome
        .arrived
        .iter()
        .any(|a| a.terms.limits.budget.is_some() || a.terms.limits.deadline.is_some());
    // All of it is more than a terminal holds.
    let more = [alone, priced, limited].into_iter().filter(|&m| m).count();
    let (began, ttr) = (more == 0, more < 3);
    let name_width = if more < 2 { 18 } else { 14 };
    let mut headings = vec!["<workflow", ">arrived"];
    headings.extend(began.then_some(">began"));
    headings.extend([">finished", ">took"]);
    headings.extend(ttr.then_some(">TTR"));
    headings.extend(alone.then_some(">stretch"));
    headings.extend(priced.then_some(">cost"));
    headings.extend(limited.then_some("<kept"));
    let mut table = Table::new(&headings);
    let mut rows: Vec<(&Arrived, &Served)> = ran.outcome.arrived.iter().zip(&ran.served).collect();
    let left_out = rows.len().saturating_sub(SHOWN);
    if left_out > 0 {
        let slow = |s: &Served| s.turnaround.unwrap_or(f64::INFINITY);
        rows.sort_by(|a, b| slow(b.1).total_cmp(&slow(a.1)).then(a.0.at.total_cmp(&b.0.at)));
        rows.truncate(SHOWN);
    }
    for (arrived, served) in rows {
        let end = match (&arrived.abandoned, served.finish) {
            (_, Some(finish)) => fmt_seconds(finish),
            (Some(_), None) => "given up".to_string(),
            (None, None) => "unfinished".to_string(),
        };
        let mut row = vec![cut(&arrived.name, name_width), fmt_seconds(arrived.at)];
        row.extend(began.then(|| maybe(served.start, fmt_seconds)));
        row.extend([end, maybe(served.turnaround, fmt_seconds)]);
        row.extend(ttr.then(|| maybe(served.ttr, two_digits)));
        row.extend(alone.then(|| maybe(served.stretch, two_digits)));
        row.extend(priced.then(|| format!("{:.4}", served.cost)));
        row.extend(limited.then(|| (if served.success { "yes" } else { "no" }).to_string()));
        table.row(row);
    }
    let mut text = table.render(width);
    if left_out > 0 {
        text += &format!("  the slowest {SHOWN}; {} more\n", count(left_out, "workflow"));
    }
    text
}

/// All workflows together.
fn together(ran: &Ran, width: usize) -> String {
    let totals = Totals::of(ran.served.iter());
    let mut table = Table::new(&["<", "<"]);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("mean time", format!("{} from arrival to end", maybe(totals.mean_turnaround, fmt_seconds)));
    row("mean makespan", maybe(totals.mean_makespan, fmt_seconds));
    row(
        "mean TTR",
        format!(
            "{} (over the least times on the critical path)",
            maybe(totals.mean_ttr, two_digits)
        ),
    );
    if totals.mean_stretch.is_some() {
        let (mean, most) =
            (maybe(totals.mean_stretch, two_digits), maybe(totals.max_stretch, two_digits));
        row("stretch", format!("{mean} on average, {most} at most"));
        row("unfairness", maybe(totals.unfairness, two_digits));
    }
    if totals.spent > 0.0 {
        let (good, all) = (totals.total_cost, totals.spent);
        row("cost", format!("{good:.4} for workflows within their limits, {all:.4} in all"));
    }
    row("kept", format!("{:.0} % of the workflows ended within their limits", totals.success_rate));
    table.render(width)
}

/// The courses of a run, with their names.
pub fn courses(problem: &Problem<'_>, ran: &Ran) -> [(&'static str, LoadSeries); 3] {
    let Loads { waiting, running, idle } = Loads::of(problem, &ran.outcome, &ran.served);
    [("workflows waiting", waiting), ("workflows running", running), ("processors idle", idle)]
}

/// Waiting and running workflows and idle processors over time.
fn over_time(problem: &Problem<'_>, ran: &Ran, width: usize) -> String {
    let end = ran.outcome.makespan;
    if end <= 0.0 {
        return String::new();
    }
    let mut table = Table::new(&["<", ">mean", ">most", "<over time"]);
    for (name, course) in courses(problem, ran) {
        let (levels, most) = (course.means(end, STEPS), course.most(end));
        let mean = levels.iter().sum::<f64>() / STEPS as f64;
        let scaled: Vec<f64> = levels.iter().map(|l| l / most.max(1e-300)).collect();
        table.row([name.to_string(), format!("{mean:.1}"), format!("{most:.0}"), blocks(&scaled)]);
    }
    table.render(width)
}

const EXPLANATION: &str = "
  time: from arrival to end, mean; NTT: least time of all policies over its own,
  mean; wins: workflows it serves first; gain: how much less than the longest time.
";

/// Several policies over the same workflows, the one with the shortest mean time first.
pub fn compare(runs: &[Ran], width: usize) -> String {
    let headings = [
        "<policy", ">time", ">TTR", ">NTT", ">wins", ">gain", ">overall", ">kept", ">cost",
        ">profit",
    ];
    let mut table = Table::new(&headings);
    let mut sorted: Vec<(&Ran, Totals)> =
        runs.iter().map(|r| (r, Totals::of(r.served.iter()))).collect();
    let key = |t: &Totals| t.mean_turnaround.unwrap_or(f64::INFINITY);
    sorted.sort_by(|a, b| key(&a.1).total_cmp(&key(&b.1)));
    let mean = |values: &[Option<f64>]| {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    for (ran, totals) in sorted {
        let Some(beside) = &ran.beside else { continue };
        table.row([
            ran.name.clone(),
            maybe(totals.mean_turnaround, fmt_seconds),
            maybe(totals.mean_ttr, two_digits),
            maybe(mean(&beside.ntt), two_digits),
            format!("{:.0} %", beside.wins),
            maybe(mean(&beside.tt_imp), two_digits),
            fmt_seconds(totals.overall_makespan),
            format!("{:.0} %", totals.success_rate),
            format!("{:.4}", totals.spent),
            maybe(beside.profit, two_digits),
        ]);
    }
    table.render(width) + EXPLANATION
}
