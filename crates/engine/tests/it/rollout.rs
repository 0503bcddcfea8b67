//! Roll-outs end as runs do: from the start, from the middle, and through changes that are known.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::{Change, grid, simulate, workflow};
use slackline_engine::{Rollout, Settings};
use slackline_model::platform::{Billing, Charges, HostSpec, Matrix, PlatformBuilder};
use slackline_model::{Platform, ProcId, Procs, TaskId, Workflow};
use slackline_react::{
    Assignment, Decision, Event, LevelForecast, Plan, PlanSimulator, Policy, Situation, StaticPlan,
    TaskState, Transfers,
};
use slackline_schedule::registry::find;
use std::sync::Arc;

/// Six tasks in each of four layers, each of which reads results of three of the layer before. No two end
/// at once: whose results leave first then is open.
fn layers() -> Workflow {
    let time = |task: u32, proc: u32| {
        f64::from(2 + (task * 7 + proc * 5) % 9) + 0.013 * f64::from(task) + 0.007 * f64::from(proc)
    };
    let times: Vec<Vec<f64>> = (0..24).map(|t| (0..4).map(|p| time(t, p)).collect()).collect();
    let from = |task: u32| (0..3).map(move |k| (task / 6 - 1) * 6 + (task + 2 * k) % 6);
    let edges: Vec<(u32, u32, f64)> =
        (6..24).flat_map(|t| from(t).map(move |p| (p, t, f64::from(1 + (p + t) % 4)))).collect();
    workflow(&times, &edges)
}

/// Plans the rest again with HEFT when a host changes.
struct Replans;

impl Policy for Replans {
    fn wants(&mut self, events: &[Event], _: &Situation) -> bool {
        events.iter().any(|e| matches!(e, Event::HostChanged(_)))
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        if self.wants(events, now) {
            let problem = now.problem().unwrap();
            let rest = find("heft").unwrap().plan(&problem, &Default::default()).unwrap();
            decisions.push(Decision::Adopt(Plan::of_schedule(&problem, &rest, Transfers::Push)));
        }
    }
}

/// Follows HEFT's plan, and then perhaps others, and asks at each look where that leads, when hosts change as
/// it is told.
struct Asks {
    follow: StaticPlan,
    replans: bool,
    known: Vec<Change>,
    plan: Plan,
    foresight: Option<Box<dyn PlanSimulator>>,
    answers: Vec<(f64, f64)>,
}

impl Asks {
    fn new(transfers: Transfers, known: &[Change]) -> Asks {
        Asks {
            follow: StaticPlan::new(find("heft").unwrap(), transfers),
            replans: false,
            known: known.to_vec(),
            plan: Plan::default(),
            foresight: None,
            answers: Vec::new(),
        }
    }

    fn course(&self, now: &Situation) -> LevelForecast {
        let mut course = LevelForecast::lasting(now);
        for change in &self.known {
            if let Change::Host(host, date, level) = *change
                && date > now.now
            {
                course.hosts[host].push((date, level));
            }
        }
        course
    }
}

impl Policy for Asks {
    fn equip(&mut self, foresight: Box<dyn PlanSimulator>) {
        self.foresight = Some(foresight);
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        self.follow.react(events, now, decisions);
        if self.replans {
            Replans.react(events, now, decisions);
        }
        if let Some(Decision::Adopt(plan)) = decisions.last() {
            self.plan = plan.clone();
        }
        self.plan.assignments.retain(|a| !now.task(a.task).is_done());
        let course = self.course(now);
        let mut replans = Replans;
        let then: Option<&mut dyn Policy> = if self.replans { Some(&mut replans) } else { None };
        let foresight = self.foresight.as_mut().unwrap();
        let end = foresight.follow(now, &self.plan, then, &course, f64::INFINITY);
        self.answers.push((now.now, end.unwrap()));
    }
}

/// Under some rules of the network.
fn come_true(platform: &Platform, rules: &str, mut asks: Asks) {
    let outcome = simulate(&layers(), platform, &mut asks, rules, Settings::default());
    assert!(asks.answers.len() > 24);
    for (at, end) in asks.answers {
        let (gap, how) = ((end - outcome.makespan).abs(), asks.plan.transfers);
        assert!(gap < 1e-6, "{rules}, {how:?} at {at}: {end}, not {}", outcome.makespan);
    }
}

/// Whether transfers that meet share a link, wait for each other or do not mind.
#[test]
fn in_a_still_world_every_roll_out_comes_true() {
    for rules in ["CM02", "fifo", "matrix"] {
        for transfers in [Transfers::Push, Transfers::Pull { window: 2 }] {
            come_true(&grid(4, &[]), rules, Asks::new(transfers, &[]));
        }
    }
}

