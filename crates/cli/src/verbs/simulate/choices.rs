//! Workflows with choices and loops: which of them are simulated by the methods that plan under a
//! budget.

use super::Simulate;
use crate::output::Output;
use crate::verbs::choices::{Asked, may_have_choices, simulate as simulate_methods};
use slackline_core::Failure;
use slackline_model::schedule::Limits;
use slackline_schedule::nondet::Method;

/// Simulates under eager, deferred or combined; none where another policy is asked for, or the
/// workflow is a plain one.
pub(super) fn simulate(args: &Simulate, output: &mut Output) -> Option<Result<(), Failure>> {
    let asks = args.runs.is_some() || args.run.is_some() || args.choices.is_some();
    let method = args.policy.as_deref().and_then(Method::find).is_some();
    let file = args.sources.instance.as_deref().or(args.workflow.as_deref());
    if !asks && !method && !file.is_some_and(|file| may_have_choices(file, output)) {
        return None;
    }
    let world = match args.sources.read(args.workflow.as_deref(), output) {
        Ok(world) => world,
        Err(failure) => return Some(Err(failure)),
    };
    let named = args.policy.as_deref().and_then(Method::find);
    let undecided = world.workflow.control().is_some();
    let limits = limits_of(args);
    let budget = limits.budget;
    let method = match named {
        Some(method) => method,
        None if undecided
            && args.policy.is_none()
            && args.compare.is_empty()
            && budget.is_some() =>
        {
            Method::Combined
        }
        None if undecided => {
            let message =
                "choices and loops are simulated under eager, deferred or combined, with a budget";
            return Some(Err(Failure::input(message).with_help(
                "add --policy combined --budget MONEY, or unfold one course: slackline convert FILE out.json --draw SEED",
            )));
        }
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
        limits,
        given: args.parameters.set.clone(),
        seed: args.seed.unwrap_or_default(),
        run: args.run.unwrap_or_default(),
        runs: args.runs,
        choices: args.choices.as_deref(),
        gantt: args.gantt.as_ref(),
        json: args.json,
    };
    Some(simulate_methods(&world.workflow, &world.platform, &asked, output))
}

fn limits_of(args: &Simulate) -> Limits {
    args.limits.settings().limits()
}
