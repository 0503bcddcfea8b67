//! The work queue of parameter sweeps (self-scheduling, heuristic H0): tasks in a fixed order; a
//! processor that becomes idle takes the next ready one. No estimates, no look-ahead. Inputs that
//! are already there are not sent again, missing ones are fetched when the task is taken; final
//! results are sent back to the host where the inputs came from, without holding the processor, again if
//! that breaks off; what was lost before it arrived is made again.
//! That host, the user's, computes only what fits on no other. O(log v + p) per task that starts. Ties: lower task, lower processor.

use crate::policy::{Decision, Event, Policy};
use crate::ready_dispatch::{self, Ready};
use crate::replanning;
use crate::room::{self, Room};
use crate::situation::Situation;
use slackline_model::{FileId, HostId, Problem, ProcId, TaskId};

/// The policy; see the module's head.
#[derive(Clone, Debug, Default)]
pub struct WorkQueue {
    ready: Ready,
    /// Some task fits on the user's host alone.
    needs_origin: bool,
}

impl WorkQueue {
    fn assign(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let origin = now.platform.origin().filter(|_| now.platform.hosts().len() > 1);
        let fits_elsewhere = |task: TaskId| {
            let mut others = now.platform.host_ids().filter(|&host| Some(host) != origin);
            others.any(|host| now.fits(task, host))
        };
        if events.iter().any(|e| *e == Event::Start || e.is_growth()) {
            self.needs_origin = origin.is_some() && !now.workflow.tasks().all(fits_elsewhere);
        }
        let mut idle = ready_dispatch::idle_procs(now);
        for (proc, &host) in now.host_of.iter().enumerate() {
            idle[proc] &= self.needs_origin || Some(host) != origin;
        }
        self.ready.update(events, now, |_| 0);
        // Where hosts are there for a time only, that has to hold the task.
        let problem = if now.pools.has_windows() { now.seen_problem().ok() } else { None };
        let first = |task, idle: &[bool], room: Option<&Room>| {
            let user = origin.filter(|_| self.needs_origin && fits_elsewhere(task));
            first_idle(now, problem.as_ref(), idle, task, user, room)
        };
        self.ready.start(now, &mut idle, decisions, first);
    }
}

/// The first host with the memory and enough idle processors, but for one.
fn first_idle(
    now: &Situation,
    problem: Option<&Problem<'_>>,
    idle: &[bool],
    task: TaskId,
    but: Option<HostId>,
    room: Option<&Room>,
) -> Option<Vec<ProcId>> {
    let width = now.workflow.width(task).0 as usize;
    let mut gather = ready_dispatch::gathers(now, task);
    let mut is_there = |proc: ProcId, host| match problem {
        None => true,
        Some(problem) => {
            let seconds = gather(host) + problem.exec_on(task, proc);
            now.pools.in_window(host, now.now, seconds) <= now.now
        }
    };
    let free = (0..idle.len()).filter(|&p| idle[p]).map(ProcId::new).collect::<Vec<_>>();
    let of_host = free.chunk_by(|a, b| now.host_of[a.index()] == now.host_of[b.index()]);
    let mut takes = |procs: &&[ProcId]| {
        let host = now.host_of[procs[0].index()];
        procs.len() >= width
            && Some(host) != but
            && now.fits(task, host)
            && !now.shuns(task, host)
            && is_there(procs[0], host)
            && room::allows(room, now, task, &procs[..width])
    };
    let mut of_host = of_host.into_iter();
    of_host.find(|procs| takes(procs)).map(|procs| procs[..width].to_vec())
}

/// Whether results that were asked for may not have arrived.
fn is_trouble(event: &Event) -> bool {
    replanning::is_loss(event) || matches!(event, Event::TransferFailed { .. } | Event::HostBack(_))
}

/// Final results of tasks that have just ended go to the host where inputs lie; after trouble all that
/// are still missing there. Returns the tasks whose results no host has any more: they are done again.
fn collect_results(
    events: &[Event],
    now: &Situation,
    decisions: &mut Vec<Decision>,
) -> Vec<TaskId> {
    let Some(to) = now.platform.origin().filter(|&h| now.is_alive(h)) else { return Vec::new() };
    let missing = |task: TaskId| {
        let last = |f: &FileId| now.workflow.consumers(*f).len() == 0;
        now.workflow.outputs(task).filter(last).filter(|&f| now.copy(f, to).is_none())
    };
    let ended = |event: &Event| match *event {
        Event::TaskFinished(task) => Some(task),
        _ => None,
    };
    // What is on a store is not lost with a host.
    let trouble = !now.central && events.iter().any(is_trouble);
    let done: Vec<TaskId> = if trouble {
        now.workflow.tasks().filter(|&t| now.task(t).is_done()).collect()
    } else {
        events.iter().filter_map(ended).collect()
    };
    let mut again = Vec::new();
    for task in done {
        if trouble && missing(task).any(|file| now.sources(file).next().is_none()) {
            again.push(task);
            continue;
        }
        decisions.extend(missing(task).map(|file| Decision::Copy { file, from: None, to }));
    }
    again
}

impl Policy for WorkQueue {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(|event| ready_dispatch::worth_a_look(event) || is_trouble(event))
    }

    fn looks_at_progress(&self) -> bool {
        false
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let again = collect_results(events, now, decisions);
        let now = &*replanning::rewound(now, &again);
        if !again.is_empty() {
            decisions.push(Decision::Rewind(again));
        }
        ready_dispatch::when_idle(events, now, decisions, |now, decisions| {
            self.assign(events, now, decisions);
            Ok(())
        });
    }
}
