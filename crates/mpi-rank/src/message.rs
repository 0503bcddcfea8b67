//! Point-to-point messages and requests.

use crate::call::{in_comm, mpi, put, slice};
use crate::protocol::{CallKind, Delivery, Reply, Request};
use crate::state::{
    ANY_SOURCE, ANY_TAG, Fault, Finish, Outcome, PROC_NULL, Parts, Pending, Prepared, REQUEST_NULL,
    RequestKind, State, Status, TAG_UB, class, fault, running,
};
use crate::types::Datatype;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// A send or receive as a call states it.
#[derive(Clone, Copy)]
struct Stated {
    buffer: usize,
    count: c_int,
    datatype: c_int,
    peer: c_int,
    tag: c_int,
    comm: c_int,
}

// Modes of a send.
const STANDARD: u8 = 0;
const SYNCHRONOUS: u8 = 1;
const BUFFERED: u8 = 2;

fn elements(count: c_int) -> Outcome<usize> {
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => fault(class::COUNT, format!("the count is {count}")),
    }
}

/// Returns the route of a message as the simulator has it: number of the communicator, partner, tag (-1 for any). `None`
/// for `MPI_PROC_NULL`.
fn route(
    state: &mut State,
    comm: c_int,
    peer: c_int,
    tag: c_int,
    receives: bool,
) -> Outcome<Option<(u32, i32, i32)>> {
    let known = state.comm(comm)?;
    let bad = |class, text| Err(Fault { class, comm, text });
    if tag > TAG_UB || tag < 0 && !(receives && tag == ANY_TAG) {
        return bad(class::TAG, format!("the tag is {tag}"));
    }
    if peer == PROC_NULL {
        return Ok(None);
    }
    let any = receives && peer == ANY_SOURCE;
    let last = known.partners().len() as i32 - 1;
    if !any && !(0..=last).contains(&peer) {
        return bad(class::RANK, format!("there is no rank {peer}: ranks go from 0 to {last}"));
    }
    let peer = if any { -1 } else { known.index(peer) };
    let tag = if tag == ANY_TAG { -1 } else { tag };
    Ok(Some((state.number_of(comm)?, peer, tag)))
}

/// Posts a send; returns its number, `None` for `MPI_PROC_NULL`.
unsafe fn post_send(
    state: &mut State,
    stated: Stated,
    mode: u8,
    blocking: bool,
) -> Outcome<Option<u32>> {
    let datatype = state.datatype(stated.datatype)?;
    unsafe { post_typed_send(state, stated, &datatype, mode, blocking) }
}

unsafe fn post_typed_send(
    state: &mut State,
    stated: Stated,
    datatype: &Datatype,
    mode: u8,
    blocking: bool,
) -> Outcome<Option<u32>> {
    let count = elements(stated.count)?;
    let Some((comm, peer, tag)) = route(state, stated.comm, stated.peer, stated.tag, false)? else {
        return Ok(None);
    };
    let mut data = Vec::new();
    unsafe { datatype.pack(stated.buffer as *const c_void, count, &mut data) };
    let what = if blocking { CallKind::Send } else { CallKind::Isend };
    let number = state.number();
    let bytes = data.len() as u64;
    let kind = u8::from(mode == SYNCHRONOUS);
    state.ask(Request { number, comm, peer, tag, bytes, kind, ..Request::new(what) }, &data)?;
    Ok(Some(number))
}

fn post_receive(state: &mut State, stated: Stated, bytes: u64) -> Outcome<Option<u32>> {
    let Some((comm, peer, tag)) = route(state, stated.comm, stated.peer, stated.tag, true)? else {
        return Ok(None);
    };
    let number = state.number();
    state.ask(Request { number, comm, peer, tag, bytes, ..Request::new(CallKind::Irecv) }, &[])?;
    Ok(Some(number))
}

/// The status of a message from a rank of the world.
fn status(state: &State, comm: i32, src: i32, tag: i32, bytes: u64) -> Status {
    match state.comm(comm) {
        Ok(known) => Status::of(known.local(src), tag, bytes),
        Err(_) => Status::of(src, tag, bytes),
    }
}

