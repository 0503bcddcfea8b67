//! A site: its machine and the rules of its batch system, as JSON or TOML.

use serde::Deserialize;
use serde::de::Deserializer;
use std::collections::BTreeMap;
use thiserror::Error;

/// The machine of a batch system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// Cores that are given to jobs one by one.
    Cores(u64),
    /// Nodes that are given to jobs as a whole.
    Nodes {
        /// Number of nodes.
        nodes: u64,
        /// Cores of each.
        cores_per_node: u64,
    },
}

impl Machine {
    /// Number of units that are given to jobs: cores or nodes.
    pub fn units(self) -> u64 {
        match self {
            Machine::Cores(cores) => cores,
            Machine::Nodes { nodes, .. } => nodes,
        }
    }

    /// Cores of a unit.
    pub fn cores_per_unit(self) -> u64 {
        match self {
            Machine::Cores(_) => 1,
            Machine::Nodes { cores_per_node, .. } => cores_per_node,
        }
    }

    /// All cores.
    pub fn cores(self) -> u64 {
        self.units() * self.cores_per_unit()
    }

    /// Units that a job of so many cores takes.
    pub fn units_of(self, cores: u64) -> u64 {
        cores.div_ceil(self.cores_per_unit())
    }
}

/// Set of jobs to which a cap applies.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum CapBy {
    /// Jobs of a user.
    User,
    /// Jobs of a group.
    Group,
    /// Jobs of a queue.
    Queue,
}

/// A limit on what runs at a time.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Cap {
    /// Set of jobs to which the cap applies.
    pub by: CapBy,
    /// Name of the user, group or queue; `*`: each one.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// Most cores.
    pub cores: Option<u64>,
    /// Most jobs.
    pub jobs: Option<u64>,
}

/// Power of one core in watts, and how idle units are switched off.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// While idle.
    pub idle: f64,
    /// While held by a job.
    pub loaded: f64,
    /// While switched off.
    #[serde(default)]
    pub off: f64,
    /// Seconds of idleness after which a unit is switched off; never if left out.
    pub off_after: Option<f64>,
    /// Seconds that switching off takes, at idle power.
    #[serde(default)]
    pub shutdown: f64,
    /// Seconds that switching on takes, at loaded power; jobs on such units begin so much later.
    #[serde(default)]
    pub boot: f64,
}

/// A machine and the rules of its batch system.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The machine.
    pub machine: Machine,
    /// Priorities of queues (orders by priority).
    pub priorities: BTreeMap<String, f64>,
    /// Caps (orders by priority).
    pub caps: Vec<Cap>,
    /// Pledges of groups.
    pub pledges: BTreeMap<String, f64>,
    /// Seconds over which use is counted (fair share); all time if none.
    pub window: Option<f64>,
    /// Length of the windows over which shares are held against pledges, in seconds.
    pub deviation_window: Option<f64>,
    /// Power.
    pub power: Option<Power>,
}

/// A site that makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct SiteError(pub String);

fn site_error<T>(message: impl Into<String>) -> Result<T, SiteError> {
    Err(SiteError(message.into()))
}

/// Names are texts or numbers.
fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Name {
        Number(i64),
        Text(String),
    }
    Ok(match Name::deserialize(deserializer)? {
        Name::Number(number) => number.to_string(),
        Name::Text(text) => text,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    cores: Option<u64>,
    nodes: Option<u64>,
    cores_per_node: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteFile {
    machine: Option<MachineFile>,
    #[serde(default)]
    priorities: BTreeMap<String, f64>,
    #[serde(default)]
    caps: Vec<Cap>,
    #[serde(default)]
    pledges: BTreeMap<String, f64>,
    window: Option<f64>,
    deviation_window: Option<f64>,
    power: Option<Power>,
}

/// The largest machine: cores times seconds stay exact.
const MOST_CORES: u64 = 1 << 32;

impl Site {
    /// A machine without further rules.
    pub fn new(machine: Machine) -> Result<Site, SiteError> {
        let site = Site {
            machine,
            priorities: BTreeMap::new(),
            caps: Vec::new(),
            pledges: BTreeMap::new(),
            window: None,
            deviation_window: None,
            power: None,
        };
        site.check()?;
        Ok(site)
    }

    /// Reads a site from JSON or TOML; the machine may come from elsewhere (`machine`).
    pub fn parse(text: &str, machine: Option<Machine>) -> Result<Site, SiteError> {
        let file: SiteFile = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|e| SiteError(e.to_string()))?
        } else {
            toml::from_str(text).map_err(|e| SiteError(e.to_string()))?
        };
        let machine = match (machine, file.machine) {
            (Some(machine), _) => machine,
            (None, Some(MachineFile { cores: Some(cores), nodes: None, cores_per_node: None })) => {
                Machine::Cores(cores)
            }
            (
                None,
                Some(MachineFile {
                    cores: None,
                    nodes: Some(nodes),
                    cores_per_node: Some(cores_per_node),
                }),
            ) => Machine::Nodes { nodes, cores_per_node },
            (None, Some(_)) => {
                return site_error("machine: give either `cores`, or `nodes` and `cores_per_node`");
            }
            (None, None) => return site_error("there is no `machine`"),
        };
        let SiteFile { priorities, caps, pledges, window, deviation_window, power, .. } = file;
        let site = Site { machine, priorities, caps, pledges, window, deviation_window, power };
        site.check()?;
        Ok(site)
    }

    fn check(&self) -> Result<(), SiteError> {
        let (units, each) = (self.machine.units(), self.machine.cores_per_unit());
        if units == 0 || each == 0 {
            return site_error("machine: it has no cores");
        }
        if units.checked_mul(each).is_none_or(|cores| cores > MOST_CORES) {
            return site_error(format!("machine: it has more than {MOST_CORES} cores"));
        }
        if let Some((group, _)) = self.pledges.iter().find(|(_, p)| !(p.is_finite() && **p >= 0.0))
        {
            return site_error(format!("pledges: that of `{group}` is below 0 or no number"));
        }
        if let Some((queue, _)) = self.priorities.iter().find(|(_, p)| !p.is_finite()) {
            return site_error(format!("priorities: that of `{queue}` is no number"));
        }
        for (member, value) in
            [("window", self.window), ("deviation_window", self.deviation_window)]
        {
            if value.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
                return site_error(format!("{member}: it has to be above 0 s"));
            }
        }
        if let Some(cap) = self.caps.iter().find(|cap| cap.cores.is_none() && cap.jobs.is_none()) {
            return site_error(format!("caps: that of `{}` has neither cores nor jobs", cap.name));
        }
        if let Some(power) = self.power {
            let Power { idle, loaded, off, off_after, shutdown, boot } = power;
            let all = [idle, loaded, off, off_after.unwrap_or(0.0), shutdown, boot];
            if all.iter().any(|value| !(value.is_finite() && *value >= 0.0)) {
                return site_error("power: a value is below 0 or no number");
            }
        }
        Ok(())
    }
}

/// Names of users, groups and queues, by the numbers that jobs carry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accounts<'a> {
    /// Users.
    pub users: &'a [String],
    /// Groups.
    pub groups: &'a [String],
    /// Queues.
    pub queues: &'a [String],
}

impl Accounts<'_> {
    pub(crate) fn names(&self, by: CapBy) -> &[String] {
        match by {
            CapBy::User => self.users,
            CapBy::Group => self.groups,
            CapBy::Queue => self.queues,
        }
    }
}
