//! The rules that plans and runs are charged by: the network model, and where inputs lie.

use crate::failure::Failure;
use clap::Args;
use slackline_engine::usual_models;
use slackline_model::nearest::did_you_mean;
use slackline_model::platform::Charges;
use slackline_model::problem::Inputs;
use slackline_model::{Platform, Workflow};
use slackline_simulate::{HostModel, Models};

/// Options of everything that plans or simulates.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModelOptions {
    /// Change a setting of the simulation, e.g. network/model:CM02 or preset:simgrid-3.11; plans
    /// count with it too
    #[arg(long = "config", value_name = "KEY:VALUE")]
    pub(crate) settings: Vec<String>,
    /// Where the workflow's inputs lie: everywhere, on the platform's origin, or on the host of that
    /// name; on the origin if left out and the platform names one
    #[arg(long, value_name = "everywhere|origin|HOST")]
    inputs: Option<String>,
}

impl ModelOptions {
    /// The rules for these settings alone.
    pub(crate) fn of(settings: &[String]) -> ModelOptions {
        ModelOptions { settings: settings.to_vec(), inputs: None }
    }

    /// The rules of the simulation: those of the command line over the usual ones for platform and
    /// workflow. Who names a model does not want parallel tasks unless it is theirs.
    pub(crate) fn models(
        &self,
        platform: &Platform,
        workflow: &Workflow,
    ) -> Result<Models, Failure> {
        let mut models = usual_models(platform, workflow);
        if self.names_a_model() {
            models.host = HostModel::Separate;
        }
        let whole = ["preset:", "network/model:"];
        if platform.is_measured()
            && self.settings.iter().any(|s| whole.iter().any(|k| s.starts_with(k)))
        {
            models = Models::default();
        }
        set(&mut models, &self.settings)?;
        if models.charge_local && models.host != HostModel::ParallelTasks {
            let message = "--config ptask/charge-local: nothing runs as a parallel task here";
            return Err(Failure::input(message).with_help(
                "it goes with host/model:ptask_L07, the model of tasks that spread over hosts",
            ));
        }
        Ok(models)
    }

    fn names_a_model(&self) -> bool {
        let models = ["preset:", "host/model:", "network/model:"];
        self.settings.iter().any(|setting| models.iter().any(|key| setting.starts_with(key)))
    }

    /// Where the inputs of workflows lie on a platform.
    pub(crate) fn inputs(&self, platform: &Platform) -> Result<Inputs, Failure> {
        match self.inputs.as_deref() {
            None => Ok(Inputs::of(platform)),
            Some("everywhere") => Ok(Inputs::Everywhere),
            Some("origin") => platform.origin().map(Inputs::At).ok_or_else(|| {
                let message = format!("--inputs origin: '{}' names no origin", platform.name());
                let help = "add a line origin = \"HOST\" to the platform, or leave the option out";
                Failure::input(message).with_help(help)
            }),
            Some(host) => platform.host_named(host).map(Inputs::At).ok_or_else(|| {
                let words = ["everywhere", "origin"].into_iter();
                let hint =
                    did_you_mean(host, words.chain(platform.hosts().iter().map(|h| &*h.name)));
                Failure::input(format!("--inputs {host}: the platform has no such host{hint}"))
            }),
        }
    }
}

/// What transfers are charged in plans. Only methods for moldable tasks know of data that are charged
/// although they stay where they are.
pub(crate) fn charges(models: &Models, local: bool) -> Charges {
    let charges = models.charges();
    Charges { local: charges.local && local, ..charges }
}

/// Applies settings of the command line.
pub(crate) fn set(models: &mut Models, settings: &[String]) -> Result<(), Failure> {
    models.set_all(&pairs(settings)?).map_err(|e| Failure::input(format!("--config: {e}")))
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
