//! Transfers: each storage has a queue (first come, first served) with a limit of concurrent transfers from and to it.
//! Active transfers share the links of a network simulation.

use super::case::Case;
use crate::storage::plain_models;
use slackline_model::activity::StorageFlow;
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, PlatformBuilder, PlatformError, RoutingKind,
};
use slackline_model::{HostId, LinkId, Platform};
use slackline_simulate::{ActivityId, Event, Owner, Simulation, SimulationError, Step};
use std::collections::VecDeque;

/// Direction of a transfer, seen from the pilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

/// The platform below the transfers: a host per storage, then a host per site.
pub(super) fn platform(case: &Case, bandwidths: &[f64]) -> Result<Platform, PlatformError> {
    let mut builder = PlatformBuilder::new("stack");
    let zone = builder.add_zone(None, "stack", RoutingKind::Full)?;
    for storage in &case.storages {
        builder.add_host(zone, HostSpec::new(format!("storage {}", storage.name).as_str(), 1.0))?;
    }
    for site in &case.sites {
        builder.add_host(zone, HostSpec::new(format!("site {}", site.name).as_str(), 1.0))?;
    }
    let mut links = Vec::new();
    for (link, &bandwidth) in case.links.iter().zip(bandwidths) {
        let name = format!("link {}", link.name);
        links.push(builder.add_link(LinkSpec::new(name.as_str(), bandwidth, link.latency))?);
    }
    let mut port = |name: &str, which: &str, bandwidth: Option<f64>| {
        let add = |bandwidth: f64| {
            builder.add_link(LinkSpec::new(format!("{which} {name}").as_str(), bandwidth, 0.0))
        };
        bandwidth.map(add).transpose()
    };
    let mut ports = |name: &str, [enter, leave]: [Option<f64>; 2]| {
        Ok::<_, PlatformError>([port(name, "into", enter)?, port(name, "out of", leave)?])
    };
    let mut storage_ports = Vec::new();
    for storage in &case.storages {
        let name = format!("storage {}", storage.name);
        storage_ports.push(ports(&name, [storage.bandwidth_in, storage.bandwidth_out])?);
    }
    let mut site_ports = Vec::new();
    for site in &case.sites {
        let name = format!("site {}", site.name);
        site_ports.push(ports(&name, [site.bandwidth_in, site.bandwidth_out])?);
    }
    let mut routes: Vec<_> = case.routes.iter().collect();
    routes.sort_unstable();
    for (&(storage, site), over) in routes {
        let (a, b) = (HostId::new(storage), HostId::new(case.storages.len() + site));
        let (near, far): ([Option<LinkId>; 2], [Option<LinkId>; 2]) =
            (storage_ports[storage], site_ports[site]);
        let over: Vec<LinkId> = over.iter().map(|&link| links[link]).collect();
        let there: Vec<LinkId> =
            near[1].into_iter().chain(over.iter().copied()).chain(far[0]).collect();
        let back: Vec<LinkId> =
            far[1].into_iter().chain(over.iter().rev().copied()).chain(near[0]).collect();
        for (src, dst, links) in [(a, b, there), (b, a, back)] {
            let route =
                DeclaredRoute { symmetrical: false, ..DeclaredRoute::between(src, dst, links) };
            builder.add_route(zone, route)?;
        }
    }
    builder.build()
}

/// The present transfer of a pilot.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    storage: usize,
    bytes: f64,
    direction: Direction,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Queued,
    /// Active, but without duration.
    Instant,
    Flowing(ActivityId),
}

#[derive(Clone, Debug)]
struct Queue {
    max_active: usize,
    active: usize,
    /// Pilots with waiting transfers, and their request numbers; cancelled requests are skipped.
    waiting: VecDeque<(usize, u64)>,
}

/// All transfer queues, and the network.
#[derive(Debug)]
pub(super) struct Transport {
    simulation: Simulation,
    owner: Owner,
    storages: usize,
    /// Sites by pilot.
    sites: Vec<usize>,
    /// By storage and site: whether the route has no links, so that transfers take no time.
    free_routes: Vec<bool>,
    site_count: usize,
    queues: Vec<Queue>,
    /// By pilot: its transfer, with the number of the request.
    current: Vec<Option<(Transfer, u64)>>,
    requests: u64,
    /// Finished transfers and their bytes.
    pub(super) finished: usize,
    pub(super) bytes: f64,
}

