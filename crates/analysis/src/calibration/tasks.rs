//! Run times of kinds of tasks, and levels of hosts, from finished tasks.
//!
//! At the reference speed a task takes `start-up + factor × estimate` of its kind; a host stretches that by what its
//! stated speed differs from the reference, over its level. Everything is fitted by medians that count seconds, because
//! a few disturbed tasks say nothing of the others, and brief ones little.
//!
//! If the estimates of a kind hardly differ, its start-up cannot be separated from its factor and
//! is that of all kinds. If a kind is mostly start-up, its factor is that of all kinds. Factors of
//! single kinds are drawn towards that of all as far as the scatter of single tasks explains how
//! they differ.

use super::Sample;
use slackline_model::median::median;
use std::collections::BTreeMap;

/// Rounds in which factors and levels settle.
const ROUNDS: usize = 6;

/// Least credible level.
const LEAST_LEVEL: f64 = 0.01;

/// A level counts where it differs by this much, and by so many standard errors.
const WORTH: f64 = 0.05;
const CLEARLY: f64 = 3.0;

/// Fewest tasks of a kind, and least range of their estimates, that separate start-up from factor.
const ENOUGH: usize = 5;
const RANGE: f64 = 2.0;

/// Most tasks of a kind that are compared with each other.
const COMPARED: usize = 200;

/// Share of start-up in the time of a kind beyond which its factor is not known.
const MOSTLY: f64 = 0.5;

/// Standard deviation of a median, against that of single values.
const OF_MEDIAN: f64 = 1.2533;

/// A kind of task: seconds at the reference speed are `startup + factor × estimate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    pub(super) startup: f64,
    pub(super) factor: f64,
}

impl Law {
    const STATED: Law = Law { startup: 0.0, factor: 1.0 };

    pub(super) fn seconds(&self, estimate: f64) -> f64 {
        self.startup + self.factor * estimate
    }
}

/// Laws of kinds and levels of hosts, fitted to tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fit {
    /// Of kinds that were seen.
    pub(super) kinds: BTreeMap<String, Law>,
    /// Law of all other kinds.
    pub(super) any: Option<Law>,
    /// Of hosts that were seen.
    pub(super) levels: BTreeMap<String, f64>,
}

/// A task at the reference speed: its estimate and what it took.
#[derive(Clone, Copy)]
struct Point {
    estimate: f64,
    seconds: f64,
}

impl Fit {
    pub(super) fn of(samples: &[&Sample]) -> Fit {
        let mut fit = Fit::default();
        for _ in 0..ROUNDS {
            fit.laws(samples);
            fit.levels(samples);
        }
        fit.laws(samples);
        fit
    }

    pub(super) fn law(&self, kind: &str) -> Law {
        self.kinds.get(kind).copied().or(self.any).unwrap_or(Law::STATED)
    }

    pub(super) fn level(&self, host: &str) -> f64 {
        self.levels.get(host).copied().unwrap_or(1.0)
    }

    /// Converts a sample to the reference speed, on a host of level 1.
    fn point(&self, sample: &Sample) -> Point {
        let seconds = sample.seconds * self.level(&sample.host) / sample.slowness;
        Point { estimate: sample.expected / sample.slowness, seconds }
    }

