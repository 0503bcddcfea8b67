//! `slackline replay`: how long an MPI code would run, from its traces.

use crate::input::read_platform;
use crate::output::Output;
use crate::path_check::Files;
use crate::verbs::run;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run::log_of;
use slackline_formats::FileAccess;
use slackline_model::{HostId, Platform};
use slackline_mpi::settings::{ReplaySettings, read_toml, split_pair};
use slackline_mpi::timeline::Timeline;
use slackline_mpi::{ReplayError, Traces, read_hosts};
use slackline_report::mpi::replay::{document, text, write_timeline};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Replay the traces of an MPI code on a platform, or a run from its folder
#[derive(Args)]
#[command(after_help = "\
Traces are time-independent traces of SimGrid (any version), one file for all ranks or one per \
rank; a file that lists them, or a folder, will do. Settings have SimGrid's names.

The folder of a run is recognised by its log: the run is repeated without a machine, which fails unless every \
decision is the same.

Examples:
  slackline replay lu.tit --platform small-cluster --hosts hosts.txt
  slackline replay traces/ -p small-cluster --config smpi/coll-selector=ompi
  slackline replay list.txt -p small-cluster --config network/model=IB --json")]
pub(crate) struct Replay {
    /// Trace files, a file that lists them, or a folder of traces; or the folder of a run
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// The platform; a run has its own
    #[arg(short, long, value_name = "FILE")]
    platform: Option<PathBuf>,
    /// Hosts of the ranks, one `host` or `host:count` per line; rank r on host r if left out
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Change a setting, e.g. smpi/coll-selector=ompi; or a TOML file with settings
    #[arg(long = "config", value_name = "KEY=VALUE|FILE")]
    settings: Vec<String>,
    /// Add the end of every action: a line with rank and seconds for each
    #[arg(long)]
    dates: bool,
    /// Say how much time every rank spends on what
    #[arg(long)]
    profile: bool,
    /// Write what every rank did when: .json (Chrome, Perfetto), .paje, or .svg or .png (Gantt chart)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Draw a run into this file (.svg or .png)
    #[arg(short, long, value_name = "FILE")]
    gantt: Option<PathBuf>,
    /// Say which algorithm each collective took, and why
    #[arg(long)]
    explain_collectives: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Replay {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        if let Some(run) = self.run_folder() {
            return self.repeat(&run, output);
        }
        let Some(platform) = &self.platform else {
            return Err(Failure::input("no platform is given")
                .with_help("--platform FILE names what the traces are replayed on"));
        };
        if self.gantt.is_some() {
            return Err(Failure::input("--gantt draws a run from its folder")
                .with_help("--trace FILE.svg draws what every rank of a trace did"));
        }
        let mut files = Files::default().reads(Some(platform)).reads(self.hosts.as_ref());
        for path in &self.traces {
            files = files.reads(Some(path));
        }
        files.writes("--trace", self.trace.as_ref()).json(self.json).check(output)?;
        let begin = Instant::now();
        let options = Options { settings: &self.settings, hosts: self.hosts.as_deref() };
        let (settings, _) = options.settings(&output.files, &[])?;
        let platform = read_platform(platform, output)?;
        let traces = Traces::open(&self.traces)?;
        let hosts = places(&output.files, &platform, options.hosts, Some(traces.ranks()))?;
        let mut replay =
            slackline_mpi::Replay::new(&platform, &hosts, traces, settings).map_err(failure)?;
        if self.dates {
            replay.keep_dates();
        }
        if self.explain_collectives {
            replay.explain_collectives();
        }
        let outcome = match &self.trace {
            None => replay.run(&mut ()).map_err(failure)?,
            Some(path) => {
                let mut timeline = Timeline::default();
                let outcome = replay.run(&mut timeline).map_err(failure)?;
                write_timeline(&output.files, path, &timeline, &outcome)?;
                outcome
            }
        };
        let wall = begin.elapsed().as_secs_f64();
        if self.json {
            document(self.profile, &outcome, wall, usage(), output)
        } else {
            text(self.profile, &outcome, wall, output)
        }
    }

