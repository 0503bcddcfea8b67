//! Options of planners that search: seed, limits, and Ctrl-C, which ends a search with the best
//! plan it has.

use crate::failure::Failure;
use crate::input::seconds;
use crate::interrupt;
use clap::Args;
use slackline_model::parameter::Given;
use slackline_model::schedule::Limits;
use slackline_schedule::{Algorithm, Heed, Request, registry};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a search is told.
#[derive(Args, Clone, Debug)]
pub(crate) struct SearchOptions {
    /// Seed of planners that draw random numbers, and of --robust [default: 0]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Most iterations of each search; equal limits give equal plans on any machine
    #[arg(long, value_name = "NUMBER")]
    iterations: Option<u64>,
    /// Most time for each search, e.g. 5s or 2min
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time_limit: Option<Duration>,
    /// Threads of each search; all cores if left out
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let seconds = seconds(text)?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

impl SearchOptions {
    /// The settings of planners; from now on Ctrl-C raises their flag. A second one ends the
    /// command at once.
    pub(crate) fn settings(&self, limits: Limits, given: &Given) -> Request {
        Request {
            seed: self.seed.unwrap_or_default(),
            iterations: self.iterations,
            time_limit: self.time_limit,
            threads: self.threads.map(usize::from),
            stop: Some(interrupt::listen()),
            watch: None,
            limits,
            given: given.clone(),
        }
    }
}

impl SearchOptions {
    /// Fails where an option is given that none of the planners heeds; drawing samples of run times
    /// heeds some too.
    pub(crate) fn check(&self, planners: &[&Algorithm], samples: bool) -> Result<(), Failure> {
        let given = [
            (Heed::Seed, self.seed.is_some()),
            (Heed::Iterations, self.iterations.is_some()),
            (Heed::TimeLimit, self.time_limit.is_some()),
            (Heed::Threads, self.threads.is_some()),
        ];
        let sampled = |heed| samples && matches!(heed, Heed::Seed | Heed::Threads);
        let heeded = |heed| sampled(heed) || planners.iter().any(|p| p.heeds().contains(&heed));
        match given.into_iter().find(|&(heed, given)| given && !heeded(heed)) {
            Some((heed, _)) => Err(unheeded(heed)),
            None => Ok(()),
        }
    }
}

/// What to say of an option that nobody heeds.
pub(crate) fn unheeded(heed: Heed) -> Failure {
    let (option, why) = match heed {
        Heed::Seed => ("--seed", "draws lots"),
        Heed::Iterations => ("--iterations", "searches"),
        Heed::TimeLimit => ("--time-limit", "searches"),
        Heed::Threads => ("--threads", "uses several threads"),
    };
    let heeding = registry::ALL.iter().filter(|a| a.heeds().contains(&heed));
    let names: Vec<&str> = heeding.map(|a| a.name).collect();
    Failure::input(format!("{option}: none of the chosen methods {why}"))
        .with_help(format!("these do: {}", names.join(", ")))
}

/// Whether Ctrl-C was pressed.
pub(crate) fn interrupted(settings: &Request) -> bool {
    settings.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
