//! Workloads of batch systems, after Lublin & Feitelson, "The workload on parallel supercomputers:
//! modeling the characteristics of rigid jobs", JPDC 63 (2003).
//!
//! Sizes: serial with some probability, else two to a two-stage uniform power, rounded to a power
//! of two with some probability. Run times: the exponential of a hyper-gamma value (a mixture of two
//! gamma distributions) whose mixing probability depends on the size. Arrivals: the gap to the next job
//! is the exponential of a gamma value, in seconds of the rush hours; at other times of the day the clock
//! of arrivals runs slower, by a daily cycle. The parameters are those published for logs that do not separate batch from interactive jobs. Requested times,
//! users, groups and queues are ours: the model has none.

use crate::draw::Seed;
use crate::error::{GenerateError, Result};
use rand::RngExt;
use rand_distr::{Distribution, Gamma};
use slackline_model::rng::{Stream, stream};
use std::fmt::Write;

/// The parameters of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lublin {
    /// Number of jobs.
    pub jobs: u64,
    /// Cores of the machine; a job needs at most all of them.
    pub cores: u64,
    /// Offered load: core-seconds of all jobs over those that the machine has from the first submission to the
    /// last; gaps between arrivals are scaled to reach it. None: the load that the model gives.
    pub load: Option<f64>,
    /// Requested times are uniform between the run time and this multiple of it.
    pub overestimate: f64,
    /// Number of users; the first k of n submit the share sqrt(k / n) of the jobs.
    pub users: u64,
    /// Number of groups, to which users are assigned in turn.
    pub groups: u64,
    /// Number of queues, by requested time, shortest first: the first takes jobs of up to one hour, each next one of
    /// up to four times as much, the last all others.
    pub queues: u64,
    /// Probability of a serial job.
    pub serial: f64,
    /// Probability that the size of a parallel job is a power of two.
    pub power_of_two: f64,
}

impl Default for Lublin {
    fn default() -> Lublin {
        Lublin {
            jobs: 1000,
            cores: 256,
            load: None,
            overestimate: 5.0,
            users: 20,
            groups: 4,
            queues: 3,
            serial: 0.244,
            power_of_two: 0.576,
        }
    }
}

/// A job of a generated workload; seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneratedJob {
    /// Submission.
    pub submit: u64,
    /// Run time.
    pub run: u64,
    /// Cores.
    pub cores: u64,
    /// Requested time.
    pub limit: u64,
    /// User, from 1.
    pub user: u64,
    /// Group, from 1.
    pub group: u64,
    /// Queue, from 1.
    pub queue: u64,
}

/// Shape and scale of the two gamma distributions of the natural logarithm of run times in seconds.
const SHORT: (f64, f64) = (4.2, 0.94);
const LONG: (f64, f64) = (312.0, 0.03);
/// The probability of the first of the two is `SLOPE * cores + INTERCEPT`: large jobs run longer.
const SLOPE: f64 = -0.0054;
const INTERCEPT: f64 = 0.78;
/// Largest logarithm of a run time (45 hours); larger draws are repeated.
const LONGEST: f64 = 12.0;
/// Shape and scale of the gamma distribution of the logarithm of the gap between two arrivals in the rush, in seconds.
const BETWEEN: (f64, f64) = (10.2303, 0.4871);
/// Shape and scale of the gamma distribution of arrivals over the half hours of a day that begins at 5:30.
const CYCLE: (f64, f64) = (8.1737, 3.9631);
/// The two-stage uniform distribution of log2 of the size of a parallel job: from `LOWEST` to log2 of the machine,
/// split at `MIDDLE` below the upper end; `LOWER` is the probability of the part below the split.
const LOWEST: f64 = 0.8;
const MIDDLE: f64 = 2.5;
const LOWER: f64 = 0.86;
/// Seconds of half an hour.
const SLOT: f64 = 1800.0;
const SLOTS: usize = 48;
/// The half hour of the day, from midnight on, with which the cycle begins: 5:30.
const FIRST_SLOT: usize = 11;
/// Longest requested time in the first queue, in seconds.
const FIRST_QUEUE: f64 = 3600.0;

