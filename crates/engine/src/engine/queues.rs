//! The queues of processors: who runs where, and in which order.
//!
//! Tasks that start in order of queues must not form a cycle with the workflow's dependencies, or they wait for each
//! other for ever. A plan's order has no cycle; a task that overtakes it pulls its predecessors along.

use crate::execution::Dispatch;
use slackline_model::{FileId, HostId, ProcId, Procs, TaskId};
use slackline_react::{Plan, Situation, Transfers};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The adopted plan: who runs where, in which order.
pub(super) struct Queues {
    assigned: Vec<Option<Procs>>,
    /// Position of a task in the plan: pushes leave in this order.
    pub(super) rank: Vec<u32>,
    pub(super) queue: Vec<VecDeque<TaskId>>,
    /// Processors that a task has, or that drain.
    pub(super) busy: Vec<bool>,
    sources: BTreeMap<(FileId, HostId), HostId>,
    /// Tasks that have all their inputs, or on their way: nothing to ask for until something
    /// unforeseen happens.
    pub(super) asked: Vec<bool>,
    /// Per task: the round of pushes in which it last asked for what exists, and the last round.
    pub(super) asked_in: Vec<u32>,
    pub(super) round: u32,
    pub(super) transfers: Transfers,
    /// Processors whose queues have to be checked.
    pub(super) touched: BTreeSet<u32>,
    /// Tasks whose results have to be pushed.
    pub(super) to_push: Vec<TaskId>,
    /// Results of any task may have to be pushed again.
    pub(super) push_all: bool,
}

impl Queues {
    pub(super) fn new(tasks: usize, procs: usize) -> Queues {
        Queues {
            assigned: vec![None; tasks],
            rank: vec![u32::MAX; tasks],
            queue: vec![VecDeque::new(); procs],
            busy: vec![false; procs],
            sources: BTreeMap::new(),
            asked: vec![false; tasks],
            asked_in: vec![0; tasks],
            round: 0,
            transfers: Transfers::default(),
            touched: BTreeSet::new(),
            to_push: Vec::new(),
            push_all: false,
        }
    }

    /// Makes room for tasks that were not known before.
    pub(super) fn resize(&mut self, tasks: usize) {
        self.assigned.resize(tasks, None);
        self.rank.resize(tasks, u32::MAX);
        self.asked.resize(tasks, false);
        self.asked_in.resize(tasks, 0);
    }

    /// From where the plan wants a host to fetch a file.
    pub(super) fn source(&self, file: FileId, to: HostId) -> Option<HostId> {
        self.sources.get(&(file, to)).copied()
    }

    /// Whether the inputs of a task that lie there from the start are brought in the order of the
    /// plan, without its asking.
    pub(super) fn stages(&self, task: TaskId) -> bool {
        self.transfers == Transfers::Push && self.rank[task.index()] != u32::MAX
    }

    /// The planned tasks, in the order of the plan.
    pub(super) fn planned(&self) -> Vec<TaskId> {
        let ranked = |t: &TaskId| self.rank[t.index()] != u32::MAX;
        let mut tasks: Vec<TaskId> = (0..self.rank.len()).map(TaskId::new).filter(ranked).collect();
        tasks.sort_by_key(|t| self.rank[t.index()]);
        tasks
    }

    /// Precedence where tasks want the same resource: heads of queues first, then planned order.
    pub(super) fn turn(&self, task: TaskId) -> (bool, u32, TaskId) {
        let first = |p: &ProcId| self.queue[p.index()].front() == Some(&task);
        let behind = !self.assigned(task).is_some_and(|procs| procs.iter().any(first));
        (behind, self.rank[task.index()], task)
    }

    /// Number of tasks that run or wait on a processor.
    pub(super) fn length(&self, proc: ProcId) -> usize {
        self.queue[proc.index()].len() + usize::from(self.busy[proc.index()])
    }

    pub(super) fn assigned(&self, task: TaskId) -> Option<&[ProcId]> {
        self.assigned[task.index()].as_deref()
    }

    /// Replaces the plan. Tasks that compute keep their processors until they are cancelled.
    pub(super) fn adopt(&mut self, plan: &Plan, is_open: impl Fn(TaskId) -> bool) {
        self.queue.iter_mut().for_each(VecDeque::clear);
        self.rank.fill(u32::MAX);
        for (rank, assignment) in plan.assignments.iter().enumerate() {
            let task = assignment.task;
            self.rank[task.index()] = rank as u32;
            if is_open(task) {
                // Many stay where they were.
                let assigned = &mut self.assigned[task.index()];
                if assigned.as_ref() != Some(&assignment.procs) {
                    *assigned = Some(assignment.procs.clone());
                }
                for proc in &assignment.procs {
                    self.queue[proc.index()].push_back(task);
                }
            }
        }
        for (task, assigned) in self.assigned.iter_mut().enumerate() {
            if self.rank[task] == u32::MAX && is_open(TaskId::new(task)) {
                *assigned = None;
            }
        }
        self.sources = plan.sources.iter().map(|s| ((s.file, s.to), s.from)).collect();
        self.transfers = plan.transfers;
        self.look_again();
    }

    /// Requests transfers that could not be requested before.
    pub(super) fn look_again(&mut self) {
        self.touch_all();
        self.push_all = self.transfers == Transfers::Push;
    }

