//! Attribute values with a syntax of their own.

use super::attributes::Attributes;
use super::{own, pools};
use crate::disk_model::{CONTENT, from_property, read_contents};
use crate::error::{FormatError, Result};
use slackline_io::Siblings;
use slackline_model::LinkId;
use slackline_model::platform::{
    Billing, ClusterSharing, Contents, DiskModel, HostSpec, PlatformBuilder, PlatformError,
    Profile, Properties, Sharing, Topology,
};
use slackline_model::units::Quantity;
use std::sync::Arc;

pub(super) const SHARING: [(&str, Sharing); 2] =
    [("SHARED", Sharing::Shared), ("FATPIPE", Sharing::Fatpipe)];

pub(super) fn cluster_sharing(
    a: &Attributes<'_>,
    name: &str,
    default: ClusterSharing,
) -> Result<ClusterSharing> {
    let kinds = [
        ("SHARED", ClusterSharing::Shared),
        ("FATPIPE", ClusterSharing::Fatpipe),
        ("SPLITDUPLEX", ClusterSharing::SplitDuplex),
        ("FULLDUPLEX", ClusterSharing::SplitDuplex),
    ];
    a.choice(name, &kinds, default)
}

/// The peak speed; of several (performance states) the one `pstate` picks, else the first.
pub(super) fn speed(a: &Attributes<'_>) -> Result<f64> {
    let list: Vec<&str> = a.required(&["speed", "power"])?.split(',').collect();
    let pick = match a.get(&["pstate"]) {
        None => 0,
        Some(text) => text.trim().parse::<usize>().unwrap_or(usize::MAX),
    };
    let Some(text) = list.get(pick) else {
        return Err(a.error(format!("pstate must be below {}", list.len())));
    };
    Quantity::Speed.parse_or_bare(text).map_err(|e| a.error(format!("speed: {e}")))
}

/// A profile for `state="OFF"`.
pub(super) fn initial_state(a: &Attributes<'_>) -> Result<Option<Arc<Profile>>> {
    if a.choice("state", &[("ON", true), ("OFF", false)], true)? {
        return Ok(None);
    }
    Profile::constant(0.0).map(|profile| Some(Arc::new(profile))).map_err(|e| a.error(e))
}

/// `1-29,58,60-61`.
pub(super) fn radical(a: &Attributes<'_>) -> Result<Vec<(u32, u32)>> {
    let text = a.required(&["radical"])?;
    text.split(',')
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
                (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
                _ => Err(a.error(format!("radical: \"{part}\" is no number and no range a-b"))),
            }
        })
        .collect()
}

/// `topology` and `topo_parameters`.
pub(super) fn topology(a: &Attributes<'_>) -> Result<Topology> {
    let kind = a.get(&["topology"]).unwrap_or("FLAT");
    if kind == "FLAT" {
        return Ok(Topology::Flat);
    }
    let text = a.required(&["topo_parameters"])?;
    let parts: Vec<Vec<u32>> = text
        .split(';')
        .map(|part| part.split(',').map(|n| n.trim().parse::<u32>()).collect())
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| {
            a.error(format!("topo_parameters: \"{text}\" has something else than numbers"))
        })?;
    let pair = |part: &[u32]| match part {
        [count, links] => Some((*count, *links)),
        _ => None,
    };
    let topology = match (kind, parts.as_slice()) {
        ("TORUS", [dimensions]) => Some(Topology::Torus(dimensions.clone())),
        ("FAT_TREE", [levels, children, parents, cables])
            if levels.len() == 1 && levels[0] as usize == children.len() =>
        {
            let (children, parents) = (children.clone(), parents.clone());
            Some(Topology::FatTree { children, parents, cables: cables.clone() })
        }
        ("DRAGONFLY", [groups, chassis, blades, nodes]) if nodes.len() == 1 => {
            match (pair(groups), pair(chassis), pair(blades)) {
                (Some(groups), Some(chassis), Some(blades)) => {
                    Some(Topology::Dragonfly { groups, chassis, blades, nodes: nodes[0] })
                }
                _ => None,
            }
        }
        ("TORUS" | "FAT_TREE" | "DRAGONFLY", _) => None,
        _ => {
            let message = format!(
                "topology is \"{kind}\", it must be one of FLAT, TORUS, FAT_TREE, DRAGONFLY"
            );
            return Err(a.error(message));
        }
    };
    topology.ok_or_else(|| {
        a.error(format!("topo_parameters: \"{text}\" does not describe a {kind}")).with_help(
            "TORUS: 3,2,2; FAT_TREE: levels;children,..;parents,..;cables,..; \
             DRAGONFLY: groups,links;chassis,links;blades,links;nodes",
        )
    })
}

