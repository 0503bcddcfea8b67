//! Progress of runs: tasks done over time, one curve per run.

use crate::axis::{Tick, decimal_ticks, ticks};
use crate::chart::Category;
use crate::palette;
use crate::svg::{Anchor, Canvas, Heading, MARGIN, Type};
use crate::text::coordinate;
use std::fmt::Write;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Dates in seconds at which the number of finished tasks changes, and the number from then on. It falls where results
    /// are lost.
    pub steps: Vec<(f64, usize)>,
    /// End of the run, seconds.
    pub end: f64,
}

/// The content of a picture of progress.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Title above the picture.
    pub title: String,
    /// Lines below the title.
    pub facts: Vec<String>,
    /// The runs.
    pub curves: Vec<Curve>,
    /// Number of all tasks.
    pub tasks: usize,
}

/// Width of the picture, height of the plot, its left margin, and font size of labels, in pixels.
const WIDTH: f64 = 900.0;
const PLOT: f64 = 420.0;
const LEFT: f64 = 64.0;
const LABEL: f64 = 11.5;

/// Draws a progress chart as SVG: time on the x axis, finished tasks on the y axis.
pub fn svg(progress: &Progress) -> String {
    let categories: Vec<Category> = progress
        .curves
        .iter()
        .map(|curve| Category { name: curve.name.clone(), count: 1, rest: false })
        .collect();
    let mut canvas = Canvas::new();
    let heading = Heading {
        title: &progress.title,
        facts: &progress.facts,
        categories: &categories,
        ordered: false,
        width: WIDTH,
    };
    let top = canvas.heading(&heading) + 22.0;
    let ends = progress.curves.iter().map(|c| c.end).filter(|end| end.is_finite());
    let end = ends.fold(0.0, f64::max);
    let (span, count) = (if end > 0.0 { end } else { 1.0 }, progress.tasks.max(1) as f64);
    let (right, bottom) = (WIDTH - MARGIN, top + PLOT);
    let x = |seconds: f64| LEFT + seconds / span * (right - LEFT);
    let y = |done: f64| bottom - done / count * PLOT;
    let text = |anchor| Type { class: "dim", size: LABEL, anchor };
    for Tick { at, text: label } in ticks(&(0.0..span), 9) {
        canvas.line("grid", [x(at), top, x(at), bottom]);
        canvas.text(x(at), bottom + 16.0, text(Anchor::Middle), &label);
    }
    for Tick { at, text: label } in decimal_ticks(&(0.0..count), 6) {
        if at.fract() == 0.0 {
            canvas.line("grid", [LEFT, y(at), right, y(at)]);
            canvas.text(LEFT - 8.0, y(at) + 4.0, text(Anchor::End), &label);
        }
    }
    canvas.line("rule", [LEFT, top, LEFT, bottom]);
    canvas.line("rule", [LEFT, bottom, right, bottom]);
    canvas.text(MARGIN, top - 11.0, text(Anchor::Start), "tasks done");
    for (index, curve) in progress.curves.iter().enumerate() {
        let mut path = format!("M{} {}", coordinate(x(0.0)), coordinate(y(0.0)));
        for &(seconds, done) in &curve.steps {
            let (x, y) = (coordinate(x(seconds)), coordinate(y(done as f64)));
            let _ = write!(path, "H{x}V{y}");
        }
        let _ = write!(path, "H{}", coordinate(x(curve.end.min(span))));
        let colour = palette::of(index, progress.curves.len(), false, false).rgb;
        let _ = writeln!(
            canvas.body,
            "<path d=\"{path}\" fill=\"none\" stroke=\"#{colour:06x}\" stroke-width=\"2\"/>"
        );
    }
    canvas.finish(WIDTH, bottom + 34.0, &progress.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_a_curve_that_rises_to_the_top() {
        let curve = |name: &str, end: f64| Curve {
            name: name.into(),
            steps: vec![(1.0, 1), (2.0, 2), (end, 4)],
            end,
        };
        let curves = vec![curve("h0", 10.0), curve("h4", 5.0)];
        let picture = svg(&Progress { curves, tasks: 4, ..Progress::default() });
        assert_eq!(picture.matches("stroke-width=\"2\"").count(), 2);
        assert!(picture.contains(">h0<") && picture.contains(">h4<"));
        assert!(picture.contains(">tasks done<"));
    }

    #[test]
    fn odd_runs_do_no_harm() {
        for curves in [vec![], vec![Curve { name: "x".into(), steps: vec![], end: 0.0 }]] {
            let picture = svg(&Progress { curves, ..Progress::default() });
            assert!(!picture.contains("NaN") && !picture.contains("inf"));
        }
    }
}
