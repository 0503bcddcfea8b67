//! Common part of policies without a plan: they wait until processors are idle and then choose a ready task for each.

use crate::fetch_time_cache::FetchTimeCache;
use crate::gtp::rewound_tasks;
use crate::policy::{Decision, Event};
use crate::replanning;
use crate::room::{self, Room};
use crate::situation::{Fetch, Situation};
use slackline_model::problem::PoolId;
use slackline_model::{HostId, Problem, ProcId, TaskId, approx};
use std::collections::BTreeSet;

/// Whether something happened after which a task could start that could not before.
pub(crate) fn worth_a_look(event: &Event) -> bool {
    event.is_growth()
        || matches!(
            event,
            Event::Start
                | Event::TaskFinished(_)
                | Event::TaskFailed(_)
                | Event::TaskAbandoned(_)
                | Event::RetryDue(_)
                | Event::HostLost(_)
                | Event::HostBack(_)
                | Event::HostChanged(_)
                | Event::CopyLost { .. }
                | Event::TaskRestored(_)
                | Event::WakeUp
        )
}

/// Calls `assign`, after rewinding what died with a host.
pub(crate) fn when_idle(
    events: &[Event],
    now: &Situation,
    decisions: &mut Vec<Decision>,
    assign: impl FnOnce(&Situation, &mut Vec<Decision>) -> Result<(), String>,
) {
    let lost = events.iter().any(replanning::is_loss);
    // What is on a store is not lost with a host.
    let outcome = if lost && !now.central {
        let gone = rewound_tasks(now, true);
        let after = replanning::rewound(now, &gone);
        if !gone.is_empty() {
            decisions.push(Decision::Rewind(gone));
        }
        assign(&after, decisions)
    } else {
        assign(now, decisions)
    };
    if let Err(why) = outcome {
        decisions.push(Decision::GiveUp(why));
    }
}

/// Per processor: whether it could compute and nothing runs or gathers inputs there.
pub(crate) fn idle_procs(now: &Situation) -> Vec<bool> {
    let mut idle: Vec<bool> = now.host_of.iter().map(|&h| now.computes(h)).collect();
    // A task that waits for a parent to be done again leaves its processor to others.
    for task in now.tasks.begun().filter(|&t| now.parents_done(t)) {
        for proc in now.task(task).procs().into_iter().flatten() {
            idle[proc.index()] = false;
        }
    }
    idle
}

/// The ready tasks in the order in which they are to be taken, kept between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ready {
    /// By key, then by task. Those that have begun since are left out when they are met.
    tasks: BTreeSet<(u64, TaskId)>,
    /// The first task that found no room when tasks were last offered, and how often others began before
    /// it until then.
    passed: Option<(TaskId, u32)>,
}

/// Number of times others may overtake a task that finds no room in pools; then a host is kept for it.
const PATIENCE: u32 = 2;

impl Ready {
    /// Takes in what happened; tasks of the lowest `key` come first. After anything out of the
    /// ordinary the ready tasks are looked for among all.
    pub(crate) fn update(
        &mut self,
        events: &[Event],
        now: &Situation,
        key: impl Fn(TaskId) -> u64,
    ) {
        let ordinary = |event: &Event| {
            matches!(
                event,
                Event::WorkflowArrived { .. }
                    | Event::TaskStarted(_)
                    | Event::TaskFinished(_)
                    | Event::TransferFinished { .. }
                    | Event::HostChanged(_)
                    | Event::NetworkChanged
                    | Event::WakeUp
            )
        };
        let reset = !events.iter().all(ordinary);
        if reset {
            self.tasks.clear();
        }
        let mut admit = |task: TaskId| {
            if now.is_ready(task) {
                self.tasks.insert((key(task), task));
            }
        };
        if reset {
            return now.workflow.tasks().for_each(&mut admit);
        }
        for event in events {
            match event {
                Event::TaskFinished(task) => {
                    now.workflow.successors(*task).for_each(|(child, _)| admit(child));
                }
                Event::WorkflowArrived { tasks } => tasks.clone().map(TaskId).for_each(&mut admit),
                _ => {}
            }
        }
    }

