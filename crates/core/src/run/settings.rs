//! The request of a run as its folder keeps it.

use crate::context::Context;
use crate::failure::Failure;
use crate::request::{
    ExecutionSettings, InputPlace, LimitSettings, OverheadSettings, Pairs, RunRequest,
    SlurmSettings, Sources,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use slackline_formats::Format;
use slackline_machines::folder::Header;
use slackline_machines::slurm::{self, SlurmOptions};
use slackline_model::Platform;
use slackline_model::parameter::Given;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// The settings of folders before they kept requests.
#[derive(Deserialize)]
struct OldSettings {
    /// Format of the workflow's copy.
    from: String,
    #[serde(default)]
    reference_speed: Option<f64>,
    #[serde(default)]
    algorithm: Option<String>,
    #[serde(default)]
    given: Given,
    #[serde(default)]
    deadline: Option<f64>,
    #[serde(default)]
    budget: Option<f64>,
    #[serde(default)]
    overhead: Option<f64>,
    /// Instead of on the platform's origin.
    inputs_everywhere: bool,
    retries: u32,
    #[serde(default)]
    time_limit: Option<f64>,
    #[serde(default)]
    learning: bool,
    #[serde(default)]
    throttle: bool,
    /// Whether idle processors take ready tasks that wait elsewhere.
    #[serde(default)]
    stealing: bool,
    /// Settings of the network model; none in logs of versions that planned with what the platform states.
    #[serde(default)]
    config: Option<Vec<String>>,
    #[serde(default)]
    pin: bool,
    #[serde(default)]
    checksum_limit: Option<u64>,
    #[serde(default)]
    scratch: Option<PathBuf>,
    #[serde(default)]
    slurm: Option<SlurmSettings>,
}

impl OldSettings {
    fn request(self, header: &Header) -> Result<RunRequest, Failure> {
        let format: Format = self.from.parse().map_err(Failure::input)?;
        let (deadline, budget) = (self.deadline, self.budget);
        let pair = |text: &String| {
            let (name, value) = text.split_once(':')?;
            Some((name.to_string(), value.to_string()))
        };
        let network = self.config.iter().flatten().filter_map(pair).collect();
        let inputs =
            if self.inputs_everywhere { InputPlace::Everywhere } else { InputPlace::Origin };
        Ok(RunRequest {
            input: Sources {
                workflows: vec![PathBuf::from(&header.workflow)],
                format: Some(format),
                reference_speed: self.reference_speed,
                ..Sources::default()
            },
            planner: self.algorithm,
            policy: header.policy.clone(),
            parameters: Pairs(self.given),
            limits: LimitSettings { deadline, budget, fastest: false },
            overheads: OverheadSettings { task: self.overhead, queue_wait: None },
            seed: header.seed,
            inputs: Some(inputs),
            execution: ExecutionSettings {
                retries: self.retries,
                time_limit: self.time_limit,
                learning: self.learning,
                throttle: self.throttle,
                network: Pairs(network),
                stealing: Some(self.stealing),
                pin: self.pin,
                scratch: self.scratch,
                checksum_limit: self.checksum_limit,
                slurm: self.slurm,
                ..ExecutionSettings::default()
            },
            ..RunRequest::default()
        })
    }
}

/// Origin of transfer times in the plans of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfers {
    /// The network model.
    Modelled,
    /// The values stated in the platform, as in the logs of earlier versions.
    Stated,
}

/// The request that a folder keeps, also of one that was begun before folders kept requests.
pub(super) fn of_header(header: &Header) -> Result<(RunRequest, Transfers), Failure> {
    let bad = |e: serde_json::Error| Failure::input(format!("the settings in the log: {e}"));
    let settings = Value::Object(header.settings.clone());
    match header.settings.get("schema").and_then(Value::as_str) {
        Some(RunRequest::SCHEMA) => {
            Ok((serde_json::from_value(settings).map_err(bad)?, Transfers::Modelled))
        }
        Some(other) => Err(Failure::input(format!("the settings in the log: {other} is unknown"))),
        None => {
            let old: OldSettings = serde_json::from_value(settings).map_err(bad)?;
            let transfers = match old.config {
                Some(_) => Transfers::Modelled,
                None => Transfers::Stated,
            };
            Ok((old.request(header)?, transfers))
        }
    }
}

/// A request as a folder keeps it.
pub(super) fn to_map(request: &RunRequest) -> Result<Map<String, Value>, Failure> {
    match serde_json::to_value(request)? {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

impl SlurmSettings {
    /// Converts the settings for a run of this name. With a context, it warns of an address that nodes cannot
    /// reach.
    pub(super) fn options(
        &self,
        run: String,
        platform: &Platform,
        context: Option<&mut Context<'_>>,
    ) -> Result<SlurmOptions, Failure> {
        let found = slurm::address(platform, self.listen);
        if let (Some(warning), Some(context)) = (&found.warning, context) {
            context.warning(warning);
        }
        Ok(SlurmOptions {
            mode: self.mode,
            listen: self.listen.unwrap_or(found.address),
            called: found.address,
            ports: self.ports,
            squeue_interval: self.squeue_interval.map(Duration::from_secs_f64),
            sbatch: self.sbatch.clone(),
            pilots: self.pilots,
            patience: self.patience,
            wall_safety: self.wall_safety,
            needs: Vec::new(),
            run,
            myself: command_path()?,
        })
    }
}

/// The path of the command where this process is another program, such as an interpreter that has loaded the library.
static COMMAND: OnceLock<PathBuf> = OnceLock::new();

/// Sets the path of the command, which pilots and tasks are started by, in a process that is another program. The first
/// call counts.
pub fn set_command_path(path: PathBuf) {
    COMMAND.get_or_init(|| path);
}

/// The path of the command: of this program, unless another one was set. Where `/proc` is not mounted, the path it was
/// started by.
pub fn command_path() -> std::io::Result<PathBuf> {
    if let Some(path) = COMMAND.get() {
        return Ok(path.clone());
    }
    std::env::current_exe().or_else(|error| {
        let started_by = std::env::args_os().next().ok_or(error)?;
        std::path::absolute(started_by)
    })
}
