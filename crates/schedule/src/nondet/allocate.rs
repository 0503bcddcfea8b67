//! Number of machines of each task of a sub-workflow.

use super::fleet::{Batch, Fleet, Kinds, Spot, bottom_levels};
use super::{Area, Method, Options, Pool, Rate};
use slackline_model::approx;
use std::cmp::Ordering;

/// An allocation of a sub-workflow, and what it comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The kind of machines.
    pub kind: usize,
    /// Machines per task, in the order of the tasks.
    pub widths: Vec<u32>,
    /// Most machines while mapping.
    pub machines: u32,
    /// End of the last task, from the release on.
    pub makespan: f64,
    /// Money that it adds to the bill.
    pub cost: f64,
    /// Number of the candidate among those of its kind.
    pub(super) number: u32,
}

/// A sub-workflow to allocate: tasks in file order, and where and when it begins.
pub(super) struct Part<'a> {
    pub(super) tasks: &'a [u32],
    pub(super) waits: &'a [Vec<usize>],
    /// When what it waits for outside is there.
    pub(super) ready: &'a [f64],
    pub(super) now: f64,
    pub(super) fleet: &'a Fleet,
    /// Cost of all leases so far.
    pub(super) spent: f64,
}

/// The widths of one part on one kind of machines.
struct Widths<'a> {
    part: &'a Part<'a>,
    kinds: &'a Kinds<'a>,
    kind: usize,
    widths: Vec<u32>,
    most: Vec<u32>,
    seconds: Vec<f64>,
    after: Vec<Vec<usize>>,
}

impl<'a> Widths<'a> {
    fn new(part: &'a Part<'a>, kinds: &'a Kinds<'a>, kind: usize) -> Widths<'a> {
        let limits: Vec<(u32, u32)> =
            part.tasks.iter().map(|&t| kinds.widths(kind, t).unwrap_or((1, 1))).collect();
        let widths: Vec<u32> = limits.iter().map(|l| l.0).collect();
        let seconds = part.tasks.iter().zip(&widths).map(|(&t, &w)| kinds.seconds(kind, t, w));
        let mut after = vec![Vec::new(); part.tasks.len()];
        for (at, list) in part.waits.iter().enumerate() {
            list.iter().for_each(|&w| after[w].push(at));
        }
        Widths {
            seconds: seconds.collect(),
            most: limits.iter().map(|l| l.1).collect(),
            widths,
            part,
            kinds,
            kind,
            after,
        }
    }

    /// Length of the critical path, and one such path.
    fn path(&self) -> (f64, Vec<usize>) {
        let levels = bottom_levels(self.part.waits, &self.seconds);
        let longest = |among: &mut dyn Iterator<Item = usize>| {
            let mut best: Option<usize> = None;
            for at in among {
                if best.is_none_or(|b| approx::gt(levels[at], levels[b])) {
                    best = Some(at);
                }
            }
            best
        };
        let starts = (0..levels.len()).filter(|&at| self.part.waits[at].is_empty());
        let mut next = longest(&mut starts.into_iter());
        let length = next.map_or(0.0, |at| levels[at]);
        let mut path = Vec::new();
        while let Some(at) = next {
            path.push(at);
            next = longest(&mut self.after[at].iter().copied());
        }
        (length, path)
    }

    /// Time saved per machine by one more.
    fn gain(&self, at: usize) -> f64 {
        let wider = self.widths[at] + 1;
        let more = self.kinds.seconds(self.kind, self.part.tasks[at], wider);
        let now = self.seconds[at] / f64::from(self.widths[at]);
        let gain = now - more / f64::from(wider);
        if approx::eq(now, more / f64::from(wider)) { 0.0 } else { gain }
    }

    fn over(&self, at: usize, width: u32) -> f64 {
        let seconds = match width == self.widths[at] {
            true => self.seconds[at],
            false => self.kinds.seconds(self.kind, self.part.tasks[at], width),
        };
        f64::from(width) * self.kinds.all()[self.kind].billing.billed_seconds(seconds)
    }

    fn total(&self, size: impl Fn(usize) -> f64) -> f64 {
        (0..self.widths.len()).map(size).sum()
    }

    /// The task of largest gain, ties in file order.
    fn best(&self, path: &[usize], may_grow: impl Fn(usize) -> bool) -> Option<usize> {
        let mut path = path.to_vec();
        path.sort_unstable();
        let mut best: Option<(usize, f64)> = None;
        for at in path {
            if self.widths[at] >= self.most[at] || !may_grow(at) {
                continue;
            }
            let gain = self.gain(at);
            if gain > 0.0 && best.is_none_or(|(_, most)| approx::gt(gain, most)) {
                best = Some((at, gain));
            }
        }
        best.map(|(at, _)| at)
    }

    fn widen(&mut self, at: usize) {
        self.widths[at] += 1;
        self.seconds[at] = self.kinds.seconds(self.kind, self.part.tasks[at], self.widths[at]);
    }

    /// Evaluates the present widths on so many machines.
    fn candidate(&self, machines: u32, number: u32) -> Candidate {
        let part = self.part;
        let mut fleet = part.fleet.clone();
        let batch =
            Batch { tasks: part.tasks, waits: part.waits, ready: part.ready, widths: &self.widths };
        let spots = fleet.place(self.kinds, self.kind, machines, part.now, &batch);
        let end = spots.iter().map(|s: &Spot| s.end).fold(part.now, f64::max);
        Candidate {
            kind: self.kind,
            widths: self.widths.clone(),
            machines,
            makespan: end - part.now,
            cost: fleet.bill(self.kinds) - part.spent,
            number,
        }
    }

    fn eager(mut self, budget: f64, rate: Rate, number: u32) -> Candidate {
        let price = self.kinds.all()[self.kind].price;
        let count = self.kinds.all()[self.kind].count();
        let (start, _) = self.path();
        loop {
            let (length, path) = self.path();
            let cost = price * self.total(|at| self.over(at, self.widths[at]));
            // T_CP > T_A = cost / R with R = budget / T_CP, without a division by nothing.
            let goes_on = match rate {
                Rate::Start => approx::gt(length * budget, cost * start),
                Rate::Current => approx::gt(budget, cost),
            };
            if !goes_on {
                break;
            }
            let affords = |at: usize| {
                let other = |o: usize| {
                    self.over(o, if o == at { self.widths[o] + 1 } else { self.widths[o] })
                };
                Options::affords(price * self.total(other), budget)
            };
            match self.best(&path, affords) {
                Some(at) => self.widen(at),
                None => break,
            }
        }
        self.candidate(count, number)
    }

    fn deferred(mut self, pool: Pool, area: Area, found: &mut Vec<Candidate>) {
        let count = self.kinds.all()[self.kind].count();
        for j in 1..=count {
            let cap = if pool == Pool::Tight { j } else { count };
            if self.widths.iter().any(|&w| w > cap) {
                // A task needs more machines than this candidate has.
                continue;
            }
            loop {
                let (length, path) = self.path();
                let size = |at: usize| match area {
                    Area::Over => self.over(at, self.widths[at]),
                    Area::Exact => f64::from(self.widths[at]) * self.seconds[at],
                };
                if !approx::gt(length, self.total(size) / f64::from(j)) {
                    break;
                }
                match self.best(&path, |at| self.widths[at] < cap) {
                    Some(at) => self.widen(at),
                    None => break,
                }
            }
            found.push(self.candidate(cap, j));
        }
    }
}

