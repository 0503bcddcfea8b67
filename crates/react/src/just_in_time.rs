//! Just in time: no plan at all. Whenever processors are idle, ready tasks are taken by falling
//! upward rank and each starts where it is expected to end first, among the idle processors.
//! O(log v + p) per task that starts. Ties: lower task, lower processor. Where tasks share more than
//! processors, the first that cannot begin reserves (`reservation`).

use crate::policy::{Decision, Event, Policy};
use crate::ready_dispatch::{self, Ready};
use crate::reservation::Reservations;
use crate::room::Room;
use crate::situation::Situation;
use slackline_model::approx;
use slackline_schedule::list::ranks;

/// The dynamic baseline.
#[derive(Default)]
pub struct JustInTime {
    /// Upward rank of every task.
    rank: Vec<f64>,
    ready: Ready,
    reservations: Reservations,
}

impl JustInTime {
    fn assign(
        &mut self,
        events: &[Event],
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        if events.iter().any(|e| matches!(e, Event::TasksAdded { .. })) {
            self.rank.clear(); // tasks that were known may have more behind them now
        }
        if self.rank.len() != now.tasks.len() {
            let nominal = now.nominal_problem().map_err(|e| e.to_string())?;
            ranks::more_upward(&nominal, &mut self.rank);
        }
        // Ranks are not negative: the bits of a higher one are more.
        let key = |rank: f64| !approx::sort_key(rank).to_bits();
        self.ready.update(events, now, |task| key(self.rank[task.index()]));
        let problem = now.seen_problem().map_err(|e| e.to_string())?;
        if now.pools.bind() {
            self.reservations.start(&problem, now, &mut self.ready, decisions);
            return Ok(());
        }
        let quickest = |task, idle: &[bool], room: Option<&Room>| {
            Some(ready_dispatch::quickest_idle(&problem, now, task, idle, room)?.1)
        };
        self.ready.start(now, &mut ready_dispatch::idle_procs(now), decisions, quickest);
        Ok(())
    }
}

impl Policy for JustInTime {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(ready_dispatch::worth_a_look)
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        ready_dispatch::when_idle(events, now, decisions, |now, decisions| {
            self.assign(events, now, decisions)
        });
    }
}
