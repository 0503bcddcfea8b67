//! The work queue of parameter sweeps (self-scheduling, heuristic H0): tasks in a fixed order; a
//! processor that becomes idle takes the next ready one. No estimates, no look-ahead. Inputs that
//! are already there are not sent again, missing ones are fetched when the task is taken; final
//! results are sent back to the host where the inputs came from, without holding the processor.
//! That host, the user's, does not compute. O(v + p) per call. Ties: lower task, lower processor.

use crate::idle;
use crate::policy::{Decision, Event, Policy};
use crate::situation::Situation;
use slackline_model::{ProcId, TaskId};

/// The policy; see the module's head.
#[derive(Clone, Debug, Default)]
pub struct WorkQueue {
    /// Tasks below this one have been taken, or were when it was last looked at.
    next: u32,
}

impl WorkQueue {
    fn assign(&mut self, now: &Situation, decisions: &mut Vec<Decision>) {
        let origin = now.platform.origin().filter(|_| now.platform.hosts().len() > 1);
        let mut idle = idle::idle_procs(now);
        for (proc, &host) in now.host_of.iter().enumerate() {
            idle[proc] &= Some(host) != origin;
        }
        while now.tasks.get(self.next as usize).is_some_and(|t| t.procs().is_some()) {
            self.next += 1;
        }
        let waiting = (self.next..now.tasks.len() as u32).map(TaskId);
        let waiting = waiting.filter(|&t| idle::is_ready(now, t));
        for task in waiting {
            if !idle.contains(&true) {
                return;
            }
            let Some(procs) = first_idle(now, &idle, task) else { continue };
            for proc in &procs {
                idle[proc.index()] = false;
            }
            decisions.push(Decision::Start { task, procs: procs.into() });
        }
    }
}

/// The first host with the memory and enough idle processors.
fn first_idle(now: &Situation, idle: &[bool], task: TaskId) -> Option<Vec<ProcId>> {
    let width = now.workflow.width(task).0 as usize;
    let free = (0..idle.len()).filter(|&p| idle[p]).map(ProcId::new).collect::<Vec<_>>();
    let of_host = free.chunk_by(|a, b| now.host_of[a.index()] == now.host_of[b.index()]);
    let takes = |procs: &&[ProcId]| {
        let host = now.host_of[procs[0].index()];
        procs.len() >= width && now.fits(task, host) && !now.shuns(task, host)
    };
    of_host.into_iter().find(takes).map(|procs| procs[..width].to_vec())
}

/// Final results of tasks that have just ended go to the host where inputs lie.
fn collect_results(events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
    let Some(to) = now.platform.origin().filter(|&h| now.is_alive(h)) else { return };
    for event in events {
        let &Event::TaskFinished(task) = event else { continue };
        for file in now.workflow.outputs(task) {
            if now.workflow.consumers(file).len() == 0 && now.copy(file, to).is_none() {
                decisions.push(Decision::Copy { file, from: None, to });
            }
        }
    }
}

impl Policy for WorkQueue {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(idle::worth_a_look)
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        collect_results(events, now, decisions);
        let again = |e: &Event| crate::planning::is_loss(e) || matches!(e, Event::TaskFailed(_));
        if events.iter().any(again) {
            self.next = 0; // some tasks wait again
        }
        idle::when_idle(events, now, decisions, |now, decisions| {
            self.assign(now, decisions);
            Ok(())
        });
    }
}
