//! Reservations for tasks that share more than processors, where no plan orders them.
//!
//! Ready tasks in the policy's order begin where they are expected to end first among the hosts with
//! enough idle cores, room in every pool and a window that holds them. The first that cannot begin
//! reserves: the host and date at which it would end first if what runs ends as expected and nothing
//! else begins. A task after it begins only if the reservation keeps its date. A reservation that was
//! put off twice is strict: until that task begins nothing else begins on its host, or takes of the
//! shared pools it waits for. Ties: lower host.

use crate::policy::Decision;
use crate::ready_dispatch::{self, Ready};
use crate::room::Room;
use crate::situation::{Situation, TaskState};
use slackline_model::problem::PoolId;
use slackline_model::resources::whole_up;
use slackline_model::{HostId, Problem, ProcId, TaskId, approx};
use std::collections::BTreeMap;

/// Number of times a reservation may be postponed before nothing overtakes it.
const PATIENCE: u32 = 2;

/// Reservations kept between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reservations {
    /// When tasks that have begun are expected to end.
    ends: BTreeMap<TaskId, f64>,
    /// Last reserving task, its date, and the number of postponements.
    last: Option<(TaskId, f64, u32)>,
    /// Ready tasks that were to start, as the ready tasks have them.
    started: Vec<(u64, TaskId)>,
}

/// A task that has begun.
struct Running {
    end: f64,
    procs: Vec<ProcId>,
    uses: Vec<(PoolId, u64)>,
}

struct Reserved {
    host: HostId,
    date: f64,
    width: usize,
    uses: Vec<(PoolId, u64)>,
    strict: bool,
}

/// Processors and pools that are idle or held now.
struct Present<'a, 'p> {
    problem: &'a Problem<'p>,
    now: &'a Situation,
    idle: Vec<bool>,
    room: Room,
    running: Vec<Running>,
    /// By host: what runs there, by its place among all that runs.
    running_on: Vec<Vec<u32>>,
    /// By processor: when the last of those that run there is expected to end.
    busy_until: Vec<f64>,
    /// By host: idle cores, and memory that is free; none where no core is idle.
    free: Vec<(usize, u64)>,
    /// The most memory that is free on a host with an idle core.
    free_memory: u64,
}

