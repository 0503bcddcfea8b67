//! Carrying out a campaign: on all cores, each finished run written once.

use super::case::{Combination, Row};
use super::file::Campaign;
use super::method::Method;
use super::store::{Store, StoreError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Rows are made safe at least this often.
const SAFE: Duration = Duration::from_millis(250);

/// Part `index` (from 0) of `of` parts of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Index of the part.
    pub index: u64,
    /// Number of parts.
    pub of: u64,
}

/// Progress of a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs there are to be, as far as is known.
    pub planned: u64,
    /// Runs that were there before.
    pub before: u64,
    /// Runs done now.
    pub done: u64,
    /// Of these, runs that failed.
    pub failed: u64,
    /// It was stopped before the end.
    pub stopped: bool,
}

/// Work for one thread: draws of a combination, in order.
struct Job {
    combination: Combination,
    /// The first draw, and the makespans of earlier ones where a half-width decides.
    from: u64,
    makespans: Option<Vec<Vec<f64>>>,
    /// Methods whose runs of the first draw are missing.
    missing: Vec<usize>,
}

/// Carries out what is missing of a campaign.
pub fn run(
    campaign: &Campaign,
    store: &mut Store,
    version: &str,
    shard: Shard,
    threads: usize,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&Counts),
) -> Result<Counts, StoreError> {
    let combinations = campaign.combinations();
    let mut counts =
        Counts { planned: campaign.planned_runs(&combinations) / shard.of, ..Counts::default() };
    let fresh = store.is_empty()?;
    let (give, take) = sync_channel::<Job>(2 * threads);
    let (tell, hear) = sync_channel::<Vec<Row>>(4 * threads);
    let take = Mutex::new(take);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (take, tell) = (&take, tell.clone());
            scope.spawn(move || work(campaign, version, take, &tell, stop));
        }
        drop(tell);
        let mut keeper = Keeper { store, counts: &mut counts, watch, safe: Instant::now() };
        let mut jobs = Jobs { campaign, version, combinations: &combinations, shard, fresh, at: 0 };
        let fed = feed(&mut jobs, give, &hear, &mut keeper, stop);
        // Threads end when there are no more jobs; their last results are kept.
        let kept = match fed {
            Ok(()) => hear.iter().try_for_each(|rows| keeper.keep(&rows)),
            Err(error) => Err(error),
        };
        if kept.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        drop(hear);
        kept
    })?;
    store.commit()?;
    counts.stopped = stop.load(Ordering::Relaxed);
    watch(&counts);
    Ok(counts)
}

/// Writes the results of threads.
struct Keeper<'a> {
    store: &'a mut Store,
    counts: &'a mut Counts,
    watch: &'a mut dyn FnMut(&Counts),
    safe: Instant,
}

impl Keeper<'_> {
    fn keep(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        for row in rows {
            self.store.add(row)?;
            self.counts.done += 1;
            self.counts.failed += u64::from(!row.done);
        }
        if self.safe.elapsed() >= SAFE {
            self.store.commit()?;
            self.safe = Instant::now();
            (self.watch)(self.counts);
        }
        Ok(())
    }
}

/// The work that is left, one job after the other.
struct Jobs<'a> {
    campaign: &'a Campaign,
    version: &'a str,
    combinations: &'a [Combination],
    shard: Shard,
    fresh: bool,
    at: u64,
}

