//! The command `slackline`, in this process.

use pyo3::prelude::*;
use slackline::Sink;
use std::path::PathBuf;

/// Runs the command as the program does: with the streams of the process, and signals. Returns the exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, words: Vec<String>) -> u8 {
    py.detach(|| slackline::command(words))
}

/// Runs the command in process; returns the exit code and what it printed on both streams.
#[pyfunction]
pub(crate) fn captured(py: Python<'_>, words: Vec<String>) -> (u8, String, String) {
    py.detach(|| {
        let (out, err) = (Sink::default(), Sink::default());
        let code = slackline::run(words, out.clone(), err.clone());
        (code, out.text(), err.text())
    })
}

/// Sets the program that pilots and tasks are started by as the command: this process is an interpreter.
#[pyfunction]
pub(crate) fn set_command_path(path: PathBuf) {
    slackline_core::run::set_command_path(path);
}
