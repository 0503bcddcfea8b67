//! Demands and capacities as files write them: numbers, sizes with a unit, devices by kind.

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use slackline_model::resources::{Amount, BadAmount, DeviceKind, Devices};
use slackline_model::units::{Quantity, parse_size};
use std::fmt;
use std::sync::Arc;

/// A number, or a size with its unit in quotes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Given {
    /// Units.
    Units(f64),
    /// Bytes.
    Bytes(f64),
}

impl Given {
    /// As a task demands it.
    pub(crate) fn demand(self) -> Result<Amount, BadAmount> {
        match self {
            Given::Units(units) => Amount::demand(units),
            Given::Bytes(bytes) => Amount::demand_bytes(bytes),
        }
    }

    /// As a place has it.
    pub(crate) fn capacity(self) -> Result<Amount, BadAmount> {
        match self {
            Given::Units(units) => Amount::capacity(units),
            Given::Bytes(bytes) => Amount::capacity_bytes(bytes),
        }
    }

    /// Converts an amount to its notation in files.
    pub(crate) fn of(amount: Amount) -> Given {
        match amount {
            Amount::Parts(_) => Given::Units(amount.value()),
            Amount::Bytes(_) => Given::Bytes(amount.value()),
        }
    }
}

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Given, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Given;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a size with its unit in quotes")
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Given, E> {
                match number.is_finite() && number >= 0.0 {
                    true => Ok(Given::Units(number)),
                    false => Err(E::custom(format!("an amount cannot be {number}"))),
                }
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Given, E> {
                self.visit_f64(number as f64)
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Given, E> {
                self.visit_f64(number as f64)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Given, E> {
                parse_size(text).map(Given::Bytes).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for Given {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Given::Units(units) if units.fract() == 0.0 && units < 1e15 => {
                serializer.serialize_u64(units as u64)
            }
            Given::Units(units) => serializer.serialize_f64(units),
            Given::Bytes(bytes) => serializer.serialize_str(&Quantity::Size.write(bytes)),
        }
    }
}

/// A whole number that is not negative; fractions of devices are refused by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Count(pub(crate) u32);

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = Count;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of devices")
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<Count, E> {
        let count = u32::try_from(number).ok().filter(|count| *count <= MOST_DEVICES);
        count
            .map(Count)
            .ok_or_else(|| E::custom(format!("{number} devices; at most {MOST_DEVICES}")))
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<Count, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom(format!("a number of devices cannot be {number}"))),
        }
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<Count, E> {
        if number.fract() == 0.0 && number >= 0.0 && number <= f64::from(MOST_DEVICES) {
            return Ok(Count(number as u32));
        }
        Err(E::custom(format!(
            "devices are counted in whole numbers, not {number}; devices with slots hold several tasks"
        )))
    }
}

const MOST_DEVICES: u32 = 1_000_000;

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

/// Entries of a table in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entries<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

impl<T> Entries<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Table<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of names and amounts")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entries<T>, A::Error> {
                in_order(map).map(Entries)
            }
        }
        deserializer.deserialize_map(Table(std::marker::PhantomData))
    }
}

/// The entries of a table in the order of the file.
fn in_order<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    mut map: A,
) -> Result<Vec<(String, T)>, A::Error> {
    let mut list: Vec<(String, T)> = Vec::new();
    while let Some(name) = map.next_key::<String>()? {
        if list.iter().any(|(known, _)| *known == name) {
            return Err(A::Error::custom(format!("'{name}' is listed twice")));
        }
        list.push((name, map.next_value()?));
    }
    Ok(list)
}

impl<T: Serialize> Serialize for Entries<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Devices that a task demands: `2`, or `{ a100 = 1 }`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GpuDemand {
    Any(u32),
    Kinds(Vec<(String, Count)>),
}

