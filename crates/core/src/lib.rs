//! The application layer of Slackline, and its library.
//!
//! Programs use the functions of the command through requests and reports: [`PlanRequest`], [`SimulateRequest`],
//! [`CompareRequest`] and [`RunRequest`] are data, read from and written as JSON ([`AnyRequest`]); `report` carries one out
//! with the files and the [`Observer`] of a [`Context`]. The command prints the same bytes.
//!
//! Below that the parts are the crates themselves, re-exported under short names ([`model`], [`formats`],
//! [`schedule`], [`react`], [`engine`], [`simulate`], [`view`]); the functions here, [`problem`], [`plan()`]
//! and [`run()`], do what most programs want of them. Their makespans are those of `slackline plan`,
//! `simulate` and `run --dry-run`.
//!
//! # Plan
//!
//! ```
//! use slackline_core::formats::{FileAccess, read_platform, read_workflow};
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = FileAccess::default();
//! let workflow = Path::new("../../examples/workflows/montage.json");
//! let workflow = read_workflow(&files, workflow, None)?.workflow;
//! let platform = Path::new("../../examples/platforms/small-cluster.toml");
//! let platform = read_platform(&files, platform, None)?;
//! let problem = slackline_core::problem(&workflow, &platform)?;
//! let plan = slackline_core::plan(&problem, "heft")?;
//! assert!((plan.makespan() - 31.1).abs() < 0.1);
//! # Ok(()) }
//! ```
//!
//! # Simulate
//!
//! A policy drives the run: one that follows a plan, or one that decides on the way.
//!
//! ```
//! use slackline_core::formats::{FileAccess, read_platform, read_workflow};
//! use slackline_core::react::JustInTime;
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = FileAccess::default();
//! let workflow = Path::new("../../examples/workflows/montage.json");
//! let workflow = read_workflow(&files, workflow, None)?.workflow;
//! let platform = Path::new("../../examples/platforms/small-cluster.toml");
//! let platform = read_platform(&files, platform, None)?;
//! let outcome =
//!     slackline_core::run(&Arc::new(workflow), &Arc::new(platform), &mut JustInTime::default())?;
//! assert!(outcome.makespan > 31.0);
//! assert_eq!(outcome.schedule.placements.iter().flatten().count(), 38);
//! # Ok(()) }
//! ```
//!
//! # A planner of one's own
//!
//! A planner is a function from a problem to a schedule. This one takes tasks in an order that
//! respects dependencies and puts each where it ends first.
//!
//! ```
//! use slackline_core::formats::instance;
//! use slackline_core::model::schedule::{Limits, validate};
//! use slackline_core::model::{Problem, Schedule};
//! use slackline_core::schedule::list::Partial;
//! use slackline_core::schedule::PlanError;
//!
//! fn greedy(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
//!     let mut partial = Partial::new(problem);
//!     for &task in problem.workflow().topological_order() {
//!         let slot = partial.earliest_finish(task)?;
//!         partial.place(task, slot);
//!     }
//!     Ok(partial.into_schedule())
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = std::fs::read_to_string("../../examples/workflows/heft-2002.json")?;
//! let read = instance::read(&text)?;
//! let problem = Problem::new(&read.workflow, &read.platform)?;
//! let plan = greedy(&problem)?;
//! assert!(validate(&problem, &plan, &Limits::default()).is_empty());
//! # Ok(()) }
//! ```
//!
//! # A policy of one's own
//!
//! Events in, decisions out. This one plans when the run begins, and plans the rest again whenever
//! a host is lost or changes its speed.
//!
//! ```
//! use slackline_core::formats::{FileAccess, read_platform, read_workflow};
//! use slackline_core::react::{Decision, Event, Plan, Policy, Situation, Transfers};
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! struct PlanAgain;
//!
//! impl Policy for PlanAgain {
//!     fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
//!         let calls = |e: &Event| matches!(e, Event::Start | Event::HostLost(_) | Event::HostChanged(_));
//!         if !events.iter().any(calls) {
//!             return;
//!         }
//!         let adopted = now.problem().map_err(|e| e.to_string()).and_then(|problem| {
//!             let plan = slackline_core::plan(&problem, "peft").map_err(|e| e.to_string())?;
//!             Ok(Decision::Adopt(Plan::of_schedule(&problem, &plan, Transfers::Push)))
//!         });
//!         decisions.push(adopted.unwrap_or_else(Decision::GiveUp));
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = FileAccess::default();
//! let workflow = Path::new("../../examples/workflows/fork-join.toml");
//! let workflow = read_workflow(&files, workflow, None)?.workflow;
//! let platform = Path::new("../../examples/platforms/small-cluster.toml");
//! let platform = read_platform(&files, platform, None)?;
//! let outcome = slackline_core::run(&Arc::new(workflow), &Arc::new(platform), &mut PlanAgain)?;
//! assert_eq!(outcome.counters.replannings, 0); // nothing went wrong
//! # Ok(()) }
//! ```
//!
//! # A format of one's own
//!
//! A reader makes a [`model::Workflow`] with the [`model::WorkflowBuilder`]; everything else works on that.
//! Here a line is a task, its work and the tasks it waits for.
//!
//! ```
//! use slackline_core::model::{Task, Workflow, WorkflowBuilder, WorkflowError};
//!
//! fn read(text: &str) -> Result<Workflow, WorkflowError> {
//!     let mut workflow = WorkflowBuilder::new("lines");
//!     let mut known = std::collections::HashMap::new();
//!     for line in text.lines() {
//!         let mut words = line.split_whitespace();
//!         let (Some(name), Some(work)) = (words.next(), words.next()) else { continue };
//!         let id = workflow.add_task(Task::new(name, work.parse().unwrap_or(0.0)))?;
//!         for parent in words.filter_map(|word| known.get(word)) {
//!             workflow.add_edge(*parent, id, 1e6)?;
//!         }
//!         known.insert(name.to_string(), id);
//!     }
//!     workflow.build()
//! }
//!
//! let workflow = read("a 1e9\nb 2e9 a\nc 1e9 a b\n")?;
//! assert_eq!((workflow.len(), workflow.edge_count()), (3, 3));
//! # Ok::<(), WorkflowError>(())
//! ```

