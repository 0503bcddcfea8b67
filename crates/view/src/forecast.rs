//! Forecasts: how a figure is distributed over many runs, with its quantiles, and as a fan what the
//! courses of each decision make of it.

use crate::axis::{Tick, decimal_ticks, ticks};
use crate::svg::{Anchor, Canvas, Heading, MARGIN, Type};
use crate::text::{coordinate, fit, width};
use slackline_model::units::fmt_seconds;
use std::fmt::Write;

/// The content of a picture of a forecast.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Above the picture.
    pub title: String,
    /// One panel each.
    pub figures: Vec<Figure>,
}

/// A figure over all runs.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// Whether values are seconds.
    pub is_time: bool,
    /// One value per run.
    pub values: Vec<f64>,
    /// A limit and its name.
    pub limit: Option<(String, f64)>,
    /// Share of runs within the limit.
    pub kept: Option<f64>,
    /// Its values by the outcomes of decisions.
    pub groups: Vec<Group>,
}

/// The courses of a choice or loop.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Share of the variance between its courses.
    pub explained: f64,
    /// Each course: name, share of runs, mean of the figure.
    pub courses: Vec<(String, f64, f64)>,
}

const WIDTH: f64 = 900.0;
const LEFT: f64 = 190.0;
const PLOT: f64 = 170.0;
const BARS: usize = 40;
const ROW: f64 = 17.0;
/// Courses of a group that are drawn, the most frequent.
const COURSES: usize = 6;
const NOTE: f64 = 11.5;

/// Draws panels below each other.
pub fn svg(picture: &Picture) -> String {
    let mut canvas = Canvas::new();
    let heading = Heading {
        title: &picture.title,
        facts: &["bars: share of runs; below them: means by how decisions fell".to_string()],
        categories: &[],
        ordered: false,
        width: WIDTH,
    };
    let mut top = canvas.heading(&heading) + 16.0;
    for figure in picture.figures.iter().filter(|f| !f.values.is_empty()) {
        top = panel(&mut canvas, figure, top) + 34.0;
    }
    canvas.finish(WIDTH, top, &picture.title)
}

fn style(class: &'static str, anchor: Anchor) -> Type {
    Type { class, size: NOTE, anchor }
}

