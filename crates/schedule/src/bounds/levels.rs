//! Heads and tails: the earliest start of a task at a bank (a set of equal processors between which data are free, see
//! [`FlatProblem`]), and the least time from its end to that of the schedule, transfers included.
//!
//! The tail of `t` at `s` is at least, for every child, the best of running it on the spot or
//! elsewhere after its transfer (the optimistic cost table of PEFT, with the exact transfer time of
//! each pair of banks in place of the mean, which makes it a bound on any network). Children that
//! would come too late from elsewhere must run on the spot, one after the other where the bank has
//! one core: their sequence is a bound too. Heads are the mirror image. O(e s) on a
//! uniform network, O(e s^2) on others, for s banks.

use crate::flat_problem::{FlatProblem, Links};

/// Most children or parents that are tried on the spot: the list of them is kept sorted by insertion, which is quadratic.
const MOST_LOCAL: usize = 24;

/// A problem as the bounds see it: the times of tasks at banks, and when banks are free.
#[derive(Clone, Debug)]
pub(crate) struct View<'c> {
    /// The problem as flat arrays.
    pub(crate) compact: &'c FlatProblem,
    /// Least seconds of task x bank, whatever the width; infinite where excluded.
    pub(crate) seconds: Vec<f64>,
    /// When the first core of each bank is free.
    pub(crate) open: Vec<f64>,
}

/// Heads and tails of every task at every bank (`task * banks + bank`).
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    pub(crate) head: Vec<f64>,
    pub(crate) tail: Vec<f64>,
}

/// Number of elementary steps that [`Levels::of`] takes.
pub(crate) fn effort(compact: &FlatProblem) -> f64 {
    let banks = compact.banks() as f64;
    let per_edge = if compact.uniform() { banks } else { banks * banks };
    compact.parents.len() as f64 * per_edge + compact.len() as f64 * banks
}

impl Levels {
    /// Heads and tails of all tasks.
    pub(crate) fn of(view: &View<'_>) -> Levels {
        let (n, banks) = (view.compact.len(), view.compact.banks());
        let mut levels = Levels { head: vec![0.0; n * banks], tail: vec![0.0; n * banks] };
        let mut scratch = Scratch::default();
        for task in (0..n).rev() {
            levels.tail_of(view, task, &mut scratch);
        }
        for task in 0..n {
            levels.head_of(view, task, &mut scratch);
        }
        levels
    }

    /// The bound by single tasks: the largest over all tasks of head + seconds + tail at their best bank.
    pub(crate) fn longest(&self, view: &View<'_>) -> f64 {
        let banks = view.compact.banks();
        let through = |i: usize| self.head[i] + view.seconds[i] + self.tail[i];
        (0..view.compact.len())
            .map(|t| (t * banks..(t + 1) * banks).map(through).fold(f64::INFINITY, f64::min))
            .fold(0.0, f64::max)
    }

    fn tail_of(&mut self, view: &View<'_>, task: usize, scratch: &mut Scratch) {
        let banks = view.compact.banks();
        let Levels { tail, .. } = self;
        let cost = |relative: usize, bank: usize| {
            let at = relative * banks + bank;
            view.seconds[at] + tail[at]
        };
        scratch.gather(view, task, &view.compact.children, cost, |bank, other| (bank, other));
        for bank in 0..banks {
            let local = |relative: usize| {
                let at = relative * banks + bank;
                (tail[at], view.seconds[at])
            };
            let cores = view.compact.cores(bank).len();
            tail[task * banks + bank] = scratch.least(bank, cores, local);
        }
    }

    /// Computes the head of a task from those of its parents.
    pub(crate) fn head_of(&mut self, view: &View<'_>, task: usize, scratch: &mut Scratch) {
        let banks = view.compact.banks();
        let Levels { head, .. } = self;
        let cost = |relative: usize, bank: usize| {
            let at = relative * banks + bank;
            view.seconds[at] + head[at]
        };
        scratch.gather(view, task, &view.compact.parents, cost, |bank, other| (other, bank));
        for bank in 0..banks {
            let local = |relative: usize| {
                let at = relative * banks + bank;
                (head[at], view.seconds[at])
            };
            let cores = view.compact.cores(bank).len();
            let own = if view.compact.flexible[task] {
                view.compact.release[task]
            } else {
                // A task without length needs no free core.
                let open =
                    if view.seconds[task * banks + bank] > 0.0 { view.open[bank] } else { 0.0 };
                view.compact.base(task, bank).max(open)
            };
            head[task * banks + bank] = own.max(scratch.least(bank, cores, local));
        }
    }
}

/// The relatives (children or parents) of one task.
#[derive(Default)]
pub(crate) struct Scratch {
    relatives: Vec<u32>,
    /// `relative x bank`: seconds of the relative and beyond it, with the transfer, when it is at any bank but the task's.
    remote: Vec<f64>,
    banks: usize,
    order: Vec<u32>,
    local: Vec<(f64, f64)>,
}

