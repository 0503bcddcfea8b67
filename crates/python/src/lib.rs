//! The native module of the Python package: values, requests and callbacks. Everything else is Python (`python/slackline`).
//!
//! **Only here is Python known.** Work is done with the interpreter released; callbacks run on the thread of the call. Rust
//! types of Python classes end with `_` where the crates have a type of the same name.

// The macros of pyo3 generate public items without documentation.
#![allow(missing_docs)]

mod campaign;
mod command;
mod errors;
mod gym;
mod lend;
mod planner;
mod platform;
mod policy;
mod problem;
mod quantity;
mod read;
mod requests;
mod results;
mod workflow;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<workflow::Workflow_>()?;
    module.add_class::<workflow::TaskHandle>()?;
    module.add_class::<workflow::Task_>()?;
    module.add_class::<platform::Platform_>()?;
    module.add_class::<platform::Host_>()?;
    module.add_class::<platform::Scenario_>()?;
    module.add_class::<planner::Offer_>()?;
    module.add_class::<planner::Problem_>()?;
    module.add_class::<planner::Partial_>()?;
    module.add_class::<policy::Event_>()?;
    module.add_class::<policy::Start>()?;
    module.add_class::<policy::Choice>()?;
    module.add_class::<policy::Situation_>()?;
    module.add_class::<policy::Priority>()?;
    module.add_class::<policy::Ready>()?;
    module.add_class::<policy::Adoptable>()?;
    module.add_class::<results::Plan_>()?;
    module.add_class::<results::Run_>()?;
    module.add_function(wrap_pyfunction!(read::read, module)?)?;
    module.add_function(wrap_pyfunction!(read::platform_of, module)?)?;
    module.add_function(wrap_pyfunction!(read::import_run, module)?)?;
    module.add_function(wrap_pyfunction!(read::generators, module)?)?;
    module.add_function(wrap_pyfunction!(read::generate, module)?)?;
    module.add_function(wrap_pyfunction!(requests::carry_out, module)?)?;
    module.add_function(wrap_pyfunction!(requests::resume, module)?)?;
    module.add_function(wrap_pyfunction!(planner::add_planner, module)?)?;
    module.add_function(wrap_pyfunction!(policy::add_policy, module)?)?;
    module.add_class::<gym::Episode>()?;
    module.add_function(wrap_pyfunction!(gym::episode_facts, module)?)?;
    module.add_function(wrap_pyfunction!(gym::episode_bare, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::seconds_of, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::size_of, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::rate_of, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::flop_of, module)?)?;
    module.add_function(wrap_pyfunction!(platform::matrix_platform, module)?)?;
    module.add_function(wrap_pyfunction!(read::workflow_of_text, module)?)?;
    module.add_function(wrap_pyfunction!(problem::costs, module)?)?;
    module.add_function(wrap_pyfunction!(problem::ranks, module)?)?;
    module.add_function(wrap_pyfunction!(campaign::compare, module)?)?;
    module.add_function(wrap_pyfunction!(campaign::boxes, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(command::captured, module)?)?;
    module.add_function(wrap_pyfunction!(command::set_command_path, module)?)?;
    Ok(())
}
