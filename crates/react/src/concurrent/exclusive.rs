//! Exclusive reservation (named by Arabnejad, Barbosa, 2017 as a way to share; recalled): every
//! workflow gets processors of its own and keeps them until its last task ends.
//!
//! First come, first served: the workflow that has waited longest takes the fastest free processors, as many as it is
//! to have (all of them, if there are fewer, and all that are free, if a task of it fits on none of those), or all
//! wait. A planner for one workflow fills them: HEFT, or DBCS where the workflow has a budget and a deadline that it
//! can keep. A workflow that fits nowhere is overtaken and examined again at the next event. After a loss or a failure
//! the unfinished tasks are planned again on the rest of each reservation; hosts that come back complete reservations
//! with too few processors. Ties: the workflow that arrived first, the lower processor. A plan of one workflow and
//! O(tasks known) per arrival.

use super::open;
use crate::policy::{Assignment, Decision, Event, Plan, Policy, Transfers};
use crate::ready_dispatch;
use crate::situation::Situation;
use slackline_model::schedule::Limits;
use slackline_model::{Placement, Problem, ProcId, approx};
use slackline_schedule::Request;
use slackline_schedule::list::heft::HEFT;
use slackline_schedule::qos::dbcs::DBCS;

/// Planner that fills the processors of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// HEFT.
    Heft,
    /// DBCS within the workflow's budget and deadline; HEFT where there are none or no plan keeps them.
    Dbcs,
}

/// The policy; see the module's head.
#[derive(Clone, Debug)]
pub struct Exclusive {
    processors: usize,
    inside: Inside,
    transfers: Transfers,
    /// Per workflow: its processors; none while it waits and when it is over.
    reserved: Vec<Vec<ProcId>>,
    /// Per workflow: its tasks where and in the order in which they were planned.
    planned: Vec<Vec<Assignment>>,
}

impl Exclusive {
    /// Gives every workflow so many processors.
    pub fn new(processors: usize, inside: Inside, transfers: Transfers) -> Exclusive {
        Exclusive { processors, inside, transfers, reserved: Vec::new(), planned: Vec::new() }
    }

    /// Takes back the processors of workflows that are over, and those that are gone.
    fn take_back(&mut self, now: &Situation, open: &[bool]) {
        for (part, procs) in self.reserved.iter_mut().enumerate() {
            procs.retain(|p| open[part] && now.is_alive(now.host_of[p.index()]));
        }
    }

    fn free(&self, now: &Situation) -> Vec<ProcId> {
        let mut free: Vec<bool> = now.host_of.iter().map(|&h| now.computes(h)).collect();
        for proc in self.reserved.iter().flatten() {
            free[proc.index()] = false;
        }
        (0..free.len()).filter(|&p| free[p]).map(ProcId::new).collect()
    }

    /// Serves waiting workflows first come, first served; true if any got processors.
    fn admit(&mut self, now: &Situation, open: &[bool]) -> Result<bool, String> {
        let there = now.host_of.iter().filter(|&&h| now.computes(h)).count();
        let wanted = self.processors.min(there);
        let mut any = false;
        for part in (0..open.len()).filter(|&p| open[p]) {
            if !self.reserved[part].is_empty() {
                continue;
            }
            let free = self.free(now);
            if wanted == 0 || free.len() < wanted {
                break;
            }
            let problem = now.problem().map_err(|e| e.to_string())?;
            for count in [wanted, free.len()] {
                self.reserved[part] = fastest(&problem, now, part, free.clone(), count);
                if self.fill(&problem, now, part)? {
                    any = true;
                    break;
                }
            }
        }
        Ok(any)
    }

    /// Gives processors that have come to workflows that have fewer than they are to have. Whether any
    /// could use them.
    fn complete(&mut self, now: &Situation, open: &[bool]) -> Result<bool, String> {
        let problem = now.problem().map_err(|e| e.to_string())?;
        let mut any = false;
        for part in (0..open.len()).filter(|&p| open[p]) {
            let before = self.reserved[part].clone();
            let missing = self.processors.saturating_sub(before.len());
            let more = fastest(&problem, now, part, self.free(now), missing);
            if before.is_empty() || more.is_empty() {
                continue;
            }
            self.reserved[part].extend(more);
            self.reserved[part].sort_unstable();
            if !self.fill(&problem, now, part)? {
                self.reserved[part] = before;
                self.fill(&problem, now, part)?;
            }
            any = true;
        }
        Ok(any)
    }

