//! Threads that do one job at a time; as many as there are jobs at once, up to a limit.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

pub(crate) type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Desk {
    jobs: VecDeque<Work>,
    /// Threads that wait for a job.
    idle: usize,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    desk: Mutex<Desk>,
    changed: Condvar,
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut desk = self.desk();
        loop {
            match desk.jobs.pop_front() {
                Some(job) => {
                    drop(desk);
                    job();
                    desk = self.desk();
                }
                None if desk.closed => return,
                None => {
                    desk.idle += 1;
                    desk = self.changed.wait(desk).unwrap_or_else(PoisonError::into_inner);
                    desk.idle -= 1;
                }
            }
        }
    }
}

/// See the module's head.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    most: usize,
}

impl Workers {
    pub(crate) fn up_to(most: usize) -> Workers {
        Workers { shared: Arc::default(), threads: Vec::new(), most }
    }

    /// Has a job done, by who waits for one or by somebody new.
    pub(crate) fn submit(&mut self, job: Work) {
        let mut desk = self.shared.desk();
        desk.jobs.push_back(job);
        if desk.idle < desk.jobs.len() && self.threads.len() < self.most {
            let shared = Arc::clone(&self.shared);
            self.threads.push(std::thread::spawn(move || shared.work()));
        }
        drop(desk);
        self.shared.changed.notify_one();
    }

    /// Waits until all jobs are done.
    pub(crate) fn finish(&mut self) {
        self.shared.desk().closed = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
