//! Ratio of run times to estimates, observed during the run: of finished tasks, per kind, and of running ones by their
//! progress, at the levels their hosts had meanwhile. Forecasts and plans use it.

use super::history::History;
use crate::learned::Figure;
use crate::situation::{Situation, TaskState};
use slackline_model::{KindId, Problem, ProcId, TaskId, Workflow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Relative error (or standard deviation of logarithms) below which estimates count as right.
const HOLDS: f64 = 0.02;

/// Share of a running task that has to be done before its run time is extrapolated.
const KNOWN_FROM: f64 = 0.05;

/// The estimates of a kind are corrected once `FEWEST` of its tasks have ended and their mean log ratio is `SURE` standard
/// errors from zero.
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
        // One absurd estimate must not dominate the mean of its kind.
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

/// Observed ratios of run times to estimates, per kind and of running tasks.
#[derive(Debug, Default)]
pub(super) struct Estimates {
    all: Ratios,
    /// Errors of estimates: number, and sum of squares in seconds squared.
    errors: (f64, f64),
    kinds: BTreeMap<KindId, Ratios>,
    /// Per task: ratio of run time to estimate, once it is done.
    factors: Vec<Option<f64>>,
}

/// Seconds that tasks should take at the peaks of their hosts.
struct Peak<'a> {
    problem: Problem<'a>,
    now: &'a Situation,
}

impl Peak<'_> {
    fn of(now: &Situation) -> Result<Peak<'_>, String> {
        let problem = now.seen_problem().map_err(|e| e.to_string())?;
        Ok(Peak { problem, now })
    }

    fn seconds(&self, task: TaskId, procs: &[ProcId]) -> f64 {
        let Some(&first) = procs.first() else { return 0.0 };
        let level = self.now.view.availability[self.problem.host_of(first).index()];
        self.problem.exec_wide(task, self.problem.class_of(first), procs.len() as u32) * level
    }
}

impl Estimates {
    /// Takes in the tasks that have ended since the last call; true where an estimate was wrong.
    pub(super) fn compare(&mut self, now: &Situation, seen: &History) -> Result<bool, String> {
        self.factors.resize(now.tasks.len(), None);
        let peak = Peak::of(now)?;
        let mut wrong = false;
        for task in now.workflow.tasks() {
            if let TaskState::Done(placement) = now.task(task)
                && self.factors[task.index()].is_none()
            {
                let (start, finish) = (placement.start, placement.finish);
                // Estimated and actual run time, both in seconds at the peak of the host.
                let whole = peak.seconds(task, placement.procs());
                let had = seen.seconds_at_peak(now.host(placement.procs()), start, finish);
                let known = whole > 0.0 && whole.is_finite() && had > 0.0;
                let factor = if known { had / whole } else { 1.0 };
                self.factors[task.index()] = Some(factor);
                if known {
                    self.all.add(factor);
                    let error = (finish - start) * (1.0 - whole / had);
                    self.errors = (self.errors.0 + 1.0, self.errors.1 + error * error);
                    self.kinds.entry(now.workflow.kind(task)).or_default().add(factor);
                    wrong |= (factor - 1.0).abs() > HOLDS;
                }
            }
        }
        Ok(wrong)
    }

    /// The standard deviation of the logarithms of ratios of finished tasks; 0 with fewer than `FEWEST` of them, or where
    /// estimates are right.
    pub(super) fn spread(&self) -> f64 {
        if self.all.count < FEWEST {
            return 0.0;
        }
        let spread = self.all.deviation();
        if spread > HOLDS { spread } else { 0.0 }
    }

    /// Root mean square error of estimates, in seconds; 0 with fewer than `FEWEST` finished tasks. A task that is begun
    /// again may well take that much longer. The time to start a process is part of it.
    pub(super) fn noise(&self) -> f64 {
        let (count, squares) = self.errors;
        if count < FEWEST { 0.0 } else { (squares / count).sqrt() }
    }

