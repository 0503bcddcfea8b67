//! Parameter sweeps: independent tasks that share input files, planned over one Gantt chart of
//! processors *and* links (Berman, Casanova, Dongarra, Hayes, Obertelli, Su, Wolski, Zagorodnov:
//! the AppLeS parameter sweep report, 1999).
//!
//! The inputs are at the origin; every cluster is connected to it by one link that serves one transfer at a
//! time, and keeps files once they are brought, for all its hosts. The chart ([`Chart`]) has slots for
//! transfers, computations and the return of outputs; the heuristics ([`Heuristic`]) differ in the choice of
//! the next task; interchangeable tasks are evaluated together. All plan at the levels of the present date. O(v
//! (k + c log h)) for v tasks of c classes on k clusters of h hosts. Without an origin there is nothing to
//! bring. If a task can run nowhere, there is no plan.

mod chart;
mod choose;
mod free_times;
mod ground;
mod task_groups;
mod ways;

pub use chart::{Chart, Computation, Transfer};
pub use choose::{Height, Heuristic, Limit, Rule, draw_some, fill, step};
pub use ground::{Cluster, Ground, capacities, clusters, kinds};
pub use ways::{Between, EXCHANGE, RESULTS, Way, Ways, Wishes};

use crate::list::unfinished;
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::parameter::{Kind, Parameter, ParameterError, Values, bad};
use slackline_model::rng::stream;
use slackline_model::schedule::PlannedTransfer;
use slackline_model::units::fmt_bytes;
use slackline_model::{FileId, Placement, Problem, Schedule, approx};
use std::collections::BTreeSet;

/// Parameter: event that counts as the completion of a task.
pub const COMPLETION: Parameter = Parameter::new(
    "completion",
    Kind::Choice(&["output", "compute"]),
    "output",
    "what completes a task: the return of its output, or its computation",
)
.published("output");

/// Parameter: height of the step behind the good clusters.
pub const JUMP: Parameter = Parameter::new(
    "jump",
    Kind::Choice(&["height", "groups"]),
    "height",
    "what a task suffers at the step behind its good clusters: its height, or the difference of the \
     means of the groups on its sides",
);

/// Parameter: least rise that counts as a step.
pub const STEP: Parameter = Parameter::new(
    "step",
    Kind::Choice(&["at-least", "above"]),
    "at-least",
    "a rise is a step if it is at least, or as printed above, the mean and one deviation",
);

/// Parameter: choice of the second best processor.
pub const SECOND: Parameter = Parameter::new(
    "second",
    Kind::Choice(&["other", "literal"]),
    "other",
    "second best processor: any other, or as printed none of the best cluster or number",
);

/// Parameter: relative distance from the best within which the choice is random.
pub const RHO: Parameter = Parameter::new(
    "rho",
    Kind::Number(0.0, 1.0),
    "0.001",
    "random choice among what is within this part of the best",
);

const SOURCE: &str = "Berman et al., parameter sweep report, 1999";

/// Registry entry, H1.
pub const MIN_MIN: Algorithm = Algorithm {
    name: "sweep-minmin",
    family: Family::Sweep,
    basis: Basis::Published,
    about: "sweep (H1): task of smallest least completion time first",
    source: SOURCE,
    complexity: "O(v^2 log p)",
    parameters: &[EXCHANGE, RESULTS, COMPLETION],
    needs: &[Need::Independent],
    plan: |problem, request| plan(problem, request, &MIN_MIN, Rule::MinMin, false),
};

/// Registry entry, H2.
pub const MAX_MIN: Algorithm = Algorithm {
    name: "sweep-maxmin",
    about: "sweep (H2): task of largest least completion time first",
    plan: |problem, request| plan(problem, request, &MAX_MIN, Rule::MaxMin, false),
    ..MIN_MIN
};

/// Registry entry, H3.
pub const SUFFERAGE: Algorithm = Algorithm {
    name: "sweep-sufferage",
    about: "sweep (H3): task first that would lose most on another host",
    parameters: &[EXCHANGE, RESULTS, COMPLETION, SECOND],
    plan: |problem, request| plan(problem, request, &SUFFERAGE, Rule::Sufferage, false),
    ..MIN_MIN
};

/// Registry entry, H4.
pub const EXTENDED: Algorithm = Algorithm {
    name: "sweep-extended",
    about: "sweep (H4): task first that would lose most outside its good clusters",
    parameters: &[EXCHANGE, RESULTS, COMPLETION, JUMP, STEP],
    plan: |problem, request| plan(problem, request, &EXTENDED, Rule::Extended, false),
    ..MIN_MIN
};

