//! A scenario on a platform: the course of every host and link, by id, ready for a simulator. A *course*
//! is a level and a state (on or off) over time.

use super::{LinkName, LinkStory, Moment, Outage, Scenario, ScenarioError};
use crate::platform::{Network, Platform, Profile, ProfileEvent};
use crate::{HostId, LinkId};
use std::collections::HashSet;
use std::sync::Arc;

/// The course of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostWorld {
    /// Fraction of the peak speed over time; absent: all of it.
    pub availability: Option<Arc<Profile>>,
    /// On (1) or off (0) over time; absent: always on.
    pub state: Option<Arc<Profile>>,
    /// The outages behind `state`, by date and without overlap: (from, back at, keeps its data).
    pub outages: Vec<(f64, Option<f64>, bool)>,
}

/// The course of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkWorld {
    /// Fraction of the nominal bandwidth over time; absent: all of it.
    pub bandwidth: Option<Arc<Profile>>,
    /// On (1) or off (0) over time; absent: always on.
    pub state: Option<Arc<Profile>>,
}

/// The course of the connection of two hosts of a matrix network, both ways.
#[derive(Clone, Debug, PartialEq)]
pub struct PairWorld {
    /// The two hosts, the lower id first.
    pub hosts: (HostId, HostId),
    /// Its course.
    pub course: LinkWorld,
}

/// A scenario resolved on one platform.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct World {
    /// One entry per host.
    pub hosts: Vec<HostWorld>,
    /// One entry per link.
    pub links: Vec<LinkWorld>,
    /// Connections of a matrix network that change, sorted by their hosts.
    pub pairs: Vec<PairWorld>,
}

impl World {
    /// The course between two hosts of a matrix network.
    pub fn pair(&self, a: HostId, b: HostId) -> Option<&LinkWorld> {
        let key = (a.min(b), a.max(b));
        let found = self.pairs.binary_search_by_key(&key, |pair| pair.hosts).ok()?;
        Some(&self.pairs[found].course)
    }
}

impl Scenario {
    /// The courses of all hosts and links of a platform: the scenario's where it says one, else
    /// the platform's own. Moments that depend on the makespan must be settled before.
    pub fn on(&self, platform: &Platform) -> Result<World, ScenarioError> {
        self.check()?;
        let own_host = |host: &crate::platform::Host| HostWorld {
            availability: host.availability.clone(),
            state: host.state.clone(),
            outages: own_outages(platform, host),
        };
        let own_link = |link: &crate::platform::Link| LinkWorld {
            bandwidth: link
                .bandwidth_profile
                .as_ref()
                .map(|p| Arc::new(p.scaled(1.0 / link.bandwidth))),
            state: link.state.clone(),
        };
        let mut world = World {
            hosts: platform.hosts().iter().map(own_host).collect(),
            links: platform.links().iter().map(own_link).collect(),
            pairs: Vec::new(),
        };
        let mut seen = HashSet::new();
        for story in &self.hosts {
            let id =
                platform.host_named(&story.host).ok_or_else(|| unknown("host", &story.host))?;
            if !seen.insert(id) {
                return Err(ScenarioError::Twice { what: format!("host '{}'", story.host) });
            }
            let host = &mut world.hosts[id.index()];
            if let Some(profile) = &story.availability {
                host.availability = Some(Arc::new(profile.clone()));
            }
            host.outages = merged(&format!("host '{}'", story.host), &story.outages)?;
            if !host.outages.is_empty() {
                host.state = state(&host.outages);
            }
        }
        let (mut seen, mut seen_pairs) = (HashSet::new(), HashSet::new());
        for story in &self.links {
            let what = || format!("link {}", story.link);
            let add = |course: &mut LinkWorld| -> Result<(), ScenarioError> {
                if let Some(profile) = &story.bandwidth {
                    course.bandwidth = Some(Arc::new(profile.clone()));
                }
                let outages = merged(&what(), &story.outages)?;
                if !outages.is_empty() {
                    course.state = state(&outages);
                }
                Ok(())
            };
            let twice = || ScenarioError::Twice { what: what() };
            match resolve(platform, story)? {
                Resolved::Links(links) => {
                    for id in links {
                        if !seen.insert(id) {
                            return Err(twice());
                        }
                        add(&mut world.links[id.index()])?;
                    }
                }
                Resolved::Pair(hosts) => {
                    if !seen_pairs.insert(hosts) {
                        return Err(twice());
                    }
                    let mut course = LinkWorld::default();
                    add(&mut course)?;
                    world.pairs.push(PairWorld { hosts, course });
                }
            }
        }
        world.pairs.sort_by_key(|pair| pair.hosts);
        Ok(world)
    }
}

