//! The search where tasks share more than processors: over orders of starts and hosts, each task at its
//! earliest start beside those placed before it.
//!
//! Placed by rising start, a shortest schedule in which nothing can begin earlier finds its cores and pools: so
//! nodes add one task that does not begin before the last one, and one whose earliest start is before the last
//! begin is left out (another order has it). Cores of a host are one more pool: a count suffices, as intervals
//! that never exceed it can always be given cores. A node is cut off when heads and tails, or the remaining
//! demand for some pool, show that no completion is shorter; and when a node visited before had the same tasks
//! at the same hosts, none of those that still matter ending later, the last start no later and no larger sum
//! of starts.

use super::memo::Memo;
use crate::bounds::Bounder;
use crate::bounds::levels::Levels;
use crate::budget::Budget;
use crate::compact::Compact;
use slackline_model::{Placement, Problem, ProcId, Schedule, approx};
use std::sync::Arc;

/// Nodes between two checks of the clock.
const SLICE: u64 = 256;

/// One more task started.
#[derive(Clone, Copy)]
struct Child {
    task: usize,
    bank: usize,
    start: f64,
    behind: f64,
    bound: f64,
}

pub(super) struct Search<'c, 'p> {
    problem: &'c Problem<'p>,
    compact: &'c Compact,
    bounder: &'c Bounder<'c>,
    budget: Budget,
    nodes: u64,
    most_nodes: u64,
    over: bool,
    cutoff: f64,
    levels: Levels,
    /// Capacities: of the cores of every bank, then of every pool.
    capacity: Vec<u64>,
    /// Per task and bank: what it takes of which.
    takes: Vec<Arc<[(u32, u64)]>>,
    /// Per task: least seconds and least tail anywhere.
    least: Vec<(f64, f64)>,
    /// Per task and capacity: least amount times seconds.
    area: Vec<f64>,
    reach: Vec<f64>,
    memo: Memo,
    placed: u128,
    order: Vec<u32>,
    bank: Vec<u32>,
    start: Vec<f64>,
    finish: Vec<f64>,
    missing: Vec<u32>,
    last: f64,
    sum: f64,
    found: Option<(Vec<u32>, Vec<u32>, Vec<f64>)>,
}

/// Whether the arrays represent a problem completely for this search.
pub(super) fn is_faithful(problem: &Problem<'_>, compact: &Compact) -> bool {
    let workflow = problem.workflow();
    let rigid = |t: &slackline_model::TaskId| {
        let (least, most) = workflow.width(*t);
        least == most
    };
    let fresh = compact.avail.iter().all(|&date| date == problem.state().now);
    let queues = problem.has_staging() && problem.lanes().is_some();
    let runs = problem.state().fixed.iter().flatten().any(|p| p.finish > problem.state().now);
    compact.tasks.iter().all(rigid) && fresh && !queues && !runs
}

impl<'c, 'p> Search<'c, 'p> {
    pub(super) fn new(
        problem: &'c Problem<'p>,
        compact: &'c Compact,
        bounder: &'c Bounder<'c>,
        makespan: f64,
        (budget, most_nodes): (Budget, u64),
    ) -> Search<'c, 'p> {
        let (n, banks) = (compact.len(), compact.banks());
        let pools = problem.pools();
        let mut capacity: Vec<u64> = (0..banks).map(|b| compact.cores(b).len() as u64).collect();
        capacity.extend(pools.all().iter().map(|pool| pool.capacity));
        let mut takes: Vec<Arc<[(u32, u64)]>> = Vec::with_capacity(n * banks);
        for (index, &task) in compact.tasks.iter().enumerate() {
            let width = compact.width[index];
            for bank in 0..banks {
                let host = problem.host_of(compact.procs[compact.cores(bank).start]);
                let mut own = vec![(bank as u32, u64::from(width))];
                pools.each_use(problem.workflow(), task, (host, width, width), |pool, amount| {
                    if pools.all()[pool as usize].binds {
                        own.push((banks as u32 + pool, amount));
                    }
                });
                takes.push(own.into());
            }
        }
        let levels = bounder.levels();
        let mut least = vec![(f64::INFINITY, f64::INFINITY); n];
        let mut area = vec![f64::INFINITY; n * capacity.len()];
        let mut here = vec![0.0; capacity.len()];
        for task in 0..n {
            for bank in 0..banks {
                let (at, seconds) = (task * banks + bank, compact.seconds(task, bank));
                if !seconds.is_finite() {
                    continue;
                }
                least[task].0 = least[task].0.min(seconds);
                least[task].1 = least[task].1.min(levels.tail[at]);
                here.fill(0.0);
                for &(of, amount) in takes[at].iter() {
                    here[of as usize] = amount as f64 * seconds;
                }
                let row = &mut area[task * capacity.len()..(task + 1) * capacity.len()];
                row.iter_mut().zip(&here).for_each(|(least, &here)| *least = least.min(here));
            }
        }
        let reach = |task: usize| {
            let mut longest = 0.0f64;
            for &(_, data) in compact.children.of(task) {
                for from in 0..banks {
                    for to in (0..banks).filter(|&to| to != from) {
                        let seconds = compact.transfer(data, from, to);
                        longest = longest.max(if seconds.is_finite() { seconds } else { 0.0 });
                    }
                }
            }
            longest
        };
        let mut search = Search {
            problem,
            compact,
            bounder,
            budget,
            nodes: 0,
            most_nodes,
            over: false,
            cutoff: f64::INFINITY,
            levels,
            capacity,
            takes,
            least,
            area,
            reach: (0..n).map(reach).collect(),
            memo: Memo::default(),
            placed: 0,
            order: Vec::with_capacity(n),
            bank: vec![0; n],
            start: vec![0.0; n],
            finish: vec![0.0; n],
            missing: (0..n).map(|t| compact.parents.of(t).len() as u32).collect(),
            last: 0.0,
            sum: 0.0,
            found: None,
        };
        search.cut(makespan);
        search
    }

    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    fn cut(&mut self, makespan: f64) {
        self.cutoff = match self.bounder.granule() {
            Some(g) => makespan - g * 0.5,
            None => makespan * (1.0 - 1e-9),
        };
    }

