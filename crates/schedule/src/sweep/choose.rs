//! Choice of the next task: the heuristics of Berman et al. (1999), H1 to H9, and two relatives.
//!
//! All compare the least completion times of every open task on every cluster in the present chart; a placement
//! changes those of one cluster only. Ties go to the lower task, cluster, processor. Interchangeable tasks are
//! evaluated together ([`Waiting`]), unless the choice among tasks is random.

use super::chart::{Chart, Offer, Scratch};
use super::ground::Ground;
use super::task_groups::{Head, Waiting};
use rand::RngExt;
use slackline_model::rng::Stream;
use slackline_model::{ProcId, TaskId, approx};

/// Rule by which the next task is chosen.
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

/// Height of the step behind the good clusters.
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
    /// Rule by which the next task is chosen.
    pub rule: Rule,
    /// Chooses randomly within this relative distance from the best; none: no random choice.
    pub random: Option<f64>,
    /// Definition of a step's height.
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

    /// Whether the choice among tasks is random.
    fn draws(&self) -> bool {
        self.random.is_some() || self.rule == Rule::Any
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

/// The step in a rising list of completion times: the index it precedes, and its height. Without a step all
/// clusters are good and the height is 0.
pub fn step(times: &[f64], height: Height, strict: bool) -> (usize, f64) {
    step_among(times, &mut Vec::new(), height, strict)
}

/// Computes the step with a buffer for the rises.
fn step_among(times: &[f64], rises: &mut Vec<f64>, height: Height, strict: bool) -> (usize, f64) {
    rises.clear();
    rises.extend(times.windows(2).map(|pair| rise(pair[0], pair[1])));
    let count = rises.len() as f64;
    let mean = rises.iter().sum::<f64>() / count;
    let square = |r: &f64| (r - mean) * (r - mean);
    let bound = mean + (rises.iter().map(square).sum::<f64>() / count).sqrt();
    let is_step = |r: f64| if strict { approx::gt(r, bound) } else { approx::le(bound, r) };
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

/// Difference of two completion times; 0 where they are equal within tolerance, so that rounding has no effect.
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
    let waiting =
        if heuristic.draws() { Waiting::apart(open) } else { Waiting::alike(open, ground, chart) };
    fill_from(waiting, chart, ground, heuristic, limit, draws);
}

/// Fills the chart with tasks grouped by class.
pub(super) fn fill_from(
    mut waiting: Waiting<'_>,
    chart: &mut Chart<'_>,
    ground: &Ground<'_>,
    heuristic: &Heuristic,
    limit: Limit,
    draws: &mut Stream,
) {
    let clusters = ground.clusters.len();
    let mut scratch = Scratch::default();
    let mut offers: Vec<Offer> = Vec::with_capacity(waiting.classes() * clusters);
    for head in waiting.heads() {
        offers.extend((0..clusters).map(|cluster| chart.offer(head.task, cluster, &mut scratch)));
    }
    let mut steps = match heuristic.rule {
        Rule::Extended | Rule::Fewest => Steps::new(waiting.classes(), clusters),
        _ => Steps::new(0, clusters),
    };
    let chooser = Chooser { chart, ground, heuristic, clusters };
    let claim = |head: &Head| chooser.claim(head, row(&offers, head, clusters), &mut steps);
    let mut claims: Vec<Option<Claim>> = waiting.heads().iter().map(claim).collect();
    let mut placed = 0;
    while placed < limit.tasks && !chart.is_filled_to(limit.until) {
        let chooser = Chooser { chart, ground, heuristic, clusters };
        let Some((index, claim)) = chooser.choose(waiting.heads(), &offers, &claims, draws) else {
            return;
        };
        chart.place(waiting.heads()[index].task, claim.cluster, claim.proc);
        placed += 1;
        waiting.take(index);
        // What is brought to one cluster changes the others only where they pass files on.
        let changed =
            if ground.ways.is_plain() { claim.cluster..claim.cluster + 1 } else { 0..clusters };
        let chooser = Chooser { chart, ground, heuristic, clusters };
        for head in waiting.heads() {
            let mut is_new = heuristic.literal_second; // it depends on more than the offers
            for cluster in changed.clone() {
                let old = &mut offers[head.class * clusters + cluster];
                let offer = chart.offer(head.task, cluster, &mut scratch);
                is_new |= offer != *old;
                *old = offer;
            }
            if is_new {
                let row = row(&offers, head, clusters);
                claims[head.class] = chooser.claim(head, row, &mut steps);
            }
        }
    }
}

/// Offers of the clusters to a class of tasks.
fn row<'o>(offers: &'o [Offer], head: &Head, clusters: usize) -> &'o [Offer] {
    &offers[head.class * clusters..][..clusters]
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

