//! `slackline run`: a workflow on real machines, under the policy that was tried in the simulator.

pub(super) mod detach;
pub(crate) mod view;

use crate::input::{LimitOptions, OverheadOptions, Sources, bytes, factor, safety, seconds};
use crate::model;
use crate::output::Output;
use crate::request::printed;
use crate::set_option::SetOptions;
use clap::{Args, ValueEnum};
use slackline_core::request::{
    ExecutionSettings, InputPlace, KeptFiles, PublishedAs, QUEUE_INTERVALS, RunRequest,
    SlurmSettings,
};
use slackline_core::run::{
    self, FinishedRun, OpenRun, Rehearsal, RehearsalReport, Start, UpToDateReport,
};
use slackline_core::run::{Enforce, Mode, log_of};
use slackline_core::simulation::Ran;
use slackline_core::{Failure, SimulationReport};
use slackline_formats::FileAccess;
use slackline_formats::trace::{self, TraceFormat};
use slackline_model::Problem;
use slackline_report::run::text as document;
use slackline_report::simulation::picture::draw;
use slackline_report::simulation::text as report;
use std::path::{Path, PathBuf};

/// Run a workflow on real machines under a policy
#[derive(Args)]
#[command(after_help = "\
Every host of the platform becomes a folder of the run, its cores slots; on Slurm a pilot on the node \
of that name. A task runs in a fresh folder with its inputs linked in; its outputs are checked and moved to the store of the host. The \
log in the run folder survives anything: slackline resume RUN continues.

Examples:
  slackline run pipeline.toml --platform four-sites.toml --policy slackline
  slackline run montage.json --platform four-sites.toml --dry-run
  slackline run montage.json --platform cluster.toml --on slurm
  slackline resume montage.run
  slackline replay montage.run")]
pub(crate) struct Run {
    /// The workflow; files that no task makes are taken from its folder
    workflow: PathBuf,
    #[command(flatten)]
    sources: Sources,
    /// Number of tasks to run at once on this machine [default: its cores]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "platform")]
    cores: Option<u32>,
    /// The planner that plans before and, where a policy asks for it, during the run
    #[arg(short, long, value_name = "NAME")]
    algorithm: Option<String>,
    /// The policy that steers the run: `work-stealing` follows the plan, and idle processors take ready tasks
    /// that wait elsewhere; `static` follows the plan alone
    #[arg(long, value_name = "NAME", default_value = "work-stealing")]
    policy: String,
    /// Place of the work
    #[arg(long, value_enum, default_value_t = On::Local)]
    on: On,
    #[command(flatten)]
    slurm: SlurmArgs,
    /// The folder of the run; WORKFLOW.run if left out. In a folder that was used before what is up to date is
    /// kept
    #[arg(long, value_name = "RUN")]
    folder: Option<PathBuf>,
    /// Make a new folder although there is one of this workflow
    #[arg(long)]
    new: bool,
    /// Do a task again although it is up to date; may be repeated
    #[arg(long, value_name = "TASK", num_args = 1..)]
    force: Vec<String>,
    /// Make only these tasks or files, and what they need
    #[arg(long, value_name = "TARGET", num_args = 1..)]
    only: Vec<String>,
    /// Do what does not depend on a task that failed for good; this is the default
    #[arg(long, conflicts_with = "fail_fast")]
    keep_going: bool,
    /// End the run when a task has failed for good
    #[arg(long)]
    fail_fast: bool,
    /// Files that stay in the run folder: all of them, or results alone; the others are deleted after their last
    /// reader
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Keep::All)]
    keep: Keep,
    /// Put the results into this folder, too, with manifest.json, which lists them; nothing else in it is touched
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Form of the results there: links where that is possible, which cannot be written to, or copies
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ResultsAs::Link, requires = "results")]
    results_as: ResultsAs,
    /// When inputs travel: push, pull, or pull:N to fetch for the next N tasks of a queue
    #[arg(long, value_name = "WHEN")]
    transfers: Option<String>,
    /// Time between two looks of a periodic policy: a part of the planned makespan, or e.g. 30s
    #[arg(long, value_name = "PART|TIME")]
    period: Option<String>,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    overheads: OverheadOptions,
    #[command(flatten)]
    parameters: SetOptions,
    /// Seed of planners and policies that draw random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// Location of the workflow's inputs: on the platform's origin, or everywhere; on the origin if
    /// left out and the platform names one
    #[arg(long, value_enum)]
    inputs: Option<WhereInputs>,
    /// Maximum retries of a failed task or transfer
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    retries: u32,
    /// Factor on the memory of a task that ran out of it
    #[arg(long, value_name = "FACTOR", default_value_t = 2.0, value_parser = factor)]
    memory_factor: f64,
    /// Memory of this machine for the tasks, e.g. 24GB, where no platform is given; all it has if left out
    #[arg(long, value_name = "SIZE", value_parser = bytes, conflicts_with = "platform")]
    memory: Option<f64>,
    /// Devices of this machine for the tasks, where no platform is given; all it has if left out
    #[arg(long, value_name = "NUMBER", conflicts_with = "platform")]
    gpus: Option<u32>,
    /// Enforcement of memory demands: by control groups, by polling, not at all (off), or as
    /// well as this machine can (auto)
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = enforce)]
    enforce: Enforce,
    /// Time after which an attempt at a task is ended, e.g. 2h
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    time_limit: Option<f64>,
    /// Do not update estimates from measured run times
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
    /// Show the plan without running anything: every task with its place and times, the cost, what would be moved
    #[arg(long)]
    dry_run: bool,
    /// Leave the run to a process of its own, which outlives this terminal; status, stop and resume find it
    #[arg(long, conflicts_with_all = ["dry_run", "gantt", "trace", "json"])]
    detach: bool,
    #[command(flatten)]
    outputs: Outputs,
}

