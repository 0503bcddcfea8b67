//! Reading what the verbs work on.

use crate::contents::{Wanted, explain};
use crate::examples;
use crate::failure::Failure;
use crate::files::Files;
use crate::model::{self, ModelOptions};
use crate::output::Output;
use crate::table::{count, wrap};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use slackline_analysis::overheads::{measured_with_overhead, with_overhead};
use slackline_formats::document::Run;
use slackline_formats::instance::stream;
use slackline_formats::{Document, Format, Times, instance, platform_toml, scenario};
use slackline_io::{FileAccess, is_standard};
use slackline_model::nearest::nearest;
use slackline_model::platform::Charges;
use slackline_model::problem::{Inputs, State};
use slackline_model::scenario::{Measured, Scenario};
use slackline_model::schedule::Limits;
use slackline_model::units::{Quantity, fmt_seconds};
use slackline_model::{Platform, Problem, ProblemError, Terms, Workflow};
use slackline_schedule::Need;
use slackline_schedule::qos::pareto::Aim;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Most warnings of a reader that are shown.
const SHOWN_WARNINGS: usize = 5;

/// A workflow and the platform to plan it on.
pub(crate) struct Loaded {
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) platform: Arc<Platform>,
    /// Real run times and sizes that the workflow's file states beside its estimates.
    pub(crate) measured: Option<Arc<Measured>>,
    /// How the workflow's times came about.
    pub(crate) past: Option<Past>,
    /// Per task: when it arrives; empty where all is there from the start.
    pub(crate) release: Vec<f64>,
    /// The file of the platform.
    pub(crate) place: Option<PathBuf>,
}

/// Where the processors come from, and how to read the workflow.
#[derive(Args, Clone, Debug)]
pub(crate) struct Sources {
    /// The platform, a file or the name of a bundled one; the bundled small cluster if left out
    #[arg(short, long, value_name = "FILE")]
    pub(crate) platform: Option<PathBuf>,
    /// A file with both workflow and processors
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workflow", "platform", "from"])]
    pub(crate) instance: Option<PathBuf>,
    /// Format of the workflow, where it is not recognised
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub(crate) from: Option<Format>,
    /// Speed at which recorded seconds become work, e.g. 2.5GHz; that of the recorded machines, or
    /// 1 Gflop/s, if left out
    #[arg(long, value_name = "SPEED", value_parser = speed, conflicts_with = "instance")]
    pub(crate) reference_speed: Option<f64>,
}

fn speed(text: &str) -> Result<f64, String> {
    match Quantity::Speed.parse(text) {
        Ok(speed) if speed > 0.0 => Ok(speed),
        Ok(_) => Err("a speed must be above 0".to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Where the work of a workflow comes from.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) times: Times,
    pub(crate) run: Option<Run>,
}

impl Past {
    pub(crate) fn of(document: &Document, format: Format) -> Past {
        let run = document.recorded.as_ref().and_then(|recorded| recorded.run.clone());
        Past { times: document.times(format), run }
    }

    /// A sentence or two for people; empty where there is nothing to say.
    fn tell(&self, width: usize) -> String {
        if self.times == Times::Work {
            return String::new();
        }
        let hint = match self.times {
            Times::Assumed { .. } => " (--reference-speed sets it)",
            _ => "",
        };
        wrap(&format!("Work: {}{hint}.{}", self.times, self.tell_run()), 0, width)
    }

    /// Seconds of the run that the workflow was recorded from.
    pub(crate) fn makespan(past: Option<&Past>) -> Option<f64> {
        past?.run.as_ref()?.makespan_seconds.filter(|&seconds| seconds > 0.0)
    }

    /// The same of a world that may have none.
    pub(crate) fn told(past: Option<&Past>, width: usize) -> String {
        past.map_or(String::new(), |past| past.tell(width))
    }

    fn tell_run(&self) -> String {
        let Some(run) = &self.run else { return String::new() };
        let Some(seconds) = run.makespan_seconds else { return String::new() };
        format!(" The recorded run took {}{}.", fmt_seconds(seconds), machines(run))
    }
}

/// On what a run was recorded, as the end of a sentence.
pub(crate) fn machines(run: &Run) -> String {
    let cores: f64 = run.machines.iter().filter_map(|m| m.cores).sum();
    match run.machines.len() {
        0 => String::new(),
        n if cores > 0.0 => {
            format!(" on {} with {}", count(n, "machine"), count(cores as usize, "core"))
        }
        n => format!(" on {}", count(n, "machine")),
    }
}

impl Sources {
    /// The files that are read.
    pub(crate) fn files(&self) -> Files<'_> {
        Files::default().reads(self.platform.as_ref()).reads(self.instance.as_ref())
    }

    /// Reads the files. Without a platform the bundled one is taken, unless the workflow's file
    /// brings its processors along.
    pub(crate) fn read(
        &self,
        workflow: Option<&Path>,
        output: &mut Output,
    ) -> Result<Loaded, Failure> {
        if let Some(path) = &self.instance {
            return instance_file(path, output);
        }
        let Some(path) = workflow else {
            return Err(Failure::input("no workflow is given")
                .with_help("name a workflow file, or an instance with --instance FILE"));
        };
        if self.platform.is_none()
            && self.reference_speed.is_none()
            && self.from.is_none_or(|format| format == Format::Instance)
            && Format::detect(Some(path), &output.files.read_text(path)?) == Ok(Format::Instance)
        {
            return instance_file(path, output);
        }
        let platform = self.platform.as_ref().map(|p| read_platform(p, output)).transpose()?;
        let mut document = read_document(path, self.from, output)?;
        let format = format_of(&output.files, path, self.from)?;
        if let Some(speed) = self.reference_speed {
            document = document.at_reference_speed(format, speed).map_err(|e| e.in_file(path))?;
        }
        let platform = match platform {
            Some(platform) => platform,
            None => default_platform(output)?,
        };
        Ok(Loaded { place: self.platform.clone(), ..Loaded::of(document, format, platform) })
    }
}

