//! Libraries and requests as JSON.

use super::library::{Policy, Weights};
use serde::Deserialize;
use slackline_model::distribution::Distribution;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// A tape library.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct LibrarySpec {
    /// Number of drives.
    pub drives: usize,
    /// Seconds that a mount takes.
    pub mount: Distribution,
    /// Seconds that unmounting takes.
    pub unmount: Distribution,
    /// Positions per second.
    pub wind: f64,
    /// Bytes per second.
    pub rate: f64,
}

/// A request for a file on tape.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// Its name.
    pub id: String,
    /// The file.
    pub file: String,
    /// The tape it is on.
    pub tape: String,
    /// Its position on the tape.
    pub position: f64,
    /// Its size in bytes.
    pub size: f64,
    /// When the request arrives, in seconds.
    pub arrival: f64,
}

/// Capacity of the disk cache in bytes.
pub type Cache = f64;

/// A library and the requests to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Description of the case.
    pub about: Option<String>,
    /// The library.
    pub library: LibrarySpec,
    /// The requests, by arrival, then place in the file.
    pub requests: Vec<RequestSpec>,
    /// Weights of the policy `weighted`.
    pub weights: Weights,
    /// Seconds after which a tape gives way to another that is waited for.
    pub starvation: Option<f64>,
    /// Disk cache in front of the tapes.
    pub cache: Option<Cache>,
    /// Policies that the case names.
    pub policies: Vec<Policy>,
    /// Seed of what is drawn.
    pub seed: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    about: Option<String>,
    library: LibrarySpec,
    requests: Vec<RequestSpec>,
    #[serde(default)]
    weights: Weights,
    starvation: Option<f64>,
    cache: Option<f64>,
    #[serde(default)]
    policies: Vec<Policy>,
    #[serde(default)]
    seed: u64,
}

/// A case that makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct CaseError(pub String);

const LARGEST: f64 = 1e18;

impl Case {
    /// Reads a case from JSON or TOML.
    pub fn parse(text: &str) -> Result<Case, CaseError> {
        let file: CaseFile = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|e| CaseError(e.to_string()))?
        } else {
            toml::from_str(text).map_err(|e| CaseError(e.to_string()))?
        };
        let mut case = Case {
            about: file.about,
            library: file.library,
            requests: file.requests,
            weights: file.weights,
            starvation: file.starvation,
            cache: file.cache,
            policies: file.policies,
            seed: file.seed,
        };
        case.check()?;
        // A stable sort: requests of one date stay in the order of the file.
        case.requests.sort_by(|a, b| a.arrival.total_cmp(&b.arrival));
        Ok(case)
    }

    fn check(&self) -> Result<(), CaseError> {
        let error = |message: String| Err(CaseError(message));
        let LibrarySpec { drives, mount, unmount, wind, rate } = &self.library;
        if *drives == 0 {
            return error("library: there is no drive".into());
        }
        if *drives > 1 << 20 {
            return error(format!("library: {drives} drives are too many"));
        }
        if !mount.is_valid() || !unmount.is_valid() {
            return error("library: mount and unmount have to be 0 s or more".into());
        }
        let positive = |value: f64| value > 0.0 && value.is_finite();
        if !positive(*rate) {
            return error(format!("library: the rate is {rate}; it has to be above 0"));
        }
        if !positive(*wind) {
            return error(format!("library: wind is {wind}; it has to be above 0"));
        }
        let mut ids = BTreeSet::new();
        let mut files: BTreeMap<&str, &RequestSpec> = BTreeMap::new();
        for request in &self.requests {
            let RequestSpec { id, file, tape, position, size, arrival } = request;
            if !ids.insert(id) {
                return error(format!("request `{id}` is there twice"));
            }
            for (what, value) in [("size", size), ("position", position), ("arrival", arrival)] {
                if !(*value >= 0.0 && *value < LARGEST) {
                    return error(format!("request `{id}`: its {what} is {value}"));
                }
            }
            let first = files.entry(file).or_insert(request);
            if (&first.tape, first.position, first.size) != (tape, *position, *size) {
                return error(format!(
                    "request `{id}`: file `{file}` has another place or size than in request `{}`",
                    first.id
                ));
            }
        }
        let values = [
            ("starvation", self.starvation.unwrap_or(0.0)),
            ("cache", self.cache.unwrap_or(0.0)),
            ("weights.requests", self.weights.requests),
            ("weights.age", self.weights.age),
        ];
        match values.into_iter().find(|(_, value)| !(*value >= 0.0 && *value < LARGEST)) {
            Some((what, value)) => error(format!("{what} is {value}; it has to be 0 or more")),
            None => Ok(()),
        }
    }
}
