//! Text view of a platform.

use crate::Printer;
use crate::table::{Table, count};
use serde::Serialize;
use slackline_core::schema;
use slackline_model::Platform;
use slackline_model::platform::{Class, Network};
use slackline_model::resources::{Amount, HostResources, SharedResource};
use slackline_model::units::{fmt_bytes, fmt_rate, fmt_seconds, fmt_speed};

use std::collections::BTreeMap;
use std::sync::Arc;

/// Most classes and links listed.
const SHOWN: usize = 24;

/// The text for people.
pub fn tell(platform: &Platform, output: &dyn Printer) -> String {
    let name = if platform.name().is_empty() { "platform" } else { platform.name() };
    let mut text = format!("{}\n\n", output.bold(name));
    text.push_str(&facts(platform).render(output.style().table_width));
    text.push('\n');
    text.push_str(&classes(platform).render(output.style().table_width));
    if platform.classes().len() > SHOWN {
        text.push_str(&format!("  … and {} more kinds\n", platform.classes().len() - SHOWN));
    }
    text
}

fn facts(platform: &Platform) -> Table {
    let mut table = Table::new(&["<", "<"]);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("hosts", platform.hosts().len().to_string());
    row("cores", platform.total_cores().to_string());
    let speed: f64 = platform.hosts().iter().map(|h| f64::from(h.cores) * h.speed).sum();
    row("speed of all", fmt_speed(speed));
    if let Some(origin) = platform.origin() {
        row("inputs lie on", platform.host(origin).name.to_string());
    }
    match platform.network() {
        Network::Matrix(_) => row("network", "a matrix, without links".to_string()),
        Network::Zones => {
            let links = platform.links();
            let range = |of: fn(&slackline_model::platform::Link) -> f64,
                         show: fn(f64) -> String| {
                let least = links.iter().map(of).fold(f64::INFINITY, f64::min);
                let most = links.iter().map(of).fold(0.0, f64::max);
                if least == most {
                    show(least)
                } else {
                    format!("{} to {}", show(least), show(most))
                }
            };
            let zones = count(platform.zones().len(), "zone");
            row("network", format!("{zones}, {}", count(links.len(), "link")));
            if !links.is_empty() {
                row("bandwidth", range(|l| l.bandwidth, fmt_rate));
                row("latency", range(|l| l.latency, fmt_seconds));
            }
        }
    }
    for zone in platform.zones().iter().filter(|zone| !zone.resources.is_empty()) {
        row(&format!("shared in {}", zone.name), amounts(&zone.resources));
    }
    if !platform.resources().is_empty() {
        let all: Vec<_> = platform.resources().iter().map(|r| (r.name.clone(), r.amount)).collect();
        row("shared by all", amounts(&all));
    }
    if let Some(bytes) = platform.storage() {
        row("storage of all", fmt_bytes(bytes));
    }
    let changing =
        platform.hosts().iter().filter(|h| h.availability.is_some() || h.state.is_some()).count();
    if changing > 0 {
        row("changing over time", count(changing, "host"));
    }
    table
}

fn classes(platform: &Platform) -> Table {
    let priced = platform.classes().iter().any(|c| c.price > 0.0);
    let resources = platform.classes().iter().any(|c| c.resources.is_some());
    let mut headings = vec!["<machines", ">count", ">cores", ">speed", ">memory"];
    if resources {
        headings.push("<resources");
    }
    if priced {
        headings.extend([">price/h", "<billed"]);
    }
    let mut table = Table::new(&headings);
    for class in platform.classes().iter().take(SHOWN) {
        let mut cells = vec![
            label(platform, class).to_string(),
            class.hosts.len().to_string(),
            class.cores.to_string(),
            fmt_speed(class.speed),
            class.memory.map_or("?".to_string(), fmt_bytes),
        ];
        if resources {
            cells.push(class.resources.as_deref().map(described).unwrap_or_default());
        }
        if priced {
            cells.push(format!("{:.3}", class.price * 3600.0 * f64::from(class.cores)));
            cells.push(billed(class));
        }
        table.row(cells);
    }
    table
}

/// Devices, named resources, windows and storage of a machine.
fn described(own: &HostResources) -> String {
    let mut words = Vec::new();
    for kind in &own.gpus {
        let name = if kind.name.is_empty() { "gpus" } else { &*kind.name };
        let slots = if kind.slots == 1 { String::new() } else { format!(" x {}", kind.slots) };
        words.push(format!("{} {name}{slots}", kind.count));
    }
    if !own.named.is_empty() {
        words.push(amounts(&own.named));
    }
    match own.windows.as_slice() {
        [] => {}
        [(from, to)] => words.push(format!("from {} to {}", fmt_seconds(*from), fmt_seconds(*to))),
        windows => words.push(count(windows.len(), "window")),
    }
    if let Some(bytes) = own.storage {
        words.push(format!("{} storage", fmt_bytes(bytes)));
    }
    words.join(", ")
}

