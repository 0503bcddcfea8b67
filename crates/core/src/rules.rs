//! Rules by which plans and runs are charged: the network model and the location of inputs.

use crate::failure::Failure;
use crate::request::{ModelSettings, Pairs};
use slackline_engine::usual_models;
use slackline_model::nearest::did_you_mean;
use slackline_model::platform::Charges;
use slackline_model::problem::Inputs;
use slackline_model::{Platform, Workflow};
use slackline_simulate::{HostModel, Models};

impl ModelSettings {
    /// Returns the rules of the simulation: these settings over the defaults for platform and workflow. Naming
    /// a model switches off parallel tasks, unless they belong to that model.
    pub fn models(&self, platform: &Platform, workflow: &Workflow) -> Result<Models, Failure> {
        let mut models = usual_models(platform, workflow);
        if self.names_a_model() {
            models.host = HostModel::Separate;
        }
        let whole = ["preset", "network/model"];
        if platform.is_measured()
            && self.settings.0.iter().any(|(name, _)| whole.contains(&name.as_str()))
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
        let models = ["preset", "host/model", "network/model"];
        self.settings.0.iter().any(|(name, _)| models.contains(&name.as_str()))
    }

    /// Returns the location of the workflows' inputs on a platform.
    pub fn inputs(&self, platform: &Platform) -> Result<Inputs, Failure> {
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

/// Returns the charges for transfers in plans. Data that stay in place are charged only if `local` is set,
/// which methods for moldable tasks need.
pub fn charges(models: &Models, local: bool) -> Charges {
    let charges = models.charges();
    Charges { local: charges.local && local, ..charges }
}

/// Applies settings.
pub fn set(models: &mut Models, settings: &Pairs) -> Result<(), Failure> {
    let pairs: Vec<(&str, &str)> = settings.0.iter().map(|(k, v)| (&**k, &**v)).collect();
    models.set_all(&pairs).map_err(|e| Failure::input(format!("--config: {e}")))
}
