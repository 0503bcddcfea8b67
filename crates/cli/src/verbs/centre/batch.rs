//! `slackline centre batch`: a log of a batch system under other policies.

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use slackline_centre::batch::{Machine, Policy, Replay, Site, metrics};
use slackline_formats::batch_log;
use slackline_formats::batch_log::{BatchLog, Wrong};
use slackline_report::centre::batch::{Judged, document, load, text};
use slackline_report::picture;
use slackline_view::series;
use std::path::PathBuf;

/// Replay the log of a batch system under scheduling policies
#[derive(Args)]
#[command(after_help = "\
LOG is in the Standard Workload Format (.swf), or what `sacct --parsable2` prints; either may be \
compressed with gzip.

A site file (JSON or TOML) has `machine` {cores} or {nodes, cores_per_node} (whole nodes), and \
may have `priorities` {queue: value}, `caps` [{by, name, cores, jobs}], `pledges` {group: value}, \
`window`, `deviation_window` (seconds), `power` {idle, loaded, off, off_after, shutdown, boot}. \
Without --site, --cores or --nodes the machine is the one the log names (MaxProcs).

Examples:
  slackline centre batch log.swf --cores 256 --policy fcfs,easy,conservative
  slackline centre batch log.swf.gz --site site.toml --by week
  slackline centre batch log.swf --cores 256 --policy easy --picture load.svg
  slackline centre batch jobs.txt --nodes 40 --cores-per-node 64 --lenient")]
pub(crate) struct Batch {
    /// The log
    log: PathBuf,
    /// Machine and rules, JSON or TOML
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
    /// Cores of the machine, given to jobs one by one
    #[arg(long, value_name = "N", conflicts_with = "nodes")]
    cores: Option<u64>,
    /// Nodes of the machine, given to jobs as a whole
    #[arg(long, value_name = "N", requires = "cores_per_node")]
    nodes: Option<u64>,
    /// Cores of a node
    #[arg(long, value_name = "K", requires = "nodes")]
    cores_per_node: Option<u64>,
    /// Policies, separated by commas
    #[arg(
        long,
        value_name = "POLICIES",
        value_delimiter = ',',
        default_value = "fcfs,easy,conservative"
    )]
    policy: Vec<Policy>,
    /// Skip wrong lines of the log, and list them
    #[arg(long)]
    lenient: bool,
    /// Add the same measures by period of submission
    #[arg(long, value_name = "PERIOD")]
    by: Option<PeriodLength>,
    /// Draw cores held and waited for over time: .svg or .png
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Length of a period of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PeriodLength {
    /// Days of 24 hours from the first submission on
    Day,
    /// Weeks from the first submission on
    Week,
    /// 30 days
    Month,
}

impl PeriodLength {
    fn seconds(self) -> f64 {
        86400.0
            * match self {
                PeriodLength::Day => 1.0,
                PeriodLength::Week => 7.0,
                PeriodLength::Month => 30.0,
            }
    }

    fn name(self) -> &'static str {
        match self {
            PeriodLength::Day => "day",
            PeriodLength::Week => "week",
            PeriodLength::Month => "month",
        }
    }
}

impl Batch {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.log))
            .reads(self.site.as_ref())
            .draws("--picture", self.picture.as_ref())
            .json(self.json)
            .check(output)?;
        let wrong = if self.lenient { Wrong::Skip } else { Wrong::Refuse };
        let log = batch_log::read(&output.files, &self.log, wrong)?;
        let site = self.site(&log, output)?;
        let replay = Replay { log: &log, site: &site };
        let mut policies: Vec<Policy> = Vec::new();
        for &policy in &self.policy {
            if !policies.contains(&policy) {
                policies.push(policy);
            }
        }
        let judge = |&policy: &Policy| {
            let outcome = replay.run(policy);
            let metrics = metrics::measure(&replay, &outcome);
            let periods = self.by.map(|by| metrics::by_period(&replay, &outcome, by.seconds()));
            Judged { outcome, metrics, periods }
        };
        let judged: Vec<Judged> = policies.par_iter().map(judge).collect();
        if let Some(path) = &self.picture {
            let title =
                self.log.file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
            picture::write(&output.files, path, &series::svg(&load(&replay, &judged, &title)))?;
        }
        if self.json {
            output.json(&document(&log, self.lenient, judged))
        } else {
            text(&replay, &judged, self.by.map(PeriodLength::name), output)
        }
    }

    fn site(&self, log: &BatchLog, output: &Output) -> Result<Site, Failure> {
        let named = match (self.cores, self.nodes.zip(self.cores_per_node)) {
            (Some(cores), _) => Some(Machine::Cores(cores)),
            (None, Some((nodes, cores_per_node))) => Some(Machine::Nodes { nodes, cores_per_node }),
            (None, None) => None,
        };
        if let Some(path) = &self.site {
            let text = output.files.read_text(path)?;
            return Site::parse(&text, named)
                .map_err(|error| Failure::input(format!("{}: {error}", path.display())));
        }
        let Some(machine) = named.or(log.machine_cores.map(Machine::Cores)) else {
            return Err(Failure::input("the log does not say how many cores the machine has")
                .with_help("give --cores N, --nodes N --cores-per-node K, or --site FILE"));
        };
        Site::new(machine).map_err(Failure::input)
    }
}
