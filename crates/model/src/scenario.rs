//! A scenario: changes of hosts and links while a workflow runs, and errors of the estimates.
//!
//! It is the truth that no planner and no policy sees. It says only *what* happens, by name, in
//! a form that a person can read and edit; nothing in it is drawn later but the estimate errors,
//! and those depend on the seed, the task and the host alone, so that every policy meets the
//! same world whatever it does. Against a platform it becomes a [`World`] (courses of hosts and
//! links), against a workflow a [`Truth`] (how long tasks really take).

mod knowledge;
mod truth;
mod world;

pub use knowledge::{Knowledge, KnowledgeError};
pub use truth::Truth;
pub use world::{HostWorld, LinkWorld, PairWorld, World};

use crate::platform::{LATEST, Profile};
use crate::submission::Terms;
use crate::units::fmt_number;
use crate::workflow::CostTable;
use std::sync::Arc;
use thiserror::Error;

/// Conditions of a run; see the module's head. The default has no changes and exact estimates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Its origin, e.g. the command that generated it.
    pub note: String,
    /// Seed of the estimate errors.
    pub seed: u64,
    /// Changes of hosts; one entry per host at most.
    pub hosts: Vec<HostStory>,
    /// Changes of links; one entry per link at most.
    pub links: Vec<LinkStory>,
    /// Errors of the estimates.
    pub errors: EstimateErrors,
    /// Run times that are fixed, whatever the errors say.
    pub actuals: Vec<Actual>,
    /// Memory that tasks really use.
    pub memory: Vec<ActualMemory>,
    /// Sizes of files that are not as the workflow says.
    pub sizes: Vec<ActualSize>,
    /// Actual values in the workflow's own file; `actuals` and `sizes` take precedence.
    pub measured: Option<Arc<Measured>>,
    /// Inputs of which there are copies elsewhere than at the origin when the run begins.
    pub copies: Vec<SpreadCopy>,
    /// Workflows and when they are submitted; empty: one workflow at the start.
    pub arrivals: Vec<Arrival>,
}

/// The levels and outages of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostStory {
    /// Name of the host.
    pub host: String,
    /// Fraction of the peak speed over time, 0 to 1; takes the place of the platform's own. At 0
    /// work is suspended but not lost.
    pub availability: Option<Profile>,
    /// Times off: running work and transfers are lost.
    pub outages: Vec<Outage>,
}

/// The levels and outages of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkStory {
    /// Name of the link.
    pub link: LinkName,
    /// Fraction of the nominal bandwidth over time, 0 to 1; takes the place of the platform's
    /// own. At 0 transfers are suspended.
    pub bandwidth: Option<Profile>,
    /// Times off: transfers on it are lost.
    pub outages: Vec<Outage>,
}

/// Names a link, or the connection of two hosts where the network is a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkName {
    /// A link of the platform.
    Named(String),
    /// Both directions between two hosts of a matrix network.
    Between(String, String),
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// Seconds from the start.
    Seconds(f64),
    /// Fraction of the makespan of the plan, followed in this world without any such moment.
    OfMakespan(f64),
}

/// A time of being off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// Its begin.
    pub from: Moment,
    /// Seconds until the resource is back; `None`: for ever.
    pub lasts: Option<f64>,
    /// Files stored on the host are there again when it is back.
    pub keeps_data: bool,
}

/// Differences between actual and estimated times: a factor per task (and host), and per transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EstimateErrors {
    /// Factor on execution times.
    pub compute: ErrorLaw,
    /// Factor on the bytes that transfers really move.
    pub transfer: ErrorLaw,
    /// The side that is multiplied by the factor; the other is as the workflow says.
    pub wrong: Wrong,
    /// The unit that shares one factor.
    pub per: Grain,
}

/// The law of an error factor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ErrorLaw {
    /// Estimates are exact.
    #[default]
    Exact,
    /// `1 + U(-bound, bound)`: the bounded error of the QoI studies.
    Uniform {
        /// Largest relative error, 0 to 1.
        bound: f64,
    },
    /// `1 + N(0, deviation)`, cut below at 0.05.
    Normal {
        /// Standard deviation of the relative error.
        deviation: f64,
    },
    /// Log-normal of mean 1: rare but large overruns.
    LogNormal {
        /// Deviation of the logarithm.
        sigma: f64,
    },
    /// Always the same factor: a systematic error.
    Bias {
        /// The factor.
        factor: f64,
    },
}

/// The times that an error factor multiplies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrong {
    /// The workflow states the estimates; the actual times are multiplied.
    #[default]
    Actual,
    /// The workflow states the actual times; the estimates are multiplied.
    Estimate,
}

/// The unit that shares one error factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    /// Every task on every host.
    #[default]
    TaskAndHost,
    /// Every task, the same on all hosts.
    Task,
    /// Every kind of task.
    Kind,
}