/// The status of a message that has arrived at its receive; one that is longer than the buffer leaves an error in it.
fn received(state: &State, comm: i32, delivery: &Delivery, finish: &Finish) -> Status {
    let bytes = delivery.data.len() as u64;
    let mut found = status(state, comm, delivery.src, delivery.tag, bytes.min(finish.room()));
    if bytes > finish.room() {
        found.error = class::TRUNCATE;
    }
    found
}

/// The failure of a call that completes one request in a communicator.
fn checked(found: &Status, comm: c_int) -> Outcome {
    match found.error {
        0 => Ok(()),
        class => Err(Fault { class, comm, text: TOO_LONG.into() }),
    }
}

const TOO_LONG: &str = "truncation: the message is longer than the buffer of its receive";

/// A request that is complete from the start.
fn ready(status: Status, comm: c_int) -> Pending {
    Pending {
        number: None,
        kind: RequestKind::Send,
        finish: Finish::Nothing,
        comm,
        status,
        active: true,
        prepared: None,
    }
}

/// Blocking sends.
unsafe fn send(stated: Stated, mode: u8) -> Outcome {
    let sent = running(|state| unsafe { post_send(state, stated, mode, mode != BUFFERED) });
    in_comm(stated.comm, sent.map(|_| ()))
}

unsafe fn isend(stated: Stated, mode: u8, request: *mut c_int) -> Outcome {
    let made = running(|state| {
        let number = unsafe { post_send(state, stated, mode, false)? };
        // A buffered send is complete at once: there is nothing to wait for.
        let number = number.filter(|_| mode != BUFFERED);
        Ok(state.requests.add(Pending { number, ..ready(Status::EMPTY, stated.comm) }))
    });
    unsafe { put(request, in_comm(stated.comm, made)?) };
    Ok(())
}

unsafe fn recv(stated: Stated, to: *mut Status) -> Outcome {
    let (status, finish) = in_comm(
        stated.comm,
        running(|state| {
            let datatype = state.datatype(stated.datatype)?;
            let count = elements(stated.count)?;
            let Some((comm, peer, tag)) = route(state, stated.comm, stated.peer, stated.tag, true)?
            else {
                return Ok((Status::OF_NO_RANK, None));
            };
            let bytes = (count * datatype.size) as u64;
            let number = state.number();
            let request = Request {
                number,
                comm,
                peer,
                tag,
                bytes,
                answer: true,
                ..Request::new(CallKind::Recv)
            };
            let mut reply = state.ask(request, &[])?;
            let Some(delivery) = reply.deliveries.pop() else {
                return Ok((Status::EMPTY, None));
            };
            let finish = Finish::Elements { to: stated.buffer, count, datatype };
            let status = received(state, stated.comm, &delivery, &finish);
            let parts = Parts { lengths: delivery.parts, data: delivery.data };
            Ok((status, Some((finish, parts))))
        }),
    )?;
    if let Some((finish, parts)) = finish {
        unsafe { finish.run(&parts) };
    }
    unsafe { status.put(to) };
    checked(&status, stated.comm)
}

unsafe fn irecv(stated: Stated, request: *mut c_int) -> Outcome {
    let made = running(|state| {
        let datatype = state.datatype(stated.datatype)?;
        let made = receive_request(state, stated, datatype)?;
        Ok(state.requests.add(made))
    });
    unsafe { put(request, in_comm(stated.comm, made)?) };
    Ok(())
}

fn receive_request(state: &mut State, stated: Stated, datatype: Arc<Datatype>) -> Outcome<Pending> {
    let count = elements(stated.count)?;
    let number = post_receive(state, stated, (count * datatype.size) as u64)?;
    Ok(match number {
        None => ready(Status::OF_NO_RANK, stated.comm),
        Some(_) => Pending {
            number,
            kind: RequestKind::Receive,
            finish: Finish::Elements { to: stated.buffer, count, datatype },
            ..ready(Status::EMPTY, stated.comm)
        },
    })
}

/// The result of completing some requests: positions, statuses, and data to be copied into buffers.
#[derive(Default)]
struct Completion {
    flag: bool,
    /// No request was active.
    idle: bool,
    done: Vec<(usize, Status)>,
    data: Vec<(Finish, Parts)>,
    /// The communicator of a request that failed.
    failed: Option<c_int>,
}

