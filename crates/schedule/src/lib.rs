//! Static planners: a problem in, a schedule out. Nothing here depends on simulation.
//!
//! [`registry`] lists every planner; the command, the lab, the documentation and the tests all
//! read that one list. Adding a method is one file and one line there.
//!
//! ```
//! use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
//! use slackline_model::{Problem, Task, WorkflowBuilder};
//! use slackline_schedule::{Request, registry};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut workflow = WorkflowBuilder::new("two steps");
//! let first = workflow.add_task(Task::new("a", 2e9))?;
//! let second = workflow.add_task(Task::new("b", 1e9))?;
//! workflow.add_edge(first, second, 1e6)?;
//! let workflow = workflow.build()?;
//! let mut platform = PlatformBuilder::new("pair");
//! platform.set_matrix(Matrix::uniform(Some(1e6), 0.0)); // bytes/s
//! let root = platform.root()?;
//! platform.add_host(root, HostSpec::new("h1", 1e9))?;
//! platform.add_host(root, HostSpec::new("h2", 1e9))?;
//! let platform = platform.build()?;
//!
//! let problem = Problem::new(&workflow, &platform)?;
//! let heft = registry::find("heft").ok_or("no such planner")?;
//! let plan = heft.plan(&problem, &Request::default())?;
//! assert_eq!(plan.makespan(), 3.0); // both on one host: no transfer
//! # Ok(()) }
//! ```

pub mod added;
pub mod aliases;
pub mod best;
pub mod bounds;
mod budget;
mod compact;
pub mod exact;
pub mod heeds;
pub mod links;
pub mod list;
pub mod meta;
pub mod moldable;
pub mod nondet;
mod pools;
pub mod qos;
pub mod registry;
pub mod retime;
pub mod robust;
pub mod several;
pub mod sweep;

pub use budget::Watch;
pub use heeds::Heed;
pub use registry::{Algorithm, Certified, Family, Need, PlanError, Planner, Request};
