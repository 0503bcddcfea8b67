//! Room in pools for tasks that are to start now.

use crate::policy::Decision;
use crate::situation::Situation;
use slackline_model::problem::PoolId;
use slackline_model::{ProcId, TaskId};

/// Amounts held of every pool, including starts that are being decided.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    held: Vec<u64>,
}

impl Room {
    /// As it is now; none where cores alone decide who can start.
    pub(crate) fn of(now: &Situation) -> Option<Room> {
        now.pools.bind().then(|| Room { held: now.held.clone() })
    }

    /// The same after starts that are decided already.
    pub(crate) fn after(now: &Situation, decisions: &[Decision]) -> Option<Room> {
        let mut room = Room::of(now)?;
        for decision in decisions {
            if let Decision::Start { task, procs } = decision {
                room.take(now, *task, procs);
            }
        }
        Some(room)
    }

    /// Whether a task has room in all pools on some processors.
    pub(crate) fn has(&self, now: &Situation, task: TaskId, procs: &[ProcId]) -> bool {
        self.holds(now, &now.uses(task, procs))
    }

    /// Whether there is so much of all these pools.
    pub(crate) fn holds(&self, now: &Situation, uses: &[(PoolId, u64)]) -> bool {
        uses.iter().all(|&(pool, amount)| {
            self.held[pool as usize] + amount <= now.pools.all()[pool as usize].capacity
        })
    }

    /// A task starts there.
    pub(crate) fn take(&mut self, now: &Situation, task: TaskId, procs: &[ProcId]) {
        for (pool, amount) in now.uses(task, procs) {
            self.held[pool as usize] += amount;
        }
    }

    /// Amount held of a pool.
    pub(crate) fn held(&self, pool: PoolId) -> u64 {
        self.held[pool as usize]
    }
}

/// Whether a task has room somewhere, where room counts at all.
pub(crate) fn allows(room: Option<&Room>, now: &Situation, task: TaskId, procs: &[ProcId]) -> bool {
    room.is_none_or(|room| room.has(now, task, procs))
}
