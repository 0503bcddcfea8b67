//! `slackline replay`: how long an MPI code would run, from its traces.

use crate::input::read_platform;
use crate::output::Output;
use crate::path_check::Files;
use crate::verbs::run;
use clap::Args;
use serde::Serialize;
use slackline_core::run::log_of;
use slackline_core::{Failure, schema};
use slackline_formats::{FileAccess, FormatError};
use slackline_model::names::Names;
use slackline_model::{HostId, Platform};
use slackline_mpi::action::Activity;
use slackline_mpi::settings::{ReplaySettings, read_toml, split_pair};
use slackline_mpi::timeline::{Span, Timeline};
use slackline_mpi::{ReplayError, Replayed, Traces};
use slackline_report::table::Table;
use slackline_view::gantt::{self, SvgOptions};
use slackline_view::{Bar, Category, Chart, Group, Look};
use std::collections::BTreeMap;
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

#[derive(Serialize)]
struct ReplayDocument<'a> {
    schema: &'static str,
    makespan: f64,
    ends: &'a [f64],
    actions: u64,
    wall_seconds: f64,
    cpu_seconds: f64,
    rss_mib: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dates: Option<&'a [Vec<f64>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Vec<BTreeMap<&'static str, f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collectives: Option<Vec<Choice>>,
}

