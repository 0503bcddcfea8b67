//! What happened, one record per event, in the same form for real and simulated runs.

use crate::ids::{FileId, HostId, LinkId, ProcId, TaskId};
use crate::schedule::{Placement, Schedule};
use std::collections::HashMap;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A task began to compute on some processors.
    TaskStarted {
        /// Which.
        task: TaskId,
        /// Where.
        procs: Vec<ProcId>,
    },
    /// A task ended.
    TaskFinished {
        /// Which.
        task: TaskId,
    },
    /// A task ended without result.
    TaskFailed {
        /// Which.
        task: TaskId,
        /// Why.
        reason: String,
    },
    /// A running task was stopped to run elsewhere.
    TaskCancelled {
        /// Which.
        task: TaskId,
    },
    /// A finished task has to be done again.
    TaskRewound {
        /// Which.
        task: TaskId,
    },
    /// A task that was rewound counts as done after all: its results are back.
    TaskRestored {
        /// Which.
        task: TaskId,
    },
    /// A task failed for the last time.
    TaskAbandoned {
        /// Which.
        task: TaskId,
        /// Why, and what it blocks.
        reason: String,
    },
    /// A file, or a block of one that is spread over hosts, began to move.
    TransferStarted {
        /// Which.
        file: FileId,
        /// From where.
        from: HostId,
        /// To where.
        to: HostId,
        /// How much.
        bytes: f64,
    },
    /// It arrived.
    TransferFinished {
        /// Which.
        file: FileId,
        /// From where.
        from: HostId,
        /// To where.
        to: HostId,
        /// How much, where that is not what was to move: the file weighs something else than stated.
        bytes: Option<f64>,
    },
    /// A transfer broke off.
    TransferFailed {
        /// Which file.
        file: FileId,
        /// From where.
        from: HostId,
        /// To where.
        to: HostId,
        /// How much had arrived, in vain.
        bytes: f64,
        /// Why.
        reason: String,
    },
    /// A host is gone.
    HostLost {
        /// Which.
        host: HostId,
    },
    /// A host is back.
    HostBack {
        /// Which.
        host: HostId,
    },
    /// The speed of a host changed to this share of its peak; at 0 work stands still.
    HostChanged {
        /// Which.
        host: HostId,
        /// Share of the peak.
        availability: f64,
    },
    /// The bandwidth of a link changed (bytes/s); 0 when it is gone.
    LinkChanged {
        /// Which.
        link: LinkId,
        /// Bytes per second.
        bandwidth: f64,
    },
    /// A machine that exists only while leased is there, and paid from now on.
    LeaseReady {
        /// Which.
        host: HostId,
    },
    /// It was given back or went away.
    LeaseEnded {
        /// Which.
        host: HostId,
    },
    /// The policy made a new plan.
    Replanned {
        /// How many placed or running tasks it moves.
        moved: usize,
    },
}

impl Happening {
    /// Whether it is the level of a host or link that changed, of which there may be any number.
    pub fn is_level(&self) -> bool {
        matches!(self, Happening::HostChanged { .. } | Happening::LinkChanged { .. })
    }

    /// What a transfer that arrived moved, where that is not what was to move.
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
    /// What.
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

    /// Where and when each of so many tasks ran that is done in the end: the last time, where it
    /// was done again.
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

    /// What took time, from its beginning to its end, in order of the ends; what never ended comes
    /// last, in order of the beginnings, and ends with the trace.
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

/// What has begun and not ended, record by record, with what somebody noted of each beginning.
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

/// What is under way, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Task(TaskId),
    Transfer(FileId, HostId, HostId),
}

/// Something that took time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span<'t> {
    /// What.
    pub work: Work<'t>,
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
    /// How it ended.
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

/// What took time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work<'t> {
    /// A task computed.
    Task {
        /// Which.
        task: TaskId,
        /// Where.
        procs: &'t [ProcId],
    },
    /// A file, or a block of one, moved.
    Transfer {
        /// Which.
        file: FileId,
        /// From where.
        from: HostId,
        /// To where.
        to: HostId,
        /// How much.
        bytes: f64,
    },
}

/// How a span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With its result.
    Finished,
    /// Without one.
    Failed,
    /// Stopped, to go on elsewhere.
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
