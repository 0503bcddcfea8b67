//! One result counts, and what is gone is not tried again at once: with attempts that end in any order.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use super::*;
use crate::attempt::{Usage, Written, checksum};
use crate::attempt_pool::JobListener;
use crate::folder::{Header, RunLog};
use slackline_formats::{platform_toml, workflow_toml};
use std::cell::RefCell;
use std::rc::Rc;

/// Keeps the jobs it is given; the test says how they end.
#[derive(Clone, Default)]
struct Kept(Rc<RefCell<BTreeMap<OpId, Job>>>);

impl Executor for Kept {
    fn open(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    fn take_up(&mut self, _: &[Label]) -> Result<Vec<Label>, BackendError> {
        Ok(Vec::new())
    }

    fn begin(&mut self, job: Job) -> Accepted {
        self.0.borrow_mut().insert(job.label.op, job);
        Accepted::Running
    }

    fn stop(&mut self, _: OpId, _: bool) {}

    fn lease(&mut self, _: OpId, _: HostId) -> Result<Accepted, OpError> {
        Ok(Accepted::Running)
    }

    fn release(&mut self, _: OpId) {}

    fn look(&mut self, _: &mut Vec<HostEvent>) -> Result<(), BackendError> {
        Ok(())
    }
}

const WORKFLOW: &str = r#"
[files]
given = "1B"
[task.first]
command = ["true"]
inputs = ["given"]
outputs = ["one", "two"]
time = "1s"
[task.second]
command = ["true"]
inputs = ["one", "two"]
time = "1s"
"#;

const PLATFORM: &str = r#"
[cluster.main]
numbers = "1-2"
names = "n{}"
speed = "1Gf"
shared-storage = true
"#;

/// Two hosts that share a store, and what the engine would ask of them.
struct Site<'p> {
    real: MachineBackend<'p>,
    events: EventSender,
    jobs: Kept,
    folder: Arc<RunFolder>,
}

fn on_site(act: impl FnOnce(&mut Site<'_>)) {
    let workflow = workflow_toml::read(WORKFLOW).unwrap().workflow;
    let platform = platform_toml::parse(PLATFORM).unwrap();
    let problem = Problem::new(&workflow, &platform).unwrap();
    let root = tempfile::tempdir().unwrap();
    let folder = Arc::new(RunFolder::create(&root.path().join("r")).unwrap());
    let text = r#"{"schema":"","version":"","id":"","began":0,"workflow":"","platform":"","policy":"","settings":{},"seed":0,"digests":{},"inputs":""}"#;
    let header: Header = serde_json::from_str(text).unwrap();
    let log = Arc::new(RunLog::create(&folder.log(), &header).unwrap());
    let (events, inbox) = EventSender::new(log, 0.0);
    let jobs = Kept::default();
    let options = MachineOptions {
        drive: folder.begin_drive().unwrap(),
        source: root.path().into(),
        ..MachineOptions::default()
    };
    for host in platform.host_ids() {
        folder.make_host(&platform.host(host).name).unwrap();
    }
    let real = MachineBackend::new(
        &problem,
        Inputs::of(&platform),
        options,
        Arc::clone(&folder),
        (events.clone(), inbox),
        Box::new(jobs.clone()),
        RecoveredState::default(),
        Arc::default(),
    );
    act(&mut Site { real, events, jobs, folder });
}

impl Site<'_> {
    fn begin(&mut self, op: u64, task: u32, host: u32) {
        let procs = [ProcId(host)];
        let (task, memory) = (TaskId(task), None);
        let (devices, reads, writes) = (&[], &[], &[]);
        let work = Computation { task, procs: &procs, memory, devices, reads, writes };
        assert_eq!(self.real.compute(OpId(op), work), Ok(Accepted::Running));
    }

    fn end(&mut self, op: u64, how: Result<Completed, AttemptError>) -> Vec<SignalKind> {
        let label = self.jobs.0.borrow()[&OpId(op)].label.clone();
        self.events.ended(JobResult { label, how });
        let mut signals = Vec::new();
        self.real.next(self.real.now() + 0.05, &mut signals).unwrap();
        signals.into_iter().map(|signal| signal.what).collect()
    }

    /// An attempt comes to its end with outputs of some content.
    fn succeed(&mut self, op: u64, content: &str) -> Vec<SignalKind> {
        let outputs = self.jobs.0.borrow()[&OpId(op)].attempt.outputs.clone();
        let write = |(_, path): (String, PathBuf)| {
            std::fs::write(&path, content).unwrap();
            let (bytes, checksum) = (content.len() as u64, Some(checksum(&path).unwrap()));
            let modified = Some(Stamp::of(&std::fs::metadata(&path).unwrap()).modified);
            Written { bytes, checksum, modified, path: Some(path) }
        };
        let written = outputs.into_iter().map(write).collect();
        self.end(op, Ok(Completed { usage: Usage::default(), written, load: None }))
    }

    fn stored(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.folder.store("n1").join(name));
        assert_eq!(read("one").unwrap(), read("two").unwrap());
        read("one").unwrap()
    }

    fn left(&self) -> usize {
        std::fs::read_dir(self.folder.made("n1")).unwrap().count()
    }
}

fn is_done(told: &[SignalKind], op: u64) -> bool {
    matches!(told, [SignalKind::Done(done, _)] if done.0 == op)
}

