//! CPR: Critical Path Reduction (Radulescu, Nicolescu, van Gemund, Jonker, IPDPS 2001).
//!
//! A task on a longest path gets one processor more if the whole schedule then becomes shorter; a
//! task that brings nothing is passed over until another one does. Ends when no task of a longest
//! path brings anything. Every trial maps the whole graph: O(v p) mappings. Ties: lower task.

use super::cpa::{CPA, loop_facts};
use super::machines::Machines;
use super::report::told;
use super::{Steps, TWO_STEP, on_first, room};
use crate::list::unfinished;
use crate::registry::{Algorithm, PlanError, Request};
use slackline_model::{Problem, Schedule, TaskId, approx};

/// Registry entry.
pub const CPR: Algorithm = Algorithm {
    name: "cpr",
    about: "widen critical tasks one by one as long as the schedule gets shorter",
    source: "Radulescu, Nicolescu, van Gemund, Jonker, IPDPS 2001",
    complexity: "O(v p) mappings",
    parameters: TWO_STEP,
    plan: cpr,
    ..CPA
};

fn cpr(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let values = CPR.values(request)?;
    let machines = Machines::single(problem, values.maybe_count("max-width"), CPR.name)?;
    let steps = Steps::of(&values);
    let workflow = problem.workflow();
    let mut growing = on_first(&machines);
    let mut best = steps.map(&machines, &growing.width, growing.levels())?;
    loop {
        let seconds = |t: TaskId| match problem.state().fixed(t) {
            None => machines.seconds(t, 0, growing.width[t.index()]),
            Some(_) => 0.0,
        };
        let above = workflow.top_levels(seconds, |_| 0.0);
        let longest = growing.critical_path();
        let critical: Vec<TaskId> = unfinished(problem)
            .filter(|&t| approx::eq(above[t.index()] + growing.levels()[t.index()], longest))
            .collect();
        let mut shorter = false;
        for task in critical {
            if growing.width[task.index()] >= room(&machines, task) {
                continue;
            }
            growing.widen(task);
            let trial = steps.map(&machines, &growing.width, growing.levels())?;
            if approx::lt(trial.schedule.makespan(), best.schedule.makespan()) {
                best = trial;
                shorter = true;
                break;
            }
            growing.narrow(task);
        }
        if !shorter {
            break;
        }
    }
    let facts = loop_facts(growing.iterations(), growing.critical_path());
    Ok(told(&machines, best.schedule, facts))
}
