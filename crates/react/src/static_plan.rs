//! `static`: plan once, keep mapping and order whatever happens. With `restart`, a lost host
//! makes it plan what is left once more: the least an execution must do to survive. Where nothing
//! is left to plan with it waits until something is, and plans again for each host that comes of those
//! that were away then.

use crate::policy::{Decision, Event, Plan, Policy, Transfers};
use crate::replanning::{self, Stranded};
use crate::situation::Situation;
use slackline_model::Schedule;
use slackline_schedule::Planner;

/// Follows one plan.
pub struct StaticPlan {
    planner: Planner,
    given: Option<Schedule>,
    transfers: Transfers,
    restart: bool,
    stranded: Stranded,
}

impl StaticPlan {
    /// Plans with the given method at the start.
    pub fn new(planner: impl Into<Planner>, transfers: Transfers) -> StaticPlan {
        let planner = planner.into();
        StaticPlan { planner, given: None, transfers, restart: true, stranded: Stranded::default() }
    }

    /// Follows a schedule made before.
    pub fn of_schedule(
        schedule: Schedule,
        planner: impl Into<Planner>,
        transfers: Transfers,
    ) -> StaticPlan {
        let (planner, given) = (planner.into(), Some(schedule));
        StaticPlan { planner, given, transfers, restart: true, stranded: Stranded::default() }
    }

    /// Does nothing when a host is lost.
    pub fn without_restart(mut self) -> StaticPlan {
        self.restart = false;
        self
    }

    fn first_plan(&mut self, now: &Situation) -> Result<Decision, String> {
        let problem = now.nominal_problem().map_err(|e| e.to_string())?;
        let schedule = match self.given.take() {
            Some(schedule) => schedule,
            None => self.planner.plan(&problem).map_err(|e| e.to_string())?,
        };
        let plan = Plan::of_schedule(&problem, &schedule, self.transfers);
        Ok(Decision::Adopt(plan.begun_at(now.now)))
    }

    /// Rewinds what is needed and gone, plans the rest on the hosts that are left.
    fn recover(&self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let (lost, problem) = replanning::rest(now)?;
        let schedule = self.planner.plan(&problem).map_err(|e| e.to_string())?;
        let plan = Plan::of_schedule(&problem, &schedule, self.transfers);
        if !lost.is_empty() {
            decisions.push(Decision::Rewind(lost));
        }
        decisions.push(Decision::Adopt(plan));
        Ok(())
    }
}

impl Policy for StaticPlan {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(|e| {
            matches!(e, Event::Start)
                || replanning::is_loss(e)
                || e.is_growth()
                || self.stranded.is_helped_by(e)
        })
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let lost = events.iter().any(replanning::is_loss);
        let grown = events.iter().any(Event::is_growth);
        if events.contains(&Event::Start) {
            match self.first_plan(now) {
                Ok(first) => decisions.push(first),
                Err(why) => return decisions.push(Decision::GiveUp(why)),
            }
        }
        let helped = events.iter().any(|e| self.stranded.is_helped_by(e));
        let again = (self.restart && (lost || helped)) || grown;
        if again {
            let planned = self.recover(now, decisions);
            self.stranded.note(&planned, now);
        }
    }
}
