//! `GridDescription`: clusters, each behind one link to the origin, that appear, change and go;
//! read.
//!
//! ```text
//! GridDescription 1
//! 0:ADD_CLUSTER <a> <net_fast> <0>
//! 0:ADD_HOST <a> <a1> <cpu_half> <0> <2>
//! 60:CHANGE_HOST_BEHAVIOR <a1> <cpu_full> <3>
//! 90:REMOVE_CLUSTER <a>
//! ```
//!
//! The platform holds all hosts that ever exist: those that are not there are off. Its origin keeps files and
//! computes nothing; a link serves one transfer at a time. Behaviours are files beside the grid's.
//! `REMOVE_CLUSTER` shuts its hosts down; each comes back by an `ADD_HOST` of its own after the cluster has. An
//! event on a cluster or host that has gone is reported as a warning and remembered for its return.

use super::behaviour::{Attached, Series, course};
use super::{Line, amount, begins_with, lines};
use crate::error::{FormatError, Result};
use slackline_io::FileAccess;
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, Member, Platform, PlatformBuilder, PlatformError, Profile,
    ProfileEvent, RoutingKind,
};
use slackline_model::workflow::REFERENCE_SPEED;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The word a file begins with.
const HEAD: &str = "GridDescription";

/// A grid and what its reader had to decide.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The platform.
    pub platform: Platform,
    /// Warnings of the reader, one sentence each.
    pub warnings: Vec<String>,
}

/// Whether a text is a grid.
pub fn recognise(text: &str) -> bool {
    begins_with(text, HEAD)
}

/// Reads a grid and the behaviours beside it; the platform gets the name of the file.
pub fn read(files: &FileAccess, path: &Path) -> Result<Grid> {
    let text = files.read_text(path)?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let behaviour = |name: &str| Ok(files.siblings(path).read(name)?.1.to_string());
    parse(&text, name.as_deref().unwrap_or("grid"), &behaviour).map_err(|e| e.in_file(path))
}

/// Reads a grid from a text; `behaviour` gives the text of a behaviour by its name.
pub fn parse(text: &str, name: &str, behaviour: &dyn Fn(&str) -> Result<String>) -> Result<Grid> {
    let mut all = lines(text);
    let (number, first) = all.next().unwrap_or((1, ""));
    let mut head = Line::new(number, first, first);
    if head.group("the header")? != HEAD {
        return Err(head.error(format!("the file does not begin with '{HEAD}'")));
    }
    let _version: f64 = head.number("the version")?;
    head.end()?;
    let mut story = Story {
        behaviour,
        links: HashMap::new(),
        loads: HashMap::new(),
        clusters: Vec::new(),
        hosts: Vec::new(),
        warnings: Vec::new(),
    };
    let mut last = 0.0;
    for (number, text) in all {
        let mut line = Line::new(number, text, text);
        let Some((date, rest)) = text.split_once(':') else {
            return Err(line.error("an event is written DATE:EVENT <...>"));
        };
        let date = amount(date.trim_matches(['<', '>', ' ']))
            .ok_or_else(|| line.error(format!("the date '{date}' is no number >= 0")))?;
        if date < last {
            return Err(line.error(format!("{date} is before {last}, the date above")));
        }
        last = date;
        line.rest = rest;
        story.event(date, &mut line)?;
    }
    let platform = story.platform(name)?;
    Ok(Grid { platform, warnings: story.warnings })
}

/// When something is there: dates at which that changes, absent before the first.
#[derive(Default)]
struct Presence(Vec<f64>);

impl Presence {
    fn now(&self) -> bool {
        self.0.len() % 2 == 1
    }

    /// Appears or goes; what goes at the date it came was never there.
    fn turn(&mut self, date: f64) {
        match self.0.last() {
            Some(&last) if last == date => {
                self.0.pop();
            }
            _ => self.0.push(date),
        }
    }

    /// On and off; none where it is there all the time.
    fn profile(&self) -> Result<Option<Arc<Profile>>> {
        let mut dates = self.0.as_slice();
        let mut events = Vec::new();
        match dates {
            [first, rest @ ..] if *first == 0.0 => dates = rest,
            _ => events.push(ProfileEvent { date: 0.0, value: 0.0 }),
        }
        let mut on = !events.is_empty();
        for &date in dates {
            events.push(ProfileEvent { date, value: f64::from(u8::from(on)) });
            on = !on;
        }
        if events.is_empty() {
            return Ok(None);
        }
        Profile::once(events).map(|profile| Some(Arc::new(profile))).map_err(FormatError::new)
    }
}

struct Cluster {
    name: String,
    present: Presence,
    link: Vec<Attached<2>>,
}

struct Machine {
    name: String,
    cluster: usize,
    arch: String,
    present: Presence,
    load: Vec<Attached<1>>,
}

struct Story<'a> {
    behaviour: &'a dyn Fn(&str) -> Result<String>,
    links: HashMap<String, Arc<Series<2>>>,
    loads: HashMap<String, Arc<Series<1>>>,
    clusters: Vec<Cluster>,
    hosts: Vec<Machine>,
    warnings: Vec<String>,
}

