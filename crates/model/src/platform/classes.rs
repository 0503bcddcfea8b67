//! Classes: machines that are equal in everything that a planner considers.

use super::error::PlatformError;
use super::host::{Billing, Class, Host};
use super::zone::Zone;
use crate::{ClassId, HostId, ZoneId};
use std::collections::HashMap;
use std::sync::Arc;

/// The class that a host states: its name, whether it is leased, its billing.
pub(super) type ClassWish = (Option<String>, bool, Option<Billing>);

/// All properties by which a planner distinguishes machines (numbers by their bits).
#[derive(Clone, PartialEq, Eq, Hash)]
struct ClassKey {
    name: Option<String>,
    zone: ZoneId,
    cores: u32,
    speed: u64,
    price: u64,
    memory: Option<u64>,
    /// As text: dates and sizes in it are not hashed.
    resources: Option<String>,
    arch: Option<Arc<str>>,
    leasable: bool,
    billing: [u64; 3],
}

/// Puts identical machines in one class, numbered by first host.
pub(super) fn classify(
    hosts: &mut [Host],
    wishes: &mut [ClassWish],
    zones: &[Zone],
    default: Billing,
) -> Result<Vec<Class>, PlatformError> {
    let mut classes: Vec<Class> = Vec::new();
    let mut by_key: HashMap<ClassKey, ClassId> = HashMap::new();
    let mut kinds_in_zone = vec![0u32; zones.len()];
    let mut named = Vec::new();
    for (index, host) in hosts.iter_mut().enumerate() {
        let (name, leasable, billing) = std::mem::take(&mut wishes[index]);
        let billing = billing.unwrap_or(default);
        let key = ClassKey {
            name,
            zone: host.zone,
            cores: host.cores,
            speed: host.speed.to_bits(),
            price: host.price.to_bits(),
            memory: host.memory.map(f64::to_bits),
            resources: host.resources.as_ref().map(|own| format!("{own:?}")),
            arch: host.arch.clone(),
            leasable,
            billing: [billing.quantum, billing.minimum, billing.setup].map(f64::to_bits),
        };
        host.class = *by_key.entry(key).or_insert_with_key(|key| {
            kinds_in_zone[host.zone.index()] += 1;
            named.push(key.name.clone());
            classes.push(Class {
                name: host.name.clone(),
                cores: host.cores,
                speed: host.speed,
                price: host.price,
                memory: host.memory,
                resources: host.resources.clone(),
                zone: host.zone,
                hosts: Vec::new(),
                leasable,
                billing,
            });
            ClassId::new(classes.len() - 1)
        });
        classes[host.class.index()].hosts.push(HostId::new(index));
    }
    let mut taken = HashMap::new();
    for (index, (class, name)) in classes.iter_mut().zip(named).enumerate() {
        class.name = match name {
            Some(name) => name.into(),
            // The only kind of machine of its zone has the name of the zone.
            None if kinds_in_zone[class.zone.index()] == 1 => {
                zones[class.zone.index()].name.clone()
            }
            None => class.name.clone(),
        };
        if taken.insert(class.name.clone(), index).is_some() {
            let message = "machines of one class must have the same zone, cores, speed, price, \
                           resources, architecture and billing";
            return Err(PlatformError::invalid(format!("class \"{}\"", class.name), message));
        }
    }
    Ok(classes)
}
