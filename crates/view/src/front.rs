//! Plans as points of time and money, the ones that no other beats joined by a line.

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
    /// Who made it.
    pub name: String,
    /// Its end, seconds.
    pub makespan: f64,
    /// Its money.
    pub cost: f64,
    /// Another plan is better in one and no worse in the other.
    pub dominated: bool,
}

/// What to draw.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// Above the picture.
    pub title: String,
    /// Below the title.
    pub facts: Vec<String>,
    /// The plans.
    pub points: Vec<FrontPoint>,
    /// Lines that plans should stay under.
    pub deadline: Option<f64>,
    /// The same for money.
    pub budget: Option<f64>,
}

const WIDTH: f64 = 900.0;
const PLOT: f64 = 460.0;
const LEFT: f64 = 76.0;
const LABEL: f64 = 11.5;
/// Planners with a colour and a line in the legend.
const NAMED: usize = palette::CATEGORICAL.len();

/// Draws plans: cost to the right, makespan upwards.
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
    let costs = range(front.points.iter().map(|p| p.cost).chain(front.budget));
    let times = range(front.points.iter().map(|p| p.makespan).chain(front.deadline));
    let frame = Frame { costs, times, top };
    frame.axes(&mut canvas);
    frame.limits(&mut canvas, front);
    frame.line(&mut canvas, front);
    // Dominated plans first, so that the others lie on top of them.
    for dominated in [true, false] {
        for point in front.points.iter().filter(|p| p.dominated == dominated) {
            let named = names.iter().position(|(name, _)| *name == point.name);
            frame.point(&mut canvas, point, named.unwrap_or(names.len().saturating_sub(1)));
        }
    }
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

/// From the least to the largest value with some air around them.
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

    /// What can be had: a staircase through the plans that no other beats.
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

    fn point(&self, canvas: &mut Canvas, point: &FrontPoint, index: usize) {
        let (x, y) = (coordinate(self.x(point.cost)), coordinate(self.y(point.makespan)));
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
    fn odd_points_do_no_harm() {
        for points in [vec![], vec![point("x", 0.0, 0.0, false)]] {
            let picture = svg(&Front { points, ..Front::default() });
            assert!(!picture.contains("NaN") && !picture.contains("inf"));
        }
    }
}