fn enforce(text: &str) -> Result<Enforce, String> {
    let found = Enforce::ALL.iter().find(|(name, _)| *name == text);
    found.map(|(_, how)| *how).ok_or_else(|| "give auto, cgroup, poll or off".to_string())
}

/// Outputs after a run.
#[derive(Args, Default)]
pub(crate) struct Outputs {
    /// Draw the run into this SVG file
    #[arg(short, long, value_name = "FILE.svg")]
    gantt: Option<PathBuf>,
    /// Write the event trace: .jsonl (ours), .json (Chrome, Perfetto) or .paje
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// Shell line to carry out when the run is over, however it ends, with SLACKLINE_STATE, SLACKLINE_FOLDER and others
    /// set
    #[arg(long, value_name = "COMMAND")]
    notify: Option<String>,
}

/// Places of execution.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    /// Processes of this machine
    Local,
    /// Batch jobs of the Slurm cluster that `sbatch` submits to
    Slurm,
}

/// Options for a Slurm cluster.
#[derive(Args)]
struct SlurmArgs {
    /// Content of a batch job: all tasks of a host (pilots), or one attempt at one task (job)
    #[arg(long, value_enum, value_name = "MODE", default_value_t = JobMode::Pilots)]
    mode: JobMode,
    /// Address that pilots connect to [default: resolved from the host name]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<std::net::IpAddr>,
    /// Ports that may be listened at, e.g. 40000-40100; one that the system chooses if left out
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    ports: Option<(u16, u16)>,
    /// Time between two looks at the queue; 2s if left out, and 30s beyond ten jobs
    #[arg(long, value_name = "TIME", value_parser = interval)]
    squeue_interval: Option<f64>,
    /// Extra argument for sbatch, e.g. --sbatch=--partition=long; may be repeated
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Fewest and most pilots at once, by need, e.g. 1:20; one for every host of the platform if left out
    #[arg(long, value_name = "MIN:MAX", value_parser = pilots)]
    pilots: Option<(u32, u32)>,
    /// Time that pilots wait for a run to go on before they end
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "10min")]
    pilot_patience: f64,
    /// Ratio of the time that a pilot must have left for a task to the task's estimate
    #[arg(long, value_name = "FACTOR", default_value_t = 1.25, value_parser = safety)]
    wall_safety: f64,
}

/// Purpose of a batch job.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum JobMode {
    Pilots,
    Job,
}

/// Files that stay.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Keep {
    All,
    Results,
}

/// Forms of results in a folder of the user.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ResultsAs {
    Link,
    Copy,
}

/// Locations of inputs.
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

/// Two numbers, or the most alone.
fn pilots(text: &str) -> Result<(u32, u32), String> {
    let (least, most) = text.split_once(':').unwrap_or(("0", text));
    match (least.trim().parse::<u32>(), most.trim().parse::<u32>()) {
        (Ok(least), Ok(most)) if least <= most && most > 0 => Ok((least, most)),
        (Ok(_), Ok(0)) => Err("a run needs a pilot".to_string()),
        (Ok(_), Ok(_)) => Err("the first number is greater than the second".to_string()),
        _ => Err("expected two numbers, e.g. 1:20".to_string()),
    }
}

/// A time between two looks.
fn interval(text: &str) -> Result<f64, String> {
    let (least, most) = QUEUE_INTERVALS;
    match seconds(text)? {
        time if (least..=most).contains(&time) => Ok(time),
        _ => Err("expected a time between 100ms and 1d".to_string()),
    }
}