/// Waits for or tests requests, in the array of the program.
unsafe fn complete(what: CallKind, at: *mut c_int, count: c_int) -> Outcome<Completion> {
    let count = elements(count)?;
    let handles = unsafe { slice(at, count) }.to_vec();
    let completion = running(|state| {
        let mut outstanding = Vec::new();
        let mut complete = Vec::new();
        let mut needs_answer = !matches!(what, CallKind::Wait);
        for (k, &handle) in handles.iter().enumerate() {
            if handle == REQUEST_NULL {
                continue;
            }
            let Some(pending) = state.requests.get(handle) else {
                return fault(class::REQUEST, format!("{handle:#x} is no request"));
            };
            match pending.number {
                _ if !pending.active => {}
                Some(number) => {
                    outstanding.push((k, number));
                    needs_answer |= pending.kind != RequestKind::Send
                        && !(pending.kind == RequestKind::Collective
                            && matches!(pending.finish, Finish::Nothing));
                }
                None => complete.push(k),
            }
        }
        let idle = outstanding.is_empty() && complete.is_empty();
        let mut completion = Completion { idle, ..Completion::default() };
        let mut reply = Reply::default();
        let ask = match what {
            CallKind::Wait | CallKind::Test => !outstanding.is_empty(),
            CallKind::Testsome => false,
            _ => complete.is_empty() && !outstanding.is_empty(),
        };
        if ask {
            let numbers = outstanding.iter().map(|&(_, number)| number).collect();
            let request = Request { numbers, answer: needs_answer, ..Request::new(what) };
            reply = state.ask(request, &[])?;
            if !needs_answer {
                reply.completed = outstanding.iter().map(|&(_, number)| number).collect();
            }
        }
        completion.flag = match what {
            CallKind::Test => !ask || reply.flag,
            CallKind::Testany | CallKind::Testsome => !ask || reply.flag,
            _ => true,
        };
        if what == CallKind::Test && !completion.flag {
            return Ok(completion);
        }
        if matches!(what, CallKind::Waitany | CallKind::Testany) {
            complete.truncate(1);
        }
        let mut done: Vec<(usize, Option<u32>)> = complete.into_iter().map(|k| (k, None)).collect();
        for (k, number) in outstanding {
            if reply.completed.contains(&number) {
                done.push((k, Some(number)));
            }
        }
        done.sort_unstable();
        for (k, number) in done {
            let handle = handles[k];
            let Some(pending) = state.requests.get_mut(handle) else { continue };
            let mut found = pending.status;
            let (comm, kind) = (pending.comm, pending.kind);
            let finish = std::mem::replace(&mut pending.finish, Finish::Nothing);
            if pending.prepared.is_some() {
                (pending.active, pending.number) = (false, None);
            } else {
                state.requests.remove(handle);
                // SAFETY: `k` is below `count`.
                unsafe { at.add(k).write(REQUEST_NULL) };
            }
            let place = reply.deliveries.iter().position(|d| Some(d.number) == number);
            match place {
                Some(place) => {
                    let delivery = reply.deliveries.swap_remove(place);
                    if kind == RequestKind::Receive {
                        found = received(state, comm, &delivery, &finish);
                    }
                    let parts = Parts { lengths: delivery.parts, data: delivery.data };
                    completion.data.push((finish, parts));
                }
                None if kind == RequestKind::Receive && number.is_some() => found.count_hi |= 1,
                None => {}
            }
            if found.error != 0 {
                completion.failed.get_or_insert(comm);
            }
            completion.done.push((k, found));
        }
        Ok(completion)
    })?;
    Ok(completion)
}

impl Completion {
    /// Copies data into their buffers. The lock of the state must be free: functions of the program may run.
    unsafe fn deliver(&mut self) {
        for (finish, parts) in self.data.drain(..) {
            unsafe { finish.run(&parts) };
        }
    }

    /// The failure of a call that completes one request.
    fn check(&self) -> Outcome {
        match (self.failed, self.done.first()) {
            (Some(comm), Some((_, status))) => checked(status, comm),
            _ => Ok(()),
        }
    }

    /// The failure of a call that completes several, which leaves the cause in their statuses.
    fn check_all(&self) -> Outcome {
        match self.failed {
            Some(comm) => Err(Fault { class: class::IN_STATUS, comm, text: TOO_LONG.into() }),
            None => Ok(()),
        }
    }
}

