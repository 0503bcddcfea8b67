//! The random instances of the study: layered graphs on unrelated machines whose estimates are
//! wrong by up to a given share.

use super::super::StudyError;
use crate::cell::Cell;
use slackline_engine::{Recording, Stage};
use slackline_generate::Seed;
use slackline_generate::unrelated::Population;
use slackline_model::scenario::{Actual, Scenario};
use slackline_model::workflow::CostTable;
use slackline_model::{Platform, Problem, ProcId, TaskId, Workflow, WorkflowBuilder};
use slackline_react::Transfers;
use slackline_react::registry::{Entry, Options as PolicyOptions};
use slackline_react::selective::{Trigger, run_offline};
use slackline_schedule::Algorithm;
use std::sync::Arc;

/// A graph, its machines, and how wrong each estimate is.
pub(super) struct Instance {
    pub(super) workflow: Arc<Workflow>,
    pub(super) platform: Arc<Platform>,
    /// Per task and machine: error as a part of the largest, uniform in (-1, 1).
    error: Vec<f64>,
}

/// Result of a run of one form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ran {
    pub(super) makespan: f64,
    pub(super) reschedulings: f64,
}

impl Instance {
    /// Member number `member` of a population.
    pub(super) fn draw(
        population: &Population,
        seed: u64,
        member: usize,
    ) -> Result<Instance, StudyError> {
        let drawn =
            population.draw(Seed { seed, member: member as u64 }).map_err(StudyError::of)?;
        let (workflow, platform) = (Arc::new(drawn.workflow), Arc::new(drawn.platform));
        Ok(Instance { workflow, platform, error: drawn.error })
    }

    pub(super) fn tasks(&self) -> usize {
        self.workflow.len()
    }

    pub(super) fn problem(&self) -> Result<Problem<'_>, StudyError> {
        Problem::new(&self.workflow, &self.platform).map_err(StudyError::of)
    }

    /// Real seconds of a task when estimates are wrong by up to `quality`.
    fn actual(&self, problem: &Problem<'_>, task: TaskId, proc: ProcId, quality: f64) -> f64 {
        let machines = self.platform.hosts().len();
        let error = self.error[task.index() * machines + proc.index()];
        problem.exec_on(task, proc) * (1.0 + quality * error)
    }

    /// The literal form, which uses real ends out of order.
    pub(super) fn literal(
        &self,
        planner: &'static Algorithm,
        trigger: Trigger,
        quality: f64,
    ) -> Result<Ran, StudyError> {
        let problem = self.problem()?;
        let actual = |task, proc| self.actual(&problem, task, proc, quality);
        let outcome = run_offline(&problem, planner, trigger, actual).map_err(StudyError::of)?;
        Ok(Ran {
            makespan: outcome.schedule.makespan(),
            reschedulings: outcome.reschedulings as f64,
        })
    }

    /// One plan made with the real times.
    pub(super) fn ideal(
        &self,
        planner: &'static Algorithm,
        quality: f64,
    ) -> Result<Cell, StudyError> {
        let known = Arc::new(self.with_real_times(quality)?);
        Cell::planned(Stage::new(known, self.platform.clone()), planner).under(MODEL)
    }

    fn with_real_times(&self, quality: f64) -> Result<Workflow, StudyError> {
        let (problem, known) = (self.problem()?, &self.workflow);
        let mut builder = WorkflowBuilder::new(known.name());
        for task in known.tasks() {
            builder.add_task(known.task(task)).map_err(StudyError::of)?;
        }
        for edge in known.edges() {
            let (from, to) = known.edge_ends(edge);
            builder.add_edge(from, to, known.edge_bytes(edge)).map_err(StudyError::of)?;
        }
        let cell = |task| problem.proc_ids().map(move |proc| (task, proc));
        builder.set_cost_table(CostTable {
            columns: (1..=self.platform.hosts().len()).map(|p| format!("p{p}")).collect(),
            seconds: known
                .tasks()
                .flat_map(cell)
                .map(|(task, proc)| self.actual(&problem, task, proc, quality))
                .collect(),
        });
        builder.build().map_err(StudyError::of)
    }

    /// A policy on the engine, which learns of ends when they happen.
    pub(super) fn causal(
        &self,
        entry: &'static Entry,
        planner: &'static Algorithm,
        quality: f64,
    ) -> Result<Cell, StudyError> {
        let mut stage = Stage::new(self.workflow.clone(), self.platform.clone());
        stage.scenario = self.scenario(quality)?;
        let told = PolicyOptions { transfers: Transfers::Push, ..PolicyOptions::new(planner) };
        Cell::decided(stage, entry, told).under(MODEL)
    }

    /// The real run times of every task on every machine.
    fn scenario(&self, quality: f64) -> Result<Scenario, StudyError> {
        let problem = self.problem()?;
        let actual = |(task, proc): (TaskId, ProcId)| Actual {
            task: self.workflow.task_name(task).to_string(),
            host: Some(self.platform.host(problem.host_of(proc)).name.to_string()),
            seconds: self.actual(&problem, task, proc, quality),
        };
        let pairs = self.workflow.tasks().flat_map(|t| problem.proc_ids().map(move |p| (t, p)));
        Ok(Scenario { actuals: pairs.map(actual).collect(), ..Scenario::default() })
    }
}

impl Ran {
    /// Result of a run on the engine.
    pub(super) fn of(cell: &Cell) -> Result<Ran, StudyError> {
        let outcome = cell.finish(Recording::Nothing)?;
        let reschedulings = outcome.counters.replannings as f64;
        Ok(Ran { makespan: outcome.makespan, reschedulings })
    }
}

/// Transfers never disturb each other.
const MODEL: &str = "matrix";