/// The example of the page about requests, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/requests.md")]
struct RequestsPage;

/// The examples of the guide for contributors, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;

pub mod activities;
pub mod advice;
pub mod bundled;
pub mod choices;
mod context;
mod details_json;
mod estimates;
pub mod explanation;
mod failure;
pub mod file_kind;
pub mod forecast;
pub mod generation;
pub mod input;
pub mod interval;
mod methods;
pub mod plan;
pub mod plan_check;
mod planner_options;
pub mod recorded;
pub mod request;
pub mod rules;
pub mod run;
mod schedule_json;
pub mod schema;
pub mod simulation;
pub mod what_if;

pub use context::{Context, Observer, RunView, Silent};
pub use details_json::{Details, Set, check_needs};
pub use failure::{Failure, no_plan};
pub use plan::{PlanAnswer, PlanReport};
pub use request::{
    Answer, AnyRequest, CompareRequest, PlanRequest, RequestError, RunRequest, SimulateRequest,
};
pub use run::{RunAnswer, RunReport};
pub use schedule_json::{LeaseEntry, StorageEntry, TaskPlacement, TransferEntry};
pub use simulation::{SimulationAnswer, SimulationReport};

pub use slackline_analysis as analysis;
pub use slackline_engine as engine;
pub use slackline_formats as formats;
pub use slackline_io as io;
pub use slackline_machines as machines;
pub use slackline_machines::detect;
pub use slackline_model as model;
pub use slackline_react as react;
pub use slackline_schedule as schedule;
pub use slackline_simulate as simulate;
pub use slackline_view as view;

use engine::{BackendError, Ending, Outcome, Stage, StageError, usual_models};
use model::problem::Inputs;
use model::scenario::{Knowledge, KnowledgeError, Scenario};
use model::{Platform, Problem, ProblemError, Schedule, Workflow};
use react::Policy;
use schedule::{PlanError, Request, registry};
use std::sync::Arc;

/// Reason why there is no plan or no run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum Error {
    #[error("there is no planner '{0}'")]
    UnknownPlanner(String),
    #[error("{method} needs {need}")]
    Lacks { method: &'static str, need: &'static str },
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Scenario(#[from] KnowledgeError),
    #[error(transparent)]
    Stage(StageError),
    #[error("the run cannot finish: {0}")]
    CannotFinish(String),
}

impl From<StageError> for Error {
    fn from(error: StageError) -> Error {
        match error {
            StageError::Problem(error) => Error::Problem(error),
            StageError::Backend(error) => Error::Backend(error),
            other => Error::Stage(other),
        }
    }
}

/// The planning problem of a workflow on a platform. Transfers are charged as [`run()`] charges them; inputs
/// are on the platform's origin if it names one.
pub fn problem<'a>(workflow: &'a Workflow, platform: &'a Platform) -> Result<Problem<'a>, Error> {
    let charges = usual_models(platform, workflow).charges();
    Ok(Problem::charged(workflow, platform, &charges, Inputs::of(platform))?)
}

/// Plans with a planner of the registry, by name.
pub fn plan(problem: &Problem<'_>, planner: &str) -> Result<Schedule, Error> {
    let unknown = || Error::UnknownPlanner(planner.to_string());
    let algorithm = registry::find(planner).ok_or_else(unknown)?;
    let request = Request::default();
    if let Some(need) = algorithm.lacks(problem, &request.limits) {
        return Err(Error::Lacks { method: algorithm.name, need: need.phrase() });
    }
    Ok(algorithm.plan(problem, &request)?)
}

/// Runs a workflow on a simulated platform, steered by a policy.
pub fn run(
    workflow: &Arc<Workflow>,
    platform: &Arc<Platform>,
    policy: &mut dyn Policy,
) -> Result<Outcome, Error> {
    carry_out(&Stage::new(workflow.clone(), platform.clone()), policy)
}

/// Runs a workflow under a scenario; planners and policies see the scenario's estimates only. Moments given as
/// part of a makespan have to be settled before ([`Scenario::at_makespan`]).
pub fn run_in_scenario(
    workflow: &Arc<Workflow>,
    platform: &Arc<Platform>,
    scenario: &Scenario,
    policy: &mut dyn Policy,
) -> Result<Outcome, Error> {
    let stage = Stage::new(workflow.clone(), platform.clone());
    carry_out(&stage.in_scenario(scenario.clone(), Knowledge::Estimates)?, policy)
}

fn carry_out(stage: &Stage, policy: &mut dyn Policy) -> Result<Outcome, Error> {
    policy.check(&stage.problem()?)?;
    let outcome = stage.run(policy)?;
    match &outcome.ending {
        Ending::Finished => Ok(outcome),
        Ending::CannotFinish(why) => Err(Error::CannotFinish(why.clone())),
    }
}
