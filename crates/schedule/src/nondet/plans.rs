//! Plans of all sub-workflows before a run: shares of the budget, and an allocation for each.

use super::allocate::{Part, candidates, choose};
use super::fleet::{Fleet, Kinds};
use super::{Candidate, NondetError, Options, Share};
use slackline_model::control::{Control, Count, SubWorkflow};

/// The money of every sub-workflow, and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// Executions to pay for, per sub-workflow.
    pub planned: Vec<f64>,
    /// Money for one execution.
    pub money: Vec<f64>,
}

/// The plan of one sub-workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct PartPlan {
    /// The allocation; none of a sub-workflow without tasks.
    pub candidate: Option<Candidate>,
    /// Whether its cost keeps to its money.
    pub feasible: bool,
}

/// Allocations and shares made before a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The sub-workflows.
    pub parts: Vec<SubWorkflow>,
    /// Number of executions of each.
    pub executions: Vec<Count>,
    /// Time of all its tasks on one machine, mean over the kinds.
    pub work: Vec<f64>,
    /// Least cost of each.
    pub floor: Vec<f64>,
    /// Shares of the budget.
    pub shared: Shared,
    /// The allocations.
    pub plans: Vec<PartPlan>,
}

impl Plan {
    /// Whether every part keeps to its money.
    pub fn is_feasible(&self) -> bool {
        self.plans.iter().all(|plan| plan.feasible)
    }

    /// Sum of the costs of all planned executions.
    pub fn planned_cost(&self) -> f64 {
        self.sum(&self.shared.planned)
    }

    /// Sum of the costs of all expected executions: a bound on the mean cost of runs.
    pub fn expected_cost(&self) -> f64 {
        let means: Vec<f64> = self.executions.iter().map(|count| count.mean).collect();
        self.sum(&means)
    }

    fn sum(&self, times: &[f64]) -> f64 {
        let cost = |plan: &PartPlan| plan.candidate.as_ref().map_or(0.0, |c| c.cost);
        self.plans.iter().zip(times).map(|(plan, times)| cost(plan) * times).sum()
    }
}

/// Facts about the sub-workflows that plans and runs need.
pub(super) struct Parts {
    pub(super) parts: Vec<SubWorkflow>,
    pub(super) work: Vec<f64>,
    pub(super) floor: Vec<f64>,
    pub(super) able: Vec<Vec<usize>>,
}

impl Parts {
    pub(super) fn of(control: &Control, kinds: &Kinds<'_>) -> Result<Parts, NondetError> {
        let parts = control.split();
        let mut able = Vec::new();
        for part in &parts {
            able.push(kinds.able(&part.tasks, &part.name)?);
        }
        let work = parts.iter().map(|p| p.tasks.iter().map(|&t| kinds.work(t)).sum()).collect();
        let floor = parts.iter().zip(&able).map(|(p, able)| kinds.floor(&p.tasks, able)).collect();
        Ok(Parts { parts, work, floor, able })
    }
}

/// Money for one execution of each part, given how many of each are to be paid for.
pub fn shares(planned: &[f64], work: &[f64], floor: &[f64], budget: f64, share: Share) -> Vec<f64> {
    let sum = |of: &[f64]| {
        planned.iter().zip(of).map(|(n, w)| if *w > 0.0 { n * w } else { 0.0 }).sum::<f64>()
    };
    let (all_work, all_floors) = (sum(work), sum(floor));
    let by_work = |money: f64, work: f64| match all_work > 0.0 && work > 0.0 {
        true => money * work / all_work,
        false => 0.0,
    };
    let money = |work: &f64, floor: &f64| match share {
        Share::Work => by_work(budget, *work),
        Share::Floor if budget >= all_floors => floor + by_work(budget - all_floors, *work),
        Share::Floor => budget * floor / all_floors,
    };
    work.iter().zip(floor).map(|(work, floor)| money(work, floor)).collect()
}

/// Fails where a confidence of 1 would have to pay for any number of passes.
pub(super) fn check_confidence(control: &Control, options: &Options) -> Result<(), NondetError> {
    match control.endless_loop() {
        Some(endless) if options.confidence >= 1.0 => {
            Err(NondetError::Endless(endless.name.clone()))
        }
        _ => Ok(()),
    }
}

/// Plans every sub-workflow on newly leased machines.
pub fn plan(control: &Control, kinds: &Kinds<'_>, options: &Options) -> Result<Plan, NondetError> {
    check_confidence(control, options)?;
    let Parts { parts, work, floor, able } = Parts::of(control, kinds)?;
    let executions = control.executions(&parts);
    let planned: Vec<f64> = executions.iter().map(|c| c.planned(options.confidence)).collect();
    let money = shares(&planned, &work, &floor, options.budget, options.share);
    let fresh = Fleet::fresh(kinds);
    let mut plans = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if part.tasks.is_empty() {
            plans.push(PartPlan { candidate: None, feasible: true });
            continue;
        }
        let mut waits = vec![Vec::new(); part.tasks.len()];
        part.edges.iter().for_each(|&(from, to)| waits[to as usize].push(from as usize));
        let ready = vec![0.0; part.tasks.len()];
        let part = Part {
            tasks: &part.tasks,
            waits: &waits,
            ready: &ready,
            now: 0.0,
            fleet: &fresh,
            spent: 0.0,
        };
        let found = candidates(&part, kinds, &able[at], money[at], options);
        let chosen = choose(found, money[at]);
        plans.push(match chosen {
            Some((candidate, feasible)) => PartPlan { candidate: Some(candidate), feasible },
            None => PartPlan { candidate: None, feasible: false },
        });
    }
    Ok(Plan { parts, executions, work, floor, shared: Shared { planned, money }, plans })
}