    fn laws(&mut self, samples: &[&Sample]) {
        let mut kinds: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
        for sample in samples {
            kinds.entry(&sample.kind).or_default().push(self.point(sample));
        }
        let all: Vec<Point> = kinds.values().flatten().copied().collect();
        let Some(common) = common(&all) else { return };
        let own: Vec<(&str, Own)> =
            kinds.iter().map(|(kind, points)| (*kind, Own::of(points, common))).collect();
        // How far kinds differ from all, beyond what single tasks explain.
        let scatter = scatter(&own);
        let excess = |(_, own): &(&str, Own)| {
            let off = (own.law.factor / common.factor).ln();
            own.samples.map(|count| off * off - own.error(scatter, count).powi(2))
        };
        let excesses: Vec<f64> = own.iter().filter_map(excess).collect();
        let differ = excesses.iter().sum::<f64>() / (excesses.len().max(1) as f64);
        let drawn = |own: &Own| {
            let Some(count) = own.samples else { return own.law };
            let own_off = (own.law.factor / common.factor).ln();
            let error = own.error(scatter, count).powi(2);
            // One kind alone may differ where the others agree: its own distance counts, too.
            let spread = differ.max(own_off * own_off - error).max(0.0);
            let trust = if spread + error > 0.0 { spread / (spread + error) } else { 1.0 };
            let factor = common.factor * (trust * own_off).exp();
            Law { factor, ..own.law }
        };
        self.kinds = own.iter().map(|(kind, own)| (kind.to_string(), drawn(own))).collect();
        self.any = Some(common);
    }

    fn levels(&mut self, samples: &[&Sample]) {
        let mut hosts: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for sample in samples {
            let law = self.law(&sample.kind);
            let should = law.seconds(sample.expected / sample.slowness) * sample.slowness;
            if should > 0.0 {
                let level = (should / sample.seconds).ln();
                let weight = should.min(sample.seconds);
                hosts.entry(&sample.host).or_default().push((level, weight));
            }
        }
        let seen: BTreeMap<&str, (f64, f64)> = hosts
            .into_iter()
            .filter_map(|(host, mut levels)| {
                let middle = weighted_median(&mut levels)?;
                let mut off: Vec<(f64, f64)> = levels
                    .iter()
                    .map(|&(level, weight)| ((level - middle).abs(), weight))
                    .collect();
                let deviation = 1.4826 * weighted_median(&mut off)?;
                let total: f64 = levels.iter().map(|(_, weight)| weight).sum();
                let squares: f64 = levels.iter().map(|(_, weight)| weight * weight).sum();
                let count = total * total / squares;
                Some((host, (middle, OF_MEDIAN * deviation / count.sqrt())))
            })
            .collect();
        let fastest = seen.values().map(|(level, _)| *level).fold(f64::NEG_INFINITY, f64::max);
        let told = |(host, (level, error)): (&str, (f64, f64))| {
            let off = level - fastest;
            let clear = -off > WORTH.max(CLEARLY * error);
            (host.to_string(), if clear { off.exp().max(LEAST_LEVEL) } else { 1.0 })
        };
        self.levels = seen.into_iter().map(told).collect();
    }
}

/// The law of one kind, from its own tasks.
struct Own {
    law: Law,
    /// Number of tasks that determine its factor; none where it is that of all.
    samples: Option<usize>,
    /// Logarithms of the ratios of single tasks to it.
    off: Vec<f64>,
}

impl Own {
    fn of(points: &[Point], common: Law) -> Own {
        let middle = |value: fn(&Point) -> f64| {
            let mut values: Vec<f64> = points.iter().map(value).collect();
            median(&mut values).unwrap_or(0.0)
        };
        let (estimate, seconds) = (middle(|p| p.estimate), middle(|p| p.seconds));
        let (law, samples) = match line(points) {
            Some(law) => (law, Some(points.len())),
            None => {
                let startup = common.startup.min(seconds);
                let own = (seconds - startup) / estimate;
                if startup < MOSTLY * seconds && own > 0.0 {
                    (Law { startup, factor: own }, Some(points.len()))
                } else {
                    let startup = (seconds - common.factor * estimate).max(0.0);
                    (Law { startup, factor: common.factor }, None)
                }
            }
        };
        let off = points.iter().map(|p| (p.seconds / law.seconds(p.estimate)).ln()).collect();
        Own { law, samples, off }
    }

    /// Standard error of the logarithm of the factor, where single tasks scatter so far.
    fn error(&self, scatter: f64, count: usize) -> f64 {
        OF_MEDIAN * scatter / (count as f64).sqrt()
    }
}

