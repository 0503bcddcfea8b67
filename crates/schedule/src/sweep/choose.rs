//! Which task goes next: the heuristics of Berman et al. (1999), H1 to H9, and two relatives.
//!
//! All look at the least completion time of every open task on every cluster, as the chart stands;
//! a placement changes those of one cluster only. Ties go to the lower task, cluster, processor.

use super::chart::{Chart, Offer, Scratch};
use super::ground::Ground;
use rand::RngExt;
use slackline_model::rng::Stream;
use slackline_model::{ProcId, TaskId, approx};

/// What makes a task go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The least completion time is smallest (H1).
    MinMin,
    /// The least completion time is largest (H2).
    MaxMin,
    /// The best of the other processors is furthest behind the best (H3).
    Sufferage,
    /// The step behind the good clusters is highest (H4).
    Extended,
    /// The fewest clusters are good, then the highest step (H9).
    Fewest,
    /// The second best cluster is furthest behind the best (XSufferage).
    Clusters,
    /// Any; it goes where its computation alone is shortest.
    Any,
}

/// How high the step behind the good clusters is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Height {
    /// The difference of completion times at the step.
    #[default]
    Step,
    /// The difference between the means of the groups on its sides.
    Groups,
}

/// A heuristic with its options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heuristic {
    /// What makes a task go first.
    pub rule: Rule,
    /// Draws among what lies within this part of the best; none: no draws.
    pub random: Option<f64>,
    /// How high a step is.
    pub height: Height,
    /// A step must exceed the mean by more than a deviation, as printed, not by at least one.
    pub strict_step: bool,
    /// No processor of the best cluster, nor of the best one's number, counts as second best.
    pub literal_second: bool,
}

impl Heuristic {
    /// A rule as it is published and read here.
    pub const fn new(rule: Rule) -> Heuristic {
        Heuristic {
            rule,
            random: None,
            height: Height::Step,
            strict_step: false,
            literal_second: false,
        }
    }
}

/// When planning stops before all tasks are placed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Most tasks to place.
    pub tasks: usize,
    /// Enough when every processor has a computation that begins after this date.
    pub until: f64,
}

impl Limit {
    /// All tasks.
    pub const NONE: Limit = Limit { tasks: usize::MAX, until: f64::INFINITY };
}

/// The step in a rising list of completion times: before which index it lies, and how high it is.
/// Without a step all clusters are good and nothing is suffered.
pub fn step(times: &[f64], height: Height, strict: bool) -> (usize, f64) {
    let rises: Vec<f64> = times.windows(2).map(|pair| rise(pair[0], pair[1])).collect();
    let count = rises.len() as f64;
    let mean = rises.iter().sum::<f64>() / count;
    let square = |r: &f64| (r - mean) * (r - mean);
    let bound = mean + (rises.iter().map(square).sum::<f64>() / count).sqrt();
    let is_step = |r: f64| match strict {
        true => approx::gt(r, bound),
        false => approx::le(bound, r),
    };
    let Some(at) = rises.iter().position(|&r| is_step(r)) else { return (times.len(), 0.0) };
    let high = match height {
        Height::Step => rises[at],
        Height::Groups => {
            let next = rises[at + 1..].iter().position(|&r| is_step(r));
            let group = &times[at + 1..next.map_or(times.len(), |n| at + 2 + n)];
            mean_of(group) - mean_of(&times[..=at])
        }
    };
    (at + 1, high)
}

