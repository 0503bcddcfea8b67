//! A situation as a policy sees it that starts tasks one by one: what is idle and what is ready after the decisions it has
//! made at this call. The steps are those of the policies without a plan (`idle`).

use crate::gtp::rewound_tasks;
use crate::policy::Event;
use crate::ready_dispatch::{self, Ready};
use crate::replanning;
use crate::room::{self, Room};
use crate::situation::Situation;
use slackline_model::{HostId, Problem, ProblemError, ProcId, TaskId, approx};
use std::cell::OnceCell;

/// Ready tasks between two calls, in the order in which a policy takes them.
#[derive(Clone, Debug, Default)]
pub struct ReadyTasks {
    ready: Ready,
    /// Per task: those of higher priority come first; the order of the tasks where it is empty.
    priority: Vec<f64>,
}

impl ReadyTasks {
    /// Takes in what happened.
    pub fn update(&mut self, events: &[Event], now: &Situation) {
        let priority = &self.priority;
        self.ready.update(events, now, |task| key(priority, task));
    }

    /// Sets the priorities, if they are others than before; the ready tasks are then looked for among all.
    pub fn prioritise(&mut self, priority: &[f64], now: &Situation) {
        if self.priority != priority {
            self.priority = priority.to_vec();
            self.update(&[Event::Start], now);
        }
    }

    /// The ready tasks in order.
    pub fn in_order(&mut self, now: &Situation) -> Vec<TaskId> {
        self.ready.in_order(now)
    }
}

fn key(priority: &[f64], task: TaskId) -> u64 {
    let Some(&priority) = priority.get(task.index()) else { return 0 };
    let bits = approx::sort_key(priority).to_bits();
    // As `f64::total_cmp` orders, the highest first.
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    !ordered
}

/// Whether an event can make a task ready or a processor idle; the others need no call of a policy without a plan.
pub fn frees_or_readies(event: &Event) -> bool {
    ready_dispatch::worth_a_look(event)
}

/// Idle processors after the decisions of one call.
pub struct Dispatcher<'s> {
    now: &'s Situation,
    /// The same after tasks were rewound.
    after: Option<Box<Situation>>,
    problem: OnceCell<Problem<'s>>,
    idle: Vec<bool>,
    left: usize,
    room: Option<Room>,
    started: Vec<TaskId>,
}

impl<'s> Dispatcher<'s> {
    /// Before any decision.
    pub fn new(now: &'s Situation) -> Dispatcher<'s> {
        let idle = ready_dispatch::idle_procs(now);
        let left = idle.iter().filter(|idle| **idle).count();
        let room = Room::of(now);
        Dispatcher {
            now,
            after: None,
            problem: OnceCell::new(),
            idle,
            left,
            room,
            started: Vec::new(),
        }
    }

    /// The situation, with rewound tasks waiting again.
    pub fn situation(&self) -> &Situation {
        self.after.as_deref().unwrap_or(self.now)
    }

    /// The whole workflow on the platform as last observed.
    pub fn problem(&self) -> Result<&Problem<'s>, ProblemError> {
        if self.problem.get().is_none() {
            let _ = self.problem.set(self.now.seen_problem()?);
        }
        self.problem.get().ok_or(ProblemError::NoHosts)
    }

    /// The finished tasks whose results are gone and needed.
    pub fn lost(&self) -> Vec<TaskId> {
        if self.now.central { Vec::new() } else { rewound_tasks(self.situation(), true) }
    }

    /// These finished tasks wait again.
    pub fn rewind(&mut self, tasks: &[TaskId]) {
        if tasks.is_empty() {
            return;
        }
        let after = replanning::rewound(self.situation(), tasks).into_owned();
        // A task that waits for one of them leaves its processor to others.
        self.idle = ready_dispatch::idle_procs(&after);
        self.left = self.idle.iter().filter(|idle| **idle).count();
        self.after = Some(Box::new(after));
    }

