//! `slackline activities`: a graph of placed activities.

use crate::input::read_platform;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use serde::Serialize;
use slackline_core::{Failure, schema};
use slackline_formats::activities;
use slackline_model::units::fmt_seconds;
use slackline_report::table::{Table, cut};
use slackline_simulate::{GraphError, GraphRun, JobState, Models, Simulation};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// After so many changes of the platform a simulation is given up, and so many more per activity.
const MOST_CHANGES: u64 = 10_000_000;
const CHANGES_PER_ACTIVITY: u64 = 10_000;

/// Simulate a graph of activities that are already placed
#[derive(Args)]
#[command(after_help = "\
Computations, transfers, disk operations, parallel tasks and pauses run where and after what the file says; \
docs/formats.md describes it.

Example:
  slackline activities activities.json --config network/model:CM02")]
pub(crate) struct Activities {
    /// The graph
    #[arg(value_name = "PLAN.json")]
    pub(super) plan: PathBuf,
    /// The platform; the one that the plan names if left out
    #[arg(short, long, value_name = "FILE")]
    pub(super) platform: Option<PathBuf>,
    /// Change a setting of the simulation, e.g. network/model:CM02 or preset:simgrid-3.11
    #[arg(long = "config", value_name = "KEY:VALUE")]
    pub(super) settings: Vec<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(super) json: bool,
}

impl Activities {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.plan))
            .reads(self.platform.as_ref())
            .json(self.json)
            .check(output)?;
        simulate(&self, output)
    }
}

fn simulate(args: &Activities, output: &mut Output) -> Result<(), Failure> {
    let path = args.plan.as_path();
    let plan = activities::read(&output.files, path)?;
    let beside = path.parent().unwrap_or(Path::new("."));
    let platform = match (&args.platform, &plan.platform) {
        (Some(path), _) => path.clone(),
        (None, Some(path)) => beside.join(path),
        (None, None) => {
            return Err(Failure::input("the plan names no platform")
                .with_help("say one with --platform FILE"));
        }
    };
    let platform = read_platform(&platform, output).map_err(|failure| match args.platform {
        Some(_) => failure,
        None => failure.named_by(&format!("{}: platform", path.display())),
    })?;
    let platform = Arc::new(platform);
    let graph = plan.graph(&platform).map_err(|e| e.in_file(path))?;
    let models = planned_models(path, &plan.settings, args)?;

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
        Row { id, start: run.start(job), finish: run.finish(job), state }
    });
    let document = ActivitiesDocument {
        schema: schema::names::ACTIVITIES,
        name: plan.name.as_deref(),
        makespan: run.makespan(),
        activities: rows.collect(),
        wall_seconds,
    };
    if args.json {
        return output.json(&document);
    }
    let text = document.table(output);
    output.text(&text)
}

/// The plan's own settings and those of the command line, which win. A preset there stands for all
/// that the plan says.
fn planned_models(
    path: &Path,
    planned: &[(String, String)],
    args: &Activities,
) -> Result<Models, Failure> {
    let bad = |e| Failure::input(format!("{}: in `config`: {e}", path.display()));
    Models::default().set_all(planned).map_err(bad)?;
    let said = crate::model::pairs(&args.settings)?;
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

/// The JSON document of a simulated plan.
#[derive(Serialize)]
struct ActivitiesDocument<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    makespan: f64,
    activities: Vec<Row<'a>>,
    wall_seconds: f64,
}

#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    start: Option<f64>,
    finish: Option<f64>,
    state: &'static str,
}

impl ActivitiesDocument<'_> {
    fn table(&self, output: &Output) -> String {
        let mut text = String::new();
        if let Some(name) = self.name {
            text += &format!("{}\n\n", output.bold(name));
        }
        let mut table = Table::new(&["<activity", ">start", ">finish", "<state"]);
        let date = |date: Option<f64>| date.map_or(String::from("-"), |d| format!("{d:.6}"));
        for row in &self.activities {
            let state = row.state.to_lowercase().replace('_', " ");
            table.row([cut(row.id, 32), date(row.start), date(row.finish), state]);
        }
        text += &table.render(output.width);
        text += &format!(
            "\nmakespan {} ({:.6} s), simulated in {}\n",
            fmt_seconds(self.makespan),
            self.makespan,
            fmt_seconds(self.wall_seconds)
        );
        text
    }
}
