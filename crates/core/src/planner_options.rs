//! The settings of planners that search.

use crate::context::Context;
use crate::failure::Failure;
use crate::request::SearchSettings;
use slackline_model::parameter::Given;
use slackline_model::schedule::Limits;
use slackline_schedule::{Algorithm, Capability, Request, registry};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The settings of planners; from now on the observer is listened to.
pub(crate) fn request(
    search: &SearchSettings,
    limits: Limits,
    given: &Given,
    context: &mut Context<'_>,
) -> Request {
    Request {
        seed: search.seed.unwrap_or_default(),
        iterations: search.iterations,
        time_limit: search.time_limit.and_then(|s| Duration::try_from_secs_f64(s).ok()),
        threads: search.threads.map(usize::from),
        stop: Some(context.observer.listen()),
        watch: None,
        limits,
        given: given.clone(),
    }
}

/// Fails where a setting is given that none of the planners uses; drawing samples of run times uses some too.
pub(crate) fn check(
    search: &SearchSettings,
    planners: &[&Algorithm],
    samples: bool,
) -> Result<(), Failure> {
    let given = [
        (Capability::Seed, search.seed.is_some()),
        (Capability::Iterations, search.iterations.is_some()),
        (Capability::TimeLimit, search.time_limit.is_some()),
        (Capability::Threads, search.threads.is_some()),
    ];
    let sampled = |heed| samples && matches!(heed, Capability::Seed | Capability::Threads);
    let heeded = |heed| sampled(heed) || planners.iter().any(|p| p.capabilities().contains(&heed));
    match given.into_iter().find(|&(heed, given)| given && !heeded(heed)) {
        Some((heed, _)) => Err(unheeded(heed)),
        None => Ok(()),
    }
}

/// Returns the error for an option that has no effect on any of the chosen planners.
pub(crate) fn unheeded(heed: Capability) -> Failure {
    let (option, why) = match heed {
        Capability::Seed => ("--seed", "is randomised"),
        Capability::Iterations => ("--iterations", "searches"),
        Capability::TimeLimit => ("--time-limit", "searches"),
        Capability::Threads => ("--threads", "uses several threads"),
    };
    let heeding = registry::ALL.iter().filter(|a| a.capabilities().contains(&heed));
    let names: Vec<&str> = heeding.map(|a| a.name).collect();
    Failure::input(format!("{option}: none of the chosen methods {why}"))
        .with_help(format!("these do: {}", names.join(", ")))
}

/// Whether Ctrl-C was pressed.
pub(crate) fn interrupted(settings: &Request) -> bool {
    settings.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
