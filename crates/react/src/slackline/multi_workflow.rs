//! Several workflows at once. The end of the last one is not the objective: what counts is how long
//! each is in the system for its size, so plans are judged by the sum over open workflows of the
//! time from arrival to forecast end, over the length of the critical path (the mean TTR).
//!
//! Candidates place workflow after workflow with HEFT, later ones into the gaps that earlier ones
//! leave, in three orders: least work left times path (Smith's rule for the sum above), least path
//! left, and the rank of FDWS; then the plans that are made for one workflow. Each is forecast with
//! inputs pushed and pulled; the best is taken where work has arrived or was lost, else only for a
//! clear gain. Ties: the candidate that comes first; workflows by arrival.

use super::candidates::Candidate;
use super::context::PlanningContext;
use super::forecast::Forecast;
use super::rollouts::Choice;
use super::{Slackline, WINDOWS, WORTH_IT};
use crate::gtp::rewound_tasks;
use crate::policy::{Decision, Plan};
use crate::situation::Situation;
use slackline_model::{TaskId, approx};
use slackline_schedule::list::heft;

/// Whether more than one workflow has something left to do.
pub(super) fn are_open(now: &Situation) -> bool {
    if now.arrived.len() < 2 {
        return false;
    }
    let mut open = now.workflow.tasks().filter(|&t| is_open(now, t)).map(|t| part(now, t));
    let first = open.next();
    open.any(|part| Some(part) != first)
}

fn part(now: &Situation, task: TaskId) -> usize {
    now.part_of[task.index()] as usize
}

fn is_open(now: &Situation, task: TaskId) -> bool {
    now.is_to_run(task) && now.arrived[part(now, task)].abandoned.is_none()
}

/// Remaining work of each workflow.
struct Rest {
    /// Its critical path, whole and from the open tasks on, in mean times.
    path: Vec<f64>,
    path_left: Vec<f64>,
    /// Mean times of its open tasks, and how many of all its tasks they are.
    work_left: Vec<f64>,
    share_left: Vec<f64>,
}

impl Rest {
    fn of(context: &PlanningContext<'_, '_>, rank: &[f64]) -> Rest {
        let PlanningContext { problem, now, .. } = *context;
        let parts = now.arrived.len();
        let (mut path, mut path_left) = (vec![0.0f64; parts], vec![0.0f64; parts]);
        let (mut work_left, mut open, mut all) =
            (vec![0.0; parts], vec![0.0; parts], vec![0.0f64; parts]);
        for task in now.workflow.tasks() {
            let (part, rank) = (part(now, task), rank[task.index()]);
            path[part] = path[part].max(rank);
            all[part] += 1.0;
            if is_open(now, task) {
                path_left[part] = path_left[part].max(rank);
                work_left[part] += problem.mean_exec(task);
                open[part] += 1.0;
            }
        }
        let share_left = open.iter().zip(all).map(|(open, all)| open / all.max(1.0)).collect();
        Rest { path, path_left, work_left, share_left }
    }

    /// Per order: what decides, the least first.
    fn orders(&self) -> [Vec<f64>; 3] {
        let times = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).collect();
        [
            times(&self.work_left, &self.path),
            self.path_left.clone(),
            times(&self.share_left, &self.path),
        ]
    }

    /// The sum of the times in the system over the paths, up to the ends of a forecast; and its
    /// part that has passed.
    fn strain(&self, now: &Situation, forecast: &Forecast) -> (f64, f64) {
        if forecast.makespan.is_infinite() {
            return (f64::INFINITY, 0.0);
        }
        let mut ends = vec![f64::NEG_INFINITY; self.path.len()];
        for task in now.workflow.tasks().filter(|&t| is_open(now, t)) {
            let end = &mut ends[part(now, task)];
            *end = end.max(forecast.times[task.index()].1);
        }
        let open = ends.iter().zip(&self.path).zip(&now.arrived);
        let open = open.filter(|((end, path), _)| end.is_finite() && **path > 0.0);
        open.fold((0.0, 0.0), |(all, past), ((end, path), arrived)| {
            (all + (end - arrived.at) / path, past + (now.now - arrived.at) / path)
        })
    }
}

impl Slackline {
    /// Shares the processors among the open workflows; `forced` where the present plan may not do.
    pub(super) fn share(
        &mut self,
        now: &Situation,
        forced: bool,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        let lost = if forced { rewound_tasks(now, true) } else { Vec::new() };
        let after = self.expected(now, &lost);
        let problem = after.problem().map_err(|e| e.to_string())?;
        let prospect = self.levels(now).prospect(now)?;
        let context = prospect.context(&problem, &after);
        let rest = Rest::of(&context, &self.rank);
        let present = self.present(&after);
        let kept = self.forecaster.follow(&context.future, &present, f64::INFINITY);
        let (strain, past) = rest.strain(&after, &kept);
        let mut limit =
            if forced { f64::INFINITY } else { past + (strain - past) * (1.0 - WORTH_IT) };
        let mut best: Option<Choice> = None;
        let mut plans = self.in_turn(&context, &rest);
        plans.extend(self.candidates(&context));
        for (origin, plan) in plans {
            for transfers in [WINDOWS[0], WINDOWS[2]] {
                let plan = Plan { transfers, ..plan.clone() };
                let forecast = self.forecaster.follow(&context.future, &plan, f64::INFINITY);
                let (strain, _) = rest.strain(&after, &forecast);
                if approx::lt(strain, limit) {
                    limit = strain;
                    let choice = Choice::new(origin, plan, forecast);
                    best = Some(Choice { rewind: lost.clone(), ..choice });
                }
            }
        }
        match best {
            Some(choice) => self.adopt(&context, choice, decisions),
            None if kept.makespan.is_infinite() => return Err("there is no plan now".to_string()),
            None => self.expect(&context, &present, &kept),
        }
        Ok(())
    }

    /// Workflow after workflow, in each of the orders.
    fn in_turn(&self, context: &PlanningContext<'_, '_>, rest: &Rest) -> Vec<Candidate> {
        let PlanningContext { problem, now, .. } = *context;
        // Ranks of a workflow lie above all ranks of those that come later.
        let step = 1.0 + self.rank.iter().copied().fold(0.0, f64::max);
        let plan = |key: Vec<f64>| {
            let mut turn: Vec<usize> = (0..key.len()).collect();
            turn.sort_by(|&a, &b| {
                let (a_key, b_key) = (approx::sort_key(key[a]), approx::sort_key(key[b]));
                a_key.total_cmp(&b_key).then(a.cmp(&b))
            });
            let mut floor = vec![0.0; key.len()];
            for (turn, &part) in turn.iter().rev().enumerate() {
                floor[part] = turn as f64 * step;
            }
            let tasks = now.workflow.tasks();
            let rank: Vec<f64> =
                tasks.map(|t| floor[part(now, t)] + self.rank[t.index()]).collect();
            let schedule = heft::by_rank(problem, &rank).ok()?;
            Some(("in turn", Plan::of_schedule(problem, &schedule, WINDOWS[0])))
        };
        rest.orders().into_iter().filter_map(plan).collect()
    }
}
