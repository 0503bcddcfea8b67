//! Fairness dynamic workflow scheduling (FDWS) with queues (Arabnejad, Barbosa, ISPA, 2012): as FDWS, but a task is placed at its first
//! attempt. Every processor is tried, busy ones with their queues and the gaps in them; the task
//! goes where it ends first and waits there for its turn. A round ends when no processor is free,
//! that is without a task that runs, gathers inputs or is queued.
//!
//! O(pool x (processors + tasks in queues)) per round. Ties of ends: lower cost, then lower host index.

use super::bookkeeping::Bookkeeping;
use super::order::Order;
use super::place::waits;
use super::pool::Pool;
use crate::policy::{Assignment, Decision, Event, Plan, Policy, Transfers};
use crate::ready_dispatch;
use crate::situation::{Situation, TaskState};
use slackline_model::{HostId, ProcId, TaskId, approx};

/// A task on a processor: it computes there or waits for its turn.
#[derive(Clone, Copy, Debug)]
struct Slot {
    task: TaskId,
    start: f64,
    finish: f64,
}

/// The policy; see the module's head.
#[derive(Clone, Debug, Default)]
pub struct FdwsQueues {
    book: Bookkeeping,
    /// Per processor, in order of time.
    queues: Vec<Vec<Slot>>,
}

/// Candidate place of a task, with start and end; `cost` is that of its processors, in the currency of the platform.
struct Spot {
    procs: Vec<ProcId>,
    slot: Slot,
    cost: f64,
}

impl FdwsQueues {
    /// Rebuilds the queues from the situation: tasks that have begun keep their place, all others are placed again.
    fn rebuild(&mut self, now: &Situation, decisions: &mut Vec<Decision>) {
        self.queues = vec![Vec::new(); now.host_of.len()];
        let workflow = &now.workflow;
        for task in workflow.tasks() {
            let (start, procs) = match now.task(task) {
                TaskState::Placed { procs } => (now.now, procs),
                TaskState::Running { procs, since } => (*since, procs),
                _ => continue,
            };
            if !workflow.predecessors(task).all(|(p, _)| now.task(p).is_done()) {
                // A parent has to run again, and this task could block its processor.
                decisions.push(Decision::Cancel(task));
                continue;
            }
            let seconds = self.book.times.seconds(task, now.host(procs));
            let finish = now.now + seconds * (1.0 - now.progress[task.index()]);
            for proc in procs {
                self.queues[proc.index()].push(Slot { task, start, finish });
            }
        }
    }

    /// Removes ended tasks from their queues; late ones delay the rest.
    fn advance(&mut self, now: &Situation) {
        for (proc, queue) in self.queues.iter_mut().enumerate() {
            queue.retain(|slot| !now.task(slot.task).is_done());
            let mut free_from = f64::NEG_INFINITY;
            for slot in queue.iter_mut() {
                let begun = matches!(now.task(slot.task), TaskState::Running { .. });
                let least = if begun { slot.start } else { now.now.max(free_from) };
                let late = (least - slot.start).max(0.0);
                slot.start += late;
                slot.finish = (slot.finish + late).max(now.now);
                free_from = slot.finish;
            }
            if !queue.is_empty() {
                self.book.occupy(ProcId::new(proc));
            }
        }
    }

    /// Holds rounds until one assigns nothing; true if any did.
    fn assign(&mut self, now: &Situation) -> bool {
        let mut any = false;
        loop {
            let mut assigned = false;
            let pool = if self.book.free_count() > 0 {
                Pool::OneEach.fill(&self.book)
            } else {
                Vec::new()
            };
            for task in Order::Progress.turns(&self.book, now, pool) {
                if self.book.free_count() == 0 {
                    break;
                }
                let Some(spot) = self.best_spot(now, task) else { continue };
                for proc in &spot.procs {
                    let queue = &mut self.queues[proc.index()];
                    let at = queue.partition_point(|s| s.start < spot.slot.start);
                    queue.insert(at, spot.slot);
                }
                self.book.place(now, task, &spot.procs, spot.slot.finish);
                assigned = true;
            }
            if !assigned {
                return any;
            }
            any = true;
        }
    }

