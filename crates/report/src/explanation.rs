//! The chain of waits that decided a makespan.

use crate::import::without_common;
use crate::table::{Table, cut};
use slackline_analysis::waits::Cause;
use slackline_core::explanation::{Explanation, Stretch};
use slackline_model::units::{fmt_bytes, fmt_seconds};

/// Links of the chain that are shown to people.
const SHOWN: usize = 12;

/// An explanation as text: causes, the chain, and the run under other conditions.
pub fn describe(explanation: &Explanation, width: usize) -> String {
    let makespan = explanation.makespan;
    let mut text = format!(
        "What decided the {} of this run of {}\n\n",
        fmt_seconds(makespan),
        explanation.engine
    );
    for cause in Cause::ALL {
        if let Some(seconds) = explanation.sums.get(&cause) {
            let share = format!("{:.1} %", 100.0 * seconds / makespan);
            text.push_str(&format!(
                "  {share:>7}  {:<23} {}\n",
                cause.name(),
                fmt_seconds(*seconds)
            ));
        }
    }
    text.push_str("\nThe chain, from the begin to the end\n\n");
    let mut table = Table::new(&["from", "seconds", "", "task"]);
    let mut longest: Vec<usize> = (0..explanation.chain.len()).collect();
    longest.sort_by(|&a, &b| {
        let seconds = |i: usize| explanation.chain[i].link.to - explanation.chain[i].link.from;
        seconds(b).total_cmp(&seconds(a))
    });
    longest.truncate(SHOWN);
    longest.sort_unstable();
    for &index in &longest {
        let Stretch { task, link } = &explanation.chain[index];
        table.row([
            fmt_seconds(link.from),
            fmt_seconds(link.to - link.from),
            link.cause.name().to_string(),
            cut(task, 34),
        ]);
    }
    text.push_str(&table.render(width));
    let more = explanation.chain.len() - longest.len();
    if more > 0 {
        text.push_str(&format!("  and {more} shorter stretches (all with --json)\n"));
    }
    let what_if = &explanation.what_if;
    let repeated = explanation.repeated;
    text.push_str(&format!(
        "\nRepeated as it was, the run takes {}; with\n\n",
        fmt_seconds(repeated)
    ));
    for (what, seconds) in [
        ("twice the slots", what_if.twice_the_slots),
        ("no queue", what_if.no_queue),
        ("no failures", what_if.no_failures),
    ] {
        let gain = (100.0 * (repeated - seconds) / repeated).round();
        let told = match gain {
            0.0 => "no change".to_string(),
            gain if gain < 0.0 => format!("{:.0} % more", -gain),
            gain => format!("{gain:.0} % less"),
        };
        text.push_str(&format!("  {what:<16} {:<12} {told}\n", fmt_seconds(seconds)));
    }
    text.push_str("\nRequested and used, by kind\n\n");
    let mut table = Table::new(&["kind", "tasks", "failed", "core use", "memory asked", "used"]);
    let names = without_common(explanation.kinds.iter().map(|kind| kind.kind.as_str()));
    for (kind, name) in explanation.kinds.iter().zip(names).take(SHOWN) {
        let bytes = |value: Option<f64>| value.map_or("-".to_string(), fmt_bytes);
        table.row([
            cut(name, 30),
            kind.tasks.to_string(),
            kind.failed.to_string(),
            kind.used_cores.map_or("-".to_string(), |share| format!("{:.0} %", 100.0 * share)),
            bytes(kind.requested_memory),
            bytes(kind.used_memory),
        ]);
    }
    text.push_str(&table.render(width));
    let more = explanation.kinds.len().saturating_sub(SHOWN);
    if more > 0 {
        text.push_str(&format!("  and {more} more that ran for less time (all with --json)\n"));
    }
    text
}