    /// Expected ratio of run time to estimate of a task that has not begun. Estimates of kinds that the run itself has
    /// corrected are left alone.
    fn of_kind(&self, kind: KindId, now: &Situation) -> f64 {
        let taught = now.taught.kinds.get(&kind).is_some_and(Figure::is_sure);
        match self.kinds.get(&kind).filter(|seen| seen.count >= FEWEST && !taught) {
            Some(seen) => {
                let (mean, doubt) = (seen.sum / seen.count, seen.deviation() / seen.count.sqrt());
                if mean.abs() > SURE * doubt.max(HOLDS) { mean.exp() } else { 1.0 }
            }
            None => 1.0,
        }
    }

    /// Per task: expected ratio of run time to estimate; 1 for finished tasks.
    fn factors(&self, now: &Situation, seen: &History) -> Result<Vec<f64>, String> {
        let peak = Peak::of(now)?;
        let factor = |task: TaskId| match now.task(task) {
            TaskState::Running { procs, since } => {
                let share = now.progress[task.index()];
                let whole = peak.seconds(task, procs);
                let had = seen.seconds_at_peak(now.host(procs), *since, now.now);
                let told = share > KNOWN_FROM && had > 0.0 && whole > 0.0 && whole.is_finite();
                if told {
                    had / (share * whole)
                } else {
                    self.of_kind(now.workflow.kind(task), now)
                }
            }
            TaskState::Done(_) => 1.0,
            _ => self.of_kind(now.workflow.kind(task), now),
        };
        Ok(now.workflow.tasks().map(factor).collect())
    }

    /// Ratio of run time to estimate of a finished task.
    pub(super) fn of_done(&self, task: TaskId) -> Option<f64> {
        self.factors.get(task.index()).copied().flatten()
    }

    /// The situation with corrected estimates; none where estimates are right, and for workflows with a table of costs.
    pub(super) fn corrected(
        &self,
        now: &Situation,
        seen: &History,
    ) -> Result<Option<Situation>, String> {
        if now.workflow.cost_table().is_some() {
            return Ok(None);
        }
        let factors = self.factors(now, seen)?;
        if factors.iter().all(|factor| (factor - 1.0).abs() <= HOLDS) {
            return Ok(None);
        }
        let work = |workflow: &Workflow, t: TaskId| workflow.work(t) * factors[t.index()];
        let workflow = Workflow::clone(&now.workflow);
        let workflow = workflow.with_work(now.workflow.reference_speed(), work);
        Ok(Some(Situation { workflow: Arc::new(workflow), ..now.clone() }))
    }

