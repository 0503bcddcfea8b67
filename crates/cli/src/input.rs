//! Options that name what the verbs work on, and reading it.

use crate::output::Output;
use crate::path_check::Files;
use crate::set_option::assignment;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use slackline_core::input::Loaded;
use slackline_core::request::{LimitSettings, OverheadSettings, Pairs};
use slackline_core::{Failure, input, request};
use slackline_formats::{Document, Format};
use slackline_model::units::Quantity;
use slackline_model::{Platform, Workflow};
use std::path::{Path, PathBuf};

/// Inputs with processors, and options for reading the workflow.
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
    /// Speed of a host, class or zone beside the machine that times were recorded on (2: half as long), instead of that
    /// of the platform; repeatable
    #[arg(long = "speed", value_name = "HOST=FACTOR", value_parser = host_speed, conflicts_with = "instance")]
    pub(crate) speeds: Vec<(String, f64)>,
    /// Keep to the estimates of the file although there is a folder of runs beside it
    #[arg(long)]
    pub(crate) no_history: bool,
    #[command(flatten)]
    pub(crate) params: ParamOptions,
}

/// Values for the parameters of a workflow.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ParamOptions {
    /// Value of a parameter that the workflow defines in [params]; repeatable
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) params: Vec<(String, String)>,
}

fn speed(text: &str) -> Result<f64, String> {
    match Quantity::Speed.parse(text) {
        Ok(speed) if speed > 0.0 => Ok(speed),
        Ok(_) => Err("a speed must be above 0".to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn host_speed(text: &str) -> Result<(String, f64), String> {
    let (host, factor) = assignment(text)?;
    match factor.trim_start_matches(['x', '×']).parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor.is_finite() => Ok((host, factor)),
        _ => Err(format!("'{factor}' is no factor above 0")),
    }
}

impl Sources {
    /// The files that are read.
    pub(crate) fn files(&self) -> Files<'_> {
        Files::default().reads(self.platform.as_ref()).reads(self.instance.as_ref())
    }

    /// The same as part of a request.
    pub(crate) fn request(&self, workflows: &[PathBuf]) -> request::Sources {
        request::Sources {
            workflows: workflows.to_vec(),
            platform: self.platform.clone(),
            instance: self.instance.clone(),
            arrivals: None,
            format: self.from,
            reference_speed: self.reference_speed,
            speeds: self.speeds.iter().cloned().collect(),
            no_history: self.no_history,
            params: Pairs(self.params.params.clone()),
        }
    }

    /// Reads the files. Without a platform the bundled one is taken, unless the workflow's file
    /// brings its processors along.
    pub(crate) fn read(
        &self,
        workflow: Option<&Path>,
        output: &mut Output,
    ) -> Result<Loaded, Failure> {
        self.request(&[]).read(workflow, &mut output.context(false))
    }

    /// Inputs of a schedule that is shown or converted.
    pub(crate) fn of_schedule(platform: &Option<PathBuf>, instance: &Option<PathBuf>) -> Sources {
        let (platform, instance) = (platform.clone(), instance.clone());
        let params = ParamOptions::default();
        let (from, reference_speed, no_history) = (None, None, false);
        let speeds = Vec::new();
        Sources { platform, instance, from, reference_speed, speeds, no_history, params }
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

/// Reads a workflow file and passes the reader's warnings on.
pub(crate) fn read_workflow(
    path: &Path,
    from: Option<Format>,
    output: &mut Output,
) -> Result<Workflow, Failure> {
    input::read_workflow(path, from, &mut output.context(false))
}

/// The same with values for its parameters.
pub(crate) fn read_document_with(
    path: &Path,
    from: Option<Format>,
    params: &ParamOptions,
    output: &mut Output,
) -> Result<Document, Failure> {
    input::read_document_with(path, from, &params.params, &mut output.context(false))
}

/// Reads a platform file.
pub(crate) fn read_platform(path: &Path, output: &mut Output) -> Result<Platform, Failure> {
    input::read_platform(path, &mut output.context(false))
}

/// Overheads of a workflow system.
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
    /// The same as part of a request.
    pub(crate) fn request(&self) -> OverheadSettings {
        OverheadSettings { task: self.overhead, queue_wait: self.queue_wait }
    }
}

/// Limits of a plan.
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

/// A multiple above 1.
pub(crate) fn factor(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(factor) if factor > 1.0 && factor.is_finite() => Ok(factor),
        _ => Err("give a number above 1".to_string()),
    }
}

/// A number of at least 1.
pub(crate) fn safety(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(factor) if factor >= 1.0 && factor.is_finite() => Ok(factor),
        _ => Err("give a number of at least 1".to_string()),
    }
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
    /// The same as part of a request.
    pub(crate) fn settings(&self) -> LimitSettings {
        let LimitOptions { deadline, budget, fastest } = *self;
        LimitSettings { deadline, budget, fastest }
    }
}

/// The values of `--from` and `--to`.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = Format> {
    let names = Format::all().map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}