fn amounts(named: &[(Arc<str>, Amount)]) -> String {
    let one = |(name, amount): &(Arc<str>, Amount)| match amount {
        Amount::Parts(_) => format!("{} {name}", amount.value()),
        Amount::Bytes(_) => format!("{} {name}", fmt_bytes(amount.value())),
    };
    named.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A single machine goes by its own name.
fn label<'a>(platform: &'a Platform, class: &'a Class) -> &'a str {
    match class.hosts.as_slice() {
        &[one] => &platform.host(one).name,
        _ => &class.name,
    }
}

/// A span of time without the parts that are 0.
fn span(seconds: f64) -> String {
    match seconds {
        1.0 => "second".to_string(),
        60.0 => "minute".to_string(),
        3600.0 => "hour".to_string(),
        _ => fmt_seconds(seconds).trim_end_matches(" 00 s").trim_end_matches(" 00 min").to_string(),
    }
}

fn billed(class: &Class) -> String {
    let mut words = Vec::new();
    if class.leasable {
        words.push("leased".to_string());
    }
    if class.billing.quantum > 0.0 {
        words.push(format!("per {}", span(class.billing.quantum)));
    }
    if class.billing.minimum > 0.0 {
        words.push(format!("least {}", span(class.billing.minimum)));
    }
    words.join(", ")
}

/// The JSON document of a platform.
#[derive(Serialize)]
pub struct PlatformDocument<'a> {
    schema: &'static str,
    name: &'a str,
    hosts: usize,
    cores: u64,
    zones: usize,
    links: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<&'a str, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shared: Vec<SharedEntry<'a>>,
    classes: Vec<ClassEntry<'a>>,
}

/// Resources shared by the hosts of a zone.
#[derive(Serialize)]
struct SharedEntry<'a> {
    zone: &'a str,
    hosts: usize,
    resource: &'a str,
    amount: f64,
}

#[derive(Serialize)]
struct GpuEntry<'a> {
    kind: &'a str,
    count: u32,
    slots: u32,
}

#[derive(Serialize)]
struct ClassEntry<'a> {
    name: &'a str,
    hosts: usize,
    cores: u32,
    flops_per_second: f64,
    memory_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gpus: Vec<GpuEntry<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<&'a str, f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    windows: Vec<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_bytes: Option<f64>,
    price_per_core_second: f64,
    leasable: bool,
}

impl<'a> PlatformDocument<'a> {
    /// Makes the document of a platform.
    pub fn of(platform: &'a Platform) -> PlatformDocument<'a> {
        let own = |class: &'a Class| class.resources.as_deref();
        let gpu = |kind: &'a slackline_model::resources::DeviceKind| GpuEntry {
            kind: &kind.name,
            count: kind.count,
            slots: kind.slots,
        };
        let named = |named: &'a [(Arc<str>, Amount)]| {
            named.iter().map(|(name, amount)| (&**name, amount.value())).collect()
        };
        let class = |class: &'a Class| ClassEntry {
            gpus: own(class).map_or(Vec::new(), |own| own.gpus.iter().map(gpu).collect()),
            resources: own(class).map_or(BTreeMap::new(), |own| named(&own.named)),
            windows: own(class).map_or(Vec::new(), |own| own.windows.clone()),
            storage_bytes: own(class).and_then(|own| own.storage),
            name: &class.name,
            hosts: class.hosts.len(),
            cores: class.cores,
            flops_per_second: class.speed,
            memory_bytes: class.memory,
            price_per_core_second: class.price,
            leasable: class.leasable,
        };
        PlatformDocument {
            schema: schema::names::PLATFORM,
            name: platform.name(),
            hosts: platform.hosts().len(),
            cores: platform.total_cores(),
            zones: platform.zones().len(),
            links: platform.links().len(),
            resources: platform
                .resources()
                .iter()
                .map(|SharedResource { name, amount, .. }| (&**name, amount.value()))
                .collect(),
            storage_bytes: platform.storage(),
            shared: platform
                .zone_resources()
                .iter()
                .map(|own| SharedEntry {
                    zone: &own.zone,
                    hosts: own.hosts.len(),
                    resource: &own.name,
                    amount: own.amount.value(),
                })
                .collect(),
            classes: platform.classes().iter().map(class).collect(),
        }
    }
}
