//! What is in a platform.

use crate::output::Output;
use crate::table::{Table, count};
use serde::Serialize;
use slackline_core::schema;
use slackline_model::Platform;
use slackline_model::platform::{Class, Network};
use slackline_model::units::{fmt_bytes, fmt_rate, fmt_seconds, fmt_speed};

/// Most classes and links listed.
const SHOWN: usize = 24;

/// The text for people.
pub(super) fn tell(platform: &Platform, output: &Output) -> String {
    let name = if platform.name().is_empty() { "platform" } else { platform.name() };
    let mut text = format!("{}\n\n", output.bold(name));
    text.push_str(&facts(platform).render(output.table_width));
    text.push('\n');
    text.push_str(&classes(platform).render(output.table_width));
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
    let changing =
        platform.hosts().iter().filter(|h| h.availability.is_some() || h.state.is_some()).count();
    if changing > 0 {
        row("changing over time", count(changing, "host"));
    }
    table
}

fn classes(platform: &Platform) -> Table {
    let priced = platform.classes().iter().any(|c| c.price > 0.0);
    let mut headings = vec!["<machines", ">count", ">cores", ">speed", ">memory"];
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
        if priced {
            cells.push(format!("{:.3}", class.price * 3600.0 * f64::from(class.cores)));
            cells.push(billed(class));
        }
        table.row(cells);
    }
    table
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
pub(crate) struct Document<'a> {
    schema: &'static str,
    name: &'a str,
    hosts: usize,
    cores: u64,
    zones: usize,
    links: usize,
    classes: Vec<ClassEntry<'a>>,
}

#[derive(Serialize)]
struct ClassEntry<'a> {
    name: &'a str,
    hosts: usize,
    cores: u32,
    flops_per_second: f64,
    memory_bytes: Option<f64>,
    price_per_core_second: f64,
    leasable: bool,
}

impl<'a> Document<'a> {
    pub(crate) fn of(platform: &'a Platform) -> Document<'a> {
        let class = |class: &'a Class| ClassEntry {
            name: &class.name,
            hosts: class.hosts.len(),
            cores: class.cores,
            flops_per_second: class.speed,
            memory_bytes: class.memory,
            price_per_core_second: class.price,
            leasable: class.leasable,
        };
        Document {
            schema: schema::names::PLATFORM,
            name: platform.name(),
            hosts: platform.hosts().len(),
            cores: platform.total_cores(),
            zones: platform.zones().len(),
            links: platform.links().len(),
            classes: platform.classes().iter().map(class).collect(),
        }
    }
}