impl Story<'_> {
    fn event(&mut self, date: f64, line: &mut Line<'_>) -> Result<()> {
        let start = Line { ..*line };
        match line.group("the event")? {
            "ADD_CLUSTER" => {
                let name = line.group("the cluster")?;
                let link = self.link(date, line)?;
                match self.clusters.iter_mut().find(|c| c.name == name) {
                    Some(cluster) if cluster.present.now() => {
                        return Err(start.error(format!("cluster '{name}' is there already")));
                    }
                    Some(cluster) => {
                        cluster.present.turn(date);
                        attach(&mut cluster.link, link);
                    }
                    None => self.clusters.push(Cluster {
                        name: name.to_string(),
                        present: Presence(vec![date]),
                        link: vec![link],
                    }),
                }
            }
            "ADD_HOST" => {
                let (cluster, _) = self.cluster(date, line)?;
                let name = line.group("the host")?;
                let load = self.load(date, line)?;
                let arch = line.group("the architecture")?;
                self.add_host(date, cluster, name, load, arch).map_err(|why| start.error(why))?;
            }
            "REMOVE_CLUSTER" => {
                let (cluster, present) = self.cluster(date, line)?;
                if present {
                    self.clusters[cluster].present.turn(date);
                    let hosts = self.hosts.iter_mut().filter(|h| h.cluster == cluster);
                    hosts.filter(|h| h.present.now()).for_each(|host| host.present.turn(date));
                }
            }
            "REMOVE_HOST" => {
                let (host, present) = self.host(date, line)?;
                if present {
                    self.hosts[host].present.turn(date);
                }
            }
            "CHANGE_HOST_BEHAVIOR" | "CHANGE_HOST_BEHAVIOUR" => {
                let (host, _) = self.host(date, line)?;
                let load = self.load(date, line)?;
                attach(&mut self.hosts[host].load, load);
            }
            "CHANGE_CLUSTER_BEHAVIOR" | "CHANGE_CLUSTER_BEHAVIOUR" => {
                let (cluster, _) = self.cluster(date, line)?;
                let link = self.link(date, line)?;
                attach(&mut self.clusters[cluster].link, link);
            }
            other => {
                return Err(start.error(format!("there is no event '{other}'")).with_help(
                    "ADD_CLUSTER, ADD_HOST, REMOVE_CLUSTER, REMOVE_HOST, CHANGE_HOST_BEHAVIOR, \
                     CHANGE_CLUSTER_BEHAVIOR",
                ));
            }
        }
        line.end()
    }

    fn add_host(
        &mut self,
        date: f64,
        cluster: usize,
        name: &str,
        load: Attached<1>,
        arch: &str,
    ) -> std::result::Result<(), String> {
        let present = self.clusters[cluster].present.now();
        let Some(host) = self.hosts.iter_mut().find(|h| h.name == name) else {
            let seen = if present { Presence(vec![date]) } else { Presence::default() };
            self.hosts.push(Machine {
                name: name.to_string(),
                cluster,
                arch: arch.to_string(),
                present: seen,
                load: vec![load],
            });
            return Ok(());
        };
        if host.present.now() {
            return Err(format!("host '{name}' is there already"));
        }
        if host.cluster != cluster || host.arch != arch {
            return Err(format!("host '{name}' comes back in another cluster or as another kind"));
        }
        attach(&mut host.load, load);
        if present {
            host.present.turn(date);
        }
        Ok(())
    }

    /// The cluster a line names and whether it is there, which it should be.
    fn cluster(&mut self, date: f64, line: &mut Line<'_>) -> Result<(usize, bool)> {
        let before = Line { ..*line };
        let name = line.group("the cluster")?;
        let Some(at) = self.clusters.iter().position(|c| c.name == name) else {
            return Err(before.error(format!("no cluster '{name}' has been added")));
        };
        let present = self.clusters[at].present.now();
        if !present {
            self.warnings.push(format!(
                "line {}: cluster '{name}' is not there at {date}; the event is remembered for \
                 its return",
                line.number
            ));
        }
        Ok((at, present))
    }

    fn host(&mut self, date: f64, line: &mut Line<'_>) -> Result<(usize, bool)> {
        let before = Line { ..*line };
        let name = line.group("the host")?;
        let Some(at) = self.hosts.iter().position(|h| h.name == name) else {
            return Err(before.error(format!("no host '{name}' has been added")));
        };
        let present = self.hosts[at].present.now();
        if !present {
            self.warnings.push(format!(
                "line {}: host '{name}' is not there at {date}; the event is remembered for its \
                 return",
                line.number
            ));
        }
        Ok((at, present))
    }

    fn link(&mut self, at: f64, line: &mut Line<'_>) -> Result<Attached<2>> {
        let before = Line { ..*line };
        let (name, offset) = (line.group("the behaviour")?, line.number::<f64>("the offset"));
        let offset = whole(offset?, line)?;
        let series = match self.links.get(name) {
            Some(series) => series.clone(),
            None => {
                let series = self.series::<2>(name, &before)?;
                if series.entries().iter().any(|entry| entry[1] <= 0.0) {
                    let message = format!("behaviour '{name}' has a bandwidth of 0");
                    return Err(before.error(message));
                }
                self.links.insert(name.to_string(), series.clone());
                series
            }
        };
        Ok(Attached { at, series, offset })
    }

    fn load(&mut self, at: f64, line: &mut Line<'_>) -> Result<Attached<1>> {
        let before = Line { ..*line };
        let (name, offset) = (line.group("the behaviour")?, line.number::<f64>("the offset"));
        let offset = whole(offset?, line)?;
        let series = match self.loads.get(name) {
            Some(series) => series.clone(),
            None => {
                let series = self.series::<1>(name, &before)?;
                if let Some([more]) = series.entries().iter().find(|entry| entry[0] > 100.0) {
                    let message =
                        format!("behaviour '{name}' has an availability of {more} percent");
                    return Err(before.error(message));
                }
                self.loads.insert(name.to_string(), series.clone());
                series
            }
        };
        Ok(Attached { at, series, offset })
    }

    fn series<const N: usize>(&self, name: &str, line: &Line<'_>) -> Result<Arc<Series<N>>> {
        let wrong = |error: FormatError| {
            let place = match error.place {
                crate::Place::At { line, .. } => format!(", line {line}"),
                _ => String::new(),
            };
            line.error(format!("behaviour '{name}'{place}: {}", error.message))
        };
        let text = (self.behaviour)(name).map_err(wrong)?;
        Series::parse(&text).map(Arc::new).map_err(wrong)
    }

    fn platform(&self, name: &str) -> Result<Platform> {
        if self.hosts.is_empty() {
            return Err(FormatError::new("no host is ever added"));
        }
        let mut b = PlatformBuilder::new(name);
        b.set_fifo();
        let taken = |name: &str| {
            self.hosts.iter().any(|h| h.name == name)
                || self.clusters.iter().any(|c| c.name == name)
        };
        let free = |wish: &str| {
            let mut name = wish.to_string();
            while taken(&name) {
                name.push('\'');
            }
            name
        };
        let fail = |error: PlatformError| FormatError::new(error);
        let root = b.add_zone(None, free("grid"), RoutingKind::Floyd).map_err(fail)?;
        let origin = HostSpec { cores: 0, ..HostSpec::new(free("origin"), REFERENCE_SPEED) };
        let origin = b.add_host(root, origin).map_err(fail)?;
        b.set_origin(origin);
        let mut zones = Vec::with_capacity(self.clusters.len());
        for cluster in &self.clusters {
            let zone = b.add_zone(Some(root), &cluster.name, RoutingKind::Star).map_err(fail)?;
            b.share_storage(zone);
            let gateway = free(&format!("{}/gateway", cluster.name));
            let gateway = Member::Router(b.add_router(zone, gateway).map_err(fail)?);
            let entries = || cluster.link.iter().flat_map(|a| a.series.entries());
            let bandwidth = entries().map(|entry| entry[1]).fold(0.0, f64::max);
            let latency = seconds(entries().next().map_or(0.0, |entry| entry[0]));
            let bandwidths = course(&cluster.link, |entry| entry[1], bandwidth)?;
            let latencies = course(&cluster.link, |entry| seconds(entry[0]), latency)?;
            let link = b.add_link(LinkSpec {
                bandwidth_profile: bandwidths.map(Arc::new),
                latency_profile: latencies.map(Arc::new),
                state: cluster.present.profile()?,
                ..LinkSpec::new(&cluster.name, bandwidth, latency)
            });
            let route = DeclaredRoute {
                src: Member::Host(origin),
                dst: Member::Zone(zone),
                gw_src: None,
                gw_dst: Some(gateway),
                links: [link.map_err(fail)?].into(),
                symmetrical: true,
            };
            b.add_route(root, route).map_err(fail)?;
            zones.push(zone);
        }
        for host in &self.hosts {
            let spec = HostSpec {
                arch: Some(super::work::column(&host.arch)),
                availability: course(&host.load, |entry| entry[0] / 100.0, 1.0)?.map(Arc::new),
                state: host.present.profile()?,
                ..HostSpec::new(&host.name, REFERENCE_SPEED)
            };
            b.add_host(zones[host.cluster], spec).map_err(fail)?;
        }
        b.build().map_err(fail)
    }
}

/// A new course from its date on, in place of one that began at the same date.
fn attach<const N: usize>(courses: &mut Vec<Attached<N>>, next: Attached<N>) {
    if courses.last().is_some_and(|last| last.at == next.at) {
        courses.pop();
    }
    courses.push(next);
}

fn seconds(milliseconds: f64) -> f64 {
    milliseconds / 1000.0
}

fn whole(offset: f64, line: &Line<'_>) -> Result<usize> {
    if offset >= 0.0 && offset.fract() == 0.0 && offset < 1e15 {
        return Ok(offset as usize);
    }
    Err(line.error(format!("the offset {offset} is no whole number >= 0")))
}

#[cfg(test)]
#[path = "grid_tests.rs"]
mod tests;
