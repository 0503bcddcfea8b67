//! A tape library under scheduling policies.

use super::Number;
use crate::Printer;
use crate::table::{Table, count};
use serde::Serialize;
use slackline_centre::tape;
use slackline_centre::tape::{Activity, Case, Metrics, Outcome};
use slackline_core::Failure;
use slackline_core::schema::names;
use slackline_model::names::Names;
use slackline_model::units::fmt_seconds;
use slackline_view::{Bar, Category, Chart, Group, Look};
use std::collections::BTreeMap;

/// Results of policies on one case.
#[derive(Serialize)]
pub struct TapeDocument {
    schema: &'static str,
    results: BTreeMap<&'static str, Results>,
}

#[derive(Serialize)]
struct Results {
    start: BTreeMap<String, Number>,
    done: BTreeMap<String, Number>,
    hits: Vec<String>,
    joined: BTreeMap<String, String>,
    mounts: Vec<(Number, usize, String)>,
    metrics: Metrics,
}

/// Prints a table of policies.
pub fn text(case: &Case, outcomes: &[Outcome], output: &mut dyn Printer) -> Result<(), Failure> {
    let (requests, drives) = (case.requests.len(), case.library.drives);
    output.say(&format!("{}, {}\n", count(requests, "request"), count(drives, "drive")))?;
    let mut table = Table::new(&[
        "<policy",
        ">mounts",
        ">per file",
        ">hits",
        ">joined",
        ">wait",
        ">p95",
        ">response",
        ">drives used",
    ])
    .sparing(&["joined", "hits"]);
    let seconds = |value: Option<f64>| value.map_or_else(|| "-".to_string(), fmt_seconds);
    for outcome in outcomes {
        let m = tape::measure(case, outcome);
        table.row([
            outcome.policy.name().to_string(),
            m.mounts.to_string(),
            m.mounts_per_file.map_or_else(|| "-".into(), |n| format!("{n:.3}")),
            m.hits.to_string(),
            m.joined.to_string(),
            seconds(m.wait.mean),
            seconds(m.wait.p95),
            seconds(m.response.mean),
            m.drive_use.map_or_else(|| "-".into(), |part| format!("{:.1} %", 100.0 * part)),
        ]);
    }
    let text = table.render(output.style().width);
    output.text(&text)
}

/// Makes the document of outcomes, one per policy.
pub fn document(case: &Case, outcomes: &[Outcome]) -> TapeDocument {
    let results = outcomes.iter().map(|o| (o.policy.name(), results(case, o))).collect();
    TapeDocument { schema: names::CENTRE_TAPE, results }
}

fn results(case: &Case, outcome: &Outcome) -> Results {
    let id = |request: usize| case.requests[request].id.clone();
    let dates =
        |dates: &[f64]| dates.iter().enumerate().map(|(k, date)| (id(k), Number(*date))).collect();
    let mount = |mount: &tape::Mount| (Number(mount.date), mount.drive, mount.tape.clone());
    Results {
        start: dates(&outcome.starts),
        done: dates(&outcome.done),
        hits: outcome.hits.iter().map(|&k| id(k)).collect(),
        joined: outcome.joined.iter().map(|(&k, &other)| (id(k), id(other))).collect(),
        mounts: outcome.mounts.iter().map(mount).collect(),
        metrics: tape::measure(case, outcome),
    }
}

/// A row per drive, a colour per activity.
pub fn chart(case: &Case, outcome: &Outcome) -> Chart {
    let kinds = [
        (Activity::Mount, "mounting"),
        (Activity::Wind, "winding"),
        (Activity::Read, "reading"),
        (Activity::Unmount, "unmounting"),
    ];
    let mut labels = Names::default();
    let mut bars = Vec::new();
    for busy in &outcome.busy {
        let category = kinds.iter().position(|(kind, _)| *kind == busy.activity).unwrap_or(0);
        let file = busy.request.filter(|_| busy.activity == Activity::Read);
        let name = file.map_or(busy.tape.as_str(), |request| &case.requests[request].file);
        let label = labels.len() as u32;
        labels.push(name);
        bars.push(Bar {
            rows: busy.drive as u32..busy.drive as u32 + 1,
            start: busy.start,
            finish: busy.end,
            category: category as u16,
            look: Look::Work,
            label,
        });
    }
    let category = |(kind, name): (Activity, &str)| Category {
        name: name.to_owned(),
        count: outcome.busy.iter().filter(|busy| busy.activity == kind).count(),
        rest: false,
    };
    let group =
        |drive: usize| Group { name: format!("drive {drive}"), section: String::new(), rows: 1 };
    let metrics = tape::measure(case, outcome);
    Chart {
        title: format!("Tape drives under {}", outcome.policy.name()),
        facts: vec![
            count(metrics.requests, "request"),
            count(metrics.mounts, "mount"),
            format!("drives used {:.0} %", 100.0 * metrics.drive_use.unwrap_or(0.0)),
        ],
        groups: (0..case.library.drives).map(group).collect(),
        categories: kinds.map(category).into(),
        bars,
        labels,
        span: 0.0..outcome.end,
        ..Chart::default()
    }
}
