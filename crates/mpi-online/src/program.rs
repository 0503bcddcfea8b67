//! A running program as the source of actions of the replay: requests of ranks become actions, data wait here for
//! their receives, and results of collectives are computed from the inputs of all members.

use crate::launch::{Compute, Processes};
use crate::protocol::{CallKind, Delivery, Plan, Reply, Request};
use crate::reduce;
use crate::ring::{Reader, Writer};
use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use slackline_mpi::ReplayError;
use slackline_mpi::action::{Action, Call, Envelope, Kind, Line, Mode, Which};
use slackline_mpi::live::{Joined, Matched, NextAction, Outcome, Program};
use slackline_mpi::trace::write_line;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::fd::{AsRawFd, OwnedFd};

/// The connection to a rank.
pub(crate) struct Lane {
    reader: Reader,
    writer: Writer,
    /// A request that was read and waits until the computation before it is done.
    pending: Option<(Request, Vec<u8>)>,
    /// Whether the present action is answered, and whether a sample is to be executed.
    answer: bool,
    sample: bool,
    /// File descriptor of the shared memory that the answer carries.
    share: Option<i32>,
    initialised: bool,
    finalized: bool,
    /// Flop per second of CPU time on this machine.
    rate: f64,
}

impl Lane {
    pub(crate) fn new(reader: Reader, writer: Writer, rate: f64) -> Lane {
        let (answer, sample, initialised, finalized) = (false, false, false, false);
        let (pending, share) = (None, None);
        Lane { reader, writer, pending, answer, sample, share, initialised, finalized, rate }
    }
}

/// The contribution of a rank to a collective.
struct Input {
    plan: Plan,
    root: u32,
    op: u32,
    datatype: u32,
    blocks: Vec<u64>,
    data: Vec<u8>,
}

/// A collective from which not all members have taken their result.
struct Joint {
    inputs: Vec<Option<Input>>,
    taken: usize,
    /// Reductions of the first k ranks, by k.
    reduced: Vec<Option<Vec<u8>>>,
}

/// The part of a rank in a collective whose result it has not taken.
struct Taking {
    /// Communicator and number of the collective in it.
    joint: (u32, u64),
    /// Rank in the communicator.
    me: usize,
}

/// Data that have met their receive.
struct Arrived {
    src: u32,
    tag: i32,
    data: Vec<u8>,
}

/// A block of code of which some executions are timed, and others take their mean.
#[derive(Default)]
struct Sample {
    /// Executions that were begun and ended, and seconds of the latter.
    begun: u32,
    count: u32,
    seconds: f64,
}

/// A program that runs.
pub(crate) struct Running<'a> {
    lanes: Vec<Lane>,
    processes: &'a Processes,
    compute: Compute,
    /// Shortest computation between two calls that counts, in seconds.
    threshold: f64,
    // By rank and number of the request.
    sends: HashMap<(u32, u32), Vec<u8>>,
    arrived: HashMap<(u32, u32), Arrived>,
    inputs: HashMap<(u32, u32), Input>,
    joints: HashMap<(u32, u64), Joint>,
    taking: HashMap<(u32, u32), Taking>,
    samples: HashMap<Vec<u8>, Sample>,
    /// Memory that ranks share, by name.
    shares: HashMap<Vec<u8>, OwnedFd>,
    /// Lines of the trace, per rank.
    pub(crate) record: Option<Vec<Vec<u8>>>,
    buffer: Vec<u8>,
    /// Ranks that have not called MPI_Init.
    to_come: usize,
    on_start: Option<Box<dyn FnOnce() + 'a>>,
}

