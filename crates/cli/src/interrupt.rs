//! Ctrl-C: a search that listens ends with the best it has; everything else ends at once, without
//! leaving half-written files behind.

use slackline_formats::source;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a shell expects of a command that was interrupted.
const INTERRUPTED: i32 = 130;

/// The flag of a search that wants to end by itself.
static LISTENER: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// From now on Ctrl-C is handled; called once.
pub(crate) fn watch() {
    let handler = || {
        let listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let first = listener.is_some_and(|flag| !flag.swap(true, Ordering::Relaxed));
        if !first {
            source::abandon_writes_and_exit(INTERRUPTED);
        }
    };
    // Where signals cannot be handled the system's own way of ending remains.
    let _ = ctrlc::set_handler(handler);
}

/// A flag that the first Ctrl-C raises; the second ends the command.
pub(crate) fn listen() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&flag));
    flag
}

/// Nobody listens any more: the next Ctrl-C ends the command.
pub(crate) fn ignore() {
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
