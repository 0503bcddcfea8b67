//! A world made ready for a run: what is true in it, what is known of it, who arrives when. The
//! command and the studies all come through here, so that what one of them runs another can.

use crate::arrivals::{ArrivalError, Arrivals, Coming, Supply};
use crate::backend::BackendError;
use crate::choices::{DecidedCourse, Numbers, Undecided};
use crate::execution::{Execution, Recording, Settings, Watcher};
use crate::outcome::Outcome;
use crate::simulated::{Reality, Simulated};
use slackline_model::control::UnfoldError;
use slackline_model::platform::{Charges, Network, PlatformError};
use slackline_model::problem::Inputs;
use slackline_model::scenario::{Knowledge, KnowledgeError, Scenario, ScenarioError, Truth, World};
use slackline_model::{FileId, Platform, Problem, ProblemError, ProcId, TaskId, Terms, Workflow};
use slackline_react::Policy;
use slackline_simulate::{HostModel, Models, NetworkModel};
use std::sync::Arc;
use thiserror::Error;

/// Everything a simulated run needs but a policy.
#[derive(Clone)]
pub struct Stage {
    /// All work that will ever be known, as it is stated.
    pub workflow: Arc<Workflow>,
    /// The same as far as its run times are known.
    pub known: Arc<Workflow>,
    /// The platform at its peak, as planners know it.
    pub platform: Arc<Platform>,
    /// Changes of the platform, and errors of estimates.
    pub scenario: Scenario,
    /// The rules of the simulation.
    pub models: Models,
    /// Locations of inputs.
    pub inputs: Inputs,
    /// The parts of the work and when they come, where there are several.
    pub arrivals: Vec<Coming>,
    /// The workflow with choices and loops that the work is one course of, and how its decisions
    /// fall: tasks become known when they do.
    pub undecided: Option<Undecided>,
    /// Owner, priority and limits of the work, where it is submitted at date 0.
    pub terms: Terms,
    /// The rules of the run.
    pub settings: Settings,
}