impl SlurmArgs {
    fn settings(&self) -> SlurmSettings {
        SlurmSettings {
            mode: match self.mode {
                JobMode::Pilots => Mode::Pilots,
                JobMode::Job => Mode::Job,
            },
            listen: self.listen,
            ports: self.ports,
            squeue_interval: self.squeue_interval,
            sbatch: self.sbatch.clone(),
            pilots: self.pilots,
            patience: self.pilot_patience,
            wall_safety: self.wall_safety,
        }
    }
}

impl Run {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let workflow = self.workflow.display();
        if log_of(&self.workflow).is_file() {
            let message = format!("{workflow}: is the folder of a run, not a workflow");
            let help = format!("'slackline resume {workflow}' continues with it");
            return Err(Failure::input(message).with_help(help));
        }
        self.outputs.files(self.sources.files().reads(Some(&self.workflow))).check(output)?;
        let request = self.request()?;
        if printed(&request, output)? {
            return Ok(());
        }
        if self.detach {
            return detach::begin(request, self.outputs.notify.as_deref(), output);
        }
        carry_out(request, &self.outputs, output)
    }

    fn request(&self) -> Result<RunRequest, Failure> {
        Ok(RunRequest {
            input: self.sources.request(std::slice::from_ref(&self.workflow)),
            cores: self.cores,
            memory: self.memory.map(|bytes| bytes as u64),
            gpus: self.gpus,
            planner: self.algorithm.clone(),
            policy: self.policy.clone(),
            transfers: self.transfers.clone(),
            period: self.period.clone(),
            parameters: self.parameters.request(),
            limits: self.limits.settings(),
            overheads: self.overheads.request(),
            seed: self.seed,
            inputs: self.inputs.map(|place| match place {
                WhereInputs::Origin => InputPlace::Origin,
                WhereInputs::Everywhere => InputPlace::Everywhere,
            }),
            execution: ExecutionSettings {
                retries: self.retries,
                fail_fast: self.fail_fast && !self.keep_going,
                keep: match self.keep {
                    Keep::All => KeptFiles::All,
                    Keep::Results => KeptFiles::Results,
                },
                memory_factor: self.memory_factor,
                enforce: self.enforce,
                time_limit: self.time_limit,
                learning: !self.no_learning,
                throttle: self.throttle,
                network: model::settings(&self.config)?,
                stealing: None,
                pin: self.pin,
                checksum_limit: if self.no_checksums {
                    Some(0)
                } else {
                    self.checksum_limit.map(|bytes| bytes as u64)
                },
                scratch: self.scratch.clone(),
                slurm: (self.on == On::Slurm).then(|| self.slurm.settings()),
            },
            folder: self.folder.clone(),
            dry_run: self.dry_run,
            new: self.new,
            force: self.force.clone(),
            only: self.only.clone(),
            results: self.results.clone(),
            results_as: match self.results_as {
                ResultsAs::Link => PublishedAs::Link,
                ResultsAs::Copy => PublishedAs::Copy,
            },
            ..RunRequest::default()
        })
    }
}

/// Runs as a request says.
pub(crate) fn carry_out(
    request: RunRequest,
    outputs: &Outputs,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut context = output.context(false);
    let input = request.read(&mut context)?;
    if !input.request.dry_run {
        let start = input.begin(&mut context)?;
        return drive(start, outputs, output);
    }
    let session = match input.rehearsal(&mut context)? {
        Rehearsal::Run(session) => session,
        Rehearsal::UpToDate(report) => return outputs.up_to_date(&report, output),
    };
    let problem = session.problem()?;
    let (ran, bound) = session.rehearse(&problem, &mut context)?;
    let whole = ran.outcome.workflow.clone();
    let course = session.problem_of(&whole)?;
    let problem = course.as_ref().unwrap_or(&problem);
    if outputs.json {
        outputs.write(&output.files, problem, &ran, None)?;
        output.json(&RehearsalReport::new(&session, problem, &ran, bound))?;
        return run::verdict(&ran);
    }
    if let Some(part) = &session.header.part {
        output.say(&document::agenda(part, usize::MAX, output.width))?;
    }
    outputs.rehearsed(problem, &ran, bound, output)?;
    output.say(&document::whole_plan(problem, &ran, output.width))
}

/// Most tasks whose reasons are shown before a run; all of them are in its log.
const REASONS: usize = 50;

fn drive(start: Start, outputs: &Outputs, output: &mut Output) -> Result<(), Failure> {
    let open = match start {
        Start::Run(open) => open,
        Start::UpToDate(report) => return outputs.up_to_date(&report, output),
    };
    let path = open.path.clone();
    let (session, driver) = open.parts();
    if let Some(part) = session.header.part.as_ref().filter(|_| !outputs.json) {
        output.say(&document::agenda(part, REASONS, output.width))?;
    }
    let problem = session.problem()?;
    let driven = driver.drive(&session, &problem, &mut output.context(false));
    if let Some(line) = &outputs.notify {
        run::notify(line, &path, &mut output.context(true));
    }
    let finished = driven?;
    let whole = finished.ran.outcome.workflow.clone();
    let course = session.problem_of(&whole)?;
    outputs.finished(course.as_ref().unwrap_or(&problem), &path, &finished, output)
}

