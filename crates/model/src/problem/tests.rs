use super::*;
use crate::platform::{
    Billing, ClusterSpec, HostSpec, LinkShape, Matrix, PlatformBuilder, Sharing,
};
use crate::schedule::{
    Lease, Limits, Placement, Schedule, Summary, Violation, cost, leases, validate,
};
use crate::workflow::{CostTable, Task, WorkflowBuilder};
use crate::{FileId, SpeedUp};

/// a -> b (100 bytes), a -> c (50 bytes); works 10, 20, 40 flop.
fn workflow() -> Workflow {
    let mut b = WorkflowBuilder::new("w");
    for (name, work) in [("a", 10.0), ("b", 20.0), ("c", 40.0)] {
        b.add_task(Task::new(name, work)).unwrap();
    }
    b.add_edge(TaskId(0), TaskId(1), 100.0).unwrap();
    b.add_edge(TaskId(0), TaskId(2), 50.0).unwrap();
    b.build().unwrap()
}

/// Two hosts: `slow` with two cores of 1 flop/s, `fast` with one of 2 flop/s; 10 bytes/s, 1 s.
fn platform() -> Platform {
    let mut b = PlatformBuilder::new("p");
    b.set_matrix(Matrix::uniform(Some(10.0), 1.0));
    let root = b.root().unwrap();
    let slow = HostSpec { cores: 2, memory: Some(100.0), price: 1.0, ..HostSpec::new("slow", 1.0) };
    b.add_host(root, slow).unwrap();
    b.add_host(root, HostSpec { price: 3.0, ..HostSpec::new("fast", 2.0) }).unwrap();
    b.build().unwrap()
}

#[test]
fn estimates_by_hand() {
    let (w, p) = (workflow(), platform());
    let problem = Problem::new(&w, &p).unwrap();
    assert_eq!(problem.procs(), 3);
    assert_eq!(problem.proc_name(ProcId(1)), "slow/1");
    assert_eq!(problem.proc_name(ProcId(2)), "fast");
    let a = TaskId(0);
    assert_eq!((problem.exec_on(a, ProcId(0)), problem.exec_on(a, ProcId(2))), (10.0, 5.0));
    // Mean over processors, not over hosts: (10 + 10 + 5) / 3.
    assert_eq!(problem.mean_exec(a), 25.0 / 3.0);
    assert_eq!((problem.best_exec(a), problem.worst_exec(a)), (5.0, 10.0));
    assert_eq!(problem.median_exec(a), 10.0);
    assert_eq!(problem.transfer(100.0, HostId(0), HostId(1)), 11.0);
    assert_eq!(problem.transfer(100.0, HostId(0), HostId(0)), 0.0);
    assert_eq!(problem.mean_transfer(100.0), 11.0);
}

#[test]
fn unrelated_machines_use_the_table() {
    let mut b = WorkflowBuilder::new("w");
    b.add_task(Task::new("a", 1.0)).unwrap();
    b.set_cost_table(CostTable {
        columns: vec!["fast".into(), "slow".into()],
        seconds: vec![7.0, 3.0],
    });
    let (w, p) = (b.build().unwrap(), platform());
    let problem = Problem::new(&w, &p).unwrap();
    assert_eq!(problem.exec_on(TaskId(0), ProcId(0)), 3.0);
    assert_eq!(problem.exec_on(TaskId(0), ProcId(2)), 7.0);

    let mut b = WorkflowBuilder::new("w");
    b.add_task(Task::new("a", 1.0)).unwrap();
    b.set_cost_table(CostTable { columns: vec!["x".into()], seconds: vec![1.0] });
    let w = b.build().unwrap();
    assert!(matches!(Problem::new(&w, &p), Err(ProblemError::ColumnsDiffer { .. })));
}

#[test]
fn tasks_that_fit_nowhere_are_named() {
    let mut b = WorkflowBuilder::new("w");
    b.add_task(Task { min_width: 3, max_width: 3, ..Task::new("wide", 1.0) }).unwrap();
    let (w, p) = (b.build().unwrap(), platform());
    let error = Problem::new(&w, &p).unwrap_err().to_string();
    assert!(error.contains("'wide'") && error.contains("3 cores"), "{error}");
}

