//! AHEFT (Yu, Shi, IPDPS 2007): when the resources change, plan the unfinished rest again and
//! take the new plan if it promises an earlier end than the old one.
//!
//! Running tasks stay. The old plan is re-timed on what is known now before the comparison;
//! the new one must be better by more than rounding.

use crate::policy::{Decision, Event, Plan, Policy, Transfers};
use crate::replanning;
use crate::situation::Situation;
use slackline_model::{Schedule, approx};
use slackline_schedule::list::heft::HEFT;
use slackline_schedule::{Planner, retime};

/// Event-driven re-planning.
#[derive(Clone)]
pub struct Aheft {
    planner: Planner,
    transfers: Transfers,
    schedule: Schedule,
    /// Least gain of a new plan, as a share of the remaining time.
    gain: f64,
}

impl Aheft {
    /// Re-plans with `planner` (HEFT in the paper).
    pub fn new(planner: impl Into<Planner>, transfers: Transfers) -> Aheft {
        Aheft { planner: planner.into(), transfers, schedule: Schedule::default(), gain: 0.0 }
    }

    /// A policy that continues from a plan of another, and re-plans for gains of at least this share.
    pub(crate) fn continuing(schedule: Schedule, transfers: Transfers, gain: f64) -> Aheft {
        Aheft { schedule, gain, ..Aheft::new(&HEFT, transfers) }
    }

    fn begin(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.nominal_problem().map_err(|e| e.to_string())?;
        self.schedule = self.planner.plan(&problem).map_err(|e| e.to_string())?;
        let plan = Plan::of_schedule(&problem, &self.schedule, self.transfers);
        decisions.push(Decision::Adopt(plan.begun_at(now.now)));
        Ok(())
    }

    /// Plans again, and follows that if it is better.
    pub(crate) fn reconsider(
        &mut self,
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        let (lost, problem) = replanning::rest(now)?;
        let fresh = self.planner.plan(&problem).map_err(|e| e.to_string())?;
        let kept = retime::makespan(&problem, &self.schedule);
        let least = if kept.is_finite() { self.gain * (kept - now.now) } else { 0.0 };
        if lost.is_empty() && !approx::lt(fresh.makespan(), kept - least) {
            return Ok(());
        }
        if !lost.is_empty() {
            decisions.push(Decision::Rewind(lost));
        }
        let plan = Plan::of_schedule(&problem, &fresh, self.transfers);
        decisions.push(Decision::Adopt(plan));
        self.schedule = fresh;
        Ok(())
    }
}

impl Policy for Aheft {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(|e| {
            matches!(
                e,
                Event::Start
                    | Event::HostChanged(_)
                    | Event::NetworkChanged
                    | Event::HostLost(_)
                    | Event::HostBack(_)
                    | Event::CopyLost { .. }
                    | Event::TaskRestored(_)
            ) || e.is_growth()
        })
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        if events.contains(&Event::Start) {
            if let Err(why) = self.begin(now, decisions) {
                decisions.push(Decision::GiveUp(why));
            }
            if !events.iter().any(replanning::is_loss) {
                return;
            }
        }
        // Where there is no plan it waits: the next change of the platform may help.
        let _ = self.reconsider(now, decisions);
    }
}
