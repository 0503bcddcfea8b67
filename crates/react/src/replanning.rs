//! Steps that several policies share: planning with a static planner, rewinding what is lost.

use crate::gtp::rewound_tasks;
use crate::policy::{Event, Plan, Source};
use crate::situation::{Situation, TaskState};
use slackline_model::{HostId, Problem, TaskId, approx};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Whether something went away that may be needed: a plan has to be made without it.
pub(crate) fn is_loss(event: &Event) -> bool {
    matches!(event, Event::HostLost(_) | Event::CopyLost { .. })
}

/// Whether there may be a plan now where there was none before.
pub(crate) fn may_help(event: &Event) -> bool {
    matches!(
        event,
        Event::HostBack(_)
            | Event::HostChanged(_)
            | Event::NetworkChanged
            | Event::TaskFinished(_)
            | Event::TaskRestored(_)
            | Event::WakeUp
    )
}

/// Whether there was a plan when one was needed last. Where there was none, every host that was away then is
/// planned for when it comes: those that make a first plan possible are seldom all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stranded {
    is: bool,
    awaited: BTreeSet<HostId>,
}

impl Stranded {
    /// Writes down what came of planning.
    pub(crate) fn note<E>(&mut self, planned: &Result<(), E>, now: &Situation) {
        self.is = planned.is_err();
        let away = |host: &HostId| !now.is_alive(*host);
        if self.is {
            self.awaited = now.platform.host_ids().filter(away).collect();
        } else {
            self.awaited.retain(away);
        }
    }

    /// Whether there may be a plan now where there was none before, or a better one.
    pub(crate) fn is_helped_by(&self, event: &Event) -> bool {
        let comes = |host: &HostId| self.awaited.contains(host);
        (self.is && may_help(event)) || matches!(event, Event::HostBack(host) if comes(host))
    }
}

/// The finished tasks that have to be done again because their results are gone, and the rest with them.
pub(crate) fn rest(now: &Situation) -> Result<(Vec<TaskId>, Problem<'_>), String> {
    let lost = rewound_tasks(now, true);
    let problem = now.problem_after(&lost).map_err(|e| e.to_string())?;
    Ok((lost, problem))
}

/// Unfinished tasks by falling rank. Tasks of no cost may share their parent's rank: topological
/// order decides then.
pub(crate) fn by_falling_rank(now: &Situation, rank: &[f64]) -> Vec<TaskId> {
    let topological = now.workflow.topological_order().iter().copied();
    let mut open: Vec<TaskId> = topological.filter(|&t| !now.task(t).is_done()).collect();
    let key = |t: &TaskId| approx::sort_key(rank[t.index()]);
    open.sort_by(|a, b| key(b).total_cmp(&key(a)));
    open
}

/// The situation after the given finished tasks have been rewound.
pub(crate) fn rewound<'a>(now: &'a Situation, tasks: &[TaskId]) -> Cow<'a, Situation> {
    if tasks.is_empty() {
        return Cow::Borrowed(now);
    }
    let mut after = now.clone();
    for &task in tasks {
        after.set_task(task, TaskState::Waiting);
        after.progress[task.index()] = 0.0;
    }
    Cow::Owned(after)
}

/// For every input of the assigned tasks that is on several hosts: the quickest source.
pub(crate) fn quickest_sources(now: &Situation, plan: &Plan) -> Vec<Source> {
    let mut sources = Vec::new();
    for assignment in &plan.assignments {
        let Some(to) = assignment.procs.first().map(|p| now.host_of[p.index()]) else { continue };
        for file in now.workflow.inputs(assignment.task) {
            if now.has(file, to) || now.holders(file).nth(1).is_none() {
                continue;
            }
            let bytes = now.workflow.file_bytes(file);
            let seconds = |from| now.view.network.transfer_time(bytes, from, to);
            let best = now
                .holders(file)
                .min_by(|&a, &b| seconds(a).total_cmp(&seconds(b)).then(a.cmp(&b)));
            if let Some(from) = best {
                sources.push(Source { file, to, from });
            }
        }
    }
    sources.sort_unstable();
    sources.dedup();
    sources
}
