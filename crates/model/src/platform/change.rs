//! Changes of a platform, as users write them: `cores x2`, `bandwidth x10`, `hosts +4`.

use super::error::PlatformError;
use super::host::Class;
use super::matrix::Matrix;
use super::profile::Profile;
use super::{HostId, LinkId, Platform, PlatformBuilder};
use crate::nearest::did_you_mean;
use crate::{DiskId, units::fmt_number};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// One change of a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The quantity that is changed.
    what: What,
    /// The host, class, zone, link or disk that is changed; all where none is named.
    of: Option<String>,
    /// By how much.
    by: By,
}

/// A quantity that can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Cores,
    Speed,
    Memory,
    Hosts,
    Bandwidth,
    Latency,
    Disks,
}

impl What {
    const ALL: [What; 7] = [
        What::Cores,
        What::Speed,
        What::Memory,
        What::Hosts,
        What::Bandwidth,
        What::Latency,
        What::Disks,
    ];

    fn name(self) -> &'static str {
        match self {
            What::Cores => "cores",
            What::Speed => "speed",
            What::Memory => "memory",
            What::Hosts => "hosts",
            What::Bandwidth => "bandwidth",
            What::Latency => "latency",
            What::Disks => "disks",
        }
    }
}

/// By how much something is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    /// So many times as much; above 0.
    Times(f64),
    /// So many more; whole and above 0.
    Plus(u32),
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Change, String> {
        const FORM: &str =
            "expected a change such as \"cores x2\", \"bandwidth x10\" or \"hosts +4\"";
        let text = text.trim();
        let at = text.rfind(|c: char| c.is_whitespace()).ok_or(FORM)?;
        let (left, amount) = (text[..at].trim_end(), &text[at + 1..]);
        let (word, of) = match left.split_once(':') {
            Some((word, of)) => (word.trim(), Some(of.trim().to_string())),
            None => (left, None),
        };
        let what = What::ALL.into_iter().find(|what| what.name() == word).ok_or_else(|| {
            let names = What::ALL.map(What::name);
            let near = did_you_mean(word, names);
            format!("'{word}' cannot be changed{near} There is: {}", names.join(", "))
        })?;
        if of.as_deref() == Some("") {
            return Err(format!("{word}: names nothing behind the colon"));
        }
        let times = amount.strip_prefix(['x', 'X', '×', '*']);
        let by = match (times, amount.strip_prefix('+')) {
            (Some(number), _) => match number.parse::<f64>() {
                Ok(factor) if factor > 0.0 && factor.is_finite() => By::Times(factor),
                _ => return Err(format!("{amount}: a factor is a number above 0, such as x2")),
            },
            (None, Some(number)) => match number.parse::<u32>() {
                Ok(more) if more > 0 => By::Plus(more),
                _ => return Err(format!("{amount}: what is added is a whole number above 0")),
            },
            _ => return Err(FORM.to_string()),
        };
        let is_counted = matches!(what, What::Cores | What::Hosts);
        if matches!(by, By::Plus(_)) && !is_counted {
            return Err(format!("{word} is multiplied, such as {word} x2"));
        }
        if what == What::Hosts
            && let By::Times(factor) = by
            && (factor.fract() != 0.0 || factor < 1.0)
        {
            return Err(format!("hosts {amount}: hosts are taken whole, and none away"));
        }
        Ok(Change { what, of, by })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what.name())?;
        if let Some(of) = &self.of {
            write!(f, ":{of}")?;
        }
        match self.by {
            By::Times(factor) => write!(f, " x{}", fmt_number(factor)),
            By::Plus(more) => write!(f, " +{more}"),
        }
    }
}

impl Platform {
    /// The platform after some changes, one after the other.
    pub fn changed(&self, changes: &[Change]) -> Result<Platform, PlatformError> {
        let mut platform = self.clone();
        for change in changes {
            let mut builder = PlatformBuilder::reopen(&platform);
            change.apply(&platform, &mut builder)?;
            platform = builder.build()?;
        }
        Ok(platform)
    }

