//! Workflows with choices and loops on leased machines, under a budget (after Caron, Desprez, Muresan
//! and Suter, "Budget Constrained Resource Allocation for Non-Deterministic Workflows on an IaaS
//! Cloud", 2012).
//!
//! The workflow is split at its decisions into sub-workflows, the budget is shared among them by their work and
//! the number of times they are expected to run, and every part is allocated under its share: [`plan`]. [`run`]
//! follows one course of the workflow with these plans, or plans again at every decision with the remaining
//! money (`adaptive`).
//!
//! Machines are leased whole, by kind (class of the platform); [`fleet`] maps tasks on them and
//! keeps the bill. Transfers take no time here.

mod allocate;
pub mod fleet;
mod plans;
mod runs;

pub use allocate::Candidate;
pub use fleet::{Fleet, Kind, Kinds, Lease};
pub use plans::{PartPlan, Plan, Shared, plan, shares};
pub use runs::{Course, PlacedInstance, Release, Run, run};

use slackline_model::parameter::{Given, Kind as ParameterKind, Parameter, ParameterError, Values};
use slackline_model::{Problem, ProblemError};
use thiserror::Error;

/// Method by which a sub-workflow is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// One allocation whose every task could pay for machines of its own (CPA with an area of money).
    Eager,
    /// One allocation per number of machines, the fastest that can be paid (after biCPA).
    Deferred,
    /// The candidates of all variants of both.
    Combined,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 3] = [Method::Eager, Method::Deferred, Method::Combined];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Eager => "eager",
            Method::Deferred => "deferred",
            Method::Combined => "combined",
        }
    }

    /// The method of that name.
    pub fn find(name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|m| m.name().eq_ignore_ascii_case(name))
    }

    /// Parameters of the method.
    pub fn parameters(self) -> &'static [Parameter] {
        match self {
            Method::Eager => EAGER,
            Method::Deferred => DEFERRED,
            Method::Combined => COMBINED,
        }
    }

    /// One line for lists.
    pub fn about(self) -> &'static str {
        match self {
            Method::Eager => {
                "choices and loops under a budget: one allocation, money as area (CPA)"
            }
            Method::Deferred => {
                "choices and loops under a budget: best of one allocation per pool size (biCPA)"
            }
            Method::Combined => {
                "choices and loops under a budget: best of all variants of eager and deferred"
            }
        }
    }
}

/// By what rate `eager` turns money into time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// The budget over the critical path on one machine per task.
    Start,
    /// The budget over the critical path of the present allocation.
    Current,
}

/// On how many machines a candidate of `deferred` is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// On as many as it was made for.
    Tight,
    /// On all of the kind.
    All,
}

/// Area of a task for `deferred`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The time that is billed.
    Over,
    /// The time that is used.
    Exact,
}

/// Rule by which the budget is shared among sub-workflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// In proportion to work.
    Work,
    /// First what each costs at least, the rest in proportion to work.
    Floor,
}

/// Everything that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The method.
    pub method: Method,
    /// Of `eager`.
    pub rate: Rate,
    /// Of `deferred`.
    pub pool: Pool,
    /// Of `deferred`.
    pub area: Area,
    /// Rule by which the budget is shared.
    pub share: Share,
    /// The quantile of the number of executions that is paid for.
    pub confidence: f64,
    /// Money for the whole run.
    pub budget: f64,
    /// Whether every release is planned again with the remaining money.
    pub adaptive: bool,
}

impl Options {
    /// The defaults of a method under a budget.
    pub fn new(method: Method, budget: f64) -> Options {
        Options {
            method,
            rate: Rate::Start,
            pool: Pool::Tight,
            area: Area::Over,
            share: Share::Floor,
            confidence: 0.9,
            budget,
            adaptive: false,
        }
    }

