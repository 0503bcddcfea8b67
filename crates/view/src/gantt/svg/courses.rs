//! Step series (such as the number of waiting workflows), drawn as areas below the rows, on the same time axis.

use super::frame::{Frame, HOST};
use crate::chart::{Chart, StepSeries};
use crate::svg::{Anchor, Canvas, MARGIN, Type};
use crate::text::{coordinate, escaped, fit};
use std::fmt::Write;

/// Height of an area, and gap between two, in pixels.
const HEIGHT: f64 = 40.0;
const GAP: f64 = 10.0;
const LEVEL: Type = Type { class: "dim", size: 9.5, anchor: Anchor::End };

/// Draws step series one below the other from the y coordinate `top` on; returns their total height in pixels.
pub(super) fn courses(
    canvas: &mut Canvas,
    chart: &Chart,
    (frame, courses): (&Frame, &[StepSeries]),
    top: f64,
) -> f64 {
    let (left, right) = (frame.left, frame.left + frame.width);
    for (index, course) in courses.iter().enumerate() {
        let roof = top + index as f64 * (HEIGHT + GAP);
        let floor = roof + HEIGHT;
        frame.grid(canvas, chart, [roof, floor]);
        let shown = course.steps.iter().filter(|(date, _)| *date < chart.span.end);
        let highest = shown.clone().map(|s| s.1).fold(0.0, f64::max);
        let most = highest.max(course.capacity.unwrap_or(0.0));
        let x = left - 8.0;
        let name = fit(&course.name, (x - MARGIN / 2.0) / HOST.size).unwrap_or_default();
        canvas.text(x, floor - HEIGHT / 2.0 + 8.0, HOST, &name);
        let level = if course.top.is_empty() { format!("{most:.0}") } else { course.top.clone() };
        canvas.text(x, roof + 7.0, LEVEL, &level);
        let y = |level: f64| floor - if most > 0.0 { level / most * HEIGHT } else { 0.0 };
        let mut path = format!("M{} {}", coordinate(left), coordinate(floor));
        let points = shown.map(|&(date, level)| (frame.x(chart, date), level));
        for (x, level) in thinned(points.collect(), frame.width) {
            let _ = write!(path, "H{}V{}", coordinate(x), coordinate(y(level)));
        }
        let _ = writeln!(
            canvas.body,
            "<path class=\"course\" d=\"{path}H{}V{}z\"><title>{}</title></path>",
            coordinate(right),
            coordinate(floor),
            escaped(&course.name)
        );
        canvas.line("rule", [left, floor, right, floor]);
        if course.capacity.is_some() {
            canvas.line("rule", [left, roof, right, roof]);
        }
    }
    match courses.len() {
        0 => 0.0,
        count => count as f64 * (HEIGHT + GAP) + MARGIN / 2.0,
    }
}

/// The steps of a curve of `width` pixels. Beyond four steps per pixel, only the highest level of each half pixel is kept,
/// so that peaks remain visible and files small.
fn thinned(points: Vec<(f64, f64)>, width: f64) -> Vec<(f64, f64)> {
    if points.len() as f64 <= 4.0 * width {
        return points;
    }
    let mut kept: Vec<(f64, f64)> = Vec::new();
    // The level of the column before lasts into this one.
    let mut last = 0.0;
    for (x, level) in points {
        let column = (2.0 * x).floor() / 2.0;
        match kept.last_mut() {
            Some((known, highest)) if *known == column => *highest = highest.max(level),
            _ => kept.push((column, if x > column { level.max(last) } else { level })),
        }
        last = level;
    }
    // The curve has to end at its last level.
    if let Some(&(column, highest)) = kept.last()
        && highest != last
    {
        kept.push((column + 0.5, last));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::thinned;

    use crate::chart::{Arrow, Chart, Group, StepSeries};
    use crate::gantt::{SvgOptions, svg};

    #[test]
    fn transfers_too_many_to_draw_become_a_strip() {
        let arrow = |start: f64| Arrow {
            from: 0,
            to: 0,
            start,
            finish: start + 2.0,
            note: "data".to_string(),
            broken: false,
        };
        let group = Group { name: "h".to_string(), section: String::new(), rows: 1 };
        let arrows = vec![arrow(0.0), arrow(1.0), arrow(5.0)];
        let chart = Chart { span: 0.0..10.0, arrows, groups: vec![group], ..Chart::default() };
        let drawn = svg(&chart, &SvgOptions::default());
        assert!(drawn.contains(">transfer (3)<"), "their lines are explained: {drawn}");
        assert_eq!(drawn.matches("class=\"course\"").count(), 0);
        let strip = svg(&chart, &SvgOptions { most_arrows: 2, ..SvgOptions::default() });
        assert_eq!(strip.matches("class=\"course\"").count(), 1);
        assert!(strip.contains(">transfers<") && strip.contains(">2<"), "{strip}");
    }

    #[test]
    fn curves_of_many_steps_keep_their_peaks() {
        let few = vec![(0.0, 1.0), (0.1, 3.0), (50.0, 0.0)];
        assert_eq!(thinned(few.clone(), 100.0), few);
        let mut many: Vec<(f64, f64)> =
            (0..50_000).map(|n| (f64::from(n) / 500.0, f64::from(n % 2))).collect();
        many[25_001].1 = 7.0;
        many.push((99.999, 0.0));
        let kept = thinned(many, 100.0);
        assert!(kept.len() <= 202, "{}", kept.len());
        assert!(kept.windows(2).all(|w| w[0].0 < w[1].0));
        assert_eq!(kept.iter().filter(|(_, level)| *level == 7.0).count(), 1);
        assert_eq!(kept.last().map(|(_, level)| *level), Some(0.0));
    }

    #[test]
    fn courses_are_below_the_rows() {
        let mut chart = Chart { span: 0.0..10.0, ..Chart::default() };
        let plain = svg(&chart, &SvgOptions::default());
        let course = |name: &str, steps: &[(f64, f64)]| StepSeries {
            name: name.into(),
            steps: steps.into(),
            ..StepSeries::default()
        };
        chart.courses = vec![
            course("waiting", &[(0.0, 1.0), (5.0, 4.0), (10.0, 0.0)]),
            course("never", &[]),
            course("nothing", &[(0.0, 0.0)]),
        ];
        let picture = svg(&chart, &SvgOptions::default());
        assert_eq!(picture.matches("class=\"course\"").count(), 3);
        assert!(picture.contains(">waiting<") && picture.contains(">4<"));
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
        assert!(!plain.contains("class=\"course\""));
    }
}
