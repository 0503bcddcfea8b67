//! Figures of a planning problem.

use crate::errors::{input, of_failure};
use crate::platform::Platform_;
use crate::workflow::Workflow_;
use pyo3::prelude::*;
use slackline_core::input::Loaded;
use slackline_core::model::{Problem, ProcId};
use slackline_core::request::ModelSettings;
use slackline_schedule::list::ranks as rank;

/// Calls `work` with the planning problem under the default models, with the interpreter released.
pub(crate) fn with_problem<T>(
    py: Python<'_>,
    workflow: &Bound<'_, Workflow_>,
    platform: &Bound<'_, Platform_>,
    work: impl Fn(&Problem<'_>) -> T + Sync,
) -> PyResult<T>
where
    T: Send,
{
    let frozen = workflow.get().frozen()?;
    let platform = platform.get().platform.clone();
    py.detach(|| {
        let loaded = Loaded::plain(frozen.workflow().clone(), platform);
        let problem = loaded.problem(&ModelSettings::default());
        Ok(work(&problem.map_err(|failure| of_failure(failure, &[]))?))
    })
}

/// Seconds of every task (row) on every host (column), as the bytes of little-endian doubles; infinite where the task does
/// not fit.
#[pyfunction]
pub(crate) fn costs<'py>(
    py: Python<'py>,
    workflow: &Bound<'py, Workflow_>,
    platform: &Bound<'py, Platform_>,
) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
    let bytes = with_problem(py, workflow, platform, |problem| {
        let mut bytes = Vec::new();
        for task in problem.workflow().tasks() {
            for host in problem.platform().host_ids() {
                let first = ProcId(problem.procs_of(host).start);
                bytes.extend(problem.exec_on(task, first).to_le_bytes());
            }
        }
        bytes
    })?;
    Ok(pyo3::types::PyBytes::new(py, &bytes))
}

/// The rank of every task, by position: `upward` or `downward`.
#[pyfunction]
pub(crate) fn ranks(
    py: Python<'_>,
    workflow: &Bound<'_, Workflow_>,
    platform: &Bound<'_, Platform_>,
    direction: &str,
) -> PyResult<Vec<f64>> {
    let of: fn(&Problem<'_>) -> Vec<f64> = match direction {
        "upward" => rank::upward,
        "downward" => rank::downward,
        other => return Err(input(format!("ranks are upward or downward, not '{other}'"))),
    };
    with_problem(py, workflow, platform, of)
}
