//! A graph with every task: boxes with names where they fit, else dots.

use super::layers::Layers;
use crate::categories::Categories;
use crate::svg::{Canvas, Heading, MARGIN};
use crate::text::{coordinate, escaped, fit, push_escaped, width};
use slackline_model::units::{fmt_flops, fmt_seconds};
use slackline_model::workflow::Shape;
use slackline_model::{TaskId, Workflow};
use std::fmt::Write;

/// Least distance between neighbouring dots, pixels.
pub(super) const LEAST_SPACING: f64 = 9.0;

/// Half the height of a box, pixels.
const BOX_HALF: f64 = 11.0;

/// Font size of names in boxes, pixels.
const NAME: f64 = 10.5;

/// Conversion of positions in the layout to pixels.
struct Scale {
    left: f64,
    top: f64,
    /// Pixels between neighbours, and between levels.
    spacing: f64,
    level: f64,
    /// Width of boxes in pixels; none where tasks are dots.
    boxed: Option<f64>,
}

impl Scale {
    fn x(&self, x: f64) -> f64 {
        self.left + x * self.spacing
    }
    fn y(&self, level: usize) -> f64 {
        self.top + level as f64 * self.level
    }
    /// Half the height of a task's shape.
    fn half(&self) -> f64 {
        match self.boxed {
            Some(_) => BOX_HALF,
            None => (self.spacing * 0.36).clamp(2.5, 9.0).min(self.level * 0.4),
        }
    }
}

pub(super) fn draw(workflow: &Workflow, layers: &Layers, full_width: f64) -> String {
    let shape = Shape::of(workflow);
    let categories = Categories::of(workflow);
    let mut canvas = Canvas::new();
    let top = canvas.heading(&Heading {
        title: super::title(workflow),
        facts: &super::facts(workflow, &shape),
        categories: &categories.list,
        ordered: categories.ordered,
        width: full_width,
    });
    let scale = scale(workflow, layers, full_width, top);
    wires(&mut canvas, layers, &scale);
    let mut groups = vec![(String::new(), String::new()); categories.list.len()];
    for point in &layers.points {
        let Some(task) = point.task else { continue };
        let (shapes, names) = &mut groups[categories.of_task[task.index()] as usize];
        node(shapes, names, workflow, task, [scale.x(point.x), scale.y(point.level)], &scale);
    }
    for (category, (shapes, names)) in groups.iter().enumerate() {
        let _ = writeln!(canvas.body, "<g class=\"k{category}\">\n{shapes}</g>");
        if !names.is_empty() {
            let _ = writeln!(
                canvas.body,
                "<g class=\"t{category}\" font-size=\"{NAME}\" text-anchor=\"middle\" \
                 pointer-events=\"none\">\n{names}</g>"
            );
        }
    }
    let bottom = scale.y(shape.depth().saturating_sub(1)) + scale.half() + MARGIN;
    canvas.finish(full_width, bottom, super::title(workflow))
}

/// Chooses boxes if names fit into them side by side, else dots; depth sets the distance of levels.
fn scale(workflow: &Workflow, layers: &Layers, full_width: f64, top: f64) -> Scale {
    let xs = || layers.points.iter().map(|p| p.x);
    let (least, most) =
        (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
    let room = full_width - 2.0 * MARGIN;
    let extent = most - least + 1.0;
    let longest = workflow.tasks().map(|t| width(workflow.task_name(t))).fold(0.0, f64::max);
    let wanted = (longest * NAME + 14.0).clamp(40.0, 112.0);
    let boxed = ((wanted + 10.0) * extent <= room).then_some(wanted);
    let spacing = match boxed {
        Some(wide) => (room / extent).min(wide + 34.0),
        None => (room / extent).min(30.0),
    };
    let depth = layers.order.len().max(1) as f64;
    let level = match boxed {
        Some(_) => (1100.0 / depth).clamp(36.0, 62.0),
        None => (1000.0 / depth).clamp(14.0, 54.0),
    };
    let half = if boxed.is_some() { BOX_HALF } else { 9.0 };
    let left = full_width / 2.0 - (least + most) / 2.0 * spacing;
    Scale { left, top: top + half + 10.0, spacing, level, boxed }
}

fn wires(canvas: &mut Canvas, layers: &Layers, scale: &Scale) {
    let opacity = match layers.paths.len() {
        0..100 => 0.55,
        100..400 => 0.38,
        _ => 0.22,
    };
    let _ = writeln!(canvas.body, "<g class=\"wire\" stroke-width=\"1\" opacity=\"{opacity}\">");
    let half = scale.half();
    for path in &layers.paths {
        let mut d = String::new();
        for pair in path.windows(2) {
            let (a, b) = (&layers.points[pair[0] as usize], &layers.points[pair[1] as usize]);
            let y1 = scale.y(a.level) + if a.task.is_some() { half } else { 0.0 };
            let y2 = scale.y(b.level) - if b.task.is_some() { half } else { 0.0 };
            let (x1, x2) = (coordinate(scale.x(a.x)), coordinate(scale.x(b.x)));
            if d.is_empty() {
                let _ = write!(d, "M{x1} {}", coordinate(y1));
            }
            let bend = coordinate((y1 + y2) / 2.0);
            let _ = write!(d, "C{x1} {bend} {x2} {bend} {x2} {}", coordinate(y2));
        }
        let _ = writeln!(canvas.body, "<path d=\"{d}\"/>");
    }
    canvas.body.push_str("</g>\n");
}

fn node(
    shapes: &mut String,
    names: &mut String,
    workflow: &Workflow,
    task: TaskId,
    [x, y]: [f64; 2],
    scale: &Scale,
) {
    let half = scale.half();
    match scale.boxed {
        Some(wide) => {
            let _ = write!(
                shapes,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\">",
                coordinate(x - wide / 2.0),
                coordinate(y - half),
                coordinate(wide),
                coordinate(2.0 * half)
            );
            let name = fit(workflow.task_name(task), (wide - 8.0) / NAME).unwrap_or_default();
            let _ = writeln!(
                names,
                "<text x=\"{}\" y=\"{}\">{}</text>",
                coordinate(x),
                coordinate(y + NAME * 0.36),
                escaped(&name)
            );
        }
        None => {
            let _ = write!(
                shapes,
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\">",
                coordinate(x),
                coordinate(y),
                coordinate(half)
            );
        }
    }
    shapes.push_str("<title>");
    push_escaped(shapes, workflow.task_name(task));
    let kind = workflow.kind_name(workflow.kind(task));
    if !kind.is_empty() && kind != workflow.task_name(task) {
        let _ = write!(shapes, " ({})", escaped(kind));
    }
    let _ = write!(shapes, ": {}", cost(workflow, task));
    shapes.push_str(if scale.boxed.is_some() {
        "</title></rect>\n"
    } else {
        "</title></circle>\n"
    });
}

/// Returns the cost of a task, for its tooltip.
fn cost(workflow: &Workflow, task: TaskId) -> String {
    match workflow.cost_table() {
        Some(table) => {
            let row = table.row(task);
            let least = row.iter().copied().fold(f64::INFINITY, f64::min);
            let most = row.iter().copied().fold(0.0, f64::max);
            format!("{} to {}", fmt_seconds(least), fmt_seconds(most))
        }
        None => fmt_flops(workflow.work(task)),
    }
}
