//! Requested attempts, and the threads that make them. The engine's own process and a pilot
//! on a node make them alike; only the receiver of their events differs.

mod workers;

pub(crate) use workers::{Workers, make_room};

use crate::attempt::{Attempt, AttemptError, Completed, Control, Process, Spares, end_adopted};
use serde::{Deserialize, Serialize};
use slackline_engine::OpId;
use slackline_model::{HostId, TaskId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Identity of an attempt: run, operation, task, host and number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The operation of the engine.
    pub op: OpId,
    /// The task.
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// Its host.
    pub host: HostId,
    /// Number of the attempt at the task.
    pub number: u32,
}

/// An attempt to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Identity of the attempt.
    pub label: Label,
    /// Cores it uses.
    pub cores: u32,
    /// Seconds that it takes as estimated.
    pub seconds: Option<f64>,
    /// The attempt to make.
    pub attempt: Attempt,
}

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// Of which.
    pub label: Label,
    /// Its result.
    pub how: Result<Completed, AttemptError>,
}

/// A listener that is notified when jobs start and end.
pub(crate) trait JobListener: Send + Sync {
    /// A job has become a process.
    fn begun(&self, label: &Label, process: Process);
    /// A job has ended.
    fn ended(&self, result: JobResult);
}

type Controls = Mutex<BTreeMap<OpId, Control>>;

fn locked(controls: &Controls) -> MutexGuard<'_, BTreeMap<OpId, Control>> {
    controls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Threads that make attempts.
pub(crate) struct Crew {
    workers: Workers,
    controls: Arc<Controls>,
    listener: Arc<dyn JobListener>,
    /// Scratch folders with how names begin there, and whether nothing of dead attempts is left there.
    swept: BTreeMap<(PathBuf, String), Arc<OnceLock<()>>>,
    /// It makes one attempt only: others may work beside it for the same host.
    single: bool,
    spares: Arc<Spares>,
}

impl Crew {
    /// A crew that notifies a listener; others work beside it for the same run.
    pub(crate) fn new(listener: Arc<dyn JobListener>) -> Crew {
        let (workers, controls, swept) =
            (Workers::up_to(usize::MAX), Arc::default(), BTreeMap::new());
        Crew { workers, controls, listener, swept, single: false, spares: Arc::default() }
    }

    /// A crew that makes all attempts of a run.
    pub(crate) fn exclusive(listener: Arc<dyn JobListener>) -> Crew {
        let mut crew = Crew::new(listener);
        crew.spares = Arc::new(Spares::new(true));
        crew
    }

    /// A crew for one attempt.
    pub(crate) fn single(listener: Arc<dyn JobListener>) -> Crew {
        let mut crew = Crew::new(listener);
        crew.single = true;
        crew
    }

    /// Begins a job; one that is under way is not begun again.
    pub(crate) fn begin(&mut self, job: Job) {
        let control = Control::default();
        let op = job.label.op;
        let mut controls = locked(&self.controls);
        if controls.contains_key(&op) {
            return;
        }
        controls.insert(op, control.clone());
        drop(controls);
        let scratch = job.attempt.scratch.clone();
        let swept = scratch.as_ref().map(|scratch| {
            let key = (scratch.base.clone(), scratch.host.clone());
            Arc::clone(self.swept.entry(key).or_default())
        });
        let everything = !self.single;
        let (controls, listener) = (Arc::clone(&self.controls), Arc::clone(&self.listener));
        let spares = Arc::clone(&self.spares);
        let label = job.label.clone();
        let submitted = self.workers.submit(Box::new(move || {
            let Job { label, mut attempt, .. } = job;
            // What dead attempts have left is removed before the first attempt there. That may take long,
            // and the requester of the job does not wait for it.
            if let (Some(scratch), Some(swept)) = (scratch, swept) {
                swept.get_or_init(|| scratch.sweep(everything));
            }
            let mut begun = |process| listener.begun(&label, process);
            let how = attempt.perform(&control, &spares, &mut begun);
            let succeeded = how.is_ok();
            listener.ended(JobResult { label, how });
            locked(&controls).remove(&op);
            attempt.clear(&spares, succeeded); // whoever waits for the end need not wait for this
        }));
        if let Err(error) = submitted {
            locked(&self.controls).remove(&op);
            let why = format!("no thread can be started: {error}");
            let how = Err(AttemptError::Failed { why, exit: None, last_lines: Vec::new() });
            self.listener.ended(JobResult { label, how });
        }
    }

    /// Asks a job to end.
    pub(crate) fn stop(&self, op: OpId) {
        if let Some(control) = locked(&self.controls).get(&op) {
            control.stop();
        }
    }

    /// Ends a job at once.
    pub(crate) fn kill(&self, op: OpId) {
        if let Some(control) = locked(&self.controls).get(&op) {
            control.kill();
        }
    }

    /// Jobs under way.
    pub(crate) fn under_way(&self) -> Vec<OpId> {
        locked(&self.controls).keys().copied().collect()
    }
}

impl Crew {
    /// Ends all jobs at once and waits until they are gone; no job begins any more.
    pub(crate) fn end(&mut self) {
        locked(&self.controls).values().for_each(Control::kill);
        self.workers.finish();
        end_adopted();
        self.spares.remove();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.end();
    }
}