    /// The platform with these speeds, in flop/s, of hosts, classes or zones by name; the name of a host counts before
    /// that of its class or zone.
    pub fn at_speeds(&self, speeds: &[(&str, f64)]) -> Result<Platform, PlatformError> {
        let mut builder = PlatformBuilder::reopen(self);
        let is_host = |name: &str| self.hosts().iter().any(|host| &*host.name == name);
        let mut named: Vec<_> = speeds.to_vec();
        named.sort_by_key(|(name, _)| is_host(name));
        for (name, speed) in named {
            let hosts = builder.hosts_called(Some(name));
            if hosts.is_empty() {
                let message =
                    format!("there is no host, class or zone '{name}'{}", self.near(name));
                return Err(PlatformError::invalid(name, message));
            }
            check(speed, || PlatformError::invalid(name, "a speed leaves the range of numbers"))?;
            builder.part_from_class(&hosts);
            hosts.into_iter().for_each(|host| builder.host_mut(host).speed = speed);
        }
        builder.build()
    }

    /// A suggestion for a name that no host, class or zone has.
    fn near(&self, name: &str) -> String {
        let hosts = self.hosts().iter().map(|host| &*host.name);
        let zones = self.zones().iter().map(|zone| &*zone.name);
        let classes = self.classes().iter().map(|class| &*class.name);
        did_you_mean(name, hosts.chain(zones).chain(classes))
    }
}

impl Change {
    fn apply(&self, platform: &Platform, to: &mut PlatformBuilder) -> Result<(), PlatformError> {
        match self.what {
            What::Hosts => self.add_hosts(platform, to),
            What::Cores | What::Speed | What::Memory => self.change_hosts(platform, to),
            What::Bandwidth | What::Latency => self.change_links(platform, to),
            What::Disks => self.change_disks(platform, to),
        }
    }

    fn refused(&self, message: impl Into<String>) -> PlatformError {
        PlatformError::invalid(self.to_string(), message)
    }

    /// The hosts that are meant.
    fn hosts(
        &self,
        platform: &Platform,
        to: &PlatformBuilder,
    ) -> Result<Vec<HostId>, PlatformError> {
        let found = to.hosts_called(self.of.as_deref());
        if found.is_empty() {
            let name = self.of.as_deref().unwrap_or_default();
            let near = platform.near(name);
            return Err(self.refused(format!("there is no host, class or zone '{name}'{near}")));
        }
        Ok(found)
    }

    fn change_hosts(
        &self,
        platform: &Platform,
        to: &mut PlatformBuilder,
    ) -> Result<(), PlatformError> {
        let hosts = self.hosts(platform, to)?;
        if self.of.is_some() {
            to.part_from_class(&hosts);
        }
        let mut has_any = false;
        for id in hosts {
            let host = to.host_mut(id);
            match (self.what, self.by) {
                (What::Speed, By::Times(factor)) => {
                    has_any = true;
                    host.speed *= factor;
                    check(host.speed, || self.refused("a speed leaves the range of numbers"))?;
                }
                (What::Memory, By::Times(factor)) => {
                    has_any |= host.memory.is_some();
                    host.memory = host.memory.map(|bytes| bytes * factor);
                    let bytes = host.memory.unwrap_or(1.0);
                    check(bytes, || self.refused("a memory leaves the range of numbers"))?;
                }
                // What has no cores keeps files.
                _ if host.cores == 0 => {}
                (_, by) => {
                    has_any = true;
                    let cores = match by {
                        By::Times(factor) => f64::from(host.cores) * factor,
                        By::Plus(more) => f64::from(host.cores) + f64::from(more),
                    };
                    if cores.fract() != 0.0 || cores < 1.0 {
                        let message = format!(
                            "host \"{}\" would have {} cores; they are taken whole",
                            host.name,
                            fmt_number(cores)
                        );
                        return Err(self.refused(message));
                    }
                    if cores > f64::from(super::CORE_LIMIT) {
                        let message = format!(
                            "host \"{}\" would have {} cores; at most {} are possible",
                            host.name,
                            fmt_number(cores),
                            super::CORE_LIMIT
                        );
                        return Err(self.refused(message));
                    }
                    host.cores = cores as u32;
                    host.core_names = None;
                }
            }
        }
        if has_any {
            Ok(())
        } else {
            Err(self.refused(format!("no host says its {}", self.what.name())))
        }
    }

