//! Collective operations: the input of each rank, and the place of the result.

use crate::call::{in_comm, mpi, put, slice};
use crate::protocol::{CallKind, Plan, Request};
use crate::reduce;
use crate::state::{
    Comm, Fault, Finish, Outcome, Parts, Pending, RequestKind, State, Status, class, fault, running,
};
use crate::types::Datatype;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// `MPI_IN_PLACE`.
const IN_PLACE: usize = usize::MAX;

// Positions in `slackline_mpi::action::Kind::ALL`.

const BARRIER: u8 = 0;
const BCAST: u8 = 1;
const REDUCE: u8 = 2;
const ALLREDUCE: u8 = 3;
const GATHER: u8 = 4;
const GATHERV: u8 = 5;
const SCATTER: u8 = 6;
const SCATTERV: u8 = 7;
const ALLGATHER: u8 = 8;
const ALLGATHERV: u8 = 9;
const ALLTOALL: u8 = 10;
const ALLTOALLV: u8 = 11;
const REDUCE_SCATTER: u8 = 12;
const SCAN: u8 = 13;
const EXSCAN: u8 = 14;

/// A rank's part in a collective: the request, its input, and the treatment of the result.
pub struct Part {
    pub request: Request,
    pub data: Vec<u8>,
    pub finish: Finish,
}

impl Part {
    pub fn new(kind: u8, plan: Plan) -> Part {
        let request = Request { kind, plan, ..Request::new(CallKind::Collective) };
        Part { request, data: Vec::new(), finish: Finish::Nothing }
    }

    fn typed(mut self, datatype: &Datatype) -> Part {
        self.request.unit = datatype.trace_unit();
        self
    }
}

/// Elements at an address.
#[derive(Clone)]
struct Block {
    at: usize,
    count: usize,
    datatype: Arc<Datatype>,
}

impl Block {
    fn new(state: &mut State, at: *const c_void, count: c_int, datatype: c_int) -> Outcome<Block> {
        let datatype = state.datatype(datatype)?;
        match usize::try_from(count) {
            Ok(count) => Ok(Block { at: at as usize, count, datatype }),
            Err(_) => fault(class::COUNT, format!("the count is {count}")),
        }
    }

    fn bytes(&self) -> u64 {
        (self.count * self.datatype.size) as u64
    }

    /// The block of the same size `k` blocks further.
    fn shifted(&self, k: usize) -> Block {
        let by = k as isize * self.count as isize * self.datatype.extent;
        Block { at: self.at.wrapping_add_signed(by), ..self.clone() }
    }

    unsafe fn pack(&self, out: &mut Vec<u8>) {
        unsafe { self.datatype.pack(self.at as *const c_void, self.count, out) };
    }

    fn place(self) -> (usize, usize, Arc<Datatype>) {
        (self.at, self.count, self.datatype)
    }

    fn finish(self) -> Finish {
        Finish::Elements { to: self.at, count: self.count, datatype: self.datatype }
    }
}

/// Blocks of different sizes, with displacements in elements.
unsafe fn blocks(
    state: &mut State,
    at: *const c_void,
    counts: *const c_int,
    displacements: *const c_int,
    datatype: c_int,
    size: usize,
) -> Outcome<Vec<Block>> {
    let (counts, offsets) = unsafe { (slice(counts, size), slice(displacements, size)) };
    let mut found = Vec::with_capacity(size);
    for (&count, &offset) in counts.iter().zip(offsets) {
        let mut block = Block::new(state, at, count, datatype)?;
        block.at = block.at.wrapping_add_signed(offset as isize * block.datatype.extent);
        found.push(block);
    }
    Ok(found)
}

/// Carries out a part: blocking, or in the background when there is an address for a request.
pub unsafe fn perform(
    comm: c_int,
    request: Option<*mut c_int>,
    part: impl FnOnce(&mut State, &Comm) -> Outcome<Part>,
) -> Outcome {
    let done = running(|state| {
        let known = state.comm(comm)?.clone();
        let mut part = part(state, &known)?;
        if part.request.peer < 0 || part.request.peer as usize >= known.size() {
            let text = format!("there is no rank {} for a root", part.request.peer);
            return Err(Fault { class: class::ROOT, comm, text });
        }
        if known.own > 0 {
            let parts = State::alone(part.request.plan, part.data);
            if let Some(place) = request {
                let handle = state.requests.add(background(None, Finish::Nothing, comm));
                // SAFETY: the program gave the address for the request.
                unsafe { put(place, handle) };
            }
            return Ok(Some((part.finish, parts)));
        }
        part.request.comm = known.id;
        part.request.number = state.number();
        if let Some(place) = request {
            part.request.what = CallKind::Icollective;
            let number = Some(part.request.number);
            state.ask(part.request, &part.data)?;
            let handle = state.requests.add(background(number, part.finish, comm));
            // SAFETY: as above.
            unsafe { put(place, handle) };
            return Ok(None);
        }
        part.request.answer = !matches!(part.finish, Finish::Nothing);
        let mut reply = state.ask(part.request, &part.data)?;
        let parts = reply.deliveries.pop();
        Ok(parts.map(|d| (part.finish, Parts { lengths: d.parts, data: d.data })))
    });
    if let Some((finish, parts)) = in_comm(comm, done)? {
        unsafe { finish.run(&parts) };
    }
    Ok(())
}

