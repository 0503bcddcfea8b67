//! MHEFT: HEFT for moldable tasks on several clusters (Casanova, Desprez, Suter, Euro-Par 2004),
//! and its bounded variants (N'takpé, Suter, Casanova, ISPDC 2007).
//!
//! Ranks as HEFT's, from one-processor times averaged over all processors. Each task tries every
//! width on every cluster and takes the earliest end; ties: fewer processors, then the lower
//! cluster. Widths then tend to be as large as clusters, so the variants bound them: -IMP grows while one more processor
//! improves the time by at least x %, -EFF while the efficiency is at least x %, -MAX to x % of the
//! cluster. O(v p) slots.

use super::cpa::CPA;
use super::machines::Machines;
use super::mapping::{Mapper, Slot, by_priority, map_by};
use super::report::told;
use super::{BACKFILL, MAX_WIDTH, Steps};
use crate::list::ranks;
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule, TaskId, approx};
use std::cell::Cell;

const IMPROVEMENT: Parameter = Parameter::new(
    "x",
    Kind::Number(0.0, 100.0),
    "5",
    "per cent by which one more processor must shorten a task",
)
.published("5");
const EFFICIENCY: Parameter = Parameter::new(
    "x",
    Kind::Number(0.0, 100.0),
    "50",
    "least parallel efficiency of a task, per cent",
)
.published("50");
const SHARE: Parameter = Parameter::new(
    "x",
    Kind::Number(0.0, 100.0),
    "50",
    "most processors of a cluster that a task gets, per cent",
)
.published("50");

/// Registry entry.
pub const MHEFT: Algorithm = Algorithm {
    name: "mheft",
    about: "HEFT over every width on every cluster",
    source: "Casanova, Desprez, Suter, Euro-Par 2004",
    complexity: "O(v p + e p)",
    parameters: &[BACKFILL, MAX_WIDTH],
    plan: mheft,
    ..CPA
};

/// Registry entry: widths bounded by what one more processor brings.
pub const IMP: Algorithm = Algorithm {
    name: "mheft-imp",
    about: "MHEFT, a task grows while one more processor shortens it by x %",
    source: "N'takpé, Suter, Casanova, ISPDC 2007",
    parameters: &[IMPROVEMENT, BACKFILL, MAX_WIDTH],
    plan: mheft_imp,
    ..MHEFT
};

/// Registry entry: widths bounded by efficiency.
pub const EFF: Algorithm = Algorithm {
    name: "mheft-eff",
    about: "MHEFT, a task grows while its efficiency is at least x %",
    parameters: &[EFFICIENCY, BACKFILL, MAX_WIDTH],
    plan: mheft_eff,
    ..IMP
};

/// Registry entry: widths bounded by a share of the cluster.
pub const MAX: Algorithm = Algorithm {
    name: "mheft-max",
    about: "MHEFT, a task gets at most x % of a cluster",
    parameters: &[SHARE, BACKFILL, MAX_WIDTH],
    plan: mheft_max,
    ..IMP
};

fn mheft(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    bounded(&MHEFT, problem, request, |_, _, _, (_, most)| most)
}

fn mheft_imp(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    bounded(&IMP, problem, request, |machines, (task, cluster), x, widths| {
        let time = |width| machines.seconds(task, cluster, width);
        grown(widths, |width| {
            let (before, after) = (time(width - 1), time(width));
            approx::le(x / 100.0 * before, before - after)
        })
    })
}

fn mheft_eff(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    bounded(&EFF, problem, request, |machines, (task, cluster), x, widths| {
        let alone = machines.seconds(task, cluster, 1);
        grown(widths, |width| {
            let work = f64::from(width) * machines.seconds(task, cluster, width);
            approx::le(x / 100.0 * work, alone)
        })
    })
}

fn mheft_max(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    bounded(&MAX, problem, request, |machines, (_, cluster), x, (least, most)| {
        let share = x / 100.0 * machines.clusters[cluster].size() as f64;
        ((share + approx::EPSILON) as u32).clamp(least, most)
    })
}

/// The largest width reached from the least one while `grows(width)`.
fn grown((least, most): (u32, u32), grows: impl Fn(u32) -> bool) -> u32 {
    (least + 1..=most).take_while(|&width| grows(width)).last().unwrap_or(least)
}

/// The largest width of (task, cluster) with parameter x, of what both allow.
type Bound = fn(&Machines<'_, '_>, (TaskId, usize), f64, (u32, u32)) -> u32;

fn bounded(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    request: &Request,
    bound: Bound,
) -> Result<Schedule, PlanError> {
    let values = algorithm.values(request)?;
    let machines = Machines::new(problem, values.maybe_count("max-width"))?;
    let x = values.maybe_number("x");
    let rank = ranks::upward(problem);
    let mapper = map_by(&machines, by_priority(problem, &rank), |mapper, task| {
        earliest(mapper, task, |cluster| {
            let widths = machines.widths(task, cluster)?;
            Some((widths.0, bound(&machines, (task, cluster), x.unwrap_or(0.0), widths)))
        })
    })?;
    let steps = Steps { packing: false, backfill: values.switch("backfill") };
    let facts = x.map(|x| ("constraint", Detail::Number(x))).into_iter().collect();
    Ok(told(&machines, steps.finished(&machines, mapper).schedule, facts))
}

/// The slot of earliest end over all clusters and the widths that `widths(cluster)` allows; of
/// equal ones the narrowest, then the first cluster.
pub(super) fn earliest(
    mapper: &Mapper<'_, '_, '_>,
    task: TaskId,
    widths: impl Fn(usize) -> Option<(u32, u32)>,
) -> Option<Slot> {
    let least = Cell::new(f64::INFINITY);
    let mut slots: Vec<Slot> = Vec::new();
    for cluster in 0..mapper.clusters() {
        let Some(widths) = widths(cluster) else { continue };
        let hopeless = |finish| approx::gt(finish, least.get());
        mapper.slots(task, cluster, widths, hopeless, |slot| {
            least.set(least.get().min(slot.finish));
            slots.push(slot);
        });
    }
    // Ties are with the least end, not with each other: many small steps make a long way.
    let ends_first = slots.into_iter().filter(|slot| approx::le(slot.finish, least.get()));
    ends_first.min_by_key(|slot| (slot.width, slot.cluster))
}