    fn add_hosts(
        &self,
        platform: &Platform,
        to: &mut PlatformBuilder,
    ) -> Result<(), PlatformError> {
        let hosts = self.hosts(platform, to)?;
        let computes = |host: &HostId| platform.host(*host).cores > 0;
        let hosts: Vec<HostId> = hosts.into_iter().filter(computes).collect();
        let each = match self.by {
            By::Plus(more) => {
                // One of the most frequent kind among those meant, the first of equally frequent ones.
                let count =
                    |class: &Class| hosts.iter().filter(|h| class.hosts.contains(h)).count();
                let most = platform.classes().iter().max_by_key(|class| {
                    (count(class), std::cmp::Reverse(class.hosts.first().copied()))
                });
                let model = most.and_then(|class| class.hosts.iter().find(|h| hosts.contains(h)));
                let model = *model.ok_or_else(|| self.refused("no such host has a core"))?;
                vec![(model, more)]
            }
            By::Times(factor) => hosts.into_iter().map(|h| (h, factor as u32 - 1)).collect(),
        };
        let all: u64 = each.iter().map(|(_, more)| u64::from(*more)).sum();
        if all > super::CLUSTER_LIMIT {
            let message =
                format!("{all} more hosts; at most {} are possible", super::CLUSTER_LIMIT);
            return Err(self.refused(message));
        }
        for (model, more) in each {
            for _ in 0..more {
                to.add_like(model)?;
            }
        }
        Ok(())
    }

    fn change_links(
        &self,
        platform: &Platform,
        to: &mut PlatformBuilder,
    ) -> Result<(), PlatformError> {
        let By::Times(factor) = self.by else { return Err(self.refused("links are not counted")) };
        let is_bandwidth = self.what == What::Bandwidth;
        if let Some(matrix) = to.matrix_mut() {
            if self.of.is_some() {
                return Err(self.refused("the network is a matrix: it has no links"));
            }
            let ends = match matrix {
                Matrix::Uniform { bandwidth, latency } => {
                    let figure = if is_bandwidth { bandwidth } else { latency };
                    std::slice::from_mut(figure)
                }
                Matrix::Dense { bandwidth, latency, .. } => {
                    if is_bandwidth {
                        &mut bandwidth[..]
                    } else {
                        &mut latency[..]
                    }
                }
            };
            ends.iter_mut().for_each(|figure| *figure *= factor);
            return Ok(());
        }
        let is_meant = |name: &str| match &self.of {
            None => true,
            Some(of) => {
                let half = name.strip_suffix("_UP").or(name.strip_suffix("_DOWN"));
                name == of || half == Some(of.as_str())
            }
        };
        let mut has_any = false;
        for at in 0..platform.links().len() {
            let link = to.link_mut(LinkId::new(at));
            if !is_meant(&link.name) {
                continue;
            }
            has_any = true;
            let scaled = |profile: &Arc<Profile>| Arc::new(profile.scaled(factor));
            if is_bandwidth {
                link.bandwidth *= factor;
                link.bandwidth_profile = link.bandwidth_profile.as_ref().map(scaled);
                check(link.bandwidth, || self.refused("a bandwidth leaves the range of numbers"))?;
            } else {
                link.latency *= factor;
                link.latency_profile = link.latency_profile.as_ref().map(scaled);
            }
        }
        if has_any {
            return Ok(());
        }
        Err(match &self.of {
            None => self.refused("the platform has no links"),
            Some(of) => {
                let near = did_you_mean(of, platform.links().iter().map(|link| &*link.name));
                self.refused(format!("there is no link '{of}'{near}"))
            }
        })
    }