fn gamma((shape, scale): (f64, f64)) -> Result<Gamma<f64>> {
    Gamma::new(shape, scale).map_err(|e| GenerateError::Impossible(e.to_string()))
}

impl Lublin {
    fn check(&self) -> Result<()> {
        let wrong = |message: &str| Err(GenerateError::Impossible(message.to_string()));
        if self.jobs == 0 || self.jobs > 100_000_000 {
            return wrong("--jobs: from 1 to 100000000");
        }
        if self.cores == 0 || self.cores > 1 << 32 {
            return wrong("--cores: from 1 to 4294967296");
        }
        if self.users == 0 || self.groups == 0 || self.queues == 0 || self.users > 1 << 20 {
            return wrong("--users, --groups, --queues: at least 1");
        }
        if self.load.is_some_and(|load| !(load > 0.0 && load <= 100.0)) {
            return wrong("--load: above 0, and not above 100");
        }
        if !(1.0..=1000.0).contains(&self.overestimate) {
            return wrong("--overestimate: from 1 to 1000");
        }
        if [self.serial, self.power_of_two].iter().any(|p| !(0.0..=1.0).contains(p)) {
            return wrong("a probability is from 0 to 1");
        }
        Ok(())
    }

    /// Draws the jobs, by submission.
    pub fn jobs(&self, seed: Seed) -> Result<Vec<GeneratedJob>> {
        self.check()?;
        let random =
            |purpose: &str| stream(seed.seed, &format!("workload/lublin/{purpose}"), seed.member);
        let (short, long, between) = (gamma(SHORT)?, gamma(LONG)?, gamma(BETWEEN)?);
        let weights = daily_cycle();
        let (mut sizes, mut runs, mut arrivals, mut accounts) =
            (random("size"), random("run"), random("arrival"), random("account"));
        let mut clock = Clock { slot: 0, into: 0.0 };
        let mut jobs = Vec::with_capacity(self.jobs as usize);
        let mut submits = Vec::with_capacity(self.jobs as usize);
        for _ in 0..self.jobs {
            // At most 116 days: the exponential has a heavy tail.
            let gap = between.sample(&mut arrivals).exp().min(1e7);
            clock.advance(gap, &weights);
            let cores = self.size(&mut sizes);
            let weight = (SLOPE * cores as f64 + INTERCEPT).clamp(0.0, 1.0);
            let run = loop {
                let is_short = runs.random_bool(weight);
                let log = if is_short { short.sample(&mut runs) } else { long.sample(&mut runs) };
                if log <= LONGEST {
                    break (log.exp().ceil() as u64).max(1);
                }
            };
            let factor = 1.0 + (self.overestimate - 1.0) * accounts.random::<f64>();
            let limit = ((run as f64 * factor / 60.0).ceil() as u64 * 60).max(run);
            // The square of a uniform draw: the first quarter of the users has half of the jobs.
            let user =
                ((accounts.random::<f64>().powi(2) * self.users as f64) as u64).min(self.users - 1);
            let mut queue = 1;
            let mut longest = FIRST_QUEUE;
            while queue < self.queues && limit as f64 > longest {
                (queue, longest) = (queue + 1, 4.0 * longest);
            }
            submits.push(clock.date());
            jobs.push(GeneratedJob {
                submit: 0,
                run,
                cores,
                limit,
                user: user + 1,
                group: user % self.groups + 1,
                queue,
            });
        }
        self.date(&mut jobs, &submits);
        Ok(jobs)
    }

    /// Turns arrivals into whole seconds, stretched to the load.
    fn date(&self, jobs: &mut [GeneratedJob], submits: &[f64]) {
        let first = submits.first().copied().unwrap_or(0.0);
        let span = submits.last().copied().unwrap_or(0.0) - first;
        let work: f64 = jobs.iter().map(|job| job.cores as f64 * job.run as f64).sum();
        let stretch = match self.load {
            Some(load) if span > 0.0 => work / (self.cores as f64 * load) / span,
            _ => 1.0,
        };
        for (job, submit) in jobs.iter_mut().zip(submits) {
            job.submit = ((submit - first) * stretch).round() as u64;
        }
    }