impl Sources {
    /// What a schedule that is shown or converted belongs to.
    pub(crate) fn of_schedule(platform: &Option<PathBuf>, instance: &Option<PathBuf>) -> Sources {
        let (platform, instance) = (platform.clone(), instance.clone());
        Sources { platform, instance, from: None, reference_speed: None }
    }

    /// Reads what a schedule belongs to; says what is missing where nothing is named.
    pub(crate) fn read_for_schedule(
        &self,
        schedule: &Path,
        workflow: Option<&Path>,
        output: &mut Output,
    ) -> Result<Loaded, Failure> {
        if workflow.is_none() && self.instance.is_none() {
            let help = "add what it is for: --workflow FILE --platform FILE, or --instance FILE";
            let message = format!("{}: this is a schedule", schedule.display());
            return Err(Failure::input(message).with_help(help));
        }
        self.read(workflow, output)
    }
}

impl Sources {
    /// The platform alone; the bundled one where none is named.
    pub(crate) fn read_platform(&self, output: &mut Output) -> Result<Platform, Failure> {
        match &self.platform {
            Some(path) => read_platform(path, output),
            None => default_platform(output),
        }
    }
}

impl Sources {
    /// The same with any number of workflows, which are planned together.
    pub(crate) fn read_all(
        &self,
        workflows: &[PathBuf],
        output: &mut Output,
    ) -> Result<Loaded, Failure> {
        let mut world = self.read(workflows.first().map(PathBuf::as_path), output)?;
        if let Some(rest @ [_, ..]) = workflows.get(1..) {
            let mut parts = vec![Arc::unwrap_or_clone(world.workflow)];
            for path in rest {
                parts.push(read_workflow(path, self.from, output)?);
            }
            // Graphs of one generator share a name: their files tell them apart.
            for (part, path) in parts.iter_mut().zip(workflows) {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                *part = part.clone().renamed(stem);
            }
            let parts: Vec<&Workflow> = parts.iter().collect();
            let name = parts.iter().map(|w| w.name()).collect::<Vec<_>>().join(" + ");
            world.workflow = Arc::new(Workflow::union(&name, &parts).map_err(Failure::input)?);
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

    /// Nothing but a workflow and a platform.
    pub(crate) fn plain(
        workflow: impl Into<Arc<Workflow>>,
        platform: impl Into<Arc<Platform>>,
    ) -> Loaded {
        let (workflow, platform) = (workflow.into(), platform.into());
        Loaded { workflow, platform, measured: None, past: None, release: Vec::new(), place: None }
    }

    /// The planning problem, as a run under these rules will be charged for it, but for data that
    /// stay on a host.
    pub(crate) fn problem(&self, options: &ModelOptions) -> Result<Problem<'_>, Failure> {
        let charges = model::charges(&options.models(&self.platform, &self.workflow)?, false);
        self.charged(&charges, options.inputs(&self.platform)?)
    }

    /// The same with data that stay on a host charged, where the rules say so.
    pub(crate) fn moldable_problem(&self, options: &ModelOptions) -> Result<Problem<'_>, Failure> {
        let charges = model::charges(&options.models(&self.platform, &self.workflow)?, true);
        self.charged(&charges, options.inputs(&self.platform)?)
    }

