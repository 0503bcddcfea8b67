//! Whether a policy or a machine should replace the present one.

use crate::Printer;
use crate::compare::html::{STYLE, escaped, picture};
use crate::table::{Table, count};
use serde::Serialize;
use slackline_analysis::statistics::wilson;
use slackline_centre::batch::{Machine, Site};
use slackline_core::Failure;
use slackline_core::schema::names;
use slackline_lab::adopt::{Adoption, FALSE_GAIN_RATE, Question, Side, Trials, Workload};
use slackline_lab::compare::{Change, Verdict};
use slackline_model::units::fmt_seconds;
use slackline_view::plot;
use slackline_view::plot::BoxPlot;
use std::fmt::Write;

/// The answer for machines.
#[derive(Serialize)]
pub struct AdoptionDocument<'a> {
    schema: &'static str,
    baseline: String,
    candidate: String,
    workload: String,
    replicas: usize,
    metrics: &'a [Change],
    verdict: Verdict,
    gains: &'a [String],
    adopt: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    trials: Option<TrialsLine>,
}

#[derive(Serialize)]
struct TrialsLine {
    trials: usize,
    gains: usize,
    losses: usize,
    low: f64,
    high: f64,
}

/// Names of the two sides on the page and in the report.
pub struct Words {
    baseline: String,
    candidate: String,
    workload: String,
}

/// Cores or nodes of a site.
pub fn machine(site: &Site) -> String {
    match site.machine {
        Machine::Cores(cores) => count(cores as usize, "core"),
        Machine::Nodes { nodes, cores_per_node } => {
            format!(
                "{} of {}",
                count(nodes as usize, "node"),
                count(cores_per_node as usize, "core")
            )
        }
    }
}

/// Names of the sides and of their workload; the `load` is a part of the machine, a `block` some days.
pub fn words(question: &Question<'_>, load: f64, block: f64) -> Words {
    let side = |side: &Side| {
        let faster = if side.speed == 1.0 {
            String::new()
        } else {
            format!(", {} times as fast", side.speed)
        };
        format!("{} on {}{faster}", side.policy.name(), machine(&side.site))
    };
    let same =
        if question.independent { "each side its own draws" } else { "both sides the same draws" };
    let workload = match &question.workload {
        Workload::Generated(lublin) => format!(
            "{} replicas of {} from the generator of Lublin and Feitelson at load {}, seed {}, {same}",
            question.replicas,
            count(lublin.jobs as usize, "job"),
            load,
            question.seed
        ),
        Workload::Log { log, .. } => format!(
            "{} replicas of a log of {}, made of blocks of {} days drawn with replacement, seed {}, {same}",
            question.replicas,
            count(log.jobs.len(), "job"),
            block,
            question.seed
        ),
    };
    Words { baseline: side(&question.baseline), candidate: side(&question.candidate), workload }
}

/// Makes the document of an answer.
pub fn document(words: Words, answer: &Adoption, trials: Option<Trials>) -> AdoptionDocument<'_> {
    AdoptionDocument {
        schema: names::CENTRE_ADOPT,
        baseline: words.baseline,
        candidate: words.candidate,
        workload: words.workload,
        replicas: answer.replicas.len(),
        metrics: &answer.regression.metrics,
        verdict: answer.regression.verdict,
        gains: &answer.gains,
        adopt: answer.is_adopted,
        trials: trials.map(line),
    }
}

fn line(trials: Trials) -> TrialsLine {
    let interval = wilson(trials.adopted, trials.trials);
    TrialsLine {
        trials: trials.trials,
        gains: trials.adopted,
        losses: trials.losses,
        low: interval.low,
        high: interval.high,
    }
}

