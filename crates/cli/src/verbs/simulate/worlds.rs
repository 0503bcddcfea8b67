//! `slackline simulate` in many worlds: a folder of scenarios, or one with other seeds. One world
//! proves little; means with their intervals say more.

use super::Simulate;
use super::stage::Stage;
use super::workflow::{Ran, runs};
use crate::failure::Failure;
use crate::input::read_scenario;
use crate::output::Output;
use crate::table::{Table, count, wrap};
use serde::Serialize;
use slackline_analysis::statistics::Estimate;
use slackline_formats::FileAccess;
use slackline_model::scenario::{EstimateErrors, Scenario};
use slackline_model::units::fmt_seconds;
use std::path::{Path, PathBuf};

/// What `generate --count` leaves beside the scenarios.
const MANIFEST: &str = "manifest.json";

/// The JSON document of many worlds.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    workflow: &'a str,
    platform: &'a str,
    policies: Vec<Policy<'a>>,
    worlds: Vec<World>,
}

/// How a policy fared over all of them.
#[derive(Serialize)]
struct Policy<'a> {
    policy: &'a str,
    /// Worlds in which it finished.
    finished: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    makespan: Option<Estimate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    least: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most: Option<f64>,
    /// Its makespans over those of the first policy, in the worlds in which both finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_first: Option<Estimate>,
}

