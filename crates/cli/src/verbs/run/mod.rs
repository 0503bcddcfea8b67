//! `slackline run`: a workflow on real machines, under the policy that was tried in the simulator.

mod document;
mod settings;
mod steering;
mod view;

pub(super) use steering::Steering;

use crate::detect::local;
use crate::failure::Failure;
use crate::input::{LimitOptions, Loaded, Sources, bytes, read_document, read_platform, seconds};
use crate::output::Output;
use crate::told::SetOptions;
use crate::verbs::simulate::document::Document;
use crate::verbs::simulate::report;
use crate::verbs::simulate::workflow::{Ran, draw};
use clap::{Args, ValueEnum};
use document::Execution;
use settings::{OnSlurm, Settings};
use slackline_analysis::plan_check::lower_bound;
use slackline_engine::{Ending, Record};
use slackline_formats::trace::{self, TraceFormat};
use slackline_formats::{FileAccess, Format, platform_toml};
use slackline_machines::attempt::{checksum, stamped_checksum};
use slackline_machines::folder::{
    self, FolderError, Header, Note, RunFolder, RunLog, refuse_names,
};
use slackline_machines::slurm::{self, Mode};
use slackline_model::parameter::Given;
use slackline_model::platform::Charges;
use slackline_model::{Platform, Problem, Workflow};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use steering::{Finished, seconds_since_1970};

/// Run a workflow on real machines under a policy
#[derive(Args)]
#[command(after_help = "\
Every host of the platform becomes a folder of the run, its cores slots; on Slurm a pilot on the node \
of that name. A task runs in a fresh folder with its inputs linked in; its outputs are checked and moved to the store of the host. The \
log in the run folder survives anything: slackline resume RUN goes on.

Examples:
  slackline run pipeline.toml --platform four-sites.toml --policy slackline
  slackline run montage.json --platform four-sites.toml --dry-run
  slackline run montage.json --platform cluster.toml --on slurm
  slackline resume montage.run
  slackline simulate --replay montage.run")]
pub(crate) struct Run {
    /// The workflow; files that no task makes are taken from its folder
    workflow: PathBuf,
    #[command(flatten)]
    sources: Sources,
    /// The planner that plans before and, where a policy asks for it, during the run
    #[arg(short, long, value_name = "NAME")]
    algorithm: Option<String>,
    /// The policy that steers the run: `work-stealing` follows the plan, and idle processors take ready tasks
    /// that wait elsewhere; `static` follows the plan alone
    #[arg(long, value_name = "NAME", default_value = "work-stealing")]
    policy: String,
    /// Where the work is done
    #[arg(long, value_enum, default_value_t = On::Local)]
    on: On,
    #[command(flatten)]
    slurm: SlurmArgs,
    /// The folder of the run, new or empty; WORKFLOW.run if left out
    #[arg(long, value_name = "RUN")]
    folder: Option<PathBuf>,
    /// When inputs travel: push, pull, or pull:N to fetch for the next N tasks of a queue
    #[arg(long, value_name = "WHEN")]
    transfers: Option<String>,
    /// Time between two looks of a periodic policy: a part of the planned makespan, or e.g. 30s
    #[arg(long, value_name = "PART|TIME")]
    period: Option<String>,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    parameters: SetOptions,
    /// Seed of planners and policies that draw random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// Where the workflow's inputs lie: on the platform's origin, or everywhere; on the origin if
    /// left out and the platform names one
    #[arg(long, value_enum)]
    inputs: Option<WhereInputs>,
    /// How often a task or transfer that fails of itself is tried again
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    retries: u32,
    /// Time after which an attempt at a task is ended, e.g. 2h
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    time_limit: Option<f64>,
    /// Keep to the estimates, whatever run times show
    #[arg(long)]
    no_learning: bool,
    /// Transfers take at least the time that a simulation predicts
    #[arg(long)]
    throttle: bool,
    /// Change a setting of the network model that plans, --dry-run and --throttle go by, e.g.
    /// network/model:CM02
    #[arg(long = "config", value_name = "KEY:VALUE")]
    config: Vec<String>,
    /// Hold every task to the cores of its host, counted through from the machine's first
    #[arg(long)]
    pin: bool,
    /// Let tasks work in this folder of their machine, e.g. on a disk of the node: inputs are copied in,
    /// outputs copied out
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
    /// Outputs larger than this get no checksum: a resumed run looks at their sizes only
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    checksum_limit: Option<f64>,
    /// No output gets a checksum
    #[arg(long, conflicts_with = "checksum_limit")]
    no_checksums: bool,
    /// Only say what would be done: every task with its place and times, the cost, what would be moved
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    outputs: Outputs,
}

