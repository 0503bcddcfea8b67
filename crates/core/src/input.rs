//! Reading workflows and platforms.

use crate::bundled;
use crate::context::Context;
use crate::estimates;
use crate::failure::Failure;
use crate::file_kind::{Wanted, explain};
use crate::interval::{Basis, SpeedOrigin};
use crate::recorded;
use crate::request::{LimitSettings, ModelSettings, OverheadSettings, Sources};
use crate::rules;
use slackline_analysis::overheads::{measured_with_overhead, with_overhead};
use slackline_formats::document::Run;
use slackline_formats::instance::stream;
use slackline_formats::{Document, Format, Times, instance, platform_toml, scenario};
use slackline_import::SpeedRatio;
use slackline_io::{FileAccess, is_standard};
use slackline_model::nearest::{did_you_mean, nearest};
use slackline_model::platform::Charges;
use slackline_model::problem::{Inputs, State};
use slackline_model::scenario::{Measured, Scenario};
use slackline_model::schedule::Limits;
use slackline_model::workflow::REFERENCE_SPEED;
use slackline_model::{Platform, Problem, ProblemError, Terms, Workflow};
use slackline_schedule::Need;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Most warnings of a reader that are shown.
const SHOWN_WARNINGS: usize = 5;

/// A workflow and the platform to plan it on.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The workflow.
    pub workflow: Arc<Workflow>,
    /// The platform.
    pub platform: Arc<Platform>,
    /// Actual run times and sizes that the workflow file has in addition to estimates.
    pub measured: Option<Arc<Measured>>,
    /// Origin of the workflow's run times.
    pub past: Option<Past>,
    /// Spread of recorded run times, where the workflow is read from records.
    pub basis: Option<Arc<Basis>>,
    /// Per task: date of its arrival in seconds; empty where all arrive at the start.
    pub release: Vec<f64>,
    /// The platform file, for errors.
    pub place: Option<PathBuf>,
}

/// A workflow in memory in place of a file ([`FileAccess::with_value`]).
#[derive(Clone, Debug)]
pub struct WorkflowValue {
    /// The workflow with the other contents of its file.
    pub document: Document,
    /// The format it came in; TOML where it never was a file.
    pub format: Format,
}

/// Origin of a workflow's run times.
#[derive(Clone, Debug)]
pub struct Past {
    /// Kind of run times in the file.
    pub times: Times,
    /// The recorded run, if any.
    pub run: Option<Run>,
}

impl Past {
    /// Origin of the run times of a document.
    pub fn of(document: &Document, format: Format) -> Past {
        let run = document.recorded.as_ref().and_then(|recorded| recorded.run.clone());
        Past { times: document.times(format), run }
    }

    /// Makespan of the run that the workflow was recorded from, in seconds.
    pub fn makespan(past: Option<&Past>) -> Option<f64> {
        past?.run.as_ref()?.makespan_seconds.filter(|&seconds| seconds > 0.0)
    }
}

impl Sources {
    /// Reads the files: an instance (workflow with processors) if one is given or recognised, records of another engine,
    /// or else a workflow and a platform. Without a platform the bundled one is used.
    pub fn read(
        &self,
        workflow: Option<&Path>,
        context: &mut Context<'_>,
    ) -> Result<Loaded, Failure> {
        let mut loaded = self.read_as_stated(workflow, context)?;
        if !self.speeds.is_empty() {
            let speed = loaded.workflow.reference_speed();
            let speeds = self.speeds.iter().map(|(name, factor)| (name.as_str(), factor * speed));
            let speeds: Vec<(&str, f64)> = speeds.collect();
            let platform = loaded.platform.at_speeds(&speeds);
            loaded.platform =
                Arc::new(platform.map_err(|e| Failure::input(format!("--speed: {e}")))?);
            if let Some(basis) = &mut loaded.basis {
                Arc::make_mut(basis).give();
            }
        }
        Ok(loaded)
    }

