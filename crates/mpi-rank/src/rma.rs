//! One-sided communication (RMA) with fences; other synchronisations are not simulated.
//!
//! The transfer of an operation starts with its call. A fence is a barrier that passes every rank the operations of
//! the others on its window, the ends of the transfers, and another barrier, which carries the data of reads. At a fence,
//! reads come before writes; writes are made in the order of the ranks and of their calls.

use crate::call::{in_comm, mpi, put};
use crate::collective::Part;
use crate::communicator::{put_text, text};
use crate::protocol::{CallKind, Plan, Request};
use crate::reduce;
use crate::state::{Comm, Outcome, Parts, State, WIN_NULL, class, fault, running};
use crate::types::Datatype;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(at: *mut c_void);
}

// Kinds of an operation.
const PUT: u8 = 0;
const GET: u8 = 1;
const ACCUMULATE: u8 = 2;

/// Tags in the communicator of a window.
const PUT_TAG: i32 = 0;
const GET_TAG: i32 = 1;

/// `MPI_BYTE`.
const BYTE: c_int = 0x4c00_010d;

/// `MPI_MODE_NOPRECEDE`: nothing was begun before the fence.
const NO_PRECEDE: c_int = 8192;

/// An operation that waits for the next fence.
#[derive(Debug)]
struct Access {
    /// Its request, where it is for another rank.
    number: Option<u32>,
    kind: u8,
    /// Rank in the window's communicator.
    target: usize,
    /// In units of the target's window.
    displacement: i64,
    /// Number of the predefined operation.
    op: u32,
    /// Handle of the basic type of the target's elements.
    element: u32,
    /// Offset from the displacement and length of each piece at the target, in bytes.
    segments: Vec<(i64, u64)>,
    /// Bytes to write.
    data: Vec<u8>,
    /// Destination of the bytes read: address, elements, type.
    to: (usize, usize, Arc<Datatype>),
}

/// Memory that the operations of other ranks may read and write.
#[derive(Debug)]
pub struct Window {
    /// Its own communicator.
    comm: c_int,
    /// Address and bytes.
    base: usize,
    size: usize,
    /// Bytes of a unit of displacements.
    unit: c_int,
    accesses: Vec<Access>,
    name: String,
    /// Whether the library allocated the memory, and frees it.
    owned: bool,
    /// `MPI_WIN_FLAVOR_CREATE` (1) or `MPI_WIN_FLAVOR_ALLOCATE` (2).
    flavour: c_int,
}

/// Windows are separate copies between fences (`MPI_WIN_SEPARATE`).
static SEPARATE: c_int = 1;

/// An operation of another rank on this rank's window.
struct Incoming {
    kind: u8,
    displacement: i64,
    op: u32,
    element: u32,
    segments: Vec<(i64, u64)>,
}

/// Appends what the target has to know of an operation, for [`decode`].
fn encode(access: &Access, out: &mut Vec<u8>) {
    out.push(access.kind);
    out.extend_from_slice(&access.displacement.to_le_bytes());
    out.extend_from_slice(&access.op.to_le_bytes());
    out.extend_from_slice(&access.element.to_le_bytes());
    out.extend_from_slice(&(access.segments.len() as u64).to_le_bytes());
    for (offset, length) in &access.segments {
        out.extend_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
    }
}

fn decode(mut bytes: &[u8]) -> Vec<Incoming> {
    fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
        match bytes.split_first_chunk::<N>() {
            Some((head, rest)) => {
                *bytes = rest;
                *head
            }
            None => [0; N],
        }
    }
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let [kind] = take::<1>(&mut bytes);
        let displacement = i64::from_le_bytes(take(&mut bytes));
        let op = u32::from_le_bytes(take(&mut bytes));
        let element = u32::from_le_bytes(take(&mut bytes));
        let count = u64::from_le_bytes(take(&mut bytes));
        let segment =
            |_| (i64::from_le_bytes(take(&mut bytes)), u64::from_le_bytes(take(&mut bytes)));
        let segments = (0..count).map(segment).collect();
        all.push(Incoming { kind, displacement, op, element, segments });
    }
    all
}