/// What is written of a run when it is over.
#[derive(Args)]
pub(super) struct Outputs {
    /// Draw the run into this SVG file
    #[arg(short, long, value_name = "FILE.svg")]
    gantt: Option<PathBuf>,
    /// Write the event trace: .jsonl (ours), .json (Chrome, Perfetto) or .paje
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// Where the work is done.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    /// Processes of this machine
    Local,
    /// Batch jobs of the Slurm cluster that `sbatch` submits to
    Slurm,
}

/// How a Slurm cluster is used.
#[derive(Args)]
struct SlurmArgs {
    /// What a batch job is for: all tasks of a host (pilots), or one attempt at one task (job)
    #[arg(long, value_enum, value_name = "MODE", default_value_t = JobMode::Pilots)]
    mode: JobMode,
    /// The address of this machine that pilots call; that of its name if left out
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<std::net::IpAddr>,
    /// Ports that may be listened at, e.g. 40000-40100; one that the system chooses if left out
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    ports: Option<(u16, u16)>,
    /// Time between two looks at the queue; 2s if left out, and 30s beyond ten jobs
    #[arg(long, value_name = "TIME", value_parser = interval)]
    squeue_interval: Option<f64>,
    /// A word that sbatch gets besides, e.g. --sbatch=--partition=long; may be repeated
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Time that pilots wait for a run to go on before they end
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "10min")]
    pilot_patience: f64,
}

/// What a batch job is for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum JobMode {
    Pilots,
    Job,
}

/// Where inputs lie.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WhereInputs {
    Origin,
    Everywhere,
}

