//! Pools in a schedule in the making: what is held of each over time, and when a task finds room in
//! all it takes from.

mod profile;

pub(crate) use profile::Profile;

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

/// Use of the limited pools of a problem.
#[derive(Clone)]
pub(crate) struct PoolUse {
    pools: Arc<Pools>,
    /// Per pool; those that never run short are not kept.
    profiles: Vec<Option<Profile>>,
}

impl PoolUse {
    /// Nothing held; none where cores alone decide when a task can run.
    pub(crate) fn new(problem: &Problem<'_>) -> Option<PoolUse> {
        if !problem.has_pools() {
            return None;
        }
        let pools = problem.pools().clone();
        let profiles = pools.all().iter().map(|pool| pool.binds.then(Profile::new)).collect();
        Some(PoolUse { pools, profiles })
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

    /// A task is taken back.
    pub(crate) fn release(&mut self, problem: &Problem<'_>, task: TaskId, placement: &Placement) {
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
