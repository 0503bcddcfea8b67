//! The worlds of the GTP study: random graphs on unrelated processors joined pairwise, whose
//! levels change now and then and of which one may die half-way.

use crate::metrics::mean_critical_path;
use slackline_execute::{Outcome, Recording, Stage, StageError};
use slackline_generate::costs::{Ccr, CcrBy, Costs, TaskCosts};
use slackline_generate::workflow::stg::{Stg, StgEdges};
use slackline_generate::{GenerateError, Seed};
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, PlatformBuilder, PlatformError, Profile, ProfileEvent,
    RoutingKind,
};
use slackline_model::workflow::CostTable;
use slackline_model::{Platform, Problem, Task, TaskId, Workflow, WorkflowBuilder};
use slackline_react::Transfers;
use slackline_react::gtp::Period;
use slackline_react::registry::{Entry, Options};
use slackline_schedule::{Algorithm, registry};
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
    host_courses: Vec<Course>,
    link_courses: Vec<Course>,
}

/// How transfers share the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Links {
    /// One at a time, in order of arrival.
    #[default]
    Fifo,
    /// All at once, in equal shares.
    Shared,
    /// They never disturb each other, and bandwidths do not change.
    Free,
}

impl Links {
    fn models(self) -> Option<Models> {
        Models::preset(match self {
            Links::Fifo => "fifo",
            Links::Shared => "CM02",
            Links::Free => "matrix",
        })
    }
}

/// How a world is run through.
#[derive(Clone, Copy, Debug)]
pub struct Way<'e> {
    /// Who decides.
    pub policy: &'e Entry,
    /// Who plans.
    pub planner: &'static Algorithm,
    /// When inputs travel.
    pub transfers: Transfers,
    /// Time between looks, in still makespans.
    pub period: f64,
}

/// Why a world cannot be made.
#[derive(Debug)]
pub enum WorldError {
    /// The graph.
    Generate(GenerateError),
    /// The platform.
    Platform(PlatformError),
    /// A run in it.
    Run(StageError),
    /// Anything else.
    Other(String),
}

impl std::fmt::Display for WorldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WorldError::Generate(e) => e.fmt(f),
            WorldError::Platform(e) => e.fmt(f),
            WorldError::Run(e) => e.fmt(f),
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

impl From<StageError> for WorldError {
    fn from(e: StageError) -> Self {
        WorldError::Run(e)
    }
}

/// Dates and levels of one resource.
type Course = Vec<(f64, f64)>;

impl GtpWorld {
    /// Graph number `graph` (0 to 11: four methods, three densities each) of a cell.
    pub fn new(cell: &Cell, graph: usize, seed: u64) -> Result<GtpWorld, WorldError> {
        GtpWorld::with_links(cell, graph, seed, Links::Fifo)
    }

    /// The same on links that are shared in another way.
    pub fn with_links(
        cell: &Cell,
        graph: usize,
        seed: u64,
        shared: Links,
    ) -> Result<GtpWorld, WorldError> {
        let workflow = Arc::new(draw_workflow(cell, graph, seed)?);
        let hosts = cell.processors;
        let links = hosts * (hosts - 1) / 2;
        let still = clique(hosts, &vec![Vec::new(); hosts], &vec![Vec::new(); links])?;
        let Some(models) = shared.models() else {
            return Err(WorldError::Other("the model of the links is missing".into()));
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
            host_courses: Vec::new(),
            link_courses: Vec::new(),
        };
        let Some(plain) = slackline_react::registry::find("static") else {
            return Err(WorldError::Other("the static policy is missing".into()));
        };
        world.still_makespan = 1.0;
        world.still_makespan = world.run(plain)?.makespan;
        (world.host_courses, world.link_courses) = world.draw_courses(cell, graph, seed);
        if shared == Links::Free {
            world.link_courses.iter_mut().for_each(Vec::clear);
        }
        if cell.failure {
            return world.with_failure(doomed(hosts, graph, seed), world.still_makespan / 2.0);
        }
        world.platform = Arc::new(clique(hosts, &world.host_courses, &world.link_courses)?);
        Ok(world)
    }

    /// The same world, but a processor dies at a date.
    pub fn with_failure(&self, host: usize, at: f64) -> Result<GtpWorld, WorldError> {
        let mut world = self.clone();
        if let Some(course) = world.host_courses.get_mut(host) {
            course.retain(|&(date, _)| date < at);
            course.push((at, 0.0));
        }
        let hosts = world.host_courses.len();
        world.platform = Arc::new(clique(hosts, &world.host_courses, &world.link_courses)?);
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
        self.run_as(&Way { policy: entry, planner, transfers, period })
    }

