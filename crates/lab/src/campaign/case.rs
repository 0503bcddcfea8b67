//! The runs of a campaign: which there are, what each draws, what comes out of it.

use super::file::{Campaign, Repeat, Source, Variant, follows_platform};
use super::method::{Method, MethodKind};
use serde_json::{Value, json};
use slackline_analysis::cost::Money;
use slackline_analysis::metrics::{Metrics, Moves};
use slackline_analysis::statistics::Moments;
use slackline_engine::usual_models;
use slackline_engine::{Ending, Recording, Stage};
use slackline_generate::Seed;
use slackline_generate::scenario::Surroundings;
use slackline_model::problem::Inputs;
use slackline_model::scenario::Knowledge;
use slackline_model::schedule::Summary;
use slackline_model::{Platform, Problem, Scenario, Schedule, Workflow};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

/// Measures of a run, in the order of their columns.
pub const METRICS: [&str; 9] = [
    "makespan",
    "slr",
    "nsl",
    "speedup",
    "utilisation",
    "cost",
    "transferred_bytes",
    "overhead",
    "replannings",
];

/// Fewest and most draws where a half-width decides.
const FEWEST: u64 = 5;
const MOST: u64 = 10_000;

/// One set of conditions, met by every method of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// Kind of evaluation of the methods.
    pub kind: MethodKind,
    workflow: usize,
    platform: usize,
    /// Of simulated runs.
    scenario: Option<usize>,
}

/// One run with its result.
#[derive(Clone, Debug)]
pub struct Row {
    /// Hash of everything that decides the result.
    pub key: String,
    /// Values of the factor columns.
    pub factors: Vec<String>,
    /// Kind of evaluation of the method.
    pub kind: MethodKind,
    /// Number of the draw, from 1.
    pub repetition: u64,
    /// The method.
    pub method: String,
    /// Whether it finished.
    pub done: bool,
    /// Reason if it did not.
    pub why: String,
    /// The measures.
    pub metrics: [Option<f64>; METRICS.len()],
    /// The request, as JSON.
    pub request: String,
    /// Seconds it took here.
    pub wall_seconds: f64,
}

impl Campaign {
    /// All combinations, or those drawn with `sample`, planners first.
    pub fn combinations(&self) -> Vec<Combination> {
        let has = |kind: MethodKind| self.methods.iter().any(|m| m.kind == kind);
        let pairs = (0..self.workflows.len())
            .flat_map(|w| (0..self.platforms.len()).map(move |p| (w, p)))
            .collect::<Vec<_>>();
        let mut worlds: Vec<(usize, usize, usize)> = pairs
            .iter()
            .flat_map(|&(w, p)| (0..self.scenarios.len()).map(move |s| (w, p, s)))
            .collect();
        if let Some(sample) = self.sample.filter(|&n| n < worlds.len()) {
            // By hashes of what a combination is, so that an axis more disturbs as little as may be.
            let mut drawn: Vec<(u64, (usize, usize, usize))> = worlds
                .iter()
                .map(|&(w, p, s)| {
                    let name = [
                        name(&self.workflows[w]),
                        name(&self.platforms[p]),
                        name(&self.scenarios[s]),
                    ]
                    .join("|");
                    (xxh3_64_with_seed(name.as_bytes(), self.seed), (w, p, s))
                })
                .collect();
            drawn.sort_unstable();
            worlds = drawn.into_iter().take(sample).map(|(_, world)| world).collect();
            worlds.sort_unstable();
        }
        let mut combinations = Vec::new();
        if has(MethodKind::Plan) {
            let mut planned: Vec<(usize, usize)> = worlds.iter().map(|w| (w.0, w.1)).collect();
            planned.dedup();
            let plan = |(workflow, platform)| Combination {
                kind: MethodKind::Plan,
                workflow,
                platform,
                scenario: None,
            };
            combinations.extend(planned.into_iter().map(plan));
        }
        if has(MethodKind::Simulate) {
            let run = |(workflow, platform, scenario)| Combination {
                kind: MethodKind::Simulate,
                workflow,
                platform,
                scenario: Some(scenario),
            };
            combinations.extend(worlds.into_iter().map(run));
        }
        combinations
    }