fn window(state: &mut State, win: c_int) -> Outcome<&mut Window> {
    match state.wins.get_mut(win) {
        Some(found) => Ok(found),
        None => fault(class::WIN, format!("{win:#x} is no window")),
    }
}

/// A barrier of the window's communicator that carries a block from each rank to each.
fn exchange_blocks(state: &mut State, comm: c_int, blocks: Vec<Vec<u8>>) -> Outcome<Parts> {
    let known = state.comm(comm)?.clone();
    let mut part = Part::new(0, Plan::Blocks);
    part.request.blocks = blocks.iter().map(|b| b.len() as u64).collect();
    let data = blocks.concat();
    if known.own > 0 {
        return Ok(State::alone(Plan::Blocks, data));
    }
    part.request.comm = known.id;
    part.request.number = state.number();
    part.request.answer = true;
    let mut reply = state.ask(part.request, &data)?;
    let delivery = reply.deliveries.pop().unwrap_or_default();
    Ok(Parts { lengths: delivery.parts, data: delivery.data })
}

/// The address to which an operation's offsets are relative; fails where it leaves the window.
fn place(window: &Window, wanted: &Incoming) -> Outcome<usize> {
    let from = wanted.displacement * i64::from(window.unit);
    for &(offset, length) in &wanted.segments {
        let begin = from + offset;
        if begin < 0 || (begin as u64).saturating_add(length) > window.size as u64 {
            let text = format!("bytes {begin} to {} are outside the window", begin + length as i64);
            return fault(class::RMA_RANGE, text);
        }
    }
    Ok(window.base.wrapping_add_signed(from as isize))
}

/// Copies the bytes that an operation addresses.
unsafe fn read(at: usize, wanted: &Incoming) -> Vec<u8> {
    let mut out = Vec::new();
    for &(offset, length) in &wanted.segments {
        let from = at.wrapping_add_signed(offset as isize) as *const u8;
        // SAFETY: `place` has found these bytes in the window.
        out.extend_from_slice(unsafe { std::slice::from_raw_parts(from, length as usize) });
    }
    out
}

/// Writes data to the bytes that an operation addresses.
unsafe fn write(at: usize, wanted: &Incoming, data: &[u8]) {
    let mut rest = data;
    for &(offset, length) in &wanted.segments {
        let to = at.wrapping_add_signed(offset as isize) as *mut u8;
        let count = (length as usize).min(rest.len());
        // SAFETY: `place` has found these bytes in the window.
        unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), to, count) };
        rest = &rest[count..];
    }
}

/// Whether an operation on a rank is a simulated message: those of a rank on itself are none, except accumulations.
fn travels(known: &Comm, kind: u8, rank: usize) -> bool {
    rank != known.me || kind == ACCUMULATE && known.own == 0
}

/// Number of bytes that an operation addresses.
fn bytes_of(segments: &[(i64, u64)]) -> u64 {
    segments.iter().map(|s| s.1).sum()
}

