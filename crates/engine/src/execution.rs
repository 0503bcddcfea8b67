//! One execution: what is run where, under which rules.

use crate::arrivals::Supply;
use crate::backend::{Backend, BackendError};
use crate::engine::Engine;
use crate::outcome::{Counters, Outcome};
use slackline_model::problem::Inputs;
use slackline_model::trace::Record;
use slackline_model::{DiskId, FileId, HostId, Platform, Terms, Workflow};
use slackline_react::{Plan, Policy, Situation};
use std::sync::Arc;

/// Rule that selects the task of a processor's queue to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dispatch {
    /// Only the first: the order of the plan is kept.
    #[default]
    InOrder,
    /// The first whose inputs are there.
    FirstReady,
}

/// The usual [`Settings::memory_factor`].
pub const MEMORY_FACTOR: f64 = 2.0;

/// Settings of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Seconds by which what is seen of the platform is behind, losses of hosts included. What
    /// an operation meets is known at once all the same.
    pub monitoring_delay: f64,
    /// Seconds between a call of the policy and its decisions taking effect; what happens
    /// meanwhile is told at the next call.
    pub decision_seconds: f64,
    /// Rule that selects the task of a queue to start.
    pub dispatch: Dispatch,
    /// A transfer counts as begun when its file was made, wherever it is wanted later: what the
    /// start-time formula of most papers assumes. Only where transfers do not disturb each other.
    pub anticipated: bool,
    /// Files live on a store: a task takes its processor, reads its inputs one after the other,
    /// computes, and writes while its processor continues.
    pub central: bool,
    /// The storage that is the store, where files live on one of the platform's.
    pub storage: Option<DiskId>,
    /// Maximum retries of a failed task or transfer.
    pub retries: u32,
    /// The run ends when a task is abandoned.
    pub fail_fast: bool,
    /// Multiple of its memory granted to a task that ran out of it; more than 1.
    pub memory_factor: f64,
    /// Run times that differ from their estimates change those of their kind, and the level of their
    /// host where others of the kind took less.
    pub learning: bool,
    /// Seconds to wait for a host if it is unknown whether it will be back.
    pub patience: f64,
    /// The run is broken off at this date.
    pub until: f64,
    /// Changes of levels before anything ends that are still simulated: a run with more ahead is given up.
    pub most_changes: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            monitoring_delay: 0.0,
            decision_seconds: 0.0,
            dispatch: Dispatch::default(),
            anticipated: false,
            central: false,
            storage: None,
            retries: 3,
            fail_fast: false,
            memory_factor: MEMORY_FACTOR,
            learning: false,
            patience: 600.0,
            until: f64::INFINITY,
            most_changes: 1e8,
        }
    }
}

/// Destination of a run's trace.
#[derive(Default)]
pub enum Recording<'r> {
    /// All of it is part of the outcome.
    #[default]
    Keep,
    /// All but the changing levels of hosts and links, of which there may be any number.
    KeepWork,
    /// Nothing is recorded; the outcome has no trace.
    Nothing,
    /// Each record is passed to the function; the outcome has no trace.
    Stream(&'r mut dyn FnMut(&Record)),
    /// Each record is passed to the function; the outcome has all but the changing levels.
    KeepWorkAndStream(&'r mut dyn FnMut(&Record)),
}

impl<'r> Recording<'r> {
    /// The same for a shorter time.
    pub(crate) fn within<'s>(self) -> Recording<'s>
    where
        'r: 's,
    {
        match self {
            Recording::Keep => Recording::Keep,
            Recording::KeepWork => Recording::KeepWork,
            Recording::Nothing => Recording::Nothing,
            Recording::Stream(tell) => Recording::Stream(tell),
            Recording::KeepWorkAndStream(tell) => Recording::KeepWorkAndStream(tell),
        }
    }
}

/// A run at an instant, for observers.
#[derive(Clone, Copy)]
pub struct RunSnapshot<'m> {
    /// The present state of the run.
    pub situation: &'m Situation,
    /// Counters so far.
    pub counters: &'m Counters,
    /// The plan that is followed, where there is one.
    pub plan: Option<&'m Plan>,
}

/// An observer.
pub type Watcher<'r> = &'r mut dyn FnMut(&RunSnapshot<'_>);

/// One run: workflow, platform, policy and settings; see the module's head.
pub struct Execution<'r> {
    /// Known work with estimated costs; more may come from `supply`.
    pub workflow: Arc<Workflow>,
    /// When that arrives; nothing is decided before.
    pub begins: f64,
    /// Owner, priority and limits it was submitted with.
    pub terms: Terms,
    /// The platform at its peak.
    pub platform: Arc<Platform>,
    /// The rules.
    pub settings: Settings,
    /// Locations of inputs.
    pub inputs: Inputs,
    /// Inputs that lie at further hosts from the start.
    pub copies: Vec<(FileId, HostId)>,
    /// Workflows that arrive later and tasks that appear.
    pub supply: Option<&'r mut dyn Supply>,
    /// Destination of the trace.
    pub recording: Recording<'r>,
    /// Called after every instant at which something happened.
    pub watch: Option<Watcher<'r>>,
}

impl<'r> Execution<'r> {
    /// A workflow on a platform, under the default rules, its inputs on the platform's origin
    /// where it names one.
    pub fn new(workflow: Arc<Workflow>, platform: Arc<Platform>) -> Execution<'r> {
        let inputs = Inputs::of(&platform);
        Execution {
            workflow,
            begins: 0.0,
            terms: Terms::default(),
            platform,
            settings: Settings::default(),
            inputs,
            copies: Vec::new(),
            supply: None,
            recording: Recording::default(),
            watch: None,
        }
    }

    /// Drives a policy over a backend until all tasks are done or nothing can move any more.
    pub fn run(
        self,
        policy: &mut dyn Policy,
        backend: &mut dyn Backend,
    ) -> Result<Outcome, BackendError> {
        if self.settings.anticipated && !backend.abilities().anticipates {
            let why = "transfers that disturb each other cannot be anticipated";
            return Err(BackendError::Unsupported(why));
        }
        if self.settings.central && !backend.abilities().has_store {
            return Err(BackendError::Unsupported("there is no store for files here"));
        }
        let begins = self.begins;
        let mut engine = Engine::new(self, backend);
        engine.wait_until(begins)?;
        let ending = engine.drive(policy)?;
        engine.give_all_back()?;
        Ok(engine.outcome(ending))
    }
}

/// Drives a policy over a backend; [`Execution`] has more to say.
pub fn run(
    workflow: Arc<Workflow>,
    platform: Arc<Platform>,
    policy: &mut dyn Policy,
    backend: &mut dyn Backend,
    settings: Settings,
) -> Result<Outcome, BackendError> {
    Execution { settings, ..Execution::new(workflow, platform) }.run(policy, backend)
}