/// One world and what became of each policy in it.
#[derive(Serialize)]
struct World {
    scenario: String,
    seed: u64,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    policy: String,
    finished: bool,
    makespan: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Run {
    fn of(ran: &Ran) -> Run {
        Run {
            policy: ran.name.clone(),
            finished: ran.unfinished().is_none(),
            makespan: ran.outcome.makespan,
            why: ran.unfinished().map(str::to_string),
        }
    }
}

/// Whether several worlds were asked for.
pub(super) fn asked_for(args: &Simulate) -> bool {
    args.worlds.is_some() || args.scenario.as_deref().is_some_and(Path::is_dir)
}

pub(super) fn simulate(args: &Simulate, output: &mut Output) -> Result<(), Failure> {
    let one_run = [
        ("--gantt", args.gantt.is_some()),
        ("--progress", args.progress.is_some()),
        ("--trace", args.trace.is_some()),
        ("--decisions", args.decisions.is_some()),
        ("--same-decisions", args.same_decisions.is_some()),
        ("--why", args.why),
        ("--alone", args.alone),
        ("--arrivals", args.arrivals.is_some()),
    ];
    if let Some((option, _)) = one_run.iter().find(|(_, given)| *given) {
        return Err(Failure::input(format!("{option} is of one run, not of many worlds"))
            .with_help("name one scenario, without --worlds"));
    }
    let scenarios = scenarios(&output.files, args)?;
    let world = args.sources.read(args.workflow.as_deref(), output)?;
    let problem = world.problem(&args.model)?;
    let mut worlds = Vec::with_capacity(scenarios.len());
    for (path, scenario) in &scenarios {
        if !scenario.arrivals.is_empty() {
            let message = format!("{}: many worlds of arrivals cannot be run", path.display());
            return Err(Failure::input(message).with_help("simulate one scenario at a time"));
        }
        let seed = scenario.seed;
        let scenario = Scenario { measured: world.measured.clone(), ..scenario.clone() };
        let mut stage = Stage::new(args, &world, &problem, scenario, Vec::new())?;
        stage.scenario_file = Some(path);
        stage.quiet = output.quiet;
        let ran = runs(args, &mut stage, output)?;
        let scenario = path.display().to_string();
        worlds.push(World { scenario, seed, runs: ran.iter().map(Run::of).collect() });
    }
    let names: Vec<String> = worlds[0].runs.iter().map(|run| run.policy.clone()).collect();
    let policies = names.iter().enumerate().map(|(k, name)| Policy::of(name, k, &worlds)).collect();
    let document = Document {
        schema: "slackline/worlds/1",
        workflow: problem.workflow().name(),
        platform: problem.platform().name(),
        policies,
        worlds,
    };
    if args.json {
        output.json(&document)?;
    } else {
        document.tell(output)?;
    }
    match document.policies.iter().all(|policy| policy.finished == 0) {
        true => Err(Failure::work("none of these policies finishes in any of the worlds")),
        false => Ok(()),
    }
}

/// The worlds that were asked for and where they come from, at least one.
fn scenarios(access: &FileAccess, args: &Simulate) -> Result<Vec<(PathBuf, Scenario)>, Failure> {
    let Some(path) = &args.scenario else {
        return Err(Failure::input("--worlds needs a scenario to draw from")
            .with_help("say which with --scenario FILE"));
    };
    let mut found = Vec::new();
    for file in if path.is_dir() { files(path)? } else { vec![path.clone()] } {
        let scenario = read_scenario(access, &file)?;
        found.push((file, scenario));
    }
    let Some(worlds) = args.worlds else { return Ok(found) };
    if let Some((file, _)) = found.iter().find(|(_, s)| s.errors == EstimateErrors::default()) {
        let message = format!("{}: nothing in it is drawn from a seed", file.display());
        return Err(Failure::input(message).with_help(
            "give it [errors], or make a folder of worlds: slackline generate scenario … --count 20 -o worlds/",
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

impl<'a> Policy<'a> {
    fn of(name: &'a str, index: usize, worlds: &[World]) -> Policy<'a> {
        let done: Vec<f64> = finished(worlds, index).map(|(_, makespan)| makespan).collect();
        let both: Vec<(f64, f64)> = finished(worlds, index)
            .filter(|(world, _)| world.runs[0].finished)
            .map(|(world, makespan)| (makespan, world.runs[0].makespan))
            .collect();
        let (ours, first): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
        let some = !done.is_empty();
        Policy {
            policy: name,
            finished: done.len(),
            makespan: some.then(|| Estimate::mean(&done)),
            least: done.iter().copied().reduce(f64::min),
            most: done.iter().copied().reduce(f64::max),
            to_first: (index > 0 && !ours.is_empty()).then(|| Estimate::ratio(&ours, &first)),
        }
    }
}

/// The worlds in which a policy finished, and when.
fn finished(worlds: &[World], policy: usize) -> impl Iterator<Item = (&World, f64)> {
    let finished = worlds.iter().filter(move |world| world.runs[policy].finished);
    finished.map(move |world| (world, world.runs[policy].makespan))
}

impl Document<'_> {
    fn tell(&self, output: &mut Output) -> Result<(), Failure> {
        let worlds = count(self.worlds.len(), "world");
        let headline = format!("{} on {}, {worlds}", self.workflow, self.platform);
        output.say(&format!("{}\n\n", output.bold(&headline)))?;
        let first = self.policies.first().map_or("", |policy| policy.policy);
        let against = format!(">to {first}");
        let mut table =
            Table::new(&["<policy", ">finished", ">makespan", "<", ">least", ">most", &against]);
        for policy in &self.policies {
            let time = |t: Option<f64>| t.map_or("-".to_string(), fmt_seconds);
            let margin = |e: Estimate| e.margin.map(|m| format!("± {}", fmt_seconds(m)));
            let ratio = |e: Estimate| match e.margin {
                Some(margin) => format!("{:.2} ± {margin:.2}", e.value),
                None => format!("{:.2}", e.value),
            };
            table.row([
                policy.policy.to_string(),
                format!("{} of {}", policy.finished, self.worlds.len()),
                time(policy.makespan.map(|e| e.value)),
                policy.makespan.and_then(margin).unwrap_or_default(),
                time(policy.least),
                time(policy.most),
                policy.to_first.map_or("-".to_string(), ratio),
            ]);
        }
        output.say(&table.render(output.width))?;
        output.say(&format!("\n{}", wrap(EXPLANATION, 2, output.width)))?;
        let stuck = self.worlds.iter().flat_map(|w| w.runs.iter().map(move |run| (w, run)));
        if let Some((world, run)) = stuck.into_iter().find(|(_, run)| run.why.is_some()) {
            let why = run.why.as_deref().unwrap_or_default();
            let text = format!("{} cannot finish in {}: {why}", run.policy, world.scenario);
            output.say(&format!("\n{}", wrap(&text, 2, output.width)))?;
        }
        Ok(())
    }
}

const EXPLANATION: &str = "Means over the worlds in which a policy finished, with 95 % intervals; \
the last column is its mean over that of the first policy, in worlds in which both finished.";