    /// Lets a policy run through this world in a given way.
    pub fn run_as(&self, way: &Way<'_>) -> Result<Outcome, WorldError> {
        let Way { policy: entry, planner, transfers, period } = *way;
        let period = Period::Seconds(period * self.still_makespan);
        let options = Options { transfers, period, ..Options::new(planner) };
        let mut policy = entry.policy(&options).map_err(|e| WorldError::Other(e.to_string()))?;
        let stage = Stage::new(self.workflow.clone(), self.platform.clone());
        let stage = Stage { models: self.models.clone(), ..stage };
        Ok(stage.run_as(policy.as_mut(), Recording::KeepWork, None)?)
    }

    /// Makespan that a planner promises at the start.
    pub fn promised(&self, planner: &Algorithm) -> Result<f64, WorldError> {
        let problem = Problem::new(&self.workflow, &self.platform)
            .map_err(|e| WorldError::Other(e.to_string()))?;
        let plan = (planner.plan)(&problem, &slackline_schedule::Request::default())
            .map_err(|e| WorldError::Other(e.to_string()))?;
        Ok(plan.makespan())
    }

    /// Normalised schedule length of an outcome.
    pub fn nsl(&self, outcome: &Outcome) -> f64 {
        outcome.makespan / self.critical_path
    }
}

/// The processor that dies, of a graph's world.
pub fn doomed(hosts: usize, graph: usize, seed: u64) -> usize {
    Seed::new(seed).draws(&format!("failure/{graph}")).below(hosts)
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

/// Edges with data of a graph of the study.
pub fn edges_of(tasks: usize, graph: usize, seed: u64) -> Result<usize, WorldError> {
    let cell =
        Cell { processors: 1, tasks, variability: 0.0, ccr: 0.5, persistence: 1.0, failure: false };
    let workflow = draw_workflow(&cell, graph, seed)?;
    Ok(workflow.edges().filter(|&e| workflow.edge_bytes(e) > 0.0).count())
}

/// Four tasks on two processors that HEFT promises to end at 10: when they end on such links,
/// with results sent at once.
pub fn contention_example(links: Links) -> Result<f64, WorldError> {
    let other = |e: &dyn std::fmt::Display| WorldError::Other(e.to_string());
    let mut builder = WorkflowBuilder::new("contention");
    for task in 0..4 {
        builder.add_task(Task::new(format!("v{task}"), 1.0)).map_err(|e| other(&e))?;
    }
    for (from, to, data) in [(0, 1, 2.0), (0, 2, 4.0), (1, 3, 4.0), (2, 3, 2.0)] {
        builder.add_edge(TaskId(from), TaskId(to), data).map_err(|e| other(&e))?;
    }
    builder.set_cost_table(CostTable {
        columns: vec!["p1".into(), "p2".into()],
        seconds: vec![1.0, 2.0, 2.0, 4.0, 6.0, 2.0, 3.0, 3.0],
    });
    let missing = || WorldError::Other("HEFT or its links are missing".into());
    let still = vec![Vec::new(); 2];
    let world = GtpWorld {
        workflow: Arc::new(builder.build().map_err(|e| other(&e))?),
        platform: Arc::new(clique(2, &still, &still[..1])?),
        still_makespan: 1.0,
        critical_path: 1.0,
        models: links.models().ok_or_else(missing)?,
        host_courses: still,
        link_courses: vec![Vec::new()],
    };
    let policy = slackline_react::registry::find("static").ok_or_else(missing)?;
    let planner = registry::find("heft").ok_or_else(missing)?;
    let way = Way { policy, planner, transfers: Transfers::Push, period: 0.1 };
    Ok(world.run_as(&way)?.makespan)
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
        // A level of 0 is the end of a processor, not a rest.
        let (ends, levels): (Course, Course) = course.iter().partition(|&&(_, level)| level == 0.0);
        let (availability, state) = (profile(&levels)?, profile(&ends)?);
        let spec = HostSpec { availability, state, ..HostSpec::new(format!("p{}", host + 1), 1.0) };
        ids.push(builder.add_host(zone, spec)?);
    }
    let pairs = (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j)));
    for ((i, j), course) in pairs.zip(of_links) {
        let name = format!("l{}-{}", i + 1, j + 1);
        let spec =
            LinkSpec { bandwidth_profile: profile(course)?, ..LinkSpec::new(name, 1.0, 0.0) };
        let link = builder.add_link(spec)?;
        builder.add_route(zone, DeclaredRoute::between(ids[i], ids[j], [link]))?;
    }
    Ok(builder.build()?)
}