#[test]
fn wide_tasks_run_only_where_they_fit() {
    let mut b = WorkflowBuilder::new("w");
    let speedup = SpeedUp::Amdahl { serial: 0.5 };
    b.add_task(Task { min_width: 1, max_width: 2, speedup, ..Task::new("moldable", 8.0) }).unwrap();
    b.add_task(Task { min_width: 2, max_width: 2, ..Task::new("rigid", 8.0) }).unwrap();
    let (w, p) = (b.build().unwrap(), platform());
    let problem = Problem::new(&w, &p).unwrap();
    assert_eq!(problem.exec_wide(TaskId(0), 0, 2), 8.0 * 0.75);
    assert_eq!(problem.exec_on(TaskId(1), ProcId(0)), 8.0);
    assert!(problem.exec_on(TaskId(1), ProcId(2)).is_infinite());
}

/// a on fast [0, 5), b on slow/0 from 5 + 11 = 16 to 36, c on fast [5, 25).
fn right() -> Schedule {
    let mut s = Schedule { placements: vec![None; 3], ..Schedule::default() };
    s.place(TaskId(0), Placement::new(ProcId(2), 0.0, 5.0));
    s.place(TaskId(1), Placement::new(ProcId(0), 16.0, 36.0));
    s.place(TaskId(2), Placement::new(ProcId(2), 5.0, 25.0));
    s
}

