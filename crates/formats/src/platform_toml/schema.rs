//! Members of a platform TOML file, for reading and for writing.

use crate::disk_model::ModelTable;
use crate::resources::{Entries, Given, GpuCapacity};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use slackline_model::units::Quantity;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use toml::Spanned;

/// A whole file.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) links: Option<LinksWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) storage: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) network: Option<NetworkTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) billing: Option<BillingTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) matrix: Option<MatrixTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) slurm: Option<SlurmTable>,
    #[serde(skip_serializing_if = "Entries::is_empty")]
    pub(super) resources: Entries<SharedEntry>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) profile: Ordered<ProfileTable>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) zone: Ordered<ZoneTable>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) site: Ordered<SiteTable>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) link: Ordered<LinkTable>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) cluster: Ordered<ClusterTable>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) host: Ordered<HostTable>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) router: Ordered<RouterTable>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "unspanned")]
    pub(super) route: Vec<Spanned<RouteTable>>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "unspanned")]
    pub(super) disk: Vec<Spanned<DiskTable>>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "unspanned")]
    pub(super) follow: Vec<Spanned<FollowTable>>,
}

/// Options of batch jobs.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct SlurmTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) partition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) qos: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) constraint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) time: Option<Seconds>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sbatch: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) kind: BTreeMap<String, SlurmTable>,
}

/// Sharing of all links.
#[derive(Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LinksWord {
    /// According to their `sharing`.
    Shared,
    /// One transfer at a time.
    Fifo,
    /// According to their `sharing`, with latencies and bandwidths of whole transfers.
    Measured,
}

/// Profiles that one machine, or one link, of a cluster follows.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct FollowTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) link: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) availability: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bandwidth: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<String>,
}

fn unspanned<T: Serialize, S: Serializer>(
    list: &[Spanned<T>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.iter().map(Spanned::as_ref))
}

/// Defaults of the short form.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct NetworkTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bandwidth: Option<Bandwidth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uplink: Option<Bandwidth>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct BillingTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quantum: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) minimum: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) setup: Option<Seconds>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MatrixTable {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bandwidth: Option<OneOrRows<MaybeFree>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<OneOrRows<Seconds>>,
}

/// One value for all pairs, or a row per host.
pub(super) enum OneOrRows<T> {
    One(T),
    Rows(Vec<Vec<T>>),
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ProfileTable {
    pub(super) events: Vec<(f64, f64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) period: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) loop_after: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repeat_from: Option<Seconds>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ZoneTable {
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<String>,
    pub(super) routing: RoutingWord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) backbone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shared_storage: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) transfer_price: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) storage_capacity: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Entries::is_empty")]
    pub(super) shared_resources: Entries<Given>,
    #[serde(default, skip_serializing_if = "Ordered::is_empty")]
    pub(super) properties: Ordered<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RoutingWord {
    None,
    Full,
    Floyd,
    Dijkstra,
    Star,
    Vivaldi,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct SiteTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shared_storage: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transfer_price: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) storage_capacity: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bandwidth: Option<Bandwidth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<Seconds>,
    #[serde(skip_serializing_if = "Entries::is_empty")]
    pub(super) shared_resources: Entries<Given>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct LinkTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) between: Option<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bandwidth: Option<Bandwidth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sharing: Option<SharingWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bandwidth_profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency_profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<String>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) properties: Ordered<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SharingWord {
    Shared,
    Fatpipe,
    SplitDuplex,
}

/// Members shared by hosts and clusters.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct HostTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) speed: Option<Speed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cores: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) price: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) price_per_hour: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) leasable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) availability: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bandwidth: Option<Bandwidth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) up: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) down: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limiter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) loopback: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) coordinates: Option<[f64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) storage: Option<Bytes>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) windows: Vec<(Seconds, Seconds)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wall_time: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gpus: Option<GpuCapacity>,
    #[serde(skip_serializing_if = "Entries::is_empty")]
    pub(super) resources: Entries<Given>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) billing: Option<BillingTable>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) properties: Ordered<String>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct ClusterTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shared_storage: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) transfer_price: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) storage_capacity: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) numbers: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) names: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) speed: Option<Speed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cores: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) price: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) price_per_hour: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) leasable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) availability: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bandwidth: Option<Bandwidth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sharing: Option<SharingWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uplink: Option<Bandwidth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limiter: Option<Bandwidth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) router: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) torus: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fat_tree: Option<FatTreeTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dragonfly: Option<DragonflyTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backbone: Option<InnerLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) loopback: Option<InnerLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) storage: Option<Bytes>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) windows: Vec<(Seconds, Seconds)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wall_time: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gpus: Option<GpuCapacity>,
    #[serde(skip_serializing_if = "Entries::is_empty")]
    pub(super) resources: Entries<Given>,
    #[serde(skip_serializing_if = "Entries::is_empty")]
    pub(super) shared_resources: Entries<Given>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) billing: Option<BillingTable>,
    #[serde(skip_serializing_if = "Ordered::is_empty")]
    pub(super) properties: Ordered<String>,
}

