//! The end of a run under way: draws of what is left, and the band in which most of them end.
//!
//! A draw gives every task that is left its estimate times a ratio of real to estimated seconds that was seen, of its
//! kind where there are enough, and follows the tasks through the cores in order of their distance to the end. Files
//! travel for nothing: what is to be expected of a network belongs to the plan that is followed.

use rand::RngExt;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_analysis::forecast::Distribution;
use slackline_model::rng;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Fewest ratios of a kind that stand for it.
const ENOUGH: usize = 3;

/// Standard deviation of the logarithm of ratios where none was seen.
const UNKNOWN_SPREAD: f64 = 0.5;

/// Draws of small rests, and tasks over all draws of large ones.
const DRAWS: (usize, usize) = (100, 400_000);

/// Fewest draws.
const LEAST_DRAWS: usize = 12;

/// Draws of a time longer than what a task has run already.
const LONGER: usize = 20;

/// Share of its time that a task has left at least that runs longer than any that was seen.
const OVERDUE: f64 = 0.1;

/// A task that is not done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PendingTask {
    /// Tasks before it that are not done either, by position.
    pub parents: Vec<usize>,
    /// Estimate of its seconds.
    pub seconds: f64,
    /// Number of its kind.
    pub kind: usize,
    /// Cores that it takes.
    pub cores: u32,
    /// Host and seconds of its running attempt, where it has one.
    pub running: Option<(usize, f64)>,
}

/// The rest of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pending {
    /// Tasks that are not done.
    pub tasks: Vec<PendingTask>,
    /// Cores of each host that is there.
    pub cores: Vec<u32>,
    /// Ratios of real to estimated seconds of tasks that are done, by kind.
    pub ratios: Vec<Vec<f64>>,
}

/// The end to be expected, in seconds from now.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Band {
    /// One of ten draws ends earlier.
    pub p10: f64,
    /// The median.
    pub p50: f64,
    /// One of ten draws ends later.
    pub p90: f64,
}

impl Band {
    /// The same band around another expectation of the end.
    pub fn around(&self, expected: f64) -> Band {
        let scale = if self.p50 > 0.0 { expected / self.p50 } else { 1.0 };
        Band { p10: self.p10 * scale, p50: expected, p90: self.p90 * scale }
    }
}

impl Pending {
    /// The band of ends; none where no host has a core.
    pub fn band(&self, seed: u64) -> Option<Band> {
        if self.tasks.is_empty() {
            return Some(Band { p10: 0.0, p50: 0.0, p90: 0.0 });
        }
        if self.cores.iter().all(|&cores| cores == 0) {
            return None;
        }
        let draws = (DRAWS.1 / self.tasks.len()).clamp(LEAST_DRAWS, DRAWS.0);
        let order = self.order();
        let all: Vec<f64> = self.ratios.iter().flatten().copied().collect();
        let ends: Vec<f64> = (0..draws)
            .map(|draw| {
                let seconds = self.draw(&all, seed, draw as u64);
                self.follow(&order, &seconds)
            })
            .collect();
        let ends = Distribution::of(&ends);
        Some(Band { p10: ends.p10, p50: ends.p50, p90: ends.p90 })
    }

    /// Seconds that each task has left in one draw.
    fn draw(&self, all: &[f64], seed: u64, draw: u64) -> Vec<f64> {
        let mut random = rng::stream(seed, "forecast", draw);
        let mut ratio = |kind: usize| {
            let own = self.ratios.get(kind).map_or(&[][..], Vec::as_slice);
            let seen = if own.len() >= ENOUGH { own } else { all };
            if seen.len() >= ENOUGH {
                return seen[random.random_range(0..seen.len())];
            }
            // The sum of twelve draws is as good as normal.
            let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            (normal * UNKNOWN_SPREAD).exp()
        };
        let left = |task: &PendingTask| {
            let Some((_, since)) = task.running else { return task.seconds * ratio(task.kind) };
            let longer = (0..LONGER).map(|_| task.seconds * ratio(task.kind)).find(|s| *s > since);
            longer.map_or(since * OVERDUE, |seconds| seconds - since)
        };
        self.tasks.iter().map(left).collect()
    }

