//! Intervals of makespans that are predicted from recorded run times.
//!
//! Two things are not known of a run elsewhere: how far the tasks of a kind differ from run to run, and how fast the
//! machines are. Each draw takes a speed for all tasks, one for each kind, and times in two ways: as recorded, and
//! again from the times of the kind, whose mean is not known exactly either. The plan is followed with these times. The
//! interval has the quantiles of both ways: which part of the spread comes from the inputs, and so comes back, is not
//! known from one run.

use rand::RngExt;
use slackline_model::rng::{self, Stream};
use slackline_model::{Problem, Schedule};
use slackline_schedule::retime::Retiming;

/// Share of the runs that an interval is to hold.
pub const LEVEL: f64 = 0.9;
/// Kinds with fewer tasks take the spread of all kinds.
const FEWEST: usize = 5;
/// Draws of each way: at most, and of large workflows at least.
const DRAWS: (usize, usize) = (400, 40);
/// Tasks timed over all draws, where that leaves enough.
const TASKS: usize = 1_000_000;

/// Recorded run times of a workflow's tasks, and how well the speeds of the machines are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSpread {
    /// By task: its kind, and the logarithm of its seconds where it has any.
    tasks: Vec<(usize, Option<f64>)>,
    /// By kind: mean logarithm, number of its tasks and their deviations from the mean.
    kinds: Vec<(f64, usize, Vec<f64>)>,
    /// Deviations of all kinds.
    pooled: Vec<f64>,
    /// Standard error of the logarithm of the speed of all machines.
    speed_error: f64,
    /// Standard deviation of it between kinds.
    between_kinds: f64,
}

impl TimeSpread {
    /// The spread of recorded seconds: by task its kind and its seconds, where it has any. None where no kind has two
    /// tasks with times.
    pub fn of(tasks: &[(usize, Option<f64>)]) -> Option<TimeSpread> {
        let logarithm = |s: Option<f64>| s.filter(|s| *s > 0.0).map(f64::ln);
        let tasks: Vec<_> = tasks.iter().map(|&(kind, s)| (kind, logarithm(s))).collect();
        let count = tasks.iter().map(|(kind, _)| kind + 1).max()?;
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); count];
        tasks.iter().for_each(|&(kind, value)| values[kind].extend(value));
        let mut kinds = Vec::with_capacity(count);
        for values in values {
            let many = values.len();
            let mean = values.iter().sum::<f64>() / many.max(1) as f64;
            // A mean of few is nearer to them than to others of their kind.
            let wider = (many as f64 / many.saturating_sub(1).max(1) as f64).sqrt();
            let apart = |value: f64| (value - mean) * wider;
            let apart: Vec<f64> =
                if many > 1 { values.into_iter().map(apart).collect() } else { Vec::new() };
            kinds.push((mean, many, apart));
        }
        let pooled: Vec<f64> = kinds.iter().flat_map(|(.., apart)| apart).copied().collect();
        let tasks = (!pooled.is_empty()).then_some(tasks)?;
        Some(TimeSpread { tasks, kinds, pooled, speed_error: 0.0, between_kinds: 0.0 })
    }

    /// The same on machines whose speed is known so well: standard error of its logarithm for all tasks, standard
    /// deviation between kinds.
    pub fn with_speeds(self, error: f64, between_kinds: f64) -> TimeSpread {
        TimeSpread { speed_error: error, between_kinds, ..self }
    }

    /// Number of kinds with two tasks or more.
    pub fn repeated_kinds(&self) -> usize {
        self.kinds.iter().filter(|(_, many, _)| *many > 1).count()
    }

    /// Standard deviation of the logarithms within kinds.
    pub fn deviation(&self) -> f64 {
        let squares: f64 = self.pooled.iter().map(|v| v * v).sum();
        (squares / self.pooled.len().max(1) as f64).sqrt()
    }

    /// Bounds of the makespan of a plan beside the one it has with the recorded times, as factors: [`LEVEL`] of the
    /// runs are to end between them.
    pub fn factors(&self, problem: &Problem<'_>, schedule: &Schedule, seed: u64) -> (f64, f64) {
        let plan = Retiming::new(problem, schedule);
        let planned = plan.makespan(|seconds| seconds);
        if planned <= 0.0 || !planned.is_finite() || problem.tasks() != self.tasks.len() {
            return (1.0, 1.0);
        }
        let draws = (TASKS / self.tasks.len().max(1)).clamp(DRAWS.1, DRAWS.0);
        let mut bounds = (1.0f64, 1.0f64);
        for again in [false, true] {
            let mut ends: Vec<f64> = (0..draws)
                .map(|index| {
                    let mut draw = rng::stream(seed, "elsewhere", index as u64);
                    let kinds = self.draw_kinds(&mut draw, again);
                    let factor = |task: usize, draw: &mut Stream| {
                        let (kind, recorded) = self.tasks[task];
                        let (shift, slower) = kinds[kind];
                        let Some(recorded) = recorded.filter(|_| again) else {
                            return slower.exp();
                        };
                        let apart = self.apart(kind);
                        let apart = apart[draw.random_range(0..apart.len())];
                        (self.kinds[kind].0 + shift + apart - recorded + slower).exp()
                    };
                    plan.makespan_by_task(|task, s| s * factor(task.index(), &mut draw)) / planned
                })
                .collect();
            ends.sort_by(f64::total_cmp);
            let outside = (1.0 - LEVEL) / 2.0;
            let low = (outside * draws as f64).floor() as usize;
            bounds = (bounds.0.min(ends[low]), bounds.1.max(ends[draws - 1 - low]));
        }
        bounds
    }

    /// Deviations from the mean of a kind that are drawn from.
    fn apart(&self, kind: usize) -> &[f64] {
        let (_, many, apart) = &self.kinds[kind];
        if *many < FEWEST { &self.pooled } else { apart }
    }

    /// For each kind: how far its mean is from the recorded one, and the logarithm of how much longer it takes.
    fn draw_kinds(&self, draw: &mut Stream, again: bool) -> Vec<(f64, f64)> {
        let all = self.speed_error * normal(draw);
        let of_kind = |(kind, (_, many, _)): (usize, &(f64, usize, Vec<f64>))| {
            let slower = all + self.between_kinds * normal(draw);
            if !again || *many == 0 {
                return (0.0, slower);
            }
            let apart = self.apart(kind);
            let squares: f64 = apart.iter().map(|v| v * v).sum();
            let error = (squares / apart.len() as f64 / *many as f64).sqrt();
            (error * normal(draw), slower)
        };
        self.kinds.iter().enumerate().map(of_kind).collect()
    }
}

/// A standard normal draw, by Box and Muller.
fn normal(draw: &mut Stream) -> f64 {
    let (u, v) = (1.0 - draw.random::<f64>(), draw.random::<f64>());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}