/// Registry entry, H5.
pub const MIN_MIN_RANDOM: Algorithm = Algorithm {
    name: "sweep-minmin-random",
    about: "sweep (H5): H1 with a random choice among nearly equal ones",
    parameters: &[EXCHANGE, RESULTS, COMPLETION, RHO],
    plan: |problem, request| plan(problem, request, &MIN_MIN_RANDOM, Rule::MinMin, true),
    ..MIN_MIN
};

/// Registry entry, H6.
pub const MAX_MIN_RANDOM: Algorithm = Algorithm {
    name: "sweep-maxmin-random",
    about: "sweep (H6): H2 with a random choice among nearly equal ones",
    parameters: &[EXCHANGE, RESULTS, COMPLETION, RHO],
    plan: |problem, request| plan(problem, request, &MAX_MIN_RANDOM, Rule::MaxMin, true),
    ..MIN_MIN
};

/// Registry entry, H7.
pub const SUFFERAGE_RANDOM: Algorithm = Algorithm {
    name: "sweep-sufferage-random",
    about: "sweep (H7): H3 with a random choice among nearly equal ones",
    parameters: &[EXCHANGE, RESULTS, COMPLETION, SECOND, RHO],
    plan: |problem, request| plan(problem, request, &SUFFERAGE_RANDOM, Rule::Sufferage, true),
    ..MIN_MIN
};

/// Registry entry, H8.
pub const EXTENDED_RANDOM: Algorithm = Algorithm {
    name: "sweep-extended-random",
    about: "sweep (H8): H4 with a random choice among nearly equal ones",
    parameters: &[EXCHANGE, RESULTS, COMPLETION, JUMP, STEP, RHO],
    plan: |problem, request| plan(problem, request, &EXTENDED_RANDOM, Rule::Extended, true),
    ..MIN_MIN
};

/// Registry entry, H9.
pub const SUFFERAGE_2: Algorithm = Algorithm {
    name: "sweep-sufferage2",
    about: "sweep (H9): task with the fewest good clusters first",
    parameters: &[EXCHANGE, RESULTS, COMPLETION, JUMP, STEP],
    plan: |problem, request| plan(problem, request, &SUFFERAGE_2, Rule::Fewest, false),
    ..MIN_MIN
};

/// Registry entry, XSufferage.
pub const XSUFFERAGE: Algorithm = Algorithm {
    name: "sweep-xsufferage",
    about: "sweep: task first that would lose most on its second best cluster",
    source: "Casanova, Legrand, Zagorodnov, Berman, HCW, 2000",
    plan: |problem, request| plan(problem, request, &XSUFFERAGE, Rule::Clusters, false),
    ..MIN_MIN
};

/// Registry entry: random task, best machine.
pub const RANDOM_MET: Algorithm = Algorithm {
    name: "sweep-random-met",
    about: "sweep: a random task to the host where its computation alone is shortest",
    plan: |problem, request| plan(problem, request, &RANDOM_MET, Rule::Any, false),
    ..MIN_MIN
};

/// The sweep planners with their rules and whether they draw among nearly equal ones; the policies
/// of the same names plan with them.
pub const ALL: &[(&Algorithm, Rule, bool)] = &[
    (&MIN_MIN, Rule::MinMin, false),
    (&MAX_MIN, Rule::MaxMin, false),
    (&SUFFERAGE, Rule::Sufferage, false),
    (&EXTENDED, Rule::Extended, false),
    (&MIN_MIN_RANDOM, Rule::MinMin, true),
    (&MAX_MIN_RANDOM, Rule::MaxMin, true),
    (&SUFFERAGE_RANDOM, Rule::Sufferage, true),
    (&EXTENDED_RANDOM, Rule::Extended, true),
    (&SUFFERAGE_2, Rule::Fewest, false),
    (&XSUFFERAGE, Rule::Clusters, false),
    (&RANDOM_MET, Rule::Any, false),
];

/// The random numbers of a planning call.
pub const STREAM: &str = "sweep";

/// A heuristic with the parameters it has been given.
pub fn heuristic(rule: Rule, random: bool, values: &Values) -> Result<Heuristic, ParameterError> {
    Ok(Heuristic {
        random: if random { Some(values.number("rho")?) } else { None },
        height: if values.word("jump") == "groups" { Height::Groups } else { Height::Step },
        strict_step: values.word("step") == "above",
        literal_second: values.word("second") == "literal",
        ..Heuristic::new(rule)
    })
}

