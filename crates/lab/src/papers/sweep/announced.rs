//! The experiments that the report announces and does not report: a table each.

use super::case::{Case, Ran, Set};
use crate::cell::{self, Recipe};
use crate::papers::{Cell, Options, Report, Size, StudyError, Table, Unit, Watch};
use slackline_analysis::statistics::Estimate;
use slackline_generate::scenario::studied::{sweep_loads, sweep_outages, sweep_sizes};
use slackline_generate::workflow::sweep::Sweep;
use slackline_model::approx;
use slackline_model::scenario::{ErrorLaw, EstimateErrors, Grain, Knowledge, Scenario, Wrong};
use std::time::Instant;

/// Kind of scenario.
#[derive(Clone, Copy)]
enum World {
    Still,
    /// Levels of hosts and links change all the time.
    Loads,
    /// Changing levels, and errors of estimated run times up to this share.
    Errors(f64),
    /// Outputs weigh something else than stated.
    Outputs,
    /// Clusters go and come back.
    Pools,
}

struct Way {
    label: &'static str,
    policy: &'static str,
    set: Set,
    world: World,
    knows: Knowledge,
    /// Seconds that a plan takes to make.
    planning: f64,
}

const fn way(label: &'static str, policy: &'static str, set: Set, world: World) -> Way {
    Way { label, policy, set, world, knows: Knowledge::Estimates, planning: 0.0 }
}

/// H4 with plans that take 100 s to make.
const fn slow(label: &'static str, set: Set) -> Way {
    Way { planning: 100.0, ..way(label, "h4", set, World::Loads) }
}

struct Experiment {
    title: &'static str,
    ways: &'static [Way],
}

