//! Statements of programs about their computations: amounts, and blocks that are run a few times
//! only.

use crate::protocol::{CallKind, Request};
use crate::state::{Outcome, kernel_clock, running};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_char, c_double, c_int, c_ulong, c_void};
use std::sync::{Mutex, PoisonError};

unsafe extern "C" {
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn mmap(
        at: *mut c_void,
        length: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
}

fn charge(what: CallKind, amount: f64) {
    let told: Outcome = running(|state| {
        state.ask(Request { amount, ..Request::new(what) }, &[])?;
        Ok(())
    });
    if let Err(fault) = told {
        crate::call::abort(fault.class, &fault.text);
    }
}

/// Computes so many flop on the simulated host.
#[unsafe(no_mangle)]
pub extern "C" fn slackline_compute(flops: c_double) {
    charge(CallKind::Compute, flops.max(0.0));
}

/// Computes for so many seconds on the simulated host.
#[unsafe(no_mangle)]
pub extern "C" fn slackline_compute_seconds(seconds: c_double) {
    let speed = running(|state| Ok(state.speed)).unwrap_or(1e9);
    charge(CallKind::Compute, seconds.max(0.0) * speed);
}

thread_local! {
    static BEGAN: Cell<f64> = const { Cell::new(0.0) };
}

fn cpu() -> f64 {
    let (seconds, nanoseconds) = kernel_clock(3);
    seconds as f64 + nanoseconds as f64 * 1e-9
}

/// Whether a block is to be run: the first `times` times (of this rank, or of all with `global`). Otherwise
/// its mean time is charged.
///
/// # Safety
/// `key` is a string that names the block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slackline_sample_begin(
    key: *const c_char,
    times: c_int,
    global: c_int,
) -> c_int {
    let mut key = unsafe { crate::communicator::text(key) };
    let asked = running(|state| {
        if global == 0 {
            key = format!("{key} {}", state.rank);
        }
        let number = times.max(0) as u32;
        let request = Request { number, answer: true, ..Request::new(CallKind::Sample) };
        Ok(state.ask(request, key.as_bytes())?.flag)
    });
    match asked {
        Ok(runs) => {
            BEGAN.set(cpu());
            c_int::from(runs)
        }
        Err(fault) => crate::call::abort(fault.class, &fault.text),
    }
}

/// The end of a block that was run.
///
/// # Safety
/// `key` is a string that names the block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slackline_sample_end(key: *const c_char, global: c_int) {
    let amount = (cpu() - BEGAN.get()).max(0.0);
    let mut key = unsafe { crate::communicator::text(key) };
    let told: Outcome = running(|state| {
        if global == 0 {
            key = format!("{key} {}", state.rank);
        }
        state.ask(Request { amount, ..Request::new(CallKind::Sampled) }, key.as_bytes())?;
        Ok(())
    });
    if let Err(fault) = told {
        crate::call::abort(fault.class, &fault.text);
    }
}

/// Lengths of the shared arrays in use, by address.
static SHARED: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

/// Memory that all ranks share under one key; null if there is none.
///
/// # Safety
/// `key` is a string that names the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slackline_shared_malloc(
    key: *const c_char,
    bytes: c_ulong,
) -> *mut c_void {
    let key = unsafe { crate::communicator::text(key) };
    let length = bytes.max(1) as usize;
    let asked = running(|state| {
        let bytes = length as u64;
        let request = Request { bytes, answer: true, ..Request::new(CallKind::Share) };
        let reply = state.ask(request, key.as_bytes())?;
        Ok(reply.flag.then(|| format!("/proc/{}/fd/{}\0", state.parent, reply.found.0)))
    });
    let Ok(Some(path)) = asked else { return std::ptr::null_mut() };
    // SAFETY: a terminated name, and a new mapping where the kernel finds room for it.
    let at = unsafe {
        let fd = open(path.as_ptr().cast(), 2 | 0o2000000);
        if fd < 0 {
            return std::ptr::null_mut();
        }
        let at = mmap(std::ptr::null_mut(), length, 3, 1, fd, 0);
        close(fd);
        at
    };
    if at as isize == -1 {
        return std::ptr::null_mut();
    }
    let mut known = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().insert(at as usize, length);
    at
}

/// Gives such memory back.
///
/// # Safety
/// `memory` is null or came from [`slackline_shared_malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slackline_shared_free(memory: *mut c_void) {
    let mut known = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(length) = known.as_mut().and_then(|known| known.remove(&(memory as usize))) {
        // SAFETY: this mapping was made with this length and is unmapped once.
        unsafe { munmap(memory, length) };
    }
}
