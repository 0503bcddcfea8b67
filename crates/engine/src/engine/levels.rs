//! Factors of kinds (run time over estimate) and levels of hosts (actual over stated speed), from run times. A task
//! takes *estimate x factor of its kind / level of its host*. Neither can be measured alone; both are fitted together by
//! alternating weighted medians of logarithms (a median polish), so that single outliers have no effect.
//!
//! - *Weights*: a task counts for the smaller of its actual and expected seconds, because the start of a process is no
//!   evidence of the speed of a host. Newer tasks count more.
//! - *Evidence*: a host is judged only by kinds that other hosts have executed too; otherwise factor and level cannot be
//!   separated. The residuals of all tasks give the standard error of a level.
//! - *Reference*: the data fix ratios of levels only. Machines are rarely quicker than stated, so the quicker hosts are
//!   taken to run at their stated speed.
//! - *Running tasks* that are overdue are evidence of a slow host before they end.
//! - *Load* that a machine reports is one more sample where it is higher than elsewhere.

use slackline_model::{HostId, KindId};
use slackline_react::{Figure, error_of_median};
use std::collections::{BTreeMap, VecDeque};

/// Last tasks of a host that are evidence of its present level, and older ones kept per kind for its factor.
const OF_HOST: usize = 8;
const OF_KIND: usize = 15;

/// Weight of a task relative to the next newer one on its host.
const DECAY: f64 = 0.75;

/// Standard deviation of run times that neither kind nor host explains (such as starting a process), in seconds.
const JITTER: f64 = 0.02;

/// Number of hosts beyond which leaving out a single one hardly changes the factor of a kind.
const MANY: usize = 8;

/// Rounds of a fit. Few suffice because it starts from the result of the last fit.
const ROUNDS: usize = 4;

/// The quantile of levels that is taken to be the stated speed.
const QUICK: f64 = 0.75;

/// Share of free cores, relative to the freest host, below which a reported load counts as a sample.
const LOADED: f64 = 0.9;

/// A running task counts as a sample once its time exceeds that at the stated speed by this factor.
const OVERDUE: f64 = 1.5;

/// Tasks of a kind that other hosts have to have done before a host is judged by it.
const OTHERS: usize = 2;

/// A fit follows once there is one new task for so many samples of the last fit: amortised cost per task is constant.
const SAMPLES_PER_FIT: usize = 100;

/// Standard deviation of a normal distribution over its median absolute deviation.
const MAD_TO_SIGMA: f64 = 1.4826;

/// A task that is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) kind: KindId,
    /// Seconds by the first estimate, at the stated speed, and real ones.
    pub(super) expected: f64,
    pub(super) seconds: f64,
    /// Share of the machine's cores that were free for it, by what the machine reported.
    pub(super) share: Option<f64>,
}

impl Sample {
    fn ratio(&self) -> f64 {
        (self.seconds / self.expected).ln()
    }
}

/// A task too old to be evidence of the present level of its host: its log ratio with the level of that time removed.
#[derive(Clone, Copy, Debug)]
struct OldSample {
    host: usize,
    factor: f64,
    weight: f64,
}

/// A value and its weight.
type Weighted = (f64, f64);

/// Samples and the present fit. Factors and levels are natural logarithms.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// Per host, oldest first.
    live: Vec<VecDeque<Sample>>,
    /// Per kind, oldest first.
    past: Vec<VecDeque<OldSample>>,
    /// Per kind.
    factor: Vec<f64>,
    /// Per host.
    level: Vec<f64>,
    /// Tasks since the last fit, and the samples of that.
    new: usize,
    samples_at_fit: usize,
    /// Per kind: its samples, as (host, position in `live`).
    of_kind: BTreeMap<usize, Vec<(usize, usize)>>,
    /// Standard deviation of residuals, estimated from their median.
    spread: f64,
    /// Per host: tasks that run, with the seconds they have taken so far.
    running: Vec<Vec<Sample>>,
    /// The greatest share of free cores that any host reported last.
    freest: f64,
}

