//! Switches of the components of a simulated centre. A component is *injected* when its behaviour is taken from the record
//! of a run, and *free* when it is modelled or simulated.

use serde::{Serialize, Serializer};
use std::fmt;
use thiserror::Error;

/// A component of a simulated centre that can be injected from a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// Durations of computations.
    Application,
    /// Durations of stage-in and stage-out.
    Transfers,
    /// Dates at which attempts enter the queue.
    Workflow,
    /// Assignment of attempts to pilots.
    Placement,
    /// Wait of pilots from submission to start.
    QueueWait,
    /// Submission of pilots.
    Provisioning,
    /// Ages at which pilots die.
    Failures,
    /// Speeds and bandwidths.
    Platform,
}

impl Component {
    /// All components, in the order in which an attribution frees them one by one: the platform, then from the application
    /// outwards.
    pub const ALL: [Component; 8] = [
        Component::Platform,
        Component::Application,
        Component::Transfers,
        Component::Workflow,
        Component::Placement,
        Component::QueueWait,
        Component::Provisioning,
        Component::Failures,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Component::Application => "application",
            Component::Transfers => "transfers",
            Component::Workflow => "workflow",
            Component::Placement => "placement",
            Component::QueueWait => "queue_wait",
            Component::Provisioning => "provisioning",
            Component::Failures => "failures",
            Component::Platform => "platform",
        }
    }

    /// Treatment of the component when it is not injected: a model, or simulation from the rest of the run.
    pub fn free(self) -> &'static str {
        match self {
            Component::Transfers | Component::Workflow | Component::Placement => "simulate",
            _ => "model",
        }
    }
}

/// An unknown component or value of a switch.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct UnknownSwitch(pub String);

/// The state of all components: a bit set of the free ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Switches {
    free: u8,
}

impl Switches {
    /// Everything comes from the record.
    pub const INJECTED: Switches = Switches { free: 0 };
    /// Nothing comes from the record.
    pub const FREE: Switches = Switches { free: u8::MAX };

    /// Whether a component is injected.
    pub fn injects(self, component: Component) -> bool {
        self.free & (1 << component as u8) == 0
    }

    /// These switches with a component modelled or simulated.
    pub fn freeing(self, component: Component) -> Switches {
        Switches { free: self.free | 1 << component as u8 }
    }

    /// These switches with a component injected.
    pub fn injecting(self, component: Component) -> Switches {
        Switches { free: self.free & !(1 << component as u8) }
    }

    /// Sets one component from `NAME=VALUE`.
    pub fn set(self, text: &str) -> Result<Switches, UnknownSwitch> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let Some(component) = Component::ALL.into_iter().find(|c| c.name() == name) else {
            let known = Component::ALL.map(Component::name).join(", ");
            return Err(UnknownSwitch(format!("unknown component `{name}`; known: {known}")));
        };
        match value {
            "inject" => Ok(self.injecting(component)),
            value if value == component.free() => Ok(self.freeing(component)),
            _ => Err(UnknownSwitch(format!(
                "`{text}`: {name} is `inject` or `{}`",
                component.free()
            ))),
        }
    }

    /// The value of a component.
    pub fn value(self, component: Component) -> &'static str {
        if self.injects(component) { "inject" } else { component.free() }
    }
}

impl Serialize for Switches {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Component::ALL.map(|c| (c.name(), self.value(c))))
    }
}

impl fmt::Display for Switches {
    /// Lists the free components, or the injected ones where those are fewer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |injected: bool| {
            let some = Component::ALL.into_iter().filter(move |&c| self.injects(c) == injected);
            some.map(Component::name).collect::<Vec<_>>()
        };
        let (injected, free) = (of(true), of(false));
        match (injected.len(), free.len()) {
            (_, 0) => f.write_str("everything injected"),
            (0, _) => f.write_str("nothing injected"),
            (few, many) if few < many => write!(f, "injected: {}", injected.join(", ")),
            _ => write!(f, "free: {}", free.join(", ")),
        }
    }
}
