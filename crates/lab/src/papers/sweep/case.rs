//! One application on one grid in one world, planned or run.

use crate::papers::StudyError;
use slackline_execute::{Ending, Recording, Settings, Stage};
use slackline_generate::draw::Seed;
use slackline_generate::registry::{self, Family};
use slackline_generate::workflow::sweep::Sweep;
use slackline_model::problem::{Inputs, State};
use slackline_model::scenario::{Knowledge, Scenario};
use slackline_model::schedule::Detail;
use slackline_model::{Platform, Problem, Schedule, Workflow};
use slackline_react::registry::{self as policies, Options};
use slackline_schedule::{Request, registry as planners};
use slackline_simulate::{Models, NetworkModel};
use std::sync::Arc;

/// Name and value of parameters.
pub(super) type Set = &'static [(&'static str, &'static str)];

/// Everything planned once at the start, then followed.
pub(super) const ONCE: Set = &[
    ("quota", "1000000"),
    ("strategy", "s1"),
    ("interval", "1000000000"),
    ("replan-on", "never"),
    ("steal", "no"),
];

/// An application on a grid in a world.
pub(super) struct Case {
    pub(super) workflow: Arc<Workflow>,
    pub(super) platform: Arc<Platform>,
    pub(super) scenario: Scenario,
    /// Seconds that a plan takes to make.
    pub(super) planning: f64,
}

impl Case {
    /// An application on the published grid, which holds still.
    pub(super) fn published(application: &Sweep, seed: u64) -> Result<Case, StudyError> {
        let workflow = application.workflow(Seed::new(seed)).map_err(StudyError::of)?;
        let grid = registry::find(Family::Platform, "sweep-grid").map_err(StudyError::of)?;
        let settings = grid.settings(&[]).map_err(StudyError::of)?;
        let platform = grid.platform(&settings, Seed::new(seed)).map_err(StudyError::of)?;
        Ok(Case {
            workflow: Arc::new(workflow),
            platform: Arc::new(platform),
            scenario: Scenario::default(),
            planning: 0.0,
        })
    }

    /// All tasks planned at once.
    pub(super) fn plan(&self, name: &str, set: Set) -> Result<Schedule, StudyError> {
        let missing = || StudyError(format!("the planner {name} is missing"));
        let planner = planners::find(name).ok_or_else(missing)?;
        let problem = Problem::new(&self.workflow, &self.platform).map_err(StudyError::of)?;
        let state = State::at_start(&self.workflow, Inputs::of(&self.platform));
        let problem = problem.with_state(state).map_err(StudyError::of)?;
        let settings = Request { given: given(set), ..Request::default() };
        (planner.plan)(&problem, &settings).map_err(StudyError::of)
    }

    /// A run under a policy that knows so much.
    pub(super) fn run(
        &self,
        name: &str,
        set: &[(&str, &str)],
        knows: Knowledge,
    ) -> Result<Ran, StudyError> {
        let missing = || StudyError(format!("the policy {name} is missing"));
        let entry = policies::find(name).ok_or_else(missing)?;
        let planner = planners::find("heft").ok_or_else(missing)?;
        let options = Options { given: given(set), ..Options::new(planner) };
        let mut policy = entry.policy(&options).map_err(StudyError::of)?;
        let known = self.scenario.known(&self.workflow, &self.platform, knows);
        let known = known.map_err(StudyError::of)?;
        let models = Models { network: NetworkModel::Fifo, ..Models::default() };
        let stage = Stage {
            known: Arc::new(known),
            scenario: self.scenario.clone(),
            models,
            settings: Settings { decision_seconds: self.planning, ..Settings::default() },
            ..Stage::new(self.workflow.clone(), self.platform.clone())
        };
        let outcome = stage.run_as(policy.as_mut(), Recording::Nothing, None);
        let outcome = outcome.map_err(StudyError::of)?;
        let makespan = match outcome.ending {
            Ending::Finished => outcome.makespan,
            Ending::CannotFinish(_) => f64::NAN,
        };
        Ok(Ran::of(makespan, &policy.report()))
    }
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ran {
    /// No number where it cannot finish.
    pub(super) makespan: f64,
    /// How often it was planned.
    pub(super) plans: usize,
    /// Mean share of wrong predictions.
    pub(super) deviation: Option<f64>,
}

impl Ran {
    fn of(makespan: f64, report: &[(&'static str, Detail)]) -> Ran {
        let events = match report.iter().find(|(name, _)| *name == "events") {
            Some((_, Detail::List(events))) => events.as_slice(),
            _ => &[],
        };
        let deviation = |event: &Detail| match event {
            Detail::Record(parts) => parts.iter().find_map(|part| match part {
                ("deviation", Detail::Number(share)) => Some(*share),
                _ => None,
            }),
            _ => None,
        };
        let all: Vec<f64> = events.iter().filter_map(deviation).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        Ran { makespan, plans: events.len(), deviation: (!all.is_empty()).then_some(mean) }
    }
}

fn given(set: &[(&str, &str)]) -> Vec<(String, String)> {
    set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}