impl Scratch {
    /// Fills the cost of every relative for every bank of the task. `ends` turns (bank of the task,
    /// bank of the relative) into (from, to).
    fn gather(
        &mut self,
        view: &View<'_>,
        task: usize,
        links: &Links,
        cost: impl Fn(usize, usize) -> f64,
        ends: impl Fn(usize, usize) -> (usize, usize),
    ) {
        let compact = view.compact;
        self.banks = compact.banks();
        self.relatives.clear();
        self.remote.clear();
        for &(relative, data) in links.of(task) {
            let r = relative as usize;
            self.relatives.push(relative);
            let costs = (0..self.banks).map(|s| cost(r, s));
            // A task on several hosts may receive data where they are: no transfer is certain.
            if compact.flexible[r] || compact.flexible[task] {
                let least = costs.fold(f64::INFINITY, f64::min);
                self.remote.extend(std::iter::repeat_n(least, self.banks));
            } else if compact.uniform() {
                let (mut first, mut second, mut at) = (f64::INFINITY, f64::INFINITY, usize::MAX);
                for (bank, cost) in costs.enumerate() {
                    if cost < first {
                        (second, first, at) = (first, cost, bank);
                    } else if cost < second {
                        second = cost;
                    }
                }
                let moved = if self.banks > 1 { compact.transfer(data, 0, 1) } else { 0.0 };
                let elsewhere = |s| if s == at { second } else { first };
                self.remote.extend((0..self.banks).map(|s| elsewhere(s) + moved));
            } else {
                let costs: Vec<f64> = costs.collect();
                self.remote.extend((0..self.banks).map(|bank| {
                    let mut least = f64::INFINITY;
                    for (other, cost) in costs.iter().enumerate() {
                        if other != bank {
                            let (from, to) = ends(bank, other);
                            least = least.min(cost + compact.transfer(data, from, to));
                        }
                    }
                    least
                }));
            }
        }
    }

    /// Least time for all relatives together when the task is at `bank`; `local` gives
    /// the distance beyond a relative (its own tail or head) and its seconds on the spot.
    fn least(&mut self, bank: usize, cores: usize, local: impl Fn(usize) -> (f64, f64)) -> f64 {
        let (banks, remote) = (self.banks, &self.remote);
        let elsewhere = |k: u32| remote[k as usize * banks + bank];
        self.order.clear();
        self.order.extend(0..self.relatives.len() as u32);
        self.order.sort_unstable_by(|&a, &b| elsewhere(b).total_cmp(&elsewhere(a)));
        // The k relatives that are most expensive elsewhere run on the spot, the others do not.
        let mut best = self.order.first().map_or(0.0, |&k| elsewhere(k));
        self.local.clear();
        for (k, &position) in self.order.iter().enumerate() {
            let entry = local(self.relatives[position as usize] as usize);
            let at = self.local.partition_point(|e| e.0 > entry.0);
            self.local.insert(at, entry);
            let together = on_the_spot(&self.local, cores);
            let rest = self.order.get(k + 1).map_or(0.0, |&k| elsewhere(k));
            if k + 1 == MOST_LOCAL {
                // The other choices have these and more on the spot, and take at least as long.
                return best.min(together);
            }
            best = best.min(together.max(rest));
            // From here on, each further one on the spot can only make it longer.
            if together >= rest || together >= best {
                break;
            }
        }
        best
    }
}

/// Least span of `(distance, seconds)` entries, sorted by falling distance, on the cores of one
/// bank: one core takes them in that order (Jackson's rule), several share the work.
fn on_the_spot(entries: &[(f64, f64)], cores: usize) -> f64 {
    if cores == 1 {
        // Tails: each ends after those before it, and then its tail follows.
        let (mut sum, mut latest) = (0.0f64, 0.0f64);
        for &(distance, seconds) in entries {
            sum += seconds;
            latest = latest.max(sum + distance);
        }
        return latest;
    }
    let longest = entries.iter().map(|e| e.0 + e.1).fold(0.0, f64::max);
    let nearest = entries.last().map_or(0.0, |e| e.0);
    longest.max(nearest + entries.iter().map(|e| e.1).sum::<f64>() / cores as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_takes_relatives_by_falling_distance() {
        // Seconds 2 and 3 with tails 5 and 1: max(2 + 5, 5 + 1) = 7; two cores: max(7, 1 + 5/2).
        assert_eq!(on_the_spot(&[(5.0, 2.0), (1.0, 3.0)], 1), 7.0);
        assert_eq!(on_the_spot(&[(5.0, 2.0), (1.0, 3.0)], 2), 7.0);
        assert_eq!(on_the_spot(&[(1.0, 4.0), (1.0, 4.0), (1.0, 4.0)], 2), 7.0);
    }
}