fn background(number: Option<u32>, finish: Finish, comm: c_int) -> Pending {
    Pending {
        number,
        kind: RequestKind::Collective,
        finish,
        comm,
        status: Status::EMPTY,
        active: true,
        prepared: None,
    }
}

/// The two groups of an inter-communicator. Every collective between them is an alltoallv over the members of both, in
/// which most blocks are empty.
struct Between {
    /// First member of the other group among all members, its size, and that of both.
    start: usize,
    count: usize,
    total: usize,
}

/// The part of a rank in an operation with a root.
enum End {
    Root,
    /// In the group of the root.
    Idle,
    /// In the other group; the root is this rank of the root's group.
    Of(usize),
}

impl Between {
    fn of(known: &Comm) -> Option<Between> {
        let count = known.remote.as_ref()?.ranks.len();
        Some(Between { start: known.index(0) as usize, count, total: known.total() })
    }

    fn end(&self, root: c_int) -> Outcome<End> {
        match usize::try_from(root) {
            Ok(rank) if rank < self.count => Ok(End::Of(rank)),
            _ if root == -3 => Ok(End::Root),
            _ if root == crate::state::PROC_NULL => Ok(End::Idle),
            _ => fault(class::ROOT, format!("there is no rank {root} for a root")),
        }
    }

    /// Blocks for ranks of the other group (none: for none of them), and bytes from each of them.
    unsafe fn part(&self, sent: &[Block], received: &[u64], finish: Finish) -> Part {
        let mut part = Part::new(ALLTOALLV, Plan::Blocks);
        part.request.blocks = vec![0; self.total];
        part.request.recv_counts = vec![0; self.total];
        for (k, block) in sent.iter().enumerate() {
            unsafe { block.pack(&mut part.data) };
            part.request.blocks[self.start + k] = block.bytes();
        }
        for (k, &bytes) in received.iter().enumerate() {
            part.request.recv_counts[self.start + k] = bytes;
        }
        part.request.counts.clone_from(&part.request.blocks);
        part.finish = match finish {
            Finish::Nothing => Finish::Nothing,
            finish => Finish::Some(self.start..self.start + self.count, Box::new(finish)),
        };
        part
    }

    /// A block for one rank of the other group.
    unsafe fn to(&self, rank: usize, block: Block) -> Part {
        let empty = Block { count: 0, ..block.clone() };
        let sent: Vec<Block> = (0..self.count)
            .map(|k| if k == rank { block.clone() } else { empty.clone() })
            .collect();
        unsafe { self.part(&sent, &[], Finish::Nothing) }
    }

    /// A block from one rank of the other group.
    unsafe fn from(&self, rank: usize, block: Block) -> Part {
        let mut received = vec![0; self.count];
        received[rank] = block.bytes();
        unsafe { self.part(&[], &received, block.finish()) }
    }

    unsafe fn nothing(&self) -> Part {
        unsafe { self.part(&[], &[], Finish::Nothing) }
    }
}

fn places(blocks: Vec<Block>) -> Finish {
    Finish::Placed(blocks.into_iter().map(Block::place).collect())
}

fn sizes(blocks: &[Block]) -> Vec<u64> {
    blocks.iter().map(Block::bytes).collect()
}

/// Blocks to and from the neighbours in a grid or graph. Several for the same rank follow each other.
unsafe fn around(known: &Comm, sent: Vec<Block>, received: Vec<Block>) -> Outcome<Part> {
    let (sources, destinations) = crate::communicator::neighbours(known)?;
    let is_grid = known.topology.as_ref().is_some_and(|t| t.graph.is_none() && t.edges.is_none());
    let mut part = Part::new(ALLTOALLV, Plan::Blocks);
    let mut places = Vec::new();
    for rank in 0..known.size() as c_int {
        let mut bytes = 0;
        for (block, _) in sent.iter().zip(&destinations).filter(|(_, to)| **to == rank) {
            unsafe { block.pack(&mut part.data) };
            bytes += block.bytes();
        }
        part.request.blocks.push(bytes);
        let mut from: Vec<usize> = (0..received.len()).filter(|&k| sources[k] == rank).collect();
        if is_grid {
            // The block sent to the lower neighbour of a dimension arrives there as that of its upper neighbour.
            from.sort_unstable_by_key(|k| k ^ 1);
        }
        let blocks: Vec<Block> = from.into_iter().map(|k| received[k].clone()).collect();
        part.request.recv_counts.push(blocks.iter().map(Block::bytes).sum());
        places.push(blocks.into_iter().map(Block::place).collect());
    }
    part.request.counts.clone_from(&part.request.blocks);
    part.finish = Finish::Spread(places);
    Ok(part)
}

/// Numbers of blocks that a neighbourhood collective sends and receives.
fn degrees(known: &Comm) -> Outcome<(usize, usize)> {
    let (sources, destinations) = crate::communicator::neighbours(known)?;
    Ok((destinations.len(), sources.len()))
}

