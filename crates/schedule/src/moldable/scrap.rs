//! SCRAP and SCRAP-MAX: allocation under a resource constraint (N'takpé, Suter, PDCS 2007).
//!
//! CPA's loop, stopped where the work over the longest path would use more than the share `beta` of
//! the cluster; the addition that passes the mark is taken back. SCRAP-MAX also keeps every
//! precedence level within that share. SCRAP bounds the mean use, SCRAP-MAX that of each level:
//! tasks of several levels may still overlap. O(v p (v + e)).

use super::allocation::{Allocation, Levels};
use super::cpa::{CPA, loop_facts};
use super::machines::Machines;
use super::report::told;
use super::{BACKFILL, MAX_WIDTH, PACKING, Steps, on_first, room};
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter, bad};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule, TaskId, approx};

const BETA: Parameter = Parameter::new(
    "beta",
    Kind::Number(0.0, 1.0),
    "1",
    "share of the processors that may be used, above 0",
);

/// Registry entry.
pub const SCRAP: Algorithm = Algorithm {
    name: "scrap",
    about: "CPA within a share of the cluster, on average",
    source: "N'takpé, Suter, PDCS 2007",
    parameters: &[BETA, PACKING, BACKFILL, MAX_WIDTH],
    plan: scrap,
    ..CPA
};

/// Registry entry.
pub const MAX: Algorithm = Algorithm {
    name: "scrap-max",
    about: "CPA within a share of the cluster on every level",
    plan: scrap_max,
    ..SCRAP
};

fn scrap(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    within_share(&SCRAP, problem, request, false)
}

fn scrap_max(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    within_share(&MAX, problem, request, true)
}

fn within_share(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    request: &Request,
    per_level: bool,
) -> Result<Schedule, PlanError> {
    let values = algorithm.values(request)?;
    let beta = values.number("beta")?;
    if beta <= 0.0 {
        return Err(bad("beta", beta, "a share above 0 is needed").into());
    }
    let machines = Machines::single(problem, values.maybe_count("max-width"), algorithm.name)?;
    let mut growing = on_first(&machines);
    constrain(&mut growing, &machines, beta, per_level);
    let mut facts = loop_facts(growing.iterations(), growing.critical_path());
    facts.push(("constraint", Detail::Number(beta)));
    let mapper = Steps::of(&values).map(&machines, &growing.width, growing.levels())?;
    Ok(told(&machines, mapper.schedule, facts))
}

/// The loop under the share `beta` of the first cluster.
pub(super) fn constrain<F: Fn(TaskId, u32) -> f64>(
    growing: &mut Allocation<'_, F>,
    machines: &Machines<'_, '_>,
    beta: f64,
    per_level: bool,
) {
    let processors = machines.clusters[0].size() as f64;
    let used = |growing: &Allocation<'_, F>| growing.work() / growing.critical_path() / processors;
    let mut levels = Levels::new(machines.problem, growing);
    while approx::lt(used(growing), beta) {
        let next = growing.candidate(|growing, task| {
            let room = growing.width[task.index()] < room(machines, task);
            room && (!per_level || approx::lt(levels.beside(task) as f64, beta * processors))
        });
        let Some(task) = next else { break };
        growing.widen(task);
        levels.add(task, 1);
        if approx::gt(used(growing), beta) {
            growing.narrow(task);
            break;
        }
    }
}