    /// The same with the speeds of the platform's file.
    fn read_as_stated(
        &self,
        workflow: Option<&Path>,
        context: &mut Context<'_>,
    ) -> Result<Loaded, Failure> {
        if let Some(path) = &self.instance {
            return instance_file(path, context);
        }
        let Some(path) = workflow else {
            return Err(Failure::input("no workflow is given")
                .with_help("name a workflow file, or an instance with --instance FILE"));
        };
        if self.format.is_none() && recorded::engine_of(path, &context.files).is_some() {
            return self.read_recorded(path, context);
        }
        if self.platform.is_none()
            && self.reference_speed.is_none()
            && self.format.is_none_or(|format| format == Format::Instance)
            && !context.files.has_value(path)
            && Format::detect(Some(path), &context.files.read_text(path)?) == Ok(Format::Instance)
        {
            return instance_file(path, context);
        }
        let platform = self.platform.as_ref().map(|p| read_platform(p, context)).transpose()?;
        let mut document = self.read_document(path, context)?;
        let format = format_of(&context.files, path, self.format)?;
        if let Some(speed) = self.reference_speed {
            document = document.at_reference_speed(format, speed).map_err(|e| e.in_file(path))?;
        }
        let mut measured = None;
        if !self.no_history {
            measured = estimates::beside(path, &document.workflow, context);
        }
        if let Some(found) = &measured {
            document.workflow = estimates::apply(found, document.workflow)?;
        }
        let platform = match platform {
            Some(platform) => platform,
            None => {
                let platform = default_platform(context)?;
                if measured.is_none() {
                    context.note(estimates::RELATIVE);
                }
                platform
            }
        };
        if let Some(found) = &measured {
            estimates::warn_of_memory(found, (&document.workflow, &platform), context);
        }
        let basis = Basis::of_document(&document).map(Arc::new);
        Ok(Loaded { place: self.platform.clone(), basis, ..Loaded::of(document, format, platform) })
    }
}

impl Sources {
    /// Reads a workflow file with everything its format states, and the values for its parameters.
    pub fn read_document(
        &self,
        path: &Path,
        context: &mut Context<'_>,
    ) -> Result<Document, Failure> {
        read_document_with(path, self.format, &self.params.0, context)
    }

    /// The workflow of a recorded run; on its own hosts where no platform is named.
    fn read_recorded(&self, path: &Path, context: &mut Context<'_>) -> Result<Loaded, Failure> {
        let run = recorded::read(path, context)?;
        let mut document = recorded::document(&run, path)?;
        warn_of(&document.warnings, path, context)?;
        if let Some(speed) = self.reference_speed {
            let scaled = document.at_reference_speed(recorded::FORMAT, speed);
            document = scaled.map_err(|e| e.in_file(path))?;
        }
        let mut origin = SpeedOrigin::Recorded;
        let mut ratio = None;
        let platform = match &self.platform {
            Some(other) if is_other_run(other, path, context) => {
                let there = recorded::read(other, context)?;
                let platform = there.platform().map_err(|e| e.in_file(other))?;
                ratio = there.speed_beside(&run);
                match ratio {
                    Some(ratio) => {
                        origin = SpeedOrigin::Measured;
                        context.note(&told(&ratio));
                        let by =
                            ratio.factor * document.workflow.reference_speed() / REFERENCE_SPEED;
                        let hosts = platform.hosts().iter();
                        let speeds: Vec<(&str, f64)> =
                            hosts.map(|host| (&*host.name, host.speed * by)).collect();
                        platform.at_speeds(&speeds).map_err(Failure::input)?
                    }
                    None => {
                        origin = SpeedOrigin::Stated;
                        context.note(
                            "too few tasks of kinds that ran on both: recorded seconds count as they \
                             are (--speed HOST=FACTOR)",
                        );
                        platform
                    }
                }
            }
            Some(platform) => {
                if platform != path {
                    origin = SpeedOrigin::Stated;
                }
                read_platform(platform, context)?
            }
            None => {
                let hosts = run.hosts.len();
                let hosts = if hosts == 1 { "host".into() } else { format!("{hosts} hosts") };
                context.note(&format!("no --platform given: taking the recorded {hosts}"));
                run.platform().map_err(|e| e.in_file(path))?
            }
        };
        Ok(Loaded {
            place: self.platform.clone(),
            basis: Basis::of(&run, origin, ratio).map(Arc::new),
            ..Loaded::of(document, recorded::FORMAT, platform)
        })
    }

