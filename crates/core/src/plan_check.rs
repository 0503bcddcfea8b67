//! Plans against the simulator.

use crate::context::Context;
use crate::failure::Failure;
use crate::input::Loaded;
use crate::request::ModelSettings;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_analysis::plan_check::{Check, CheckSetup};
use slackline_model::units::fmt_seconds;
use slackline_model::{Problem, Schedule};

/// Tasks up to which plans are followed by the simulator without being asked.
pub const MOST_TASKS: usize = 100_000;

/// The seconds between a plan and its run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Seconds because transfers share links.
    pub sharing: f64,
    /// Seconds because inputs are on their way.
    pub staging: f64,
    /// Seconds because levels of hosts and links change.
    pub levels: f64,
}

impl Difference {
    pub(crate) fn of(check: &Check) -> Difference {
        let Check { sharing, staging, levels, .. } = *check;
        Difference { sharing, staging, levels }
    }
}

/// Returns the conditions under which plans for a workflow and a platform are simulated.
pub(crate) fn ground(world: &Loaded, models: &ModelSettings) -> Result<CheckSetup, Failure> {
    Ok(CheckSetup {
        workflow: world.workflow.clone(),
        platform: world.platform.clone(),
        models: models.models(&world.platform, &world.workflow)?,
        inputs: models.inputs(&world.platform)?,
        until: f64::INFINITY,
    })
}

/// Simulates a plan, unless the resulting makespan is known; warns where this is impossible.
pub(crate) fn follow(
    ground: &CheckSetup,
    problem: &Problem<'_>,
    plan: &Schedule,
    simulated: Option<f64>,
    context: &mut Context<'_>,
) -> Option<Check> {
    match ground.check(problem, plan, simulated) {
        Ok(check) => Some(check),
        Err(error) => {
            context.warning(&format!("the plan was not checked by simulation: {error}"));
            None
        }
    }
}

/// Lists the causes of the difference, each with its seconds; causes below a thousandth of the makespan are
/// left out. `levels` is the label for changed levels.
pub fn why(check: &Check, levels: &'static str) -> Vec<(String, &'static str)> {
    let transfers = if check.sharing <= 0.0 {
        "transfers quicker than planned"
    } else if check.shared_links {
        "transfers sharing links"
    } else {
        "transfers slower than planned"
    };
    let parts = [
        (check.sharing, transfers),
        (check.staging, "inputs on their way"),
        (check.levels, levels),
    ];
    // Less than a thousandth of the run explains nothing.
    let least = 1e-3 * check.simulated;
    let told = parts.into_iter().filter(|(seconds, _)| seconds.abs() > least);
    told.map(|(seconds, what)| {
        let sign = if seconds < 0.0 { "-" } else { "+" };
        (format!("{sign}{}", fmt_seconds(seconds.abs())), what)
    })
    .collect()
}