    /// The ready tasks in order; those that have begun since are forgotten.
    pub(crate) fn in_order(&mut self, now: &Situation) -> Vec<TaskId> {
        self.tasks.retain(|(_, task)| now.is_ready(*task));
        self.tasks.iter().map(|(_, task)| *task).collect()
    }

    /// The tasks that were ready when last seen, in order; some may have begun since.
    pub(crate) fn seen(&self) -> impl Iterator<Item = (u64, TaskId)> + '_ {
        self.tasks.iter().copied()
    }

    /// Forgets those of some tasks that have begun.
    pub(crate) fn forget_begun(&mut self, now: &Situation, seen: Vec<(u64, TaskId)>) {
        for entry in seen {
            if !now.is_ready(entry.1) {
                self.tasks.remove(&entry);
            }
        }
    }

    /// Whether no task is ready that has not begun as far as is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Offers ready tasks in turn while processors are idle; `place` says where one is to start.
    pub(crate) fn start(
        &mut self,
        now: &Situation,
        idle: &mut [bool],
        decisions: &mut Vec<Decision>,
        place: impl Fn(TaskId, &[bool], Option<&Room>) -> Option<Vec<ProcId>>,
    ) {
        if now.pools.bind() {
            self.start_in_turn(now, idle, decisions, place)
        } else {
            self.start_some(now, idle, decisions, usize::MAX, place)
        }
    }

    /// The same where tasks share more than processors: others begin twice before the first that finds no
    /// room; then nothing begins on the first host it fits on, or takes of what it shares with other
    /// hosts, until it does.
    fn start_in_turn(
        &mut self,
        now: &Situation,
        idle: &mut [bool],
        decisions: &mut Vec<Decision>,
        place: impl Fn(TaskId, &[bool], Option<&Room>) -> Option<Vec<ProcId>>,
    ) {
        self.tasks.retain(|(_, task)| now.is_ready(*task));
        let mut room = Room::of(now);
        let (mut first, mut kept) = (None, Vec::new());
        for &(_, task) in &self.tasks {
            if !idle.contains(&true) {
                break;
            }
            let Some(procs) = place(task, idle, room.as_ref()) else {
                if first.is_none() {
                    let known = self.passed.filter(|(of, _)| *of == task);
                    let times = known.map_or(0, |(_, times)| times);
                    first = Some((task, times, decisions.len()));
                    if times >= PATIENCE {
                        kept = keep_host(now, task, idle);
                    }
                }
                continue;
            };
            let uses = now.uses(task, &procs);
            if uses.iter().any(|(pool, _)| kept.contains(pool)) {
                continue;
            }
            if let Some(room) = &mut room {
                room.take(now, task, &procs);
            }
            procs.iter().for_each(|proc| idle[proc.index()] = false);
            decisions.push(Decision::Start { task, procs: procs.into() });
        }
        self.passed =
            first.map(|(task, times, before)| (task, times + u32::from(decisions.len() > before)));
    }

    /// The same until so many tasks were not to start anywhere.
    pub(crate) fn start_some(
        &mut self,
        now: &Situation,
        idle: &mut [bool],
        decisions: &mut Vec<Decision>,
        mut refusals: usize,
        place: impl Fn(TaskId, &[bool], Option<&Room>) -> Option<Vec<ProcId>>,
    ) {
        let mut room = Room::of(now);
        let mut left = idle.iter().filter(|idle| **idle).count();
        let mut begun = Vec::new();
        for &(key, task) in &self.tasks {
            if left == 0 || refusals == 0 {
                break;
            }
            if !now.is_ready(task) {
                begun.push((key, task));
                continue;
            }
            let Some(procs) = place(task, idle, room.as_ref()) else {
                refusals -= 1;
                continue;
            };
            if let Some(room) = &mut room {
                room.take(now, task, &procs);
            }
            for proc in &procs {
                idle[proc.index()] = false;
            }
            left -= procs.len();
            decisions.push(Decision::Start { task, procs: procs.into() });
        }
        for entry in begun {
            self.tasks.remove(&entry);
        }
    }
}

