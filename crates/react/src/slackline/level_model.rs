//! Expected levels for planning. A policy that trusts every observation chases every passing dip; one that ignores them
//! uses slow machines. The share of resources that change between two evaluations gives the lifetime of a level, and so
//! the weight of the present one over the time of the plan. Later levels are drawn from observed changes: of this
//! resource, and of all of its kind. (Levels from before the first change are no evidence: all may have begun at their
//! peak.) Levels that change often may still change little: where steps are small beside the distance between levels, a
//! slow host stays slow through many of them ([`Levels::persistence`]). Possible futures are drawn from the same model:
//! lifetimes of that mean, and after each a step that hosts at about that level were seen to take. In real runs levels
//! are not observed but learnt from run times. The first one learnt of a host, or of a connection, is no change: it may
//! have held from the start, and says nothing of others.

use super::estimates::Estimates;
use crate::learned::LearnedFigures;
use crate::plan_simulator::LevelForecast;
use crate::situation::Situation;
use rand::RngExt;
use slackline_model::problem::View;
use slackline_model::rng::{Stream, stream};
use slackline_model::{HostId, approx};

/// Weight of the mean over all resources of a kind, in changes of one resource: its own mean counts by its own changes.
const PRIOR: f64 = 4.0;

/// Weight of the latest evaluation in the moving averages of rate and span, from the fourth evaluation on.
const RECENT: f64 = 0.3;

/// A host whose level falls below this share of the one before has stalled. Plans still count on it until the next
/// evaluation, for short stalls are common.
const STALLED: f64 = 0.02;

/// Changes remembered, of all hosts together.
const REMEMBERED: usize = 256;

/// A change is drawn from those that began at about the same level: one in `LIKE.0` of those remembered, and at least
/// `LIKE.1` of them.
const LIKE: (usize, usize) = (4, 6);

/// Prior of the persistence of levels: so many changes to an independent level count before any is seen. `KEPT` is the
/// most that persistence can be, so that levels always revert in the end.
const UNRELATED: f64 = 3.0;
const KEPT: f64 = 0.95;

/// Changes learnt from run times that are put down to single hosts; from the next one on they count as changes of levels.
const LEARNT: usize = 3;

/// Most changes of one host in a drawn forecast.
const MOST_CHANGES: usize = 64;

/// Observed levels of hosts and of the network.
#[derive(Debug, Default)]
pub(super) struct LevelModel {
    peak: Option<View>,
    seen: Option<View>,
    /// Per host: whether it had stalled at the last evaluation.
    stalled: Vec<bool>,
    /// Date of the last evaluation.
    at: f64,
    /// Number of evaluations.
    evaluations: f64,
    hosts: Levels,
    pairs: Levels,
    changes: Changes,
    /// Hosts and pairs whose levels were learnt from run times at an earlier evaluation.
    judged: Judged,
}

/// Per host, and per pair of groups of hosts: whether its level was judged before.
#[derive(Debug, Default)]
struct Judged {
    hosts: Vec<bool>,
    pairs: Vec<bool>,
    /// Per host: whether the last move of its learned level was downwards. `changes` counts reversals, over all hosts.
    slower: Vec<bool>,
    changes: usize,
}

/// The levels that resources of one kind have changed to, as shares of their peaks.
#[derive(Debug, Default)]
struct Levels {
    /// Moving averages: changes of one of them per second, and seconds between evaluations.
    rate: f64,
    span: f64,
    /// Per resource: their sum and number.
    own: Vec<(f64, f64)>,
    all: (f64, f64),
    /// The squares of these changes.
    steps: f64,
    /// All levels at evaluations: how many, their sum, and that of their squares.
    seen: (f64, f64, f64),
}

impl Levels {
    /// A level at an evaluation.
    fn note(&mut self, level: f64) {
        let (count, sum, squares) = self.seen;
        self.seen = (count + 1.0, sum + level, squares + level * level);
    }

    fn add(&mut self, index: usize, before: f64, level: f64) {
        for (sum, count) in [&mut self.own[index], &mut self.all] {
            *sum += level;
            *count += 1.0;
        }
        self.steps += (level - before) * (level - before);
    }

