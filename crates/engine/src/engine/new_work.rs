//! Workflows that arrive and tasks that appear.

use super::Engine;
use crate::arrivals::Growth;
use crate::backend::Report;
use slackline_model::problem::Inputs;
use slackline_model::{FileId, ProcId, TaskId, approx};
use slackline_react::{Event, FileCopy, Situation, TaskState};

impl Engine<'_, '_> {
    /// Takes what the supply has at this instant.
    pub(super) fn grow(&mut self) -> Result<(), String> {
        let mut ended = std::mem::take(&mut self.instant.ended);
        let Some(supply) = self.supply.take() else { return Ok(()) };
        let abandoned = std::mem::take(&mut self.attempts.newly_abandoned);
        if !ended.is_empty() || abandoned || approx::le(supply.next_date(), self.situation.now) {
            while let Some(growth) =
                supply.grow(&self.situation, &ended).map_err(|why| why.to_string())?
            {
                self.take_growth(growth)?;
                ended.clear();
            }
        }
        self.supply = Some(supply);
        Ok(())
    }

    /// Passes the report of a task that ended on to where more work comes from.
    pub(super) fn notify_supply(&mut self, task: TaskId, procs: &[ProcId], report: &Report) {
        if let Some(supply) = &mut self.supply {
            supply.task_ended(&self.situation, task, procs, report);
        }
    }

    fn take_growth(&mut self, growth: Growth) -> Result<(), String> {
        let now = &mut self.situation;
        let (old, files) = (now.workflow.len(), now.copies.len());
        let new = |now: &Situation| old as u32..now.workflow.len() as u32;
        let event = match growth {
            Growth::Workflow { workflow, name, terms } => {
                now.add_workflow(&workflow, &name, terms);
                Event::WorkflowArrived { tasks: new(now) }
            }
            Growth::Tasks { workflow, of } => {
                if workflow.len() < old || workflow.file_count() < files {
                    let why = "the supply of work took back tasks or files it had given";
                    return Err(why.to_string());
                }
                self.backend.grown(&workflow);
                now.grow(workflow, of);
                Event::TasksAdded { tasks: new(now) }
            }
        };
        let new = now.workflow.len();
        self.operations.task_op.resize(new, None);
        self.queues.resize(new);
        // What tasks were granted that ran out of memory outlives what is known of them.
        let grown: Vec<_> =
            self.attempts.grown.iter().map(|(task, bytes)| (*task, *bytes)).collect();
        let width = |task| self.situation.workflow.width(task).0;
        let grown: Vec<_> = grown.into_iter().map(|(t, bytes)| (t, width(t), bytes)).collect();
        if grown.is_empty() {
            self.rebuild_pools()
        } else {
            self.demand_memory(&grown)
        }
        self.instant.open += new - old;
        self.lay_out_inputs(files);
        self.lay_out_late_results(files);
        self.instant.events.push(event);
        self.update_blocked();
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
                self.stores.touch(file, host, 0.0);
            }
        }
        for &(file, host) in &self.movements.spread {
            let place = self.situation.place_of(host);
            let copy = FileCopy::original(place);
            if let Some(copies) = self.situation.copies.get_mut(file.index())
                && file.index() >= from
                && copies.iter().all(|c| c.holders != copy.holders)
            {
                copies.push(copy);
                self.stores.touch(file, place, 0.0);
            }
        }
    }
}
