//! Decoding of lists with banks: as a walk does it, or, where tasks share more than processors, by earliest
//! starts beside all pools, with insertion.

use crate::best::walk::{Draft, NONE, Walk};
use crate::flat_problem::FlatProblem;
use crate::list::Partial;
use slackline_model::{HostId, Problem, Schedule};

/// The makespan of one list after the other.
pub(crate) enum Decoder<'c> {
    /// Processors alone decide.
    List(Box<Walk<'c>>),
    /// Tasks share more than processors.
    Shared(Box<SharedDecoder<'c>>, f64),
}

impl Decoder<'_> {
    /// Decodes another list.
    pub(crate) fn set(&mut self, plan: &Draft) {
        match self {
            Decoder::List(walk) => walk.set(plan),
            Decoder::Shared(decoder, makespan) => *makespan = decoder.makespan(plan),
        }
    }

    /// End of the schedule; infinite where some task cannot run at its bank.
    pub(crate) fn makespan(&self) -> f64 {
        match self {
            Decoder::List(walk) => walk.makespan(),
            Decoder::Shared(_, makespan) => *makespan,
        }
    }
}

/// Schedules of lists where tasks share more than processors.
pub(crate) struct SharedDecoder<'c> {
    compact: &'c FlatProblem,
    /// Tasks that are done or running.
    empty: Partial<'c, 'c>,
}

impl<'c> SharedDecoder<'c> {
    pub(crate) fn new(problem: &'c Problem<'c>, compact: &'c FlatProblem) -> SharedDecoder<'c> {
        SharedDecoder { compact, empty: Partial::new(problem) }
    }

    /// A schedule in the making, with what is done or runs.
    pub(crate) fn begin(&self) -> Partial<'c, 'c> {
        self.empty.clone()
    }

    /// The host of a bank: hosts with pools of their own are banks of their own.
    pub(crate) fn host(&self, bank: u32) -> HostId {
        let proc = self.compact.procs[self.compact.cores(bank as usize).start];
        self.empty.problem().host_of(proc)
    }

    fn decode(&self, plan: &Draft) -> Option<Partial<'c, 'c>> {
        let mut partial = self.begin();
        for &index in &plan.order {
            let task = self.compact.tasks[index as usize];
            let slot = match plan.choice[index as usize] {
                NONE => partial.earliest_finish(task).ok()?,
                bank => partial.slot_on_host(task, self.host(bank))?,
            };
            partial.place(task, slot);
        }
        Some(partial)
    }

    fn makespan(&self, plan: &Draft) -> f64 {
        let Some(partial) = self.decode(plan) else { return f64::INFINITY };
        let ends = self.compact.tasks.iter().map(|&task| partial.finish_of(task));
        ends.fold(self.compact.past, f64::max)
    }

    /// The schedule of a list; none where some task cannot run at its bank.
    pub(crate) fn schedule(&self, plan: &Draft) -> Option<Schedule> {
        Some(self.decode(plan)?.into_schedule())
    }
}