unsafe fn neighbour_gather(
    send: (*const c_void, c_int, c_int),
    recv: (*mut c_void, c_int, c_int),
    several: Option<(*const c_int, *const c_int)>,
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        let (out, into) = degrees(known)?;
        let sent = vec![Block::new(state, send.0, send.1, send.2)?; out];
        let received = match several {
            Some((counts, offsets)) => unsafe {
                blocks(state, recv.0, counts, offsets, recv.2, into)?
            },
            None => {
                let block = Block::new(state, recv.0, recv.1, recv.2)?;
                (0..into).map(|k| block.shifted(k)).collect()
            }
        };
        unsafe { around(known, sent, received) }
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn neighbour_alltoall(pair: Pair, comm: c_int, request: Option<*mut c_int>) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        let (out, into) = degrees(known)?;
        let send = Block::new(state, pair.send.0, pair.send.1, pair.send.2)?;
        let recv = Block::new(state, pair.recv.0, pair.recv.1, pair.recv.2)?;
        let all = |block: Block, n| (0..n).map(|k| block.shifted(k)).collect();
        unsafe { around(known, all(send, out), all(recv, into)) }
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn neighbour_alltoallv(
    send: Several,
    recv: Several,
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        let (out, into) = degrees(known)?;
        let sent = unsafe { blocks(state, send.0, send.1, send.2, send.3, out)? };
        let received = unsafe { blocks(state, recv.0, recv.1, recv.2, recv.3, into)? };
        unsafe { around(known, sent, received) }
    };
    unsafe { perform(comm, request, part) }
}

/// Buffers with a displacement in bytes and a datatype each: address, counts, displacements, datatypes.
type Addressed = (*const c_void, *const c_int, *const isize, *const c_int);

