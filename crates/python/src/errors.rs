//! Conversion of errors to Python exceptions. Their classes are defined in Python (`slackline.errors`), so that they can be
//! pickled. Exceptions of callbacks are kept per thread until the request that made the callback has ended.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use slackline_core::Failure;
use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

struct Classes {
    error: Py<PyType>,
    bad_input: Py<PyType>,
    infeasible: Py<PyType>,
    broken_rule: Py<PyType>,
    refused: Py<PyType>,
}

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let module = py.import("slackline.errors")?;
        let class = |name: &str| -> PyResult<Py<PyType>> {
            Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        Ok(Classes {
            error: class("Error")?,
            bad_input: class("BadInput")?,
            infeasible: class("Infeasible")?,
            broken_rule: class("BrokenRule")?,
            refused: class("Refused")?,
        })
    })
}

fn make(
    class: impl FnOnce(&Classes) -> &Py<PyType>,
    message: &str,
    help: Option<&str>,
    file: Option<&str>,
    place: Option<&str>,
) -> PyErr {
    Python::attach(|py| {
        let made = classes(py)
            .and_then(|classes| class(classes).bind(py).call1((message, help, file, place)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// The error `BadInput`.
pub(crate) fn bad_input(message: &str) -> PyErr {
    make(|c| &c.bad_input, message, None, None, None)
}

/// The error `Refused`: impossible in the present state.
pub(crate) fn refused(message: &str) -> PyErr {
    make(|c| &c.refused, message, None, None, None)
}

/// The error `BrokenRule`: a plan or a decision that breaks a rule.
pub(crate) fn broken_rule(message: &str) -> PyErr {
    make(|c| &c.broken_rule, message, None, None, None)
}

/// The error `BadInput` with the text of another error.
pub(crate) fn input(error: impl std::fmt::Display) -> PyErr {
    bad_input(&error.to_string())
}

/// Splits `file:line:column: message` into file, place and message, if it begins with one of these files.
fn placed<'m>(message: &'m str, files: &[String]) -> (Option<&'m str>, Option<&'m str>, &'m str) {
    for file in files.iter().filter(|file| !file.is_empty()) {
        let Some(rest) = message.strip_prefix(file.as_str()) else { continue };
        let Some(rest) = rest.strip_prefix(':') else { continue };
        let name = &message[..file.len()];
        let digits = |c: char| c.is_ascii_digit() || c == ':';
        let end = rest.find(|c: char| !digits(c)).unwrap_or(rest.len());
        let place = rest[..end].trim_end_matches(':');
        return (Some(name), (!place.is_empty()).then_some(place), rest[end..].trim_start());
    }
    (None, None, message)
}

/// The error for a failure of a request that named these files.
pub(crate) fn of_failure(failure: Failure, files: &[String]) -> PyErr {
    match failure {
        Failure::Input { message, help } => {
            let (file, place, _) = placed(&message, files);
            make(|c| &c.bad_input, &message, help.as_deref(), file, place)
        }
        Failure::Work { message, help } => {
            make(|c| &c.infeasible, &message, help.as_deref(), None, None)
        }
        Failure::Interrupted { message, .. } => {
            pyo3::exceptions::PyKeyboardInterrupt::new_err(message)
        }
        other @ Failure::BrokenPipe => make(|c| &c.error, &other.to_string(), None, None, None),
    }
}

thread_local! {
    /// The first exception of a callback of the present request.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Nesting depth of requests.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The flag that ends the present request in order, if it has one.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Sets the flag by which the exception of a callback ends the present request.
pub(crate) fn set_stop(flag: Option<Arc<AtomicBool>>) {
    STOP.set(flag);
}

/// Whether the present request has such a flag, so that it ends in order and can be resumed.
pub(crate) fn is_stoppable() -> bool {
    STOP.with_borrow(Option::is_some)
}

/// Keeps the exception of a callback until its request has ended; later ones are dropped.
pub(crate) fn raise_later(error: PyErr) {
    STOP.with_borrow(|stop| {
        if let Some(stop) = stop {
            stop.store(true, Ordering::Release);
        }
    });
    RAISED.with_borrow_mut(|raised| {
        raised.get_or_insert(error);
    });
}

/// Whether a callback of this request has raised.
pub(crate) fn has_raised() -> bool {
    RAISED.with_borrow(Option::is_some)
}

/// Greatest depth of requests made by callbacks of requests: more would overflow the stack of the thread.
const MOST_NESTED: u32 = 12;

/// Panic payload that ends a request because of Ctrl-C; the exception itself is in `RAISED`.
struct Interrupted;

/// Unwinds to the present request if a Python signal handler raises (usually that of Ctrl-C).
pub(crate) fn end_if_interrupted() {
    if let Err(error) = Python::attach(|py| py.check_signals()) {
        raise_later(error);
        std::panic::resume_unwind(Box::new(Interrupted));
    }
}

/// Carries out a request. An exception of one of its callbacks takes precedence over its result.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    /// Restores the state of the enclosing request.
    struct Up(Option<PyErr>, Option<Arc<AtomicBool>>);
    impl Drop for Up {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
            RAISED.set(self.0.take());
            STOP.set(self.1.take());
        }
    }
    if DEPTH.get() >= MOST_NESTED {
        let why = format!("more than {MOST_NESTED} requests inside each other");
        return Err(refused(&why));
    }
    DEPTH.set(DEPTH.get() + 1);
    let up = Up(RAISED.take(), STOP.take());
    // Unwind safety: values that the work has changed are not used after a panic.
    let done = std::panic::catch_unwind(AssertUnwindSafe(work));
    let raised = RAISED.take();
    drop(up);
    match (raised, done) {
        (Some(error), Ok(_)) => Err(error),
        (Some(error), Err(payload)) if payload.is::<Interrupted>() => Err(error),
        (None, Ok(done)) => done,
        (_, Err(payload)) => std::panic::resume_unwind(payload),
    }
}
