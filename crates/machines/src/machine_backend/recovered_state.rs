//! State of the machine that follows from the log of a run.

use crate::attempt::Process;
use crate::folder::Note;
use slackline_engine::Record;
use slackline_engine::{OpId, SignalKind, Work};
use slackline_model::problem::Stay;
use slackline_model::{FileId, HostId, Problem, TaskId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A file that should lie on a host.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    pub(super) bytes: u64,
    pub(super) checksum: Option<String>,
    /// It may not have come to the disk.
    pub(super) doubtful: bool,
}

/// State of a resumed run.
#[derive(Clone, Debug, Default)]
pub struct RecoveredState {
    /// Its date when it was left.
    pub(super) now: f64,
    /// Attempts made so far.
    pub(super) attempts: HashMap<TaskId, u32>,
    /// Processes it has started since the machine was.
    pub(super) processes: Vec<Process>,
    /// Hosts that were lost.
    pub(super) lost: BTreeSet<HostId>,
    /// Tasks that are done.
    pub(super) done: BTreeSet<TaskId>,
    /// Hosts that were served for a limited time.
    pub(super) stays: BTreeMap<HostId, Stay>,
    /// Seconds after which attempts at tasks were cut off by the end of what made them.
    pub(super) cut_after: BTreeMap<TaskId, f64>,
    /// Seconds that the next batch job for a task has to ask for at least.
    pub(super) too_short: BTreeMap<TaskId, f64>,
    /// Locations of files.
    pub(super) files: BTreeMap<(FileId, HostId), Kept>,
}

impl RecoveredState {
    /// Reads a log. Where the machine was restarted since, what is there may not have come to
    /// the disk: checksums tell.
    pub fn of(records: &[(f64, Record)], problem: &Problem<'_>, boot: &str) -> RecoveredState {
        let platform = problem.platform();
        let mut past = RecoveredState::default();
        let mut works: HashMap<OpId, &Work> = HashMap::new();
        let mut sizes: HashMap<FileId, Kept> = HashMap::new();
        let mut restarted = false;
        for (at, record) in records {
            past.now = past.now.max(*at);
            match record {
                Record::Note(Note::Driven { boot: then, .. }) => {
                    restarted = then != boot;
                    past.processes.clear();
                }
                Record::Note(Note::Process { task, attempt, process, .. }) => {
                    past.processes.push(*process);
                    past.count(*task, *attempt);
                }
                Record::Note(Note::Failure(failure)) => past.count(failure.task, failure.attempt),
                Record::Note(Note::TooShort { task, ran, asks }) => {
                    let most = |known: &mut f64, seconds: f64| *known = known.max(seconds);
                    if let Some(ran) = ran {
                        most(past.cut_after.entry(*task).or_default(), *ran);
                    }
                    if let Some(asks) = asks {
                        most(past.too_short.entry(*task).or_default(), *asks);
                    }
                }
                Record::Begin { op, work } => {
                    works.insert(*op, work);
                }
                Record::Delete { file, host } => {
                    past.files.remove(&(*file, platform.place_of(*host)));
                }
                Record::Next { signals, .. } => {
                    for signal in signals {
                        past.hear(&signal.what, &works, &mut sizes, problem);
                    }
                }
                _ => {}
            }
        }
        if restarted {
            past.processes.clear();
            past.files.values_mut().for_each(|kept| kept.doubtful = true);
        }
        past
    }

    /// The date at which the run was left.
    pub fn date(&self) -> f64 {
        self.now
    }

    /// Processes that it may have left.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    fn count(&mut self, task: TaskId, attempt: u32) {
        let most = self.attempts.entry(task).or_default();
        *most = attempt.max(*most);
    }

    fn hear(
        &mut self,
        what: &SignalKind,
        works: &HashMap<OpId, &Work>,
        sizes: &mut HashMap<FileId, Kept>,
        problem: &Problem<'_>,
    ) {
        let place = |host: HostId| problem.platform().place_of(host);
        match what {
            SignalKind::Done(op, report) => match works.get(op) {
                Some(Work::Compute { task, procs, .. }) => {
                    self.done.insert(*task);
                    let Some(&proc) = procs.first() else { return };
                    let host = place(problem.host_of(proc));
                    for &(file, bytes) in &report.sizes {
                        let of_it = report.checksums.iter().find(|(of, _)| *of == file);
                        let checksum = of_it.map(|(_, sum)| sum.clone());
                        let kept = Kept { bytes: bytes as u64, checksum, doubtful: false };
                        sizes.insert(file, kept.clone());
                        self.files.insert((file, host), kept);
                    }
                }
                Some(Work::Move { file, blocks, .. }) => {
                    if let Some(kept) = sizes.get(file) {
                        for block in blocks {
                            self.files.insert((*file, place(block.to)), kept.clone());
                        }
                    }
                }
                Some(Work::Lease { .. }) | None => {}
            },
            SignalKind::HostLost { host, keeps_data } => {
                self.lost.insert(*host);
                self.files.retain(|(_, at), _| *keeps_data || at != host);
            }
            SignalKind::HostBack(host) => {
                self.lost.remove(host);
            }
            SignalKind::HostStays { host, stay } => {
                match stay {
                    Some(stay) => self.stays.insert(*host, *stay),
                    None => self.stays.remove(host),
                };
            }
            SignalKind::CopyLost { file, host } => {
                self.files.remove(&(*file, place(*host)));
            }
            _ => {}
        }
    }
}