impl Jobs<'_> {
    /// The next job: repetition after repetition over all combinations, so that an unfinished
    /// campaign is balanced.
    fn next(&mut self, keeper: &mut Keeper<'_>) -> Result<Option<Job>, StoreError> {
        let size = self.combinations.len() as u64;
        let most = self.combinations.iter().map(|c| self.campaign.draws(c).unwrap_or(1)).max();
        while self.at < most.unwrap_or(0).saturating_mul(size) {
            let (index, repetition) = ((self.at % size) as usize, self.at / size + 1);
            self.at += 1;
            let combination = self.combinations[index];
            let draws = self.campaign.draws(&combination);
            if index as u64 % self.shard.of != self.shard.index || repetition > draws.unwrap_or(1) {
                continue;
            }
            let job = match draws {
                Some(_) => self.fixed(combination, repetition, keeper)?,
                None => self.until(combination, keeper)?,
            };
            if job.is_some() {
                return Ok(job);
            }
        }
        Ok(None)
    }

    fn fixed(
        &self,
        combination: Combination,
        from: u64,
        keeper: &mut Keeper<'_>,
    ) -> Result<Option<Job>, StoreError> {
        let count = self.campaign.methods_of(&combination).count();
        let mut missing: Vec<usize> = (0..count).collect();
        if !self.fresh {
            let draw = self.campaign.draw(combination, from, self.version);
            let methods: Vec<&Method> = self.campaign.methods_of(&combination).collect();
            let mut left = Vec::new();
            for at in missing {
                match keeper.store.makespan(&draw.key(methods[at]))? {
                    Some(_) => keeper.counts.before += 1,
                    None => left.push(at),
                }
            }
            missing = left;
        }
        let job = Job { combination, from, makespans: None, missing };
        Ok((!job.missing.is_empty()).then_some(job))
    }

    /// Goes through the draws that are there to the first that is not, unless they are enough.
    fn until(
        &self,
        combination: Combination,
        keeper: &mut Keeper<'_>,
    ) -> Result<Option<Job>, StoreError> {
        let methods: Vec<&Method> = self.campaign.methods_of(&combination).collect();
        let mut makespans: Vec<Vec<f64>> = vec![Vec::new(); methods.len()];
        for from in 1.. {
            if from > 1 && self.campaign.is_enough(from - 1, &makespans) {
                return Ok(None);
            }
            let draw = self.campaign.draw(combination, from, self.version);
            let mut missing = Vec::new();
            for (at, method) in methods.iter().enumerate() {
                let found =
                    if self.fresh { None } else { keeper.store.makespan(&draw.key(method))? };
                match found {
                    Some(makespan) => {
                        keeper.counts.before += 1;
                        makespans[at].extend(makespan);
                    }
                    None => missing.push(at),
                }
            }
            if !missing.is_empty() {
                let makespans = Some(makespans);
                return Ok(Some(Job { combination, from, makespans, missing }));
            }
        }
        Ok(None)
    }
}

/// Distributes jobs to threads and keeps their results, until all jobs are distributed or the run is stopped.
fn feed(
    jobs: &mut Jobs<'_>,
    give: SyncSender<Job>,
    hear: &Receiver<Vec<Row>>,
    keeper: &mut Keeper<'_>,
    stop: &AtomicBool,
) -> Result<(), StoreError> {
    let mut waiting: Option<Job> = None;
    while !stop.load(Ordering::Relaxed) {
        if waiting.is_none() {
            waiting = jobs.next(keeper)?;
        }
        let Some(job) = waiting.take() else { break };
        match give.try_send(job) {
            Ok(()) => {}
            Err(std::sync::mpsc::TrySendError::Full(job)) => {
                waiting = Some(job);
                // All are busy: wait for a result.
                if let Ok(rows) = hear.recv_timeout(SAFE) {
                    keeper.keep(&rows)?;
                }
            }
            Err(std::sync::mpsc::TrySendError::Disconnected(_)) => break,
        }
        while let Ok(rows) = hear.try_recv() {
            keeper.keep(&rows)?;
        }
    }
    Ok(())
}

fn work(
    campaign: &Campaign,
    version: &str,
    take: &Mutex<Receiver<Job>>,
    tell: &SyncSender<Vec<Row>>,
    stop: &AtomicBool,
) {
    loop {
        let job = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut job) = job else { return };
        let methods: Vec<&Method> = campaign.methods_of(&job.combination).collect();
        for repetition in job.from.. {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let draw = campaign.draw(job.combination, repetition, version);
            let rows = draw.run(job.missing.iter().map(|&at| methods[at]));
            if let Some(makespans) = &mut job.makespans {
                for (&at, row) in job.missing.iter().zip(&rows) {
                    makespans[at].extend(row.metrics[0]);
                }
            }
            if tell.send(rows).is_err() {
                return;
            }
            match &job.makespans {
                Some(makespans) if !campaign.is_enough(repetition, makespans) => {
                    job.missing = (0..methods.len()).collect();
                }
                _ => break,
            }
        }
    }
}
