//! Runs on real machines: a request in a new folder, a folder that is resumed, a folder that is repeated.

mod report;
mod run_session;
mod settings;

pub use report::{
    ConnectionBandwidth, FailedAttempt, HostLevel, KindFactor, Learnt, RunReport, blocked, stderr,
};
pub use run_session::{FinishedRun, RunSession};
pub use settings::{command_path, set_command_path};
pub use slackline_machines::folder::{Recovered, log_of, refuse_names};

use crate::context::{Context, Silent};
use crate::failure::Failure;
use crate::input::{Loaded, format_of, read_document, read_platform};
use crate::recorded;
use crate::request::{InputPlace, RunRequest};
use crate::simulation::{Ran, SimulationReport};
use run_session::seconds_since_1970;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_analysis::plan_check::lower_bound;
use slackline_engine::{Ending, Record};
use slackline_formats::{Document, FileAccess, Format, platform_toml};
use slackline_machines::attempt::{checksum, stamped_checksum};
use slackline_machines::detect::local;
use slackline_machines::folder::{self, FolderError, Header, Note, RunFolder, RunLog};
use slackline_machines::slurm;
use slackline_model::control::Control;
use slackline_model::platform::Charges;
use slackline_model::workflow::REFERENCE_SPEED;
use slackline_model::{Platform, Problem, Workflow};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

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

/// The policy whose runs steal work.
const SLACKLINE: &str = "slackline";

/// A request with what it names.
pub struct RunInput {
    /// The request, with everything that a folder keeps.
    pub request: RunRequest,
    document: Document,
    format: Format,
    platform: Platform,
    /// The folder of the workflow, from which inputs are taken.
    home: PathBuf,
}

/// A run with its folder, ready to be driven.
pub struct OpenRun {
    /// The run.
    pub session: RunSession,
    /// Its folder, as it was named.
    pub path: PathBuf,
    folder: RunFolder,
    log: Option<RunLog>,
    records: Vec<(f64, Record)>,
}

/// The repetition of a run from its log.
pub struct Repetition {
    /// The run, where the log holds all of it.
    pub ran: Option<Ran>,
    /// Number of records compared.
    pub records: usize,
}

/// The report of a repetition of a run that is not over: the JSON document `slackline/repetition/1`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RepetitionReport {
    /// `slackline/repetition/1`.
    pub schema: &'static str,
    /// Whether the run is over.
    pub finished: bool,
    /// Number of records compared.
    pub records: usize,
}

/// The report of a run request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RunAnswer {
    /// Of a rehearsal.
    Rehearsal(Box<SimulationReport>),
    /// Of a run on real machines.
    Run(Box<RunReport>),
}

impl RunRequest {
    /// Carries the request out. A run that cannot finish is not an error; the report contains the reason.
    pub fn report(self, context: &mut Context<'_>) -> Result<RunAnswer, Failure> {
        let input = self.read(context)?;
        if input.request.dry_run {
            let session = input.rehearsal()?;
            let problem = session.problem()?;
            let (ran, bound) = session.rehearse(&problem, context)?;
            let whole = ran.outcome.workflow.clone();
            let course = session.problem_of(&whole)?;
            let report = SimulationReport::new(course.as_ref().unwrap_or(&problem), &ran, bound);
            return Ok(RunAnswer::Rehearsal(Box::new(report)));
        }
        let open = input.begin(context)?;
        let path = open.path.clone();
        let (session, driver) = open.parts();
        let problem = session.problem()?;
        let finished = driver.drive(&session, &problem, context)?;
        let whole = finished.ran.outcome.workflow.clone();
        let course = session.problem_of(&whole)?;
        let problem = course.as_ref().unwrap_or(&problem);
        Ok(RunAnswer::Run(Box::new(report(problem, &path, &finished)?)))
    }

