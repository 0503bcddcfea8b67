//! A Gantt chart as SVG.
//!
//! Up to a few hundred processors have a row each. More are drawn as one area per host or cluster, whose height is the
//! share of busy processors. Bars too narrow to see are merged with their neighbours, so that the file of a million tasks
//! is no larger than that of some thousands.

mod annotations;
mod areas;
mod bars;
mod courses;
mod frame;

use crate::chart::{Arrow, Chart, StepSeries};
use crate::lanes::{Lanes, Level};
use crate::svg::{Anchor, Canvas, Heading, MARGIN, Type};
use areas::areas;
use bars::bars;
use courses::courses;
use frame::Frame;

/// Options of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvgOptions {
    /// Width in pixels.
    pub width: f64,
    /// Most rows drawn one by one.
    pub most_rows: usize,
    /// Most transfers drawn; more would hide the chart.
    pub most_arrows: usize,
}

impl Default for SvgOptions {
    fn default() -> Self {
        SvgOptions { width: 1200.0, most_rows: 320, most_arrows: 600 }
    }
}

/// Number of transfers under way over time, drawn where there are too many for lines: it shows why hosts are idle.
fn under_way(arrows: &[Arrow]) -> StepSeries {
    let ends = arrows.iter().flat_map(|a| [(a.start, 1.0), (a.finish, -1.0)]);
    let mut ends: Vec<(f64, f64)> = ends.collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let mut level = 0.0;
    for (date, change) in ends {
        level += change;
        match steps.last_mut() {
            Some(last) if last.0 == date => last.1 = level,
            _ => steps.push((date, level)),
        }
    }
    StepSeries { name: "transfers".to_string(), steps, ..StepSeries::default() }
}

const FOOT: Type = Type { class: "dim", size: 11.0, anchor: Anchor::Start };

/// Draws a chart.
pub fn svg(chart: &Chart, options: &SvgOptions) -> String {
    let lanes = Lanes::of(chart, options.most_rows);
    let mut canvas = Canvas::new();
    let top = canvas.heading(&Heading {
        title: &chart.title,
        facts: &chart.facts,
        categories: &chart.categories,
        ordered: chart.ordered,
        width: options.width,
    });
    let frame = Frame::new(chart, &lanes, options.width, top);
    frame.background(&mut canvas, chart, &lanes);
    let arrows_drawn = lanes.level == Level::Row && chart.arrows.len() <= options.most_arrows;
    if lanes.level == Level::Row {
        // Under the bars: no line crosses a label.
        if arrows_drawn {
            annotations::arrows(&mut canvas, chart, &frame);
        }
        bars(&mut canvas, chart, &lanes, &frame);
        annotations::ties(&mut canvas, chart, &frame);
    } else {
        areas(&mut canvas, chart, &lanes, &frame);
    }
    frame.axis(&mut canvas, chart);
    annotations::replannings(&mut canvas, chart, &frame);
    annotations::marks(&mut canvas, chart, &frame);
    let mut bottom = frame.bottom() + 30.0 + MARGIN / 2.0;
    let mut strips = chart.courses.clone();
    if !arrows_drawn && !chart.arrows.is_empty() {
        strips.push(under_way(&chart.arrows));
    }
    bottom += courses(&mut canvas, chart, (&frame, &strips), bottom);
    let one_by_one = lanes.level == Level::Row;
    bottom += annotations::legend(&mut canvas, chart, options, one_by_one, bottom);
    for note in [lanes.folded_note(chart), chart.idle_note()].into_iter().flatten() {
        canvas.text(MARGIN, bottom + 6.0, FOOT, &note);
        bottom += 18.0;
    }
    canvas.finish(options.width, bottom, &chart.title)
}
