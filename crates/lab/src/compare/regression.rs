//! Non-inferiority of new results against old ones, metric by metric.

use super::metric;
use super::{Roles, Runs};
use serde::Serialize;
use slackline_analysis::statistics::{Interval, Moments, NOISE, Pairs, Sense, equal};
use slackline_formats::csv::Csv;
use slackline_formats::{FormatError, Result};
use slackline_model::nearest::did_you_mean;
use std::collections::HashMap;

/// Metrics of a comparison, with their tolerances.
#[derive(Clone, Debug, Default)]
pub struct Family {
    /// The metrics.
    pub metrics: Vec<String>,
    /// The column that names the methods.
    pub method: Option<String>,
    /// Columns that are left out.
    pub ignore: Vec<String>,
    /// The better direction of all metrics, if not that of their names.
    pub better: Option<Sense>,
    /// Tolerated loss and demanded gain per metric.
    pub limits: HashMap<String, Limits>,
}

/// Bounds of one metric, as shares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// A loss up to this is tolerated.
    pub tolerance: f64,
    /// A gain has to be larger than this to be called one.
    pub gain: f64,
}

/// Verdict on a metric, or on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Not worse than tolerated.
    Held,
    /// Better.
    Gain,
    /// Worse than tolerated.
    Loss,
    /// The runs do not decide.
    Open,
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::Gain => "gain",
            Verdict::Loss => "loss",
            Verdict::Open => "open",
        }
    }
}

/// New results against old ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regression {
    /// Schema of the document.
    pub schema: &'static str,
    /// Runs that are in both.
    pub runs: usize,
    /// Runs of the old results without a counterpart.
    pub only_old: usize,
    /// Runs of the new results without a counterpart.
    pub only_new: usize,
    /// Runs that were done and now fail.
    pub newly_failed: usize,
    /// Runs that failed and now are done.
    pub newly_done: usize,
    /// The metrics.
    pub metrics: Vec<Change>,
    /// The verdict of all.
    pub verdict: Verdict,
}

/// The change of one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The metric.
    pub metric: String,
    /// Its better direction.
    pub better: Sense,
    /// Pairs of runs with a value in both.
    pub n: usize,
    /// Mean of the old values of these.
    pub old: Option<f64>,
    /// Mean of the new ones.
    pub new: Option<f64>,
    /// `ratio` or `difference`.
    pub kind: &'static str,
    /// Geometric mean of new / old, or mean of new - old.
    pub change: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Lower end of the interval at the level of the family.
    pub low_all: Option<f64>,
    /// Upper end.
    pub high_all: Option<f64>,
    /// Verdict on the metric.
    pub verdict: Verdict,
    /// The loss that is tolerated.
    pub tolerance: f64,
}

/// Compares new results with old ones; the runs are paired by keys and method.
pub fn no_regression(old: &Csv, new: &Csv, family: &Family) -> Result<Regression> {
    for name in family.limits.keys() {
        if !family.metrics.contains(name) {
            let near = did_you_mean(name, family.metrics.iter().map(String::as_str));
            let message = format!("a tolerance or gain is given for {name}, no --metric{near}");
            return Err(FormatError::new(message));
        }
    }
    let roles = Roles {
        metrics: family.metrics.clone(),
        method: family.method.clone(),
        ignore: family.ignore.clone(),
        order: Vec::new(),
    };
    let runs = Runs::read_all(&[old, new], &roles)?;
    // Rows of the old and the new file per run.
    let mut found: HashMap<(usize, usize), [Option<usize>; 2]> = HashMap::new();
    for (row, (table, block, method)) in runs.rows().enumerate() {
        found.entry((block, method)).or_default()[table] = Some(row);
    }
    let mut keys: Vec<_> = found.into_iter().collect();
    keys.sort_unstable_by_key(|(key, _)| *key);
    let both: Vec<(usize, usize)> =
        keys.iter().filter_map(|(_, rows)| rows[0].zip(rows[1])).collect();
    if both.is_empty() {
        let help =
            "runs are paired by all columns that are no metrics; leave some out with --ignore";
        return Err(FormatError::new("no run of the one is in the other").with_help(help));
    }
    let only = |table: usize| keys.iter().filter(|(_, rows)| rows[1 - table].is_none()).count();
    let turned = |from: bool| {
        both.iter().filter(|(o, n)| runs.done[*o] == from && runs.done[*n] != from).count()
    };
    let alpha = 0.05 / family.metrics.len().max(1) as f64;
    let metrics: Vec<Change> = family
        .metrics
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let sense = family.better.unwrap_or_else(|| metric::sense_of(name));
            let values = &runs.values[at];
            let pairs = both.iter().filter_map(|&(o, n)| values[o].zip(values[n])).collect();
            let limits = family.limits.get(name).copied().unwrap_or_default();
            change(name, sense, pairs, limits, alpha)
        })
        .collect();
    let newly_failed = turned(true);
    let has = |v: Verdict| metrics.iter().any(|m| m.verdict == v);
    let verdict = match () {
        () if newly_failed > 0 || has(Verdict::Loss) => Verdict::Loss,
        () if has(Verdict::Open) => Verdict::Open,
        () => Verdict::Held,
    };
    Ok(Regression {
        schema: "slackline/no-regression/1",
        runs: both.len(),
        only_old: only(0),
        only_new: only(1),
        newly_failed,
        newly_done: turned(false),
        metrics,
        verdict,
    })
}

