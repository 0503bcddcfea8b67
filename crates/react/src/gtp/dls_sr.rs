//! DLS/sr, the competitor of GTP in its thesis: DLS (Sih and Lee 1993) made reactive by selective
//! rescheduling (Zhao and Sakellariou 2004).
//!
//! Whenever a task ends later than planned by more than its spare time (or slack), all
//! unfinished tasks are mapped again by dynamic level, with the costs of GTP: what is left of
//! running work and transfers counts where it is, everything restarts elsewhere, no copies. The static level is the longest
//! path of median times without communication; a processor is free after the task it
//! runs. Ties: lower task; then as in GTP's costing. O(e p + v w) per mapping for graphs of width w.

use super::estimate::{Candidate, Costing, Expected, Pass};
use super::policy::forget_gathered_inputs;
use super::rewind::rewound_tasks;
use crate::policy::{Assignment, Decision, Event, Plan, Policy, Transfers};
use crate::replanning;
use crate::selective::{Spare, Threshold};
use crate::situation::Situation;
use slackline_model::{Placement, Problem, ProcId, Schedule, TaskId, approx};
use slackline_schedule::list::ranks::{self, Weights};

/// DLS with selective rescheduling.
pub struct DlsSr {
    threshold: Threshold,
    transfers: Transfers,
    costing: Costing,
    /// Per task: static level plus median time; its dynamic level is this less its finish.
    level: Vec<f64>,
    /// Last planned processor of each task.
    planned: Vec<Option<ProcId>>,
    /// Per task: the date by which it has to end.
    latest: Vec<f64>,
    /// Some task could run nowhere when it was mapped last.
    stranded: bool,
}

impl DlsSr {
    /// Maps again when a task ends later than the threshold allows.
    pub fn new(threshold: Threshold, transfers: Transfers) -> DlsSr {
        DlsSr {
            threshold,
            transfers,
            costing: Costing { running_blocks: true, ..Costing::default() },
            level: Vec::new(),
            planned: Vec::new(),
            latest: Vec::new(),
            stranded: false,
        }
    }

    fn learn(&mut self, now: &Situation) -> Result<(), String> {
        let problem = now.nominal_problem().map_err(|e| e.to_string())?;
        self.level = levels(&problem);
        self.planned.resize(now.tasks.len(), None);
        self.latest.resize(now.tasks.len(), f64::INFINITY);
        Ok(())
    }

    /// The first mapping, as if the platform were at its peak.
    fn begin(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        self.learn(now)?;
        let problem = now.nominal_problem().map_err(|e| e.to_string())?;
        let (order, result) = map(&problem, now, &self.level, &self.planned, self.costing);
        self.adopt(&problem, &order, result, decisions);
        Ok(())
    }

    fn reschedule(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let lost = rewound_tasks(now, false);
        if lost.is_empty() {
            return self.remap(now, decisions);
        }
        decisions.push(Decision::Rewind(lost.clone()));
        self.remap(&replanning::rewound(now, &lost), decisions)
    }

    fn remap(&mut self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = costs(now)?;
        let (order, result) = map(&problem, now, &self.level, &self.planned, self.costing);
        forget_gathered_inputs(now, &result, &order, decisions);
        self.adopt(&problem, &order, result, decisions);
        Ok(())
    }

    /// Follows a mapping and remembers how late each of its tasks may end.
    fn adopt(
        &mut self,
        problem: &Problem<'_>,
        order: &[TaskId],
        result: Expected,
        decisions: &mut Vec<Decision>,
    ) {
        let mut schedule =
            Schedule { placements: vec![None; problem.tasks()], ..Schedule::default() };
        let mut assignments = Vec::with_capacity(order.len());
        self.stranded = order.iter().any(|t| result.procs[t.index()].is_empty());
        for &task in order {
            let index = task.index();
            let procs = &result.procs[index];
            self.planned[index] = procs.first().copied();
            if !procs.is_empty() {
                let (start, finish) = (result.start[index], result.finish[index]);
                schedule.place(task, Placement::wide(procs, start, finish));
                assignments.push(Assignment { task, procs: procs.clone() });
            }
        }
        let spare = Spare::of(problem, &schedule);
        let allowed = match self.threshold {
            Threshold::Slack => spare.slack,
            Threshold::Spare => spare.min_spare,
            Threshold::Always => vec![f64::NEG_INFINITY; problem.tasks()],
        };
        for &task in order {
            let index = task.index();
            self.latest[index] = result.finish[index] + allowed[index];
        }
        decisions.push(Decision::Adopt(Plan {
            assignments,
            transfers: self.transfers,
            ..Plan::default()
        }));
    }