/// The metrics as people call them.
fn plain(metric: &str) -> &str {
    match metric {
        "waiting_time" => "mean wait",
        "waiting_p95" => "wait of the slowest 5 %",
        "bounded_slowdown" => "bounded slowdown",
        "turnaround" => "time from submission to end",
        "utilisation" => "part of the machine that is used",
        "refused" => "refused jobs",
        "energy" => "energy",
        "pledge_deviation" => "deviation from the pledges",
        other => other,
    }
}

fn value(metric: &str, value: Option<f64>) -> String {
    let Some(value) = value else { return "-".into() };
    match metric {
        "waiting_time" | "waiting_p95" | "turnaround" => fmt_seconds(value),
        "utilisation" => format!("{:.1} %", 100.0 * value),
        "energy" => format!("{:.1} kWh", value / 3.6e6),
        _ => format!("{value:.3}"),
    }
}

fn shown(change: &Change, value: Option<f64>) -> String {
    match (value, change.kind) {
        (None, _) => "unknown".into(),
        (Some(value), "ratio") => format!("{:+.1} %", (value - 1.0) * 100.0),
        (Some(value), _) => format!("{value:+.3}"),
    }
}

/// Verdict of a metric.
pub fn verdict(change: &Change, gains: &[String]) -> &'static str {
    match change.verdict {
        Verdict::Loss => "worse",
        Verdict::Open => "not decided",
        _ if gains.contains(&change.metric) => "better",
        Verdict::Gain | Verdict::Held => "not worse",
    }
}

/// The answer in a sentence.
fn answer_in_words(answer: &Adoption) -> String {
    let names = |list: Vec<&str>| list.into_iter().map(plain).collect::<Vec<_>>().join(", ");
    let of = |verdict: Verdict| {
        let some = answer.regression.metrics.iter().filter(move |c| c.verdict == verdict);
        some.map(|change| change.metric.as_str()).collect::<Vec<_>>()
    };
    let gains = names(answer.gains.iter().map(String::as_str).collect());
    if answer.regression.verdict == Verdict::Loss {
        return format!("No: it makes this worse: {}.", names(of(Verdict::Loss)));
    }
    let open = of(Verdict::Open);
    match (open.is_empty(), answer.gains.is_empty()) {
        (true, false) => format!("Yes: nothing gets worse, and this gets better: {gains}."),
        (true, true) => {
            "It makes no difference that was found: nothing gets worse, nothing better.".into()
        }
        (false, false) => format!(
            "Not decided: this gets better: {gains}; but it is not excluded that this gets worse: {}.",
            names(open)
        ),
        (false, true) => format!("Not decided: more replicas are needed for: {}.", names(open)),
    }
}

fn trials_in_words(trials: Trials) -> String {
    let interval = wilson(trials.adopted, trials.trials);
    format!(
        "In {} of {} repetitions with other seeds a gain was found: {:.1} % (95 % interval after Wilson {:.1} to {:.1} %). Between \
         equals a gain is found in at most {:.1} % of repetitions.",
        trials.adopted,
        trials.trials,
        100.0 * trials.adopted as f64 / trials.trials as f64,
        100.0 * interval.low,
        100.0 * interval.high,
        100.0 * FALSE_GAIN_RATE
    )
}

/// Prints an answer: a table of metrics, and the answer in a sentence.
pub fn text(
    words: &Words,
    answer: &Adoption,
    trials: Option<Trials>,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    output.say(&format!("baseline   {}\ncandidate  {}\n", words.baseline, words.candidate))?;
    output.say(&format!("{}\n\n", words.workload))?;
    let mut table = Table::new(&[
        "<metric",
        ">baseline",
        ">candidate",
        ">change",
        "<95 % interval",
        "<verdict",
    ]);
    for change in &answer.regression.metrics {
        table.row([
            change.metric.clone(),
            value(&change.metric, change.old),
            value(&change.metric, change.new),
            shown(change, change.change),
            format!("{} to {}", shown(change, change.low), shown(change, change.high)),
            verdict(change, &answer.gains).to_string(),
        ]);
    }
    let text = table.render(output.style().width);
    output.text(&text)?;
    if let Some(trials) = trials {
        output.say(&format!("{}\n", trials_in_words(trials)))?;
    }
    let bold = output.bold(&answer_in_words(answer));
    output.say(&format!("\n{bold}\n"))
}