fn change(
    name: &str,
    better: Sense,
    mut pairs: Vec<(f64, f64)>,
    limits: Limits,
    alpha: f64,
) -> Change {
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let mean = |values: &[f64]| (!values.is_empty()).then(|| Moments::of(values).mean);
    let (old, new) = (mean(&before), mean(&after));
    // What is equal within noise is unchanged.
    for (old, new) in &mut pairs {
        if equal(*old, *new, NOISE) {
            *new = *old;
        }
    }
    let is_ratio = pairs.iter().all(|&(old, new)| old > 0.0 && new > 0.0);
    let (value, one, all) = if is_ratio {
        let ratios = Pairs::new(pairs.iter().map(|&(old, new)| (Some(new), Some(old))));
        let at = |alpha| ratios.ratio_at(alpha).and_then(|r| r.interval);
        (ratios.ratio().map(|r| r.ratio), at(0.05), at(alpha))
    } else {
        let differences: Vec<f64> = pairs.iter().map(|&(old, new)| new - old).collect();
        let moments = Moments::of(&differences);
        let at = |alpha: f64| {
            let around = |m: f64| Interval { low: moments.mean - m, high: moments.mean + m };
            moments.margin(alpha).map(around)
        };
        (Some(moments.mean), at(0.05), at(alpha))
    };
    // More is worse from here on, and 0 is no change.
    let turned = |i: Interval| match (is_ratio, better) {
        (true, Sense::Lower) => (i.low - 1.0, i.high - 1.0),
        (true, Sense::Higher) => (1.0 / i.high - 1.0, 1.0 / i.low - 1.0),
        (false, Sense::Lower) => (i.low, i.high),
        (false, Sense::Higher) => (-i.high, -i.low),
    };
    let unit = if is_ratio { 1.0 } else { old.unwrap_or(0.0).abs() };
    let (tolerated, demanded) = (limits.tolerance * unit, limits.gain * unit);
    // Ends of an interval carry rounding errors of the logarithms.
    let slack = 1e-12 * unit.max(f64::MIN_POSITIVE);
    let verdict = match (one.map(turned), all.map(turned)) {
        (Some(_), Some((low, _))) if low > tolerated + slack => Verdict::Loss,
        (Some((_, high)), _) if high < -demanded - slack => Verdict::Gain,
        (Some((_, high)), _) if high <= tolerated + slack => Verdict::Held,
        _ => Verdict::Open,
    };
    let low = |i: Option<Interval>| i.map(|i| i.low);
    let high = |i: Option<Interval>| i.map(|i| i.high);
    Change {
        metric: name.to_string(),
        better,
        n: pairs.len(),
        old,
        new,
        kind: if is_ratio { "ratio" } else { "difference" },
        change: value,
        low: low(one),
        high: high(one),
        low_all: low(all),
        high_all: high(all),
        verdict,
        tolerance: limits.tolerance,
    }
}
