//! The cases of the GTP study: random graphs on unrelated processors joined pairwise, whose levels change now
//! and then and of which one may die half-way.

use crate::cell::{Cell, planner, policy};
use crate::papers::StudyError;
use slackline_analysis::metrics::mean_critical_path;
use slackline_engine::{Outcome, Recording, Stage};
use slackline_generate::Seed;
use slackline_generate::costs::{Ccr, CcrBy, Costs, TaskCosts};
use slackline_generate::scenario::studied::{Pace, gtp_doomed, gtp_levels};
use slackline_generate::workflow::stg::{Stg, StgEdges};
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, PlatformBuilder, Profile, ProfileEvent, RoutingKind,
};
use slackline_model::scenario::{HostStory, Moment, Outage, Scenario};
use slackline_model::workflow::CostTable;
use slackline_model::{Platform, Problem, Task, TaskId, Workflow, WorkflowBuilder};
use slackline_react::Transfers;
use slackline_react::gtp::Period;
use slackline_react::registry::{Entry, Options};
use slackline_schedule::Algorithm;
use std::sync::Arc;

/// A kind of case: SCE(x, y, z) with a ratio of communication to computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// x: processors.
    pub processors: usize,
    /// y: tasks.
    pub tasks: usize,
    /// z: largest drop of a level, as a share of the peak.
    pub variability: f64,
    /// Communication over computation.
    pub ccr: f64,
    /// Mean time between two changes of one resource, in makespans of the run without changes.
    pub persistence: f64,
    /// A processor dies half-way.
    pub failure: bool,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Kind { processors, tasks, variability, ccr, persistence, failure } = *self;
        write!(f, "{processors} processors, {tasks} tasks, CCR {ccr}, ")?;
        match variability {
            0.0 => write!(f, "still")?,
            z => write!(f, "z = {:.0} %, {}", 100.0 * z, often(persistence))?,
        }
        if failure { write!(f, ", a failure") } else { Ok(()) }
    }
}

/// Label for the frequency of level changes.
pub(crate) fn often(persistence: f64) -> &'static str {
    if persistence < 1.0 { "frequent changes" } else { "rare changes" }
}

/// One case of a kind.
#[derive(Clone)]
pub struct GtpWorld {
    /// The workflow, the platform, and what happens to it.
    stage: Stage,
    links: Links,
    /// Makespan of static HEFT while nothing changes: the unit of all dates.
    pub still_makespan: f64,
    /// Divisor of makespans: the length of the critical path.
    pub critical_path: f64,
}

/// Sharing of links by transfers.
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
    /// The rules of the simulation, by name.
    fn preset(self) -> &'static str {
        match self {
            Links::Fifo => "fifo",
            Links::Shared => "CM02",
            Links::Free => "matrix",
        }
    }
}

/// Run options for a case.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The policy.
    pub policy: &'static Entry,
    /// The planner.
    pub planner: &'static Algorithm,
    /// When inputs travel.
    pub transfers: Transfers,
    /// Time between evaluations, in makespans of the run without changes.
    pub period: f64,
}

impl Way {
    /// As in most of the thesis: HEFT, PULL of the first task, evaluations every tenth of a makespan.
    pub fn usual(policy: &'static Entry) -> Result<Way, StudyError> {
        let (planner, transfers) = (planner("heft")?, Transfers::default());
        Ok(Way { policy, planner, transfers, period: 0.1 })
    }
}

impl GtpWorld {
    /// Graph number `graph` (0 to 11: four methods, three densities each) of a kind.
    pub fn new(kind: &Kind, graph: usize, seed: u64) -> Result<GtpWorld, StudyError> {
        GtpWorld::with_links(kind, graph, seed, Links::Fifo)
    }

    /// The case with another sharing of links.
    pub fn with_links(
        kind: &Kind,
        graph: usize,
        seed: u64,
        links: Links,
    ) -> Result<GtpWorld, StudyError> {
        let workflow = Arc::new(draw_workflow(kind, graph, seed)?);
        let mut world = GtpWorld::still(workflow, kind.processors, links)?;
        let calm = world.cell(&Way::usual(policy("static")?)?)?;
        world.still_makespan = calm.run(Recording::Nothing)?.outcome.makespan;
        world.stage.scenario = world.draw_courses(kind, graph, seed)?;
        if kind.failure {
            let host = gtp_doomed(kind.processors, graph, seed);
            return world.with_failure(host, world.still_makespan / 2.0);
        }
        Ok(world)
    }

    /// A case without changes, whose unit of time is a second.
    fn still(
        workflow: Arc<Workflow>,
        processors: usize,
        links: Links,
    ) -> Result<GtpWorld, StudyError> {
        let stage = Stage::new(workflow, Arc::new(clique(processors)?));
        let problem = Problem::new(&stage.workflow, &stage.platform).map_err(StudyError::of)?;
        let critical_path = mean_critical_path(&problem);
        Ok(GtpWorld { stage, links, still_makespan: 1.0, critical_path })
    }

    /// The same case with a processor that dies at a date.
    pub fn with_failure(&self, host: usize, at: f64) -> Result<GtpWorld, StudyError> {
        let mut world = self.clone();
        let Some(host) = self.stage.platform.hosts().get(host).map(|h| h.name.to_string()) else {
            return Err(StudyError(format!("there is no processor {host}")));
        };
        let stories = &mut world.stage.scenario.hosts;
        let known = stories.iter().position(|story| story.host == host);
        let index = known.unwrap_or_else(|| {
            stories.push(HostStory { host, ..HostStory::default() });
            stories.len() - 1
        });
        let story = &mut stories[index];
        let before = |p: &Profile| p.events().iter().copied().filter(|e| e.date < at).collect();
        story.availability = match &story.availability {
            Some(profile) => course(before(profile))?,
            None => None,
        };
        story.outages = vec![Outage { from: Moment::Seconds(at), lasts: None, keeps_data: false }];
        Ok(world)
    }