/// A page that an operator can read, with nothing outside of it.
pub fn page(
    words: &Words,
    question: &Question<'_>,
    answer: &Adoption,
    trials: Option<Trials>,
) -> String {
    let mut out = String::new();
    let title = format!("{} instead of {}?", words.candidate, words.baseline);
    let name = escaped(&title);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"icon\" href=\"data:,\"><title>{name}</title><style>{STYLE}</style></head><body>\n<h1>{name}</h1>\n"
    );
    let _ = writeln!(out, "<p class=\"lead\"><b>{}</b></p>", escaped(&answer_in_words(answer)));
    out.push_str(
        "<div class=\"wide\"><table><tr><th>What the site reports</th><th>today</th><th>with the candidate</th><th>change</th>\
         <th>95 % interval</th><th>tolerated loss</th><th class=\"l\">verdict</th></tr>\n",
    );
    for change in &answer.regression.metrics {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{} to {}</td><td>{} %</td><td class=\"l\">{}</td></tr>",
            escaped(plain(&change.metric)),
            value(&change.metric, change.old),
            value(&change.metric, change.new),
            shown(change, change.change),
            shown(change, change.low),
            shown(change, change.high),
            100.0 * change.tolerance,
            verdict(change, &answer.gains)
        );
    }
    out.push_str("</table></div>\n<h2>Replica by replica</h2>\n");
    let names = ["today", "candidate"];
    for (k, metric) in answer.metrics.iter().enumerate().take(4) {
        let boxes: Vec<BoxPlot> = (0..2)
            .map(|side| BoxPlot {
                name: names[side].to_string(),
                values: answer.replicas.iter().map(|values| values[side][k]).collect(),
            })
            .collect();
        let unit = if matches!(k, 0 | 1 | 3) { "seconds" } else { "" };
        let label = format!("{} {unit}", plain(metric));
        picture(&mut out, &plot::boxes(plain(metric), label.trim(), &boxes), plain(metric));
    }
    out.push_str("<h2>How to read this</h2>\n<ul>\n");
    let mut item = |text: &str| {
        let _ = writeln!(out, "<li>{}</li>", escaped(text));
    };
    item(
        "A change of +10 % of a time means that it gets longer. The interval is where the true mean change is with 95 % \
         certainty, as far as the workload is like the one tried.",
    );
    item(
        "Not worse: even the bad end of the interval is within the tolerated loss. Worse: even the good end is beyond it. Not \
         decided: the interval holds both; more replicas make it narrower.",
    );
    item(
        "Better: the whole interval, widened because several metrics are looked at, is on the good side. Between equals this is \
         found in at most 2.5 % of comparisons.",
    );
    if let Some(trials) = trials {
        item(&trials_in_words(trials));
    }
    out.push_str("</ul>\n<h2>What this rests on</h2>\n<ul>\n");
    let mut item = |text: &str| {
        let _ = writeln!(out, "<li>{}</li>", escaped(text));
    };
    item(&format!("Workload: {}.", words.workload));
    if let Workload::Log { .. } = question.workload {
        item(
            "Weeks of one log share their backlog and are not independent, so blocks are drawn with replacement; order and backlog \
             between blocks are those of the draw, not of the log.",
        );
    } else {
        item(
            "The generator is a model of logs of parallel machines; try the log of the site itself, too.",
        );
    }
    item(
        "Simulated: the batch system with its queue, policy and limits. Injected: submissions, run times and requested times of \
         jobs. Left out: failures, dependencies, users who react to waits, time to start a job.",
    );
    item(&format!("slackline {}", env!("CARGO_PKG_VERSION")));
    out.push_str("</ul>\n</body></html>\n");
    out
}
