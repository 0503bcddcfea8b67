//! A cell of a study: one run, or one plan, with everything it takes. What a study makes of it here
//! the command makes of it again from the files it is written to.

mod written;

pub use written::Written;

use crate::papers::StudyError;
use slackline_engine::{Ending, Outcome, Recording, Stage};
use slackline_model::parameter::Given;
use slackline_model::scenario::Knowledge;
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule};
use slackline_react::registry::{self as policies, Entry, Options};
use slackline_react::{Policy, StaticPlan, Transfers};
use slackline_schedule::list::heft::HEFT;
use slackline_schedule::{Algorithm, Planner, Request, registry as planners};
use slackline_simulate::Models;

/// One run, or one plan, of a study.
#[derive(Clone)]
pub struct Cell {
    stage: Stage,
    /// The rules of the simulation by name, where they are not the usual ones.
    preset: Option<&'static str>,
    knows: Knowledge,
    by: By,
}

/// Driver of a case: a policy, a schedule or a planner.
#[derive(Clone)]
enum By {
    /// A policy decides.
    Policy(&'static Entry, Box<Options>),
    /// A schedule is followed.
    Schedule(Box<Schedule>, Transfers),
    /// Nothing runs: this is a plan.
    Planner(Box<Planner>),
}

/// Result of a run.
pub struct Ran {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Further facts reported by the policy.
    pub told: Vec<(&'static str, Detail)>,
}

impl Cell {
    /// A run that a policy decides.
    pub fn decided(stage: Stage, entry: &'static Entry, told: Options) -> Cell {
        Cell::of(stage, By::Policy(entry, Box::new(told)))
    }

    /// A run that follows a schedule.
    pub fn following(stage: Stage, schedule: Schedule, transfers: Transfers) -> Cell {
        Cell::of(stage, By::Schedule(Box::new(schedule), transfers))
    }

    /// A plan of the whole work.
    pub fn planned(stage: Stage, planner: impl Into<Planner>) -> Cell {
        Cell::of(stage, By::Planner(Box::new(planner.into())))
    }

    fn of(stage: Stage, by: By) -> Cell {
        Cell { stage, preset: None, knows: Knowledge::Estimates, by }
    }

    /// The case under other rules of the simulation, by name.
    pub fn under(mut self, preset: &'static str) -> Result<Cell, StudyError> {
        let missing = || StudyError(format!("there is no model '{preset}'"));
        self.stage.models = Models::preset(preset).ok_or_else(missing)?;
        self.preset = Some(preset);
        Ok(self)
    }

    /// The case with this knowledge of run times and sizes.
    pub fn knowing(mut self, knows: Knowledge) -> Result<Cell, StudyError> {
        let Stage { workflow, platform, scenario, .. } = &self.stage;
        let known = scenario.known(workflow, platform, knows).map_err(StudyError::of)?;
        (self.stage.known, self.knows) = (known, knows);
        Ok(self)
    }

    /// The set-up of its simulated run.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Lets it run.
    pub fn run(&self, recording: Recording<'_>) -> Result<Ran, StudyError> {
        let mut policy: Box<dyn Policy> = match &self.by {
            By::Policy(entry, told) => entry.policy(told).map_err(StudyError::of)?,
            By::Schedule(schedule, transfers) => {
                Box::new(StaticPlan::of_schedule(Schedule::clone(schedule), &HEFT, *transfers))
            }
            By::Planner(_) => return Err(StudyError("a plan does not run".to_string())),
        };
        let outcome = self.stage.run_as(policy.as_mut(), recording, None);
        let outcome = outcome.map_err(StudyError::of)?;
        Ok(Ran { outcome, told: policy.report() })
    }

    /// Runs the case; fails if the run does not finish.
    pub fn finish(&self, recording: Recording<'_>) -> Result<Outcome, StudyError> {
        let outcome = self.run(recording)?.outcome;
        match &outcome.ending {
            Ending::Finished => Ok(outcome),
            Ending::CannotFinish(why) => Err(StudyError(format!("{}: {why}", self.name()))),
        }
    }

    /// The plan, of a cell that is one.
    pub fn plan(&self) -> Result<Schedule, StudyError> {
        let By::Planner(planner) = &self.by else {
            return Err(StudyError("a run is no plan".to_string()));
        };
        planner.plan(&self.problem()?).map_err(StudyError::of)
    }

    /// When it ends; never where it cannot finish.
    pub fn end(&self) -> Result<f64, StudyError> {
        if let By::Planner(_) = self.by {
            return Ok(self.plan()?.makespan());
        }
        let outcome = self.run(Recording::Nothing)?.outcome;
        Ok(if outcome.ending == Ending::Finished { outcome.makespan } else { f64::INFINITY })
    }

    /// The planning problem at the start.
    pub fn problem(&self) -> Result<Problem<'_>, StudyError> {
        let Stage { known, platform, models, inputs, .. } = &self.stage;
        Problem::charged(known, platform, &models.charges(), *inputs).map_err(StudyError::of)
    }

    /// Name of its driver.
    fn name(&self) -> &str {
        match &self.by {
            By::Policy(entry, _) => entry.name,
            By::Schedule(..) => "schedule",
            By::Planner(planner) => planner.algorithm.name,
        }
    }
}

/// A case before it is made: studies have thousands, and preparing each costs a run or more.
pub struct Recipe {
    /// Name of the case, unique in its study.
    pub name: String,
    make: Box<dyn Fn() -> Result<Cell, StudyError> + Send + Sync>,
}

impl Recipe {
    /// The cell of a name.
    pub fn new(
        name: impl Into<String>,
        make: impl Fn() -> Result<Cell, StudyError> + Send + Sync + 'static,
    ) -> Recipe {
        Recipe { name: name.into(), make: Box::new(make) }
    }

    /// Makes the cell.
    pub fn cell(&self) -> Result<Cell, StudyError> {
        (self.make)()
    }
}

/// The policy of that name.
pub(crate) fn policy(name: &str) -> Result<&'static Entry, StudyError> {
    policies::find(name).ok_or_else(|| StudyError(format!("the policy '{name}' is missing")))
}

/// The planner of that name.
pub(crate) fn planner(name: &str) -> Result<&'static Algorithm, StudyError> {
    planners::find(name).ok_or_else(|| StudyError(format!("the planner '{name}' is missing")))
}

/// A planner with some parameters set.
pub(crate) fn planner_with(name: &str, set: &[(&str, &str)]) -> Result<Planner, StudyError> {
    let request = Request { given: given(set), ..Request::default() };
    Ok(Planner { algorithm: planner(name)?, request })
}

/// Parameters by name and text.
pub(crate) fn given(set: &[(&str, &str)]) -> Given {
    set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// A policy, and how inputs travel where it leaves that to others.
pub(crate) fn deciding(entry: &Entry, transfers: Transfers) -> String {
    match entry.parameters.iter().any(|p| p.name == "transfers") {
        true => format!("{} {}", entry.name, transfers_name(transfers)),
        false => entry.name.to_string(),
    }
}

/// Notation of transfers on the command line.
pub(crate) fn transfers_name(transfers: Transfers) -> String {
    match transfers {
        Transfers::Push => "push".to_string(),
        Transfers::Pull { window } => format!("pull:{window}"),
    }
}
