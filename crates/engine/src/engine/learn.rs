//! Estimates learnt during a run. A task that took longer than expected is a sample of its kind, and of its host where
//! others of the kind took less; a transfer is a sample of the connection between two places. ([`Levels`] has the
//! reasoning.) Once the samples suffice, the estimates of the kind, the level of the host and the network change in the
//! situation, for later planning.

use super::Engine;
use super::levels::{Levels, Sample};
use crate::backend::Report;
use crate::bandwidth_estimation::{Departure, Pair, Passage, Rate, Traffic};
use slackline_model::median::upper_median;
use slackline_model::problem::Block;
use slackline_model::workflow::Workflow;
use slackline_model::{HostId, ProcId, TaskId};
use slackline_react::{Figure, Situation, TaskState};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Samples kept per connection: old ones are no evidence of its present bandwidth.
const OF_CONNECTION: usize = 15;

/// Least relative change of an estimate that is applied; it also has to exceed the standard error.
const WORTH: f64 = 0.2;

/// A new level of a host needs `AGREE` samples and a difference of `CLEARLY` standard errors.
const AGREE: usize = 2;
const CLEARLY: f64 = 3.0;

/// Smallest level that is learned. A host that never completes anything is handled by time limits, not by its level.
const LEAST: f64 = 0.05;

/// Greatest progress extrapolated for an operation that has not ended.
pub(super) const NEARLY: f64 = 0.99;

/// Most places (hosts or shared storages) with learned connections: those are quadratic in number.
const PLACES: usize = 100;

/// The last samples, up to a number.
#[derive(Clone)]
struct Recent<T>(VecDeque<T>);

impl<T> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent(VecDeque::new())
    }
}

impl<T> Recent<T> {
    fn add(&mut self, value: T, memory: usize) {
        if self.0.len() == memory {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }
}

/// Samples and estimates so far.
pub(super) struct Learning {
    /// The workflow as it was estimated at first.
    estimated: Arc<Workflow>,
    /// Levels fitted to run times.
    levels: Levels,
    /// Per kind: the factor in the situation.
    factor: Vec<f64>,
    /// Per host: the level in the situation.
    level: Vec<f64>,
    /// Transfers under way, and the last ones of every pair of places.
    traffic: Traffic,
    ways: BTreeMap<Pair, Recent<Passage>>,
}

impl Learning {
    pub(super) fn new(now: &Situation) -> Learning {
        let (kinds, hosts) = (now.workflow.kinds(), now.platform.hosts().len());
        Learning {
            estimated: Arc::clone(&now.workflow),
            levels: Levels::new(kinds, hosts),
            factor: vec![1.0; kinds],
            level: vec![1.0; hosts],
            traffic: Traffic::new(&now.platform),
            ways: BTreeMap::new(),
        }
    }

    /// Seconds a task should take at the peak of a host, by the first estimates.
    fn expected(&self, task: TaskId, width: usize, speed: f64) -> f64 {
        estimate(&self.estimated, task, width, speed)
    }

    /// Seconds a task should take on a host, with learned factor and level.
    fn expected_now(&self, task: TaskId, width: usize, host: HostId, speed: f64) -> f64 {
        let factor = self.factor[self.estimated.kind(task).index()];
        self.expected(task, width, speed) * factor / self.level[host.index()]
    }
}

/// Seconds a task should take at the peak of a host.
fn estimate(workflow: &Workflow, task: TaskId, width: usize, speed: f64) -> f64 {
    workflow.work(task) / speed * workflow.speedup(task).factor(width as u32)
}

/// The tasks that run, with the seconds they have taken so far.
fn running(now: &Situation, estimated: &Workflow) -> Vec<(HostId, Sample)> {
    let sample = |task: TaskId| {
        let TaskState::Running { procs, since } = now.task(task) else { return None };
        let (host, seconds) = (now.host(procs), now.now - since);
        let expected = estimate(estimated, task, procs.len(), now.platform.host(host).speed);
        let kind = estimated.kind(task);
        let usable = expected > 0.0 && seconds > 0.0;
        usable.then_some((host, Sample { kind, expected, seconds, share: None }))
    };
    now.tasks.begun().filter_map(sample).collect()
}

/// Makes each place a network group of its own, unless there are too many, so that an estimate for one pair of places
/// changes no other.
pub(super) fn separate_places(now: &mut Situation) {
    let place = |host: HostId| now.platform.place_of(host);
    let places: BTreeSet<HostId> = now.platform.host_ids().map(place).collect();
    if places.len() <= PLACES {
        now.view.network = now.view.network.told_apart(|host| place(host).0);
    }
}

/// Whether a measured figure is sure and clearly differs from the one in the situation.
fn differs(present: f64, seen: &Figure) -> bool {
    seen.is_sure() && (seen.value / present - 1.0).abs() > WORTH.max(seen.error)
}

impl Engine<'_, '_> {
    /// Takes the run time of a finished task as a sample of its kind and host.
    pub(super) fn learn(&mut self, task: TaskId, procs: &[ProcId], report: &Report) {
        let (Some(learning), Some(seconds), Some(first)) =
            (&mut self.learning, report.seconds, procs.first())
        else {
            return;
        };
        let host = self.situation.host_of[first.index()];
        let speed = self.situation.platform.host(host).speed;
        let expected = learning.expected(task, procs.len(), speed);
        if !(expected > 0.0 && seconds > 0.0) {
            return;
        }
        let kind = learning.estimated.kind(task);
        let share = report.load.map(|load| load.share());
        if !learning.levels.add(host, Sample { kind, expected, seconds, share }) {
            return;
        }
        let running = running(&self.situation, &learning.estimated);
        learning.levels.fit(running.into_iter());
        let mut kinds_changed = false;
        for kind in learning.levels.kinds() {
            let factor = learning.levels.factor(kind);
            self.situation.taught.kinds.insert(kind, factor);
            if differs(learning.factor[kind.index()], &factor) {
                learning.factor[kind.index()] = factor.value;
                kinds_changed = true;
            }
        }
        let mut changed: Vec<(HostId, f64)> = Vec::new();
        for host in learning.levels.hosts() {
            let seen = learning.levels.level(host);
            if seen.samples == 0 {
                continue; // there is nothing to compare it with
            }
            self.situation.taught.hosts.insert(host, seen);
            let level = seen.value.clamp(LEAST, 1.0);
            let told = &mut learning.level[host.index()];
            let enough = WORTH.ln_1p().max(CLEARLY * seen.error);
            if seen.samples >= AGREE && (level / *told).ln().abs() > enough {
                *told = level;
                changed.push((host, level));
            }
        }
        if kinds_changed {
            self.apply_factors();
        }
        changed.into_iter().for_each(|(host, level)| self.host_changed(host, level));
    }