    fn size(&self, random: &mut Stream) -> u64 {
        let top = (self.cores as f64).log2();
        if top < 1.0 || random.random_bool(self.serial) {
            return 1;
        }
        let middle = (top - MIDDLE).max(LOWEST.min(top));
        let low = LOWEST.min(middle);
        let (from, to) = if random.random_bool(LOWER) { (low, middle) } else { (middle, top) };
        let mut power = from + (to - from) * random.random::<f64>();
        if random.random_bool(self.power_of_two) {
            power = power.round();
        }
        (power.exp2().round() as u64).clamp(1, self.cores)
    }

    /// The workload in the Standard Workload Format; `note` is a line of its head, with the command that repeats it.
    pub fn to_swf(&self, jobs: &[GeneratedJob], note: &str) -> String {
        let mut text = String::with_capacity(64 * jobs.len() + 400);
        let _ = writeln!(text, "; Version: 2.2");
        let _ = writeln!(text, "; Note: {note}");
        let _ =
            writeln!(text, "; Note: arrivals, sizes and run times after Lublin & Feitelson 2003");
        let _ = writeln!(text, "; MaxJobs: {}", jobs.len());
        let _ = writeln!(text, "; MaxRecords: {}", jobs.len());
        let _ = writeln!(text, "; MaxProcs: {}", self.cores);
        for (k, job) in jobs.iter().enumerate() {
            let GeneratedJob { submit, run, cores, limit, user, group, queue } = *job;
            let _ = writeln!(
                text,
                "{} {submit} -1 {run} {cores} -1 -1 {cores} {limit} -1 1 {user} {group} -1 {queue} -1 -1 -1",
                k + 1
            );
        }
        text
    }
}

/// A moldable job: one of several sizes is chosen before it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct MoldableJob {
    /// The job as the model for rigid jobs has it, at the size that it gives.
    pub rigid: GeneratedJob,
    /// Speed as a function of its size.
    pub speedup: Downey,
    /// Every size that it can have, rising, with run time and requested time in seconds.
    pub choices: Vec<Choice>,
}

/// One size of a moldable job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Cores.
    pub cores: u64,
    /// Run time, in seconds.
    pub run: u64,
    /// Requested time, in seconds.
    pub limit: u64,
}

/// Speed-up after Downey, "A model for speedup of parallel programs", 1997 (A and sigma there).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Downey {
    /// Average parallelism, at least 1.
    pub parallelism: f64,
    /// Variation of the parallelism; 0 is linear up to the average parallelism.
    pub variation: f64,
}

impl Downey {
    /// Speed on so many cores over that on one.
    pub fn on(&self, cores: u64) -> f64 {
        let (n, a, v) = (cores as f64, self.parallelism, self.variation);
        let speedup = if v <= 1.0 {
            if n <= a {
                a * n / (a + v / 2.0 * (n - 1.0))
            } else if n <= 2.0 * a - 1.0 {
                a * n / (v * (a - 0.5) + n * (1.0 - v / 2.0))
            } else {
                a
            }
        } else if n <= a + a * v - v {
            n * a * (v + 1.0) / (v * (n + a - 1.0) + a)
        } else {
            a
        };
        speedup.clamp(1.0, a.max(1.0))
    }
}

/// The rule that selects the size of a moldable job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// That of the rigid job.
    Drawn,
    /// The one with the shortest run time, the smallest of equally short ones.
    Shortest,
    /// The largest whose speed-up is at least this part of its size.
    Efficient(f64),
}

/// Largest variation of the parallelism.
const VARIATION: f64 = 2.0;