    /// Whether a task that just ended did so too late.
    fn is_late(&self, event: &Event, now: f64) -> bool {
        matches!(event, Event::TaskFinished(task) if approx::lt(self.latest[task.index()], now))
    }
}

/// Costs as last observed; what is done and where its data is the costing takes from the
/// situation itself.
fn costs(now: &Situation) -> Result<Problem<'_>, String> {
    now.seen_problem().map_err(|e| e.to_string())
}

/// Static level plus median time of every task.
fn levels(problem: &Problem<'_>) -> Vec<f64> {
    let level = ranks::static_level(problem, Weights::MEDIAN);
    problem.workflow().tasks().map(|t| level[t.index()] + problem.median_exec(t)).collect()
}

/// A task whose parents are all mapped, where it could go, and the best of that.
struct Offer {
    task: TaskId,
    candidates: Vec<Candidate>,
    best: Option<Candidate>,
}

impl Offer {
    fn new(pass: &Pass<'_, '_>, task: TaskId) -> Offer {
        let candidates = pass.candidates(task);
        let best = pass.choose(task, &candidates);
        Offer { task, candidates, best }
    }

    /// Processors only become busier in a pass, so the best place stays best until it is taken.
    fn renew(&mut self, pass: &Pass<'_, '_>, taken: &[ProcId], wide: bool) {
        if wide || self.best.as_ref().is_some_and(|b| taken.contains(&b.proc)) {
            pass.push_back(self.task, &mut self.candidates);
            self.best = pass.choose(self.task, &self.candidates);
        }
    }

    /// SL + E* less the finish: the dynamic level, with the finish as it is now.
    fn dynamic_level(&self, level: &[f64]) -> f64 {
        let finish = self.best.as_ref().map_or(f64::INFINITY, |b| b.finish);
        level[self.task.index()] - finish
    }
}

/// Maps all unfinished tasks by dynamic level; gives them in the order they were mapped.
fn map(
    problem: &Problem<'_>,
    now: &Situation,
    level: &[f64],
    planned: &[Option<ProcId>],
    costing: Costing,
) -> (Vec<TaskId>, Expected) {
    let workflow = problem.workflow();
    let open = |t: TaskId| !now.task(t).is_done();
    let mut missing: Vec<usize> = workflow
        .tasks()
        .map(|t| workflow.predecessors(t).filter(|&(parent, _)| open(parent)).count())
        .collect();
    let mut pass = Pass::new(problem, now, planned, costing);
    let mut ready: Vec<Offer> = workflow
        .tasks()
        .filter(|&t| open(t) && missing[t.index()] == 0)
        .map(|t| Offer::new(&pass, t))
        .collect();
    let any_wide = workflow.tasks().any(|t| workflow.width(t).0 > 1);
    let mut order = Vec::new();
    while let Some(next) = highest(&ready, level) {
        let Offer { task, best, .. } = ready.swap_remove(next);
        match &best {
            Some(chosen) => pass.take(task, chosen),
            None => pass.strand(task),
        }
        order.push(task);
        let taken = pass.procs_of(task).to_vec();
        ready.iter_mut().for_each(|offer| offer.renew(&pass, &taken, any_wide));
        for (child, _) in workflow.successors(task).filter(|&(c, _)| open(c)) {
            missing[child.index()] -= 1;
            if missing[child.index()] == 0 {
                ready.push(Offer::new(&pass, child));
            }
        }
    }
    (order, pass.finish())
}

