//! The random instances of the study: layered graphs on unrelated machines whose estimates are
//! wrong by up to a given share.

use super::super::StudyError;
use crate::cell::Cell;
use slackline_execute::{Recording, Stage};
use slackline_generate::Seed;
use slackline_generate::costs::{Ccr, CcrBy, Costs, TaskCosts};
use slackline_generate::workflow::layered::SelectiveRescheduling;
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::scenario::{Actual, Scenario};
use slackline_model::workflow::CostTable;
use slackline_model::{Platform, Problem, ProcId, TaskId, Workflow, WorkflowBuilder};
use slackline_react::Transfers;
use slackline_react::registry::{Entry, Options as PolicyOptions};
use slackline_react::selective::{Trigger, run_offline};
use slackline_schedule::Algorithm;
use std::sync::Arc;

/// Ranges of a population.
#[derive(Clone, Copy, Debug)]
pub(super) struct Population {
    /// What its streams are called.
    pub(super) name: &'static str,
    /// Least and most tasks.
    pub(super) tasks: (usize, usize),
    /// Least and most machines.
    pub(super) machines: (usize, usize),
}

/// A graph, its machines, and how wrong each estimate is.
pub(super) struct Instance {
    pub(super) workflow: Arc<Workflow>,
    pub(super) platform: Arc<Platform>,
    /// Per task and machine: error as a part of the largest, uniform in (-1, 1).
    error: Vec<f64>,
}

/// What one way of running came to.
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
        let seed = Seed { seed, member: member as u64 };
        let mut draws = seed.draws(&format!("{}/instance", population.name));
        let tasks = draws.between(population.tasks.0, population.tasks.1);
        let machines = draws.between(population.machines.0, population.machines.1);
        let ratio = draws.uniform(0.1, 1.0);
        // Time per data unit of each pair, the same both ways.
        let mut factor = vec![0.0; machines * machines];
        let mut total = 0.0;
        for i in 0..machines {
            for j in i + 1..machines {
                let c = draws.uniform(0.5, 1.5);
                (factor[i * machines + j], factor[j * machines + i]) = (c, c);
                total += c;
            }
        }
        let mean = total / (machines * (machines - 1) / 2) as f64;
        let costs = Costs {
            tasks: TaskCosts::Uniform { low: 50.0, high: 100.0, whole: false },
            processors: machines,
            ccr: Some(Ccr { ratio, by: CcrBy::Means, spread: 1.0 }),
            bandwidth: 1.0 / mean,
            ..Costs::default()
        };
        // Streams of the shape and its costs carry the name of the population through the seed.
        let shape = SelectiveRescheduling { tasks, children: 3 };
        let own = Seed { seed: seed.seed ^ name_bits(population.name), member: seed.member };
        let graph = shape.graph(own).map_err(StudyError::of)?;
        let workflow = graph.workflow(&costs, own).map_err(StudyError::of)?;
        let mut draws = seed.draws(&format!("{}/errors", population.name));
        let error = (0..tasks * machines).map(|_| draws.uniform(-1.0, 1.0)).collect();
        let platform = machines_of(machines, &factor)?;
        Ok(Instance { workflow: Arc::new(workflow), platform: Arc::new(platform), error })
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

    /// The literal form, which knows real ends out of order.
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

    /// How long every task really takes on every machine.
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
    /// What a run on the engine came to.
    pub(super) fn of(cell: &Cell) -> Result<Ran, StudyError> {
        let outcome = cell.finish(Recording::Nothing)?;
        let reschedulings = outcome.counters.replannings as f64;
        Ok(Ran { makespan: outcome.makespan, reschedulings })
    }
}

/// Transfers never disturb each other.
const MODEL: &str = "matrix";

/// Spreads a name over a seed, so that populations share no stream.
fn name_bits(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3) // FNV-1a
    })
}

/// Machines `p1` ... with a time per data unit for each pair.
fn machines_of(machines: usize, factor: &[f64]) -> Result<Platform, StudyError> {
    let mut builder = PlatformBuilder::new("machines");
    let bandwidth = factor.iter().map(|&c| if c > 0.0 { 1.0 / c } else { f64::INFINITY }).collect();
    let latency = vec![0.0; machines * machines].into();
    builder.set_matrix(Matrix::Dense { hosts: machines, bandwidth, latency });
    let root = builder.root().map_err(StudyError::of)?;
    for p in 1..=machines {
        builder.add_host(root, HostSpec::new(format!("p{p}"), 1.0)).map_err(StudyError::of)?;
    }
    builder.build().map_err(StudyError::of)
}
