//! The shadow: `static` would be somewhere else by now. What it followed at first is simulated from the
//! start of the run, through the levels and run times that were seen since; where it would end sooner
//! than what is under way, the moves of this run have not paid so far.

use super::{HORIZON, Slackline};
use crate::plan_simulator::LevelForecast;
use crate::policy::Plan;
use crate::situation::Situation;
use slackline_model::TaskId;

/// Delay, as a share of the whole, that counts as behind.
const BEHIND: f64 = 0.01;

/// The run as it began; nothing once that tells no more what `static` would have done.
#[derive(Default)]
pub(super) struct StaticBaseline {
    start: Option<Box<Situation>>,
}

impl StaticBaseline {
    pub(super) fn begin(&mut self, now: &Situation) {
        self.start = Some(Box::new(now.clone()));
    }

    /// Something was lost or has come in: `static` would have planned again.
    pub(super) fn end(&mut self) {
        self.start = None;
    }
}

impl Slackline {
    /// Whether what is under way ends later, as things are, than what `static` would have followed
    /// from the start.
    pub(super) fn is_behind(&mut self, now: &Situation, present: &Plan) -> bool {
        let (Some(start), Some(first)) = (&self.baseline.start, &self.first) else { return false };
        let mut seen = self.history.since(start.now);
        let factor = |task: TaskId| {
            let actual = now.workflow.work(task) / start.workflow.work(task);
            let told = self.estimates.of_done(task).unwrap_or(actual);
            if told.is_finite() { told } else { 1.0 }
        };
        seen.factors = start.workflow.tasks().map(factor).collect();
        let limit = start.now + HORIZON * (self.end - start.now);
        let baseline = self.rollouts.ask(start, first, &seen, limit);
        let ours = self.rollouts.ask(now, present, &LevelForecast::lasting(now), limit);
        baseline.zip(ours).is_some_and(|(baseline, ours)| {
            ours - start.now > (baseline - start.now) * (1.0 + BEHIND)
        })
    }
}
