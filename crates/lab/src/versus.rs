//! Adversarial comparison of two methods: simulated annealing over small instances for the largest ratio of their
//! makespans.
//!
//! After PISA (Problem-instance Identification using Simulated Annealing; Coleman and Krishnamachari). Instances here have
//! execution times per task and processor, which include speeds.

use crate::campaign::{Method, MethodKind};
use rayon::prelude::*;
use serde::Serialize;
use slackline_analysis::statistics::Summary;
use slackline_engine::usual_models;
use slackline_engine::{Ending, Recording, Stage};
use slackline_formats::instance;
use slackline_generate::draw::{Draws, Seed};
use slackline_model::problem::Inputs;
use slackline_model::{Platform, Problem, Schedule, Workflow};
use std::fmt::Write;
use std::sync::Arc;

/// Independent annealing chains; the largest ratio of all counts.
const CHAINS: u64 = 8;

/// First and last temperature of a chain, in logarithms of the ratio; it falls geometrically.
const HOT: f64 = 0.3;
const COLD: f64 = 0.001;

/// Random instances within the bounds, for comparison.
const DRAWN: u64 = 100;

/// Bounds of the instances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Number of tasks.
    pub tasks: usize,
    /// Number of processors.
    pub processors: usize,
    /// Seconds of a task on a processor.
    pub costs: (f64, f64),
    /// Data of an edge, in bytes.
    pub data: (f64, f64),
    /// Bytes per second between two processors, the same in both directions.
    pub bandwidths: (f64, f64),
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            tasks: 6,
            processors: 3,
            costs: (1.0, 100.0),
            data: (0.0, 100.0),
            bandwidths: (0.1, 10.0),
        }
    }
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    /// Bounds of the instances.
    pub bounds: Bounds,
    /// Number of instances evaluated, over all chains.
    pub iterations: u64,
    /// Seed of all draws.
    pub seed: u64,
}

/// The outcome of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Makespan of the first method over that of the second.
    pub ratio: f64,
    /// Makespan of the first, in seconds.
    pub a: f64,
    /// Makespan of the second, in seconds.
    pub b: f64,
    /// The instance, as the text of an instance file.
    #[serde(skip)]
    pub instance: String,
}

/// Ratios on random instances within the same bounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Drawn {
    /// Number of instances.
    pub n: usize,
    /// Smallest ratio.
    pub least: f64,
    /// Median.
    pub median: f64,
    /// Geometric mean.
    pub geometric: f64,
    /// Largest ratio.
    pub most: f64,
}

/// A small problem that is changed step by step.
#[derive(Clone)]
struct Instance {
    processors: usize,
    /// Seconds, task after task.
    costs: Vec<f64>,
    /// Data of an edge from the row to the column, for rows before columns; none without an edge.
    edges: Vec<Option<f64>>,
    /// Row by row; only entries of a lower processor to a higher one are used.
    bandwidths: Vec<f64>,
}

/// Rounds to three significant digits, so that the written and the used value are the same.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// A random value: log-uniform where both bounds are positive, else uniform.
fn between((low, high): (f64, f64), draws: &mut Draws) -> f64 {
    let value = if low > 0.0 {
        (low.ln() + (high / low).ln() * draws.unit()).exp()
    } else {
        draws.uniform(low, high)
    };
    rounded(value).clamp(low, high)
}

impl Instance {
    /// A random instance, of edge density 0.2 to 0.8.
    fn drawn(bounds: &Bounds, draws: &mut Draws) -> Instance {
        let Bounds { tasks, processors, .. } = *bounds;
        let costs = (0..tasks * processors).map(|_| between(bounds.costs, draws)).collect();
        let density = draws.uniform(0.2, 0.8);
        let edges = (0..tasks * tasks)
            .map(|at| {
                let (from, to) = (at / tasks, at % tasks);
                (from < to && draws.unit() < density).then(|| between(bounds.data, draws))
            })
            .collect();
        let bandwidths =
            (0..processors * processors).map(|_| between(bounds.bandwidths, draws)).collect();
        Instance { processors, costs, edges, bandwidths }
    }