    /// Reads what the request names.
    pub fn read(mut self, context: &mut Context<'_>) -> Result<RunInput, Failure> {
        self.check()?;
        let workflow = self.input.workflows[0].clone();
        if self.input.format.is_none()
            && let Some(engine) = recorded::engine_of(&workflow, &context.files)
        {
            let message = format!("{}: records of a run of {engine}", workflow.display());
            return Err(Failure::input(message).with_help(
                "slackline import -o DIR writes them as a workflow, which can be run where its commands can",
            ));
        }
        let format = format_of(&context.files, &workflow, self.input.format)?;
        let document = read_document(&workflow, Some(format), context)?;
        let platform = match &self.input.platform {
            Some(path) => read_platform(path, context)?,
            None if self.execution.slurm.is_some() => {
                return Err(Failure::input(
                    "--on slurm: --platform names the hosts, and is not given",
                )
                .with_help(
                    "slackline platform detect --slurm -o cluster.toml describes the cluster",
                ));
            }
            None => this_machine(&self, context)?,
        };
        let home = workflow.parent().filter(|p| !p.as_os_str().is_empty());
        let home = home.unwrap_or(Path::new(".")).canonicalize()?;
        check_runnable(&context.files, &document.workflow, &home)?;
        self.limits.check_prices(&platform, [self.policy.as_str()])?;
        if self.inputs == Some(InputPlace::Origin) && platform.origin().is_none() {
            let message = format!("--inputs origin: '{}' names no origin", platform.name());
            return Err(Failure::input(message));
        }
        self.input.format = Some(format);
        if self.inputs.is_none() || platform.origin().is_none() {
            let has_origin = platform.origin().is_some();
            let place = if has_origin { InputPlace::Origin } else { InputPlace::Everywhere };
            self.inputs = Some(place);
        }
        self.execution.stealing.get_or_insert(self.policy == SLACKLINE);
        self.execution.scratch = self.execution.scratch.as_deref().map(plain_path).transpose()?;
        Ok(RunInput { request: self, document, format, platform, home })
    }
}

impl RunInput {
    /// The run as it is rehearsed in the simulator.
    pub fn rehearsal(self) -> Result<RunSession, Failure> {
        let header = self.header("")?;
        let path = &self.request.input.workflows[0];
        let workflow = match self.request.input.reference_speed {
            None => self.document.workflow,
            Some(speed) => {
                let scaled = self.document.at_reference_speed(self.format, speed);
                scaled.map_err(|e| e.in_file(path))?.workflow
            }
        };
        let place = self.request.input.platform.clone();
        let loaded = Loaded { place, ..Loaded::plain(workflow, self.platform) };
        RunSession::new(header, self.request, self.format, loaded)
    }

    /// Makes the folder of the run.
    pub fn begin(self, context: &mut Context<'_>) -> Result<OpenRun, Failure> {
        if let Some(slurm) = &self.request.execution.slurm {
            slurm::check_words(&self.document.workflow, &slurm.sbatch).map_err(|why| {
                Failure::input(why).with_help("give jobs as much, or leave --mem out")
            })?;
            let id = self.header("")?.id;
            let options = slurm.options(id, &self.platform, None)?;
            let waits = slurm::check(&self.platform, &self.document.workflow, &options);
            let refused = |why| Failure::work(format!("Slurm refuses the jobs of this run: {why}"));
            waits.map_err(refused)?.iter().for_each(|why| context.note(why));
        }
        if self.request.execution.slurm.is_none() {
            run_session::settled(&self.request.execution)?;
            if let Some(warning) = crowded(&self.platform) {
                context.warning(&warning);
            }
        }
        let workflow = &self.request.input.workflows[0];
        let path = self.request.folder.clone().unwrap_or_else(|| free_name(workflow));
        let folder = RunFolder::create(&path)?;
        let mut header = self.prepare(&context.files, &folder)?;
        let mut stamps = BTreeMap::new();
        for (task, name) in given_files(&self.document.workflow) {
            let path = self.home.join(name);
            let (stamp, digest) = stamped_checksum(&path).map_err(|e| {
                Failure::input(format!("task '{task}', input {}: {e}", path.display()))
            })?;
            stamps.insert(name.to_string(), stamp);
            header.input_digests.insert(name.to_string(), digest);
        }
        // The copies are what has been read already: nothing is said about them again.
        let mut silent = Silent;
        let mut again = Context::new(context.files.clone(), &mut silent);
        let session = RunSession::open(folder.root(), header, &mut again)?.with_stamps(stamps);
        Ok(OpenRun { session, path, folder, log: None, records: Vec::new() })
    }