/// A range of ports, or one.
fn ports(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |word: &str| word.trim().parse::<u16>().ok().filter(|port| *port > 0);
    match (port(first), port(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        (Some(_), Some(_)) => Err("the first port is greater than the last".to_string()),
        _ => Err("expected two ports between 1 and 65535, e.g. 40000-40100".to_string()),
    }
}

/// A time between two looks.
fn interval(text: &str) -> Result<f64, String> {
    match seconds(text)? {
        time if (0.1..=86_400.0).contains(&time) => Ok(time),
        _ => Err("expected a time between 100ms and 1d".to_string()),
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Failure {
        match error {
            FolderError::Unfit { .. } => Failure::input(error)
                .with_help("slackline resume RUN goes on with a run; a new one takes a new folder"),
            FolderError::Io { error: ref e, .. } if e.kind() == ErrorKind::PermissionDenied => {
                Failure::input(error)
            }
            FolderError::Held { .. } => Failure::input(error),
            FolderError::Io { .. } => Failure::work(error),
        }
    }
}

impl SlurmArgs {
    fn settings(&self) -> OnSlurm {
        OnSlurm {
            mode: match self.mode {
                JobMode::Pilots => Mode::Pilots,
                JobMode::Job => Mode::Job,
            },
            listen: self.listen,
            ports: self.ports,
            squeue_interval: self.squeue_interval,
            sbatch: self.sbatch.clone(),
            patience: self.pilot_patience,
        }
    }
}

impl Run {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.outputs.files(self.sources.files().reads(Some(&self.workflow))).check(output)?;
        let format = crate::input::format_of(&output.files, &self.workflow, self.sources.from)?;
        let document = read_document(&self.workflow, Some(format), output)?;
        let platform = match &self.sources.platform {
            Some(path) => read_platform(path, output)?,
            None if self.on == On::Slurm => {
                return Err(Failure::input(
                    "--on slurm: --platform names the hosts, and is not given",
                )
                .with_help(
                    "slackline platform detect --slurm -o cluster.toml describes the cluster",
                ));
            }
            None => this_machine(output)?,
        };
        let home = self.workflow.parent().filter(|p| !p.as_os_str().is_empty());
        let home = home.unwrap_or(Path::new(".")).canonicalize()?;
        check_runnable(&output.files, &document.workflow, &home)?;
        let settings = self.settings(format, &platform)?;
        if self.dry_run {
            let header = self.header("", &settings, &home)?;
            let workflow = at_speed(document, format, &settings, &self.workflow)?;
            let place = self.sources.platform.clone();
            let loaded = Loaded { place, ..Loaded::plain(workflow, platform) };
            let steering = Steering::new(header, settings, loaded)?;
            let problem = steering.problem()?;
            let (ran, bound) = steering.rehearse(&problem, output)?;
            self.outputs.rehearsed(&problem, &ran, bound, output)?;
            if !self.outputs.json {
                output.say(&document::whole_plan(&problem, &ran, output.width))?;
            }
            return Ok(());
        }
        if let Some(slurm) = &settings.slurm {
            let id = self.header("", &settings, &home)?.id;
            let options = slurm.options(id, &platform, None)?;
            let waits = slurm::check(&platform, &document.workflow, &options);
            let refused = |why| Failure::work(format!("Slurm refuses the jobs of this run: {why}"));
            waits.map_err(refused)?.iter().for_each(|why| output.note(why));
        }
        let path = self.folder.clone().unwrap_or_else(|| free_name(&self.workflow));
        let folder = RunFolder::create(&path)?;
        let mut header =
            self.prepare(&output.files, &folder, format, &platform, &settings, &home)?;
        let mut stamps = BTreeMap::new();
        for (task, name) in given_files(&document.workflow) {
            let path = home.join(name);
            let (stamp, digest) = stamped_checksum(&path).map_err(|e| {
                Failure::input(format!("task '{task}', input {}: {e}", path.display()))
            })?;
            stamps.insert(name.to_string(), stamp);
            header.input_digests.insert(name.to_string(), digest);
        }
        let steering =
            Steering { stamps: Some(stamps), ..Steering::of(folder.root(), header, output)? };
        let problem = steering.problem()?;
        steering.choose(&problem)?; // what is wrong with policy and planner is said before
        let log = RunLog::create(&folder.log(), &steering.header).map_err(Failure::work)?;
        let finished = steering.drive(&problem, folder, log, Vec::new(), output)?;
        self.outputs.finished(&problem, &path, &finished, output)
    }

    fn given(&self) -> Given {
        let options = [("transfers", &self.transfers), ("period", &self.period)];
        let named = options.into_iter().filter_map(|(name, value)| {
            value.as_ref().map(|value| (name.to_string(), value.clone()))
        });
        named.chain(self.parameters.set.iter().cloned()).collect()
    }

    fn settings(&self, format: Format, platform: &Platform) -> Result<Settings, Failure> {
        let limits = self.limits.limits();
        if self.inputs == Some(WhereInputs::Origin) && platform.origin().is_none() {
            let message = format!("--inputs origin: '{}' names no origin", platform.name());
            return Err(Failure::input(message));
        }
        Ok(Settings {
            from: format.name().to_string(),
            reference_speed: self.sources.reference_speed,
            algorithm: self.algorithm.clone(),
            given: self.given(),
            deadline: limits.deadline,
            budget: limits.budget,
            inputs_everywhere: self.inputs == Some(WhereInputs::Everywhere)
                || platform.origin().is_none(),
            retries: self.retries,
            time_limit: self.time_limit,
            learning: !self.no_learning,
            throttle: self.throttle,
            config: Some(self.config.clone()),
            stealing: self.policy == "slackline",
            pin: self.pin,
            checksum_limit: match self.no_checksums {
                true => Some(0),
                false => self.checksum_limit.map(|bytes| bytes as u64),
            },
            scratch: self.scratch.as_deref().map(plain_path).transpose()?,
            slurm: (self.on == On::Slurm).then(|| self.slurm.settings()),
        })
    }

    fn header(&self, workflow: &str, settings: &Settings, home: &Path) -> Result<Header, Failure> {
        let began = seconds_since_1970();
        let id = format!("{:x}-{:x}", (began * 1e6) as u64, std::process::id());
        Ok(Header {
            schema: Header::schema(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            id,
            began,
            workflow: workflow.to_string(),
            platform: "platform.toml".to_string(),
            policy: self.policy.clone(),
            settings: settings.to_map()?,
            seed: self.seed,
            digests: BTreeMap::new(),
            inputs: home.to_path_buf(),
            input_digests: BTreeMap::new(),
        })
    }

    /// Puts copies of workflow and platform into the folder.
    fn prepare(
        &self,
        files: &FileAccess,
        folder: &RunFolder,
        format: Format,
        platform: &Platform,
        settings: &Settings,
        home: &Path,
    ) -> Result<Header, Failure> {
        let end = format.extensions().first().copied().unwrap_or("txt");
        let mut header = self.header(&format!("workflow.{end}"), settings, home)?;
        let text = files.read_text(&self.workflow)?;
        let platform = platform_toml::to_string(platform)?;
        for (name, text) in
            [(&header.workflow, text.as_str()), (&header.platform, platform.as_str())]
        {
            let path = folder.root().join(name);
            files.write(&path, |out| out.write_all(text.as_bytes()))?;
            header.digests.insert(name.clone(), checksum(&path)?);
        }
        Ok(header)
    }
}

fn at_speed(
    document: slackline_formats::Document,
    format: Format,
    settings: &Settings,
    path: &Path,
) -> Result<Workflow, Failure> {
    match settings.reference_speed {
        None => Ok(document.workflow),
        Some(speed) => {
            let scaled = document.at_reference_speed(format, speed).map_err(|e| e.in_file(path))?;
            Ok(scaled.workflow)
        }
    }
}

/// Where no platform is named, the machine that this is.
fn this_machine(output: &mut Output) -> Result<Platform, Failure> {
    output.note("no --platform given: running on the cores of this machine");
    Ok(platform_toml::parse(&local::detect(Some(1e9)).to_toml())?)
}

/// An absolute path without `.` and `..`; no link is followed.
fn plain_path(path: &Path) -> Result<PathBuf, Failure> {
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Ok(plain)
}

/// The first free name for the run of a workflow.
fn free_name(workflow: &Path) -> PathBuf {
    let stem = workflow.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem = if stem == "-" { "workflow".to_string() } else { stem };
    let mut names = (1..).map(|n| match n {
        1 => PathBuf::from(format!("{stem}.run")),
        n => PathBuf::from(format!("{stem}-{n}.run")),
    });
    names.find(|name| !name.exists()).unwrap_or_default()
}

/// Files that no task makes and some task reads: the name of a reader, and their own.
pub(in crate::verbs) fn given_files(workflow: &Workflow) -> impl Iterator<Item = (&str, &str)> {
    workflow.files().filter_map(|file| {
        let name = workflow.file_name(file);
        let given = !name.is_empty() && workflow.producer(file).is_none();
        let reader = workflow.consumers(file).next().filter(|_| given)?;
        Some((workflow.task_name(reader), name))
    })
}

/// Fails where some task cannot be run at all: no command, a file that would leave its folder, an
/// input that is not there.
fn check_runnable(files: &FileAccess, workflow: &Workflow, home: &Path) -> Result<(), Failure> {
    for task in workflow.tasks() {
        if workflow.command(task).is_none() {
            let name = workflow.task_name(task);
            let message = format!("task '{name}' has no command: the workflow cannot be run");
            return Err(Failure::input(message).with_help(
                "commands stand in the workflow's file; slackline generate workflow KIND --runnable makes some to try",
            ));
        }
    }
    refuse_names(workflow).map_err(Failure::input)?;
    for (task, name) in given_files(workflow) {
        let path = home.join(name);
        let real = path.canonicalize();
        match &real {
            Ok(real) if !real.is_file() => {
                let message = format!("task '{task}', input {}: is no file", path.display());
                return Err(Failure::input(message));
            }
            Ok(real) if !real.starts_with(home) && !files.is_outside_allowed() => {
                let message = format!(
                    "task '{task}', input {}: a link that leaves its folder",
                    path.display()
                );
                return Err(
                    Failure::input(message).with_help("--allow-outside takes it all the same")
                );
            }
            Ok(_) => {}
            Err(error) => {
                let message = format!("task '{task}', input {}: {error}", path.display());
                return Err(Failure::input(message)
                    .with_help("files that no task makes lie in the folder of the workflow"));
            }
        }
    }
    Ok(())
}

/// Goes on with a run that was left.
pub(super) fn resume(
    path: &Path,
    force: bool,
    outputs: &Outputs,
    output: &mut Output,
) -> Result<(), Failure> {
    let held = RunFolder::open(path)?;
    let recovered = folder::read(held.root()).map_err(Failure::input)?;
    if let Some(torn) = &recovered.torn {
        let (log, kept) = (held.log(), recovered.records.len());
        let side = recovered.side_file(&log);
        let side = side.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let rest = match recovered.follow {
            0 => "the rest".to_string(),
            1 => "the rest with one whole record".to_string(),
            n => format!("the rest with {n} whole records"),
        };
        if recovered.follow > 0 && !force {
            let version = &recovered.header.version;
            let message = format!(
                "{}: {torn}, and whole records are among what follows ({}): this is not the end of a run \
                 that was cut off (begun by version {version})",
                log.display(),
                recovered.follow
            );
            return Err(Failure::input(message).with_help(format!(
                "put the log back as it was; or resume --force goes on from record {kept}, does again what \
                 came after it, and keeps {rest} in {side}"
            )));
        }
        output.warning(&format!(
            "{}: {torn}; going on from the last whole record, number {kept} ({rest} is kept in {side})",
            log.display()
        ));
    }
    let steering = Steering::of(held.root(), recovered.header.clone(), output)?;
    let problem = steering.problem()?;
    let over = recovered.records.iter().any(|(_, r)| matches!(r, Record::Note(Note::Over { .. })));
    if over {
        let abandoned = recovered
            .records
            .iter()
            .any(|(_, record)| matches!(record, Record::Note(Note::Over { finished: false, .. })));
        output.note(if abandoned {
            "this run is over, and not all of its tasks are done: a new run tries the others again"
        } else {
            "this run is over: nothing is left to do"
        });
    }
    let log = RunLog::resume(&held.log(), &recovered).map_err(Failure::work)?;
    let finished = steering.drive(&problem, held, log, recovered.records, output)?;
    outputs.finished(&problem, path, &finished, output)
}

/// Repeats a run from its log: the same decisions must come out.
pub(super) fn repeat(path: &Path, outputs: &Outputs, output: &mut Output) -> Result<(), Failure> {
    let recovered = folder::read(path).map_err(Failure::input)?;
    if let Some(torn) = &recovered.torn {
        let follow = match recovered.follow {
            0 => String::new(),
            n => format!(", and whole records are among what follows ({n})"),
        };
        output.warning(&format!("{}: {torn}{follow}; repeating what is whole", path.display()));
    }
    let steering = Steering::of(path, recovered.header.clone(), output)?;
    let problem = steering.problem()?;
    let (ran, records) = steering.repeat(&problem, recovered)?;
    match ran {
        Some(ran) => {
            outputs.rehearsed(&problem, &ran, bound(&problem)?, output)?;
            let told = format!("\nRepeated: {records} records, every decision the same.\n");
            if outputs.json { Ok(()) } else { output.say(&told) }
        }
        None if outputs.json => output.json(&serde_json::json!({
            "schema": "slackline/repetition/1", "finished": false, "records": records,
        })),
        None => output.say(&format!(
            "Repeated: {records} records of a run that is not over, every decision the same.\n"
        )),
    }
}

impl Outputs {
    pub(super) fn files<'a>(&'a self, files: crate::files::Files<'a>) -> crate::files::Files<'a> {
        files
            .draws("--gantt", self.gantt.as_ref())
            .writes("--trace", self.trace.as_ref())
            .json(self.json)
    }

    /// The same of outputs that another verb has options for.
    pub(super) fn new(gantt: Option<PathBuf>, trace: Option<PathBuf>, json: bool) -> Outputs {
        Outputs { gantt, trace, json }
    }

    /// Trace and picture: a real run keeps the one for its report, and its log on disk.
    fn write(&self, files: &FileAccess, problem: &Problem<'_>, ran: &Ran) -> Result<(), Failure> {
        if let Some(path) = &self.trace {
            let format = TraceFormat::of_path(path)?;
            let (workflow, platform) = (problem.workflow(), problem.platform());
            files.write(path, |out| {
                trace::write(&ran.outcome.trace, format, workflow, platform, out)
            })?;
        }
        self.gantt.as_ref().map_or(Ok(()), |path| draw(files, problem, ran, path))
    }

    /// What was only simulated.
    fn rehearsed(
        &self,
        problem: &Problem<'_>,
        ran: &Ran,
        bound: f64,
        output: &mut Output,
    ) -> Result<(), Failure> {
        self.write(&output.files, problem, ran)?;
        if self.json {
            output.json(&Document::new(problem, ran, bound))?;
        } else {
            report::one(problem, ran, output)?;
        }
        verdict(ran)
    }

    fn finished(
        &self,
        problem: &Problem<'_>,
        path: &Path,
        finished: &Finished,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let ran = &finished.ran;
        self.write(&output.files, problem, ran)?;
        if self.json {
            let document = Document::new(problem, ran, bound(problem)?);
            output.json(&Execution::new(problem, document, path, finished))?;
        } else {
            report::one(problem, ran, output)?;
            output.say(&document::failures(problem, finished, output.width))?;
            output.say(&format!("\nRun folder: {}\n", path.display()))?;
        }
        verdict(ran)
    }
}

fn bound(problem: &Problem<'_>) -> Result<f64, Failure> {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let inputs = slackline_engine::Inputs::Everywhere;
    Ok(lower_bound(workflow, platform, &Charges::default(), inputs, true)?)
}

fn verdict(ran: &Ran) -> Result<(), Failure> {
    match &ran.outcome.ending {
        Ending::Finished => Ok(()),
        Ending::CannotFinish(why) => {
            Err(Failure::work(format!("{} cannot finish: {why}", ran.name)))
        }
    }
}