unsafe fn neighbour_alltoallw(
    send: Addressed,
    recv: Addressed,
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        let (out, into) = degrees(known)?;
        let mut list = |(at, counts, offsets, types): Addressed, n: usize| -> Outcome<Vec<Block>> {
            let (counts, types) = unsafe { (slice(counts, n), slice(types, n)) };
            let offsets = unsafe { slice(offsets, n) };
            (0..n)
                .map(|k| {
                    let at = at.cast::<u8>().wrapping_offset(offsets[k]);
                    Block::new(state, at.cast(), counts[k], types[k])
                })
                .collect()
        };
        let (sent, received) = (list(send, out)?, list(recv, into)?);
        unsafe { around(known, sent, received) }
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn barrier(comm: c_int, request: Option<*mut c_int>) -> Outcome {
    unsafe { perform(comm, request, |_, _| Ok(Part::new(BARRIER, Plan::Nothing))) }
}

unsafe fn bcast(
    buffer: *mut c_void,
    (count, datatype): (c_int, c_int),
    root: c_int,
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            let block = Block::new(state, buffer, count, datatype)?;
            return Ok(match between.end(root)? {
                End::Root => unsafe {
                    between.part(&vec![block; between.count], &[], Finish::Nothing)
                },
                End::Idle => unsafe { between.nothing() },
                End::Of(rank) => unsafe { between.from(rank, block) },
            });
        }
        let block = Block::new(state, buffer, count, datatype)?;
        let mut part = Part::new(BCAST, Plan::FromRoot).typed(&block.datatype);
        (part.request.bytes, part.request.peer) = (block.bytes(), root);
        if known.me as i32 == root {
            unsafe { block.pack(&mut part.data) };
        } else {
            part.finish = block.finish();
        }
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

/// The buffers sent and received, one block each: address, elements, type.
#[derive(Clone, Copy)]
struct Pair {
    send: (*const c_void, c_int, c_int),
    recv: (*mut c_void, c_int, c_int),
}

unsafe fn gather(pair: Pair, root: c_int, comm: c_int, request: Option<*mut c_int>) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            return Ok(match between.end(root)? {
                End::Root => {
                    let block = Block::new(state, pair.recv.0, pair.recv.1, pair.recv.2)?;
                    let all: Vec<Block> = (0..between.count).map(|k| block.shifted(k)).collect();
                    unsafe { between.part(&[], &sizes(&all), places(all)) }
                }
                End::Idle => unsafe { between.nothing() },
                End::Of(rank) => {
                    let block = Block::new(state, pair.send.0, pair.send.1, pair.send.2)?;
                    unsafe { between.to(rank, block) }
                }
            });
        }
        let is_root = known.me as i32 == root;
        let mut part = Part::new(GATHER, Plan::ToRoot);
        let in_place = pair.send.0 as usize == IN_PLACE;
        let mut sent = None;
        if !(is_root && in_place) {
            let block = Block::new(state, pair.send.0, pair.send.1, pair.send.2)?;
            (part.request.bytes, part.request.recv_bytes) = (block.bytes(), block.bytes());
            part = part.typed(&block.datatype);
            sent = Some(block);
        }
        if is_root {
            let block = Block::new(state, pair.recv.0, pair.recv.1, pair.recv.2)?;
            part.request.recv_bytes = block.bytes();
            let sent = sent.get_or_insert_with(|| block.shifted(known.me));
            part.request.bytes = sent.bytes();
            part = part.typed(&block.datatype);
            let places = (0..known.size()).map(|k| block.shifted(k).place()).collect();
            part.finish = Finish::Placed(places);
        }
        if let Some(block) = sent {
            unsafe { block.pack(&mut part.data) };
        }
        part.request.peer = root;
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn gatherv(
    send: (*const c_void, c_int, c_int),
    (recvbuf, counts, offsets, datatype): (*mut c_void, *const c_int, *const c_int, c_int),
    root: c_int,
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            return Ok(match between.end(root)? {
                End::Root => {
                    let n = between.count;
                    let all = unsafe { blocks(state, recvbuf, counts, offsets, datatype, n)? };
                    unsafe { between.part(&[], &sizes(&all), places(all)) }
                }
                End::Idle => unsafe { between.nothing() },
                End::Of(rank) => {
                    let block = Block::new(state, send.0, send.1, send.2)?;
                    unsafe { between.to(rank, block) }
                }
            });
        }
        let is_root = known.me as i32 == root;
        let mut part = Part::new(GATHERV, Plan::ToRoot);
        part.request.peer = root;
        part.request.counts = vec![0; known.size()];
        let mut places = Vec::new();
        if is_root {
            places = unsafe { blocks(state, recvbuf, counts, offsets, datatype, known.size())? };
            part.request.counts = places.iter().map(Block::bytes).collect();
        }
        let sent = if send.0 as usize == IN_PLACE && is_root {
            places[known.me].clone()
        } else {
            Block::new(state, send.0, send.1, send.2)?
        };
        part = part.typed(&sent.datatype);
        part.request.bytes = sent.bytes();
        if !is_root {
            part.request.counts[known.me] = sent.bytes();
        } else {
            part.finish = Finish::Placed(places.into_iter().map(Block::place).collect());
        }
        unsafe { sent.pack(&mut part.data) };
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn scatter(pair: Pair, root: c_int, comm: c_int, request: Option<*mut c_int>) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            return Ok(match between.end(root)? {
                End::Root => {
                    let block = Block::new(state, pair.send.0, pair.send.1, pair.send.2)?;
                    let all: Vec<Block> = (0..between.count).map(|k| block.shifted(k)).collect();
                    unsafe { between.part(&all, &[], Finish::Nothing) }
                }
                End::Idle => unsafe { between.nothing() },
                End::Of(rank) => {
                    let block = Block::new(state, pair.recv.0, pair.recv.1, pair.recv.2)?;
                    unsafe { between.from(rank, block) }
                }
            });
        }
        let is_root = known.me as i32 == root;
        let mut part = Part::new(SCATTER, Plan::BlockOfRoot);
        part.request.peer = root;
        if pair.recv.0 as usize != IN_PLACE {
            let block = Block::new(state, pair.recv.0, pair.recv.1, pair.recv.2)?;
            (part.request.bytes, part.request.recv_bytes) = (block.bytes(), block.bytes());
            part = part.typed(&block.datatype);
            part.finish = block.finish();
        }
        if is_root {
            let block = Block::new(state, pair.send.0, pair.send.1, pair.send.2)?;
            part.request.bytes = block.bytes();
            if pair.recv.0 as usize == IN_PLACE {
                part.request.recv_bytes = block.bytes();
            }
            part = part.typed(&block.datatype);
            for k in 0..known.size() {
                unsafe { block.shifted(k).pack(&mut part.data) };
            }
            part.request.blocks = vec![block.bytes(); known.size()];
        }
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn scatterv(
    (sendbuf, counts, offsets, datatype): (*const c_void, *const c_int, *const c_int, c_int),
    recv: (*mut c_void, c_int, c_int),
    root: c_int,
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            return Ok(match between.end(root)? {
                End::Root => {
                    let n = between.count;
                    let all = unsafe { blocks(state, sendbuf, counts, offsets, datatype, n)? };
                    unsafe { between.part(&all, &[], Finish::Nothing) }
                }
                End::Idle => unsafe { between.nothing() },
                End::Of(rank) => {
                    let block = Block::new(state, recv.0, recv.1, recv.2)?;
                    unsafe { between.from(rank, block) }
                }
            });
        }
        let mut part = Part::new(SCATTERV, Plan::BlockOfRoot);
        part.request.peer = root;
        part.request.counts = vec![0; known.size()];
        if recv.0 as usize != IN_PLACE {
            let block = Block::new(state, recv.0, recv.1, recv.2)?;
            part.request.recv_bytes = block.bytes();
            part.request.counts[known.me] = block.bytes();
            part = part.typed(&block.datatype);
            part.finish = block.finish();
        }
        if known.me as i32 == root {
            let sent = unsafe { blocks(state, sendbuf, counts, offsets, datatype, known.size())? };
            for block in &sent {
                unsafe { block.pack(&mut part.data) };
            }
            part.request.blocks = sent.iter().map(Block::bytes).collect();
            part.request.counts.clone_from(&part.request.blocks);
            if recv.0 as usize == IN_PLACE {
                part.request.recv_bytes = part.request.counts[known.me];
            }
            part = part.typed(&sent[0].datatype);
        }
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn allgather(pair: Pair, comm: c_int, request: Option<*mut c_int>) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            let sent = Block::new(state, pair.send.0, pair.send.1, pair.send.2)?;
            let received = Block::new(state, pair.recv.0, pair.recv.1, pair.recv.2)?;
            let all: Vec<Block> = (0..between.count).map(|k| received.shifted(k)).collect();
            let sent = vec![sent; between.count];
            return Ok(unsafe { between.part(&sent, &sizes(&all), places(all)) });
        }
        let received = Block::new(state, pair.recv.0, pair.recv.1, pair.recv.2)?;
        let sent = if pair.send.0 as usize == IN_PLACE {
            received.shifted(known.me)
        } else {
            Block::new(state, pair.send.0, pair.send.1, pair.send.2)?
        };
        let mut part = Part::new(ALLGATHER, Plan::All).typed(&sent.datatype);
        (part.request.bytes, part.request.recv_bytes) = (sent.bytes(), received.bytes());
        unsafe { sent.pack(&mut part.data) };
        let places = (0..known.size()).map(|k| received.shifted(k).place()).collect();
        part.finish = Finish::Placed(places);
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn allgatherv(
    send: (*const c_void, c_int, c_int),
    (recvbuf, counts, offsets, datatype): (*mut c_void, *const c_int, *const c_int, c_int),
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            let n = between.count;
            let all = unsafe { blocks(state, recvbuf, counts, offsets, datatype, n)? };
            let sent = vec![Block::new(state, send.0, send.1, send.2)?; n];
            return Ok(unsafe { between.part(&sent, &sizes(&all), places(all)) });
        }
        let places = unsafe { blocks(state, recvbuf, counts, offsets, datatype, known.size())? };
        let sent = if send.0 as usize == IN_PLACE {
            places[known.me].clone()
        } else {
            Block::new(state, send.0, send.1, send.2)?
        };
        let mut part = Part::new(ALLGATHERV, Plan::All).typed(&sent.datatype);
        part.request.bytes = sent.bytes();
        part.request.counts = places.iter().map(Block::bytes).collect();
        unsafe { sent.pack(&mut part.data) };
        part.finish = Finish::Placed(places.into_iter().map(Block::place).collect());
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