/// A backbone or loopback of a cluster.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct InnerLink {
    pub(super) bandwidth: Bandwidth,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) latency: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sharing: Option<SharingWord>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FatTreeTable {
    pub(super) children: Vec<u32>,
    pub(super) parents: Vec<u32>,
    pub(super) cables: Vec<u32>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DragonflyTable {
    pub(super) groups: (u32, u32),
    pub(super) chassis: (u32, u32),
    pub(super) blades: (u32, u32),
    pub(super) nodes: u32,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RouterTable {
    pub(super) zone: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) coordinates: Option<[f64; 3]>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RouteTable {
    pub(super) zone: String,
    pub(super) src: String,
    pub(super) dst: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) src_gateway: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dst_gateway: Option<String>,
    pub(super) links: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) one_way: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bypass: Option<bool>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DiskTable {
    pub(super) name: String,
    pub(super) host: String,
    /// Stock definition whose values hold where the table has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stock: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) read: Option<DiskBandwidth>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) write: Option<DiskBandwidth>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) connection: Option<DiskBandwidth>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) capacity: Option<Bytes>,
    /// File with a list of what is on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    /// Pairs of host and path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) mounts: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<ModelTable>,
    #[serde(default, skip_serializing_if = "Ordered::is_empty")]
    pub(super) properties: Ordered<String>,
}

/// A resource of the whole platform: an amount, or an amount that is a licence in Slurm.
#[derive(Clone, Copy)]
pub(super) struct SharedEntry {
    pub(super) amount: Given,
    pub(super) slurm: bool,
}

impl<'de> Deserialize<'de> for SharedEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            amount: Given,
            #[serde(default)]
            slurm: bool,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = SharedEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount, or { amount = 5, slurm = true }")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<SharedEntry, E> {
                let number = serde::de::value::F64Deserializer::new(number);
                Ok(SharedEntry { amount: Given::deserialize(number)?, slurm: false })
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<SharedEntry, E> {
                self.visit_f64(number as f64)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<SharedEntry, E> {
                self.visit_f64(number as f64)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<SharedEntry, E> {
                let text = serde::de::value::StrDeserializer::new(text);
                Ok(SharedEntry { amount: Given::deserialize(text)?, slurm: false })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SharedEntry, A::Error> {
                let map = serde::de::value::MapAccessDeserializer::new(map);
                let Table { amount, slurm } = Table::deserialize(map)?;
                Ok(SharedEntry { amount, slurm })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for SharedEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.slurm {
            return self.amount.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("amount", &self.amount)?;
        map.serialize_entry("slurm", &true)?;
        map.end()
    }
}

/// A number that is written with its unit.
macro_rules! quantities {
    ($($name:ident),+) => {$(
        #[derive(Clone, Copy, PartialEq)]
        pub(crate) struct $name(pub(crate) f64);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(WithUnit(quantity_of(stringify!($name)))).map($name)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&quantity_of(stringify!($name)).write(self.0))
            }
        }
    )+};
}

quantities!(Speed, Bandwidth, Bytes, Seconds);

/// Bandwidth of a storage, written in bytes per second: bits are usual for networks and would look like a mistake.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct DiskBandwidth(pub(crate) f64);

impl<'de> Deserialize<'de> for DiskBandwidth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Bandwidth::deserialize(deserializer).map(|bandwidth| DiskBandwidth(bandwidth.0))
    }
}

impl Serialize for DiskBandwidth {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Quantity::write_in_bytes(self.0))
    }
}

fn quantity_of(name: &str) -> Quantity {
    match name {
        "Speed" => Quantity::Speed,
        "Bandwidth" => Quantity::Bandwidth,
        "Bytes" => Quantity::Size,
        _ => Quantity::Duration,
    }
}

struct WithUnit(Quantity);

impl Visitor<'_> for WithUnit {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} with its unit in quotes", self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        self.0.parse(text).map_err(E::custom)
    }
}

/// A bandwidth, or `"free"` where transfers take no time.
#[derive(Clone, Copy)]
pub(super) struct MaybeFree(pub(super) f64);

impl<'de> Deserialize<'de> for MaybeFree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "free" => Ok(MaybeFree(f64::INFINITY)),
            _ => Quantity::Bandwidth.parse(&text).map(MaybeFree).map_err(D::Error::custom),
        }
    }
}

impl Serialize for MaybeFree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_infinite() {
            serializer.serialize_str("free")
        } else {
            serializer.serialize_str(&Quantity::Bandwidth.write(self.0))
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrRows<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrRows<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value with its unit, or a list with a row per host")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let text = serde::de::value::StrDeserializer::new(text);
                T::deserialize(text).map(OneOrRows::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut rows = Vec::new();
                while let Some(row) = list.next_element()? {
                    rows.push(row);
                }
                Ok(OneOrRows::Rows(rows))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<T: Serialize> Serialize for OneOrRows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            OneOrRows::One(value) => value.serialize(serializer),
            OneOrRows::Rows(rows) => rows.serialize(serializer),
        }
    }
}

/// Named tables in the order of the file, with their place in it.
pub(super) struct Ordered<T>(pub(super) Vec<Named<T>>);

/// One named table.
pub(super) struct Named<T> {
    pub(super) name: String,
    pub(super) offset: usize,
    pub(super) table: T,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered(Vec::new())
    }
}

impl<T> Ordered<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, name: impl Into<String>, table: T) {
        self.0.push(Named { name: name.into(), offset: 0, table });
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tables<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Tables<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("named tables")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some((key, table)) = map.next_entry::<Spanned<String>, T>()? {
                    let offset = key.span().start;
                    list.push(Named { name: key.into_inner(), offset, table });
                }
                // The parser sorts keys by name; people mean the order they wrote.
                list.sort_by_key(|named| named.offset);
                Ok(Ordered(list))
            }
        }
        deserializer.deserialize_map(Tables(PhantomData))
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for named in &self.0 {
            map.serialize_entry(&named.name, &named.table)?;
        }
        map.end()
    }
}