/// Tests requests one after the other, each for the time of one test. Requests that are found complete stay so and keep
/// their handles until a call returns them.
unsafe fn test_each(at: *mut c_int, count: c_int) -> Outcome {
    for k in 0..elements(count)? {
        let handle = unsafe { *at.add(k) };
        let finish = running(|state| {
            let Some(pending) = state.requests.get(handle) else { return Ok(None) };
            let (Some(number), true) = (pending.number, pending.active) else { return Ok(None) };
            let (comm, kind) = (pending.comm, pending.kind);
            let numbers = vec![number];
            let request = Request { numbers, answer: true, ..Request::new(CallKind::Test) };
            let mut reply = state.ask(request, &[])?;
            if !reply.flag {
                return Ok(None);
            }
            let delivery = reply.deliveries.pop();
            let found = match (&delivery, kind) {
                (Some(d), RequestKind::Receive) => {
                    let pending = state.requests.get(handle);
                    let finish = pending.map_or(&Finish::Nothing, |pending| &pending.finish);
                    received(state, comm, d, finish)
                }
                (None, RequestKind::Receive) => Status { count_hi: 1, ..Status::EMPTY },
                _ => Status::EMPTY,
            };
            let Some(pending) = state.requests.get_mut(handle) else { return Ok(None) };
            (pending.number, pending.status) = (None, found);
            let finish = std::mem::replace(&mut pending.finish, Finish::Nothing);
            Ok(delivery.map(|d| (finish, Parts { lengths: d.parts, data: d.data })))
        })?;
        if let Some((finish, parts)) = finish {
            unsafe { finish.run(&parts) };
        }
    }
    Ok(())
}

/// Whether no request is outstanding.
unsafe fn all_complete(at: *mut c_int, count: c_int) -> Outcome<bool> {
    let handles = unsafe { slice(at, elements(count)?) };
    running(|state| {
        let open = |handle: &c_int| {
            state.requests.get(*handle).is_some_and(|p| p.active && p.number.is_some())
        };
        Ok(!handles.iter().any(open))
    })
}

/// Writes one status per request; empty ones for those that were not active.
unsafe fn put_all(completion: &Completion, count: c_int, statuses: *mut Status) {
    if statuses as usize <= 1 {
        return;
    }
    for k in 0..count.max(0) as usize {
        let found = completion.done.iter().find(|(at, _)| *at == k);
        let status = found.map_or(Status::EMPTY, |(_, status)| *status);
        unsafe { statuses.add(k).write(status) };
    }
}

/// Starts a prepared request.
unsafe fn start(handle: c_int) -> Outcome {
    running(|state| {
        let Some(pending) = state.requests.get(handle) else {
            return fault(class::REQUEST, format!("{handle:#x} is no request"));
        };
        let Some(prepared) = pending.prepared.clone() else {
            return fault(class::REQUEST, "the request is not persistent");
        };
        if pending.active {
            return fault(class::REQUEST, "the request was started and is not complete");
        }
        let stated = Stated {
            buffer: prepared.buffer,
            count: prepared.count as c_int,
            datatype: 0,
            peer: prepared.peer,
            tag: prepared.tag,
            comm: prepared.comm,
        };
        let mut made = match prepared.mode {
            None => receive_request(state, stated, Arc::clone(&prepared.datatype))?,
            Some(mode) => {
                let number =
                    unsafe { post_typed_send(state, stated, &prepared.datatype, mode, false)? };
                let number = number.filter(|_| mode != BUFFERED);
                Pending { number, ..ready(Status::EMPTY, stated.comm) }
            }
        };
        made.prepared = Some(prepared);
        if let Some(pending) = state.requests.get_mut(handle) {
            *pending = made;
        }
        Ok(())
    })
}

unsafe fn prepare(stated: Stated, mode: Option<u8>, request: *mut c_int) -> Outcome {
    let made = running(|state| {
        let datatype = state.datatype(stated.datatype)?;
        let count = elements(stated.count)?;
        route(state, stated.comm, stated.peer, stated.tag, mode.is_none())?;
        let Stated { buffer, peer, tag, comm, .. } = stated;
        let prepared = Prepared { comm, peer, tag, buffer, count, datatype, mode };
        let prepared = Some(Box::new(prepared));
        Ok(state.requests.add(Pending { active: false, prepared, ..ready(Status::EMPTY, comm) }))
    });
    unsafe { put(request, in_comm(stated.comm, made)?) };
    Ok(())
}