    /// With what was set on the command line; the error names parameter and value.
    pub fn with(mut self, given: &Given) -> Result<Options, ParameterError> {
        let method = self.method;
        let values = Values::read(method.name(), method.parameters().iter(), &[], given)?;
        let pick = |name: &str, word: &str| values.word(name) == word;
        self.confidence = values.number("confidence")?;
        self.adaptive = values.switch("adaptive");
        self.share = if pick("share", "work") { Share::Work } else { Share::Floor };
        self.rate = if pick("rate", "current") { Rate::Current } else { Rate::Start };
        self.pool = if pick("pool", "all") { Pool::All } else { Pool::Tight };
        self.area = if pick("area", "exact") { Area::Exact } else { Area::Over };
        Ok(self)
    }

    /// The settings that differ from their defaults, as the command line has them.
    pub fn set(&self) -> Vec<(&'static str, &'static str)> {
        let mut set = Vec::new();
        if self.method == Method::Eager && self.rate == Rate::Current {
            set.push(("rate", "current"));
        }
        if self.method == Method::Deferred && self.pool == Pool::All {
            set.push(("pool", "all"));
        }
        if self.method == Method::Deferred && self.area == Area::Exact {
            set.push(("area", "exact"));
        }
        set
    }

    /// Whether a cost keeps to a budget.
    pub fn affords(cost: f64, budget: f64) -> bool {
        cost <= budget * (1.0 + 1e-9) + 1e-9
    }
}

/// Error of planning a workflow with choices and loops.
#[derive(Debug, Error)]
pub enum NondetError {
    /// The workflow is a plain one.
    #[error(
        "the workflow has no choices and loops; any planner of `slackline algorithms` takes it"
    )]
    Plain,
    /// A loop has no greatest number of passes.
    #[error(
        "confidence 1 pays for every possible pass, but loop '{0}' has no limit: give it a max, or a lower confidence"
    )]
    Endless(String),
    /// No kind of machine takes all tasks of a part.
    #[error("no kind of machine can run all tasks of sub-workflow '{part}': {why}")]
    NoKind {
        /// The sub-workflow.
        part: String,
        /// An example.
        why: String,
    },
    /// The platform and the tasks do not fit.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// A given outcome does not exist.
    #[error(transparent)]
    Outcome(#[from] slackline_model::control::OutcomeError),
    /// Loops that go round too often.
    #[error(transparent)]
    Unfold(#[from] slackline_model::control::UnfoldError),
}

/// The problem of the tasks alone, for their times; keeps the plain workflow that it needs.
pub fn task_times<'a>(
    tasks: &'a slackline_model::Workflow,
    platform: &'a slackline_model::Platform,
) -> Result<Problem<'a>, ProblemError> {
    Problem::at_peak(tasks, platform)
}

const CONFIDENCE: Parameter = Parameter::new(
    "confidence",
    ParameterKind::Number(0.5, 1.0),
    "0.9",
    "quantile of the number of executions that is paid for",
);
const SHARE: Parameter = Parameter::new(
    "share",
    ParameterKind::Choice(&["floor", "work"]),
    "floor",
    "how the budget is shared: by work, or first by what each part costs at least",
);
const ADAPTIVE: Parameter = Parameter::new(
    "adaptive",
    ParameterKind::Switch,
    "no",
    "in a run, allocate again at every decision with the money that is left",
);
const RATE: Parameter = Parameter::new(
    "rate",
    ParameterKind::Choice(&["start", "current"]),
    "start",
    "money per second: budget over the critical path at one machine per task, or over the present one",
);
const POOL: Parameter = Parameter::new(
    "pool",
    ParameterKind::Choice(&["tight", "all"]),
    "tight",
    "a candidate for j machines is mapped on j of them, or on all",
);
const AREA: Parameter = Parameter::new(
    "area",
    ParameterKind::Choice(&["over", "exact"]),
    "over",
    "the area of a task counts the time that is billed, or the time that is used",
);
const EAGER: &[Parameter] = &[CONFIDENCE, SHARE, ADAPTIVE, RATE];
const DEFERRED: &[Parameter] = &[CONFIDENCE, SHARE, ADAPTIVE, POOL, AREA];
const COMBINED: &[Parameter] = &[CONFIDENCE, SHARE, ADAPTIVE];

#[cfg(test)]
mod tests;