/// The only violation of a schedule that was broken by hand.
fn broken(breakage: impl FnOnce(&mut Schedule)) -> Violation {
    let (w, p) = (workflow(), platform());
    let mut schedule = right();
    breakage(&mut schedule);
    let problem = Problem::new(&w, &p).unwrap();
    let mut found = validate(&problem, &schedule, &Limits::default());
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_right_schedule_passes_and_is_summed_up() {
    let (w, p) = (workflow(), platform());
    let problem = Problem::new(&w, &p).unwrap();
    assert_eq!(validate(&problem, &right(), &Limits::default()), []);
    let summary = Summary::of(&problem, &right());
    assert_eq!(summary.makespan, 36.0);
    // Alone on `fast`: 70 flop / 2 = 35 s.
    assert_eq!(summary.speedup, 35.0 / 36.0);
    assert_eq!(summary.used_procs, 2);
    // (20 + 25) busy seconds of 2 x 36.
    assert_eq!(summary.utilisation, 45.0 / 72.0);
    assert_eq!(summary.bytes_moved, 100.0);
    // 20 s of slow at 1, 25 s of fast at 3.
    assert_eq!(summary.cost, 20.0 + 75.0);
}

#[test]
fn every_rule_is_checked() {
    use Violation as V;
    let at = |proc, start, finish| Some(Placement::new(ProcId(proc), start, finish));
    assert!(matches!(broken(|s| s.placements[1] = None), V::Unscheduled { .. }));
    assert!(matches!(broken(|s| s.placements.truncate(2)), V::Size { given: 2, wanted: 3 }));
    assert!(matches!(broken(|s| s.placements[1] = at(0, f64::NAN, 1.0)), V::Date { .. }));
    assert!(matches!(broken(|s| s.placements[0] = at(2, -5.0, 0.0)), V::Date { .. }));
    let unknown = broken(|s| s.placements[1] = at(9, 16.0, 36.0));
    assert!(matches!(unknown, V::UnknownProcessor { proc: 9, procs: 3, .. }));
    let wide = Placement::wide(&[ProcId(0), ProcId(1)], 16.0, 36.0);
    assert!(matches!(broken(|s| s.placements[1] = Some(wide)), V::Width { given: 2, .. }));
    let twice = Placement::wide(&[ProcId(0), ProcId(0)], 16.0, 36.0);
    assert!(matches!(broken(|s| s.placements[1] = Some(twice)), V::RepeatedProcessor { .. }));
    let short = broken(|s| s.placements[1] = at(0, 16.0, 35.0));
    assert!(matches!(short, V::Duration { given: 19.0, needed: 20.0, .. }), "{short}");
    let early = broken(|s| s.placements[1] = at(0, 4.0, 24.0));
    assert!(matches!(early, V::Precedence { start: 4.0, finish: 5.0, .. }), "{early}");
    let no_data = broken(|s| s.placements[1] = at(0, 15.0, 35.0));
    assert!(matches!(no_data, V::DataArrival { start: 15.0, arrival: 16.0, .. }), "{no_data}");
    // b also on fast while c runs there: 20 flop take 10 s.
    let overlap = broken(|s| s.placements[1] = at(2, 20.0, 30.0));
    let V::Overlap { proc, first, second, .. } = &overlap else { panic!("{overlap}") };
    assert_eq!((proc.as_str(), first.as_str(), second.as_str()), ("fast", "c", "b"));
    let transfer = crate::schedule::PlannedTransfer {
        file: FileId(0),
        from: HostId(1),
        to: HostId(0),
        link: None,
        start: 4.0,
        finish: 16.0,
    };
    assert!(matches!(broken(|s| s.transfers.push(transfer)), V::EarlyTransfer { .. }));
}

#[test]
fn limits_are_checked() {
    let (w, p) = (workflow(), platform());
    let problem = Problem::new(&w, &p).unwrap();
    let limits = Limits { budget: Some(94.0), deadline: Some(35.0) };
    let found = validate(&problem, &right(), &limits);
    assert_eq!(
        found,
        [
            Violation::Deadline { makespan: 36.0, deadline: 35.0 },
            Violation::Budget { cost: 95.0, budget: 94.0 }
        ]
    );
    let limits = Limits { budget: Some(95.0), deadline: Some(36.0) };
    assert_eq!(validate(&problem, &right(), &limits), []);
}

#[test]
fn spans_memory_and_leases_are_checked() {
    let mut b = WorkflowBuilder::new("w");
    b.add_task(Task { max_width: 3, spread: true, ..Task::new("wide", 8.0) }).unwrap();
    b.add_task(Task { memory: 200.0, ..Task::new("big", 8.0) }).unwrap();
    let (w, p) = (b.build().unwrap(), platform());
    let problem = Problem::new(&w, &p).unwrap();
    let mut s = Schedule { placements: vec![None; 2], ..Schedule::default() };
    s.place(TaskId(0), Placement::wide(&[ProcId(1), ProcId(2)], 0.0, 8.0));
    s.place(TaskId(1), Placement::new(ProcId(0), 0.0, 8.0));
    let found = validate(&problem, &s, &Limits::default());
    assert!(matches!(found[0], Violation::Span { .. }), "{found:?}");
    assert!(matches!(found[1], Violation::DoesNotFit { .. }), "{found:?}");

    let mut b = PlatformBuilder::new("cloud");
    b.set_matrix(Matrix::uniform(None, 0.0));
    let root = b.root().unwrap();
    let host = b.add_host(root, HostSpec { leasable: true, ..HostSpec::new("vm", 1.0) }).unwrap();
    let cloud = b.build().unwrap();
    let mut b = WorkflowBuilder::new("w");
    b.add_task(Task::new("a", 8.0)).unwrap();
    let w = b.build().unwrap();
    let problem = Problem::new(&w, &cloud).unwrap();
    let mut s = Schedule { placements: vec![None; 1], ..Schedule::default() };
    s.place(TaskId(0), Placement::new(ProcId(0), 0.0, 8.0));
    s.leases.push(Lease { class: cloud.host(host).class, host, from: 0.0, to: 7.0 });
    let found = validate(&problem, &s, &Limits::default());
    assert!(matches!(found[..], [Violation::OutsideLease { .. }]), "{found:?}");
    s.leases[0].to = 8.0;
    assert_eq!(validate(&problem, &s, &Limits::default()), []);
}

#[test]
fn a_half_executed_workflow_keeps_its_past() {
    let (w, p) = (workflow(), platform());
    let done = Placement::new(ProcId(2), 0.0, 6.0); // slower than estimated: that is how it went
    let state = State {
        now: 8.0,
        fixed: vec![Some(done.clone()), None, None],
        available: vec![8.0, f64::INFINITY, 8.0],
        release: vec![],
        copies: vec![DataCopy { file: FileId(0), host: HostId(0), at: 9.0 }],
        inputs_listed: false,
        leases: vec![],
    };
    let problem = Problem::new(&w, &p).unwrap().with_state(state.clone()).unwrap();
    let mut s = Schedule::start(&problem);
    assert_eq!(s.placement(TaskId(0)), Some(&done));
    // The copy on `slow` lets b start there at 9 instead of 6 + 11.
    s.place(TaskId(1), Placement::new(ProcId(0), 9.0, 29.0));
    s.place(TaskId(2), Placement::new(ProcId(2), 8.0, 28.0));
    assert_eq!(validate(&problem, &s, &Limits::default()), []);
    let mut early = s.clone();
    early.place(TaskId(2), Placement::new(ProcId(2), 7.0, 27.0));
    let found = validate(&problem, &early, &Limits::default());
    assert!(matches!(found[..], [Violation::Release { .. }, Violation::Availability { .. }]));
    let mut moved = s.clone();
    moved.place(TaskId(0), Placement::new(ProcId(0), 0.0, 10.0));
    let found = validate(&problem, &moved, &Limits::default());
    assert!(matches!(found[..], [Violation::Moved { .. }]), "{found:?}");

    let far = State { fixed: vec![Some(Placement::new(ProcId(9), 0.0, 1.0)), None, None], ..state };
    let error = Problem::new(&w, &p).unwrap().with_state(far).unwrap_err().to_string();
    assert!(error.contains("'a' is fixed on an unknown processor"), "{error}");
}

/// Four hosts behind links of 100 bytes/s and 1 s, a backbone of 150 bytes/s and 2 s.
fn cluster() -> Platform {
    let mut b = PlatformBuilder::new("cluster");
    let link = LinkShape { bandwidth: 100.0, latency: 1.0 };
    let backbone = LinkShape { bandwidth: 150.0, latency: 2.0 };
    let spec = ClusterSpec::flat("c", 4, 1.0, link);
    b.add_cluster(None, ClusterSpec { backbone: Some((backbone, Sharing::Shared)), ..spec })
        .unwrap();
    b.build().unwrap()
}

#[test]
fn data_of_many_hosts_share_the_backbone() {
    let mut b = WorkflowBuilder::new("w");
    b.add_task(Task { max_width: 4, spread: true, ..Task::new("wide", 8.0) }).unwrap();
    let (w, p) = (b.build().unwrap(), cluster());
    let problem = Problem::new(&w, &p).unwrap();
    let seconds = |from: &[u32], to: &[u32]| {
        let procs = |ids: &[u32]| ids.iter().map(|&p| ProcId(p)).collect::<Vec<_>>();
        problem.transfer_between(1200.0, &procs(from), &procs(to))
    };
    // Three links out, two in, one backbone: max(4, 6, 8), and 4 s of latency.
    assert_eq!(seconds(&[0, 1, 2], &[1, 3]), 12.0);
    assert_eq!(seconds(&[0, 1], &[3]), 16.0);
    assert_eq!(seconds(&[0], &[3]), 16.0);
    assert_eq!((seconds(&[0, 1], &[0, 1]), seconds(&[2], &[2])), (0.0, 0.0));
}

#[test]
fn only_tasks_that_spread_leave_a_host() {
    let task = |spread| Task { min_width: 3, max_width: 3, spread, ..Task::new("wide", 8.0) };
    let workflow = |task| {
        let mut b = WorkflowBuilder::new("w");
        b.add_task(task).unwrap();
        b.build().unwrap()
    };
    let p = cluster();
    let error = Problem::new(&workflow(task(false)), &p).unwrap_err().to_string();
    assert!(error.contains("it needs 3 cores, the largest host has 1"), "{error}");
    let w = workflow(Task { min_width: 5, max_width: 5, ..task(true) });
    let error = Problem::new(&w, &p).unwrap_err().to_string();
    assert!(error.contains("it needs 5 cores, the largest cluster has 4"), "{error}");

    let plan = |w: &Workflow| {
        let problem = Problem::new(w, &p).unwrap();
        let mut s = Schedule::start(&problem);
        s.place(TaskId(0), Placement::wide(&[ProcId(0), ProcId(1), ProcId(3)], 0.0, 8.0));
        validate(&problem, &s, &Limits::default())
    };
    assert_eq!(plan(&workflow(task(true))), []);
    let stays = workflow(Task { min_width: 1, ..task(false) });
    assert!(matches!(plan(&stays)[..], [Violation::LeavesHost { .. }]));
}

/// Machines that exist only while leased are there after their set-up; whoever has them already has them.
#[test]
fn leased_machines_are_ready_after_their_setup() {
    let mut b = PlatformBuilder::new("cloud");
    b.set_matrix(Matrix::Uniform { bandwidth: 1.0, latency: 0.0 });
    let root = b.root().unwrap();
    let billing = Some(Billing { quantum: 60.0, minimum: 0.0, setup: 30.0 });
    for name in ["vm0", "vm1"] {
        let spec = HostSpec { price: 2.0, leasable: true, billing, ..HostSpec::new(name, 1.0) };
        b.add_host(root, HostSpec { class: Some("vm".into()), ..spec }).unwrap();
    }
    let platform = b.build().unwrap();
    let mut b = WorkflowBuilder::new("one");
    b.add_task(Task::new("a", 10.0)).unwrap();
    let workflow = b.build().unwrap();
    let problem = Problem::new(&workflow, &platform).unwrap();
    assert_eq!(problem.available_from(ProcId(1)), 30.0);

    let class = platform.hosts()[0].class;
    let lease = |host, from, to| Lease { class, host: HostId(host), from, to };
    let plan = |start: f64, leases: Vec<Lease>| Schedule {
        placements: vec![Some(Placement::new(ProcId(0), start, start + 10.0))],
        leases,
        ..Schedule::default()
    };
    let check = |plan: &Schedule| validate(&problem, plan, &Limits::default());
    assert_eq!(check(&plan(30.0, vec![lease(0, 30.0, 45.0)])), []);
    let found = check(&plan(30.0, vec![lease(0, 20.0, 45.0)]));
    assert!(matches!(found[..], [Violation::EarlyLease { .. }]), "{found:?}");
    let found = check(&plan(30.0, vec![lease(0, 30.0, 45.0), lease(0, 40.0, 50.0)]));
    assert!(matches!(found[..], [Violation::DoubleLease { .. }]), "{found:?}");
    let found = check(&plan(0.0, vec![]));
    assert!(matches!(found[..], [Violation::Availability { .. }]), "{found:?}");
    // Paid from when the machine is ready, by started minutes; without leases as long as it is used.
    assert_eq!(cost(&problem, &plan(30.0, vec![lease(0, 30.0, 91.0)])), 240.0);
    assert_eq!(cost(&problem, &plan(30.0, vec![])), 120.0);
    assert_eq!(leases(&problem, &plan(30.0, vec![])), [lease(0, 30.0, 40.0)]);

    let open = f64::INFINITY;
    let held = vec![lease(0, 10.0, 20.0), lease(0, 90.0, open), lease(1, 120.0, open)];
    let state = State { now: 100.0, leases: held, ..State::default() };
    let problem = problem.with_state(state).unwrap();
    assert_eq!(problem.available_from(ProcId(0)), 100.0);
    assert_eq!(problem.available_from(ProcId(1)), 120.0);
    // What is over is paid, the running lease from its begin; what is only ordered can be sent back.
    let kept = [lease(0, 10.0, 20.0), lease(0, 90.0, 150.0)];
    assert_eq!(leases(&problem, &plan(140.0, vec![])), kept);
    assert_eq!(cost(&problem, &plan(140.0, vec![])), 240.0);
    let used = |proc: u32| Schedule {
        placements: vec![Some(Placement::new(ProcId(proc), 140.0, 150.0))],
        ..Schedule::default()
    };
    assert_eq!(leases(&problem, &used(1))[2], lease(1, 120.0, 150.0));
}
