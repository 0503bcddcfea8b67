//! Pictures of comparisons: lines with bands, boxes, profiles, matrices, critical differences.
//!
//! Colours are those of Okabe and Ito, which people with any kind of colour vision can distinguish;
//! lines differ by dashes and marks too, so that they stay legible in grey.
//!
//! ```
//! use slackline_view::plot::{BoxPlot, boxes};
//!
//! let heft = BoxPlot { name: "heft".into(), values: vec![1.0, 2.0, 3.0, 9.0] };
//! assert!(boxes("makespan", "seconds", &[heft]).contains("heft"));
//! ```

use crate::axis::decimal_ticks;
use crate::svg::{Anchor, Canvas, MARGIN, Type};
use crate::text::{coordinate, fit, width};
use std::fmt::Write;

const TITLE: Type = Type { class: "ink head", size: 15.0, anchor: Anchor::Start };
const LABEL: Type = Type { class: "ink", size: 12.0, anchor: Anchor::Start };
const FAINT: Type = Type { class: "dim", size: 11.0, anchor: Anchor::Start };

const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c6d1f"];
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

/// Size in pixels of pictures with two axes.
const WIDE: f64 = 720.0;
const HIGH: f64 = 380.0;

/// Number of marks on each line of a performance profile.
const MARKS: usize = 4;

/// A sample that is drawn as a box.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxPlot {
    /// Its name.
    pub name: String,
    /// Its values, in any order.
    pub values: Vec<f64>,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the horizontal axis: the index of a level.
    pub x: f64,
    /// Value on the vertical axis.
    pub y: f64,
    /// Ends of its interval.
    pub band: Option<(f64, f64)>,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// A cell of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Colour from -1 (orange) over 0 (white) to 1 (blue).
    pub shade: f64,
    /// Its text.
    pub text: String,
}

/// A plot area with two axes; `x` and `y` are the ranges of values, other numbers are pixels.
struct Field {
    canvas: Canvas,
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    x: (f64, f64),
    y: (f64, f64),
}

impl Field {
    fn new(title: &str, y_label: &str, x: (f64, f64), y: (f64, f64), bottom: f64) -> Field {
        let mut canvas = Canvas::new();
        canvas.text(MARGIN, MARGIN + 12.0, TITLE, &fit(title, 44.0).unwrap_or_default());
        canvas.text(MARGIN, MARGIN + 32.0, FAINT, &fit(y_label, 60.0).unwrap_or_default());
        let y = if y.1 > y.0 { y } else { (y.0 - 0.5, y.1 + 0.5) };
        let x = if x.1 > x.0 { x } else { (x.0 - 0.5, x.1 + 0.5) };
        let (left, top) = (74.0, 64.0);
        let mut field =
            Field { canvas, left, top, right: WIDE - MARGIN, bottom: HIGH - bottom, x, y };
        for tick in decimal_ticks(&(field.y.0..field.y.1), 6) {
            let at = field.down(tick.at);
            field.canvas.line("grid", [field.left, at, field.right, at]);
            let style = Type { anchor: Anchor::End, ..FAINT };
            field.canvas.text(field.left - 6.0, at + 4.0, style, &tick.text);
        }
        field
    }

    fn across(&self, x: f64) -> f64 {
        self.left + (x - self.x.0) / (self.x.1 - self.x.0) * (self.right - self.left)
    }

    fn down(&self, y: f64) -> f64 {
        self.bottom - (y - self.y.0) / (self.y.1 - self.y.0) * (self.bottom - self.top)
    }

