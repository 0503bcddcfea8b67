//! Actions as lines of a trace in the extended format.

use crate::action::{Action, Call, Envelope, Kind, Line, Mode, Which};
use std::fmt::Write;

/// Element size in bytes and the code of a datatype of that size, as in SimGrid's traces; of size 1 where there is
/// none (6: `MPI_BYTE`).
fn code(unit: u64) -> (u64, u32) {
    match unit {
        2 => (2, 3),
        4 => (4, 1),
        8 => (8, 0),
        16 => (16, 14),
        32 => (32, 27),
        _ => (1, 6),
    }
}

/// Appends the line of an action, such that reading it gives the action back.
pub fn write_line(out: &mut Vec<u8>, rank: u32, line: &Line) {
    let mut text = format!("{rank} ");
    // Writing to a string does not fail.
    let _ = write_action(&mut text, line);
    if let Action::Collective(call) | Action::Icollective(call) = &line.action
        && call.ordered
    {
        text.push_str(" ordered=1");
    }
    if line.comm != 0 {
        let _ = write!(text, " comm={}", line.comm);
    }
    let makes_request = matches!(
        line.action,
        Action::Isend(..)
            | Action::Put(..)
            | Action::Get(_)
            | Action::Irecv(_)
            | Action::Icollective(_)
            | Action::SendInit(..)
            | Action::RecvInit(_)
    );
    if let Some(number) = line.request.filter(|_| makes_request) {
        let _ = write!(text, " req={number}");
    }
    text.push('\n');
    out.extend_from_slice(text.as_bytes());
}

fn write_action(out: &mut String, line: &Line) -> std::fmt::Result {
    let message = |out: &mut String, name: &str, e: &Envelope| match e.bytes {
        Some(bytes) => write!(out, "{name} {} {} {bytes} 6", e.peer, e.tag),
        None => write!(out, "{name} {} {} -1", e.peer, e.tag),
    };
    let which = |out: &mut String, name: &str, which: &Which| match which {
        Which::Numbers(numbers) => {
            write!(out, "{name} req=")?;
            for (k, number) in numbers.iter().enumerate() {
                write!(out, "{}{number}", if k > 0 { "," } else { "" })?;
            }
            Ok(())
        }
        Which::Key(src, dst, tag) => write!(out, "{name} {src} {dst} {tag}"),
        Which::Last => write!(out, "{name}"),
    };
    let named = |mode: &Mode, standard, synchronous| match mode {
        Mode::Standard => standard,
        Mode::Synchronous => synchronous,
    };
    match &line.action {
        Action::Init => out.write_str("init"),
        Action::Finalize => out.write_str("finalize"),
        Action::Compute(flops) => write!(out, "compute {flops}"),
        Action::Sleep(seconds) => write!(out, "sleep {seconds}"),
        Action::Send(e, mode) => message(out, named(mode, "send", "ssend"), e),
        Action::Isend(e, mode) => message(out, named(mode, "isend", "issend"), e),
        Action::Recv(e) => message(out, "recv", e),
        Action::Irecv(e) => message(out, "irecv", e),
        Action::Sendrecv(s, r) => {
            let (sent, room) = (s.bytes.unwrap_or(0), r.bytes.unwrap_or(0));
            write!(out, "sendrecv {sent} {} {room} {} 6 6", s.peer, r.peer)
        }
        Action::Wait(w) => which(out, "wait", w),
        Action::Waitall => out.write_str("waitall"),
        Action::Test(w) => which(out, "test", w),
        Action::Testany(w) => which(out, "testany", w),
        Action::Testsome(w) => which(out, "testsome", w),
        Action::Cancel(w) => which(out, "cancel", w),
        Action::Waitany(w) => which(out, "waitany", w),
        Action::Waitsome(w) => which(out, "waitsome", w),
        Action::Probe(e) => write!(out, "probe {} {}", e.peer, e.tag),
        Action::Iprobe(e) => write!(out, "iprobe {} {}", e.peer, e.tag),
        Action::Poll(e) => write!(out, "poll {} {}", e.peer, e.tag),
        Action::SendInit(e, mode) => message(out, named(mode, "send_init", "ssend_init"), e),
        Action::RecvInit(e) => message(out, "recv_init", e),
        Action::Start(w) => which(out, "startall", w),
        Action::Collective(call) => write_call(out, "", call),
        Action::Icollective(call) => write_call(out, "i", call),
        Action::CommSplit { id, colour, key } => {
            write!(out, "comm_split {id} {} {key}", colour.unwrap_or(-1))
        }
        Action::CommDup(id) => write!(out, "comm_dup {id}"),
        Action::CommWindow(id) => write!(out, "comm_window {id}"),
        Action::Put(e, mode) => message(out, named(mode, "put", "accumulate"), e),
        Action::Get(e) => message(out, "get", e),
        Action::CommCreate(id, ranks) => {
            write!(out, "comm_create {id}")?;
            ranks.iter().try_for_each(|rank| write!(out, " {rank}"))
        }
        Action::CommGroup(id, ranks) => {
            write!(out, "comm_create_group {id}")?;
            ranks.iter().try_for_each(|rank| write!(out, " {rank}"))
        }
        Action::Nothing => out.write_str("location"),
    }
}

fn write_call(out: &mut String, prefix: &str, call: &Call) -> std::fmt::Result {
    // Amounts are written in the call's own unit where it divides all of them, else in bytes.
    let mut amounts = call.counts.iter().chain(&call.recv_counts).chain([&call.bytes]);
    let (unit, code) = match code(call.unit) {
        (unit, code) if amounts.all(|bytes| bytes % unit == 0) => (unit, code),
        _ => (1, 6),
    };
    let list = |out: &mut String, counts: &[u64]| {
        counts.iter().try_for_each(|bytes| write!(out, " {}", bytes / unit))
    };
    write!(out, "{prefix}{}", call.kind.name().replace('_', ""))?;
    let (bytes, root, flops) = (call.bytes / unit, call.root, call.flops);
    match call.kind {
        Kind::Barrier => Ok(()),
        Kind::Bcast => write!(out, " {bytes} {root} {code}"),
        Kind::Reduce => write!(out, " {bytes} {flops} {root} {code}"),
        Kind::Allreduce | Kind::Scan | Kind::Exscan => write!(out, " {bytes} {flops} {code}"),
        Kind::Gather | Kind::Scatter => {
            write!(out, " {bytes} {} {root} {code} 6", call.recv_bytes)
        }
        Kind::Allgather | Kind::Alltoall => write!(out, " {bytes} {} {code} 6", call.recv_bytes),
        Kind::Gatherv => {
            write!(out, " {bytes}")?;
            list(out, &call.counts)?;
            write!(out, " {root} {code} {code}")
        }
        Kind::Allgatherv => {
            write!(out, " {bytes}")?;
            list(out, &call.counts)?;
            write!(out, " {code} {code}")
        }
        Kind::Scatterv => {
            list(out, &call.counts)?;
            write!(out, " {} {root} {code} 6", call.recv_bytes)
        }
        Kind::Alltoallv => {
            write!(out, " {}", call.counts.iter().sum::<u64>() / unit)?;
            list(out, &call.counts)?;
            write!(out, " {}", call.recv_counts.iter().sum::<u64>() / unit)?;
            list(out, &call.recv_counts)?;
            write!(out, " {code} {code}")
        }
        Kind::ReduceScatter => {
            list(out, &call.counts)?;
            write!(out, " {flops} {code}")
        }
    }
}
