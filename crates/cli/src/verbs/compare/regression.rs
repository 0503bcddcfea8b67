//! `slackline compare OLD NEW --no-regression`.

use super::{Compare, Require, read, share};
use crate::failure::Failure;
use crate::output::Output;
use slackline_analysis::statistics::Sense;
use slackline_lab::compare::{Change, Family, Limits, Regression, Verdict, no_regression};
use slackline_report::table::{Table, count};
use std::collections::HashMap;

impl Compare {
    pub(super) fn regression(&self, output: &mut Output) -> Result<(), Failure> {
        let [old, new] = self.files.as_slice() else {
            let message = "--no-regression compares two files: the old results and the new ones";
            return Err(Failure::input(message));
        };
        for (option, given) in [
            ("--by", !self.by.is_empty()),
            ("--against", self.against.is_some()),
            ("--unit", !self.unit.is_empty()),
        ] {
            if given {
                return Err(Failure::input(format!("{option} does not apply to --no-regression")));
            }
        }
        let family = Family {
            metrics: self.metric.clone(),
            method: self.method.clone(),
            ignore: self.ignore.clone(),
            better: self.better.map(Sense::from),
            limits: self.limits()?,
        };
        let (before, after) = (read(old, output)?, read(new, output)?);
        let found = no_regression(&before, &after, &family).map_err(|e| e.in_file(new))?;
        if self.json {
            output.json(&found)?;
        } else {
            tell(&found, output)?;
        }
        let required = self.require == Some(Require::Held);
        match found.verdict {
            Verdict::Loss => Err(Failure::work("the new results are worse than the old ones")),
            Verdict::Open if required => {
                Err(Failure::work("the runs do not show that nothing became worse")
                    .with_help("more runs make the intervals narrower"))
            }
            _ => Ok(()),
        }
    }

    fn limits(&self) -> Result<HashMap<String, Limits>, Failure> {
        let mut limits: HashMap<String, Limits> = HashMap::new();
        let given = self.tolerance.iter().map(|text| ("--tolerance", text));
        for (option, text) in given.chain(self.gain.iter().map(|text| ("--gain", text))) {
            let wrong = |why: &str| {
                Failure::input(format!("{option} {text}: {why}"))
                    .with_help("write for example cost=2%")
            };
            let (name, value) = text.split_once('=').ok_or_else(|| wrong("no metric is named"))?;
            let value = share(value).map_err(|why| wrong(&why))?;
            let limit = limits.entry(name.trim().to_string()).or_default();
            let place = if option == "--gain" { &mut limit.gain } else { &mut limit.tolerance };
            *place = value;
        }
        Ok(limits)
    }
}

fn tell(found: &Regression, output: &mut Output) -> Result<(), Failure> {
    let headline = format!("{} in both", count(found.runs, "run"));
    output.say(&format!("{}\n\n", output.bold(&headline)))?;
    let has_tolerance = found.metrics.iter().any(|metric| metric.tolerance > 0.0);
    let mut head = vec!["<metric", ">old", ">new", ">change", "<95 % interval"];
    head.extend(has_tolerance.then_some(">tolerated"));
    head.push("<verdict");
    let mut table = Table::new(&head);
    for metric in &found.metrics {
        let number = |value: Option<f64>| {
            value.map_or("-".to_string(), slackline_report::compare::text::number)
        };
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
            let tolerated = slackline_report::compare::text::number(metric.tolerance * 100.0);
            row.push(format!("{tolerated} %"));
        }
        row.push(metric.verdict.name().to_string());
        table.row(row);
    }
    output.say(&table.render(output.width))?;
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
    output.say(&slackline_report::table::wrap(&words(found), 2, output.width))
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