    fn shape(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.canvas.body, "{text}");
    }

    fn path(&mut self, points: &[(f64, f64)], number: usize) {
        let mut d = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            let letter = if at == 0 { 'M' } else { 'L' };
            let _ = write!(d, "{letter}{} {}", coordinate(*x), coordinate(*y));
        }
        let (colour, dash) = look(number);
        self.shape(format_args!(
            "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>"
        ));
    }

    fn mark(&mut self, x: f64, y: f64, number: usize) {
        let (colour, _) = look(number);
        let [l, r, t, b] = [x - 4.0, x + 4.0, y - 4.0, y + 4.0].map(coordinate);
        let [cx, cy] = [x, y].map(coordinate);
        match number % 4 {
            0 => self.shape(format_args!(
                "<circle cx=\"{cx}\" cy=\"{cy}\" r=\"3.6\" fill=\"{colour}\"/>"
            )),
            1 => self.shape(format_args!(
                "<rect x=\"{l}\" y=\"{t}\" width=\"8\" height=\"8\" fill=\"{colour}\"/>"
            )),
            2 => self
                .shape(format_args!("<path d=\"M{cx} {t}L{r} {b}L{l} {b}Z\" fill=\"{colour}\"/>")),
            _ => self.shape(format_args!(
                "<path d=\"M{cx} {t}L{r} {cy}L{cx} {b}L{l} {cy}Z\" fill=\"{colour}\"/>"
            )),
        }
    }

    /// Draws names beside samples of their lines; returns the height of the picture.
    fn legend(&mut self, names: &[&str], top: f64) -> f64 {
        let (mut x, mut y) = (self.left, top);
        for (number, name) in names.iter().enumerate() {
            let name = fit(name, 26.0).unwrap_or_default();
            let needed = 40.0 + width(&name) * LABEL.size + 12.0;
            if x + needed > self.right && x > self.left {
                (x, y) = (self.left, y + 19.0);
            }
            self.path(&[(x, y - 4.0), (x + 30.0, y - 4.0)], number);
            self.mark(x + 15.0, y - 4.0, number);
            self.canvas.text(x + 36.0, y, LABEL, &name);
            x += needed;
        }
        y + MARGIN
    }
}

/// Colour and dashes of the line with this number.
fn look(number: usize) -> (&'static str, &'static str) {
    // Dashes are shifted with each repetition of the colours: otherwise the ninth line would look like the first.
    let dash = number + number / COLOURS.len();
    (COLOURS[number % COLOURS.len()], DASHES[dash % DASHES.len()])
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
}

fn padded((low, high): (f64, f64)) -> (f64, f64) {
    if low > high {
        return (0.0, 1.0);
    }
    let room = if high > low { 0.06 * (high - low) } else { 0.1 * high.abs().max(1e-9) };
    let below = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
    (below, high + room)
}

/// Draws lines over the levels of a factor, with bands for intervals.
pub fn lines(
    title: &str,
    y_label: &str,
    x_label: &str,
    levels: &[String],
    lines: &[Line],
) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let values = points().flat_map(|p| {
        let (low, high) = p.band.unwrap_or((p.y, p.y));
        [p.y, low, high]
    });
    let x = (-0.3, levels.len().max(1) as f64 - 0.7);
    let mut field = Field::new(title, y_label, x, padded(range(values)), 74.0);
    let room = (field.right - field.left) / levels.len().max(1) as f64 / FAINT.size;
    for (at, level) in levels.iter().enumerate() {
        let style = Type { anchor: Anchor::Middle, ..FAINT };
        let text = fit(level, room).unwrap_or_default();
        let (x, y) = (field.across(at as f64), field.bottom + 16.0);
        field.canvas.text(x, y, style, &text);
    }
    let style = Type { anchor: Anchor::End, ..FAINT };
    let (right, bottom) = (field.right, field.bottom);
    field.canvas.text(right, bottom + 32.0, style, x_label);
    for (number, line) in lines.iter().enumerate() {
        let (colour, _) = look(number);
        let ends = |upper: bool| {
            line.points.iter().map(move |p| {
                let (low, high) = p.band.unwrap_or((p.y, p.y));
                (p.x, if upper { high } else { low })
            })
        };
        let around: Vec<(f64, f64)> =
            ends(true).chain(ends(false).collect::<Vec<_>>().into_iter().rev()).collect();
        let mut d = String::new();
        for (at, (x, y)) in around.iter().enumerate() {
            let letter = if at == 0 { 'M' } else { 'L' };
            let (x, y) = (coordinate(field.across(*x)), coordinate(field.down(*y)));
            let _ = write!(d, "{letter}{x} {y}");
        }
        field.shape(format_args!("<path d=\"{d}Z\" fill=\"{colour}\" fill-opacity=\".16\"/>"));
        let path: Vec<(f64, f64)> =
            line.points.iter().map(|p| (field.across(p.x), field.down(p.y))).collect();
        field.path(&path, number);
        path.iter().for_each(|&(x, y)| field.mark(x, y, number));
    }
    let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    let height = field.legend(&names, HIGH - 18.0);
    field.canvas.finish(WIDE, height, title)
}

