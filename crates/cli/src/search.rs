//! Options of planners that search: seed, limits, and Ctrl-C, which ends a search with the best
//! plan it has.

use crate::input::seconds;
use crate::interrupt;
use clap::Args;
use slackline_model::parameter::Given;
use slackline_model::schedule::Limits;
use slackline_schedule::Request;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a search is told.
#[derive(Args, Clone, Debug)]
pub(crate) struct SearchOptions {
    /// Seed of planners that draw random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
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
            seed: self.seed,
            iterations: self.iterations,
            time_limit: self.time_limit,
            threads: self.threads.map(usize::from),
            stop: Some(interrupt::listen()),
            limits,
            given: given.clone(),
        }
    }
}

impl SearchOptions {
    /// An option that only a search heeds, where one was given.
    pub(crate) fn limit(&self) -> Option<&'static str> {
        let given = [
            ("--iterations", self.iterations.is_some()),
            ("--time-limit", self.time_limit.is_some()),
            ("--threads", self.threads.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

/// Whether Ctrl-C was pressed.
pub(crate) fn interrupted(settings: &Request) -> bool {
    settings.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
