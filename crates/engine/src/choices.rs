//! Runs of workflows with choices and loops: each decision that falls makes tasks known.

use crate::arrivals::{Growth, Supply, SupplyError};
use crate::backend::Report;
use slackline_model::control::{
    Chances, Control, Decider, Decision, OutcomeError, Released, UnfoldError, Unfolding, Walk,
};
use slackline_model::workflow::CostTable;
use slackline_model::{HostId, ProcId, TaskId, Workflow};
use slackline_react::Situation;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

/// A workflow with choices and loops, and the oracle of its decisions.
#[derive(Clone, Debug)]
pub struct Undecided {
    /// The workflow with choices and loops.
    pub template: Arc<Workflow>,
    /// Probabilities of the decisions.
    pub chances: Chances,
    /// Course of the last run.
    pub course: Arc<Mutex<CourseRun>>,
}

/// The course of a run.
#[derive(Clone, Debug, Default)]
pub struct CourseRun {
    /// All instances that were released, as they were known, in order of release.
    pub released: Option<Arc<Workflow>>,
    /// Decisions taken.
    pub taken: Vec<(Decision, u32)>,
}

/// End of a task that decides something.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The name of the instance.
    pub name: String,
    /// Its exit code, where it was a process.
    pub exit_code: Option<i32>,
    /// The host whose store has its outputs.
    pub place: HostId,
    /// Its outputs: names by which its command knows them, and those in the run.
    pub outputs: BTreeMap<String, String>,
}

/// Knows how decisions fall in a run: by chance, or by what tasks have to say.
pub trait Oracle {
    /// The outcome of a decision that is due at a date, with how the task ended that decides it; none where
    /// that is not known any more, and the run stops to grow. An error ends the run.
    fn outcome(
        &mut self,
        now: f64,
        control: &Control,
        decision: &Decision,
        by: Option<&Ended>,
    ) -> Result<Option<u32>, String>;
}

impl Oracle for Chances {
    fn outcome(
        &mut self,
        _: f64,
        control: &Control,
        decision: &Decision,
        _: Option<&Ended>,
    ) -> Result<Option<u32>, String> {
        self.decide(control, decision).map(Some).map_err(|e| e.to_string())
    }
}

/// Decisions of a run so far, in the order in which they were taken.
pub type Taken = Rc<RefCell<Vec<(Decision, u32)>>>;

/// The numbers in the whole course of the instances that a run has released, by their numbers in
/// the run.
pub type Numbers = Rc<RefCell<Vec<TaskId>>>;

/// Task instances that decisions set free, as a supply of work.
pub struct DecidedCourse<'d> {
    unfolding: Unfolding,
    walk: Walk,
    oracle: Box<dyn Oracle + 'd>,
    taken: Taken,
    /// Tasks that decide something, and how their instances ended.
    deciding: BTreeSet<TaskId>,
    ended: HashMap<String, Ended>,
    /// The whole course as it is known to policies, and where its tasks are, where run times are
    /// known otherwise than the workflow states them.
    known: Option<Known>,
}

/// Estimates of all instances.
struct Known {
    whole: Arc<Workflow>,
    by_name: HashMap<String, TaskId>,
    numbers: Numbers,
}

impl Undecided {
    /// Courses of a workflow.
    pub fn new(template: Arc<Workflow>, chances: Chances) -> Undecided {
        Undecided { template, chances, course: Arc::default() }
    }

    /// Course of the last run.
    pub fn last(&self) -> CourseRun {
        self.course.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn note(&self, course: CourseRun) {
        *self.course.lock().unwrap_or_else(PoisonError::into_inner) = course;
    }
}

impl<'d> DecidedCourse<'d> {
    /// A run of a workflow with choices and loops. What is due before any task has run is decided
    /// at once.
    pub fn new(
        template: Arc<Workflow>,
        oracle: Box<dyn Oracle + 'd>,
    ) -> Result<DecidedCourse<'d>, UnfoldError> {
        let unfolding = Unfolding::new(template.clone())?;
        let control = template.control().ok_or(UnfoldError::Plain)?.clone();
        let choices = control.choices().iter().filter_map(|c| c.by);
        let loops = control.loops().iter().filter_map(|l| l.by);
        let deciding = choices.chain(loops).map(TaskId).collect();
        let (walk, _) = Walk::new(control);
        let mut run = DecidedCourse {
            unfolding,
            walk,
            oracle,
            taken: Taken::default(),
            deciding,
            ended: HashMap::new(),
            known: None,
        };
        run.decide(0.0).map_err(|why| UnfoldError::Outcome(OutcomeError(why)))?;
        Ok(run)
    }