    /// Plans what is left of a workflow on its processors; where that cannot be done, it gives them
    /// back. Whether it could.
    fn fill(
        &mut self,
        problem: &Problem<'_>,
        now: &Situation,
        part: usize,
    ) -> Result<bool, String> {
        let own = alone(problem, now, part, &self.reserved[part])?;
        let limits = limits(now, part);
        let request = Request { limits, ..Request::default() };
        let limited = limits.budget.is_some() && limits.deadline.is_some();
        let within = (self.inside == Inside::Dbcs && limited).then(|| DBCS.plan(&own, &request));
        let planned = within.and_then(Result::ok).or_else(|| HEFT.plan(&own, &request).ok());
        self.planned[part].clear();
        let Some(schedule) = planned else {
            self.reserved[part].clear();
            return Ok(false);
        };
        let mut plan = Plan::of_schedule(&own, &schedule, self.transfers);
        plan.assignments.retain(|a| now.part_of[a.task.index()] as usize == part);
        self.planned[part] = plan.assignments;
        Ok(true)
    }

    /// Plan of all workflows on their processors.
    fn plan(&self, now: &Situation) -> Plan {
        let all = self.planned.iter().flatten().filter(|a| !now.task(a.task).is_done());
        Plan { assignments: all.cloned().collect(), transfers: self.transfers, ..Plan::default() }
    }
}

/// The limits of a workflow, the deadline as a date.
fn limits(now: &Situation, part: usize) -> Limits {
    let arrived = &now.arrived[part];
    let Limits { budget, deadline } = arrived.terms.limits;
    Limits { budget, deadline: deadline.map(|seconds| arrived.at + seconds) }
}

/// Of some processors those on which the tasks of a workflow take least, in ascending order.
fn fastest(
    problem: &Problem<'_>,
    now: &Situation,
    part: usize,
    mut procs: Vec<ProcId>,
    count: usize,
) -> Vec<ProcId> {
    let seconds = |proc: ProcId| -> f64 {
        let own = now.workflow.tasks().filter(|t| now.part_of[t.index()] as usize == part);
        own.map(|t| problem.exec_on(t, proc)).sum()
    };
    let mut of_class: Vec<Option<f64>> = vec![None; problem.classes()];
    let mut key = |p: ProcId| {
        let known = &mut of_class[problem.class_of(p)];
        approx::sort_key(*known.get_or_insert_with(|| seconds(p)))
    };
    let mut keyed: Vec<(f64, ProcId)> = procs.drain(..).map(|p| (key(p), p)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    keyed.truncate(count);
    let mut chosen: Vec<ProcId> = keyed.into_iter().map(|(_, p)| p).collect();
    chosen.sort_unstable();
    chosen
}

/// The problem of one workflow on some processors: the tasks of others count as done long ago.
fn alone<'p>(
    problem: &Problem<'p>,
    now: &Situation,
    part: usize,
    procs: &[ProcId],
) -> Result<Problem<'p>, String> {
    let mut state = problem.state().clone();
    for (fixed, &of) in state.fixed.iter_mut().zip(&now.part_of) {
        if of as usize != part {
            *fixed = Some(Placement::new(ProcId(0), 0.0, 0.0));
        }
    }
    for (proc, from) in state.available.iter_mut().enumerate() {
        if !procs.contains(&ProcId::new(proc)) {
            *from = f64::INFINITY;
        }
    }
    problem.clone().with_state(state).map_err(|e| e.to_string())
}

/// Whether plans may not hold any more.
fn is_upset(event: &Event) -> bool {
    matches!(
        event,
        Event::TasksAdded { .. }
            | Event::TaskFailed(_)
            | Event::TaskRestored(_)
            | Event::CopyLost { .. }
            | Event::HostLost(_)
            | Event::Rejected { .. }
    )
}

impl Policy for Exclusive {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(|e| ready_dispatch::worth_a_look(e) || is_upset(e))
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        ready_dispatch::when_idle(events, now, decisions, |now, decisions| {
            self.reserved.resize(now.arrived.len(), Vec::new());
            self.planned.resize(now.arrived.len(), Vec::new());
            let open = open(now);
            self.take_back(now, &open);
            let mut changed = false;
            if events.iter().any(is_upset) {
                let problem = now.problem().map_err(|e| e.to_string())?;
                for part in 0..open.len() {
                    if !self.reserved[part].is_empty() {
                        self.fill(&problem, now, part)?;
                        changed = true;
                    }
                }
            }
            if events.iter().any(|e| matches!(e, Event::HostBack(_))) {
                changed |= self.complete(now, &open)?;
            }
            changed |= self.admit(now, &open)?;
            if changed {
                decisions.push(Decision::Adopt(self.plan(now)));
            }
            Ok(())
        });
    }
}
