//! Min-min, Max-min and Sufferage (Maheswaran, Ali, Siegel, Hensgen, Freund, JPDC 59(2), 1999).
//!
//! Every ready task has its least completion time over the processors, without insertion. Next
//! goes the task whose least completion time is smallest (min-min), largest (max-min), or whose
//! second least is furthest above its least (sufferage: it would suffer most elsewhere). The
//! ready set is renewed after every placement; the `-batch` forms empty it first, as the methods
//! do for independent tasks. Where a task fits on one processor only it suffers beyond measure.
//! O(v w p) for graphs of width w. Ties: lower task, lower processor.

use super::offers::FirstOffer;
use super::{Partial, Readiness, Slot};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::approx::{self, sort_key};
use slackline_model::{Problem, ProcId, Schedule, TaskId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Registry entry: smallest first.
pub const MIN_MIN: Algorithm = Algorithm {
    name: "minmin",
    family: Family::List,
    basis: Basis::Published,
    about: "ready task of smallest least completion time first",
    source: "Maheswaran et al., JPDC 59(2), 1999",
    complexity: "O(v^2 p)",
    plan: |problem, _| min_min(problem, false),
};

/// Registry entry: largest first.
pub const MAX_MIN: Algorithm = Algorithm {
    name: "maxmin",
    about: "ready task of largest least completion time first",
    plan: |problem, _| plan(problem, largest, false),
    ..MIN_MIN
};

/// Registry entry: largest loss first.
pub const SUFFERAGE: Algorithm = Algorithm {
    name: "sufferage",
    about: "ready task first that would lose most on its second best processor",
    plan: |problem, _| plan(problem, sufferage, false),
    ..MIN_MIN
};

/// Registry entry: min-min on whole ready sets.
pub const MIN_MIN_BATCH: Algorithm = Algorithm {
    name: "minmin-batch",
    about: "min-min, each ready set emptied before the next is let in",
    plan: |problem, _| min_min(problem, true),
    ..MIN_MIN
};

/// Registry entry: max-min on whole ready sets.
pub const MAX_MIN_BATCH: Algorithm = Algorithm {
    name: "maxmin-batch",
    about: "max-min, each ready set emptied before the next is let in",
    plan: |problem, _| plan(problem, largest, true),
    ..MIN_MIN
};

/// Registry entry: sufferage on whole ready sets.
pub const SUFFERAGE_BATCH: Algorithm = Algorithm {
    name: "sufferage-batch",
    about: "sufferage, each ready set emptied before the next is let in",
    plan: |problem, _| plan(problem, sufferage, true),
    ..MIN_MIN
};

fn min_min(problem: &Problem<'_>, batch: bool) -> Result<Schedule, PlanError> {
    let best = |slot: &Slot| slot.finish;
    FirstOffer { best, key: |_, slot: &Slot| (slot.finish, 0.0), batch }.plan(problem)
}

/// A task's two least completion times.
struct TwoBest {
    least: Slot,
    second: Slot,
}

fn largest(times: &TwoBest) -> f64 {
    times.least.finish
}

fn sufferage(times: &TwoBest) -> f64 {
    let (least, second) = (times.least.finish, times.second.finish);
    // Equal on paper must not suffer from rounding.
    if approx::eq(least, second) { 0.0 } else { second - least }
}

fn plan(
    problem: &Problem<'_>,
    key: fn(&TwoBest) -> f64,
    batch: bool,
) -> Result<Schedule, PlanError> {
    let mut pool = Pool::new(problem, key);
    let (mut readiness, mut newly) = Readiness::new(problem);
    loop {
        if !batch || pool.waiting == 0 {
            for task in newly.drain(..) {
                pool.enter(task)?;
            }
        }
        let Some(task) = pool.place_first()? else { break };
        readiness.placed(task, |child| newly.push(child));
    }
    Ok(pool.partial.into_schedule())
}

/// Ready tasks with keys that may rise and fall: whoever has its best or second best slot on a
/// host is looked at again when something is placed there.
struct Pool<'a, 'p> {
    partial: Partial<'a, 'p>,
    key: fn(&TwoBest) -> f64,
    queue: BinaryHeap<Entry>,
    /// Per host: the entries to renew when it is used.
    watchers: Vec<Vec<(TaskId, u32)>>,
    /// Per task: how often it was looked at; older entries are void.
    version: Vec<u32>,
    waiting: usize,
}

struct Entry {
    key: f64,
    task: Reverse<TaskId>,
    slot: Slot,
    version: u32,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(self.task.cmp(&other.task))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl<'a, 'p> Pool<'a, 'p> {
    fn new(problem: &'a Problem<'p>, key: fn(&TwoBest) -> f64) -> Self {
        Pool {
            partial: Partial::appending(problem),
            key,
            queue: BinaryHeap::new(),
            watchers: vec![Vec::new(); problem.platform().hosts().len()],
            version: vec![0; problem.tasks()],
            waiting: 0,
        }
    }

    fn enter(&mut self, task: TaskId) -> Result<(), PlanError> {
        self.waiting += 1;
        self.look(task)
    }

    /// Computes a task's key anew.
    fn look(&mut self, task: TaskId) -> Result<(), PlanError> {
        let times = two_best(&mut self.partial, task)?;
        self.version[task.index()] += 1;
        let version = self.version[task.index()];
        let problem = self.partial.problem();
        for slot in [times.least, times.second] {
            if slot.possible() {
                self.watchers[problem.host_of(slot.proc).index()].push((task, version));
            }
        }
        let key = sort_key((self.key)(&times));
        self.queue.push(Entry { key, task: Reverse(task), slot: times.least, version });
        Ok(())
    }

    /// Places the task of largest key.
    fn place_first(&mut self) -> Result<Option<TaskId>, PlanError> {
        let entry = loop {
            let Some(entry) = self.queue.pop() else { return Ok(None) };
            if entry.version == self.version[entry.task.0.index()] {
                break entry;
            }
        };
        let task = entry.task.0;
        self.waiting -= 1;
        self.version[task.index()] += 1;
        self.partial.place(task, entry.slot);
        let host = self.partial.problem().host_of(entry.slot.proc);
        for (watcher, version) in std::mem::take(&mut self.watchers[host.index()]) {
            if version == self.version[watcher.index()] {
                self.look(watcher)?;
            }
        }
        Ok(Some(task))
    }
}

/// The two least completion times of a task; the second is impossible where there is one only.
fn two_best(partial: &mut Partial<'_, '_>, task: TaskId) -> Result<TwoBest, PlanError> {
    let least = partial.earliest_finish(task)?;
    let problem = partial.problem();
    let wide = problem.workflow().width(task).0 > 1;
    let never = Slot { proc: ProcId(0), start: f64::INFINITY, finish: f64::INFINITY };
    let mut second = never;
    for proc in problem.proc_ids() {
        let host = problem.host_of(proc);
        if proc == least.proc || wide && problem.procs_of(host).start != proc.0 {
            continue;
        }
        let slot = partial.known_slot(task, proc);
        if slot.finish < second.finish {
            second = slot;
        }
    }
    Ok(TwoBest { least, second })
}