    /// The share of a running task that is done, extrapolated from its time and the learned estimates, where the backend
    /// cannot measure it.
    pub(super) fn learnt_share(&self, task: TaskId) -> Option<f64> {
        let learning = self.learning.as_ref().filter(|_| self.abilities.guesses)?;
        let TaskState::Running { procs, since } = self.situation.task(task) else { return None };
        let host = self.situation.host(procs);
        let speed = self.situation.platform.host(host).speed;
        let expected = learning.expected_now(task, procs.len(), host, speed);
        let share = (self.situation.now - since) / expected;
        (expected > 0.0).then(|| share.clamp(0.0, NEARLY))
    }

    /// A transfer begins.
    pub(super) fn departs(&mut self, blocks: &[Block]) -> Option<Departure> {
        let now = self.situation.now;
        let learning = self.learning.as_mut()?;
        let (platform, network) = (&self.situation.platform, &self.situation.peak_network);
        learning.traffic.begin(platform, network, blocks, now)
    }

    /// A transfer was broken off.
    pub(super) fn departure_failed(&mut self, departure: Option<Departure>) {
        if let (Some(learning), Some(departure)) = (&mut self.learning, departure) {
            learning.traffic.end(departure, self.situation.now);
        }
    }

    /// Takes the duration of a finished transfer as a sample of its connection.
    pub(super) fn learn_connection(
        &mut self,
        departure: Option<Departure>,
        blocks: &[Block],
        at: f64,
        report: &Report,
    ) {
        let (Some(learning), Some(departure), [block]) = (&mut self.learning, departure, blocks)
        else {
            return;
        };
        let Some((pair, lost)) = learning.traffic.end(departure, at) else { return };
        let Some(passage) = Passage::of(report, block.bytes, lost) else { return };
        let recent = learning.ways.entry(pair).or_default();
        recent.add(passage, OF_CONNECTION);
        let shown: Vec<Passage> = recent.0.iter().copied().collect();
        let peak = &self.situation.peak_network;
        let stated = peak.pair(block.from, block.to);
        let stated = (peak.latency[stated], peak.bandwidth[stated]);
        let Some(rate) = Rate::of(&shown, stated) else { return };
        self.situation.taught.connections.insert(pair, rate.bandwidth);
        let mut sizes: Vec<f64> = shown.iter().map(|p| p.bytes).collect();
        let usual = upper_median(&mut sizes).unwrap_or(block.bytes);
        let told = self.seen_transfer_time(usual, block);
        let seconds = rate.seconds(usual, stated.0);
        if differs(told, &Figure { value: seconds, ..rate.bandwidth }) {
            self.connection_learned(pair, &rate);
        }
    }

    /// Sets the work of every task to its first estimate times the factor of its kind.
    fn apply_factors(&mut self) {
        let Some(learning) = &self.learning else { return };
        let estimated = &learning.estimated;
        let factor = |t: TaskId| learning.factor[estimated.kind(t).index()];
        // A workflow scaled before has no other owner, so that it need not be copied.
        let before = std::mem::replace(&mut self.situation.workflow, Arc::clone(estimated));
        let scaled = |_: &Workflow, t: TaskId| estimated.work(t) * factor(t);
        let workflow = Arc::unwrap_or_clone(before).with_work(estimated.reference_speed(), scaled);
        self.situation.workflow = Arc::new(workflow);
    }
}