    /// Share of a level's deviation from the mean that remains after a change: 0 where levels are drawn independently (and
    /// where nothing is seen yet), nearly 1 where they move in small steps. The mean squared distance of two independent
    /// levels is twice the variance.
    fn persistence(&self) -> f64 {
        let (count, sum, squares) = self.seen;
        let apart = 2.0 * (squares / count - (sum / count) * (sum / count));
        if count == 0.0 || apart <= 1e-9 {
            return 0.0;
        }
        let redrawn = (self.steps + UNRELATED * apart) / ((self.all.1 + UNRELATED) * apart);
        (1.0 - redrawn).clamp(0.0, KEPT)
    }

    /// Rate per second at which levels revert to the mean: exponential, with the loss of one mean span between evaluations
    /// equal to the share that changed times what a change does not keep.
    fn reversion_rate(&self) -> f64 {
        let changed = -(-self.rate * self.span).exp_m1();
        if changed > 0.0 {
            -(-changed * (1.0 - self.persistence())).ln_1p() / self.span
        } else {
            0.0
        }
    }

    /// Takes in that `changed` of `all` resources have changed in `span` seconds.
    fn count(&mut self, changed: f64, all: f64, span: f64, looks: f64) {
        if all > 0.0 {
            // A share 1 - exp(-rate span) of the resources changes in a span; a share of 1 would be an infinite rate.
            let share = f64::min(changed / all, 0.95);
            let rate = -(1.0 - share).ln() / span;
            let weight = (1.0 / looks).max(RECENT);
            self.rate += weight * (rate - self.rate);
            self.span += weight * (span - self.span);
        }
    }

    /// Mean lifetime of a level, if steps are as large as those observed at evaluations.
    fn lifetime(&self) -> f64 {
        (1.0 - self.persistence()) * inverse(self.reversion_rate())
    }

    /// Mean over a span of the chance that a present level still holds: (1 - e^-x) / x, near 1 for small x.
    fn trust(&self, span: f64) -> f64 {
        let changes = self.reversion_rate() * span.max(0.0);
        if changes > 1e-6 { -(-changes).exp_m1() / changes } else { 1.0 }
    }

    /// Expected next level of a resource, where others change to the given mean.
    fn next(&self, index: usize, others: Option<f64>) -> Option<f64> {
        let ((own, times), persistence) = (self.own[index], self.persistence());
        // Where steps are small, one change does not reach the mean of changes: the rest stays near the mean level seen.
        let all = self.seen.1 / self.seen.0;
        let others = others.map(|others| others + persistence * (all - others));
        others.map(|others| (own + PRIOR * others) / (times + PRIOR))
    }

    fn mean(&self) -> Option<f64> {
        let (sum, count) = self.all;
        (count > 0.0).then(|| sum / count)
    }
}

/// From which levels hosts have changed to which.
#[derive(Debug, Default)]
struct Changes {
    /// Those of `ring`, by the level before.
    sorted: Vec<(f64, f64)>,
    /// Ring buffer of (level before, level after): once full, the one at `next` is the oldest and replaced.
    ring: Vec<(f64, f64)>,
    next: usize,
    /// The least and the greatest level of all.
    range: (f64, f64),
}

impl Changes {
    fn add(&mut self, change: (f64, f64)) {
        let (least, most) = (change.0.min(change.1), change.0.max(change.1));
        self.range = if self.ring.is_empty() {
            (least, most)
        } else {
            (self.range.0.min(least), self.range.1.max(most))
        };
        if self.ring.len() < REMEMBERED {
            self.ring.push(change);
        } else {
            let gone = std::mem::replace(&mut self.ring[self.next], change);
            self.next = (self.next + 1) % REMEMBERED;
            if let Some(at) = self.sorted.iter().position(|c| *c == gone) {
                self.sorted.remove(at);
            }
        }
        let at = self.sorted.partition_point(|c| c.0 < change.0);
        self.sorted.insert(at, change);
    }

    /// The changes that began at about a level.
    fn like(&self, level: f64) -> &[(f64, f64)] {
        let all = self.sorted.len();
        let like = (all / LIKE.0).max(LIKE.1).min(all);
        let at = self.sorted.partition_point(|c| c.0 < level);
        let from = at.saturating_sub(like / 2).min(all - like);
        &self.sorted[from..from + like]
    }

