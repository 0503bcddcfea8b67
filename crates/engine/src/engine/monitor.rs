//! Facts and views. What an operation reports is a fact, known at once; what monitoring tells of
//! the platform is a view: it is updated when the policy observes it, or after a delay, losses included. A
//! fact is never overridden by an older view; what comes back makes a new sighting.

use super::Engine;
use crate::backend::BackendError;
use crate::bandwidth_estimation::{Pair, Rate};
use slackline_model::platform::PlanningNetwork;
use slackline_model::problem::{Block, View};
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId};
use slackline_react::{Event, FileCopy, Monitoring};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An observation of the platform.
enum Seen {
    Level { host: HostId, availability: f64 },
    Network(Box<PlanningNetwork>),
    Lost { host: HostId, keeps_data: bool },
    Back(HostId),
}

/// Something on its way to the policy's eyes.
struct Sighting {
    at: f64,
    due: f64,
    what: Seen,
}

/// Facts known to monitoring, and observations still delayed.
pub(super) struct Monitor {
    under_way: VecDeque<Sighting>,
    /// The platform as a policy that observes it now would see it.
    view: View,
    off: Vec<bool>,
    /// The network has changed since it was observed for `view`; only where observations are made on demand.
    pub(super) looks_late: bool,
    outdated: bool,
    /// There is something to see that was not seen.
    unseen: bool,
    /// A host came, went, or moves again, and no observation has happened since.
    shown: bool,
    /// The network has changed since a transfer did not get through.
    reconnected: bool,
    /// Sets of usable hosts seen since the work or its data last changed: seeing one of them again gives no new hope.
    hoped: BTreeSet<Vec<bool>>,
    /// Per host: when something was last known for certain.
    facts: Vec<f64>,
    /// Hosts that went off: whether they keep their data.
    keeping: BTreeMap<HostId, bool>,
    /// Copies that are gone without a signal so far.
    gone: BTreeSet<(FileId, HostId)>,
}

impl Monitor {
    pub(super) fn new(view: View) -> Monitor {
        let hosts = view.availability.len();
        Monitor {
            under_way: VecDeque::new(),
            view,
            off: vec![false; hosts],
            looks_late: false,
            outdated: false,
            unseen: false,
            shown: false,
            reconnected: false,
            hoped: BTreeSet::new(),
            facts: vec![f64::NEG_INFINITY; hosts],
            keeping: BTreeMap::new(),
            gone: BTreeSet::new(),
        }
    }

    pub(super) fn next_date(&self) -> f64 {
        self.under_way.front().map_or(f64::INFINITY, |s| s.due)
    }

    /// Whether a query would show something that may help a stalled run.
    pub(super) fn gives_hope(&self) -> bool {
        self.reconnected || (self.shown && !self.hoped.contains(&self.usable()))
    }

    /// The policy has been woken up; notes which hosts it could use then. One that looks on its own has
    /// seen all there is.
    pub(super) fn looked(&mut self, usable: Vec<bool>, monitoring: Monitoring) {
        self.hoped.insert(usable);
        self.shown &= monitoring == Monitoring::OnWakeUp;
    }

    /// The work or its data changed: what did not help before may now.
    pub(super) fn reset_stall(&mut self) {
        if !self.hoped.is_empty() {
            self.hoped.clear();
        }
    }

    /// A host came, went or recovered from a stall; the next observation shows it.
    fn show(&mut self) {
        self.unseen = true;
        self.shown = true;
    }

    /// Hosts that are up with a speed above zero.
    fn usable(&self) -> Vec<bool> {
        let levels = self.view.availability.iter();
        levels.zip(&self.off).map(|(&level, &off)| level > 0.0 && !off).collect()
    }

    /// A file has come to be on a host.
    pub(super) fn is_there(&mut self, file: FileId, host: HostId) {
        if !self.gone.is_empty() {
            self.gone.remove(&(file, host));
        }
    }
}

impl Engine<'_, '_> {
    /// Sees the whole platform as it is now: at the start.
    pub(super) fn observe(&mut self) {
        self.backend.observe(&mut self.monitor.view);
        self.situation.view = self.monitor.view.clone();
        for (host, &lost) in self.situation.lost.iter().enumerate() {
            if lost {
                self.situation.view.availability[host] = 0.0;
            }
        }
    }

    fn is_delayed(&self) -> bool {
        self.settings.monitoring_delay > 0.0 && !self.instant.starting
    }

    fn later(&mut self, what: Seen) {
        let at = self.situation.now;
        let due = at + self.settings.monitoring_delay;
        self.monitor.under_way.push_back(Sighting { at, due, what });
    }

    pub(super) fn host_changed(&mut self, host: HostId, availability: f64) {
        if self.is_delayed() {
            self.later(Seen::Level { host, availability });
        } else {
            self.level_seen(host, availability);
        }
    }

