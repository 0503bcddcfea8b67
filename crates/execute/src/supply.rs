//! Work that becomes known while a run goes on.

use slackline_model::scenario::When;
use slackline_model::{TaskId, Workflow};
use slackline_react::Situation;
use std::sync::Arc;

/// What a supply has to say.
#[derive(Clone, Debug)]
pub struct Growth {
    /// All work known now. Tasks and files known before keep their numbers, new ones follow.
    pub workflow: Arc<Workflow>,
    /// What the new tasks are.
    pub what: New,
}

/// What new tasks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum New {
    /// A further workflow of this name.
    Workflow(String),
    /// More tasks of the workflow that arrived as number so-and-so.
    Tasks {
        /// Which, an index of [`Situation::arrived`].
        of: u32,
    },
}

/// A source of workflows that arrive and tasks that appear.
pub trait Supply {
    /// When the next workflow arrives by itself, as far as that is known; infinite otherwise.
    fn next_date(&self) -> f64;

    /// What is new, now that `ended` are done; called at every date it named and whenever tasks
    /// end, until it has nothing more to say at that instant.
    fn grow(&mut self, now: &Situation, ended: &[TaskId]) -> Result<Option<Growth>, String>;
}

/// A workflow that will arrive.
#[derive(Clone, Debug)]
pub struct Coming {
    /// What.
    pub workflow: Arc<Workflow>,
    /// When.
    pub when: When,
    /// Seconds after its arrival by which it should be done.
    pub deadline: Option<f64>,
}

/// Workflows that arrive one after the other.
pub struct Arrivals {
    parts: Vec<Arc<Workflow>>,
    known: usize,
    coming: Vec<Coming>,
    /// When each workflow arrived, and its deadline.
    arrived: Vec<(f64, Option<f64>)>,
}

impl Arrivals {
    /// The workflow of the start, its deadline, and those that follow it.
    pub fn new(first: Arc<Workflow>, deadline: Option<f64>, coming: Vec<Coming>) -> Arrivals {
        let mut parts = vec![first];
        parts.extend(coming.iter().map(|c| c.workflow.clone()));
        Arrivals { parts, known: 1, coming, arrived: vec![(0.0, deadline)] }
    }

    /// The first workflow as a run must be given it: named as it will be among the others.
    pub fn first(&self) -> Result<Arc<Workflow>, String> {
        self.union()
    }

    /// All of them, as the last growth will give them: for those who know the future.
    pub fn all(&self) -> Result<Arc<Workflow>, String> {
        union(&self.parts)
    }

    fn union(&self) -> Result<Arc<Workflow>, String> {
        union(&self.parts[..self.known])
    }

    fn next(&self) -> Option<&Coming> {
        self.coming.get(self.known - 1)
    }

    /// The date of the next arrival, where it follows from what has arrived.
    fn date(&self) -> f64 {
        let &(before, deadline) = self.arrived.last().unwrap_or(&(0.0, None));
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
                let mine = || now.tasks.iter().zip(&now.part_of).filter(|(_, p)| **p == last);
                let done = mine().filter(|(t, _)| t.is_done()).count();
                done as f64 >= share * mine().count() as f64
            }
            Some(_) => self.date() <= now.now,
        }
    }
}

fn union(parts: &[Arc<Workflow>]) -> Result<Arc<Workflow>, String> {
    let parts: Vec<&Workflow> = parts.iter().map(Arc::as_ref).collect();
    let name = parts.first().map_or("", |w| w.name());
    Workflow::union(name, &parts).map(Arc::new).map_err(|e| e.to_string())
}

impl Supply for Arrivals {
    fn next_date(&self) -> f64 {
        self.date()
    }

    fn grow(&mut self, now: &Situation, _: &[TaskId]) -> Result<Option<Growth>, String> {
        if !self.is_due(now) {
            return Ok(None);
        }
        self.arrived.push((now.now, self.next().and_then(|c| c.deadline)));
        self.known += 1;
        let workflow = self.union()?;
        let name = workflow.members().last().map_or_else(String::new, |m| m.name.clone());
        Ok(Some(Growth { workflow, what: New::Workflow(name) }))
    }
}

/// Tasks that the end of others gives rise to: a loop that goes round, a choice that is made, a
/// recursion. The function is called for each task that ends, with what is known now; it gives
/// the grown workflow, or none.
pub struct Unfolding<F>(pub F);

impl<F> Supply for Unfolding<F>
where
    F: FnMut(TaskId, &Workflow) -> Result<Option<Workflow>, String>,
{
    fn next_date(&self) -> f64 {
        f64::INFINITY
    }

    fn grow(&mut self, now: &Situation, ended: &[TaskId]) -> Result<Option<Growth>, String> {
        let mut known: Option<Workflow> = None;
        let mut of = 0;
        for &task in ended {
            if let Some(grown) = (self.0)(task, known.as_ref().unwrap_or(&now.workflow))? {
                of = now.part_of[task.index()];
                known = Some(grown);
            }
        }
        let growth = |w| Growth { workflow: Arc::new(w), what: New::Tasks { of } };
        Ok(known.map(growth))
    }
}
