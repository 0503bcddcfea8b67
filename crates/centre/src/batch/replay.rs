//! The jobs of a log under a policy.

use super::policy::Policy;
use super::scheduler::{JobId, Refusal, Request, Scheduler};
use super::site::{Accounts, Power, Site};
use slackline_formats::batch_log::{BatchLog, LoggedJob};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

/// A log on a site.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// The jobs.
    pub log: &'a BatchLog,
    /// Machine and rules.
    pub site: &'a Site,
}

/// When the jobs of a log start and end under a policy; lists in the order of the log's jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The policy.
    pub policy: Policy,
    /// Starts; none for refused jobs.
    pub starts: Vec<Option<f64>>,
    /// Ends; none for refused jobs.
    pub ends: Vec<Option<f64>>,
    /// Refused jobs by number.
    pub refused: BTreeMap<u64, Refusal>,
    /// Unit-seconds spent switched off and switching, where idle units are switched off.
    pub sleep: Option<Sleep>,
}

/// Times of units that were switched off while idle; unit-seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sleep {
    /// Off.
    pub off: f64,
    /// Switching on, held by the job that waits for it.
    pub booting: f64,
    /// Times that a unit was switched on again.
    pub boots: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    date: f64,
    job: JobId,
    index: u32,
}

impl Eq for End {}
impl PartialOrd for End {
    fn partial_cmp(&self, other: &End) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for End {
    fn cmp(&self, other: &End) -> Ordering {
        self.date.total_cmp(&other.date).then(self.job.cmp(&other.job))
    }
}

impl Replay<'_> {
    /// Run time of a job in seconds: it is killed at its limit.
    pub fn length(job: &LoggedJob) -> f64 {
        job.run.min(job.limit)
    }

    /// Runs the log under a policy.
    pub fn run(&self, policy: Policy) -> Outcome {
        let log = self.log;
        let accounts = Accounts { users: &log.users, groups: &log.groups, queues: &log.queues };
        let mut scheduler = Scheduler::new(self.site, policy, &accounts);
        let mut outcome = Outcome {
            policy,
            starts: vec![None; log.jobs.len()],
            ends: vec![None; log.jobs.len()],
            refused: BTreeMap::new(),
            sleep: None,
        };
        let mut sleepers = Sleepers::of(self.site);
        // Places in the log by job of the scheduler.
        let mut places: Vec<u32> = Vec::with_capacity(log.jobs.len());
        let mut running: BinaryHeap<Reverse<End>> = BinaryHeap::new();
        let mut next = 0;
        loop {
            let submission = log.jobs.get(next).map_or(f64::INFINITY, |job| job.submit);
            let end = running.peek().map_or(f64::INFINITY, |Reverse(end)| end.date);
            let now = submission.min(end).min(scheduler.next_date());
            if now == f64::INFINITY {
                break;
            }
            while let Some(Reverse(End { job, index, .. })) =
                running.peek().copied().filter(|Reverse(end)| end.date <= now)
            {
                running.pop();
                scheduler.end(now, job);
                if let Some(sleepers) = &mut sleepers {
                    sleepers
                        .give_back(now, self.site.machine.units_of(log.jobs[index as usize].cores));
                }
            }
            while let Some(job) = log.jobs.get(next).filter(|job| job.submit <= now) {
                match scheduler.submit(request(job)) {
                    Ok(_) => places.push(next as u32),
                    Err(refusal) => drop(outcome.refused.insert(job.number, refusal)),
                }
                next += 1;
            }
            let started: Vec<JobId> = scheduler.pass(now).to_vec();
            for job in started {
                let index = places[job.0 as usize];
                let logged = &log.jobs[index as usize];
                let delay = match &mut sleepers {
                    Some(sleepers) => sleepers.take(now, self.site.machine.units_of(logged.cores)),
                    None => 0.0,
                };
                if delay > 0.0 {
                    scheduler.delay(job, delay);
                }
                let end = now + delay + Self::length(logged);
                outcome.starts[index as usize] = Some(now + delay);
                outcome.ends[index as usize] = Some(end);
                running.push(Reverse(End { date: end, job, index }));
            }
        }
        outcome.sleep = sleepers.map(|sleepers| {
            let last = outcome.ends.iter().flatten().copied().fold(0.0, f64::max);
            sleepers.finish(last)
        });
        outcome
    }
}

fn request(job: &LoggedJob) -> Request {
    let LoggedJob { number, submit, cores, limit, user, group, queue, .. } = *job;
    Request { number, submit, cores, limit, user, group, queue }
}

/// Idle units, some of which sleep: those that became idle last are used first.
#[derive(Clone, Debug)]
struct Sleepers {
    power: Power,
    off_after: f64,
    /// Since when, how many; dates rise.
    idle: Vec<(f64, u64)>,
    sleep: Sleep,
}

impl Sleepers {
    fn of(site: &Site) -> Option<Sleepers> {
        let power = site.power?;
        let off_after = power.off_after?;
        let idle = vec![(0.0, site.machine.units())];
        Some(Sleepers { power, off_after, idle, sleep: Sleep::default() })
    }

    fn give_back(&mut self, now: f64, units: u64) {
        match self.idle.last_mut() {
            Some((since, idle)) if *since == now => *idle += units,
            _ => self.idle.push((now, units)),
        }
    }

    /// When a unit idle since then is off, if it is left alone.
    fn off_from(&self, since: f64) -> f64 {
        since + self.off_after + self.power.shutdown
    }

    /// Units for a job; how long it has to wait for them.
    fn take(&mut self, now: f64, mut units: u64) -> f64 {
        let mut delay: f64 = 0.0;
        let mut woken = 0;
        let wanted = units;
        while units > 0 {
            let Some((since, idle)) = self.idle.pop() else { break };
            let taken = idle.min(units);
            units -= taken;
            if taken < idle {
                self.idle.push((since, idle - taken));
            }
            if now >= since + self.off_after {
                // Who is being switched off is switched on when that is over.
                let off_from = self.off_from(since);
                delay = delay.max((off_from - now).max(0.0) + self.power.boot);
                self.sleep.off += taken as f64 * (now - off_from).max(0.0);
                self.sleep.boots += taken;
                woken += taken;
            }
        }
        if woken > 0 {
            self.sleep.booting += wanted as f64 * delay;
        }
        delay
    }

    fn finish(mut self, last: f64) -> Sleep {
        for (since, idle) in std::mem::take(&mut self.idle) {
            self.sleep.off += idle as f64 * (last - self.off_from(since)).max(0.0);
        }
        self.sleep
    }
}
