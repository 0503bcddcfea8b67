//! Workflows, platforms and worlds to plan, simulate and compare on: the populations of the
//! published studies and realistic ones beyond them, reproducibly from a seed.
//!
//! A generator has a typed form (`Daggen { tasks: 100, ..Default::default() }.graph(seed)`) and
//! an entry in the [`registry`], which the command, the help, the manifests and the tests read.
//!
//! ```
//! use slackline_generate::registry::{Family, find};
//! use slackline_generate::Seed;
//!
//! let daggen = find(Family::Workflow, "daggen")?;
//! let settings = daggen.settings(&[("tasks".into(), "50".into())])?;
//! let workflow = daggen.workflow(&settings, Seed::new(7))?;
//! assert_eq!(workflow.len(), 50);
//! # Ok::<(), slackline_generate::GenerateError>(())
//! ```

pub mod costs;
pub mod draw;
pub mod error;
pub mod graph;
pub mod platform;
pub mod population;
pub mod registry;
pub mod scenario;
pub mod streams;
pub mod unrelated;
pub mod workflow;
pub mod workload;

pub use draw::Seed;
pub use error::GenerateError;
pub use graph::Graph;
