//! Workflows with choices and loops: regions inside each other, choices as diamonds whose branches
//! are side by side, loops as frames with an edge back to their begin.

use crate::svg::{Anchor, Canvas, Heading, MARGIN};
use crate::text::{coordinate, escaped, fit, width};
use slackline_model::Workflow;
use slackline_model::control::{Control, Item, Law, Region, RegionId};
use std::fmt::Write;

const SIZE: f64 = 12.0;
const NOTE: f64 = 10.5;
const TASK: f64 = 26.0;
const DIAMOND: f64 = 36.0;
const ACROSS: f64 = 26.0;
const DOWN: f64 = 34.0;
const FRAME: f64 = 14.0;
/// The longest name that is written out, in pixels.
const NAME: f64 = 170.0;

type Point = (f64, f64);

/// A piece of the picture: its size, where lines enter and leave, and what is drawn.
#[derive(Default)]
struct Piece {
    width: f64,
    height: f64,
    ins: Vec<Point>,
    outs: Vec<Point>,
    body: String,
}

impl Piece {
    /// Writes the piece as part of another piece; returns its points there.
    fn at(&self, x: f64, y: f64, out: &mut String) -> (Vec<Point>, Vec<Point>) {
        if !self.body.is_empty() {
            let (dx, dy) = (coordinate(x), coordinate(y));
            let _ = write!(out, "<g transform=\"translate({dx} {dy})\">{}</g>", self.body);
        }
        let moved = |points: &Vec<Point>| points.iter().map(|p| (p.0 + x, p.1 + y)).collect();
        (moved(&self.ins), moved(&self.outs))
    }
}

/// Draws a workflow with choices and loops.
pub fn regions_svg(workflow: &Workflow, control: &Control) -> String {
    let piece = region(control, RegionId::WORKFLOW);
    let title = super::title(workflow);
    let mut canvas = Canvas::new();
    let wide = (piece.width + 2.0 * MARGIN).max(420.0);
    let heading = Heading {
        title,
        facts: &[[
            counted(workflow.len(), "task"),
            counted(control.choices().len(), "choice"),
            counted(control.loops().len(), "loop"),
        ]
        .join(", ")],
        categories: &[],
        ordered: false,
        width: wide,
    };
    let top = canvas.heading(&heading) + 14.0;
    let mut body = String::new();
    piece.at((wide - piece.width) / 2.0, top, &mut body);
    canvas.body.push_str(&body);
    canvas.finish(wide, top + piece.height + MARGIN, title)
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn text(out: &mut String, at: Point, size: f64, anchor: Anchor, class: &str, text: &str) {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y) = (coordinate(at.0), coordinate(at.1));
    // Lines do not run through words.
    let wide = width(text) * size + 6.0;
    let left = match anchor {
        "start" => at.0 - 3.0,
        "middle" => at.0 - wide / 2.0,
        _ => at.0 - wide + 3.0,
    };
    if class == "pt" {
        let (x, y) = (coordinate(left), coordinate(at.1 - size));
        let (w, h) = (coordinate(wide), coordinate(size * 1.3));
        let _ =
            write!(out, "<rect class=\"bg\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>");
    }
    let _ = write!(
        out,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(text)
    );
}

fn line(out: &mut String, points: &[Point]) {
    let mut path = String::new();
    for (at, point) in points.iter().enumerate() {
        let letter = if at == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{} {}", coordinate(point.0), coordinate(point.1));
    }
    let _ = write!(out, "<path class=\"wire\" d=\"{path}\"/>");
}

fn shown(name: &str) -> (String, f64) {
    let name = fit(name, NAME / SIZE).unwrap_or_default();
    let wide = width(&name) * SIZE;
    (name, wide)
}

fn task(name: &str) -> Piece {
    let (name, wide) = shown(name);
    let (w, h) = (wide.max(30.0) + 20.0, TASK);
    let mut body = format!(
        "<rect class=\"band\" stroke=\"#7c93ab\" x=\"0\" y=\"0\" width=\"{}\" height=\"{h}\" rx=\"6\"/>",
        coordinate(w)
    );
    text(&mut body, (w / 2.0, h / 2.0 + 4.0), SIZE, Anchor::Middle, "ink", &name);
    Piece { width: w, height: h, ins: vec![(w / 2.0, 0.0)], outs: vec![(w / 2.0, h)], body }
}

