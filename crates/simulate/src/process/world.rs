//! The world of processes, which runs them, and the handle through which a process acts.

use super::core::{Body, Core, OperationKind, ProcessState, Restart};
use super::operation::{AnyOperation, FirstOf, Operation, Receiving, Shared, Within};
use super::{Interrupted, ProcessId, WorldError};
use crate::{Models, Simulation, SimulationError, Step};
use slackline_model::activity::{Activity, DiskAccess, DiskOperation, Exec};
use slackline_model::{DiskId, HostId, Platform};
use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Most processes that the report of a deadlock lists.
const LISTED: usize = 10;

/// A platform with processes on it, which send each other messages of type `M`.
pub struct World<'p, M> {
    core: Shared<'p, M>,
    /// By slot of the process.
    bodies: Vec<Option<Body<'p>>>,
}

impl<M> fmt::Debug for World<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("processes", &self.bodies.len()).finish_non_exhaustive()
    }
}

/// The handle of a process for itself: all its operations.
pub struct Process<'p, M> {
    core: Shared<'p, M>,
    id: ProcessId,
    host: HostId,
}

impl<M> Clone for Process<'_, M> {
    fn clone(&self) -> Self {
        Process { core: Rc::clone(&self.core), id: self.id, host: self.host }
    }
}

impl<M> fmt::Debug for Process<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("id", &self.id).field("host", &self.host).finish()
    }
}

