//! Drawing a [`Chart`](crate::Chart).

mod svg;
mod terminal;

pub use svg::{SvgOptions, svg};
pub use terminal::{TerminalOptions, terminal};
