//! Signs over the bars: dates to point out, re-planning points, transfers; and the legend
//! that explains those signs which occur.

use super::bars::define;
use super::frame::Frame;
use super::{FOOT, SvgOptions};
use crate::chart::{Bar, Chart, Look, MarkKind};
use crate::svg::{Anchor, Canvas, MARGIN, Type};
use crate::text::{coordinate, grouped, push_escaped, width};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Re-planning points nearer to each other are one, pixels.
const APART: f64 = 9.0;
/// More lines through the rows than this would hide the bars.
const MOST_LINES: usize = 40;

const MOVED: Type = Type { class: "pt", size: 9.5, anchor: Anchor::Middle };

/// One line of text above the rows per mark; the last ones share the lowest.
pub(super) fn marks(canvas: &mut Canvas, chart: &Chart, frame: &Frame) {
    for (index, mark) in chart.marks.iter().enumerate() {
        let (stroke, text, dash) = match mark.kind {
            MarkKind::End => ("end", "ink", ""),
            MarkKind::Bound => ("bound", "bt", " stroke-dasharray=\"5 4\""),
            MarkKind::Deadline => ("alarm", "at", ""),
        };
        let x = frame.x(chart, mark.at);
        let line = (chart.marks.len().min(3) - 1).saturating_sub(index) as f64;
        let text_y = frame.strip_top(chart) - 8.0 - 14.0 * line;
        let _ = writeln!(
            canvas.body,
            "<path class=\"{stroke}\" stroke-width=\"1.5\"{dash} d=\"M{} {}V{}\"/>",
            coordinate(x),
            coordinate(text_y + 3.0),
            coordinate(frame.bottom() + 4.0)
        );
        let room = width(&mark.label) * 11.0;
        let anchor = if x - room < frame.left { Anchor::Start } else { Anchor::End };
        let x = if anchor == Anchor::End { x - 4.0 } else { x + 4.0 };
        canvas.text(x, text_y + 2.0, Type { class: text, size: 11.0, anchor }, &mark.label);
    }
}

/// A point above the rows per new plan; a line through them and a number where tasks moved.
pub(super) fn replannings(canvas: &mut Canvas, chart: &Chart, frame: &Frame) {
    let mut points: Vec<(f64, usize)> = Vec::new();
    for plan in &chart.replannings {
        let x = frame.x(chart, plan.at);
        match points.last_mut() {
            Some((first, moved)) if x - *first < APART => *moved += plan.moved,
            _ => points.push((x, plan.moved)),
        }
    }
    let through = points.iter().filter(|(_, moved)| *moved > 0).count() <= MOST_LINES;
    let (top, bottom) = (frame.top, coordinate(frame.bottom() + 4.0));
    let mut lines = String::new();
    let mut points_drawn = String::new();
    let mut free = f64::NEG_INFINITY;
    for (x, moved) in points {
        let _ = write!(points_drawn, "M{} {}l3 -4h-6z", coordinate(x), coordinate(top - 0.5));
        if moved == 0 {
            continue;
        }
        if through {
            let _ = write!(lines, "M{} {}V{bottom}", coordinate(x), coordinate(top));
        }
        let text = grouped(moved);
        let half = width(&text) * MOVED.size / 2.0;
        if x - half > free {
            canvas.text(x, top - 6.0, MOVED, &text);
            free = x + half + 3.0;
        }
    }
    if !lines.is_empty() {
        let _ = writeln!(
            canvas.body,
            "<path class=\"plan\" stroke-dasharray=\"1 3\" pointer-events=\"none\" d=\"{lines}\"/>"
        );
    }
    if !points_drawn.is_empty() {
        let _ = writeln!(canvas.body, "<path class=\"pt\" d=\"{points_drawn}\"/>");
    }
}

/// A dotted line from piece to piece of a task whose processors are no neighbours.
pub(super) fn ties(canvas: &mut Canvas, chart: &Chart, frame: &Frame) {
    let mut lines = String::new();
    for (above, below) in chart.pieces() {
        let lanes = |bar: &Bar| {
            let y = |row: u32| frame.lane_y.get(row as usize).copied();
            Some((y(bar.rows.start)?, y(bar.rows.end.checked_sub(1)?)? + frame.row_height))
        };
        let (Some((_, from)), Some((to, _))) = (lanes(above), lanes(below)) else { continue };
        let (begin, end) = (frame.x(chart, above.start), frame.x(chart, above.finish));
        let x = coordinate(begin + ((end - begin) / 2.0).min(3.0));
        let _ = write!(lines, "M{x} {}V{}", coordinate(from - 1.0), coordinate(to + 1.0));
    }
    if !lines.is_empty() {
        let _ = writeln!(
            canvas.body,
            "<path class=\"wire\" stroke-width=\"1.2\" stroke-dasharray=\"1.5 1.5\" \
             pointer-events=\"none\" d=\"{lines}\"/>"
        );
    }
}

