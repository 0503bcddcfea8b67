//! Workflows that arrive and tasks that appear.

use super::Engine;
use crate::supply::{Growth, New};
use slackline_model::problem::Inputs;
use slackline_model::{FileId, approx};
use slackline_react::{Arrived, Event, FileCopy, TaskState};

impl Engine<'_, '_> {
    /// Takes what the supply has at this instant.
    pub(super) fn grow(&mut self) -> Result<(), String> {
        let mut ended = std::mem::take(&mut self.ended);
        let Some(supply) = self.supply.take() else { return Ok(()) };
        if !ended.is_empty() || approx::le(supply.next_date(), self.situation.now) {
            while let Some(growth) = supply.grow(&self.situation, &ended)? {
                self.take_growth(growth)?;
                ended.clear();
            }
        }
        self.supply = Some(supply);
        Ok(())
    }

    fn take_growth(&mut self, growth: Growth) -> Result<(), String> {
        let Growth { workflow, what } = growth;
        let (old, new) = (self.situation.workflow.len(), workflow.len());
        let files = self.situation.copies.len();
        if new < old || workflow.file_count() < files {
            return Err("the supply of work took back tasks or files it had given".to_string());
        }
        let now = &mut self.situation;
        let tasks = old as u32..new as u32;
        let (part, event) = match what {
            New::Workflow { name, terms } => {
                now.arrived.push(Arrived { name, at: now.now, terms, abandoned: None });
                (now.arrived.len() as u32 - 1, Event::WorkflowArrived { tasks })
            }
            New::Tasks { of } => (of, Event::TasksAdded { tasks }),
        };
        now.tasks.resize(new, TaskState::Waiting);
        now.progress.resize(new, 0.0);
        now.part_of.resize(new, part);
        now.copies.resize(workflow.file_count(), Vec::new());
        now.workflow = workflow;
        self.task_op.resize(new, None);
        self.queues.resize(new);
        self.open += new - old;
        self.lay_out_inputs(files);
        self.lay_out_late_results(files);
        self.events.push(event);
        Ok(())
    }

    /// Results that were not known when their task ended lie where it ran.
    fn lay_out_late_results(&mut self, from: usize) {
        let now = &mut self.situation;
        for file in (from..now.copies.len()).map(FileId::new) {
            let Some(producer) = now.workflow.producer(file) else { continue };
            if let TaskState::Done(placement) = now.task(producer) {
                let holders = now.holders_of(placement.procs());
                now.copies[file.index()].push(FileCopy::original(holders));
            }
        }
    }

    /// Inputs of workflows, from a file number on, lie where the execution says.
    pub(super) fn lay_out_inputs(&mut self, from: usize) {
        let Inputs::At(host) = self.situation.inputs else { return };
        let host = self.situation.place_of(host);
        for file in (from..self.situation.copies.len()).map(FileId::new) {
            if self.situation.workflow.producer(file).is_none() {
                self.situation.copies[file.index()].push(FileCopy::original(host));
            }
        }
    }
}
