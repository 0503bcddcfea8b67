//! Reports as people read them: tables, summaries, pictures and pages of what `core`, `lab`, `centre` and `mpi` found, and
//! the JSON documents of verbs that have no request.
//!
//! Nothing here knows options of a command or a stream of the process: whoever prints passes a [`Printer`].
//!
//! ```
//! use slackline_report::table::Table;
//!
//! let mut table = Table::new(&["<task", ">seconds"]);
//! table.row(["align".to_string(), "2.5".to_string()]);
//! assert_eq!(table.render(80), "  task   seconds\n  align      2.5\n");
//! ```

pub mod activities;
pub mod advice;
pub mod algorithms;
pub mod calibration;
pub mod centre;
pub mod choices;
pub mod compare;
pub mod explanation;
pub mod generated;
pub mod import;
pub mod mpi;
pub mod past;
pub mod picture;
pub mod plan;
mod printer;
pub mod run;
pub mod show;
pub mod simulation;
pub mod site;
pub mod study;
pub mod table;
pub mod terminal;
pub mod versus;
pub mod what_if;

pub use printer::{Printer, Style};
