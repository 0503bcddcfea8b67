//! Small runs whose dates can be computed by hand.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::{Change, grid, simulate, workflow};
use slackline_engine::{Ending, Recording, Settings, Simulated, Stage, Usage, run};
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, Member, PlatformBuilder, Profile, ProfileEvent, RoutingKind,
};
use slackline_model::scenario::{
    ActualSize, HostStory, HostWorld, LinkWorld, Moment, Outage, Scenario, World,
};
use slackline_model::trace::{Happening, Record};
use slackline_model::{
    ClassId, FileId, HostId, Placement, Problem, ProcId, Schedule, Task, TaskId, WorkflowBuilder,
};
use slackline_react::gtp::{Gtp, Period, Variant};
use slackline_react::{
    Aheft, Assignment, Decision, Event, Plan, Policy, Situation, StaticPlan, Transfers,
};
use slackline_schedule::registry::find;
use slackline_simulate::Models;
use std::sync::Arc;

fn heft() -> &'static slackline_schedule::Algorithm {
    find("heft").unwrap()
}

fn times(rows: &[&[f64]]) -> Vec<Vec<f64>> {
    rows.iter().map(|r| r.to_vec()).collect()
}

/// Four tasks on two processors: HEFT promises 10.
fn contended() -> slackline_model::Workflow {
    let rows = times(&[&[1.0, 2.0], &[2.0, 4.0], &[6.0, 2.0], &[3.0, 3.0]]);
    workflow(&rows, &[(0, 1, 2.0), (0, 2, 4.0), (1, 3, 4.0), (2, 3, 2.0)])
}

#[test]
fn one_transfer_at_a_time_makes_ten_twelve() {
    let (w, p) = (contended(), grid(2, &[]));
    let mut policy = StaticPlan::new(heft(), Transfers::Push);
    let outcome = simulate(&w, &p, &mut policy, "fifo", Settings::default());
    assert_eq!(outcome.ending, Ending::Finished);
    // v0->v2 holds the link 1-5, v1->v3 waits for it and holds it 5-9, v3 runs 9-12.
    assert!((outcome.makespan - 12.0).abs() < 1e-9, "{}", outcome.makespan);
    // Without contention the plan comes true.
    let mut policy = StaticPlan::new(heft(), Transfers::Push);
    let outcome = simulate(&w, &p, &mut policy, "matrix", Settings::default());
    assert!((outcome.makespan - 10.0).abs() < 1e-9, "{}", outcome.makespan);
}

/// Four tasks pinned by a plan: t0 (5 s) and t1 (8 s) on p1 and p3 feed t2, t4, t6 on p2.
#[test]
fn pushes_of_one_task_share_a_link_in_sequence() {
    // t0 -> t2: 3, t0 -> t4: 4, t0 -> t6: 2, t1 -> t4: 3; consumers take next to no time.
    let never = 1e6;
    let rows = times(&[
        &[5.0, never, never],
        &[never, never, 8.0],
        &[never, 1e-6, never],
        &[never, 1e-6, never],
        &[never, 1e-6, never],
    ]);
    let w = workflow(&rows, &[(0, 2, 3.0), (0, 3, 4.0), (0, 4, 2.0), (1, 3, 3.0)]);
    let p = grid(3, &[]);
    // t4 (task 3) is to run first, but PUSH sends in the order of the queue: t2, t6, t4.
    let plan = |order: [u32; 3]| {
        let mut s = Schedule { placements: vec![None; 5], ..Schedule::default() };
        s.place(TaskId(0), Placement::new(ProcId(0), 0.0, 5.0));
        s.place(TaskId(1), Placement::new(ProcId(2), 0.0, 8.0));
        for (k, task) in order.into_iter().enumerate() {
            let start = 20.0 + k as f64;
            s.place(TaskId(task), Placement::new(ProcId(1), start, start + 1e-6));
        }
        s
    };
    let start_of_t4 = |transfers, order| {
        let mut policy = StaticPlan::of_schedule(plan(order), heft(), transfers);
        let outcome = simulate(&w, &p, &mut policy, "fifo", Settings::default());
        outcome.schedule.placement(TaskId(3)).unwrap().start
    };
    // PULL with a window of one: t4 is first and asks for t0's data at 5 (till 9) and t1's at 8.
    let pulled = start_of_t4(Transfers::Pull { window: 1 }, [3, 2, 4]);
    assert!((pulled - 11.0).abs() < 1e-5, "{pulled}");
    // PUSH behind the others: 5 + 3 + 2 + 4.
    let pushed = start_of_t4(Transfers::Push, [2, 4, 3]);
    assert!((pushed - 14.0).abs() < 1e-5, "{pushed}");
}