/// Draws box plots: quartiles, whiskers to the outermost values within 1.5 interquartile ranges of the box, and values
/// beyond.
pub fn boxes(title: &str, y_label: &str, boxes: &[BoxPlot]) -> String {
    let all = boxes.iter().flat_map(|b| b.values.iter().copied());
    let x = (-0.5, boxes.len().max(1) as f64 - 0.5);
    let mut field = Field::new(title, y_label, x, padded(range(all)), 40.0);
    let step = (field.right - field.left) / boxes.len().max(1) as f64;
    for (number, b) in boxes.iter().enumerate() {
        let mut values: Vec<f64> = b.values.iter().copied().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let x = field.across(number as f64);
        let style = Type { anchor: Anchor::Middle, ..LABEL };
        let name = fit(&b.name, step / LABEL.size).unwrap_or_default();
        let below = field.bottom + 18.0;
        field.canvas.text(x, below, style, &name);
        if values.is_empty() {
            continue;
        }
        let quartile = |share: f64| {
            let at = (values.len() - 1) as f64 * share;
            let (low, part) = (at.floor() as usize, at.fract());
            let next = values[(low + 1).min(values.len() - 1)];
            values[low] * (1.0 - part) + next * part
        };
        let (q1, q2, q3) = (quartile(0.25), quartile(0.5), quartile(0.75));
        let reach = 1.5 * (q3 - q1);
        let inside = |v: &&f64| (q1 - reach..=q3 + reach).contains(*v);
        let low = values.iter().find(inside).copied().unwrap_or(q1).min(q1);
        let high = values.iter().rev().find(inside).copied().unwrap_or(q3).max(q3);
        let half = (0.3 * step).min(34.0);
        let (colour, _) = look(number);
        let [top, bottom] = [field.down(q3), field.down(q1)];
        let [l, w, t, h] = [x - half, 2.0 * half, top, (bottom - top).max(1.0)].map(coordinate);
        field.shape(format_args!(
            "<rect x=\"{l}\" y=\"{t}\" width=\"{w}\" height=\"{h}\" fill=\"{colour}\" fill-opacity=\".3\" stroke=\"{colour}\"/>"
        ));
        let middle = field.down(q2);
        field.canvas.line("end", [x - half, middle, x + half, middle]);
        for (from, to) in [(bottom, field.down(low)), (top, field.down(high))] {
            field.canvas.line("end", [x, from, x, to]);
            field.canvas.line("end", [x - half / 2.0, to, x + half / 2.0, to]);
        }
        // At most 60 of the values beyond the whiskers are drawn.
        let beyond: Vec<f64> = values.iter().copied().filter(|v| !inside(&v)).collect();
        let every = beyond.len().div_ceil(60).max(1);
        for value in beyond.into_iter().step_by(every) {
            let (x, y) = (coordinate(x), coordinate(field.down(value)));
            field.shape(format_args!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"2\" fill=\"none\" stroke=\"{colour}\"/>"
            ));
        }
    }
    field.canvas.finish(WIDE, HIGH, title)
}

