//! Quantities over time, in panels above one time axis.

use crate::axis::{Tick, decimal_ticks, ticks};
use crate::chart::Category;
use crate::palette;
use crate::svg::{Anchor, Canvas, Heading, MARGIN, Type};
use crate::text::coordinate;
use std::fmt::Write;

/// A quantity that changes in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Index into [`Series::names`].
    pub name: usize,
    /// Dates in seconds, and the value from then on.
    pub steps: Vec<(f64, f64)>,
}

/// Lines on one vertical axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// The quantity, with its unit.
    pub label: String,
    /// A value that is marked across the panel, such as a capacity.
    pub limit: Option<f64>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A picture of quantities over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Above the picture.
    pub title: String,
    /// Below the title.
    pub facts: Vec<String>,
    /// Names in the legend.
    pub names: Vec<String>,
    /// Panels, from top to bottom.
    pub panels: Vec<Panel>,
    /// Beginning and end of the time axis, in seconds.
    pub span: (f64, f64),
}

const WIDTH: f64 = 900.0;
const PLOT: f64 = 180.0;
const GAP: f64 = 34.0;
const LEFT: f64 = 76.0;
const LABEL: f64 = 11.5;

/// Most points of a line: beyond, means over equal spans of time are drawn.
const POINTS: usize = 1600;

/// Draws quantities over time.
pub fn svg(series: &Series) -> String {
    let category = |name: &String| Category { name: name.clone(), count: 1, rest: false };
    let categories: Vec<Category> = series.names.iter().map(category).collect();
    let mut canvas = Canvas::new();
    let heading = Heading {
        title: &series.title,
        facts: &series.facts,
        categories: &categories,
        ordered: false,
        width: WIDTH,
    };
    let mut top = canvas.heading(&heading) + 22.0;
    let (begin, end) = series.span;
    let end = if end > begin { end } else { begin + 1.0 };
    let right = WIDTH - MARGIN;
    let x = |date: f64| LEFT + (date.clamp(begin, end) - begin) / (end - begin) * (right - LEFT);
    let text = |anchor| Type { class: "dim", size: LABEL, anchor };
    for panel in &series.panels {
        let lines: Vec<Vec<(f64, f64)>> =
            panel.lines.iter().map(|line| thinned(&line.steps, (begin, end))).collect();
        let values = lines.iter().flatten().map(|step| step.1).chain(panel.limit);
        let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let most = if most > 0.0 { most * 1.04 } else { 1.0 };
        let bottom = top + PLOT;
        let y = |value: f64| bottom - value.clamp(0.0, most) / most * PLOT;
        for Tick { at, .. } in ticks(&(0.0..end - begin), 9) {
            canvas.line("grid", [x(begin + at), top, x(begin + at), bottom]);
        }
        for Tick { at, text: label } in decimal_ticks(&(0.0..most), 4) {
            canvas.line("grid", [LEFT, y(at), right, y(at)]);
            canvas.text(LEFT - 8.0, y(at) + 4.0, text(Anchor::End), &label);
        }
        canvas.line("rule", [LEFT, top, LEFT, bottom]);
        canvas.line("rule", [LEFT, bottom, right, bottom]);
        canvas.text(MARGIN, top - 9.0, text(Anchor::Start), &panel.label);
        if let Some(limit) = panel.limit {
            canvas.line("bound", [LEFT, y(limit), right, y(limit)]);
        }
        for (line, steps) in panel.lines.iter().zip(&lines) {
            draw(
                &mut canvas,
                steps,
                palette::of(line.name, series.names.len(), false, false).rgb,
                x,
                y,
            );
        }
        top = bottom + GAP;
    }
    for Tick { at, text: label } in ticks(&(0.0..end - begin), 9) {
        canvas.text(x(begin + at), top - GAP + 16.0, text(Anchor::Middle), &label);
    }
    canvas.finish(WIDTH, top, &series.title)
}

fn draw(
    canvas: &mut Canvas,
    steps: &[(f64, f64)],
    colour: u32,
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> f64,
) {
    let Some(&(date, value)) = steps.first() else { return };
    let mut path = format!("M{} {}", coordinate(x(date)), coordinate(y(value)));
    for &(date, value) in &steps[1..] {
        let _ = write!(path, "H{}V{}", coordinate(x(date)), coordinate(y(value)));
    }
    let _ = writeln!(
        canvas.body,
        "<path d=\"{path}\" fill=\"none\" stroke=\"#{colour:06x}\" stroke-width=\"1.6\"/>"
    );
}

/// The steps themselves, or means over equal spans where there are too many.
fn thinned(steps: &[(f64, f64)], (begin, end): (f64, f64)) -> Vec<(f64, f64)> {
    if steps.len() <= POINTS {
        return steps.to_vec();
    }
    let bins = POINTS / 2;
    let length = (end - begin) / bins as f64;
    let mut sums = vec![0.0; bins];
    for (k, &(date, value)) in steps.iter().enumerate() {
        let until = steps.get(k + 1).map_or(end, |next| next.0).clamp(begin, end);
        let mut from = date.clamp(begin, end);
        // Rounding may put a date at the end of a span into that span: the next one continues.
        let mut bin = (((from - begin) / length) as usize).min(bins - 1);
        while from < until && bin < bins {
            let bin_end = if bin + 1 == bins { end } else { begin + (bin + 1) as f64 * length };
            let to = until.min(bin_end).max(from);
            sums[bin] += value * (to - from);
            (from, bin) = (to, bin + 1);
        }
    }
    let point = |(bin, sum): (usize, f64)| (begin + bin as f64 * length, sum / length);
    sums.into_iter().enumerate().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_below_its_limit() {
        let steps = vec![(0.0, 1.0), (5.0, 3.0), (10.0, 0.0)];
        let panel = Panel {
            label: "cores held".into(),
            limit: Some(4.0),
            lines: vec![Line { name: 0, steps }],
        };
        let names = vec!["easy".to_string()];
        let series = Series { names, panels: vec![panel], span: (0.0, 10.0), ..Series::default() };
        let picture = svg(&series);
        assert!(picture.contains(">easy<") && picture.contains(">cores held<"));
        assert_eq!(picture.matches("stroke-width").count(), 1);
    }

    #[test]
    fn many_steps_are_drawn_as_means() {
        let steps: Vec<(f64, f64)> =
            (0..10_000).map(|k| (f64::from(k), f64::from(k % 2))).collect();
        let thin = thinned(&steps, (0.0, 10_000.0));
        assert_eq!(thin.len(), POINTS / 2);
        assert!(thin.iter().all(|(_, mean)| (0.4..=0.6).contains(mean)), "{:?}", &thin[..4]);
    }

    #[test]
    fn long_steps_among_many_are_not_lost() {
        let mut steps: Vec<(f64, f64)> = (0..9_999).map(|k| (f64::from(k) * 0.1, 7.0)).collect();
        steps.push((2e5 / 3.0, 7.0));
        let thin = thinned(&steps, (0.0, 1e6 / 3.0));
        assert!(thin.iter().all(|(_, mean)| (mean - 7.0).abs() < 1e-9), "{thin:?}");
    }

    #[test]
    fn odd_series_do_no_harm() {
        let empty = Panel { lines: vec![Line { name: 0, steps: vec![] }], ..Panel::default() };
        for panels in [vec![], vec![empty]] {
            let picture = svg(&Series { panels, names: vec!["x".into()], ..Series::default() });
            assert!(!picture.contains("NaN") && !picture.contains("inf"));
        }
    }
}
