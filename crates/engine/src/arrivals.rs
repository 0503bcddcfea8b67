//! Work that becomes known while a run is under way.

use crate::backend::Report;
use slackline_model::control::UnfoldError;
use slackline_model::scenario::When;
use slackline_model::{ProcId, TaskId, Terms, Workflow, WorkflowError, approx};
use slackline_react::Situation;
use std::sync::Arc;
use thiserror::Error;

/// Answer of a supply of work.
#[derive(Clone, Debug)]
pub enum Growth {
    /// A further workflow, beside those that are known.
    Workflow {
        /// As it was submitted.
        workflow: Arc<Workflow>,
        /// Its name among the others.
        name: String,
        /// Owner, priority and limits of the new work.
        terms: Terms,
    },
    /// More tasks of a workflow.
    Tasks {
        /// All work known now. Tasks and files known before keep their numbers, new ones follow.
        workflow: Arc<Workflow>,
        /// Of which workflow, an index of [`Situation::arrived`].
        of: u32,
    },
}

/// A source of workflows that arrive and tasks that appear.
pub trait Supply {
    /// When the next workflow arrives by itself, as far as that is known; infinite otherwise.
    fn next_date(&self) -> f64;

    /// A task has ended: on which processors, and what the backend reported. [`grow`](Supply::grow) follows.
    fn task_ended(&mut self, _: &Situation, _: TaskId, _: &[ProcId], _: &Report) {}

    /// New work, now that `ended` are done; called at every announced date and whenever tasks end, until nothing new
    /// comes at that instant.
    fn grow(&mut self, now: &Situation, ended: &[TaskId]) -> Result<Option<Growth>, SupplyError>;
}

/// Reason why a supply of work fails, which ends the run.
#[derive(Debug, Error)]
pub enum SupplyError {
    /// A decision cannot be made, in the words of its decider.
    #[error("{0}")]
    Undecided(String),
    /// The work that was decided for does not fit what is known.
    #[error(transparent)]
    Unfolding(#[from] UnfoldError),
}

impl From<String> for SupplyError {
    fn from(why: String) -> SupplyError {
        SupplyError::Undecided(why)
    }
}

/// A workflow that will arrive.
#[derive(Clone, Debug)]
pub struct Coming {
    /// The workflow.
    pub workflow: Arc<Workflow>,
    /// When.
    pub when: When,
    /// Its owner, priority and limits.
    pub terms: Terms,
}

/// Reason why workflows cannot arrive.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ArrivalError {
    /// There are none.
    #[error("no workflow arrives")]
    Nothing,
    /// The first has to come at a date.
    #[error("the first workflow follows none: it needs a date")]
    FirstHasNoDate,
    /// They are not one workflow together.
    #[error(transparent)]
    Together(#[from] WorkflowError),
}

/// Workflows that arrive one after the other.
pub struct Arrivals {
    /// Names among each other.
    names: Vec<String>,
    known: usize,
    coming: Vec<Coming>,
    /// When each workflow arrived.
    arrived: Vec<f64>,
}

impl Arrivals {
    /// These workflows, of which there is at least one; the first comes at a given date.
    pub fn new(coming: Vec<Coming>) -> Result<Arrivals, ArrivalError> {
        match coming.first().map(|c| c.when) {
            Some(When::At(first)) => {
                let all = union(&coming)?;
                let names = all.members().iter().map(|m| m.name.clone()).collect();
                Ok(Arrivals { names, known: 1, coming, arrived: vec![first] })
            }
            Some(_) => Err(ArrivalError::FirstHasNoDate),
            None => Err(ArrivalError::Nothing),
        }
    }

    /// When the first of them arrives.
    pub fn begins(&self) -> f64 {
        self.arrived[0]
    }

    /// Owner, priority and limits of the first workflow.
    pub fn terms(&self) -> Terms {
        self.coming[0].terms.clone()
    }

    /// The first workflow as a run must be given it: named as it will be among the others.
    pub fn first(&self) -> Result<Arc<Workflow>, ArrivalError> {
        union(&self.coming[..1])
    }

    /// All of them, as the last growth will give them: for those who know the future.
    pub fn all(&self) -> Result<Arc<Workflow>, ArrivalError> {
        union(&self.coming)
    }

    fn next(&self) -> Option<&Coming> {
        self.coming.get(self.known)
    }

    /// The date of the next arrival, where it follows from what has arrived.
    fn date(&self) -> f64 {
        let before = self.arrived[self.known - 1];
        let deadline = self.coming[self.known - 1].terms.limits.deadline;
        match self.next().map(|c| c.when) {
            Some(When::At(date)) => date.max(before),
            Some(When::AfterDeadline(share)) => {
                deadline.map_or(f64::INFINITY, |d| before + share * d)
            }
            Some(When::AfterTasks(_)) | None => f64::INFINITY,
        }
    }

    fn is_due(&self, now: &Situation) -> bool {
        let last = self.known as u32 - 1;
        match self.next().map(|c| c.when) {
            None => false,
            Some(When::AfterTasks(share)) => {
                // It is the last of all.
                let first = now.part_of.partition_point(|&part| part < last);
                let mine = &now.tasks[first..];
                let over = (first..now.tasks.len()).map(TaskId::new);
                let over = over.filter(|&t| !now.is_to_run(t)).count();
                let gone = now.arrived[last as usize].abandoned.is_some();
                gone || over as f64 >= share * mine.len() as f64
            }
            Some(_) => approx::le(self.date(), now.now),
        }
    }
}

fn union(coming: &[Coming]) -> Result<Arc<Workflow>, ArrivalError> {
    let parts: Vec<&Workflow> = coming.iter().map(|c| c.workflow.as_ref()).collect();
    let name = parts.first().map_or("", |w| w.name());
    Ok(Arc::new(Workflow::union(name, &parts)?))
}

impl Supply for Arrivals {
    fn next_date(&self) -> f64 {
        self.date()
    }

    fn grow(&mut self, now: &Situation, _: &[TaskId]) -> Result<Option<Growth>, SupplyError> {
        if !self.is_due(now) {
            return Ok(None);
        }
        let Some(Coming { workflow, terms, .. }) = self.next().cloned() else { return Ok(None) };
        let name = self.names[self.known].clone();
        self.arrived.push(now.now);
        self.known += 1;
        Ok(Some(Growth::Workflow { workflow, name, terms }))
    }
}

/// Tasks that the end of others gives rise to: a loop that goes round, a choice that is made, a
/// recursion. The function runs for each task that ends, with what is known now; it gives
/// the grown workflow, or none.
pub struct Unfolding<F>(pub F);

impl<F> Supply for Unfolding<F>
where
    F: FnMut(TaskId, &Workflow) -> Result<Option<Workflow>, SupplyError>,
{
    fn next_date(&self) -> f64 {
        f64::INFINITY
    }

    fn grow(&mut self, now: &Situation, ended: &[TaskId]) -> Result<Option<Growth>, SupplyError> {
        let mut known: Option<Workflow> = None;
        let mut of = 0;
        for &task in ended {
            if let Some(grown) = (self.0)(task, known.as_ref().unwrap_or(&now.workflow))? {
                of = now.part_of[task.index()];
                known = Some(grown);
            }
        }
        Ok(known.map(|w| Growth::Tasks { workflow: Arc::new(w), of }))
    }
}