/// The outages that the platform itself states for a host, if it shares a storage: that outlasts
/// them.
fn own_outages(platform: &Platform, host: &crate::platform::Host) -> Vec<(f64, Option<f64>, bool)> {
    let shares = |zone: crate::ZoneId| {
        let mut around = Some(zone);
        while let Some(zone) = around {
            if platform.zone(zone).shared_storage {
                return true;
            }
            around = platform.zone(zone).parent;
        }
        false
    };
    let Some(state) = host.state.as_ref().filter(|s| s.period().is_none() && shares(host.zone))
    else {
        return Vec::new();
    };
    let events = state.events();
    let off = |(index, event): (usize, &ProfileEvent)| {
        let back = events[index + 1..].iter().find(|later| later.value > 0.0);
        (event.value <= 0.0).then(|| (event.date, back.map(|later| later.date), true))
    };
    events.iter().enumerate().filter_map(off).collect()
}

enum Resolved {
    Links(Vec<LinkId>),
    Pair((HostId, HostId)),
}

/// The links a story is about; the name of a split-duplex link means both halves.
fn resolve(platform: &Platform, story: &LinkStory) -> Result<Resolved, ScenarioError> {
    match &story.link {
        LinkName::Named(name) => {
            if let Some(id) = platform.link_named(name) {
                return Ok(Resolved::Links(vec![id]));
            }
            let half = |end: &str| platform.link_named(&format!("{name}_{end}"));
            match (half("UP"), half("DOWN")) {
                (Some(up), Some(down)) => Ok(Resolved::Links(vec![up, down])),
                _ => Err(unknown("link", name)),
            }
        }
        LinkName::Between(a, b) => {
            let host =
                |name: &String| platform.host_named(name).ok_or_else(|| unknown("host", name));
            let (a, b) = (host(a)?, host(b)?);
            let why = match platform.network() {
                Network::Zones => "this network has links: name one of them",
                Network::Matrix(_) if a == b => "a host is always connected to itself",
                Network::Matrix(_) => return Ok(Resolved::Pair((a.min(b), a.max(b)))),
            };
            Err(ScenarioError::Bad { what: format!("link {}", story.link), why })
        }
    }
}

fn unknown(kind: &'static str, name: &str) -> ScenarioError {
    ScenarioError::Unknown { kind, name: name.into() }
}

/// Outages by date; those that touch or overlap become one, which keeps its data if all do.
fn merged(what: &str, outages: &[Outage]) -> Result<Vec<(f64, Option<f64>, bool)>, ScenarioError> {
    let mut list = Vec::with_capacity(outages.len());
    for outage in outages {
        let Moment::Seconds(from) = outage.from else {
            let why = "an outage depends on the makespan, which is not known yet";
            return Err(ScenarioError::Bad { what: what.into(), why });
        };
        list.push((from, outage.lasts.map(|lasts| from + lasts), outage.keeps_data));
    }
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut merged: Vec<(f64, Option<f64>, bool)> = Vec::with_capacity(list.len());
    for (from, back, keeps) in list {
        match merged.last_mut() {
            Some((_, end, kept)) if end.is_none_or(|end| from <= end) => {
                *end = end.zip(back).map(|(a, b)| a.max(b));
                *kept &= keeps;
            }
            _ => merged.push((from, back, keeps)),
        }
    }
    Ok(merged)
}

