//! From a pair of hosts to a flow: latency, weight, bound and the links it consumes.
//!
//! Rules of CM02 and LV08 as SimGrid 3.32 applies them: weight = latency + S x sum of
//! 1/bandwidth over the way there (1 without latency), a window per round trip, coefficient 1 on
//! the way there and, with cross-traffic, 0.05 more on the way back.

use super::SimulationError;
use super::resources::Resources;
use crate::models::{ACKNOWLEDGEMENTS, Factor, Models, NetworkModel};
use crate::solver::Use;
use slackline_model::platform::{Matrix, Network as Topology, Platform, RouteCache};
use slackline_model::{HostId, LinkId};

/// Flows remembered; beyond, a pair of hosts is looked up each time, for memory's sake.
const REMEMBERED: usize = 1 << 16;

/// The properties common to all transfers between two hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Sum of latencies, seconds, without factor.
    pub(super) latency: f64,
    pub(super) weight: f64,
    /// Bandwidth of the narrowest link, bytes/s.
    pub(super) narrowest: f64,
    /// Bandwidth of the narrowest link that is not shared, bytes/s.
    pub(super) narrowest_unshared: f64,
    /// A link that is off.
    pub(super) broken: Option<LinkId>,
    first: u32,
    len: u32,
    epoch: u32,
}

impl Flow {
    /// Duration of the latency phase and upper limit of the rate for a message.
    pub(super) fn timing(&self, models: &Models, bytes: f64, rate: f64) -> (f64, f64) {
        match models.network {
            NetworkModel::Flows => {}
            NetworkModel::Constant => return (models.latency_factor.of(bytes), f64::INFINITY),
            _ => return (self.latency, self.narrowest.min(rate)),
        }
        let factor = models.bandwidth_factor.of(bytes);
        let mut bound = match models.bandwidth_factor {
            Factor::Constant(_) => factor * self.narrowest_unshared,
            Factor::Steps(_) => factor * self.narrowest,
        };
        // Where no link is crossed there is nothing but the distance.
        if self.latency > 0.0 && self.narrowest < f64::INFINITY {
            let window = models.tcp_gamma / (2.0 * self.latency);
            bound = bound.min(if models.window_scaled { factor * window } else { window });
        }
        (models.latency_factor.of(bytes) * self.latency, bound.min(rate))
    }
}

/// Routes and flows found so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    pub(super) routes: RouteCache,
    flows: Vec<Flow>,
    uses: Vec<Use>,
    /// Uses of the flow asked for last, when it is not remembered.
    scratch: Vec<Use>,
    links: Vec<LinkId>,
    epoch: u32,
}

impl Network {
    /// A link changed: what is remembered about flows no longer holds.
    pub(super) fn invalidate(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.uses.clear();
    }

    /// The flow from `src` to `dst`, and what it consumes.
    pub(super) fn flow(
        &mut self,
        platform: &Platform,
        models: &Models,
        resources: &Resources,
        ends: (HostId, HostId),
    ) -> Result<(Flow, &[Use]), SimulationError> {
        let (src, dst) = ends;
        if let Topology::Matrix(matrix) = platform.network() {
            return Ok((matrix_flow(matrix, ends), &[]));
        }
        let id = match self.routes.known(src, dst) {
            Some(id) => id,
            None if self.routes.len() >= REMEMBERED => {
                let flow = self.build(platform, models, resources, ends)?;
                return Ok((flow, &self.scratch));
            }
            None => self.routes.route_id(platform, src, dst)?,
        };
        let id = id.index();
        let known = self.flows.get(id).filter(|flow| flow.epoch == self.epoch && flow.weight > 0.0);
        let flow = match known {
            Some(&flow) => flow,
            None => {
                let mut flow = self.build(platform, models, resources, ends)?;
                flow.first = self.uses.len() as u32;
                flow.len = self.scratch.len() as u32;
                flow.epoch = self.epoch;
                self.uses.extend_from_slice(&self.scratch);
                if self.flows.len() <= id {
                    self.flows.resize(id + 1, UNKNOWN);
                }
                self.flows[id] = flow;
                flow
            }
        };
        Ok((flow, &self.uses[flow.first as usize..(flow.first + flow.len) as usize]))
    }

    /// The links from `src` to `dst`.
    pub(super) fn links(
        &mut self,
        platform: &Platform,
        src: HostId,
        dst: HostId,
    ) -> Result<&[LinkId], SimulationError> {
        if let Topology::Matrix(_) = platform.network() {
            return Ok(&[]);
        }
        Ok(self.routes.route_once(platform, src, dst)?.links)
    }