/// A run time that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Actual {
    /// Name of the task.
    pub task: String,
    /// Name of the host; `None`: on every host.
    pub host: Option<String>,
    /// Seconds it takes at availability 1.
    pub seconds: f64,
}

/// Memory that a task really uses. An attempt that was granted less runs out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ActualMemory {
    /// Name of the task.
    pub task: String,
    /// Bytes it uses at most.
    pub bytes: f64,
    /// The part of its run time after which it uses more than any smaller grant, 0 to 1.
    pub at: f64,
}

impl ActualMemory {
    /// The part of its run time after which a task runs out of memory, where nothing else is said.
    pub const USUALLY_AT: f64 = 0.5;
}

/// A file size that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct ActualSize {
    /// Name of the file.
    pub file: String,
    /// Bytes it really has.
    pub bytes: f64,
}

/// Real run times and sizes of a whole workflow, where its estimates differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Seconds of every task at availability 1, by the columns of the workflow's own table.
    pub seconds: CostTable,
    /// Bytes of every file.
    pub bytes: Vec<f64>,
}

/// An input of which there is a copy at a host, or at its place, from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct SpreadCopy {
    /// Name of the file.
    pub file: String,
    /// Name of the host.
    pub host: String,
}

/// A workflow that is submitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    /// Name of the workflow, or of its file.
    pub workflow: String,
    /// Time of its submission.
    pub when: When,
    /// Owner, priority and limits.
    pub terms: Terms,
    /// Its deadline as a part of the way from the least to the most that the tasks of its critical
    /// path can take on the platform.
    pub deadline_factor: Option<f64>,
    /// Its budget as a part of the way from the least to the most that its tasks can cost there.
    pub budget_factor: Option<f64>,
}

impl Arrival {
    /// A workflow without owner, priority or limits.
    pub fn new(workflow: impl Into<String>, when: When) -> Arrival {
        let (workflow, terms) = (workflow.into(), Terms::default());
        Arrival { workflow, when, terms, deadline_factor: None, budget_factor: None }
    }
}

/// The time at which a workflow arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Seconds from the start.
    At(f64),
    /// The moment at which this fraction of the tasks of the workflow before it are done.
    AfterTasks(f64),
    /// The moment at which this fraction of the deadline of the workflow before it has passed.
    AfterDeadline(f64),
}

