//! Scheduling one workflow under a budget and a deadline: chapters 6 (heterogeneous budget-constrained scheduling, HBCS)
//! and 8 (deadline-budget constrained scheduling, DBCS) of H. Arabnejad's thesis, "Workflow scheduling on heterogeneous
//! systems under QoS constraints".
//!
//! The figures of the source are not available to us, only the numbers that its text quotes. A plan is judged twice: as
//! planned, without contention, and as executed on the simulated machine, where mapping and order are
//! kept and transfers share links. Contention does not change what computation costs.

mod cloud;
mod dbcs;
mod hbcs;

pub(super) use cloud::PAPER as CLOUD;
pub(super) use dbcs::PAPER as DBCS;
pub(super) use hbcs::PAPER as HBCS;

use super::{Options, Size, StudyError};
use crate::cell::{Cell, Recipe};
use slackline_engine::{Recording, Stage};
use slackline_generate::Seed;
use slackline_generate::population::{Population, STUDIES};
use slackline_generate::registry::{Family, find};
use slackline_model::schedule::{Limits, Summary};
use slackline_model::{Platform, Problem, Schedule, Workflow};
use slackline_react::Transfers;
use slackline_schedule::{Algorithm, Planner, Request};
use std::sync::Arc;

/// A machine of the studies: some processors of a site, by name such as `rennes-8`, with prices by the rule `priced`.
fn machine(name: &str, priced: &str) -> Result<Arc<Platform>, StudyError> {
    grid5000(&[("machine", name), ("priced", priced)])
}

fn grid5000(given: &[(&str, &str)]) -> Result<Arc<Platform>, StudyError> {
    let generator = find(Family::Platform, "grid5000").map_err(StudyError::of)?;
    let given: Vec<_> = given.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let settings = generator.settings(&given).map_err(StudyError::of)?;
    generator.platform(&settings, Seed::new(0)).map(Arc::new).map_err(StudyError::of)
}

/// Description of a workflow, from which it is generated.
#[derive(Clone, Copy)]
enum Drawn {
    /// Graph `index` of `count` at equal distances in the population of a study.
    Graph { study: &'static str, seed: u64, count: usize, index: usize },
    /// An instance of an application.
    Application { name: &'static str, tasks: &'static str, seed: u64, member: usize },
}

impl Drawn {
    fn make(&self) -> Result<Arc<Workflow>, StudyError> {
        let made = match *self {
            Drawn::Graph { study, seed, count, index } => {
                let population = population(study, seed)?;
                let all = population.len();
                let member = population.member(index as u64 * all / count as u64);
                let member = member.map_err(StudyError::of)?;
                population.generator.workflow(&member.settings, member.seed)
            }
            Drawn::Application { name, tasks, seed, member } => {
                let generator = find(Family::Workflow, name).map_err(StudyError::of)?;
                let given = [("tasks".to_string(), tasks.to_string())];
                let settings = generator.settings(&given).map_err(StudyError::of)?;
                generator.workflow(&settings, Seed { seed, member: member as u64 })
            }
        };
        made.map(Arc::new).map_err(StudyError::of)
    }
}

impl std::fmt::Display for Drawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Drawn::Graph { index, .. } => write!(f, "graph {index}"),
            Drawn::Application { name, tasks, member, .. } => {
                write!(f, "{name} of {tasks}, {member}")
            }
        }
    }
}

fn population(study: &str, seed: u64) -> Result<Population, StudyError> {
    let missing = || StudyError(format!("the population of {study} is missing"));
    let study = STUDIES.iter().find(|s| s.name == study).ok_or_else(missing)?;
    study.population(seed).map_err(StudyError::of)
}

/// Graphs at equal distances in the population of a study.
fn graphs(study: &'static str, seed: u64, count: usize) -> Result<Vec<Drawn>, StudyError> {
    let all = population(study, seed)?.len() as usize;
    let graph = |index| Drawn::Graph { study, seed, count, index };
    Ok((0..count.min(all)).map(graph).collect())
}

/// Instances of an application.
fn applications(
    name: &'static str,
    tasks: &'static str,
    seed: u64,
    count: usize,
) -> impl Iterator<Item = Drawn> {
    (0..count).map(move |member| Drawn::Application { name, tasks, seed, member })
}

/// Figures of a plan and its run.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// Planned makespan, in seconds.
    planned: f64,
    /// Simulated makespan, in seconds.
    simulated: f64,
    /// Cost of the plan, in money.
    cost: f64,
}

impl Done {
    /// The planned or the simulated makespan.
    fn makespan(&self, way: Judging) -> f64 {
        match way {
            Judging::Planned => self.planned,
            Judging::Simulated => self.simulated,
        }
    }
}

/// Makespan by which plans are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Judging {
    Simulated,
    Planned,
}

const WAYS: [Judging; 2] = [Judging::Simulated, Judging::Planned];

impl Judging {
    fn name(self) -> &'static str {
        match self {
            Judging::Simulated => "simulated",
            Judging::Planned => "planned",
        }
    }
}

/// A workflow on a machine.
struct Case<'c> {
    stage: Stage,
    problem: Problem<'c>,
}

impl<'c> Case<'c> {
    fn new(
        workflow: &'c Arc<Workflow>,
        platform: &'c Arc<Platform>,
    ) -> Result<Case<'c>, StudyError> {
        let problem = Problem::new(workflow, platform).map_err(StudyError::of)?;
        Ok(Case { stage: Stage::new(workflow.clone(), platform.clone()), problem })
    }

    /// A plan under limits, without contention.
    fn plan(&self, method: &'static Algorithm, request: &Request) -> Result<Cell, StudyError> {
        let planner = Planner { algorithm: method, request: request.clone() };
        Cell::planned(self.stage.clone(), planner).under("matrix")
    }

    /// The run of a plan: mapping and order are kept, data leaves when its producer ends.
    fn run(&self, plan: Schedule) -> Cell {
        Cell::following(self.stage.clone(), plan, Transfers::Push)
    }

    /// Figures of a plan and its simulated run.
    fn done(&self, method: &'static Algorithm, request: &Request) -> Result<Done, StudyError> {
        let plan = self.plan(method, request)?.plan()?;
        let summary = Summary::of(&self.problem, &plan);
        let simulated = self.run(plan).finish(Recording::Nothing)?.makespan;
        Ok(Done { planned: summary.makespan, simulated, cost: summary.cost })
    }
}

/// Cells for the plan of a workflow on a machine and for its run.
fn recipes(
    name: &str,
    workflow: Drawn,
    platform: impl Fn() -> Result<Arc<Platform>, StudyError> + Send + Sync + Clone + 'static,
    plan: impl Fn(&Case<'_>) -> Result<Cell, StudyError> + Send + Sync + Clone + 'static,
) -> [Recipe; 2] {
    WAYS.map(|way| {
        let (platform, plan) = (platform.clone(), plan.clone());
        Recipe::new(format!("{name}, {}", way.name()), move || {
            let (workflow, platform) = (workflow.make()?, platform()?);
            let case = Case::new(&workflow, &platform)?;
            let planned = plan(&case)?;
            match way {
                Judging::Planned => Ok(planned),
                Judging::Simulated => Ok(case.run(planned.plan()?)),
            }
        })
    })
}

fn under(budget: f64, deadline: Option<f64>) -> Request {
    Request { limits: Limits { budget: Some(budget), deadline }, ..Request::default() }
}

fn graphs_of(options: &Options, [quick, standard, full]: [usize; 3]) -> usize {
    options.graphs.unwrap_or(match options.size {
        Size::Quick => quick,
        Size::Standard => standard,
        Size::Full => full,
    })
}
