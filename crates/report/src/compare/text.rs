//! A comparison in words and tables.

use crate::Printer;
use crate::table::{Table, count};
use slackline_core::Failure;
use slackline_lab::compare::{Comparison, Factors, Variation, Warning};

/// A number with four significant digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    match () {
        () if value == 0.0 => "0".to_string(),
        () if !(1e-4..1e7).contains(&size) => format!("{value:.3e}"),
        () => {
            let digits = (3 - size.log10().floor() as i32).max(0) as usize;
            let text = format!("{value:.digits$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_string()
            } else {
                text
            }
        }
    }
}

fn optional(value: Option<f64>) -> String {
    value.map_or("-".to_string(), number)
}

/// An interval as text; empty where there is none.
fn interval(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        _ => String::new(),
    }
}

/// A p-value as text.
fn p(value: f64) -> String {
    if value < 1e-4 { "< 0.0001".to_string() } else { format!("{value:.4}") }
}

/// Prints a comparison: ratios and intervals first.
pub fn tell(found: &Comparison, output: &mut dyn Printer) -> Result<(), Failure> {
    let failed = match found.failed {
        0 => String::new(),
        n => format!(", {n} failed"),
    };
    let better = match found.better {
        slackline_analysis::statistics::Sense::Lower => "less is better",
        slackline_analysis::statistics::Sense::Higher => "more is better",
    };
    let runs = count(found.runs, "run");
    let headline = format!("{} ({better}), {runs}{failed}", found.metric);
    output.say(&format!("{}\n", output.bold(&headline)))?;
    for table in &found.tables {
        let group = |factors: &Factors| *factors == table.factors;
        let blocks = count(table.blocks.len(), "block");
        if table.factors.0.is_empty() {
            output.say(&format!("\n{blocks}\n\n"))?
        } else {
            output.say(&format!("\n{}: {blocks}\n\n", table.factors))?
        }
        let mut methods = Table::new(&[
            "<method",
            ">mean",
            "<95 % interval",
            ">median",
            ">n",
            ">wins",
            ">over best",
            ">rank",
        ])
        .sparing(&["median", "rank"]);
        for row in found.groups.iter().filter(|g| group(&g.factors)) {
            let (low, high) = match row.wilson_low {
                Some(_) => (row.wilson_low, row.wilson_high),
                None => (row.low, row.high),
            };
            methods.row([
                row.method.clone(),
                optional(row.mean),
                interval(low, high),
                optional(row.median),
                row.n.to_string(),
                row.wins.to_string(),
                row.degradation.map_or("-".into(), |d| format!("{:.2} %", 100.0 * d)),
                row.rank.map_or("-".into(), |r| format!("{r:.2}")),
            ]);
        }
        output.say(&methods.render(output.style().width))?;
        if found.methods.len() < 2 {
            continue;
        }
        output.say("\n")?;
        let mut pairs = Table::new(&[
            "<a",
            "<b",
            ">a / b",
            "<95 % interval",
            ">better",
            ">equal",
            ">worse",
            ">effect",
            ">p (Holm)",
        ])
        .sparing(&["equal", "effect"]);
        for row in found.pairs.iter().filter(|p| group(&p.factors)) {
            pairs.row([
                row.a.clone(),
                row.b.clone(),
                row.ratio.map_or("-".into(), |r| format!("{r:.3}")),
                match (row.ratio_low, row.ratio_high) {
                    (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
                    _ => String::new(),
                },
                row.better.to_string(),
                row.equal.to_string(),
                row.worse.to_string(),
                row.effect.map_or("-".into(), |e| format!("{e:+.2}")),
                row.p_holm.map_or("-".into(), p),
            ]);
        }
        output.say(&pairs.render(output.style().width))?;
        for test in found.tests.iter().filter(|t| group(&t.factors)) {
            let text = format!(
                "Friedman over {}: p {}; Iman and Davenport: p {}; ranks differ from {:.2} on (Nemenyi).",
                count(test.blocks, "complete block"),
                p(test.friedman_p),
                p(test.iman_davenport_p),
                test.cd
            );
            output.say(&format!("\n{}", crate::table::wrap(&text, 2, output.style().width)))?;
        }
    }
    if let Some(text) = variation(found) {
        output.say(&format!("\n{}", crate::table::wrap(&text, 2, output.style().width)))?;
    }
    if !found.unit.is_empty() {
        let text =
            format!("Inference rests on blocks, one per combination of {}.", found.unit.join(", "));
        output.say(&format!("\n{}", crate::table::wrap(&text, 2, output.style().width)))?;
    }
    for warning in &found.warnings {
        output.warning(&words(warning));
    }
    Ok(())
}

/// Shares of the variation that are told one by one, at most.
const MOST_SHARES: usize = 8;

/// The allocation of variation in words; none where the table is not balanced.
pub fn variation(found: &Comparison) -> Option<String> {
    let named = |v: &Variation| !v.factors.is_empty() && v.share >= 5e-4;
    let shares = found.allocation.iter().filter(|v| named(v)).take(MOST_SHARES);
    let told: Vec<&Variation> = shares.collect();
    let rest = 1.0 - told.iter().map(|v| v.share).sum::<f64>();
    let mut parts: Vec<String> = told
        .iter()
        .map(|v| format!("{} {:.1} %", v.factors.join(" with "), 100.0 * v.share))
        .collect();
    if parts.is_empty() {
        return None;
    }
    parts.push(format!("draws and everything else {:.1} %", 100.0 * rest.max(0.0)));
    let of = &found.metric;
    Some(format!("Variation of {of} over all runs: {}.", parts.join(", ")))
}

/// A warning in words.
pub fn words(warning: &Warning) -> String {
    let place = |factors: &Factors| {
        if factors.0.is_empty() { String::new() } else { format!("{factors}: ") }
    };
    match warning {
        Warning::Incomplete { factors, blocks, complete } => format!(
            "{}only {complete} of {} have a value of every method",
            place(factors),
            count(*blocks, "block")
        ),
        Warning::Few { factors, a, b, n, needed } => format!(
            "{}{a} and {b} share {}: even unanimous ones could not be significant, {needed} are needed",
            place(factors),
            count(*n, "block")
        ),
        Warning::Survivors { factors, a, b, a_mean, b_mean } => format!(
            "{}the means of {a} and {b} over all their runs mislead: over common blocks they are {} and {}",
            place(factors),
            number(*a_mean),
            number(*b_mean)
        ),
        Warning::Reversal { factors, a, b, factor, levels } => {
            let levels: Vec<String> = levels
                .iter()
                .map(|l| {
                    format!("{} {}", l.level, l.effect.map_or("-".into(), |e| format!("{e:+.2}")))
                })
                .collect();
            format!(
                "{}who is better, {a} or {b}, depends on {factor} (effects: {}); compare --by {factor}",
                place(factors),
                levels.join(", ")
            )
        }
        Warning::Scale { factors, span } => format!(
            "{}best values span a factor of {span:.1}: the largest blocks decide the ranks; consider --scale log",
            place(factors)
        ),
    }
}