/// The items of a region, level by level.
fn region(control: &Control, id: RegionId) -> Piece {
    let region = control.region(id);
    if region.items.is_empty() {
        return Piece {
            width: 30.0,
            height: 12.0,
            ins: vec![(15.0, 0.0)],
            outs: vec![(15.0, 12.0)],
            body: String::from("<path class=\"wire\" d=\"M15 0L15 12\"/>"),
        };
    }
    let levels = levels(region);
    let pieces: Vec<Piece> = region.items.iter().map(|&i| item(control, i)).collect();
    let depth = levels.iter().max().map_or(0, |d| d + 1);
    let rows: Vec<Vec<usize>> =
        (0..depth).map(|d| (0..levels.len()).filter(|&i| levels[i] == d).collect()).collect();
    let wide = |row: &Vec<usize>| {
        row.iter().map(|&i| pieces[i].width).sum::<f64>() + ACROSS * (row.len() as f64 - 1.0)
    };
    let whole = rows.iter().map(wide).fold(0.0, f64::max);
    let mut body = String::new();
    let mut ends = vec![(Vec::new(), Vec::new()); pieces.len()];
    let mut y = 0.0;
    for row in &rows {
        let mut x = (whole - wide(row)) / 2.0;
        for &i in row {
            ends[i] = pieces[i].at(x, y, &mut body);
            x += pieces[i].width + ACROSS;
        }
        y += row.iter().map(|&i| pieces[i].height).fold(0.0, f64::max) + DOWN;
    }
    let mut wires = String::new();
    for (at, before) in region.before.iter().enumerate() {
        for &b in before {
            // What follows from other lines needs none of its own.
            if before.iter().any(|&other| other != b && comes_before(region, b, other)) {
                continue;
            }
            let from = region.items.binary_search(&b).unwrap_or(at);
            for &out in &ends[from].1 {
                ends[at].0.iter().for_each(|&into| line(&mut wires, &[out, into]));
            }
        }
    }
    let first = (0..pieces.len()).filter(|&i| region.before[i].is_empty());
    let is_last = |i: &usize| region.before.iter().all(|b| !b.contains(&region.items[*i]));
    let ins = first.flat_map(|i| ends[i].0.clone()).collect();
    let outs = (0..pieces.len()).filter(is_last).flat_map(|i| ends[i].1.clone()).collect();
    Piece { width: whole, height: y - DOWN, ins, outs, body: wires + &body }
}

/// Whether an item comes before another of the region, directly or not.
fn comes_before(region: &Region, first: Item, then: Item) -> bool {
    let mut left = vec![then];
    let mut seen = Vec::new();
    while let Some(item) = left.pop() {
        let Ok(at) = region.items.binary_search(&item) else { continue };
        for &before in &region.before[at] {
            if before == first {
                return true;
            }
            if !seen.contains(&before) {
                seen.push(before);
                left.push(before);
            }
        }
    }
    false
}

/// Longest path from the begin of the region to each item.
fn levels(region: &Region) -> Vec<usize> {
    let mut levels = vec![0; region.items.len()];
    // Regions have no circles: as many rounds as items suffice.
    for _ in 0..region.items.len() {
        for (at, before) in region.before.iter().enumerate() {
            let after = |b: &Item| region.items.binary_search(b).map_or(0, |b| levels[b] + 1);
            levels[at] = before.iter().map(after).max().unwrap_or(0);
        }
    }
    levels
}

fn item(control: &Control, item: Item) -> Piece {
    match item {
        Item::Task(_) => task(control.item_name(item)),
        Item::Choice(c) => choice(control, c),
        Item::Loop(l) => repeated(control, l),
    }
}

fn diamond(out: &mut String, centre: Point, half: Point) {
    let (x, y) = centre;
    let points = [(x, y - half.1), (x + half.0, y), (x, y + half.1), (x - half.0, y)];
    let points: Vec<String> =
        points.iter().map(|p| format!("{},{}", coordinate(p.0), coordinate(p.1))).collect();
    let _ =
        write!(out, "<polygon class=\"bg\" stroke=\"#6639ba\" points=\"{}\"/>", points.join(" "));
}

fn choice(control: &Control, number: u32) -> Piece {
    let choice = &control.choices()[number as usize];
    let branches: Vec<(Piece, String, f64)> = (choice.branches.iter())
        .map(|branch| {
            let chance = format!("{:.3}", 100.0 * branch.probability);
            let chance = chance.trim_end_matches('0').trim_end_matches('.');
            let unknown = if choice.is_known { "" } else { "?" };
            let label = format!("{} {chance} %{unknown}", branch.name);
            let piece = region(control, branch.region);
            let room = piece.width.max(width(&label) * NOTE + 12.0);
            (piece, label, room)
        })
        .collect();
    let (name, named) = shown(&choice.name);
    let half = ((named + 44.0) / 2.0, DIAMOND / 2.0 + 4.0);
    let row: f64 =
        branches.iter().map(|b| b.2).sum::<f64>() + ACROSS * (branches.len() as f64 - 1.0);
    let whole = row.max(2.0 * half.0);
    let tall = branches.iter().map(|b| b.0.height).fold(0.0, f64::max);
    let (middle, start) = (whole / 2.0, 2.0 * half.1 + DOWN + 8.0);
    let end = start + tall + DOWN;
    let (mut wires, mut body) = (String::new(), String::new());
    let mut x = (whole - row) / 2.0;
    for (piece, label, room) in &branches {
        let (ins, outs) = piece.at(x + (room - piece.width) / 2.0, start, &mut body);
        for into in ins {
            line(&mut wires, &[(middle, 2.0 * half.1), into]);
        }
        for out in outs {
            line(&mut wires, &[out, (middle, end)]);
        }
        text(&mut body, (x + room / 2.0, start - 7.0), NOTE, Anchor::Middle, "pt", label);
        x += room + ACROSS;
    }
    diamond(&mut body, (middle, half.1), half);
    text(&mut body, (middle, half.1 + 4.0), SIZE, Anchor::Middle, "ink", &name);
    let (cx, cy) = (coordinate(middle), coordinate(end));
    let _ = write!(body, "<circle class=\"pt\" cx=\"{cx}\" cy=\"{cy}\" r=\"3.5\"/>");
    Piece {
        width: whole,
        height: end + 3.5,
        ins: vec![(middle, 0.0)],
        outs: vec![(middle, end + 3.5)],
        body: wires + &body,
    }
}