    pub(super) fn network_changed(&mut self) {
        if self.monitor.looks_late && self.steering.monitoring == Monitoring::OnWakeUp {
            self.monitor.outdated = true;
            return self.network_seen();
        }
        if !self.is_delayed() {
            self.look_at_network();
            return self.network_seen();
        }
        let mut now = self.monitor.view.clone();
        self.backend.observe(&mut now);
        self.later(Seen::Network(Box::new(now.network)));
    }

    fn look_at_network(&mut self) {
        let levels = self.monitor.view.availability.clone();
        self.backend.observe(&mut self.monitor.view);
        self.monitor.view.availability = levels; // told on their own
    }

    /// Seconds that a block takes by what was last seen of the network.
    pub(super) fn seen_transfer_time(&self, bytes: f64, block: &Block) -> f64 {
        self.monitor.view.network.transfer_time(bytes, block.from, block.to)
    }

    /// Records the measured rate between two places.
    pub(super) fn connection_learned(&mut self, (from, to): Pair, rate: &Rate) {
        let platform = &self.situation.platform;
        let network = &mut self.monitor.view.network;
        let (table, tables) = (network.groups * network.groups, network.thresholds.len() + 1);
        for src in platform.hosts_of_place(from) {
            for dst in platform.hosts_of_place(to) {
                let pair = network.pair(src, dst);
                for at in (0..tables).map(|band| band * table + pair) {
                    network.bandwidth[at] = rate.bandwidth.value;
                    if let Some(latency) = rate.latency {
                        network.latency[at] = latency;
                    }
                }
            }
        }
        self.network_seen();
    }

    /// The backend says that a host is off since a date. Who used it knows at once.
    pub(super) fn host_went(
        &mut self,
        host: HostId,
        keeps_data: bool,
        at: f64,
    ) -> Result<(), BackendError> {
        self.monitor.keeping.insert(host, keeps_data);
        if self.known_since(host, at) {
            // It was used since: it is there, but what lay on it before may not be.
            if !keeps_data && !self.situation.central {
                self.suspect_copies(host);
                self.notice_all_gone(host);
            }
            return Ok(());
        }
        let continuous = self.steering.monitoring == Monitoring::Continuous;
        if self.instant.starting || self.uses(host) || (continuous && !self.is_delayed()) {
            return self.found_gone(host, at);
        }
        if !keeps_data && !self.situation.central {
            self.suspect_copies(host);
        }
        if self.is_delayed() {
            self.later(Seen::Lost { host, keeps_data });
        } else {
            self.monitor.off[host.index()] = true;
            self.monitor.show();
        }
        Ok(())
    }

    /// Marks the copies on a host as lost.
    fn suspect_copies(&mut self, host: HostId) {
        for (file, copies) in self.situation.copies.iter().enumerate() {
            let is_there = |c: &FileCopy| c.is_complete() && c.holders.touches(host);
            if copies.iter().any(is_there) {
                self.monitor.gone.insert((FileId::new(file), host));
            }
        }
    }

    /// All that is gone from a host is noticed.
    fn notice_all_gone(&mut self, host: HostId) {
        let of_host = self.monitor.gone.iter().filter(|(_, h)| *h == host);
        for (file, _) in of_host.copied().collect::<Vec<_>>() {
            self.notice_gone(file, host);
        }
    }

    /// The backend says that a host is on again since a date.
    pub(super) fn host_came(&mut self, host: HostId, at: f64) -> Result<(), BackendError> {
        if self.known_since(host, at) {
            return Ok(()); // it was used, or found gone again, since
        }
        if self.is_delayed() {
            self.later(Seen::Back(host));
            return Ok(());
        }
        self.found_there(host, at);
        self.back_seen(host)
    }

    /// An operation found a host gone.
    pub(super) fn found_gone(&mut self, host: HostId, at: f64) -> Result<(), BackendError> {
        self.monitor.facts[host.index()] = at;
        self.monitor.off[host.index()] = true;
        self.monitor.show();
        let keeps_data = self.monitor.keeping.get(&host).is_some_and(|&keeps| keeps);
        self.host_lost(host, keeps_data)
    }

    /// An operation that used a host is done: it is there.
    pub(super) fn found_there(&mut self, host: HostId, at: f64) {
        let known = &mut self.monitor.facts[host.index()];
        *known = known.max(at);
    }

    /// Whether something newer than from a date is known of a host.
    pub(super) fn known_since(&self, host: HostId, at: f64) -> bool {
        at < self.monitor.facts[host.index()]
    }

    /// The level of a host as last seen.
    pub(super) fn level_now(&self, host: HostId) -> f64 {
        self.monitor.view.availability[host.index()]
    }

    /// Whether some copy is gone without a signal so far.
    pub(super) fn anything_gone(&self) -> bool {
        !self.monitor.gone.is_empty()
    }

