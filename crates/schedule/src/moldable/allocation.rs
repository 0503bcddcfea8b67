//! Number of processors of each task: the loop that CPA and all its descendants share.
//!
//! Every task begins with its least width. As long as the longest path is longer than the work spread evenly,
//! the task of that path that gains most gets one processor more. Transfers are ignored here.

use crate::list::unfinished;
use slackline_model::{Problem, TaskId, Workflow, approx};

/// Widths in the making. `time(task, width)` are seconds.
pub(crate) struct Allocation<'a, F> {
    workflow: &'a Workflow,
    time: F,
    /// The unfinished tasks in topological order, and the position of each in it.
    order: Vec<TaskId>,
    position: Vec<u32>,
    /// Those of them without unfinished parents, by index.
    entries: Vec<TaskId>,
    /// Processors per task.
    pub(crate) width: Vec<u32>,
    seconds: Vec<f64>,
    gain: Vec<f64>,
    /// Longest way to the end of the workflow, own time included.
    level: Vec<f64>,
    heirs: Heirs,
    work: f64,
    iterations: u64,
    /// One bit for each position in the order.
    stale: Vec<u64>,
    path: Vec<TaskId>,
}

const FINISHED: u32 = u32::MAX;
const NO_TASK: u32 = u32::MAX;

/// Per task: the child through which its longest way leads, and, linked in a list, the parents whose heir it
/// is. When a way gets shorter, only these parents need an update.
struct Heirs {
    of: Vec<u32>,
    first: Vec<u32>,
    before: Vec<u32>,
    after: Vec<u32>,
}

impl Heirs {
    fn none(tasks: usize) -> Heirs {
        let empty = || vec![NO_TASK; tasks];
        Heirs { of: empty(), first: empty(), before: empty(), after: empty() }
    }

    /// The longest way of a task now leads through `child`.
    fn set(&mut self, task: u32, child: u32) {
        let t = task as usize;
        let old = std::mem::replace(&mut self.of[t], child);
        if old == child {
            return;
        }
        if old != NO_TASK {
            let (before, after) = (self.before[t], self.after[t]);
            match before {
                NO_TASK => self.first[old as usize] = after,
                other => self.after[other as usize] = after,
            }
            if after != NO_TASK {
                self.before[after as usize] = before;
            }
        }
        if child != NO_TASK {
            let next = std::mem::replace(&mut self.first[child as usize], task);
            (self.before[t], self.after[t]) = (NO_TASK, next);
            if next != NO_TASK {
                self.before[next as usize] = task;
            }
        }
    }
}

impl<'a, F: Fn(TaskId, u32) -> f64> Allocation<'a, F> {
    /// Every unfinished task at its least width.
    pub(crate) fn new(problem: &Problem<'a>, time: F) -> Self {
        Allocation::of(problem, &unfinished(problem).collect::<Vec<_>>(), time)
    }

    /// Some unfinished tasks, which no other unfinished task feeds.
    pub(crate) fn of(problem: &Problem<'a>, tasks: &[TaskId], time: F) -> Self {
        let workflow = problem.workflow();
        let mut open = vec![false; workflow.len()];
        for task in tasks {
            open[task.index()] = true;
        }
        let topological = workflow.topological_order().iter().copied();
        let order: Vec<TaskId> = topological.filter(|t| open[t.index()]).collect();
        let mut position = vec![FINISHED; workflow.len()];
        for (at, task) in order.iter().enumerate() {
            position[task.index()] = at as u32;
        }
        let count = workflow.len();
        let waits = |t: TaskId| workflow.predecessors(t).any(|(parent, _)| open[parent.index()]);
        let entries = tasks.iter().copied().filter(|&t| !waits(t)).collect();
        let mut allocation = Allocation {
            workflow,
            time,
            entries,
            stale: vec![0; order.len().div_ceil(64)],
            position,
            width: workflow.tasks().map(|t| workflow.width(t).0).collect(),
            seconds: vec![0.0; count],
            gain: vec![0.0; count],
            level: vec![0.0; count],
            heirs: Heirs::none(count),
            work: 0.0,
            iterations: 0,
            path: Vec::new(),
            order,
        };
        for at in (0..allocation.order.len()).rev() {
            let task = allocation.order[at];
            allocation.work += allocation.set(task, allocation.width[task.index()]);
            allocation.renew_level(task);
        }
        allocation
    }

    /// Sets a width and all that depends on it alone; gives the work.
    fn set(&mut self, task: TaskId, width: u32) -> f64 {
        let t = task.index();
        let seconds = (self.time)(task, width);
        let (now, then) = (f64::from(width), f64::from(width + 1));
        self.width[t] = width;
        self.seconds[t] = seconds;
        self.gain[t] = seconds / now - (self.time)(task, width + 1) / then;
        seconds * now
    }

    /// Recomputes the level of a task and returns the previous one.
    fn renew_level(&mut self, task: TaskId) -> f64 {
        let (mut below, mut heir) = (0.0, NO_TASK);
        for (child, _) in self.workflow.successors(task) {
            let level = self.level[child.index()];
            if level > below {
                (below, heir) = (level, child.0);
            }
        }
        self.heirs.set(task.0, heir);
        std::mem::replace(&mut self.level[task.index()], self.seconds[task.index()] + below)
    }

    /// Length of the longest path.
    pub(crate) fn critical_path(&self) -> f64 {
        self.entries.iter().map(|t| self.level[t.index()]).fold(0.0, f64::max)
    }

    /// Processor-seconds of all tasks.
    pub(crate) fn work(&self) -> f64 {
        self.work
    }

