//! State shared by processes: the simulation, operations under way, mailboxes.

use super::{Interrupted, ProcessId};
use crate::kernel::ActivityId;
use crate::{Event, Simulation, SimulationError};
use slackline_model::HostId;
use slackline_model::activity::{Activity, Transfer};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

pub(super) type Body<'p> = Pin<Box<dyn Future<Output = ()> + 'p>>;
pub(super) type Factory<'p, M> = Rc<dyn Fn(super::Process<'p, M>) -> Body<'p> + 'p>;

/// Values in places that are used again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(value);
                place
            }
            None => {
                self.places.push(Some(value));
                (self.places.len() - 1) as u32
            }
        }
    }

    pub(super) fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    pub(super) fn remove(&mut self, place: u32) -> Option<T> {
        let value = self.places.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.places.iter().enumerate().filter_map(|(k, place)| Some((k as u32, place.as_ref()?)))
    }
}

/// The activity or event that an operation waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperationKind {
    Compute(ActivityId),
    Io(ActivityId),
    Sleep(ActivityId),
    Send(u32),
    Receive(u32),
    Join(ProcessId),
}

#[derive(Debug)]
pub(super) enum State<M> {
    Running,
    /// With a message, if it was a reception.
    Done(Option<M>),
    Failed(Interrupted),
}

#[derive(Debug)]
pub(super) struct Op<M> {
    pub(super) owner: ProcessId,
    pub(super) what: OperationKind,
    pub(super) state: State<M>,
    pub(super) waiters: Vec<ProcessId>,
    /// The how-manieth of all operations it ended.
    pub(super) ended: u64,
}

/// One side of a transfer.
#[derive(Clone, Copy, Debug)]
struct Side {
    host: HostId,
    /// None for a sender that does not want to know.
    op: Option<u32>,
}

/// A transfer, or what waits to become one.
#[derive(Debug)]
struct Comm<M> {
    mailbox: u32,
    sender: Option<Side>,
    receiver: Option<Side>,
    bytes: f64,
    rate: f64,
    message: Option<M>,
    activity: Option<ActivityId>,
}

#[derive(Debug)]
struct MailboxState {
    name: String,
    /// Transfers of which one side is there: all senders, or all receivers.
    waiting: VecDeque<u32>,
}

pub(super) struct ProcessState<'p, M> {
    pub(super) number: u64,
    pub(super) name: Rc<str>,
    pub(super) host: HostId,
    pub(super) is_daemon: bool,
    pub(super) is_queued: bool,
    pub(super) is_suspended: bool,
    /// It was woken while it was suspended.
    pub(super) is_due: bool,
    pub(super) ops: Vec<u32>,
    pub(super) joins: Vec<u32>,
    pub(super) factory: Option<Factory<'p, M>>,
}

/// A process that begins again when its host comes back.
pub(super) struct Restart<'p, M> {
    pub(super) name: Rc<str>,
    pub(super) host: HostId,
    pub(super) is_daemon: bool,
    pub(super) factory: Factory<'p, M>,
}

pub(super) struct Core<'p, M> {
    pub(super) simulation: Simulation,
    pub(super) processes: Slab<ProcessState<'p, M>>,
    pub(super) ops: Slab<Op<M>>,
    comms: Slab<Comm<M>>,
    mailboxes: Vec<MailboxState>,
    names: HashMap<String, u32>,
    pub(super) ready: VecDeque<ProcessId>,
    pub(super) born: Vec<(ProcessId, Body<'p>)>,
    pub(super) dying: Vec<ProcessId>,
    pub(super) restarts: Vec<Restart<'p, M>>,
    pub(super) numbers: u64,
    ended: u64,
    /// Living processes that are no daemons.
    pub(super) living: usize,
    pub(super) error: Option<SimulationError>,
}

impl<'p, M> Core<'p, M> {
    pub(super) fn new(simulation: Simulation) -> Self {
        Core {
            simulation,
            processes: Slab::default(),
            ops: Slab::default(),
            comms: Slab::default(),
            mailboxes: Vec::new(),
            names: HashMap::new(),
            ready: VecDeque::new(),
            born: Vec::new(),
            dying: Vec::new(),
            restarts: Vec::new(),
            numbers: 0,
            ended: 0,
            living: 0,
            error: None,
        }
    }