/// Sends and receives at once.
unsafe fn exchange(sent: Stated, wanted: Stated, to: *mut Status) -> Outcome {
    let comm = sent.comm;
    let (status, finish) = in_comm(
        comm,
        running(|state| {
            let datatype = state.datatype(wanted.datatype)?;
            let count = elements(wanted.count)?;
            let known = state.comm(comm)?;
            let me = known.me as c_int;
            let is_mine = known.remote.is_none() && sent.peer == me && wanted.peer == me;
            if is_mine && (wanted.tag == sent.tag || wanted.tag == ANY_TAG) {
                // A message of a rank to itself is a copy, as in SimGrid: it takes no time.
                let mut data = Vec::new();
                let elements = elements(sent.count)?;
                let from = state.datatype(sent.datatype)?;
                unsafe { from.pack(sent.buffer as *const c_void, elements, &mut data) };
                let finish = Finish::Elements { to: wanted.buffer, count, datatype };
                let (lengths, src) = (vec![data.len() as u64], state.rank as i32);
                let delivery = Delivery { src, tag: sent.tag, data, ..Delivery::default() };
                let status = received(state, comm, &delivery, &finish);
                return Ok((status, Some((finish, Parts { lengths, data: delivery.data }))));
            }
            let first = unsafe { post_send(state, sent, STANDARD, false)? };
            let second = post_receive(state, wanted, (count * datatype.size) as u64)?;
            let numbers: Vec<u32> = first.into_iter().chain(second).collect();
            if numbers.is_empty() {
                return Ok((Status::OF_NO_RANK, None));
            }
            let answer = second.is_some();
            let mut reply =
                state.ask(Request { numbers, answer, ..Request::new(CallKind::Wait) }, &[])?;
            let Some(delivery) = reply.deliveries.pop() else {
                return Ok((Status::OF_NO_RANK, None));
            };
            let finish = Finish::Elements { to: wanted.buffer, count, datatype };
            let status = received(state, comm, &delivery, &finish);
            let parts = Parts { lengths: delivery.parts, data: delivery.data };
            Ok((status, Some((finish, parts))))
        }),
    )?;
    if let Some((finish, parts)) = finish {
        unsafe { finish.run(&parts) };
    }
    unsafe { status.put(to) };
    checked(&status, comm)
}

unsafe fn probe(what: CallKind, peer: c_int, tag: c_int, comm: c_int) -> Outcome<Option<Status>> {
    in_comm(
        comm,
        running(|state| {
            let Some((id, from, wanted)) = route(state, comm, peer, tag, true)? else {
                return Ok(Some(Status::OF_NO_RANK));
            };
            let request =
                Request { comm: id, peer: from, tag: wanted, answer: true, ..Request::new(what) };
            let reply = state.ask(request, &[])?;
            if what == CallKind::Iprobe && !reply.flag {
                return Ok(None);
            }
            let (src, tag, bytes) = reply.found;
            Ok(Some(status(state, comm, src, tag, bytes)))
        }),
    )
}

fn stated(
    buffer: *const c_void,
    count: c_int,
    datatype: c_int,
    peer: c_int,
    tag: c_int,
    comm: c_int,
) -> Stated {
    Stated { buffer: buffer as usize, count, datatype, peer, tag, comm }
}

