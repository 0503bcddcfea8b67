//! Distance of plans from the optimum:
//!
//! ```text
//! cargo run --release -p slackline-schedule --example quality -- golden FOLDER [ALGORITHM…]
//! cargo run --release -p slackline-schedule --example quality -- stg FOLDER [ALGORITHM…]
//! ```
//!
//! `golden`: a folder of instances `NAME.json` with `NAME.expected.json`, whose `optimal.makespan` is
//! the optimum or the best known. `stg`: Standard Task Graphs with `optimal-*.csv` files of lines
//! `file, processors, makespan` (or `file, processors, bound, best known`), identical processors, no
//! communication. Prints a table; `-v` as last argument also a line per instance.

#![allow(clippy::print_stdout)]

use slackline_formats::{instance, stg};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::schedule::{Limits, validate};
use slackline_model::{Platform, Problem, Workflow, approx};
use slackline_schedule::bounds;
use slackline_schedule::registry::{self, Algorithm, Request};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// One problem and what is known of it.
struct Case {
    name: String,
    group: String,
    workflow: Workflow,
    platform: Platform,
    /// No schedule is shorter, as far as known from outside.
    known_bound: f64,
    /// The optimum or the best known.
    best_known: f64,
}

/// Sums over the cases of a group for one planner.
#[derive(Default)]
struct Tally {
    cases: usize,
    gap: f64,
    worst: f64,
    reached: usize,
    seconds: f64,
}

impl Tally {
    fn add(&mut self, ratio: f64, seconds: f64) {
        self.cases += 1;
        self.gap += ratio - 1.0;
        self.worst = self.worst.max(ratio - 1.0);
        self.reached += usize::from(ratio <= 1.0 + 1e-9);
        self.seconds += seconds;
    }
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.last().is_some_and(|a| a == "-v");
    if verbose {
        arguments.pop();
    }
    let [kind, folder, names @ ..] = arguments.as_slice() else {
        return Err("usage: quality golden|stg FOLDER [ALGORITHM…] [-v]".into());
    };
    let cases = match kind.as_str() {
        "golden" => golden(Path::new(folder))?,
        "stg" => task_graphs(Path::new(folder))?,
        other => return Err(format!("'{other}' is neither golden nor stg").into()),
    };
    let usual = ["best", "heft", "peft", "cpop", "dls"].map(String::from);
    let names = if names.is_empty() { &usual } else { names };
    let algorithms: Vec<&Algorithm> = names.iter().filter_map(|n| registry::find(n)).collect();
    report(&cases, &algorithms, verbose)
}

fn report(cases: &[Case], algorithms: &[&Algorithm], verbose: bool) -> Result<()> {
    let mut groups: Vec<&str> = cases.iter().map(|c| c.group.as_str()).collect();
    groups.dedup();
    println!(
        "{:<24} {:<10} {:>5} {:>9} {:>9} {:>9} {:>10}",
        "group", "planner", "cases", "mean gap", "worst gap", "reached", "seconds"
    );
    for group in groups {
        let members: Vec<&Case> = cases.iter().filter(|c| c.group == group).collect();
        for algorithm in algorithms {
            let mut tally = Tally::default();
            for case in &members {
                let problem = Problem::new(&case.workflow, &case.platform)?;
                let request = Request::default();
                let clock = Instant::now();
                let outcome =
                    registry::run(algorithm, &problem, &request, bounds::lower_bound(&problem))?;
                let seconds = clock.elapsed().as_secs_f64();
                let broken = validate(&problem, &outcome.schedule, &Limits::default());
                let (makespan, bound) = (outcome.schedule.makespan(), outcome.lower_bound);
                if let Some(violation) = broken.first() {
                    return Err(format!("{}: {}: {violation}", case.name, algorithm.name).into());
                }
                if approx::lt(makespan, case.known_bound) || approx::gt(bound, case.best_known) {
                    let why = format!("makespan {makespan}, bound {bound}");
                    return Err(format!("{}: {}: {why}", case.name, algorithm.name).into());
                }
                if verbose {
                    println!(
                        "  {:<24} {:<8} bound {bound:.4} makespan {makespan:.4} best known {:.4} in \
                         {seconds:.2} s",
                        case.name, algorithm.name, case.best_known
                    );
                }
                tally.add(makespan / case.best_known, seconds);
            }
            let count = tally.cases as f64;
            println!(
                "{group:<24} {:<10} {:>5} {:>8.2} % {:>7.2} % {:>7.1} % {:>10.3}",
                algorithm.name,
                tally.cases,
                tally.gap / count * 100.0,
                tally.worst * 100.0,
                tally.reached as f64 / count * 100.0,
                tally.seconds / count
            );
        }
    }
    Ok(())
}

/// Instances with an optimum or a best known makespan.
fn golden(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".json").filter(|s| !s.ends_with(".expected")) else {
            continue;
        };
        let expected = std::fs::read_to_string(folder.join(format!("{stem}.expected.json")))?;
        let expected: serde_json::Value = serde_json::from_str(&expected)?;
        let Some(best_known) = expected["optimal"]["makespan"].as_f64() else { continue };
        let known_bound = expected["optimal"]["lower_bound"].as_f64().unwrap_or(best_known);
        let read = instance::read(&std::fs::read_to_string(&path)?)?;
        let group = stem.split('-').next().unwrap_or_default().to_string();
        let (workflow, platform) = (read.workflow, read.platform);
        let known_bound = known_bound * (1.0 - 1e-9);
        cases.push(Case {
            name: stem.to_string(),
            group,
            workflow,
            platform,
            known_bound,
            best_known,
        });
    }
    Ok(cases)
}

/// Standard Task Graphs on identical processors.
fn task_graphs(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "csv")) {
        for line in std::fs::read_to_string(path)?.lines() {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let [file, processors, known_bound, ..] = fields.as_slice() else { continue };
            let best_known = fields.last().unwrap_or(known_bound);
            let processors: usize = processors.parse()?;
            let workflow = stg::read(std::fs::File::open(folder.join(file))?)?;
            let tasks = file.split('/').next().unwrap_or_default();
            cases.push(Case {
                name: format!("{file} x {processors}"),
                group: format!("{tasks} tasks, {processors} processors"),
                platform: identical(processors, workflow.reference_speed())?,
                workflow,
                known_bound: known_bound.parse()?,
                best_known: best_known.parse()?,
            });
        }
    }
    Ok(cases)
}

fn identical(processors: usize, speed: f64) -> Result<Platform> {
    let mut builder = PlatformBuilder::new("identical");
    builder.set_matrix(Matrix::uniform(None, 0.0));
    let root = builder.root()?;
    for k in 0..processors {
        builder.add_host(root, HostSpec::new(format!("p{k}"), speed))?;
    }
    Ok(builder.build()?)
}