/// A choice among the algorithms of a collective.
#[derive(Serialize)]
struct Choice {
    collective: &'static str,
    ranks: usize,
    bytes: u64,
    algorithm: &'static str,
    by: &'static str,
    calls: u64,
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
            self.document(&outcome, wall, output)
        } else {
            self.text(&outcome, wall, output)
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

    fn document(&self, outcome: &Replayed, wall: f64, output: &mut Output) -> Result<(), Failure> {
        let profile = |times: &[f64; Activity::COUNT]| {
            let spent = Activity::all().map(|a| (a.name(), times[a.index()]));
            spent.filter(|(_, seconds)| *seconds > 0.0).collect::<BTreeMap<_, _>>()
        };
        let usage = usage();
        output.json(&ReplayDocument {
            schema: schema::names::REPLAY,
            makespan: outcome.makespan,
            ends: &outcome.ends,
            actions: outcome.actions,
            wall_seconds: wall,
            cpu_seconds: usage.0,
            rss_mib: usage.1,
            dates: outcome.dates.as_deref(),
            profile: self.profile.then(|| outcome.times.iter().map(profile).collect()),
            collectives: choices(outcome),
        })
    }

    fn text(&self, outcome: &Replayed, wall: f64, output: &mut Output) -> Result<(), Failure> {
        output.text(&format!("makespan {} s\n", outcome.makespan))?;
        let (ranks, actions) = (outcome.ends.len(), outcome.actions);
        let rate = actions as f64 / wall.max(1e-9);
        output.say(&format!("{ranks} ranks, {actions} actions, {rate:.0} per second\n"))?;
        for (rank, dates) in outcome.dates.iter().flatten().enumerate() {
            for date in dates {
                output.text(&format!("{rank} {date}\n"))?;
            }
        }
        if self.profile {
            let used: Vec<Activity> = Activity::all()
                .filter(|a| outcome.times.iter().any(|times| times[a.index()] > 0.0))
                .collect();
            let names: Vec<String> = used.iter().map(|a| format!(">{}", a.name())).collect();
            let heads: Vec<&str> =
                std::iter::once(">rank").chain(names.iter().map(String::as_str)).collect();
            let mut table = Table::new(&heads);
            for (rank, times) in outcome.times.iter().enumerate() {
                let spent = used.iter().map(|a| format!("{:.6}", times[a.index()]));
                table.row(std::iter::once(rank.to_string()).chain(spent));
            }
            output.text(&format!("\n{}", table.render(output.width)))?;
        }
        if let Some(choices) = choices(outcome) {
            let heads = ["collective", ">ranks", ">bytes", "algorithm", "by", ">calls"];
            let mut table = Table::new(&heads);
            for c in choices {
                table.row([
                    c.collective.to_owned(),
                    c.ranks.to_string(),
                    c.bytes.to_string(),
                    c.algorithm.to_owned(),
                    c.by.to_owned(),
                    c.calls.to_string(),
                ]);
            }
            output.text(&format!("\n{}", table.render(output.width)))?;
        }
        Ok(())
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

/// Writes a timeline in the format its name says.
fn write_timeline(
    files: &FileAccess,
    path: &Path,
    timeline: &Timeline,
    outcome: &Replayed,
) -> Result<(), Failure> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match extension.as_str() {
        "json" => files.write(path, |out| timeline.write_chrome(out))?,
        "paje" | "trace" => files.write(path, |out| timeline.write_paje(out))?,
        "svg" | "png" => {
            let svg = gantt::svg(&chart(timeline, outcome), &SvgOptions::default());
            slackline_report::picture::write(files, path, &svg)?;
        }
        _ => {
            return Err(Failure::input(format!("{}: no format of this name", path.display()))
                .with_help("take .json, .paje, .svg or .png"));
        }
    }
    Ok(())
}

/// A row per rank, a colour per kind of action.
fn chart(timeline: &Timeline, outcome: &Replayed) -> Chart {
    let used: Vec<Activity> = Activity::all()
        .filter(|a| outcome.times.iter().any(|times| times[a.index()] > 0.0))
        .collect();
    let mut labels = Names::default();
    let mut categories = Vec::new();
    for &activity in &used {
        labels.push(activity.name());
        let count = timeline.spans.iter().filter(|span| span.activity == activity).count();
        categories.push(Category { name: activity.name().to_owned(), count, rest: false });
    }
    let group =
        |rank: usize| Group { name: format!("rank {rank}"), section: String::new(), rows: 1 };
    let bar = |span: &Span| {
        let category = used.iter().position(|a| *a == span.activity)?;
        Some(Bar {
            rows: span.rank..span.rank + 1,
            start: span.start,
            finish: span.end,
            category: category as u16,
            look: Look::Work,
            label: category as u32,
        })
    };
    Chart {
        title: "MPI replay".to_owned(),
        facts: vec![
            format!("{} ranks", outcome.ends.len()),
            format!("{} actions", outcome.actions),
        ],
        groups: (0..outcome.ends.len()).map(group).collect(),
        categories,
        bars: timeline.spans.iter().filter_map(bar).collect(),
        labels,
        span: 0.0..outcome.makespan,
        ..Chart::default()
    }
}

fn choices(outcome: &Replayed) -> Option<Vec<Choice>> {
    let explained = outcome.explained.as_ref()?;
    let choice = |(e, calls): &(slackline_mpi::Explained, u64)| Choice {
        collective: e.kind.name(),
        ranks: e.ranks,
        bytes: e.bytes,
        algorithm: e.algorithm,
        by: e.by,
        calls: *calls,
    };
    Some(explained.iter().map(choice).collect())
}

/// Places for ranks, in order: `host` or `host:count` per line.
fn read_hosts(
    files: &FileAccess,
    path: &Path,
    platform: &Platform,
) -> Result<Vec<HostId>, FormatError> {
    let text = files.read_text(path)?;
    let mut places = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fail = |message: String| FormatError::at(number + 1, 1, message).in_file(path);
        let (name, count) = match line.rsplit_once(':') {
            Some((name, count)) if platform.host_named(line).is_none() => {
                let count =
                    count.trim().parse::<usize>().ok().filter(|c| (1..=1 << 20).contains(c));
                (name.trim(), count.ok_or_else(|| fail("expected host:count".to_owned()))?)
            }
            _ => (line, 1),
        };
        let host = platform
            .host_named(name)
            .ok_or_else(|| fail(format!("the platform has no host `{name}`")))?;
        places.extend(std::iter::repeat_n(host, count));
    }
    if places.is_empty() {
        return Err(FormatError::new("names no host").in_file(path));
    }
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