mpi! {
    fn MPI_Send(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int) {
        send(stated(buf, count, datatype, dest, tag, comm), STANDARD)
    }
    fn MPI_Ssend(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int) {
        send(stated(buf, count, datatype, dest, tag, comm), SYNCHRONOUS)
    }
    fn MPI_Rsend(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int) {
        send(stated(buf, count, datatype, dest, tag, comm), STANDARD)
    }
    fn MPI_Bsend(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int) {
        send(stated(buf, count, datatype, dest, tag, comm), BUFFERED)
    }
    fn MPI_Isend(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        isend(stated(buf, count, datatype, dest, tag, comm), STANDARD, request)
    }
    fn MPI_Issend(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        isend(stated(buf, count, datatype, dest, tag, comm), SYNCHRONOUS, request)
    }
    fn MPI_Irsend(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        isend(stated(buf, count, datatype, dest, tag, comm), STANDARD, request)
    }
    fn MPI_Ibsend(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        isend(stated(buf, count, datatype, dest, tag, comm), BUFFERED, request)
    }
    fn MPI_Recv(buf: *mut c_void, count: c_int, datatype: c_int, source: c_int, tag: c_int, comm: c_int, status: *mut Status) {
        recv(stated(buf, count, datatype, source, tag, comm), status)
    }
    fn MPI_Irecv(buf: *mut c_void, count: c_int, datatype: c_int, source: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        irecv(stated(buf, count, datatype, source, tag, comm), request)
    }
    fn MPI_Send_init(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        prepare(stated(buf, count, datatype, dest, tag, comm), Some(STANDARD), request)
    }
    fn MPI_Ssend_init(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        prepare(stated(buf, count, datatype, dest, tag, comm), Some(SYNCHRONOUS), request)
    }
    fn MPI_Rsend_init(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        prepare(stated(buf, count, datatype, dest, tag, comm), Some(STANDARD), request)
    }
    fn MPI_Bsend_init(buf: *const c_void, count: c_int, datatype: c_int, dest: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        prepare(stated(buf, count, datatype, dest, tag, comm), Some(BUFFERED), request)
    }
    fn MPI_Recv_init(buf: *mut c_void, count: c_int, datatype: c_int, source: c_int, tag: c_int, comm: c_int, request: *mut c_int) {
        prepare(stated(buf, count, datatype, source, tag, comm), None, request)
    }
    fn MPI_Start(request: *mut c_int) {
        start(*request)
    }
    fn MPI_Startall(count: c_int, requests: *mut c_int) {
        for &handle in slice(requests, elements(count)?) {
            start(handle)?;
        }
        Ok(())
    }
    fn MPI_Sendrecv(sendbuf: *const c_void, sendcount: c_int, sendtype: c_int, dest: c_int, sendtag: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c_int, source: c_int, recvtag: c_int, comm: c_int, status: *mut Status) {
        let sent = stated(sendbuf, sendcount, sendtype, dest, sendtag, comm);
        exchange(sent, stated(recvbuf, recvcount, recvtype, source, recvtag, comm), status)
    }
    fn MPI_Sendrecv_replace(buf: *mut c_void, count: c_int, datatype: c_int, dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int, comm: c_int, status: *mut Status) {
        let sent = stated(buf, count, datatype, dest, sendtag, comm);
        exchange(sent, stated(buf, count, datatype, source, recvtag, comm), status)
    }
    fn MPI_Wait(request: *mut c_int, status: *mut Status) {
        let mut completion = complete(CallKind::Wait, request, 1)?;
        completion.deliver();
        completion.done.first().map_or(Status::EMPTY, |(_, s)| *s).put(status);
        completion.check()
    }
    fn MPI_Waitall(count: c_int, requests: *mut c_int, statuses: *mut Status) {
        let mut completion = complete(CallKind::Wait, requests, count)?;
        completion.deliver();
        put_all(&completion, count, statuses);
        completion.check_all()
    }
    fn MPI_Waitany(count: c_int, requests: *mut c_int, index: *mut c_int, status: *mut Status) {
        let mut completion = complete(CallKind::Waitany, requests, count)?;
        completion.deliver();
        let first = completion.done.first();
        put(index, first.map_or(crate::state::UNDEFINED, |(k, _)| *k as c_int));
        first.map_or(Status::EMPTY, |(_, s)| *s).put(status);
        completion.check()
    }
    fn MPI_Waitsome(count: c_int, requests: *mut c_int, outcount: *mut c_int, indices: *mut c_int, statuses: *mut Status) {
        some(CallKind::Waitsome, count, requests, outcount, indices, statuses)
    }
    fn MPI_Test(request: *mut c_int, flag: *mut c_int, status: *mut Status) {
        let mut completion = complete(CallKind::Test, request, 1)?;
        completion.deliver();
        put(flag, completion.flag.into());
        if completion.flag {
            completion.done.first().map_or(Status::EMPTY, |(_, s)| *s).put(status);
        }
        completion.check()
    }
    fn MPI_Testall(count: c_int, requests: *mut c_int, flag: *mut c_int, statuses: *mut Status) {
        test_each(requests, count)?;
        if !all_complete(requests, count)? {
            put(flag, 0);
            return Ok(());
        }
        let mut completion = complete(CallKind::Test, requests, count)?;
        completion.deliver();
        put(flag, completion.flag.into());
        if completion.flag {
            put_all(&completion, count, statuses);
        }
        completion.check_all()
    }
    fn MPI_Testany(count: c_int, requests: *mut c_int, index: *mut c_int, flag: *mut c_int, status: *mut Status) {
        let mut completion = complete(CallKind::Testany, requests, count)?;
        completion.deliver();
        let first = completion.done.first();
        put(flag, c_int::from(completion.idle || first.is_some()));
        put(index, first.map_or(crate::state::UNDEFINED, |(k, _)| *k as c_int));
        if completion.idle || first.is_some() {
            first.map_or(Status::EMPTY, |(_, s)| *s).put(status);
        }
        completion.check()
    }
    fn MPI_Testsome(count: c_int, requests: *mut c_int, outcount: *mut c_int, indices: *mut c_int, statuses: *mut Status) {
        some(CallKind::Testsome, count, requests, outcount, indices, statuses)
    }
    fn MPI_Request_free(request: *mut c_int) {
        running(|state| match state.requests.remove(*request) {
            // The operation continues; the data of a receive are dropped when they arrive.
            Some(_) => Ok(()),
            None => fault(class::REQUEST, "there is no such request"),
        })?;
        put(request, REQUEST_NULL);
        Ok(())
    }
    fn MPI_Request_get_status(request: c_int, flag: *mut c_int, status: *mut Status) {
        let mut handle = request;
        test_each(&mut handle, 1)?;
        let complete = running(|state| {
            Ok(match state.requests.get(request) {
                Some(pending) if pending.active && pending.number.is_some() => None,
                Some(pending) if pending.active => Some(pending.status),
                _ => Some(Status::EMPTY),
            })
        })?;
        put(flag, complete.is_some().into());
        if let Some(found) = complete {
            found.put(status);
        }
        Ok(())
    }
    fn MPI_Cancel(request: *mut c_int) {
        running(|state| {
            let Some(pending) = state.requests.get(*request) else {
                return fault(class::REQUEST, "there is no such request");
            };
            if let (RequestKind::Receive, Some(number)) = (pending.kind, pending.number) {
                let request = Request { numbers: vec![number], ..Request::new(CallKind::Cancel) };
                state.ask(request, &[])?;
            }
            Ok(())
        })
    }
    fn MPI_Test_cancelled(status: *const Status, flag: *mut c_int) {
        put(flag, (*status).count_hi & 1);
        Ok(())
    }
    fn MPI_Status_set_cancelled(status: *mut Status, flag: c_int) {
        (*status).count_hi = (*status).count_hi & !1 | c_int::from(flag != 0);
        Ok(())
    }
    fn MPI_Probe(source: c_int, tag: c_int, comm: c_int, status: *mut Status) {
        if let Some(found) = probe(CallKind::Probe, source, tag, comm)? {
            found.put(status);
        }
        Ok(())
    }
    fn MPI_Iprobe(source: c_int, tag: c_int, comm: c_int, flag: *mut c_int, status: *mut Status) {
        let found = probe(CallKind::Iprobe, source, tag, comm)?;
        put(flag, found.is_some().into());
        if let Some(found) = found {
            found.put(status);
        }
        Ok(())
    }
    fn MPI_Mprobe(source: c_int, tag: c_int, comm: c_int, message: *mut c_int, status: *mut Status) {
        if let Some(found) = probe(CallKind::Probe, source, tag, comm)? {
            put(message, take(found, comm)?);
            found.put(status);
        }
        Ok(())
    }
    fn MPI_Improbe(source: c_int, tag: c_int, comm: c_int, flag: *mut c_int, message: *mut c_int, status: *mut Status) {
        let found = probe(CallKind::Iprobe, source, tag, comm)?;
        put(flag, found.is_some().into());
        if let Some(found) = found {
            put(message, take(found, comm)?);
            found.put(status);
        }
        Ok(())
    }
    fn MPI_Mrecv(buf: *mut c_void, count: c_int, datatype: c_int, message: *mut c_int, status: *mut Status) {
        let mut request = receive_taken(buf, count, datatype, message)?;
        let mut completion = complete(CallKind::Wait, &mut request, 1)?;
        completion.deliver();
        completion.done.first().map_or(Status::EMPTY, |(_, s)| *s).put(status);
        completion.check()
    }
    fn MPI_Imrecv(buf: *mut c_void, count: c_int, datatype: c_int, message: *mut c_int, request: *mut c_int) {
        put(request, receive_taken(buf, count, datatype, message)?);
        Ok(())
    }
    fn MPI_Buffer_attach(buffer: *mut c_void, size: c_int) {
        running(|state| {
            state.attached = (buffer as usize, size);
            Ok(())
        })
    }
    fn MPI_Buffer_detach(buffer: *mut c_void, size: *mut c_int) {
        let (at, bytes) = running(|state| Ok(std::mem::take(&mut state.attached)))?;
        put(buffer.cast::<usize>(), at);
        put(size, bytes);
        Ok(())
    }
}