    /// The platform alone; the bundled one where none is named.
    pub fn read_platform(&self, context: &mut Context<'_>) -> Result<Platform, Failure> {
        match &self.platform {
            Some(path) => read_platform(path, context),
            None => default_platform(context),
        }
    }
}

impl Sources {
    /// Reads any number of workflows, which are planned together, and the platform.
    pub fn read_all(
        &self,
        workflows: &[PathBuf],
        context: &mut Context<'_>,
    ) -> Result<Loaded, Failure> {
        let mut world = self.read(workflows.first().map(PathBuf::as_path), context)?;
        if let Some(rest @ [_, ..]) = workflows.get(1..) {
            let mut parts = vec![Arc::unwrap_or_clone(world.workflow)];
            for path in rest {
                parts.push(self.read_document(path, context)?.workflow);
            }
            // Graphs of one generator have the same name; their files have different ones.
            for (part, path) in parts.iter_mut().zip(workflows) {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                *part = part.clone().renamed(stem);
            }
            let parts: Vec<&Workflow> = parts.iter().collect();
            let name = parts.iter().map(|w| w.name()).collect::<Vec<_>>().join(" + ");
            world.workflow = Arc::new(Workflow::union(&name, &parts).map_err(Failure::input)?);
            world.basis = None;
        }
        Ok(world)
    }
}

impl Loaded {
    fn of(document: Document, format: Format, platform: Platform) -> Loaded {
        let past = Some(Past::of(&document, format));
        let measured = document.measured.map(Arc::new);
        Loaded { measured, past, ..Loaded::plain(document.workflow, platform) }
    }

    /// A workflow and a platform without further data.
    pub fn plain(workflow: impl Into<Arc<Workflow>>, platform: impl Into<Arc<Platform>>) -> Loaded {
        let (workflow, platform) = (workflow.into(), platform.into());
        Loaded {
            workflow,
            platform,
            measured: None,
            past: None,
            basis: None,
            release: Vec::new(),
            place: None,
        }
    }

    /// The planning problem with the charges of a run under these rules, except for data that stay on a host.
    pub fn problem(&self, settings: &ModelSettings) -> Result<Problem<'_>, Failure> {
        let charges = rules::charges(&settings.models(&self.platform, &self.workflow)?, false);
        self.charged(&charges, settings.inputs(&self.platform)?)
    }

    /// The planning problem with all charges of a run under these rules, also for data that stay on a host.
    pub fn moldable_problem(&self, settings: &ModelSettings) -> Result<Problem<'_>, Failure> {
        let charges = rules::charges(&settings.models(&self.platform, &self.workflow)?, true);
        self.charged(&charges, settings.inputs(&self.platform)?)
    }

    /// The planning problem under these charges, with inputs at these places.
    pub fn charged(&self, charges: &Charges, inputs: Inputs) -> Result<Problem<'_>, Failure> {
        let problem = Problem::charged(&self.workflow, &self.platform, charges, inputs);
        let problem = problem.map_err(|error| match (&error, &self.place) {
            // The error concerns the platform file too.
            (
                ProblemError::UnknownArchitecture { .. }
                | ProblemError::UnknownResource { .. }
                | ProblemError::OtherUnit { .. },
                Some(path),
            ) => Failure::input(format!("{}: {error}", path.display())),
            _ => error.into(),
        })?;
        if self.release.is_empty() {
            return Ok(problem);
        }
        let state = State { release: self.release.clone(), ..problem.state().clone() };
        Ok(problem.with_state(state)?)
    }
}