/// The weighted median; the mean of two values where the halves weigh the same. Sorts the values.
fn weighted_median(values: &mut [Weighted]) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for (at, &(value, weight)) in values.iter().enumerate() {
        sum += weight;
        if sum > half * (1.0 + 1e-9) {
            return Some(value);
        }
        if sum >= half * (1.0 - 1e-9) {
            return Some(values.get(at + 1).map_or(value, |next| (value + next.0) / 2.0));
        }
    }
    None
}

impl Levels {
    pub(super) fn new(kinds: usize, hosts: usize) -> Levels {
        Levels {
            live: vec![VecDeque::new(); hosts],
            past: vec![VecDeque::new(); kinds],
            factor: vec![0.0; kinds],
            level: vec![0.0; hosts],
            running: vec![Vec::new(); hosts],
            ..Levels::default()
        }
    }

    /// A task is done; true where it is time for a new fit.
    pub(super) fn add(&mut self, host: HostId, sample: Sample) -> bool {
        let h = host.index();
        if self.live[h].len() == OF_HOST
            && let Some(old) = self.live[h].pop_front()
        {
            let (factor, weight) = (old.ratio() + self.level[h], self.weight(&old));
            let past = &mut self.past[old.kind.index()];
            if past.len() == OF_KIND {
                past.pop_front();
            }
            past.push_back(OldSample { host: h, factor, weight });
        }
        self.live[h].push_back(sample);
        self.new += 1;
        self.new * SAMPLES_PER_FIT >= self.samples_at_fit
    }

    /// Seconds that a task counts for.
    fn weight(&self, sample: &Sample) -> f64 {
        sample.seconds.min(sample.expected * self.factor[sample.kind.index()].exp())
    }

    /// Fits factors and levels to what is done and to what runs on which hosts.
    pub(super) fn fit(&mut self, running: impl Iterator<Item = (HostId, Sample)>) {
        self.running.iter_mut().for_each(Vec::clear);
        running.for_each(|(host, sample)| self.running[host.index()].push(sample));
        self.new = 0;
        self.samples_at_fit = 0;
        self.of_kind.clear();
        for (h, live) in self.live.iter().enumerate() {
            for (at, sample) in live.iter().enumerate() {
                self.of_kind.entry(sample.kind.index()).or_default().push((h, at));
                self.samples_at_fit += 1;
            }
        }
        let known: Vec<usize> = self.known().collect();
        self.freest = known.iter().filter_map(|&h| self.reported(h)).fold(0.0, f64::max);
        for _ in 0..ROUNDS {
            for &k in &self.of_kind.keys().copied().collect::<Vec<_>>() {
                if let Some(factor) = weighted_median(&mut self.of(k, None)) {
                    self.factor[k] = factor;
                }
            }
            for &h in &known {
                if let Some(level) = weighted_median(&mut self.level_samples(h)) {
                    self.level[h] = level;
                }
            }
            self.normalise(&known);
        }
        let distance = |h: usize, s: &Sample| {
            let off = self.factor[s.kind.index()] - s.ratio() - self.level[h];
            (off.abs(), self.weight(s))
        };
        let off = known.iter().flat_map(|&h| self.live[h].iter().map(move |s| distance(h, s)));
        self.spread = MAD_TO_SIGMA * weighted_median(&mut off.collect::<Vec<_>>()).unwrap_or(0.0);
    }

    /// Samples of a kind's factor, those of one host left out.
    fn of(&self, kind: usize, without: Option<usize>) -> Vec<Weighted> {
        let past = self.past[kind].iter().filter(|past| Some(past.host) != without);
        let past = past.map(|past| (past.factor, past.weight));
        let live = self.of_kind.get(&kind).into_iter().flatten();
        let live = live.filter(|(h, _)| Some(*h) != without).map(|&(h, at)| {
            let sample = &self.live[h][at];
            (sample.ratio() + self.level[h], self.weight(sample))
        });
        past.chain(live).collect()
    }