    /// The same with run times as the whole course has them, matched by name.
    pub fn known_as(mut self, whole: Arc<Workflow>) -> DecidedCourse<'d> {
        let by_name = whole.tasks().map(|t| (whole.task_name(t).to_string(), t)).collect();
        self.known = Some(Known { whole, by_name, numbers: Numbers::default() });
        self
    }

    /// Part of the workflow that is known at the begin.
    pub fn first(&mut self) -> Result<Arc<Workflow>, UnfoldError> {
        self.grown()
    }

    /// Decisions taken; filled while the run is under way.
    pub fn taken(&self) -> Taken {
        self.taken.clone()
    }

    /// The course so far.
    pub fn course(&self) -> CourseRun {
        CourseRun {
            released: self.unfolding.clone().grow(&self.walk).ok(),
            taken: self.taken.borrow().clone(),
        }
    }

    /// The numbers of instances in the whole course; filled during the run.
    pub fn numbers(&self) -> Numbers {
        self.known.as_ref().map_or_else(Numbers::default, |k| k.numbers.clone())
    }

    /// Takes every decision that is due; returns whether tasks became known.
    fn decide(&mut self, now: f64) -> Result<bool, String> {
        let control: Arc<Control> = self.walk.control().clone();
        let mut grown = false;
        while let Some(due) = self.walk.due().first() {
            let mut outcome = 0;
            if let Some(decision) = control.decision_of(due) {
                let by = control.decider_of(&decision).and_then(|name| self.ended.get(&name));
                match self.oracle.outcome(now, &control, &decision, by)? {
                    Some(found) => outcome = found,
                    None => break,
                }
                self.taken.borrow_mut().push((decision, outcome));
            }
            let Released { instances, .. } = self.walk.take(due, outcome);
            grown |= !instances.is_empty();
        }
        Ok(grown)
    }

    /// All instances so far.
    fn grown(&mut self) -> Result<Arc<Workflow>, UnfoldError> {
        let grown = self.unfolding.grow(&self.walk)?;
        match &self.known {
            None => Ok(grown),
            Some(known) => Ok(Arc::new(known.estimates(&grown))),
        }
    }
}

impl Known {
    /// The same tasks with work and times as they are known.
    fn estimates(&self, grown: &Workflow) -> Workflow {
        let mut numbers = self.numbers.borrow_mut();
        for task in grown.tasks().skip(numbers.len()) {
            // An instance outside of the course cannot be released: both follow the same outcomes.
            let number = self.by_name.get(grown.task_name(task)).copied();
            numbers.push(number.unwrap_or(TaskId(0)));
        }
        let work = |_: &Workflow, task: TaskId| self.whole.work(numbers[task.index()]);
        let same = grown.clone().with_work(self.whole.reference_speed(), work);
        let Some(table) = self.whole.cost_table() else { return same };
        let seconds = numbers.iter().flat_map(|&task| table.row(task)).copied().collect();
        same.with_cost_table(CostTable { columns: table.columns.clone(), seconds })
    }
}

impl Supply for DecidedCourse<'_> {
    fn next_date(&self) -> f64 {
        f64::INFINITY
    }

    fn task_ended(&mut self, now: &Situation, task: TaskId, procs: &[ProcId], report: &Report) {
        let workflow = &now.workflow;
        let (Some(unfolded), Some(&proc)) = (workflow.unfolded(task), procs.first()) else {
            return;
        };
        if !self.deciding.contains(&unfolded.of) {
            return;
        }
        let output =
            |(file, local): &(_, String)| (local.clone(), workflow.file_name(*file).to_string());
        let name = workflow.task_name(task).to_string();
        let ended = Ended {
            name: name.clone(),
            exit_code: report.exit_code,
            place: now.place_of(now.host_of[proc.index()]),
            outputs: unfolded.writes.iter().map(output).collect(),
        };
        self.ended.insert(name, ended);
    }

    fn grow(&mut self, now: &Situation, ended: &[TaskId]) -> Result<Option<Growth>, SupplyError> {
        for task in ended {
            self.walk.end(task.0);
        }
        if ended.is_empty() || !self.decide(now.now)? {
            return Ok(None);
        }
        let workflow = self.grown()?;
        Ok(Some(Growth::Tasks { workflow, of: 0 }))
    }
}
