//! Parallel task graphs: the first chapter of F. Suter's habilitation, 2014, and the papers that it summarises.
//! It prints few numbers, and its figures are not available to us: only statements of its text can be checked. Everything is judged on planned makespans.

mod several;
mod single;

use super::report::Findings;
use super::{Cell, Claim, Options, Paper, Report, Rule, Size, StudyError, Table, Unit, Watch};
use crate::cell::{self, Recipe, planner_with};
use slackline_analysis::statistics::Estimate;
use slackline_engine::Stage;
use slackline_generate::Seed;
use slackline_generate::population::STUDIES;
use slackline_generate::registry::{self as generators, Family};
use slackline_model::platform::{
    ClusterSpec, HostSpec, LinkShape, Matrix, PlatformBuilder, Sharing,
};
use slackline_model::schedule::Detail;
use slackline_model::{Platform, Problem, Schedule, Workflow};
use std::sync::Arc;

/// Registry entry.
pub(super) const PAPER: Paper = Paper {
    name: "ptg",
    title: "Parallel task graphs on clusters and multi-clusters",
    source: "Suter, habilitation, chapter 1, 2014",
    about: "moldable tasks on clusters: how many processors, one graph or several",
    run: reproduce,
    cells,
    unlisted: "",
};

/// Clusters of Grid'5000 in 2007: processors, Gflop/s.
const CHTI: (u32, f64) = (20, 4.311);
const GRILLON: (u32, f64) = (47, 3.379);
const GRELON: (u32, f64) = (120, 3.185);

/// One cluster on Gigabit Ethernet (bytes/s, seconds) with a backbone of 10 Gbit/s.
fn cluster((count, gigaflops): (u32, f64)) -> Result<Arc<Platform>, StudyError> {
    let mut b = PlatformBuilder::new("cluster");
    let link = LinkShape { bandwidth: 1.25e8, latency: 1e-4 };
    let backbone = LinkShape { bandwidth: 1.25e9, latency: 1e-4 };
    let spec = ClusterSpec::flat("c", count, gigaflops * 1e9, link);
    let spec = ClusterSpec { backbone: Some((backbone, Sharing::Shared)), ..spec };
    b.add_cluster(None, spec).map_err(StudyError::of)?;
    b.build().map(Arc::new).map_err(StudyError::of)
}

/// Several clusters with transfers that take no time.
fn clusters(sizes: &[(u32, f64)]) -> Result<Arc<Platform>, StudyError> {
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
    b.build().map(Arc::new).map_err(StudyError::of)
}

/// Figures of a plan.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    /// Seconds.
    makespan: f64,
    /// Processor-seconds.
    work: f64,
    /// Most processors in use at once.
    peak: f64,
    /// Work if every task ran on one processor of its cluster, over the work of the plan.
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

/// A planner and its parameters.
type Method = (&'static str, &'static [(&'static str, &'static str)]);

/// Graphs on a platform, each planned by every method.
struct Series {
    stage: &'static str,
    graphs: Vec<Arc<Workflow>>,
    platform: Arc<Platform>,
    methods: Vec<Method>,
}

impl Series {
    fn new(
        stage: &'static str,
        graphs: &[Arc<Workflow>],
        platform: Arc<Platform>,
        methods: &[&'static str],
    ) -> Series {
        let methods = methods.iter().map(|&name| (name, [].as_slice())).collect();
        Series { stage, graphs: graphs.to_vec(), platform, methods }
    }

    /// The plans of every graph by every method, graph by graph.
    fn plans(&self, watch: &Watch<'_>) -> Result<Vec<Vec<Figures>>, StudyError> {
        watch.over(self.stage, &self.graphs, |graph| {
            let figures = |&method: &Method| {
                let cell = planned(Stage::new(graph.clone(), self.platform.clone()), method)?;
                Ok(Figures::of(&cell.problem()?, &cell.plan()?))
            };
            self.methods.iter().map(figures).collect()
        })
    }

    /// One cell for every plan.
    fn cells(self) -> Vec<Recipe> {
        let mut all = Vec::new();
        for (index, graph) in self.graphs.iter().enumerate() {
            for &method in &self.methods {
                let (graph, platform) = (graph.clone(), self.platform.clone());
                let name = format!("{}, graph {index}: {}", self.stage, method_name(method));
                all.push(Recipe::new(name, move || {
                    planned(Stage::new(graph.clone(), platform.clone()), method)
                }));
            }
        }
        all
    }
}

/// A plan without contention.
fn planned(stage: Stage, (name, set): Method) -> Result<cell::Cell, StudyError> {
    cell::Cell::planned(stage, planner_with(name, set)?).under("matrix")
}

/// Name of a method as text.
fn method_name((name, set): Method) -> String {
    let set: String = set.iter().map(|(name, value)| format!(", {name} {value}")).collect();
    format!("{name}{set}")
}

/// One figure of one method over all graphs.
fn column(plans: &[Vec<Figures>], method: usize, figure: fn(&Figures) -> f64) -> Vec<f64> {
    plans.iter().map(|row| figure(&row[method])).collect()
}

/// Mean over graphs of `above / below - 1`, each graph with the same weight.
fn relative(above: &[f64], below: &[f64]) -> Estimate {
    let ratios: Vec<f64> = above.iter().zip(below).map(|(a, b)| a / b - 1.0).collect();
    Estimate::mean(&ratios)
}

/// `graphs` members of the published population, at equal distances over its parameters.
fn population(options: &Options, graphs: usize) -> Result<Vec<Arc<Workflow>>, StudyError> {
    let study = STUDIES.iter().find(|s| s.name == "ptg");
    let study = study.ok_or_else(|| StudyError("the population is missing".into()))?;
    let population = study.population(options.seed).map_err(StudyError::of)?;
    let all = population.len();
    let draw = |k: usize| {
        let member = population.member(k as u64 * all / graphs as u64).map_err(StudyError::of)?;
        let made = population.generator.workflow(&member.settings, member.seed);
        made.map(Arc::new).map_err(StudyError::of)
    };
    (0..graphs).map(draw).collect()
}

/// `graphs` task graphs, alternately of Strassen's product and of fast Fourier transforms.
fn applications(options: &Options, graphs: usize) -> Result<Vec<Arc<Workflow>>, StudyError> {
    // Without processors in the file, run times follow from flop.
    let given =
        [("moldable", "yes"), ("processors", "0")].map(|(n, v)| (n.to_string(), v.to_string()));
    let draw = |k: usize| {
        let name = ["strassen", "fft"][k % 2];
        let generator = generators::find(Family::Workflow, name).map_err(StudyError::of)?;
        let settings = generator.settings(&given).map_err(StudyError::of)?;
        let seed = Seed::new(options.seed.wrapping_mul(1_000_003).wrapping_add(k as u64));
        generator.workflow(&settings, seed).map(Arc::new).map_err(StudyError::of)
    };
    (0..graphs).map(draw).collect()
}

fn count(options: &Options) -> usize {
    options.graphs.unwrap_or(match options.size {
        Size::Quick => 12,
        Size::Standard => 108,
        Size::Full => 1296,
    })
}

/// One cell for every plan.
fn cells(options: &Options) -> Result<Vec<Recipe>, StudyError> {
    let graphs = count(options);
    let (drawn, regular) = (population(options, graphs)?, applications(options, graphs / 2)?);
    let parts = single::Parts::new(&drawn, &regular)?;
    let mut all: Vec<Recipe> = parts.list().into_iter().flat_map(Series::cells).collect();
    all.extend(several::cells(&drawn)?);
    Ok(all)
}

fn reproduce(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let graphs = count(options);
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