/// Computes the scatter of single tasks around their kinds; a tenth where there are too few of
/// them.
fn scatter(kinds: &[(&str, Own)]) -> f64 {
    let several = kinds.iter().filter(|(_, own)| own.off.len() > 2);
    let mut off: Vec<f64> = several.flat_map(|(_, own)| own.off.iter().map(|o| o.abs())).collect();
    match off.len() {
        0..ENOUGH => 0.1,
        _ => 1.4826 * median(&mut off).unwrap_or(0.0),
    }
}

/// Start-up and factor of all tasks together: the factor from those that take most of the time, the start-up from
/// the briefest.
fn common(points: &[Point]) -> Option<Law> {
    let mut brief: Vec<f64> = points.iter().map(|p| p.seconds).collect();
    brief.sort_by(f64::total_cmp);
    let brief = *brief.get(points.len() / 4)?;
    let mut law = Law::STATED;
    for _ in 0..ROUNDS {
        let left = |p: &Point| ((p.seconds - law.startup).max(0.0) / p.estimate, p.estimate);
        let mut factors: Vec<(f64, f64)> = points.iter().map(left).collect();
        let factor = weighted_median(&mut factors).filter(|factor| *factor > 0.0)?;
        let few = points.iter().filter(|p| p.seconds <= brief);
        let mut rests: Vec<f64> = few.map(|p| p.seconds - factor * p.estimate).collect();
        let startup = median(&mut rests)?.clamp(0.0, brief);
        law = Law { startup, factor };
    }
    Some(law)
}

/// The line through tasks whose estimates differ enough, by Theil and Sen, where it explains more than a factor.
fn line(points: &[Point]) -> Option<Law> {
    let estimates = || points.iter().map(|p| p.estimate);
    let least = estimates().fold(f64::INFINITY, f64::min);
    let most = estimates().fold(0.0, f64::max);
    if points.len() < ENOUGH || most < RANGE * least {
        return None;
    }
    let step = points.len().div_ceil(COMPARED).max(1);
    let shown: Vec<&Point> = points.iter().step_by(step).collect();
    let mut slopes = Vec::new();
    for (index, a) in shown.iter().enumerate() {
        for b in &shown[index + 1..] {
            let apart = (a.estimate - b.estimate).abs();
            if apart > 0.0 {
                slopes.push(((a.seconds - b.seconds) / (a.estimate - b.estimate), apart));
            }
        }
    }
    let factor = weighted_median(&mut slopes).filter(|factor| *factor > 0.0)?;
    let mut rests: Vec<f64> = shown.iter().map(|p| p.seconds - factor * p.estimate).collect();
    let startup = median(&mut rests)?;
    if startup < 0.0 {
        let mut ratios: Vec<(f64, f64)> =
            shown.iter().map(|p| (p.seconds / p.estimate, p.estimate)).collect();
        return Some(Law { startup: 0.0, factor: weighted_median(&mut ratios)? });
    }
    let line = Law { startup, factor };
    // A kind that is mostly start-up does not determine its factor.
    let mut off: Vec<f64> =
        shown.iter().map(|p| (p.seconds - line.seconds(p.estimate)).abs()).collect();
    let noise = 1.4826 * median(&mut off)?;
    (factor * (most - least) > CLEARLY * noise).then_some(line)
}

