//! Scheduling one workflow under a budget and a deadline: chapters 6 (HBCS) and 8 (DBCS) of H.
//! Arabnejad's thesis, "Workflow scheduling on heterogeneous systems under QoS constraints".
//!
//! All figures of the source are lost but for the numbers its text quotes. A plan is judged twice: as
//! planned, without contention, and as executed on the simulated machine, where mapping and order are
//! kept and transfers share links. Contention does not change what computation costs.

mod cloud;
mod dbcs;
mod hbcs;

pub(super) use cloud::PAPER as CLOUD;
pub(super) use dbcs::PAPER as DBCS;
pub(super) use hbcs::PAPER as HBCS;

use super::{Options, Size, StudyError};
use slackline_execute::{Ending, Settings, Simulated, run};
use slackline_generate::Seed;
use slackline_generate::population::STUDIES;
use slackline_generate::registry::{Family, find};
use slackline_model::schedule::{Limits, Summary};
use slackline_model::{Platform, Problem, ProcId, Schedule, TaskId, Workflow};
use slackline_react::{StaticPlan, Transfers};
use slackline_schedule::{Algorithm, Request, registry};
use slackline_simulate::Models;
use std::sync::Arc;

/// A machine of the studies: so many processors of a site.
fn machine(name: &str, priced: &str) -> Result<Arc<Platform>, StudyError> {
    grid5000(&[("machine", name), ("priced", priced)])
}

fn grid5000(given: &[(&str, &str)]) -> Result<Arc<Platform>, StudyError> {
    let generator = find(Family::Platform, "grid5000").map_err(StudyError::of)?;
    let given: Vec<_> = given.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let settings = generator.settings(&given).map_err(StudyError::of)?;
    generator.platform(&settings, Seed::new(0)).map(Arc::new).map_err(StudyError::of)
}

/// Graphs spread evenly over the population of a study.
fn graphs(study: &str, seed: u64, count: usize) -> Result<Vec<Arc<Workflow>>, StudyError> {
    let missing = || StudyError(format!("the population of {study} is missing"));
    let study = STUDIES.iter().find(|s| s.name == study).ok_or_else(missing)?;
    let population = study.population(seed).map_err(StudyError::of)?;
    let all = population.len();
    let member = |k: usize| {
        let member = population.member(k as u64 * all / count as u64).map_err(StudyError::of)?;
        let made = population.generator.workflow(&member.settings, member.seed);
        made.map(Arc::new).map_err(StudyError::of)
    };
    (0..count.min(all as usize)).map(member).collect()
}

/// Instances of an application.
fn applications(
    name: &str,
    tasks: &str,
    seed: u64,
    count: usize,
) -> Result<Vec<Arc<Workflow>>, StudyError> {
    let generator = find(Family::Workflow, name).map_err(StudyError::of)?;
    let given = [("tasks".to_string(), tasks.to_string())];
    let settings = generator.settings(&given).map_err(StudyError::of)?;
    let made = |member: usize| {
        let seed = Seed { seed, member: member as u64 };
        generator.workflow(&settings, seed).map(Arc::new).map_err(StudyError::of)
    };
    (0..count).map(made).collect()
}

fn planner(name: &str) -> Result<&'static Algorithm, StudyError> {
    registry::find(name).ok_or_else(|| StudyError(format!("the planner {name} is missing")))
}

/// What became of a plan.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    planned: f64,
    simulated: f64,
    cost: f64,
}

impl Done {
    /// As planned or as simulated.
    fn makespan(&self, way: Way) -> f64 {
        match way {
            Way::Planned => self.planned,
            Way::Simulated => self.simulated,
        }
    }
}

/// How plans are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Simulated,
    Planned,
}

const WAYS: [Way; 2] = [Way::Simulated, Way::Planned];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Simulated => "simulated",
            Way::Planned => "planned",
        }
    }
}

/// A workflow on a machine.
struct Case<'c> {
    workflow: &'c Arc<Workflow>,
    platform: &'c Arc<Platform>,
    problem: Problem<'c>,
}

impl<'c> Case<'c> {
    fn new(
        workflow: &'c Arc<Workflow>,
        platform: &'c Arc<Platform>,
    ) -> Result<Case<'c>, StudyError> {
        let problem = Problem::new(workflow, platform).map_err(StudyError::of)?;
        Ok(Case { workflow, platform, problem })
    }

    /// Plans under limits; executes the plan too.
    fn done(&self, method: &Algorithm, settings: &Request) -> Result<Done, StudyError> {
        let schedule = (method.plan)(&self.problem, settings).map_err(StudyError::of)?;
        let summary = Summary::of(&self.problem, &schedule);
        let simulated = self.simulated(schedule)?;
        Ok(Done { planned: summary.makespan, simulated, cost: summary.cost })
    }

    /// The plan alone.
    fn planned(&self, method: &Algorithm, settings: &Request) -> Result<Done, StudyError> {
        let schedule = (method.plan)(&self.problem, settings).map_err(StudyError::of)?;
        let Summary { makespan, cost, .. } = Summary::of(&self.problem, &schedule);
        Ok(Done { planned: makespan, simulated: f64::NAN, cost })
    }

    /// Keeps mapping and order; data leaves when its producer ends.
    fn simulated(&self, schedule: Schedule) -> Result<f64, StudyError> {
        let truth = |task: TaskId, procs: &[ProcId]| {
            procs.first().map_or(0.0, |&proc| self.problem.exec_on(task, proc))
        };
        let mut backend = Simulated::new(self.platform, Models::default(), Box::new(truth))
            .map_err(StudyError::of)?;
        let mut policy = StaticPlan::of_schedule(schedule, planner("heft")?, Transfers::Push);
        let (workflow, platform) = (self.workflow.clone(), self.platform.clone());
        let settings = Settings::default();
        let outcome =
            run(workflow, platform, &mut policy, &mut backend, settings).map_err(StudyError::of)?;
        match outcome.ending {
            Ending::Finished => Ok(outcome.makespan),
            Ending::CannotFinish(why) => Err(StudyError(why)),
        }
    }
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
