//! New results against old ones.

use crate::Printer;
use crate::table::{Table, count};
use slackline_core::Failure;
use slackline_lab::compare::{Change, Regression, Verdict};

/// Prints verdicts, metric by metric.
pub fn tell(found: &Regression, output: &mut dyn Printer) -> Result<(), Failure> {
    let headline = format!("{} in both", count(found.runs, "run"));
    output.say(&format!("{}\n\n", output.bold(&headline)))?;
    let has_tolerance = found.metrics.iter().any(|metric| metric.tolerance > 0.0);
    let mut head = vec!["<metric", ">old", ">new", ">change", "<95 % interval"];
    head.extend(has_tolerance.then_some(">tolerated"));
    head.push("<verdict");
    let mut table = Table::new(&head);
    for metric in &found.metrics {
        let number =
            |value: Option<f64>| value.map_or("-".to_string(), crate::compare::text::number);
        let mut row = vec![
            metric.metric.clone(),
            number(metric.old),
            number(metric.new),
            metric.change.map_or("-".to_string(), |change| shown(metric, change)),
            match (metric.low, metric.high) {
                (Some(low), Some(high)) => {
                    format!("{} to {}", shown(metric, low), shown(metric, high))
                }
                _ => "unknown".to_string(),
            },
        ];
        if has_tolerance {
            let tolerated = crate::compare::text::number(metric.tolerance * 100.0);
            row.push(format!("{tolerated} %"));
        }
        row.push(metric.verdict.name().to_string());
        table.row(row);
    }
    output.say(&table.render(output.style().width))?;
    let mut notes = Vec::new();
    let mut note = |number: usize, text: &str| {
        if number > 0 {
            notes.push(format!("{} {text}", count(number, "run")));
        }
    };
    note(found.newly_failed, "finished before and failed now: that alone is a loss");
    note(found.newly_done, "failed before and finished now");
    note(found.only_old, "only in the old results");
    note(found.only_new, "only in the new results");
    for text in notes {
        output.say(&format!("\n  {text}"))?;
    }
    let verdict = match found.verdict {
        Verdict::Loss => "Loss: something became worse.",
        Verdict::Open => "Open: nothing is known to be worse, but the runs do not exclude it.",
        Verdict::Held | Verdict::Gain => "Held: nothing became worse than tolerated.",
    };
    output.say(&format!("\n{}\n", output.bold(verdict)))?;
    output.say(&crate::table::wrap(&words(found), 2, output.style().width))
}

/// The metrics of each verdict in words.
fn words(found: &Regression) -> String {
    let kinds = [
        (Verdict::Loss, "Worse"),
        (Verdict::Open, "Not decided by these runs"),
        (Verdict::Gain, "Better"),
        (Verdict::Held, "Not worse"),
    ];
    let sentences = kinds.into_iter().filter_map(|(verdict, word)| {
        let of_kind = found.metrics.iter().filter(|metric| metric.verdict == verdict);
        let names: Vec<&str> = of_kind.map(|metric| metric.metric.as_str()).collect();
        (!names.is_empty()).then(|| format!("{word}: {}.", names.join(", ")))
    });
    sentences.collect::<Vec<_>>().join(" ")
}

fn shown(metric: &Change, value: f64) -> String {
    match metric.kind {
        "ratio" => format!("{:+.2} %", (value - 1.0) * 100.0),
        _ => format!("{value:+.4}"),
    }
}