    fn header(&self, workflow: &str) -> Result<Header, Failure> {
        let began = seconds_since_1970();
        let id = format!("{:x}-{:x}", (began * 1e6) as u64, std::process::id());
        Ok(Header {
            schema: Header::schema(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            id,
            began,
            workflow: workflow.to_string(),
            platform: "platform.toml".to_string(),
            policy: self.request.policy.clone(),
            settings: settings::to_map(&self.request)?,
            seed: self.request.seed,
            digests: BTreeMap::new(),
            inputs: self.home.clone(),
            input_digests: BTreeMap::new(),
        })
    }

    /// Puts copies of workflow and platform into the folder.
    fn prepare(&self, files: &FileAccess, folder: &RunFolder) -> Result<Header, Failure> {
        let end = self.format.extensions().first().copied().unwrap_or("txt");
        let mut header = self.header(&format!("workflow.{end}"))?;
        let workflow = &self.request.input.workflows[0];
        let text = if files.has_value(workflow) {
            let mut bytes = Vec::new();
            self.format.write(&self.document, &mut bytes)?;
            slackline_io::decode(bytes)?.into()
        } else {
            files.read_text(workflow)?
        };
        let platform = platform_toml::to_string(&self.platform)?;
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

/// The half of an open run that drives it.
pub struct Driver {
    folder: RunFolder,
    log: Option<RunLog>,
    records: Vec<(f64, Record)>,
}

/// A warning where a platform has more slots than this machine has cores: tasks that compute share them.
fn crowded(platform: &Platform) -> Option<String> {
    let slots: u64 = platform.hosts().iter().map(|host| u64::from(host.cores)).sum();
    let cores = std::thread::available_parallelism().map_or(u64::MAX, |cores| cores.get() as u64);
    (slots > cores).then(|| {
        let machine = if cores == 1 { "1 core".to_string() } else { format!("{cores} cores") };
        format!(
            "the platform has {slots} slots and this machine {machine}: tasks that compute share them, and take longer \
             than planned"
        )
    })
}

impl OpenRun {
    /// Opens the folder of a run that was interrupted. With `force` a log that is damaged before whole records is cut
    /// there, and the rest kept beside it.
    pub fn resume(path: &Path, force: bool, context: &mut Context<'_>) -> Result<OpenRun, Failure> {
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
            context.warning(&format!(
                "{}: {torn}; going on from the last whole record, number {kept} ({rest} is kept in {side})",
                log.display()
            ));
        }
        let session = RunSession::open(held.root(), recovered.header.clone(), context)?;
        let over =
            recovered.records.iter().any(|(_, r)| matches!(r, Record::Note(Note::Over { .. })));
        if over {
            let abandoned = recovered
                .records
                .iter()
                .any(|(_, r)| matches!(r, Record::Note(Note::Over { finished: false, .. })));
            context.note(if abandoned {
                "this run is over, and not all of its tasks are done: a new run tries the others again"
            } else {
                "this run is over: nothing is left to do"
            });
        }
        let log = Some(RunLog::resume(&held.log(), &recovered).map_err(Failure::work)?);
        let (path, records) = (path.to_path_buf(), recovered.records);
        Ok(OpenRun { session, path, folder: held, log, records })
    }

    /// The run and what drives it.
    pub fn parts(self) -> (RunSession, Driver) {
        let OpenRun { session, folder, log, records, .. } = self;
        (session, Driver { folder, log, records })
    }
}

impl Driver {
    /// Drives the run to its end.
    pub fn drive(
        self,
        session: &RunSession,
        problem: &Problem<'_>,
        context: &mut Context<'_>,
    ) -> Result<FinishedRun, Failure> {
        session.drive(problem, self.folder, self.log, self.records, context)
    }
}

/// Reads the folder of a run as far as its log is whole.
pub fn read_folder(path: &Path) -> Result<Recovered, Failure> {
    folder::read(path).map_err(Failure::input)
}

/// The folder of a run as far as its log is whole; what is torn is warned of.
pub fn recover(path: &Path, context: &mut Context<'_>) -> Result<(RunSession, Recovered), Failure> {
    let recovered = folder::read(path).map_err(Failure::input)?;
    if let Some(torn) = &recovered.torn {
        let follow = match recovered.follow {
            0 => String::new(),
            n => format!(", and whole records are among what follows ({n})"),
        };
        context.warning(&format!("{}: {torn}{follow}; repeating what is whole", path.display()));
    }
    let session = RunSession::open(path, recovered.header.clone(), context)?;
    Ok((session, recovered))
}

/// The report of a run on real machines.
pub fn report(
    problem: &Problem<'_>,
    path: &Path,
    finished: &FinishedRun,
) -> Result<RunReport, Failure> {
    let run = SimulationReport::new(problem, &finished.ran, bound(problem)?);
    Ok(RunReport::new(problem, run, path, finished))
}

/// The report of a repetition of a run that is not over.
pub fn repetition_report(records: usize) -> RepetitionReport {
    RepetitionReport { schema: "slackline/repetition/1", finished: false, records }
}

/// A date before which a run cannot end, whatever its transfers are charged.
pub fn bound(problem: &Problem<'_>) -> Result<f64, Failure> {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    let inputs = slackline_engine::Inputs::Everywhere;
    Ok(lower_bound(workflow, platform, &Charges::default(), inputs, true)?)
}

/// Fails where a run cannot finish.
pub fn verdict(ran: &Ran) -> Result<(), Failure> {
    match &ran.outcome.ending {
        Ending::Finished => Ok(()),
        Ending::CannotFinish(why) => {
            Err(Failure::work(format!("{} cannot finish: {why}", ran.name)))
        }
    }
}

/// Describes this machine as a platform, for runs without a named one.
fn this_machine(request: &RunRequest, context: &mut Context<'_>) -> Result<Platform, Failure> {
    let mut found = local::detect(Some(REFERENCE_SPEED));
    for machine in &mut found.machines {
        machine.cores = request.cores.unwrap_or(machine.cores);
        machine.memory = request.memory.map(|bytes| bytes as f64).or(machine.memory);
        if let Some(count) = request.gpus {
            machine.gpus = vec![(String::new(), count)];
        }
    }
    if request.cores.is_none() {
        context.note("no --platform given: running on the cores of this machine");
    }
    Ok(platform_toml::parse(&found.to_toml())?)
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
pub fn given_files(workflow: &Workflow) -> Vec<(&str, &str)> {
    if let Some(control) = workflow.control() {
        return given_to(control);
    }
    let given = |file| {
        let name = workflow.file_name(file);
        let given = !name.is_empty() && workflow.producer(file).is_none();
        let reader = workflow.consumers(file).next().filter(|_| given)?;
        Some((workflow.task_name(reader), name))
    };
    workflow.files().filter_map(given).collect()
}

/// The given files of a workflow with choices and loops: those that no task writes and no branch passes on
/// under their name.
fn given_to(control: &Control) -> Vec<(&str, &str)> {
    let files = control.file_uses();
    let tasks = || 0..control.tasks() as u32;
    let is_written = |name: &String| tasks().any(|task| files.written_by(task).contains(name));
    let branches = || control.choices().iter().flat_map(|choice| &choice.branches);
    let is_passed = |name: &String| branches().any(|b| b.pass.iter().any(|(to, _)| to == name));
    let given = |name: &'_ &String| !is_written(name) && !is_passed(name);
    let mut found: Vec<(&str, &str)> = Vec::new();
    for name in files.names().iter().filter(given) {
        let reader = tasks().find(|&task| files.read_by(task).contains(name));
        let behind = branches().find(|b| b.pass.iter().any(|(_, from)| from == name));
        let user = match (reader, behind) {
            (Some(task), _) => control.task_name(task),
            (None, Some(branch)) => branch.name.as_str(),
            (None, None) => continue,
        };
        found.push((user, name));
    }
    found
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
    if let Some(control) = workflow.control() {
        control.check_decidable().map_err(Failure::input)?;
    }
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
