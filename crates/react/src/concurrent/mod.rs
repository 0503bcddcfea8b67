//! Several workflows at once, arriving while others run (Arabnejad's thesis and what it compares
//! with): on-line list scheduling without reservation. Whenever processors are free, rounds are
//! held until one assigns nothing. A round fills a pool with ready tasks, orders it once, and goes
//! through it while processors are free; each task gets a processor or leaves the round.
//!
//! A method is three parts: what fills the pool ([`Pool`]), which task comes next ([`Order`]),
//! which processor it gets ([`Place`]). `queues` is FDWS with queues, which reserves; `exclusive`
//! gives every workflow processors of its own, `ensemble` serves all under one budget and deadline.
//!
//! O(tasks of the pool x processors) per round, and what is ready, free, left and spent is kept
//! between calls. Ties: the workflow that arrived first, then the lower task; the earlier end, the
//! lower cost, then the lower processor.

mod bookkeeping;
mod ensemble;
mod exclusive;
pub(crate) mod methods;
mod order;
mod place;
mod pool;
mod provisioning;
mod queues;
mod times;

pub use ensemble::Ensemble;
pub use exclusive::{Exclusive, Inside};
pub use order::{Order, TimeLeft};
pub use place::Place;
pub use pool::Pool;
pub use queues::FdwsQueues;

use crate::policy::{Decision, Event, Policy};
use crate::ready_dispatch;
use crate::situation::Situation;
use bookkeeping::Bookkeeping;
use slackline_model::{Procs, TaskId, approx};

/// When a workflow is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// Once its deadline has passed.
    AtDeadline,
    /// Never.
    Never,
    /// Once the longest chain of what is left, in least times, ends after the deadline.
    Optimistic,
}

/// A policy for several workflows; see the module's head.
#[derive(Clone, Debug)]
pub struct Concurrent {
    pool: Pool,
    order: Order,
    place: Place,
    abort: Abort,
    book: Bookkeeping,
}

impl Concurrent {
    /// A method of three parts.
    pub fn new(pool: Pool, order: Order, place: Place) -> Concurrent {
        Concurrent { pool, order, place, abort: Abort::Never, book: Bookkeeping::default() }
    }

    /// The same method, which gives workflows up.
    pub fn with_abort(mut self, abort: Abort) -> Concurrent {
        self.abort = abort;
        self
    }

    /// Rounds until one assigns nothing.
    fn assign(&mut self, now: &Situation, decisions: &mut Vec<Decision>) {
        loop {
            let before = decisions.len();
            if self.book.free_count() > 0 {
                let pool = self.pool.fill(&self.book);
                self.hold_round(pool, now, decisions);
            }
            if decisions.len() == before {
                return;
            }
        }
    }

    fn hold_round(
        &mut self,
        mut pool: Vec<(u32, TaskId)>,
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) {
        if matches!(self.order, Order::EndsFirst | Order::EndsLast) {
            while self.book.free_count() > 0 && self.place_extreme(&mut pool, now, decisions) {}
            return;
        }
        for task in self.order.turns(&self.book, now, pool) {
            if self.book.free_count() == 0 {
                return;
            }
            if let Some(chosen) = self.place.choose(&self.book, now, task) {
                self.start(task, chosen, now, decisions);
            }
        }
    }

    /// Min-min and max-min: the task whose best end is the first or the last of all.
    fn place_extreme(
        &mut self,
        pool: &mut Vec<(u32, TaskId)>,
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        let mut best: Option<(usize, place::Candidate)> = None;
        let mut index = 0;
        while index < pool.len() {
            let Some(found) = self.place.choose(&self.book, now, pool[index].1) else {
                pool.remove(index);
                continue;
            };
            let better = best.as_ref().is_none_or(|(_, b)| match self.order {
                Order::EndsLast => approx::gt(found.finish, b.finish),
                _ => approx::lt(found.finish, b.finish),
            });
            if better {
                best = Some((index, found));
            }
            index += 1;
        }
        let Some((index, chosen)) = best else { return false };
        let (_, task) = pool.remove(index);
        self.start(task, chosen, now, decisions);
        true
    }

    fn start(
        &mut self,
        task: TaskId,
        chosen: place::Candidate,
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) {
        let width = now.workflow.width(task).0 as usize;
        let procs: Procs = self.book.free_of(chosen.host).take(width).collect();
        self.book.place(now, task, &procs, chosen.finish);
        decisions.push(Decision::Start { task, procs });
    }

    /// Gives up the workflows whose time is over and that have tasks to start.
    fn abandon(&mut self, now: &Situation, decisions: &mut Vec<Decision>) {
        if self.abort == Abort::Never {
            return;
        }
        for index in 0..self.book.accounts.len() {
            let account = &self.book.accounts[index];
            if account.closed || account.unplaced == 0 || account.deadline.is_infinite() {
                continue;
            }
            let rest = match self.abort {
                Abort::Optimistic => self.book.longest_rest(index, now),
                _ => 0.0,
            };
            let account = &mut self.book.accounts[index];
            if approx::gt(now.now - account.arrived + rest, account.deadline) {
                account.closed = true;
                let why = match self.abort {
                    Abort::Optimistic => "its deadline cannot be kept any more",
                    _ => "its deadline has passed",
                };
                let workflow = index as u32;
                decisions.push(Decision::Abandon { workflow, why: why.to_string() });
            }
        }
    }

    /// Gives up, once nothing else continues, the workflows that cannot pay even for the cheapest run
    /// of what is left: they would wait for ever.
    fn abandon_poor(&mut self, now: &Situation, decisions: &mut Vec<Decision>) {
        if !self.place.heeds_budget() || !decisions.is_empty() {
            return;
        }
        let poor: Vec<u32> = self.book.poor().collect();
        if poor.is_empty() || now.tasks.begun().next().is_some() {
            return;
        }
        for workflow in poor {
            let account = &mut self.book.accounts[workflow as usize];
            account.closed = true;
            let why = format!(
                "its budget does not suffice: {:.4} is left, the cheapest run of the rest costs {:.4}",
                account.money, account.cheapest,
            );
            decisions.push(Decision::Abandon { workflow, why });
        }
    }
}

/// Per workflow: whether a task of it is left to do.
fn open(now: &Situation) -> Vec<bool> {
    let mut open = vec![false; now.arrived.len()];
    for (task, &part) in now.workflow.tasks().zip(&now.part_of) {
        open[part as usize] |= now.is_to_run(task);
    }
    for (open, arrived) in open.iter_mut().zip(&now.arrived) {
        *open &= arrived.abandoned.is_none();
    }
    open
}

impl Policy for Concurrent {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        self.book.note(events, now);
        events.iter().any(ready_dispatch::worth_a_look)
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        ready_dispatch::when_idle(events, now, decisions, |now, decisions| {
            self.book.update(events, now)?;
            self.abandon(now, decisions);
            self.assign(now, decisions);
            self.abandon_poor(now, decisions);
            Ok(())
        });
    }
}