    /// The folder of a run, where that is what is named.
    fn run_folder(&self) -> Option<PathBuf> {
        match self.traces.as_slice() {
            [one] if one.is_dir() && log_of(one).is_file() => Some(one.clone()),
            _ => None,
        }
    }

    fn repeat(self, path: &Path, output: &mut Output) -> Result<(), Failure> {
        let of_traces = [
            ("--platform", self.platform.is_some()),
            ("--hosts", self.hosts.is_some()),
            ("--config", !self.settings.is_empty()),
            ("--dates", self.dates),
            ("--profile", self.profile),
            ("--explain-collectives", self.explain_collectives),
        ];
        if let Some((option, _)) = of_traces.iter().find(|(_, given)| *given) {
            let message = format!("{option}: {} is the folder of a run", path.display());
            return Err(Failure::input(message).with_help("it is for traces of MPI codes"));
        }
        let outputs = run::Outputs::new(self.gantt, self.trace, self.json);
        outputs.files(Files::default()).check(output)?;
        run::repeat(path, &outputs, output)
    }
}

/// Options of everything that replays.
pub(super) struct Options<'a> {
    /// `key=value`, or TOML files.
    pub(super) settings: &'a [String],
    /// File with the hosts of the ranks.
    pub(super) hosts: Option<&'a Path>,
}

/// Settings by key, in the order given.
type Pairs = Vec<(String, String)>;

impl Options<'_> {
    /// The settings, after some that stand before those given.
    pub(super) fn settings(
        &self,
        files: &FileAccess,
        first: &[(String, String)],
    ) -> Result<(ReplaySettings, Pairs), Failure> {
        let mut pairs = first.to_vec();
        for text in self.settings {
            if text.ends_with(".toml") {
                pairs.extend(read_toml(files, Path::new(text))?);
                continue;
            }
            match split_pair(text) {
                Some(pair) => pairs.push(pair),
                None => {
                    return Err(Failure::input(format!("`{text}` is no setting"))
                        .with_help("write --config KEY=VALUE, or name a TOML file"));
                }
            }
        }
        Ok((ReplaySettings::from_pairs(&pairs).map_err(Failure::input)?, pairs))
    }
}

/// The hosts of so many ranks, or of as many as there are places.
pub(super) fn places(
    files: &FileAccess,
    platform: &Platform,
    file: Option<&Path>,
    ranks: Option<usize>,
) -> Result<Vec<HostId>, Failure> {
    let mut places = match file {
        Some(file) => read_hosts(files, file, platform)?,
        None => platform.host_ids().collect(),
    };
    let ranks = ranks.unwrap_or(places.len());
    if places.len() < ranks {
        let known = places.len();
        if file.is_some() {
            return Err(failure(ReplayError::TooFewHosts { ranks, places: known }));
        }
        return Err(Failure::input(format!("{ranks} ranks, but the platform has {known} hosts"))
            .with_help("say where they run: --hosts FILE with lines `host:count`"));
    }
    places.truncate(ranks);
    Ok(places)
}

pub(super) fn failure(error: ReplayError) -> Failure {
    match error {
        ReplayError::Input(error) => Failure::from(error),
        ReplayError::TooFewHosts { .. } => Failure::input(error)
            .with_help("give more hosts, or `host:count` for several ranks each"),
        ReplayError::Simulation(_) | ReplayError::Broken { .. } => Failure::work(error),
        _ => Failure::input(error),
    }
}

/// CPU seconds and the largest memory of this process so far, MiB; 0 where the system does not say.
fn usage() -> (f64, f64) {
    let scheduled = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = scheduled.split_whitespace().next().and_then(|t| t.parse::<f64>().ok());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    (nanoseconds.unwrap_or(0.0) * 1e-9, kib.unwrap_or(0.0) / 1024.0)
}