fn panel(canvas: &mut Canvas, figure: &Figure, top: f64) -> f64 {
    let mut sorted = figure.values.clone();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let limit = figure.limit.as_ref().map(|(_, at)| *at).filter(|at| at.is_finite());
    // A limit far away would leave no room for the runs.
    let limit = limit.filter(|at| *at <= last + 2.0 * (last - first).max(0.1 * last));
    let low = limit.map_or(first, |at| at.min(first));
    let high = limit.map_or(last, |at| at.max(last));
    let room = if high > low { 0.04 * (high - low) } else { high.abs().max(1.0) * 0.5 };
    let (low, high) = ((low - room).max(0.0).min(low), high + room);
    let right = WIDTH - MARGIN;
    let x = |value: f64| LEFT + (value - low) / (high - low) * (right - LEFT);
    let label = |value: f64| {
        if figure.is_time {
            fmt_seconds(value)
        } else {
            format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_string()
        }
    };
    canvas.text(
        MARGIN,
        top + 12.0,
        Type { class: "ink head", size: 13.5, anchor: Anchor::Start },
        &figure.name,
    );
    if let (Some((name, _)), Some(kept)) = (&figure.limit, figure.kept) {
        let text = format!("{name} kept: {:.1} %", 100.0 * kept);
        canvas.text(MARGIN, top + 30.0, style("dim", Anchor::Start), &text);
    }
    let bottom = top + PLOT;
    let marks =
        if figure.is_time { ticks(&(low..high), 7) } else { decimal_ticks(&(low..high), 7) };
    for Tick { at, text } in marks {
        canvas.line("grid", [x(at), top, x(at), bottom]);
        canvas.text(x(at), bottom + 15.0, style("dim", Anchor::Middle), &text);
    }
    let mut counts = [0usize; BARS];
    for value in &sorted {
        let at = ((value - low) / (high - low) * BARS as f64) as usize;
        counts[at.min(BARS - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let step = (right - LEFT) / BARS as f64;
    for (at, count) in counts.iter().enumerate().filter(|(_, c)| **c > 0) {
        let height = *count as f64 / most * (PLOT - 30.0);
        let _ = writeln!(
            canvas.body,
            "<rect class=\"course\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            coordinate(LEFT + at as f64 * step + 0.5),
            coordinate(bottom - height),
            coordinate(step - 1.0),
            coordinate(height)
        );
    }
    canvas.line("rule", [LEFT, bottom, right, bottom]);
    let rank = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
    for (row, (percent, name)) in [(10, "10 %"), (50, "median"), (90, "90 %")].iter().enumerate() {
        let at = rank(*percent);
        canvas.line("end", [x(at), top + 14.0, x(at), bottom]);
        let near_end = x(at) > right - 150.0;
        let (anchor, shift) = if near_end { (Anchor::End, -4.0) } else { (Anchor::Start, 4.0) };
        let text = format!("{name} {}", label(at));
        canvas.text(x(at) + shift, top + 12.0 + 13.0 * row as f64, style("ink", anchor), &text);
    }
    if let (Some(at), Some((name, _))) = (limit, &figure.limit) {
        canvas.line("alarm", [x(at), top + 40.0, x(at), bottom]);
        let near_end = x(at) > right - 150.0;
        let (anchor, shift) = if near_end { (Anchor::End, -4.0) } else { (Anchor::Start, 4.0) };
        let text = format!("{name} {}", label(at));
        canvas.text(x(at) + shift, top + 51.0, style("at", anchor), &text);
    }
    fan(canvas, figure, bottom + 36.0, &x, &label)
}

/// One row per course of each block; returns where it ends.
fn fan(
    canvas: &mut Canvas,
    figure: &Figure,
    mut y: f64,
    x: &dyn Fn(f64) -> f64,
    label: &dyn Fn(f64) -> String,
) -> f64 {
    let mean = figure.values.iter().sum::<f64>() / figure.values.len() as f64;
    for group in figure.groups.iter().filter(|g| g.courses.len() > 1) {
        let name = format!("{} explains {:.0} %", group.name, 100.0 * group.explained);
        let name = fit(&name, (LEFT - MARGIN) / NOTE).unwrap_or_default();
        canvas.text(MARGIN, y + 4.0, style("ink", Anchor::Start), &name);
        let mut courses: Vec<_> = group.courses.iter().collect();
        courses.sort_by(|a, b| b.1.total_cmp(&a.1));
        courses.truncate(COURSES);
        courses.sort_by(|a, b| a.2.total_cmp(&b.2));
        let (mut words, mut placed) = (String::new(), Vec::new());
        let middle = y + ROW * (courses.len() as f64 - 1.0) / 2.0;
        for (outcome, share, value) in courses {
            let _ = writeln!(
                canvas.body,
                "<path class=\"wire\" d=\"M{} {}L{} {}\"/><circle class=\"pt\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>",
                coordinate(x(mean)),
                coordinate(middle),
                coordinate(x(*value)),
                coordinate(y),
                coordinate(x(*value)),
                coordinate(y),
                coordinate(2.0 + 4.0 * share.sqrt())
            );
            let near_end = x(*value) > WIDTH - MARGIN - 220.0;
            let (anchor, shift) =
                if near_end { (Anchor::End, -10.0) } else { (Anchor::Start, 10.0) };
            let text = format!("{outcome}: {} ({:.0} %)", label(*value), 100.0 * share);
            let wide = width(&text) * NOTE + 6.0;
            let left =
                if near_end { x(*value) + shift - wide + 3.0 } else { x(*value) + shift - 3.0 };
            words += &format!(
                "<rect class=\"bg\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\"/>",
                coordinate(left),
                coordinate(y - 7.0),
                coordinate(wide)
            );
            placed.push((x(*value) + shift, y + 4.0, anchor, text));
            y += ROW;
        }
        canvas.body.push_str(&words);
        for (x, y, anchor, text) in placed {
            canvas.text(x, y, style("dim", anchor), &text);
        }
        y += 8.0;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_a_panel_with_quantiles_and_a_limit() {
        let figure = |name: &str, is_time| Figure {
            name: name.into(),
            is_time,
            values: (1..=20).map(f64::from).collect(),
            limit: Some(("budget".into(), 12.0)),
            kept: Some(0.6),
            groups: vec![Group {
                name: "qc".into(),
                explained: 0.8,
                courses: vec![("good".into(), 0.7, 6.0), ("bad".into(), 0.3, 17.0)],
            }],
        };
        let picture = svg(&Picture {
            title: "t".into(),
            figures: vec![figure("makespan", true), figure("cost", false)],
        });
        assert_eq!(picture.matches("class=\"alarm\"").count(), 2);
        assert_eq!(picture.matches("<circle").count(), 4);
        assert!(picture.contains("budget kept: 60.0 %") && picture.contains("qc explains 80 %"));
    }

    #[test]
    fn odd_values_do_no_harm() {
        for values in [vec![0.0], vec![5.0; 3], vec![]] {
            let figure =
                Figure { values, limit: Some(("budget".into(), 1e30)), ..Figure::default() };
            let picture = svg(&Picture { title: String::new(), figures: vec![figure] });
            assert!(!picture.contains("NaN") && !picture.contains("inf"));
        }
    }
}