/// `MPI_MESSAGE_NO_PROC`: the message that a matched probe of `MPI_PROC_NULL` finds.
const NO_MESSAGE: c_int = 0x6c00_0000;

/// Receives the message that a matched probe has found; returns the handle of a receive whose buffer is not known yet.
fn take(found: Status, comm: c_int) -> Outcome<c_int> {
    if found.source == PROC_NULL {
        return Ok(NO_MESSAGE);
    }
    let (peer, tag) = (found.source, found.tag);
    let stated = Stated { buffer: 0, count: 0, datatype: 0, peer, tag, comm };
    running(|state| {
        let number = post_receive(state, stated, found.bytes())?;
        let kind = RequestKind::Receive;
        Ok(state.requests.add(Pending { number, kind, ..ready(Status::EMPTY, comm) }))
    })
}

/// Supplies the buffer of a message that a matched probe has found; returns the handle of its request.
unsafe fn receive_taken(
    buffer: *mut c_void,
    count: c_int,
    datatype: c_int,
    message: *mut c_int,
) -> Outcome<c_int> {
    let handle = unsafe { *message };
    let request = running(|state| {
        if handle == NO_MESSAGE {
            return Ok(state.requests.add(ready(Status::OF_NO_RANK, crate::state::COMM_WORLD)));
        }
        let (datatype, count) = (state.datatype(datatype)?, elements(count)?);
        let Some(pending) = state.requests.get_mut(handle) else {
            return fault(class::REQUEST, format!("{handle:#x} is no message"));
        };
        pending.finish = Finish::Elements { to: buffer as usize, count, datatype };
        Ok(handle)
    })?;
    unsafe { put(message, REQUEST_NULL) };
    Ok(request)
}