    /// Processors that could compute and have nothing to do.
    pub fn idle_procs(&self) -> usize {
        self.left
    }

    /// Idle processors of a host.
    pub fn idle_on(&self, host: HostId) -> usize {
        self.procs_of(host).filter(|proc| self.idle[proc.index()]).count()
    }

    /// Hosts with idle processors.
    pub fn idle_hosts(&self) -> Vec<HostId> {
        let mut hosts: Vec<HostId> = Vec::new();
        for (proc, idle) in self.idle.iter().enumerate() {
            let host = self.now.host_of[proc];
            if *idle && hosts.last() != Some(&host) {
                hosts.push(host);
            }
        }
        hosts
    }

    fn procs_of(&self, host: HostId) -> impl Iterator<Item = ProcId> + '_ {
        // Processors are numbered host by host.
        let first = self.now.host_of.partition_point(|&other| other < host);
        let of = move |proc: &usize| self.now.host_of[*proc] == host;
        (first..self.now.host_of.len()).take_while(of).map(ProcId::new)
    }

    /// Whether a task waits, could begin, and was not started at this call.
    pub fn is_ready(&self, task: TaskId) -> bool {
        self.situation().is_ready(task) && !self.started.contains(&task)
    }

    /// Idle processors of a host for a task, where it could begin there now.
    pub fn place_on(&self, task: TaskId, host: HostId) -> Option<Vec<ProcId>> {
        let now = self.situation();
        let width = now.workflow.width(task).0 as usize;
        if now.shuns(task, host) || !now.fits(task, host) {
            return None;
        }
        let free: Vec<ProcId> =
            self.procs_of(host).filter(|p| self.idle[p.index()]).take(width).collect();
        let fits = free.len() == width && room::allows(self.room.as_ref(), now, task, &free);
        fits.then_some(free)
    }

    /// Whether a task could begin on some host now.
    pub fn has_place(&self, task: TaskId) -> bool {
        let mut tried = None;
        self.left > 0
            && self.idle.iter().zip(self.now.host_of.iter()).any(|(idle, &host)| {
                *idle && tried.replace(host) != Some(host) && self.place_on(task, host).is_some()
            })
    }

    /// Seconds until a task would end that begins on idle processors of a host now: its inputs are gathered first.
    /// Infinite where it cannot begin there.
    pub fn seconds(&self, task: TaskId, host: HostId) -> Result<f64, ProblemError> {
        let problem = self.problem()?;
        let Some(procs) = self.place_on(task, host) else { return Ok(f64::INFINITY) };
        Ok(ready_dispatch::seconds_on(problem, self.situation(), task, procs[0]))
    }

    /// The idle processors of one host on which a task would end first, and in how many seconds; none where it cannot
    /// begin.
    pub fn quickest(&self, task: TaskId) -> Result<Option<(f64, Vec<ProcId>)>, ProblemError> {
        if self.left == 0 {
            return Ok(None);
        }
        let problem = self.problem()?;
        Ok(ready_dispatch::quickest_idle(
            problem,
            self.situation(),
            task,
            &self.idle,
            self.room.as_ref(),
        ))
    }

    /// The processors of a host on which a task is started: idle ones first.
    pub fn choose(&self, task: TaskId, host: HostId) -> Vec<ProcId> {
        let width = self.situation().workflow.width(task).0 as usize;
        let mut procs: Vec<ProcId> = self.procs_of(host).collect();
        procs.sort_by_key(|proc| !self.idle[proc.index()]);
        procs.truncate(width);
        procs.sort_unstable();
        procs
    }

    /// A task is started on some processors.
    pub fn start(&mut self, task: TaskId, procs: &[ProcId]) {
        for proc in procs {
            if std::mem::take(&mut self.idle[proc.index()]) {
                self.left -= 1;
            }
        }
        if let Some(room) = &mut self.room {
            room.take(self.now, task, procs);
        }
        self.started.push(task);
    }
}
