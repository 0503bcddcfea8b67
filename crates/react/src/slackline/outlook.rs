//! What levels to plan with. A policy that believes what it sees chases every passing dip; one
//! that ignores it works on slow machines. From look to look some resources change: that tells
//! how long a level lasts, and so how much of the present one is left over the time the plan is
//! for. What will come after it is the mean of what was seen, of the resource and of all of its
//! kind.

use slackline_model::approx;
use slackline_model::problem::View;

/// Looks that the mean over all resources of a kind counts for against a resource's own.
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
    /// Sums of levels, as shares of the peak, over the looks.
    hosts: Vec<f64>,
    pairs: Vec<f64>,
    /// Changes of one resource per second, on average over all.
    rate: f64,
}

impl Outlook {
    /// The first look, on a platform with this peak.
    pub(super) fn begin(&mut self, peak: View, view: &View, now: f64) {
        self.hosts = vec![0.0; view.availability.len()];
        self.pairs = vec![0.0; view.network.bandwidth.len()];
        self.peak = Some(peak);
        self.add(view, now);
    }

    fn add(&mut self, view: &View, now: f64) {
        let Some(peak) = &self.peak else { return };
        self.looks += 1.0;
        self.at = now;
        for (sum, &level) in self.hosts.iter_mut().zip(&view.availability) {
            *sum += level;
        }
        let bandwidths = view.network.bandwidth.iter().zip(&peak.network.bandwidth);
        for (sum, (&level, &peak)) in self.pairs.iter_mut().zip(bandwidths) {
            *sum += if level.is_finite() && peak > 0.0 { level / peak } else { 1.0 };
        }
        self.seen = Some(view.clone());
    }

    /// A further look; true when something has changed since the last.
    pub(super) fn look(&mut self, view: &View, now: f64) -> bool {
        let Some(seen) = &self.seen else { return false };
        let hosts = seen.availability.iter().zip(&view.availability);
        let pairs = seen.network.bandwidth.iter().zip(&view.network.bandwidth);
        let finite = hosts.chain(pairs).filter(|(b, a)| b.is_finite() && a.is_finite());
        let (mut changed, mut all) = (0.0, 0.0);
        for (&before, &after) in finite {
            all += 1.0;
            changed += f64::from(u8::from(!approx::eq(before, after)));
        }
        let span = now - self.at;
        if all > 0.0 && span > 0.0 {
            // A share 1 - exp(-rate span) of the resources changes in a span.
            let share = f64::min(changed / all, 0.95);
            let rate = -(1.0 - share).ln() / span;
            let weight = (1.0 / self.looks).max(RECENT);
            self.rate += weight * (rate - self.rate);
            self.add(view, now);
        }
        changed > 0.0
    }

    /// The levels to expect on average over the next `span` seconds.
    pub(super) fn expect(&self, view: &View, span: f64) -> View {
        let mut expected = view.clone();
        let Some(peak) = &self.peak else { return expected };
        let changes = self.rate * span.max(0.0);
        // Mean over the span of the chance that the present level still holds.
        let trust = if changes > 1e-6 { -(-changes).exp_m1() / changes } else { 1.0 };
        let draw = |sums: &[f64], all: f64, index: usize, level: f64| {
            let mean = (sums[index] + PRIOR * all) / (self.looks + PRIOR);
            mean + (level - mean) * trust
        };
        let of_all = |sums: &[f64]| sums.iter().sum::<f64>() / self.looks / sums.len() as f64;
        let all = of_all(&self.hosts);
        for (index, level) in expected.availability.iter_mut().enumerate() {
            // A host that is gone stays gone.
            if *level > 0.0 {
                *level = draw(&self.hosts, all, index, *level);
            }
        }
        let all = of_all(&self.pairs);
        let bandwidths = expected.network.bandwidth.iter_mut().zip(&peak.network.bandwidth);
        for (index, (level, &peak)) in bandwidths.enumerate() {
            if *level > 0.0 && level.is_finite() && peak > 0.0 {
                *level = peak * draw(&self.pairs, all, index, *level / peak);
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
            group_of: vec![0, 0],
            groups: 1,
            latency: vec![0.0],
            bandwidth: vec![1.0],
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
        // Over 10 s the trust is (1 - (2/3)^10) / (10 ln(3/2)) = 0.24235. Means: all hosts
        // (1 + 1 + 0.2 + 1) / 4 = 0.8; the first (1.2 + 4 * 0.8) / 6 = 0.73333.
        let level = outlook.expect(&view([0.2, 1.0]), 10.0).availability[0];
        let mean = 4.4 / 6.0;
        let trust = (1.0 - (2.0f64 / 3.0).powi(10)) / (10.0 * 1.5f64.ln());
        assert!((level - (mean + (0.2 - mean) * trust)).abs() < 1e-12);
        // A host that is gone stays gone.
        assert_eq!(outlook.expect(&view([0.0, 1.0]), 10.0).availability[0], 0.0);
    }
}