#[test]
fn work_slows_down_at_once_and_is_seen_later() {
    // p3: 1 -> 0.7 at 10, -> 0.9 at 30; a task of 30 s ends at 10 + 14/0.7 + 6/0.9.
    let world = [Change::Host(2, 10.0, 0.7), Change::Host(2, 30.0, 0.9)];
    let w = workflow(&times(&[&[90.0, 90.0, 30.0]]), &[]);
    let mut policy = StaticPlan::new(heft(), Transfers::default());
    let outcome = simulate(&w, &grid(3, &world), &mut policy, "fifo", Settings::default());
    assert!((outcome.makespan - (10.0 + 20.0 + 6.0 / 0.9)).abs() < 1e-9, "{}", outcome.makespan);
}

#[test]
fn a_lost_host_is_survived_by_rewinding() {
    // v0 runs on p2 (2 s), its data for v1 has to be pulled to p1; p2 dies at 3.
    let rows = times(&[&[3.0, 2.0], &[4.0, 40.0], &[4.0, 40.0]]);
    let w = workflow(&rows, &[(0, 1, 4.0), (0, 2, 4.0), (1, 2, 1.0)]);
    let world = grid(2, &[Change::Host(1, 3.0, 0.0)]);
    let settings = Settings::default();
    let variant = |rewind| Variant { rewind, period: Period::Seconds(5.0), ..Variant::default() };
    let mut plain = Gtp::new(variant(false), heft());
    let outcome = simulate(&w, &world, &mut plain, "fifo", settings);
    let Ending::CannotFinish(why) = &outcome.ending else { panic!("finished without data") };
    assert!(why.contains("no copy is left") || why.contains("no processor"), "{why}");
    let mut rewinding = Gtp::new(variant(true), heft());
    let outcome = simulate(&w, &world, &mut rewinding, "fifo", settings);
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.counters.rewound, 1);
    // Noticed at 5: v0 again on p1 till 8, v1 till 12, v2 till 16.
    assert!((outcome.makespan - 16.0).abs() < 1e-9, "{}", outcome.makespan);
}

#[test]
fn when_every_host_is_gone_the_run_says_so() {
    let w = workflow(&times(&[&[9.0, 9.0]]), &[]);
    let world = grid(2, &[Change::Host(0, 3.0, 0.0), Change::Host(1, 3.0, 0.0)]);
    let mut policy = StaticPlan::new(heft(), Transfers::default());
    let outcome = simulate(&w, &world, &mut policy, "fifo", Settings::default());
    assert!(matches!(outcome.ending, Ending::CannotFinish(_)), "{:?}", outcome.ending);
    let settings = Settings::default();
    let variant = Variant { rewind: true, period: Period::Seconds(1.0), ..Variant::default() };
    let outcome = simulate(&w, &world, &mut Gtp::new(variant, heft()), "fifo", settings);
    assert!(matches!(outcome.ending, Ending::CannotFinish(_)), "{:?}", outcome.ending);
}