/// An error in a scenario.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages say it
pub enum ScenarioError {
    #[error("the platform has no {kind} '{name}'")]
    Unknown { kind: &'static str, name: String },
    #[error("the workflow has no task '{name}'")]
    UnknownTask { name: String },
    #[error("the workflow has no file '{name}'")]
    UnknownFile { name: String },
    #[error("the run times that were measured do not fit the platform: {why}")]
    MeasuredElsewhere { why: String },
    #[error("{what} appears twice")]
    Twice { what: String },
    #[error("{what}: {} is not {wanted}", fmt_number(*value))]
    BadNumber { what: String, value: f64, wanted: &'static str },
    #[error("{what}: {why}")]
    Bad { what: String, why: &'static str },
}

impl Scenario {
    /// Whether nothing ever happens and every estimate is exact.
    pub fn is_still(&self) -> bool {
        self.hosts.is_empty()
            && self.links.is_empty()
            && self.errors == EstimateErrors::default()
            && self.actuals.is_empty()
            && self.memory.is_empty()
            && self.sizes.is_empty()
            && self.measured.is_none()
    }

    /// Whether some moment depends on the makespan; [`Scenario::at_makespan`] settles it.
    pub fn needs_makespan(&self) -> bool {
        let relative = |o: &Outage| matches!(o.from, Moment::OfMakespan(_));
        self.hosts.iter().flat_map(|h| &h.outages).any(relative)
            || self.links.iter().flat_map(|l| &l.outages).any(relative)
    }

    /// The scenario with every moment in seconds, given the makespan without them.
    pub fn at_makespan(&self, seconds: f64) -> Scenario {
        let settle = |outage: &mut Outage| {
            if let Moment::OfMakespan(fraction) = outage.from {
                outage.from = Moment::Seconds(fraction * seconds);
            }
        };
        let mut settled = self.clone();
        settled.hosts.iter_mut().flat_map(|h| &mut h.outages).for_each(settle);
        settled.links.iter_mut().flat_map(|l| &mut l.outages).for_each(settle);
        settled
    }

    /// The scenario without the moments that depend on the makespan, for the run that gives the
    /// makespan.
    pub fn without_relative_moments(&self) -> Scenario {
        let fixed = |o: &Outage| matches!(o.from, Moment::Seconds(_));
        let mut without = self.clone();
        without.hosts.iter_mut().for_each(|h| h.outages.retain(fixed));
        without.links.iter_mut().for_each(|l| l.outages.retain(fixed));
        without
    }

    /// Checks every number; names are checked where platform and workflow are known.
    pub fn check(&self) -> Result<(), ScenarioError> {
        for story in &self.hosts {
            let what = || format!("host '{}'", story.host);
            fractions(&what, "availability", story.availability.as_ref())?;
            outages(&what, &story.outages)?;
        }
        for story in &self.links {
            let what = || format!("link {}", story.link);
            fractions(&what, "bandwidth", story.bandwidth.as_ref())?;
            outages(&what, &story.outages)?;
        }
        self.errors.compute.check("error of execution times")?;
        self.errors.transfer.check("error of transfers")?;
        for actual in &self.actuals {
            not_negative(|| format!("run time of '{}'", actual.task), actual.seconds)?;
        }
        for used in &self.memory {
            not_negative(|| format!("memory of '{}'", used.task), used.bytes)?;
            if !(0.0..=1.0).contains(&used.at) {
                let what = format!("`at` of the memory of '{}'", used.task);
                return Err(bad_number(what, used.at, "a part from 0 to 1"));
            }
        }
        for size in &self.sizes {
            not_negative(|| format!("size of '{}'", size.file), size.bytes)?;
        }
        for (index, arrival) in self.arrivals.iter().enumerate() {
            let what = || format!("arrival {} of '{}'", index + 1, arrival.workflow);
            let before = index.checked_sub(1).map(|i| &self.arrivals[i]);
            let bad = |why| Err(ScenarioError::Bad { what: what(), why });
            match arrival.when {
                When::At(date) => {
                    dated(what, date)?;
                    if matches!(before, Some(Arrival { when: When::At(last), .. }) if date < *last)
                    {
                        return bad("it is dated before the one before it");
                    }
                }
                When::AfterTasks(f) | When::AfterDeadline(f) if !(0.0..=1.0).contains(&f) => {
                    return Err(bad_number(what(), f, "a fraction from 0 to 1"));
                }
                When::AfterDeadline(_)
                    if before.is_some_and(|b| {
                        b.terms.limits.deadline.is_none() && b.deadline_factor.is_none()
                    }) =>
                {
                    return bad("the workflow before it has no deadline");
                }
                When::AfterTasks(_) | When::AfterDeadline(_) if before.is_none() => {
                    return bad("there is no workflow before it; give it a date");
                }
                When::AfterTasks(_) | When::AfterDeadline(_) => {}
            }
            let Terms { priority, limits, .. } = &arrival.terms;
            let wishes = [limits.deadline, limits.budget, Some(*priority)];
            let parts = [arrival.deadline_factor, arrival.budget_factor];
            for number in wishes.into_iter().chain(parts).flatten() {
                not_negative(what, number)?;
            }
        }
        Ok(())
    }
}

impl ErrorLaw {
    fn check(&self, what: &str) -> Result<(), ScenarioError> {
        let within = |value: f64, most: f64, wanted| {
            let fine = value.is_finite() && (0.0..=most).contains(&value);
            if fine { Ok(()) } else { Err(bad_number(what.into(), value, wanted)) }
        };
        match *self {
            ErrorLaw::Exact => Ok(()),
            ErrorLaw::Uniform { bound } => within(bound, 1.0, "a bound from 0 to 1"),
            ErrorLaw::Normal { deviation } => within(deviation, 10.0, "a deviation from 0 to 10"),
            ErrorLaw::LogNormal { sigma } => within(sigma, 10.0, "a deviation from 0 to 10"),
            ErrorLaw::Bias { factor } => within(factor, 1e9, "a factor >= 0"),
        }
    }
}

impl std::fmt::Display for LinkName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LinkName::Named(name) => write!(f, "'{name}'"),
            LinkName::Between(a, b) => write!(f, "between '{a}' and '{b}'"),
        }
    }
}

fn bad_number(what: String, value: f64, wanted: &'static str) -> ScenarioError {
    ScenarioError::BadNumber { what, value, wanted }
}

fn not_negative(what: impl Fn() -> String, value: f64) -> Result<(), ScenarioError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(bad_number(what(), value, "a finite number >= 0"))
}

fn dated(what: impl Fn() -> String, value: f64) -> Result<(), ScenarioError> {
    if value > LATEST {
        Err(bad_number(what(), value, "at most 1e15 s"))
    } else {
        not_negative(what, value)
    }
}

fn fractions(
    what: &dyn Fn() -> String,
    of: &str,
    profile: Option<&Profile>,
) -> Result<(), ScenarioError> {
    let events = profile.map_or(&[][..], |p| p.events());
    match events.iter().find(|e| e.value > 1.0) {
        Some(event) => {
            let what = format!("{} of {}", of, what());
            Err(bad_number(what, event.value, "a fraction from 0 to 1"))
        }
        None => Ok(()),
    }
}

fn outages(what: &dyn Fn() -> String, list: &[Outage]) -> Result<(), ScenarioError> {
    for outage in list {
        let (Moment::Seconds(from) | Moment::OfMakespan(from)) = outage.from;
        dated(|| format!("outage of {}", what()), from)?;
        if let Some(lasts) = outage.lasts {
            dated(|| format!("length of an outage of {}", what()), lasts)?;
        }
    }
    Ok(())
}
