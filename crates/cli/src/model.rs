//! The rules that plans and runs are charged by: the network model, and where inputs lie.

use clap::Args;
use slackline_core::Failure;
use slackline_core::request::{ModelSettings, Pairs};

/// Options of everything that plans or simulates.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModelOptions {
    /// Change a setting of the simulation, e.g. network/model:CM02 or preset:simgrid-3.11; plans
    /// count with it too
    #[arg(long = "config", value_name = "KEY:VALUE")]
    pub(crate) settings: Vec<String>,
    /// Location of the workflow's inputs: everywhere, on the platform's origin, or on the host of that
    /// name; on the origin if left out and the platform names one
    #[arg(long, value_name = "everywhere|origin|HOST")]
    inputs: Option<String>,
}

impl ModelOptions {
    /// The same as part of a request.
    pub(crate) fn request(&self) -> Result<ModelSettings, Failure> {
        Ok(ModelSettings { settings: settings(&self.settings)?, inputs: self.inputs.clone() })
    }
}

/// Settings of the command line as part of a request.
pub(crate) fn settings(settings: &[String]) -> Result<Pairs, Failure> {
    let pair = |(key, value): (&str, &str)| (key.to_string(), value.to_string());
    Ok(Pairs(pairs(settings)?.into_iter().map(pair).collect()))
}

/// Settings of the command line, one by one.
pub(crate) fn pairs(settings: &[String]) -> Result<Vec<(&str, &str)>, Failure> {
    let pair = |setting: &'_ String| match setting.split_once(':') {
        Some(_) => Ok(()),
        None => Err(Failure::input(format!("--config {setting}: expected KEY:VALUE"))),
    };
    settings.iter().try_for_each(pair)?;
    Ok(settings.iter().filter_map(|setting| setting.split_once(':')).collect())
}