    /// A neighbour: redraws one cost (with probability 1/2), one edge (1/4; an existing one is removed in a third of the
    /// cases) or one bandwidth (1/4).
    fn changed(&self, bounds: &Bounds, draws: &mut Draws) -> Instance {
        let mut next = self.clone();
        let tasks = bounds.tasks;
        match draws.below(4) {
            0 | 1 => {
                let at = draws.below(next.costs.len());
                next.costs[at] = between(bounds.costs, draws);
            }
            2 if tasks > 1 => {
                let from = draws.below(tasks - 1);
                let to = draws.between(from + 1, tasks - 1);
                let edge = &mut next.edges[from * tasks + to];
                *edge = match edge {
                    Some(_) if draws.below(3) == 0 => None,
                    _ => Some(between(bounds.data, draws)),
                };
            }
            _ => {
                let at = draws.below(next.bandwidths.len());
                next.bandwidths[at] = between(bounds.bandwidths, draws);
            }
        }
        next
    }

    fn text(&self) -> String {
        let processors = self.processors;
        let tasks = self.costs.len() / processors;
        let mut out = String::from("{\n  \"name\": \"versus\",\n  \"tasks\": [");
        let list = |out: &mut String, parts: Vec<String>| out.push_str(&parts.join(", "));
        list(&mut out, (1..=tasks).map(|t| format!("{{\"id\": \"t{t}\"}}")).collect());
        out.push_str("],\n  \"edges\": [");
        let edges = self.edges.iter().enumerate().filter_map(|(at, data)| {
            let (from, to) = (at / tasks + 1, at % tasks + 1);
            data.map(|d| {
                format!("\n    {{\"from\": \"t{from}\", \"to\": \"t{to}\", \"data\": {d}}}")
            })
        });
        out.push_str(&edges.collect::<Vec<_>>().join(","));
        out.push_str("],\n  \"processors\": [");
        list(&mut out, (1..=processors).map(|p| format!("{{\"id\": \"p{p}\"}}")).collect());
        out.push_str("],\n  \"exec\": [");
        let rows = self.costs.chunks(processors).map(|row| {
            let row: Vec<String> = row.iter().map(f64::to_string).collect();
            format!("\n    [{}]", row.join(", "))
        });
        out.push_str(&rows.collect::<Vec<_>>().join(","));
        out.push_str("],\n  \"bandwidth\": [");
        let rows = (0..processors).map(|p| {
            let cell = |q: usize| {
                if p == q {
                    "null".to_string()
                } else {
                    self.bandwidths[p.min(q) * processors + p.max(q)].to_string()
                }
            };
            format!("\n    [{}]", (0..processors).map(cell).collect::<Vec<_>>().join(", "))
        });
        out.push_str(&rows.collect::<Vec<_>>().join(","));
        let _ = writeln!(out, "]\n}}");
        out
    }
}

/// The schedule of a method on an instance: its plan, or its simulated run.
pub fn schedule(
    method: &Method,
    workflow: &Arc<Workflow>,
    platform: &Arc<Platform>,
) -> Result<Schedule, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    match method.kind {
        MethodKind::Plan => {
            let charges = usual_models(platform, workflow).charges();
            let problem = Problem::charged(workflow, platform, &charges, Inputs::of(platform));
            let problem = problem.map_err(|e| text(&e))?;
            method.planner(&problem, 0)?.plan(&problem).map_err(|e| text(&e))
        }
        MethodKind::Simulate => {
            let stage = Stage::new(workflow.clone(), platform.clone());
            let problem = stage.problem().map_err(|e| text(&e))?;
            let mut policy = method.policy(&problem, 0)?;
            let outcome = stage.run_as(policy.as_mut(), Recording::Nothing, None);
            let outcome = outcome.map_err(|e| text(&e))?;
            match outcome.ending {
                Ending::Finished => Ok(outcome.schedule),
                Ending::CannotFinish(why) => Err(why.to_string()),
            }
        }
    }
}