fn mean_of(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// How much later; equal on paper must not suffer from rounding.
fn rise(first: f64, second: f64) -> f64 {
    if approx::eq(first, second) { 0.0 } else { second - first }
}

/// A task as a heuristic sees it: larger counts more, the first part before the second.
#[derive(Clone, Copy)]
struct Claim {
    first: f64,
    second: f64,
    cluster: usize,
    proc: ProcId,
}

/// Fills a chart: places open tasks one by one, as the heuristic chooses them, until the limit.
/// Tasks that can run nowhere are left. `draws` serves random choices.
pub fn fill(
    chart: &mut Chart<'_>,
    ground: &Ground<'_>,
    open: &[TaskId],
    heuristic: &Heuristic,
    limit: Limit,
    draws: &mut Stream,
) {
    let clusters = ground.clusters.len();
    let mut scratch = Scratch::default();
    let mut open: Vec<TaskId> = open.to_vec();
    let mut offers: Vec<Offer> = Vec::with_capacity(open.len() * clusters);
    for &task in &open {
        offers.extend((0..clusters).map(|cluster| chart.offer(task, cluster, &mut scratch)));
    }
    let mut placed = 0;
    while !open.is_empty() && placed < limit.tasks && !chart.is_filled_to(limit.until) {
        let chooser = Chooser { chart, ground, heuristic, clusters };
        let Some((position, claim)) = chooser.choose(&open, &offers, draws) else { return };
        chart.place(open[position], claim.cluster, claim.proc);
        placed += 1;
        open.remove(position);
        offers.drain(position * clusters..(position + 1) * clusters);
        // What is brought to one cluster changes the others only where they pass files on.
        let changed = match ground.ways.is_plain() {
            true => claim.cluster..claim.cluster + 1,
            false => 0..clusters,
        };
        for (index, &task) in open.iter().enumerate() {
            for cluster in changed.clone() {
                offers[index * clusters + cluster] = chart.offer(task, cluster, &mut scratch);
            }
        }
    }
}

/// Leaves so many tasks of a list, drawn at random.
pub fn draw_some(tasks: &mut Vec<TaskId>, count: usize, draws: &mut Stream) {
    for k in 0..count.min(tasks.len()) {
        let drawn = draws.random_range(k..tasks.len());
        tasks.swap(k, drawn);
    }
    tasks.truncate(count);
}

struct Chooser<'c, 'g> {
    chart: &'c Chart<'g>,
    ground: &'c Ground<'g>,
    heuristic: &'c Heuristic,
    clusters: usize,
}

impl Chooser<'_, '_> {
    /// The position of the task that goes next, and where.
    fn choose(
        &self,
        open: &[TaskId],
        offers: &[Offer],
        draws: &mut Stream,
    ) -> Option<(usize, Claim)> {
        if self.heuristic.rule == Rule::Any {
            return self.any(open, offers, draws);
        }
        let row = |position: usize| &offers[position * self.clusters..][..self.clusters];
        let mut best: Option<(usize, Claim)> = None;
        for (position, &task) in open.iter().enumerate() {
            let Some(claim) = self.claim(task, row(position)) else { continue };
            let beats = |other: &Claim| match approx::cmp(claim.first, other.first) {
                std::cmp::Ordering::Equal => approx::gt(claim.second, other.second),
                order => order.is_gt(),
            };
            if best.as_ref().is_none_or(|(_, other)| beats(other)) {
                best = Some((position, claim));
            }
        }
        let (_, least) = best?;
        let Some(rho) = self.heuristic.random else { return best };
        // Whoever is very close to the best may be drawn, and then any host very close to its best.
        let close =
            |value: f64, best: f64| value >= best - rho * best.abs() || approx::eq(value, best);
        let near: Vec<(usize, Claim)> = open
            .iter()
            .enumerate()
            .filter_map(|(position, &task)| Some((position, self.claim(task, row(position))?)))
            .filter(|(_, c)| close(c.first, least.first) && close(c.second, least.second))
            .collect();
        let (position, claim) = near[draws.random_range(0..near.len())];
        let completion = row(position)[claim.cluster].completion;
        let task = open[position];
        let mut places = Vec::new();
        for (cluster, offer) in row(position).iter().enumerate() {
            if !close(-offer.completion, -completion) {
                continue;
            }
            for &proc in &self.ground.clusters[cluster].procs {
                if close(-self.chart.completion(task, cluster, proc), -completion) {
                    places.push((cluster, proc));
                }
            }
        }
        let (cluster, proc) = places[draws.random_range(0..places.len())];
        Some((position, Claim { cluster, proc, ..claim }))
    }

    /// What a task has to say for itself; none where it can run nowhere.
    fn claim(&self, task: TaskId, row: &[Offer]) -> Option<Claim> {
        let mut cluster = 0;
        for (index, offer) in row.iter().enumerate().skip(1) {
            if approx::lt(offer.completion, row[cluster].completion) {
                cluster = index;
            }
        }
        let best = &row[cluster];
        if !best.possible() {
            return None;
        }
        let steps = || {
            let mut times: Vec<f64> =
                row.iter().filter(|o| o.possible()).map(|o| o.completion).collect();
            times.sort_by(f64::total_cmp);
            step(&times, self.heuristic.height, self.heuristic.strict_step)
        };
        let (first, second) = match self.heuristic.rule {
            Rule::MinMin => (-best.completion, 0.0),
            Rule::MaxMin => (best.completion, 0.0),
            Rule::Sufferage => (rise(best.completion, self.second(task, cluster, best, row)), 0.0),
            Rule::Extended => (steps().1, 0.0),
            Rule::Fewest => {
                let (good, height) = steps();
                (-(good as f64), height)
            }
            Rule::Clusters => {
                let others = row.iter().enumerate().filter(|&(c, _)| c != cluster);
                let next = others.map(|(_, o)| o.completion).fold(f64::INFINITY, f64::min);
                // With one cluster nothing is suffered.
                (if next.is_finite() { rise(best.completion, next) } else { 0.0 }, 0.0)
            }
            Rule::Any => (0.0, 0.0),
        };
        Some(Claim { first, second, cluster, proc: best.proc })
    }

    /// Completion on the second best processor; infinite where there is none.
    fn second(&self, task: TaskId, cluster: usize, best: &Offer, row: &[Offer]) -> f64 {
        let others = row.iter().enumerate().filter(|&(c, _)| c != cluster);
        if !self.heuristic.literal_second {
            return others.map(|(_, o)| o.completion).fold(best.second, f64::min);
        }
        let procs = &self.ground.clusters[cluster].procs;
        let number = procs.iter().position(|&p| p == best.proc);
        let mut least = f64::INFINITY;
        for (cluster, _) in others {
            for (index, &proc) in self.ground.clusters[cluster].procs.iter().enumerate() {
                if Some(index) != number {
                    least = least.min(self.chart.completion(task, cluster, proc));
                }
            }
        }
        // Undefined as printed where no such processor exists.
        if least.is_finite() { least } else { best.completion }
    }

    /// A random task, where its computation alone is shortest.
    fn any(&self, open: &[TaskId], offers: &[Offer], draws: &mut Stream) -> Option<(usize, Claim)> {
        let row = |position: usize| &offers[position * self.clusters..][..self.clusters];
        let able: Vec<usize> =
            (0..open.len()).filter(|&p| row(p).iter().any(Offer::possible)).collect();
        if able.is_empty() {
            return None;
        }
        let position = able[draws.random_range(0..able.len())];
        let task = open[position];
        let mut best: Option<(f64, usize, ProcId)> = None;
        for (cluster, _) in row(position).iter().enumerate().filter(|(_, o)| o.possible()) {
            for &proc in &self.ground.clusters[cluster].procs {
                let seconds = self.ground.seconds(task, proc);
                let usable = self.chart.completion(task, cluster, proc).is_finite();
                if usable && best.is_none_or(|(least, ..)| approx::lt(seconds, least)) {
                    best = Some((seconds, cluster, proc));
                }
            }
        }
        let (_, cluster, proc) = best?;
        Some((position, Claim { first: 0.0, second: 0.0, cluster, proc }))
    }
}
