//! The worlds of the GTP study: random graphs on unrelated processors joined pairwise, whose
//! levels change now and then and of which one may die half-way.

use crate::metrics::mean_critical_path;
use slackline_execute::{BackendError, Monitoring, Outcome, Settings, Simulated, run};
use slackline_generate::costs::{Ccr, CcrBy, Costs, TaskCosts};
use slackline_generate::workflow::stg::{Stg, StgEdges};
use slackline_generate::{GenerateError, Seed};
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, Member, PlatformBuilder, PlatformError, Profile,
    ProfileEvent, RoutingKind,
};
use slackline_model::{Platform, Problem, ProcId, TaskId, Workflow};
use slackline_react::Transfers;
use slackline_react::gtp::Period;
use slackline_react::registry::{Entry, Options};
use slackline_schedule::registry;
use slackline_simulate::Models;
use std::sync::Arc;

/// A cell of the study: SCE(x, y, z) with a ratio of communication to computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// x: processors.
    pub processors: usize,
    /// y: tasks.
    pub tasks: usize,
    /// z: largest drop of a level, as a share of the peak.
    pub variability: f64,
    /// Communication over computation.
    pub ccr: f64,
    /// Mean time between two changes of one resource, in makespans of the still world.
    pub persistence: f64,
    /// A processor dies half-way.
    pub failure: bool,
}

/// One world of a cell.
#[derive(Clone, Debug)]
pub struct GtpWorld {
    /// The workflow.
    pub workflow: Arc<Workflow>,
    /// The platform, with its changes.
    pub platform: Arc<Platform>,
    /// Makespan of static HEFT while nothing changes: the unit of all dates.
    pub still_makespan: f64,
    /// What a makespan is divided by.
    pub critical_path: f64,
    models: Models,
}

/// Why a world cannot be made.
#[derive(Debug)]
pub enum WorldError {
    /// The graph.
    Generate(GenerateError),
    /// The platform.
    Platform(PlatformError),
    /// A run in it.
    Backend(BackendError),
    /// Anything else.
    Other(String),
}

