//! How a plan holds when run times are not what was estimated.
//!
//! Each sample draws the actual time of every unfinished task as `estimate * (1 + e)` and runs
//! the plan as it stands: the same processors, the same order on each of them, every task as soon as
//! its processors are free and its data has arrived. The error `e` is uniform in `[-q, q]`, where
//! `1 - q` is the quality of information of the estimates. Samples are independent streams of
//! the seed, so that threads do not change the figures. O(v + e) per sample.

use crate::best::in_pool;
use crate::registry::Settings;
use rand::RngExt;
use rayon::prelude::*;
use slackline_model::{Problem, Schedule, TaskId, rng};

/// How wrong estimates are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunTimeError {
    /// Largest relative error, at least 0 and below 1 (0.2: between 80 % and 120 % of the estimate).
    pub largest: f64,
    /// How often to draw.
    pub samples: u64,
}

impl Default for RunTimeError {
    fn default() -> Self {
        RunTimeError { largest: 0.2, samples: 1000 }
    }
}

/// The makespan under errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robustness {
    /// End of the last task as planned.
    pub planned: f64,
    /// Mean of the actual ends.
    pub mean: f64,
    /// What 95 % of the samples do not exceed.
    pub p95: f64,
    /// The latest end.
    pub worst: f64,
    /// Mean over the unfinished tasks of how much later than planned each could end
    /// without delaying the end of the plan.
    pub slack: f64,
}

/// The figures of a plan; an incomplete schedule counts with the tasks it has.
pub fn robustness(
    problem: &Problem<'_>,
    schedule: &Schedule,
    error: RunTimeError,
    settings: &Settings,
) -> Robustness {
    let chain = Chain::new(problem, schedule);
    let largest = error.largest.clamp(0.0, 1.0);
    let sample = |index: u64| {
        let mut random = rng::stream(settings.seed, "robust", index);
        chain.run(|seconds| seconds * (1.0 + largest * random.random_range(-1.0..=1.0)))
    };
    let mut ends: Vec<f64> =
        in_pool(settings.threads, || (0..error.samples).into_par_iter().map(sample).collect());
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
        slack: chain.mean_slack(planned),
    }
}

/// The plan as a graph: what each task waits for, in an order in which it can be walked.
struct Chain {
    steps: Vec<Step>,
    /// `(earlier step, seconds between its end and our start)`, by step.
    waits: Vec<(u32, f64)>,
    /// End of what has already been executed.
    past: f64,
}

struct Step {
    /// Not before this date.
    earliest: f64,
    seconds: f64,
    first_wait: u32,
}

impl Chain {
    fn new(problem: &Problem<'_>, schedule: &Schedule) -> Chain {
        let workflow = problem.workflow();
        let state = problem.state();
        let past = state.fixed.iter().flatten().map(|p| p.finish).fold(0.0, f64::max);
        // By start, equal starts topologically: parents and the task before on a processor come
        // first, tasks without length included.
        let mut depth = vec![0usize; workflow.len()];
        for (position, task) in workflow.topological_order().iter().enumerate() {
            depth[task.index()] = position;
        }
        let mut order: Vec<TaskId> = workflow
            .tasks()
            .filter(|&t| state.fixed(t).is_none() && schedule.placement(t).is_some())
            .collect();
        let start = |t: TaskId| schedule.placement(t).map_or(0.0, |p| p.start);
        order.sort_by(|&a, &b| {
            start(a).total_cmp(&start(b)).then(depth[a.index()].cmp(&depth[b.index()]))
        });
        let mut step_of = vec![u32::MAX; workflow.len()];
        let mut last_on = vec![u32::MAX; problem.procs()];
        // Running tasks hold their processors, unless they were to start after ours.
        let mut held = vec![0.0f64; problem.procs()];
        for placement in state.fixed.iter().flatten() {
            for proc in placement.procs() {
                held[proc.index()] = held[proc.index()].max(placement.finish);
            }
        }
        let mut chain = Chain { steps: Vec::with_capacity(order.len()), waits: Vec::new(), past };
        for (index, &task) in order.iter().enumerate() {
            let Some(placement) = schedule.placement(task) else { continue };
            let first_wait = chain.waits.len() as u32;
            let mut earliest = problem.release(task);
            for (parent, edge) in workflow.predecessors(task) {
                let Some(source) = schedule.placement(parent) else { continue };
                let bytes = workflow.edge_bytes(edge);
                let moved = problem.transfer_between(bytes, source.procs(), placement.procs());
                match step_of[parent.index()] {
                    u32::MAX => {
                        let target = problem.host_of(placement.proc());
                        let copies = state.copies_of(edge).iter();
                        let arrival = copies
                            .map(|c| c.at.max(state.now) + problem.transfer(bytes, c.host, target))
                            .fold(source.finish.max(state.now) + moved, f64::min);
                        earliest = earliest.max(arrival);
                    }
                    step => chain.waits.push((step, moved)),
                }
            }
            let takes_time = placement.finish > placement.start;
            for proc in placement.procs() {
                earliest = earliest.max(problem.available_from(*proc));
                let last = &mut last_on[proc.index()];
                if takes_time {
                    earliest = earliest.max(held[proc.index()].min(placement.start));
                    if *last != u32::MAX {
                        chain.waits.push((*last, 0.0));
                    }
                    *last = index as u32;
                }
            }
            step_of[task.index()] = index as u32;
            chain.steps.push(Step { earliest, seconds: placement.seconds(), first_wait });
        }
        chain
    }

