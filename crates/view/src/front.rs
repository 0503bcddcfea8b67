//! Pareto fronts: plans as points of cost and makespan, with a line through those that are not dominated.

use crate::axis::{Tick, decimal_ticks, ticks};
use crate::chart::Category;
use crate::palette;
use crate::svg::{Anchor, Canvas, Heading, MARGIN, Type};
use crate::text::coordinate;
use std::fmt::Write;
use std::ops::Range;

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontPoint {
    /// The method that made it.
    pub name: String,
    /// Its makespan in seconds.
    pub makespan: f64,
    /// Its cost.
    pub cost: f64,
    /// Whether another plan is better in one criterion and no worse in the other.
    pub dominated: bool,
}

/// The content of a picture of a front.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// Title above the picture.
    pub title: String,
    /// Lines below the title.
    pub facts: Vec<String>,
    /// The plans.
    pub points: Vec<FrontPoint>,
    /// Date that plans should not exceed, drawn as a line.
    pub deadline: Option<f64>,
    /// Cost that plans should not exceed, drawn as a line.
    pub budget: Option<f64>,
}

/// Width of the picture, height of the plot, its left margin, and font size of labels, in pixels.
const WIDTH: f64 = 900.0;
const PLOT: f64 = 460.0;
const LEFT: f64 = 76.0;
const LABEL: f64 = 11.5;
/// Planners with a colour and a line in the legend.
const NAMED: usize = palette::CATEGORICAL.len();

/// Draws a front as SVG: cost on the x axis, makespan on the y axis.
pub fn svg(front: &Front) -> String {
    let names = names(front);
    let categories: Vec<Category> = names
        .iter()
        .map(|(name, count)| Category { name: name.clone(), count: *count, rest: name == REST })
        .collect();
    let mut canvas = Canvas::new();
    let heading = Heading {
        title: &front.title,
        facts: &front.facts,
        categories: &categories,
        ordered: false,
        width: WIDTH,
    };
    let top = canvas.heading(&heading) + 16.0;
    let best = || front.points.iter().filter(|p| !p.dominated);
    let costs =
        shown_range(best().map(|p| p.cost), front.budget, front.points.iter().map(|p| p.cost));
    let times = shown_range(
        best().map(|p| p.makespan),
        front.deadline,
        front.points.iter().map(|p| p.makespan),
    );
    let frame = Frame { costs, times, top };
    frame.axes(&mut canvas);
    frame.limits(&mut canvas, front);
    frame.line(&mut canvas, front);
    // Dominated plans first, so that the others are on top of them.
    for dominated in [true, false] {
        // Of equal plans the first one has the label, so its circle is drawn last.
        for point in front.points.iter().rev().filter(|p| p.dominated == dominated) {
            let named = names.iter().position(|(name, _)| *name == point.name);
            frame.point(&mut canvas, point, named.unwrap_or(names.len().saturating_sub(1)));
        }
    }
    frame.labels(&mut canvas, front);
    frame.outside(&mut canvas, front);
    canvas.finish(WIDTH, top + PLOT + 54.0, &front.title)
}

const REST: &str = "others";

/// The planners with the number of their plans: those with undominated plans first.
fn names(front: &Front) -> Vec<(String, usize)> {
    let mut names: Vec<(String, usize, usize)> = Vec::new();
    for point in &front.points {
        let best = usize::from(!point.dominated);
        match names.iter_mut().find(|(name, ..)| *name == point.name) {
            Some((_, count, bests)) => (*count, *bests) = (*count + 1, *bests + best),
            None => names.push((point.name.clone(), 1, best)),
        }
    }
    names.sort_by_key(|&(_, _, best)| std::cmp::Reverse(best));
    let mut shown: Vec<(String, usize)> =
        names.iter().map(|(name, count, _)| (name.clone(), *count)).collect();
    if shown.len() > NAMED {
        let rest = shown.drain(NAMED - 1..).map(|(_, count)| count).sum();
        shown.push((REST.to_string(), rest));
    }
    shown
}

/// Greatest distance of a limit above the undominated plans at which it is drawn, in spans of these: a limit is what
/// readers compare with, so it may be far away.
const LIMIT_BEYOND: f64 = 4.0;

/// Margin around the undominated plans within which dominated ones are drawn at their place, in spans of the former.
const BEYOND: f64 = 0.5;

