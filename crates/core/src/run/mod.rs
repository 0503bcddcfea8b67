//! Runs on real machines: a request in a new folder, a folder that is resumed, a folder that is repeated.

mod again;
pub mod calibration;
mod clean;
pub mod clock;
pub mod difference;
pub mod history;
mod notify;
pub mod page;
mod published;
mod report;
mod run_session;
mod settings;
pub mod status;
pub mod stop;

pub use again::{Rehearsal, Start};
pub use clean::{CleanReport, Parts, clean};
pub use notify::notify;
pub use published::{PublishedFile, ResultsManifest};
pub use report::{
    ConnectionBandwidth, FailedAttempt, HostLevel, KindFactor, Learnt, RedoneTask, RehearsalReport,
    RunReport, UpToDateReport, blocked, stderr,
};
pub use run_session::{FinishedRun, RunSession};
pub use settings::{command_path, set_command_path};
pub use slackline_machines::attempt::{Enforce, STDERR, adopt_orphans, raise_open_files};
pub use slackline_machines::folder::{
    DETACHED_LOG, Definition as RunDefinition, DrivingProcess, Failure as RecordedFailure,
    Recovered, component as folder_name, log_of, refuse_names, reused,
};
pub use slackline_machines::slurm::{Mode, Pilot};

use crate::context::{Context, Silent};
use crate::failure::Failure;
use crate::input::{Loaded, format_of, read_platform};
use crate::recorded;
use crate::request::{InputPlace, RunRequest, Sources};
use crate::simulation::{Ran, SimulationReport};
use run_session::seconds_since_1970;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_analysis::plan_check::lower_bound;
use slackline_engine::{Ending, Record};
use slackline_formats::document::Definition;
use slackline_formats::note::Comments;
use slackline_formats::{Document, FileAccess, Format, platform_toml};
use slackline_machines::attempt::checksum;
use slackline_machines::detect::local;
use slackline_machines::folder::{self, FolderError, Header, RunFolder, RunLog};
use slackline_machines::slurm;
use slackline_machines::surroundings;
use slackline_machines::up_to_date::History;
use slackline_model::control::Control;
use slackline_model::names::printable;
use slackline_model::platform::Charges;
use slackline_model::workflow::{Command, REFERENCE_SPEED};
use slackline_model::{Platform, Problem, Workflow};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Failure {
        match error {
            FolderError::Unfit { .. } => Failure::input(error).with_help(
                "slackline resume RUN continues with a run; a new one takes a new folder",
            ),
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
    log: LogStart,
    records: Vec<(f64, Record)>,
}

/// The state of the log of a run that is about to be driven.
pub(crate) enum LogStart {
    /// There is none yet.
    Create,
    /// It has runs in the same folder, and this one follows what was done in them.
    Define(Box<Recovered>, Box<History>),
    /// It has the beginning of this run.
    Open(RunLog),
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
    Rehearsal(Box<RehearsalReport>),
    /// Of a run or rehearsal with nothing to do.
    UpToDate(UpToDateReport),
    /// Of a run on real machines.
    Run(Box<RunReport>),
}

impl RunRequest {
    /// Carries the request out. A run that cannot finish is not an error; the report contains the reason.
    pub fn report(self, context: &mut Context<'_>) -> Result<RunAnswer, Failure> {
        let input = self.read(context)?;
        if input.request.dry_run {
            let session = match input.rehearsal(context)? {
                Rehearsal::Run(session) => session,
                Rehearsal::UpToDate(report) => return Ok(RunAnswer::UpToDate(report)),
            };
            let problem = session.problem()?;
            let (ran, bound) = session.rehearse(&problem, context)?;
            let whole = ran.outcome.workflow.clone();
            let course = session.problem_of(&whole)?;
            let problem = course.as_ref().unwrap_or(&problem);
            let report = RehearsalReport::new(&session, problem, &ran, bound);
            return Ok(RunAnswer::Rehearsal(Box::new(report)));
        }
        let open = match input.begin(context)? {
            Start::Run(open) => open,
            Start::UpToDate(report) => return Ok(RunAnswer::UpToDate(report)),
        };
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
    pub fn read(self, context: &mut Context<'_>) -> Result<RunInput, Failure> {
        self.read_at(None, context)
    }

    /// The same with another folder than that of the workflow for the user's files.
    pub(crate) fn read_at(
        mut self,
        home: Option<PathBuf>,
        context: &mut Context<'_>,
    ) -> Result<RunInput, Failure> {
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
        let sources = Sources { format: Some(format), ..self.input.clone() };
        let document = sources.read_document(&workflow, context)?;
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
        let beside = workflow.parent().filter(|p| !p.as_os_str().is_empty());
        let home = match home {
            Some(home) => home,
            None => beside.unwrap_or(Path::new(".")).canonicalize()?,
        };
        check_runnable(&context.files, &document.workflow, &home)?;
        let mode = self.execution.slurm.as_ref().map(|slurm| slurm.mode);
        refuse_nodes(&document.workflow, mode)?;
        refuse_what_is_missing(&document.workflow, &home, mode.is_some())?;
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
        self.results = self.results.as_deref().map(plain_path).transpose()?;
        Ok(RunInput { request: self, document, format, platform, home })
    }
}

impl RunInput {
    /// The run as it is rehearsed in the simulator.
    fn session_of(self, header: Header) -> Result<RunSession, Failure> {
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

    /// Fails where the machines would refuse the run.
    fn check_machines(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        if let Some(slurm) = &self.request.execution.slurm {
            slurm::check_words(&self.document.workflow, &slurm.sbatch).map_err(|why| {
                Failure::input(why).with_help("give jobs as much, or leave --mem out")
            })?;
            let id = self.header("")?.id;
            let options = slurm.options(id, &self.platform, None)?;
            let waits = slurm::check(&self.platform, &self.document.workflow, &options);
            let refused = |why: slurm::SlurmError| {
                Failure::work(format!("Slurm refuses the jobs of this run: {why}"))
            };
            waits.map_err(refused)?.iter().for_each(|why| context.note(why));
        }
        if self.request.execution.slurm.is_none() {
            run_session::settled(&self.request.execution)?;
            if let Some(warning) = crowded(&self.platform) {
                context.warning(&warning);
            }
        }
        Ok(())
    }

    /// Makes the folder of a run.
    fn begin_new(self, path: &Path, context: &mut Context<'_>) -> Result<OpenRun, Failure> {
        self.check_machines(context)?;
        let folder = RunFolder::create(path)?;
        let mut header = self.prepare(&context.files, &folder)?;
        let given = self.given(None)?;
        header.part = self.first_part(path, &given)?;
        header.estimates = self.estimates_beside(context);
        self.warn_of_memory(header.estimates.as_ref(), context);
        (header.input_digests, header.input_stamps) = given;
        let stamps = header.input_stamps.clone();
        // The copies are what has been read already: nothing is said about them again.
        let mut silent = Silent;
        let mut again = Context::new(context.files.clone(), &mut silent);
        let session = RunSession::open(folder.root(), header, &mut again)?.with_stamps(stamps);
        let (path, log, records) = (path.to_path_buf(), LogStart::Create, Vec::new());
        Ok(OpenRun { session, path, folder, log, records })
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
            input_stamps: BTreeMap::new(),
            source: self.source(),
            part: None,
            estimates: None,
        })
    }

    /// The text of the workflow.
    fn workflow_text(&self, files: &FileAccess) -> Result<String, Failure> {
        let workflow = &self.request.input.workflows[0];
        if let Some(definition) = &self.document.definition {
            // A copy that needs no sheet and no parameters.
            let mut bytes = Vec::new();
            let note = format!("{}: {}", workflow.display(), written_as(definition));
            let write = |out: &mut dyn Write| self.format.write(&self.document, out);
            Comments::Hash.write(&note, &mut bytes, write)?;
            return Ok(slackline_io::decode(bytes)?);
        }
        if files.has_value(workflow) {
            let mut bytes = Vec::new();
            self.format.write(&self.document, &mut bytes)?;
            return Ok(slackline_io::decode(bytes)?);
        }
        Ok(files.read_text(workflow)?.as_str().to_string())
    }

    /// Puts copies of workflow and platform into the folder.
    fn prepare(&self, files: &FileAccess, folder: &RunFolder) -> Result<Header, Failure> {
        let end = self.format.extensions().first().copied().unwrap_or("txt");
        let mut header = self.header(&format!("workflow.{end}"))?;
        let text = self.workflow_text(files)?;
        let platform = platform_toml::to_string(&self.platform)?;
        for (name, text) in
            [(&header.workflow, text.as_str()), (&header.platform, platform.as_str())]
        {
            let path = folder.root().join(name);
            files.rewrite(&path, |out| out.write_all(text.as_bytes()))?;
            header.digests.insert(name.clone(), checksum(&path)?);
        }
        Ok(header)
    }
}

/// The half of an open run that drives it.
pub struct Driver {
    folder: RunFolder,
    log: LogStart,
    records: Vec<(f64, Record)>,
}

/// Reads the log of a run to resume. With `force` one that is damaged before whole records is cut there, and the
/// rest kept beside it.
fn recovered(
    held: &RunFolder,
    force: bool,
    context: &mut Context<'_>,
) -> Result<Recovered, Failure> {
    let recovered = folder::read_last(held.root()).map_err(Failure::input)?;
    let Some(torn) = &recovered.torn else { return Ok(recovered) };
    let (log, kept) = (held.log(), recovered.lines);
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
            "put the log back as it was; or resume --force continues from record {kept}, does again what \
             came after it, and keeps {rest} in {side}"
        )));
    }
    context.warning(&format!(
        "{}: {torn}; going on from the last whole record, number {kept} ({rest} is kept in {side})",
        log.display()
    ));
    Ok(recovered)
}

