//! Ranges of the numbers in requests, which the command checks when it reads its options.

use super::{
    ExecutionSettings, LimitSettings, OverheadSettings, PlanRequest, RunRequest, SearchSettings,
    SimulationSetup, Sources,
};
use crate::failure::Failure;
use std::time::Duration;

/// Most replications of a scenario.
pub const MOST_REPLICATIONS: u32 = 100_000;

/// Most runs of a forecast.
pub const MOST_RUNS: u32 = 1_000_000;

/// Most threads of a search.
pub const MOST_THREADS: u16 = 1024;

/// Least and most seconds between two queries of Slurm's queue.
pub const QUEUE_INTERVALS: (f64, f64) = (0.1, 86_400.0);

fn holds(member: &str, holds: bool, wanted: &str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::input(format!("{member}: expected {wanted}"))) }
}

fn seconds(member: &str, value: Option<f64>) -> Result<(), Failure> {
    let is_duration = |s: f64| Duration::try_from_secs_f64(s).is_ok();
    holds(member, value.is_none_or(is_duration), "seconds, 0 or more")
}

fn factor(member: &str, value: f64) -> Result<(), Failure> {
    holds(member, value > 1.0 && value.is_finite(), "a number above 1")
}

impl Sources {
    fn check(&self) -> Result<(), Failure> {
        let speed = self.reference_speed.is_none_or(|s| s > 0.0 && s.is_finite());
        holds("input.reference_speed", speed, "flop/s above 0")?;
        let is_factor = |factor: &f64| *factor > 0.0 && factor.is_finite();
        holds("input.speeds", self.speeds.values().all(is_factor), "factors above 0")
    }

    /// Fails where members are given that mean nothing here.
    fn check_lacks(&self, arrivals: bool, instance: bool, what: &str) -> Result<(), Failure> {
        let none = |member: &str| format!("input.{member}: {what} does not take it");
        match (self.arrivals.is_some() && !arrivals, self.instance.is_some() && !instance) {
            (true, _) => Err(Failure::input(none("arrivals"))),
            (_, true) => Err(Failure::input(none("instance"))),
            _ => Ok(()),
        }
    }
}

impl LimitSettings {
    fn check(&self) -> Result<(), Failure> {
        seconds("limits.deadline", self.deadline)?;
        holds("limits.fastest", !self.fastest || self.deadline.is_some(), "a deadline beside it")?;
        let budget = self.budget.is_none_or(|b| b >= 0.0 && b.is_finite());
        holds("limits.budget", budget, "a number, 0 or more")
    }
}

impl OverheadSettings {
    fn check(&self) -> Result<(), Failure> {
        seconds("overheads.task", self.task)?;
        seconds("overheads.queue_wait", self.queue_wait)
    }
}

impl SearchSettings {
    fn check(&self) -> Result<(), Failure> {
        seconds("search.time_limit", self.time_limit)?;
        let threads = self.threads.is_none_or(|n| (1..=MOST_THREADS).contains(&n));
        holds("search.threads", threads, &format!("a number between 1 and {MOST_THREADS}"))
    }
}

impl PlanRequest {
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.input.check()?;
        self.input.check_lacks(false, true, "a plan")?;
        self.limits.check()?;
        self.overheads.check()?;
        self.search.check()?;
        let share = self.robust.is_none_or(|share| (0.0..1.0).contains(&share));
        holds("robust", share, "a share from 0 to below 1")
    }
}

impl SimulationSetup {
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.input.check()?;
        if self.input.workflows.len() > 1 {
            return Err(Failure::input("input.workflows: one workflow is simulated")
                .with_help("several that arrive stand in a file that input.arrivals names"));
        }
        let named = [
            !self.input.workflows.is_empty(),
            self.input.instance.is_some(),
            self.input.arrivals.is_some(),
        ];
        holds(
            "input",
            named.into_iter().filter(|named| *named).count() <= 1,
            "one of workflows, instance and arrivals",
        )?;
        self.limits.check()?;
        self.overheads.check()?;
        seconds("monitoring_delay", Some(self.monitoring_delay))?;
        seconds("decision_time", Some(self.decision_time))?;
        factor("memory_factor", self.memory_factor)?;
        let runs = self.runs.is_none_or(|n| (1..=MOST_RUNS).contains(&n));
        holds("runs", runs, &format!("a number between 1 and {MOST_RUNS}"))?;
        let some = |n| (1..=MOST_REPLICATIONS).contains(&n);
        let wanted = format!("a number between 1 and {MOST_REPLICATIONS}");
        holds("replications", self.replications.is_none_or(some), &wanted)
    }
}

impl RunRequest {
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.input.check()?;
        self.input.check_lacks(false, false, "a run")?;
        holds("input.workflows", self.input.workflows.len() == 1, "one workflow")?;
        holds(
            "input.speeds",
            self.input.speeds.is_empty(),
            "none: machines have their own speeds",
        )?;
        self.limits.check()?;
        self.overheads.check()?;
        self.execution.check()
    }
}

impl ExecutionSettings {
    fn check(&self) -> Result<(), Failure> {
        seconds("execution.time_limit", self.time_limit)?;
        factor("execution.memory_factor", self.memory_factor)?;
        let Some(slurm) = &self.slurm else { return Ok(()) };
        seconds("execution.slurm.patience", Some(slurm.patience))?;
        let safety = slurm.wall_safety >= 1.0 && slurm.wall_safety.is_finite();
        holds("execution.slurm.wall_safety", safety, "a number of at least 1")?;
        let (least, most) = QUEUE_INTERVALS;
        let interval = slurm.squeue_interval.is_none_or(|s| (least..=most).contains(&s));
        holds("execution.slurm.squeue_interval", interval, "a time between 100ms and 1d")?;
        let pilots = slurm.pilots.is_none_or(|(least, most)| 0 < most && least <= most);
        holds("execution.slurm.pilots", pilots, "two numbers, the first not above the last")?;
        let ports = slurm.ports.is_none_or(|(first, last)| 0 < first && first <= last);
        holds("execution.slurm.ports", ports, "two ports, the first not above the last")
    }
}