    fn change_disks(
        &self,
        platform: &Platform,
        to: &mut PlatformBuilder,
    ) -> Result<(), PlatformError> {
        let By::Times(factor) = self.by else { return Err(self.refused("disks are not counted")) };
        let mut has_any = false;
        for at in 0..to.disk_count() {
            let disk = to.disk_mut(DiskId::new(at));
            if self.of.as_deref().is_some_and(|of| *disk.name != *of) {
                continue;
            }
            has_any = true;
            disk.read_bandwidth *= factor;
            disk.write_bandwidth *= factor;
            disk.connection_bandwidth = disk.connection_bandwidth.map(|wide| wide * factor);
            check(disk.read_bandwidth.max(disk.write_bandwidth), || {
                self.refused("a bandwidth leaves the range of numbers")
            })?;
        }
        if has_any {
            return Ok(());
        }
        Err(match &self.of {
            None => self.refused("the platform has no disks"),
            Some(of) => {
                let near = did_you_mean(of, platform.disks().iter().map(|disk| &*disk.name));
                self.refused(format!("there is no disk '{of}'{near}"))
            }
        })
    }
}

fn check(value: f64, refused: impl FnOnce() -> PlatformError) -> Result<(), PlatformError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::super::{
        ClusterSpec, DeclaredRoute, HostSpec, LinkShape, LinkSpec, RouteCache, RoutingKind,
    };
    use super::*;

    fn changes(list: &[&str]) -> Vec<Change> {
        list.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn cluster() -> Platform {
        let mut builder = PlatformBuilder::new("p");
        let link = LinkShape { bandwidth: 1e8, latency: 1e-4 };
        builder.add_cluster(None, ClusterSpec::flat("c", 3, 1e9, link)).unwrap();
        builder.build().unwrap()
    }

    fn seconds(platform: &Platform, from: &str, to: &str) -> f64 {
        let (from, to) = (platform.host_named(from).unwrap(), platform.host_named(to).unwrap());
        platform.planning_network().transfer_time(1e9, from, to)
    }

    #[test]
    fn figures_are_multiplied() {
        let platform = cluster();
        let more =
            platform.changed(&changes(&["cores x2", "speed x1.5", "bandwidth ×10"])).unwrap();
        assert_eq!(more.total_cores(), 6);
        assert_eq!((more.classes().len(), more.host(HostId(0)).speed), (1, 1.5e9));
        let (before, after) = (seconds(&platform, "c-0", "c-1"), seconds(&more, "c-0", "c-1"));
        assert!((before - 10.0).abs() < 0.01 && (after - 1.0).abs() < 0.01, "{before} {after}");
        let one = platform.changed(&changes(&["cores:c-1 +3", "speed:c x2"])).unwrap();
        assert_eq!((one.total_cores(), one.classes().len()), (6, 2));
    }

    #[test]
    fn added_hosts_stand_where_their_models_stand() {
        let more = cluster().changed(&changes(&["hosts +2"])).unwrap();
        let names: Vec<&str> = more.hosts().iter().map(|host| &*host.name).collect();
        assert_eq!(names, ["c-0", "c-1", "c-2", "c-3", "c-4"]);
        assert_eq!(more.classes().len(), 1);
        assert_eq!(seconds(&more, "c-3", "c-4"), seconds(&more, "c-0", "c-1"));
        // Links of their own: two transfers do not meet.
        let mut routes = RouteCache::default();
        let way = |routes: &mut RouteCache, a: u32, b: u32| {
            routes.route(&more, HostId(a), HostId(b)).unwrap().links.to_vec()
        };
        let (one, other) = (way(&mut routes, 0, 1), way(&mut routes, 3, 4));
        assert!(one.iter().all(|link| !other.contains(link)));
        assert_eq!(cluster().changed(&changes(&["hosts x2"])).unwrap().hosts().len(), 6);
    }

    #[test]
    fn routes_are_declared_for_added_hosts() {
        let mut b = PlatformBuilder::new("p");
        let zone = b.add_zone(None, "z", RoutingKind::Full).unwrap();
        let hosts: Vec<HostId> = (0..3)
            .map(|i| b.add_host(zone, HostSpec::new(format!("h{i}"), 1e9)).unwrap())
            .collect();
        let own: Vec<LinkId> =
            (0..3).map(|i| b.add_link(LinkSpec::new(format!("l{i}"), 1e8, 0.0)).unwrap()).collect();
        let middle = b.add_link(LinkSpec::new("middle", 2e8, 0.0)).unwrap();
        for (x, y) in [(0, 1), (0, 2), (1, 2)] {
            let route = DeclaredRoute::between(hosts[x], hosts[y], [own[x], middle, own[y]]);
            b.add_route(zone, route).unwrap();
        }
        let more = b.build().unwrap().changed(&changes(&["hosts:h1 +1"])).unwrap();
        let mut routes = RouteCache::default();
        let mut way = |a: &str, b: &str| -> Vec<String> {
            let (a, b) = (more.host_named(a).unwrap(), more.host_named(b).unwrap());
            let route = routes.route(&more, a, b).unwrap();
            route.links.iter().map(|&l| more.link(l).name.to_string()).collect()
        };
        assert_eq!(way("h3", "h0"), ["l1 of h3", "middle", "l0"]);
        assert_eq!(way("h1", "h3"), ["l1", "l1 of h3"]);
    }

    #[test]
    fn a_matrix_grows() {
        let mut b = PlatformBuilder::new("p");
        let root = b.root().unwrap();
        for i in 0..2 {
            b.add_host(root, HostSpec::new(format!("p{i}"), 1e9)).unwrap();
        }
        let (bandwidth, latency) = ([1.0, 2.0, 4.0, 1.0].into(), [0.0, 0.5, 0.25, 0.0].into());
        b.set_matrix(Matrix::Dense { hosts: 2, bandwidth, latency });
        let more = b.build().unwrap().changed(&changes(&["hosts:p1 +1", "bandwidth x2"])).unwrap();
        let super::super::Network::Matrix(matrix) = more.network() else { panic!("a matrix") };
        let pair =
            |a, b| (matrix.bandwidth(HostId(a), HostId(b)), matrix.latency(HostId(a), HostId(b)));
        assert_eq!((pair(0, 2), pair(2, 0)), ((4.0, 0.5), (8.0, 0.25)));
        assert_eq!((pair(1, 2), pair(2, 1)), ((8.0, 0.25), (8.0, 0.25)));
        assert_eq!(pair(0, 1), (4.0, 0.5));
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        let refused = |text: &str| text.parse::<Change>().unwrap_err();
        assert!(refused("core x2").contains("did you mean 'cores'?"));
        assert!(refused("cores").contains("such as"));
        assert!(refused("cores x0").contains("above 0"));
        assert!(refused("speed +2").contains("multiplied"));
        assert!(refused("hosts x1.5").contains("whole"));
        let platform = cluster();
        let refused = |text: &str| platform.changed(&changes(&[text])).unwrap_err().to_string();
        assert!(refused("cores x1.5").contains("would have 1.5 cores"));
        assert!(refused("hosts:d +1").contains("there is no host, class or zone 'd'"));
        assert!(refused("bandwidth:c_link x2").contains("did you mean"));
        assert!(refused("memory x2").contains("no host says its memory"));
        assert!(refused("disks x2").contains("no disks"));
        assert!(refused("hosts x900000").contains("at most"));
    }
}