    /// Ranks of tasks: those furthest from the end come first.
    fn order(&self) -> Vec<f64> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.tasks.len()];
        let mut missing = vec![0usize; self.tasks.len()];
        for (index, task) in self.tasks.iter().enumerate() {
            for &parent in &task.parents {
                children[parent].push(index);
                missing[parent] += 1;
            }
        }
        let mut rank: Vec<f64> = self.tasks.iter().map(|task| task.seconds).collect();
        let mut free: Vec<usize> = (0..self.tasks.len()).filter(|&t| missing[t] == 0).collect();
        while let Some(task) = free.pop() {
            let below = children[task].iter().map(|&child| rank[child]).fold(0.0, f64::max);
            rank[task] += below;
            for &parent in &self.tasks[task].parents {
                missing[parent] -= 1;
                if missing[parent] == 0 {
                    free.push(parent);
                }
            }
        }
        rank
    }

    /// The end of the tasks if each takes so long, in seconds from now.
    fn follow(&self, rank: &[f64], seconds: &[f64]) -> f64 {
        let mut free = self.cores.clone();
        let mut missing: Vec<usize> = self.tasks.iter().map(|task| task.parents.len()).collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.tasks.len()];
        for (index, task) in self.tasks.iter().enumerate() {
            task.parents.iter().for_each(|&parent| children[parent].push(index));
        }
        let mut ends: BinaryHeap<Due> = BinaryHeap::new();
        let mut ready: BinaryHeap<Due> = BinaryHeap::new();
        for (index, task) in self.tasks.iter().enumerate() {
            if let Some((host, _)) = task.running {
                if let Some(free) = free.get_mut(host) {
                    *free = free.saturating_sub(task.cores);
                }
                ends.push(Due { key: -seconds[index], task: index, host });
                missing[index] = usize::MAX;
            } else if missing[index] == 0 {
                ready.push(Due { key: rank[index], task: index, host: 0 });
            }
        }
        let mut now = 0.0;
        loop {
            let mut waiting = Vec::new();
            while let Some(next) = ready.pop() {
                let cores = self.tasks[next.task].cores;
                // Tasks that are wider than any host take a whole one.
                let fits = |host: &usize| free[*host] >= cores.min(self.cores[*host]).max(1);
                let best = (0..free.len()).filter(fits).max_by_key(|&host| free[host]);
                match best {
                    Some(host) => {
                        free[host] -= cores.min(self.cores[host]);
                        let end = now + seconds[next.task];
                        ends.push(Due { key: -end, task: next.task, host });
                    }
                    None => {
                        waiting.push(next);
                        if free.iter().all(|&cores| cores == 0) {
                            break;
                        }
                    }
                }
            }
            ready.extend(waiting);
            let Some(next) = ends.pop() else { return now };
            now = now.max(-next.key);
            let task = &self.tasks[next.task];
            if let (Some(free), Some(&all)) = (free.get_mut(next.host), self.cores.get(next.host)) {
                *free = (*free + task.cores.min(all)).min(all);
            }
            for &child in &children[next.task] {
                missing[child] = missing[child].saturating_sub(1);
                if missing[child] == 0 {
                    ready.push(Due { key: rank[child], task: child, host: 0 });
                }
            }
        }
    }
}

/// A task with the key by which it comes next, the largest first.
#[derive(Clone, Copy, PartialEq)]
struct Due {
    key: f64,
    task: usize,
    host: usize,
}

impl Eq for Due {}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        self.key.total_cmp(&other.key).then(other.task.cmp(&self.task))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(parents: &[usize], seconds: f64) -> PendingTask {
        PendingTask { parents: parents.to_vec(), seconds, cores: 1, ..PendingTask::default() }
    }

    #[test]
    fn without_spread_the_band_is_the_end() {
        let mut pending = Pending {
            tasks: vec![task(&[], 4.0), task(&[], 2.0), task(&[1], 3.0), task(&[0, 2], 1.0)],
            cores: vec![1, 1],
            ratios: vec![vec![1.0; 3]],
        };
        let band = pending.band(0).unwrap();
        assert_eq!((band.p10, band.p50, band.p90), (6.0, 6.0, 6.0));
        pending.tasks[1].running = Some((0, 1.5));
        assert_eq!(pending.band(0).unwrap().p50, 5.0);
        // Longer than any that was seen.
        pending.tasks[1].running = Some((0, 10.0));
        assert_eq!(pending.band(0).unwrap().p50, 5.0);
        pending.cores = vec![1];
        pending.tasks[1].running = None;
        assert_eq!(pending.band(0).unwrap().p50, 10.0);
        assert_eq!(Pending::default().band(0).map(|b| b.p90), Some(0.0));
        assert!(Pending { cores: vec![0], ..pending }.band(0).is_none());
    }

    #[test]
    fn what_was_seen_makes_the_band() {
        let tasks: Vec<PendingTask> = (0..40).map(|_| task(&[], 1.0)).collect();
        let seen = Pending { tasks, cores: vec![4], ratios: vec![vec![1.0, 2.0, 3.0]] };
        let band = seen.band(7).unwrap();
        assert!(band.p10 < band.p50 && band.p50 < band.p90, "{band:?}");
        assert!((15.0..30.0).contains(&band.p50), "{band:?}");
        assert_eq!(seen.band(7), Some(band));
        let unseen = Pending { ratios: Vec::new(), ..seen }.band(7).unwrap();
        assert!(unseen.p90 / unseen.p10 > 1.05, "{unseen:?}");
    }
}
