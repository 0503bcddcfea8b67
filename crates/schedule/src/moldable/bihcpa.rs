//! biCPA over HCPA's virtual cluster: two criteria on several clusters. Our own answer to a gap
//! that the habilitation names.
//!
//! As biCPA, but widths grow on the virtual cluster, for every whole number of virtual processors
//! up to its size, and are translated and mapped as HCPA's. The plan that the others are weighed
//! against is that of the whole virtual cluster (HCPA of 2006). O(v P (v + e)) and P mappings.

use super::allocation::Allocation;
use super::bicpa::{Candidate, Criterion, Point, choose};
use super::cpa::loop_facts;
use super::hcpa::{HCPA, Translation};
use super::machines::Machines;
use super::report::told;
use super::virtual_cluster::VirtualCluster;
use super::{BACKFILL, MAX_WIDTH, PACKING, Steps};
use crate::registry::{Algorithm, Basis, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::{Problem, Schedule};

const CRITERION: Parameter = Parameter::new(
    "criterion",
    Kind::Choice(&["makespan", "work", "equity", "sum"]),
    "makespan",
    "which plan is taken: the shortest, the one of least work, both alike, the least sum of ratios",
);

/// Registry entry.
pub const BIHCPA: Algorithm = Algorithm {
    name: "bihcpa",
    basis: Basis::Own,
    about: "biCPA over the virtual cluster of HCPA",
    source: "ours, after Suter, habilitation, 2014",
    complexity: "O(v P (v + e)), P mappings, P virtual processors",
    parameters: &[CRITERION, PACKING, BACKFILL, MAX_WIDTH],
    plan: bihcpa,
    ..HCPA
};

fn bihcpa(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = BIHCPA.values(request)?;
    let criterion = match values.word("criterion") {
        "work" => Criterion::Work,
        "equity" => Criterion::Equity,
        "sum" => Criterion::Sum,
        _ => Criterion::Makespan,
    };
    let machines = Machines::new(problem, values.maybe_count("max-width"))?;
    let ground = VirtualCluster::new(&machines);
    let translation = Translation::new(&ground, &machines);
    let mut growing = Allocation::new(problem, |task, width| ground.seconds(task, width));
    let (steps, last) = (Steps::of(&values), ground.size.round().max(1.0) as usize);
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut mapped = None;
    for divisor in 1..=last {
        let exact = if divisor == last { ground.size } else { divisor as f64 };
        growing.balance(exact, |g, task| translation.may_grow(task, g.width[task.index()]));
        if mapped == Some(growing.iterations()) && divisor < last {
            continue;
        }
        mapped = Some(growing.iterations());
        let mut facts = loop_facts(growing.iterations(), growing.critical_path());
        facts.extend(translation.facts(&growing.width));
        let mapper = translation.map(&growing.width, growing.levels(), steps)?;
        candidates.push(Candidate::new(divisor, mapper, facts));
    }
    let points: Vec<Point> = candidates.iter().map(|c| c.point).collect();
    let Candidate { schedule, facts, .. } =
        candidates.swap_remove(choose(&points, criterion, true));
    Ok(told(&machines, schedule, facts))
}
