//! Plans worth a forecast.

use super::context::PlanningContext;
use super::rollouts::Choice;
use super::{HYSTERESIS, OCCUPATIONS, STATIC, Slackline};
use crate::policy::{Assignment, Plan, Transfers};
use crate::replanning;
use crate::situation::{Situation, TaskState};
use slackline_model::workflow::Shape;
use slackline_model::{Placement, ProcId, TaskId};
use slackline_schedule::list::contended::{self, Seat, Weights};
use slackline_schedule::{Request, registry};

/// Finished tasks that one evaluation considers rewinding.
const REWINDS: usize = 2;

/// Evaluations of ready tasks beyond which DLS is left out: 5000 tasks at once.
const CROWDED: u64 = 25_000_000;

/// A plan and where it comes from.
pub(super) type Candidate = (&'static str, Plan);

impl Slackline {
    /// The plan `static` would follow, and its planned length.
    pub(super) fn plain(&self, now: &Situation) -> Option<(Plan, f64)> {
        let problem = now.nominal_problem().ok()?;
        let schedule = registry::usual(&problem).plan(&problem, &Request::default()).ok()?;
        let plan = Plan::of_schedule(&problem, &schedule, Transfers::Push);
        Some((plan, schedule.makespan()))
    }

    /// The plan `static` would follow from here on, with the present window.
    pub(super) fn plan_anew(&self, now: &Situation) -> Option<Plan> {
        let problem = now.problem().ok()?;
        let schedule = registry::usual(&problem).plan(&problem, &Request::default()).ok()?;
        Some(Plan::of_schedule(&problem, &schedule, self.plan.transfers))
    }

    /// Plans of several planners for all there is to do.
    pub(super) fn first_plans(&mut self, context: &PlanningContext<'_, '_>) -> Vec<Candidate> {
        let mut plans: Vec<Candidate> = Vec::new();
        for name in ["heft", "peft", "dls"] {
            if name == "dls" && is_crowded(context.now) {
                continue;
            }
            if let Some(planner) = registry::find(name)
                && let Ok(schedule) = planner.plan(context.problem, &Request::default())
            {
                let plan = Plan::of_schedule(context.problem, &schedule, Transfers::Push);
                plans.push((name, plan));
            }
        }
        plans.extend(self.contended_plans(context));
        plans
    }

    /// The present plan without what is done meanwhile.
    pub(super) fn present(&self, now: &Situation) -> Plan {
        unfinished(&self.plan, now)
    }

    /// Whether something else is under way than what `static` followed at first.
    pub(super) fn has_left_static(&self, now: &Situation) -> bool {
        let placed = |a: &Assignment| self.planned[a.task.index()] == a.procs.first().copied();
        self.first.as_ref().is_some_and(|first| {
            let mut open = first.assignments.iter().filter(|a| !now.task(a.task).is_done());
            first.transfers != self.plan.transfers || !open.all(placed)
        })
    }

    /// The unfinished part of the first plan of `static`; none where it does not end before `limit`.
    pub(super) fn back_to_static(
        &mut self,
        context: &PlanningContext<'_, '_>,
        limit: f64,
    ) -> Option<Choice> {
        let plan = unfinished(self.first.as_ref()?, context.now);
        let forecast = self.forecaster.follow(&context.future, &plan, limit);
        let leads = forecast.makespan.is_finite();
        leads.then(|| Choice::new(STATIC, plan, forecast))
    }

    fn contended_plans(&mut self, context: &PlanningContext<'_, '_>) -> [Candidate; 2] {
        let names = ["contended", "contended, less"];
        [0, 1].map(|i| (names[i], self.contended(context, OCCUPATIONS[i])))
    }

    /// Unfinished tasks by falling rank, placed with contention in mind.
    pub(super) fn contended(&mut self, context: &PlanningContext<'_, '_>, occupation: f64) -> Plan {
        let weights = Weights { hysteresis: HYSTERESIS, occupation };
        let order = replanning::by_falling_rank(context.now, &self.rank);
        let routes = &mut self.forecaster.links.routes;
        let now = context.now;
        let seats = |task: TaskId| match now.task(task) {
            TaskState::Placed { procs } => Some(Seat { procs, left: None }),
            TaskState::Running { procs, .. } => {
                Some(Seat { procs, left: Some(1.0 - now.progress[task.index()]) })
            }
            TaskState::Waiting | TaskState::Done(_) => None,
        };
        let mut placed = contended::assign(context.problem, routes, &order, weights, &seats);
        // Pools serve in planned order, which is that of dates rather than of ranks.
        if now.pools.bind() {
            placed.sort_by(|(_, a), (_, b)| a.start.total_cmp(&b.start));
        }
        let assign = |(task, placement): (TaskId, Placement)| Assignment {
            task,
            procs: placement.procs().into(),
        };
        let assignments = placed.into_iter().map(assign).collect();
        Plan { assignments, transfers: self.plan.transfers, ..Plan::default() }
    }

    /// A plan for the levels as they are seen: what is best as long as they last.
    pub(super) fn plan_as_seen(
        &mut self,
        seen: &Situation,
        context: &PlanningContext<'_, '_>,
    ) -> Result<Candidate, String> {
        let problem = seen.problem().map_err(|e| e.to_string())?;
        let context = PlanningContext { problem: &problem, now: seen, future: context.future };
        Ok(("contended, now", self.contended(&context, OCCUPATIONS[0])))
    }

    /// Placed with contention in mind; and planned by HEFT where that leaves out what is wider than a host,
    /// or passes over resources that tasks share in addition to processors.
    pub(super) fn candidates(&mut self, context: &PlanningContext<'_, '_>) -> Vec<Candidate> {
        let mut plans: Vec<Candidate> =
            vec![("contended", self.contended(context, OCCUPATIONS[0]))];
        let leaves_out = plans[0].1.assignments.len() < context.now.tasks.open();
        if (leaves_out || context.now.pools.bind())
            && let Some(heft) = registry::find("heft")
            && let Ok(schedule) = heft.plan(context.problem, &Request::default())
        {
            let plan = Plan::of_schedule(context.problem, &schedule, self.plan.transfers);
            plans.push(("heft", plan));
        }
        plans
    }
}

/// Whether so many tasks are ready at once that a planner that evaluates all of them for each that it places would
/// take longer than the plan is worth.
fn is_crowded(now: &Situation) -> bool {
    let squares = Shape::of(&now.workflow).widths.into_iter().map(|width| u64::from(width).pow(2));
    squares.sum::<u64>() > CROWDED
}

fn unfinished(plan: &Plan, now: &Situation) -> Plan {
    let open = |a: &&Assignment| !now.task(a.task).is_done();
    let assignments = plan.assignments.iter().filter(open).cloned().collect();
    Plan { assignments, ..plan.clone() }
}

/// Finished tasks whose results take longer to fetch than to make again somewhere else, by more
/// than `gain`; the greatest gains first.
pub(super) fn worth_redoing(context: &PlanningContext<'_, '_>, gain: f64) -> Vec<TaskId> {
    let PlanningContext { problem, now, .. } = *context;
    let mut found: Vec<(f64, TaskId)> = Vec::new();
    for task in now.workflow.tasks() {
        let TaskState::Done(placement) = now.task(task) else { continue };
        let from = problem.host_of(placement.proc());
        // Bytes that only the host of the task has and that some task still needs.
        let pending = now.workflow.outputs(task).filter(|&file| {
            let alone = now.holders(file).all(|h| h == from);
            let mut readers = now.workflow.consumers(file);
            alone
                && readers
                    .any(|t| matches!(now.task(t), TaskState::Waiting | TaskState::Placed { .. }))
        });
        let bytes = pending.map(|f| now.workflow.file_bytes(f)).fold(0.0, f64::max);
        if bytes <= 0.0 || now.workflow.width(task).0 > 1 {
            continue;
        }
        let saved = |host| {
            let fetch = now.workflow.inputs(task).map(|file| {
                let near = now.holders(file).map(|h| {
                    now.view.network.transfer_time(now.workflow.file_bytes(file), h, host)
                });
                if now.has(file, host) { 0.0 } else { near.fold(f64::INFINITY, f64::min) }
            });
            let first = ProcId(problem.procs_of(host).next()?);
            let again = fetch.fold(0.0, f64::max) + problem.exec_on(task, first);
            Some(now.view.network.transfer_time(bytes, from, host) - again)
        };
        let hosts = problem.platform().host_ids().filter(|&h| h != from && now.is_alive(h));
        let most = hosts.filter_map(saved).fold(f64::NEG_INFINITY, f64::max);
        if most > gain {
            found.push((most, task));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.into_iter().take(REWINDS).map(|(_, task)| task).collect()
}
