//! Order of tasks in the pool.

use super::bookkeeping::Bookkeeping;
use crate::situation::Situation;
use slackline_model::{TaskId, approx};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Order of tasks. Ties: the workflow that arrived first, then the lower task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Upward rank: rising while several workflows compete, falling in one alone (RANK_HYBD).
    Hybrid,
    /// Upward rank, falling.
    Longest,
    /// Upward rank, rising.
    Shortest,
    /// `1/PRT * 1/|CP|` (`rank_r`): nearly placed and short workflows first.
    Progress,
    /// `1/TP * 1/BP` (`rank_B`): nearly placed and rich workflows first.
    Budget,
    /// `(B/CA) / (Time_R * PRT)` (`rank_D`).
    Deadline(TimeLeft),
    /// The workflow that arrived first.
    FirstCome,
    /// The workflow with the least work left, in mean times (SRPT).
    LeastWork,
    /// The workflow that has been delayed most: the longest since its arrival over what its
    /// critical path takes.
    MostDelayed,
    /// The task that would end first, evaluated again after each (min-min).
    EndsFirst,
    /// The task that would end last, evaluated again after each (max-min).
    EndsLast,
}

/// `Time_R` of `rank_D`: what stands for the time that a task has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLeft {
    /// `(D - SD) / D`, as printed.
    Printed,
    /// `SD / D`.
    SubDeadline,
    /// Time left until the deadline, over the deadline.
    Remaining,
}

impl Order {
    /// The tasks of a pool in turn; those that end first or last are chosen one by one instead.
    /// O(pool) to begin with: mostly few get a turn before all processors have work.
    pub(super) fn turns(
        self,
        book: &Bookkeeping,
        now: &Situation,
        pool: Vec<(u32, TaskId)>,
    ) -> Turns {
        let several = pool.windows(2).any(|pair| pair[0].0 != pair[1].0);
        let rank = |task: TaskId| book.rank[task.index()];
        // The smallest key comes first.
        let key = |&(part, task): &(u32, TaskId)| {
            let account = &book.accounts[part as usize];
            let key = match self {
                Order::Hybrid if several => rank(task),
                Order::Shortest => rank(task),
                Order::Hybrid | Order::Longest => -rank(task),
                Order::Progress => -1.0 / (account.unplaced_share() * account.critical_path),
                Order::Budget => -1.0 / (account.unplaced_share() * account.budget_pressure()),
                Order::Deadline(left) => -rank_d(book, now, part, task, left),
                Order::LeastWork => account.work,
                Order::MostDelayed => -account.slowdown(now.now, rank(task)),
                Order::FirstCome | Order::EndsFirst | Order::EndsLast => 0.0,
            };
            ordered(approx::sort_key(key))
        };
        // A pool is filled by falling rank inside each workflow, which these orders keep.
        let as_filled = matches!(self, Order::FirstCome | Order::LeastWork);
        let turn = |(at, offer): (usize, &(u32, TaskId))| {
            let last = if as_filled { at as u32 } else { offer.1.0 };
            Reverse((key(offer), offer.0, last, offer.1))
        };
        Turns(pool.iter().enumerate().map(turn).collect())
    }
}

/// Bits that sort as numbers do.
fn ordered(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Key, workflow, what breaks ties, and task.
type Turn = Reverse<(u64, u32, u32, TaskId)>;

/// Tasks in the order of their turns.
pub(super) struct Turns(BinaryHeap<Turn>);

impl Iterator for Turns {
    type Item = TaskId;

    fn next(&mut self) -> Option<TaskId> {
        self.0.pop().map(|Reverse((.., task))| task)
    }
}

/// Without a deadline time does not press, without a budget money does not count.
fn rank_d(book: &Bookkeeping, now: &Situation, part: u32, task: TaskId, left: TimeLeft) -> f64 {
    let account = &book.accounts[part as usize];
    let (deadline, due) = (account.deadline, book.sub_deadline[task.index()]);
    let money = if account.budget.is_finite() && account.cheapest_of_all > 0.0 {
        account.budget / account.cheapest_of_all
    } else {
        1.0
    };
    let time = match left {
        _ if deadline.is_infinite() => 1.0,
        // An exit has no time left at all.
        TimeLeft::Printed if approx::eq(due, deadline) => 0.0,
        TimeLeft::Printed => (deadline - due) / deadline,
        TimeLeft::SubDeadline => due / deadline,
        TimeLeft::Remaining => (deadline - (now.now - account.arrived)) / deadline,
    };
    if time <= 0.0 { f64::INFINITY } else { money / (time * account.unplaced_share()) }
}