    /// Puts a task in front of the queues of some processors. What it still waits for, and is in a
    /// queue, goes ahead of it to the front of its own: it might be behind a task that depends on it.
    pub(super) fn jump(&mut self, task: TaskId, procs: &[ProcId], now: &Situation) {
        self.remove(task);
        self.assigned[task.index()] = Some(procs.into());
        self.asked[task.index()] = false;
        self.push_all |= self.transfers == Transfers::Push; // its inputs go there
        self.lift(task);
        if !now.parents_done(task) {
            let awaited = now.workflow.ancestors(&[task], |t| !now.task(t).is_done());
            let order = now.workflow.topological_order().iter().rev();
            for &ahead in order.filter(|t| awaited[t.index()]) {
                if self.stands_in_queue(ahead) {
                    self.lift(ahead);
                }
            }
        }
    }

    /// Tasks have to be done again: what depends on them goes to the end of its queues. In front
    /// they would keep others from starting that a policy without a plan waits for.
    pub(super) fn let_others_pass(&mut self, rewound: &[TaskId], now: &Situation) {
        let waits = now.workflow.descendants(rewound, |t| !now.task(t).is_done());
        for &task in now.workflow.topological_order().iter().filter(|t| waits[t.index()]) {
            if self.stands_in_queue(task) {
                for &proc in &self.assigned[task.index()].clone().unwrap_or_default() {
                    self.take_out(task, proc);
                    self.queue[proc.index()].push_back(task);
                    self.touched.insert(proc.0);
                }
            }
        }
    }

    fn stands_in_queue(&self, task: TaskId) -> bool {
        let in_queue = |p: &ProcId| self.queue[p.index()].contains(&task);
        self.assigned(task).is_some_and(|procs| procs.iter().any(in_queue))
    }

    /// Puts a task in front of its queues.
    fn lift(&mut self, task: TaskId) {
        for &proc in &self.assigned[task.index()].clone().unwrap_or_default() {
            self.take_out(task, proc);
            self.queue[proc.index()].push_front(task);
            self.touched.insert(proc.0);
        }
    }

    /// Takes a task out of its queues.
    pub(super) fn remove(&mut self, task: TaskId) {
        if let Some(procs) = self.assigned[task.index()].take() {
            for proc in &procs {
                self.take_out(task, *proc);
                self.touched.insert(proc.0);
            }
        }
    }

    /// Takes a task out of one queue; it mostly is the first.
    pub(super) fn take_out(&mut self, task: TaskId, proc: ProcId) {
        let queue = &mut self.queue[proc.index()];
        if let Some(at) = queue.iter().position(|&t| t == task) {
            queue.remove(at);
        }
    }

    pub(super) fn touch(&mut self, procs: &[ProcId]) {
        self.touched.extend(procs.iter().map(|p| p.0));
    }

    /// Something a task waits for is there: its processors are checked if it is where that
    /// could matter.
    pub(super) fn touch_reader(&mut self, task: TaskId, dispatch: Dispatch) {
        let Some(procs) = &self.assigned[task.index()] else { return };
        let ahead = match self.transfers {
            Transfers::Pull { window } if dispatch == Dispatch::InOrder => window.max(1) as usize,
            Transfers::Push if dispatch == Dispatch::InOrder => 1,
            _ => usize::MAX,
        };
        for proc in procs {
            if self.queue[proc.index()].iter().take(ahead).any(|&t| t == task) {
                self.touched.insert(proc.0);
            }
        }
    }

    /// Everything is checked as if for the first time.
    fn touch_all(&mut self) {
        self.asked.fill(false);
        self.touched.extend(0..self.queue.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
    use slackline_model::{Task, WorkflowBuilder};
    use slackline_react::Assignment;
    use std::sync::Arc;

    /// A parent had to be done again while its child ran, behind a grandchild; then the child fails.
    #[test]
    fn who_jumps_ahead_takes_along_what_it_waits_for() {
        let mut b = PlatformBuilder::new("two");
        b.set_matrix(Matrix::Uniform { bandwidth: 1.0, latency: 0.0 });
        let root = b.root().unwrap();
        for name in ["a", "b"] {
            b.add_host(root, HostSpec::new(name, 1.0)).unwrap();
        }
        let mut w = WorkflowBuilder::new("chain");
        let [parent, child, grandchild, other] = ["parent", "child", "grandchild", "other"]
            .map(|n| w.add_task(Task::new(n, 1.0)).unwrap());
        w.add_edge(parent, child, 0.0).unwrap();
        w.add_edge(child, grandchild, 0.0).unwrap();
        let (workflow, platform) = (Arc::new(w.build().unwrap()), Arc::new(b.build().unwrap()));
        let now = Situation::new(workflow, platform);
        let on = |task, proc| Assignment { task, procs: [ProcId(proc)].into() };
        let assignments = vec![on(grandchild, 0), on(parent, 0), on(other, 1)];
        let mut queues = Queues::new(4, 2);
        queues.adopt(&Plan { assignments, ..Plan::default() }, |_| true);
        queues.jump(child, &[ProcId(1)], &now);
        assert_eq!(queues.queue, [vec![parent, grandchild], vec![child, other]]);
    }
}