/// Working memory in which completion times are sorted and their rises found.
struct Steps {
    /// Per class: its clusters in the order of their completion times, when these were last sorted. One
    /// placement moves one of them.
    order: Vec<u32>,
    times: Vec<f64>,
    rises: Vec<f64>,
}

impl Steps {
    fn new(classes: usize, clusters: usize) -> Steps {
        let order = (0..classes).flat_map(|_| 0..clusters as u32).collect();
        Steps { order, times: Vec::new(), rises: Vec::new() }
    }

    /// The step in what the clusters offer a class.
    fn find(&mut self, class: usize, row: &[Offer], heuristic: &Heuristic) -> (usize, f64) {
        let order = &mut self.order[class * row.len()..][..row.len()];
        let time = |cluster: u32| row[cluster as usize].completion;
        for at in 1..order.len() {
            let mut at = at;
            while at > 0 && time(order[at - 1]) > time(order[at]) {
                order.swap(at - 1, at);
                at -= 1;
            }
        }
        self.times.clear();
        self.times.extend(order.iter().map(|&c| time(c)).take_while(|time| time.is_finite()));
        step_among(&self.times, &mut self.rises, heuristic.height, heuristic.strict_step)
    }
}

impl Chooser<'_, '_> {
    /// The class whose first task goes next, by its place among those that wait, and where to.
    fn choose(
        &self,
        heads: &[Head],
        offers: &[Offer],
        claims: &[Option<Claim>],
        draws: &mut Stream,
    ) -> Option<(usize, Claim)> {
        if self.heuristic.rule == Rule::Any {
            return self.any(heads, offers, draws);
        }
        let all = || {
            let claim = |(index, head): (usize, &Head)| Some((index, claims[head.class]?));
            heads.iter().enumerate().filter_map(claim)
        };
        let mut best: Option<(usize, Claim)> = None;
        for (index, claim) in all() {
            let beats = |other: &Claim| match approx::cmp(claim.first, other.first) {
                std::cmp::Ordering::Equal => approx::gt(claim.second, other.second),
                order => order.is_gt(),
            };
            if best.as_ref().is_none_or(|(_, other)| beats(other)) {
                best = Some((index, claim));
            }
        }
        let (_, least) = best?;
        let Some(rho) = self.heuristic.random else { return best };
        // Whoever is very close to the best may be drawn, and then any host very close to its best.
        let close =
            |value: f64, best: f64| value >= best - rho * best.abs() || approx::eq(value, best);
        let near: Vec<(usize, Claim)> = all()
            .filter(|(_, c)| close(c.first, least.first) && close(c.second, least.second))
            .collect();
        let (index, claim) = near[draws.random_range(0..near.len())];
        let row = row(offers, &heads[index], self.clusters);
        let completion = row[claim.cluster].completion;
        let task = heads[index].task;
        let mut places = Vec::new();
        for (cluster, offer) in row.iter().enumerate() {
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
        Some((index, Claim { cluster, proc, ..claim }))
    }

    /// Computes the claim of a task under the heuristic; none where it can run nowhere.
    fn claim(&self, head: &Head, row: &[Offer], steps: &mut Steps) -> Option<Claim> {
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
        let mut steps = || steps.find(head.class, row, self.heuristic);
        let (first, second) = match self.heuristic.rule {
            Rule::MinMin => (-best.completion, 0.0),
            Rule::MaxMin => (best.completion, 0.0),
            Rule::Sufferage => {
                (rise(best.completion, self.second(head.task, cluster, best, row)), 0.0)
            }
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
    fn any(&self, heads: &[Head], offers: &[Offer], draws: &mut Stream) -> Option<(usize, Claim)> {
        let able = |head: &Head| row(offers, head, self.clusters).iter().any(Offer::possible);
        let able: Vec<usize> = (0..heads.len()).filter(|&index| able(&heads[index])).collect();
        if able.is_empty() {
            return None;
        }
        let index = able[draws.random_range(0..able.len())];
        let (task, row) = (heads[index].task, row(offers, &heads[index], self.clusters));
        let mut best: Option<(f64, usize, ProcId)> = None;
        for (cluster, _) in row.iter().enumerate().filter(|(_, o)| o.possible()) {
            for &proc in &self.ground.clusters[cluster].procs {
                let seconds = self.ground.seconds(task, proc);
                let usable = self.chart.completion(task, cluster, proc).is_finite();
                if usable && best.is_none_or(|(least, ..)| approx::lt(seconds, least)) {
                    best = Some((seconds, cluster, proc));
                }
            }
        }
        let (_, cluster, proc) = best?;
        Some((index, Claim { first: 0.0, second: 0.0, cluster, proc }))
    }
}
