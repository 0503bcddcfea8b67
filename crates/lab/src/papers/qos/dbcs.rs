//! Chapter 8: DBCS against DCA (dynamic constraint algorithm), a genetic algorithm, LOSS1, BHEFT (budget-constrained
//! HEFT) and random mapping. PSR is the planning success rate, the share of plans within both limits; `a_B` and `a_D` place
//! budget and deadline between their least (0) and greatest (1) sensible values.

use super::{
    Case, Done, Drawn, Judging, applications, graphs, graphs_of, grid5000, machine, recipes, under,
};
use crate::cell::{Recipe, given, planner};
use crate::papers::report::Findings;
use crate::papers::{Cell, Claim, Options, Paper, Report, Rule, StudyError, Table, Unit, Watch};
use slackline_analysis::statistics::Estimate;
use slackline_model::schedule::affordable;
use slackline_model::{Platform, Problem, Workflow, approx};
use slackline_schedule::Request;
use slackline_schedule::qos::Prices;
use std::sync::Arc;
use std::time::Instant;

/// Registry entry.
pub(in crate::papers) const PAPER: Paper = Paper {
    name: "dbcs",
    title: "DBCS: scheduling of workflows under a deadline and a budget",
    source: "Arabnejad, Barbosa, Prodan, FGCS 55, 2016; chapter 8 of Arabnejad's thesis",
    about: "how often a plan keeps a budget and a deadline that are the same for three sites",
    run,
    cells,
    unlisted: "",
};

const SITES: [&str; 3] = ["rennes", "sophia", "lille"];
const SIZES: [&str; 3] = ["8", "16", "32"];
/// All methods; the first `FAST` are quick, the others search and run on fewer workflows and the smallest machines only.
const METHODS: [&str; 7] = ["dbcs", "hbcs", "loss1", "bheft", "random", "dca", "ga-qos"];
const FAST: usize = 5;
const DBCS: usize = 0;
const LOSS1: usize = 2;
const BHEFT: usize = 3;
const RANDOM: usize = 4;
const DCA: usize = 5;
const GA: usize = 6;
const RATIOS: [&[(&str, &str)]; 4] =
    [&[("ratio", "current")], &[("ratio", "total")], &[("ratio", "rest")], &[("ratio", "none")]];
const FACTORS: [f64; 3] = [0.1, 0.3, 0.5];
const APPLICATION_FACTORS: [f64; 3] = [0.3, 0.5, 0.7];
const APPLICATIONS: [(&str, &str, &str); 3] = [
    ("epigenomics", "46", "Epigenomics"),
    ("montage", "50", "Montage"),
    ("wien2k", "30", "Wien2K"),
];

/// Least and greatest time (seconds) and cost (money) of a workflow over all three sites.
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

    fn request(&self, wish: &Wish, seed: u64) -> Request {
        let limits = under(self.budget(wish.a_b), Some(self.deadline(wish.a_d)));
        Request { given: given(wish.set), seed, ..limits }
    }
}

/// Limits and method of a run; `a_b` and `a_d` are a_B and a_D.
#[derive(Clone, Copy)]
struct Wish {
    a_b: f64,
    a_d: f64,
    method: &'static str,
    set: &'static [(&'static str, &'static str)],
}

/// By budget and deadline: every method to run there.
fn wishes(factors: [f64; 3], search: bool) -> Vec<Vec<Wish>> {
    let methods = &METHODS[..if search { METHODS.len() } else { FAST }];
    let row = |a_b: f64, a_d: f64| {
        methods.iter().map(|method| Wish { a_b, a_d, method, set: &[] }).collect()
    };
    factors.iter().flat_map(|&a_b| factors.iter().map(move |&a_d| row(a_b, a_d))).collect()
}

/// Readings of the parameter `ratio` of DBCS, at medium limits.
fn readings() -> [Wish; RATIOS.len()] {
    RATIOS.map(|set| Wish { a_b: 0.3, a_d: 0.3, method: "dbcs", set })
}

/// One node of each cluster of all sites.
fn three_sites() -> Result<Arc<Platform>, StudyError> {
    let nodes = "paradent:1,paramount:1,parapide:1,parapluie:1,helios:1,sol:1,suno:1,chicon:1,\
                 chimint:1,chinqchint:1";
    grid5000(&[("nodes", nodes), ("priced", "grid")])
}