/// Makespans of both methods on an instance, in seconds.
fn ends(a: &Method, b: &Method, text: &str) -> Result<(f64, f64), String> {
    let read = instance::read(text).map_err(|error| error.to_string())?;
    let (workflow, platform) = (Arc::new(read.workflow), Arc::new(read.platform));
    let end = |method: &Method| schedule(method, &workflow, &platform).map(|plan| plan.makespan());
    let (a, b) = (end(a)?, end(b)?);
    if b > 0.0 { Ok((a, b)) } else { Err("a makespan of 0 has no ratio".to_string()) }
}

/// Searches the instance on which the first method is worst against the second. The outcome depends on
/// bounds, iterations and seed alone.
pub fn worst(a: &Method, b: &Method, search: &Search) -> Result<Found, String> {
    let of_chain = |chain: u64| -> Result<Found, String> {
        let mut draws = Seed { seed: search.seed, member: chain }.draws("versus");
        let steps = search.iterations / CHAINS + u64::from(chain < search.iterations % CHAINS);
        let mut now = Instance::drawn(&search.bounds, &mut draws);
        let mut text = now.text();
        let (x, y) = ends(a, b, &text)?;
        let mut level = (x / y).ln();
        let mut best = Found { ratio: x / y, a: x, b: y, instance: text.clone() };
        for step in 1..steps {
            let next = now.changed(&search.bounds, &mut draws);
            text = next.text();
            let (x, y) = ends(a, b, &text)?;
            let reached = (x / y).ln();
            let heat = HOT * (COLD / HOT).powf(step as f64 / steps as f64);
            if reached >= level || draws.unit() < ((reached - level) / heat).exp() {
                (now, level) = (next, reached);
                if x / y > best.ratio {
                    best = Found { ratio: x / y, a: x, b: y, instance: text };
                }
            }
        }
        Ok(best)
    };
    let chains: Vec<u64> = (0..CHAINS.min(search.iterations.max(1))).collect();
    let found: Vec<Result<Found, String>> = chains.into_par_iter().map(of_chain).collect();
    let mut best: Option<Found> = None;
    for found in found {
        let found = found?;
        if best.as_ref().is_none_or(|b| found.ratio > b.ratio) {
            best = Some(found);
        }
    }
    best.ok_or_else(|| "no instance was tried".to_string())
}

/// Ratios on instances drawn from the bounds.
pub fn drawn(a: &Method, b: &Method, search: &Search) -> Result<Drawn, String> {
    let ratio = |member: u64| {
        let mut draws = Seed { seed: search.seed, member }.draws("versus/drawn");
        let instance = Instance::drawn(&search.bounds, &mut draws);
        ends(a, b, &instance.text()).map(|(x, y)| x / y)
    };
    let ratios: Result<Vec<f64>, String> = (0..DRAWN).into_par_iter().map(ratio).collect();
    let ratios = ratios?;
    let summary = Summary::of(&ratios).ok_or("no instance was drawn")?;
    Ok(Drawn {
        n: ratios.len(),
        least: summary.least,
        median: summary.median,
        geometric: summary.geometric.unwrap_or(f64::NAN),
        most: summary.most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_in_the_file_and_repeats() {
        let plan = |name| Method::parse(MethodKind::Plan, name).expect("a planner");
        let (heft, cpop) = (plan("heft"), plan("cpop"));
        let search = Search { bounds: Bounds::default(), iterations: 2000, seed: 1 };
        let found = worst(&heft, &cpop, &search).expect("an instance");
        assert_eq!(ends(&heft, &cpop, &found.instance), Ok((found.a, found.b)));
        let again = worst(&heft, &cpop, &search).expect("an instance");
        assert_eq!(again.instance, found.instance);
        let drawn = drawn(&heft, &cpop, &search).expect("instances");
        assert!(found.ratio > drawn.median && found.ratio > 1.2, "{}", found.ratio);
    }
}
