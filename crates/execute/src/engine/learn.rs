//! What a run teaches while it goes on. A task that took longer than expected says something about its
//! kind, and about its host where others of the kind took less. Once that is sure enough the
//! estimates of the kind and the level of the host change in the situation, for whoever plans next.

use super::Engine;
use crate::backend::Report;
use slackline_model::workflow::Workflow;
use slackline_model::{HostId, KindId, ProcId, TaskId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Samples that are remembered of a kind, and of a host: what it did long ago says little.
const OF_KIND: usize = 15;
const OF_HOST: usize = 3;

/// Samples before anybody believes them.
const SURE: usize = 3;

/// Relative change that is worth telling.
const WORTH: f64 = 0.2;

/// Smallest level that is told: a host that never ends anything is somebody else's business.
const LEAST: f64 = 0.05;

/// The last few of many numbers.
#[derive(Clone, Default)]
struct Recent(VecDeque<f64>);

impl Recent {
    fn add(&mut self, value: f64, memory: usize) {
        if self.0.len() == memory {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// The middle one, once there are enough.
    fn sure(&self, enough: usize) -> Option<f64> {
        let mut sorted: Vec<f64> = self.0.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        (sorted.len() >= enough).then(|| sorted[sorted.len() / 2])
    }
}

/// What was learnt so far.
pub(super) struct Learning {
    /// The workflow as it was estimated at first.
    estimated: Arc<Workflow>,
    /// Per kind: real over expected seconds, at the level of the host.
    kinds: Vec<Recent>,
    /// Per kind: the factor in the situation.
    factor: Vec<f64>,
    /// Per host: expected over real seconds, with the factor of the kind.
    hosts: Vec<Recent>,
    /// Per host: the level in the situation.
    level: Vec<f64>,
}

impl Learning {
    pub(super) fn new(workflow: &Arc<Workflow>, hosts: usize) -> Learning {
        let kinds = workflow.kinds();
        Learning {
            estimated: Arc::clone(workflow),
            kinds: vec![Recent::default(); kinds],
            factor: vec![1.0; kinds],
            hosts: vec![Recent::default(); hosts],
            level: vec![1.0; hosts],
        }
    }

    /// Seconds a task should take at the peak of a host, by the first estimates.
    fn expected(&self, task: TaskId, width: usize, speed: f64) -> f64 {
        let work = self.estimated.work(task);
        work / speed * self.estimated.speedup(task).factor(width as u32)
    }
}

fn differs(told: f64, seen: f64) -> bool {
    (seen / told - 1.0).abs() > WORTH
}

impl Engine<'_, '_> {
    /// A task is done: how long it took says something.
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
        let kind: KindId = learning.estimated.kind(task);
        let (k, h) = (kind.index(), host.index());
        learning.kinds[k].add(seconds / expected * learning.level[h], OF_KIND);
        let Some(factor) = learning.kinds[k].sure(SURE) else { return };
        learning.hosts[h].add(factor * expected / seconds, OF_HOST);
        let level = learning.hosts[h].sure(SURE).map(|level| level.clamp(LEAST, 1.0));
        if differs(learning.factor[k], factor) {
            learning.factor[k] = factor;
            self.estimate_anew();
        }
        if let Some(level) = level {
            self.level_learnt(host, level);
        }
    }

    /// The work of every task with the factors of the kinds.
    fn estimate_anew(&mut self) {
        let Some(learning) = &self.learning else { return };
        let estimated = &learning.estimated;
        let factor = |t: TaskId| learning.factor[estimated.kind(t).index()];
        // What was estimated anew before is nobody else's, and need not be copied.
        let before = std::mem::replace(&mut self.situation.workflow, Arc::clone(estimated));
        let anew = |_: &Workflow, t: TaskId| estimated.work(t) * factor(t);
        let workflow = Arc::unwrap_or_clone(before).with_work(estimated.reference_speed(), anew);
        self.situation.workflow = Arc::new(workflow);
    }

    fn level_learnt(&mut self, host: HostId, level: f64) {
        let Some(learning) = &mut self.learning else { return };
        if differs(learning.level[host.index()], level) {
            learning.level[host.index()] = level;
            self.host_changed(host, level);
        }
    }
}
