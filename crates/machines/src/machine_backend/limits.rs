//! Executors may be available for a limited time only: longer attempts are not begun.

use super::{Doing, MachineBackend, Room};
use crate::folder::Note;
use slackline_engine::{OpError, OpId, Record};
use slackline_model::units::fmt_seconds;
use slackline_model::{ProcId, TaskId};

/// Seconds before its announced end in which an executor that ends counts as having reached it.
const SLACK: f64 = 2.0;

/// Part of the whole time that an executor which has just started is sure to have.
const FRESH: f64 = 0.95;

/// Least ratio of the next expected time to that of an attempt that was cut off.
const GROWTH: f64 = 1.5;

impl MachineBackend<'_> {
    /// Fails where a task would not be over before whoever makes the attempt goes: for now, or for good
    /// where no executor there has enough time.
    pub(super) fn check_time(&mut self, task: TaskId, procs: &[ProcId]) -> Result<(), OpError> {
        let host = self.problem.host_of(procs[0]);
        let Room { left, whole, grace, safety } = self.executor.room(host);
        if left == f64::INFINITY && whole == f64::INFINITY {
            return Ok(());
        }
        let (left, whole) = (left - grace, whole - grace);
        let class = self.problem.class_of(procs[0]);
        let estimate = self.problem.exec_wide(self.stated(task), class, procs.len() as u32);
        let command = self.workflow().command(task);
        let own = command.and_then(|command| command.surroundings.as_ref()?.time_limit);
        let most = own.or(self.options.time_limit).unwrap_or(f64::INFINITY);
        let cut = self.cut_after.get(&task).copied();
        // An attempt that fits exactly gets at least the whole time of a fresh executor.
        let spared = (safety * estimate).min(estimate.max(FRESH * whole));
        let needed = spared.max(cut.map_or(0.0, |cut| cut * GROWTH)).min(most);
        if needed <= left {
            return Ok(());
        }
        let name = self.host_name(host);
        let takes = match cut {
            Some(cut) if cut * GROWTH > estimate => format!(
                "it was not done after {}, when the time of its batch job was over",
                fmt_seconds(cut)
            ),
            _ => format!("it takes {} as estimated", fmt_seconds(estimate)),
        };
        if needed > whole {
            return Err(OpError::Refused(format!(
                "{takes}, and batch jobs for '{name}' have {} for tasks: it fits into none of them \
                 (--sbatch=--time=TIME asks for longer ones, --time-limit says how long tasks take at most)",
                fmt_seconds(whole.max(0.0))
            )));
        }
        self.executor.outgrown(host);
        Err(OpError::NotNow(format!(
            "{takes}, and the batch job for '{name}' has {} left for tasks",
            fmt_seconds(left.max(0.0))
        )))
    }

    /// An operation was lost with its executor: if that reached its time limit, the task needs more time.
    pub(super) fn note_cut(&mut self, op: OpId, at: f64) {
        let Some(running) = self.running.get(&op) else { return };
        let Doing::Task { task, waits: false, ends } = running.doing else { return };
        let (elapsed, host) = (at - running.since, running.hosts[0]);
        let whole = self.executor.room(host).whole;
        if at + SLACK >= ends || elapsed + SLACK >= whole {
            let known = self.cut_after.entry(task).or_insert(0.0);
            if elapsed > *known {
                *known = elapsed;
                let note = Note::TooShort { task, ran: Some(elapsed), asks: None };
                // A run whose log cannot be kept is ended by its engine.
                let _ = self.events.log.append(at, &Record::Note(note));
            }
        }
    }
}