/// Ends an epoch: waits for all its operations, at the origins and at the targets, and carries out those on this rank's
/// window. Returns the data that were read, by origin.
unsafe fn end_epoch(win: c_int) -> Outcome<Vec<Vec<u8>>> {
    let (answers, written) = running(|state| {
        let window = window(state, win)?;
        let comm = window.comm;
        let known = state.comm(comm)?.clone();
        let mut blocks = vec![Vec::new(); known.size()];
        let mut numbers = Vec::new();
        for access in &self::window(state, win)?.accesses {
            encode(access, &mut blocks[access.target]);
            numbers.extend(access.number);
        }
        let received = exchange_blocks(state, comm, blocks)?;
        let mut wanted: Vec<(usize, Incoming)> = Vec::new();
        let mut at = 0;
        for (source, &length) in received.lengths.iter().enumerate() {
            let end = at + length as usize;
            wanted.extend(decode(&received.data[at..end]).into_iter().map(|w| (source, w)));
            at = end;
        }
        // Data of other ranks' writes are on their way, or have arrived: receive them.
        let mut incoming = Vec::new();
        for (k, (source, want)) in wanted.iter().enumerate() {
            if want.kind != GET && travels(&known, want.kind, *source) {
                let (number, bytes) = (state.number(), bytes_of(&want.segments));
                let (peer, tag) = (*source as i32, PUT_TAG);
                let request = Request {
                    comm: known.id,
                    number,
                    peer,
                    tag,
                    bytes,
                    ..Request::new(CallKind::Irecv)
                };
                state.ask(request, &[])?;
                incoming.push((k, number));
                numbers.push(number);
            }
        }
        let mut found = std::collections::HashMap::new();
        if !numbers.is_empty() {
            let answer = true;
            let reply =
                state.ask(Request { numbers, answer, ..Request::new(CallKind::Wait) }, &[])?;
            for delivery in reply.deliveries {
                found.insert(delivery.number, delivery.data);
            }
        }
        let window = self::window(state, win)?;
        // Reads get the contents from before the writes of this epoch.
        let mut answers = vec![Vec::new(); known.size()];
        for (source, want) in wanted.iter().filter(|(_, want)| want.kind == GET) {
            answers[*source].extend(unsafe { read(place(window, want)?, want) });
        }
        let mut own =
            window.accesses.iter().filter(|a| a.kind != GET && !travels(&known, a.kind, a.target));
        let mut written = Vec::new();
        for (k, (source, want)) in wanted.into_iter().enumerate() {
            if want.kind == GET {
                continue;
            }
            let data = if !travels(&known, want.kind, source) {
                own.next().map(|a| a.data.clone()).unwrap_or_default()
            } else {
                let number = incoming.iter().find(|(at, _)| *at == k).map(|(_, n)| *n);
                number.and_then(|n| found.remove(&n)).unwrap_or_default()
            };
            written.push((place(window, &want)?, want, data));
        }
        Ok((answers, written))
    })?;
    for (at, want, data) in written {
        let mut data = data;
        if want.kind == ACCUMULATE {
            // The target's value is the left operand, the data that arrive the right one.
            let there = unsafe { read(at, &want) };
            if !reduce::combine(want.op, want.element, &there, &mut data) {
                return fault(class::OP, "the operation is not defined for the datatype");
            }
        }
        unsafe { write(at, &want, &data) };
    }
    Ok(answers)
}

unsafe fn fence(assert: c_int, win: c_int) -> Outcome {
    let comm = running(|state| Ok(window(state, win)?.comm))?;
    let answers = if assert & NO_PRECEDE == 0 {
        unsafe { end_epoch(win)? }
    } else {
        vec![Vec::new(); running(|state| Ok(state.comm(comm)?.size()))?]
    };
    let (accesses, received) = running(|state| {
        let received = exchange_blocks(state, comm, answers)?;
        Ok((std::mem::take(&mut window(state, win)?.accesses), received))
    })?;
    // The data read from each target are in the order of the calls.
    let mut at = vec![0; received.lengths.len()];
    for rank in 1..at.len() {
        at[rank] = at[rank - 1] + received.lengths[rank - 1] as usize;
    }
    for access in accesses.into_iter().filter(|access| access.kind == GET) {
        let end = at[access.target] + bytes_of(&access.segments) as usize;
        let (to, count, datatype) = access.to;
        unsafe {
            datatype.unpack(&received.data[at[access.target]..end], to as *mut c_void, count)
        };
        at[access.target] = end;
    }
    Ok(())
}

