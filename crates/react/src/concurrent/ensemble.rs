//! DPDS and WA-DPDS (Malawski, Juve, Deelman, Nabrzyski, 2015; recalled): many workflows under one
//! budget and one deadline, those of higher priority first, on machines that are leased.
//!
//! The number of leased machines is decided by [`Provisioning`]. Machines that are always there take part too; their
//! cost is paid task by task, and a task goes only where it can be paid. An idle processor takes the ready task of the
//! workflow of highest priority, of highest upward rank in it. At the deadline everything stops. WA-DPDS examines a
//! workflow before its first task: it is rejected if its cost on the cheapest machines exceeds the budget left by those
//! admitted before.
//! O(tasks x processors) per call. Ties: the workflow that arrived first, the lower task, the lower processor.

use super::open;
use super::provisioning::{self, Provisioning};
use crate::policy::{Decision, Event, Policy};
use crate::ready_dispatch;
use crate::room::Room;
use crate::situation::Situation;
use slackline_model::schedule::Limits;
use slackline_model::{Problem, ProcId, TaskId, approx};
use slackline_schedule::PlanError;
use slackline_schedule::list::ranks;

/// The policy; see the module's head.
#[derive(Clone, Debug)]
pub struct Ensemble {
    limits: Limits,
    /// Workflows that do not fit into the budget are not begun.
    admits: bool,
    rank: Vec<f64>,
    /// Per workflow: whether it was considered.
    seen: Vec<bool>,
    /// Least cost of the tasks of admitted workflows that have not started.
    promised: f64,
    /// Cost of started tasks that are paid by the second.
    used: f64,
    /// Cost of tasks on machines that are always there.
    spent: f64,
    fleet: Option<Provisioning>,
}

impl Ensemble {
    /// All workflows under common limits; `admits` is WA-DPDS.
    pub fn new(limits: Limits, admits: bool) -> Ensemble {
        Ensemble {
            limits,
            admits,
            rank: Vec::new(),
            seen: Vec::new(),
            promised: 0.0,
            used: 0.0,
            spent: 0.0,
            fleet: None,
        }
    }

    fn budget(&self) -> f64 {
        self.limits.budget.unwrap_or(f64::INFINITY)
    }

    /// Everything stops: what runs is cut off and nothing more is begun.
    fn stop(&self, now: &Situation, decisions: &mut Vec<Decision>) {
        let running = now.workflow.tasks().filter(|&t| now.task(t).procs().is_some());
        decisions.extend(running.filter(|&t| !now.task(t).is_done()).map(Decision::Cancel));
        for part in open_parts(now) {
            let (workflow, why) = (part as u32, "the deadline of all has passed".to_string());
            decisions.push(Decision::Abandon { workflow, why });
        }
    }

    /// Whether a workflow may begin, or has; one that may not is given up.
    fn admitted(
        &mut self,
        problem: &Problem<'_>,
        now: &Situation,
        part: usize,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        if !self.admits || self.seen[part] {
            return true;
        }
        self.seen[part] = true;
        let own = now.workflow.tasks().filter(|t| now.part_of[t.index()] as usize == part);
        let cost: f64 = own.map(|t| least_cost(problem, t)).sum();
        if approx::gt(self.used + self.promised + cost, self.budget()) {
            let left = self.budget() - self.used - self.promised;
            let why = format!("it costs {cost:.4}, the budget of all leaves {left:.4}");
            decisions.push(Decision::Abandon { workflow: part as u32, why });
            return false;
        }
        self.promised += cost;
        true
    }