    /// The factor of a kind as others have seen it, if any has.
    fn elsewhere(&self, kind: usize, host: usize) -> Option<f64> {
        if self.of_kind.get(&kind).is_some_and(|of| of.len() > MANY * OF_HOST) {
            return Some(self.factor[kind]);
        }
        let mut others = self.of(kind, Some(host));
        if others.len() < OTHERS { None } else { weighted_median(&mut others) }
    }

    /// Samples of a host's level: done tasks, overdue ones, and its load.
    fn level_samples(&self, host: usize) -> Vec<Weighted> {
        let mut known: BTreeMap<usize, Option<f64>> = BTreeMap::new();
        let mut level_samples: Vec<Weighted> = Vec::new();
        for (age, sample) in self.live[host].iter().rev().enumerate() {
            let kind = sample.kind.index();
            let factor = *known.entry(kind).or_insert_with(|| self.elsewhere(kind, host));
            if let Some(factor) = factor {
                let weight = self.weight(sample) * DECAY.powi(age as i32);
                level_samples.push((factor - sample.ratio(), weight));
            }
        }
        let done = weighted_median(&mut level_samples.clone());
        for sample in &self.running[host] {
            let kind = sample.kind.index();
            let factor = *known.entry(kind).or_insert_with(|| self.elsewhere(kind, host));
            let most = factor.map(|factor| factor - sample.ratio());
            if let Some(most) = most.filter(|most| *most < -OVERDUE.ln()) {
                // A running task only bounds the level from above.
                level_samples.push((done.map_or(most, |done| done.min(most)), self.weight(sample)));
            }
        }
        if let (Some(share), false) = (self.share(host), level_samples.is_empty()) {
            let mean = level_samples.iter().map(|(_, weight)| weight).sum::<f64>()
                / level_samples.len() as f64;
            level_samples.push((share.ln(), mean));
        }
        level_samples
    }

    /// The share of its cores that a host has, beside that of the freest one; nothing where that is about as much.
    fn share(&self, host: usize) -> Option<f64> {
        let share = self.reported(host)? / self.freest;
        (share < LOADED).then_some(share.max(1e-3))
    }

    /// The share of its cores that a host has, by what it reported last.
    fn reported(&self, host: usize) -> Option<f64> {
        self.live[host].iter().rev().find_map(|sample| sample.share)
    }

    /// Hosts that have done something, or do.
    fn known(&self) -> impl Iterator<Item = usize> {
        let idle = |h: usize| self.live[h].is_empty() && self.running[h].is_empty();
        (0..self.live.len()).filter(move |&h| !idle(h))
    }

    /// Ids of the hosts that have done something, or do.
    pub(super) fn hosts(&self) -> Vec<HostId> {
        self.known().map(HostId::new).collect()
    }

    /// Kinds with samples in the last fit.
    pub(super) fn kinds(&self) -> Vec<KindId> {
        self.of_kind.keys().map(|&k| KindId::new(k)).collect()
    }

    /// Shifts levels and factors so that the quicker hosts run at their stated speed.
    fn normalise(&mut self, known: &[usize]) {
        let sure = |h: &usize| self.live[*h].len() >= Figure::SURE;
        let mut levels: Vec<f64> =
            known.iter().copied().filter(sure).map(|h| self.level[h]).collect();
        levels.sort_by(f64::total_cmp);
        let at = ((QUICK * levels.len() as f64) as usize).min(levels.len().saturating_sub(1));
        let Some(&quick) = levels.get(at) else { return };
        known.iter().for_each(|&h| self.level[h] -= quick);
        for &k in self.of_kind.keys() {
            self.factor[k] -= quick;
        }
    }

    /// Factor of a kind: run time over estimate.
    pub(super) fn factor(&self, kind: KindId) -> Figure {
        self.figure(self.factor[kind.index()], &self.of(kind.index(), None))
    }

    /// Level of a host: actual over stated speed. Samples that cannot be compared with another host are ignored.
    pub(super) fn level(&self, host: HostId) -> Figure {
        self.figure(self.level[host.index()], &self.level_samples(host.index()))
    }