    /// Searches everything; the least bound of what was left unsearched, if anything was.
    pub(super) fn run(&mut self) -> Option<f64> {
        let open = self.visit(0.0);
        open.is_finite().then_some(open)
    }

    fn is_placed(&self, task: usize) -> bool {
        self.placed >> task & 1 == 1
    }

    fn visit(&mut self, bound: f64) -> f64 {
        self.nodes += 1;
        if self.nodes >= self.most_nodes
            || (self.nodes.is_multiple_of(SLICE) && self.budget.is_over())
        {
            self.over = true;
        }
        if self.order.len() == self.compact.len() {
            let end = self.finish.iter().copied().fold(self.compact.past, f64::max);
            if end <= self.cutoff {
                self.found = Some((self.order.clone(), self.bank.clone(), self.start.clone()));
                self.budget.found(end);
                self.cut(end);
            }
            return f64::INFINITY;
        }
        let Some(bound) = self.bound(bound) else { return f64::INFINITY };
        if self.seen() {
            return f64::INFINITY;
        }
        let mut open = f64::INFINITY;
        for child in self.children(bound) {
            if child.bound > self.cutoff {
                continue;
            }
            if self.over {
                open = open.min(child.bound);
                continue;
            }
            let (last, sum) = (self.last, self.sum);
            self.begin(child);
            open = open.min(self.visit(child.bound));
            self.take_back(child.task);
            (self.last, self.sum) = (last, sum);
        }
        open
    }

    /// The least end of any completion; none when that is beyond the cutoff.
    fn bound(&self, known: f64) -> Option<f64> {
        let n = self.compact.len();
        let mut bound = known;
        // Tasks are numbered with parents first.
        let mut ready = vec![0.0f64; n];
        for task in 0..n {
            if self.is_placed(task) {
                ready[task] = self.finish[task];
                bound = bound.max(self.finish[task]);
                continue;
            }
            let mut head = self.last.max(self.compact.release[task]);
            for &(parent, _) in self.compact.parents.of(task) {
                head = head.max(ready[parent as usize]);
            }
            let (seconds, tail) = self.least[task];
            ready[task] = head + seconds;
            bound = bound.max(head + seconds + tail);
        }
        if bound > self.cutoff {
            return None;
        }
        let (count, banks) = (self.capacity.len(), self.compact.banks());
        for (of, &capacity) in self.capacity.iter().enumerate() {
            let open = (0..n).filter(|&t| !self.is_placed(t));
            let mut area: f64 = open.map(|t| self.area[t * count + of]).sum();
            if area == 0.0 {
                continue;
            }
            for &task in &self.order {
                let task = task as usize;
                let left = self.finish[task] - self.last;
                if left > 0.0 {
                    let takes = &self.takes[task * banks + self.bank[task] as usize];
                    let own = takes.iter().find(|take| take.0 as usize == of);
                    area += own.map_or(0.0, |take| take.1 as f64 * left);
                }
            }
            bound = bound.max(self.last + area / capacity as f64 * (1.0 - 1e-12));
            if bound > self.cutoff {
                return None;
            }
        }
        Some(bound)
    }

    /// Whether a node at least as good was visited before.
    fn seen(&mut self) -> bool {
        let now = self.last;
        let mut key = Vec::with_capacity(16 + self.compact.len());
        key.extend_from_slice(&self.placed.to_le_bytes());
        let mut dates = Vec::with_capacity(2 * self.compact.len() + 2);
        for task in (0..self.compact.len()).filter(|&t| self.is_placed(t)) {
            let children = self.compact.children.of(task);
            let feeds = children.iter().any(|&(c, _)| !self.is_placed(c as usize));
            if feeds || self.finish[task] > now {
                key.extend_from_slice(&(task as u16).to_le_bytes());
                key.extend_from_slice(&(self.bank[task] as u16).to_le_bytes());
                let there = self.finish[task] + self.reach[task];
                dates.push(self.finish[task].max(now));
                dates.push(if feeds { there.max(now) } else { 0.0 });
            }
        }
        dates.push(now);
        dates.push(self.sum);
        self.memo.dominated(&key, &dates)
    }