fn passes(law: &Law) -> String {
    let count = law.passes();
    match (count.mean.fract() == 0.0, count.most.is_finite()) {
        (true, _) if count.variance == 0.0 => format!("{:.0} passes", count.mean),
        (_, true) => format!("{:.2} passes, at most {:.0}", count.mean, count.most),
        (_, false) => format!("{:.2} passes", count.mean),
    }
}

fn repeated(control: &Control, number: u32) -> Piece {
    let spec = &control.loops()[number as usize];
    let body_piece = region(control, spec.body);
    let way_back = control.region(spec.again);
    let back = (!way_back.items.is_empty()).then(|| region(control, spec.again));
    let label =
        format!("{}: {}", fit(&spec.name, NAME / SIZE).unwrap_or_default(), passes(&spec.law));
    let beside = back.as_ref().map_or(22.0, |b| b.width + 30.0);
    let inner = body_piece.width.max(width(&label) * NOTE);
    let whole = inner + beside + 2.0 * FRAME;
    // Below the label, so that the way back does not run through it.
    let (top, start) = (32.0, 32.0 + FRAME + 12.0);
    let middle = FRAME + inner / 2.0;
    let tall = body_piece.height.max(back.as_ref().map_or(0.0, |b| b.height));
    let join = (middle, top + 6.0);
    let split = (middle, start + tall + 22.0);
    let height = split.1 + 16.0;
    let (mut wires, mut body) = (String::new(), String::new());
    let (w, h) = (coordinate(whole), coordinate(height - 8.0));
    let frame = format!(
        "<rect fill=\"none\" stroke=\"#6639ba\" stroke-dasharray=\"5 4\" x=\"0\" y=\"8\" width=\"{w}\" height=\"{h}\" rx=\"9\"/>"
    );
    text(&mut body, (FRAME, 22.0), NOTE, Anchor::Start, "pt", &format!("loop {label}"));
    let shift = FRAME + (inner - body_piece.width) / 2.0;
    let (ins, outs) = body_piece.at(shift, start, &mut body);
    ins.iter().for_each(|&into| line(&mut wires, &[join, into]));
    outs.iter().for_each(|&out| line(&mut wires, &[out, (split.0, split.1 - 7.0)]));
    let side = whole - FRAME - beside / 2.0 + 6.0;
    match &back {
        Some(piece) => {
            let y = start + (tall - piece.height) / 2.0;
            let (ins, outs) = piece.at(side - piece.width / 2.0, y, &mut body);
            // The way back goes upwards: it enters what is drawn there from below.
            let low = (side, y + piece.height + 8.0);
            line(&mut wires, &[(split.0 + 8.0, split.1), (side, split.1), low]);
            ins.iter().for_each(|&into| {
                let turn = side + piece.width / 2.0 + 5.0;
                line(
                    &mut wires,
                    &[low, (turn, low.1), (turn, into.1 - 6.0), (into.0, into.1 - 6.0), into],
                );
            });
            outs.iter().for_each(|&out| {
                let turn = side - piece.width / 2.0 - 5.0;
                line(
                    &mut wires,
                    &[out, (out.0, out.1 + 4.0), (turn, out.1 + 4.0), (turn, join.1), join],
                );
            });
        }
        None => line(
            &mut wires,
            &[(split.0 + 8.0, split.1), (side, split.1), (side, join.1), (join.0 + 3.0, join.1)],
        ),
    }
    let _ = write!(
        wires,
        "<polygon class=\"pt\" points=\"{},{} {},{} {},{}\"/>",
        coordinate(join.0 + 3.0),
        coordinate(join.1),
        coordinate(join.0 + 10.0),
        coordinate(join.1 - 4.0),
        coordinate(join.0 + 10.0),
        coordinate(join.1 + 4.0)
    );
    diamond(&mut body, split, (8.0, 7.0));
    let (cx, cy) = (coordinate(join.0), coordinate(join.1));
    let _ = write!(body, "<circle class=\"pt\" cx=\"{cx}\" cy=\"{cy}\" r=\"3\"/>");
    line(&mut wires, &[(split.0, split.1 + 7.0), (split.0, height)]);
    line(&mut wires, &[(middle, 0.0), join]);
    Piece {
        width: whole,
        height,
        ins: vec![(middle, 0.0)],
        outs: vec![(middle, height)],
        body: frame + &wires + &body,
    }
}
