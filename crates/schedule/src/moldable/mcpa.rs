//! MCPA: Modified CPA (Bansal, Kumar, Singh, Parallel Computing 32(10), 2006), and its extension
//! for uneven levels (Hunold, CCGrid 2010, known as MCPA2).
//!
//! MCPA is CPA that gives a task no further processor once the tasks of its precedence level hold as many as
//! there are, so that a level can run at once. Published descriptions differ in the tasks of the level that
//! count: all of them, or those that ever were on the critical path (`level`).
//!
//! MCPA2 lets a level hold up to twice the processors if its tasks are very uneven: the work of the
//! level fills less than `cover` of the time of its longest task on all processors. Levels of few
//! tasks, below `width` per processor, are not at risk and follow MCPA. Formula and values of the second ratio are not
//! known to us; these are ours. It packs and backfills. O(v p (v + e)).

use super::cpa::{CPA, loop_facts};
use super::machines::Machines;
use super::report::told;
use super::{BACKFILL, MAX_WIDTH, PACKING, Steps, allocation::Levels, on_first, room};
use crate::list::unfinished;
use crate::registry::{Algorithm, Basis, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::workflow::Shape;
use slackline_model::{Problem, Schedule};

const LEVEL: Parameter = Parameter::new(
    "level",
    Kind::Choice(&["all", "critical"]),
    "all",
    "whose processors count on a level: those of all its tasks, or of those that ever were critical",
);
const COVER: Parameter = Parameter::new(
    "cover",
    Kind::Number(0.0, 1.0),
    "0.5",
    "levels whose work fills less of the time of their longest task may exceed the cluster",
);
const WIDTH: Parameter = Parameter::new(
    "width",
    Kind::Number(0.0, f64::INFINITY),
    "0.1",
    "levels of fewer tasks per processor may not",
);

/// Registry entry.
pub const MCPA: Algorithm = Algorithm {
    name: "mcpa",
    about: "CPA that keeps every level no wider than the cluster",
    source: "Bansal, Kumar, Singh, Parallel Computing 32(10), 2006",
    parameters: &[LEVEL, PACKING, BACKFILL, MAX_WIDTH],
    plan: mcpa,
    ..CPA
};

/// Registry entry.
pub const MCPA2: Algorithm = Algorithm {
    name: "mcpa2",
    basis: Basis::Recalled,
    about: "MCPA that lets uneven levels exceed the cluster, with packing and backfilling",
    source: "Hunold, CCGrid 2010",
    parameters: &[COVER, WIDTH, MAX_WIDTH],
    plan: mcpa2,
    ..CPA
};

fn mcpa(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = MCPA.values(request)?;
    let machines = Machines::single(problem, values.maybe_count("max-width"), MCPA.name)?;
    let processors = machines.size();
    let only_critical = values.word("level") == "critical";
    let mut growing = on_first(&machines);
    let mut levels = match only_critical {
        true => Levels::empty(problem),
        false => Levels::new(problem, &growing),
    };
    let mut seen = vec![false; problem.tasks()];
    while growing.critical_path() > growing.work() / processors as f64 {
        if only_critical {
            growing.candidate(|_, _| true);
            for &task in growing.path() {
                if !std::mem::replace(&mut seen[task.index()], true) {
                    levels.add(task, growing.width[task.index()]);
                }
            }
        }
        let next = growing.candidate(|growing, task| {
            growing.width[task.index()] < room(&machines, task)
                && levels.beside(task) < processors as u64
        });
        let Some(task) = next else { break };
        growing.widen(task);
        levels.add(task, 1);
    }
    let facts = loop_facts(growing.iterations(), growing.critical_path());
    let mapper = Steps::of(&values).map(&machines, &growing.width, growing.levels())?;
    Ok(told(&machines, mapper.schedule, facts))
}

fn mcpa2(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = MCPA2.values(request)?;
    let machines = Machines::single(problem, values.maybe_count("max-width"), MCPA2.name)?;
    let processors = machines.size() as f64;
    let (cover, width) = (values.number("cover")?, values.number("width")?);
    let shape = Shape::of(problem.workflow());
    let mut members = vec![Vec::new(); shape.depth()];
    for task in unfinished(problem) {
        members[shape.level[task.index()] as usize].push(task);
    }
    let mut growing = on_first(&machines);
    let mut levels = Levels::new(problem, &growing);
    while growing.critical_path() > growing.work() / processors {
        let next = growing.candidate(|growing, task| {
            let level = &members[shape.level[task.index()] as usize];
            let uneven = || {
                let time = |&t| machines.seconds(t, 0, growing.width[t.index()]);
                let work: f64 =
                    level.iter().map(|t| time(t) * f64::from(growing.width[t.index()])).sum();
                let longest = level.iter().map(time).fold(0.0, f64::max);
                level.len() as f64 >= width * processors && work < cover * processors * longest
            };
            let used = levels.beside(task) as f64;
            growing.width[task.index()] < room(&machines, task)
                && (used < processors || (used < 2.0 * processors && uneven()))
        });
        let Some(task) = next else { break };
        growing.widen(task);
        levels.add(task, 1);
    }
    let facts = loop_facts(growing.iterations(), growing.critical_path());
    let steps = Steps { packing: true, backfill: true };
    let mapper = steps.map(&machines, &growing.width, growing.levels())?;
    Ok(told(&machines, mapper.schedule, facts))
}
