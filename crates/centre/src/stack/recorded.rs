//! A run that another engine of ours recorded, as a case with a record.
//!
//! Hosts become sites, and as many tasks as ran on a host at a time become its pilots, which start when the host came and die
//! when it went. What a task waited for between the
//! moment at which it could have begun (its predecessors done, a pilot free) and its start counts as its one stage-in, of the
//! bytes of all its inputs. Attempts that did not end well are part of that wait: here only pilots die.

use super::case::{
    Case, CaseError, FileSpec, LinkSpec, Model, Pilot, PlatformModel, SiteSpec, StorageSpec, Task,
    error,
};
use super::plan::RunRecord;
use super::{Attempt, AttemptResult, PilotEnd, PilotLife};
use slackline_model::distribution::Distribution;
use std::collections::{BTreeMap, HashMap};

/// A task that ran.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTask {
    /// Its name.
    pub id: String,
    /// Work, in flop.
    pub work: f64,
    /// Tasks that had to be done before.
    pub dependencies: Vec<usize>,
    /// Bytes of its inputs.
    pub bytes: f64,
    /// Host, start and end of the attempt that was done.
    pub ran: Option<(String, f64, f64)>,
}

/// A host on which tasks ran.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedHost {
    /// Its name.
    pub name: String,
    /// Nominal speed of a core, flop/s.
    pub speed: f64,
    /// Bytes per second to it, where transfers were seen.
    pub bandwidth: Option<f64>,
    /// When it came and when it went again, in order; it was there from the start if this is empty.
    pub present: Vec<(f64, Option<f64>)>,
}

impl RecordedHost {
    /// The span in which a task began, and its place.
    fn span(&self, start: f64) -> (usize, f64, Option<f64>) {
        let begun = self.present.iter().enumerate().rev().find(|(_, span)| span.0 <= start);
        match begun.or(self.present.first().map(|span| (0, span))) {
            Some((k, &(from, until))) => (k, from.min(start), until.filter(|until| *until > start)),
            None => (0, 0.0, None),
        }
    }
}

/// Bandwidth where no transfer was seen, bytes per second.
const UNSEEN: f64 = 1e9;

/// Makes a case with a record of a run. Its sites are as fast as the run shows them; the nominal speeds are what
/// `platform_model` believes.
pub fn case_of_run(tasks: Vec<RecordedTask>, hosts: &[RecordedHost]) -> Result<Case, CaseError> {
    let by_host: HashMap<&str, usize> =
        hosts.iter().enumerate().map(|(k, host)| (host.name.as_str(), k)).collect();
    let mut on_host: BTreeMap<usize, Vec<(f64, f64, usize)>> = BTreeMap::new();
    let mut seen = vec![(0.0, 0.0); hosts.len()];
    for (k, task) in tasks.iter().enumerate() {
        let Some((host, start, end)) = &task.ran else {
            return error(format!("task `{}` was not done in the recorded run", task.id));
        };
        let Some(&host) = by_host.get(host.as_str()) else {
            return error(format!(
                "task `{}` ran on `{host}`, which is no host of the platform",
                task.id
            ));
        };
        if !(*start >= 0.0 && end >= start) {
            return error(format!("task `{}`: it starts at {start} and ends at {end}", task.id));
        }
        on_host.entry(host).or_default().push((*start, *end, k));
        seen[host].0 += task.work;
        seen[host].1 += end - start;
    }
    let (mut pilots, mut lives): (Vec<Pilot>, Vec<PilotLife>) = (Vec::new(), Vec::new());
    // Per task: its pilot, and when that became free.
    let mut places = vec![(0, 0.0); tasks.len()];
    for (host, mut ran) in on_host {
        ran.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        // Pilots of the host: their places, when they became free, and the span in which they live.
        let mut free: Vec<(usize, f64, usize)> = Vec::new();
        for (start, end, task) in ran {
            let (span, from, until) = hosts[host].span(start);
            // Of the free places the one that became free last: the shortest wait.
            let fits = free.iter_mut().filter(|(_, since, of)| *since <= start && *of == span);
            let place = match fits.max_by(|a, b| a.1.total_cmp(&b.1)) {
                Some(place) => place,
                None => {
                    free.push((pilots.len(), from, span));
                    pilots.push(Pilot {
                        id: format!("{}/{}", hosts[host].name, free.len()),
                        site: host,
                        submit: 0.0,
                        start: None,
                        dies: None,
                        walltime: None,
                        cores: 1,
                    });
                    let why = until.map(|_| PilotEnd::Died);
                    lives.push(PilotLife { submit: 0.0, start: Some(from), exit: until, why });
                    let last = free.len() - 1;
                    &mut free[last]
                }
            };
            places[task] = (place.0, place.1);
            place.1 = end;
        }
    }
    for (life, place) in lives.iter_mut().zip(0..) {
        // A span that ends under a task whose result counts did not end it.
        let ends = tasks.iter().zip(&places).filter(|(_, of)| of.0 == place);
        let last = ends.filter_map(|(task, _)| task.ran.as_ref()).fold(0.0, |m: f64, r| m.max(r.2));
        if life.exit.is_some_and(|exit| exit < last) {
            (life.exit, life.why) = (None, None);
        }
    }
    let mut attempts = Vec::with_capacity(tasks.len());
    for (k, task) in tasks.iter().enumerate() {
        let ended = |&before: &usize| tasks[before].ran.as_ref().map_or(0.0, |ran| ran.2);
        let Some((_, start, end)) = &task.ran else { continue };
        let queued = task.dependencies.iter().map(ended).fold(0.0, f64::max).min(*start);
        let (pilot, free) = places[k];
        let taken = queued.max(free).min(*start);
        attempts.push(vec![Attempt {
            queued,
            pilot: Some(pilot),
            start: taken,
            end: *end,
            result: Some(AttemptResult::Done),
            steps: vec![start - taken, end - start],
        }]);
    }
    let makespan = attempts.iter().flatten().map(|attempt| attempt.end).fold(0.0, f64::max);
    let files = tasks.iter().map(|task| FileSpec {
        name: format!("inputs of {}", task.id),
        bytes: task.bytes,
        replicas: vec![0],
        producer: None,
    });
    let files: Vec<FileSpec> = files.collect();
    let sites = hosts.iter().zip(&seen).map(|(host, &(work, seconds))| SiteSpec {
        name: host.name.clone(),
        speed: if work > 0.0 && seconds > 0.0 { work / seconds } else { host.speed },
        close: None,
        batch: None,
        bandwidth_in: None,
        bandwidth_out: None,
    });
    let links = hosts.iter().map(|host| LinkSpec {
        name: format!("to {}", host.name),
        bandwidth: host.bandwidth.unwrap_or(UNSEEN),
        latency: 0.0,
    });
    let links: Vec<LinkSpec> = links.collect();
    let store = StorageSpec {
        name: "files".into(),
        max_active: usize::MAX,
        capacity: None,
        bandwidth_in: None,
        bandwidth_out: None,
    };
    // What is believed of waits: what they were on average.
    let waits: f64 = lives.iter().filter_map(|life| life.start).sum();
    let wait = Distribution::Constant(waits / lives.len().max(1) as f64);
    let record = RunRecord { makespan, attempts, pilots: lives };
    Ok(Case {
        about: None,
        sites: sites.collect(),
        routes: (0..hosts.len()).map(|host| ((0, host), vec![host])).collect(),
        model: Some(Model { latency: vec![wait; hosts.len()], pacing: 0.0, lifetime: None }),
        platform_model: Some(PlatformModel {
            speeds: hosts.iter().map(|host| host.speed).collect(),
            bandwidths: links.iter().map(|link| link.bandwidth).collect(),
        }),
        tasks: tasks
            .into_iter()
            .enumerate()
            .map(|(k, task)| Task {
                id: task.id,
                work: task.work,
                inputs: vec![k],
                outputs: Vec::new(),
                dependencies: task.dependencies,
            })
            .collect(),
        files,
        storages: vec![store],
        default_storage: Some(0),
        links,
        pilots,
        catalogue_latency: 0.0,
        idle_timeout: f64::INFINITY,
        max_attempts: None,
        seed: 0,
        record: Some(record),
    })
}