/// Adds a process to the core; the world takes its body from `born` when it next runs ready processes, as a process may
/// add others while the bodies are in use.
fn add<'p, M: 'p>(
    core: &Shared<'p, M>,
    (name, host, is_daemon): (Rc<str>, HostId, bool),
    factory: Option<super::core::Factory<'p, M>>,
    body: impl FnOnce(Process<'p, M>) -> Body<'p>,
) -> ProcessId {
    let mut inner = core.borrow_mut();
    inner.numbers += 1;
    let number = inner.numbers;
    if !inner.simulation.host_is_on(host) {
        // A host that is off ends its processes; those that restart begin when the host is back.
        if let Some(factory) = factory {
            inner.restarts.push(Restart { name, host, is_daemon, factory });
        }
        return ProcessId { slot: u32::MAX, number };
    }
    let slot = inner.processes.insert(ProcessState {
        number,
        name,
        host,
        is_daemon,
        is_queued: false,
        is_suspended: false,
        is_due: false,
        ops: Vec::new(),
        joins: Vec::new(),
        factory,
    });
    let id = ProcessId { slot, number };
    if !is_daemon {
        inner.living += 1;
    }
    drop(inner);
    let body = body(Process { core: Rc::clone(core), id, host });
    let mut inner = core.borrow_mut();
    inner.born.push((id, body));
    inner.wake(id);
    id
}

impl<'p, M: 'p> World<'p, M> {
    /// A world at date 0 (seconds) without processes.
    pub fn new(
        platform: impl Into<Arc<Platform>>,
        models: Models,
    ) -> Result<Self, SimulationError> {
        let core = Core::new(Simulation::new(platform, models)?);
        Ok(World { core: Rc::new(RefCell::new(core)), bodies: Vec::new() })
    }

    /// The date.
    pub fn now(&self) -> f64 {
        self.core.borrow().simulation.clock()
    }

    /// Adds a process. Its return value is dropped: most end with the `Result` of their last operation.
    pub fn spawn<F: Future + 'p>(
        &mut self,
        name: &str,
        host: HostId,
        body: impl FnOnce(Process<'p, M>) -> F,
    ) -> ProcessId {
        add(&self.core, (name.into(), host, false), None, |p| boxed(body(p)))
    }

    /// Adds a process whose end [`World::run`] does not wait for.
    pub fn spawn_daemon<F: Future + 'p>(
        &mut self,
        name: &str,
        host: HostId,
        body: impl FnOnce(Process<'p, M>) -> F,
    ) -> ProcessId {
        add(&self.core, (name.into(), host, true), None, |p| boxed(body(p)))
    }

    /// Adds a process that begins again whenever its host comes back after a failure.
    pub fn spawn_restarting<F: Future + 'p>(
        &mut self,
        name: &str,
        host: HostId,
        body: impl Fn(Process<'p, M>) -> F + 'p,
    ) -> ProcessId {
        let factory: super::core::Factory<'p, M> = Rc::new(move |p| boxed(body(p)));
        let first = Rc::clone(&factory);
        add(&self.core, (name.into(), host, false), Some(factory), move |p| first(p))
    }

    /// Runs the processes until all but daemons have ended.
    pub fn run(&mut self) -> Result<(), WorldError> {
        self.run_until(f64::INFINITY)
    }

    /// Runs the processes until all but daemons have ended, or until a date in seconds.
    pub fn run_until(&mut self, date: f64) -> Result<(), WorldError> {
        loop {
            self.run_ready();
            let mut core = self.core.borrow_mut();
            if let Some(error) = core.error.take() {
                return Err(error.into());
            }
            if core.living == 0 && !core.can_restart() {
                return Ok(());
            }
            let has_profiles = core.simulation.next_date() < f64::INFINITY;
            if core.simulation.alive() == 0 && !(has_profiles && core.awaits_hosts()) {
                if core.living == 0 {
                    return Ok(());
                }
                let date = core.simulation.clock();
                return Err(WorldError::Deadlock { date, waiting: core.waiting(LISTED) });
            }
            // Without activities the simulation only advances to a given date: that of the next profile event, which
            // may bring a host back.
            let until = if core.simulation.alive() == 0 {
                date.min(core.simulation.next_date())
            } else {
                date
            };
            let step = core.simulation.step(until)?;
            let hosts = core.collect();
            drop(core);
            for (host, is_on) in hosts {
                self.host_changed(host, is_on);
            }
            if step == Step::Limit && until == date {
                self.run_ready();
                return Ok(());
            }
        }
    }

    /// Number of slots: the most processes that were alive at one time.
    pub fn places(&self) -> usize {
        self.bodies.len()
    }

    /// Number of operations that are still referenced, ended ones included.
    pub fn operations(&self) -> usize {
        self.core.borrow().ops.iter().count()
    }

    /// Runs ready processes, one after the other, until none is ready.
    fn run_ready(&mut self) {
        loop {
            let mut core = self.core.borrow_mut();
            for (id, body) in std::mem::take(&mut core.born) {
                let slot = id.slot as usize;
                if slot >= self.bodies.len() {
                    self.bodies.resize_with(slot + 1, || None);
                }
                self.bodies[slot] = Some(body);
            }
            let dying = std::mem::take(&mut core.dying);
            if !dying.is_empty() {
                drop(core);
                dying.into_iter().for_each(|id| self.end(id));
                continue;
            }
            let Some(id) = core.ready.pop_front() else { return };
            let Some(process) = core.process_mut(id) else { continue };
            process.is_queued = false;
            // It runs when it is resumed.
            if process.is_suspended {
                process.is_due = true;
                continue;
            }
            drop(core);
            let Some(mut body) = self.bodies[id.slot as usize].take() else { continue };
            let mut context = Context::from_waker(Waker::noop());
            match body.as_mut().poll(&mut context) {
                Poll::Pending => self.bodies[id.slot as usize] = Some(body),
                Poll::Ready(()) => {
                    drop(body);
                    self.end(id);
                }
            }
        }
    }

    /// Ends a process: its operations under way are cancelled, processes that wait for it are
    /// woken.
    fn end(&mut self, id: ProcessId) {
        if self.core.borrow().process(id).is_none() {
            return;
        }
        if let Some(body) = self.bodies.get_mut(id.slot as usize) {
            drop(body.take());
        }
        let mut core = self.core.borrow_mut();
        let Some(process) = core.processes.remove(id.slot) else { return };
        if !process.is_daemon {
            core.living -= 1;
        }
        for key in process.joins {
            core.finish(key, super::core::State::Done(None));
        }
    }

    fn host_changed(&mut self, host: HostId, is_on: bool) {
        if is_on {
            let mut core = self.core.borrow_mut();
            let (back, others): (Vec<_>, Vec<_>) =
                std::mem::take(&mut core.restarts).into_iter().partition(|r| r.host == host);
            core.restarts = others;
            drop(core);
            for Restart { name, host, is_daemon, factory } in back {
                let again = Rc::clone(&factory);
                add(&self.core, (name, host, is_daemon), Some(factory), move |p| again(p));
            }
            return;
        }
        let mut core = self.core.borrow_mut();
        let mut ended = Vec::new();
        for (slot, process) in core.processes.iter().filter(|(_, process)| process.host == host) {
            ended.push(ProcessId { slot, number: process.number });
        }
        ended.sort_unstable_by_key(|id| id.number);
        for id in &ended {
            let Some(process) = core.process_mut(*id) else { continue };
            let (name, is_daemon) = (Rc::clone(&process.name), process.is_daemon);
            if let Some(factory) = process.factory.take() {
                core.restarts.push(Restart { name, host, is_daemon, factory });
            }
        }
        drop(core);
        ended.into_iter().for_each(|id| self.end(id));
    }
}

