//! Parallel task graphs: the first chapter of F. Suter's habilitation, 2014, and the papers it
//! sums up. It prints few numbers, and its figures are lost to us: what can be checked is what its text says of
//! them. Everything is judged on planned makespans.

mod several;
mod single;

use super::report::Findings;
use super::{Cell, Claim, Options, Paper, Report, Rule, Size, StudyError, Table, Unit, Watch};
use crate::stats::Estimate;
use slackline_generate::Seed;
use slackline_generate::population::STUDIES;
use slackline_generate::registry::{self as generators, Family};
use slackline_model::platform::{
    ClusterSpec, HostSpec, LinkShape, Matrix, PlatformBuilder, Sharing,
};
use slackline_model::schedule::Detail;
use slackline_model::{Platform, Problem, Schedule, Workflow};
use slackline_schedule::{Request, registry};

/// Registry entry.
pub(super) const PAPER: Paper = Paper {
    name: "ptg",
    title: "Parallel task graphs on clusters and multi-clusters",
    source: "Suter, habilitation, chapter 1, 2014",
    about: "moldable tasks on clusters: how many processors, one graph or several",
    run: reproduce,
};

/// Clusters of Grid'5000 in 2007: processors, Gflop/s.
const CHTI: (u32, f64) = (20, 4.311);
const GRILLON: (u32, f64) = (47, 3.379);
const GRELON: (u32, f64) = (120, 3.185);

/// One cluster behind Gigabit Ethernet.
fn cluster((count, gigaflops): (u32, f64)) -> Result<Platform, StudyError> {
    let mut b = PlatformBuilder::new("cluster");
    let link = LinkShape { bandwidth: 1.25e8, latency: 1e-4 };
    let backbone = LinkShape { bandwidth: 1.25e9, latency: 1e-4 };
    let spec = ClusterSpec::flat("c", count, gigaflops * 1e9, link);
    let spec = ClusterSpec { backbone: Some((backbone, Sharing::Shared)), ..spec };
    b.add_cluster(None, spec).map_err(StudyError::of)?;
    b.build().map_err(StudyError::of)
}

/// Several clusters between which data take no time.
fn clusters(sizes: &[(u32, f64)]) -> Result<Platform, StudyError> {
    let mut b = PlatformBuilder::new("clusters");
    b.set_matrix(Matrix::uniform(None, 0.0));
    let root = b.root().map_err(StudyError::of)?;
    for (c, &(count, gigaflops)) in sizes.iter().enumerate() {
        for h in 0..count {
            let host = HostSpec::new(format!("c{c}-{h}"), gigaflops * 1e9);
            b.add_host(root, HostSpec { class: Some(format!("c{c}")), ..host })
                .map_err(StudyError::of)?;
        }
    }
    b.build().map_err(StudyError::of)
}

/// What a plan comes to.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    makespan: f64,
    work: f64,
    peak: f64,
    /// Work of the tasks alone on one processor each, where they are placed, over what they work now.
    efficiency: f64,
}

impl Figures {
    fn of(problem: &Problem<'_>, schedule: &Schedule) -> Figures {
        let detail = |name: &str| match schedule.details.iter().find(|d| d.0 == name) {
            Some((_, Detail::Number(x))) => *x,
            Some((_, Detail::Count(n))) => *n as f64,
            _ => f64::NAN,
        };
        let placed = problem.workflow().tasks().zip(&schedule.placements);
        let alone = placed.filter_map(|(task, placement)| {
            let class = problem.class_of(placement.as_ref()?.proc());
            Some(problem.exec_wide(task, class, 1))
        });
        let (work, peak) = (detail("work"), detail("peak"));
        let efficiency = alone.sum::<f64>() / work;
        Figures { makespan: schedule.makespan(), work, peak, efficiency }
    }
}

