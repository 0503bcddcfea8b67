//! Detection of stalled runs, and the reason as text.

use super::Engine;
use crate::backend::Liveness;
use slackline_model::units::fmt_seconds;
use slackline_model::{FileId, HostId, TaskId};

/// Rounds at one date, or operations begun without a further task done, after which decisions are taken
/// to go in circles; many more than there are tasks, each of which may end or begin at a round of its own.
const ROUNDS: usize = 10_000;

impl Engine<'_, '_> {
    /// Whether the run has stalled for good: nothing advances, no host or level will recover, and no decision, observation,
    /// retry or arrival is due.
    pub(super) fn is_stuck(&mut self) -> bool {
        if self.is_livelocked() {
            return true;
        }
        let decided = self.steering.thinking.as_ref().filter(|thought| !thought.idle).is_some();
        let pending = decided || self.own_date() < f64::INFINITY;
        self.stall.outlook = self.backend.outlook(self.stall.quiet_since);
        match self.stall.outlook {
            Liveness::Busy => {
                self.stir();
                false
            }
            _ if pending => false,
            Liveness::Revives => false,
            Liveness::Unknown
                if self.situation.now - self.stall.quiet_since < self.settings.patience =>
            {
                false
            }
            // A policy that asked to be woken up may decide something else then, once.
            _ => {
                // What was there to see while it still thought it is told of afterwards.
                let sees = self.monitor.gives_hope() || self.stall.woken_to_see;
                let sleeps =
                    self.steering.wake_at == f64::INFINITY && self.steering.thinking.is_none();
                sleeps || (self.stall.idle_wakeup && !sees)
            }
        }
    }

    pub(super) fn is_livelocked(&self) -> bool {
        let now = &self.situation;
        // Each task and each file may need operations of its own before the next task is done.
        self.stall.rounds > ROUNDS + 8 * now.tasks.len()
            || self.stall.begun_since > ROUNDS + 8 * (now.tasks.len() + now.copies.len())
    }

    /// Something began or ended.
    pub(super) fn stir(&mut self) {
        self.stall.quiet_since = self.situation.now;
        self.reset_stall();
    }

    /// The work or its data changed: what was of no use to a policy before may be now.
    pub(super) fn reset_stall(&mut self) {
        self.stall.idle_wakeup = false;
        self.stall.woken_early = false;
        self.monitor.reset_stall();
    }

    /// The first few tasks that wait, and for what.
    pub(super) fn describe_stall(&self) -> String {
        let workflow = &self.situation.workflow;
        let mut reasons = Vec::new();
        if self.is_livelocked() {
            return format!("decisions go in circles at {}", fmt_seconds(self.situation.now));
        }
        if !self.attempts.abandoned.is_empty() {
            let told = |(&task, reason): (&TaskId, &String)| {
                format!("'{}' was abandoned: it {reason}", workflow.task_name(task))
            };
            let mut first: Vec<String> = self.attempts.abandoned.iter().take(3).map(told).collect();
            let more = self.attempts.abandoned.len() - first.len();
            if more > 0 {
                first.push(format!("and {more} more"));
            }
            return first.join("; ");
        }
        for task in workflow.tasks().filter(|&t| !self.situation.task(t).is_done()) {
            if reasons.len() == 3 {
                break;
            }
            let reason = self.why_waits(task);
            // What is itself stuck behind another task explains nothing.
            if !reason.contains("waits for '") || reasons.is_empty() {
                reasons.push(reason);
            }
        }
        if self.instant.open == 0 {
            return "a copy that was asked for never arrives".to_string();
        }
        // A host that keeps files and computes nothing is no help.
        let hosts = self.situation.platform.hosts().iter();
        if hosts.zip(&self.situation.lost).all(|(host, &lost)| lost || host.cores == 0) {
            let mut open = workflow.tasks().filter(|&t| !self.situation.task(t).is_done());
            let named = open.by_ref().take(3).map(|t| format!("'{}'", workflow.task_name(t)));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = if open.next().is_some() { ", ..." } else { "" };
            return format!(
                "all hosts are gone, {} tasks are not done: {named}{more}",
                self.instant.open
            );
        }
        format!("{} tasks wait: {}", self.instant.open, reasons.join("; "))
    }

    fn why_waits(&self, task: TaskId) -> String {
        let workflow = &self.situation.workflow;
        let name = workflow.task_name(task);
        let Some(procs) = self.queues.assigned(task) else {
            return match workflow.inputs(task).find(|&f| self.is_gone(f)) {
                Some(file) => {
                    let label = workflow.file_label(file);
                    format!("'{name}' needs '{label}', of which no copy is left")
                }
                None => format!("'{name}' has no processor"),
            };
        };
        let holders = self.situation.holders_of(procs);
        let hosts = self.situation.platform.hosts();
        let host_name = |h: &HostId| &hosts[h.index()].name;
        let mut used: Vec<HostId> =
            procs.iter().map(|p| self.situation.host_of[p.index()]).collect();
        used.dedup();
        let gone = used.iter().find(|h| !self.situation.is_alive(**h));
        if let Some(host) = gone {
            return format!("'{name}' waits for host '{}', which is gone", host_name(host));
        }
        let still = used.iter().find(|h| !self.situation.computes(**h));
        if let Some(host) = still {
            return format!("'{name}' waits for host '{}', which is stopped", host_name(host));
        }
        let on = used.iter().map(|h| format!("'{}'", host_name(h))).collect::<Vec<_>>();
        let on = on.join(", ");
        if self.situation.parents_done(task)
            && let Some(why) = self.lacks_room(task, &holders)
        {
            return format!("'{name}' waits on {on}: {why}");
        }
        let missing = workflow.inputs(task).find(|&f| !self.situation.has_at(f, &holders));
        if missing.is_none()
            && let Some(why) = self.describe_lack(task, procs)
        {
            return format!("'{name}' waits on {on}: {why}");
        }
        let Some(file) = missing else {
            return format!("'{name}' waits for its turn on {on}");
        };
        match workflow.producer(file) {
            Some(p) if !self.situation.task(p).is_done() => {
                format!("'{name}' waits for '{}'", workflow.task_name(p))
            }
            _ => {
                let label = workflow.file_label(file);
                format!("'{name}' on {on} waits for '{label}', of which no copy is left")
            }
        }
    }

    /// Whether a file that existed is nowhere any more.
    fn is_gone(&self, file: FileId) -> bool {
        let existed = match self.situation.workflow.producer(file) {
            Some(producer) => self.situation.task(producer).is_done(),
            None => !self.situation.inputs_everywhere(),
        };
        existed && self.situation.sources(file).next().is_none()
    }
}