    /// Whether a copy that is thought to be there is not: an attempt to use it shows that. What is on
    /// its way there is another one, and arrives all the same.
    pub(super) fn notice_gone(&mut self, file: FileId, host: HostId) -> bool {
        if !self.anything_gone() || !self.monitor.gone.remove(&(file, host)) {
            return false;
        }
        let is_it = |c: &mut FileCopy| c.is_complete() && c.holders.touches(host);
        let before = self.instant.events.len();
        for copy in self.situation.copies[file.index()].extract_if(.., is_it) {
            self.instant.events.push(Event::CopyLost { file, holders: copy.holders });
        }
        let any = self.instant.events.len() > before;
        if any {
            self.reset_stall();
            self.queues.look_again(); // readers there have to ask again
        }
        any
    }

    /// A file is not where it was: who wanted to use it says so.
    pub(super) fn copy_gone(&mut self, file: FileId, host: HostId) {
        let place = self.situation.place_of(host);
        self.monitor.gone.insert((file, place));
        self.notice_gone(file, place);
    }

    fn level_seen(&mut self, host: HostId, availability: f64) {
        let level = &mut self.monitor.view.availability[host.index()];
        let before = std::mem::replace(level, availability);
        if before <= 0.0 || availability <= 0.0 {
            self.monitor.show();
        }
        if self.steering.monitoring != Monitoring::Continuous {
            self.monitor.unseen = true;
            return;
        }
        self.log(Happening::HostChanged { host, availability });
        if !self.situation.lost[host.index()] {
            self.situation.view.availability[host.index()] = availability;
            self.instant.events.push(Event::HostChanged(host));
        }
    }

    fn network_seen(&mut self) {
        if self.steering.monitoring == Monitoring::Continuous {
            self.situation.view.network.clone_from(&self.monitor.view.network);
            self.instant.events.push(Event::NetworkChanged);
            self.network_may_serve();
        } else {
            self.monitor.unseen = true;
            self.monitor.reconnected |= self.waits_for_network();
        }
    }

    fn back_seen(&mut self, host: HostId) -> Result<(), BackendError> {
        self.monitor.off[host.index()] = false;
        self.monitor.show();
        if self.steering.monitoring == Monitoring::Continuous || self.instant.starting {
            return self.host_back(host);
        }
        Ok(())
    }

    fn loss_seen(&mut self, host: HostId, keeps_data: bool, at: f64) -> Result<(), BackendError> {
        if at < self.monitor.facts[host.index()] {
            self.notice_all_gone(host); // it is there, but what lay on it before is not
            return Ok(());
        }
        self.monitor.off[host.index()] = true;
        self.monitor.show();
        if self.steering.monitoring == Monitoring::Continuous {
            return self.host_lost(host, keeps_data);
        }
        Ok(())
    }

    /// Delayed sightings that arrive at this instant.
    pub(super) fn see_what_is_due(&mut self) -> Result<(), BackendError> {
        while self.monitor.next_date() <= self.situation.now {
            let Some(Sighting { at, what, .. }) = self.monitor.under_way.pop_front() else { break };
            match what {
                Seen::Level { host, availability } => self.level_seen(host, availability),
                Seen::Network(network) => {
                    self.monitor.view.network = *network;
                    self.network_seen();
                }
                Seen::Lost { host, keeps_data } => self.loss_seen(host, keeps_data, at)?,
                Seen::Back(host) if at >= self.monitor.facts[host.index()] => {
                    self.back_seen(host)?
                }
                Seen::Back(_) => {}
            }
        }
        Ok(())
    }

    /// The policy is woken up; periodic policies observe the platform now.
    pub(super) fn look_around(&mut self) -> Result<(), BackendError> {
        if self.steering.monitoring != Monitoring::OnWakeUp {
            return Ok(());
        }
        (self.monitor.shown, self.monitor.reconnected) = (false, false);
        if !std::mem::take(&mut self.monitor.unseen) {
            return Ok(());
        }
        if std::mem::take(&mut self.monitor.outdated) {
            self.look_at_network();
        }
        for host in self.situation.platform.clone().host_ids() {
            let (off, lost) = (self.monitor.off[host.index()], self.situation.lost[host.index()]);
            if off && !lost {
                let keeps_data = self.monitor.keeping.get(&host).is_some_and(|&keeps| keeps);
                self.host_lost(host, keeps_data)?;
            } else if lost && !off {
                self.host_back(host)?;
            }
            let level = self.monitor.view.availability[host.index()];
            let seen = &mut self.situation.view.availability[host.index()];
            if !self.situation.lost[host.index()] && *seen != level {
                *seen = level;
                self.log(Happening::HostChanged { host, availability: level });
            }
        }
        self.situation.view.network.clone_from(&self.monitor.view.network);
        self.network_may_serve();
        Ok(())
    }
}
