//! Definition of the functions of MPI: a body that returns `Outcome`, and the handling of its
//! failure.

use crate::protocol::{CallKind, Request};
use crate::state::{
    COMM_WORLD, ERRORS_ABORT, ERRORS_ARE_FATAL, ERRORS_RETURN, Outcome, SUCCESS, die, with,
};
use std::ffi::c_int;

/// Defines `MPI_` functions and their `PMPI_` names.
macro_rules! mpi {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> std::ffi::c_int {
            $crate::call::run(stringify!($name), || -> $crate::state::Outcome { unsafe { $body } })
        }
        const _: () = {
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            pub unsafe extern "C" fn alias($($arg: $type),*) -> std::ffi::c_int {
                unsafe { $name($($arg),*) }
            }
        };
    )* };
}
pub(crate) use mpi;

/// Runs the body of a function and handles its failure by the error handler of the communicator.
pub fn run(name: &str, body: impl FnOnce() -> Outcome) -> c_int {
    let Err(fault) = body() else { return SUCCESS };
    let handler = with(|state| state.comm(fault.comm).map_or(ERRORS_ARE_FATAL, |c| c.errhandler));
    match handler {
        ERRORS_RETURN => fault.class,
        ERRORS_ARE_FATAL | ERRORS_ABORT => abort(fault.class, &format!("{name}: {}", fault.text)),
        _ => {
            let function = with(|state| state.errhandlers.get(handler).copied());
            if let Some(function) = function {
                // SAFETY: the program gave this address as a handler of errors.
                let function: unsafe extern "C" fn(*mut c_int, *mut c_int, ...) =
                    unsafe { std::mem::transmute(function) };
                let (mut comm, mut class) = (fault.comm, fault.class);
                // SAFETY: the handler gets the two pointers that MPI promises it.
                unsafe { function(&mut comm, &mut class) };
            }
            fault.class
        }
    }
}

/// Ends the whole program with an exit code; `text` is the message that the user sees.
pub fn abort(code: i32, text: &str) -> ! {
    let rank = with(|state| {
        let mut request = Request::new(CallKind::Abort);
        request.peer = code;
        // The process may already have lost the simulator; it ends in any case.
        let _ = state.ask(request, text.as_bytes());
        state.rank
    });
    die(&format!("rank {rank}: {text}"))
}

/// Attributes the failure of a call to its communicator, where the body has named no other.
pub fn in_comm<T>(comm: i32, outcome: Outcome<T>) -> Outcome<T> {
    outcome.map_err(|mut fault| {
        if fault.comm == COMM_WORLD {
            fault.comm = comm;
        }
        fault
    })
}

/// A slice from a pointer that may be null when it is empty.
///
/// # Safety
/// `at` points to `count` values.
pub unsafe fn slice<'a, T>(at: *const T, count: usize) -> &'a [T] {
    if at.is_null() || count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at, count) } }
}

/// Writes a value to an address of the program, which may be null for values that it does not need.
///
/// # Safety
/// `at` is null or points to a value.
pub unsafe fn put<T>(at: *mut T, value: T) {
    if !at.is_null() {
        unsafe { at.write(value) };
    }
}