/// Reason why a simulated run cannot be set up or carried out.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages of the causes say it
pub enum StageError {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error(transparent)]
    Platform(#[from] PlatformError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Unfold(#[from] UnfoldError),
    #[error(transparent)]
    Arrivals(#[from] ArrivalError),
    #[error("transfers that disturb each other cannot be anticipated")]
    Disturbed,
}

impl Stage {
    /// A workflow on a platform that holds still, everything as stated.
    pub fn new(workflow: Arc<Workflow>, platform: Arc<Platform>) -> Stage {
        Stage {
            known: workflow.clone(),
            models: usual_models(&platform, &workflow),
            workflow,
            inputs: Inputs::of(&platform),
            platform,
            scenario: Scenario::default(),
            arrivals: Vec::new(),
            undecided: None,
            terms: Terms::default(),
            settings: Settings::default(),
        }
    }

    /// Workflows that arrive at a platform that holds still.
    pub fn of_arrivals(
        arrivals: Vec<Coming>,
        platform: Arc<Platform>,
    ) -> Result<Stage, StageError> {
        let all = Arrivals::new(arrivals.clone()).and_then(|supply| supply.all());
        let all = all.map_err(StageError::Arrivals)?;
        Ok(Stage { arrivals, ..Stage::new(all, platform) })
    }

    /// The same under a scenario, with run times known that well.
    pub fn in_scenario(
        self,
        scenario: Scenario,
        knowledge: Knowledge,
    ) -> Result<Stage, KnowledgeError> {
        let known = scenario.known(&self.workflow, &self.platform, knowledge)?;
        Ok(Stage { known, scenario, ..self })
    }

    /// The planning problem, charged for transfers as the run is; data that stays on a host is free.
    pub fn problem(&self) -> Result<Problem<'_>, ProblemError> {
        let charges = Charges { local: false, ..self.models.charges() };
        Problem::charged(&self.known, &self.platform, &charges, self.inputs)
    }

    /// Lets a policy run.
    pub fn run(&self, policy: &mut dyn Policy) -> Result<Outcome, StageError> {
        self.run_as(policy, Recording::default(), None)
    }

    /// The same, with the use of the trace, and an observer.
    pub fn run_as(
        &self,
        policy: &mut dyn Policy,
        recording: Recording<'_>,
        watch: Option<Watcher<'_>>,
    ) -> Result<Outcome, StageError> {
        let nominal = &self.platform;
        let course = self.scenario.on(nominal)?;
        let (linked, models) = simulated_as(nominal, &self.models, &course)?;
        let platform = linked.unwrap_or_else(|| nominal.in_world(&course));
        if self.settings.anticipated && !matches!(platform.network(), Network::Matrix(_)) {
            return Err(StageError::Disturbed);
        }
        // Hosts whose steady levels differ are no cluster for a task over several of them.
        if self.known.has_spread_tasks() {
            self.problem()?;
        }
        let peak = Problem::at_peak(&self.workflow, nominal)?;
        let truth = self.scenario.truth(&self.workflow, nominal)?;
        let mut decided = match &self.undecided {
            None => None,
            Some(Undecided { template, chances, .. }) => {
                let run = DecidedCourse::new(template.clone(), Box::new(chances.clone()))?;
                Some(run.known_as(self.known.clone()))
            }
        };
        let numbers = decided.as_ref().map(DecidedCourse::numbers);
        let reality = AsTheScenarioSays { problem: &peak, known: &self.known, truth, numbers };
        let backend = Simulated::new(platform, models, Box::new(reality))?
            .giving_up_after(self.settings.most_changes)
            .storing_on(self.settings.storage);
        let mut supply = if self.arrivals.is_empty() {
            None
        } else {
            Some(Arrivals::new(self.arrivals.clone()).map_err(StageError::Arrivals)?)
        };
        let first = match (&supply, &mut decided) {
            (Some(supply), _) => supply.first().map_err(StageError::Arrivals)?,
            (None, Some(decided)) => decided.first()?,
            (None, None) => self.known.clone(),
        };
        let at_once = || (0.0, self.terms.clone());
        let (begins, terms) = supply.as_ref().map_or_else(at_once, |s| (s.begins(), s.terms()));
        let execution = Execution {
            settings: self.settings,
            inputs: self.inputs,
            copies: self.scenario.spread(&self.workflow, nominal)?,
            begins,
            terms,
            supply: match (supply.as_mut(), decided.as_mut()) {
                (Some(arrivals), _) => Some(arrivals as &mut dyn Supply),
                (None, decided) => decided.map(|d| d as &mut dyn Supply),
            },
            recording: recording.within(),
            watch: watch.map(|w| w as Watcher<'_>),
            ..Execution::new(first, nominal.clone())
        };
        let outcome = execution.run(policy, &mut backend.in_world(&course))?;
        if let (Some(undecided), Some(decided)) = (&self.undecided, &decided) {
            undecided.note(decided.course());
        }
        Ok(outcome)
    }
}

/// The default rules of a simulation: those of measured links, or of links that serve one
/// transfer at a time, where the platform has them; else tasks that spread over hosts, and what is redistributed between them, are
/// parallel tasks.
pub fn usual_models(platform: &Platform, workflow: &Workflow) -> Models {
    let mut models = if platform.is_measured() { Models::measured() } else { Models::default() };
    if platform.is_fifo() {
        models.network = NetworkModel::Fifo;
    } else if workflow.has_spread_tasks() {
        models.host = HostModel::ParallelTasks;
    }
    models
}

/// The platform and the rules by which a nominal platform is simulated: a matrix means what it
/// says, unless its connections change or serve one transfer at a time. No platform means the
/// nominal one.
fn simulated_as(
    nominal: &Platform,
    models: &Models,
    course: &World,
) -> Result<(Option<Platform>, Models), PlatformError> {
    let mut models = models.clone();
    let matrix = matches!(nominal.network(), Network::Matrix(_));
    let one_at_a_time = models.network == NetworkModel::Fifo;
    if matrix && !one_at_a_time {
        models.network = NetworkModel::Matrix;
    }
    let platform = if matrix && (one_at_a_time || !course.pairs.is_empty()) {
        Some(nominal.linked_pairwise(course)?)
    } else {
        None
    };
    Ok((platform, models))
}

/// Times and sizes as a scenario has them.
struct AsTheScenarioSays<'a> {
    problem: &'a Problem<'a>,
    /// As the engine knows it: how much of a file a block is.
    known: &'a Workflow,
    truth: Truth,
    /// Task numbers of the run, where they differ from those here.
    numbers: Option<Numbers>,
}

impl AsTheScenarioSays<'_> {
    /// The number here of a task of the run.
    fn own_number(&self, task: TaskId) -> TaskId {
        match &self.numbers {
            Some(numbers) => numbers.borrow().get(task.index()).copied().unwrap_or(task),
            None => task,
        }
    }
}

impl Reality for AsTheScenarioSays<'_> {
    fn seconds(&self, task: TaskId, procs: &[ProcId]) -> f64 {
        let (problem, task) = (self.problem, self.own_number(task));
        let first = procs.first().copied().unwrap_or(ProcId(0));
        let stated = problem.exec_wide(task, problem.class_of(first), procs.len() as u32);
        self.truth.actual_seconds(task, problem.host_of(first), stated)
    }

    fn memory(&self, task: TaskId) -> Option<(f64, f64)> {
        self.truth.actual_memory(self.own_number(task))
    }

    fn bytes(&self, file: FileId, stated: f64) -> f64 {
        let whole = self.known.file_bytes(file);
        let actual = self.truth.actual_file_bytes(self.problem.workflow(), file, whole);
        if whole > 0.0 { actual * (stated / whole) } else { actual }
    }
}
