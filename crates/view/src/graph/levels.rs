//! A large graph by levels: one bar per level, of a width proportional to its number of tasks, divided by kind.

use crate::categories::Categories;
use crate::svg::{Anchor, Canvas, Heading, MARGIN, Type};
use crate::text::{coordinate, escaped, fit, grouped, width};
use slackline_model::Workflow;
use slackline_model::workflow::Shape;
use std::collections::HashMap;
use std::fmt::Write;

/// Height of all levels together, where there are many, in pixels.
const USUAL_HEIGHT: f64 = 860.0;
/// Least height of a level in pixels at which flows between levels are drawn.
const FLOW_HEIGHT: f64 = 24.0;
/// Most rows; in deeper graphs, several levels share a row.
const MOST_ROWS: usize = 430;
/// Widths in pixels of the columns for level numbers at the left and counts at the right.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 190.0;

const LEVEL: Type = Type { class: "dim", size: 11.0, anchor: Anchor::End };
const SIDE: Type = Type { class: "dim", size: 11.0, anchor: Anchor::Start };

/// The tasks of one kind in a row; position and width in pixels.
struct Segment {
    category: u16,
    count: usize,
    x: f64,
    width: f64,
}

/// A drawn row: one level, or several consecutive ones.
struct Row {
    /// First and last level, counted from 1.
    levels: (usize, usize),
    tasks: usize,
    segments: Vec<Segment>,
}

pub(super) fn draw(workflow: &Workflow, shape: &Shape, full_width: f64) -> String {
    let categories = Categories::of(workflow);
    let mut canvas = Canvas::new();
    let top = canvas.heading(&Heading {
        title: super::title(workflow),
        facts: &super::facts(workflow, shape),
        categories: &categories.list,
        ordered: categories.ordered,
        width: full_width,
    });
    let rows = rows(workflow, shape, &categories, full_width);
    let pitch = (USUAL_HEIGHT / rows.len().max(1) as f64).clamp(2.0, 56.0);
    let bar = if pitch >= FLOW_HEIGHT { (pitch * 0.42).clamp(11.0, 22.0) } else { pitch * 0.86 };
    let top = top + 8.0;
    let y = |row: usize| top + row as f64 * pitch;
    if pitch >= FLOW_HEIGHT {
        flows(
            &mut canvas,
            workflow,
            &FlowInput { shape, categories: &categories, rows: &rows },
            |row| (y(row), y(row) + bar),
        );
    }
    let mut numbered = f64::NEG_INFINITY;
    for (index, row) in rows.iter().enumerate() {
        segments(&mut canvas, row, &categories, [y(index), bar]);
        if y(index) - numbered >= 13.0 {
            numbered = y(index);
            side_texts(&mut canvas, row, &categories, y(index) + bar / 2.0 + 4.0, full_width);
        }
    }
    canvas.finish(full_width, y(rows.len()) + MARGIN, super::title(workflow))
}

fn rows(workflow: &Workflow, shape: &Shape, categories: &Categories, full_width: f64) -> Vec<Row> {
    let per_row = shape.depth().div_ceil(MOST_ROWS).max(1);
    let mut counts: Vec<Vec<usize>> =
        vec![vec![0; categories.list.len()]; shape.depth().div_ceil(per_row)];
    for task in workflow.tasks() {
        let row = shape.level[task.index()] as usize / per_row;
        counts[row][categories.of_task[task.index()] as usize] += 1;
    }
    let widest = counts.iter().map(|c| c.iter().sum::<usize>()).max().unwrap_or(1).max(1);
    let room = full_width - 2.0 * MARGIN - LEFT - RIGHT;
    let middle = MARGIN + LEFT + room / 2.0;
    let row = |(index, counts): (usize, &Vec<usize>)| {
        let present = || counts.iter().enumerate().filter(|(_, n)| **n > 0);
        let wide = |count: usize| (room * count as f64 / widest as f64).max(5.0);
        let total: f64 = present().map(|(_, &count)| wide(count)).sum();
        // Minimum widths may make a full row too wide.
        let shrink = (room / total).min(1.0);
        let mut x = middle - total * shrink / 2.0;
        let segments = present()
            .map(|(category, &count)| {
                let segment =
                    Segment { category: category as u16, count, x, width: wide(count) * shrink };
                x += segment.width;
                segment
            })
            .collect();
        Row {
            levels: (index * per_row + 1, ((index + 1) * per_row).min(shape.depth())),
            tasks: counts.iter().sum(),
            segments,
        }
    };
    counts.iter().enumerate().map(row).collect()
}

fn segments(canvas: &mut Canvas, row: &Row, categories: &Categories, [y, height]: [f64; 2]) {
    for segment in &row.segments {
        let gap = if row.segments.len() > 1 && segment.width > 4.0 { 0.8 } else { 0.0 };
        let round = if height >= 10.0 { " rx=\"3\"" } else { "" };
        let name = escaped(&categories.list[segment.category as usize].name);
        let _ = writeln!(
            canvas.body,
            "<rect class=\"k{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{round}>\
             <title>{name}: {}</title></rect>",
            segment.category,
            coordinate(segment.x),
            coordinate(y),
            coordinate(segment.width - gap),
            coordinate(height),
            segment.count
        );
        if let Some(text) = label(segment, categories, height) {
            let _ = writeln!(
                canvas.body,
                "<text class=\"t{}\" x=\"{}\" y=\"{}\" font-size=\"10.5\" text-anchor=\"middle\">{}</text>",
                segment.category,
                coordinate(segment.x + segment.width / 2.0),
                coordinate(y + height / 2.0 + 3.8),
                escaped(&text)
            );
        }
    }
}