/// Site, size and name of each machine.
fn machines() -> impl Iterator<Item = (&'static str, String)> {
    SITES.into_iter().flat_map(|site| SIZES.map(|size| (size, format!("{site}-{size}"))))
}

/// Label of the workflows, the factors of their limits, and the number of them on which methods search.
type Series = (&'static str, Vec<Drawn>, [f64; 3], usize);

fn series(options: &Options) -> Result<Vec<Series>, StudyError> {
    let count = count(options);
    let searched = count.div_ceil(6).min(20);
    let random = graphs("dbcs", options.seed, count)?;
    let mut all = vec![("random graphs", random, FACTORS, searched)];
    for (name, tasks, label) in APPLICATIONS {
        let drawn = applications(name, tasks, options.seed, count.div_ceil(4));
        all.push((label, drawn.collect(), APPLICATION_FACTORS, 0));
    }
    Ok(all)
}

fn count(options: &Options) -> usize {
    graphs_of(options, [4, 60, 1000])
}

/// Every plan and its run.
fn cells(options: &Options) -> Result<Vec<Recipe>, StudyError> {
    let (seed, mut all) = (options.seed, Vec::new());
    for (_, drawn, factors, searched) in series(options)? {
        for (size, name) in machines() {
            for (index, &workflow) in drawn.iter().enumerate() {
                let search = size == SIZES[0] && index < searched;
                let mut every: Vec<Wish> = wishes(factors, search).into_iter().flatten().collect();
                if factors == FACTORS {
                    every.extend(readings());
                }
                for wish in every {
                    let set: String =
                        wish.set.iter().map(|(name, value)| format!(", {name} {value}")).collect();
                    let Wish { a_b, a_d, method, .. } = wish;
                    let of = format!("{workflow}, {name}, a_B = {a_b}, a_D = {a_d}: {method}{set}");
                    let machine_name = name.clone();
                    let platform = move || machine(&machine_name, "grid");
                    let plan = move |case: &Case<'_>| {
                        let range = Range::of(&case.stage.workflow, &*three_sites()?)?;
                        case.plan(planner(method)?, &range.request(&wish, seed))
                    };
                    all.extend(recipes(&of, workflow, platform, plan));
                }
            }
        }
    }
    Ok(all)
}

/// Result of a method at a budget and a deadline.
#[derive(Clone, Copy)]
struct Point {
    done: Done,
    budget: f64,
    deadline: f64,
}

impl Point {
    fn succeeds(&self, way: Judging) -> bool {
        affordable(self.done.cost, self.budget)
            && approx::le(self.done.makespan(way), self.deadline)
    }
}

/// One workflow on one machine: results by budget and deadline and then method, and those of the readings of DBCS.
#[derive(Clone, Default)]
struct OnMachine {
    points: Vec<Vec<Option<Point>>>,
    ratios: Vec<Point>,
}

/// Inputs of the runs of a workflow.
#[derive(Clone, Copy)]
struct PlanningCase<'j> {
    workflow: &'j Arc<Workflow>,
    platform: &'j Arc<Platform>,
    three: &'j Platform,
    factors: [f64; 3],
    search: bool,
}