    /// The planning problem with such a network and inputs there.
    pub(crate) fn charged(
        &self,
        charges: &Charges,
        inputs: Inputs,
    ) -> Result<Problem<'_>, Failure> {
        let problem = Problem::charged(&self.workflow, &self.platform, charges, inputs);
        let problem = problem.map_err(|error| match (&error, &self.place) {
            // The two files do not fit together.
            (ProblemError::UnknownArchitecture { .. }, Some(path)) => {
                Failure::input(format!("{}: {error}", path.display()))
            }
            _ => error.into(),
        })?;
        if self.release.is_empty() {
            return Ok(problem);
        }
        let state = State { release: self.release.clone(), ..problem.state().clone() };
        Ok(problem.with_state(state)?)
    }
}

/// What a workflow system takes beside the tasks.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct OverheadOptions {
    /// Start-up time of every task, added to its execution time, e.g. 2s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    overhead: Option<f64>,
    /// Wait before the first task starts; all dates of the forecast are later by it
    #[arg(long, value_name = "TIME", value_parser = duration)]
    queue_wait: Option<f64>,
}

impl OverheadOptions {
    /// Seconds before the first task.
    pub(crate) fn wait(&self) -> f64 {
        self.queue_wait.unwrap_or(0.0)
    }

    /// Start-up seconds of every task, where there are any.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.overhead.filter(|&seconds| seconds > 0.0)
    }

    /// A workflow whose tasks take as much longer.
    pub(crate) fn of(&self, workflow: Arc<Workflow>, platform: &Platform) -> Arc<Workflow> {
        match self.seconds() {
            Some(seconds) => Arc::new(with_overhead(&workflow, platform, seconds)),
            None => workflow,
        }
    }

    /// Makes the tasks of what was read longer.
    pub(crate) fn apply(&self, world: &mut Loaded) {
        world.workflow = self.of(world.workflow.clone(), &world.platform);
        if let (Some(seconds), Some(measured)) = (self.overhead, &world.measured) {
            world.measured = Some(Arc::new(measured_with_overhead(measured, seconds)));
        }
    }

    /// Limits without the wait, as planners see them.
    pub(crate) fn within(&self, limits: Limits) -> Limits {
        let wait = self.wait();
        Limits { deadline: limits.deadline.map(|date| (date - wait).max(0.0)), ..limits }
    }
}

/// What a plan must keep to.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LimitOptions {
    /// Deadline, in seconds or such as 2h
    #[arg(long, value_name = "TIME", value_parser = deadline, allow_hyphen_values = true)]
    deadline: Option<f64>,
    /// Maximum cost
    #[arg(long, value_name = "MONEY", value_parser = money, allow_negative_numbers = true)]
    budget: Option<f64>,
    /// With a deadline alone: the fastest plan instead of the cheapest that meets it
    #[arg(long, requires = "deadline")]
    fastest: bool,
}

/// A time in seconds, or with a unit.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    Quantity::Duration.parse_or_bare(text).map_err(|e| e.to_string())
}

/// A time that is not negative, in seconds, or with a unit.
pub(crate) fn duration(text: &str) -> Result<f64, String> {
    match seconds(text)? {
        time if time >= 0.0 => Ok(time),
        _ => Err(format!("{} is before the beginning: give 0 or more", text.trim())),
    }
}

fn deadline(text: &str) -> Result<f64, String> {
    match duration(text) {
        // A word that begins with a dash is another option.
        Err(_) if text.starts_with("--") => Err("a deadline is missing, e.g. 2h".to_string()),
        other => other,
    }
}

pub(crate) fn bytes(text: &str) -> Result<f64, String> {
    Quantity::Size.parse_or_bare(text).map_err(|e| e.to_string())
}

fn money(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(money) if money >= 0.0 && money.is_finite() => Ok(money),
        _ => Err("expected a number, 0 or more".to_string()),
    }
}

impl LimitOptions {
    pub(crate) fn limits(&self) -> Limits {
        Limits { budget: self.budget, deadline: self.deadline }
    }

    /// What counts among plans that keep the limits.
    pub(crate) fn aim(&self) -> Aim {
        if self.fastest { Aim::Fastest } else { Aim::usual(&self.limits()) }
    }

    /// The same as a parameter of the method for limits.
    pub(crate) fn given(&self) -> Option<(String, String)> {
        self.fastest.then(|| ("aim".to_string(), "fastest".to_string()))
    }

