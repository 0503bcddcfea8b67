//! `slackline versus`: the instance on which one method is worst against another.

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_core::schema::names;
use slackline_lab::campaign::{Method, MethodKind};
use slackline_lab::versus::{Bounds, Search, drawn, worst};
use slackline_model::nearest::did_you_mean;
use slackline_react::registry as policies;
use slackline_report::versus::{TableDocument, VersusDocument, charts, heat, pair, table};
use slackline_schedule::registry::{ALL, Family, find};
use std::path::PathBuf;

/// Find a small problem on which a method is worst against another
#[derive(Args)]
#[command(after_help = "\
Planners are judged by their plans, policies by simulated runs. The search is simulated annealing over small \
problems: times of tasks on processors, edges and their data, and bandwidths vary within bounds. What is found \
is a lower bound: the ratio is at least this.

Examples:
  slackline versus heft cpop --iterations 800
  slackline versus peft heft --iterations 800 -o worst.json --gantt worst.svg")]
pub(crate) struct Versus {
    /// The method whose worst case is searched; all for a table of the list heuristics
    a: String,
    /// The method it is compared with
    b: Option<String>,
    /// Problems that are tried (of each pair, with all)
    #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = clap::value_parser!(u64).range(8..))]
    iterations: u64,
    /// Seed of the search
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Tasks of the problems
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..=50))]
    tasks: usize,
    /// Processors of the problems
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=20))]
    processors: usize,
    /// Bounds of the seconds of a task on a processor
    #[arg(long, value_name = "LOW..HIGH", value_parser = bounds, default_value = "1..100")]
    costs: (f64, f64),
    /// Bounds of the data of an edge
    #[arg(long, value_name = "LOW..HIGH", value_parser = bounds, default_value = "0..100")]
    data: (f64, f64),
    /// Bounds of the data per second between two processors
    #[arg(long, value_name = "LOW..HIGH", value_parser = bounds, default_value = "0.1..10")]
    bandwidths: (f64, f64),
    /// Write the problem that was found
    #[arg(short, long, value_name = "FILE.json")]
    output: Option<PathBuf>,
    /// Draw the problem as both methods place it, one above the other; with all, the table as a heat map
    #[arg(short, long, value_name = "FILE.svg")]
    gantt: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

fn bounds(text: &str) -> Result<(f64, f64), String> {
    let ends = text.split_once("..").and_then(|(l, h)| Some((l.parse().ok()?, h.parse().ok()?)));
    match ends {
        Some((low, high)) if 0.0 <= low && low <= high && f64::is_finite(high) && high > 0.0 => {
            Ok((low, high))
        }
        _ => Err("expected two numbers such as 1..100, the lower one first".to_string()),
    }
}

/// A planner of that name, else a policy.
fn method(name: &str) -> Result<Method, Failure> {
    let planner = name.split(['?', ':']).next().unwrap_or(name);
    let kind = if find(planner).is_some() { MethodKind::Plan } else { MethodKind::Simulate };
    let named = name.split('?').next().unwrap_or(name);
    if kind == MethodKind::Simulate && !named.contains(':') && policies::find(named).is_none() {
        let known = ALL.iter().map(|a| a.name).chain(policies::ALL.iter().map(|p| p.name));
        let near = did_you_mean(named, known);
        return Err(Failure::input(format!("there is no planner or policy {named}{near}")));
    }
    Method::parse(kind, name).map_err(Failure::from)
}

impl Versus {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .writes("-o", self.output.as_ref())
            .draws("--gantt", self.gantt.as_ref())
            .json(self.json)
            .check(output)?;
        for (name, bounds) in [("--costs", self.costs), ("--bandwidths", self.bandwidths)] {
            if bounds.0 <= 0.0 {
                return Err(Failure::input(format!("{name}: the lower bound has to be above 0")));
            }
        }
        let search = Search {
            bounds: Bounds {
                tasks: self.tasks,
                processors: self.processors,
                costs: self.costs,
                data: self.data,
                bandwidths: self.bandwidths,
            },
            iterations: self.iterations,
            seed: self.seed,
        };
        if self.a == "all" {
            return self.every(&search, output);
        }
        let Some(name) = &self.b else {
            return Err(Failure::input("two methods are compared: name the other one too"));
        };
        let (a, b) = (method(&self.a)?, method(name)?);
        if a == b {
            return Err(Failure::input("a method is never worse than itself"));
        }
        let found = worst(&a, &b, &search).map_err(Failure::work)?;
        let reverse = worst(&b, &a, &search).map_err(Failure::work)?;
        let drawn = drawn(&a, &b, &search).map_err(Failure::work)?;
        if let Some(path) = &self.output {
            output.files.write(path, |out| out.write_all(found.instance.as_bytes()))?;
        }
        if let Some(path) = &self.gantt {
            let svg = charts(&a, &b, &found)?;
            slackline_report::picture::write(&output.files, path, &svg)?;
        }
        if self.json {
            return output.json(&VersusDocument {
                schema: names::VERSUS,
                a: &a.text,
                b: &b.text,
                iterations: self.iterations,
                seed: self.seed,
                worst: &found,
                reverse: &reverse,
                drawn: &drawn,
            });
        }
        pair((&a.text, &b.text), (&found, &reverse, &drawn), output)
    }

    /// All list heuristics against each other.
    fn every(&self, search: &Search, output: &mut Output) -> Result<(), Failure> {
        // Random placement is no rival; the rest of the family decides without draws.
        let general = ALL
            .iter()
            .filter(|a| a.family == Family::List && a.needs.is_empty() && a.name != "random");
        let methods = general.map(|a| method(a.name)).collect::<Result<Vec<_>, _>>()?;
        let bar = crate::progress::Bar::new(output.quiet);
        let mut ratios = vec![vec![None; methods.len()]; methods.len()];
        for (r, a) in methods.iter().enumerate() {
            bar.show("methods", r, methods.len());
            for (c, b) in methods.iter().enumerate().filter(|(c, _)| *c != r) {
                // A method that cannot plan some problem has no ratio.
                ratios[r][c] = worst(a, b, search).ok().map(|found| found.ratio);
            }
        }
        bar.finish();
        let names: Vec<String> = methods.iter().map(|m| m.text.clone()).collect();
        if let Some(path) = &self.gantt {
            let svg = heat(&names, &ratios, self.iterations);
            slackline_report::picture::write(&output.files, path, &svg)?;
        }
        if self.json {
            return output.json(&TableDocument {
                schema: names::VERSUS_ALL,
                methods: names,
                iterations: self.iterations,
                seed: self.seed,
                ratios,
            });
        }
        table(&names, &ratios, output)
    }
}
