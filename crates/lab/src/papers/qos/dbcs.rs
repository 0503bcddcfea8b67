//! Chapter 8: DBCS against DCA, a genetic algorithm, LOSS1, BHEFT and random mapping.

use super::{Case, Done, Way, applications, graphs, graphs_of, grid5000, machine, planner, under};
use crate::papers::report::Findings;
use crate::papers::{Cell, Claim, Options, Paper, Report, Rule, StudyError, Table, Unit, Watch};
use crate::stats::Estimate;
use slackline_model::schedule::affordable;
use slackline_model::{Platform, Problem, Workflow, approx};
use slackline_schedule::qos::Prices;
use slackline_schedule::{Algorithm, Request};
use std::sync::Arc;
use std::time::Instant;

/// Registry entry.
pub(in crate::papers) const PAPER: Paper = Paper {
    name: "dbcs",
    title: "DBCS: scheduling of workflows under a deadline and a budget",
    source: "Arabnejad, Barbosa, Prodan, FGCS 55, 2016; chapter 8 of Arabnejad's thesis",
    about: "how often a plan keeps a budget and a deadline that are the same for three sites",
    run,
};

const SITES: [&str; 3] = ["rennes", "sophia", "lille"];
const SIZES: [&str; 3] = ["8", "16", "32"];
/// The last two search for long: they run on fewer workflows and the smallest machines.
const METHODS: [&str; 7] = ["dbcs", "hbcs", "loss1", "bheft", "random", "dca", "ga-qos"];
const FAST: usize = 5;
const DBCS: usize = 0;
const LOSS1: usize = 2;
const BHEFT: usize = 3;
const RANDOM: usize = 4;
const DCA: usize = 5;
const GA: usize = 6;
const RATIOS: [&str; 4] = ["current", "total", "rest", "none"];
const FACTORS: [f64; 3] = [0.1, 0.3, 0.5];
const APPLICATION_FACTORS: [f64; 3] = [0.3, 0.5, 0.7];
const APPLICATIONS: [(&str, &str, &str); 3] = [
    ("epigenomics", "46", "Epigenomics"),
    ("montage", "50", "Montage"),
    ("wien2k", "30", "Wien2K"),
];

/// Least and largest time and cost over all three sites.
struct Range {
    time: (f64, f64),
    cost: (f64, f64),
}

impl Range {
    fn of(workflow: &Workflow, three: &Platform) -> Result<Range, StudyError> {
        let problem = Problem::new(workflow, three).map_err(StudyError::of)?;
        let transfer = |edge| problem.mean_edge_transfer(edge);
        let path = workflow.critical_path(|t| problem.mean_exec(t), transfer).tasks;
        let mut moved = 0.0;
        for pair in path.windows(2) {
            let edge = workflow.successors(pair[0]).find(|(child, _)| *child == pair[1]);
            moved += edge.map_or(0.0, |(_, edge)| transfer(edge));
        }
        let prices = Prices::new(&problem);
        let (best, worst): (f64, f64) = (
            path.iter().map(|&t| problem.best_exec(t)).sum(),
            path.iter().map(|&t| problem.worst_exec(t)).sum(),
        );
        Ok(Range {
            time: (moved + best, moved + worst),
            cost: (
                workflow.tasks().map(|t| prices.least(t)).sum(),
                workflow.tasks().map(|t| prices.most(t)).sum(),
            ),
        })
    }

    fn budget(&self, a_b: f64) -> f64 {
        self.cost.0 + a_b * (self.cost.1 - self.cost.0)
    }

    fn deadline(&self, a_d: f64) -> f64 {
        self.time.0 + a_d * (self.time.1 - self.time.0)
    }
}

/// What a method did at a budget and a deadline.
#[derive(Clone, Copy)]
struct Point {
    done: Done,
    budget: f64,
    deadline: f64,
}

impl Point {
    fn succeeds(&self, way: Way) -> f64 {
        let kept = affordable(self.done.cost, self.budget)
            && approx::le(self.done.makespan(way), self.deadline);
        f64::from(u8::from(kept))
    }
}

/// One workflow on one machine: by budget, deadline, method; the ratios of DBCS in the middle.
#[derive(Clone, Default)]
struct OnMachine {
    points: Vec<Vec<Option<Point>>>,
    ratios: Vec<Point>,
}

/// What to run on a workflow.
#[derive(Clone, Copy)]
struct Job<'j> {
    workflow: &'j Arc<Workflow>,
    platform: &'j Arc<Platform>,
    three: &'j Platform,
    factors: [f64; 3],
    search: bool,
    ratios: bool,
}

