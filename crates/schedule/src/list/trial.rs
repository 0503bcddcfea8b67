//! Placements on trial: what would follow if a task went there, without touching the schedule.
//!
//! The tried tasks are kept as a few extra busy intervals per processor beside the timelines, so
//! that taking them back costs no more than the number of them.

use super::partial::UNPLACED;
use super::search::Fit;
use super::{Partial, Slot, Timeline};
use crate::registry::PlanError;
use slackline_model::{Placement, ProcId, TaskId, approx};

/// Extra busy intervals of every processor.
#[derive(Default)]
pub(crate) struct Trial {
    busy: Vec<Vec<(f64, f64)>>,
    used: Vec<ProcId>,
    tasks: Vec<TaskId>,
    /// Their use of limited pools, to be taken back.
    held: Vec<(TaskId, Placement)>,
}

impl Trial {
    pub(crate) fn new(procs: usize) -> Trial {
        Trial { busy: vec![Vec::new(); procs], ..Trial::default() }
    }

    /// Earliest start on a processor beside its own tasks and those on trial.
    #[inline]
    fn earliest(&self, line: &Timeline, proc: ProcId, ready: f64, seconds: f64) -> f64 {
        let busy = &self.busy[proc.index()];
        let mut start = line.earliest(ready, seconds);
        // A start before the end of an interval it meets meets it too: continue from that end.
        while let Some(&(_, end)) =
            busy.iter().find(|&&(a, b)| approx::lt(a, start + seconds) && approx::lt(start, b))
        {
            start = line.earliest(end, seconds);
        }
        start
    }

    /// The slot of least finish time beside everything on trial.
    pub(crate) fn earliest_finish(
        &self,
        partial: &mut Partial<'_, '_>,
        task: TaskId,
    ) -> Option<Slot> {
        partial.search(task, |slot| slot.finish, self)
    }

    /// The slot on one processor beside everything on trial.
    pub(crate) fn slot_on(&self, partial: &Partial<'_, '_>, task: TaskId, proc: ProcId) -> Slot {
        let earliest =
            |line: &Timeline, proc, ready, seconds| self.earliest(line, proc, ready, seconds);
        partial.slot_by(task, proc, partial.ready_on(task, proc), earliest)
    }

    /// Puts a task into a slot on trial.
    pub(crate) fn place(&mut self, partial: &mut Partial<'_, '_>, task: TaskId, slot: Slot) {
        let problem = partial.problem();
        partial.finish[task.index()] = slot.finish;
        partial.host[task.index()] = problem.host_of(slot.proc).0;
        self.tasks.push(task);
        if problem.workflow().width(task).0 == 1 {
            self.hold(partial, task, Placement::new(slot.proc, slot.start, slot.finish));
            return self.occupy(slot.proc, slot);
        }
        let procs = partial.procs_in(task, slot, |line, proc, ready, seconds| {
            self.earliest(line, proc, ready, seconds)
        });
        self.hold(partial, task, Placement::wide(&procs, slot.start, slot.finish));
        for proc in procs {
            self.occupy(proc, slot);
        }
    }

    fn hold(&mut self, partial: &mut Partial<'_, '_>, task: TaskId, placement: Placement) {
        let problem = partial.problem();
        if let Some(pools) = &mut partial.pools {
            pools.try_out(problem, task, &placement);
            if let Some(refusals) = &mut partial.refusals {
                refusals.placed(problem, pools, task, &placement);
            }
            self.held.push((task, placement));
        }
    }

    fn occupy(&mut self, proc: ProcId, slot: Slot) {
        self.busy[proc.index()].push((slot.start, slot.finish));
        self.used.push(proc);
    }

    /// Takes everything back.
    pub(crate) fn clear(&mut self, partial: &mut Partial<'_, '_>) {
        let problem = partial.problem();
        if let Some(pools) = &mut partial.pools {
            for (task, placement) in self.held.drain(..).rev() {
                pools.release(problem, task, &placement);
            }
        }
        for task in self.tasks.drain(..) {
            partial.host[task.index()] = UNPLACED;
        }
        for proc in self.used.drain(..) {
            self.busy[proc.index()].clear();
        }
    }
}

/// Puts the tasks on the processor on which the last ends first; where no processor can run all of
/// them, each where it finishes first.
pub(crate) fn place_path(
    partial: &mut Partial<'_, '_>,
    trial: &mut Trial,
    path: &[TaskId],
) -> Result<(), PlanError> {
    let mut best: Option<(f64, ProcId)> = None;
    for proc in partial.problem().proc_ids() {
        let end = end_on(partial, trial, path, proc);
        trial.clear(partial);
        if approx::lt(end, best.map_or(f64::INFINITY, |(least, _)| least)) {
            best = Some((end, proc));
        }
    }
    for &task in path {
        let slot = match best {
            Some((_, proc)) => partial.slot_on(task, proc),
            None => partial.earliest_finish(task)?,
        };
        partial.place(task, slot);
    }
    Ok(())
}

/// When the last of some tasks ends if all go to one processor; leaves them on trial.
fn end_on(partial: &mut Partial<'_, '_>, trial: &mut Trial, path: &[TaskId], proc: ProcId) -> f64 {
    let mut end = 0.0;
    for &task in path {
        let slot = trial.slot_on(partial, task, proc);
        if !slot.possible() {
            return f64::INFINITY;
        }
        trial.place(partial, task, slot);
        end = slot.finish;
    }
    end
}

impl Fit for Trial {
    #[inline]
    fn earliest(
        &self,
        line: &Timeline,
        proc: ProcId,
        (ready, seconds): (f64, f64),
        _: impl Fn(f64) -> bool,
    ) -> f64 {
        Trial::earliest(self, line, proc, ready, seconds)
    }
}
