//! The on-line batch scheduler: it is notified of submissions and ends of jobs, and each pass starts the jobs that its
//! policy allows.
//!
//! At each instant a driver first reports all ends, then all submissions, then calls [`Scheduler::pass`] once. After jobs
//! of zero run time have ended, another pass follows.

use super::caps::Caps;
use super::policy::{Filling, Order, Policy};
use super::profile::Profile;
use super::site::{Accounts, Machine, Site};
use super::usage::Usage;
use std::cmp::Ordering;
use std::fmt;

/// Resources and limits that a job requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Its number; ties of submission dates: lower number first.
    pub number: u64,
    /// Submission date, in seconds.
    pub submit: f64,
    /// Number of cores.
    pub cores: u64,
    /// Walltime limit, in seconds.
    pub limit: f64,
    /// Index of the user in the accounts.
    pub user: u32,
    /// Index of the group.
    pub group: u32,
    /// Index of the queue.
    pub queue: u32,
}

/// A job of a [`Scheduler`]: its position in the order of accepted submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u32);

/// Reason for refusing a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It needs more cores than the machine has.
    LargerThanMachine,
    /// It needs more than the cap of its account allows.
    LargerThanCap,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::LargerThanMachine => "larger than the machine",
            Refusal::LargerThanCap => "larger than its cap",
        })
    }
}

/// A waiting job.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Sort key of the queue; less is earlier.
    key: f64,
    submit: f64,
    number: u64,
    id: JobId,
    units: u64,
    limit: f64,
    /// Promised start, with conservative filling.
    promise: f64,
    /// Number of the last release at the last check of the promise.
    checked: u64,
}

impl Waiting {
    fn compare(&self, other: &Waiting) -> Ordering {
        let by_submission = self.submit.total_cmp(&other.submit);
        self.key.total_cmp(&other.key).then(by_submission).then(self.number.cmp(&other.number))
    }
}

/// A running job.
#[derive(Clone, Copy, Debug)]
struct Running {
    /// End by its limit.
    end: f64,
    units: u64,
    id: JobId,
}

/// Reserved times that were released, newest last: a waiting job can only move forward into times released since its last
/// check. Of two releases the later one with the later end makes the other redundant.
#[derive(Clone, Debug, Default)]
struct Freed {
    count: u64,
    /// Numbers and ends of releases: numbers rise, ends fall.
    ends: Vec<(u64, f64)>,
}

impl Freed {
    fn add(&mut self, end: f64) {
        while self.ends.last().is_some_and(|&(_, other)| other <= end) {
            self.ends.pop();
        }
        self.count += 1;
        self.ends.push((self.count, end));
    }

    /// Latest end of the releases after number `since`; none if there are none.
    fn until(&self, since: u64) -> Option<f64> {
        let k = self.ends.partition_point(|&(number, _)| number <= since);
        self.ends.get(k).map(|&(_, end)| end)
    }

    fn forget_before(&mut self, now: f64) {
        while self.ends.last().is_some_and(|&(_, end)| end <= now) {
            self.ends.pop();
        }
    }
}

/// State of a batch system. *Units* are what the machine allocates: cores or whole nodes.
#[derive(Clone, Debug)]
pub struct Scheduler {
    policy: Policy,
    machine: Machine,
    /// Units that no job holds.
    free: u64,
    /// Priorities of queues, by index; pledges of groups, by index.
    priorities: Vec<f64>,
    pledges: Vec<f64>,
    caps: Caps,
    usage: Usage,
    jobs: Vec<Request>,
    /// Waiting jobs in the order of the last pass.
    queue: Vec<Waiting>,
    /// Jobs submitted since the last pass.
    arrived: Vec<Waiting>,
    /// By rising end.
    running: Vec<Running>,
    /// By job: its end by its limit once it has started; infinite before.
    ends: Vec<f64>,
    /// Jobs started in the last pass.
    started: Vec<JobId>,
    profile: Profile,
    freed: Freed,
    /// A job has ended since the last pass.
    ended: bool,
    /// A running job was delayed, so that the profile is too optimistic.
    delayed: bool,
    /// The earliest promised date after the last pass.
    next_promise: f64,
}