impl GpuDemand {
    pub(crate) fn devices(&self) -> Devices {
        match self {
            GpuDemand::Any(count) => Devices::Any(*count),
            GpuDemand::Kinds(kinds) => {
                let kind = |(name, count): &(String, Count)| (Arc::from(name.as_str()), count.0);
                Devices::Kinds(kinds.iter().map(kind).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for GpuDemand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<GpuDemand, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = GpuDemand;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of devices, or a table of kinds and numbers")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<GpuDemand, E> {
                CountVisitor.visit_u64(number).map(|count| GpuDemand::Any(count.0))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<GpuDemand, E> {
                CountVisitor.visit_i64(number).map(|count| GpuDemand::Any(count.0))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<GpuDemand, E> {
                CountVisitor.visit_f64(number).map(|count| GpuDemand::Any(count.0))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GpuDemand, A::Error> {
                in_order(map).map(GpuDemand::Kinds)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Devices that a host has: `4`, or `{ a100 = 2, l4 = { count = 2, slots = 4 } }`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GpuCapacity {
    Count(u32),
    Kinds(Vec<(String, KindEntry)>),
}

/// Devices of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KindEntry {
    count: u32,
    slots: u32,
    vendor: Option<String>,
}

impl GpuCapacity {
    pub(crate) fn kinds(&self) -> Vec<DeviceKind> {
        match self {
            GpuCapacity::Count(count) => vec![DeviceKind::new("", *count)],
            GpuCapacity::Kinds(kinds) => {
                let kind = |(name, entry): &(String, KindEntry)| DeviceKind {
                    name: name.as_str().into(),
                    count: entry.count,
                    slots: entry.slots,
                    vendor: entry.vendor.as_deref().map(Arc::from),
                };
                kinds.iter().map(kind).collect()
            }
        }
    }

    pub(crate) fn of(kinds: &[DeviceKind]) -> Option<GpuCapacity> {
        match kinds {
            [] => None,
            [one] if one.name.is_empty() && one.slots == 1 && one.vendor.is_none() => {
                Some(GpuCapacity::Count(one.count))
            }
            kinds => {
                let entry = |kind: &DeviceKind| {
                    let vendor = kind.vendor.as_deref().map(str::to_string);
                    let entry = KindEntry { count: kind.count, slots: kind.slots, vendor };
                    (kind.name.to_string(), entry)
                };
                Some(GpuCapacity::Kinds(kinds.iter().map(entry).collect()))
            }
        }
    }
}

impl<'de> Deserialize<'de> for KindEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KindEntry, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            count: Count,
            slots: Option<Count>,
            vendor: Option<String>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = KindEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of devices, or { count = 2, slots = 4 }")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<KindEntry, E> {
                let count = CountVisitor.visit_u64(number)?.0;
                Ok(KindEntry { count, slots: 1, vendor: None })
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<KindEntry, E> {
                let count = CountVisitor.visit_i64(number)?.0;
                Ok(KindEntry { count, slots: 1, vendor: None })
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<KindEntry, E> {
                let count = CountVisitor.visit_f64(number)?.0;
                Ok(KindEntry { count, slots: 1, vendor: None })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<KindEntry, A::Error> {
                let table = Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                let slots = table.slots.map_or(1, |slots| slots.0);
                Ok(KindEntry { count: table.count.0, slots, vendor: table.vendor })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for KindEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.slots == 1 && self.vendor.is_none() {
            return serializer.serialize_u32(self.count);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("count", &self.count)?;
        if self.slots != 1 {
            map.serialize_entry("slots", &self.slots)?;
        }
        if let Some(vendor) = &self.vendor {
            map.serialize_entry("vendor", vendor)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for GpuCapacity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<GpuCapacity, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = GpuCapacity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of devices, or a table of kinds and numbers")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<GpuCapacity, E> {
                CountVisitor.visit_u64(number).map(|count| GpuCapacity::Count(count.0))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<GpuCapacity, E> {
                CountVisitor.visit_i64(number).map(|count| GpuCapacity::Count(count.0))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<GpuCapacity, E> {
                CountVisitor.visit_f64(number).map(|count| GpuCapacity::Count(count.0))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GpuCapacity, A::Error> {
                in_order(map).map(GpuCapacity::Kinds)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for GpuCapacity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            GpuCapacity::Count(count) => serializer.serialize_u32(*count),
            GpuCapacity::Kinds(kinds) => {
                let mut map = serializer.serialize_map(Some(kinds.len()))?;
                for (name, entry) in kinds {
                    map.serialize_entry(name, entry)?;
                }
                map.end()
            }
        }
    }
}

/// Named amounts, or the name of the one that cannot be and why.
pub(crate) type Amounts = Result<Vec<(Arc<str>, Amount)>, (String, BadAmount)>;

/// Named amounts as demands of a task.
pub(crate) fn demands(entries: &Entries<Given>) -> Amounts {
    amounts(entries, Given::demand)
}

/// Named amounts as capacities of a place.
pub(crate) fn capacities(entries: &Entries<Given>) -> Amounts {
    amounts(entries, Given::capacity)
}

fn amounts(entries: &Entries<Given>, to: fn(Given) -> Result<Amount, BadAmount>) -> Amounts {
    let amount = |(name, given): &(String, Given)| match to(*given) {
        Ok(amount) => Ok((Arc::from(name.as_str()), amount)),
        Err(error) => Err((name.clone(), error)),
    };
    entries.0.iter().map(amount).collect()
}

/// Named amounts as they are written.
pub(crate) fn written(named: &[(Arc<str>, Amount)]) -> Entries<Given> {
    Entries(named.iter().map(|(name, amount)| (name.to_string(), Given::of(*amount))).collect())
}

/// Devices that a task demands as JSON, which TOML reads as an inline table.
pub(crate) fn gpus_text(devices: &Devices, key: impl Fn(&str) -> String, equals: &str) -> String {
    match devices {
        Devices::Any(count) => count.to_string(),
        Devices::Kinds(kinds) => {
            let kinds = kinds.iter().map(|(kind, count)| format!("{}{equals}{count}", key(kind)));
            format!("{{{}}}", kinds.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Named amounts in the same way.
pub(crate) fn named_text(
    named: &[(Arc<str>, Amount)],
    key: impl Fn(&str) -> String,
    equals: &str,
) -> String {
    let one = |(name, amount): &(Arc<str>, Amount)| {
        let value = match amount {
            Amount::Parts(_) => amount.value().to_string(),
            Amount::Bytes(_) => format!("\"{}\"", Quantity::Size.write(amount.value())),
        };
        format!("{}{equals}{value}", key(name))
    };
    format!("{{{}}}", named.iter().map(one).collect::<Vec<_>>().join(", "))
}