    fn build(
        &mut self,
        platform: &Platform,
        models: &Models,
        resources: &Resources,
        (src, dst): (HostId, HostId),
    ) -> Result<Flow, SimulationError> {
        self.scratch.clear();
        self.links.clear();
        let route = self.routes.route_once(platform, src, dst)?;
        let mut flow = Flow { latency: route.latency, narrowest: f64::INFINITY, ..UNKNOWN };
        self.links.extend_from_slice(route.links);
        if src == dst && self.links.is_empty() && flow.latency == 0.0 {
            flow.latency = models.loopback_latency;
            flow.narrowest = models.loopback_bandwidth;
            flow.narrowest_unshared = models.loopback_bandwidth;
        }
        let mut inverse_bandwidths = 0.0;
        for &link in &self.links {
            let (state, nominal) = (&resources.links[link.index()], platform.link(link));
            if state.latency != nominal.latency {
                flow.latency += state.latency - nominal.latency;
            }
            flow.narrowest = flow.narrowest.min(state.bandwidth);
            if !state.shared {
                flow.narrowest_unshared = flow.narrowest_unshared.min(state.bandwidth);
            }
            // A bandwidth of zero stops the flow; its weight must stay a number.
            let weighing = if state.bandwidth > 0.0 { state.bandwidth } else { nominal.bandwidth };
            inverse_bandwidths += 1.0 / weighing;
            if !state.on && flow.broken.is_none() {
                flow.broken = Some(link);
            }
        }
        flow.latency = flow.latency.max(0.0);
        flow.weight = if flow.latency > 0.0 {
            flow.latency + models.weight_s * inverse_bandwidths
        } else {
            1.0
        };
        if models.network != NetworkModel::Flows {
            return Ok(flow);
        }
        for &link in &self.links {
            consume(&mut self.scratch, resources, link, 1.0);
        }
        if models.cross_traffic && (src != dst || !self.links.is_empty()) {
            for &link in self.routes.route_once(platform, dst, src)?.links {
                consume(&mut self.scratch, resources, link, ACKNOWLEDGEMENTS);
            }
        }
        Ok(flow)
    }
}

const UNKNOWN: Flow = Flow {
    latency: 0.0,
    weight: 0.0,
    narrowest: f64::INFINITY,
    narrowest_unshared: f64::INFINITY,
    broken: None,
    first: 0,
    len: 0,
    epoch: 0,
};

fn matrix_flow(matrix: &Matrix, (src, dst): (HostId, HostId)) -> Flow {
    let bandwidth = matrix.bandwidth(src, dst);
    Flow {
        latency: matrix.latency(src, dst),
        weight: 1.0,
        narrowest: bandwidth,
        narrowest_unshared: bandwidth,
        ..UNKNOWN
    }
}

/// Adds the consumption of a link, once per constraint.
fn consume(uses: &mut Vec<Use>, resources: &Resources, link: LinkId, coefficient: f64) {
    let Some(constraint) = resources.links[link.index()].constraint else { return };
    add_use(uses, constraint.0, coefficient);
}

/// Adds a consumption, once per constraint.
fn add_use(uses: &mut Vec<Use>, constraint: u32, coefficient: f64) {
    match uses.iter_mut().find(|used| used.constraint == constraint) {
        Some(used) => used.coefficient += coefficient,
        None => uses.push(Use { constraint, coefficient }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use slackline_model::platform::{HostSpec, LinkSpec, PlatformBuilder, RoutingKind, StarLeaf};
    use std::error::Error;

    #[test]
    fn known_flows_are_found_when_no_more_are_remembered() -> Result<(), Box<dyn Error>> {
        // 260 x 260 pairs are more than are remembered.
        let hosts = 260;
        let mut builder = PlatformBuilder::new("star");
        let zone = builder.add_zone(None, "all", RoutingKind::Star)?;
        for number in 0..hosts {
            let host = builder.add_host(zone, HostSpec::new(format!("h{number}"), 1e9))?;
            let link = builder.add_link(LinkSpec::new(format!("l{number}"), 1e8, 1e-4))?;
            builder.set_leaf(
                host,
                StarLeaf { up: Some(link), down: Some(link), ..StarLeaf::default() },
            )?;
        }
        let platform = builder.build()?;
        let models = Models { cross_traffic: false, ..Models::lv08() };
        let resources = Resources::new(&platform, &models, &mut Kernel::default())?;
        let mut network = Network::default();
        for src in 0..hosts {
            for dst in 0..hosts {
                network.flow(&platform, &models, &resources, (HostId(src), HostId(dst)))?;
            }
        }
        assert_eq!(network.routes.len(), REMEMBERED);
        let mut built = |src: u32, dst: u32| -> Result<bool, SimulationError> {
            network.scratch.clear();
            let ends = (HostId(src), HostId(dst));
            let (flow, uses) = network.flow(&platform, &models, &resources, ends)?;
            assert_eq!((flow.latency, uses.len()), (2e-4, 2));
            Ok(!network.scratch.is_empty())
        };
        assert!(!built(0, 1)?, "the first flow is remembered");
        assert!(built(hosts - 1, 0)?, "the last one is not");
        Ok(())
    }
}