const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        title: "Work queue against planned heuristics, levels that change",
        ways: &[
            way("H0", "h0", &[], World::Loads),
            way("H1", "h1", &[], World::Loads),
            way("H2", "h2", &[], World::Loads),
            way("H3", "h3", &[], World::Loads),
            way("H4", "h4", &[], World::Loads),
            way("H9", "h9", &[], World::Loads),
            way("XSufferage", "xs", &[], World::Loads),
            way("random task, best machine", "sweep-random-met", &[], World::Loads),
        ],
    },
    Experiment {
        title: "Quality of information, H4",
        ways: &[
            Way { knows: Knowledge::Exact, ..way("perfect", "h4", &[], World::Errors(0.5)) },
            way("errors up to 20 %", "h4", &[], World::Errors(0.2)),
            way("errors up to 50 %", "h4", &[], World::Errors(0.5)),
            way("last level", "h4", &[("forecast", "last")], World::Loads),
            way("mean level", "h4", &[("forecast", "mean")], World::Loads),
            way("median level", "h4", &[("forecast", "median")], World::Loads),
            way("best predictor", "h4", &[("forecast", "adaptive")], World::Loads),
            way("by progress", "h4", &[("remaining", "progress")], World::Loads),
        ],
    },
    Experiment {
        title: "Unknown output sizes, H4",
        ways: &[
            Way { knows: Knowledge::Exact, ..way("known", "h4", &[], World::Outputs) },
            way("as stated", "h4", &[("output", "known")], World::Outputs),
            way("mean", "h4", &[("output", "mean")], World::Outputs),
            way("regression", "h4", &[("output", "regression")], World::Outputs),
        ],
    },
    Experiment {
        title: "When to plan and how far, H4",
        ways: &[
            way("S1, 100 s", "h4", &[("interval", "100")], World::Loads),
            way("S1, 500 s", "h4", &[("interval", "500")], World::Loads),
            way("S1, 2000 s", "h4", &[("interval", "2000")], World::Loads),
            way(
                "S1, 500 s, no look-ahead",
                "h4",
                &[("interval", "500"), ("delta", "0")],
                World::Loads,
            ),
            way("S2", "h4", &[("strategy", "s2")], World::Loads),
            way(
                "S2, threshold 0.5",
                "h4",
                &[("strategy", "s2"), ("threshold", "0.5")],
                World::Loads,
            ),
            way("S3", "h4", &[("strategy", "s3")], World::Loads),
        ],
    },
    Experiment {
        title: "Clusters that go and come back, H4",
        ways: &[
            way("never", "h4", &[("replan-on", "never")], World::Pools),
            way("creation", "h4", &[("replan-on", "creation")], World::Pools),
            way("deletion", "h4", &[("replan-on", "deletion")], World::Pools),
            way("both", "h4", &[("replan-on", "both")], World::Pools),
            way("H0", "h0", &[], World::Pools),
        ],
    },
    Experiment {
        title: "Plans that are made at once or take time, and tasks kept in the queues meanwhile, H4",
        ways: &[
            way("none kept, at once", "h4", &[("keep", "0")], World::Loads),
            way("one kept, at once", "h4", &[("keep", "1")], World::Loads),
            way("three kept, at once", "h4", &[("keep", "3")], World::Loads),
            slow("none kept, in 100 s", &[("keep", "0")]),
            slow("one kept, in 100 s", &[("keep", "1")]),
            slow("three kept, in 100 s", &[("keep", "3")]),
        ],
    },
    Experiment {
        title: "Fewer tasks per plan, H4",
        ways: &[
            way("all considered", "h4", &[("subset", "all")], World::Loads),
            way("drawn", "h4", &[("subset", "random")], World::Loads),
            way("around shared files", "h4", &[("subset", "shared")], World::Loads),
            way("quota 1", "h4", &[("quota", "1")], World::Loads),
            way("quota 16", "h4", &[("quota", "16")], World::Loads),
        ],
    },
    Experiment {
        title: "Order on links, H4",
        ways: &[
            way("strict", "h4", &[("link-order", "strict")], World::Loads),
            way("greedy", "h4", &[("link-order", "greedy")], World::Loads),
            way("hybrid, 5 s", "h4", &[("link-order", "hybrid")], World::Loads),
            way("hybrid, 60 s", "h4", &[("link-order", "hybrid"), ("wait", "60")], World::Loads),
            way("greedy, no stealing", "h4", &[("steal", "no")], World::Loads),
        ],
    },
    Experiment {
        title: "Random choice among nearly equal ones",
        ways: &[
            way("H1", "h1", &[], World::Still),
            way("H5", "h5", &[], World::Still),
            way("H2", "h2", &[], World::Still),
            way("H6", "h6", &[], World::Still),
            way("H3", "h3", &[], World::Still),
            way("H7", "h7", &[], World::Still),
            way("H4", "h4", &[], World::Still),
            way("H8", "h8", &[], World::Still),
        ],
    },
];

/// One method of an experiment in one replication.
struct Job {
    experiment: &'static Experiment,
    way: &'static Way,
    seed: u64,
}

impl Job {
    fn all(options: (Size, u64), applications: usize) -> Vec<Job> {
        let (size, seed) = options;
        let of_way = |experiment: &'static Experiment, way: &'static Way| {
            let seeds = 0..cases(size, applications) as u64;
            seeds.map(move |case| Job { experiment, way, seed: seed + case })
        };
        let of_experiment = |e: &'static Experiment| e.ways.iter().flat_map(move |w| of_way(e, w));
        EXPERIMENTS.iter().flat_map(of_experiment).collect()
    }

    fn cell(&self) -> Result<cell::Cell, StudyError> {
        let Way { policy, set, world, knows, planning, .. } = *self.way;
        Case { planning, ..case_of(world, self.seed)? }.run(policy, set, knows)
    }
}

/// Worlds of each way.
fn cases(size: Size, applications: usize) -> usize {
    if size == Size::Quick { 1 } else { applications.max(1) }
}

/// Every run.
pub(super) fn cells(options: &Options, applications: usize) -> Vec<Recipe> {
    let recipe = |job: Job| {
        let name = format!("{}, seed {}: {}", job.experiment.title, job.seed, job.way.label);
        Recipe::new(name, move || job.cell())
    };
    let jobs = Job::all((options.size, options.seed), applications);
    jobs.into_iter().map(recipe).collect()
}