/// Transfers as thin curves from the source of the data to its destination.
pub(super) fn arrows(canvas: &mut Canvas, chart: &Chart, frame: &Frame) {
    let opacity = if chart.arrows.len() < 60 { 0.7 } else { 0.35 };
    for (broken, class) in [(false, "wire"), (true, "wire snap")] {
        let mut arrows = chart.arrows.iter().filter(|a| a.broken == broken).peekable();
        if arrows.peek().is_none() {
            continue;
        }
        let _ =
            writeln!(canvas.body, "<g class=\"{class}\" stroke-width=\"1\" opacity=\"{opacity}\">");
        for arrow in arrows {
            let middle =
                |row: u32| frame.lane_y.get(row as usize).map(|y| y + frame.row_height / 2.0);
            let (Some(from), Some(to)) = (middle(arrow.from), middle(arrow.to)) else { continue };
            let (x1, x2) = (frame.x(chart, arrow.start), frame.x(chart, arrow.finish));
            let bend = (x2 - x1) / 2.0;
            let [x1, from, b1, b2, to, x2] =
                [x1, from, x1 + bend, x2 - bend, to, x2].map(coordinate);
            let _ = write!(
                canvas.body,
                "<path d=\"M{x1} {from}C{b1} {from} {b2} {to} {x2} {to}\"><title>"
            );
            push_escaped(&mut canvas.body, &arrow.note);
            canvas.body.push_str("</title></path>\n");
        }
        canvas.body.push_str("</g>\n");
    }
}

/// The sample of a sign in the legend.
enum Sample {
    Pattern(Look),
    Down,
    Wire(&'static str),
    Tie,
    Point,
}

/// Explains the signs that occur, of rows drawn `one_by_one` or taken together; gives the height it took.
pub(super) fn legend(
    canvas: &mut Canvas,
    chart: &Chart,
    options: &SvgOptions,
    one_by_one: bool,
    top: f64,
) -> f64 {
    let arrows_drawn = one_by_one && chart.arrows.len() <= options.most_arrows;
    let mut entries: Vec<(Sample, String)> = Vec::new();
    for look in [Look::Stopped, Look::Failed, Look::Rewound] {
        let count = chart.bars.iter().filter(|b| b.look == look).count();
        if count > 0 {
            let text = format!("{} ({})", look.meaning(), grouped(count));
            entries.push((Sample::Pattern(look), text));
        }
    }
    if chart.bars.iter().any(|b| b.look == Look::Down) {
        entries.push((Sample::Down, Look::Down.meaning().to_string()));
    }
    let pieces = chart.pieces().map(|(_, below)| below.label).collect::<BTreeSet<_>>().len();
    if pieces > 0 && one_by_one {
        let tasks = if pieces == 1 { "task" } else { "tasks" };
        let text = format!("pieces of one task ({} {tasks})", grouped(pieces));
        entries.push((Sample::Tie, text));
    }
    if !chart.replannings.is_empty() {
        let plans = grouped(chart.replannings.len());
        let moved = chart.replannings.iter().any(|p| p.moved > 0);
        let numbers = if moved { "; number: tasks moved" } else { "" };
        entries.push((Sample::Point, format!("new plan ({plans}){numbers}")));
    }
    for (broken, class, name) in
        [(false, "wire", "transfer"), (true, "wire snap", "transfer broken off")]
    {
        let count = chart.arrows.iter().filter(|a| a.broken == broken).count();
        if count > 0 {
            let left_out = if arrows_drawn { "" } else { ", too many to draw: see the strip" };
            let text = format!("{name} ({}{left_out})", grouped(count));
            entries.push((Sample::Wire(class), text));
        }
    }
    let (mut x, mut y) = (MARGIN, top);
    for (sample, text) in &entries {
        let needed = 22.0 + width(text) * FOOT.size + 16.0;
        if x + needed > options.width - MARGIN && x > MARGIN {
            x = MARGIN;
            y += 18.0;
        }
        draw_sample(canvas, sample, x, y + 6.0);
        canvas.text(x + 22.0, y + 6.0, FOOT, text);
        x += needed;
    }
    if entries.is_empty() { 0.0 } else { y + 18.0 - top }
}

fn draw_sample(canvas: &mut Canvas, sample: &Sample, x: f64, y: f64) {
    let place = [x, y - 9.5, 16.0, 11.0];
    match sample {
        Sample::Pattern(look) => {
            canvas.rect("k0 pale", place);
            if let Some(id) = define(canvas, *look) {
                let [x, y, width, height] = place.map(coordinate);
                let _ = writeln!(
                    canvas.body,
                    "<rect fill=\"url(#{id})\" x=\"{x}\" y=\"{y}\" width=\"{width}\" \
                     height=\"{height}\"/>"
                );
            }
        }
        Sample::Down => canvas.rect("down", place),
        Sample::Wire(class) => {
            let [x1, x2, y] = [x, x + 16.0, y - 4.0].map(coordinate);
            let _ = writeln!(canvas.body, "<path class=\"{class}\" d=\"M{x1} {y}H{x2}\"/>");
        }
        Sample::Tie => {
            canvas.rect("k0", [x, y - 10.0, 16.0, 4.0]);
            canvas.rect("k0", [x, y - 2.0, 16.0, 4.0]);
            let [x, top, bottom] = [x + 3.0, y - 6.5, y - 1.5].map(coordinate);
            let _ = writeln!(
                canvas.body,
                "<path class=\"wire\" stroke-width=\"1.2\" stroke-dasharray=\"1.5 1.5\" \
                 d=\"M{x} {top}V{bottom}\"/>"
            );
        }
        Sample::Point => {
            let [x, y] = [x + 8.0, y - 2.0].map(coordinate);
            let _ = writeln!(canvas.body, "<path class=\"pt\" d=\"M{x} {y}l3.5 -5h-7z\"/>");
        }
    }
}
