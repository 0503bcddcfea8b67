//! Threads that do one job at a time; as many as there are jobs at once, up to a limit.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

pub(crate) type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Work>,
    /// Threads that wait for a job, and how many of them are to end.
    idle: usize,
    leaving: usize,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

thread_local! {
    /// This thread had better not exist.
    static TOO_MANY: Cell<bool> = const { Cell::new(false) };
}

/// Ends this thread once its job is done, and those that wait for one: the system has no room for the processes
/// that they are to start.
pub(crate) fn make_room() {
    TOO_MANY.set(true);
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut queue = self.queue();
        loop {
            match queue.jobs.pop_front() {
                Some(job) => {
                    drop(queue);
                    job();
                    queue = self.queue();
                    if TOO_MANY.take() {
                        queue.leaving = queue.idle;
                        self.changed.notify_all();
                        // No other thread will take a waiting job.
                        if queue.jobs.is_empty() {
                            return;
                        }
                    }
                }
                None if queue.closed => return,
                None => {
                    queue.idle += 1;
                    queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                    queue.idle -= 1;
                    if queue.leaving > 0 && queue.jobs.is_empty() && !queue.closed {
                        queue.leaving -= 1;
                        return;
                    }
                }
            }
        }
    }
}

/// Threads that carry out one job at a time each, started on demand up to a limit.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    most: usize,
    start: Start,
}

/// Starts a thread.
type Start = fn(Work) -> std::io::Result<JoinHandle<()>>;

impl Workers {
    pub(crate) fn up_to(most: usize) -> Workers {
        let start: Start = |work| std::thread::Builder::new().spawn(work);
        Workers { shared: Arc::default(), threads: Vec::new(), most, start }
    }

    /// Has a job done, by a thread that waits for one or by a new one. Fails where no thread can be
    /// started; but where their number is limited anyway the job waits for one that is busy.
    pub(crate) fn submit(&mut self, job: Work) -> std::io::Result<()> {
        self.threads.retain(|thread| !thread.is_finished());
        let mut queue = self.shared.queue();
        queue.leaving = 0;
        queue.jobs.push_back(job);
        if queue.idle < queue.jobs.len() && self.threads.len() < self.most {
            let shared = Arc::clone(&self.shared);
            match (self.start)(Box::new(move || shared.work())) {
                Ok(thread) => self.threads.push(thread),
                Err(_) if self.most < usize::MAX && !self.threads.is_empty() => {}
                Err(error) => {
                    queue.jobs.pop_back();
                    return Err(error);
                }
            }
        }
        drop(queue);
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Waits until all jobs are done.
    pub(crate) fn finish(&mut self) {
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn threads_make_room_where_there_are_too_many() {
        let mut workers = Workers::up_to(usize::MAX);
        let (tell, told) = channel();
        let (begin, begun) = channel::<()>();
        let begun = Arc::new(Mutex::new(begun));
        for _ in 0..4 {
            let (tell, begun) = (tell.clone(), Arc::clone(&begun));
            let job = move || {
                tell.send(()).unwrap_or_default();
                drop(begun.lock().map(|begun| begun.recv()));
            };
            assert!(workers.submit(Box::new(job)).is_ok());
        }
        (0..4).for_each(|_| assert!(told.recv().is_ok()));
        (0..4).for_each(|_| assert!(begin.send(()).is_ok()));
        while workers.shared.queue().idle < 4 {
            std::thread::yield_now();
        }
        assert!(workers.submit(Box::new(make_room)).is_ok());
        while !workers.threads.iter().all(|thread| thread.is_finished()) {
            std::thread::yield_now();
        }
        // There are new ones when they are needed.
        let again = tell.clone();
        assert!(workers.submit(Box::new(move || again.send(()).unwrap_or_default())).is_ok());
        assert!(told.recv().is_ok());
        workers.finish();
    }

    #[test]
    fn a_system_without_threads_is_reported_and_tried_again() {
        let never: Start = |_| Err(std::io::ErrorKind::WouldBlock.into());
        for most in [2, usize::MAX] {
            let mut workers = Workers::up_to(most);
            let works = std::mem::replace(&mut workers.start, never);
            let (tell, told) = channel();
            let job = |number: u32| -> Work {
                let tell = tell.clone();
                Box::new(move || tell.send(number).unwrap_or_default())
            };
            assert!(workers.submit(job(1)).is_err());
            workers.start = works;
            assert!(workers.submit(job(2)).is_ok());
            // A busy thread takes over where others are not to be had, but only where that is usual.
            let (begin, begun) = channel();
            let (end, ended) = channel();
            let long = move || {
                begin.send(()).unwrap_or_default();
                ended.recv().unwrap_or_default();
            };
            assert!(workers.submit(Box::new(long)).is_ok());
            assert!(begun.recv().is_ok());
            while workers.shared.queue().idle + 1 < workers.threads.len() {
                std::thread::yield_now();
            }
            workers.start = never;
            let idle = workers.threads.len() > 1;
            assert_eq!(workers.submit(job(3)).is_ok(), most == 2 || idle);
            assert!(end.send(()).is_ok());
            workers.finish();
            drop(tell);
            let done: Vec<u32> = told.iter().collect();
            assert!(done.first() == Some(&2) && !done.contains(&1), "{done:?}");
            assert_eq!(done.contains(&3), most == 2 || idle);
        }
    }
}
