//! What levels to plan with. A policy that believes what it sees chases every passing dip; one
//! that ignores it works on slow machines. From look to look some resources change: that tells
//! how long a level lasts, and so how much of the present one is left over the time the plan is
//! for. What comes after it is what resources were seen to change to: this one, and all of its
//! kind. (Levels from before the first change tell nothing of that: everything may have begun at
//! its peak.)

use slackline_model::problem::View;
use slackline_model::{HostId, approx};

/// Changes that the mean over all resources of a kind counts for against a resource's own.
const PRIOR: f64 = 4.0;

/// Weight of the latest look in the rate of change, once there have been a few.
const RECENT: f64 = 0.3;

/// What has been seen of the levels of hosts and of the network.
#[derive(Debug, Default)]
pub(super) struct Outlook {
    peak: Option<View>,
    seen: Option<View>,
    at: f64,
    looks: f64,
    hosts: Levels,
    pairs: Levels,
    /// Changes of one resource per second, on average over all.
    rate: f64,
}

/// The levels that resources of one kind have changed to, as shares of their peaks.
#[derive(Debug, Default)]
struct Levels {
    /// Per resource: their sum and number.
    own: Vec<(f64, f64)>,
    all: (f64, f64),
}

impl Levels {
    fn add(&mut self, index: usize, level: f64) {
        for (sum, count) in [&mut self.own[index], &mut self.all] {
            *sum += level;
            *count += 1.0;
        }
    }

    /// What a resource is expected to change to.
    fn next(&self, index: usize) -> Option<f64> {
        let ((own, times), (sum, count)) = (self.own[index], self.all);
        (count > 0.0).then(|| (own + PRIOR * (sum / count)) / (times + PRIOR))
    }
}

impl Outlook {
    /// The first look, on a platform with this peak.
    pub(super) fn begin(&mut self, peak: View, view: &View, now: f64) {
        self.hosts.own = vec![(0.0, 0.0); view.availability.len()];
        self.pairs.own = vec![(0.0, 0.0); view.network.bandwidth.len()];
        self.peak = Some(peak);
        self.seen = Some(view.clone());
        self.at = now;
        self.looks = 1.0;
    }

    /// The level at which a host was last seen.
    pub(super) fn level(&self, host: HostId) -> Option<f64> {
        self.seen.as_ref()?.availability.get(host.index()).copied()
    }

    /// A further look; true when something has changed since the last.
    pub(super) fn look(&mut self, view: &View, now: f64) -> bool {
        let (Some(seen), Some(peak)) = (&self.seen, &self.peak) else { return false };
        let (mut changed, mut all) = (0.0, 0.0);
        let mut compare = |before: f64, after: f64| {
            let known = before.is_finite() && after.is_finite();
            let differs = known && !approx::eq(before, after);
            all += f64::from(u8::from(known));
            changed += f64::from(u8::from(differs));
            differs
        };
        for (index, (&before, &after)) in
            seen.availability.iter().zip(&view.availability).enumerate()
        {
            // A host that is lost tells nothing of the levels of others.
            if compare(before, after) && after > 0.0 {
                self.hosts.add(index, after);
            }
        }
        let bandwidths = seen.network.bandwidth.iter().zip(&view.network.bandwidth);
        for (index, ((&before, &after), &peak)) in
            bandwidths.zip(&peak.network.bandwidth).enumerate()
        {
            if compare(before, after) && peak > 0.0 {
                self.pairs.add(index, after / peak);
            }
        }
        let span = now - self.at;
        if all > 0.0 && span > 0.0 {
            // A share 1 - exp(-rate span) of the resources changes in a span.
            let share = f64::min(changed / all, 0.95);
            let rate = -(1.0 - share).ln() / span;
            let weight = (1.0 / self.looks).max(RECENT);
            self.rate += weight * (rate - self.rate);
            self.looks += 1.0;
            self.at = now;
        }
        self.seen = Some(view.clone());
        changed > 0.0
    }

    /// How long present levels last on average, from now on.
    pub(super) fn lifetime(&self) -> f64 {
        if self.rate > 0.0 { 1.0 / self.rate } else { f64::INFINITY }
    }

    /// The levels to expect when the present ones have passed.
    pub(super) fn settled(&self, view: &View) -> View {
        self.expect(view, f64::INFINITY)
    }

    /// The levels to expect on average over the next `span` seconds.
    pub(super) fn expect(&self, view: &View, span: f64) -> View {
        let mut expected = view.clone();
        let Some(peak) = &self.peak else { return expected };
        let changes = self.rate * span.max(0.0);
        // Mean over the span of the chance that the present level still holds.
        let trust = if changes > 1e-6 { -(-changes).exp_m1() / changes } else { 1.0 };
        let draw = |level: f64, next: Option<f64>| {
            next.map_or(level, |next| next + (level - next) * trust)
        };
        for (index, level) in expected.availability.iter_mut().enumerate() {
            // A host that is gone stays gone.
            if *level > 0.0 {
                *level = draw(*level, self.hosts.next(index));
            }
        }
        let bandwidths = expected.network.bandwidth.iter_mut().zip(&peak.network.bandwidth);
        for (index, (level, &peak)) in bandwidths.enumerate() {
            if *level > 0.0 && level.is_finite() && peak > 0.0 {
                *level = peak * draw(*level / peak, self.pairs.next(index));
            }
        }
        expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::platform::PlanningNetwork;

    fn view(levels: [f64; 2]) -> View {
        let network = PlanningNetwork {
            thresholds: Vec::new(),
            group_of: vec![0, 0],
            groups: 1,
            latency: vec![0.0],
            bandwidth: vec![1.0],
            local: Vec::new(),
        };
        View { availability: levels.to_vec(), network }
    }

    #[test]
    fn what_lasts_is_believed() {
        let mut outlook = Outlook::default();
        outlook.begin(view([1.0, 1.0]), &view([0.5, 1.0]), 0.0);
        assert!(!outlook.look(&view([0.5, 1.0]), 1.0));
        assert_eq!(outlook.expect(&view([0.5, 1.0]), 10.0).availability, [0.5, 1.0]);
    }

    #[test]
    fn what_passes_is_drawn_to_the_mean() {
        let mut outlook = Outlook::default();
        outlook.begin(view([1.0, 1.0]), &view([1.0, 1.0]), 0.0);
        assert!(outlook.look(&view([0.2, 1.0]), 1.0));
        // One of three levels changed in a second: rate ln(3/2), all of it at the first look.
        // Over 10 s the trust is (1 - (2/3)^10) / (10 ln(3/2)) = 0.242. Hosts change to 0.2.
        let trust = (1.0 - (2.0f64 / 3.0).powi(10)) / (10.0 * 1.5f64.ln());
        let levels = outlook.expect(&view([0.2, 1.0]), 10.0).availability;
        assert!((levels[0] - 0.2).abs() < 1e-12);
        assert!((levels[1] - (0.2 + 0.8 * trust)).abs() < 1e-12);
        // Back at 1 after another second: changes to 0.2 and 1, so 0.6 on average.
        outlook.look(&view([1.0, 1.0]), 2.0);
        let levels = outlook.expect(&view([1.0, 1.0]), 10.0).availability;
        assert!((levels[1] - (0.6 + 0.4 * trust)).abs() < 1e-12);
        // A host that is gone stays gone.
        assert_eq!(outlook.expect(&view([0.0, 1.0]), 10.0).availability[0], 0.0);
    }
}
