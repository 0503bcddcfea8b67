//! Workflows with choices and loops: which of them are simulated by the methods that plan under a
//! budget.

use super::Simulate;
use super::workflow::finish;
use crate::failure::Failure;
use crate::input::Loaded;
use crate::output::Output;
use crate::table::Table;
use crate::verbs::choices::{Asked, read_outcomes, simulate as simulate_methods};
use slackline_engine::{CourseRun, Undecided};
use slackline_model::Workflow;
use slackline_model::control::{Chances, draw_course};
use slackline_model::scenario::Scenario;
use slackline_schedule::nondet::Method;
use std::sync::Arc;

/// Simulates under eager, deferred or combined; none where another policy is asked for, or the
/// workflow is a plain one.
pub(super) fn simulate(
    args: &Simulate,
    world: &Loaded,
    output: &mut Output,
) -> Option<Result<(), Failure>> {
    let named = args.policy.as_deref().and_then(Method::find);
    let undecided = world.workflow.control().is_some();
    let budget = args.limits.limits().budget;
    let method = match named {
        Some(method) => method,
        None if undecided
            && args.policy.is_none()
            && args.compare.is_empty()
            && budget.is_some() =>
        {
            Method::Combined
        }
        None if undecided => return None,
        None => {
            let unheard = [
                ("--runs", args.runs.is_some()),
                ("--run", args.run.is_some()),
                ("--choices", args.choices.is_some()),
            ];
            let (option, _) = unheard.iter().find(|(_, given)| *given)?;
            let message =
                format!("{option} is for workflows with choices and loops; this one has none");
            return Some(Err(Failure::input(message)));
        }
    };
    let unheard = [
        ("--scenario", args.scenario.is_some()),
        ("--schedule", args.schedule.is_some()),
        ("--algorithm", args.algorithm.is_some()),
        ("--worlds", args.worlds.is_some()),
        ("--trace", args.trace.is_some()),
        ("--progress", args.progress.is_some()),
        ("--decisions", args.decisions.is_some()),
        ("--same-decisions", args.same_decisions.is_some()),
        ("--why", args.why),
    ];
    if let Some((option, _)) = unheard.iter().find(|(_, given)| *given) {
        let name = method.name();
        let message =
            format!("{option} has no meaning under {name}, where every estimate comes true");
        let help = "a policy such as static or slackline takes it";
        return Some(Err(Failure::input(message).with_help(help)));
    }
    let asked = Asked {
        method,
        limits: args.limits.limits(),
        given: args.given(),
        seed: args.seed.unwrap_or_default(),
        run: args.run.unwrap_or_default(),
        runs: args.runs,
        choices: args.choices.as_deref(),
        gantt: args.gantt.as_ref(),
        json: args.json,
    };
    Some(simulate_methods(&world.workflow, &world.platform, &asked, output))
}

/// Simulates one course of a workflow with choices and loops under any policy: it sees only what
/// decisions have released.
pub(super) fn simulate_any(
    args: &Simulate,
    world: Loaded,
    mut scenario: Scenario,
    output: &mut Output,
) -> Result<(), Failure> {
    let unheard = [
        ("--runs", args.runs.is_some()),
        ("--compare", !args.compare.is_empty()),
        ("--schedule", args.schedule.is_some()),
        ("--alone", args.alone),
    ];
    if let Some((option, _)) = unheard.iter().find(|(_, given)| *given) {
        let message =
            format!("{option}: a workflow with choices and loops runs under one policy at a time");
        return Err(Failure::input(message).with_help(
            "every policy meets the same decisions at the same --seed and --run; forecasts (--runs) \
             need a budget, under eager, deferred or combined",
        ));
    }
    scenario.measured = None;
    let template = world.workflow.clone();
    let Some(control) = template.control() else { return Ok(()) };
    let given = read_outcomes(args.choices.as_deref(), control, output)?;
    let (seed, run) = (args.seed.unwrap_or_default(), args.run.unwrap_or_default());
    let mut chances = Chances { seed, run, given };
    let (mut course, _) = draw_course(&template, &mut chances.clone()).map_err(Failure::input)?;
    let undecided = Undecided::new(template.clone(), chances.clone());
    // Tasks are numbered as they become known, which depends on when: the course is followed until
    // its numbers are those of the run.
    const MOST: usize = 8;
    for _ in 0..MOST {
        let world = Loaded {
            workflow: course.clone(),
            measured: None,
            release: Vec::new(),
            ..world.clone()
        };
        let undecided = Some(undecided.clone());
        match finish(args, world, scenario.clone(), Vec::new(), undecided, output)? {
            None => return Ok(()),
            Some(other) => course = whole(&template, &mut chances, &other)?,
        }
    }
    Err(Failure::work("the order in which decisions fall depends on how they are numbered")
        .with_help("this is a bug: please report it with the input"))
}

/// The whole course with those tasks first that a run has released, in its order.
fn whole(
    template: &Arc<Workflow>,
    chances: &mut Chances,
    released: &Arc<Workflow>,
) -> Result<Arc<Workflow>, Failure> {
    let (course, _) = draw_course(template, chances).map_err(Failure::input)?;
    match course.len() == released.len() {
        true => Ok(released.clone()),
        // The run broke off.
        false => Err(Failure::work("the run broke off before all decisions fell")),
    }
}

/// Decisions and how they fell, by name.
pub(super) fn outcomes(undecided: &Undecided, course: &CourseRun) -> Vec<String> {
    let Some(control) = undecided.template.control() else { return Vec::new() };
    let mut all: Vec<(&str, &str)> = (course.taken.iter())
        .map(|(decision, outcome)| {
            (decision.name.as_str(), control.outcome_name(decision, *outcome))
        })
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(decision, outcome)| format!("{decision}={outcome}")).collect()
}

/// The same in the order in which they fell, for people.
pub(super) fn told(undecided: &Undecided, course: &CourseRun, width: usize) -> String {
    let Some(control) = undecided.template.control() else { return String::new() };
    let mut table = Table::new(&["<decision", "<outcome"]);
    for (decision, outcome) in &course.taken {
        let outcome = control.outcome_name(decision, *outcome).to_string();
        table.row([decision.name.clone(), outcome]);
    }
    format!("{}\n", table.render(width))
}