    fn assign(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.problem().map_err(|e| e.to_string())?;
        if self.rank.len() != now.part_of.len() {
            self.rank = ranks::upward(&problem);
        }
        self.seen.resize(now.arrived.len(), false);
        let owned = |p: ProcId| {
            let platform = problem.platform();
            !platform.class(platform.host(problem.host_of(p)).class).leasable
        };
        let is_there = |p: ProcId| {
            let host = problem.host_of(p);
            let leased = |l: &slackline_model::schedule::Lease| {
                l.host == host && l.is_open() && approx::le(l.from, now.now)
            };
            owned(p) || now.leases.iter().any(leased)
        };
        let mut idle = ready_dispatch::idle_procs(now);
        for (proc, idle) in idle.iter_mut().enumerate().filter(|(_, idle)| **idle) {
            *idle = is_there(ProcId::new(proc));
        }
        let held = self.fleet.as_ref().map_or(0.0, |fleet| fleet.committed(now));
        let mut waits = false;
        let leases = problem.platform().has_leasable();
        let mut parts = open_parts(now);
        let priority = |part: usize| now.arrived[part].terms.priority;
        parts.sort_by(|&a, &b| priority(b).total_cmp(&priority(a)).then(a.cmp(&b)));
        let mut ready: Vec<Vec<TaskId>> = vec![Vec::new(); now.arrived.len()];
        for task in now.workflow.tasks().filter(|&t| now.is_ready(t)) {
            ready[now.part_of[task.index()] as usize].push(task);
        }
        let mut room = Room::of(now);
        for part in parts {
            if !idle.contains(&true) {
                waits |= !ready[part].is_empty();
                continue;
            }
            if !self.admitted(&problem, now, part, decisions) {
                continue;
            }
            let key = |t: &TaskId| approx::sort_key(self.rank[t.index()]);
            ready[part].sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.cmp(b)));
            for &task in &ready[part] {
                let width = f64::from(now.workflow.width(task).0);
                let cost = |p: ProcId| problem.exec_on(task, p) * problem.price(p) * width;
                let least = if self.admits { least_cost(&problem, task) } else { 0.0 };
                // Machines that are leased are paid; of others the rest of the admitted has to be paid too.
                let rest = if leases { 0.0 } else { self.promised - least };
                let payable = |p: ProcId| {
                    let money = held + self.spent + cost(p) + rest;
                    !owned(p) || !approx::gt(money, self.budget())
                };
                let open: Vec<bool> =
                    problem.proc_ids().map(|p| idle[p.index()] && payable(p)).collect();
                let Some((_, procs)) =
                    ready_dispatch::quickest_idle(&problem, now, task, &open, room.as_ref())
                else {
                    waits = true;
                    continue;
                };
                if let Some(room) = &mut room {
                    room.take(now, task, &procs);
                }
                let money = cost(procs[0]);
                self.used += money;
                self.promised -= least;
                if owned(procs[0]) {
                    self.spent += money;
                }
                for proc in &procs {
                    idle[proc.index()] = false;
                }
                decisions.push(Decision::Start { task, procs: procs.into() });
            }
        }
        if let Some(fleet) = &mut self.fleet {
            fleet.scale(&problem, now, (&idle, waits, self.spent), decisions);
        }
        Ok(())
    }
}

/// Cost of a task on the cheapest processor.
fn least_cost(problem: &Problem<'_>, task: TaskId) -> f64 {
    let width = f64::from(problem.workflow().width(task).0);
    let costs = problem.proc_ids().map(|p| problem.exec_on(task, p) * problem.price(p) * width);
    costs.fold(f64::INFINITY, f64::min)
}

/// The workflows of which a task is left to do, in order of arrival.
fn open_parts(now: &Situation) -> Vec<usize> {
    let open = open(now);
    (0..open.len()).filter(|&part| open[part]).collect()
}

impl Policy for Ensemble {
    fn check(&self, problem: &Problem<'_>) -> Result<(), PlanError> {
        provisioning::check(problem)
    }

    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        let ready = |e: &Event| matches!(e, Event::LeaseReady(_) | Event::LeaseEnded(_));
        events.iter().any(|e| ready_dispatch::worth_a_look(e) || ready(e))
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let deadline = self.limits.deadline.unwrap_or(f64::INFINITY);
        if approx::le(deadline, now.now) {
            return self.stop(now, decisions);
        }
        ready_dispatch::when_idle(events, now, decisions, |now, decisions| {
            if events.contains(&Event::Start) {
                let problem = now.problem().map_err(|e| e.to_string())?;
                self.fleet = Provisioning::order(&problem, now, &self.limits, decisions)?;
            }
            self.assign(now, decisions)
        });
        let look = self.fleet.as_ref().map_or(f64::INFINITY, Provisioning::next_look);
        let wakes = [deadline, look].into_iter().filter(|date| date.is_finite());
        decisions.extend(wakes.filter(|&date| date > now.now).map(Decision::WakeAt));
    }
}
