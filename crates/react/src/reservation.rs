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
    /// By processor: when the last of those that run there is expected to end.
    busy_until: Vec<f64>,
    /// The most memory that is free on a host with an idle core.
    free_memory: u64,
}

impl Present<'_, '_> {
    /// The lowest idle cores of a host, as many as a task needs.
    fn cores(&self, host: HostId, width: usize) -> Option<Vec<ProcId>> {
        let procs = self.problem.procs_of(host).map(ProcId);
        let free: Vec<ProcId> = procs.filter(|p| self.idle[p.index()]).take(width).collect();
        (free.len() == width).then_some(free)
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
        let mut ends: Vec<&Running> = self.running.iter().filter(concerns).collect();
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
        }
        self.running.push(running);
    }

    /// Recomputes the most memory that is free on a host with an idle core.
    fn see_memory(&mut self) {
        let open = |host: &HostId| self.problem.procs_of(*host).any(|p| self.idle[p as usize]);
        let hosts = self.problem.platform().host_ids().filter(open);
        let free = |host: HostId| match self.now.pools.memory_of(host) {
            Some(pool) => self.capacity(pool).saturating_sub(self.room.held(pool)),
            None => u64::MAX,
        };
        self.free_memory = hosts.map(free).max().unwrap_or(0);
    }

    /// Whether some host with an idle core has the memory for a task that begins now.
    fn may_begin(&self, task: TaskId, width: usize) -> bool {
        whole_up(self.now.workflow.memory_at(task, width as u32)) <= self.free_memory
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
        let begun: Vec<TaskId> = now.tasks.begun().filter(|&t| now.parents_done(t)).collect();
        self.ends.retain(|task, _| begun.binary_search(task).is_ok());
        let idle = ready_dispatch::idle_procs(now);
        if !idle.contains(&true) {
            return;
        }
        let (running, busy_until) = (Vec::new(), vec![f64::NEG_INFINITY; idle.len()]);
        let mut present =
            Present { problem, now, idle, room, running, busy_until, free_memory: u64::MAX };
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
        for task in ready.in_order(now) {
            if left == 0 {
                break;
            }
            let width = now.workflow.width(task).0 as usize;
            let found = if present.may_begin(task, width) {
                best_now(&present, task, width, reserved.as_ref())
            } else {
                None
            };
            match found {
                Some((end, procs)) => {
                    procs.iter().for_each(|proc| present.idle[proc.index()] = false);
                    left -= procs.len();
                    present.room.take(now, task, &procs);
                    let uses = now.uses(task, &procs);
                    self.ends.insert(task, end);
                    decisions.push(Decision::Start { task, procs: procs.as_slice().into() });
                    present.add(Running { end, procs, uses });
                    present.see_memory();
                }
                None if reserved.is_none() => reserved = self.reserve(&present, task, width),
                None => {}
            }
        }
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
            let procs: Vec<ProcId> = problem.procs_of(host).map(ProcId).take(width).collect();
            let uses = now.uses(task, &procs);
            let seconds =
                gather(host).max(now.seconds_to_lease(host)) + problem.exec_on(task, first);
            if !seconds.is_finite() {
                continue;
            }
            let date = present.earliest(host, width, &uses, seconds);
            let end = date + seconds;
            if end.is_finite() && best.as_ref().is_none_or(|(least, _)| approx::lt(end, *least)) {
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
    for host in problem.platform().host_ids() {
        if now.shuns(task, host) {
            continue;
        }
        let Some(procs) = present.cores(host, width) else { continue };
        let uses = now.uses(task, &procs);
        if !present.room.holds(now, &uses) {
            continue;
        }
        let wait = gather(host).max(now.seconds_to_lease(host));
        let seconds = wait + problem.exec_on(task, procs[0]);
        let end = now.now + seconds;
        if !seconds.is_finite()
            || approx::gt(now.pools.in_window(host, now.now, seconds), now.now)
            || best.as_ref().is_some_and(|(least, _)| !approx::lt(end, *least))
            || reserved.is_some_and(|r| !present.keeps(r, host, end, &uses, width))
        {
            continue;
        }
        best = Some((end, procs));
    }
    best
}
