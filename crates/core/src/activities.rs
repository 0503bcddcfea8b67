//! Graphs of placed activities, simulated.

use crate::context::Context;
use crate::failure::Failure;
use crate::input::read_platform;
use crate::schema;
use serde::Serialize;
use slackline_formats::activities;
use slackline_simulate::{GraphError, GraphRun, JobState, Models, Simulation};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// After so many changes of the platform a simulation is given up, and so many more per activity.
const MOST_CHANGES: u64 = 10_000_000;

const CHANGES_PER_ACTIVITY: u64 = 10_000;

/// The JSON document of a simulated plan.
#[derive(Serialize)]
pub struct ActivitiesReport {
    /// Name and version of the document.
    pub schema: &'static str,
    /// Name of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Seconds.
    pub makespan: f64,
    /// The activities, in the order of the plan.
    pub activities: Vec<ActivityRow>,
    /// Seconds of the simulation alone.
    pub wall_seconds: f64,
}

/// Course of an activity.
#[derive(Serialize)]
pub struct ActivityRow {
    /// Name of the activity.
    pub id: String,
    /// Date; none where it has not begun.
    pub start: Option<f64>,
    /// Date; none where it has not ended.
    pub finish: Option<f64>,
    /// `DONE`, `FAILED` or `NOT_STARTED`.
    pub state: &'static str,
}

/// Simulates the plan at `path` on a platform, on the one that it names where none is given. Settings win over those of the
/// plan.
pub fn simulate(
    path: &Path,
    given: Option<&Path>,
    settings: &[(&str, &str)],
    context: &mut Context<'_>,
) -> Result<ActivitiesReport, Failure> {
    let plan = activities::read(&context.files, path)?;
    let beside = path.parent().unwrap_or(Path::new("."));
    let platform = match (given, &plan.platform) {
        (Some(path), _) => path.to_path_buf(),
        (None, Some(path)) => beside.join(path),
        (None, None) => {
            return Err(Failure::input("the plan names no platform")
                .with_help("say one with --platform FILE"));
        }
    };
    let platform = read_platform(&platform, context).map_err(|failure| match given {
        Some(_) => failure,
        None => failure.named_by(&format!("{}: platform", path.display())),
    })?;
    let platform = Arc::new(platform);
    let graph = plan.graph(&platform).map_err(|e| e.in_file(path))?;
    let models = planned_models(path, &plan.settings, settings)?;

    let clock = Instant::now();
    let simulation = Simulation::new(platform.clone(), models).map_err(Failure::work)?;
    let mut run = GraphRun::of(simulation, &graph).map_err(refused)?;
    run.give_up_after(MOST_CHANGES + CHANGES_PER_ACTIVITY * graph.len() as u64);
    run.simulate(f64::INFINITY).map_err(|error| {
        let waiting = (0..graph.len()).find(|&k| run.state(k as u32) == JobState::Running);
        let slow = matches!(error, GraphError::GivenUp { .. }).then_some(waiting).flatten();
        match slow.map(|k| &graph.names[k]) {
            Some(name) => refused(error).with_help(format!(
                "`{name}` is under way: see how long it takes, and what changes"
            )),
            None => refused(error),
        }
    })?;
    let wall_seconds = clock.elapsed().as_secs_f64();

    let rows = graph.names.iter().enumerate().map(|(k, id)| {
        let job = k as u32;
        let state = match run.state(job) {
            JobState::Done => "DONE",
            JobState::Failed => "FAILED",
            _ => "NOT_STARTED",
        };
        ActivityRow { id: id.to_string(), start: run.start(job), finish: run.finish(job), state }
    });
    Ok(ActivitiesReport {
        schema: schema::names::ACTIVITIES,
        name: plan.name.clone(),
        makespan: run.makespan(),
        activities: rows.collect(),
        wall_seconds,
    })
}

/// The plan's own settings and those of the command line, which win. A preset there stands for all
/// that the plan says.
fn planned_models(
    path: &Path,
    planned: &[(String, String)],
    said: &[(&str, &str)],
) -> Result<Models, Failure> {
    let bad = |e| Failure::input(format!("{}: in `config`: {e}", path.display()));
    Models::default().set_all(planned).map_err(bad)?;
    let preset = said.iter().any(|(key, _)| *key == "preset");
    let planned = planned.iter().filter(|_| !preset);
    let mut all: Vec<(&str, &str)> = planned.map(|(key, value)| (&**key, &**value)).collect();
    all.extend(said);
    let mut models = Models::default();
    models.set_all(&all).map_err(|e| Failure::input(format!("--config: {e}")))?;
    Ok(models)
}

/// A plan that cannot be simulated on its platform is bad input; one that stalls is failed work.
fn refused(error: GraphError) -> Failure {
    use slackline_simulate::SimulationError::Stalled;
    match error {
        GraphError::Simulation(Stalled { .. }) | GraphError::GivenUp { .. } => Failure::work(error),
        _ => Failure::input(error),
    }
}