impl std::fmt::Display for WorldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WorldError::Generate(e) => e.fmt(f),
            WorldError::Platform(e) => e.fmt(f),
            WorldError::Backend(e) => e.fmt(f),
            WorldError::Other(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for WorldError {}

impl From<GenerateError> for WorldError {
    fn from(e: GenerateError) -> Self {
        WorldError::Generate(e)
    }
}

impl From<PlatformError> for WorldError {
    fn from(e: PlatformError) -> Self {
        WorldError::Platform(e)
    }
}

impl From<BackendError> for WorldError {
    fn from(e: BackendError) -> Self {
        WorldError::Backend(e)
    }
}

/// Dates and levels of one resource.
type Course = Vec<(f64, f64)>;

impl GtpWorld {
    /// Graph number `graph` (0 to 11: four methods, three densities each) of a cell.
    pub fn new(cell: &Cell, graph: usize, seed: u64) -> Result<GtpWorld, WorldError> {
        let workflow = Arc::new(draw_workflow(cell, graph, seed)?);
        let hosts = cell.processors;
        let links = hosts * (hosts - 1) / 2;
        let still = clique(hosts, &vec![Vec::new(); hosts], &vec![Vec::new(); links])?;
        let Some(models) = Models::preset("fifo") else {
            return Err(WorldError::Other("the fifo model is missing".into()));
        };
        let problem =
            Problem::new(&workflow, &still).map_err(|e| WorldError::Other(e.to_string()))?;
        let critical_path = mean_critical_path(&problem);
        let mut world = GtpWorld {
            workflow,
            platform: Arc::new(still),
            still_makespan: 0.0,
            critical_path,
            models,
        };
        let Some(plain) = slackline_react::registry::find("static") else {
            return Err(WorldError::Other("the static policy is missing".into()));
        };
        world.still_makespan = 1.0;
        world.still_makespan = world.run(plain)?.makespan;
        let (mut host_courses, link_courses) = world.draw_courses(cell, graph, seed);
        if cell.failure {
            let mut draws = Seed::new(seed).draws(&format!("failure/{graph}"));
            let dies = draws.below(hosts);
            let at = world.still_makespan / 2.0;
            host_courses[dies].retain(|&(date, _)| date < at);
            host_courses[dies].push((at, 0.0));
        }
        world.platform = Arc::new(clique(hosts, &host_courses, &link_courses)?);
        Ok(world)
    }

    fn draw_courses(&self, cell: &Cell, graph: usize, seed: u64) -> (Vec<Course>, Vec<Course>) {
        let hosts = cell.processors;
        let links = hosts * (hosts - 1) / 2;
        let horizon = 40.0 * self.still_makespan;
        let course = |purpose: &str, index: usize| {
            let mut draws = Seed::new(seed).draws(&format!("{purpose}/{graph}/{index}"));
            let mut events = Vec::new();
            let mut date = 0.0;
            if cell.variability == 0.0 {
                return events;
            }
            loop {
                date += draws.exponential(cell.persistence * self.still_makespan);
                if date > horizon {
                    return events;
                }
                events.push((date, 1.0 - draws.uniform(0.0, cell.variability)));
            }
        };
        let of_hosts = (0..hosts).map(|h| course("availability", h)).collect();
        (of_hosts, (0..links).map(|l| course("bandwidth", l)).collect())
    }

    /// Lets a policy run through this world.
    pub fn run(&self, entry: &Entry) -> Result<Outcome, WorldError> {
        self.run_with(entry, Transfers::default(), 0.1)
    }

    /// The same with other transfers, and looks every `period` of the still makespan.
    pub fn run_with(
        &self,
        entry: &Entry,
        transfers: Transfers,
        period: f64,
    ) -> Result<Outcome, WorldError> {
        let Some(planner) = registry::find("heft") else {
            return Err(WorldError::Other("HEFT is missing".into()));
        };
        let period = Period::Seconds(period * self.still_makespan);
        let mut policy = (entry.make)(&Options { transfers, period, ..Options::new(planner) });
        let problem = Problem::new(&self.workflow, &self.platform)
            .map_err(|e| WorldError::Other(e.to_string()))?;
        let truth = |task: TaskId, procs: &[ProcId]| problem.exec_on(task, procs[0]);
        let mut backend = Simulated::new(&self.platform, self.models.clone(), Box::new(truth))?;
        let monitoring = if entry.looks { Monitoring::OnWakeUp } else { Monitoring::Continuous };
        let settings = Settings { monitoring, ..Settings::default() };
        let (workflow, platform) = (self.workflow.clone(), self.platform.clone());
        Ok(run(workflow, platform, policy.as_mut(), &mut backend, settings)?)
    }

    /// Normalised schedule length of an outcome.
    pub fn nsl(&self, outcome: &Outcome) -> f64 {
        outcome.makespan / self.critical_path
    }
}

fn draw_workflow(cell: &Cell, graph: usize, seed: u64) -> Result<Workflow, WorldError> {
    let (method, density) = (graph % 4, graph / 4 % 3);
    let edges = match method {
        0 | 2 => StgEdges::Probability([0.1, 0.15, 0.2][density]),
        _ => StgEdges::Predecessors([1.0, 3.0, 5.0][density]),
    };
    let layer = (method >= 2).then_some(10.0);
    let shape = Stg { tasks: cell.tasks, edges, layer, single_ends: true };
    let seed = Seed::new(seed.wrapping_mul(1000).wrapping_add(graph as u64));
    let costs = Costs {
        tasks: TaskCosts::Uniform { low: 1.0, high: 10.0, whole: true },
        processors: cell.processors,
        ccr: Some(Ccr { ratio: cell.ccr, by: CcrBy::Means, spread: 0.5 }),
        bandwidth: 1.0,
        ..Costs::default()
    };
    Ok(shape.graph(seed)?.workflow(&costs, seed)?)
}

/// Processors `p1` ... of speed 1, each pair joined by a link of bandwidth 1.
fn clique(hosts: usize, of_hosts: &[Course], of_links: &[Course]) -> Result<Platform, WorldError> {
    let profile = |course: &Course| -> Result<Option<Arc<Profile>>, WorldError> {
        if course.is_empty() {
            return Ok(None);
        }
        let events = course.iter().map(|&(date, value)| ProfileEvent { date, value }).collect();
        let profile = Profile::once(events).map_err(|e| WorldError::Other(e.to_string()))?;
        Ok(Some(Arc::new(profile)))
    };
    let mut builder = PlatformBuilder::new("clique");
    let zone = builder.add_zone(None, "all", RoutingKind::Full)?;
    let mut ids = Vec::new();
    for (host, course) in of_hosts.iter().enumerate() {
        let availability = profile(course)?;
        let spec = HostSpec { availability, ..HostSpec::new(format!("p{}", host + 1), 1.0) };
        ids.push(builder.add_host(zone, spec)?);
    }
    let pairs = (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j)));
    for ((i, j), course) in pairs.zip(of_links) {
        let name = format!("l{}-{}", i + 1, j + 1);
        let spec =
            LinkSpec { bandwidth_profile: profile(course)?, ..LinkSpec::new(name, 1.0, 0.0) };
        let link = builder.add_link(spec)?;
        builder.add_route(
            zone,
            DeclaredRoute {
                src: Member::Host(ids[i]),
                dst: Member::Host(ids[j]),
                gw_src: None,
                gw_dst: None,
                links: [link].into(),
                symmetrical: true,
            },
        )?;
    }
    Ok(builder.build()?)
}