/// The origin of an operation as a call states it: address, number of elements, datatype.
type Origin = (*const c_void, c_int, c_int);
/// The target of an operation as a call states it: rank, displacement, number of elements, datatype.
type Target = (c_int, isize, c_int, c_int);

unsafe fn access(kind: u8, origin: Origin, target: Target, op: u32, win: c_int) -> Outcome {
    running(|state| {
        let from = state.datatype(origin.2)?;
        let (rank, displacement, count, datatype) = target;
        let there = state.datatype(datatype)?;
        let comm = window(state, win)?.comm;
        let size = state.comm(comm)?.size();
        if rank == crate::state::PROC_NULL {
            return Ok(());
        }
        if rank < 0 || rank as usize >= size {
            return fault(class::RANK, format!("there is no rank {rank} in the window"));
        }
        let mut segments: Vec<(i64, u64)> = Vec::new();
        for k in 0..count.max(0) as isize {
            for s in &there.segments {
                let offset = (k * there.extent + s.offset) as i64;
                match segments.last_mut() {
                    Some(last) if last.0 + last.1 as i64 == offset => last.1 += s.length as u64,
                    _ => segments.push((offset, s.length as u64)),
                }
            }
        }
        let mut data = Vec::new();
        if kind != GET {
            unsafe { from.pack(origin.0, origin.1.max(0) as usize, &mut data) };
            if data.len() as u64 != segments.iter().map(|s| s.1).sum::<u64>() {
                return fault(class::TRUNCATE, "origin and target are of different sizes");
            }
        }
        let known = state.comm(comm)?;
        let id = known.id;
        let mut number = None;
        if travels(known, kind, rank as usize) {
            // The transfer starts now, whatever the target does. An accumulation waits for its end.
            let bytes = bytes_of(&segments);
            let (what, tag) =
                if kind == GET { (CallKind::Get, GET_TAG) } else { (CallKind::Put, PUT_TAG) };
            let made = state.number();
            let waits = kind == ACCUMULATE;
            let request = Request {
                comm: id,
                number: made,
                peer: rank,
                tag,
                bytes,
                kind: waits.into(),
                ..Request::new(what)
            };
            state.ask(request, &data)?;
            if waits {
                state.ask(Request { numbers: vec![made], ..Request::new(CallKind::Wait) }, &[])?;
            } else {
                number = Some(made);
            }
        }
        let made = Access {
            number,
            kind,
            target: rank as usize,
            displacement: displacement as i64,
            op,
            element: there.element,
            segments,
            data,
            to: (origin.0 as usize, origin.1.max(0) as usize, from),
        };
        window(state, win)?.accesses.push(made);
        Ok(())
    })
}

unsafe fn create(
    base: usize,
    size: isize,
    unit: c_int,
    comm: c_int,
    win: *mut c_int,
    owned: bool,
) -> Outcome {
    // An allgather of the addresses of the windows: the messages that a real library sends to make a window.
    let (mine, mut all) = (base as u64, vec![0u64; running(|state| Ok(state.comm(comm)?.size()))?]);
    let (from, to) = ((&raw const mine).cast(), all.as_mut_ptr().cast());
    let code = unsafe { crate::collective::MPI_Allgather(from, 8, BYTE, to, 8, BYTE, comm) };
    if code != 0 {
        return fault(code, "the window could not be made");
    }
    let made = running(|state| {
        let copy = crate::communicator::window(state, comm)?;
        let (size, name) = (size.max(0) as usize, String::new());
        let flavour = if owned { 2 } else { 1 };
        let accesses = Vec::new();
        Ok(state.wins.add(Window { comm: copy, base, size, unit, accesses, name, owned, flavour }))
    });
    unsafe { put(win, in_comm(comm, made)?) };
    Ok(())
}

