//! The command `slackline`, run in the process of the interpreter.

use pyo3::prelude::*;
use slackline::Sink;
use std::path::PathBuf;

/// Runs the command on the streams of the process, with its signal handlers. Returns the exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, words: Vec<String>) -> u8 {
    py.detach(|| slackline::command(words))
}

/// Runs the command with captured streams. Returns the exit code, standard output and standard error.
#[pyfunction]
pub(crate) fn captured(py: Python<'_>, words: Vec<String>) -> (u8, String, String) {
    py.detach(|| {
        let (out, err) = (Sink::default(), Sink::default());
        let code = slackline::run(words, out.clone(), err.clone());
        (code, out.text(), err.text())
    })
}

/// Sets the program that runs start as `slackline` (for pilots and helpers of tasks), since the executable of this process
/// is the interpreter.
#[pyfunction]
pub(crate) fn set_command_path(path: PathBuf) {
    slackline_core::run::set_command_path(path);
}
