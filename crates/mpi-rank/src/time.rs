//! Clocks and sleeps of libc: simulated between `MPI_Init` and `MPI_Finalize`, the kernel's before and after.

use crate::call::put;
use crate::protocol::{CallKind, Request};
use crate::state::{SYS_NANOSLEEP, State, is_running, kernel_clock, last_date, try_with};
use std::ffi::{c_int, c_long, c_uint, c_void};

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// Seconds and nanoseconds, as in C.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// Seconds and microseconds, as in C.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Timeval {
    seconds: i64,
    microseconds: i64,
}

/// Seconds and nanoseconds of the simulated date, or of the kernel's clock.
fn clock(id: c_int) -> (i64, i64) {
    // Clocks of CPU time (2 and 3; negative ones of other processes) are the kernel's.
    if matches!(id, 2 | 3) || id < 0 || !is_running() {
        return kernel_clock(id);
    }
    // The lock is taken inside calls of MPI, where no new date is requested: the last one holds.
    let date = try_with(State::now).and_then(Result::ok).unwrap_or_else(last_date);
    let whole = date.floor();
    (whole as i64, ((date - whole) * 1e9) as i64)
}

/// Sleeps: simulated, or by the kernel outside of the simulation and inside calls of MPI.
fn pause(seconds: f64) {
    let simulated = is_running()
        && try_with(|state| {
            let request = Request { amount: seconds.max(0.0), ..Request::new(CallKind::Sleep) };
            state.ask(request, &[]).is_ok()
        })
        .unwrap_or(false);
    if !simulated {
        let time = [seconds as i64, (seconds.fract() * 1e9) as i64];
        // SAFETY: the call reads the two words of `time`.
        unsafe { syscall(SYS_NANOSLEEP, time.as_ptr(), std::ptr::null_mut::<c_void>()) };
    }
}

/// libc's `clock_gettime`.
///
/// # Safety
/// `to` points to a `timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(id: c_int, to: *mut Timespec) -> c_int {
    let (seconds, nanoseconds) = clock(id);
    unsafe { put(to, Timespec { seconds, nanoseconds }) };
    0
}

/// libc's `gettimeofday`.
///
/// # Safety
/// `to` is null or points to a `timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(to: *mut Timeval, _zone: *mut c_void) -> c_int {
    let (seconds, nanoseconds) = clock(0);
    unsafe { put(to, Timeval { seconds, microseconds: nanoseconds / 1000 }) };
    0
}

/// libc's `time`.
///
/// # Safety
/// `to` is null or points to a `time_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(to: *mut i64) -> i64 {
    let (seconds, _) = clock(0);
    unsafe { put(to, seconds) };
    seconds
}

/// libc's `sleep`.
#[unsafe(no_mangle)]
pub extern "C" fn sleep(seconds: c_uint) -> c_uint {
    pause(f64::from(seconds));
    0
}

/// libc's `usleep`.
#[unsafe(no_mangle)]
pub extern "C" fn usleep(microseconds: c_uint) -> c_int {
    pause(f64::from(microseconds) * 1e-6);
    0
}

/// libc's `nanosleep`.
///
/// # Safety
/// `time` points to a `timespec`, `rest` is null or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(time: *const Timespec, rest: *mut Timespec) -> c_int {
    let Timespec { seconds, nanoseconds } = unsafe { *time };
    pause(seconds as f64 + nanoseconds as f64 * 1e-9);
    unsafe { put(rest, Timespec { seconds: 0, nanoseconds: 0 }) };
    0
}
