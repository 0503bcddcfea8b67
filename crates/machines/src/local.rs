//! The executor on this machine: hosts are folders of the run, their cores are slots for attempts. A host is up as long
//! as its folder exists; removing the folder simulates the loss of the host.

use crate::attempt::{Process, end_orphans};
use crate::attempt_pool::{Crew, Job, Label};
use crate::folder::RunFolder;
use crate::machine_backend::{EventSender, Executor, HostEvent};
use slackline_engine::{Accepted, BackendError, OpError, OpId};
use slackline_model::{HostId, Platform};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two checks of the folders of hosts.
const POLL: Duration = Duration::from_millis(500);

/// The executor of this machine: hosts are folders of the run, their cores slots.
pub struct Local<'p> {
    platform: &'p Platform,
    folder: Arc<RunFolder>,
    crew: Crew,
    /// Identity of the run, by which its processes are recognised, and those that its log has.
    run: String,
    processes: Vec<Process>,
    /// Per host: whether it is up, as last reported; none before the first check.
    there: Vec<Option<bool>>,
    /// Date of the last check.
    looked: Option<Instant>,
    /// Leases that ended since.
    released: Vec<OpId>,
}

impl<'p> Local<'p> {
    /// `processes` are those that an earlier process of the run may have left running.
    pub fn new(
        platform: &'p Platform,
        folder: Arc<RunFolder>,
        run: String,
        processes: Vec<Process>,
        events: EventSender,
    ) -> Local<'p> {
        Local {
            platform,
            folder,
            crew: Crew::exclusive(Arc::new(events)),
            run,
            processes,
            there: vec![None; platform.hosts().len()],
            looked: None,
            released: Vec::new(),
        }
    }

    fn make_host(&self, host: HostId) -> Result<(), BackendError> {
        self.folder
            .make_host(&self.platform.host(host).name)
            .map_err(|e| BackendError::Machines(e.to_string()))
    }
}

impl Executor for Local<'_> {
    fn open(&mut self) -> Result<(), BackendError> {
        self.platform.host_ids().try_for_each(|host| self.make_host(host))
    }

    /// Attempts end with the process that made them, so that none is taken over; leftovers are ended.
    fn take_up(&mut self, _: &[Label]) -> Result<Vec<Label>, BackendError> {
        end_orphans(&self.run, &[], &self.processes);
        Ok(Vec::new())
    }

    fn begin(&mut self, job: Job) -> Accepted {
        self.crew.begin(job);
        Accepted::Running
    }

    fn stop(&mut self, op: OpId, at_once: bool) {
        if at_once { self.crew.kill(op) } else { self.crew.stop(op) }
    }

    /// Leases of this machine are ready at once.
    fn lease(&mut self, _: OpId, _: HostId) -> Result<Accepted, OpError> {
        Ok(Accepted::Running)
    }

    fn release(&mut self, lease: OpId) {
        self.released.push(lease);
    }

    fn look(&mut self, host_events: &mut Vec<HostEvent>) -> Result<(), BackendError> {
        let over = |lease| HostEvent::LeaseEnded { lease, host: None, error: None };
        host_events.extend(self.released.drain(..).map(over));
        if self.looked.is_some_and(|looked| looked.elapsed() < POLL) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        for host in self.platform.host_ids() {
            let name = &self.platform.host(host).name;
            let there = match std::fs::metadata(self.folder.host(name)) {
                Ok(found) => found.is_dir(),
                Err(error) if error.kind() == ErrorKind::NotFound => false,
                Err(_) => continue, // unknown: attempts will fail if it is gone
            };
            if self.there[host.index()] == Some(there) {
                continue;
            }
            if !there {
                let why = format!("the folder of host '{name}' is gone");
                host_events.push(HostEvent::Down { host, keeps_data: false, why });
            } else if self.make_host(host).is_ok() {
                host_events.push(HostEvent::Up(host));
            } else {
                continue; // it has disappeared again
            }
            self.there[host.index()] = Some(there);
        }
        Ok(())
    }

    fn close(&mut self) {
        self.crew.end();
    }
}