    pub(super) fn process(&self, id: ProcessId) -> Option<&ProcessState<'p, M>> {
        self.processes.get(id.slot).filter(|process| process.number == id.number)
    }

    pub(super) fn process_mut(&mut self, id: ProcessId) -> Option<&mut ProcessState<'p, M>> {
        self.processes.get_mut(id.slot).filter(|process| process.number == id.number)
    }

    pub(super) fn mailbox(&mut self, name: &str) -> u32 {
        if let Some(&found) = self.names.get(name) {
            return found;
        }
        let id = self.mailboxes.len() as u32;
        self.mailboxes.push(MailboxState { name: name.to_string(), waiting: VecDeque::new() });
        self.names.insert(name.to_string(), id);
        id
    }

    pub(super) fn wake(&mut self, id: ProcessId) {
        if let Some(process) = self.process_mut(id) {
            if process.is_suspended {
                process.is_due = true;
            } else if !process.is_queued {
                process.is_queued = true;
                self.ready.push_back(id);
            }
        }
    }

    fn add_op(&mut self, owner: ProcessId, what: OperationKind) -> u32 {
        let op = Op { owner, what, state: State::Running, waiters: Vec::new(), ended: 0 };
        let key = self.ops.insert(op);
        if let Some(process) = self.process_mut(owner) {
            process.ops.push(key);
        }
        key
    }

    /// Begins a computation, a disk operation or a sleep.
    pub(super) fn begin(
        &mut self,
        owner: ProcessId,
        activity: Activity,
        what: fn(ActivityId) -> OperationKind,
    ) -> u32 {
        // The tag is that of the operation, which is not there yet.
        let place = self.add_op(owner, OperationKind::Join(owner));
        match self.simulation.start(activity, u64::from(place) << 1) {
            Ok(id) => {
                if let Some(op) = self.ops.get_mut(place) {
                    op.what = what(id);
                }
            }
            Err(error) => {
                self.error.get_or_insert(error);
                self.finish(place, State::Failed(Interrupted::Cancelled));
            }
        }
        place
    }

    /// An operation that ends when a process does.
    pub(super) fn join(&mut self, owner: ProcessId, other: ProcessId) -> u32 {
        let place = self.add_op(owner, OperationKind::Join(other));
        match self.process_mut(other) {
            Some(process) => process.joins.push(place),
            None => self.finish(place, State::Done(None)),
        }
        place
    }

    pub(super) fn send(
        &mut self,
        owner: ProcessId,
        mailbox: u32,
        message: M,
        (bytes, rate): (f64, f64),
        is_detached: bool,
    ) -> Option<u32> {
        let host = self.process(owner).map(|process| process.host)?;
        let op = (!is_detached).then(|| self.add_op(owner, OperationKind::Send(0)));
        let side = Side { host, op };
        let waiting = self.first_waiting(mailbox, |comm| comm.receiver.is_some());
        let key = match waiting {
            Some(key) => {
                if let Some(comm) = self.comms.get_mut(key) {
                    comm.sender = Some(side);
                    comm.message = Some(message);
                    (comm.bytes, comm.rate) = (bytes, comm.rate.min(rate));
                }
                key
            }
            None => {
                let comm = Comm {
                    mailbox,
                    sender: Some(side),
                    receiver: None,
                    bytes,
                    rate,
                    message: Some(message),
                    activity: None,
                };
                let key = self.comms.insert(comm);
                self.mailboxes[mailbox as usize].waiting.push_back(key);
                key
            }
        };
        if let Some(op) = op.and_then(|op| self.ops.get_mut(op)) {
            op.what = OperationKind::Send(key);
        }
        if waiting.is_some() {
            self.start_comm(key);
        }
        op
    }

    pub(super) fn receive(&mut self, owner: ProcessId, mailbox: u32) -> u32 {
        let op = self.add_op(owner, OperationKind::Receive(0));
        let Some(host) = self.process(owner).map(|process| process.host) else { return op };
        let side = Side { host, op: Some(op) };
        let waiting = self.first_waiting(mailbox, |comm| comm.sender.is_some());
        let key = match waiting {
            Some(key) => {
                if let Some(comm) = self.comms.get_mut(key) {
                    comm.receiver = Some(side);
                }
                key
            }
            None => {
                let comm = Comm {
                    mailbox,
                    sender: None,
                    receiver: Some(side),
                    bytes: 0.0,
                    rate: f64::INFINITY,
                    message: None,
                    activity: None,
                };
                let key = self.comms.insert(comm);
                self.mailboxes[mailbox as usize].waiting.push_back(key);
                key
            }
        };
        if let Some(op) = self.ops.get_mut(op) {
            op.what = OperationKind::Receive(key);
        }
        if waiting.is_some() {
            self.start_comm(key);
        }
        op
    }

    /// Whether a message waits in a mailbox for a receiver.
    pub(super) fn has_message(&self, mailbox: u32) -> bool {
        let first = self.mailboxes[mailbox as usize].waiting.front();
        first.and_then(|&key| self.comms.get(key)).is_some_and(|comm| comm.sender.is_some())
    }

    fn first_waiting(&mut self, mailbox: u32, fits: impl Fn(&Comm<M>) -> bool) -> Option<u32> {
        let waiting = &mut self.mailboxes[mailbox as usize].waiting;
        let first = *waiting.front()?;
        if !self.comms.get(first).is_some_and(fits) {
            return None;
        }
        waiting.pop_front()
    }

    fn start_comm(&mut self, key: u32) {
        let Some(comm) = self.comms.get(key) else { return };
        let (Some(sender), Some(receiver)) = (comm.sender, comm.receiver) else { return };
        let (bytes, rate) = (comm.bytes, comm.rate);
        let transfer = Transfer { src: sender.host, dst: receiver.host, bytes, rate };
        match self.simulation.start(transfer, u64::from(key) << 1 | 1) {
            Ok(id) => {
                if let Some(comm) = self.comms.get_mut(key) {
                    comm.activity = Some(id);
                }
            }
            Err(error) => {
                self.error.get_or_insert(error);
                self.end_comm(key, Some(Interrupted::Network));
            }
        }
    }

    /// A transfer is over, well or not; both sides get to know.
    fn end_comm(&mut self, key: u32, why: Option<Interrupted>) {
        let Some(comm) = self.comms.remove(key) else { return };
        let Comm { mailbox, sender, receiver, mut message, activity, .. } = comm;
        if activity.is_none() {
            self.mailboxes[mailbox as usize].waiting.retain(|&other| other != key);
        }
        let ops = [(sender, false), (receiver, true)];
        for (side, receives) in ops {
            let Some(op) = side.and_then(|side| side.op) else { continue };
            let state = match why {
                Some(why) => State::Failed(why),
                None => State::Done(if receives { message.take() } else { None }),
            };
            self.finish(op, state);
        }
    }

    pub(super) fn finish(&mut self, key: u32, state: State<M>) {
        self.ended += 1;
        let ended = self.ended;
        let Some(op) = self.ops.get_mut(key) else { return };
        if !matches!(op.state, State::Running) {
            return;
        }
        op.state = state;
        op.ended = ended;
        let waiters = std::mem::take(&mut op.waiters);
        waiters.into_iter().for_each(|id| self.wake(id));
    }

    /// Drops an operation whose handle is gone: it is cancelled if it runs.
    pub(super) fn release(&mut self, key: u32) -> Option<Op<M>> {
        if self.ops.get(key).is_some_and(|op| matches!(op.state, State::Running)) {
            self.interrupt(key, Interrupted::Network);
        }
        let op = self.ops.remove(key)?;
        if let Some(process) = self.process_mut(op.owner)
            && let Some(at) = process.ops.iter().position(|other| *other == key)
        {
            process.ops.swap_remove(at);
        }
        if let OperationKind::Join(other) = op.what
            && let Some(process) = self.process_mut(other)
        {
            process.joins.retain(|join| *join != key);
        }
        Some(op)
    }

    /// Stops an operation; the other side of a transfer gets to know why.
    pub(super) fn interrupt(&mut self, key: u32, why: Interrupted) {
        let Some(op) = self.ops.get(key) else { return };
        if !matches!(op.state, State::Running) {
            return;
        }
        match op.what {
            OperationKind::Send(comm) | OperationKind::Receive(comm) => {
                if let Some(id) = self.comms.get(comm).and_then(|comm| comm.activity) {
                    self.cancel(id);
                }
                self.end_comm(comm, Some(why));
            }
            OperationKind::Join(_) => self.finish(key, State::Failed(why)),
            OperationKind::Compute(id) | OperationKind::Io(id) | OperationKind::Sleep(id) => {
                self.cancel(id);
                self.finish(key, State::Failed(why));
            }
        }
    }

    fn cancel(&mut self, id: ActivityId) {
        if let Err(error) = self.simulation.cancel(id) {
            self.error.get_or_insert(error);
        }
    }

    /// Detaches the sending side, which ignores the outcome: the transfer continues without it.
    pub(super) fn detach(&mut self, key: u32) {
        let Some(op) = self.ops.get_mut(key) else { return };
        if let OperationKind::Send(comm) = op.what
            && matches!(op.state, State::Running)
        {
            op.state = State::Done(None);
            if let Some(sender) = self.comms.get_mut(comm).and_then(|comm| comm.sender.as_mut()) {
                sender.op = None;
            }
        }
        self.release(key);
    }

    /// Stops or resumes everything that a process has under way but its sleeps.
    pub(super) fn hold(&mut self, id: ProcessId, is_held: bool) {
        let Some(process) = self.process_mut(id) else { return };
        if process.is_suspended == is_held {
            return;
        }
        process.is_suspended = is_held;
        let is_due = !is_held && std::mem::take(&mut process.is_due);
        let ops = process.ops.clone();
        for key in ops {
            let Some(op) = self.ops.get(key) else { continue };
            let activity = match op.what {
                OperationKind::Send(comm) | OperationKind::Receive(comm) => {
                    self.comms.get(comm).and_then(|comm| comm.activity)
                }
                OperationKind::Compute(id) | OperationKind::Io(id) => Some(id),
                // Sleeps and joins continue while the process is suspended.
                OperationKind::Sleep(_) | OperationKind::Join(_) => None,
            };
            if let (Some(activity), State::Running) = (activity, &op.state) {
                if is_held {
                    self.simulation.suspend(activity);
                } else {
                    self.simulation.resume(activity);
                }
            }
        }
        if is_due {
            self.wake(id);
        }
    }

    /// Ends operations at the instant that the simulation has reached; returns the hosts that went
    /// off or on.
    pub(super) fn collect(&mut self) -> Vec<(HostId, bool)> {
        let mut hosts = Vec::new();
        for event in self.simulation.events().to_vec() {
            match event {
                Event::Done { tag, .. } if tag & 1 == 1 => self.end_comm((tag >> 1) as u32, None),
                Event::Done { tag, .. } => self.finish((tag >> 1) as u32, State::Done(None)),
                Event::Failed { tag, .. } if tag & 1 == 1 => {
                    self.end_comm((tag >> 1) as u32, Some(Interrupted::Network));
                }
                Event::Failed { tag, .. } => {
                    self.finish((tag >> 1) as u32, State::Failed(Interrupted::Host));
                }
                Event::HostState { host, on } => hosts.push((host, on)),
                _ => {}
            }
        }
        hosts
    }

    /// Whether a process will begin again when its host comes back.
    pub(super) fn can_restart(&self) -> bool {
        self.restarts.iter().any(|restart| !restart.is_daemon) && self.awaits_hosts()
    }

    /// Whether a process waits for a host that has a change to come.
    pub(super) fn awaits_hosts(&self) -> bool {
        !self.restarts.is_empty() && self.simulation.revives(self.simulation.clock())
    }

    /// Takes what would start processes again: it holds them, and they the core.
    pub(super) fn take_factories(&mut self) -> Vec<Factory<'p, M>> {
        let all = self.processes.places.iter_mut().flatten();
        all.filter_map(|process| process.factory.take()).collect()
    }

    /// Describes the operations that living processes wait for, at most so many processes.
    pub(super) fn waiting(&self, most: usize) -> Vec<String> {
        let platform = self.simulation.platform();
        let mut all: Vec<(u64, String)> = Vec::new();
        for (_, process) in self.processes.iter().filter(|(_, process)| !process.is_daemon) {
            let running = process.ops.iter().filter_map(|key| self.ops.get(*key));
            let running = running.filter(|op| matches!(op.state, State::Running));
            let what: Vec<String> = running.map(|op| self.describe(op.what)).collect();
            let what = if process.is_suspended {
                "is suspended".to_string()
            } else if what.is_empty() {
                "waits for nothing that was begun".to_string()
            } else {
                what.join(" and ")
            };
            let host = &platform.host(process.host).name;
            all.push((process.number, format!("`{}` on `{host}` {what}", process.name)));
        }
        all.sort_unstable_by_key(|(number, _)| *number);
        let more = all.len().saturating_sub(most);
        let mut lines: Vec<String> = all.into_iter().take(most).map(|(_, line)| line).collect();
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines
    }

    fn describe(&self, what: OperationKind) -> String {
        let mailbox = |key: u32| {
            let comm = self.comms.get(key);
            comm.map_or("", |comm| self.mailboxes[comm.mailbox as usize].name.as_str())
        };
        match what {
            OperationKind::Compute(_) => "computes".into(),
            OperationKind::Io(_) => "reads or writes".into(),
            OperationKind::Sleep(_) => "sleeps".into(),
            OperationKind::Send(key) => format!("waits for a receiver at `{}`", mailbox(key)),
            OperationKind::Receive(key) => format!("waits for a message at `{}`", mailbox(key)),
            OperationKind::Join(other) => match self.process(other) {
                Some(process) => format!("waits for the end of `{}`", process.name),
                None => "waits for the end of a process".into(),
            },
        }
    }
}