    fn draw_courses(&self, kind: &Kind, graph: usize, seed: u64) -> Result<Scenario, StudyError> {
        let unit = self.still_makespan;
        let Kind { variability, persistence, .. } = *kind;
        let pace = Pace { depth: variability, gap: persistence * unit, until: 40.0 * unit };
        let links = self.links != Links::Free;
        gtp_levels(&self.stage.platform, links, pace, graph, seed).map_err(StudyError::of)
    }

    /// The workflow.
    pub fn workflow(&self) -> &Workflow {
        &self.stage.workflow
    }

    /// A run of this case.
    pub fn cell(&self, way: &Way) -> Result<Cell, StudyError> {
        let Way { policy, planner, transfers, period } = *way;
        let period = Period::Seconds(period * self.still_makespan);
        let told = Options { transfers, period, ..Options::new(planner) };
        Cell::decided(self.stage.clone(), policy, told).under(self.links.preset())
    }

    /// A planner's initial promise, regardless of contention between transfers.
    pub fn promised(&self, planner: &'static Algorithm) -> Result<Cell, StudyError> {
        Cell::planned(self.stage.clone(), planner).under(Links::Free.preset())
    }

    /// Normalised schedule length of an outcome.
    pub fn nsl(&self, outcome: &Outcome) -> f64 {
        outcome.makespan / self.critical_path
    }
}

fn draw_workflow(kind: &Kind, graph: usize, seed: u64) -> Result<Workflow, StudyError> {
    let (method, density) = (graph % 4, graph / 4 % 3);
    let edges = match method {
        0 | 2 => StgEdges::Probability([0.1, 0.15, 0.2][density]),
        _ => StgEdges::Predecessors([1.0, 3.0, 5.0][density]),
    };
    let layer = (method >= 2).then_some(10.0);
    let shape = Stg { tasks: kind.tasks, edges, layer, single_ends: true };
    let seed = Seed::new(seed.wrapping_mul(1000).wrapping_add(graph as u64));
    let costs = Costs {
        tasks: TaskCosts::Uniform { low: 1.0, high: 10.0, whole: true },
        processors: kind.processors,
        ccr: Some(Ccr { ratio: kind.ccr, by: CcrBy::Means, spread: 0.5 }),
        bandwidth: 1.0,
        ..Costs::default()
    };
    let graph = shape.graph(seed).map_err(StudyError::of)?;
    graph.workflow(&costs, seed).map_err(StudyError::of)
}

/// Edges with data of a graph of the study.
pub fn edges_of(tasks: usize, graph: usize, seed: u64) -> Result<usize, StudyError> {
    let kind =
        Kind { processors: 1, tasks, variability: 0.0, ccr: 0.5, persistence: 1.0, failure: false };
    let workflow = draw_workflow(&kind, graph, seed)?;
    Ok(workflow.edges().filter(|&e| workflow.edge_bytes(e) > 0.0).count())
}

/// Four tasks on two processors that HEFT promises to end at 10, run on such links with results
/// sent at once.
pub fn contention_example(links: Links) -> Result<Cell, StudyError> {
    let mut builder = WorkflowBuilder::new("contention");
    for task in 0..4 {
        builder.add_task(Task::new(format!("v{task}"), 1.0)).map_err(StudyError::of)?;
    }
    for (from, to, data) in [(0, 1, 2.0), (0, 2, 4.0), (1, 3, 4.0), (2, 3, 2.0)] {
        builder.add_edge(TaskId(from), TaskId(to), data).map_err(StudyError::of)?;
    }
    builder.set_cost_table(CostTable {
        columns: vec!["p1".into(), "p2".into()],
        seconds: vec![1.0, 2.0, 2.0, 4.0, 6.0, 2.0, 3.0, 3.0],
    });
    let workflow = Arc::new(builder.build().map_err(StudyError::of)?);
    let way = Way { transfers: Transfers::Push, ..Way::usual(policy("static")?)? };
    GtpWorld::still(workflow, 2, links)?.cell(&way)
}

/// Levels by date; none where there are none.
fn course(events: Vec<ProfileEvent>) -> Result<Option<Profile>, StudyError> {
    match events.is_empty() {
        true => Ok(None),
        false => Profile::once(events).map(Some).map_err(StudyError::of),
    }
}

/// Processors `p1` ... of speed 1, each pair joined by a link of bandwidth 1.
fn clique(hosts: usize) -> Result<Platform, StudyError> {
    let mut builder = PlatformBuilder::new("clique");
    let zone = builder.add_zone(None, "all", RoutingKind::Full).map_err(StudyError::of)?;
    let mut ids = Vec::new();
    for host in 1..=hosts {
        let spec = HostSpec::new(format!("p{host}"), 1.0);
        ids.push(builder.add_host(zone, spec).map_err(StudyError::of)?);
    }
    for (i, j) in (0..hosts).flat_map(|i| (i + 1..hosts).map(move |j| (i, j))) {
        let spec = LinkSpec::new(format!("l{}-{}", i + 1, j + 1), 1.0, 0.0);
        let link = builder.add_link(spec).map_err(StudyError::of)?;
        let route = DeclaredRoute::between(ids[i], ids[j], [link]);
        builder.add_route(zone, route).map_err(StudyError::of)?;
    }
    builder.build().map_err(StudyError::of)
}