/// Continues with a run that was left.
pub(super) fn resume(
    path: &Path,
    force: bool,
    retry: bool,
    outputs: &Outputs,
    output: &mut Output,
) -> Result<(), Failure> {
    let start = OpenRun::resume(path, force, retry, &mut output.context(false))?;
    drive(start, outputs, output)
}

/// Repeats a run from its log: the same decisions must come out.
pub(super) fn repeat(path: &Path, outputs: &Outputs, output: &mut Output) -> Result<(), Failure> {
    let (session, recovered) = run::recover(path, &mut output.context(false))?;
    let problem = session.problem()?;
    let repetition = session.repeat(&problem, recovered)?;
    let records = repetition.records;
    match repetition.ran {
        Some(ran) => {
            let whole = ran.outcome.workflow.clone();
            let course = session.problem_of(&whole)?;
            let problem = course.as_ref().unwrap_or(&problem);
            outputs.rehearsed(problem, &ran, run::bound(problem)?, output)?;
            let told = format!("\nRepeated: {records} records, every decision the same.\n");
            if outputs.json { Ok(()) } else { output.say(&told) }
        }
        None if outputs.json => output.json(&run::repetition_report(records)),
        None => output.say(&format!(
            "Repeated: {records} records of a run that is not over, every decision the same.\n"
        )),
    }
}

impl Outputs {
    pub(super) fn files<'a>(
        &'a self,
        files: crate::path_check::Files<'a>,
    ) -> crate::path_check::Files<'a> {
        files
            .draws("--gantt", self.gantt.as_ref())
            .writes("--trace", self.trace.as_ref())
            .json(self.json)
    }

    /// Tables, and a command at the end.
    pub(super) fn notifying(notify: Option<String>) -> Outputs {
        Outputs { notify, ..Outputs::default() }
    }

    /// Tables or the JSON document.
    pub(crate) fn only(json: bool) -> Outputs {
        Outputs { json, ..Outputs::default() }
    }

    /// The same of outputs that another verb has options for.
    pub(super) fn new(gantt: Option<PathBuf>, trace: Option<PathBuf>, json: bool) -> Outputs {
        Outputs { gantt, trace, json, notify: None }
    }

    /// Trace and picture: a real run keeps the one for its report, and its log on disk.
    fn write(
        &self,
        files: &FileAccess,
        problem: &Problem<'_>,
        ran: &Ran,
        attempts: Option<&trace::AttemptsOf<'_>>,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.trace {
            let format = TraceFormat::of_path(path)?;
            let (workflow, platform) = (problem.workflow(), problem.platform());
            let records = &ran.outcome.trace;
            files.write(path, |out| match attempts {
                Some(known) => {
                    let subject = (workflow, platform);
                    trace::write_with_attempts(records, format, subject, known, out)
                }
                None => trace::write(records, format, workflow, platform, out),
            })?;
        }
        self.gantt.as_ref().map_or(Ok(()), |path| draw(files, problem, ran, path, &[]))
    }

    /// There is nothing to do.
    fn up_to_date(&self, report: &UpToDateReport, output: &mut Output) -> Result<(), Failure> {
        if self.json {
            return output.json(report);
        }
        output.say(&document::up_to_date(report))
    }

    /// Reports a simulated run.
    fn rehearsed(
        &self,
        problem: &Problem<'_>,
        ran: &Ran,
        bound: f64,
        output: &mut Output,
    ) -> Result<(), Failure> {
        self.write(&output.files, problem, ran, None)?;
        if self.json {
            output.json(&SimulationReport::new(problem, ran, bound))?;
        } else {
            report::one(problem, ran, output)?;
        }
        run::verdict(ran)
    }

    fn finished(
        &self,
        problem: &Problem<'_>,
        path: &Path,
        finished: &FinishedRun,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let ran = &finished.ran;
        let attempt = |task, number, done| finished.attempt(problem, path, (task, number), done);
        self.write(&output.files, problem, ran, Some(&attempt))?;
        if self.json {
            output.json(&run::report(problem, path, finished)?)?;
        } else {
            report::one(problem, ran, output)?;
            output.say(&document::failures(problem, finished, output.width))?;
            output.say(&document::redone(finished))?;
            output.say(&format!("\nRun folder: {}\n", path.display()))?;
        }
        run::verdict(ran)
    }
}
