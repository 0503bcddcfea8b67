//! Records of a run, one per event, in the same form for real and simulated runs.

use crate::ids::{FileId, HostId, LinkId, ProcId, TaskId};
use crate::schedule::{Placement, Schedule};
use std::collections::HashMap;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A task began to compute on some processors.
    TaskStarted {
        /// The task.
        task: TaskId,
        /// Its processors.
        procs: Vec<ProcId>,
    },
    /// A task ended.
    TaskFinished {
        /// The task.
        task: TaskId,
    },
    /// A task ended without result.
    TaskFailed {
        /// The task.
        task: TaskId,
        /// The reason, in words.
        reason: String,
    },
    /// A running task was stopped to run elsewhere.
    TaskCancelled {
        /// The task.
        task: TaskId,
    },
    /// A finished task has to be done again.
    TaskRewound {
        /// The task.
        task: TaskId,
    },
    /// A task that was rewound counts as done after all: its results are back.
    TaskRestored {
        /// The task.
        task: TaskId,
    },
    /// A task failed for the last time.
    TaskAbandoned {
        /// The task.
        task: TaskId,
        /// The reason, and the tasks that it blocks.
        reason: String,
    },
    /// A file, or a block of one that is spread over hosts, began to move.
    TransferStarted {
        /// The file.
        file: FileId,
        /// The sender.
        from: HostId,
        /// The receiver.
        to: HostId,
        /// Size, bytes.
        bytes: f64,
    },
    /// A transfer arrived.
    TransferFinished {
        /// The file.
        file: FileId,
        /// The sender.
        from: HostId,
        /// The receiver.
        to: HostId,
        /// Bytes moved, where they differ from those at the start: the file's real size is not the
        /// stated one.
        bytes: Option<f64>,
    },
    /// A transfer broke off.
    TransferFailed {
        /// The file.
        file: FileId,
        /// The sender.
        from: HostId,
        /// The receiver.
        to: HostId,
        /// Bytes that had arrived; they are lost.
        bytes: f64,
        /// The reason, in words.
        reason: String,
    },
    /// A host is gone.
    HostLost {
        /// The host.
        host: HostId,
    },
    /// A host is back.
    HostBack {
        /// The host.
        host: HostId,
    },
    /// The speed of a host changed to this share of its peak; at 0 work is suspended.
    HostChanged {
        /// The host.
        host: HostId,
        /// Share of the peak.
        availability: f64,
    },
    /// The bandwidth of a link changed (bytes/s); 0 when it is gone.
    LinkChanged {
        /// The link.
        link: LinkId,
        /// Bytes per second.
        bandwidth: f64,
    },
    /// A machine that exists only while leased is there, and paid from now on.
    LeaseReady {
        /// The host.
        host: HostId,
    },
    /// It was given back or went away.
    LeaseEnded {
        /// The host.
        host: HostId,
    },
    /// The policy made a new plan.
    Replanned {
        /// Number of placed or running tasks that it moves.
        moved: usize,
    },
}

impl Happening {
    /// Whether it is the level of a host or link that changed, of which there may be any number.
    pub fn is_level(&self) -> bool {
        matches!(self, Happening::HostChanged { .. } | Happening::LinkChanged { .. })
    }

    /// Returns the bytes that a transfer moved, where they differ from those at its start.
    pub fn weighed(&self) -> Option<f64> {
        match self {
            Happening::TransferFinished { bytes, .. } => *bytes,
            _ => None,
        }
    }
}

/// A happening and its date.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Seconds since the start.
    pub at: f64,
    /// The event.
    pub what: Happening,
}

/// The whole course of a run, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    records: Vec<Record>,
}

impl Trace {
    /// Appends what happened at a date; dates never go backwards.
    pub fn push(&mut self, at: f64, what: Happening) {
        debug_assert!(self.records.last().is_none_or(|last| last.at <= at));
        self.records.push(Record { at, what });
    }

    /// All records.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the placements of the tasks that are done in the end; `tasks` is the number of all.
    /// Of a task that was repeated the last execution counts.
    pub fn schedule(&self, tasks: usize) -> Schedule {
        let mut ran: Vec<Option<Placement>> = vec![None; tasks];
        for span in self.spans() {
            if let (Work::Task { task, procs }, End::Finished) = (span.work, span.end)
                && let Some(slot) = ran.get_mut(task.index())
            {
                *slot = Some(Placement::wide(procs, span.start, span.finish));
            }
        }
        let mut done = vec![false; tasks];
        for record in &self.records {
            let (task, is_done) = match record.what {
                Happening::TaskFinished { task } | Happening::TaskRestored { task } => (task, true),
                Happening::TaskRewound { task } => (task, false),
                _ => continue,
            };
            if let Some(slot) = done.get_mut(task.index()) {
                *slot = is_done;
            }
        }
        let placements = ran.into_iter().zip(done).map(|(ran, done)| ran.filter(|_| done));
        Schedule { placements: placements.collect(), ..Schedule::default() }
    }

