//! iCASLB (Vydyanathan et al., ICPP 2006) and LoC-MPS (the same, IEEE TPDS 20(9), 2009): widths and
//! places decided together.
//!
//! The whole graph is scheduled with backfilling. Its schedule has a longest chain: a task waits for the data
//! of a parent or for the task that held its processors before. A task of that chain gets one processor more,
//! and everything is scheduled again. Up to `look-ahead` such steps may bring nothing before they are taken
//! back, and the task that began them is passed over until another one helps. Ends when no task of the chain is
//! left.
//!
//! iCASLB widens the task of the chain that shortens most. LoC-MPS takes, of those that shorten
//! about as much, the one beside which least could run; where the chain spends more time on data than on work it
//! widens the narrower end of its longest transfer; and it prefers processors that hold the data. Recalled: the
//! order of these steps is known, their details are ours. Ties: lower task.

use super::backfill::backfill;
use super::cpa::CPA;
use super::machines::Machines;
use super::mapping::{Mapper, edge_arrival};
use super::report::told;
use super::{MAX_WIDTH, room};
use crate::list::ReadyList;
use crate::registry::{Algorithm, Basis, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter};
use slackline_model::schedule::Detail;
use slackline_model::{Placement, Problem, ProcId, Schedule, TaskId, approx};

const LOOK_AHEAD: Parameter = Parameter::new(
    "look-ahead",
    Kind::Count(1, 1000),
    "20",
    "how many processors may be added in a row before one of them has to pay",
)
.published("20");

/// Registry entry.
pub const ICASLB: Algorithm = Algorithm {
    name: "icaslb",
    basis: Basis::Recalled,
    about: "widen the longest chain of the schedule, with look-ahead and backfilling",
    source: "Vydyanathan et al., ICPP 2006",
    complexity: "O(v) schedules per added processor",
    parameters: &[LOOK_AHEAD, MAX_WIDTH],
    plan: icaslb,
    ..CPA
};

/// Registry entry.
pub const LOC_MPS: Algorithm = Algorithm {
    name: "loc-mps",
    about: "iCASLB that also widens transfers and keeps data where it is",
    source: "Vydyanathan et al., IEEE TPDS 20(9), 2009",
    plan: loc_mps,
    ..ICASLB
};

/// Improvements this close to the best are weighed by what could run beside the task.
const ABOUT_AS_MUCH: f64 = 0.9;

fn icaslb(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    search(&ICASLB, problem, request, false)
}

fn loc_mps(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    search(&LOC_MPS, problem, request, true)
}

/// Widths with their schedule.
#[derive(Clone)]
struct State {
    width: Vec<u32>,
    schedule: Schedule,
    added: u64,
}

fn search(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    request: &Request,
    local: bool,
) -> Result<Schedule, PlanError> {
    let values = algorithm.values(request)?;
    let machines = Machines::single(problem, values.maybe_count("max-width"), algorithm.name)?;
    let depth = values.count("look-ahead")?;
    let beside = local.then(|| beside(problem));
    let narrow = problem.workflow().tasks().map(|t| problem.workflow().width(t).0).collect();
    let mut best = State { width: narrow, schedule: Schedule::default(), added: 0 };
    best.schedule = scheduled(&machines, &best.width, local)?;
    let mut barred = vec![false; problem.tasks()];
    loop {
        let mut now = best.clone();
        let mut first = None;
        let mut pays = false;
        for _ in 0..depth {
            let open = |t: TaskId| first.is_some() || !barred[t.index()];
            let widened = candidates(&machines, &now, beside.as_deref(), open);
            let Some(&task) = widened.first() else { break };
            first.get_or_insert(task);
            for task in widened {
                now.width[task.index()] += 1;
                now.added += 1;
            }
            now.schedule = scheduled(&machines, &now.width, local)?;
            if approx::lt(now.schedule.makespan(), best.schedule.makespan()) {
                best = now.clone();
                pays = true;
                break;
            }
        }
        match first {
            _ if pays => barred.fill(false),
            Some(task) => barred[task.index()] = true,
            None => break,
        }
    }
    let facts = vec![("iterations", Detail::Count(best.added))];
    Ok(told(&machines, best.schedule, facts))
}