impl<'a> Running<'a> {
    pub(crate) fn new(
        lanes: Vec<Lane>,
        processes: &'a Processes,
        (compute, threshold): (Compute, f64),
        records: bool,
        on_start: Box<dyn FnOnce() + 'a>,
    ) -> Running<'a> {
        let ranks = lanes.len();
        Running {
            lanes,
            processes,
            compute,
            threshold,
            sends: HashMap::new(),
            arrived: HashMap::new(),
            inputs: HashMap::new(),
            joints: HashMap::new(),
            taking: HashMap::new(),
            samples: HashMap::new(),
            shares: HashMap::new(),
            record: records.then(|| vec![Vec::new(); ranks]),
            buffer: Vec::new(),
            to_come: ranks,
            on_start: Some(on_start),
        }
    }

    /// Reads the next request of a rank.
    fn read(&mut self, rank: u32) -> Result<(Request, Vec<u8>), ReplayError> {
        let processes = self.processes;
        let mut alive = || processes.may_continue(rank);
        match read_record(&mut self.lanes[rank as usize].reader, &mut self.buffer, &mut alive) {
            Some(Some(record)) => Ok(record),
            Some(None) => {
                let text = format!("rank {rank} sent a record that cannot be decoded");
                Err(ReplayError::Program(text))
            }
            None => Err(self.broken(rank)),
        }
    }

    /// The reason why the ranks cannot continue: the message of an abort, or the end of a process.
    fn broken(&mut self, rank: u32) -> ReplayError {
        let culprit = self.processes.culprit().unwrap_or(rank);
        let lane = &mut self.lanes[culprit as usize];
        let mut last = None;
        let (mut initialised, mut finalized) = (lane.initialised, lane.finalized);
        while lane.reader.has_bytes() {
            let read = read_record(&mut lane.reader, &mut self.buffer, &mut || false);
            let Some(Some((request, data))) = read else { break };
            initialised |= request.what == CallKind::Init;
            finalized |= request.what == CallKind::Finalize;
            last = Some((request.what, data));
        }
        if let Some((CallKind::Abort, text)) = last {
            return aborted(culprit, &text);
        }
        let end = self.processes.describe_end(culprit);
        let how = match (initialised, finalized) {
            (false, _) => "without calling MPI_Init (is it an MPI program, linked dynamically?)",
            (_, false) => "without calling MPI_Finalize",
            _ => "after MPI_Finalize",
        };
        ReplayError::Program(format!("rank {culprit} {end} {how}"))
    }

    /// Converts a request to an action of the replay; its data are kept until a receive or a collective takes them.
    fn line(
        &mut self,
        rank: u32,
        request: Request,
        data: Vec<u8>,
    ) -> Result<NextAction, ReplayError> {
        let lane = &mut self.lanes[rank as usize];
        lane.answer = request.answer;
        lane.sample = false;
        let key = (rank, request.number);
        let sized = Envelope { peer: request.peer, tag: request.tag, bytes: Some(request.bytes) };
        let wanted = Envelope { bytes: None, ..sized };
        let mode = if request.kind == 1 { Mode::Synchronous } else { Mode::Standard };
        let numbers = || Which::Numbers(request.numbers.clone().into());
        let mut line = Line::plain(Action::Nothing);
        let mut quiet = false;
        line.comm = request.comm;
        line.request = (request.number != u32::MAX).then_some(request.number);
        line.action = match request.what {
            CallKind::Init => {
                lane.initialised = true;
                self.to_come -= 1;
                if self.to_come == 0
                    && let Some(start) = self.on_start.take()
                {
                    start();
                }
                Action::Init
            }
            CallKind::Finalize => {
                lane.finalized = true;
                Action::Finalize
            }
            CallKind::Compute => Action::Compute(request.amount),
            CallKind::Sleep => Action::Sleep(request.amount),
            CallKind::Send => {
                self.sends.insert(key, data);
                Action::Send(sized, mode)
            }
            CallKind::Isend => {
                self.sends.insert(key, data);
                Action::Isend(sized, mode)
            }
            CallKind::Put => {
                self.sends.insert(key, data);
                Action::Put(sized, mode)
            }
            CallKind::Get => Action::Get(sized),
            CallKind::Window => Action::CommWindow(request.new_comm),
            CallKind::Recv => Action::Recv(sized),
            CallKind::Irecv => Action::Irecv(sized),
            CallKind::Wait => Action::Wait(numbers()),
            CallKind::Waitany => Action::Waitany(numbers()),
            CallKind::Waitsome => Action::Waitsome(numbers()),
            CallKind::Test => Action::Test(numbers()),
            CallKind::Testany => Action::Testany(numbers()),
            CallKind::Testsome => Action::Testsome(numbers()),
            CallKind::Cancel => Action::Cancel(numbers()),
            CallKind::Probe => Action::Poll(wanted),
            CallKind::Iprobe => Action::Iprobe(wanted),
            CallKind::Collective | CallKind::Icollective | CallKind::Split => {
                let root =
                    if request.what == CallKind::Split { 0 } else { request.peer.max(0) as u32 };
                let input = Input {
                    plan: request.plan,
                    root,
                    op: request.op,
                    datatype: request.datatype,
                    blocks: request.blocks.clone(),
                    data,
                };
                self.inputs.insert(key, input);
                match request.what {
                    CallKind::Collective => Action::Collective(Box::new(call(request))),
                    CallKind::Icollective => Action::Icollective(Box::new(call(request))),
                    _ => Action::CommSplit {
                        id: request.new_comm,
                        colour: (request.peer >= 0).then_some(request.peer),
                        key: request.tag,
                    },
                }
            }
            CallKind::Dup => Action::CommDup(request.new_comm),
            CallKind::Create => Action::CommCreate(request.new_comm, request.numbers.into()),
            CallKind::Group => Action::CommGroup(request.new_comm, request.numbers.into()),
            CallKind::Date => {
                quiet = true;
                Action::Nothing
            }
            CallKind::Abort => return Err(aborted(rank, &data)),
            CallKind::Sample => {
                let sample = self.samples.entry(data).or_default();
                if sample.begun < request.number || sample.count == 0 {
                    sample.begun += 1;
                    (lane.sample, quiet) = (true, true);
                    Action::Nothing
                } else {
                    Action::Compute(sample.seconds / f64::from(sample.count) * lane.rate)
                }
            }
            CallKind::Share => {
                quiet = true;
                let fd = match self.shares.entry(data) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => entry.insert(share().map_err(|e| {
                        ReplayError::Program(format!("no memory for ranks to share: {e}"))
                    })?),
                };
                // The memory has the largest size that any rank has requested.
                let size = fstat(&*fd).map_or(0, |stat| stat.st_size as u64);
                if size < request.bytes {
                    lane.share = ftruncate(&*fd, request.bytes).ok().map(|()| fd.as_raw_fd());
                } else {
                    lane.share = Some(fd.as_raw_fd());
                }
                Action::Nothing
            }
            CallKind::Sampled => {
                let sample = self.samples.entry(data).or_default();
                sample.count += 1;
                sample.seconds += request.amount;
                // Where computations are measured, this one has counted already.
                quiet = self.compute == Compute::Measure;
                Action::Compute(request.amount * lane.rate)
            }
        };
        if matches!(line.action, Action::Compute(_)) {
            line.request = None;
            quiet |= self.compute == Compute::None;
        }
        Ok(NextAction { line, quiet })
    }

    /// The result of a rank in a collective: sizes of the parts, and data.
    fn result(&mut self, taking: &Taking) -> (Vec<u64>, Vec<u8>) {
        let nothing = (Vec::new(), Vec::new());
        let Some(joint) = self.joints.get_mut(&taking.joint) else { return nothing };
        let me = taking.me;
        let Some(mine) = &joint.inputs[me] else { return nothing };
        let (plan, root, op) = (mine.plan, mine.root as usize, mine.op);
        let inputs = &joint.inputs;
        let size = inputs.len();
        let all = |ranks: std::ops::Range<usize>| {
            let inputs = inputs[ranks].iter().flatten();
            let lengths = inputs.clone().map(|input| input.data.len() as u64).collect();
            let mut data = Vec::new();
            inputs.for_each(|input| data.extend_from_slice(&input.data));
            (lengths, data)
        };
        let ranks = match plan {
            Plan::Scan => 0..me + 1,
            Plan::Exscan => 0..me,
            _ => 0..size,
        };
        match plan {
            Plan::Nothing => nothing,
            Plan::FromRoot | Plan::ToRoot | Plan::ReduceToRoot
                if (me == root) == (plan == Plan::FromRoot) =>
            {
                nothing
            }
            Plan::FromRoot => all(root..root + 1),
            Plan::BlockOfRoot => {
                let data = block(inputs, root, me).to_vec();
                (vec![data.len() as u64], data)
            }
            Plan::ToRoot | Plan::All => all(0..size),
            Plan::Blocks => {
                let blocks: Vec<&[u8]> = (0..size).map(|from| block(inputs, from, me)).collect();
                (blocks.iter().map(|b| b.len() as u64).collect(), blocks.concat())
            }
            _ if ranks.is_empty() => nothing,
            // A reduction by a function of the program: the rank carries it out itself.
            _ if op == 0 => all(ranks),
            _ => {
                let mut data = reduced(joint, ranks.end).to_vec();
                if plan == Plan::ReduceBlock
                    && let Some(input) = &joint.inputs[me]
                {
                    let start = input.blocks[..me].iter().sum::<u64>() as usize;
                    data = data[start..start + input.blocks[me] as usize].to_vec();
                }
                (vec![data.len() as u64], data)
            }
        }
    }
}