#[test]
fn what_is_seen_late_is_acted_on_late_and_thinking_takes_time() {
    let rows = times(&[&[4.0, 9.0], &[4.0, 5.0], &[4.0, 5.0]]);
    let w = workflow(&rows, &[]);
    // p1 halves its speed at 2.
    let p = grid(2, &[Change::Host(0, 2.0, 0.5)]);
    let replanned = |settings: Settings| {
        let mut policy = Aheft::new(heft(), Transfers::default());
        let outcome = simulate(&w, &p, &mut policy, "matrix", settings);
        let start = outcome.schedule.placement(TaskId(0)).unwrap().start;
        let is = |r: &&Record| matches!(r.what, Happening::Replanned { .. });
        (start, outcome.trace.records().iter().find(is).map(|r| r.at))
    };
    assert_eq!(replanned(Settings::default()), (0.0, Some(2.0)));
    let late = Settings { monitoring_delay: 1.5, ..Settings::default() };
    assert_eq!(replanned(late), (0.0, Some(3.5)));
    // The first plan is there at 0.25; the change is seen at 2 and acted on at 2.25.
    let slow = Settings { decision_seconds: 0.25, ..Settings::default() };
    assert_eq!(replanned(slow), (0.25, Some(2.25)));
}

#[test]
fn a_host_that_is_back_may_have_kept_its_data() {
    let w = workflow(&times(&[&[2.0, 9.0], &[9.0, 3.0]]), &[(0, 1, 4.0)]);
    let nominal = grid(2, &[]);
    let run_with = |keeps_data: bool| {
        let outage = Outage { from: Moment::Seconds(3.0), lasts: Some(5.0), keeps_data };
        let story = HostStory { host: "p1".into(), outages: vec![outage], ..HostStory::default() };
        let scenario = Scenario { hosts: vec![story], ..Scenario::default() };
        let world = scenario.on(&nominal).unwrap();
        let platform = nominal.in_world(&world);
        let truth = |task: TaskId, procs: &[ProcId]| {
            if task.0 == procs[0].0 { [2.0, 3.0][task.index()] } else { 9.0 }
        };
        let models = Models::preset("fifo").unwrap();
        let backend = Simulated::new(platform.clone(), models, Box::new(truth)).unwrap();
        let mut policy = StaticPlan::new(heft(), Transfers::Push).without_restart();
        let (wf, pf) = (Arc::new(w.clone()), Arc::new(nominal.clone()));
        run(wf, pf, &mut policy, &mut backend.in_world(&world), Settings::default()).unwrap()
    };
    // v0 0-2; its data leaves at 2, breaks off at 3, leaves again at 8; v1 12-15.
    let kept = run_with(true);
    assert_eq!((kept.ending, kept.makespan), (Ending::Finished, 15.0));
    let gone = run_with(false);
    let Ending::CannotFinish(why) = gone.ending else { panic!("it cannot finish") };
    assert!(why.contains("no copy is left"), "{why}");
}

#[test]
fn a_platform_that_changes_for_ever_does_not_keep_a_stuck_run_alive() {
    // The only copy of what v1 needs dies with p1, while p2 goes up and down without end.
    let w = workflow(&times(&[&[2.0, 9.0], &[9.0, 3.0]]), &[(0, 1, 4.0)]);
    let nominal = grid(2, &[]);
    let event = |date, value| ProfileEvent { date, value };
    let rocking = Profile::periodic(vec![event(0.0, 1.0), event(1.0, 0.5)], 2.0).unwrap();
    let world = World {
        hosts: vec![
            HostWorld {
                state: Some(Arc::new(Profile::once(vec![event(3.0, 0.0)]).unwrap())),
                ..HostWorld::default()
            },
            HostWorld { availability: Some(Arc::new(rocking)), ..HostWorld::default() },
        ],
        links: vec![LinkWorld::default()],
        ..World::default()
    };
    let platform = nominal.in_world(&world);
    for (looks, copies) in [(true, false), (true, true), (false, false)] {
        let variant = Variant { copies, period: Period::Seconds(1.0), ..Variant::default() };
        let (gtp, settings) = (Gtp::new(variant, heft()), Settings::default());
        let mut policy: Box<dyn Policy> =
            if looks { Box::new(gtp) } else { Box::new(ToldOfAll(gtp)) };
        let outcome = simulate(&w, &platform, policy.as_mut(), "fifo", settings);
        let Ending::CannotFinish(why) = outcome.ending else { panic!("it cannot finish") };
        assert!(why.contains("no copy is left"), "{why}");
    }
}