    /// The processor, free or busy, on which a task ends first.
    fn best_spot(&self, now: &Situation, task: TaskId) -> Option<Spot> {
        let width = now.workflow.width(task).0 as usize;
        let (mut wait, mut best) = (waits(now, task), None::<Spot>);
        for host in now.platform.host_ids().filter(|&h| now.is_alive(h)) {
            let ready = now.now + wait(host);
            let seconds = self.book.times.seconds(task, host);
            let Some((procs, start)) = self.earliest(host, width, ready, seconds) else { continue };
            let finish = start + seconds;
            let cost = self.book.cost(task, host, width);
            let better = best.as_ref().is_none_or(|b| {
                approx::lt(finish, b.slot.finish)
                    || (approx::eq(finish, b.slot.finish) && approx::lt(cost, b.cost))
            });
            if finish.is_finite() && better {
                best = Some(Spot { procs, slot: Slot { task, start, finish }, cost });
            }
        }
        best
    }

    /// The `width` processors of a host that are free earliest from `ready` on, for `seconds`, and the start there. A task
    /// of one processor may use a gap; a wider one goes behind all queues, for gaps of its processors need not overlap.
    fn earliest(
        &self,
        host: HostId,
        width: usize,
        ready: f64,
        seconds: f64,
    ) -> Option<(Vec<ProcId>, f64)> {
        let mut found: Vec<(f64, ProcId)> = Vec::new();
        for proc in self.book.procs_of(host) {
            let queue = &self.queues[proc.index()];
            let mut start = ready;
            for slot in queue {
                if width == 1 && approx::le(start + seconds, slot.start) {
                    break;
                }
                start = start.max(slot.finish);
            }
            found.push((start, proc));
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        found.truncate(width);
        let start = found.last().filter(|_| found.len() == width)?.0;
        let mut procs: Vec<ProcId> = found.into_iter().map(|(_, p)| p).collect();
        procs.sort_unstable();
        Some((procs, start))
    }

    /// The queues as a plan: what has not begun, in order of time.
    fn plan(&self, now: &Situation) -> Plan {
        let mut waiting: Vec<(f64, f64, TaskId)> = Vec::new();
        let mut procs: Vec<(TaskId, ProcId)> = Vec::new();
        for (proc, queue) in self.queues.iter().enumerate() {
            for slot in queue {
                if !matches!(now.task(slot.task), TaskState::Running { .. }) {
                    waiting.push((slot.start, slot.finish, slot.task));
                    procs.push((slot.task, ProcId::new(proc)));
                }
            }
        }
        // The queues of a wide task are not equally late: it starts with the last of them.
        waiting.sort_by(|a, b| a.2.cmp(&b.2).then(b.0.total_cmp(&a.0)));
        waiting.dedup_by_key(|w| w.2);
        waiting.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        procs.sort_unstable();
        let of = |task: TaskId| {
            let from = procs.partition_point(|&(t, _)| t < task);
            procs[from..].iter().take_while(|&&(t, _)| t == task).map(|&(_, p)| p).collect()
        };
        let assignment = |&(_, _, task): &(f64, f64, TaskId)| Assignment { task, procs: of(task) };
        let assignments = waiting.iter().map(assignment).collect();
        // Inputs travel as soon as a task has its place.
        let transfers = Transfers::Pull { window: u32::MAX };
        Plan { assignments, transfers, ..Plan::default() }
    }
}

impl Policy for FdwsQueues {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        self.book.note(events, now);
        events.iter().any(ready_dispatch::worth_a_look)
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        ready_dispatch::when_idle(events, now, decisions, |now, decisions| {
            self.book.note(events, now);
            let reset = self.book.is_stale() || self.queues.is_empty();
            self.book.update(events, now)?;
            if reset {
                self.rebuild(now, decisions);
            }
            self.advance(now);
            if self.assign(now) || reset {
                decisions.push(Decision::Adopt(self.plan(now)));
            }
            Ok(())
        });
    }
}
