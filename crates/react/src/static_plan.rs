//! `static`: plan once, keep mapping and order whatever happens. With `restart`, a lost host
//! makes it plan what is left once more: the least an execution must do to survive.

use crate::gtp::rewound_tasks;
use crate::planning;
use crate::policy::{Decision, Event, Plan, Policy, Transfers};
use crate::situation::Situation;
use slackline_model::Schedule;
use slackline_schedule::Planner;

/// Follows one plan.
pub struct StaticPlan {
    planner: Planner,
    given: Option<Schedule>,
    transfers: Transfers,
    restart: bool,
}

impl StaticPlan {
    /// Plans with the given method at the start.
    pub fn new(planner: impl Into<Planner>, transfers: Transfers) -> StaticPlan {
        StaticPlan { planner: planner.into(), given: None, transfers, restart: true }
    }

    /// Follows a schedule made before.
    pub fn of_schedule(
        schedule: Schedule,
        planner: impl Into<Planner>,
        transfers: Transfers,
    ) -> StaticPlan {
        StaticPlan { planner: planner.into(), given: Some(schedule), transfers, restart: true }
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
        Ok(Decision::Adopt(Plan::of_schedule(&problem, &schedule, self.transfers)))
    }

    /// Rewinds what is needed and gone, plans the rest on the hosts that are left.
    fn recover(&self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let lost = {
            let problem = now.problem().map_err(|e| e.to_string())?;
            rewound_tasks(&problem, now, true)
        };
        let after = planning::rewound(now, &lost);
        let schedule = planning::plan_rest(&after, &self.planner)?;
        if !lost.is_empty() {
            decisions.push(Decision::Rewind(lost));
        }
        planning::adopt(&after, &schedule, self.transfers, decisions);
        Ok(())
    }
}

impl Policy for StaticPlan {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(|e| matches!(e, Event::Start | Event::HostLost(_)) || e.is_growth())
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let lost = events.iter().any(|e| matches!(e, Event::HostLost(_)));
        let outcome = if events.contains(&Event::Start) {
            self.first_plan(now).map(|first| decisions.push(first))
        } else if (self.restart && lost) || events.iter().any(Event::is_growth) {
            self.recover(now, decisions)
        } else {
            Ok(())
        };
        if let Err(why) = outcome {
            decisions.push(Decision::GiveUp(why));
        }
    }
}
