//! What a run depends on besides workflow and platform, as its log keeps it.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slackline_model::parameter::Given;
use slackline_model::schedule::Limits;

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
    #[serde(default)]
    pub(super) pin: bool,
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