    /// A random next level after `level`: that of a similar change, moved towards `level` by `persistence` on a log scale,
    /// within the range of levels seen.
    fn draw(&self, level: f64, persistence: f64, draws: &mut Stream) -> Option<f64> {
        let like = self.like(level);
        (!like.is_empty()).then(|| {
            let (before, after) = like[draws.random_range(0..like.len())];
            (after * (level / before).powf(persistence)).clamp(self.range.0, self.range.1)
        })
    }

    /// The mean of the levels that follow about this level.
    fn mean(&self, level: f64) -> Option<f64> {
        let like = self.like(level);
        let sum: f64 = like.iter().map(|change| change.1).sum();
        (!like.is_empty()).then(|| sum / like.len() as f64)
    }
}

fn inverse(rate: f64) -> f64 {
    if rate > 0.0 { 1.0 / rate } else { f64::INFINITY }
}

/// Duration drawn from the exponential law.
fn exponential(mean: f64, draws: &mut Stream) -> f64 {
    -mean * (1.0 - draws.random::<f64>()).ln()
}

/// A standard normal draw, by Box and Muller.
fn normal(draws: &mut Stream) -> f64 {
    let (u, v) = (1.0 - draws.random::<f64>(), draws.random::<f64>());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl LevelModel {
    /// Takes in the first view, at the date `now`. `peak` has the nominal bandwidths.
    pub(super) fn begin(&mut self, peak: View, view: &View, now: f64) {
        self.hosts.own = vec![(0.0, 0.0); view.availability.len()];
        self.pairs.own = vec![(0.0, 0.0); view.network.bandwidth.len()];
        self.peak = Some(peak);
        self.seen = Some(view.clone());
        self.stalled = vec![false; view.availability.len()];
        self.judged.hosts = vec![false; view.availability.len()];
        self.judged.slower = vec![false; view.availability.len()];
        self.judged.pairs = vec![false; view.network.bandwidth.len()];
        self.at = now;
        self.evaluations = 1.0;
    }

    /// The level at which a host was last seen.
    pub(super) fn level(&self, host: HostId) -> Option<f64> {
        self.seen.as_ref()?.availability.get(host.index()).copied()
    }

    /// The view, with their last levels for hosts that have stalled since the last evaluation; none where there is no
    /// such host. (The loss of a host is an event of its own, and not a stall.)
    pub(super) fn bridge_stalls(&mut self, view: &View) -> Option<View> {
        let seen = self.seen.as_ref()?;
        let mut bridged: Option<View> = None;
        for (host, (&before, &after)) in
            seen.availability.iter().zip(&view.availability).enumerate()
        {
            let stalls = after > 0.0 && after < STALLED * before;
            if stalls && !self.stalled[host] {
                bridged.get_or_insert_with(|| view.clone()).availability[host] = before;
            }
            self.stalled[host] = stalls;
        }
        bridged
    }

    /// Whether the figure learned of a host from run times is the first one.
    pub(super) fn is_first(&self, host: HostId, taught: &LearnedFigures) -> bool {
        taught.hosts.contains_key(&host) && self.judged.hosts.get(host.index()) == Some(&false)
    }

    /// Takes in the view of a later evaluation; true when something has changed since the last.
    pub(super) fn observe(&mut self, view: &View, now: f64, taught: &LearnedFigures) -> bool {
        let (Some(seen), Some(peak)) = (&self.seen, &self.peak) else { return false };
        let compare = |(changed, all): &mut (f64, f64), before: f64, after: f64| {
            let known = before.is_finite() && after.is_finite();
            let differs = known && !approx::eq(before, after);
            *all += f64::from(u8::from(known));
            *changed += f64::from(u8::from(differs));
            differs
        };
        let (mut hosts, mut pairs) = ((0.0, 0.0), (0.0, 0.0));
        let mut news = false;
        for (index, (&before, &after)) in
            seen.availability.iter().zip(&view.availability).enumerate()
        {
            // A host that is lost is no evidence of the levels of others.
            if after > 0.0 {
                self.hosts.note(after);
            }
            let host = HostId::new(index);
            let learnt = taught.hosts.contains_key(&host) && !approx::eq(before, after);
            let again = learnt && {
                // A move in the same direction as before is the same change, better known.
                let slower = std::mem::replace(&mut self.judged.slower[index], after < before);
                slower == (after < before) || self.is_first(host, taught)
            };
            self.judged.changes += usize::from(learnt && !again);
            if learnt && (again || self.judged.changes <= LEARNT) {
                news = true;
                compare(&mut hosts, before, before);
            } else if compare(&mut hosts, before, after) && after > 0.0 {
                self.hosts.add(index, before, after);
                if before > 0.0 {
                    self.changes.add((before, after));
                }
            }
        }
        let bandwidths = seen.network.bandwidth.iter().zip(&view.network.bandwidth);
        for (index, ((&before, &after), &peak)) in
            bandwidths.zip(&peak.network.bandwidth).enumerate()
        {
            if !taught.connections.is_empty()
                && !approx::eq(before, after)
                && !std::mem::replace(&mut self.judged.pairs[index], true)
            {
                news = true;
                compare(&mut pairs, before, before);
                continue;
            }
            let (changed, known) = (compare(&mut pairs, before, after), peak > 0.0);
            if known && after.is_finite() && peak.is_finite() {
                self.pairs.note(after / peak);
            }
            if changed && known {
                self.pairs.add(index, before / peak, after / peak);
            }
        }
        let span = now - self.at;
        if span > 0.0 {
            self.hosts.count(hosts.0, hosts.1, span, self.evaluations);
            self.pairs.count(pairs.0, pairs.1, span, self.evaluations);
            self.evaluations += 1.0;
            self.at = now;
        }
        for (host, _) in taught.hosts.iter().filter(|(_, level)| level.is_sure()) {
            self.judged.hosts[host.index()] = true;
        }
        self.seen = Some(view.clone());
        news || hosts.0 + pairs.0 > 0.0
    }

    /// Mean time for which present levels still predict later ones: of hosts where those change, else of the network.
    pub(super) fn lifetime(&self) -> f64 {
        inverse(if self.hosts.rate > 0.0 {
            self.hosts.reversion_rate()
        } else {
            self.pairs.reversion_rate()
        })
    }

    /// A random forecast of levels up to a date; the same situation and number give the same. Run times are estimates
    /// times log-normal factors of median 1, whose logarithms have the standard deviation `spread`.
    pub(super) fn draw_forecast(
        &self,
        now: &Situation,
        until: f64,
        number: u64,
        spread: f64,
    ) -> LevelForecast {
        let mut course = LevelForecast::lasting(now);
        let seed = now.now.to_bits() ^ number;
        let (mean, persistence) = (self.hosts.lifetime(), self.hosts.persistence());
        for (host, levels) in course.hosts.iter_mut().enumerate() {
            let mut draws = stream(seed, "slackline/levels", host as u64);
            let (mut date, mut level) = (now.now, now.view.availability[host]);
            if level <= 0.0 || !mean.is_finite() {
                continue;
            }
            while levels.len() < MOST_CHANGES {
                date += exponential(mean, &mut draws);
                let Some(next) = self.changes.draw(level, persistence, &mut draws) else { break };
                if date >= until {
                    break;
                }
                levels.push((date, next));
                level = next;
            }
        }
        let mut draws = stream(seed, "slackline/network", 0);
        let date = now.now + exponential(inverse(self.pairs.reversion_rate()), &mut draws);
        if date < until {
            course.network.push((date, self.settled(&now.view).network));
        }
        if spread > 0.0 {
            let mut draws = stream(seed, "slackline/run times", 0);
            let factor = |task| {
                let drawn = (spread * normal(&mut draws)).exp();
                if Estimates::is_known(now, task) { 1.0 } else { drawn }
            };
            course.factors = now.workflow.tasks().map(factor).collect();
        }
        course
    }

    /// A random forecast from the start, before any change was seen. A level exponential `mean` seconds on average (in one
    /// forecast of three a quarter of that, in one four times), and is followed by the present level of a random host.
    pub(super) fn draw_first_forecast(
        now: &Situation,
        mean: f64,
        until: f64,
        number: u64,
    ) -> LevelForecast {
        let mut course = LevelForecast::lasting(now);
        let mean = mean * 4.0f64.powi(number as i32 % 3 - 1);
        let seen = now.view.availability.iter().copied();
        let seen: Vec<f64> = seen.filter(|&level| level > 0.0).collect();
        for (host, levels) in course.hosts.iter_mut().enumerate() {
            let mut draws = stream(number, "slackline/first levels", host as u64);
            let mut date = now.now + exponential(mean, &mut draws);
            while levels.len() < MOST_CHANGES && date < until && now.view.availability[host] > 0.0 {
                levels.push((date, seen[draws.random_range(0..seen.len())]));
                date += exponential(mean, &mut draws);
            }
        }
        course
    }

    /// The levels to expect when the present ones have passed.
    pub(super) fn settled(&self, view: &View) -> View {
        self.expect(view, f64::INFINITY)
    }

    /// The levels to expect on average over the next `span` seconds.
    pub(super) fn expect(&self, view: &View, span: f64) -> View {
        let mut expected = view.clone();
        let Some(peak) = &self.peak else { return expected };
        let draw = |level: f64, next: Option<f64>, trust: f64| {
            next.map_or(level, |next| next + (level - next) * trust)
        };
        let trust = self.hosts.trust(span);
        for (index, level) in expected.availability.iter_mut().enumerate() {
            // A host that is down stays down.
            if *level > 0.0 {
                let next = self.hosts.next(index, self.changes.mean(*level));
                *level = draw(*level, next, trust);
            }
        }
        let (trust, others) = (self.pairs.trust(span), self.pairs.mean());
        let bandwidths = expected.network.bandwidth.iter_mut().zip(&peak.network.bandwidth);
        for (index, (level, &peak)) in bandwidths.enumerate() {
            if *level > 0.0 && level.is_finite() && peak > 0.0 {
                *level = peak * draw(*level / peak, self.pairs.next(index, others), trust);
            }
        }
        expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learned::Figure;
    use slackline_model::platform::PlanningNetwork;

    fn view(levels: [f64; 2]) -> View {
        let network = PlanningNetwork {
            thresholds: Vec::new(),
            group_of: vec![0, 0],
            groups: 1,
            latency: vec![0.0],
            bandwidth: vec![1.0],
            streams: Vec::new(),
            inlets: Vec::new(),
            local: Vec::new(),
        };
        View { availability: levels.to_vec(), network }
    }

    #[test]
    fn constant_levels_are_trusted() {
        let mut level_model = LevelModel::default();
        level_model.begin(view([1.0, 1.0]), &view([0.5, 1.0]), 0.0);
        assert!(!level_model.observe(&view([0.5, 1.0]), 1.0, &LearnedFigures::default()));
        assert_eq!(level_model.expect(&view([0.5, 1.0]), 10.0).availability, [0.5, 1.0]);
    }

    #[test]
    fn a_stall_counts_from_the_second_evaluation_on() {
        let mut level_model = LevelModel::default();
        level_model.begin(view([1.0, 1.0]), &view([1.0, 0.5]), 0.0);
        let bridged = level_model.bridge_stalls(&view([0.001, 0.2])).map(|view| view.availability);
        assert_eq!(bridged, Some(vec![1.0, 0.2]));
        assert_eq!(level_model.bridge_stalls(&view([0.001, 0.2])), None);
        assert_eq!(level_model.bridge_stalls(&view([1.0, 0.2])), None);
        assert!(level_model.bridge_stalls(&view([0.001, 0.2])).is_some());
    }

    /// Sixty evaluations of two hosts, a second apart.
    fn watched(level: impl Fn(usize, usize) -> f64) -> LevelModel {
        let mut level_model = LevelModel::default();
        level_model.begin(view([1.0, 1.0]), &view([level(0, 0), level(0, 1)]), 0.0);
        for step in 1..60 {
            level_model.observe(
                &view([level(step, 0), level(step, 1)]),
                step as f64,
                &LearnedFigures::default(),
            );
        }
        level_model
    }

    #[test]
    fn a_slow_host_whose_level_trembles_stays_slow() {
        let mut draws = stream(1, "test", 0);
        let noise: Vec<f64> = (0..120).map(|_| 0.01 * draws.random::<f64>()).collect();
        let steady = watched(|step, host| [0.3, 0.9][host] + noise[2 * step + host]);
        // Every level changes at every evaluation, and yet predicts many later ones.
        assert!(steady.hosts.persistence() > 0.9);
        assert!(steady.lifetime() > 6.0, "{}", steady.lifetime());
        let later = steady.expect(&view([0.3, 0.9]), 3.0).availability;
        assert!(later[0] < 0.4 && later[1] > 0.8, "{later:?}");
        // And so in what is drawn.
        for _ in 0..100 {
            let next = steady.changes.draw(0.3, steady.hosts.persistence(), &mut draws);
            assert!(next.is_some_and(|level| (0.25..0.35).contains(&level)), "{next:?}");
        }
    }

    #[test]
    fn independent_levels_do_not_persist() {
        let mut draws = stream(2, "test", 0);
        let levels: Vec<f64> = (0..120).map(|_| 0.1 + 0.9 * draws.random::<f64>()).collect();
        let restless = watched(|step, host| levels[2 * step + host]);
        assert!(restless.hosts.persistence() < 0.2, "{}", restless.hosts.persistence());
        assert!(restless.lifetime() < 1.0);
    }

    #[test]
    fn levels_that_change_revert_to_the_mean() {
        let mut level_model = LevelModel::default();
        level_model.begin(view([1.0, 1.0]), &view([1.0, 1.0]), 0.0);
        assert!(level_model.observe(&view([0.2, 1.0]), 1.0, &LearnedFigures::default()));
        // One of two hosts changed in a second: rate ln 2, all of it at the first evaluation.
        // Over 10 s the trust is (1 - 2^-10) / (10 ln 2) = 0.144. Hosts change to 0.2.
        let trust = (1.0 - 0.5f64.powi(10)) / (10.0 * 2.0f64.ln());
        let levels = level_model.expect(&view([0.2, 1.0]), 10.0).availability;
        assert!((levels[0] - 0.2).abs() < 1e-12);
        assert!((levels[1] - (0.2 + 0.8 * trust)).abs() < 1e-12);
        // Back at 1 after another second: changes to 0.2 and 1, so 0.6 on average.
        level_model.observe(&view([1.0, 1.0]), 2.0, &LearnedFigures::default());
        let levels = level_model.expect(&view([1.0, 1.0]), 10.0).availability;
        assert!((levels[1] - (0.6 + 0.4 * trust)).abs() < 1e-12);
        // A host that is down stays down.
        assert_eq!(level_model.expect(&view([0.0, 1.0]), 10.0).availability[0], 0.0);
    }

    #[test]
    fn the_first_level_that_is_learnt_is_no_change() {
        let mut level_model = LevelModel::default();
        level_model.begin(view([1.0, 1.0]), &view([1.0, 1.0]), 0.0);
        let mut taught = LearnedFigures::default();
        let of = |value, samples| Figure { value, samples, error: 0.0 };
        taught.hosts.insert(HostId(0), of(0.25, 2));
        taught.hosts.insert(HostId(1), of(1.0, 3));
        assert!(level_model.observe(&view([0.25, 1.0]), 1.0, &taught), "it is news all the same");
        assert_eq!(level_model.lifetime(), f64::INFINITY);
        assert_eq!(level_model.expect(&view([0.25, 1.0]), 10.0).availability, [0.25, 1.0]);
        // One that was known to be quick has changed, which says nothing yet of the other; again and again does.
        for (step, (level, passes)) in
            [(0.5, false), (1.0, false), (0.5, false), (1.0, true)].into_iter().enumerate()
        {
            taught.hosts.insert(HostId(1), of(level, 8));
            assert!(level_model.observe(&view([0.25, level]), 2.0 + step as f64, &taught));
            assert_eq!(level_model.lifetime().is_finite(), passes, "{step}");
        }
    }
}