/// The part of a rank in an exchange of a block between each pair of ranks.
unsafe fn exchange(kind: u8, sent: &[Block], received: Vec<Block>) -> Part {
    let mut part = Part::new(kind, Plan::Blocks);
    if let Some(first) = sent.first() {
        part = part.typed(&first.datatype);
    }
    for block in sent {
        unsafe { block.pack(&mut part.data) };
    }
    part.request.blocks = sent.iter().map(Block::bytes).collect();
    if kind == ALLTOALL {
        part.request.bytes = sent.first().map_or(0, Block::bytes);
        part.request.recv_bytes = received.first().map_or(0, Block::bytes);
    } else {
        part.request.counts.clone_from(&part.request.blocks);
        part.request.recv_counts = received.iter().map(Block::bytes).collect();
    }
    part.finish = Finish::Placed(received.into_iter().map(Block::place).collect());
    part
}

unsafe fn alltoall(pair: Pair, comm: c_int, request: Option<*mut c_int>) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            let all =
                |block: Block| (0..between.count).map(|k| block.shifted(k)).collect::<Vec<_>>();
            let received = all(Block::new(state, pair.recv.0, pair.recv.1, pair.recv.2)?);
            let sent = all(Block::new(state, pair.send.0, pair.send.1, pair.send.2)?);
            return Ok(unsafe { between.part(&sent, &sizes(&received), places(received)) });
        }
        let all = |block: Block| (0..known.size()).map(|k| block.shifted(k)).collect::<Vec<_>>();
        let received = all(Block::new(state, pair.recv.0, pair.recv.1, pair.recv.2)?);
        let sent = if pair.send.0 as usize == IN_PLACE {
            received.clone()
        } else {
            all(Block::new(state, pair.send.0, pair.send.1, pair.send.2)?)
        };
        Ok(unsafe { exchange(ALLTOALL, &sent, received) })
    };
    unsafe { perform(comm, request, part) }
}

/// Blocks of one datatype: address, counts, displacements in elements, datatype.
type Several = (*const c_void, *const c_int, *const c_int, c_int);

unsafe fn alltoallv(
    send: Several,
    recv: Several,
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            let n = between.count;
            let received = unsafe { blocks(state, recv.0, recv.1, recv.2, recv.3, n)? };
            let sent = unsafe { blocks(state, send.0, send.1, send.2, send.3, n)? };
            return Ok(unsafe { between.part(&sent, &sizes(&received), places(received)) });
        }
        let size = known.size();
        let received = unsafe { blocks(state, recv.0, recv.1, recv.2, recv.3, size)? };
        let sent = if send.0 as usize == IN_PLACE {
            received.clone()
        } else {
            unsafe { blocks(state, send.0, send.1, send.2, send.3, size)? }
        };
        Ok(unsafe { exchange(ALLTOALLV, &sent, received) })
    };
    unsafe { perform(comm, request, part) }
}

/// As [`Addressed`], with displacements in `int`.
type Typed = (*const c_void, *const c_int, *const c_int, *const c_int);

