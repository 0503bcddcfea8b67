//! A replayed MPI code: figures, tables, and a picture of what ranks did.

use crate::Printer;
use crate::table::Table;
use serde::Serialize;
use slackline_core::{Failure, schema};
use slackline_formats::FileAccess;
use slackline_model::names::Names;
use slackline_mpi::Replayed;
use slackline_mpi::action::Activity;
use slackline_mpi::timeline::{Span, Timeline};
use slackline_view::gantt::SvgOptions;
use slackline_view::{Bar, Category, Chart, Group, Look, gantt};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Serialize)]
struct ReplayDocument<'a> {
    schema: &'static str,
    makespan: f64,
    ends: &'a [f64],
    actions: u64,
    wall_seconds: f64,
    cpu_seconds: f64,
    rss_mib: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dates: Option<&'a [Vec<f64>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Vec<BTreeMap<&'static str, f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collectives: Option<Vec<Choice>>,
}

/// A choice among the algorithms of a collective.
#[derive(Serialize)]
struct Choice {
    collective: &'static str,
    ranks: usize,
    bytes: u64,
    algorithm: &'static str,
    by: &'static str,
    calls: u64,
}

/// Prints a replay: makespan, dates, profile and collectives.
pub fn text(
    with_profile: bool,
    outcome: &Replayed,
    wall: f64,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    output.text(&format!("makespan {} s\n", outcome.makespan))?;
    let (ranks, actions) = (outcome.ends.len(), outcome.actions);
    let rate = actions as f64 / wall.max(1e-9);
    output.say(&format!("{ranks} ranks, {actions} actions, {rate:.0} per second\n"))?;
    for (rank, dates) in outcome.dates.iter().flatten().enumerate() {
        for date in dates {
            output.text(&format!("{rank} {date}\n"))?;
        }
    }
    if with_profile {
        let used: Vec<Activity> = Activity::all()
            .filter(|a| outcome.times.iter().any(|times| times[a.index()] > 0.0))
            .collect();
        let names: Vec<String> = used.iter().map(|a| format!(">{}", a.name())).collect();
        let heads: Vec<&str> =
            std::iter::once(">rank").chain(names.iter().map(String::as_str)).collect();
        let mut table = Table::new(&heads);
        for (rank, times) in outcome.times.iter().enumerate() {
            let spent = used.iter().map(|a| format!("{:.6}", times[a.index()]));
            table.row(std::iter::once(rank.to_string()).chain(spent));
        }
        output.text(&format!("\n{}", table.render(output.style().width)))?;
    }
    if let Some(choices) = choices(outcome) {
        let heads = ["collective", ">ranks", ">bytes", "algorithm", "by", ">calls"];
        let mut table = Table::new(&heads);
        for c in choices {
            table.row([
                c.collective.to_owned(),
                c.ranks.to_string(),
                c.bytes.to_string(),
                c.algorithm.to_owned(),
                c.by.to_owned(),
                c.calls.to_string(),
            ]);
        }
        output.text(&format!("\n{}", table.render(output.style().width)))?;
    }
    Ok(())
}

/// Prints the document of a replay; `wall` seconds, `usage` in CPU seconds and MiB.
pub fn document(
    with_profile: bool,
    outcome: &Replayed,
    wall: f64,
    usage: (f64, f64),
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let profile = |times: &[f64; Activity::COUNT]| {
        let spent = Activity::all().map(|a| (a.name(), times[a.index()]));
        spent.filter(|(_, seconds)| *seconds > 0.0).collect::<BTreeMap<_, _>>()
    };
    output.json(&ReplayDocument {
        schema: schema::names::REPLAY,
        makespan: outcome.makespan,
        ends: &outcome.ends,
        actions: outcome.actions,
        wall_seconds: wall,
        cpu_seconds: usage.0,
        rss_mib: usage.1,
        dates: outcome.dates.as_deref(),
        profile: with_profile.then(|| outcome.times.iter().map(profile).collect()),
        collectives: choices(outcome),
    })
}

/// Writes a timeline in the format its name says.
pub fn write_timeline(
    files: &FileAccess,
    path: &Path,
    timeline: &Timeline,
    outcome: &Replayed,
) -> Result<(), Failure> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match extension.as_str() {
        "json" => files.write(path, |out| timeline.write_chrome(out))?,
        "paje" | "trace" => files.write(path, |out| timeline.write_paje(out))?,
        "svg" | "png" => {
            let svg = gantt::svg(&chart(timeline, outcome), &SvgOptions::default());
            crate::picture::write(files, path, &svg)?;
        }
        _ => {
            return Err(Failure::input(format!("{}: no format of this name", path.display()))
                .with_help("take .json, .paje, .svg or .png"));
        }
    }
    Ok(())
}

/// A row per rank, a colour per kind of action.
pub fn chart(timeline: &Timeline, outcome: &Replayed) -> Chart {
    let used: Vec<Activity> = Activity::all()
        .filter(|a| outcome.times.iter().any(|times| times[a.index()] > 0.0))
        .collect();
    let mut labels = Names::default();
    let mut categories = Vec::new();
    for &activity in &used {
        labels.push(activity.name());
        let count = timeline.spans.iter().filter(|span| span.activity == activity).count();
        categories.push(Category { name: activity.name().to_owned(), count, rest: false });
    }
    let group =
        |rank: usize| Group { name: format!("rank {rank}"), section: String::new(), rows: 1 };
    let bar = |span: &Span| {
        let category = used.iter().position(|a| *a == span.activity)?;
        Some(Bar {
            rows: span.rank..span.rank + 1,
            start: span.start,
            finish: span.end,
            category: category as u16,
            look: Look::Work,
            label: category as u32,
        })
    };
    Chart {
        title: "MPI replay".to_owned(),
        facts: vec![
            format!("{} ranks", outcome.ends.len()),
            format!("{} actions", outcome.actions),
        ],
        groups: (0..outcome.ends.len()).map(group).collect(),
        categories,
        bars: timeline.spans.iter().filter_map(bar).collect(),
        labels,
        span: 0.0..outcome.makespan,
        ..Chart::default()
    }
}

fn choices(outcome: &Replayed) -> Option<Vec<Choice>> {
    let explained = outcome.explained.as_ref()?;
    let choice = |(e, calls): &(slackline_mpi::Explained, u64)| Choice {
        collective: e.kind.name(),
        ranks: e.ranks,
        bytes: e.bytes,
        algorithm: e.algorithm,
        by: e.by,
        calls: *calls,
    };
    Some(explained.iter().map(choice).collect())
}
