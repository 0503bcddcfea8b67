//! Pictures: Gantt charts for the terminal and as SVG, workflow graphs as SVG.
//!
//! A Gantt chart is first plain data, a [`Chart`] of rows, bars and marks, whatever it was made
//! from (a schedule, a simulated or a real run); [`gantt::terminal`] and [`gantt::svg`] draw it.

mod axis;
mod categories;
pub mod chart;
pub mod front;
pub mod gantt;
pub mod graph;
mod happened;
mod lanes;
mod links;
mod palette;
mod planned;
mod png;
pub mod progress;
mod svg;
mod text;

pub use chart::{Arrow, Bar, Category, Chart, Group, Look, Mark, MarkKind, Replanning};
pub use png::png;
