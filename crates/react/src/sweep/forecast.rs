//! Forecast of levels of hosts and links from observed ones: the last, the running mean, the median of recent ones, or
//! the most accurate so far of several cheap predictors (as the Network Weather Service does).

use super::queues::Queues;
use crate::policy::Event;
use crate::situation::Situation;
use slackline_model::HostId;
use slackline_model::median::median;
use slackline_schedule::sweep::{Between, Cluster, Ways, clusters};
use std::collections::{BTreeMap, VecDeque};

/// Values that are remembered.
const WINDOW: usize = 21;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Predictor {
    Last,
    Mean,
    /// Mean of so many late values.
    Sliding(usize),
    /// Median of so many late values.
    Median(usize),
    /// Exponential smoothing with this gain.
    Smooth(f64),
}

const ALL: &[Predictor] = &[
    Predictor::Last,
    Predictor::Mean,
    Predictor::Sliding(5),
    Predictor::Sliding(11),
    Predictor::Sliding(21),
    Predictor::Median(5),
    Predictor::Median(11),
    Predictor::Median(21),
    Predictor::Smooth(0.1),
    Predictor::Smooth(0.3),
    Predictor::Smooth(0.6),
];

/// One resource's course so far.
#[derive(Clone, Debug)]
struct History {
    late: VecDeque<f64>,
    count: f64,
    mean: f64,
    smooth: Vec<f64>,
    /// Per predictor: how wrong it has been, squared and summed.
    errors: Vec<f64>,
}

impl History {
    fn new(value: f64) -> History {
        History {
            late: VecDeque::from([value]),
            count: 1.0,
            mean: value,
            smooth: vec![value; ALL.len()],
            errors: vec![0.0; ALL.len()],
        }
    }

    fn see(&mut self, value: f64) {
        for (index, &predictor) in ALL.iter().enumerate() {
            let wrong = self.predict(index, predictor) - value;
            self.errors[index] += wrong * wrong;
            if let Predictor::Smooth(gain) = predictor {
                self.smooth[index] += gain * (value - self.smooth[index]);
            }
        }
        self.count += 1.0;
        self.mean += (value - self.mean) / self.count;
        self.late.push_back(value);
        if self.late.len() > WINDOW {
            self.late.pop_front();
        }
    }

    fn last(&self) -> f64 {
        self.late.back().copied().unwrap_or(0.0)
    }

    fn predict(&self, index: usize, predictor: Predictor) -> f64 {
        let late = |width: usize| self.late.iter().rev().take(width).copied();
        match predictor {
            Predictor::Last => self.last(),
            Predictor::Mean => self.mean,
            Predictor::Sliding(width) => {
                late(width).sum::<f64>() / width.min(self.late.len()) as f64
            }
            Predictor::Median(width) => {
                let mut values: Vec<f64> = late(width).collect();
                median(&mut values).unwrap_or(self.last())
            }
            Predictor::Smooth(_) => self.smooth[index],
        }
    }

    fn best(&self) -> f64 {
        let nearest = (0..ALL.len()).min_by(|&a, &b| self.errors[a].total_cmp(&self.errors[b]));
        nearest.map_or(self.last(), |index| self.predict(index, ALL[index]))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Last,
    Mean,
    Median,
    Adaptive,
}

/// The levels of all resources.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    method: Method,
    hosts: BTreeMap<u32, History>,
    links: Vec<Option<History>>,
    gates: Vec<HostId>,
}

impl Levels {
    pub(super) fn new(method: &str) -> Levels {
        let method = match method {
            "mean" => Method::Mean,
            "median" => Method::Median,
            "adaptive" => Method::Adaptive,
            _ => Method::Last,
        };
        Levels { method, hosts: BTreeMap::new(), links: Vec::new(), gates: Vec::new() }
    }

    /// Notes the levels at the start.
    pub(super) fn look(&mut self, now: &Situation) {
        if self.method == Method::Last {
            return;
        }
        for host in now.platform.host_ids() {
            self.see_host(now, host);
        }
        let clusters = clusters(&now.platform, 0.0).unwrap_or_default();
        self.gates = clusters.iter().map(|c| c.gate).collect();
        self.links = vec![None; self.gates.len()];
        self.see_links(now);
    }

    /// Notes what has changed.
    pub(super) fn watch(&mut self, events: &[Event], now: &Situation) {
        if self.method == Method::Last {
            return;
        }
        for event in events {
            match event {
                &Event::HostChanged(host) => self.see_host(now, host),
                Event::NetworkChanged => self.see_links(now),
                _ => {}
            }
        }
    }