    /// Number of draws of a combination: 1 where nothing is drawn; none where the number follows from the
    /// results.
    pub fn draws(&self, combination: &Combination) -> Option<u64> {
        let Combination { workflow, platform, scenario, .. } = *combination;
        let drawn = self.workflows[workflow].source.is_drawn()
            || self.platforms[platform].source.is_drawn()
            || scenario.is_some_and(|s| self.scenarios[s].source.is_drawn());
        match self.repeat {
            _ if !drawn => Some(1),
            Repeat::Times(times) => Some(times),
            Repeat::Until(_) => None,
        }
    }

    /// Whether so many draws are enough, by the makespans of each method.
    pub fn is_enough(&self, draws: u64, makespans: &[Vec<f64>]) -> bool {
        let Repeat::Until(share) = self.repeat else { return true };
        let narrow = |values: &Vec<f64>| {
            let moments = Moments::of(values);
            // A method that never finishes does not keep the others waiting.
            let wide = moments.margin(0.05).is_none_or(|m| m > share * moments.mean.abs());
            values.is_empty() || !wide
        };
        draws >= MOST || (draws >= FEWEST && makespans.iter().all(narrow))
    }

    /// The methods that meet a combination.
    pub fn methods_of(&self, combination: &Combination) -> impl Iterator<Item = &Method> {
        let kind = combination.kind;
        self.methods.iter().filter(move |m| m.kind == kind)
    }

    /// The number of planned runs; a lower bound where half-widths decide.
    pub fn planned_runs(&self, combinations: &[Combination]) -> u64 {
        let runs =
            |c: &Combination| self.draws(c).unwrap_or(FEWEST) * self.methods_of(c).count() as u64;
        combinations.iter().map(runs).sum()
    }

    /// The runs of a combination at one draw, not yet done: descriptions and keys.
    pub fn draw(&self, combination: Combination, repetition: u64, version: &str) -> Draw<'_> {
        let workflow = &self.workflows[combination.workflow];
        let platform = &self.platforms[combination.platform];
        let scenario = combination.scenario.map(|s| &self.scenarios[s]);
        let mut conditions = json!({
            "kind": combination.kind.name(),
            "workflow": self.described("workflow", workflow, repetition),
            "platform": self.described("platform", platform, repetition),
        });
        if let Some(scenario) = scenario {
            conditions["scenario"] = self.described("scenario", scenario, repetition);
        }
        let method_seed = self.seed_of(&format!("method#{repetition}"));
        conditions["seed"] = method_seed.into();
        let identity = format!("{version}\n{conditions}");
        Draw {
            campaign: self,
            combination,
            repetition,
            conditions,
            identity,
            method_seed,
            workflow,
            platform,
            scenario,
        }
    }

    /// A seed that follows from what it is for.
    fn seed_of(&self, name: &str) -> u64 {
        // Positive as a signed number, so that every tool keeps it.
        xxh3_64_with_seed(name.as_bytes(), self.seed) >> 1
    }

    fn seed_of_draw<T>(&self, part: &str, variant: &Variant<T>, repetition: u64) -> u64 {
        let repetition = if variant.source.is_drawn() { repetition } else { 1 };
        self.seed_of(&format!("{part}/{}#{repetition}", variant.parameters()))
    }

    fn described<T>(&self, part: &str, variant: &Variant<T>, repetition: u64) -> Value {
        match &variant.source {
            Source::Fixed { hash, .. } => {
                json!({"file": variant.label, "hash": format!("{hash:016x}")})
            }
            Source::Drawn { generator, given } => json!({
                "generate": generator.name,
                "set": given.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "seed": self.seed_of_draw(part, variant, repetition),
            }),
        }
    }
}

fn name<T>(variant: &Variant<T>) -> String {
    format!("{}:{}", variant.label, variant.parameters())
}

/// The runs of a combination at one draw.
pub struct Draw<'c> {
    campaign: &'c Campaign,
    combination: Combination,
    /// Number of the draw, from 1.
    pub repetition: u64,
    conditions: Value,
    identity: String,
    method_seed: u64,
    workflow: &'c Variant<Workflow>,
    platform: &'c Variant<Platform>,
    scenario: Option<&'c Variant<Scenario>>,
}