/// The value at which half of the weight is below; of pairs of value and weight. Sorts them.
fn weighted_median(values: &mut [(f64, f64)]) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let past = |(_, weight): &&(f64, f64)| {
        below += weight;
        below >= half
    };
    values.iter().find(past).map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(kind: &str, host: &str, expected: f64, seconds: f64) -> Sample {
        let (kind, host) = (kind.to_string(), host.to_string());
        Sample { kind, host, seconds, expected, slowness: 1.0 }
    }

    fn fit(samples: &[Sample]) -> Fit {
        Fit::of(&samples.iter().collect::<Vec<_>>())
    }

    #[test]
    fn factors_of_kinds_and_levels_of_hosts_are_told_apart() {
        let mut tasks = Vec::new();
        for (kind, factor) in [("short", 2.0), ("long", 3.0)] {
            for (host, level) in [("fast", 1.0), ("slow", 0.25), ("fast", 1.0)] {
                for expected in [1.0, 5.0, 10.0] {
                    tasks.push(sample(kind, host, expected, expected * factor / level));
                }
            }
        }
        // One that was disturbed says nothing.
        tasks[0].seconds *= 40.0;
        let fit = fit(&tasks);
        for (kind, factor) in [("short", 2.0), ("long", 3.0)] {
            assert!((fit.law(kind).factor / factor - 1.0).abs() < 0.01, "{fit:?}");
            assert!(fit.law(kind).startup < 0.05, "{fit:?}");
        }
        assert!((fit.level("slow") - 0.25).abs() < 0.005, "{fit:?}");
        assert_eq!(fit.level("fast"), 1.0);
    }

    /// Ten milliseconds to begin a process are no factor of 474 for tasks of 21 µs.
    #[test]
    fn a_startup_is_no_factor() {
        let mut tasks = vec![sample("tiny", "h", 21e-6, 0.010)];
        for k in 1..=20 {
            let expected = 0.05 * f64::from(k);
            tasks.push(sample("usual", "h", expected, 0.010 + expected));
            tasks.push(sample("alike", "h", 0.2, 0.209 + 0.0002 * f64::from(k % 3)));
        }
        let fit = fit(&tasks);
        for (kind, estimate, seconds) in [
            ("tiny", 21e-6, 0.010),
            ("tiny", 0.5, 0.51),
            ("usual", 3.0, 3.01),
            ("alike", 0.4, 0.41),
            ("never seen", 1.0, 1.01),
        ] {
            let found = fit.law(kind).seconds(estimate);
            assert!(
                (found / seconds - 1.0).abs() < 0.02,
                "{kind}: {found}, not {seconds}: {fit:?}"
            );
        }
    }

    /// Scatter of single tasks makes no factors of kinds, and no levels of hosts.
    #[test]
    fn what_chance_explains_is_not_learnt() {
        let mut tasks = Vec::new();
        for index in 0..60u32 {
            let noise = [0.9, 1.1, 1.05, 0.95, 1.0, 1.12, 0.88][index as usize % 7];
            let (kind, host) = (format!("k{}", index % 12), format!("h{}", index % 4));
            tasks.push(sample(&kind, &host, 1.0, noise));
        }
        let fit = fit(&tasks);
        assert!(fit.levels.values().all(|level| *level == 1.0), "{fit:?}");
        for kind in 0..12 {
            let off = fit.law(&format!("k{kind}")).seconds(1.0) - 1.0;
            assert!(off.abs() < 0.06, "{kind}: {off}");
        }
    }

    /// Hosts of other speeds stretch start-up and computing alike.
    #[test]
    fn hosts_of_other_speeds_are_compared_at_the_reference() {
        let mut tasks = Vec::new();
        for k in 1..=10 {
            let estimate = 0.1 * f64::from(k);
            tasks.push(sample("t", "one", estimate, 0.02 + 1.5 * estimate));
            let half = sample("t", "half", 2.0 * estimate, 2.0 * (0.02 + 1.5 * estimate));
            tasks.push(Sample { slowness: 2.0, ..half });
        }
        let fit = fit(&tasks);
        let law = fit.law("t");
        assert!((law.startup - 0.02).abs() < 1e-3 && (law.factor - 1.5).abs() < 1e-3, "{fit:?}");
        assert!(fit.levels.values().all(|level| *level == 1.0), "{fit:?}");
    }

    #[test]
    fn nothing_is_learnt_from_nothing() {
        assert_eq!(fit(&[]).law("x"), Law::STATED);
    }
}
