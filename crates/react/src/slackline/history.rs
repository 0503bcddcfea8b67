//! History of observed levels: progress between two dates gives the error of an estimate, and another plan can be
//! followed through the same levels.

use crate::plan_simulator::LevelForecast;
use crate::policy::Event;
use crate::situation::Situation;
use slackline_model::HostId;

/// Levels kept of one host: beyond, neighbours become one, with their mean.
const LEVELS: usize = 1 << 12;

/// Rates between groups of hosts kept of all networks: beyond, every other network is forgotten.
const RATES: usize = 1 << 18;

/// Levels of hosts observed so far; its size does not grow with the length of a run.
#[derive(Debug, Default)]
pub(super) struct History {
    seen: LevelForecast,
}

impl History {
    pub(super) fn begin(&mut self, now: &Situation) {
        self.seen = LevelForecast::lasting(now);
    }

    /// Notes the levels of hosts that have changed. One that is learnt for the first time was so before.
    pub(super) fn hear(
        &mut self,
        events: &[Event],
        now: &Situation,
        is_first: impl Fn(HostId) -> bool,
    ) {
        for event in events {
            match *event {
                Event::HostChanged(host) | Event::HostLost(host) | Event::HostBack(host) => {
                    let level = now.view.availability[host.index()];
                    if let Some(levels) = self.seen.hosts.get_mut(host.index())
                        && levels.last().is_none_or(|&(_, last)| last != level)
                    {
                        if matches!(event, Event::HostChanged(_)) && is_first(host) {
                            levels.truncate(1);
                            levels.iter_mut().for_each(|(_, first)| *first = level);
                            continue;
                        }
                        levels.push((now.now, level));
                        if levels.len() > LEVELS {
                            halve(levels);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes the network if it has changed: at evaluations only, for it is large.
    pub(super) fn note_network(&mut self, now: &Situation) {
        let (kept, network) = (&mut self.seen.network, &now.view.network);
        if kept.last().is_none_or(|(_, last)| last == network) {
            return;
        }
        kept.push((now.now, network.clone()));
        if kept.len() * network.bandwidth.len() > RATES {
            let last = kept.len() - 1;
            let mut index = 0..;
            kept.retain(|_| index.next().is_some_and(|at| at % 2 == 0 || at == last));
        }
    }

    /// Levels observed since a date.
    pub(super) fn since(&self, date: f64) -> LevelForecast {
        LevelForecast {
            hosts: self.seen.hosts.iter().map(|levels| after(levels, date)).collect(),
            network: after(&self.seen.network, date),
            factors: Vec::new(),
        }
    }

    /// Seconds at its peak that a host has had between two dates.
    pub(super) fn seconds_at_peak(&self, host: HostId, from: f64, to: f64) -> f64 {
        let Some(levels) = self.seen.hosts.get(host.index()) else { return to - from };
        let levels = &levels[holding(levels, from)..];
        let ends = levels.iter().skip(1).map(|&(date, _)| date).chain([f64::INFINITY]);
        let spans = levels.iter().zip(ends).enumerate().map(|(at, (&(date, level), end))| {
            let begin = if at == 0 { from } else { date };
            (begin, level * (to.min(end) - begin))
        });
        spans.take_while(|(begin, _)| *begin < to).map(|(_, seconds)| seconds).sum()
    }
}

/// Index of the level at a date; the first before any observation.
fn holding<T>(seen: &[(f64, T)], date: f64) -> usize {
    seen.partition_point(|(from, _)| *from <= date).saturating_sub(1)
}

/// Makes one level of every two: what a host does in both is the same.
fn halve(levels: &mut Vec<(f64, f64)>) {
    let mean = |at: usize| match levels[at..] {
        [(from, first), (change, second), (to, _), ..] => {
            let work = first * (change - from) + second * (to - change);
            vec![(from, if to > from { work / (to - from) } else { second })]
        }
        ref rest => rest.to_vec(),
    };
    *levels = (0..levels.len()).step_by(2).flat_map(mean).collect();
}

/// Level at a date, and later ones.
fn after<T: Clone>(seen: &[(f64, T)], date: f64) -> Vec<(f64, T)> {
    let at = holding(seen, date);
    let from = |(from, level): &(f64, T)| (from.max(date), level.clone());
    seen[at..].iter().map(from).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a broken fixture is a broken test
mod tests {
    use super::*;
    use crate::common;
    use std::sync::Arc;

    /// One task, and the first of some hosts.
    fn begun(hosts: usize) -> (Situation, HostId, History) {
        let (workflow, platform) =
            (common::workflow(&[&[1.0]], &[]), common::platform(hosts, |_, _| 1.0));
        let now = Situation::new(Arc::new(workflow), Arc::new(platform));
        let mut history = History::default();
        history.begin(&now);
        (now, HostId(0), history)
    }

    #[test]
    fn a_host_works_at_the_levels_it_was_seen_with() {
        let (mut now, host, mut history) = begun(1);
        now.now = 10.0;
        now.view.availability[0] = 0.25;
        history.hear(&[Event::HostChanged(host)], &now, |_| false);
        assert_eq!(history.seconds_at_peak(host, 2.0, 8.0), 6.0);
        assert_eq!(history.seconds_at_peak(host, 6.0, 14.0), 4.0 + 1.0);
        // Told twice, changed once.
        history.hear(&[Event::HostChanged(host)], &now, |_| false);
        assert_eq!(history.since(0.0).hosts[0], [(0.0, 1.0), (10.0, 0.25)]);
        assert_eq!(history.since(5.0).hosts[0], [(5.0, 1.0), (10.0, 0.25)]);
        assert_eq!(history.since(10.0).hosts[0], [(10.0, 0.25)]);
        assert_eq!(history.seconds_at_peak(host, 10.0, 10.0), 0.0);
        // What is found out only now was so all the time.
        now.view.availability[0] = 0.5;
        history.hear(&[Event::HostChanged(host)], &now, |_| true);
        assert_eq!(history.since(0.0).hosts[0], [(0.0, 0.5)]);
    }

    #[test]
    fn long_runs_are_remembered_in_less_detail() {
        let (mut now, host, mut history) = begun(2);
        for date in 1..=100_000u32 {
            now.now = f64::from(date);
            now.view.availability[0] = if date % 4 < 2 { 0.25 } else { 0.75 };
            now.view.network.bandwidth[1] = now.now;
            history.hear(&[Event::HostChanged(host), Event::NetworkChanged], &now, |_| false);
            history.note_network(&now);
        }
        assert!(history.seen.hosts[0].len() <= LEVELS);
        assert!(history.seen.network.len() * now.view.network.bandwidth.len() <= RATES);
        // From the first to the last, and what holds now.
        assert_eq!(history.seen.network.first().unwrap().0, 0.0);
        assert_eq!(history.seen.network.last().unwrap(), &(100_000.0, now.view.network.clone()));
        assert_eq!(*history.seen.hosts[0].last().unwrap(), (100_000.0, 0.25));
        // Half a second of every second, but for the first ones.
        let had = history.seconds_at_peak(host, 0.0, 100_000.0);
        assert!((had - 50_000.0).abs() < 1.0, "{had}");
    }
}
