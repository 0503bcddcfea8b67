//! The depth-first search over partial schedules.

use super::memo::Memo;
use crate::bounds::Bounder;
use crate::bounds::levels::{Levels, Scratch, View};
use crate::budget::Budget;
use crate::compact::Compact;

/// Nodes between two checks of the clock.
const SLICE: u64 = 1024;

/// One more task started.
#[derive(Clone, Copy, Debug)]
struct Child {
    task: usize,
    bank: usize,
    start: f64,
    /// Its own time and what follows it.
    behind: f64,
    /// No completion ends before.
    bound: f64,
}

/// State that a step changed in addition to the task itself, for undoing.
struct Undo {
    core: usize,
    avail: f64,
    gap: bool,
    last: f64,
    sum: f64,
}

pub(super) struct Search<'c> {
    compact: &'c Compact,
    bounder: &'c Bounder<'c>,
    budget: Budget,
    nodes: u64,
    most_nodes: u64,
    over: bool,
    /// Completions must not end after this to be worth looking for.
    cutoff: f64,
    /// Remaining possibilities at the root, and the tails that follow.
    view: View<'c>,
    levels: Levels,
    scratch: Scratch,
    memo: Memo,
    /// A lower bank that is the same as long as both are unused.
    twin: Vec<Vec<usize>>,
    /// Longest transfer to any child.
    reach: Vec<f64>,
    // The partial schedule.
    placed: u128,
    order: Vec<u32>,
    bank: Vec<u32>,
    finish: Vec<f64>,
    avail: Vec<f64>,
    used: Vec<u32>,
    gaps: Vec<Vec<(f64, f64)>>,
    /// The latest start.
    last: f64,
    /// The sum of all starts.
    sum: f64,
    /// Least end of any completion of the current node.
    bound: f64,
    missing: Vec<u32>,
    // The best one found.
    found: Option<(Vec<u32>, Vec<u32>)>,
}

