//! Which levels were seen, and from when on: what a task computed between two dates tells how far its
//! estimate was off, and another plan can be followed through the same levels.

use crate::foresight::Course;
use crate::policy::Event;
use crate::situation::Situation;
use slackline_model::HostId;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct History {
    seen: Course,
}

impl History {
    pub(super) fn begin(&mut self, now: &Situation) {
        self.seen = Course::lasting(now);
    }

    /// Notes the levels of hosts that have changed, and the network if it has.
    pub(super) fn hear(&mut self, events: &[Event], now: &Situation) {
        for event in events {
            match *event {
                Event::HostChanged(host) | Event::HostLost(host) | Event::HostBack(host) => {
                    let level = now.view.availability[host.index()];
                    if let Some(levels) = self.seen.hosts.get_mut(host.index())
                        && levels.last().is_none_or(|&(_, last)| last != level)
                    {
                        levels.push((now.now, level));
                    }
                }
                Event::NetworkChanged if !self.seen.hosts.is_empty() => {
                    self.seen.network.push((now.now, now.view.network.clone()));
                }
                _ => {}
            }
        }
    }

    /// What has been seen since a date.
    pub(super) fn since(&self, date: f64) -> Course {
        Course {
            hosts: self.seen.hosts.iter().map(|levels| after(levels, date)).collect(),
            network: after(&self.seen.network, date),
            factors: Vec::new(),
        }
    }

    /// Seconds at its peak that a host has had between two dates.
    pub(super) fn seconds_at_peak(&self, host: HostId, from: f64, to: f64) -> f64 {
        let Some(levels) = self.seen.hosts.get(host.index()) else { return to - from };
        let ends = levels.iter().skip(1).map(|&(date, _)| date).chain([f64::INFINITY]);
        let spans = levels.iter().zip(ends).enumerate().map(|(at, (&(date, level), end))| {
            let begin = if at == 0 { from } else { from.max(date) };
            level * (to.min(end) - begin).max(0.0)
        });
        spans.sum()
    }
}

/// What holds at a date, and what came later.
fn after<T: Clone>(seen: &[(f64, T)], date: f64) -> Vec<(f64, T)> {
    let at = seen.partition_point(|(from, _)| *from <= date).saturating_sub(1);
    let from = |(from, level): &(f64, T)| (from.max(date), level.clone());
    seen[at..].iter().map(from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common;
    use std::sync::Arc;

    #[test]
    fn a_host_works_at_the_levels_it_was_seen_with() {
        let (workflow, platform) =
            (common::workflow(&[&[1.0]], &[]), common::platform(1, |_, _| 1.0));
        let mut now = Situation::new(Arc::new(workflow), Arc::new(platform));
        let (host, mut history) = (HostId(0), History::default());
        history.begin(&now);
        now.now = 10.0;
        now.view.availability[0] = 0.25;
        history.hear(&[Event::HostChanged(host)], &now);
        assert_eq!(history.seconds_at_peak(host, 2.0, 8.0), 6.0);
        assert_eq!(history.seconds_at_peak(host, 6.0, 14.0), 4.0 + 1.0);
        // Told twice, changed once.
        history.hear(&[Event::HostChanged(host)], &now);
        assert_eq!(history.since(0.0).hosts[0], [(0.0, 1.0), (10.0, 0.25)]);
        assert_eq!(history.since(5.0).hosts[0], [(5.0, 1.0), (10.0, 0.25)]);
        assert_eq!(history.since(10.0).hosts[0], [(10.0, 0.25)]);
    }
}