    /// Whether the run time of a task is known: it has ended, or runs and can be extrapolated.
    pub(super) fn is_known(now: &Situation, task: TaskId) -> bool {
        let runs = matches!(now.task(task), TaskState::Running { .. });
        now.task(task).is_done() || (runs && now.progress[task.index()] > KNOWN_FROM)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a broken fixture is a broken test
mod tests {
    use super::*;
    use crate::common;
    use crate::policy::Event;
    use slackline_model::{HostId, Placement, Task, WorkflowBuilder};

    /// Six tasks of one kind and two of another that take 10 s each, on two hosts.
    fn situation() -> (Situation, History) {
        let mut b = WorkflowBuilder::new("example");
        for task in 0..8 {
            let kind = if task < 6 { "often" } else { "seldom" };
            b.add_task(Task::new(format!("v{task}"), 10.0).of_kind(kind)).unwrap();
        }
        let workflow = b.build().unwrap().with_work(1.0, |w, t| w.work(t));
        let platform = common::platform(2, |_, _| 1.0);
        let now = Situation::new(Arc::new(workflow), Arc::new(platform));
        let mut history = History::default();
        history.begin(&now);
        (now, history)
    }

    /// A task took so long, from the present date on.
    fn took(now: &mut Situation, task: u32, seconds: f64) {
        let placement = Placement::new(ProcId(0), now.now, now.now + seconds);
        now.now += seconds;
        now.set_task(TaskId(task), TaskState::Done(placement));
    }

    fn work(estimates: &Estimates, now: &Situation, seen: &History, task: u32) -> f64 {
        let corrected = estimates.corrected(now, seen).unwrap();
        corrected.as_ref().unwrap_or(now).workflow.work(TaskId(task))
    }

    #[test]
    fn estimates_that_hold_are_left_alone() {
        let (mut now, seen) = situation();
        let mut estimates = Estimates::default();
        (0..4).for_each(|task| took(&mut now, task, 10.0));
        assert!(!estimates.compare(&now, &seen).unwrap());
        assert_eq!(estimates.spread(), 0.0);
        assert!(estimates.corrected(&now, &seen).unwrap().is_none());
    }

    #[test]
    fn a_slow_host_is_no_wrong_estimate() {
        let (mut now, mut seen) = situation();
        let mut estimates = Estimates::default();
        took(&mut now, 0, 10.0);
        now.view.availability[0] = 0.5;
        seen.hear(&[Event::HostChanged(HostId(0))], &now, |_| false);
        (1..4).for_each(|task| took(&mut now, task, 20.0));
        assert!(!estimates.compare(&now, &seen).unwrap());
        // Twice as long as that is one.
        (4..6).for_each(|task| took(&mut now, task, 40.0));
        assert!(estimates.compare(&now, &seen).unwrap());
        assert!(estimates.spread() > 0.3);
    }

    #[test]
    fn a_kind_that_is_wrong_three_times_is_corrected() {
        let (mut now, seen) = situation();
        let mut estimates = Estimates::default();
        (0..2).for_each(|task| took(&mut now, task, 15.0));
        assert!(estimates.compare(&now, &seen).unwrap());
        assert_eq!(work(&estimates, &now, &seen, 4), 10.0);
        took(&mut now, 2, 15.0);
        assert!(estimates.compare(&now, &seen).unwrap());
        assert!((work(&estimates, &now, &seen, 4) - 15.0).abs() < 1e-9);
        assert_eq!(work(&estimates, &now, &seen, 7), 10.0, "of another kind");
        // Nothing is compared twice.
        assert!(!estimates.compare(&now, &seen).unwrap());
        // What the run itself has learnt of a kind is in its estimates already.
        let figure = Figure { value: 1.5, samples: 3, error: 0.0 };
        now.taught.kinds.insert(now.workflow.kind(TaskId(0)), figure);
        assert_eq!(work(&estimates, &now, &seen, 4), 10.0);
    }

    #[test]
    fn errors_that_go_both_ways_are_chance() {
        let (mut now, seen) = situation();
        let mut estimates = Estimates::default();
        for (task, seconds) in [14.0, 8.0, 12.0, 7.5].into_iter().enumerate() {
            took(&mut now, task as u32, seconds);
        }
        assert!(estimates.compare(&now, &seen).unwrap());
        assert_eq!(work(&estimates, &now, &seen, 5), 10.0);
        assert!(estimates.spread() > 0.2);
    }

    #[test]
    fn the_run_time_of_a_running_task_is_extrapolated() {
        let (mut now, seen) = situation();
        let estimates = Estimates::default();
        now.set_task(TaskId(0), TaskState::Running { procs: [ProcId(0)].into(), since: 0.0 });
        (now.now, now.progress[0]) = (0.5, 0.025);
        assert!(!Estimates::is_known(&now, TaskId(0)), "it has only begun");
        assert_eq!(work(&estimates, &now, &seen, 0), 10.0);
        (now.now, now.progress[0]) = (10.0, 0.5);
        assert!(Estimates::is_known(&now, TaskId(0)));
        assert!((work(&estimates, &now, &seen, 0) - 20.0).abs() < 1e-9);
    }
}