unsafe fn alltoallw(send: Typed, recv: Typed, comm: c_int, request: Option<*mut c_int>) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        let size = known.partners().len();
        let mut list = |(at, counts, offsets, types): Typed| -> Outcome<Vec<Block>> {
            let (counts, types) = unsafe { (slice(counts, size), slice(types, size)) };
            let offsets = unsafe { slice(offsets, size) };
            (0..size)
                .map(|k| {
                    let at = at.cast::<u8>().wrapping_offset(offsets[k] as isize);
                    Block::new(state, at.cast(), counts[k], types[k])
                })
                .collect()
        };
        let received = list(recv)?;
        let sent = if send.0 as usize == IN_PLACE { received.clone() } else { list(send)? };
        if let Some(between) = Between::of(known) {
            return Ok(unsafe { between.part(&sent, &sizes(&received), places(received)) });
        }
        let mut part = unsafe { exchange(ALLTOALLV, &sent, received) };
        part.request.unit = 1;
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

/// A reduction as a call states it.
#[derive(Clone, Copy)]
struct Reduction {
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
}

impl Reduction {
    /// The input at an address, its bytes, and the reduction of the inputs of the other group.
    fn between(self, state: &mut State, from: *const c_void) -> Outcome<(Block, u64, Finish)> {
        let block = Block::new(state, from, self.count, self.datatype)?;
        let op = state.op(self.op)?;
        let (to, count, datatype) =
            (self.recvbuf as usize, block.count, Arc::clone(&block.datatype));
        let finish = match op.function {
            Some(function) => {
                let (skip, all, handle) = (0, count, self.datatype);
                Finish::Reduce { to, count, skip, all, datatype, handle, function }
            }
            None => {
                let op = op.predefined & 0xff;
                if !reduce::is_defined(op, datatype.basic) {
                    let text = format!("the operation is not defined for {}", datatype.name);
                    return fault(class::OP, text);
                }
                Finish::Combine { to, count, datatype, op }
            }
        };
        let bytes = block.bytes();
        Ok((block, bytes, finish))
    }

    /// The input, and where the result goes: of `all` elements those from `skip` on.
    unsafe fn part(
        self,
        state: &mut State,
        (kind, plan): (u8, Plan),
        (skip, count): (usize, usize),
        has_result: bool,
    ) -> Outcome<Part> {
        let from = if self.sendbuf as usize == IN_PLACE {
            self.recvbuf.cast_const()
        } else {
            self.sendbuf
        };
        let block = Block::new(state, from, self.count, self.datatype)?;
        let op = state.op(self.op)?;
        let mut part = Part::new(kind, plan).typed(&block.datatype);
        part.request.bytes = block.bytes();
        unsafe { block.pack(&mut part.data) };
        // Reductions of derived types are in rank order, as those by operations that do not commute.
        part.request.tag = i32::from(!op.commutes || block.datatype.basic == 0);
        let (to, datatype, all) = (self.recvbuf as usize, block.datatype, block.count);
        match op.function {
            Some(function) => {
                let handle = self.datatype;
                part.finish = Finish::Reduce { to, count, skip, all, datatype, handle, function };
            }
            None => {
                let number = op.predefined & 0xff;
                if !reduce::is_defined(number, datatype.basic) {
                    let text = format!("the operation is not defined for {}", datatype.name);
                    return fault(class::OP, text);
                }
                (part.request.op, part.request.datatype) = (number, datatype.basic);
                part.finish = Finish::Elements { to, count, datatype };
            }
        }
        if !has_result {
            part.finish = Finish::Nothing;
        }
        Ok(part)
    }
}

unsafe fn reduce_to(
    r: Reduction,
    root: c_int,
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            return Ok(match between.end(root)? {
                End::Root => {
                    let (_, bytes, finish) = r.between(state, r.recvbuf)?;
                    unsafe { between.part(&[], &vec![bytes; between.count], finish) }
                }
                End::Idle => unsafe { between.nothing() },
                End::Of(rank) => unsafe { between.to(rank, r.between(state, r.sendbuf)?.0) },
            });
        }
        let is_root = known.me as i32 == root;
        let what = (REDUCE, Plan::ReduceToRoot);
        let mut part = unsafe { r.part(state, what, (0, r.count.max(0) as usize), is_root)? };
        part.request.peer = root;
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn reduce_all(
    r: Reduction,
    what: (u8, Plan),
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if let Some(between) = Between::of(known) {
            if what.1 != Plan::Reduce {
                return fault(class::COMM, "an inter-communicator has no order of ranks to scan");
            }
            let (block, bytes, finish) = r.between(state, r.sendbuf)?;
            let n = between.count;
            return Ok(unsafe { between.part(&vec![block; n], &vec![bytes; n], finish) });
        }
        let has_result = what.1 != Plan::Exscan || known.me > 0;
        unsafe { r.part(state, what, (0, r.count.max(0) as usize), has_result) }
    };
    unsafe { perform(comm, request, part) }
}