    fn see_host(&mut self, now: &Situation, host: HostId) {
        let level = now.view.availability[host.index()];
        if level > 0.0 {
            let history = self.hosts.entry(host.0).or_insert_with(|| History::new(level));
            history.see(level);
        }
    }

    fn see_links(&mut self, now: &Situation) {
        let Some(origin) = now.platform.origin() else { return };
        for (&gate, history) in self.gates.iter().zip(&mut self.links) {
            let (_, bandwidth) = seen_link(now, origin, gate);
            match history {
                _ if bandwidth <= 0.0 || bandwidth == f64::INFINITY => {}
                None => *history = Some(History::new(bandwidth)),
                Some(history) if history.last() == bandwidth => {}
                Some(history) => history.see(bandwidth),
            }
        }
    }

    fn forecast(&self, history: Option<&History>, seen: f64) -> f64 {
        let Some(history) = history else { return seen };
        match self.method {
            Method::Last => seen,
            Method::Mean => history.mean,
            Method::Median => history.predict(0, Predictor::Median(WINDOW)),
            Method::Adaptive => history.best(),
        }
    }

    /// Per host: the share of its speed to expect, 0 where it is gone.
    pub(super) fn hosts(&self, now: &Situation) -> Vec<f64> {
        let level = |(host, &seen): (usize, &f64)| {
            if seen <= 0.0 { 0.0 } else { self.forecast(self.hosts.get(&(host as u32)), seen) }
        };
        now.view.availability.iter().enumerate().map(level).collect()
    }

    /// Whether anything gets to a cluster, as last seen.
    pub(super) fn carries(&self, now: &Situation, queues: &Queues, cluster: usize) -> bool {
        let Some(origin) = queues.origin else { return true };
        now.living_host(queues.clusters[cluster].gate)
            .is_some_and(|gate| seen_link(now, origin, gate).1 > 0.0)
    }

    /// Routes other than the links of clusters, as last seen.
    pub(super) fn ways(&self, now: &Situation, queues: &Queues) -> Ways {
        let mut ways = queues.ways.clone();
        let gate = |cluster: usize| queues.clusters[cluster].gate;
        if let Some(target) = ways.results {
            for (cluster, way) in ways.back.iter_mut().enumerate() {
                if way.line.is_some() {
                    (way.latency, way.bandwidth) = level(now, gate(cluster), target);
                }
            }
        }
        for Between { from, to, way } in &mut ways.between {
            (way.latency, way.bandwidth) = level(now, gate(*from), gate(*to));
        }
        ways
    }

    /// Latency and bandwidth to expect of the link of a cluster; no bandwidth where no host is
    /// behind it.
    pub(super) fn link(
        &self,
        now: &Situation,
        index: usize,
        cluster: &Cluster,
        origin: Option<HostId>,
    ) -> (f64, f64) {
        let Some(origin) = origin.filter(|_| cluster.link.is_some()) else {
            return (cluster.latency, cluster.bandwidth);
        };
        if now.living_host(cluster.gate).is_none() {
            return (0.0, 0.0);
        }
        let (latency, seen) = seen_link(now, origin, cluster.gate);
        if seen <= 0.0 {
            return (latency, 0.0);
        }
        (latency, self.forecast(self.links.get(index).and_then(Option::as_ref), seen))
    }
}

/// Latency and bandwidth between two hosts as last seen; none where one of them is gone.
fn level(now: &Situation, from: HostId, to: HostId) -> (f64, f64) {
    match (now.living_host(from), now.living_host(to)) {
        (Some(from), Some(to)) => seen_link(now, from, to),
        _ => (0.0, 0.0),
    }
}

/// Latency and bandwidth between two hosts as last seen.
fn seen_link(now: &Situation, from: HostId, to: HostId) -> (f64, f64) {
    let network = &now.view.network;
    let group = |host: HostId| network.group_of[host.index()] as usize;
    let at = group(from) * network.groups + group(to);
    (network.latency[at], network.bandwidth[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_predictor_is_found() {
        // A level that jumps to and fro around 0.5: means are nearer than the last value.
        let mut swings = History::new(0.2);
        (0..40).for_each(|k| swings.see(if k % 2 == 0 { 0.8 } else { 0.2 }));
        assert!((swings.best() - 0.5).abs() < 0.1, "{}", swings.best());
        // One that rises: the last value is nearest.
        let mut rises = History::new(0.0);
        (1..40).for_each(|k| rises.see(f64::from(k)));
        assert_eq!(rises.best(), 39.0);
        assert_eq!(rises.predict(0, Predictor::Median(21)), 29.0);
        assert_eq!(rises.predict(0, Predictor::Sliding(5)), 37.0);
        assert_eq!(rises.mean, 19.5);
    }
}