impl Draw<'_> {
    /// The key of one method's run: the version of the program, the conditions and the method.
    pub fn key(&self, method: &Method) -> String {
        format!("{:032x}", xxh3_128(format!("{}\n{}", self.identity, method.text).as_bytes()))
    }

    /// Does the runs of some methods. Conditions that cannot be made are the reason of all.
    pub fn run<'m>(&self, methods: impl Iterator<Item = &'m Method>) -> Vec<Row> {
        let mut stage: Option<Result<Stage, String>> = None;
        methods
            .map(|method| {
                let begin = Instant::now();
                let stage = stage.get_or_insert_with(|| guarded(|| self.stage()));
                let figures = match stage {
                    Ok(stage) => guarded(|| self.figures(stage, method)),
                    Err(why) => Err(why.clone()),
                };
                self.row(method, figures, begin.elapsed().as_secs_f64())
            })
            .collect()
    }

    fn row(
        &self,
        method: &Method,
        figures: Result<[Option<f64>; METRICS.len()], String>,
        wall_seconds: f64,
    ) -> Row {
        let mut request = self.conditions.clone();
        request["method"] = method.text.clone().into();
        let (metrics, why) = match figures {
            Ok(metrics) => (metrics, None),
            Err(why) => ([None; METRICS.len()], Some(why)),
        };
        Row {
            key: self.key(method),
            factors: self.factors(),
            kind: self.combination.kind,
            repetition: self.repetition,
            method: method.text.clone(),
            done: why.is_none(),
            why: why.unwrap_or_default(),
            metrics,
            request: request.to_string(),
            wall_seconds,
        }
    }

    /// Values of the factor columns; empty where a part does not have the parameter.
    fn factors(&self) -> Vec<String> {
        let scenario = self.scenario.map_or("", |s| s.label.as_str());
        let labels = [self.workflow.label.as_str(), self.platform.label.as_str(), scenario];
        let none = Vec::new();
        let parts = [
            &self.workflow.factors,
            &self.platform.factors,
            self.scenario.map_or(&none, |s| &s.factors),
        ];
        let columns = self.campaign.columns.iter().enumerate();
        columns
            .map(|(at, column)| match labels.get(at) {
                Some(label) => label.to_string(),
                None => {
                    let mut all = parts.iter().flat_map(|part| part.iter());
                    all.find(|(name, _)| name == column).map_or(String::new(), |(_, v)| v.clone())
                }
            })
            .collect()
    }

    /// Draws the conditions.
    pub fn stage(&self) -> Result<Stage, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let repetition = self.repetition;
        let platform = match &self.platform.source {
            Source::Fixed { value, .. } => value.clone(),
            Source::Drawn { generator, given } => {
                let values = generator.settings(given).map_err(|e| text(&e))?;
                let drawn = self.campaign.seed_of_draw("platform", self.platform, repetition);
                let platform = generator.platform(&values, Seed::new(drawn));
                Arc::new(platform.map_err(|e| text(&e))?)
            }
        };
        let workflow = match &self.workflow.source {
            Source::Fixed { value, .. } => value.clone(),
            Source::Drawn { generator, given } => {
                let hosts = platform.hosts().len().to_string();
                let given: Vec<(String, String)> = given
                    .iter()
                    .map(|(name, value)| {
                        if follows_platform(name, value) {
                            (name.clone(), hosts.clone())
                        } else {
                            (name.clone(), value.clone())
                        }
                    })
                    .collect();
                let values = generator.settings(&given).map_err(|e| text(&e))?;
                let drawn = self.campaign.seed_of_draw("workflow", self.workflow, repetition);
                let workflow = generator.workflow(&values, Seed::new(drawn));
                Arc::new(workflow.map_err(|e| text(&e))?)
            }
        };
        let mut stage = Stage::new(workflow, platform);
        if let Some(variant) = self.scenario {
            let scenario = match &variant.source {
                Source::Fixed { value, .. } => Scenario::clone(value),
                Source::Drawn { generator, given } => {
                    let mut given = given.clone();
                    // The scale of time is the length of the undisturbed run, as HEFT plans it.
                    let scaled = generator.parameters().any(|p| p.name == "makespan");
                    if scaled && !given.iter().any(|(name, _)| name == "makespan") {
                        let problem = stage.problem().map_err(|e| text(&e))?;
                        let plan = slackline_schedule::list::heft::HEFT;
                        let plan =
                            (plan.plan)(&problem, &Default::default()).map_err(|e| text(&e))?;
                        given.push(("makespan".to_string(), format!("{}s", plan.makespan())));
                    }
                    let values = generator.settings(&given).map_err(|e| text(&e))?;
                    let drawn = self.campaign.seed_of_draw("scenario", variant, repetition);
                    let around = Surroundings { platform: Some(&stage.platform), workflows: &[] };
                    let scenario = generator.scenario(&values, Seed::new(drawn), &around);
                    scenario.map_err(|e| text(&e))?
                }
            };
            stage = stage.in_scenario(scenario, Knowledge::Estimates).map_err(|e| text(&e))?;
        }
        Ok(stage)
    }

    fn figures(
        &self,
        stage: &Stage,
        method: &Method,
    ) -> Result<[Option<f64>; METRICS.len()], String> {
        match method.kind {
            MethodKind::Plan => self.plan(stage, method),
            MethodKind::Simulate => self.simulate(stage, method),
        }
    }

    /// The plan or the course of the run of a method, for charts.
    pub fn schedule(&self, stage: &Stage, method: &Method) -> Result<Schedule, String> {
        match method.kind {
            MethodKind::Plan => {
                let problem = planned(stage)?;
                let planner = method.planner(&problem, self.method_seed)?;
                planner.plan(&problem).map_err(|error| error.to_string())
            }
            MethodKind::Simulate => {
                let problem = stage.problem().map_err(|error| error.to_string())?;
                let mut policy = method.policy(&problem, self.method_seed)?;
                let outcome = stage.run_as(policy.as_mut(), Recording::KeepWork, None);
                let outcome = outcome.map_err(|error| error.to_string())?;
                match outcome.ending {
                    Ending::Finished => Ok(outcome.schedule),
                    Ending::CannotFinish(why) => Err(why.to_string()),
                }
            }
        }
    }

    /// The figures of a plan, as `slackline plan` has them.
    fn plan(&self, stage: &Stage, method: &Method) -> Result<[Option<f64>; METRICS.len()], String> {
        let (workflow, platform) = (&stage.workflow, &stage.platform);
        let problem = planned(stage)?;
        let planner = method.planner(&problem, self.method_seed)?;
        let plan = planner.plan(&problem).map_err(|error| error.to_string())?;
        let summary = Summary::of(&problem, &plan);
        let least = workflow.critical_path(|t| problem.best_exec(t), |_| 0.0).length;
        let slr = (least > 0.0).then(|| summary.makespan / least);
        let cost = platform.is_priced().then_some(summary.cost);
        Ok([
            Some(summary.makespan),
            slr,
            None,
            Some(summary.speedup),
            Some(summary.utilisation),
            cost,
            Some(summary.bytes_moved),
            None,
            None,
        ])
    }

    /// The figures of a simulated run, as `slackline simulate` has them.
    fn simulate(
        &self,
        stage: &Stage,
        method: &Method,
    ) -> Result<[Option<f64>; METRICS.len()], String> {
        let problem = stage.problem().map_err(|error| error.to_string())?;
        let mut policy = method.policy(&problem, self.method_seed)?;
        let mut moves = Moves::on(&stage.platform);
        let priced = stage.platform.is_priced() || stage.platform.has_leasable();
        let outcome = {
            let mut note = |record: &slackline_model::trace::Record| moves.note(record);
            let recording = if priced {
                Recording::KeepWorkAndStream(&mut note)
            } else {
                Recording::Stream(&mut note)
            };
            stage.run_as(policy.as_mut(), recording, None).map_err(|error| error.to_string())?
        };
        if let Ending::CannotFinish(why) = &outcome.ending {
            return Err(why.to_string());
        }
        let summary = Summary::of(&problem, &outcome.schedule);
        let metrics = Metrics::with_moves(&problem, &outcome, moves);
        let cost = priced.then(|| Money::of(&problem, &outcome).total);
        Ok([
            Some(outcome.makespan),
            Some(metrics.slr),
            Some(metrics.nsl),
            Some(summary.speedup),
            Some(summary.utilisation),
            cost,
            Some(outcome.counters.bytes_moved),
            Some(metrics.waste.overhead()),
            Some(outcome.counters.replannings as f64),
        ])
    }
}

/// The problem as planners see it.
fn planned(stage: &Stage) -> Result<Problem<'_>, String> {
    let (workflow, platform) = (&stage.workflow, &stage.platform);
    let charges = usual_models(platform, workflow).charges();
    let problem = Problem::charged(workflow, platform, &charges, Inputs::of(platform));
    problem.map_err(|error| error.to_string())
}

/// Turns a panic of a run into an error, so that the other runs continue.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(format!("the program failed: {text}"))
    })
}
