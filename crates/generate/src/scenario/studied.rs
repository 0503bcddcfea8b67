//! The worlds of studies, as these state them.

use super::levels;
use crate::draw::Seed;
use crate::error::Result;
use rand::RngExt;
use slackline_model::platform::{Platform, Profile, ProfileEvent};
use slackline_model::rng::stream;
use slackline_model::scenario::{
    Actual, ActualSize, HostStory, LinkName, LinkStory, Moment, Outage, Scenario,
};
use slackline_model::{Problem, ProcId, Workflow};

/// Seconds between changes of a level in the worlds of parameter sweeps, and how long these change at all.
const STEP: f64 = 60.0;
const END: f64 = 30_000.0;

/// Parameter sweeps: levels between half of and all of what a host or link has, new ones every minute.
pub fn sweep_loads(platform: &Platform, seed: u64) -> Result<Scenario> {
    let mut draws = stream(seed, "sweep study/loads", 0);
    let mut course = |nominal: f64| {
        let steps = (END / STEP) as usize;
        let event = |k: usize, value: f64| ProfileEvent { date: k as f64 * STEP, value };
        let events = (0..steps).map(|k| event(k, nominal * draws.random_range(0.5..1.0)));
        Profile::once(events.collect())
    };
    let mut scenario = Scenario::default();
    for host in platform.hosts().iter().filter(|h| h.cores > 0) {
        let nominal = host.availability.as_ref().and_then(|p| p.value_at(0.0)).unwrap_or(1.0);
        let availability = Some(course(nominal)?);
        let host = host.name.to_string();
        scenario.hosts.push(HostStory { host, availability, outages: Vec::new() });
    }
    for link in platform.links() {
        let bandwidth = Some(course(1.0)?);
        let link = LinkName::Named(link.name.to_string());
        scenario.links.push(LinkStory { link, bandwidth, outages: Vec::new() });
    }
    Ok(scenario)
}

/// Parameter sweeps: outputs of a tenth of to ten times what is stated.
pub fn sweep_sizes(workflow: &Workflow, seed: u64) -> Vec<ActualSize> {
    let mut draws = stream(seed, "sweep study/outputs", 0);
    let outputs = workflow.tasks().flat_map(|t| workflow.outputs(t));
    let size = |file| {
        let factor = 10f64.powf(draws.random_range(-1.0..1.0));
        let (name, bytes) = (workflow.file_name(file), workflow.file_bytes(file) * factor);
        ActualSize { file: name.to_string(), bytes }
    };
    outputs.map(size).collect()
}

/// Parameter sweeps: every cluster is away for ten minutes now and then; what is stored there stays.
pub fn sweep_outages(platform: &Platform, seed: u64) -> Scenario {
    let mut draws = stream(seed, "sweep study/pools", 0);
    let mut scenario = Scenario::default();
    for zone in 1..platform.zones().len() {
        let mut outages = Vec::new();
        let mut at = draws.random_range(200.0..2000.0);
        while at < END {
            outages.push(Outage {
                from: Moment::Seconds(at),
                lasts: Some(600.0),
                keeps_data: true,
            });
            at += 600.0 + draws.random_range(600.0..4000.0);
        }
        for host in platform.hosts().iter().filter(|h| h.zone.index() == zone) {
            let (host, outages) = (host.name.to_string(), outages.clone());
            scenario.hosts.push(HostStory { host, availability: None, outages });
        }
    }
    scenario
}

/// The example cloud: every task takes its own share more or less than stated, up to `error`, on all
/// machines alike.
pub fn cloud_run_times(problem: &Problem<'_>, error: f64, seed: Seed) -> Scenario {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let mut draws = stream(seed.seed, "cloud/run-times", seed.member);
    let mut scenario = Scenario::default();
    for task in workflow.tasks() {
        let factor = draws.random_range(1.0 - error..1.0 + error);
        for host in platform.host_ids() {
            let stated = problem.procs_of(host).next().map(|p| problem.exec_on(task, ProcId(p)));
            let Some(stated) = stated.filter(|s| s.is_finite()) else { continue };
            let host = Some(platform.host(host).name.to_string());
            let (task, seconds) = (workflow.task_name(task).to_string(), stated * factor);
            scenario.actuals.push(Actual { task, host, seconds });
        }
    }
    scenario
}

/// The pace of changes of levels in the GTP study.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// A new level is in [1 - depth, 1] of the peak.
    pub depth: f64,
    /// Mean seconds between changes of one host or link.
    pub gap: f64,
    /// Seconds until which they change.
    pub until: f64,
}

/// The GTP study: levels of hosts, and of links if these count, for the graph of this number.
pub fn gtp_levels(
    platform: &Platform,
    links: bool,
    pace: Pace,
    graph: usize,
    seed: u64,
) -> Result<Scenario> {
    let draw = |purpose: &str, index: usize| {
        let mut draws = Seed::new(seed).draws(&format!("{purpose}/{graph}/{index}"));
        levels(&mut draws, pace.depth, pace.gap, pace.until)
    };
    let mut scenario = Scenario { seed, ..Scenario::default() };
    for (index, host) in platform.hosts().iter().enumerate() {
        if let Some(course) = draw("availability", index)? {
            let (host, availability) = (host.name.to_string(), Some(course));
            scenario.hosts.push(HostStory { host, availability, outages: Vec::new() });
        }
    }
    for (index, link) in platform.links().iter().enumerate().filter(|_| links) {
        if let Some(course) = draw("bandwidth", index)? {
            let (link, bandwidth) = (LinkName::Named(link.name.to_string()), Some(course));
            scenario.links.push(LinkStory { link, bandwidth, outages: Vec::new() });
        }
    }
    Ok(scenario)
}

/// The GTP study: the processor that dies in the world of a graph.
pub fn gtp_doomed(hosts: usize, graph: usize, seed: u64) -> usize {
    Seed::new(seed).draws(&format!("failure/{graph}")).below(hosts)
}