unsafe fn reduce_scatter(
    mut r: Reduction,
    counts: Option<*const c_int>,
    comm: c_int,
    request: Option<*mut c_int>,
) -> Outcome {
    let part = |state: &mut State, known: &Comm| {
        if known.remote.is_some() {
            return fault(class::COMM, "not simulated for inter-communicators");
        }
        let counts = match counts {
            Some(counts) => unsafe { slice(counts, known.size()) }.to_vec(),
            None => vec![r.count; known.size()],
        };
        if let Some(bad) = counts.iter().find(|&&count| count < 0) {
            return fault(class::COUNT, format!("the count is {bad}"));
        }
        r.count = counts.iter().sum();
        let skip: c_int = counts[..known.me].iter().sum();
        let mine = (skip as usize, counts[known.me] as usize);
        let what = (REDUCE_SCATTER, Plan::ReduceBlock);
        let mut part = unsafe { r.part(state, what, mine, true)? };
        let element = state.datatype(r.datatype)?.size as u64;
        part.request.blocks = counts.iter().map(|&count| count as u64 * element).collect();
        part.request.counts.clone_from(&part.request.blocks);
        Ok(part)
    };
    unsafe { perform(comm, request, part) }
}

const fn pair(send: (*const c_void, c_int, c_int), recv: (*mut c_void, c_int, c_int)) -> Pair {
    Pair { send, recv }
}

