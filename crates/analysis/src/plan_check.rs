//! Check of a plan: its simulated makespan under the scenario's platform without failures or errors, and the causes of
//! the difference from the planned one.
//!
//! Planners assume that each transfer has the network to itself and that levels are constant. They do not model contention
//! between transfers, contention of input staging, and changing levels. Each effect is measured by a simulation without
//! it: *levels* = simulated - simulated with steady levels; *sharing* = simulated with inputs everywhere - plan retimed
//! without staging; *staging* is the rest.

use slackline_engine::{Ending, Inputs, Recording, Settings, Stage, StageError};
use slackline_model::platform::{Charges, Contention, Link, Network, Profile, Sharing};
use slackline_model::problem::{State, View};
use slackline_model::{Platform, Problem, ProblemError, Schedule, Workflow};
use slackline_react::{StaticPlan, Transfers};
use slackline_schedule::{bounds, registry, retime};
use slackline_simulate::Models;
use std::sync::Arc;
use thiserror::Error;

/// The workflow, the platform and the rules for a simulation of a plan.
#[derive(Clone)]
pub struct CheckSetup {
    /// The workflow of the plan.
    pub workflow: Arc<Workflow>,
    /// The platform of the plan.
    pub platform: Arc<Platform>,
    /// Rules of the simulation.
    pub models: Models,
    /// Hosts that hold the inputs.
    pub inputs: Inputs,
    /// Date in seconds at which the simulation stops.
    pub until: f64,
}

/// Most level changes of a simulation: a check is not requested explicitly, so it has to be quick.
const MOST_CHANGES: f64 = 1e6;

/// The simulated end of a plan, and the causes of its difference from the planned one, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// Planned makespan.
    pub planned: f64,
    /// Simulated makespan.
    pub simulated: f64,
    /// Part of transfers between tasks: mostly contention for shared links.
    pub sharing: f64,
    /// Whether transfers can share a link at all.
    pub shared_links: bool,
    /// Part of input staging, beyond what the plan accounts for.
    pub staging: f64,
    /// Part of changing levels of hosts and links.
    pub levels: f64,
}

/// The reason why a plan cannot be simulated.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages of the causes say it
pub enum CheckError {
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error(transparent)]
    Stage(#[from] StageError),
    #[error("the plan cannot be followed to its end: {0}")]
    Stuck(String),
}

impl CheckSetup {
    /// Checks a plan for a problem of this setup. `simulated` is its simulated makespan where known; otherwise it is
    /// simulated here.
    pub fn check(
        &self,
        problem: &Problem<'_>,
        plan: &Schedule,
        simulated: Option<f64>,
    ) -> Result<Check, CheckError> {
        let planned = plan.makespan();
        let simulated = simulated.map_or_else(|| self.follow(plan), Ok)?;
        let steady = self.steady();
        let calm = match &steady {
            Some(steady) => steady.follow(plan)?,
            None => simulated,
        };
        let (here, there) = if problem.has_staging() {
            let still = steady.as_ref().unwrap_or(self);
            let everywhere = CheckSetup { inputs: Inputs::Everywhere, ..still.clone() };
            let without = retime::makespan(&problem.without_staging(), plan);
            (without, everywhere.follow(plan)?)
        } else {
            (planned, calm)
        };
        Ok(Check {
            planned,
            simulated,
            sharing: there - here,
            shared_links: self.has_shared_links(),
            staging: (calm - there) - (planned - here),
            levels: simulated - calm,
        })
    }

    /// Whether the network model lets transfers slow each other down.
    fn has_shared_links(&self) -> bool {
        let zones = matches!(self.platform.network(), Network::Zones);
        let contention = self.models.charges().contention_on(&self.platform);
        let shared = |link: &Link| link.sharing == Sharing::Shared;
        zones && contention != Contention::Free && self.platform.links().iter().any(shared)
    }

    /// The setup with steady levels; none where all are steady already.
    fn steady(&self) -> Option<CheckSetup> {
        let platform = self.platform.steady()?;
        Some(CheckSetup { platform: Arc::new(platform), ..self.clone() })
    }

    /// The simulated makespan of a plan.
    pub fn follow(&self, plan: &Schedule) -> Result<f64, CheckError> {
        let planner = &registry::ALL[0]; // not used: a static plan re-plans only when a host is lost for good
        let mut policy = StaticPlan::of_schedule(plan.clone(), planner, Transfers::Push);
        let (workflow, platform) = (self.workflow.clone(), self.platform.clone());
        let (models, inputs) = (self.models.clone(), self.inputs);
        let settings =
            Settings { until: self.until, most_changes: MOST_CHANGES, ..Settings::default() };
        let stage = Stage { models, inputs, settings, ..Stage::new(workflow, platform) };
        let outcome = stage.run_as(&mut policy, Recording::Nothing, None)?;
        match outcome.ending {
            Ending::Finished => Ok(outcome.makespan),
            Ending::CannotFinish(why) => Err(CheckError::Stuck(why)),
        }
    }
}

/// A lower bound on the makespan of any run, in seconds: for a workflow with actual run times, on hosts and links at
/// their best levels. Transfers count only where sizes are as stated and no link can exceed its stated bandwidth.
pub fn lower_bound(
    workflow: &Workflow,
    platform: &Platform,
    charges: &Charges,
    inputs: Inputs,
    sizes_are_stated: bool,
) -> Result<f64, ProblemError> {
    let best = |profile: &Option<Arc<Profile>>, stated: f64| {
        let Some(profile) = profile else { return stated };
        let events = profile.events();
        let first = if events[0].date > 0.0 { stated } else { 0.0 };
        events.iter().map(|e| e.value).fold(first, f64::max)
    };
    let levels = || platform.hosts().iter().map(|h| best(&h.availability, 1.0));
    let availability: Vec<f64> = levels().map(|level| level.min(1.0)).collect();
    let faster = levels().fold(1.0, f64::max);
    let wider = platform.links().iter().any(|l| {
        best(&l.bandwidth_profile, l.bandwidth) > l.bandwidth || l.latency_profile.is_some()
    });
    let mut network = match platform.steady() {
        Some(steady) => steady.charged_network(charges),
        None => platform.charged_network(charges),
    };
    let counts = sizes_are_stated && !wider;
    if !counts {
        network.latency.fill(0.0);
        network.bandwidth.fill(f64::INFINITY);
    }
    let problem = Problem::as_seen(workflow, platform, View { availability, network })?;
    let inputs = if counts { inputs } else { Inputs::Everywhere };
    let problem = problem.with_state(State::at_start(workflow, inputs))?;
    Ok(bounds::lower_bound(&problem) / faster)
}