/// Draws performance profiles (factors up to 10): the share of blocks in which a method is within a factor of the best.
pub fn profiles(title: &str, methods: &[(String, Vec<(f64, f64)>)]) -> String {
    let widest = methods
        .iter()
        .flat_map(|(_, steps)| steps.iter().map(|s| s.0))
        .fold(1.05, f64::max)
        .min(10.0);
    let mut field = Field::new(
        title,
        "share of blocks within a factor of the best",
        (1.0, widest),
        (0.0, 1.0),
        74.0,
    );
    for tick in decimal_ticks(&(1.0..widest), 8) {
        let style = Type { anchor: Anchor::Middle, ..FAINT };
        let (x, y) = (field.across(tick.at), field.bottom + 16.0);
        field.canvas.text(x, y, style, &tick.text);
    }
    for (number, (_, steps)) in methods.iter().enumerate() {
        let mut points = Vec::new();
        let mut share = 0.0;
        for &(tau, next) in steps.iter().filter(|(tau, _)| *tau <= widest) {
            points.push((field.across(tau.max(1.0)), field.down(share)));
            share = next;
            points.push((field.across(tau.max(1.0)), field.down(share)));
        }
        points.push((field.right, field.down(share)));
        field.path(&points, number);
        // Marks are at different places for different lines, so that coinciding lines can be told apart.
        for place in 0..MARKS {
            let part = (place as f64 + (number % 4) as f64 / 4.0 + 0.1) / MARKS as f64;
            let x = field.left + part * (field.right - field.left);
            let before = points.iter().rev().find(|point| point.0 <= x);
            if let Some(&(_, y)) = before {
                field.mark(x, y, number);
            }
        }
    }
    let names: Vec<&str> = methods.iter().map(|(name, _)| name.as_str()).collect();
    let height = field.legend(&names, HIGH - 18.0);
    field.canvas.finish(WIDE, height, title)
}

/// Draws a matrix of shaded cells: methods against each other, or a heat map over two factors.
pub fn matrix(
    title: &str,
    note: &str,
    rows: &[String],
    columns: &[String],
    cells: &[Vec<Option<Cell>>],
) -> String {
    let mut canvas = Canvas::new();
    canvas.text(MARGIN, MARGIN + 12.0, TITLE, &fit(title, 44.0).unwrap_or_default());
    canvas.text(MARGIN, MARGIN + 32.0, FAINT, &fit(note, 75.0).unwrap_or_default());
    let widest = rows.iter().map(|r| width(r)).fold(2.0, f64::max).min(16.0);
    let (left, top) = (MARGIN + widest * LABEL.size + 12.0, MARGIN + 68.0);
    let (wide, high) = (86.0, 30.0);
    for (at, name) in columns.iter().enumerate() {
        let x = left + (at as f64 + 0.5) * wide;
        let style = Type { anchor: Anchor::Middle, ..LABEL };
        canvas.text(x, top - 8.0, style, &fit(name, wide / LABEL.size).unwrap_or_default());
    }
    for (r, name) in rows.iter().enumerate() {
        let y = top + r as f64 * high;
        let style = Type { anchor: Anchor::End, ..LABEL };
        canvas.text(left - 8.0, y + 19.0, style, &fit(name, 16.0).unwrap_or_default());
        for (c, cell) in cells.get(r).into_iter().flatten().enumerate() {
            let Some(cell) = cell else { continue };
            let shade = cell.shade.clamp(-1.0, 1.0);
            let target = if shade < 0.0 { [213.0, 94.0, 0.0] } else { [0.0, 114.0, 178.0] };
            let mix = |part: f64| 255.0 + (part - 255.0) * 0.75 * shade.abs();
            let [red, green, blue] = target.map(|part| mix(part) as u8);
            let [x, y, w, h] = [left + c as f64 * wide, y, wide - 2.0, high - 2.0].map(coordinate);
            let _ = writeln!(
                canvas.body,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"#{red:02x}{green:02x}{blue:02x}\"/>"
            );
            let dark =
                0.3 * f64::from(red) + 0.59 * f64::from(green) + 0.11 * f64::from(blue) < 140.0;
            let ink = if dark { "#fff" } else { "#16191d" };
            let [x, y] =
                [left + (c as f64 + 0.5) * wide, top + r as f64 * high + 18.5].map(coordinate);
            let _ = write!(
                canvas.body,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"12\" text-anchor=\"middle\" fill=\"{ink}\">"
            );
            crate::text::push_escaped(&mut canvas.body, &cell.text);
            canvas.body.push_str("</text>\n");
        }
    }
    let width = left + columns.len() as f64 * wide + MARGIN;
    let height = top + rows.len() as f64 * high + MARGIN;
    canvas.finish(width.max(420.0), height, title)
}

