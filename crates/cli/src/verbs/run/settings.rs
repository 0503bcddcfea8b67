//! What a run depends on besides workflow and platform, as its log keeps it.

use crate::failure::Failure;
use crate::output::Output;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slackline_machines::slurm::{self, Mode, SlurmOptions};
use slackline_model::Platform;
use slackline_model::parameter::Given;
use slackline_model::schedule::Limits;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that decisions and attempts depend on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Settings {
    /// Format of the workflow's copy.
    pub(super) from: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reference_speed: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) algorithm: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) given: Given,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<f64>,
    /// `everywhere`, or on the platform's origin.
    pub(super) inputs_everywhere: bool,
    pub(super) retries: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) time_limit: Option<f64>,
    #[serde(default)]
    pub(super) learning: bool,
    #[serde(default)]
    pub(super) throttle: bool,
    /// Idle processors take ready tasks that wait elsewhere, whatever the policy's plans say.
    #[serde(default)]
    pub(super) stealing: bool,
    /// Settings of the network model; none in logs of versions that planned with what the platform states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<Vec<String>>,
    #[serde(default)]
    pub(super) pin: bool,
    /// Bytes beyond which outputs get no checksum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) checksum_limit: Option<u64>,
    /// A folder of every machine where attempts work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scratch: Option<PathBuf>,
    /// The cluster it runs on, where that is not this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) slurm: Option<OnSlurm>,
}

/// How a cluster is used.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct OnSlurm {
    pub(super) mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) listen: Option<IpAddr>,
    /// Ports that may be listened at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ports: Option<(u16, u16)>,
    /// Seconds between two looks at the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) squeue_interval: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) sbatch: Vec<String>,
    /// Seconds without an engine after which a pilot ends.
    pub(super) patience: f64,
}

impl OnSlurm {
    /// The same for a run of this name. An address that nodes cannot reach is told.
    pub(super) fn options(
        &self,
        run: String,
        platform: &Platform,
        output: Option<&mut Output>,
    ) -> Result<SlurmOptions, Failure> {
        let found = slurm::address(platform, self.listen);
        if let (Some(warning), Some(output)) = (&found.warning, output) {
            output.warning(warning);
        }
        Ok(SlurmOptions {
            mode: self.mode,
            listen: self.listen.unwrap_or(found.address),
            called: found.address,
            ports: self.ports,
            squeue_interval: self.squeue_interval.map(Duration::from_secs_f64),
            sbatch: self.sbatch.clone(),
            patience: self.patience,
            run,
            myself: own_program()?,
        })
    }
}

impl Settings {
    pub(super) fn limits(&self) -> Limits {
        Limits { budget: self.budget, deadline: self.deadline }
    }

    pub(super) fn to_map(&self) -> Result<Map<String, Value>, Failure> {
        match serde_json::to_value(self)? {
            Value::Object(map) => Ok(map),
            _ => Ok(Map::new()),
        }
    }

    pub(super) fn of_map(map: &Map<String, Value>) -> Result<Settings, Failure> {
        let settings = serde_json::from_value(Value::Object(map.clone()));
        settings.map_err(|e| Failure::input(format!("the settings in the log: {e}")))
    }
}

/// The path of this program; where `/proc` is not mounted, the one it was started by.
pub(super) fn own_program() -> std::io::Result<PathBuf> {
    std::env::current_exe().or_else(|error| {
        let started_by = std::env::args_os().next().ok_or(error)?;
        std::path::absolute(started_by)
    })
}
