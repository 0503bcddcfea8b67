//! Pools in a schedule in the making: what is held of each over time, and when a task finds room in
//! all it takes from.

mod profile;
mod refusals;

pub(crate) use profile::Profile;
pub(crate) use refusals::Refusals;

use slackline_model::problem::{PoolId, Pools};
use slackline_model::{HostId, Placement, Problem, TaskId};
use std::sync::Arc;

/// Demand of a task on a host: the pools that may be short, with the amount left for others beside it, and the
/// windows of the host.
#[derive(Clone, Debug)]
pub(crate) struct Takes {
    rooms: Vec<(PoolId, u64)>,
    host: HostId,
    /// It does not even fit on the empty host.
    never: bool,
}

/// Demand of a task that takes nothing but memory.
#[derive(Clone, Copy)]
pub(crate) struct Alone<'a> {
    refusals: &'a Refusals,
    pub(crate) bytes: u64,
    class: Option<usize>,
}

impl<'a> Alone<'a> {
    /// Of a task that holds so many bytes.
    #[inline]
    pub(crate) fn new(refusals: &'a Refusals, bytes: u64) -> Alone<'a> {
        Alone { refusals, bytes, class: refusals.at_most(bytes) }
    }

    /// A date, not before this one, before which the task cannot start on a host.
    #[inline]
    pub(crate) fn not_before(&self, host: HostId, seconds: f64, date: f64) -> f64 {
        let class = self.class.and_then(|amount| self.refusals.class(host, amount, seconds));
        class.map_or(date, |class| self.refusals.not_before(class, date))
    }
}

/// Use of the limited pools of a problem.
#[derive(Clone)]
pub(crate) struct PoolUse {
    pools: Arc<Pools>,
    /// Per pool; those that never run short are not kept.
    profiles: Vec<Option<Profile>>,
    /// Number of tasks that hold something on trial.
    on_trial: usize,
    /// Some pool that may run short is shared by several hosts.
    any_shared: bool,
}

impl PoolUse {
    /// Nothing held; none where cores alone decide when a task can run.
    pub(crate) fn new(problem: &Problem<'_>) -> Option<PoolUse> {
        if !problem.has_pools() {
            return None;
        }
        let pools = problem.pools().clone();
        let profiles = pools.all().iter().map(|pool| pool.binds.then(Profile::new)).collect();
        let any_shared = pools.all().iter().any(|pool| pool.binds && pool.is_shared);
        Some(PoolUse { pools, profiles, on_trial: 0, any_shared })
    }

    /// Pools with the amounts held by running tasks until their expected ends.
    pub(crate) fn with_running(problem: &Problem<'_>) -> Option<PoolUse> {
        let mut used = PoolUse::new(problem)?;
        let now = problem.state().now;
        for task in problem.workflow().tasks() {
            if let Some(placement) = problem.state().fixed(task).filter(|p| p.finish > now) {
                used.hold(problem, task, placement);
            }
        }
        Some(used)
    }

    /// Whether all that is held will stay so.
    #[inline]
    pub(crate) fn is_final(&self) -> bool {
        self.on_trial == 0
    }

    /// Computes the demand of a task with `width` cores, `own` of them on this host.
    pub(crate) fn takes(
        &self,
        problem: &Problem<'_>,
        task: TaskId,
        at: (HostId, u32, u32),
        takes: &mut Takes,
    ) {
        takes.rooms.clear();
        (takes.host, takes.never) = (at.0, false);
        self.pools.each_use(problem.workflow(), task, at, |pool, amount| {
            let capacity = self.pools.all()[pool as usize].capacity;
            if amount > capacity {
                takes.never = true;
            } else if self.profiles[pool as usize].is_some() {
                takes.rooms.push((pool, capacity - amount));
            }
        });
    }

    /// Bytes that a task of one core holds, where tasks demand nothing but memory.
    #[inline]
    pub(crate) fn memory_alone(&self, problem: &Problem<'_>, task: TaskId) -> Option<u64> {
        self.pools.memory_alone(problem.workflow(), task)
    }

    /// The demand in one pool, and whether nothing else is taken from.
    #[inline]
    pub(crate) fn demand(&self, takes: &Takes, pool: Option<PoolId>) -> Option<(u64, bool)> {
        let room = takes.rooms.iter().find(|(of, _)| Some(*of) == pool)?;
        let amount = self.pools.all()[room.0 as usize].capacity - room.1;
        Some((amount, takes.rooms.len() == 1))
    }

    /// Whether two dates were taken for one though they differ by rounding.
    #[inline]
    pub(crate) fn is_noisy(&self, pool: PoolId) -> bool {
        self.profiles[pool as usize].as_ref().is_some_and(Profile::is_noisy)
    }

    /// Whether a task of one core takes from a pool on a host.
    pub(crate) fn takes_from(
        &self,
        problem: &Problem<'_>,
        task: TaskId,
        host: HostId,
        pool: PoolId,
    ) -> bool {
        let mut takes = false;
        let at = (host, 1, 1);
        self.pools.each_use(problem.workflow(), task, at, |used, _| takes |= used == pool);
        takes
    }

    /// Computes the demand of a task that holds nothing but memory.
    #[inline]
    pub(crate) fn takes_memory(&self, bytes: u64, host: HostId, takes: &mut Takes) {
        takes.rooms.clear();
        (takes.host, takes.never) = (host, false);
        let Some(pool) = self.pools.memory_of(host).filter(|_| bytes > 0) else { return };
        let capacity = self.pools.all()[pool as usize].capacity;
        if bytes > capacity {
            takes.never = true;
        } else if self.profiles[pool as usize].is_some() {
            takes.rooms.push((pool, capacity - bytes));
        }
    }

