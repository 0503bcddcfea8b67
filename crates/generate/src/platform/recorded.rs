//! The machines of a recorded run around a switch. The network is assumed: recordings do not contain it.

use crate::error::{GenerateError, Result};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::platform::{HostSpec, LinkSpec, PlatformBuilder, RoutingKind, StarLeaf};
use slackline_model::units::Quantity;
use slackline_model::{LinkId, Platform};

/// A machine as a run recorded it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Cores, where they are known.
    pub cores: Option<u32>,
    /// Flop/s of a core.
    pub speed: Option<f64>,
    /// Bytes.
    pub memory: Option<f64>,
}

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "bandwidth",
        Kind::Quantity(Quantity::Bandwidth),
        "1.25GBps",
        "of each machine's link, which no run records",
    ),
    Parameter::new(
        "latency",
        Kind::Quantity(Quantity::Duration),
        "100us",
        "of each machine's link, which no run records",
    ),
    Parameter::new(
        "speed",
        Kind::Quantity(Quantity::Speed),
        "1Gf",
        "of a core where the run does not say it",
    ),
    Parameter::new(
        "cores",
        Kind::Count(1, 100_000),
        "1",
        "of a machine where the run does not say them",
    ),
];

/// The machines with the default network.
pub fn usual(machines: &[Machine]) -> Result<Platform> {
    recorded(&Values::read("recorded", PARAMETERS.iter(), &[], &[])?, machines)
}

/// The machines, each with a link of its own to a switch that does not limit their sum.
pub(crate) fn recorded(s: &Values, machines: &[Machine]) -> Result<Platform> {
    if machines.is_empty() {
        return Err(GenerateError::Impossible("the run names no machines".into()));
    }
    let (bandwidth, latency) = (s.number("bandwidth")?, s.number("latency")?);
    let (speed, cores) = (s.number("speed")?, s.count("cores")? as u32);
    let mut b = PlatformBuilder::new("recorded");
    let zone = b.add_zone(None, zone_name(machines), RoutingKind::Star)?;
    for machine in machines {
        let spec = HostSpec {
            cores: machine.cores.unwrap_or(cores),
            memory: machine.memory,
            ..HostSpec::new(machine.name.as_str(), machine.speed.unwrap_or(speed))
        };
        let host = b.add_host(zone, spec)?;
        let wire = LinkSpec {
            split_duplex: true,
            ..LinkSpec::new(machine.name.as_str(), bandwidth, latency)
        };
        let up = b.add_link(wire)?;
        let leaf = StarLeaf { up: Some(up), down: Some(LinkId(up.0 + 1)), ..StarLeaf::default() };
        b.set_leaf(host, leaf)?;
    }
    Ok(b.build()?)
}

/// A name for the zone that none of the machines has.
fn zone_name(machines: &[Machine]) -> String {
    let mut name = "machines".to_string();
    while machines.iter().any(|m| m.name == name) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Family, find};

    #[test]
    fn machines_keep_what_is_known_of_them() {
        let generator = find(Family::Platform, "recorded").unwrap();
        let values = generator.settings(&[("cores".into(), "2".into())]).unwrap();
        let fast = Machine {
            name: "machines".into(),
            cores: Some(48),
            speed: Some(1.2e9),
            memory: Some(64e9),
        };
        let bare = Machine { name: "n2".into(), ..Machine::default() };
        let p = recorded(&values, &[fast, bare]).unwrap();
        let [a, b] = p.hosts() else { panic!("{:?}", p.hosts()) };
        assert_eq!((a.cores, a.speed, a.memory), (48, 1.2e9, Some(64e9)));
        assert_eq!((b.cores, b.speed, b.memory), (2, 1e9, None));
        assert!(recorded(&values, &[]).is_err());
    }
}