impl Present<'_, '_> {
    /// The idle cores of a host.
    fn cores(&self, host: HostId) -> impl Iterator<Item = ProcId> + '_ {
        self.problem.procs_of(host).map(ProcId).filter(|p| self.idle[p.index()])
    }

    /// Cores of a host that are idle at a date if nothing else begins.
    fn idle_at(&self, host: HostId, date: f64) -> usize {
        let busy = |proc: &ProcId| approx::gt(self.busy_until[proc.index()], date);
        let usable = self.now.computes(host);
        self.problem.procs_of(host).map(ProcId).filter(|p| usable && !busy(p)).count()
    }

    /// Amount of a pool held at a date if nothing else begins.
    fn held_at(&self, pool: PoolId, date: f64) -> u64 {
        let over = self.running.iter().filter(|r| !approx::gt(r.end, date));
        let given_back: u64 = over
            .flat_map(|r| r.uses.iter())
            .filter(|(id, _)| *id == pool)
            .map(|(_, amount)| *amount)
            .sum();
        self.room.held(pool).saturating_sub(given_back)
    }

    fn capacity(&self, pool: PoolId) -> u64 {
        self.now.pools.all()[pool as usize].capacity
    }

    /// Whether a reservation keeps its date if a task begins now.
    fn keeps(
        &self,
        reserved: &Reserved,
        host: HostId,
        end: f64,
        uses: &[(PoolId, u64)],
        width: usize,
    ) -> bool {
        if reserved.strict {
            let shared = |pool: PoolId| self.now.pools.all()[pool as usize].is_shared;
            let meets = |&(pool, _): &(PoolId, u64)| {
                shared(pool) && reserved.uses.iter().any(|(own, _)| *own == pool)
            };
            return host != reserved.host && !uses.iter().any(meets);
        }
        if approx::le(end, reserved.date) {
            return true;
        }
        let cores =
            host != reserved.host || self.idle_at(host, reserved.date) >= reserved.width + width;
        cores
            && reserved.uses.iter().all(|&(pool, amount)| {
                let own = uses.iter().find(|(id, _)| *id == pool).map_or(0, |(_, own)| *own);
                self.held_at(pool, reserved.date) + amount + own <= self.capacity(pool)
            })
    }

    /// The date at which a host has idle cores and room for a task, if nothing else begins.
    fn earliest(&self, host: HostId, width: usize, uses: &[(PoolId, u64)], seconds: f64) -> f64 {
        let now = self.now.now;
        let cores = self.problem.procs_of(host);
        let takes = |pool: PoolId| uses.iter().any(|(own, _)| *own == pool);
        // The ends of others change nothing for it.
        let concerns = |r: &&Running| {
            r.procs.iter().any(|p| cores.contains(&p.0))
                || r.uses.iter().any(|(pool, _)| takes(*pool))
        };
        let is_shared = |&(pool, _): &(PoolId, u64)| self.now.pools.all()[pool as usize].is_shared;
        let mut ends: Vec<&Running> = if uses.iter().any(is_shared) {
            self.running.iter().filter(concerns).collect()
        } else {
            self.running_on[host.index()].iter().map(|&at| &self.running[at as usize]).collect()
        };
        ends.sort_by(|a, b| a.end.total_cmp(&b.end));
        let mut held: Vec<u64> = uses.iter().map(|(pool, _)| self.room.held(*pool)).collect();
        let mut over = 0;
        for date in std::iter::once(now).chain(ends.iter().map(|r| r.end.max(now))) {
            while let Some(ended) = ends.get(over).filter(|r| !approx::gt(r.end, date)) {
                for ((pool, _), held) in uses.iter().zip(&mut held) {
                    let given_back = ended.uses.iter().filter(|(own, _)| own == pool);
                    *held = held.saturating_sub(given_back.map(|(_, amount)| *amount).sum());
                }
                over += 1;
            }
            let mut wanted = uses.iter().zip(&held);
            if wanted.all(|((pool, amount), held)| held + amount <= self.capacity(*pool))
                && self.idle_at(host, date) >= width
            {
                return self.now.pools.in_window(host, date, seconds);
            }
        }
        f64::INFINITY
    }

    /// A task begins, or has begun.
    fn add(&mut self, running: Running) {
        for proc in &running.procs {
            let until = &mut self.busy_until[proc.index()];
            *until = until.max(running.end);
            let own = &mut self.running_on[self.problem.host_of(*proc).index()];
            let at = self.running.len() as u32;
            if own.last() != Some(&at) {
                own.push(at);
            }
        }
        self.running.push(running);
    }

    /// Looks again at what is free on a host.
    fn see_host(&mut self, host: HostId) {
        let idle = self.problem.procs_of(host).filter(|&p| self.idle[p as usize]).count();
        let free = match self.now.pools.memory_of(host) {
            _ if idle == 0 => 0,
            Some(pool) => self.capacity(pool).saturating_sub(self.room.held(pool)),
            None => u64::MAX,
        };
        self.free[host.index()] = (idle, free);
    }

    /// Recomputes the most memory that is free on a host with an idle core.
    fn see_memory(&mut self) {
        self.free_memory = self.free.iter().map(|(_, free)| *free).max().unwrap_or(0);
    }

    /// Whether some host with an idle core has the memory for a task that begins now.
    fn may_begin(&self, task: TaskId, width: usize) -> bool {
        let bytes = self.now.workflow.memory_at(task, width as u32);
        // Clearly too much: no need for whole numbers.
        bytes <= self.free_memory as f64 * 1.001 + 1.0 && whole_up(bytes) <= self.free_memory
    }
}