    /// Returns the tasks and transfers with their times, in order of the ends; those that never
    /// ended come last, in order of the beginnings, and end with the trace.
    pub fn spans(&self) -> Vec<Span<'_>> {
        let mut under_way = UnderWay::default();
        let mut spans = Vec::new();
        for (index, Record { at, what }) in self.records.iter().enumerate() {
            let ended = under_way.note(what, |work| Some(Span::from(work, *at, index)));
            spans.extend(ended.map(|(mut span, end)| {
                if let (Work::Transfer { bytes, .. }, Some(real)) = (&mut span.work, what.weighed())
                {
                    *bytes = real;
                }
                Span { finish: *at, end, record: index, ..span }
            }));
        }
        let last = self.records.last().map_or(0.0, |r| r.at);
        let mut open: Vec<Span<'_>> = under_way.begun.into_values().collect();
        open.sort_by_key(|span| span.record);
        spans.extend(open.into_iter().map(|span| Span { finish: last, ..span }));
        spans
    }
}

/// Tasks and transfers that have begun and not ended, each with a note of the caller on its
/// beginning.
#[derive(Debug)]
pub struct UnderWay<T> {
    begun: HashMap<Key, T>,
}

impl<T> Default for UnderWay<T> {
    fn default() -> UnderWay<T> {
        UnderWay { begun: HashMap::new() }
    }
}

impl<T> UnderWay<T> {
    /// Takes what happened: `note` says what to remember of a beginning, if anything; of an end
    /// comes back what was remembered, and how it ended.
    pub fn note<'h>(
        &mut self,
        what: &'h Happening,
        note: impl FnOnce(Work<'h>) -> Option<T>,
    ) -> Option<(T, End)> {
        let (key, end) = match what {
            Happening::TaskStarted { task, procs } => {
                let begun = note(Work::Task { task: *task, procs })?;
                self.begun.insert(Key::Task(*task), begun);
                return None;
            }
            &Happening::TransferStarted { file, from, to, bytes } => {
                let begun = note(Work::Transfer { file, from, to, bytes })?;
                self.begun.insert(Key::Transfer(file, from, to), begun);
                return None;
            }
            Happening::TaskFinished { task } => (Key::Task(*task), End::Finished),
            Happening::TaskFailed { task, .. } => (Key::Task(*task), End::Failed),
            Happening::TaskCancelled { task } => (Key::Task(*task), End::Cancelled),
            Happening::TransferFinished { file, from, to, .. } => {
                (Key::Transfer(*file, *from, *to), End::Finished)
            }
            Happening::TransferFailed { file, from, to, .. } => {
                (Key::Transfer(*file, *from, *to), End::Failed)
            }
            _ => return None,
        };
        Some((self.begun.remove(&key)?, end))
    }
}

/// A task or transfer that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Task(TaskId),
    Transfer(FileId, HostId, HostId),
}

/// Something that took time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span<'t> {
    /// The task or transfer.
    pub work: Work<'t>,
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
    /// The way it ended.
    pub end: End,
    /// The record of its end, or of its beginning where it has none.
    pub record: usize,
}

impl<'t> Span<'t> {
    fn from(work: Work<'t>, start: f64, record: usize) -> Span<'t> {
        Span { work, start, finish: start, end: End::Open, record }
    }

    /// Whether it came to its end.
    pub fn is_finished(&self) -> bool {
        self.end == End::Finished
    }
}

/// A task or a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work<'t> {
    /// A task computed.
    Task {
        /// The task.
        task: TaskId,
        /// Its processors.
        procs: &'t [ProcId],
    },
    /// A file, or a block of one, moved.
    Transfer {
        /// The file.
        file: FileId,
        /// The sender.
        from: HostId,
        /// The receiver.
        to: HostId,
        /// Size, bytes.
        bytes: f64,
    },
}

/// The way a span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Ended with its result.
    Finished,
    /// Without one.
    Failed,
    /// Stopped, to continue elsewhere.
    Cancelled,
    /// Not before the trace did.
    Open,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_meet_their_ends() {
        let mut trace = Trace::default();
        let start = |task, proc| Happening::TaskStarted { task: TaskId(task), procs: vec![proc] };
        let (file, from, to) = (FileId(0), HostId(0), HostId(1));
        trace.push(0.0, start(0, ProcId(0)));
        trace.push(1.0, Happening::TransferStarted { file, from, to, bytes: 5.0 });
        trace.push(2.0, start(1, ProcId(1)));
        trace.push(3.0, Happening::TaskCancelled { task: TaskId(0) });
        trace.push(4.0, start(0, ProcId(1)));
        trace.push(5.0, Happening::TransferFinished { file, from, to, bytes: Some(4.0) });
        trace.push(6.0, Happening::TaskFinished { task: TaskId(0) });
        let spans = trace.spans();
        let told: Vec<(f64, f64, End)> = spans.iter().map(|s| (s.start, s.finish, s.end)).collect();
        let expected = [
            (0.0, 3.0, End::Cancelled),
            (1.0, 5.0, End::Finished),
            (4.0, 6.0, End::Finished),
            (2.0, 6.0, End::Open),
        ];
        assert_eq!(told, expected);
        // It weighs less than it was said to.
        assert_eq!(spans[1].work, Work::Transfer { file, from, to, bytes: 4.0 });
    }
}