impl OverheadSettings {
    /// Seconds before the first task.
    pub fn wait(&self) -> f64 {
        self.queue_wait.unwrap_or(0.0)
    }

    /// Start-up seconds of every task, where there are any.
    pub fn seconds(&self) -> Option<f64> {
        self.task.filter(|&seconds| seconds > 0.0)
    }

    /// The workflow with the start-up time added to every task.
    pub fn of(&self, workflow: Arc<Workflow>, platform: &Platform) -> Arc<Workflow> {
        match self.seconds() {
            Some(seconds) => Arc::new(with_overhead(&workflow, platform, seconds)),
            None => workflow,
        }
    }

    /// Adds the start-up time to the tasks of what was read.
    pub fn apply(&self, world: &mut Loaded) {
        world.workflow = self.of(world.workflow.clone(), &world.platform);
        if let (Some(seconds), Some(measured)) = (self.task, &world.measured) {
            world.measured = Some(Arc::new(measured_with_overhead(measured, seconds)));
        }
    }

    /// Limits without the wait, as planners see them.
    pub fn within(&self, limits: Limits) -> Limits {
        let wait = self.wait();
        Limits { deadline: limits.deadline.map(|date| (date - wait).max(0.0)), ..limits }
    }
}

impl LimitSettings {
    /// Refuses a budget on a platform without prices, unless one of the policies requires a budget.
    pub fn check_prices<'n>(
        &self,
        platform: &Platform,
        policies: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), Failure> {
        let needs_one = |name: &str| {
            let entry = slackline_react::registry::find(name);
            entry.is_none_or(|entry| entry.needs.contains(&Need::Budget))
        };
        if self.budget.is_none() || platform.is_priced() || policies.into_iter().any(needs_one) {
            return Ok(());
        }
        let message = format!("--budget: no machine of '{}' has a price", platform.name());
        Err(Failure::input(message)
            .with_help("`price` or `price-per-hour` in the platform says what a host costs"))
    }
}

/// Reads a scenario; where there is no such file the bundled ones are named.
pub fn read_scenario(files: &FileAccess, path: &Path) -> Result<Scenario, Failure> {
    if let Some(scenario) = files.value::<Scenario>(path) {
        return Ok(Scenario::clone(&scenario));
    }
    if recorded::engine_of(path, files).is_some() {
        let options = slackline_import::Options::default();
        let run = slackline_import::read(&[path.to_path_buf()], &options, files)?;
        return Ok(run.scenario());
    }
    if is_standard(path) || path.exists() {
        return Ok(scenario::read_scenario(files, path)?);
    }
    let names: Vec<&str> = bundled::names("scenarios").collect();
    scenario::read_scenario(files, path).map_err(|error| {
        let near = nearest(&path.to_string_lossy(), names.iter().copied());
        let near = near.map_or(String::new(), |name| format!("did you mean '{name}'? "));
        let help = format!("{near}bundled scenarios: {}", names.join(", "));
        Failure::from(error).with_help(help)
    })
}

fn instance_file(path: &Path, context: &mut Context<'_>) -> Result<Loaded, Failure> {
    let begin = Instant::now();
    let text = context.files.read_text(path)?;
    if stream::recognise(&text) {
        return union_of_stream(path, &text, context);
    }
    let read = instance::read(&text).map_err(|e| e.in_file(path))?;
    context.detail(&format!("read {} in {:.3} s", path.display(), begin.elapsed().as_secs_f64()));
    Ok(Loaded::plain(read.workflow, read.platform))
}