fn plan(problem: &Problem<'_>, name: &str, set: &[(&str, &str)]) -> Result<Schedule, StudyError> {
    let given = set.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let settings = Request { given, ..Request::default() };
    let missing = || StudyError(format!("the planner {name} is missing"));
    let algorithm = registry::find(name).ok_or_else(missing)?;
    (algorithm.plan)(problem, &settings).map_err(StudyError::of)
}

/// The plans of every graph by every method, graph by graph.
fn plans(
    watch: &Watch<'_>,
    stage: &str,
    graphs: &[Workflow],
    platform: &Platform,
    methods: &[&str],
) -> Result<Vec<Vec<Figures>>, StudyError> {
    watch.over(stage, graphs, |graph| {
        let problem = Problem::new(graph, platform).map_err(StudyError::of)?;
        methods.iter().map(|name| Ok(Figures::of(&problem, &plan(&problem, name, &[])?))).collect()
    })
}

/// One figure of one method over all graphs.
fn column(plans: &[Vec<Figures>], method: usize, figure: fn(&Figures) -> f64) -> Vec<f64> {
    plans.iter().map(|row| figure(&row[method])).collect()
}

/// The mean over graphs of `above / below - 1`: every graph counts alike.
fn relative(above: &[f64], below: &[f64]) -> Estimate {
    let ratios: Vec<f64> = above.iter().zip(below).map(|(a, b)| a / b - 1.0).collect();
    Estimate::mean(&ratios)
}

/// So many graphs of the published population, evenly over its parameters.
fn population(options: &Options, graphs: usize) -> Result<Vec<Workflow>, StudyError> {
    let study = STUDIES.iter().find(|s| s.name == "ptg");
    let study = study.ok_or_else(|| StudyError("the population is missing".into()))?;
    let population = study.population(options.seed).map_err(StudyError::of)?;
    let all = population.len();
    let draw = |k: usize| {
        let member = population.member(k as u64 * all / graphs as u64).map_err(StudyError::of)?;
        population.generator.workflow(&member.settings, member.seed).map_err(StudyError::of)
    };
    (0..graphs).map(draw).collect()
}

/// So many graphs of Strassen's product and of fast Fourier transforms.
fn applications(options: &Options, graphs: usize) -> Result<Vec<Workflow>, StudyError> {
    // No processors: times follow from flop.
    let given =
        [("moldable", "yes"), ("processors", "0")].map(|(n, v)| (n.to_string(), v.to_string()));
    let draw = |k: usize| {
        let name = ["strassen", "fft"][k % 2];
        let generator = generators::find(Family::Workflow, name).map_err(StudyError::of)?;
        let settings = generator.settings(&given).map_err(StudyError::of)?;
        let seed = Seed::new(options.seed.wrapping_mul(1_000_003).wrapping_add(k as u64));
        generator.workflow(&settings, seed).map_err(StudyError::of)
    };
    (0..graphs).map(draw).collect()
}

fn reproduce(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let graphs = options.graphs.unwrap_or(match options.size {
        Size::Quick => 12,
        Size::Standard => 108,
        Size::Full => 1296,
    });
    let mut report = Report::new(&PAPER, options, graphs);
    report.choices = CHOICES.map(String::from).to_vec();
    let drawn = population(options, graphs)?;
    let regular = applications(options, graphs / 2)?;
    for found in [single::findings(&drawn, &regular, watch)?, several::findings(&drawn, watch)?] {
        report.findings.claims.extend(found.claims);
        report.findings.tables.extend(found.tables);
    }
    Ok(report)
}

const CHOICES: [&str; 5] = [
    "Graphs: members of the published population (10, 20, 50 tasks; 144 combinations of shape and cost), \
     taken evenly over its parameters.",
    "Clusters: chti (20 processors), grillon (47), grelon (120) with the speeds of 2007, Gigabit \
     Ethernet; several clusters are these three, between which data take no time.",
    "Everything is judged on plans with contention-free transfers, not on simulated runs.",
    "Ratios are means over graphs of one plan over the other, each graph counting alike.",
    "What a graph takes alone is planned by biCPA-M with backfilling, for all methods of several graphs.",
];
