//! Pictures of a workflow's graph, level by level from top to bottom.
//!
//! A graph of up to some hundred tasks shows every task and dependency; a larger one shows each
//! level as a bar as wide as its number of tasks, cut by kind, with the flow between them.

mod layers;
mod levels;
mod nodes;
mod regions;

pub use regions::regions_svg;

use slackline_model::Workflow;
use slackline_model::workflow::Shape;

/// Options of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphOptions {
    /// Width in pixels.
    pub width: f64,
    /// Most tasks drawn one by one.
    pub most_tasks: usize,
}

impl Default for GraphOptions {
    fn default() -> Self {
        GraphOptions { width: 1000.0, most_tasks: 260 }
    }
}

/// Draws the graph of a workflow.
pub fn svg(workflow: &Workflow, options: &GraphOptions) -> String {
    let shape = Shape::of(workflow);
    let single = workflow.len() <= options.most_tasks
        && f64::from(shape.width()) * nodes::LEAST_SPACING <= options.width;
    match single.then(|| layers::Layers::of(workflow, &shape)).flatten() {
        Some(layers) => nodes::draw(workflow, &layers, options.width),
        None => levels::draw(workflow, &shape, options.width),
    }
}

/// The line under the title.
fn facts(workflow: &Workflow, shape: &Shape) -> Vec<String> {
    use crate::text::grouped;
    vec![
        format!("{} tasks", grouped(workflow.len())),
        format!("{} dependencies", grouped(workflow.edge_count())),
        format!("{} levels", grouped(shape.depth())),
        format!("widest level {}", grouped(shape.width() as usize)),
    ]
}

/// The title.
fn title(workflow: &Workflow) -> &str {
    if workflow.name().is_empty() { "workflow" } else { workflow.name() }
}
