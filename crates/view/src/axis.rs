//! The time axis: positions and labels of the ticks.

use std::ops::Range;

/// A tick and its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) text: String,
}

/// The units of an axis: the longest span it serves, its size in seconds, its name, and the
/// steps a person counts in.
struct Unit {
    up_to: f64,
    seconds: f64,
    name: &'static str,
    steps: &'static [f64],
}

const UNITS: [Unit; 4] = [
    Unit { up_to: 600.0, seconds: 1.0, name: "s", steps: &[] },
    Unit { up_to: 5.0 * 3600.0, seconds: 60.0, name: "min", steps: &[1., 2., 5., 10., 15., 30.] },
    Unit { up_to: 120.0 * 3600.0, seconds: 3600.0, name: "h", steps: &[1., 2., 3., 6., 12., 24.] },
    Unit { up_to: f64::INFINITY, seconds: 86400.0, name: "d", steps: &[] },
];

/// At most about `most` ticks over a span of seconds, at round dates.
pub(crate) fn ticks(span: &Range<f64>, most: usize) -> Vec<Tick> {
    let length = span.end - span.start;
    if length <= 0.0 || !length.is_finite() || !span.start.is_finite() {
        return vec![Tick { at: span.start, text: "0".to_string() }];
    }
    let (size, name, step) = scale(length, most.max(1) as f64);
    let first = (span.start / (step * size)).ceil() as i64;
    let last = (span.end / (step * size) * (1.0 + 1e-12)).floor() as i64;
    (first..=last)
        .map(|k| {
            let value = k as f64 * step;
            let text = if k == 0 { "0".into() } else { format!("{} {name}", number(value, step)) };
            Tick { at: value * size, text }
        })
        .collect()
}

/// At most about `most` ticks over a span of plain numbers.
pub(crate) fn decimal_ticks(span: &Range<f64>, most: usize) -> Vec<Tick> {
    let length = span.end - span.start;
    if length <= 0.0 || !length.is_finite() || !span.start.is_finite() {
        return vec![Tick { at: span.start, text: "0".to_string() }];
    }
    let step = decimal_step(length / most.max(1) as f64);
    let first = (span.start / step).ceil() as i64;
    let last = (span.end / step * (1.0 + 1e-12)).floor() as i64;
    let tick = |k: i64| {
        let at = k as f64 * step;
        Tick { at, text: number(at, step) }
    };
    (first..=last).map(tick).collect()
}

/// Seconds per unit, the unit's name, and the step in units.
fn scale(length: f64, most: f64) -> (f64, &'static str, f64) {
    // Below one second the decimal units of the second.
    for (limit, size, name) in [(1e-6, 1e-9, "ns"), (1e-3, 1e-6, "us"), (1.0, 1e-3, "ms")] {
        if length < limit {
            return (size, name, decimal_step(length / size / most));
        }
    }
    let unit = UNITS.iter().find(|u| length <= u.up_to).unwrap_or(&UNITS[3]);
    let least = length / unit.seconds / most;
    let step = unit.steps.iter().copied().find(|&s| s >= least);
    (unit.seconds, unit.name, step.unwrap_or_else(|| decimal_step(least)))
}

/// The least of 1, 2, 5 times a power of ten that is not below `least`.
fn decimal_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| m * power >= least * (1.0 - 1e-9));
    step.unwrap_or(10.0) * power
}

/// A tick's value with as many decimals as its step needs.
fn number(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let digits = format!("{value:.decimals$}");
    // Thousands are easier to read apart.
    match digits.len() {
        0..=4 => digits,
        _ if digits.contains('.') => digits,
        length => {
            let mut grouped = String::new();
            for (i, c) in digits.chars().enumerate() {
                if i > 0 && (length - i).is_multiple_of(3) && c.is_ascii_digit() {
                    grouped.push('\u{2009}');
                }
                grouped.push(c);
            }
            grouped
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(end: f64, most: usize) -> Vec<String> {
        ticks(&(0.0..end), most).into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn steps_are_what_people_count_in() {
        assert_eq!(
            texts(80.0, 8),
            ["0", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s", "70 s", "80 s"]
        );
        assert_eq!(texts(133.0, 4), ["0", "50 s", "100 s"]);
        assert_eq!(texts(3000.0, 6), ["0", "10 min", "20 min", "30 min", "40 min", "50 min"]);
        assert_eq!(texts(36000.0, 5), ["0", "2 h", "4 h", "6 h", "8 h", "10 h"]);
        assert_eq!(texts(864000.0, 5), ["0", "2 d", "4 d", "6 d", "8 d", "10 d"]);
        assert_eq!(texts(0.0035, 4), ["0", "1 ms", "2 ms", "3 ms"]);
        assert_eq!(texts(2.0, 4), ["0", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]);
    }

    #[test]
    fn odd_spans_do_no_harm() {
        assert_eq!(texts(0.0, 5), ["0"]);
        assert_eq!(texts(f64::INFINITY, 5), ["0"]);
        assert!(ticks(&(0.0..1e15), 8).len() <= 10);
        assert!(ticks(&(0.0..1e-15), 8).len() <= 10);
    }
}