/// The range of an axis: of undominated plans, of a limit, and of dominated plans that are near enough not to squeeze
/// the front.
fn shown_range(
    best: impl Iterator<Item = f64> + Clone,
    limit: Option<f64>,
    all: impl Iterator<Item = f64> + Clone,
) -> Range<f64> {
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        let finite = values.filter(|v| v.is_finite());
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
    };
    let (low, high) = ends(&mut best.clone());
    if low > high {
        return range(all.chain(limit));
    }
    let span = if high > low { high - low } else { high.abs() };
    let (first, last) = (low - BEYOND * span, high + BEYOND * span);
    let limit = limit.filter(|limit| *limit <= high + LIMIT_BEYOND * span);
    range(best.chain(limit).chain(all.filter(|v| (first..=last).contains(v))))
}

/// From the least to the greatest value, with 5 % more at both ends.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return 0.0..1.0;
    }
    let air = if high > low { 0.05 * (high - low) } else { 0.05 * high.abs().max(1e-9) };
    (low - air).max(0.0).min(low)..high + air
}

struct Frame {
    costs: Range<f64>,
    times: Range<f64>,
    top: f64,
}

impl Frame {
    fn right(&self) -> f64 {
        WIDTH - MARGIN
    }

    fn x(&self, cost: f64) -> f64 {
        let share = (cost - self.costs.start) / (self.costs.end - self.costs.start);
        LEFT + share * (self.right() - LEFT)
    }

    fn y(&self, seconds: f64) -> f64 {
        let share = (seconds - self.times.start) / (self.times.end - self.times.start);
        self.top + (1.0 - share) * PLOT
    }

    fn axes(&self, canvas: &mut Canvas) {
        let bottom = self.top + PLOT;
        let text = |anchor| Type { class: "dim", size: LABEL, anchor };
        for Tick { at, text: label } in decimal_ticks(&self.costs, 10) {
            let x = self.x(at);
            canvas.line("grid", [x, self.top, x, bottom]);
            canvas.text(x, bottom + 16.0, text(Anchor::Middle), &label);
        }
        for Tick { at, text: label } in ticks(&self.times, 8) {
            let y = self.y(at);
            canvas.line("grid", [LEFT, y, self.right(), y]);
            canvas.text(LEFT - 8.0, y + 4.0, text(Anchor::End), &label);
        }
        canvas.line("rule", [LEFT, self.top, LEFT, bottom]);
        canvas.line("rule", [LEFT, bottom, self.right(), bottom]);
        let middle = (LEFT + self.right()) / 2.0;
        canvas.text(middle, bottom + 36.0, text(Anchor::Middle), "cost");
        canvas.text(MARGIN, self.top - 5.0, text(Anchor::Start), "makespan");
    }

    fn limits(&self, canvas: &mut Canvas, front: &Front) {
        let style = |anchor| Type { class: "at", size: LABEL, anchor };
        if let Some(budget) = front.budget {
            let x = self.x(budget);
            canvas.line("alarm", [x, self.top, x, self.top + PLOT]);
            canvas.text(x - 5.0, self.top + 12.0, style(Anchor::End), "budget");
        }
        if let Some(deadline) = front.deadline {
            let y = self.y(deadline);
            canvas.line("alarm", [LEFT, y, self.right(), y]);
            canvas.text(self.right() - 4.0, y - 5.0, style(Anchor::End), "deadline");
        }
    }

    /// Draws the front: a staircase through the undominated plans.
    fn line(&self, canvas: &mut Canvas, front: &Front) {
        let mut best: Vec<(f64, f64)> =
            front.points.iter().filter(|p| !p.dominated).map(|p| (p.cost, p.makespan)).collect();
        best.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut path = String::new();
        for (index, &(cost, seconds)) in best.iter().enumerate() {
            let (x, y) = (coordinate(self.x(cost)), coordinate(self.y(seconds)));
            let _ = match index {
                0 => write!(path, "M{x} {y}"),
                _ => write!(path, "H{x}V{y}"),
            };
        }
        let _ = writeln!(canvas.body, "<path class=\"wire\" d=\"{path}\"/>");
    }

    /// Whether a plan is in the picture; others are drawn at its edge.
    fn holds(&self, point: &FrontPoint) -> bool {
        self.costs.contains(&point.cost) && self.times.contains(&point.makespan)
    }

