//! Values lent to Python for the time of one callback.
//!
//! A planner's partial schedule and a policy's situation borrow from the engine. Python may keep whatever it is given, so
//! an object of Python holds a [`Loan`], which can be used until the callback returns and is refused afterwards.

use crate::errors;
use pyo3::PyResult;
use std::cell::Cell;
use std::sync::Arc;
use std::thread::ThreadId;

/// Access to a value for as long as it is lent, on the thread that lent it.
pub(crate) struct Loan<T: ?Sized + 'static> {
    pointer: Cell<Option<*mut T>>,
    thread: ThreadId,
    what: &'static str,
}

// SAFETY: `pointer` is read and written by the thread `thread` alone: `with` compares threads first, and `lend` clears it
// on the thread that made the loan. The other members never change.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized> Send for Loan<T> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl<T: ?Sized> Sync for Loan<T> {}

impl<T: ?Sized> Loan<T> {
    /// Uses the value. Fails when it is no longer lent, is in use, or belongs to another thread.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> PyResult<R> {
        if std::thread::current().id() != self.thread {
            let why = format!("{} can be used on the thread of the call alone", self.what);
            return Err(errors::refused(&why));
        }
        let Some(pointer) = self.pointer.take() else {
            let why =
                format!("{} can be used during the call that it was given to alone", self.what);
            return Err(errors::refused(&why));
        };
        struct Back<'l, T: ?Sized + 'static>(&'l Loan<T>, *mut T);
        impl<T: ?Sized> Drop for Back<'_, T> {
            fn drop(&mut self) {
                self.0.pointer.set(Some(self.1));
            }
        }
        let _back = Back(self, pointer);
        // SAFETY: the pointer comes from a `&mut T` of `lend`, which is still running: it takes the pointer out before it
        // returns, on this very thread. Taking it out here for the time of `work` leaves no second access to it.
        #[allow(unsafe_code)]
        let value = unsafe { &mut *pointer };
        Ok(work(value))
    }
}

/// Lends a value to some work. `T` has no lifetime parameters (a trait object whose methods return owned values), so that
/// nothing borrowed from the value can outlive a call of [`Loan::with`].
pub(crate) fn lend<T: ?Sized + 'static, R>(
    what: &'static str,
    value: *mut T,
    work: impl FnOnce(&Arc<Loan<T>>) -> R,
) -> R {
    let thread = std::thread::current().id();
    let loan = Arc::new(Loan { pointer: Cell::new(Some(value)), thread, what });
    struct End<'l, T: ?Sized + 'static>(&'l Loan<T>);
    impl<T: ?Sized> Drop for End<'_, T> {
        fn drop(&mut self) {
            self.0.pointer.set(None);
        }
    }
    let _end = End(&loan);
    work(&loan)
}