impl Scheduler {
    /// An empty machine.
    pub fn new(site: &Site, policy: Policy, accounts: &Accounts<'_>) -> Scheduler {
        let of = |table: &std::collections::BTreeMap<String, f64>, names: &[String]| {
            names.iter().map(|name| table.get(name).copied().unwrap_or(0.0)).collect()
        };
        let caps = match policy.order {
            Order::Priority => Caps::of(site, accounts),
            _ => Caps::default(),
        };
        Scheduler {
            policy,
            machine: site.machine,
            free: site.machine.units(),
            priorities: of(&site.priorities, accounts.queues),
            pledges: of(&site.pledges, accounts.groups),
            caps,
            usage: Usage::new(site.window, accounts.groups.len()),
            jobs: Vec::new(),
            queue: Vec::new(),
            arrived: Vec::new(),
            running: Vec::new(),
            ends: Vec::new(),
            started: Vec::new(),
            profile: Profile::new(site.machine.units()),
            freed: Freed::default(),
            ended: false,
            delayed: false,
            next_promise: f64::INFINITY,
        }
    }

    /// Units (cores, or whole nodes) that no job holds.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Number of jobs that wait.
    pub fn waiting(&self) -> usize {
        self.queue.len() + self.arrived.len()
    }

    /// Numbers of the jobs that wait, in the order of the last pass, then of their arrival.
    pub fn queue(&self) -> impl Iterator<Item = u64> + '_ {
        self.queue.iter().chain(&self.arrived).map(|waiting| waiting.number)
    }

    /// Returns the request of a job.
    pub fn request(&self, job: JobId) -> &Request {
        &self.jobs[job.0 as usize]
    }

    /// The start promised to a waiting job, with conservative filling.
    pub fn promise(&self, job: JobId) -> Option<f64> {
        let conservative = self.policy.filling == Filling::Conservative;
        let waiting = self.queue.iter().find(|waiting| waiting.id == job);
        waiting.filter(|_| conservative).map(|waiting| waiting.promise)
    }

    /// The next date at which a pass is due though nothing ends and nothing is submitted;
    /// infinite for none.
    pub fn next_date(&self) -> f64 {
        self.next_promise
    }

    /// A job enters the queue; it is considered in the next pass.
    pub fn submit(&mut self, request: Request) -> Result<JobId, Refusal> {
        let units = self.machine.units_of(request.cores);
        if units > self.machine.units() {
            return Err(Refusal::LargerThanMachine);
        }
        if self.caps.forbid(&request) {
            return Err(Refusal::LargerThanCap);
        }
        let id = JobId(self.jobs.len() as u32);
        let Request { submit, number, limit, .. } = request;
        let key = match self.policy.order {
            Order::Submission | Order::FairShare => 0.0,
            Order::ShortestFirst => limit,
            Order::Priority => -self.priorities.get(request.queue as usize).copied().unwrap_or(0.0),
        };
        self.jobs.push(request);
        self.ends.push(f64::INFINITY);
        let promise = f64::INFINITY;
        self.arrived.push(Waiting { key, submit, number, id, units, limit, promise, checked: 0 });
        Ok(id)
    }

    /// A running job gives back its cores.
    pub fn end(&mut self, now: f64, job: JobId) {
        let end = self.ends[job.0 as usize];
        let first = self.running.partition_point(|running| running.end < end);
        let Some(at) = self.running[first..].iter().position(|running| running.id == job) else {
            return;
        };
        let Running { units, .. } = self.running.remove(first + at);
        self.free += units;
        self.ended = true;
        let request = self.jobs[job.0 as usize];
        self.caps.remove(&request);
        if self.policy.order == Order::FairShare {
            self.usage.change(request.group, now, -(request.cores as f64));
        }
        if self.policy.filling == Filling::Conservative && now < end {
            self.profile.release(units, now, end);
            self.freed.add(end);
        }
    }

    /// Extends the limit of a started job, which waits for its nodes. Promises that become impossible are made again in the
    /// next pass.
    pub fn delay(&mut self, job: JobId, seconds: f64) {
        let old = self.ends[job.0 as usize];
        let first = self.running.partition_point(|running| running.end < old);
        if let Some(at) = self.running[first..].iter().position(|running| running.id == job) {
            let running = self.running.remove(first + at);
            self.add_running(Running { end: old + seconds, ..running });
            self.delayed = true;
        }
    }

    /// Starts jobs by the policy; returns them in the order in which they start.
    pub fn pass(&mut self, now: f64) -> &[JobId] {
        self.started.clear();
        match self.policy.filling {
            Filling::None | Filling::Easy => {
                self.enqueue();
                if self.policy.order == Order::FairShare {
                    self.order_by_share(now);
                }
                self.fill(now);
            }
            Filling::Conservative => self.keep_promises(now),
        }
        self.ended = false;
        &self.started
    }

    fn enqueue(&mut self) {
        for waiting in self.arrived.drain(..) {
            let at =
                self.queue.partition_point(|other| other.compare(&waiting) != Ordering::Greater);
            self.queue.insert(at, waiting);
        }
    }

    /// Sorts the queue by the present usage of groups over their pledges.
    fn order_by_share(&mut self, now: f64) {
        if self.queue.len() < 2 || self.free == 0 {
            return;
        }
        let Scheduler { usage, pledges, jobs, queue, .. } = self;
        let mut shares: Vec<Option<f64>> = vec![None; pledges.len()];
        let mut share = |group: u32| {
            let pledge = pledges.get(group as usize).copied().unwrap_or(0.0);
            if pledge <= 0.0 {
                return f64::INFINITY;
            }
            *shares[group as usize].get_or_insert_with(|| usage.of(group, now) / pledge)
        };
        for waiting in queue.iter_mut() {
            waiting.key = share(jobs[waiting.id.0 as usize].group);
        }
        queue.sort_by(Waiting::compare);
    }

    /// Starts jobs in order; behind the first one that does not fit, those that EASY backfilling allows.
    fn fill(&mut self, now: f64) {
        let mut head = None;
        for k in 0..self.queue.len() {
            let waiting = self.queue[k];
            if self.is_held_back(&waiting) {
                continue;
            }
            if waiting.units > self.free {
                head = Some(k);
                break;
            }
            self.start(now, &waiting);
        }
        if let Some(head) = head
            && self.policy.filling == Filling::Easy
            && self.free > 0
        {
            self.backfill(now, head);
        }
        self.drop_started();
    }

    fn backfill(&mut self, now: f64, head: usize) {
        let Waiting { units, id, .. } = self.queue[head];
        let (reservation, mut extra) = self.reservation(units);
        let request = self.jobs[id.0 as usize];
        self.caps.add(&request);
        for k in head + 1..self.queue.len() {
            let waiting = self.queue[k];
            if waiting.units > self.free {
                continue;
            }
            let ends_in_time = now + waiting.limit <= reservation;
            if !(ends_in_time || waiting.units <= extra) || self.is_held_back(&waiting) {
                continue;
            }
            if !ends_in_time {
                extra -= waiting.units;
            }
            self.start(now, &waiting);
            if self.free == 0 {
                break;
            }
        }
        self.caps.remove(&request);
    }

    /// Reservation of the head of the queue: the date at which `units` are free if all running jobs last to their limits,
    /// and the number of further units free at that date.
    fn reservation(&self, units: u64) -> (f64, u64) {
        let mut free = self.free;
        let mut reached = f64::INFINITY;
        for running in &self.running {
            if running.end > reached {
                break;
            }
            free += running.units;
            if free >= units && reached == f64::INFINITY {
                reached = running.end;
            }
        }
        (reached, free.saturating_sub(units))
    }

    fn is_held_back(&self, waiting: &Waiting) -> bool {
        self.policy.order == Order::Priority
            && self.caps.hold_back(&self.jobs[waiting.id.0 as usize])
    }

    fn start(&mut self, now: f64, waiting: &Waiting) {
        let Waiting { id, units, limit, .. } = *waiting;
        let request = self.jobs[id.0 as usize];
        self.free -= units;
        self.caps.add(&request);
        if self.policy.order == Order::FairShare {
            self.usage.change(request.group, now, request.cores as f64);
        }
        self.add_running(Running { end: now + limit, units, id });
        self.started.push(id);
    }

    fn add_running(&mut self, running: Running) {
        self.ends[running.id.0 as usize] = running.end;
        let at = self.running.partition_point(|other| other.end <= running.end);
        self.running.insert(at, running);
    }

    fn drop_started(&mut self) {
        if !self.started.is_empty() {
            let ends = &self.ends;
            self.queue.retain(|waiting| ends[waiting.id.0 as usize] == f64::INFINITY);
        }
    }

    /// Conservative backfilling: moves promises forward if a job has ended, gives new jobs one, and starts the jobs whose
    /// promised date has come.
    fn keep_promises(&mut self, now: f64) {
        self.profile.forget_before(now);
        self.freed.forget_before(now);
        if self.delayed {
            self.rebuild_promises(now);
        } else if self.ended {
            self.compress(now);
        }
        self.arrived.sort_by(Waiting::compare);
        for k in 0..self.arrived.len() {
            let waiting = &mut self.arrived[k];
            let never = f64::INFINITY;
            let found = self.profile.earliest(waiting.units, waiting.limit, now, never, never);
            waiting.promise = found.unwrap_or(now);
            waiting.checked = self.freed.count;
            self.profile.take(waiting.units, waiting.promise, waiting.promise + waiting.limit);
        }
        self.enqueue();
        for k in 0..self.queue.len() {
            let waiting = self.queue[k];
            if waiting.promise <= now && waiting.units <= self.free {
                self.start(now, &waiting);
            }
        }
        self.drop_started();
        let ahead = self.queue.iter().map(|waiting| waiting.promise).filter(|date| *date > now);
        self.next_promise = ahead.fold(f64::INFINITY, f64::min);
    }

    /// Discards all promises and makes them again in order.
    fn rebuild_promises(&mut self, now: f64) {
        self.profile = Profile::new(self.machine.units());
        for running in &self.running {
            self.profile.take(running.units, now, running.end);
        }
        for waiting in &mut self.queue {
            let Waiting { units, limit, .. } = *waiting;
            let never = f64::INFINITY;
            waiting.promise = self.profile.earliest(units, limit, now, never, never).unwrap_or(now);
            self.profile.take(units, waiting.promise, waiting.promise + limit);
            waiting.checked = self.freed.count;
        }
        self.delayed = false;
    }

    /// Compression: one round over the waiting jobs in order, each of which gets the earliest date that the others leave.
    /// Only times released since its last check can be new for a job.
    fn compress(&mut self, now: f64) {
        for waiting in &mut self.queue {
            let until = self.freed.until(waiting.checked);
            waiting.checked = self.freed.count;
            let Some(until) = until.filter(|_| waiting.promise > now) else { continue };
            let Waiting { units, limit, promise, .. } = *waiting;
            let until = until.min(promise);
            let Some(earlier) = self.profile.earliest(units, limit, now, until, promise) else {
                continue;
            };
            self.profile.release(units, promise, promise + limit);
            self.profile.take(units, earlier, earlier + limit);
            waiting.promise = earlier;
            self.freed.add(promise + limit);
            // The time that it released itself is of no use to it.
            waiting.checked = self.freed.count;
        }
    }
}