impl Lublin {
    /// Draws the jobs as moldable ones: sizes are powers of two and that of the rigid job, at which it runs as long as
    /// the rigid one does. Average parallelisms are log-uniform from that size to the cores of the machine, variations
    /// uniform from 0 to 2. Rigid jobs are those of [`jobs`](Self::jobs).
    pub fn moldable_jobs(&self, seed: Seed) -> Result<Vec<MoldableJob>> {
        let mut random = stream(seed.seed, "workload/lublin/moldable", seed.member);
        let moldable = |rigid: GeneratedJob| {
            let own = rigid.cores as f64;
            let wider = (self.cores as f64 / own).max(1.0);
            let parallelism = own * wider.powf(random.random::<f64>());
            let speedup = Downey { parallelism, variation: VARIATION * random.random::<f64>() };
            let powers = (0..64).map(|power| 1_u64 << power);
            let mut sizes: Vec<u64> = powers.take_while(|&size| size <= self.cores).collect();
            if let Err(at) = sizes.binary_search(&rigid.cores) {
                sizes.insert(at, rigid.cores);
            }
            let at_own = speedup.on(rigid.cores);
            let scaled = |seconds: u64, cores: u64| {
                ((seconds as f64 * at_own / speedup.on(cores)).ceil() as u64).max(1)
            };
            let choice = |&cores: &u64| {
                let run = if cores == rigid.cores { rigid.run } else { scaled(rigid.run, cores) };
                let limit =
                    if cores == rigid.cores { rigid.limit } else { scaled(rigid.limit, cores) };
                Choice { cores, run, limit: limit.max(run) }
            };
            MoldableJob { rigid, speedup, choices: sizes.iter().map(choice).collect() }
        };
        Ok(self.jobs(seed)?.into_iter().map(moldable).collect())
    }
}

impl MoldableJob {
    /// The job at one of its sizes.
    pub fn picked(&self, pick: Pick) -> GeneratedJob {
        let choices = || self.choices.iter();
        let chosen = match pick {
            Pick::Drawn => None,
            Pick::Shortest => choices().min_by_key(|choice| (choice.run, choice.cores)),
            Pick::Efficient(least) => choices()
                .rfind(|choice| self.speedup.on(choice.cores) >= least * choice.cores as f64),
        };
        match chosen {
            Some(&Choice { cores, run, limit }) => GeneratedJob { cores, run, limit, ..self.rigid },
            None => self.rigid,
        }
    }

    /// All sizes of jobs as a table of comma-separated values: a row for each size of each job.
    pub fn to_csv(jobs: &[MoldableJob]) -> String {
        let mut text =
            "job,submit,user,group,queue,parallelism,variation,cores,run,limit\n".to_string();
        for (k, job) in jobs.iter().enumerate() {
            let GeneratedJob { submit, user, group, queue, .. } = job.rigid;
            let Downey { parallelism, variation } = job.speedup;
            for Choice { cores, run, limit } in &job.choices {
                let _ = writeln!(
                    text,
                    "{},{submit},{user},{group},{queue},{parallelism:.3},{variation:.3},{cores},{run},{limit}",
                    k + 1
                );
            }
        }
        text
    }
}

/// Rate of arrivals in each half hour of the day, from midnight on, relative to the mean. At least 1e-3, so that the
/// clock passes every half hour.
fn daily_cycle() -> [f64; SLOTS] {
    let mut weights = [0.0; SLOTS];
    for (k, weight) in weights.iter_mut().enumerate() {
        // The density at the middle of the slot: the cycle begins in the morning.
        let at = ((k + SLOTS - FIRST_SLOT) % SLOTS) as f64 + 0.5;
        let (shape, scale) = CYCLE;
        *weight = ((shape - 1.0) * at.ln() - at / scale).exp();
    }
    let mean = weights.iter().sum::<f64>() / SLOTS as f64;
    weights.iter_mut().for_each(|weight| *weight = (*weight / mean).max(1e-3));
    weights
}

/// A date: half hours since midnight of the first day, and the fraction of the present one that is over.
#[derive(Clone, Copy, Debug)]
struct Clock {
    slot: u64,
    into: f64,
}

impl Clock {
    fn date(self) -> f64 {
        SLOT * (self.slot as f64 + self.into)
    }