impl<'c> Search<'c> {
    pub(super) fn new(
        compact: &'c Compact,
        bounder: &'c Bounder<'c>,
        makespan: f64,
        budget: Budget,
        most_nodes: u64,
    ) -> Search<'c> {
        let n = compact.len();
        let alike = |s: usize| (0..s).filter(|&t| compact.alike(t, s)).collect();
        let reach = |task: usize| {
            let mut longest = 0.0f64;
            for &(_, data) in compact.children.of(task) {
                for from in 0..compact.banks() {
                    for to in 0..compact.banks() {
                        let seconds = compact.transfer(data, from, to);
                        if seconds.is_finite() {
                            longest = longest.max(seconds);
                        }
                    }
                }
            }
            longest
        };
        let mut search = Search {
            compact,
            bounder,
            budget,
            nodes: 0,
            most_nodes,
            over: false,
            cutoff: f64::INFINITY,
            view: bounder.view().clone(),
            levels: bounder.levels(),
            scratch: Scratch::default(),
            memo: Memo::default(),
            twin: (0..compact.banks()).map(alike).collect(),
            reach: (0..n).map(reach).collect(),
            placed: 0,
            order: Vec::with_capacity(n),
            bank: vec![0; n],
            finish: vec![0.0; n],
            avail: compact.avail.clone(),
            used: vec![0; compact.banks()],
            gaps: vec![Vec::new(); compact.banks()],
            last: 0.0,
            sum: 0.0,
            bound: 0.0,
            missing: (0..n).map(|t| compact.parents.of(t).len() as u32).collect(),
            found: None,
        };
        search.cut(makespan);
        search
    }

    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    pub(super) fn found(&self) -> Option<(&[u32], &[u32])> {
        self.found.as_ref().map(|(order, bank)| (order.as_slice(), bank.as_slice()))
    }

    /// From now on only shorter plans count.
    fn cut(&mut self, makespan: f64) {
        self.cutoff = match self.bounder.granule() {
            Some(g) => makespan - g * 0.5,
            None => makespan * (1.0 - 1e-9),
        };
    }

    /// Searches everything; the least bound of what was left unsearched, if anything was.
    pub(super) fn run(&mut self) -> Option<f64> {
        // What cannot be part of a shorter plan is ruled out once for all; if that leaves nothing,
        // everything is searched.
        (self.view, self.levels) = self.bounder.restricted(self.cutoff)?;
        let open = self.visit();
        open.is_finite().then_some(open)
    }

    /// Searches below the current node; the least bound of what was left unsearched.
    fn visit(&mut self) -> f64 {
        self.nodes += 1;
        if self.nodes >= self.most_nodes
            || (self.nodes.is_multiple_of(SLICE) && self.budget.is_over())
        {
            self.over = true;
        }
        if self.order.len() == self.compact.len() {
            self.complete();
            return f64::INFINITY;
        }
        if !self.promising() || self.seen() {
            return f64::INFINITY;
        }
        let seconds = self.view.seconds.clone();
        let head = self.levels.head.clone();
        let mut open = f64::INFINITY;
        for child in self.children() {
            if child.bound > self.cutoff {
                continue;
            }
            if self.over {
                open = open.min(child.bound);
                continue;
            }
            let undo = self.start(child);
            open = open.min(self.visit());
            self.take_back(child, undo);
            self.view.seconds.copy_from_slice(&seconds);
            self.levels.head.copy_from_slice(&head);
        }
        open
    }

    fn complete(&mut self) {
        let end = self.finish.iter().copied().fold(self.compact.past, f64::max);
        if end <= self.cutoff {
            self.found = Some((self.order.clone(), self.bank.clone()));
            self.budget.found(end);
            self.cut(end);
        }
    }

    fn is_placed(&self, task: usize) -> bool {
        self.placed >> task & 1 == 1
    }

    /// Renews the heads of all unplaced tasks and rules out banks; false when no completion can
    /// stay below the cutoff.
    fn promising(&mut self) -> bool {
        let (compact, banks) = (self.compact, self.compact.banks());
        self.bound = 0.0;
        for bank in 0..banks {
            let first =
                self.avail[compact.cores(bank)].iter().copied().fold(f64::INFINITY, f64::min);
            self.view.open[bank] = first.max(self.last);
        }
        for task in 0..compact.len() {
            if self.is_placed(task) {
                continue;
            }
            self.levels.head_of(&self.view, task, &mut self.scratch);
            let mut least = f64::INFINITY;
            for at in task * banks..(task + 1) * banks {
                let head = self.levels.head[at].max(self.last);
                self.levels.head[at] = head;
                let end = head + self.view.seconds[at] + self.levels.tail[at];
                if end > self.cutoff {
                    self.view.seconds[at] = f64::INFINITY;
                } else {
                    least = least.min(end);
                }
            }
            if least > self.cutoff {
                return false;
            }
            self.bound = self.bound.max(least);
        }
        self.work_fits() && self.banks_fit()
    }

    /// The remaining work fits between now and the cutoff.
    fn work_fits(&self) -> bool {
        let (compact, banks) = (self.compact, self.compact.banks());
        let mut room = 0.0;
        let mut work = 0.0;
        for task in (0..compact.len()).filter(|&t| !self.is_placed(t)) {
            let row = &self.view.seconds[task * banks..(task + 1) * banks];
            work += row.iter().copied().fold(f64::INFINITY, f64::min);
        }
        for bank in 0..banks {
            let (mut head, mut tail) = (f64::INFINITY, f64::INFINITY);
            for task in (0..compact.len()).filter(|&t| !self.is_placed(t)) {
                let at = task * banks + bank;
                if self.view.seconds[at].is_finite() {
                    head = head.min(self.levels.head[at]);
                    tail = tail.min(self.levels.tail[at]);
                }
            }
            for core in compact.cores(bank) {
                room += (self.cutoff - tail - self.avail[core].max(head)).max(0.0);
            }
        }
        work <= room * (1.0 + 1e-9)
    }

    /// On banks of one core, the tasks that can go nowhere else fit one after the other.
    fn banks_fit(&self) -> bool {
        let (compact, banks) = (self.compact, self.compact.banks());
        let mut forced: Vec<(f64, f64, f64)> = Vec::new();
        for bank in (0..banks).filter(|&s| compact.cores(s).len() == 1) {
            forced.clear();
            for task in (0..compact.len()).filter(|&t| !self.is_placed(t)) {
                let row = &self.view.seconds[task * banks..(task + 1) * banks];
                let elsewhere = |s: usize| s != bank && row[s].is_finite();
                if row[bank].is_finite() && !(0..banks).any(elsewhere) {
                    let at = task * banks + bank;
                    forced.push((self.levels.head[at], row[bank], self.levels.tail[at]));
                }
            }
            if forced.len() < 2 {
                continue;
            }
            forced.sort_by(|a, b| b.0.total_cmp(&a.0));
            // Any set of them takes from its first head through its work to its least tail: for
            // each least tail, the tasks of at least that tail by falling head.
            for &(_, _, least) in &forced {
                let mut sum = 0.0;
                for &(head, seconds, tail) in &forced {
                    if tail >= least {
                        sum += seconds;
                        if head + sum + least > self.cutoff * (1.0 + 1e-12) {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    /// Whether a node at least as good was visited before.
    fn seen(&mut self) -> bool {
        let compact = self.compact;
        let now = self.last;
        let mut key = Vec::with_capacity(16 + compact.len());
        key.extend_from_slice(&self.placed.to_le_bytes());
        let mut dates = Vec::with_capacity(compact.len() + self.avail.len() + 3);
        for task in (0..compact.len()).filter(|&t| self.is_placed(t)) {
            if compact.children.of(task).iter().any(|&(c, _)| !self.is_placed(c as usize)) {
                key.extend_from_slice(&(self.bank[task] as u16).to_le_bytes());
                // Data that is everywhere by now does not matter any more.
                dates.push((self.finish[task] + self.reach[task]).max(now));
            }
        }
        for bank in 0..compact.banks() {
            let from = dates.len();
            dates.extend(self.avail[compact.cores(bank)].iter().map(|a| a.max(now)));
            dates[from..].sort_by(f64::total_cmp);
        }
        dates.push(now);
        dates.push(self.sum);
        self.memo.dominated(&key, &dates)
    }

    /// Lists the tasks and banks that can start next, most urgent first.
    fn children(&self) -> Vec<Child> {
        let (compact, banks) = (self.compact, self.compact.banks());
        let mut children = Vec::new();
        for task in (0..compact.len()).filter(|&t| !self.is_placed(t) && self.missing[t] == 0) {
            for bank in 0..banks {
                let at = task * banks + bank;
                let seconds = self.view.seconds[at];
                if !seconds.is_finite() || self.has_unused_twin(bank) {
                    continue;
                }
                let arrival = self.arrival(task, bank);
                let (_, avail) = self.core_for(bank, arrival);
                let start = if seconds == 0.0 { arrival } else { arrival.max(avail) };
                if start < self.last {
                    continue;
                }
                let fits = |&(from, to): &(f64, f64)| arrival.max(from) + seconds <= to;
                if seconds > 0.0 && self.gaps[bank].iter().any(fits) {
                    continue;
                }
                let bound = self.bound.max(start + seconds + self.levels.tail[at]);
                let behind = seconds + self.levels.tail[at];
                children.push(Child { task, bank, start, behind, bound });
            }
        }
        // Early starts first, of equal ones what has most behind it; the banks of a tie in order.
        children.sort_by(|a, b| a.start.total_cmp(&b.start).then(b.behind.total_cmp(&a.behind)));
        children
    }

    fn has_unused_twin(&self, bank: usize) -> bool {
        self.used[bank] == 0 && self.twin[bank].iter().any(|&twin| self.used[twin] == 0)
    }

    fn arrival(&self, task: usize, bank: usize) -> f64 {
        let mut ready = self.compact.base(task, bank).max(self.compact.open[bank]);
        for &(parent, data) in self.compact.parents.of(task) {
            let from = self.bank[parent as usize] as usize;
            let arrival = self.finish[parent as usize] + self.compact.transfer(data, from, bank);
            ready = ready.max(arrival);
        }
        ready
    }

    /// The core of a bank to use from a date on: of the free ones the last to become free, else
    /// the first to be free.
    fn core_for(&self, bank: usize, ready: f64) -> (usize, f64) {
        let range = self.compact.cores(bank);
        let mut core = range.start;
        for other in range.start + 1..range.end {
            let (best, at) = (self.avail[core], self.avail[other]);
            if (best <= ready && at <= ready && at > best) || (best > ready && at < best) {
                core = other;
            }
        }
        (core, self.avail[core])
    }

    fn start(&mut self, child: Child) -> Undo {
        let Child { task, bank, start, .. } = child;
        let banks = self.compact.banks();
        let seconds = self.view.seconds[task * banks + bank];
        let (core, avail) = self.core_for(bank, start);
        let gap = seconds > 0.0 && start > avail;
        if gap {
            self.gaps[bank].push((avail, start));
        }
        let undo = Undo { core, avail, gap, last: self.last, sum: self.sum };
        if seconds > 0.0 {
            self.avail[core] = start + seconds;
        }
        self.placed |= 1 << task;
        self.order.push(task as u32);
        self.bank[task] = bank as u32;
        self.finish[task] = start + seconds;
        self.used[bank] += 1;
        self.last = start;
        self.sum += start;
        for &(child, _) in self.compact.children.of(task) {
            self.missing[child as usize] -= 1;
        }
        // For the heads below, the task is where it is.
        for at in task * banks..(task + 1) * banks {
            if at % banks != bank {
                self.view.seconds[at] = f64::INFINITY;
            }
        }
        self.levels.head[task * banks + bank] = start;
        undo
    }

    fn take_back(&mut self, child: Child, undo: Undo) {
        let Child { task, bank, .. } = child;
        for &(child, _) in self.compact.children.of(task) {
            self.missing[child as usize] += 1;
        }
        self.sum = undo.sum;
        self.last = undo.last;
        self.used[bank] -= 1;
        self.order.pop();
        self.placed &= !(1 << task);
        self.avail[undo.core] = undo.avail;
        if undo.gap {
            self.gaps[bank].pop();
        }
    }
}
