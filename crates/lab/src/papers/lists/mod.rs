//! List scheduling of one workflow: chapters 2 and 3 of H. Arabnejad's thesis, whose experiments are those of
//! Arabnejad and Barbosa, Euro-Par 2011 workshops, and TPDS 25(3), 2014. Everything is judged on plans, as there; the
//! transfers of abstract processors do not meet.

mod metaheuristics;
mod peft;

pub(super) use metaheuristics::PAPER as METAHEURISTICS;
pub(super) use peft::PAPER as PEFT;

use super::{StudyError, Watch};
use crate::cell::{self, Recipe, planner};
use slackline_analysis::statistics::Estimate;
use slackline_engine::Stage;
use slackline_generate::Seed;
use slackline_generate::population::STUDIES;
use slackline_generate::registry::{self as generators, Family};
use slackline_model::parameter::Values;
use slackline_model::schedule::Summary;
use slackline_model::{Platform, Problem, Workflow};
use slackline_schedule::{Planner, Request};
use std::sync::Arc;

/// A graph with its processors, and the values of the parameters that it was drawn with.
#[derive(Clone)]
struct Instance {
    workflow: Arc<Workflow>,
    platform: Arc<Platform>,
    ccr: f64,
    beta: f64,
    processors: usize,
}

/// The figures of one plan.
#[derive(Clone, Copy, Debug)]
struct Figures {
    makespan: f64,
    slr: f64,
    speedup: f64,
}

impl Instance {
    /// Abstract processors for a graph with a table of seconds.
    fn new(
        workflow: Workflow,
        ccr: f64,
        beta: f64,
        processors: usize,
    ) -> Result<Instance, StudyError> {
        let make = generators::find(Family::Platform, "processors").map_err(StudyError::of)?;
        let given = [("processors".to_string(), processors.to_string())];
        let settings = make.settings(&given).map_err(StudyError::of)?;
        let platform = make.platform(&settings, Seed::new(0)).map_err(StudyError::of)?;
        let (workflow, platform) = (Arc::new(workflow), Arc::new(platform));
        Ok(Instance { workflow, platform, ccr, beta, processors })
    }

    /// A graph of a generator.
    fn generated(name: &str, settings: &Values, seed: Seed) -> Result<Instance, StudyError> {
        let make = generators::find(Family::Workflow, name).map_err(StudyError::of)?;
        let workflow = make.workflow(settings, seed).map_err(StudyError::of)?;
        let number = |name: &str| settings.number(name).map_err(StudyError::of);
        let processors = settings.count("processors").map_err(StudyError::of)?;
        Instance::new(workflow, number("ccr")?, number("beta")?, processors)
    }

    fn cell(&self, method: &str) -> Result<cell::Cell, StudyError> {
        let request = Request::default();
        let planner = Planner { algorithm: planner(method)?, request };
        let stage = Stage::new(self.workflow.clone(), self.platform.clone());
        cell::Cell::planned(stage, planner).under("matrix")
    }

    fn figures(&self, method: &str) -> Result<Figures, StudyError> {
        let cell = self.cell(method)?;
        let (problem, plan) = (cell.problem()?, cell.plan()?);
        let summary = Summary::of(&problem, &plan);
        let slr = summary.makespan / least_path(&problem);
        Ok(Figures { makespan: summary.makespan, slr, speedup: summary.speedup })
    }
}

/// The critical path with every task at its least time.
fn least_path(problem: &Problem<'_>) -> f64 {
    problem.workflow().critical_path(|task| problem.best_exec(task), |_| 0.0).length
}

/// So many members of a published population whose first axis has the value at `at` of `of`, drawn evenly.
fn sample(
    study: &str,
    seed: u64,
    (at, of): (u64, u64),
    graphs: usize,
) -> Result<Vec<Instance>, StudyError> {
    let study = STUDIES.iter().find(|s| s.name == study);
    let study = study.ok_or_else(|| StudyError("the population is missing".into()))?;
    let population = study.population(seed).map_err(StudyError::of)?;
    let part = population.len() / of;
    let mut draws = Seed { seed, member: at }.draws("lists/sample");
    let mut all = Vec::with_capacity(graphs);
    for _ in 0..graphs {
        let number = at * part + draws.below(part as usize) as u64;
        let member = population.member(number).map_err(StudyError::of)?;
        all.push(Instance::generated(study.generator, &member.settings, member.seed)?);
    }
    Ok(all)
}

/// Instances, each planned by every method.
struct Series {
    stage: String,
    instances: Vec<Instance>,
    methods: Vec<&'static str>,
}

/// Figures by instance and method.
struct Planned {
    instances: Vec<Instance>,
    figures: Vec<Vec<Figures>>,
}

impl Series {
    fn plan(self, watch: &Watch<'_>) -> Result<Planned, StudyError> {
        let figures = watch.over(&self.stage, &self.instances, |instance| {
            self.methods.iter().map(|method| instance.figures(method)).collect()
        })?;
        Ok(Planned { instances: self.instances, figures })
    }

    /// The plans one by one.
    fn cells(self) -> Vec<Recipe> {
        let mut all = Vec::new();
        for (index, instance) in self.instances.iter().enumerate() {
            for &method in &self.methods {
                let instance = instance.clone();
                let name = format!("{}, graph {index}: {method}", self.stage);
                all.push(Recipe::new(name, move || instance.cell(method)));
            }
        }
        all
    }
}

impl Planned {
    /// One figure of a method over the instances that `keep` chooses.
    fn column(
        &self,
        method: usize,
        figure: fn(&Figures) -> f64,
        keep: impl Fn(&Instance) -> bool,
    ) -> Vec<f64> {
        let chosen = self.instances.iter().zip(&self.figures).filter(|(i, _)| keep(i));
        chosen.map(|(_, row)| figure(&row[method])).collect()
    }

    /// Difference of the mean SLR of two methods, as a share of the other's; positive if the one is better.
    fn gain(
        &self,
        method: usize,
        over: usize,
        keep: impl Fn(&Instance) -> bool + Copy,
    ) -> Estimate {
        let slr = |m| self.column(m, |f| f.slr, keep);
        let ratio = Estimate::ratio(&slr(method), &slr(over));
        Estimate { value: 1.0 - ratio.value, ..ratio }
    }
}

/// Every instance.
fn any(_: &Instance) -> bool {
    true
}