/// Whether a sweep can be made of a problem: clusters behind one link each, a way for outputs, and a
/// storage for every task. Says what is in the way.
pub fn check(problem: &Problem<'_>, wishes: &Wishes) -> Result<(), PlanError> {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let date = problem.state().now;
    let unsupported = |why| PlanError::Unsupported { algorithm: "a sweep", why };
    let clusters = clusters(platform, date).map_err(unsupported)?;
    let results = wishes.results.as_deref().unwrap_or_default();
    Ways::of(platform, &clusters, wishes, date).map_err(|why| bad(RESULTS.name, results, why))?;
    let largest = capacities(platform, &clusters).into_iter().reduce(f64::max);
    let Some(largest) = largest else { return Ok(()) };
    for task in workflow.tasks() {
        let inputs = workflow.inputs(task).filter(|_| problem.state().inputs_listed);
        let files: BTreeSet<FileId> = inputs.chain(workflow.outputs(task)).collect();
        let needs: f64 = files.into_iter().map(|file| workflow.file_bytes(file)).sum();
        if approx::gt(needs, largest) {
            let (name, needs) = (workflow.task_name(task), fmt_bytes(needs));
            let holds = fmt_bytes(largest);
            let why = format!(
                "task '{name}' reads and writes {needs}, the largest storage of a cluster holds {holds}"
            );
            return Err(PlanError::Infeasible { why });
        }
    }
    Ok(())
}

fn plan(
    problem: &Problem<'_>,
    request: &Request,
    method: &Algorithm,
    rule: Rule,
    random: bool,
) -> Result<Schedule, PlanError> {
    let values = method.values(request)?;
    let heuristic = heuristic(rule, random, &values)?;
    let mut ground = Ground::of(problem, method.name)?;
    ground.until_computed = values.word("completion") == "compute";
    let unsupported = |why: String| PlanError::Unsupported { algorithm: method.name, why };
    let wishes = Wishes::read(&values);
    check(problem, &wishes)?;
    ground.ways =
        Ways::of(problem.platform(), &ground.clusters, &wishes, ground.now).map_err(unsupported)?;
    let mut chart = Chart::new(&ground);
    let state = problem.state();
    for proc in problem.proc_ids() {
        chart.block_proc(proc, problem.available_from(proc));
    }
    for placement in problem.workflow().tasks().filter_map(|t| state.fixed(t)) {
        placement.procs().iter().for_each(|&proc| chart.block_proc(proc, placement.finish));
    }
    let platform = problem.platform();
    for copy in &state.copies {
        let at = |c: &Cluster| platform.place_of(c.gate) == platform.place_of(copy.host);
        if let Some(cluster) = ground.clusters.iter().position(at) {
            chart.bring(cluster, copy.file, copy.at);
        }
    }
    let open: Vec<_> = unfinished(problem).collect();
    let mut draws = stream(request.seed, STREAM, 0);
    fill(&mut chart, &ground, &open, &heuristic, Limit::NONE, &mut draws);
    let mut schedule = Schedule::start(problem);
    for c in &chart.computations {
        schedule.place(c.task, Placement::new(c.proc, c.start, c.finish));
    }
    if let Some(&task) = open.iter().find(|&&t| schedule.placement(t).is_none()) {
        let task = problem.workflow().task_name(task).to_string();
        return Err(PlanError::Nowhere { task });
    }
    schedule.transfers = planned(&chart, &ground, platform.origin());
    Ok(schedule)
}

/// The transfers of a chart by date, with their links.
fn planned(
    chart: &Chart<'_>,
    ground: &Ground<'_>,
    origin: Option<slackline_model::HostId>,
) -> Vec<PlannedTransfer> {
    let Some(origin) = origin else { return Vec::new() };
    let one = |t: &Transfer| {
        let gate = ground.clusters[t.cluster].gate;
        let (from, to) = if t.is_output {
            (gate, ground.ways.results.unwrap_or(origin))
        } else {
            (t.from.map_or(origin, |c| ground.clusters[c].gate), gate)
        };
        let link = match ground.clusters.get(t.line) {
            Some(own) => own.link,
            None => ground.ways.links.get(t.line - ground.clusters.len()).copied(),
        };
        PlannedTransfer { file: t.file, from, to, link, start: t.start, finish: t.finish }
    };
    let mut transfers: Vec<PlannedTransfer> = chart.transfers.iter().map(one).collect();
    transfers.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.link.cmp(&b.link)));
    transfers
}

#[cfg(test)]
mod tests;