/// The workflows of a stream as one, known from the start, ordered by falling priority.
fn union_of_stream(path: &Path, text: &str, context: &mut Context<'_>) -> Result<Loaded, Failure> {
    let mut read = stream::read(text).map_err(|e| e.in_file(path))?;
    let limited = |t: &Terms| t.limits.budget.is_some() || t.limits.deadline.is_some();
    if read.workflows.iter().any(|w| limited(&w.terms)) {
        let limits = "limits of single workflows are for the policies of simulate";
        context.note(&format!("{limits}; --budget and --deadline hold for all together"));
    }
    read.workflows.sort_by(|a, b| b.terms.priority.total_cmp(&a.terms.priority));
    let parts: Vec<&Workflow> = read.workflows.iter().map(|w| &w.workflow).collect();
    let union = Workflow::union(&stream_name(&read.name, path), &parts).map_err(Failure::input)?;
    let mut world = Loaded::plain(union, read.platform);
    if read.workflows.iter().any(|w| w.arrival > 0.0) {
        let dates = |w: &stream::Submitted| vec![w.arrival; w.workflow.len()];
        world.release = read.workflows.iter().flat_map(dates).collect();
    }
    Ok(world)
}

/// Returns the common name of several workflows in one file: the stated one, else that of the file.
pub fn stream_name(stated: &str, path: &Path) -> String {
    match stated {
        "" => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        name => name.to_string(),
    }
}

/// The format of a workflow file.
pub fn format_of(files: &FileAccess, path: &Path, from: Option<Format>) -> Result<Format, Failure> {
    if let Some(value) = files.value::<WorkflowValue>(path) {
        return Ok(value.format);
    }
    match from {
        Some(format) => Ok(format),
        None if recorded::engine_of(path, files).is_some() => Ok(recorded::FORMAT),
        None => {
            let text = files.read_text(path)?;
            Ok(Format::detect(Some(path), &text).map_err(|e| e.in_file(path))?)
        }
    }
}

/// Reads a workflow file and passes the reader's warnings on.
pub fn read_workflow(
    path: &Path,
    from: Option<Format>,
    context: &mut Context<'_>,
) -> Result<Workflow, Failure> {
    Ok(read_document(path, from, context)?.workflow)
}

/// Reads a workflow file with everything its format states.
pub fn read_document(
    path: &Path,
    from: Option<Format>,
    context: &mut Context<'_>,
) -> Result<Document, Failure> {
    read_document_with(path, from, &[], context)
}

/// Reads a workflow file with everything its format states, and values for the parameters of the workflow.
pub fn read_document_with(
    path: &Path,
    from: Option<Format>,
    params: &[(String, String)],
    context: &mut Context<'_>,
) -> Result<Document, Failure> {
    if let Some(value) = context.files.value::<WorkflowValue>(path) {
        check_params(&value.document, path, params)?;
        return Ok(value.document.clone());
    }
    let begin = Instant::now();
    if from.is_none() && recorded::engine_of(path, &context.files).is_some() {
        let document = recorded::document(&recorded::read(path, context)?, path)?;
        check_params(&document, path, params)?;
        warn_of(&document.warnings, path, context)?;
        return Ok(document);
    }
    let mut document = slackline_formats::read_workflow_with(&context.files, path, from, params)
        .map_err(|error| match &error.file {
            // The error is in another file, which the workflow names.
            Some(file) if file != path => error.into(),
            _ => explain(error, &context.files, path, Wanted::Workflow),
        })?;
    check_params(&document, path, params)?;
    if document.workflow.name().is_empty() {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        document.workflow = document.workflow.renamed(stem);
    }
    context.detail(&format!("read {} in {:.3} s", path.display(), begin.elapsed().as_secs_f64()));
    warn_of(&document.warnings, path, context)?;
    Ok(document)
}