impl Job<'_> {
    fn run(&self, seed: u64) -> Result<OnMachine, StudyError> {
        let case = Case::new(self.workflow, self.platform)?;
        let range = Range::of(self.workflow, self.three)?;
        let mut result = OnMachine::default();
        let at = |a_b: f64, a_d: f64, method: &Algorithm, given: &[(&str, &str)]| {
            let (budget, deadline) = (range.budget(a_b), range.deadline(a_d));
            let given = given.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
            let settings = Request { given, seed, ..under(budget, Some(deadline)) };
            let done = case.done(method, &settings)?;
            Ok::<_, StudyError>(Point { done, budget, deadline })
        };
        for a_b in self.factors {
            for a_d in self.factors {
                let mut row = Vec::new();
                for (index, name) in METHODS.iter().enumerate() {
                    let runs = index < FAST || self.search;
                    let method = planner(name)?;
                    row.push(if runs { Some(at(a_b, a_d, method, &[])?) } else { None });
                }
                result.points.push(row);
            }
        }
        if self.ratios {
            for ratio in RATIOS {
                result.ratios.push(at(0.3, 0.3, planner("dbcs")?, &[("ratio", ratio)])?);
            }
        }
        Ok(result)
    }
}

/// Results by site, machine and workflow.
struct Results {
    sites: Vec<Vec<OnMachine>>,
    factors: [f64; 3],
}

impl Results {
    fn of(
        workflows: &[Arc<Workflow>],
        factors: [f64; 3],
        (stage, seed, searched): (&str, u64, usize),
        watch: &Watch<'_>,
    ) -> Result<Results, StudyError> {
        let nodes = "paradent:1,paramount:1,parapide:1,parapluie:1,helios:1,sol:1,suno:1,chicon:1,\
                     chimint:1,chinqchint:1";
        let three = grid5000(&[("nodes", nodes), ("priced", "grid")])?;
        let mut machines = Vec::new();
        for site in SITES {
            for size in SIZES {
                machines.push((machine(&format!("{site}-{size}"), "grid")?, size == SIZES[0]));
            }
        }
        let mut jobs = Vec::new();
        for (platform, small) in &machines {
            for (index, workflow) in workflows.iter().enumerate() {
                let search = *small && index < searched;
                let ratios = factors == FACTORS;
                let three = &three;
                jobs.push(Job { workflow, platform, three, factors, search, ratios });
            }
        }
        let flat = watch.over(stage, &jobs, |job| job.run(seed))?;
        let per_site = SIZES.len() * workflows.len().max(1);
        Ok(Results { sites: flat.chunks(per_site).map(<[_]>::to_vec).collect(), factors })
    }

    /// Share of a site's plans that keep both limits (PSR).
    fn success(&self, site: usize, point: usize, method: usize, way: Way) -> Estimate {
        let all = self.sites[site].iter().filter_map(|r| r.points[point][method]);
        Estimate::mean(&all.map(|p| p.succeeds(way)).collect::<Vec<f64>>())
    }

    fn ratio(&self, site: usize, ratio: usize, way: Way) -> Estimate {
        let all = self.sites[site].iter().filter_map(|r| r.ratios.get(ratio));
        Estimate::mean(&all.map(|p| p.succeeds(way)).collect::<Vec<f64>>())
    }

    fn points(&self) -> usize {
        self.factors.len() * self.factors.len()
    }

    /// Share of the points of some sites at which DBCS is no more than a few points behind.
    fn at_least(&self, sites: &[usize], other: usize, way: Way) -> Estimate {
        let mut wins = Vec::new();
        for &site in sites {
            for point in 0..self.points() {
                let search = other >= FAST;
                let rate = |method| self.rate(site, point, method, search, way);
                wins.push(f64::from(u8::from(rate(DBCS) >= rate(other) - 0.005)));
            }
        }
        Estimate::exact(wins.iter().sum::<f64>() / wins.len() as f64)
    }

    /// The share over the workflows that the search methods ran on too, or over all.
    fn rate(&self, site: usize, point: usize, method: usize, searched: bool, way: Way) -> f64 {
        let same = |r: &&OnMachine| !searched || r.points[point][DCA].is_some();
        let all = self.sites[site].iter().filter(same).filter_map(|r| r.points[point][method]);
        Estimate::mean(&all.map(|p| p.succeeds(way)).collect::<Vec<f64>>()).value
    }
}