/// The attributes with the contents of a storage; kept as properties.
pub(super) fn contents(a: &Attributes<'_>) -> Properties {
    let keys = ["content", "content_type"];
    keys.iter().filter_map(|key| Some((key.to_string(), a.get(&[key])?.to_string()))).collect()
}

/// Model and contents of a disk from its properties.
pub(super) fn own_disk(
    properties: &mut Properties,
    siblings: Option<Siblings<'_>>,
) -> Result<(DiskModel, Option<Arc<Contents>>)> {
    let model = match properties.iter().position(|(key, _)| key == own::DISK_MODEL) {
        Some(at) => from_property(&properties.remove(at).1)?,
        None => DiskModel::Linear,
    };
    let file = properties.iter().find(|(key, _)| key == CONTENT);
    let contents = match file {
        Some((_, file)) => read_contents(siblings, file)?,
        None => None,
    };
    Ok((model, contents))
}

/// A link by name; of a split-duplex link the half going `UP` (or the other one).
pub(super) fn half(
    b: &PlatformBuilder,
    name: &str,
    direction: Option<bool>,
) -> std::result::Result<LinkId, PlatformError> {
    match (b.link(name), direction) {
        (Ok(link), _) => Ok(link),
        (Err(error), direction) => {
            let suffix = if direction == Some(false) { "DOWN" } else { "UP" };
            b.link(&format!("{name}_{suffix}")).map_err(|_| error)
        }
    }
}

pub(super) fn shared(properties: Properties) -> Option<Arc<Properties>> {
    (!properties.is_empty()).then(|| Arc::new(properties))
}

/// Takes our own properties out of the list and into the host.
pub(super) fn take_own(spec: &mut HostSpec, properties: Properties) -> Result<Properties> {
    let mut rest = Vec::new();
    for (key, value) in properties {
        let fail = |message: String| FormatError::new(format!("property \"{key}\": {message}"));
        let number = |text: &str| match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(fail(format!("\"{text}\" is no finite number"))),
        };
        match key.as_str() {
            own::PRICE => spec.price = number(&value)?,
            own::MEMORY => {
                let bytes = Quantity::Size.parse_or_bare(&value);
                spec.memory = Some(bytes.map_err(|e| fail(e.to_string()))?);
            }
            own::GPUS => spec.resources.gpus = pools::read_gpus(&value).map_err(fail)?,
            own::RESOURCES => spec.resources.named = pools::read_named(&value).map_err(fail)?,
            own::WINDOWS => spec.resources.windows = pools::read_windows(&value).map_err(fail)?,
            own::STORAGE => {
                let bytes = Quantity::Size.parse_or_bare(&value);
                spec.resources.storage = Some(bytes.map_err(|e| fail(e.to_string()))?);
            }
            own::WALL_TIME => {
                let seconds = Quantity::Duration.parse_or_bare(&value);
                spec.resources.wall_time = Some(seconds.map_err(|e| fail(e.to_string()))?);
            }
            own::CLASS => spec.class = Some(value),
            own::LEASABLE => spec.leasable = value == "true",
            own::BILLING => {
                let parts: Vec<&str> = value.split_whitespace().collect();
                let [quantum, minimum, setup] = parts[..] else {
                    return Err(fail("it must be quantum, minimum and set-up in seconds".into()));
                };
                spec.billing = Some(Billing {
                    quantum: number(quantum)?,
                    minimum: number(minimum)?,
                    setup: number(setup)?,
                });
            }
            _ => rest.push((key, value)),
        }
    }
    Ok(rest)
}