    /// Advances by seconds of rush time, of which a half hour of the day has 1800 times its weight.
    fn advance(&mut self, seconds: f64, weights: &[f64; SLOTS]) {
        let mut left = seconds / SLOT;
        loop {
            let weight = weights[(self.slot % SLOTS as u64) as usize];
            let here = (1.0 - self.into) * weight;
            if left < here {
                self.into += left / weight;
                return;
            }
            left -= here;
            *self = Clock { slot: self.slot + 1, into: 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_have_the_published_shape() {
        let model = Lublin { jobs: 20_000, load: Some(0.85), ..Lublin::default() };
        let seed = Seed::new(3);
        let jobs = model.jobs(seed).unwrap();
        assert_eq!(jobs, model.jobs(seed).unwrap());
        let part = |is: &dyn Fn(&GeneratedJob) -> bool| {
            jobs.iter().filter(|job| is(job)).count() as f64 / jobs.len() as f64
        };
        assert!((part(&|job| job.cores == 1) - 0.26).abs() < 0.04);
        assert!(part(&|job| job.cores.is_power_of_two()) > 0.6);
        // The mean of the logarithm of a run time is between the two gammas'.
        let log = jobs.iter().map(|job| (job.run as f64).ln()).sum::<f64>() / jobs.len() as f64;
        assert!((4.0..7.0).contains(&log), "{log}");
        let span = jobs.last().map_or(0, |job| job.submit) as f64;
        let work: f64 = jobs.iter().map(|job| (job.cores * job.run) as f64).sum();
        assert!((work / (256.0 * span) - 0.85).abs() < 1e-3);
        assert!(jobs.iter().all(|job| job.limit >= job.run && job.cores <= 256));
        assert!(jobs.is_sorted_by_key(|job| job.submit));
    }

    #[test]
    fn moldable_jobs_are_the_rigid_ones_at_their_own_size() {
        let model = Lublin { jobs: 500, cores: 100, ..Lublin::default() };
        let (rigid, jobs) =
            (model.jobs(Seed::new(2)).unwrap(), model.moldable_jobs(Seed::new(2)).unwrap());
        for (job, rigid) in jobs.iter().zip(rigid) {
            assert_eq!(job.picked(Pick::Drawn), rigid);
            let own = job.choices.iter().find(|choice| choice.cores == rigid.cores).unwrap();
            assert_eq!((own.run, own.limit), (rigid.run, rigid.limit));
            assert!(job.choices.is_sorted_by_key(|choice| choice.cores));
            // More cores never take longer, but for rounding up.
            assert!(job.choices.windows(2).all(|pair| pair[1].run <= pair[0].run + 1));
            assert!(job.choices.iter().all(|c| c.limit >= c.run && c.cores <= 100));
            assert!(job.picked(Pick::Shortest).run <= rigid.run);
            let wide = job.picked(Pick::Efficient(0.5)).cores;
            assert!(wide == rigid.cores || job.speedup.on(wide) >= 0.5 * wide as f64);
        }
        assert_eq!(MoldableJob::to_csv(&jobs[..1]).lines().count(), 1 + jobs[0].choices.len());
    }

    /// Downey's curves: linear without variation, A at and beyond 2 A - 1 (or A + A v - v) cores.
    #[test]
    fn speedups_of_downey() {
        let on = |parallelism, variation, cores| Downey { parallelism, variation }.on(cores);
        assert_eq!((on(8.0, 0.0, 4), on(8.0, 0.0, 8), on(8.0, 0.0, 99)), (4.0, 8.0, 8.0));
        assert!((on(8.0, 1.0, 8) - 64.0 / 11.5).abs() < 1e-12);
        assert!((on(8.0, 1.0, 15) - 8.0).abs() < 1e-12);
        assert!((on(8.0, 2.0, 22) - 8.0).abs() < 1e-12);
        assert_eq!(on(8.0, 2.0, 1), 1.0);
        // Both branches meet at a variation of 1.
        assert!((on(8.0, 1.0, 5) - on(8.0, 1.0 + 1e-12, 5)).abs() < 1e-9);
    }

    #[test]
    fn odd_workloads_are_refused() {
        for model in [
            Lublin { jobs: 0, ..Lublin::default() },
            Lublin { cores: 0, ..Lublin::default() },
            Lublin { load: Some(f64::NAN), ..Lublin::default() },
            Lublin { overestimate: 0.5, ..Lublin::default() },
        ] {
            assert!(model.jobs(Seed::new(1)).is_err());
        }
        let tiny = Lublin { jobs: 10, cores: 1, ..Lublin::default() };
        assert!(tiny.jobs(Seed::new(1)).unwrap().iter().all(|job| job.cores == 1));
    }
}