/// The schedule of given widths, by falling bottom level, with backfilling.
fn scheduled(
    machines: &Machines<'_, '_>,
    width: &[u32],
    local: bool,
) -> Result<Schedule, PlanError> {
    let problem = machines.problem;
    let seconds = |t: TaskId| machines.seconds(t, 0, width[t.index()]);
    let level = problem.workflow().bottom_levels(seconds, |_| 0.0);
    let mut mapper = Mapper::new(machines);
    let mut ready = ReadyList::new(problem, &level);
    while let Some(task) = ready.pop() {
        let width = width[task.index()];
        let Some(slot) = mapper.slot(task, 0, width) else {
            let task = problem.workflow().task_name(task).to_string();
            return Err(PlanError::Nowhere { task });
        };
        let near = if local { near(&mapper, machines, task, width) } else { None };
        match near.filter(|(_, start)| approx::le(*start, slot.start)) {
            Some((procs, start)) => {
                let finish = start + machines.seconds(task, 0, width);
                mapper.place_on(task, 0, &procs, (start, finish));
            }
            None => mapper.place(task, slot),
        }
    }
    backfill(machines, &mut mapper.schedule, &mapper.placed);
    Ok(mapper.schedule)
}

/// The processors that parents used first, and when the task could start there.
fn near(
    mapper: &Mapper<'_, '_, '_>,
    machines: &Machines<'_, '_>,
    task: TaskId,
    width: u32,
) -> Option<(Vec<ProcId>, f64)> {
    let workflow = machines.problem.workflow();
    if !workflow.spreads(task) {
        return None;
    }
    let mut procs = mapper.sequence(0, mapper.ready(task), machines.size());
    let of_a_parent = |p: &ProcId| {
        let mut parents = workflow.predecessors(task);
        parents.any(|(parent, _)| {
            let placed = mapper.schedule.placement(parent);
            placed.is_some_and(|placed| placed.procs().binary_search(p).is_ok())
        })
    };
    procs.sort_by_key(|p| !of_a_parent(p));
    procs.truncate(width as usize);
    let start = mapper.start_on(task, &procs);
    Some((procs, start))
}

/// A longest chain of a schedule from its end to its begin, each with the seconds its data was
/// under way to it; none where it waited for a processor.
fn chain(machines: &Machines<'_, '_>, schedule: &Schedule) -> Vec<(TaskId, Option<(TaskId, f64)>)> {
    let problem = machines.problem;
    let workflow = problem.workflow();
    let open = || crate::list::unfinished(problem);
    let placed = |t: TaskId| schedule.placement(t);
    let mut next = open().reduce(|a, b| {
        let end = |t| placed(t).map_or(0.0, |p| p.finish);
        if approx::gt(end(b), end(a)) { b } else { a }
    });
    let mut chain = Vec::new();
    while let Some(task) = next {
        let Some(own) = placed(task) else { break };
        let tight = |date: f64| approx::eq(date, own.start);
        let fed = workflow.predecessors(task).find_map(|(parent, edge)| {
            let source = placed(parent)?;
            let there = edge_arrival(machines, edge, source, own.procs());
            (problem.state().fixed(parent).is_none() && tight(there))
                .then_some((parent, there - source.finish))
        });
        let shares =
            |other: &Placement| other.procs().iter().any(|p| own.procs().binary_search(p).is_ok());
        let before = || {
            open().find(|&t| {
                t != task
                    && placed(t)
                        .is_some_and(|p| tight(p.finish) && p.start < own.start && shares(p))
            })
        };
        chain.push((task, fed));
        next = fed.map(|(parent, _)| parent).or_else(before);
        if chain.len() > problem.tasks() {
            break; // tasks of no length can hold each other up
        }
    }
    chain
}