mpi! {
    fn MPI_Barrier(comm: c_int) { barrier(comm, None) }
    fn MPI_Ibarrier(comm: c_int, request: *mut c_int) { barrier(comm, Some(request)) }
    fn MPI_Bcast(buffer: *mut c_void, count: c_int, datatype: c_int, root: c_int, comm: c_int) {
        bcast(buffer, (count, datatype), root, comm, None)
    }
    fn MPI_Ibcast(buffer: *mut c_void, count: c_int, datatype: c_int, root: c_int, comm: c_int, request: *mut c_int) {
        bcast(buffer, (count, datatype), root, comm, Some(request))
    }
    fn MPI_Gather(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, root: c_int, comm: c_int) {
        gather(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), root, comm, None)
    }
    fn MPI_Igather(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, root: c_int, comm: c_int, request: *mut c_int) {
        gather(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), root, comm, Some(request))
    }
    fn MPI_Gatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c_int, root: c_int, comm: c_int) {
        gatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype), root, comm, None)
    }
    fn MPI_Igatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c_int, root: c_int, comm: c_int, request: *mut c_int) {
        gatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype), root, comm, Some(request))
    }
    fn MPI_Scatter(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, root: c_int, comm: c_int) {
        scatter(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), root, comm, None)
    }
    fn MPI_Iscatter(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, root: c_int, comm: c_int, request: *mut c_int) {
        scatter(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), root, comm, Some(request))
    }
    fn MPI_Scatterv(sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, root: c_int, comm: c_int) {
        scatterv((sendbuf, sendcounts, displs, sendtype), (recvbuf, recvcount, recvtype), root, comm, None)
    }
    fn MPI_Iscatterv(sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, root: c_int, comm: c_int, request: *mut c_int) {
        scatterv((sendbuf, sendcounts, displs, sendtype), (recvbuf, recvcount, recvtype), root, comm, Some(request))
    }
    fn MPI_Allgather(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, comm: c_int) {
        allgather(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), comm, None)
    }
    fn MPI_Iallgather(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, comm: c_int, request: *mut c_int) {
        allgather(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), comm, Some(request))
    }
    fn MPI_Allgatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c_int, comm: c_int) {
        allgatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype), comm, None)
    }
    fn MPI_Iallgatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c_int, comm: c_int, request: *mut c_int) {
        allgatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype), comm, Some(request))
    }
    fn MPI_Alltoall(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, comm: c_int) {
        alltoall(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), comm, None)
    }
    fn MPI_Ialltoall(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, comm: c_int, request: *mut c_int) {
        alltoall(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), comm, Some(request))
    }
    fn MPI_Alltoallv(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: c_int, comm: c_int) {
        alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype), comm, None)
    }
    fn MPI_Ialltoallv(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: c_int, comm: c_int, request: *mut c_int) {
        alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype), comm, Some(request))
    }
    fn MPI_Alltoallw(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtypes: *const c_int, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtypes: *const c_int, comm: c_int) {
        alltoallw((sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes), comm, None)
    }
    fn MPI_Ialltoallw(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtypes: *const c_int, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtypes: *const c_int, comm: c_int, request: *mut c_int) {
        alltoallw((sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes), comm, Some(request))
    }
    fn MPI_Reduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c_int, op: c_int, root: c_int, comm: c_int) {
        reduce_to(Reduction { sendbuf, recvbuf, count, datatype, op }, root, comm, None)
    }
    fn MPI_Ireduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c_int, op: c_int, root: c_int, comm: c_int, request: *mut c_int) {
        reduce_to(Reduction { sendbuf, recvbuf, count, datatype, op }, root, comm, Some(request))
    }
    fn MPI_Allreduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c_int, op: c_int, comm: c_int) {
        reduce_all(Reduction { sendbuf, recvbuf, count, datatype, op }, (ALLREDUCE, Plan::Reduce), comm, None)
    }
    fn MPI_Iallreduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c_int, op: c_int, comm: c_int, request: *mut c_int) {
        reduce_all(Reduction { sendbuf, recvbuf, count, datatype, op }, (ALLREDUCE, Plan::Reduce), comm, Some(request))
    }
    fn MPI_Scan(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c_int, op: c_int, comm: c_int) {
        reduce_all(Reduction { sendbuf, recvbuf, count, datatype, op }, (SCAN, Plan::Scan), comm, None)
    }
    fn MPI_Iscan(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c_int, op: c_int, comm: c_int, request: *mut c_int) {
        reduce_all(Reduction { sendbuf, recvbuf, count, datatype, op }, (SCAN, Plan::Scan), comm, Some(request))
    }
    fn MPI_Exscan(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c_int, op: c_int, comm: c_int) {
        reduce_all(Reduction { sendbuf, recvbuf, count, datatype, op }, (EXSCAN, Plan::Exscan), comm, None)
    }
    fn MPI_Iexscan(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c_int, op: c_int, comm: c_int, request: *mut c_int) {
        reduce_all(Reduction { sendbuf, recvbuf, count, datatype, op }, (EXSCAN, Plan::Exscan), comm, Some(request))
    }
    fn MPI_Reduce_scatter(sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: c_int, op: c_int, comm: c_int) {
        reduce_scatter(Reduction { sendbuf, recvbuf, count: 0, datatype, op }, Some(recvcounts), comm, None)
    }
    fn MPI_Ireduce_scatter(sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: c_int, op: c_int, comm: c_int, request: *mut c_int) {
        reduce_scatter(Reduction { sendbuf, recvbuf, count: 0, datatype, op }, Some(recvcounts), comm, Some(request))
    }
    fn MPI_Reduce_scatter_block(sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: c_int, op: c_int, comm: c_int) {
        reduce_scatter(Reduction { sendbuf, recvbuf, count: recvcount, datatype, op }, None, comm, None)
    }
    fn MPI_Ireduce_scatter_block(sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: c_int, op: c_int, comm: c_int, request: *mut c_int) {
        reduce_scatter(Reduction { sendbuf, recvbuf, count: recvcount, datatype, op }, None, comm, Some(request))
    }
    fn MPI_Neighbor_allgather(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, comm: c_int) {
        neighbour_gather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), None, comm, None)
    }
    fn MPI_Neighbor_allgatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c_int, comm: c_int) {
        neighbour_gather((sendbuf, sendcount, sendtype), (recvbuf, 0, recvtype), Some((recvcounts, displs)), comm, None)
    }
    fn MPI_Neighbor_alltoall(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, comm: c_int) {
        neighbour_alltoall(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), comm, None)
    }
    fn MPI_Neighbor_alltoallv(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: c_int, comm: c_int) {
        neighbour_alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype), comm, None)
    }
    fn MPI_Neighbor_alltoallw(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const isize, sendtypes: *const c_int, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const isize, recvtypes: *const c_int, comm: c_int) {
        neighbour_alltoallw((sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes), comm, None)
    }
    fn MPI_Ineighbor_allgather(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, comm: c_int, request: *mut c_int) {
        neighbour_gather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), None, comm, Some(request))
    }
    fn MPI_Ineighbor_allgatherv(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c_int, comm: c_int, request: *mut c_int) {
        neighbour_gather((sendbuf, sendcount, sendtype), (recvbuf, 0, recvtype), Some((recvcounts, displs)), comm, Some(request))
    }
    fn MPI_Ineighbor_alltoall(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, comm: c_int, request: *mut c_int) {
        neighbour_alltoall(pair((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)), comm, Some(request))
    }
    fn MPI_Ineighbor_alltoallv(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int, sendtype: c_int, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype: c_int, comm: c_int, request: *mut c_int) {
        neighbour_alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype), comm, Some(request))
    }
    fn MPI_Ineighbor_alltoallw(sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const isize, sendtypes: *const c_int, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const isize, recvtypes: *const c_int, comm: c_int, request: *mut c_int) {
        neighbour_alltoallw((sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes), comm, Some(request))
    }
    fn MPI_Reduce_local(inbuf: *const c_void, inoutbuf: *mut c_void, count: c_int, datatype: c_int, op: c_int) {
        let (known, block, other) = running(|state| {
            let known = state.op(op)?;
            let block = Block::new(state, inbuf, count, datatype)?;
            Ok((known, block, Block::new(state, inoutbuf, count, datatype)?))
        })?;
        match known.function {
            Some(function) => {
                let (mut length, mut handle) = (count, datatype);
                function(inbuf.cast_mut(), inoutbuf, &mut length, &mut handle);
            }
            None => {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                block.pack(&mut left);
                other.pack(&mut right);
                if !reduce::combine(known.predefined & 0xff, block.datatype.basic, &left, &mut right) {
                    return fault(class::OP, "the operation is not defined for the datatype");
                }
                other.datatype.unpack(&right, inoutbuf, other.count);
            }
        }
        Ok(())
    }
    fn MPI_Op_create(function: crate::state::UserFunction, commute: c_int, op: *mut c_int) {
        let made = running(|state| {
            let made = crate::state::Op { predefined: 0, function: Some(function), commutes: commute != 0 };
            Ok(state.ops.add(made))
        })?;
        put(op, made);
        Ok(())
    }
    fn MPI_Op_free(op: *mut c_int) {
        running(|state| match state.ops.remove(*op) {
            Some(_) => Ok(()),
            None => fault(class::OP, "there is no such operation to free"),
        })?;
        put(op, crate::state::OP_NULL);
        Ok(())
    }
    fn MPI_Op_commutative(op: c_int, commute: *mut c_int) {
        put(commute, c_int::from(running(|state| state.op(op))?.commutes));
        Ok(())
    }
}
