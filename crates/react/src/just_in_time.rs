//! Just in time: no plan at all. Whenever processors are idle, ready tasks are taken by falling
//! upward rank and each starts where it is expected to end first, among the idle processors.
//! Ties: lower task, lower processor.

use crate::idle;
use crate::policy::{Decision, Event, Policy};
use crate::situation::Situation;
use slackline_model::{TaskId, approx};
use slackline_schedule::list::ranks;

/// The dynamic baseline.
#[derive(Default)]
pub struct JustInTime {
    /// Tasks by falling rank.
    order: Vec<TaskId>,
}

impl JustInTime {
    fn assign(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.problem().map_err(|e| e.to_string())?;
        if self.order.len() != now.tasks.len() {
            let rank = ranks::upward(&now.nominal_problem().map_err(|e| e.to_string())?);
            self.order = now.workflow.tasks().collect();
            let key = |t: &TaskId| approx::sort_key(rank[t.index()]);
            self.order.sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.cmp(b)));
        }
        let mut idle = idle::idle_procs(now);
        for &task in &self.order {
            if !idle.contains(&true) {
                break;
            }
            if !idle::is_ready(now, task) {
                continue;
            }
            let Some(procs) = idle::quickest_idle(&problem, now, task, &idle) else { continue };
            for proc in &procs {
                idle[proc.index()] = false;
            }
            decisions.push(Decision::Start { task, procs: procs.into() });
        }
        Ok(())
    }
}

impl Policy for JustInTime {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(idle::worth_a_look)
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        idle::when_idle(events, now, decisions, |now, decisions| self.assign(now, decisions));
    }
}