fn share() -> std::io::Result<OwnedFd> {
    Ok(memfd_create("slackline-mpi-shared", MemfdFlags::CLOEXEC)?)
}

/// Reads a record with its data: `None` when the rank has ended, `Some(None)` where it cannot be decoded.
fn read_record(
    reader: &mut Reader,
    buffer: &mut Vec<u8>,
    alive: &mut dyn FnMut() -> bool,
) -> Option<Option<(Request, Vec<u8>)>> {
    let mut length = [0; 4];
    if !reader.read(&mut length, alive) {
        return None;
    }
    buffer.resize(u32::from_le_bytes(length) as usize, 0);
    if !reader.read(buffer, alive) {
        return None;
    }
    let Some(request) = Request::decode(buffer) else { return Some(None) };
    let mut data = vec![0; request.data as usize];
    reader.read(&mut data, alive).then_some(Some((request, data)))
}

/// The block for rank `of` in the input of rank `from`.
fn block(inputs: &[Option<Input>], from: usize, of: usize) -> &[u8] {
    let Some(input) = &inputs[from] else { return &[] };
    let start = input.blocks[..of.min(input.blocks.len())].iter().sum::<u64>() as usize;
    let length = input.blocks.get(of).copied().unwrap_or(0) as usize;
    input.data.get(start..start + length).unwrap_or_default()
}

