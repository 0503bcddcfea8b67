//! Runs in many replications: a folder of scenarios, or one scenario with other seeds. A single replication
//! proves little; means are reported with their intervals.

use super::setup::Stage;
use super::{Outputs, Ran, runs};
use crate::context::Context;
use crate::failure::Failure;
use crate::input::read_scenario;
use crate::request::SimulationSetup;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_analysis::statistics::Estimate;
use slackline_formats::FileAccess;
use slackline_model::scenario::{EstimateErrors, Scenario};
use std::path::{Path, PathBuf};

/// Name of the manifest that `generate --count` writes beside the scenarios.
const MANIFEST: &str = "manifest.json";

/// The JSON document `slackline/worlds/1`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReplicationsReport {
    /// `slackline/worlds/1`.
    pub schema: &'static str,
    /// The workflow.
    pub workflow: String,
    /// The platform.
    pub platform: String,
    /// Each policy over all replications.
    pub policies: Vec<PolicyOver>,
    /// The replications.
    pub worlds: Vec<Replication>,
}

/// A policy over all replications.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PolicyOver {
    /// The policy.
    pub policy: String,
    /// Replications in which it finished.
    pub finished: usize,
    /// Mean of its makespans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub makespan: Option<Estimate>,
    /// The least of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The greatest of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// Its makespans over those of the first policy, in replications in which both finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_first: Option<Estimate>,
}

/// One replication and what came of each policy in it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Replication {
    /// The file of the scenario.
    pub scenario: String,
    /// The seed that was drawn from.
    pub seed: u64,
    /// One for each policy.
    pub runs: Vec<ReplicatedRun>,
}

/// A run in one replication.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReplicatedRun {
    /// The policy.
    pub policy: String,
    /// Whether it finished.
    pub finished: bool,
    /// Its end in seconds.
    pub makespan: f64,
    /// Why it cannot finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl ReplicatedRun {
    fn of(ran: &Ran) -> ReplicatedRun {
        ReplicatedRun {
            policy: ran.name.clone(),
            finished: ran.unfinished().is_none(),
            makespan: ran.outcome.makespan,
            why: ran.unfinished().map(str::to_string),
        }
    }
}

/// Fails where something is asked that only one run has.
fn refuse(option: &str, is_given: bool) -> Result<(), Failure> {
    if !is_given {
        return Ok(());
    }
    Err(Failure::input(format!("{option} needs a single run"))
        .with_help("name one scenario, without --runs"))
}

impl SimulationSetup {
    /// Lets policies run in all replications.
    pub fn replicate(
        &self,
        policies: &[String],
        context: &mut Context<'_>,
    ) -> Result<ReplicationsReport, Failure> {
        self.check()?;
        refuse("--why", self.explain)?;
        refuse("--alone", self.alone)?;
        refuse("--arrivals", self.input.arrivals.is_some())?;
        let scenarios = scenarios(&context.files, self)?;
        let world = self.input.read(self.input.workflows.first().map(PathBuf::as_path), context)?;
        let problem = world.problem(&self.models)?;
        let mut worlds = Vec::with_capacity(scenarios.len());
        for (path, scenario) in &scenarios {
            if !scenario.arrivals.is_empty() {
                let message =
                    format!("{}: several scenarios with arrivals cannot be run", path.display());
                return Err(Failure::input(message).with_help("simulate one scenario at a time"));
            }
            let seed = scenario.seed;
            let scenario = Scenario { measured: world.measured.clone(), ..scenario.clone() };
            let outputs = Outputs::default();
            let mut stage =
                Stage::new(self, &world, &problem, scenario, Vec::new(), (&outputs, policies))?;
            stage.scenario_file = Some(path);
            let ran = runs(self, policies, None, &mut stage, context)?;
            let scenario = path.display().to_string();
            let runs = ran.iter().map(ReplicatedRun::of).collect();
            worlds.push(Replication { scenario, seed, runs });
        }
        let names: Vec<String> = worlds[0].runs.iter().map(|run| run.policy.clone()).collect();
        let over = |(k, name): (usize, &String)| PolicyOver::of(name, k, &worlds);
        let policies = names.iter().enumerate().map(over).collect();
        Ok(ReplicationsReport {
            schema: "slackline/worlds/1",
            workflow: problem.workflow().name().to_string(),
            platform: problem.platform().name().to_string(),
            policies,
            worlds,
        })
    }
}

impl ReplicationsReport {
    /// Fails where no policy finishes anywhere.
    pub fn verdict(&self) -> Result<(), Failure> {
        if self.policies.iter().all(|policy| policy.finished == 0) {
            return Err(Failure::work(
                "none of these policies finishes in any of the replications",
            ));
        }
        Ok(())
    }
}

/// Returns the requested scenarios, at least one, each with the file it is from.
fn scenarios(
    access: &FileAccess,
    setup: &SimulationSetup,
) -> Result<Vec<(PathBuf, Scenario)>, Failure> {
    let Some(path) = &setup.scenario else {
        return Err(Failure::input("--runs needs a scenario to draw from")
            .with_help("say which with --scenario FILE"));
    };
    let mut found = Vec::new();
    for file in if path.is_dir() { files(path)? } else { vec![path.clone()] } {
        let scenario = read_scenario(access, &file)?;
        found.push((file, scenario));
    }
    let Some(worlds) = setup.replications else { return Ok(found) };
    if let Some((file, _)) = found.iter().find(|(_, s)| s.errors == EstimateErrors::default()) {
        let message = format!("{}: nothing in it is drawn from a seed", file.display());
        return Err(Failure::input(message).with_help(
            "give it [errors], or make a folder of scenarios: slackline generate scenario … --count 20 -o scenarios/",
        ));
    }
    let again = |(file, scenario): (PathBuf, Scenario)| {
        (0..u64::from(worlds)).map(move |k| {
            let seed = scenario.seed.wrapping_add(k);
            (file.clone(), Scenario { seed, ..scenario.clone() })
        })
    };
    Ok(found.into_iter().flat_map(again).collect())
}

/// The scenarios of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |e: std::io::Error| Failure::input(format!("{}: {e}", folder.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let manifest = path.file_name().is_some_and(|name| name == MANIFEST);
        if matches!(extension, "toml" | "json") && !manifest && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        let message = format!("{}: no scenario in this folder", folder.display());
        return Err(Failure::input(message).with_help("scenarios are .toml or .json files"));
    }
    Ok(files)
}

impl PolicyOver {
    fn of(name: &str, index: usize, worlds: &[Replication]) -> PolicyOver {
        let done: Vec<f64> = finished(worlds, index).map(|(_, makespan)| makespan).collect();
        let both: Vec<(f64, f64)> = finished(worlds, index)
            .filter(|(world, _)| world.runs[0].finished)
            .map(|(world, makespan)| (makespan, world.runs[0].makespan))
            .collect();
        let (ours, first): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
        let some = !done.is_empty();
        PolicyOver {
            policy: name.to_string(),
            finished: done.len(),
            makespan: some.then(|| Estimate::mean(&done)),
            least: done.iter().copied().reduce(f64::min),
            most: done.iter().copied().reduce(f64::max),
            to_first: (index > 0 && !ours.is_empty()).then(|| Estimate::ratio(&ours, &first)),
        }
    }
}

/// Iterates over the replications in which a policy finished, with its makespans.
fn finished(worlds: &[Replication], policy: usize) -> impl Iterator<Item = (&Replication, f64)> {
    let finished = worlds.iter().filter(move |world| world.runs[policy].finished);
    finished.map(move |world| (world, world.runs[policy].makespan))
}