/// Draws mean ranks on a line; a bar joins methods whose ranks differ by less than the critical difference.
pub fn critical_difference(title: &str, methods: &[(String, f64)], critical: f64) -> String {
    let mut sorted: Vec<&(String, f64)> = methods.iter().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let most = methods.len().max(2) as f64;
    let mut canvas = Canvas::new();
    canvas.text(MARGIN, MARGIN + 12.0, TITLE, &fit(title, 44.0).unwrap_or_default());
    let note = format!("mean ranks, 1 is best; critical difference {critical:.2} (Nemenyi, 5 %)");
    canvas.text(MARGIN, MARGIN + 32.0, FAINT, &note);
    let (left, right) = (190.0, WIDE - 190.0);
    let across = |rank: f64| left + (rank - 1.0) / (most - 1.0) * (right - left);
    // Maximal groups of neighbours within the critical difference.
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for first in 0..sorted.len() {
        let same = |m: &&&(String, f64)| m.1 - sorted[first].1 < critical;
        let last = first + sorted[first..].iter().take_while(same).count() - 1;
        if last > first && groups.last().is_none_or(|g| last > g.1) {
            groups.push((first, last));
        }
    }
    let axis = MARGIN + 72.0;
    canvas.line("end", [left, axis, right, axis]);
    for rank in 1..=methods.len() {
        let x = across(rank as f64);
        canvas.line("end", [x, axis - 5.0, x, axis]);
        let style = Type { anchor: Anchor::Middle, ..FAINT };
        canvas.text(x, axis - 9.0, style, &rank.to_string());
    }
    let names = axis + 14.0 + 8.0 * groups.len() as f64;
    let half = sorted.len().div_ceil(2);
    for (at, (name, rank)) in sorted.iter().enumerate() {
        let to_left = at < half;
        let row = if to_left { at } else { sorted.len() - 1 - at };
        let (x, y) = (across(*rank), names + 18.0 * (row as f64 + 1.0));
        let end = if to_left { left - 12.0 } else { right + 12.0 };
        canvas.line("rule", [x, axis, x, y]);
        canvas.line("rule", [x, y, end, y]);
        let anchor = if to_left { Anchor::End } else { Anchor::Start };
        let text = fit(&format!("{name} {rank:.2}"), 14.0).unwrap_or_default();
        let beside = if to_left { end - 4.0 } else { end + 4.0 };
        canvas.text(beside, y + 4.0, Type { anchor, ..LABEL }, &text);
    }
    for (at, &(first, last)) in groups.iter().enumerate() {
        let y = axis + 8.0 + 8.0 * at as f64;
        let [a, b] = [across(sorted[first].1) - 3.0, across(sorted[last].1) + 3.0].map(coordinate);
        let y = coordinate(y);
        let _ = writeln!(
            canvas.body,
            "<path class=\"end\" d=\"M{a} {y}L{b} {y}\" stroke-width=\"4\"/>"
        );
    }
    canvas.finish(WIDE, names + 18.0 * (half as f64 + 1.0) + MARGIN, title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_is_svg_that_can_be_drawn() {
        let names = ["a & b".to_string(), "c".to_string()];
        let band = Some((0.5, 1.5));
        let line = Line {
            name: names[0].clone(),
            points: vec![Point { x: 0.0, y: 1.0, band }, Point { x: 1.0, y: 2.0, band: None }],
        };
        let cell = |shade| Some(Cell { shade, text: "0.5".into() });
        let cells = vec![vec![None, cell(1.0)], vec![cell(-1.0), None]];
        let pictures = [
            lines("t", "y", "x", &names, &[line]),
            lines("nothing", "y", "x", &[], &[]),
            boxes(
                "t",
                "y",
                &[BoxPlot { name: names[0].clone(), values: vec![1.0, 1.0, 1.0, 50.0] }],
            ),
            boxes("nothing", "y", &[BoxPlot { name: names[1].clone(), values: Vec::new() }]),
            profiles("t", &[(names[0].clone(), vec![(1.0, 0.5), (1.3, 1.0)])]),
            matrix("t", "n", &names, &names, &cells),
            critical_difference("t", &[(names[0].clone(), 1.2), (names[1].clone(), 1.8)], 1.0),
        ];
        for svg in pictures {
            assert!(!svg.contains("NaN") && !svg.contains("a & b"), "{svg}");
            assert!(crate::png(&svg).is_ok_and(|png| png.len() > 500));
        }
    }
}