impl<M> Drop for World<'_, M> {
    fn drop(&mut self) {
        // Bodies and factories hold references to the core, which holds the bodies that never began: break the circle,
        // and drop them while the core is not borrowed.
        self.bodies.clear();
        if let Ok(mut core) = self.core.try_borrow_mut() {
            let (born, restarts) =
                (std::mem::take(&mut core.born), std::mem::take(&mut core.restarts));
            let factories: Vec<_> = core.take_factories();
            drop(core);
            drop((born, restarts, factories));
        }
    }
}

fn boxed<'p, F: Future + 'p>(body: F) -> Body<'p> {
    Box::pin(async move {
        body.await;
    })
}

impl<'p, M: 'p> Process<'p, M> {
    /// Its own id.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// The host it runs on.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// The date.
    pub fn now(&self) -> f64 {
        self.core.borrow().simulation.clock()
    }

    fn begin(
        &self,
        activity: Activity,
        what: fn(crate::ActivityId) -> OperationKind,
    ) -> Operation<'p, M> {
        let key = self.core.borrow_mut().begin(self.id, activity, what);
        Operation::new(&self.core, self.id, key)
    }

    /// Computes an amount of flop on its host.
    pub fn compute(&self, flops: f64) -> Operation<'p, M> {
        self.compute_as(Exec::new(self.host, flops))
    }

    /// Computes on any host, with a priority or a bound.
    pub fn compute_as(&self, exec: Exec) -> Operation<'p, M> {
        self.begin(Activity::Exec(exec), OperationKind::Compute)
    }

    /// Waits for a number of seconds.
    pub fn sleep(&self, seconds: f64) -> Operation<'p, M> {
        self.begin(Activity::Sleep(seconds), OperationKind::Sleep)
    }

    /// Reads bytes from a disk.
    pub fn read(&self, disk: DiskId, bytes: f64) -> Operation<'p, M> {
        self.access(disk, DiskAccess::Read, bytes)
    }

    /// Writes bytes to a disk.
    pub fn write(&self, disk: DiskId, bytes: f64) -> Operation<'p, M> {
        self.access(disk, DiskAccess::Write, bytes)
    }

    fn access(&self, disk: DiskId, access: DiskAccess, bytes: f64) -> Operation<'p, M> {
        let operation = DiskOperation { disk, access, bytes, client: self.host };
        self.begin(Activity::Io(operation), OperationKind::Io)
    }

    /// Sends a message to a mailbox, simulated as a transfer of `bytes`; the operation ends when the receiver has it.
    pub fn send(&self, mailbox: &str, message: M, bytes: f64) -> Operation<'p, M> {
        self.send_limited(mailbox, message, bytes, f64::INFINITY)
    }

    /// Sends a message with an upper limit of the rate, bytes per second.
    pub fn send_limited(
        &self,
        mailbox: &str,
        message: M,
        bytes: f64,
        rate: f64,
    ) -> Operation<'p, M> {
        let mut core = self.core.borrow_mut();
        let mailbox = core.mailbox(mailbox);
        let key = core.send(self.id, mailbox, message, (bytes, rate), false);
        drop(core);
        // Only a process that has ended has no operation.
        Operation::new(&self.core, self.id, key.unwrap_or(u32::MAX))
    }

    /// Sends a message without waiting for its arrival, also beyond the end of this process.
    pub fn send_detached(&self, mailbox: &str, message: M, bytes: f64) {
        let mut core = self.core.borrow_mut();
        let mailbox = core.mailbox(mailbox);
        core.send(self.id, mailbox, message, (bytes, f64::INFINITY), true);
    }

    /// Receives the next message of a mailbox.
    pub fn receive(&self, mailbox: &str) -> Receiving<'p, M> {
        let mut core = self.core.borrow_mut();
        let mailbox = core.mailbox(mailbox);
        let key = core.receive(self.id, mailbox);
        drop(core);
        Receiving(Operation::new(&self.core, self.id, key))
    }

    /// Whether a sender waits with a message at a mailbox.
    pub fn has_message(&self, mailbox: &str) -> bool {
        let mut core = self.core.borrow_mut();
        let mailbox = core.mailbox(mailbox);
        core.has_message(mailbox)
    }

    /// Limits an operation to a number of seconds, after which it is cancelled.
    pub fn within<T, F>(&self, seconds: f64, operation: F) -> Within<'p, M, F>
    where
        F: Future<Output = Result<T, Interrupted>> + Unpin,
    {
        Within { timer: self.sleep(seconds), inner: Some(operation) }
    }

    /// Waits for the first of some operations to end; gives its place in the list.
    pub fn first_of<'a>(&self, operations: &'a [&'a dyn AnyOperation]) -> FirstOf<'a> {
        FirstOf { process: self.id, operations }
    }

    /// Adds a process, which begins at this date.
    pub fn spawn<F: Future + 'p>(
        &self,
        name: &str,
        host: HostId,
        body: impl FnOnce(Process<'p, M>) -> F,
    ) -> ProcessId {
        add(&self.core, (name.into(), host, false), None, |p| boxed(body(p)))
    }

    /// Waits for the end of a process.
    pub fn join(&self, other: ProcessId) -> Operation<'p, M> {
        let key = self.core.borrow_mut().join(self.id, other);
        Operation::new(&self.core, self.id, key)
    }

    /// Ends a process; one that ends itself does so at its next wait.
    pub fn kill(&self, other: ProcessId) {
        self.core.borrow_mut().dying.push(other);
    }

    /// Suspends a process with its computations, disk operations and transfers; its sleeps continue.
    pub fn suspend(&self, other: ProcessId) {
        self.core.borrow_mut().hold(other, true);
    }

    /// Resumes a suspended process.
    pub fn resume(&self, other: ProcessId) {
        self.core.borrow_mut().hold(other, false);
    }

    /// Whether a process has not ended.
    pub fn is_alive(&self, other: ProcessId) -> bool {
        self.core.borrow().process(other).is_some()
    }

    /// Suspends this process until another one resumes it.
    pub async fn suspend_self(&self) {
        self.core.borrow_mut().hold(self.id, true);
        self.yield_now().await;
    }

    /// Runs the other processes that are ready at this instant first.
    pub async fn yield_now(&self) {
        let mut has_waited = false;
        poll_fn(|_| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            self.core.borrow_mut().wake(self.id);
            Poll::Pending
        })
        .await;
    }
}