    /// Processors added so far.
    pub(crate) fn iterations(&self) -> u64 {
        self.iterations
    }

    /// The tasks, in topological order.
    pub(crate) fn tasks(&self) -> &[TaskId] {
        &self.order
    }

    /// Number of unfinished tasks.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Longest way to the end from every task.
    pub(crate) fn levels(&self) -> &[f64] {
        &self.level
    }

    /// The task that gets the next processor: on one longest path the first of those that may
    /// grow with the largest gain. None where no task of it gains.
    pub(crate) fn candidate(&mut self, may_grow: impl Fn(&Self, TaskId) -> bool) -> Option<TaskId> {
        self.walk();
        let mut best: Option<TaskId> = None;
        for &task in &self.path {
            let gain = self.gain[task.index()];
            if gain > 0.0
                && best.is_none_or(|b| approx::gt(gain, self.gain[b.index()]))
                && may_grow(self, task)
            {
                best = Some(task);
            }
        }
        best
    }

    /// The longest path: from the first entry that begins one always to the first child that
    /// continues it.
    fn walk(&mut self) {
        self.path.clear();
        let mut next = longest(self.entries.iter().copied(), &self.level);
        while let Some(task) = next {
            self.path.push(task);
            next = longest(self.workflow.successors(task).map(|(child, _)| child), &self.level);
        }
    }

    /// The critical path found last.
    pub(crate) fn path(&self) -> &[TaskId] {
        &self.path
    }

    /// One processor more.
    pub(crate) fn widen(&mut self, task: TaskId) {
        self.change(task, self.width[task.index()] + 1);
        self.iterations += 1;
    }

    /// Takes the last processor of a task back.
    pub(crate) fn narrow(&mut self, task: TaskId) {
        self.change(task, self.width[task.index()] - 1);
        self.iterations -= 1;
    }

    fn change(&mut self, task: TaskId, width: u32) {
        let t = task.index();
        let before = self.seconds[t] * f64::from(self.width[t]);
        self.work += self.set(task, width) - before;
        // Only the levels of its ancestors change, the nearest first.
        let mut pending = 1usize;
        let mut word = self.position[t] as usize / 64;
        self.stale[word] |= 1 << (self.position[t] % 64);
        while pending > 0 {
            let Some(bit) = self.stale[word].checked_ilog2() else {
                word -= 1;
                continue;
            };
            self.stale[word] &= !(1 << bit);
            pending -= 1;
            let task = self.order[word * 64 + bit as usize];
            let old = self.renew_level(task);
            let level = self.level[task.index()];
            if level < old {
                let mut parent = self.heirs.first[task.index()];
                while parent != NO_TASK {
                    pending += self.outdate(parent as usize);
                    parent = self.heirs.after[parent as usize];
                }
            } else if level > old {
                for (parent, _) in self.workflow.predecessors(task) {
                    pending += self.outdate(parent.index());
                }
            }
        }
    }

    /// Marks the level of a task as out of date; gives 1 where it was not marked before, else 0.
    fn outdate(&mut self, task: usize) -> usize {
        let at = self.position[task];
        if at == FINISHED {
            return 0;
        }
        let (word, bit) = (&mut self.stale[at as usize / 64], 1 << (at % 64));
        let news = usize::from(*word & bit == 0);
        *word |= bit;
        news
    }

    /// Gives out processors until the longest path is no longer than the work spread over
    /// `divisor` processors, or nothing more can grow.
    pub(crate) fn balance(&mut self, divisor: f64, may_grow: impl Fn(&Self, TaskId) -> bool) {
        while self.critical_path() > self.work / divisor {
            let Some(task) = self.candidate(&may_grow) else { break };
            self.widen(task);
        }
    }
}

/// The first task of clearly largest level.
fn longest(tasks: impl Iterator<Item = TaskId>, level: &[f64]) -> Option<TaskId> {
    let mut best: Option<TaskId> = None;
    for task in tasks {
        if best.is_none_or(|b| approx::gt(level[task.index()], level[b.index()])) {
            best = Some(task);
        }
    }
    best
}

/// The divisor of the geometric area (N'takpé, Suter, Casanova, 2007) for so many tasks and
/// processors: where there are more processors than tasks, they count for less.
pub(crate) fn geometric(tasks: usize, processors: f64) -> f64 {
    processors.min((tasks as f64 * processors).sqrt())
}

/// Processors given out on every precedence level, fed with the tasks that count.
pub(crate) struct Levels {
    level: Vec<u32>,
    used: Vec<u64>,
}

impl Levels {
    /// The tasks of an allocation at their widths.
    pub(crate) fn new<F: Fn(TaskId, u32) -> f64>(
        problem: &Problem<'_>,
        growing: &Allocation<'_, F>,
    ) -> Levels {
        let mut levels = Levels::empty(problem);
        for task in growing.tasks() {
            levels.add(*task, growing.width[task.index()]);
        }
        levels
    }

    /// No task counts yet.
    pub(crate) fn empty(problem: &Problem<'_>) -> Levels {
        let shape = slackline_model::workflow::Shape::of(problem.workflow());
        Levels { used: vec![0; shape.depth()], level: shape.level }
    }

    /// Processors on the level of a task.
    pub(crate) fn beside(&self, task: TaskId) -> u64 {
        self.used[self.level[task.index()] as usize]
    }

    /// The level of a task has so many processors more.
    pub(crate) fn add(&mut self, task: TaskId, processors: u32) {
        self.used[self.level[task.index()] as usize] += u64::from(processors);
    }
}
