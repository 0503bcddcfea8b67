//! Batch systems of sites: pilots are ordinary jobs and compete with the background load.

use super::case::{BatchSite, Case};
use super::plan::{PilotPlan, Start};
use crate::batch::{Accounts, JobId, Machine, Request, Scheduler, Site, SiteError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Job number of the first pilot. Numbers break ties of submission dates, so pilots come after background jobs.
const FIRST_PILOT: u64 = 10_000;

#[derive(Clone, Copy, Debug)]
enum SiteJob {
    Background(usize),
    Pilot(usize),
}

#[derive(Clone, Copy, Debug)]
struct Submission {
    date: f64,
    number: u64,
    job: SiteJob,
}

/// The end of a background job, ordered by date and job.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End(f64, u32);

impl Eq for End {}
impl PartialOrd for End {
    fn partial_cmp(&self, other: &End) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for End {
    fn cmp(&self, other: &End) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// Pilots that a batch system started or refused at an instant.
#[derive(Clone, Debug, Default)]
pub(super) struct PassResult {
    pub(super) started: Vec<(usize, JobId)>,
    pub(super) refused: Vec<usize>,
}

/// The batch system of one site.
#[derive(Clone, Debug)]
pub(super) struct Batch<'a> {
    spec: &'a BatchSite,
    scheduler: Scheduler,
    submissions: Vec<Submission>,
    /// Position of the next submission.
    next: usize,
    /// Ends of running background jobs.
    ends: BinaryHeap<Reverse<End>>,
    /// Jobs by their numbers in the scheduler.
    jobs: Vec<SiteJob>,
    /// Jobs of pilots that have ended, to be ended in the next pass.
    gone: Vec<JobId>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        case: &'a Case,
        site: usize,
        plans: &[PilotPlan],
    ) -> Result<Option<Batch<'a>>, SiteError> {
        let Some(spec) = &case.sites[site].batch else { return Ok(None) };
        let rules = Site::new(Machine::Cores(spec.cores))?;
        let mut submissions = Vec::new();
        for (k, &(number, date, ..)) in spec.background.iter().enumerate() {
            submissions.push(Submission { date, number, job: SiteJob::Background(k) });
        }
        for (k, plan) in plans.iter().enumerate() {
            if case.pilots[k].site == site && plan.start == Start::Batch {
                let number = FIRST_PILOT + k as u64;
                submissions.push(Submission { date: plan.submit, number, job: SiteJob::Pilot(k) });
            }
        }
        submissions.sort_by(|a, b| a.date.total_cmp(&b.date).then(a.number.cmp(&b.number)));
        Ok(Some(Batch {
            spec,
            scheduler: Scheduler::new(&rules, spec.policy, &Accounts::default()),
            submissions,
            next: 0,
            ends: BinaryHeap::new(),
            jobs: Vec::new(),
            gone: Vec::new(),
        }))
    }

    /// The next date at which something is due; infinite for none.
    pub(super) fn next_date(&self) -> f64 {
        let submission = self.submissions.get(self.next).map_or(f64::INFINITY, |s| s.date);
        let end = self.ends.peek().map_or(f64::INFINITY, |Reverse(End(date, _))| *date);
        submission.min(end).min(self.scheduler.next_date())
    }

    /// Whether pilots have ended since the last pass.
    pub(super) fn is_waiting(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Notes that a pilot has ended: its job ends in the next pass.
    pub(super) fn pilot_gone(&mut self, job: JobId) {
        self.gone.push(job);
    }

    /// Carries out ends and submissions due until `horizon` (`now` plus a tolerance for rounding), then one pass of the
    /// scheduler.
    pub(super) fn pass(&mut self, now: f64, horizon: f64, case: &Case, result: &mut PassResult) {
        for job in std::mem::take(&mut self.gone) {
            self.scheduler.end(now, job);
        }
        while let Some(&Reverse(End(_, job))) =
            self.ends.peek().filter(|Reverse(End(date, _))| *date <= horizon)
        {
            self.ends.pop();
            self.scheduler.end(now, JobId(job));
        }
        while let Some(&Submission { date, number, job }) =
            self.submissions.get(self.next).filter(|submission| submission.date <= horizon)
        {
            self.next += 1;
            let (cores, limit) = match job {
                SiteJob::Background(k) => (self.spec.background[k].3, self.spec.background[k].4),
                SiteJob::Pilot(k) => {
                    let pilot = &case.pilots[k];
                    (pilot.cores, pilot.walltime.unwrap_or(f64::INFINITY))
                }
            };
            let request =
                Request { number, submit: date, cores, limit, user: 0, group: 0, queue: 0 };
            match (self.scheduler.submit(request), job) {
                (Ok(_), _) => self.jobs.push(job),
                (Err(_), SiteJob::Pilot(k)) => result.refused.push(k),
                (Err(_), SiteJob::Background(_)) => {}
            }
        }
        // A promised date may be later than `now` by a rounding error.
        let now = if self.scheduler.next_date() <= horizon {
            now.max(self.scheduler.next_date())
        } else {
            now
        };
        let started = self.scheduler.pass(now).to_vec();
        for JobId(id) in started {
            match self.jobs[id as usize] {
                SiteJob::Pilot(k) => result.started.push((k, JobId(id))),
                SiteJob::Background(k) => {
                    let (_, _, run, _, limit) = self.spec.background[k];
                    self.ends.push(Reverse(End(now + run.min(limit), id)));
                }
            }
        }
    }
}