impl Case {
    /// Believes of a case with a record what a stack says: speeds, bandwidths, waits, pacing and lifetimes of pilots, and the
    /// round trip to the catalogue, times `operations` (files that a task reads and writes on average). A site
    /// is known to the stack by its name, or by the stem of it without a number; a stack of one site speaks of all.
    pub fn believe(&mut self, stack: &Case, operations: f64) -> Result<(), CaseError> {
        let named = |name: &str| stack.sites.iter().position(|other| other.name == name);
        let only = (stack.sites.len() == 1).then_some(0);
        let mut known: Vec<Option<usize>> = Vec::with_capacity(self.sites.len());
        for (k, site) in self.sites.iter().enumerate() {
            let first = site.name.split('.').next().unwrap_or(&site.name);
            let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
            let found = named(&site.name).or(named(first)).or(named(stem));
            let found = found.or(named(stem.trim_end_matches(['-', '_']))).or(only);
            // Where nothing ran nothing has to be believed.
            if found.is_none() && self.pilots.iter().any(|pilot| pilot.site == k) {
                return error(format!("the stack has no site for host `{}`", site.name));
            }
            known.push(found);
        }
        let narrowest = |site: usize| {
            let routes = stack.routes.iter().filter(|((_, to), _)| *to == site);
            let links = routes.flat_map(|(_, links)| links);
            links.map(|&link| stack.links[link].bandwidth).fold(f64::INFINITY, f64::min)
        };
        let speeds = known.iter().zip(&self.sites);
        let bandwidths = known.iter().zip(&self.links).map(|(site, link)| {
            site.map(narrowest).filter(|seen| seen.is_finite()).unwrap_or(link.bandwidth)
        });
        self.platform_model = Some(PlatformModel {
            speeds: speeds.map(|(k, own)| k.map_or(own.speed, |k| stack.sites[k].speed)).collect(),
            bandwidths: bandwidths.collect(),
        });
        if let Some(model) = &stack.model {
            let none = Distribution::Constant(0.0);
            let wait = |site: &Option<usize>| site.and_then(|k| model.latency.get(k).copied());
            self.model = Some(Model {
                latency: known.iter().map(|site| wait(site).unwrap_or(none)).collect(),
                ..model.clone()
            });
        }
        self.catalogue_latency = stack.catalogue_latency * operations;
        self.seed = stack.seed;
        Ok(())
    }
}