/// Keeps the first host on which a task fits for it; gives the pools that it shares with others there.
fn keep_host(now: &Situation, task: TaskId, idle: &mut [bool]) -> Vec<PoolId> {
    let fits = |h: &HostId| now.computes(*h) && now.fits(task, *h) && !now.shuns(task, *h);
    let Some(host) = now.platform.host_ids().find(fits) else { return Vec::new() };
    let procs = (0..now.host_of.len()).filter(|&proc| now.host_of[proc] == host).map(ProcId::new);
    let procs: Vec<ProcId> = procs.collect();
    procs.iter().for_each(|proc| idle[proc.index()] = false);
    let width = now.workflow.width(task).0 as usize;
    let uses = now.uses(task, &procs[..width.min(procs.len())]).into_iter().map(|(pool, _)| pool);
    uses.filter(|pool| now.pools.all()[*pool as usize].is_shared).collect()
}

/// Seconds until all inputs of a ready task are on one host or another, for a loop over hosts.
pub(crate) fn gathers<'a>(now: &'a Situation, task: TaskId) -> impl FnMut(HostId) -> f64 + 'a {
    let mut cache = FetchTimeCache::to(now, now.workflow.inputs(task));
    move |host| cache.seconds(host, |host| gather_seconds(now, task, host))
}

/// Seconds until all inputs of a ready task are on a host, transfers side by side.
fn gather_seconds(now: &Situation, task: TaskId, host: HostId) -> f64 {
    let fetch = Fetch { startup: 0.0, reuse: true, producer_hosts: &[] };
    let mut wait = 0.0f64;
    for (_, edge) in now.workflow.predecessors(task) {
        wait = wait.max(now.fetch_seconds(edge, host, &fetch));
    }
    let first_inputs = now.workflow.inputs(task).filter(|&f| now.workflow.producer(f).is_none());
    let mut from_origin = 0.0;
    for file in first_inputs.filter(|&f| !now.has(f, host)) {
        let whole = now.file_seconds(file, host, &Fetch::ANY);
        if now.anticipated {
            wait = wait.max(whole);
        } else {
            from_origin += whole;
        }
    }
    wait.max(from_origin)
}

/// Seconds until a task would end on a processor that is idle now: its inputs are gathered first.
pub(crate) fn seconds_on(
    problem: &Problem<'_>,
    now: &Situation,
    task: TaskId,
    first: ProcId,
) -> f64 {
    let host = now.host_of[first.index()];
    let seconds = gather_seconds(now, task, host).max(now.seconds_to_lease(host));
    let seconds = seconds + problem.exec_on(task, first);
    let open = !now.pools.has_windows() || now.pools.in_window(host, now.now, seconds) <= now.now;
    if open { seconds } else { f64::INFINITY }
}

/// The idle processors of one host on which the task is expected to end first, and in how many seconds.
pub(crate) fn quickest_idle(
    problem: &Problem<'_>,
    now: &Situation,
    task: TaskId,
    idle: &[bool],
    room: Option<&Room>,
) -> Option<(f64, Vec<ProcId>)> {
    let width = now.workflow.width(task).0 as usize;
    let mut gather = gathers(now, task);
    let mut best: Option<(f64, Vec<ProcId>)> = None;
    for host in problem.platform().host_ids() {
        if now.shuns(task, host) {
            continue;
        }
        let free = || problem.procs_of(host).map(ProcId).filter(|p| idle[p.index()]).take(width);
        let Some(first) = free().next().filter(|_| free().count() == width) else { continue };
        if room.is_some() && !room::allows(room, now, task, &free().collect::<Vec<_>>()) {
            continue;
        }
        let wait = gather(host).max(now.seconds_to_lease(host));
        let seconds = wait + problem.exec_on(task, first);
        let open =
            !now.pools.has_windows() || now.pools.in_window(host, now.now, seconds) <= now.now;
        let better = || best.as_ref().is_none_or(|(b, _)| approx::lt(seconds, *b));
        if seconds.is_finite() && open && better() {
            best = Some((seconds, free().collect()));
        }
    }
    best
}