pub(super) fn study(report: &mut Report, size: Size, watch: &Watch<'_>) -> Result<(), StudyError> {
    let cases = cases(size, report.graphs);
    let jobs = Job::all((size, report.seed), report.graphs);
    let flat = watch.over("announced experiments", &jobs, |job| {
        let clock = Instant::now();
        let ran = Ran::of(&job.cell()?)?;
        Ok((ran, clock.elapsed().as_secs_f64()))
    })?;
    let mut found = flat.chunks(cases);
    let mut timed = Table::new("Wall time of a run, s", &["experiment", "way", "seconds"]);
    for experiment in EXPERIMENTS {
        let ran: Vec<&[(Ran, f64)]> =
            experiment.ways.iter().map(|_| found.next().unwrap_or(&[])).collect();
        report.findings.tables.push(table(experiment, &ran));
        for (way, runs) in experiment.ways.iter().zip(&ran) {
            let seconds: Vec<f64> = runs.iter().map(|(_, seconds)| *seconds).collect();
            timed.rows.push(vec![
                experiment.title.into(),
                way.label.into(),
                Cell::mean(&seconds, Unit::Number(3)),
            ]);
        }
    }
    let mut findings = crate::papers::report::Findings::default();
    findings.tables.push(timed);
    report.timed = Some(findings);
    Ok(())
}

fn table(experiment: &Experiment, ran: &[&[(Ran, f64)]]) -> Table {
    let columns = [
        "way",
        "makespan, s",
        "geometric mean, s",
        "above the best",
        "best of",
        "plans",
        "deviation",
    ];
    let mut table = Table::new(experiment.title, &columns);
    let cases = ran.first().map_or(0, |runs| runs.len());
    let least =
        |case: usize| ran.iter().map(|runs| runs[case].0.makespan).fold(f64::INFINITY, f64::min);
    for (way, runs) in experiment.ways.iter().zip(ran) {
        let all: Vec<f64> = runs.iter().map(|(ran, _)| ran.makespan).collect();
        let logs: Vec<f64> = all.iter().map(|m| m.ln()).collect();
        let above: Vec<f64> = all.iter().enumerate().map(|(c, m)| m / least(c) - 1.0).collect();
        let best = all.iter().enumerate().filter(|&(c, &m)| approx::le(m, least(c))).count();
        let plans: Vec<f64> = runs.iter().map(|(ran, _)| ran.plans as f64).collect();
        let wrong: Vec<f64> = runs.iter().filter_map(|(ran, _)| ran.deviation).collect();
        table.rows.push(vec![
            way.label.into(),
            Cell::mean(&all, Unit::Number(0)),
            Cell::exact(Estimate::mean(&logs).value.exp(), Unit::Number(0)),
            Cell::mean(&above, Unit::Percent(1)),
            format!("{best} of {cases}").into(),
            Cell::mean(&plans, Unit::Number(0)),
            Cell::mean(&wrong, Unit::Percent(0)),
        ]);
    }
    table
}

fn case_of(world: World, seed: u64) -> Result<Case, StudyError> {
    let application = Sweep { tasks: 200, shared_bytes: 2.4e6, ..Sweep::default() };
    let mut case = Case::published(&application, seed)?;
    let loads = |case: &Case| sweep_loads(&case.platform, seed).map_err(StudyError::of);
    case.scenario = match world {
        World::Still => Scenario::default(),
        World::Loads => loads(&case)?,
        World::Errors(bound) => Scenario {
            errors: EstimateErrors {
                compute: ErrorLaw::Uniform { bound },
                wrong: Wrong::Estimate,
                per: Grain::Task,
                ..EstimateErrors::default()
            },
            seed,
            ..loads(&case)?
        },
        World::Outputs => Scenario { sizes: sweep_sizes(&case.workflow, seed), ..loads(&case)? },
        World::Pools => sweep_outages(&case.platform, seed),
    };
    Ok(case)
}
