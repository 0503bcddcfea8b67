//! A matrix network as links: connections that change over time need something that changes.

use super::{
    DeclaredRoute, HostSpec, LinkSpec, Matrix, Platform, PlatformBuilder, PlatformError,
    RoutingKind, Sharing,
};
use crate::HostId;
use crate::scenario::World;
use std::sync::Arc;

/// The hosts of a platform, every pair of them joined by a link (two where the directions differ) with
/// the levels and outages that the scenario has for the pair. The links are fatpipes: as in the matrix,
/// concurrent transfers do not slow each other down.
pub(super) fn linked(
    platform: &Platform,
    matrix: &Matrix,
    world: &World,
) -> Result<Platform, PlatformError> {
    let mut builder = PlatformBuilder::new(platform.name());
    let zone = builder.add_zone(None, "pairs of hosts", RoutingKind::Full)?;
    for host in platform.hosts() {
        let class = &platform.classes()[host.class.index()];
        builder.add_host(
            zone,
            HostSpec {
                cores: host.cores,
                price: host.price,
                memory: host.memory,
                resources: host.resources.as_deref().cloned().unwrap_or_default(),
                core_names: host.core_names.as_deref().map(<[String]>::to_vec).unwrap_or_default(),
                arch: host.arch.as_deref().map(str::to_string),
                class: Some(class.name.to_string()),
                leasable: class.leasable,
                billing: Some(class.billing),
                availability: host.availability.clone(),
                state: host.state.clone(),
                properties: host.properties.clone(),
                ..HostSpec::new(host.name.to_string(), host.speed)
            },
        )?;
    }
    let hosts = platform.hosts().len();
    for a in (0..hosts).map(HostId::new) {
        for b in (a.index() + 1..hosts).map(HostId::new) {
            let both = |of: &dyn Fn(HostId, HostId) -> f64| of(a, b) == of(b, a);
            let same = both(&|x, y| matrix.bandwidth(x, y)) && both(&|x, y| matrix.latency(x, y));
            let ways = if same { &[(a, b)][..] } else { &[(a, b), (b, a)] };
            for &(src, dst) in ways {
                let name = format!("{} to {}", platform.host(src).name, platform.host(dst).name);
                let bandwidth = matrix.bandwidth(src, dst);
                let course = world.pair(src, dst);
                let share = course.and_then(|c| c.bandwidth.as_ref());
                let link = builder.add_link(LinkSpec {
                    sharing: Sharing::Fatpipe,
                    bandwidth_profile: share.map(|share| Arc::new(share.scaled(bandwidth))),
                    state: course.and_then(|c| c.state.clone()),
                    ..LinkSpec::new(name, bandwidth, matrix.latency(src, dst))
                })?;
                let route = DeclaredRoute::between(src, dst, [link]);
                builder.add_route(zone, DeclaredRoute { symmetrical: same, ..route })?;
            }
        }
    }
    if let Some(origin) = platform.origin() {
        builder.set_origin(origin);
    }
    if platform.is_fifo() {
        builder.set_fifo();
    }
    if platform.is_measured() {
        builder.set_measured();
    }
    builder.build()
}