impl PlanningCase<'_> {
    fn run(&self, seed: u64) -> Result<OnMachine, StudyError> {
        let case = Case::new(self.workflow, self.platform)?;
        let range = Range::of(self.workflow, self.three)?;
        let mut result = OnMachine::default();
        let at = |wish: &Wish| {
            let (budget, deadline) = (range.budget(wish.a_b), range.deadline(wish.a_d));
            let done = case.done(planner(wish.method)?, &range.request(wish, seed))?;
            Ok::<_, StudyError>(Point { done, budget, deadline })
        };
        for wanted in wishes(self.factors, self.search) {
            let mut row = wanted.iter().map(|w| at(w).map(Some)).collect::<Result<Vec<_>, _>>()?;
            row.resize(METHODS.len(), None);
            result.points.push(row);
        }
        if self.factors == FACTORS {
            result.ratios = readings().iter().map(at).collect::<Result<_, _>>()?;
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
        let three = &*three_sites()?;
        let mut sites = Vec::new();
        for (size, name) in machines() {
            sites.push((machine(&name, "grid")?, size == SIZES[0]));
        }
        let mut jobs = Vec::new();
        for (platform, small) in &sites {
            for (index, workflow) in workflows.iter().enumerate() {
                let search = *small && index < searched;
                jobs.push(PlanningCase { workflow, platform, three, factors, search });
            }
        }
        let flat = watch.over(stage, &jobs, |job| job.run(seed))?;
        let per_site = SIZES.len() * workflows.len().max(1);
        Ok(Results { sites: flat.chunks(per_site).map(<[_]>::to_vec).collect(), factors })
    }

    /// Share of a site's plans that keep both limits (PSR).
    fn success(&self, site: usize, point: usize, method: usize, way: Judging) -> Estimate {
        let all = self.sites[site].iter().filter_map(|r| r.points[point][method]);
        Estimate::share(&all.map(|p| p.succeeds(way)).collect::<Vec<bool>>())
    }

    fn ratio(&self, site: usize, ratio: usize, way: Judging) -> Estimate {
        let all = self.sites[site].iter().filter_map(|r| r.ratios.get(ratio));
        Estimate::share(&all.map(|p| p.succeeds(way)).collect::<Vec<bool>>())
    }

    fn points(&self) -> usize {
        self.factors.len() * self.factors.len()
    }

    /// Share of the points (budget, deadline) of some sites at which the success rate of DBCS is at most 0.5 percentage
    /// points behind.
    fn at_least(&self, sites: &[usize], other: usize, way: Judging) -> Estimate {
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

    /// The success rate over all workflows, or only over those that the search methods ran on.
    fn rate(&self, site: usize, point: usize, method: usize, searched: bool, way: Judging) -> f64 {
        let same = |r: &&OnMachine| !searched || r.points[point][DCA].is_some();
        let all = self.sites[site].iter().filter(same).filter_map(|r| r.points[point][method]);
        Estimate::share(&all.map(|p| p.succeeds(way)).collect::<Vec<bool>>()).value
    }
}

fn run(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let mut sets = Vec::new();
    let mut first = Vec::new();
    for (label, drawn, factors, searched) in series(options)? {
        let made = drawn.iter().map(Drawn::make).collect::<Result<Vec<_>, _>>()?;
        let settings = (label, options.seed, searched);
        sets.push((label, Results::of(&made, factors, settings, watch)?));
        if first.is_empty() {
            first = made;
        }
    }
    let (_, random) = sets.remove(0);
    let mut report = Report::new(&PAPER, options, count(options));
    report.choices = CHOICES.map(String::from).to_vec();
    report.findings.claims = vec![rennes(&random), above_bheft(&random), close(&random)];
    report.findings.tables = vec![
        table("Random graphs", &random, Judging::Simulated),
        table("Random graphs", &random, Judging::Planned),
    ];
    report.findings.tables.push(ratios(&random));
    for (label, results) in &sets {
        report.findings.tables.push(table(label, results, Judging::Simulated));
    }
    report.findings.claims.push(easiest(&sets));
    report.timed = Some(time(&first)?);
    Ok(report)
}

fn rennes(results: &Results) -> Claim {
    let mut claim = Claim::new("5.4 Rennes", "On Rennes BHEFT finds nothing");
    for way in [Judging::Simulated, Judging::Planned] {
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
    for way in [Judging::Simulated, Judging::Planned] {
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
    for way in [Judging::Simulated, Judging::Planned] {
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
        let rate = |(s, p)| results.success(s, p, DBCS, Judging::Simulated).value;
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

fn table(label: &str, results: &Results, way: Judging) -> Table {
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
                Cell::Figure(Estimate { margin: None, interval: None, ..share }, Unit::Percent(0))
            }));
            table.rows.push(row);
        }
    }
    table
}

fn ratios(results: &Results) -> Table {
    let mut columns = vec!["site", "judged"];
    columns.extend(RATIOS.iter().flat_map(|set| set.iter().map(|(_, value)| *value)));
    let mut table = Table::new("DBCS by `ratio` at (a_D, a_B) = (0.3, 0.3): PSR", &columns);
    for (site, name) in SITES.into_iter().enumerate() {
        for way in [Judging::Simulated, Judging::Planned] {
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
            planner(name)?.plan(&case.problem, &settings).map_err(StudyError::of)?;
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