fn run(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let count = graphs_of(options, [4, 60, 1000]);
    let searched = count.div_ceil(6).min(20);
    let workflows = graphs("dbcs", options.seed, count)?;
    let told = ("random graphs", options.seed, searched);
    let random = Results::of(&workflows, FACTORS, told, watch)?;
    let mut report = Report::new(&PAPER, options, count);
    report.choices = CHOICES.map(String::from).to_vec();
    report.findings.claims = vec![rennes(&random), above_bheft(&random), close(&random)];
    report.findings.tables = vec![
        table("Random graphs", &random, Way::Simulated),
        table("Random graphs", &random, Way::Planned),
    ];
    report.findings.tables.push(ratios(&random));
    let mut rates = Vec::new();
    for (name, tasks, label) in APPLICATIONS {
        let all = applications(name, tasks, options.seed, count.div_ceil(4))?;
        let told = (label, options.seed, 0);
        let results = Results::of(&all, APPLICATION_FACTORS, told, watch)?;
        report.findings.tables.push(table(label, &results, Way::Simulated));
        rates.push((label, results));
    }
    report.findings.claims.push(easiest(&rates));
    report.timed = Some(time(&workflows)?);
    Ok(report)
}

fn rennes(results: &Results) -> Claim {
    let mut claim = Claim::new("5.4 Rennes", "On Rennes BHEFT finds nothing");
    for way in [Way::Simulated, Way::Planned] {
        let most = |method| {
            let rate = |point| results.success(0, point, method, way).value;
            Estimate::exact((0..results.points()).map(rate).fold(0.0, f64::max))
        };
        let what = format!("BHEFT, best of nine points, {}", way.name());
        claim.check(what, "0", (most(BHEFT), Unit::Percent(1)), Rule::AtMost(0.0));
        // The first three points have a_B = 0.1, where not even the cheapest plan can be paid.
        let all = (0..METHODS.len()).flat_map(|m| (0..3).map(move |point| (m, point)));
        let rate = |(m, point): (usize, usize)| results.success(0, point, m, way).value;
        let paid = all.map(rate).filter(|r| r.is_finite()).fold(0.0, f64::max);
        let what = format!("any method at a_B = 0.1 < 0.2312, {}", way.name());
        claim.check(what, "", (Estimate::exact(paid), Unit::Percent(1)), Rule::AtMost(0.0));
    }
    claim
}

fn above_bheft(results: &Results) -> Claim {
    let mut claim =
        Claim::new("5.4 BHEFT", "DBCS is always better than BHEFT; RANDOM is near zero");
    for way in [Way::Simulated, Way::Planned] {
        let share = results.at_least(&[0, 1, 2], BHEFT, way);
        let what = format!("points at which DBCS is not behind, {}", way.name());
        claim.check(what, "all", (share, Unit::Percent(0)), Rule::AtLeast(1.0));
        let rate = |site, point| results.success(site, point, RANDOM, way).value;
        let all = (0..3).flat_map(|s| (0..results.points()).map(move |p| (s, p)));
        let mean = all.clone().map(|(s, p)| rate(s, p)).sum::<f64>() / all.count() as f64;
        let what = format!("RANDOM, mean over all points, {}", way.name());
        claim.check(
            what,
            "near zero",
            (Estimate::exact(mean), Unit::Percent(1)),
            Rule::AtMost(0.05),
        );
    }
    claim
}

fn close(results: &Results) -> Claim {
    let mut claim = Claim::new(
        "5.4 search",
        "On Sophia and Lille DBCS is better than the genetic algorithm and LOSS1 in most cases; DCA is close",
    );
    for way in [Way::Simulated, Way::Planned] {
        for (other, name) in [(LOSS1, "LOSS1"), (GA, "the genetic algorithm")] {
            let what = format!("points at which DBCS is not behind {name}, {}", way.name());
            let share = results.at_least(&[1, 2], other, way);
            claim.check(what, "most", (share, Unit::Percent(0)), Rule::AtLeast(0.5));
        }
        let distance = |site, point| {
            results.rate(site, point, DCA, true, way) - results.rate(site, point, DBCS, true, way)
        };
        let all = [1, 2].into_iter().flat_map(|s| (0..results.points()).map(move |p| (s, p)));
        let mean = all.clone().map(|(s, p)| distance(s, p)).sum::<f64>() / all.count() as f64;
        let what = format!("DCA less DBCS, mean over points, {}", way.name());
        let ours = (Estimate::exact(mean), Unit::Percent(1));
        claim.check(what, "very close", ours, Rule::Between(-0.15, 0.15));
    }
    claim.remark("DCA and the genetic algorithm are reconstructions and run on fewer workflows.")
}