/// On and off as a profile.
fn state(outages: &[(f64, Option<f64>, bool)]) -> Option<Arc<Profile>> {
    let mut events = Vec::with_capacity(2 * outages.len());
    for &(from, back, _) in outages {
        events.push(ProfileEvent { date: from, value: 0.0 });
        events.extend(back.map(|date| ProfileEvent { date, value: 1.0 }));
    }
    Profile::once(events).ok().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{HostSpec, LinkSpec, Matrix, PlatformBuilder};
    use crate::scenario::HostStory;

    fn platform() -> Platform {
        let mut b = PlatformBuilder::new("p");
        let root = b.root().unwrap();
        for name in ["p1", "p2", "p3"] {
            b.add_host(root, HostSpec::new(name, 1e9)).unwrap();
        }
        b.add_link(LinkSpec { split_duplex: true, ..LinkSpec::new("l", 1e6, 0.0) }).unwrap();
        b.set_matrix(Matrix::uniform(Some(1.0), 0.0));
        b.build().unwrap()
    }

    fn profile(events: &[(f64, f64)]) -> Option<Profile> {
        let events = events.iter().map(|&(date, value)| ProfileEvent { date, value }).collect();
        Some(Profile::once(events).unwrap())
    }

    fn off(from: f64, lasts: Option<f64>) -> Outage {
        Outage { from: Moment::Seconds(from), lasts, keeps_data: false }
    }

    #[test]
    fn the_worked_scenario_of_gtp() {
        // p3: 1 -> 0.7 at 10, 0.9 at 30; (p1, p2): 0.8 at 10; p3 fails at 50.
        let host = HostStory {
            host: "p3".into(),
            availability: profile(&[(10.0, 0.7), (30.0, 0.9)]),
            outages: vec![off(50.0, None)],
        };
        let link = LinkStory {
            link: LinkName::Between("p2".into(), "p1".into()),
            bandwidth: profile(&[(10.0, 0.8)]),
            outages: vec![],
        };
        let scenario = Scenario { hosts: vec![host], links: vec![link], ..Scenario::default() };
        let world = scenario.on(&platform()).unwrap();
        let p3 = &world.hosts[2];
        assert_eq!(p3.availability.as_ref().unwrap().value_at(35.0), Some(0.9));
        assert_eq!(p3.state.as_ref().unwrap().value_at(50.0), Some(0.0));
        let pair = world.pair(HostId(1), HostId(0)).unwrap();
        assert_eq!(pair.bandwidth.as_ref().unwrap().value_at(10.0), Some(0.8));
        assert_eq!(world.pair(HostId(0), HostId(2)), None);
        assert_eq!(world.hosts[0], HostWorld::default());
    }

    #[test]
    fn overlapping_outages_are_one() {
        let all =
            [off(5.0, Some(2.0)), off(1.0, Some(1.0)), off(6.0, Some(4.0)), off(2.0, Some(1.0))];
        assert_eq!(merged("x", &all).unwrap(), [(1.0, Some(3.0), false), (5.0, Some(10.0), false)]);
        let ever = [off(1.0, None), off(9.0, Some(1.0))];
        assert_eq!(merged("x", &ever).unwrap(), [(1.0, None, false)]);
    }

    #[test]
    fn moments_of_the_makespan_must_be_settled() {
        let outage = Outage { from: Moment::OfMakespan(0.5), lasts: None, keeps_data: false };
        let host = HostStory { host: "p1".into(), outages: vec![outage], ..HostStory::default() };
        let scenario = Scenario { hosts: vec![host], ..Scenario::default() };
        assert!(scenario.needs_makespan() && scenario.on(&platform()).is_err());
        assert!(!scenario.without_relative_moments().needs_makespan());
        let world = scenario.at_makespan(80.0).on(&platform()).unwrap();
        assert_eq!(world.hosts[0].outages, [(40.0, None, false)]);
    }

    #[test]
    fn unknown_and_double_names_are_told() {
        let story = |name: &str| HostStory { host: name.into(), ..HostStory::default() };
        let on = |hosts| Scenario { hosts, ..Scenario::default() }.on(&platform());
        assert_eq!(on(vec![story("p9")]).unwrap_err().to_string(), "the platform has no host 'p9'");
        assert!(matches!(on(vec![story("p1"), story("p1")]), Err(ScenarioError::Twice { .. })));
        let fast = HostStory { availability: profile(&[(0.0, 1.5)]), ..story("p1") };
        let error = on(vec![fast]).unwrap_err().to_string();
        assert_eq!(error, "availability of host 'p1': 1.5 is not a fraction from 0 to 1");
        // A split-duplex link is named as a whole.
        let link = LinkStory {
            link: LinkName::Named("l".into()),
            bandwidth: profile(&[(1.0, 0.5)]),
            outages: vec![],
        };
        let world = Scenario { links: vec![link], ..Scenario::default() }.on(&platform()).unwrap();
        assert!(world.links.iter().all(|l| l.bandwidth.is_some()) && world.links.len() == 2);
    }
}