/// Refuses values for parameters that a workflow does not have.
fn check_params(
    document: &Document,
    path: &Path,
    params: &[(String, String)],
) -> Result<(), Failure> {
    let known: Vec<&str> = match &document.definition {
        Some(definition) => definition.parameters.iter().map(|p| p.name.as_str()).collect(),
        None => Vec::new(),
    };
    let Some((name, _)) = params.iter().find(|(name, _)| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let near = did_you_mean(name, known.iter().copied());
    let message = format!("--param {name}: {} has no parameter of that name{near}", path.display());
    let help = match known.as_slice() {
        [] => "[params] in a workflow TOML defines parameters and their usual values".to_string(),
        known => format!("its parameters are {}", known.join(", ")),
    };
    Err(Failure::input(message).with_help(help))
}

/// Reports warnings of a reader; with `--strict` the first one is an error.
fn warn_of(warnings: &[String], path: &Path, context: &mut Context<'_>) -> Result<(), Failure> {
    if context.strict
        && let Some(warning) = warnings.first()
    {
        return Err(Failure::input(format!("{}: {warning}", path.display()))
            .with_help("without --strict this is a warning"));
    }
    for warning in warnings.iter().take(SHOWN_WARNINGS) {
        context.warning(&format!("{}: {warning}", path.display()));
    }
    if let Some(more) = warnings.len().checked_sub(SHOWN_WARNINGS)
        && more > 0
    {
        context.warning(&format!("{}: {more} more warnings", path.display()));
    }
    Ok(())
}

/// Reads a platform file.
pub fn read_platform(path: &Path, context: &mut Context<'_>) -> Result<Platform, Failure> {
    if let Some(platform) = context.files.value::<Platform>(path) {
        return Ok(Platform::clone(&platform));
    }
    let begin = Instant::now();
    if recorded::engine_of(path, &context.files).is_some() {
        let run = recorded::read(path, context)?;
        return Ok(run.platform().map_err(|e| e.in_file(path))?);
    }
    let text = context.files.read_text(path).map_err(|error| {
        if path.exists() {
            Failure::from(error)
        } else {
            let names: Vec<&str> = bundled::names("platforms").collect();
            let near = nearest(&path.to_string_lossy(), names.iter().copied());
            let near = near.map_or(String::new(), |name| format!("did you mean '{name}'? "));
            let help = format!("{near}bundled platforms: {}", names.join(", "));
            Failure::from(error).with_help(help)
        }
    })?;
    if Format::Instance.recognises(&text) {
        return Ok(Arc::unwrap_or_clone(instance_file(path, context)?.platform));
    }
    let (platform, warnings) =
        slackline_formats::platform::read_with_warnings(&context.files, path, None)
            .map_err(|error| explain(error, &context.files, path, Wanted::Platform))?;
    context.detail(&format!("read {} in {:.3} s", path.display(), begin.elapsed().as_secs_f64()));
    warn_of(&warnings, path, context)?;
    Ok(platform)
}

/// Whether a platform is given by the records of another run than the workflow.
fn is_other_run(platform: &Path, workflow: &Path, context: &Context<'_>) -> bool {
    platform != workflow
        && !context.files.has_value(platform)
        && recorded::engine_of(platform, &context.files).is_some()
}

/// A measured ratio of speeds, as a sentence.
fn told(ratio: &SpeedRatio) -> String {
    let kinds = if ratio.kinds == 1 { "1 kind".into() } else { format!("{} kinds", ratio.kinds) };
    let off = 100.0 * ratio.error.hypot(ratio.between_kinds).exp_m1();
    let factor = ratio.factor;
    format!(
        "the platform runs at {factor:.3} of the recorded speed (\u{b1} {off:.0} %), by {kinds} on both"
    )
}

/// The platform used where none is named.
fn default_platform(context: &mut Context<'_>) -> Result<Platform, Failure> {
    context.note("no --platform given: taking the bundled small cluster");
    Ok(platform_toml::parse(bundled::SMALL_CLUSTER)?)
}
