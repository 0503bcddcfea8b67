//! The scope of a result: what came from a record, what from a model, and for which sizes the record speaks.

use super::case::Case;
use super::switches::{Component, Switches};
use serde::Serialize;

/// Origin of the values of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The record of a run.
    Injected,
    /// The case states them.
    Declared,
    /// A formula or a distribution.
    Modelled,
    /// Services that react to each other.
    Simulated,
    /// It plays no part.
    Absent,
}

type Range = Option<(f64, f64)>;

/// The statement that accompanies a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validity {
    /// Injected components.
    pub injected: Vec<&'static str>,
    /// Components with declared values.
    pub declared: Vec<&'static str>,
    /// Modelled components.
    pub modelled: Vec<&'static str>,
    /// Simulated components.
    pub simulated: Vec<&'static str>,
    /// Whether models are calibrated from a record of a real or simulated run.
    pub calibrated: bool,
    /// Work of the tasks.
    pub work: Range,
    /// Bytes of the files.
    pub bytes: Range,
    /// Number of pilots.
    pub pilots: usize,
}

fn range(values: impl Iterator<Item = f64>) -> Range {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// Returns the origin of the values of a component in a run.
fn origin(case: &Case, switches: Option<Switches>, component: Component) -> Origin {
    if switches.is_some_and(|switches| switches.injects(component)) {
        return Origin::Injected;
    }
    let some = |has: bool, origin: Origin, otherwise: Origin| if has { origin } else { otherwise };
    let waits = case.model.as_ref().is_some_and(|model| !model.latency.is_empty());
    let dies = case.model.as_ref().is_some_and(|model| model.lifetime.is_some());
    match component {
        Component::Application => Origin::Modelled,
        Component::Workflow | Component::Placement => Origin::Simulated,
        Component::Transfers => some(case.files.is_empty(), Origin::Absent, Origin::Simulated),
        Component::QueueWait if case.sites.iter().any(|site| site.batch.is_some()) => {
            Origin::Simulated
        }
        Component::QueueWait if switches.is_some() => Origin::Modelled,
        Component::QueueWait => {
            let is_declared = case.pilots.iter().all(|pilot| pilot.start.is_some());
            some(!is_declared && waits, Origin::Modelled, Origin::Declared)
        }
        Component::Provisioning => some(switches.is_some(), Origin::Modelled, Origin::Declared),
        Component::Failures if dies => Origin::Modelled,
        Component::Failures => {
            let declared = switches.is_none() && case.pilots.iter().any(|p| p.dies.is_some());
            some(declared, Origin::Declared, Origin::Absent)
        }
        Component::Platform => {
            let is_modelled = switches.is_some() && case.platform_model.is_some();
            some(is_modelled, Origin::Modelled, Origin::Declared)
        }
    }
}

impl Validity {
    /// The statement for a run of a case, with parts injected if switches are given.
    pub fn of(case: &Case, switches: Option<Switches>) -> Validity {
        let with = |wanted: Origin| {
            let all = Component::ALL.into_iter();
            let some = all.filter(|&component| origin(case, switches, component) == wanted);
            some.map(Component::name).collect()
        };
        Validity {
            injected: with(Origin::Injected),
            declared: with(Origin::Declared),
            modelled: with(Origin::Modelled),
            simulated: with(Origin::Simulated),
            calibrated: case.record.is_some(),
            work: range(case.tasks.iter().map(|task| task.work)),
            bytes: range(case.files.iter().map(|file| file.bytes)),
            pilots: case.pilots.len(),
        }
    }

    /// Summary in one or two sentences.
    pub fn text(&self) -> String {
        let parts = [
            ("injected", &self.injected),
            ("declared", &self.declared),
            ("modelled", &self.modelled),
            ("simulated", &self.simulated),
        ];
        let parts = parts.into_iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> =
            parts.map(|(what, list)| format!("{what}: {}", list.join(", "))).collect();
        let calibrated = if self.calibrated { "one record" } else { "nothing" };
        let range = |what: &str, range: Range| match range {
            Some((low, high)) => format!(", {what} {low} to {high}"),
            None => String::new(),
        };
        format!(
            "{}. Calibrated on {calibrated}; {} pilots{}{}.",
            parts.join("; "),
            self.pilots,
            range("work", self.work),
            range("bytes", self.bytes)
        )
    }
}