#[test]
fn an_attempt_that_was_given_up_replaces_nothing() {
    on_site(|site| {
        // It ends after the one that was begun in its place.
        site.begin(1, 0, 0);
        site.real.cancel(OpId(1)).unwrap();
        site.begin(2, 0, 1);
        assert!(is_done(&site.succeed(2, "second"), 2));
        assert_eq!(site.stored(), "second");
        assert_eq!(site.succeed(1, "first"), [SignalKind::Cancelled(OpId(1))]);
        assert_eq!((site.stored(), site.left()), ("second".to_string(), 0));
        // It ends before.
        site.begin(3, 0, 0);
        site.real.cancel(OpId(3)).unwrap();
        site.begin(4, 0, 1);
        assert_eq!(site.succeed(3, "third"), [SignalKind::Cancelled(OpId(3))]);
        assert_eq!((site.stored(), site.left()), ("second".to_string(), 0));
        assert!(is_done(&site.succeed(4, "fourth"), 4));
        // It ends after its host was lost, and once more.
        site.begin(5, 0, 0);
        let why = String::new();
        site.real.host_event(HostEvent::Down { host: HostId(0), keeps_data: true, why });
        let lost = site.succeed(5, "fifth");
        assert!(!lost.iter().any(|what| matches!(what, SignalKind::Done(..))), "{lost:?}");
        assert_eq!((site.stored(), site.left()), ("fourth".to_string(), 0));
    });
}

#[test]
fn an_attempt_that_ends_before_it_can_be_stopped_counts() {
    on_site(|site| {
        site.begin(1, 0, 0);
        site.real.cancel(OpId(1)).unwrap();
        assert!(is_done(&site.succeed(1, "first"), 1));
        assert_eq!((site.stored(), site.left()), ("first".to_string(), 0));
        // The next reader is told what it has to find.
        site.begin(2, 1, 1);
        let versions = site.jobs.0.borrow()[&OpId(2)].attempt.versions.clone();
        let known = checksum(&site.folder.store("n1").join("one")).ok();
        assert_eq!(versions.len(), 2);
        assert!(versions.iter().all(|(_, version)| version.checksum == known));
    });
}

#[test]
fn outputs_that_cannot_be_kept_are_a_failure_that_passes() {
    on_site(|site| {
        let blocked = site.folder.store("n1").join("two");
        std::fs::create_dir_all(blocked.join("x")).unwrap();
        site.begin(1, 0, 0);
        let told = site.succeed(1, "first");
        assert!(matches!(&told[..], [SignalKind::Failed(_, OpError::Transient(_))]), "{told:?}");
        assert_eq!(site.left(), 0);
        std::fs::remove_dir_all(&blocked).unwrap();
        site.begin(2, 0, 0);
        assert!(is_done(&site.succeed(2, "second"), 2));
        assert_eq!(site.stored(), "second");
        // An engine that was killed may have given them their names before it wrote that down.
        site.begin(3, 0, 0);
        let outputs = site.jobs.0.borrow()[&OpId(3)].attempt.outputs.clone();
        let written = ["one", "two"].map(|name| site.folder.store("n1").join(name));
        let written = written.iter().zip(outputs).map(|(path, (_, left))| Written {
            bytes: 6,
            checksum: Some(checksum(path).unwrap()),
            modified: None,
            path: Some(left),
        });
        let done = Completed { usage: Usage::default(), written: written.collect(), load: None };
        assert!(is_done(&site.end(3, Ok(done)), 3));
    });
}

#[test]
fn inputs_that_stay_away_let_a_task_rest() {
    on_site(|site| {
        let gone = || Err(AttemptError::InputGone { index: 0, name: "input".to_string() });
        // A file of the user: there is nothing to make again.
        site.begin(1, 0, 0);
        let told = site.end(1, gone());
        assert!(matches!(&told[..], [SignalKind::Failed(_, OpError::Transient(_))]), "{told:?}");
        // A file that was made: the first time the task is not to blame.
        site.begin(2, 1, 0);
        let told = site.end(2, gone());
        let lost = |told: &[SignalKind]| {
            matches!(
                told,
                [SignalKind::CopyLost { .. }, SignalKind::Failed(_, OpError::Lost { .. })]
            )
        };
        assert!(lost(&told), "{told:?}");
        site.begin(3, 1, 0);
        let told = site.end(3, gone());
        let rests = matches!(
            &told[..],
            [SignalKind::CopyLost { .. }, SignalKind::Failed(_, OpError::Transient(_))]
        );
        assert!(rests, "{told:?}");
        // What has run in between is a new beginning.
        site.begin(4, 1, 0);
        site.end(4, Err(AttemptError::Stopped));
        site.begin(5, 1, 0);
        assert!(lost(&site.end(5, gone())));
    });
}

#[test]
fn outputs_that_nobody_wants_are_removed() {
    on_site(|site| {
        let made = site.folder.made("n1");
        for name in ["0-7.0", "0-8.0", "1-9.0", "other"] {
            std::fs::write(made.join(name), "").unwrap();
        }
        site.real.sweep(|drive, op| drive != 1 && op != OpId(8));
        let mut left: Vec<String> = std::fs::read_dir(&made)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["0-8.0", "1-9.0", "other"]);
        assert_eq!(site.folder.begin_drive().unwrap(), 2);
    });
}
