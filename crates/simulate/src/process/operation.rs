//! Operations that have begun: futures to be awaited, dropped, or let go.

use super::Interrupted;
use super::ProcessId;
use super::core::{Core, State};
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

pub(super) type Shared<'p, M> = Rc<RefCell<Core<'p, M>>>;

/// An operation of any kind, for [`super::Process::first_of`].
pub trait AnyOperation {
    /// The number of the operation among those that ended, if it did.
    #[doc(hidden)]
    fn ended(&self) -> Option<u64>;
    /// Wakes a process when it ends.
    #[doc(hidden)]
    fn watch(&self, process: ProcessId);
}

/// Something that was begun: awaiting it gives how it ended, dropping it cancels it. Only the process that began
/// it can await it.
#[must_use = "an operation that is dropped is cancelled"]
pub struct Operation<'p, M> {
    core: Shared<'p, M>,
    process: ProcessId,
    /// None once its end has been taken.
    key: Option<u32>,
    is_watched: bool,
}

impl<M> fmt::Debug for Operation<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<'p, M> Operation<'p, M> {
    pub(super) fn new(core: &Shared<'p, M>, process: ProcessId, key: u32) -> Self {
        Operation { core: Rc::clone(core), process, key: Some(key), is_watched: false }
    }

    /// Whether it has ended, well or not.
    pub fn has_ended(&self) -> bool {
        self.ended().is_some()
    }

    /// Stops it; operations that await it, on either side of a transfer, end as cancelled.
    pub fn cancel(&self) {
        if let Some(key) = self.key {
            self.core.borrow_mut().interrupt(key, Interrupted::Cancelled);
        }
    }

    /// Lets a transfer continue without an owner; anything else is cancelled.
    pub fn detach(mut self) {
        if let Some(key) = self.key.take() {
            self.core.borrow_mut().detach(key);
        }
    }

    fn poll_end(&mut self) -> Poll<Result<Option<M>, Interrupted>> {
        let Some(key) = self.key else { return Poll::Ready(Err(Interrupted::Cancelled)) };
        let mut core = self.core.borrow_mut();
        let Some(op) = core.ops.get_mut(key) else {
            return Poll::Ready(Err(Interrupted::Cancelled));
        };
        if matches!(op.state, State::Running) {
            if !self.is_watched {
                self.is_watched = true;
                op.waiters.push(self.process);
            }
            return Poll::Pending;
        }
        self.key = None;
        let op = core.release(key);
        drop(core);
        Poll::Ready(match op.map(|op| op.state) {
            Some(State::Done(message)) => Ok(message),
            Some(State::Failed(why)) => Err(why),
            Some(State::Running) | None => Err(Interrupted::Cancelled),
        })
    }
}

impl<M> AnyOperation for Operation<'_, M> {
    fn ended(&self) -> Option<u64> {
        let core = self.core.borrow();
        let op = self.key.and_then(|key| core.ops.get(key));
        match op {
            Some(op) => (!matches!(op.state, State::Running)).then_some(op.ended),
            None => Some(0),
        }
    }

    fn watch(&self, process: ProcessId) {
        if let Some(key) = self.key
            && let Some(op) = self.core.borrow_mut().ops.get_mut(key)
            && !op.waiters.contains(&process)
        {
            op.waiters.push(process);
        }
    }
}

impl<M> Future for Operation<'_, M> {
    type Output = Result<(), Interrupted>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_end().map(|end| end.map(drop))
    }
}

impl<M> Drop for Operation<'_, M> {
    fn drop(&mut self) {
        // A message that itself holds operations may be dropped while the core is in use.
        if let (Some(key), Ok(mut core)) = (self.key.take(), self.core.try_borrow_mut()) {
            let op = core.release(key);
            drop(core);
            drop(op);
        }
    }
}

/// A message that is waited for: awaiting it gives the message.
#[must_use = "a reception that is dropped is cancelled"]
pub struct Receiving<'p, M>(pub(super) Operation<'p, M>);

impl<M> fmt::Debug for Receiving<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiving").field(&self.0.key).finish()
    }
}

impl<M> Receiving<'_, M> {
    /// Whether it has ended, well or not.
    pub fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    /// Stops it; operations that await it, on either side, end as cancelled.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl<M> AnyOperation for Receiving<'_, M> {
    fn ended(&self) -> Option<u64> {
        self.0.ended()
    }

    fn watch(&self, process: ProcessId) {
        self.0.watch(process);
    }
}

impl<M> Future for Receiving<'_, M> {
    type Output = Result<M, Interrupted>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_end().map(|end| end.and_then(|message| message.ok_or(Interrupted::Cancelled)))
    }
}

/// An operation with limited time; see [`super::Process::within`].
#[derive(Debug)]
pub struct Within<'p, M, F> {
    pub(super) timer: Operation<'p, M>,
    pub(super) inner: Option<F>,
}

impl<M, T, F: Future<Output = Result<T, Interrupted>> + Unpin> Future for Within<'_, M, F> {
    type Output = Result<T, Interrupted>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(Err(Interrupted::Timeout)) };
        if let Poll::Ready(end) = Pin::new(inner).poll(context) {
            self.inner = None;
            return Poll::Ready(end);
        }
        if self.timer.poll_end().is_ready() {
            self.inner = None;
            return Poll::Ready(Err(Interrupted::Timeout));
        }
        Poll::Pending
    }
}

/// The first of several operations to end; see [`super::Process::first_of`].
pub struct FirstOf<'a> {
    pub(super) process: ProcessId,
    pub(super) operations: &'a [&'a dyn AnyOperation],
}

impl fmt::Debug for FirstOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstOf").field("operations", &self.operations.len()).finish()
    }
}

impl Future for FirstOf<'_> {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<usize> {
        let ended = self.operations.iter().enumerate().filter_map(|(k, op)| Some((op.ended()?, k)));
        match ended.min() {
            Some((_, first)) => Poll::Ready(first),
            None => {
                self.operations.iter().for_each(|op| op.watch(self.process));
                Poll::Pending
            }
        }
    }
}