/// Continues a run from its log.
fn resumed(
    path: PathBuf,
    held: RunFolder,
    recovered: Recovered,
    context: &mut Context<'_>,
) -> Result<Start, Failure> {
    let session = RunSession::open(held.root(), recovered.header.clone(), context)?;
    if again::is_empty(&recovered.header, &session.whole) {
        return again::finish_at_once(&path, &session, &held, &recovered, false, context);
    }
    match again::ending(&recovered.records) {
        Some(true) => context.note("this run is over: nothing is left to do"),
        Some(false) => context.note(
            "this run is over, and not all of its tasks are done: a new run tries the others again",
        ),
        None => {}
    }
    let log = RunLog::resume(&held.log(), &recovered).map_err(Failure::work)?;
    let (log, records) = (LogStart::Open(log), recovered.records);
    Ok(Start::Run(Box::new(OpenRun { session, path, folder: held, log, records })))
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
    /// Opens the folder of a run that was interrupted, or not all of whose tasks could be done: these are tried again then,
    /// with `retry` also if the run is not over. An edited workflow is adopted. Of a long run what is done is taken as it
    /// is there, and the rest begins again. With `force` a log that is damaged
    /// before whole records is cut there, and the rest kept beside it.
    pub fn resume(
        path: &Path,
        force: bool,
        retry: bool,
        context: &mut Context<'_>,
    ) -> Result<Start, Failure> {
        let held = RunFolder::open(path)?;
        let recovered = recovered(&held, force, context)?;
        let header = &recovered.header;
        let failed = again::ending(&recovered.records) == Some(false) && header.source.is_some();
        if failed || retry || again::is_edited(header) || again::is_long(&recovered)? {
            return again::adopted(path, held, recovered, failed || retry, context);
        }
        resumed(path.to_path_buf(), held, recovered, context)
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

/// The folder of the runs of a workflow.
fn usual_name(workflow: &Path) -> PathBuf {
    let stem = workflow.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    PathBuf::from(format!("{}.run", if stem == "-" { "workflow" } else { stem.as_str() }))
}

/// The folder of the run that a request begins or continues.
pub fn folder_of(request: &RunRequest) -> PathBuf {
    let workflow = &request.input.workflows[0];
    match &request.folder {
        Some(folder) => folder.clone(),
        None if request.new => free_name(workflow),
        None => usual_name(workflow),
    }
}

/// The first free name for the run of a workflow.
fn free_name(workflow: &Path) -> PathBuf {
    let usual = usual_name(workflow);
    let stem = usual.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut names = (1..).map(|n| match n {
        1 => usual.clone(),
        n => PathBuf::from(format!("{stem}-{n}.run")),
    });
    names.find(|name| !name.exists()).unwrap_or_default()
}

/// The definition of expanded tasks in a line.
fn written_as(definition: &Definition) -> String {
    let tasks: usize = definition.templates.iter().map(|template| template.tasks).sum();
    let mut text = format!("{tasks} tasks written as {}", definition.templates.len());
    if let Some(sheet) = &definition.sheet {
        text.push_str(&format!(", samples of {sheet}"));
    }
    for parameter in &definition.parameters {
        text.push_str(&format!(", {} = {}", parameter.name, parameter.value));
    }
    text
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

/// Fails where this machine lacks what tasks want around them. On a cluster only what is beside the workflow is known;
/// the rest is looked for by the attempts.
fn refuse_what_is_missing(
    workflow: &Workflow,
    home: &Path,
    on_cluster: bool,
) -> Result<(), Failure> {
    let missing = if on_cluster {
        surroundings::missing_beside(workflow, home)
    } else {
        surroundings::missing(workflow, home)
    };
    let Some((task, what)) = missing.first() else { return Ok(()) };
    let more = match missing.len() {
        1 => String::new(),
        n => format!(" (and {} more things are missing)", n - 1),
    };
    let host = local::host_name();
    Err(Failure::input(format!("task '{task}' on this machine ({host}): {what}{more}")))
}

/// Fails where a task wants several nodes, and has no batch job of its own that could have them.
fn refuse_nodes(workflow: &Workflow, mode: Option<slurm::Mode>) -> Result<(), Failure> {
    let nodes = |command: &Command| command.surroundings.as_ref().map_or(1, |s| s.nodes());
    let mut tasks = workflow.tasks();
    let wide = tasks.find(|task| workflow.command(*task).map_or(1, nodes) > 1);
    match wide {
        Some(task) if mode != Some(slurm::Mode::Job) => {
            let name = printable(workflow.task_name(task));
            let message = format!("task '{name}' takes several nodes, which this run cannot give");
            Err(Failure::input(message)
                .with_help("--on slurm --mode job gives it a batch job of so many nodes"))
        }
        _ => Ok(()),
    }
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