    /// Names of undominated plans, where they fit without overlap.
    fn labels(&self, canvas: &mut Canvas, front: &Front) {
        let mut taken: Vec<[f64; 4]> = Vec::new();
        let best = || front.points.iter().filter(|p| !p.dominated && self.holds(p));
        for point in best() {
            let (x, y) = (self.x(point.cost), self.y(point.makespan));
            taken.push([x - 4.0, y - 4.0, x + 4.0, y + 4.0]);
        }
        let mut named: Vec<(f64, f64)> = Vec::new();
        for point in best() {
            let (x, y) = (self.x(point.cost), self.y(point.makespan));
            // Several planners may have found the same.
            if named.iter().any(|&(a, b)| (a - x).abs() < 0.5 && (b - y).abs() < 0.5) {
                continue;
            }
            named.push((x, y));
            let width = crate::text::width(&point.name) * LABEL;
            let places = [(8.0, -6.0), (8.0, 14.0), (-8.0 - width, 14.0), (-8.0 - width, -6.0)];
            let free = places.into_iter().find_map(|(right, down)| {
                let (left, base) = (x + right, y + down);
                let area = [left, base - LABEL, left + width, base + 3.0];
                let inside = area[0] >= LEFT
                    && area[2] <= self.right()
                    && area[1] >= self.top
                    && area[3] <= self.top + PLOT;
                let clear = taken.iter().all(|other| !overlap(&area, other));
                (inside && clear).then_some((left, base, area))
            });
            if let Some((left, base, area)) = free {
                taken.push(area);
                let style = Type { class: "dim", size: LABEL, anchor: Anchor::Start };
                canvas.text(left, base, style, &point.name);
            }
        }
    }

    /// Writes the number of plans that are drawn at the edge because they are outside.
    fn outside(&self, canvas: &mut Canvas, front: &Front) {
        let far = front.points.iter().filter(|p| !self.holds(p)).count();
        if far > 0 {
            let plans = if far == 1 { "1 plan is".to_string() } else { format!("{far} plans are") };
            let text = format!("{plans} outside, drawn at the edge");
            let style = Type { class: "dim", size: LABEL, anchor: Anchor::End };
            canvas.text(self.right(), self.top - 5.0, style, &text);
        }
    }

    fn point(&self, canvas: &mut Canvas, point: &FrontPoint, index: usize) {
        let x = self.x(point.cost).clamp(LEFT, self.right());
        let y = self.y(point.makespan).clamp(self.top, self.top + PLOT);
        let (x, y) = (coordinate(x), coordinate(y));
        let (class, radius) = if point.dominated { ("pale", "3.5") } else { ("", "5.5") };
        let _ = write!(
            canvas.body,
            "<circle class=\"k{index} {class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"><title>"
        );
        let label = format!("{}: {:.6} s, cost {:.6}", point.name, point.makespan, point.cost);
        crate::text::push_escaped(&mut canvas.body, &label);
        canvas.body.push_str("</title></circle>\n");
    }
}

fn overlap(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, makespan: f64, cost: f64, dominated: bool) -> FrontPoint {
        FrontPoint { name: name.into(), makespan, cost, dominated }
    }

    #[test]
    fn every_plan_is_a_point_and_the_best_make_a_line() {
        let points = vec![
            point("heft", 28.0, 30.0, false),
            point("hbcs", 52.0, 24.75, false),
            point("bheft", 60.0, 26.0, true),
            point("cheapest", 128.0, 20.0, false),
        ];
        let front = Front { points, budget: Some(25.0), deadline: Some(53.0), ..Front::default() };
        let picture = svg(&front);
        assert_eq!(picture.matches("<circle").count(), 4);
        assert_eq!(picture.matches("pale").count(), 1 + 1); // the style and one point
        assert!(picture.contains(">budget<") && picture.contains(">deadline<"));
        let line = picture.split("class=\"wire\" d=\"").nth(1).unwrap();
        assert_eq!(line.split('"').next().unwrap().matches('H').count(), 2);
    }

    #[test]
    fn outliers_do_not_squeeze_the_front() {
        let mut points = vec![
            point("heft", 28.0, 30.0, false),
            point("hbcs", 52.0, 24.0, false),
            point("cheapest", 100.0, 20.0, false),
        ];
        let circles = |points: &[FrontPoint]| -> Vec<String> {
            let picture = svg(&Front { points: points.to_vec(), ..Front::default() });
            let parts = picture.split("<circle ").skip(1);
            parts
                .filter(|c| !c.contains("pale"))
                .map(|c| c.split('>').next().unwrap().to_string())
                .collect()
        };
        let alone = circles(&points);
        points.push(point("olb", 9000.0, 800.0, true));
        assert_eq!(circles(&points), alone);
        let picture = svg(&Front { points, ..Front::default() });
        assert!(picture.contains("1 plan is outside"), "{picture}");
        for name in ["heft", "hbcs", "cheapest"] {
            // In the legend, and beside its point.
            assert!(picture.matches(&format!(">{name}")).count() >= 2, "{name}");
        }
    }

    #[test]
    fn odd_points_do_no_harm() {
        for points in [vec![], vec![point("x", 0.0, 0.0, false)]] {
            let picture = svg(&Front { points, ..Front::default() });
            assert!(!picture.contains("NaN") && !picture.contains("inf"));
        }
    }
}