/// The reduction of the first ranks, in rank order, computed once.
fn reduced(joint: &mut Joint, ranks: usize) -> &[u8] {
    if joint.reduced.is_empty() {
        joint.reduced.resize(joint.inputs.len() + 1, None);
    }
    if joint.reduced[ranks].is_none() {
        let known = (1..ranks).rev().find(|&k| joint.reduced[k].is_some()).unwrap_or(0);
        let mut sum = joint.reduced[known].clone();
        for input in joint.inputs[known..ranks].iter().flatten() {
            let mut next = input.data.clone();
            if let Some(left) = &sum {
                reduce::combine(input.op, input.datatype, left, &mut next);
            }
            sum = Some(next);
        }
        joint.reduced[ranks] = Some(sum.unwrap_or_default());
    }
    joint.reduced[ranks].as_deref().unwrap_or_default()
}

fn aborted(rank: u32, text: &[u8]) -> ReplayError {
    ReplayError::Program(format!("rank {rank}: {}", String::from_utf8_lossy(text)))
}

fn call(request: Request) -> Call {
    let kind = Kind::ALL[usize::from(request.kind).min(Kind::ALL.len() - 1)];
    let mut call = Call::new(kind, request.bytes);
    call.root = request.peer.max(0) as u32;
    call.recv_bytes = request.recv_bytes;
    call.unit = u64::from(request.unit);
    call.counts = request.counts.into();
    call.recv_counts = request.recv_counts.into();
    call.ordered = request.tag != 0;
    call
}