/// All candidates of a method on the kinds that can run the part.
pub(super) fn candidates(
    part: &Part<'_>,
    kinds: &Kinds<'_>,
    able: &[usize],
    budget: f64,
    options: &Options,
) -> Vec<Candidate> {
    let mut found = Vec::new();
    for &kind in able {
        let widths = || Widths::new(part, kinds, kind);
        match options.method {
            Method::Eager => found.push(widths().eager(budget, options.rate, 0)),
            Method::Deferred => widths().deferred(options.pool, options.area, &mut found),
            Method::Combined => {
                found.push(widths().eager(budget, Rate::Start, 0));
                found.push(widths().eager(budget, Rate::Current, 0));
                for pool in [Pool::Tight, Pool::All] {
                    for area in [Area::Over, Area::Exact] {
                        widths().deferred(pool, area, &mut found);
                    }
                }
            }
        }
    }
    found
}

/// The fastest candidate within the budget, else the cheapest; and whether it is within.
pub(super) fn choose(candidates: Vec<Candidate>, budget: f64) -> Option<(Candidate, bool)> {
    let any = candidates.iter().any(|c| Options::affords(c.cost, budget));
    let better = |a: &Candidate, b: &Candidate| {
        let (time, money) = (approx::cmp(a.makespan, b.makespan), approx::cmp(a.cost, b.cost));
        let (first, second) = if any { (time, money) } else { (money, time) };
        let rest = a.machines.cmp(&b.machines).then(a.number.cmp(&b.number));
        first.then(second).then(rest).then(a.kind.cmp(&b.kind)) == Ordering::Less
    };
    let mut best: Option<Candidate> = None;
    for candidate in candidates {
        let fits = !any || Options::affords(candidate.cost, budget);
        if fits && best.as_ref().is_none_or(|b| better(&candidate, b)) {
            best = Some(candidate);
        }
    }
    best.map(|best| {
        let feasible = Options::affords(best.cost, budget);
        (best, feasible)
    })
}
