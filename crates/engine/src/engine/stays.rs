//! Hosts that are served for a limited time: when they go, and the work that is left for them then.

use super::Engine;
use crate::backend::Backlog;
use slackline_model::problem::Stay;
use slackline_model::{HostId, ProcId, TaskId, approx};
use slackline_react::{Event, TaskState};
use std::collections::BTreeMap;

/// Least seconds between two accounts of the work that is left.
const PACE: f64 = 1.0;

/// The first date after this one at which the next is expected to serve a host.
fn next_opening(stay: &Stay, after: f64) -> f64 {
    let first = stay.ends + stay.gap;
    if after < first {
        return first;
    }
    let period = stay.whole + stay.gap;
    if period <= 0.0 {
        return f64::INFINITY;
    }
    let next = first + (((after - first) / period).floor() + 1.0) * period;
    if next > after { next } else { next + period }
}

impl Engine<'_, '_> {
    /// The next date at which another is expected to serve a host that is there, where nothing is under way and some
    /// task waits for that.
    pub(super) fn next_stay(&self) -> f64 {
        let now = &self.situation;
        if now.stays.is_empty() || !self.operations.ops.is_empty() || !self.anyone_waits_for_time()
        {
            return f64::INFINITY;
        }
        let there = now.stays.iter().filter(|(host, _)| now.is_alive(**host));
        there.map(|(_, stay)| next_opening(stay, now.now)).fold(f64::INFINITY, f64::min)
    }

    /// Notifies policies of hosts that another pilot is expected to serve since the last evaluation.
    pub(super) fn see_stays_open(&mut self) {
        let (before, now) =
            (std::mem::replace(&mut self.saw_stays, self.situation.now), &self.situation);
        let opened = |(host, stay): &(&HostId, &Stay)| {
            now.is_alive(**host) && next_opening(stay, before) <= now.now
        };
        let opened: Vec<HostId> = now.stays.iter().filter(opened).map(|(host, _)| *host).collect();
        self.instant.events.extend(opened.into_iter().map(Event::HostChanged));
    }

    /// A host is served for another time than was known.
    pub(super) fn host_stays(&mut self, host: HostId, stay: Option<Stay>) {
        let bound = self.situation.pools.bind();
        self.situation.set_stay(host, stay);
        if !bound && self.situation.pools.bind() {
            self.rebuild_pools();
        }
        self.told_backlogs = f64::NEG_INFINITY;
        self.attempts.end_pauses(self.situation.now);
        self.instant.events.push(Event::HostChanged(host));
        self.queues.look_again();
    }

    /// Tells the backend how much work is left for hosts that are served for a limited time.
    pub(super) fn tell_backlogs(&mut self) {
        let now = self.situation.now;
        let is_real = self.abilities.guesses;
        if !is_real || self.situation.stays.is_empty() || now < self.told_backlogs + PACE {
            return;
        }
        self.told_backlogs = now;
        for (host, backlog) in self.backlogs() {
            self.backend.expect(host, backlog);
        }
    }

    /// Work that is left for each host that is served for a limited time: what is planned there, and, where nothing
    /// is planned, a share of all. It lasts as long as its tasks one beside the other, and as the longest chain that
    /// leads to one of them.
    fn backlogs(&self) -> BTreeMap<HostId, Backlog> {
        let situation = &self.situation;
        let Ok(problem) = situation.nominal_problem() else { return BTreeMap::new() };
        let workflow = &situation.workflow;
        let (cores, hosts) = (problem.procs() as f64, &situation.stays);
        let mut backlogs: BTreeMap<HostId, Backlog> =
            hosts.keys().map(|host| (*host, Backlog::default())).collect();
        let mut areas: BTreeMap<HostId, f64> = BTreeMap::new();
        let mut anywhere = Backlog::default();
        let mut area_anywhere = 0.0;
        let mut ends = vec![0.0f64; workflow.len()];
        for &task in workflow.topological_order() {
            let state = situation.task(task);
            if state.is_done() || situation.tasks.cannot_run(task) {
                continue;
            }
            let width = workflow.width(task).0;
            let procs = state.procs().or_else(|| self.queues.assigned(task));
            let first = procs.and_then(|procs| procs.first()).copied();
            let at = |host: HostId| {
                let proc = problem.procs_of(host).next().map(ProcId)?;
                let seconds = problem.exec_wide(task, problem.class_of(proc), width);
                seconds.is_finite().then_some(seconds)
            };
            let host = first.map(|proc| situation.host_of[proc.index()]);
            let seconds = match host {
                Some(host) => at(host),
                None => hosts.keys().filter_map(|host| at(*host)).reduce(f64::min),
            };
            let Some(mut seconds) = seconds else { continue };
            if let TaskState::Running { since, .. } = state {
                seconds = (seconds - (situation.now - since)).max(0.0);
            }
            let parents = workflow.predecessors(task).map(|(parent, _)| ends[parent.index()]);
            let end = parents.fold(0.0, f64::max) + seconds;
            ends[task.index()] = end;
            let area = seconds * f64::from(width);
            let waits = self.waits_for_time(task, host, &at);
            match host {
                Some(host) => {
                    *areas.entry(host).or_default() += area;
                    if let Some(backlog) = backlogs.get_mut(&host) {
                        backlog.seconds = backlog.seconds.max(end);
                        backlog.waits |= waits;
                    }
                }
                None => {
                    area_anywhere += area;
                    anywhere.seconds = anywhere.seconds.max(end);
                    anywhere.waits |= waits;
                }
            }
        }
        for (host, backlog) in &mut backlogs {
            let own = f64::from(situation.platform.host(*host).cores.max(1));
            let area =
                areas.get(host).copied().unwrap_or(0.0) / own + area_anywhere / cores.max(1.0);
            backlog.seconds = backlog.seconds.max(anywhere.seconds).max(area);
            backlog.waits |= anywhere.waits;
        }
        backlogs
    }

    /// Whether some task could begin but for the time that is left.
    fn anyone_waits_for_time(&self) -> bool {
        let situation = &self.situation;
        let Ok(problem) = situation.nominal_problem() else { return false };
        situation.workflow.tasks().any(|task| {
            let width = situation.workflow.width(task).0;
            let at = |host: HostId| {
                let proc = problem.procs_of(host).next().map(ProcId)?;
                let seconds = problem.exec_wide(task, problem.class_of(proc), width);
                seconds.is_finite().then_some(seconds)
            };
            let first = self.queues.assigned(task).and_then(|procs| procs.first());
            let host = first.map(|proc| situation.host_of[proc.index()]);
            !situation.tasks.cannot_run(task) && self.waits_for_time(task, host, &at)
        })
    }

    /// Whether a task could begin but for the time that is left on its host, or, where it has none, on all that are
    /// there.
    fn waits_for_time(
        &self,
        task: TaskId,
        host: Option<HostId>,
        seconds: &dyn Fn(HostId) -> Option<f64>,
    ) -> bool {
        let situation = &self.situation;
        if !matches!(situation.task(task), TaskState::Waiting) || !situation.parents_done(task) {
            return false;
        }
        let has_time = |host: HostId| {
            let from = |seconds| situation.pools.in_window(host, situation.now, seconds);
            seconds(host).is_some_and(|seconds| approx::le(from(seconds), situation.now))
        };
        let mut there = situation
            .platform
            .host_ids()
            .filter(|host| situation.is_alive(*host) && situation.fits(task, *host));
        match host {
            Some(host) => !has_time(host),
            None => !there.any(has_time),
        }
    }
}