/// GTP that is told of every change although it did not ask.
struct ToldOfAll(Gtp);

impl Policy for ToldOfAll {
    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        self.0.react(events, now, decisions);
    }
}

/// Returns the same at every call, and remembers why that was refused.
struct Stubborn {
    says: Decision,
    told: Vec<String>,
}

impl Policy for Stubborn {
    fn react(&mut self, events: &[Event], _: &Situation, decisions: &mut Vec<Decision>) {
        for event in events {
            if let Event::Rejected { why, .. } = event {
                self.told.push(why.clone());
            }
        }
        decisions.push(self.says.clone());
    }
}

#[test]
fn a_decision_that_breaks_a_rule_is_refused_with_the_rule() {
    let (w, p) = (contended(), grid(2, &[]));
    let on = |task, procs: &[u32]| Assignment {
        task: TaskId(task),
        procs: procs.iter().copied().map(ProcId).collect(),
    };
    let adopt =
        |assignments: Vec<Assignment>| Decision::Adopt(Plan { assignments, ..Plan::default() });
    let start = |task, procs: &[u32]| {
        let Assignment { task, procs } = on(task, procs);
        Decision::Start { task, procs }
    };
    let (file, host) = (FileId(0), HostId(1));
    let cases = [
        (adopt(vec![on(0, &[0]), on(0, &[1])]), "'v0' is assigned twice"),
        (adopt(vec![on(0, &[9])]), "'v0' is put on processor 9, which does not exist"),
        (adopt(vec![on(7, &[0])]), "there is no task 7"),
        (start(1, &[0, 1]), "'v1' is given 2 processors, it takes 1 to 1"),
        (start(1, &[]), "'v1' is given 0 processors"),
        (Decision::Cancel(TaskId(2)), "'v2' has not begun"),
        (Decision::Rewind(vec![TaskId(0)]), "only tasks that are done can be rewound"),
        (Decision::Copy { file, from: None, to: host }, "no host has the file"),
        (Decision::Drop { file, host }, "there is no complete copy to drop"),
        (Decision::WakeAt(0.0), "cannot wake at 0: it is 0 already"),
        (Decision::WakeAt(f64::NAN), "cannot wake at NaN"),
        (Decision::Lease(ClassId(0)), "is not for lease"),
    ];
    for (says, rule) in cases {
        let mut policy = Stubborn { says, told: Vec::new() };
        let outcome = simulate(&w, &p, &mut policy, "fifo", Settings::default());
        let Ending::CannotFinish(why) = &outcome.ending else { panic!("{rule}: finished") };
        assert!(why.contains("repeats a decision that is refused") && why.contains(rule), "{why}");
        assert!(policy.told.iter().all(|w| w.contains(rule)), "{rule}: {:?}", policy.told);
        assert!(!policy.told.is_empty() && outcome.counters.rejected > 0, "{rule}");
    }
    // Nothing forbids to do nothing: the run just says who waits.
    let mut policy = Stubborn { says: adopt(Vec::new()), told: Vec::new() };
    let outcome = simulate(&w, &p, &mut policy, "fifo", Settings::default());
    let Ending::CannotFinish(why) = outcome.ending else { panic!("finished") };
    assert!(why.contains("'v0' has no processor"), "{why}");
}

