//! How far run times are from estimates, seen while running: of tasks that are done, per kind, and of
//! those that run, by how far they are. Forecasts and plans are made with what that says.

use crate::situation::{Situation, TaskState};
use slackline_model::{KindId, TaskId, Workflow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Estimates that are wrong by less hold.
const HOLDS: f64 = 0.02;

/// A task that runs tells how long it takes once this share of it is done.
const TELLS: f64 = 0.05;

/// A kind is estimated anew once the mean of so many tasks is this many standard errors off.
const FEWEST: f64 = 3.0;
const SURE: f64 = 2.0;

/// Logarithms of ratios: how many, their sum, and the sum of their squares.
#[derive(Clone, Copy, Debug, Default)]
struct Ratios {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Ratios {
    fn add(&mut self, factor: f64) {
        let error = factor.clamp(0.1, 10.0).ln();
        self.count += 1.0;
        self.sum += error;
        self.squares += error * error;
    }

    fn deviation(&self) -> f64 {
        let mean = self.sum / self.count;
        (self.squares / self.count - mean * mean).max(0.0).sqrt()
    }
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Estimates {
    all: Ratios,
    kinds: BTreeMap<KindId, Ratios>,
    /// Tasks that are done and have been compared.
    compared: Vec<bool>,
}

impl Estimates {
    /// Takes in what is done since the last time; true where an estimate was wrong. Only for
    /// platforms that hold still: elsewhere levels may explain it.
    pub(super) fn compare(&mut self, now: &Situation) -> Result<bool, String> {
        self.compared.resize(now.tasks.len(), false);
        let problem = now.seen_problem().map_err(|e| e.to_string())?;
        let mut wrong = false;
        for task in now.workflow.tasks() {
            if let TaskState::Done(placement) = now.task(task)
                && !std::mem::replace(&mut self.compared[task.index()], true)
            {
                let (first, width) = (placement.proc(), placement.procs().len() as u32);
                let seconds = problem.exec_wide(task, problem.class_of(first), width);
                if seconds > 0.0 && seconds.is_finite() {
                    let factor = placement.seconds() / seconds;
                    self.all.add(factor);
                    self.kinds.entry(now.workflow.kind(task)).or_default().add(factor);
                    wrong |= (factor - 1.0).abs() > HOLDS;
                }
            }
        }
        Ok(wrong)
    }

    /// The standard deviation of their logarithms, once there are a few; nothing where they hold.
    pub(super) fn spread(&self) -> f64 {
        if self.all.count < FEWEST {
            return 0.0;
        }
        let spread = self.all.deviation();
        if spread > HOLDS { spread } else { 0.0 }
    }

    /// How long a task that has not begun takes over what is estimated.
    fn of_kind(&self, kind: KindId) -> f64 {
        let Some(seen) = self.kinds.get(&kind).filter(|seen| seen.count >= FEWEST) else {
            return 1.0;
        };
        let (mean, doubt) = (seen.sum / seen.count, seen.deviation() / seen.count.sqrt());
        if mean.abs() > SURE * doubt.max(HOLDS) { mean.exp() } else { 1.0 }
    }

    /// The situation with what has been seen for what was estimated; nothing where estimates hold.
    /// The same holds for platforms as above.
    pub(super) fn corrected(&self, now: &Situation) -> Result<Option<Situation>, String> {
        if now.workflow.cost_table().is_some() {
            return Ok(None);
        }
        let problem = now.seen_problem().map_err(|e| e.to_string())?;
        let factor = |task: TaskId| match now.task(task) {
            TaskState::Running { procs, since } => {
                let (share, passed) = (now.progress[task.index()], now.now - since);
                let Some(&first) = procs.first() else { return 1.0 };
                let whole = problem.exec_wide(task, problem.class_of(first), procs.len() as u32);
                let told = share > TELLS && passed > 0.0 && whole > 0.0 && whole.is_finite();
                if told { passed / (share * whole) } else { self.of_kind(now.workflow.kind(task)) }
            }
            TaskState::Done(_) => 1.0,
            _ => self.of_kind(now.workflow.kind(task)),
        };
        let factors: Vec<f64> = now.workflow.tasks().map(factor).collect();
        if factors.iter().all(|factor| (factor - 1.0).abs() <= HOLDS) {
            return Ok(None);
        }
        let work = |workflow: &Workflow, t: TaskId| workflow.work(t) * factors[t.index()];
        let workflow = Workflow::clone(&now.workflow);
        let workflow = workflow.with_work(now.workflow.reference_speed(), work);
        Ok(Some(Situation { workflow: Arc::new(workflow), ..now.clone() }))
    }

    /// Whether a task that runs has told how long it takes.
    pub(super) fn is_told(now: &Situation, task: TaskId) -> bool {
        let runs = matches!(now.task(task), TaskState::Running { .. });
        now.task(task).is_done() || (runs && now.progress[task.index()] > TELLS)
    }
}
