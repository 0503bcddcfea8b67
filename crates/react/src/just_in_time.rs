//! Just in time: no plan at all. Whenever processors are idle, ready tasks are taken by falling
//! upward rank and each starts where it is expected to end first, among the idle processors.
//! Ties: lower task, lower processor.

use crate::gtp::rewound_tasks;
use crate::planning;
use crate::policy::{Decision, Event, Policy};
use crate::situation::{Fetch, Situation, TaskState};
use slackline_model::{Problem, ProcId, TaskId, approx};
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
        let mut idle: Vec<bool> =
            problem.proc_ids().map(|p| now.is_alive(problem.host_of(p))).collect();
        for task in now.workflow.tasks().filter(|&t| !now.task(t).is_done()) {
            // A task that waits for a parent to be done again leaves its processor to others.
            let mut parents = now.workflow.predecessors(task);
            if parents.all(|(p, _)| now.task(p).is_done()) {
                for proc in now.task(task).procs().into_iter().flatten() {
                    idle[proc.index()] = false;
                }
            }
        }
        for &task in &self.order {
            if !idle.contains(&true) {
                break;
            }
            let waits = matches!(now.task(task), TaskState::Waiting);
            let mut parents = now.workflow.predecessors(task);
            if !waits || parents.any(|(p, _)| !now.task(p).is_done()) {
                continue;
            }
            let Some(procs) = quickest_idle(&problem, now, task, &idle) else { continue };
            for proc in &procs {
                idle[proc.index()] = false;
            }
            decisions.push(Decision::Start { task, procs: procs.into() });
        }
        Ok(())
    }
}

/// The idle processors of one host on which the task is expected to end first.
fn quickest_idle(
    problem: &Problem<'_>,
    now: &Situation,
    task: TaskId,
    idle: &[bool],
) -> Option<Vec<ProcId>> {
    let width = now.workflow.width(task).0 as usize;
    let mut best: Option<(f64, Vec<ProcId>)> = None;
    for host in problem.platform().host_ids() {
        let procs: Vec<ProcId> =
            problem.procs_of(host).map(ProcId).filter(|p| idle[p.index()]).take(width).collect();
        let Some(&first) = procs.first().filter(|_| procs.len() == width) else { continue };
        let mut wait = 0.0f64;
        for (parent, edge) in now.workflow.predecessors(task) {
            let TaskState::Done(placement) = now.task(parent) else { return None };
            let hosts = problem.hosts_of(placement.procs());
            let fetch = Fetch { startup: 0.0, reuse: true, producer_hosts: &hosts };
            wait = wait.max(now.fetch_seconds(edge, host, &fetch));
        }
        let seconds = wait + problem.exec_on(task, first);
        if seconds.is_finite() && best.as_ref().is_none_or(|(b, _)| approx::lt(seconds, *b)) {
            best = Some((seconds, procs));
        }
    }
    best.map(|(_, procs)| procs)
}

impl Policy for JustInTime {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(|e| {
            matches!(
                e,
                Event::Start
                    | Event::TaskFinished(_)
                    | Event::TaskFailed(_)
                    | Event::HostLost(_)
                    | Event::HostBack(_)
                    | Event::WorkflowArrived { .. }
                    | Event::TasksAdded { .. }
            )
        })
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let lost = events.iter().any(|e| matches!(e, Event::HostLost(_)));
        let outcome = if lost {
            let gone = now.problem().map(|p| rewound_tasks(&p, now, true));
            gone.map_err(|e| e.to_string()).and_then(|gone| {
                let after = planning::rewound(now, &gone);
                if !gone.is_empty() {
                    decisions.push(Decision::Rewind(gone));
                }
                self.assign(&after, decisions)
            })
        } else {
            self.assign(now, decisions)
        };
        if let Err(why) = outcome {
            decisions.push(Decision::GiveUp(why));
        }
    }
}
