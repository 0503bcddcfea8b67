//! One application on one grid under one scenario, planned or run.

use crate::cell::{Cell, given, planner, planner_with, policy};
use crate::papers::StudyError;
use slackline_engine::{Ending, Recording, Settings, Stage};
use slackline_generate::draw::Seed;
use slackline_generate::registry::{self, Family};
use slackline_generate::workflow::sweep::Sweep;
use slackline_model::scenario::{Knowledge, Scenario};
use slackline_model::schedule::Detail;
use slackline_model::{Platform, Workflow};
use slackline_react::registry::Options;
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

/// An application on a grid under a scenario.
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

    fn stage(&self) -> Stage {
        Stage {
            scenario: self.scenario.clone(),
            settings: Settings { decision_seconds: self.planning, ..Settings::default() },
            ..Stage::new(self.workflow.clone(), self.platform.clone())
        }
    }

    /// All tasks planned at once.
    pub(super) fn plan(&self, name: &str, set: Set) -> Result<Cell, StudyError> {
        Ok(Cell::planned(self.stage(), planner_with(name, set)?))
    }

    /// A run under a policy with this knowledge.
    pub(super) fn run(&self, name: &str, set: Set, knows: Knowledge) -> Result<Cell, StudyError> {
        let told = Options { given: given(set), ..Options::new(planner("heft")?) };
        Cell::decided(self.stage(), policy(name)?, told).knowing(knows)
    }
}

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ran {
    /// No number where it cannot finish.
    pub(super) makespan: f64,
    /// Number of plans.
    pub(super) plans: usize,
    /// Mean share of wrong predictions.
    pub(super) deviation: Option<f64>,
}

impl Ran {
    pub(super) fn of(cell: &Cell) -> Result<Ran, StudyError> {
        let ran = cell.run(Recording::Nothing)?;
        let makespan = match ran.outcome.ending {
            Ending::Finished => ran.outcome.makespan,
            Ending::CannotFinish(_) => f64::NAN,
        };
        Ok(Ran::told(makespan, &ran.told))
    }

    fn told(makespan: f64, report: &[(&'static str, Detail)]) -> Ran {
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
