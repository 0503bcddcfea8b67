//! Planners and policies by name, and checks of their parameters.

use crate::details_json::check_needs;
use crate::failure::Failure;
use slackline_model::nearest::did_you_mean;
use slackline_model::parameter::{self, Given};
use slackline_model::schedule::Limits;
use slackline_model::{Problem, Schedule};
use slackline_react::gtp::Period;
use slackline_react::registry::{self as policies, Entry, Options};
use slackline_schedule::{Algorithm, registry};

/// Most evaluations of a periodic policy within a planned makespan: more would take for ever.
const MOST_EVALUATIONS: f64 = 1e6;

/// A planner by name.
pub(crate) fn planner(name: &str) -> Result<&'static Algorithm, Failure> {
    registry::find(name).ok_or_else(|| {
        let hint = did_you_mean(name, registry::names());
        Failure::input(format!("there is no planner '{name}'{hint}"))
            .with_help("slackline algorithms lists them")
    })
}

/// Name for all policies whose needs are met.
pub(crate) const ALL_POLICIES: &str = "all";

/// The policies of a list of names, in that order and without duplicates.
pub(crate) fn policies_of(
    names: &[&str],
    problem: &Problem<'_>,
    limits: &Limits,
) -> Result<Vec<&'static Entry>, Failure> {
    let fits = |e: &&Entry| e.needs.iter().all(|need| need.is_met(problem, limits));
    let mut entries: Vec<&'static Entry> = Vec::new();
    for &name in names {
        let found: Vec<&'static Entry> = match policies::find(name) {
            _ if name == ALL_POLICIES => policies::ALL.iter().filter(fits).collect(),
            Some(entry) => {
                check_needs(entry.name, entry.needs, problem, limits)?;
                vec![entry]
            }
            None => {
                let names: Vec<&str> = policies::ALL.iter().map(|e| e.name).collect();
                let hint = did_you_mean(name, names.iter().copied());
                return Err(Failure::input(format!("there is no policy '{name}'{hint}"))
                    .with_help(format!("one of: {}", names.join(", "))));
            }
        };
        for entry in found {
            if entries.iter().all(|e| e.name != entry.name) {
                entries.push(entry);
            }
        }
    }
    Ok(entries)
}

/// Fails where a parameter is given that neither the planner nor any of the policies has, or with a value that they
/// refuse.
pub(crate) fn check_parameters(
    entries: &[&'static Entry],
    options: &Options,
) -> Result<(), Failure> {
    let planner = options.planner.algorithm;
    let of_policies = entries.iter().map(|e| (e.name, e.parameters));
    let methods: Vec<_> = of_policies.chain([(planner.name, planner.parameters)]).collect();
    parameter::check_known(&options.given, methods.into_iter())?;
    planner.values(&options.planner.request)?;
    for entry in entries {
        entry.policy(options)?;
    }
    Ok(())
}

/// Fails where the parameter `results` names a host that does not exist.
pub(crate) fn check_results(given: &Given, problem: &Problem<'_>) -> Result<(), Failure> {
    let platform = problem.platform();
    match given.iter().rfind(|(name, _)| name == "results") {
        Some((_, host)) if host != "auto" && platform.host_named(host).is_none() => {
            let hint = did_you_mean(host, platform.hosts().iter().map(|h| &*h.name));
            Err(Failure::input(format!("results: there is no host '{host}'{hint}")))
        }
        _ => Ok(()),
    }
}

/// Converts a period given as a fraction of the makespan to seconds. The makespan is that of the common plan, not of
/// each policy's first plan. Fails where the period is far too short.
pub(crate) fn settle_period(options: &mut Options, planned: &Schedule) -> Result<(), Failure> {
    let given = options.given.iter_mut().rev().find(|(name, _)| name == "period");
    let period = match &given {
        Some((_, text)) => policies::period(text)?,
        None => options.period,
    };
    match (period, given) {
        (Period::OfMakespan(share), given) => {
            let seconds = share * planned.makespan();
            options.period = Period::Seconds(seconds);
            if let Some((_, text)) = given {
                *text = format!("{seconds}s");
            }
            Ok(())
        }
        (Period::Seconds(seconds), Some((_, text)))
            if planned.makespan() / seconds > MOST_EVALUATIONS =>
        {
            Err(parameter::bad("period", text, "the plan is over a million times as long").into())
        }
        (Period::Seconds(_), _) => Ok(()),
    }
}