/// A listener gets every record, whichever of them are kept.
#[test]
fn a_trace_can_be_told_and_kept_without_levels() {
    let stage = || {
        let mut stage = Stage::new(Arc::new(contended()), Arc::new(grid(2, &[])));
        let dates = [(1.0, 0.5), (2.0, 1.0)];
        let events = dates.map(|(date, value)| ProfileEvent { date, value }).to_vec();
        let availability = Some(Profile::once(events).unwrap());
        let host = stage.platform.hosts()[0].name.to_string();
        stage.scenario.hosts = vec![HostStory { host, availability, outages: Vec::new() }];
        stage
    };
    let run = |recording: Recording<'_>| {
        let mut policy = StaticPlan::new(heft(), Transfers::Push);
        stage().run_as(&mut policy, recording, None).unwrap().trace
    };
    let all = run(Recording::Keep);
    assert!(all.records().iter().any(|r| r.what.is_level()));
    let work: Vec<&Record> = all.records().iter().filter(|r| !r.what.is_level()).collect();
    let mut told = Vec::new();
    let kept = run(Recording::KeepWorkAndStream(&mut |record| told.push(record.clone())));
    assert_eq!((told.as_slice(), kept.records().iter().collect()), (all.records(), work));
    told.clear();
    let kept = run(Recording::Stream(&mut |record| told.push(record.clone())));
    assert_eq!((told.as_slice(), kept.records().len()), (all.records(), 0));
}

/// A file that weighs a tenth of what is stated: what was moved is what it weighs, and no link carries
/// more than it can.
#[test]
fn what_was_moved_is_what_it_weighs() {
    let mut b = PlatformBuilder::new("two");
    let root = b.add_zone(None, "root", RoutingKind::Full).unwrap();
    let [one, two] = ["one", "two"].map(|n| b.add_host(root, HostSpec::new(n, 1.0)).unwrap());
    let link = b.add_link(LinkSpec::new("link", 10.0, 0.0)).unwrap();
    let (src, dst) = (Member::Host(one), Member::Host(two));
    let links = [link][..].into();
    let symmetrical = true;
    let route = DeclaredRoute { src, dst, gw_src: None, gw_dst: None, links, symmetrical };
    b.add_route(root, route).unwrap();
    let platform = b.build().unwrap();
    let mut b = WorkflowBuilder::new("pair");
    let ends = ["a", "b"].map(|name| b.add_task(Task::new(name, 1.0)).unwrap());
    let file = b.add_file("f", 100.0).unwrap();
    b.writes(ends[0], file).unwrap();
    b.reads(ends[1], file);
    let workflow = b.build().unwrap();
    for (real, seconds) in [(10.0, 1.0), (100.0, 10.0), (300.0, 30.0)] {
        let mut stage = Stage::new(Arc::new(workflow.clone()), Arc::new(platform.clone()));
        stage.models = Models::preset("fifo").unwrap();
        stage.scenario.sizes = vec![ActualSize { file: "f".to_string(), bytes: real }];
        let problem = Problem::new(&workflow, &platform).unwrap();
        let mut plan = Schedule::start(&problem);
        plan.place(ends[0], Placement::new(ProcId(0), 0.0, 1.0));
        plan.place(ends[1], Placement::new(ProcId(1), 11.0, 12.0));
        let mut policy = StaticPlan::of_schedule(plan, heft(), Transfers::Push);
        let outcome = stage.run(&mut policy).unwrap();
        assert!((outcome.makespan - (2.0 + seconds)).abs() < 1e-9, "{}", outcome.makespan);
        assert_eq!(outcome.counters.bytes_moved, real);
        let weighed = outcome.trace.records().iter().find_map(|r| r.what.weighed());
        assert_eq!(weighed, (real != 100.0).then_some(real));
        let usage = Usage::of(&platform, &outcome.trace, 100);
        let carried: f64 = usage.links[0].iter().map(|share| share * usage.step * 10.0).sum();
        assert!((carried - real).abs() < 1e-6 * real, "{carried}");
        assert!(usage.links[0].iter().all(|share| *share < 1.0 + 1e-9), "{:?}", usage.links[0]);
    }
}
