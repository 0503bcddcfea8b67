//! Ctrl-C, SIGTERM and SIGHUP: a run or a search that listens ends in order, with the best it has;
//! everything else ends at once, without leaving half-written files behind.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use slackline_io::FileAccess;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Offset that a shell adds to the number of a signal.
const BY_SIGNAL: i32 = 128;

/// Signals that follow each other within this time are one request: a terminal that is closed and its
/// shell both tell, and service managers send two.
const ONE_REQUEST: Duration = Duration::from_millis(500);

/// The flag of a search that wants to end by itself.
static LISTENER: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// The first signal that came.
static SIGNAL: AtomicI32 = AtomicI32::new(SIGINT);

/// Handles signals from now on; called once. Unfinished writes of `files` are removed.
pub(crate) fn watch(files: FileAccess) {
    let mut wanted = vec![SIGINT, SIGTERM];
    // Who starts a command with nohup wants it to outlive the terminal.
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    // Where signals cannot be handled, or no thread be started, the system's own way of ending remains.
    let (tell, handled) = channel::<()>();
    let started = std::thread::Builder::new().spawn(move || {
        let signals = Signals::new(wanted);
        drop(tell);
        let Ok(mut signals) = signals else { return };
        let mut asked: Option<Instant> = None;
        for signal in signals.forever() {
            let listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match (listener, asked) {
                (Some(flag), _) if !flag.load(Ordering::Relaxed) => {
                    SIGNAL.store(signal, Ordering::Relaxed);
                    flag.store(true, Ordering::Release);
                    asked = Some(Instant::now());
                }
                (_, Some(asked)) if asked.elapsed() < ONE_REQUEST => {}
                _ => {
                    files.abandon_writes();
                    std::process::exit(BY_SIGNAL + signal)
                }
            }
        }
    });
    if started.is_ok() {
        let _ = handled.recv(); // from now on
    }
}

/// Whether the process was started with a signal ignored, where the system tells.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Exit code by convention of shells for a command ended by the signal that came.
pub(crate) fn exit_code() -> u8 {
    u8::try_from(BY_SIGNAL + SIGNAL.load(Ordering::Relaxed)).unwrap_or(u8::MAX)
}

/// A flag that the first signal raises; a later one ends the command.
pub(crate) fn listen() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&flag));
    flag
}

/// Nobody listens any more: the next signal ends the command.
pub(crate) fn ignore() {
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