/// The name inside a segment, if it fits whole.
fn label(segment: &Segment, categories: &Categories, height: f64) -> Option<String> {
    if height < 12.0 || categories.ordered {
        return None;
    }
    let name = &categories.list[segment.category as usize].name;
    (width(name) * 10.5 + 8.0 <= segment.width).then(|| name.clone())
}

/// Writes the level number at the left, and at the right the number of tasks and the kinds without a label in the bar.
fn side_texts(canvas: &mut Canvas, row: &Row, categories: &Categories, y: f64, full_width: f64) {
    let (first, last) = row.levels;
    let level = if first == last { first.to_string() } else { format!("{first}–{last}") };
    canvas.text(MARGIN + LEFT - 14.0, y, LEVEL, &level);
    let mut text = match row.tasks {
        1 => "1 task".to_string(),
        n => format!("{} tasks", grouped(n)),
    };
    if !categories.ordered {
        let unnamed = row.segments.iter().filter(|s| label(s, categories, 22.0).is_none());
        let names: Vec<&str> =
            unnamed.map(|s| categories.list[s.category as usize].name.as_str()).collect();
        if !names.is_empty() {
            let _ = write!(text, ": {}", names.join(", "));
        }
    }
    let x = full_width - MARGIN - RIGHT + 12.0;
    canvas.text(x, y, SIDE, &fit(&text, (RIGHT - 12.0) / SIDE.size).unwrap_or_default());
}

/// Input for the flows between rows.
struct FlowInput<'a> {
    shape: &'a Shape,
    categories: &'a Categories,
    rows: &'a [Row],
}

/// The dependencies between two segments.
struct Flow {
    /// Row and position in the row of the parents' segment.
    from: (usize, usize),
    /// Row and position in the row of the children's segment.
    to: (usize, usize),
    count: usize,
}

/// Draws ribbons between segments. The lower edge of a segment is divided among the flows that leave it, the upper edge
/// among those that enter it, in proportion to their dependencies.
fn flows(
    canvas: &mut Canvas,
    workflow: &Workflow,
    input: &FlowInput<'_>,
    edges_of: impl Fn(usize) -> (f64, f64),
) {
    let flows = input.flows(workflow);
    let segment = |(row, position): (usize, usize)| &input.rows[row].segments[position];
    let mut leaving: HashMap<(usize, usize), usize> = HashMap::new();
    let mut entering: HashMap<(usize, usize), usize> = HashMap::new();
    for flow in &flows {
        *leaving.entry(flow.from).or_default() += flow.count;
        *entering.entry(flow.to).or_default() += flow.count;
    }
    let mut left_from: HashMap<(usize, usize), f64> = HashMap::new();
    let mut left_to: HashMap<(usize, usize), f64> = HashMap::new();
    canvas.body.push_str("<g fill-opacity=\"0.22\">\n");
    for flow in &flows {
        let (from, to) = (segment(flow.from), segment(flow.to));
        let wide1 = from.width * flow.count as f64 / leaving[&flow.from] as f64;
        let wide2 = to.width * flow.count as f64 / entering[&flow.to] as f64;
        let x1 = left_from.entry(flow.from).or_insert(from.x);
        let x2 = left_to.entry(flow.to).or_insert(to.x);
        let (y1, y2) = (edges_of(flow.from.0).1, edges_of(flow.to.0).0);
        let bend = (y1 + y2) / 2.0;
        let [a, b, c, d] = [*x1, *x1 + wide1, *x2 + wide2, *x2].map(coordinate);
        let [y1, y2, bend] = [y1, y2, bend].map(coordinate);
        let _ = writeln!(
            canvas.body,
            "<path class=\"k{}\" d=\"M{b} {y1}C{b} {bend} {c} {bend} {c} {y2}H{d}C{d} {bend} {a} {bend} \
             {a} {y1}z\"><title>{} dependencies</title></path>",
            from.category, flow.count
        );
        *x1 += wide1;
        *x2 += wide2;
    }
    canvas.body.push_str("</g>\n");
}

impl FlowInput<'_> {
    /// All flows between different rows, from left to right.
    fn flows(&self, workflow: &Workflow) -> Vec<Flow> {
        let per_row = self.rows.first().map_or(1, |r| r.levels.1 - r.levels.0 + 1);
        let mut position: Vec<Vec<usize>> = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            let mut of_category = vec![0; self.categories.list.len()];
            for (index, segment) in row.segments.iter().enumerate() {
                of_category[segment.category as usize] = index;
            }
            position.push(of_category);
        }
        let place = |task: slackline_model::TaskId| {
            let row = self.shape.level[task.index()] as usize / per_row;
            (row, position[row][self.categories.of_task[task.index()] as usize])
        };
        let mut counts: HashMap<[(usize, usize); 2], usize> = HashMap::new();
        for edge in workflow.edges() {
            let (from, to) = workflow.edge_ends(edge);
            *counts.entry([place(from), place(to)]).or_default() += 1;
        }
        let mut flows: Vec<Flow> = counts
            .into_iter()
            .filter(|([from, to], _)| from.0 != to.0)
            .map(|([from, to], count)| Flow { from, to, count })
            .collect();
        flows.sort_unstable_by_key(|f| (f.from, f.to));
        flows
    }
}