/// The first task wrote for two others on a machine that is gone. What one of them read is with it on another
/// machine, where it is half done; the other needs its input made again.
#[test]
fn what_runs_goes_on_though_its_parent_is_made_again() {
    let fork = workflow(&[vec![3.0; 2], vec![4.0; 2], vec![5.0; 2]], &[(0, 1, 1.0), (0, 2, 1.0)]);
    let mut now = Situation::new(Arc::new(fork), Arc::new(grid(2, &[])));
    let here: Procs = [ProcId(1)].into();
    now.now = 7.0;
    now.lost[0] = true;
    now.set_task(TaskId(1), TaskState::Running { procs: here.clone(), since: 5.0 });
    now.progress[1] = 0.5;
    let queued = |task| Assignment { task: TaskId(task), procs: here.clone() };
    let plan = Plan { assignments: [1, 0, 2].map(queued).into(), ..Plan::default() };
    let course = LevelForecast::lasting(&now);
    let end = Rollout::new(Charges::default()).follow(&now, &plan, None, &course, 100.0);
    assert_eq!(end, Some(7.0 + 2.0 + 3.0 + 5.0));
}

/// A head of 50 s and two tails of 40 and 30 s on machines that are ready 20 s after they are ordered:
/// whether one is there, ordered or planned for later when the roll-out begins, it ends with the run.
#[test]
fn machines_that_are_leased_come_in_time() {
    let mut b = PlatformBuilder::new("cloud");
    b.set_matrix(Matrix::Uniform { bandwidth: 1.0, latency: 0.0 });
    let root = b.root().unwrap();
    let billing = Some(Billing { quantum: 60.0, minimum: 0.0, setup: 20.0 });
    for name in ["p1", "p2"] {
        let spec = HostSpec { leasable: true, billing, ..HostSpec::new(name, 1.0) };
        b.add_host(root, HostSpec { class: Some("vm".into()), ..spec }).unwrap();
    }
    let times: Vec<Vec<f64>> = [50.0, 40.0, 30.0].iter().map(|&t| vec![t; 2]).collect();
    let fork = workflow(&times, &[(0, 1, 0.0), (0, 2, 0.0)]);
    let mut asks = Asks::new(Transfers::Push, &[]);
    let outcome = simulate(&fork, &b.build().unwrap(), &mut asks, "matrix", Settings::default());
    assert_eq!(outcome.makespan, 110.0);
    assert!(asks.answers.iter().any(|(at, _)| *at == 70.0), "{:?}", asks.answers);
    for (at, end) in asks.answers.into_iter().filter(|(at, _)| *at < 110.0) {
        assert!((end - 110.0).abs() < 1e-6, "at {at}: {end}");
    }
}

#[test]
fn changes_that_are_known_are_met() {
    let changes =
        [Change::Host(0, 7.5, 0.4), Change::Host(2, 12.0, 0.2), Change::Host(2, 21.0, 0.9)];
    come_true(&grid(4, &changes), "CM02", Asks::new(Transfers::Push, &changes));
}

/// Later plans depend on the progress of tasks: a copy knows the progress at the time of its making.
#[test]
fn a_change_of_mind_to_come_is_met() {
    let changes =
        [Change::Host(0, 7.5, 0.4), Change::Host(2, 12.0, 0.2), Change::Host(2, 21.0, 0.9)];
    let asks = Asks { replans: true, ..Asks::new(Transfers::Push, &changes) };
    come_true(&grid(4, &changes), "CM02", asks);
    let end = |mut policy: Asks| {
        simulate(&layers(), &grid(4, &changes), &mut policy, "CM02", Settings::default()).makespan
    };
    let stays = end(Asks::new(Transfers::Push, &changes));
    let replans = end(Asks { replans: true, ..Asks::new(Transfers::Push, &changes) });
    assert!(replans < 0.95 * stays, "{replans} and {stays}");
}

#[test]
fn what_is_not_known_is_not_used() {
    // The platform will lose most of its speed; a roll-out does not see that coming.
    let changes = [Change::Host(0, 7.5, 0.1), Change::Host(1, 8.0, 0.1), Change::Host(2, 9.0, 0.1)];
    let mut asks = Asks::new(Transfers::Push, &[]);
    let outcome = simulate(&layers(), &grid(4, &changes), &mut asks, "CM02", Settings::default());
    let mut still = Asks::new(Transfers::Push, &[]);
    let as_planned = simulate(&layers(), &grid(4, &[]), &mut still, "CM02", Settings::default());
    assert!((asks.answers[0].1 - as_planned.makespan).abs() < 1e-6);
    assert!(outcome.makespan > 1.5 * as_planned.makespan);
}

#[test]
fn a_limit_cuts_a_roll_out_short_and_a_store_cannot_be_copied() {
    let platform = Arc::new(grid(4, &[]));
    let mut now = Situation::new(Arc::new(layers()), platform);
    let problem = now.problem().unwrap();
    let schedule = find("heft").unwrap().plan(&problem, &Default::default()).unwrap();
    let plan = Plan::of_schedule(&problem, &schedule, Transfers::Push);
    let mut rollout = Rollout::new(Charges::default());
    let course = LevelForecast::lasting(&now);
    assert_eq!(rollout.follow(&now, &plan, None, &course, 3.0), Some(f64::INFINITY));
    now.central = true;
    assert_eq!(rollout.follow(&now, &plan, None, &course, f64::INFINITY), None);
}