    fn figure(&self, log: f64, values: &[Weighted]) -> Figure {
        let add = |(sum, squares): (f64, f64), (_, w): &Weighted| (sum + w, squares + w * w);
        let (sum, squares) = values.iter().fold((0.0, 0.0), add);
        if squares <= 0.0 {
            return Figure { value: log.exp(), samples: 0, error: 0.0 };
        }
        let own = values.iter().map(|&(value, weight)| ((value - log).abs(), weight));
        let own = MAD_TO_SIGMA * weighted_median(&mut own.collect::<Vec<_>>()).unwrap_or(0.0);
        let jitter = JITTER * values.len() as f64 / sum;
        let spread = own.max(self.spread).hypot(jitter);
        // Kish's effective sample size.
        let effective = sum * sum / squares;
        let error = error_of_median(spread, 1) / effective.sqrt();
        Figure { value: log.exp(), samples: values.len(), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: usize = 0;

    /// Hosts that work on tasks of some kinds, the first at another level.
    struct Site {
        levels: Levels,
        done: usize,
        level: f64,
        /// Seconds that it takes to begin, and how far single tasks are off, as a share.
        begins: f64,
        noise: f64,
        share: Option<f64>,
    }

    impl Site {
        fn new(hosts: usize) -> Site {
            let levels = Levels::new(3, hosts);
            Site { levels, done: 0, level: 0.25, begins: 0.0, noise: 0.0, share: None }
        }

        /// A task whose kind takes so many times its estimate.
        fn does(&mut self, host: usize, (kind, factor): (usize, f64), expected: f64) {
            let level = if host == SLOW { self.level } else { 1.0 };
            // As good as random: multiples of the golden ratio.
            let draw = (self.done as f64 * 0.618_033_988_75).fract();
            self.done += 1;
            let off = (self.noise * (2.0 * draw - 1.0)).exp();
            let seconds = self.begins + expected * factor * off / level;
            let share = self.share.map(|share| if host == SLOW { share } else { 1.0 });
            let sample = Sample { kind: KindId::new(kind), expected, seconds, share };
            if self.levels.add(HostId::new(host), sample) {
                self.levels.fit(std::iter::empty());
            }
        }

        fn level(&self, host: usize) -> Figure {
            self.levels.level(HostId::new(host))
        }

        fn factor(&self, kind: usize) -> f64 {
            self.levels.factor(KindId::new(kind)).value
        }
    }

    fn about(value: f64, expected: f64, share: f64) -> bool {
        (value / expected - 1.0).abs() < share
    }

    #[test]
    fn a_slow_host_is_distinguished_from_kinds_that_take_longer() {
        for hosts in [2, 4] {
            let mut site = Site::new(hosts);
            site.noise = 0.1;
            for round in 0..4 {
                for host in 0..hosts {
                    // Kind 0 as estimated, kind 1 three times as long.
                    site.does(host, (round % 2, [1.0, 3.0][round % 2]), 1.0);
                }
            }
            assert!(about(site.level(SLOW).value, 0.25, 0.15), "{:?}", site.level(SLOW));
            assert!((1..hosts).all(|h| about(site.level(h).value, 1.0, 0.15)));
            assert!(about(site.factor(0), 1.0, 0.15) && about(site.factor(1), 3.0, 0.15));
        }
    }

    #[test]
    fn the_slow_one_may_have_done_most() {
        let mut site = Site::new(2);
        (0..6).for_each(|_| site.does(SLOW, (0, 1.0), 1.0));
        // There is no other host to compare with yet.
        assert_eq!(site.level(SLOW).samples, 0);
        (0..3).for_each(|_| site.does(1, (0, 1.0), 1.0));
        assert!(about(site.level(SLOW).value, 0.25, 0.01) && about(site.factor(0), 1.0, 0.01));
    }

    #[test]
    fn short_tasks_say_little() {
        let mut site = Site::new(3);
        // It takes 50 ms to begin: tasks of 10 ms take about as long everywhere.
        site.begins = 0.05;
        for round in 0..3 {
            for host in 0..3 {
                site.does(host, (0, 1.0), 1.0);
                if round == 2 {
                    (0..4).for_each(|_| site.does(host, (1, 1.0), 0.01));
                }
            }
        }
        assert!(about(site.level(SLOW).value, 0.25, 0.1), "{:?}", site.level(SLOW));
        // Where there are no others the level is unsure.
        let mut site = Site::new(3);
        site.begins = 0.05;
        (0..9).for_each(|at| site.does(at % 3, (1, 1.0), 0.001));
        let level = site.level(SLOW);
        assert!(level.error > 0.1 && level.value.ln().abs() < 3.0 * level.error, "{level:?}");
    }

    #[test]
    fn single_tasks_may_be_anything() {
        let mut site = Site::new(3);
        site.level = 1.0;
        (0..9).for_each(|at| site.does(at % 3, (0, 1.0), 1.0));
        site.does(SLOW, (0, 20.0), 1.0);
        site.does(1, (0, 0.01), 1.0);
        for host in 0..3 {
            assert!(about(site.level(host).value, 1.0, 0.01), "{host}: {:?}", site.level(host));
        }
    }

    #[test]
    fn a_host_that_slows_down_is_found_out_after_three_tasks() {
        let mut site = Site::new(3);
        site.level = 1.0;
        (0..30).for_each(|at| site.does(at % 3, (0, 1.0), 1.0));
        site.level = 0.25;
        (0..3).for_each(|_| site.does(SLOW, (0, 1.0), 1.0));
        assert!(about(site.level(SLOW).value, 0.25, 0.01), "{:?}", site.level(SLOW));
        assert!(about(site.factor(0), 1.0, 0.01));
        site.level = 1.0;
        (0..3).for_each(|_| site.does(SLOW, (0, 1.0), 1.0));
        assert!(about(site.level(SLOW).value, 1.0, 0.01));
    }

    #[test]
    fn what_runs_too_long_and_load_are_witnesses() {
        let mut site = Site::new(2);
        (0..3).for_each(|_| site.does(1, (0, 1.0), 1.0));
        site.does(SLOW, (0, 1.0), 1.0);
        assert_eq!(site.level(SLOW).samples, 1);
        let kind = KindId::new(0);
        let runs = |seconds| Sample { kind, expected: 1.0, seconds, share: None };
        site.levels.fit([(HostId::new(SLOW), runs(1.2))].into_iter());
        assert_eq!(site.level(SLOW).samples, 1, "it may end any time");
        site.levels.fit([(HostId::new(SLOW), runs(2.0))].into_iter());
        assert_eq!(site.level(SLOW).samples, 2);
        assert!(about(site.level(SLOW).value, 0.25, 0.01), "{:?}", site.level(SLOW));
        // A machine with four times as many processes as cores, beside one without.
        let mut site = Site::new(2);
        site.share = Some(0.25);
        (0..3).for_each(|_| site.does(1, (0, 1.0), 1.0));
        site.does(SLOW, (0, 1.0), 1.0);
        assert_eq!(site.level(SLOW).samples, 2);
        assert!(about(site.level(SLOW).value, 0.25, 0.01));
        // Tasks that do not mind outvote it.
        site.level = 1.0;
        (0..4).for_each(|_| site.does(SLOW, (0, 1.0), 1.0));
        assert!(about(site.level(SLOW).value, 1.0, 0.01), "{:?}", site.level(SLOW));
    }

    #[test]
    fn many_hosts_and_tasks_take_little_time() {
        let mut site = Site::new(500);
        let begin = std::time::Instant::now();
        (0..20_000).for_each(|at| site.does(at % 500, (at % 3, 1.0), 1.0));
        assert!(about(site.level(SLOW).value, 0.25, 0.01));
        assert!(begin.elapsed().as_secs_f64() < 5.0, "{:?}", begin.elapsed());
    }
}
