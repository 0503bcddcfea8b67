//! Advice on what tasks should request.

pub mod config;

use crate::import::without_common;
use crate::table::{Table, count, cut, wrap};
use slackline_analysis::sizing;
use slackline_analysis::sizing::Amount;
use slackline_core::advice::{Advice, KindAdvice, Memory};
use slackline_model::units::{fmt_bytes, fmt_seconds};

/// `37 MB + 2.2 x input`.
fn amount(amount: Amount) -> String {
    let base = fmt_bytes(amount.base.abs());
    match amount.per_input {
        0.0 => base,
        slope if amount.base < 0.0 => format!("{slope:.2} x input - {base}"),
        slope => format!("{slope:.2} x input + {base}"),
    }
}

/// Hundredths, to the second decimal.
pub fn percent(part: f64) -> f64 {
    (part * 1e4).round() / 100.0
}

/// Advice as text: a table of kinds, the memory it saves, and the kinds that get none.
pub fn describe(advice: &Advice, width: usize) -> String {
    let mut text = format!(
        "What to request next time, so that the first attempt of a task fails for lack of memory with at most {} %\n\n",
        percent(advice.risk)
    );
    let heads =
        ["kind", "tasks", "peak", "request", "recorded", "fails", "retries", "cores", "time"];
    let mut table = Table::new(&heads).sparing(&["retries", "fails"]);
    let names = without_common(advice.kinds.iter().map(|kind| kind.kind.as_str()));
    let bytes = |value: Option<f64>| value.map_or("-".to_string(), fmt_bytes);
    for (kind, name) in advice.kinds.iter().zip(&names) {
        let memory = kind.memory.as_ref();
        table.row([
            cut(name, 30),
            kind.tasks.to_string(),
            bytes(kind.largest_memory),
            memory.map_or("-".to_string(), |m| amount(m.request.amount)),
            bytes(kind.recorded_memory),
            memory.map_or("-".to_string(), |m| format!("{:.1} %", 100.0 * m.request.failure)),
            memory.map_or("-".to_string(), |m| m.request.retries.to_string()),
            kind.cores.map_or("-".to_string(), |cores| cores.to_string()),
            kind.time.as_ref().map_or("-".to_string(), |time| fmt_seconds(time.limit)),
        ]);
    }
    text.push_str(&table.render(width));
    let advised = || advice.kinds.iter().filter_map(|k| k.memory.as_ref());
    if advised().next().is_some() {
        let sum = |of: &dyn Fn(&Memory) -> f64| advised().map(of).sum::<f64>();
        let own = sum(&|m| m.byte_hours);
        let beside = |what: &str, other: f64| {
            let part = 100.0 * (other - own) / other;
            let word = if part < 0.0 { "more" } else { "less" };
            format!("  {:<28} {}h, {:.0} % {word}\n", what, fmt_bytes(other), part.abs())
        };
        text.push_str(&format!(
            "\nMemory over time of these tasks: {}h; beside\n\n",
            fmt_bytes(own)
        ));
        let recorded: Option<f64> = advised().map(|m| m.recorded_byte_hours).sum();
        if let Some(recorded) = recorded.filter(|r| *r > 0.0) {
            text.push_str(&beside("the recorded requests", recorded));
        }
        let largest = sum(&|m| m.largest_byte_hours);
        text.push_str(&beside("the largest peak and 10 %", largest));
        let unsure = advised().filter(|m| m.request.confidence < sizing::CONFIDENCE).count();
        if unsure > 0 {
            let sure = advised().map(|m| m.request.confidence).fold(1.0, f64::min);
            let note = format!(
                "Of {} there are few tasks: the expected failures keep to the risk, but only {:.0} % of histories as short as the shortest lead to requests that do.\n",
                count(unsure, "kind"),
                100.0 * sure
            );
            text.push('\n');
            text.push_str(&wrap(&note, 0, width));
        }
    }
    text.push_str(&not_advised(advice, &names, width));
    text
}

/// The kinds without advice, by reason.
fn not_advised(advice: &Advice, names: &[&str], width: usize) -> String {
    let needed = sizing::needed(advice.risk);
    let list = |of: &dyn Fn(&KindAdvice) -> Option<usize>| {
        let kinds = advice.kinds.iter().zip(names);
        let told = kinds.filter_map(|(kind, name)| Some(format!("{name} ({})", of(kind)?)));
        told.collect::<Vec<_>>()
    };
    let few = |samples: usize| (samples > 0 && samples < needed).then_some(samples);
    let of_memory = |kind: &KindAdvice| few(kind.memory_samples);
    let of_time = |kind: &KindAdvice| few(kind.time_samples);
    let unmeasured = |kind: &KindAdvice| (kind.memory_samples == 0).then_some(kind.tasks);
    let mut text = String::new();
    let risk = percent(advice.risk);
    let parts = [
        (format!("Memory of too few tasks for {risk} %, which takes {needed}"), list(&of_memory)),
        ("Memory was not measured".to_string(), list(&unmeasured)),
        (format!("Times of too few tasks for {risk} %"), list(&of_time)),
    ];
    for (reason, kinds) in parts.iter().filter(|(_, kinds)| !kinds.is_empty()) {
        text.push_str(&wrap(&format!("{reason}: {}.\n", kinds.join(", ")), 2, width));
    }
    if text.is_empty() {
        return text;
    }
    let most = advice.kinds.iter().filter_map(of_memory).max();
    if let Some(most) = most.filter(|&most| most >= 2) {
        // An order statistic of n peaks is exceeded with the probability 1 / (n + 1).
        let least = (100.0 / (most as f64 + 1.0)).ceil();
        let hint = format!(
            "More runs are more tasks (slackline advise RUN…); {most} tasks do for --risk {least}%.\n"
        );
        text.push_str(&wrap(&hint, 2, width));
    }
    format!("\nNot advised (the recorded request is kept)\n\n{text}")
}