impl Reservations {
    /// Starts ready tasks in turn.
    pub(crate) fn start(
        &mut self,
        problem: &Problem<'_>,
        now: &Situation,
        ready: &mut Ready,
        decisions: &mut Vec<Decision>,
    ) {
        let Some(room) = Room::of(now) else { return };
        ready.forget_begun(now, std::mem::take(&mut self.started));
        let begun: Vec<TaskId> = now.tasks.begun().filter(|&t| now.parents_done(t)).collect();
        self.ends.retain(|task, _| begun.binary_search(task).is_ok());
        let idle = ready_dispatch::idle_procs(now);
        if !idle.contains(&true) {
            return;
        }
        let hosts = problem.platform().hosts().len();
        let (running, busy_until) = (Vec::new(), vec![f64::NEG_INFINITY; idle.len()]);
        let (running_on, free, free_memory) = (vec![Vec::new(); hosts], vec![(0, 0); hosts], 0);
        let mut present = Present {
            problem,
            now,
            idle,
            room,
            running,
            running_on,
            busy_until,
            free,
            free_memory,
        };
        problem.platform().host_ids().for_each(|host| present.see_host(host));
        present.see_memory();
        for task in begun {
            let Some(procs) = now.task(task).procs() else { continue };
            let end = self.ends.get(&task).copied().unwrap_or_else(|| {
                let first = procs.first().copied().unwrap_or(ProcId(0));
                let class = problem.class_of(first);
                let seconds = problem.exec_wide(task, class, procs.len() as u32);
                match now.task(task) {
                    TaskState::Running { since, .. } => since + seconds,
                    _ => now.now + seconds,
                }
            });
            let uses = now.uses(task, procs);
            present.add(Running { end, procs: procs.to_vec(), uses });
        }
        let mut reserved: Option<Reserved> = None;
        let mut left = present.idle.iter().filter(|idle| **idle).count();
        let mut gone = Vec::new();
        for (key, task) in ready.seen() {
            if left == 0 {
                break;
            }
            let width = now.workflow.width(task).0 as usize;
            let may_begin = present.may_begin(task, width);
            if !may_begin && reserved.is_some() {
                continue;
            }
            if !now.is_ready(task) {
                gone.push((key, task));
                continue;
            }
            let found =
                if may_begin { best_now(&present, task, width, reserved.as_ref()) } else { None };
            match found {
                Some((end, procs)) => {
                    procs.iter().for_each(|proc| present.idle[proc.index()] = false);
                    left -= procs.len();
                    present.room.take(now, task, &procs);
                    let uses = now.uses(task, &procs);
                    self.ends.insert(task, end);
                    decisions.push(Decision::Start { task, procs: procs.as_slice().into() });
                    self.started.push((key, task));
                    let hosts = problem.hosts_of(&procs);
                    present.add(Running { end, procs, uses });
                    hosts.into_iter().for_each(|host| present.see_host(host));
                    present.see_memory();
                }
                None if reserved.is_none() => reserved = self.reserve(&present, task, width),
                None => {}
            }
        }
        ready.forget_begun(now, gone);
        if reserved.is_none() {
            self.last = None;
        }
    }

    /// The host and date at which a task would end first.
    fn reserve(
        &mut self,
        present: &Present<'_, '_>,
        task: TaskId,
        width: usize,
    ) -> Option<Reserved> {
        let (problem, now) = (present.problem, present.now);
        let mut gather = ready_dispatch::gathers(now, task);
        let mut best: Option<(f64, Reserved)> = None;
        for host in problem.platform().host_ids() {
            if !now.computes(host) || now.shuns(task, host) || !now.fits(task, host) {
                continue;
            }
            let Some(first) = problem.procs_of(host).next().map(ProcId) else { continue };
            let seconds =
                gather(host).max(now.seconds_to_lease(host)) + problem.exec_on(task, first);
            let worth = |end: f64| best.as_ref().is_none_or(|(least, _)| approx::lt(end, *least));
            if !seconds.is_finite() || !worth(now.now + seconds) {
                continue;
            }
            let procs: Vec<ProcId> = problem.procs_of(host).map(ProcId).take(width).collect();
            let uses = now.uses(task, &procs);
            let date = present.earliest(host, width, &uses, seconds);
            let end = date + seconds;
            if end.is_finite() && worth(end) {
                best = Some((end, Reserved { host, date, width, uses, strict: false }));
            }
        }
        let (_, mut reserved) = best?;
        let put_off = match self.last {
            Some((last, date, times)) if last == task => {
                times + u32::from(approx::gt(reserved.date, date))
            }
            _ => 0,
        };
        reserved.strict = put_off >= PATIENCE;
        self.last = Some((task, reserved.date, put_off));
        Some(reserved)
    }
}

/// When and where a task that begins now would end first, without putting off a reservation.
fn best_now(
    present: &Present<'_, '_>,
    task: TaskId,
    width: usize,
    reserved: Option<&Reserved>,
) -> Option<(f64, Vec<ProcId>)> {
    let (problem, now) = (present.problem, present.now);
    let mut gather = ready_dispatch::gathers(now, task);
    let mut best: Option<(f64, Vec<ProcId>)> = None;
    let bytes = whole_up(now.workflow.memory_at(task, width as u32));
    for host in problem.platform().host_ids() {
        let (idle, free) = present.free[host.index()];
        if idle < width || free < bytes || now.shuns(task, host) {
            continue;
        }
        let Some(first) = present.cores(host).next() else { continue };
        let wait = gather(host).max(now.seconds_to_lease(host));
        let seconds = wait + problem.exec_on(task, first);
        let end = now.now + seconds;
        if !seconds.is_finite()
            || best.as_ref().is_some_and(|(least, _)| !approx::lt(end, *least))
            || approx::gt(now.pools.in_window(host, now.now, seconds), now.now)
        {
            continue;
        }
        let procs: Vec<ProcId> = present.cores(host).take(width).collect();
        let uses = now.uses(task, &procs);
        if !present.room.holds(now, &uses)
            || reserved.is_some_and(|r| !present.keeps(r, host, end, &uses, width))
        {
            continue;
        }
        best = Some((end, procs));
    }
    best
}
