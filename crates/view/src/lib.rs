//! Pictures: Gantt charts for the terminal and as SVG, workflow graphs as SVG.
//!
//! A Gantt chart is first plain data, a [`Chart`] of rows, bars and marks, whatever it was made
//! from (a schedule, a simulated or a real run); [`gantt::terminal`] and [`gantt::svg`] draw it.
//!
//! ```
//! use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
//! use slackline_model::{Placement, ProcId, Problem, Schedule, Task, TaskId, WorkflowBuilder};
//! use slackline_view::gantt::{TerminalOptions, terminal};
//! use slackline_view::Chart;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut workflow = WorkflowBuilder::new("one");
//! workflow.add_task(Task::new("a", 4e9))?;
//! let workflow = workflow.build()?;
//! let mut platform = PlatformBuilder::new("p");
//! let root = platform.root()?;
//! platform.add_host(root, HostSpec::new("only", 1e9))?;
//! platform.set_matrix(Matrix::Uniform { bandwidth: 1e8, latency: 1e-3 });
//! let platform = platform.build()?;
//! let problem = Problem::new(&workflow, &platform)?;
//! let mut schedule = Schedule::start(&problem);
//! schedule.place(TaskId(0), Placement::new(ProcId(0), 0.0, 4.0));
//! let chart = Chart::of_schedule(&problem, &schedule);
//! assert!(terminal(&chart, &TerminalOptions::default()).contains("only"));
//! # Ok(()) }
//! ```

mod axis;
mod categories;
pub mod chart;
pub mod forecast;
mod from_schedule;
mod from_trace;
pub mod front;
pub mod gantt;
pub mod graph;
mod lanes;
mod links;
mod palette;
pub mod plot;
mod png;
mod pools;
pub mod progress;
pub mod series;
mod svg;
mod text;

pub use chart::{Arrow, Bar, Category, Chart, Group, Look, Mark, MarkKind, Replanning, StepSeries};
pub use png::png;