fn easiest(rates: &[(&str, Results)]) -> Claim {
    let mut claim = Claim::new(
        "5.6",
        "Of the applications Epigenomics, with the least communication, has the highest success, and \
         Montage, with the most, the lowest",
    );
    let mean = |results: &Results| {
        let all = (0..3).flat_map(|s| (0..results.points()).map(move |p| (s, p)));
        let rate = |(s, p)| results.success(s, p, DBCS, Way::Simulated).value;
        all.clone().map(rate).sum::<f64>() / all.count() as f64
    };
    if let [(_, epigenomics), (_, montage), (_, wien)] = rates {
        let [e, m, w] = [mean(epigenomics), mean(montage), mean(wien)];
        for (what, value) in [("Epigenomics less Montage", e - m), ("Wien2K less Montage", w - m)] {
            let ours = (Estimate::exact(value), Unit::Percent(1));
            claim.check(format!("DBCS, {what}, simulated"), "", ours, Rule::AtLeast(0.0));
        }
    }
    claim
}

fn table(label: &str, results: &Results, way: Way) -> Table {
    let title = format!("{label}: share of plans that keep both limits (PSR), {}", way.name());
    let mut columns = vec!["site", "a_B", "a_D"];
    columns.extend(METHODS);
    let mut table = Table::new(title, &columns);
    for (site, name) in SITES.into_iter().enumerate() {
        for point in 0..results.points() {
            let factor = |k: usize| Cell::from(results.factors[k].to_string());
            let mut row = vec![name.into(), factor(point / 3), factor(point % 3)];
            row.extend((0..METHODS.len()).map(|method| {
                let share = results.success(site, point, method, way);
                Cell::Figure(Estimate { margin: None, ..share }, Unit::Percent(0))
            }));
            table.rows.push(row);
        }
    }
    table
}

fn ratios(results: &Results) -> Table {
    let mut columns = vec!["site", "judged"];
    columns.extend(RATIOS);
    let mut table = Table::new("DBCS by `ratio` at (a_D, a_B) = (0.3, 0.3): PSR", &columns);
    for (site, name) in SITES.into_iter().enumerate() {
        for way in [Way::Simulated, Way::Planned] {
            let mut row: Vec<Cell> = vec![name.into(), way.name().into()];
            row.extend(
                (0..RATIOS.len())
                    .map(|r| Cell::Figure(results.ratio(site, r, way), Unit::Percent(0))),
            );
            table.rows.push(row);
        }
    }
    table
}

/// Planning times as multiples of DBCS's.
fn time(workflows: &[Arc<Workflow>]) -> Result<Findings, StudyError> {
    let platform = machine("sophia-8", "grid")?;
    let mut seconds = [0.0; METHODS.len()];
    for workflow in workflows.iter().take(3) {
        let case = Case::new(workflow, &platform)?;
        let range = Range::of(workflow, &platform)?;
        for (total, name) in seconds.iter_mut().zip(METHODS) {
            let settings = under(range.budget(0.3), Some(range.deadline(0.3)));
            let clock = Instant::now();
            case.planned(planner(name)?, &settings)?;
            *total += clock.elapsed().as_secs_f64();
        }
    }
    let mut table =
        Table::new("Planning time over that of DBCS", &["method", "times", "published"]);
    let published = ["1", "", "25", "about 1", "about 1", "25000", "2500"];
    for ((name, total), said) in METHODS.iter().zip(seconds).zip(published) {
        let times = Cell::exact(total / seconds[DBCS], Unit::Times(1));
        table.rows.push(vec![(*name).into(), times, said.into()]);
    }
    Ok(Findings { claims: Vec::new(), tables: vec![table] })
}

const CHOICES: [&str; 6] = [
    "Graphs: members of `generate study dbcs`, spread evenly over its combinations; the source draws \
     10,000 at random from the same values.",
    "Limits are the same for every site: least and largest cost of each task, and the critical path (in mean \
     times) at its fastest and slowest, over the clusters of Rennes, Sophia and Lille. Mean transfer \
     times are those between one node of each cluster.",
    "Price a (1 + a) / 2 with a = speed over the fastest cluster of all sites.",
    "Runs keep mapping and order of the plan; data leaves when its producer ends; links are shared.",
    "DCA and the genetic algorithm are reconstructions from a few sentences. They run on the machines \
     of 8 processors and a part of the graphs.",
    "`ratio` says whose least cost weighs money in DBCS: unplaced tasks with the current one (ours), all \
     tasks, those after it, none. The source defines it in two ways.",
];