    /// The earliest date, not before `from`, at which all of it has room for so many seconds, inside
    /// one window of the host; or some later date where no start is `worth` it.
    #[inline]
    pub(crate) fn earliest(
        &self,
        takes: &Takes,
        from: f64,
        seconds: f64,
        worth: impl Fn(f64) -> bool,
    ) -> f64 {
        if takes.never {
            return f64::INFINITY;
        }
        let mut start = from;
        loop {
            let before = start;
            if seconds > 0.0 {
                for &(pool, room) in &takes.rooms {
                    if let Some(profile) = &self.profiles[pool as usize] {
                        start = profile.earliest(room, start, seconds, &worth);
                    }
                }
            }
            if self.pools.has_windows() {
                start = self.pools.in_window(takes.host, start, seconds);
            }
            // One that has refused may have sent it to where another refuses.
            if start <= before
                || start.is_infinite()
                || takes.is_single(&self.pools)
                || !worth(start)
            {
                return start;
            }
        }
    }

    /// Whether all of it has room from a date on.
    pub(crate) fn fits(&self, takes: &Takes, start: f64, seconds: f64) -> bool {
        self.earliest(takes, start, seconds, |date| date <= start) <= start
    }

    /// The first date after this one at which a task releases part of a pool that this one takes from, or a
    /// window opens.
    pub(crate) fn next_change(&self, takes: &Takes, after: f64) -> f64 {
        let profiles =
            takes.rooms.iter().filter_map(|(pool, _)| self.profiles[*pool as usize].as_ref());
        let falls = profiles.map(|profile| profile.next_fall(after));
        let opens = self.pools.windows(takes.host).iter().map(|(from, _)| *from);
        let opens = opens.filter(|from| *from > after);
        falls.chain(opens).fold(f64::INFINITY, f64::min)
    }

    /// The earliest date, not before `from`, at which pools have room for amounts held together for so
    /// many seconds, inside one window of each of some hosts.
    pub(crate) fn earliest_of(
        &self,
        uses: &[(PoolId, u64)],
        hosts: &[HostId],
        from: f64,
        seconds: f64,
    ) -> f64 {
        let mut start = from;
        loop {
            let before = start;
            for &(pool, amount) in uses.iter().filter(|_| seconds > 0.0) {
                let Some(profile) = &self.profiles[pool as usize] else { continue };
                match self.pools.all()[pool as usize].capacity.checked_sub(amount) {
                    Some(room) => start = profile.earliest(room, start, seconds, |_| true),
                    None => return f64::INFINITY,
                }
            }
            for &host in hosts {
                start = self.pools.in_window(host, start, seconds);
            }
            if start <= before || start.is_infinite() {
                return start;
            }
        }
    }

    /// Holds amounts of pools together.
    pub(crate) fn hold_all(&mut self, uses: &[(PoolId, u64)], start: f64, finish: f64) {
        for &(pool, amount) in uses {
            if let Some(profile) = &mut self.profiles[pool as usize] {
                profile.hold(amount, start, finish);
            }
        }
    }

    /// A placed task holds what it demands.
    pub(crate) fn hold(&mut self, problem: &Problem<'_>, task: TaskId, placement: &Placement) {
        let (start, finish) = (placement.start, placement.finish);
        if let [proc] = placement.procs() {
            let (pools, profiles) = (&self.pools, &mut self.profiles);
            let at = (problem.host_of(*proc), 1, 1);
            return pools.each_use(problem.workflow(), task, at, |pool, amount| {
                if let Some(profile) = &mut profiles[pool as usize] {
                    profile.hold(amount, start, finish);
                }
            });
        }
        for (pool, amount) in problem.uses(task, placement.procs()) {
            if let Some(profile) = &mut self.profiles[pool as usize] {
                profile.hold(amount, start, finish);
            }
        }
    }

    /// A task holds what it demands until it is taken back.
    pub(crate) fn try_out(&mut self, problem: &Problem<'_>, task: TaskId, placement: &Placement) {
        self.on_trial += 1;
        self.hold(problem, task, placement);
    }

    /// A task that was tried out is taken back.
    pub(crate) fn release(&mut self, problem: &Problem<'_>, task: TaskId, placement: &Placement) {
        self.on_trial -= 1;
        for (pool, amount) in problem.uses(task, placement.procs()) {
            if let Some(profile) = &mut self.profiles[pool as usize] {
                profile.release(amount, placement.start, placement.finish);
            }
        }
    }

    /// The pools that several hosts share and of which a task takes on a host.
    pub(crate) fn each_shared(
        &self,
        problem: &Problem<'_>,
        task: TaskId,
        host: HostId,
        mut each: impl FnMut(PoolId),
    ) {
        if !self.any_shared {
            return;
        }
        let width = problem.workflow().width(task).0;
        self.pools.each_use(problem.workflow(), task, (host, width, width), |pool, _| {
            if self.pools.all()[pool as usize].is_shared && self.profiles[pool as usize].is_some() {
                each(pool);
            }
        });
    }
}

impl Default for Takes {
    fn default() -> Takes {
        Takes { rooms: Vec::new(), host: HostId(0), never: false }
    }
}

impl Takes {
    /// Only one pool or only windows decide: the first answer is final.
    fn is_single(&self, pools: &Pools) -> bool {
        self.rooms.len() + usize::from(pools.has_windows()) <= 1
    }
}