impl Program for Running<'_> {
    fn next(&mut self, rank: u32) -> Result<Option<NextAction>, ReplayError> {
        let lane = &mut self.lanes[rank as usize];
        if lane.finalized {
            return Ok(None);
        }
        let mut burst = None;
        let (request, data) = match lane.pending.take() {
            Some(pending) => pending,
            None => {
                let (request, data) = self.read(rank)?;
                if self.compute == Compute::Measure && request.burst > self.threshold {
                    burst = Some(request.burst);
                }
                (request, data)
            }
        };
        let asked = match burst {
            Some(seconds) => {
                let lane = &mut self.lanes[rank as usize];
                (lane.pending, lane.answer) = (Some((request, data)), false);
                let line = Line::plain(Action::Compute(seconds * lane.rate));
                NextAction { line, quiet: false }
            }
            None => self.line(rank, request, data)?,
        };
        if !asked.quiet
            && let Some(record) = &mut self.record
        {
            write_line(&mut record[rank as usize], rank, &asked.line);
        }
        Ok(Some(asked))
    }

    fn matched(&mut self, message: Matched) -> Result<(), ReplayError> {
        let data = self.sends.remove(&(message.src, message.send)).unwrap_or_default();
        let arrived = Arrived { src: message.src, tag: message.tag, data };
        self.arrived.insert((message.dst, message.receive), arrived);
        Ok(())
    }

    fn joined(&mut self, joined: Joined) -> Result<(), ReplayError> {
        let Some(input) = self.inputs.remove(&(joined.rank, joined.request)) else { return Ok(()) };
        let (joint, me) = ((joined.comm, joined.sequence), joined.me as usize);
        let entry = self.joints.entry(joint).or_insert_with(|| Joint {
            inputs: (0..joined.size).map(|_| None).collect(),
            taken: 0,
            reduced: Vec::new(),
        });
        entry.inputs[me] = Some(input);
        self.taking.insert((joined.rank, joined.request), Taking { joint, me });
        Ok(())
    }

    fn has_data(&self, rank: u32, outcome: &Outcome) -> bool {
        outcome.completed.iter().all(|&number| {
            let Some(Taking { joint, me }) = self.taking.get(&(rank, number)) else { return true };
            let Some(Joint { inputs, .. }) = self.joints.get(joint) else { return true };
            let Some(mine) = &inputs[*me] else { return true };
            let root = mine.root as usize;
            let have_joined =
                |ranks: std::ops::Range<usize>| inputs[ranks].iter().all(Option::is_some);
            match mine.plan {
                Plan::Nothing => true,
                Plan::FromRoot | Plan::BlockOfRoot => have_joined(root..root + 1),
                Plan::ToRoot | Plan::ReduceToRoot => *me != root || have_joined(0..inputs.len()),
                Plan::Scan | Plan::Exscan => have_joined(0..*me),
                _ => have_joined(0..inputs.len()),
            }
        })
    }

    fn done(&mut self, rank: u32, date: f64, outcome: &Outcome) -> Result<(), ReplayError> {
        let mut reply = Reply { date, flag: outcome.flag, ..Reply::default() };
        for &number in &outcome.completed {
            if let Some(Arrived { src, tag, data }) = self.arrived.remove(&(rank, number)) {
                let (src, parts) = (src as i32, vec![data.len() as u64]);
                reply.deliveries.push(Delivery { number, src, tag, parts, data });
            } else if let Some(taking) = self.taking.remove(&(rank, number)) {
                if self.lanes[rank as usize].answer {
                    let (parts, data) = self.result(&taking);
                    reply.deliveries.push(Delivery { number, src: -1, tag: -1, parts, data });
                }
                if let Some(joint) = self.joints.get_mut(&taking.joint) {
                    joint.taken += 1;
                    if joint.taken == joint.inputs.len() {
                        self.joints.remove(&taking.joint);
                    }
                }
            }
        }
        let lane = &mut self.lanes[rank as usize];
        if !lane.answer {
            return Ok(());
        }
        reply.flag |= lane.sample;
        if let Some(fd) = lane.share.take() {
            (reply.flag, reply.found.0) = (true, fd);
        }
        if let Some(found) = outcome.found {
            reply.found = (found.src as i32, found.tag, found.bytes);
        }
        reply.completed.clone_from(&outcome.completed);
        self.buffer.clear();
        reply.encode(&mut self.buffer);
        let processes = self.processes;
        let mut alive = || processes.may_continue(rank);
        let mut written = lane.writer.write(&self.buffer, &mut alive);
        for delivery in &reply.deliveries {
            written = written && lane.writer.write(&delivery.data, &mut alive);
        }
        lane.writer.publish(true);
        if written { Ok(()) } else { Err(self.broken(rank)) }
    }
}