    fn children(&self, known: f64) -> Vec<Child> {
        let (compact, banks) = (self.compact, self.compact.banks());
        let mut children = Vec::new();
        for task in (0..compact.len()).filter(|&t| !self.is_placed(t) && self.missing[t] == 0) {
            for bank in 0..banks {
                let (at, seconds) = (task * banks + bank, compact.seconds(task, bank));
                if !seconds.is_finite() {
                    continue;
                }
                let start = self.earliest(task, bank, seconds);
                if start.is_infinite() || approx::lt(start, self.last) {
                    continue;
                }
                let start = start.max(self.last);
                let behind = seconds + self.levels.tail[at];
                let bound = known.max(start + behind);
                children.push(Child { task, bank, start, behind, bound });
            }
        }
        children.sort_by(|a, b| a.start.total_cmp(&b.start).then(b.behind.total_cmp(&a.behind)));
        children
    }

    /// The earliest start of a task at a bank beside all that are placed.
    fn earliest(&self, task: usize, bank: usize, seconds: f64) -> f64 {
        let compact = self.compact;
        let mut start = compact.base(task, bank).max(compact.open[bank]);
        for &(parent, data) in compact.parents.of(task) {
            let from = self.bank[parent as usize] as usize;
            start = start.max(self.finish[parent as usize] + compact.transfer(data, from, bank));
        }
        let host = self.problem.host_of(compact.procs[compact.cores(bank).start]);
        let takes = &self.takes[task * compact.banks() + bank];
        if takes.iter().any(|&(of, amount)| amount > self.capacity[of as usize]) {
            return f64::INFINITY;
        }
        loop {
            let before = start;
            if seconds > 0.0 {
                for take in takes.iter() {
                    start = self.room(take, start, seconds);
                }
            }
            start = self.problem.pools().in_window(host, start, seconds);
            if start <= before || start.is_infinite() {
                return start;
            }
        }
    }

    /// The earliest date from which there is room for so long.
    fn room(&self, &(of, amount): &(u32, u64), from: f64, seconds: f64) -> f64 {
        let banks = self.compact.banks();
        let room = self.capacity[of as usize] - amount;
        let takers = || {
            self.order.iter().map(|&t| t as usize).filter_map(|t| {
                let takes = &self.takes[t * banks + self.bank[t] as usize];
                let own = takes.iter().find(|take| take.0 == of)?.1;
                (self.finish[t] > self.start[t]).then_some((self.start[t], self.finish[t], own))
            })
        };
        let mut start = from;
        loop {
            let used = |date: f64| -> u64 {
                let holds = |t: &(f64, f64, u64)| approx::le(t.0, date) && approx::lt(date, t.1);
                takers().filter(holds).map(|t| t.2).sum()
            };
            // Use only rises where a task begins.
            let inside =
                |date: &f64| approx::lt(start, *date) && approx::lt(*date, start + seconds);
            let rises = takers().map(|t| t.0).filter(inside);
            let full = std::iter::once(start).chain(rises).find(|&date| used(date) > room);
            let Some(full) = full else { return start };
            let ends = takers().map(|t| t.1).filter(|&end| approx::lt(full, end));
            start = ends.fold(f64::INFINITY, f64::min);
        }
    }

    fn begin(&mut self, child: Child) {
        let Child { task, bank, start, .. } = child;
        self.placed |= 1 << task;
        self.order.push(task as u32);
        self.bank[task] = bank as u32;
        self.start[task] = start;
        self.finish[task] = start + self.compact.seconds(task, bank);
        self.last = start;
        self.sum += start;
        for &(child, _) in self.compact.children.of(task) {
            self.missing[child as usize] -= 1;
        }
    }

    fn take_back(&mut self, task: usize) {
        for &(child, _) in self.compact.children.of(task) {
            self.missing[child as usize] += 1;
        }
        self.order.pop();
        self.placed &= !(1 << task);
        self.finish[task] = 0.0;
    }

    /// The best plan found, every task on the lowest cores of its host that are idle.
    pub(super) fn schedule(&self) -> Option<Schedule> {
        let (order, bank, start) = self.found.as_ref()?;
        let compact = self.compact;
        let mut schedule = Schedule::start(self.problem);
        let mut free = vec![0.0f64; compact.procs.len()];
        for &task in order {
            let t = task as usize;
            let cores = compact.cores(bank[t] as usize);
            let finish = start[t] + compact.seconds(t, bank[t] as usize);
            let idle = |core: &usize| approx::le(free[*core], start[t]) || finish == start[t];
            let chosen: Vec<usize> = cores.filter(idle).take(compact.width[t] as usize).collect();
            for &core in chosen.iter().filter(|_| finish > start[t]) {
                free[core] = finish;
            }
            let procs: Vec<ProcId> = chosen.iter().map(|&core| compact.procs[core]).collect();
            schedule.place(compact.tasks[t], Placement::wide(&procs, start[t], finish));
        }
        Some(schedule)
    }
}
