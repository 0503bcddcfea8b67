//! What is seen of the platform, and when: at once, when the policy looks, or some time later.

use super::Engine;
use crate::backend::BackendError;
use slackline_model::HostId;
use slackline_model::problem::View;
use slackline_model::trace::Happening;
use slackline_react::{Event, Monitoring};
use std::collections::VecDeque;

/// The platform as it was, on its way to the policy's eyes.
struct Sighting {
    due: f64,
    view: View,
    host: Option<HostId>,
}

/// Sightings under way; empty where nothing delays them.
#[derive(Default)]
pub(super) struct Monitor {
    under_way: VecDeque<Sighting>,
    /// The last that has arrived, for those who look only now and then.
    arrived: Option<View>,
}

impl Monitor {
    pub(super) fn next_date(&self) -> f64 {
        self.under_way.front().map_or(f64::INFINITY, |s| s.due)
    }
}

impl Engine<'_, '_> {
    /// Brings the view up to date with what can be seen now.
    pub(super) fn observe(&mut self) {
        if self.settings.monitoring_delay > 0.0 && self.situation.now > 0.0 {
            if let Some(view) = &self.monitor.arrived {
                self.situation.view = view.clone();
            }
        } else {
            self.backend.observe(&mut self.situation.view);
        }
        for (host, &lost) in self.lost.iter().enumerate() {
            if lost {
                self.situation.view.availability[host] = 0.0;
            }
        }
    }

    pub(super) fn host_changed(&mut self, host: HostId) -> Result<(), BackendError> {
        if self.settings.monitoring_delay > 0.0 {
            self.delay(Some(host));
            return Ok(());
        }
        if self.monitoring != Monitoring::Continuous {
            return Ok(());
        }
        self.observe();
        self.tell_host_changed(host)
    }

    pub(super) fn network_changed(&mut self) {
        if self.settings.monitoring_delay > 0.0 {
            self.delay(None);
        } else if self.monitoring == Monitoring::Continuous {
            self.observe();
            self.events.push(Event::NetworkChanged);
        }
    }

    fn delay(&mut self, host: Option<HostId>) {
        let mut view = self.situation.view.clone();
        self.backend.observe(&mut view);
        let due = self.situation.now + self.settings.monitoring_delay;
        self.monitor.under_way.push_back(Sighting { due, view, host });
    }

    /// Delayed sightings that arrive at this instant.
    pub(super) fn see_what_is_due(&mut self) -> Result<(), BackendError> {
        while self.monitor.next_date() <= self.situation.now {
            let Some(sighting) = self.monitor.under_way.pop_front() else { break };
            self.monitor.arrived = Some(sighting.view);
            if self.monitoring != Monitoring::Continuous {
                continue;
            }
            self.observe();
            match sighting.host {
                Some(host) => self.tell_host_changed(host)?,
                None => self.events.push(Event::NetworkChanged),
            }
        }
        Ok(())
    }

    /// A host without any speed counts as lost, one that has some again as back.
    fn tell_host_changed(&mut self, host: HostId) -> Result<(), BackendError> {
        let seen = match &self.monitor.arrived {
            Some(view) => view.availability[host.index()],
            None => self.seen_now(host),
        };
        self.log(Happening::HostChanged { host, availability: seen });
        if seen <= 0.0 {
            return self.host_lost(host, false);
        }
        if self.lost[host.index()] {
            self.host_back(host);
        }
        self.events.push(Event::HostChanged(host));
        Ok(())
    }

    fn seen_now(&mut self, host: HostId) -> f64 {
        if !self.lost[host.index()] {
            return self.situation.view.availability[host.index()];
        }
        // The view hides what is known to be lost.
        let mut view = self.situation.view.clone();
        self.backend.observe(&mut view);
        view.availability[host.index()]
    }

    /// A policy that looks only now and then looks now.
    pub(super) fn look_around(&mut self) -> Result<(), BackendError> {
        if self.monitoring != Monitoring::OnWakeUp {
            return Ok(());
        }
        let delayed = self.settings.monitoring_delay > 0.0;
        let view = match self.monitor.arrived.clone().filter(|_| delayed) {
            Some(view) => view,
            None if delayed => self.situation.view.clone(),
            None => {
                let mut view = self.situation.view.clone();
                self.backend.observe(&mut view);
                view
            }
        };
        for host in self.situation.platform.clone().host_ids() {
            let alive = view.availability[host.index()] > 0.0;
            if !alive && !self.lost[host.index()] {
                self.host_lost(host, false)?;
            } else if alive && self.lost[host.index()] {
                self.host_back(host);
            }
        }
        self.situation.view.network = view.network;
        self.observe();
        Ok(())
    }
}