impl Transport {
    pub(super) fn new(platform: &Platform, case: &Case) -> Result<Transport, SimulationError> {
        let site_count = case.sites.len();
        let mut free_routes = vec![false; case.storages.len() * site_count];
        for (&(storage, site), links) in &case.routes {
            let ports =
                [&case.storages[storage].bandwidth_in, &case.storages[storage].bandwidth_out];
            let more = [&case.sites[site].bandwidth_in, &case.sites[site].bandwidth_out];
            free_routes[storage * site_count + site] =
                links.is_empty() && ports.iter().chain(&more).all(|port| port.is_none());
        }
        let queue = |max_active| Queue { max_active, active: 0, waiting: VecDeque::new() };
        Ok(Transport {
            simulation: Simulation::new(platform.clone(), plain_models())?,
            owner: Owner(1),
            storages: case.storages.len(),
            sites: case.pilots.iter().map(|pilot| pilot.site).collect(),
            free_routes,
            site_count,
            queues: case.storages.iter().map(|storage| queue(storage.max_active)).collect(),
            current: vec![None; case.pilots.len()],
            requests: 0,
            finished: 0,
            bytes: 0.0,
        })
    }

    pub(super) fn next_date(&mut self) -> f64 {
        if self.simulation.alive() == 0 { f64::INFINITY } else { self.simulation.next_date() }
    }

    /// Advances to `date`, and further to ends until `horizon` (`date` plus a tolerance). Pilots whose transfers have ended
    /// are added to `ended`.
    pub(super) fn advance(
        &mut self,
        date: f64,
        horizon: f64,
        ended: &mut Vec<usize>,
    ) -> Result<(), SimulationError> {
        let mut until = date;
        loop {
            let step = self.simulation.step(until)?;
            for event in self.simulation.events_of(self.owner) {
                if let Event::Done { tag, .. } = event {
                    ended.push(*tag as usize);
                }
            }
            let next = self.next_date();
            if next <= horizon {
                until = next;
            } else if step != Step::Instant || self.simulation.clock() >= date {
                return Ok(());
            }
        }
    }

    /// Queues a transfer. Pilots whose transfers start and take no time are added to `ended`.
    pub(super) fn request(
        &mut self,
        pilot: usize,
        (storage, direction): (usize, Direction),
        bytes: f64,
        ended: &mut VecDeque<usize>,
    ) -> Result<(), SimulationError> {
        self.requests += 1;
        let transfer = Transfer { storage, bytes, direction, place: Place::Queued };
        self.current[pilot] = Some((transfer, self.requests));
        self.queues[storage].waiting.push_back((pilot, self.requests));
        self.start_next(storage, ended)
    }

    fn start_next(
        &mut self,
        storage: usize,
        ended: &mut VecDeque<usize>,
    ) -> Result<(), SimulationError> {
        while self.queues[storage].active < self.queues[storage].max_active {
            let Some((pilot, request)) = self.queues[storage].waiting.pop_front() else { break };
            let Some((mut transfer, _)) = self.current[pilot].filter(|(_, own)| *own == request)
            else {
                continue;
            };
            self.queues[storage].active += 1;
            let site = self.sites[pilot];
            transfer.place =
                if transfer.bytes == 0.0 || self.free_routes[storage * self.site_count + site] {
                    ended.push_back(pilot);
                    Place::Instant
                } else {
                    let ends = (HostId::new(storage), HostId::new(self.storages + site));
                    let (from, to) = match transfer.direction {
                        Direction::In => ends,
                        Direction::Out => (ends.1, ends.0),
                    };
                    let flow = StorageFlow {
                        read: None,
                        write: None,
                        from,
                        to,
                        bytes: transfer.bytes,
                        delay: 0.0,
                        rate: f64::INFINITY,
                    };
                    Place::Flowing(self.simulation.start_for(self.owner, flow, pilot as u64)?)
                };
            self.current[pilot] = Some((transfer, request));
        }
        Ok(())
    }

    /// Removes the finished transfer of a pilot and starts the next ones of its storage.
    pub(super) fn end(
        &mut self,
        pilot: usize,
        ended: &mut VecDeque<usize>,
    ) -> Result<(), SimulationError> {
        if let Some((transfer, _)) = self.current[pilot].take() {
            self.finished += 1;
            self.bytes += transfer.bytes;
            self.queues[transfer.storage].active -= 1;
            self.start_next(transfer.storage, ended)?;
        }
        Ok(())
    }

    /// Cancels the transfer of a pilot, queued or active.
    pub(super) fn cancel(
        &mut self,
        pilot: usize,
        ended: &mut VecDeque<usize>,
    ) -> Result<(), SimulationError> {
        let Some((transfer, _)) = self.current[pilot].take() else { return Ok(()) };
        if let Place::Flowing(activity) = transfer.place {
            self.simulation.cancel(activity)?;
        }
        if transfer.place != Place::Queued {
            self.queues[transfer.storage].active -= 1;
            self.start_next(transfer.storage, ended)?;
        }
        Ok(())
    }
}