    /// Refuses a budget where nothing costs anything, unless one of the policies cannot do without one.
    pub(crate) fn check<'n>(
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

fn instance_file(path: &Path, output: &mut Output) -> Result<Loaded, Failure> {
    let begin = Instant::now();
    let text = output.files.read_text(path)?;
    if stream::recognise(&text) {
        return known_together(path, &text, output);
    }
    let read = instance::read(&text).map_err(|e| e.in_file(path))?;
    output.detail(&format!("read {} in {:.3} s", path.display(), begin.elapsed().as_secs_f64()));
    Ok(Loaded::plain(read.workflow, read.platform))
}

/// The workflows of a stream, all known from the start, those of higher priority first.
fn known_together(path: &Path, text: &str, output: &mut Output) -> Result<Loaded, Failure> {
    let mut read = stream::read(text).map_err(|e| e.in_file(path))?;
    let limited = |t: &Terms| t.limits.budget.is_some() || t.limits.deadline.is_some();
    if read.workflows.iter().any(|w| limited(&w.terms)) {
        let limits = "limits of single workflows are for the policies of simulate";
        output.note(&format!("{limits}; --budget and --deadline hold for all together"));
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

/// What several workflows of one file are called together.
pub(crate) fn stream_name(stated: &str, path: &Path) -> String {
    match stated {
        "" => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        name => name.to_string(),
    }
}

/// The format of a workflow file.
pub(crate) fn format_of(
    files: &FileAccess,
    path: &Path,
    from: Option<Format>,
) -> Result<Format, Failure> {
    match from {
        Some(format) => Ok(format),
        None => {
            let text = files.read_text(path)?;
            Ok(Format::detect(Some(path), &text).map_err(|e| e.in_file(path))?)
        }
    }
}

/// Reads a workflow file and passes the reader's warnings on.
pub(crate) fn read_workflow(
    path: &Path,
    from: Option<Format>,
    output: &mut Output,
) -> Result<Workflow, Failure> {
    Ok(read_document(path, from, output)?.workflow)
}

/// Reads a workflow file with all that its format knows.
pub(crate) fn read_document(
    path: &Path,
    from: Option<Format>,
    output: &mut Output,
) -> Result<Document, Failure> {
    let begin = Instant::now();
    let mut document = slackline_formats::read_workflow(&output.files, path, from)
        .map_err(|error| explain(error, &output.files, path, Wanted::Workflow))?;
    if document.workflow.name().is_empty() {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        document.workflow = document.workflow.renamed(stem);
    }
    output.detail(&format!("read {} in {:.3} s", path.display(), begin.elapsed().as_secs_f64()));
    warn_of(&document.warnings, path, output)?;
    Ok(document)
}

/// Passes on what a reader had to decide.
fn warn_of(warnings: &[String], path: &Path, output: &mut Output) -> Result<(), Failure> {
    if output.strict
        && let Some(warning) = warnings.first()
    {
        return Err(Failure::input(format!("{}: {warning}", path.display()))
            .with_help("without --strict this is a warning"));
    }
    for warning in warnings.iter().take(SHOWN_WARNINGS) {
        output.warning(&format!("{}: {warning}", path.display()));
    }
    if let Some(more) = warnings.len().checked_sub(SHOWN_WARNINGS)
        && more > 0
    {
        output.warning(&format!("{}: {more} more warnings", path.display()));
    }
    Ok(())
}

/// The values of `--from` and `--to`.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.iter().map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// Reads a platform file.
pub(crate) fn read_platform(path: &Path, output: &mut Output) -> Result<Platform, Failure> {
    let begin = Instant::now();
    let text = output.files.read_text(path).map_err(|error| match path.exists() {
        true => Failure::from(error),
        false => {
            let names: Vec<&str> = examples::names("platforms").collect();
            let near = nearest(&path.to_string_lossy(), names.iter().copied());
            let near = near.map_or(String::new(), |name| format!("did you mean '{name}'? "));
            let help = format!("{near}bundled platforms: {}", names.join(", "));
            Failure::from(error).with_help(help)
        }
    })?;
    if Format::Instance.recognises(&text) {
        return Ok(Arc::unwrap_or_clone(instance_file(path, output)?.platform));
    }
    let (platform, warnings) =
        slackline_formats::platform::read_with_warnings(&output.files, path, None)
            .map_err(|error| explain(error, &output.files, path, Wanted::Platform))?;
    output.detail(&format!("read {} in {:.3} s", path.display(), begin.elapsed().as_secs_f64()));
    warn_of(&warnings, path, output)?;
    Ok(platform)
}

/// Reads a scenario; where there is no such file those are told that there are.
pub(crate) fn read_scenario(files: &FileAccess, path: &Path) -> Result<Scenario, Failure> {
    if is_standard(path) || path.exists() {
        return Ok(scenario::read_scenario(files, path)?);
    }
    let names: Vec<&str> = examples::names("scenarios").collect();
    scenario::read_scenario(files, path).map_err(|error| {
        let near = nearest(&path.to_string_lossy(), names.iter().copied());
        let near = near.map_or(String::new(), |name| format!("did you mean '{name}'? "));
        let help = format!("{near}bundled scenarios: {}", names.join(", "));
        Failure::from(error).with_help(help)
    })
}

/// The platform that is taken where none is named.
fn default_platform(output: &mut Output) -> Result<Platform, Failure> {
    output.note("no --platform given: taking the bundled small cluster");
    Ok(platform_toml::parse(examples::SMALL_CLUSTER)?)
}