    fn waits_of(&self, step: usize) -> &[(u32, f64)] {
        let end = self.steps.get(step + 1).map_or(self.waits.len(), |s| s.first_wait as usize);
        &self.waits[self.steps[step].first_wait as usize..end]
    }

    /// End of the last task when `actual` gives the time of each from its estimate.
    fn run(&self, mut actual: impl FnMut(f64) -> f64) -> f64 {
        let mut finish = Vec::with_capacity(self.steps.len());
        let mut latest = self.past;
        for (index, step) in self.steps.iter().enumerate() {
            let mut start = step.earliest;
            for &(before, gap) in self.waits_of(index) {
                start = start.max(finish[before as usize] + gap);
            }
            let end: f64 = start + actual(step.seconds);
            finish.push(end);
            latest = latest.max(end);
        }
        latest
    }

    /// Mean distance between the earliest and the latest end that keeps the plan's end.
    fn mean_slack(&self, planned: f64) -> f64 {
        let count = self.steps.len();
        if count == 0 {
            return 0.0;
        }
        let mut early = Vec::with_capacity(count);
        let mut late = vec![planned; count];
        for (index, step) in self.steps.iter().enumerate() {
            let waits = self.waits_of(index).iter();
            let start = waits.map(|&(b, gap): &(u32, f64)| early[b as usize] + gap);
            early.push(start.fold(step.earliest, f64::max) + step.seconds);
        }
        for index in (0..count).rev() {
            let start = late[index] - self.steps[index].seconds;
            for &(before, gap) in self.waits_of(index) {
                late[before as usize] = late[before as usize].min(start - gap);
            }
        }
        let slack = late.iter().zip(&early).map(|(l, e)| (l - e).max(0.0));
        slack.sum::<f64>() / count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
    use slackline_model::{Placement, ProcId, Task, WorkflowBuilder};

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
        let settings = Settings::seeded(1);
        let exact = RunTimeError { largest: 0.0, samples: 10 };
        let figures = robustness(&problem, &schedule, exact, &settings);
        assert_eq!((figures.mean, figures.p95, figures.worst), (6.0, 6.0, 6.0));
        assert_eq!(figures.slack, 1.0); // (0 + 0 + 3) / 3
        // a + b with errors up to 20 %: mean 6, between 4.8 and 7.2; c never matters.
        let error = RunTimeError::default();
        let figures = robustness(&problem, &schedule, error, &settings);
        assert!((figures.mean - 6.0).abs() < 0.1, "{figures:?}");
        assert!(figures.mean < figures.p95 && figures.p95 < figures.worst);
        assert!(figures.worst <= 7.2);
        for threads in [1, 2, 4] {
            let settings = Settings { threads: Some(threads), ..settings.clone() };
            assert_eq!(robustness(&problem, &schedule, error, &settings), figures);
        }
    }
}