mpi! {
    fn MPI_Win_create(base: *mut c_void, size: isize, unit: c_int, _info: c_int, comm: c_int, win: *mut c_int) {
        create(base as usize, size, unit, comm, win, false)
    }
    fn MPI_Win_allocate(size: isize, unit: c_int, _info: c_int, comm: c_int, base: *mut c_void, win: *mut c_int) {
        let at = malloc(size.max(1) as usize);
        put(base.cast::<*mut c_void>(), at);
        create(at as usize, size, unit, comm, win, true)
    }
    fn MPI_Win_free(win: *mut c_int) {
        crate::attributes::delete_all(*win)?;
        let window = running(|state| match state.wins.remove(*win) {
            Some(window) => {
                let members = state.comm(window.comm)?.size();
                for _ in 0..2 {
                    exchange_blocks(state, window.comm, vec![Vec::new(); members])?;
                }
                state.comms.remove(window.comm);
                Ok(window)
            }
            None => fault(class::WIN, "there is no such window to free"),
        })?;
        if window.owned {
            free(window.base as *mut c_void);
        }
        put(win, WIN_NULL);
        Ok(())
    }
    fn MPI_Win_fence(assert: c_int, win: c_int) { fence(assert, win) }
    fn MPI_Put(origin: *const c_void, origin_count: c_int, origin_type: c_int, rank: c_int, displacement: isize, count: c_int, datatype: c_int, win: c_int) {
        access(PUT, (origin, origin_count, origin_type), (rank, displacement, count, datatype), reduce::REPLACE, win)
    }
    fn MPI_Get(origin: *mut c_void, origin_count: c_int, origin_type: c_int, rank: c_int, displacement: isize, count: c_int, datatype: c_int, win: c_int) {
        access(GET, (origin, origin_count, origin_type), (rank, displacement, count, datatype), reduce::NO_OP, win)
    }
    fn MPI_Accumulate(origin: *const c_void, origin_count: c_int, origin_type: c_int, rank: c_int, displacement: isize, count: c_int, datatype: c_int, op: c_int, win: c_int) {
        let Some(op) = reduce::operation(op as u32) else {
            return fault(class::OP, "MPI_Accumulate takes predefined operations");
        };
        access(ACCUMULATE, (origin, origin_count, origin_type), (rank, displacement, count, datatype), op, win)
    }
    fn MPI_Win_get_group(win: c_int, group: *mut c_int) {
        let made = running(|state| {
            let comm = window(state, win)?.comm;
            let ranks = Arc::clone(&state.comm(comm)?.ranks);
            Ok(state.groups.add(ranks))
        })?;
        put(group, made);
        Ok(())
    }
    fn MPI_Win_get_attr(win: c_int, key: c_int, value: *mut c_void, flag: *mut c_int) {
        let found = running(|state| {
            let window = window(state, win)?;
            Ok(match key.wrapping_sub(1) & !1 {
                0x6600_0000 => Some(window.base),
                0x6600_0002 => Some(&raw const window.size as usize),
                0x6600_0004 => Some(&raw const window.unit as usize),
                0x6600_0006 => Some(&raw const window.flavour as usize),
                0x6600_0008 => Some(&raw const SEPARATE as usize),
                _ => None,
            })
        })?;
        let found = match found {
            None => crate::attributes::get(win, key)?,
            found => found,
        };
        put(flag, found.is_some().into());
        if let Some(found) = found {
            put(value.cast::<usize>(), found);
        }
        Ok(())
    }
    fn MPI_Win_set_name(win: c_int, name: *const c_char) {
        let name = text(name);
        running(|state| {
            window(state, win)?.name = name;
            Ok(())
        })
    }
    fn MPI_Win_get_name(win: c_int, name: *mut c_char, length: *mut c_int) {
        let found = running(|state| Ok(window(state, win)?.name.clone()))?;
        put_text(&found, name, 128, length);
        Ok(())
    }
    fn MPI_Win_set_errhandler(_win: c_int, _handler: c_int) { Ok(()) }
}
