//! Options of planners that search: seed, limits, and Ctrl-C, which ends a search with the best
//! plan it has.

use crate::input::seconds;
use clap::Args;
use slackline_core::request::SearchSettings;
use std::time::Duration;

/// Options of a search.
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
    /// The same as part of a request.
    pub(crate) fn request(&self) -> SearchSettings {
        SearchSettings {
            seed: self.seed,
            iterations: self.iterations,
            time_limit: self.time_limit.map(|limit| limit.as_secs_f64()),
            threads: self.threads,
        }
    }
}
