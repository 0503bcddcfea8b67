//! What programs may say about their computations: amounts, and blocks that are run a few times only.

use crate::protocol::{Request, What};
use crate::state::{Outcome, kernel_clock, running};
use std::cell::Cell;
use std::ffi::{c_char, c_double, c_int};

fn charge(what: What, amount: f64) {
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
    charge(What::Compute, flops.max(0.0));
}

/// Computes for so many seconds on the simulated host.
#[unsafe(no_mangle)]
pub extern "C" fn slackline_compute_seconds(seconds: c_double) {
    let speed = running(|state| Ok(state.speed)).unwrap_or(1e9);
    charge(What::Compute, seconds.max(0.0) * speed);
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
        let request = Request { number, answer: true, ..Request::new(What::Sample) };
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
        state.ask(Request { amount, ..Request::new(What::Sampled) }, key.as_bytes())?;
        Ok(())
    });
    if let Err(fault) = told {
        crate::call::abort(fault.class, &fault.text);
    }
}
