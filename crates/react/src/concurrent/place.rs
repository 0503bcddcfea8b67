//! Choice of a task's processor, or to wait for a later round.

use super::bookkeeping::Bookkeeping;
use crate::ready_dispatch;
use crate::situation::Situation;
use slackline_model::{HostId, TaskId, approx};

/// Choice of a processor. Ties: the earlier end, the lower cost, the lower processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The free processor where the task ends first.
    FirstFinish,
    /// The same, but the task waits where a busy processor would end it earlier (OWM): whenever
    /// that is so, or only when a single processor is free.
    OrWait {
        /// However many are free.
        always: bool,
    },
    /// The free processor where it ends first among those that it can afford.
    Affordable,
    /// The affordable free processor of largest `Time_q + BP * Cost_q` (B-RANK_HYBD2, B-FDWS2, 4).
    Quality,
    /// The affordable free processor of largest `Time_Q * Cost_Q` against the sub-deadline (MW-DBS).
    SubDeadline,
}

/// A host with free processors that a task could get.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) host: HostId,
    /// When it would end there.
    pub(super) finish: f64,
    /// Cost there.
    cost: f64,
}

impl Candidate {
    fn is_before(&self, other: &Candidate) -> bool {
        approx::lt(self.finish, other.finish)
            || (approx::eq(self.finish, other.finish) && approx::lt(self.cost, other.cost))
    }
}

/// The candidate that ends first.
fn first<'c>(candidates: impl IntoIterator<Item = &'c Candidate>) -> Option<&'c Candidate> {
    candidates.into_iter().fold(None, |best, c| match best {
        Some(b) if !c.is_before(b) => Some(b),
        _ => Some(c),
    })
}

impl Place {
    /// Whether a task gets only what its workflow can pay.
    pub(super) fn heeds_budget(self) -> bool {
        matches!(self, Place::Affordable | Place::Quality | Place::SubDeadline)
    }

    /// Place of a task, if there is one now.
    pub(super) fn choose(
        self,
        book: &Bookkeeping,
        now: &Situation,
        task: TaskId,
    ) -> Option<Candidate> {
        let free = candidates(book, now, task);
        let account = &book.accounts[now.part_of[task.index()] as usize];
        // What the cheapest run of the rest leaves to spend on this task.
        let limit = book.times.cheapest[task.index()] + (account.money - account.cheapest);
        let affordable = |c: &&Candidate| approx::le(c.cost, limit) || account.money.is_infinite();
        let chosen = match self {
            Place::FirstFinish => first(&free),
            Place::OrWait { always } => {
                let best = first(&free)?;
                let looks = always || book.free_count() == 1;
                if looks && approx::lt(earliest_busy(book, now, task), best.finish) {
                    return None;
                }
                Some(best)
            }
            Place::Affordable => first(free.iter().filter(affordable)),
            Place::Quality => {
                let fastest = first(&free)?;
                let latest = free.iter().map(|c| c.finish).fold(fastest.finish, f64::max);
                let span = latest - fastest.finish;
                let spread = book.times.dearest[task.index()] - book.times.cheapest[task.index()];
                let pressure = account.budget_pressure();
                let quality = |c: &Candidate| {
                    let time = ratio(latest - c.finish, span);
                    time + pressure * ratio(fastest.cost - c.cost, spread)
                };
                let not_dearer = |c: &&Candidate| approx::le(c.cost, fastest.cost);
                best(free.iter().filter(affordable).filter(not_dearer), quality)
            }
            Place::SubDeadline => {
                let due = book.sub_deadline[task.index()];
                let dearest = book.times.dearest[task.index()];
                let since = |c: &Candidate| c.finish - account.arrived;
                let quickest = since(first(&free)?);
                let quality = |c: &Candidate| {
                    let f = since(c);
                    if approx::lt(f, due) {
                        (1.0 - f / due) * (1.0 - ratio(c.cost, dearest))
                    } else {
                        1.0 - if quickest > 0.0 { f / quickest } else { 1.0 }
                    }
                };
                best(free.iter().filter(affordable), quality)
            }
        };
        chosen.copied()
    }
}

/// Nothing over nothing is nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if approx::eq(part, 0.0) || whole == 0.0 { 0.0 } else { part / whole }
}

/// The candidate of largest quality.
fn best<'c>(
    candidates: impl Iterator<Item = &'c Candidate>,
    quality: impl Fn(&Candidate) -> f64,
) -> Option<&'c Candidate> {
    let better = |c: &Candidate, b: &Candidate| {
        let (new, old) = (quality(c), quality(b));
        let same = (new - old).abs() <= approx::EPSILON;
        if same { c.is_before(b) } else { new > old }
    };
    candidates.fold(None, |best, c| match best {
        Some(b) if !better(c, b) => Some(b),
        _ => Some(c),
    })
}

/// The hosts with enough free processors for a task, and what it would be like there.
fn candidates(book: &Bookkeeping, now: &Situation, task: TaskId) -> Vec<Candidate> {
    let width = now.workflow.width(task).0 as usize;
    let mut wait = waits(now, task);
    let enough = |host: &HostId| book.free_of(*host).take(width).count() == width;
    let mut found = Vec::new();
    for host in now.platform.host_ids().filter(enough) {
        if now.shuns(task, host) || !book.has_room(now, task, host) {
            continue;
        }
        let finish = now.now + wait(host) + book.times.seconds(task, host);
        if finish.is_finite() {
            found.push(Candidate { host, finish, cost: book.cost(task, host, width) });
        }
    }
    found
}

/// Seconds until the inputs of a task are on a host, if it is placed there now. From a store they
/// are read by the task itself.
pub(super) fn waits<'a>(now: &'a Situation, task: TaskId) -> impl FnMut(HostId) -> f64 + 'a {
    let mut gather = (!now.central).then(|| ready_dispatch::gathers(now, task));
    move |host| gather.as_mut().map_or(0.0, |gather| gather(host).max(0.0))
}

/// When a task would end at the earliest on processors that are busy now.
fn earliest_busy(book: &Bookkeeping, now: &Situation, task: TaskId) -> f64 {
    let width = now.workflow.width(task).0 as usize;
    let (mut wait, mut earliest) = (waits(now, task), f64::INFINITY);
    for host in now.platform.host_ids().filter(|&h| now.is_alive(h)) {
        let mut until: Vec<f64> = book.procs_of(host).map(|p| book.until(p)).collect();
        let free = book.free_of(host).count();
        if free >= width || until.len() < width {
            continue;
        }
        until.sort_by(f64::total_cmp);
        let available = until[width - 1].max(now.now);
        let begins = available.max(now.now + wait(host));
        earliest = earliest.min(begins + book.times.seconds(task, host));
    }
    earliest
}