unsafe fn some(
    what: CallKind,
    count: c_int,
    requests: *mut c_int,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Outcome {
    let mut completion = match what {
        // Waits for the first one and tests the others, each for the time of a test.
        CallKind::Waitsome => unsafe { complete(CallKind::Waitany, requests, count)? },
        _ => {
            unsafe { test_each(requests, count)? };
            unsafe { complete(what, requests, count)? }
        }
    };
    if what == CallKind::Waitsome && !completion.done.is_empty() {
        for k in 0..elements(count)? {
            let mut more = unsafe { complete(CallKind::Test, requests.add(k), 1)? };
            completion.done.extend(more.done.drain(..).map(|(_, found)| (k, found)));
            completion.data.append(&mut more.data);
            completion.failed = completion.failed.or(more.failed);
        }
        completion.done.sort_by_key(|(k, _)| *k);
    }
    unsafe { completion.deliver() };
    if completion.idle {
        unsafe { put(outcount, crate::state::UNDEFINED) };
        return Ok(());
    }
    unsafe { put(outcount, completion.done.len() as c_int) };
    for (at, (k, status)) in completion.done.iter().enumerate() {
        unsafe {
            indices.add(at).write(*k as c_int);
            if statuses as usize > 1 {
                statuses.add(at).write(*status);
            }
        }
    }
    completion.check_all()
}
