//! Hybrid.BMCT (Sakellariou, Zhao, IPDPS 2004): HEFT's order, balanced minimum completion time
//! for each group of independent tasks.
//!
//! Tasks by falling upward rank are cut into groups of independent ones. In a group every task
//! starts on the processor on which it ends first behind those before it (starting from the one
//! that runs it fastest instead leaves plans half as long again on the timing graphs, since the
//! moves stop at the first processor that cannot be relieved); then tasks move off the processor
//! that ends last, each time the one whose move leaves the earlier end, as long as that end falls.
//! On a processor the tasks of a group run by the date their data is there, after all earlier
//! groups. Wide tasks of a group go first, where they finish first. O(e p) plus O(n p) per move for
//! n tasks on the processor. Ties: lower task, lower processor.

use super::groups::runs;
use super::{Partial, ReadyList, ranks};
use crate::registry::{Algorithm, Basis, Family, PlanError};
use slackline_model::{Problem, ProcId, Schedule, TaskId, approx};

/// Registry entry.
pub const HYBRID_BMCT: Algorithm = Algorithm {
    name: "hybrid-bmct",
    family: Family::List,
    basis: Basis::Recalled,
    about: "independent groups, tasks moved off the processor that ends last",
    source: "Sakellariou, Zhao, IPDPS 2004",
    complexity: "O(v^2 p)",
    parameters: &[],
    needs: &[],
    plan: |problem, _| plan(problem),
};

fn plan(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let rank = ranks::upward(problem);
    let mut ready = ReadyList::new(problem, &rank);
    let mut partial = Partial::appending(problem);
    place(&mut partial, std::iter::from_fn(|| ready.pop()))?;
    Ok(partial.into_schedule())
}

/// Places tasks that come by falling rank, parents first.
pub(crate) fn place(
    partial: &mut Partial<'_, '_>,
    tasks: impl Iterator<Item = TaskId>,
) -> Result<(), PlanError> {
    let problem = partial.problem();
    for group in runs(problem, tasks) {
        let wide = |t: &TaskId| problem.workflow().width(*t).0 > 1;
        let (wide, group): (Vec<TaskId>, Vec<TaskId>) = group.into_iter().partition(wide);
        for task in wide {
            let slot = partial.earliest_finish(task)?;
            partial.place(task, slot);
        }
        let mut balance = Balance::new(partial, &group)?;
        while balance.improve() {}
        let orders = balance.orders();
        for (proc, order) in orders {
            for task in order {
                let slot = partial.slot_on(task, proc);
                partial.place(task, slot);
            }
        }
    }
    Ok(())
}

/// The assignment of a group's tasks to processors.
struct Balance<'a, 'p> {
    problem: &'a Problem<'p>,
    group: Vec<TaskId>,
    /// Per task of the group and host: when its data is there.
    ready: Vec<Vec<f64>>,
    /// Per processor: when it is idle, and the group's tasks on it by the date of their data.
    idle: Vec<f64>,
    tasks: Vec<Vec<usize>>,
    end: Vec<f64>,
}

impl<'a, 'p> Balance<'a, 'p> {
    fn new(partial: &mut Partial<'a, 'p>, group: &[TaskId]) -> Result<Self, PlanError> {
        let problem = partial.problem();
        let idle: Vec<f64> = problem.proc_ids().map(|p| partial.timeline(p).tail()).collect();
        let ready = group.iter().map(|&t| partial.data_ready(t).to_vec()).collect();
        let mut balance = Balance {
            problem,
            group: group.to_vec(),
            ready,
            end: idle.clone(),
            tasks: vec![Vec::new(); problem.procs()],
            idle,
        };
        for (member, &task) in group.iter().enumerate() {
            let possible = problem.proc_ids().filter(|&p| balance.appended(member, p).is_finite());
            let end = |p: ProcId| balance.appended(member, p);
            let better = |a: ProcId, b: ProcId| if approx::lt(end(b), end(a)) { b } else { a };
            let seat = possible.reduce(better).ok_or_else(|| partial.nowhere(task))?;
            balance.add(member, seat);
        }
        Ok(balance)
    }

    fn seconds(&self, member: usize, proc: ProcId) -> f64 {
        self.problem.exec_on(self.group[member], proc)
    }

    fn ready(&self, member: usize, proc: ProcId) -> f64 {
        self.ready[member][self.problem.host_of(proc).index()]
    }

    /// When a processor would end with one more task behind its others.
    fn appended(&self, member: usize, proc: ProcId) -> f64 {
        self.end[proc.index()].max(self.ready(member, proc)) + self.seconds(member, proc)
    }

    fn add(&mut self, member: usize, proc: ProcId) {
        let key = |m: usize| (self.ready(m, proc), self.group[m]);
        let before = |a: usize, b: usize| {
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).is_lt()
        };
        let at = self.tasks[proc.index()].partition_point(|&other| before(other, member));
        self.tasks[proc.index()].insert(at, member);
        self.end[proc.index()] = self.end_of(proc, None);
    }

    fn remove(&mut self, member: usize, proc: ProcId) {
        self.tasks[proc.index()].retain(|&other| other != member);
        self.end[proc.index()] = self.end_of(proc, None);
    }

    /// When a processor ends, with or without one of its tasks.
    fn end_of(&self, proc: ProcId, without: Option<usize>) -> f64 {
        let tasks = self.tasks[proc.index()].iter().copied().filter(|&m| Some(m) != without);
        tasks.fold(self.idle[proc.index()], |end, m| {
            end.max(self.ready(m, proc)) + self.seconds(m, proc)
        })
    }

    /// Moves one task off the processor that ends last, if that lets the group end earlier.
    fn improve(&mut self) -> bool {
        let busy = |p: &ProcId| !self.tasks[p.index()].is_empty();
        let end = |p: ProcId| self.end[p.index()];
        let later = |a: ProcId, b: ProcId| if approx::gt(end(b), end(a)) { b } else { a };
        let Some(last) = self.problem.proc_ids().filter(busy).reduce(later) else { return false };
        let mut best: Option<(f64, usize, ProcId)> = None;
        for &member in &self.tasks[last.index()] {
            let target = self
                .problem
                .proc_ids()
                .filter(|&p| p != last)
                .map(|p| (self.appended(member, p), p))
                .reduce(|a, b| if approx::lt(b.0, a.0) { b } else { a });
            let Some((there, proc)) = target else { continue };
            let least = best.map_or(end(last), |(least, _, _)| least);
            if !approx::lt(there, least) {
                continue;
            }
            let after = there.max(self.end_of(last, Some(member)));
            if approx::lt(after, least) {
                best = Some((after, member, proc));
            }
        }
        let Some((_, member, proc)) = best else { return false };
        self.remove(member, last);
        self.add(member, proc);
        true
    }

    /// The tasks of every processor in the order they run.
    fn orders(self) -> Vec<(ProcId, Vec<TaskId>)> {
        let named = |tasks: &Vec<usize>| tasks.iter().map(|&m| self.group[m]).collect();
        self.problem.proc_ids().zip(self.tasks.iter().map(named)).collect()
    }
}