/// The tasks that get a processor each: one, or both ends of a transfer. Only tasks for which `open` returns
/// true are considered.
fn candidates(
    machines: &Machines<'_, '_>,
    state: &State,
    beside: Option<&[f64]>,
    open: impl Fn(TaskId) -> bool,
) -> Vec<TaskId> {
    let chain = chain(machines, &state.schedule);
    let width = |t: TaskId| state.width[t.index()];
    let seconds = |t: TaskId, w| machines.seconds(t, 0, w);
    let grows = |t: TaskId| width(t) < room(machines, t) && open(t);
    if beside.is_some() {
        let work: f64 = chain.iter().map(|&(t, _)| seconds(t, width(t))).sum();
        let moved: f64 = chain.iter().filter_map(|(_, fed)| Some(fed.as_ref()?.1)).sum();
        let longest = chain
            .iter()
            .filter_map(|&(t, fed)| Some((fed?.0, t, fed?.1)))
            .reduce(|a, b| if approx::gt(b.2, a.2) { b } else { a });
        if let Some((from, to, _)) = longest.filter(|_| moved > work) {
            let ends = match width(from).cmp(&width(to)) {
                std::cmp::Ordering::Less => vec![from],
                std::cmp::Ordering::Greater => vec![to],
                std::cmp::Ordering::Equal => vec![from, to],
            };
            if ends.iter().all(|&t| grows(t)) {
                return ends;
            }
        }
    }
    let gain = |t: TaskId| seconds(t, width(t)) - seconds(t, width(t) + 1);
    let mut able: Vec<TaskId> = chain.iter().map(|c| c.0).filter(|&t| grows(t)).collect();
    able.retain(|&t| gain(t) > 0.0);
    able.sort_unstable();
    let most = able.iter().map(|&t| gain(t)).fold(0.0, f64::max);
    let chosen = match beside {
        None => able.into_iter().reduce(|a, b| if approx::gt(gain(b), gain(a)) { b } else { a }),
        Some(beside) => {
            let crowd = |t: TaskId| beside[t.index()] / seconds(t, width(t));
            let about = able.into_iter().filter(|&t| gain(t) >= ABOUT_AS_MUCH * most);
            about.reduce(|a, b| if approx::lt(crowd(b), crowd(a)) { b } else { a })
        }
    };
    chosen.into_iter().collect()
}

/// Per task: the one-processor work of all tasks that neither need it nor are needed by it.
fn beside(problem: &Problem<'_>) -> Vec<f64> {
    let workflow = problem.workflow();
    let words = workflow.len().div_ceil(64);
    let mut above = vec![0u64; workflow.len() * words];
    for &task in workflow.topological_order() {
        for (parent, _) in workflow.predecessors(task) {
            let (to, from) = (task.index() * words, parent.index() * words);
            for word in 0..words {
                above[to + word] |= above[from + word];
            }
            above[to + parent.index() / 64] |= 1 << (parent.index() % 64);
        }
    }
    let needs = |t: TaskId, p: TaskId| {
        above[t.index() * words + p.index() / 64] >> (p.index() % 64) & 1 == 1
    };
    let alone = |t: TaskId| workflow.tasks().filter(move |&u| u != t);
    let work = |t: TaskId| {
        alone(t).filter(|&u| !needs(t, u) && !needs(u, t)).map(|u| problem.best_exec(u)).sum()
    };
    workflow.tasks().map(work).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{instance, plan, widths};
    use super::*;

    /// Two tasks without serial part beside each other on four processors: two each, both end
    /// together; a chain gets the whole cluster.
    #[test]
    fn widths_follow_the_longest_chain() {
        let beside = instance(&[(8.0, 0.0), (8.0, 0.0)], &[], &[(4, 1.0)]);
        let after = instance(&[(8.0, 0.0), (8.0, 0.0)], &[(0, 1)], &[(4, 1.0)]);
        for name in ["icaslb", "loc-mps"] {
            let problem = Problem::new(&beside.workflow, &beside.platform).unwrap();
            let schedule = plan(&problem, name, &[]);
            assert_eq!((schedule.makespan(), widths(&schedule)), (4.0, vec![2, 2]), "{name}");
            let problem = Problem::new(&after.workflow, &after.platform).unwrap();
            let schedule = plan(&problem, name, &[]);
            assert_eq!((schedule.makespan(), widths(&schedule)), (4.0, vec![4, 4]), "{name}");
        }
    }
}