/// The offer of largest dynamic level; of equal ones the lowest task.
fn highest(ready: &[Offer], level: &[f64]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (at, offer) in ready.iter().enumerate() {
        let own = offer.dynamic_level(level);
        let better = best.is_none_or(|(b, highest)| {
            if approx::eq(own, highest) { offer.task < ready[b].task } else { own > highest }
        });
        if better {
            best = Some((at, own));
        }
    }
    best.map(|(at, _)| at)
}

impl Policy for DlsSr {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        events.iter().any(|e| {
            matches!(e, Event::Start | Event::HostBack(_) | Event::TaskRestored(_))
                || replanning::is_loss(e)
                || (self.stranded && replanning::may_help(e))
                || e.is_growth()
                || self.is_late(e, now.now)
        })
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let outcome = if events.contains(&Event::Start) {
            self.begin(now, decisions)
        } else if events.iter().any(Event::is_growth) {
            self.learn(now).and_then(|()| self.reschedule(now, decisions))
        } else if self.wants(events, now) {
            self.reschedule(now, decisions)
        } else {
            Ok(())
        };
        if let Err(why) = outcome {
            decisions.push(Decision::GiveUp(why));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;
    use crate::TaskState;
    use crate::common;
    use std::sync::Arc;

    /// Unrelated machines joined pairwise by links of bandwidth 1.
    fn situation(times: &[&[f64]], edges: &[(u32, u32, f64)]) -> Situation {
        let platform = common::platform(times[0].len(), |_, _| 1.0);
        Situation::new(Arc::new(common::workflow(times, edges)), Arc::new(platform))
    }

    fn mapped(now: &Situation) -> Expected {
        let problem = now.problem().unwrap();
        let level = levels(&now.nominal_problem().unwrap());
        let costing = Costing { running_blocks: true, ..Costing::default() };
        map(&problem, now, &level, &[], costing).1
    }

    /// Processor (from 1), start and finish of a task.
    fn row(e: &Expected, task: usize) -> (u32, f64, f64) {
        (e.procs[task][0].0 + 1, e.start[task], e.finish[task])
    }

    #[test]
    fn test_a_of_the_thesis_ends_at_61() {
        let (workflow, platform) = common::test_a();
        let e = mapped(&Situation::new(Arc::new(workflow), Arc::new(platform)));
        assert_eq!(e.makespan, 61.0);
        assert_eq!(row(&e, 7), (3, 34.0, 46.0));
        assert_eq!(row(&e, 8), (1, 37.0, 49.0));
    }

    #[test]
    fn the_ten_tasks_of_the_heft_paper_end_at_91() {
        let times: [&[f64]; 10] = [
            &[14.0, 16.0, 9.0],
            &[13.0, 19.0, 18.0],
            &[11.0, 13.0, 19.0],
            &[13.0, 8.0, 17.0],
            &[12.0, 13.0, 10.0],
            &[13.0, 16.0, 9.0],
            &[7.0, 15.0, 11.0],
            &[5.0, 11.0, 14.0],
            &[18.0, 12.0, 20.0],
            &[21.0, 7.0, 16.0],
        ];
        let edges = [
            (0, 1, 18.0),
            (0, 2, 12.0),
            (0, 3, 9.0),
            (0, 4, 11.0),
            (0, 5, 14.0),
            (1, 7, 19.0),
            (1, 8, 16.0),
            (2, 6, 23.0),
            (3, 7, 27.0),
            (3, 8, 23.0),
            (4, 8, 13.0),
            (5, 7, 15.0),
            (6, 9, 17.0),
            (7, 9, 11.0),
            (8, 9, 13.0),
        ];
        assert_eq!(mapped(&situation(&times, &edges)).makespan, 91.0);
    }

    /// The diamond of the thesis' chapter 6.
    fn chapter_6() -> Situation {
        let times: [&[f64]; 4] =
            [&[3.0, 2.0, 4.0], &[1.0, 3.0, 3.0], &[1.0, 4.0, 3.0], &[2.0, 4.0, 3.0]];
        situation(&times, &[(0, 1, 4.0), (0, 2, 4.0), (1, 3, 2.0), (2, 3, 1.0)])
    }

    #[test]
    fn chapter_6_starts_as_with_heft() {
        let e = mapped(&chapter_6());
        assert_eq!(row(&e, 0), (2, 0.0, 2.0));
        assert_eq!(row(&e, 1), (2, 2.0, 5.0));
        assert_eq!(row(&e, 2), (1, 6.0, 7.0));
        assert_eq!(row(&e, 3), (1, 7.0, 9.0));
    }

    /// v2 ends at 7 on p1, v3 starts there at 7: no spare. v1 ends at 5 on p2, its 2 units arrive
    /// at 7: none either. v0 ends at 2, v1 starts at 2: none.
    #[test]
    fn a_late_end_maps_the_rest_again() {
        let mut now = chapter_6();
        let mut policy = DlsSr::new(Threshold::Spare, Transfers::Push);
        let mut decisions = Vec::new();
        policy.react(&[Event::Start], &now, &mut decisions);
        assert!(matches!(decisions[..], [Decision::Adopt(_)]));
        assert_eq!(policy.latest, [2.0, 5.0, 7.0, 9.0]);

        // v0 ends on time: nothing to do.
        let end = |now: &mut Situation, at: f64| {
            now.now = at;
            now.set_task(TaskId(0), TaskState::Done(Placement::new(ProcId(1), 0.0, at)));
            let (w, files): (_, Vec<_>) =
                (now.workflow.clone(), now.workflow.outputs(TaskId(0)).collect());
            for file in files {
                assert_eq!(w.producer(file), Some(TaskId(0)));
                now.copies[file.index()] =
                    vec![crate::FileCopy::original(slackline_model::HostId(1))];
            }
        };
        end(&mut now, 2.0);
        decisions.clear();
        policy.react(&[Event::TaskFinished(TaskId(0))], &now, &mut decisions);
        assert_eq!(decisions, []);

        // v0 ends half a second late with p2 at 0.4. From 2.5: v1 on p2 would take 3/0.4 and end
        // at 10, on p1 it starts at 6.5 and ends at 7.5; v2 follows there till 8.5 (on p3: 6.5 to
        // 9.5); v3 on p1 from 8.5 to 10.5.
        end(&mut now, 2.5);
        now.view.availability[1] = 0.4;
        policy.react(&[Event::TaskFinished(TaskId(0))], &now, &mut decisions);
        let [Decision::Adopt(plan)] = &decisions[..] else { panic!("{decisions:?}") };
        let places: Vec<(u32, u32)> =
            plan.assignments.iter().map(|a| (a.task.0, a.procs[0].0)).collect();
        assert_eq!(places, [(1, 0), (2, 0), (3, 0)]);
        assert_eq!(policy.latest[1..], [7.5, 8.5, 10.5]);
    }

    #[test]
    fn slack_allows_more_than_spare() {
        // v0, v1 and v2 on p1: 0-1, 1-2, 2-3. v3 on p2 has its data at 3, runs 3-9, and v4 joins
        // there 9-11. v2's one unit arrives at 4: v2 may be 5 late. v1 has no spare, as v2 follows at once, but
        // v2's slack of 5.
        let times: [&[f64]; 5] =
            [&[1.0, 9.0], &[1.0, 9.0], &[1.0, 9.0], &[20.0, 6.0], &[20.0, 2.0]];
        let edges = [(0, 1, 9.0), (0, 3, 2.0), (1, 2, 9.0), (2, 4, 1.0), (3, 4, 0.0)];
        let now = situation(&times, &edges);
        let latest = |threshold| {
            let mut policy = DlsSr::new(threshold, Transfers::Push);
            policy.react(&[Event::Start], &now, &mut Vec::new());
            policy.latest
        };
        assert_eq!(latest(Threshold::Spare), [1.0, 2.0, 8.0, 9.0, 11.0]);
        assert_eq!(latest(Threshold::Slack), [1.0, 7.0, 8.0, 9.0, 11.0]);
    }
}
