//! Robustness of a plan when run times differ from the estimates.
//!
//! Each sample draws the actual time of every unfinished task as `estimate * (1 + e)` and follows the plan: the
//! same processors, the same order on each of them, every task as soon as its processors are free and its data
//! has arrived. The error `e` is uniform in `[-q, q]`, where `1 - q` is the quality of information of the
//! estimates. Samples are independent streams of the seed, so that threads do not change the figures. Linear in tasks
//! and edges per sample.

use crate::best::in_pool;
use crate::registry::Request;
use crate::retime::Retiming;
use rand::RngExt;
use rayon::prelude::*;
use slackline_model::{Problem, Schedule, rng};

/// Distribution of the errors of estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunTimeError {
    /// Largest relative error q, from 0 to 1 (0.2: between 80 % and 120 % of the estimate); others are clamped.
    pub largest: f64,
    /// Number of samples.
    pub samples: u64,
}

impl Default for RunTimeError {
    fn default() -> Self {
        RunTimeError { largest: 0.2, samples: 1000 }
    }
}

/// The makespan under errors, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robustness {
    /// End of the last task as planned.
    pub planned: f64,
    /// Mean of the actual ends.
    pub mean: f64,
    /// 95th percentile of the samples.
    pub p95: f64,
    /// The latest end.
    pub worst: f64,
    /// Mean over the unfinished tasks of how much later than planned each could end
    /// without delaying the end of the plan.
    pub slack: f64,
}

/// The robustness of a plan; of an incomplete schedule, that of the tasks it has. Without samples all are as planned.
pub fn robustness(
    problem: &Problem<'_>,
    schedule: &Schedule,
    error: RunTimeError,
    request: &Request,
) -> Robustness {
    let plan = Retiming::new(problem, schedule);
    let largest = error.largest.clamp(0.0, 1.0);
    let sample = |index: u64| {
        let mut random = rng::stream(request.seed, "robust", index);
        plan.makespan(|seconds| seconds * (1.0 + largest * random.random_range(-1.0..=1.0)))
    };
    let mut ends: Vec<f64> =
        in_pool(request.threads, || (0..error.samples).into_par_iter().map(sample).collect());
    ends.sort_by(f64::total_cmp);
    let planned = schedule.makespan();
    let mean = match ends.len() {
        0 => planned,
        count => ends.iter().sum::<f64>() / count as f64,
    };
    // The least value that 95 % of the samples do not exceed.
    let rank = (ends.len() * 95).div_ceil(100).max(1);
    Robustness {
        planned,
        mean,
        p95: ends.get(rank - 1).copied().unwrap_or(planned),
        worst: ends.last().copied().unwrap_or(planned),
        slack: plan.mean_slack(planned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
    use slackline_model::{Placement, ProcId, Task, TaskId, WorkflowBuilder};

    #[test]
    fn figures_by_hand() {
        // a (4 s) on h; b (2 s) after it there; c (3 s) alone on k: c may end 3 s later.
        let mut b = WorkflowBuilder::new("w");
        for (name, work) in [("a", 4.0), ("b", 2.0), ("c", 3.0)] {
            b.add_task(Task::new(name, work)).unwrap();
        }
        b.add_edge(TaskId(0), TaskId(1), 10.0).unwrap();
        let workflow = b.build().unwrap();
        let mut b = PlatformBuilder::new("p");
        b.set_matrix(Matrix::uniform(Some(10.0), 0.0));
        let root = b.root().unwrap();
        for name in ["h", "k"] {
            b.add_host(root, HostSpec::new(name, 1.0)).unwrap();
        }
        let platform = b.build().unwrap();
        let problem = Problem::new(&workflow, &platform).unwrap();
        let mut schedule = Schedule::start(&problem);
        schedule.place(TaskId(0), Placement::new(ProcId(0), 0.0, 4.0));
        schedule.place(TaskId(1), Placement::new(ProcId(0), 4.0, 6.0));
        schedule.place(TaskId(2), Placement::new(ProcId(1), 0.0, 3.0));
        let request = Request::seeded(1);
        let exact = RunTimeError { largest: 0.0, samples: 10 };
        let figures = robustness(&problem, &schedule, exact, &request);
        assert_eq!((figures.mean, figures.p95, figures.worst), (6.0, 6.0, 6.0));
        assert_eq!(figures.slack, 1.0); // (0 + 0 + 3) / 3
        // a + b with errors up to 20 %: mean 6, between 4.8 and 7.2; c never matters.
        let error = RunTimeError::default();
        let figures = robustness(&problem, &schedule, error, &request);
        assert!((figures.mean - 6.0).abs() < 0.1, "{figures:?}");
        assert!(figures.mean < figures.p95 && figures.p95 < figures.worst);
        assert!(figures.worst <= 7.2);
        for threads in [1, 2, 4] {
            let request = Request { threads: Some(threads), ..request.clone() };
            assert_eq!(robustness(&problem, &schedule, error, &request), figures);
        }
    }
}
