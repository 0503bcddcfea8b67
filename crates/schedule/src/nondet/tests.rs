#![allow(clippy::unwrap_used)]

use super::*;
use slackline_model::control::{Chances, ControlBuilder, Iterations, LoopSpec};
use slackline_model::platform::{Billing, HostSpec, Matrix, PlatformBuilder};
use slackline_model::{Platform, SpeedUp, Task, Workflow, WorkflowBuilder};
use std::sync::Arc;

/// Four machines that cost 0.05 a minute, paid by the hour; "seconds" are minutes here.
fn machines() -> Platform {
    let mut b = PlatformBuilder::new("p");
    b.set_matrix(Matrix::uniform(None, 0.0));
    let root = b.root().unwrap();
    for n in 0..4 {
        let billing = Some(Billing { quantum: 60.0, ..Billing::EXACT });
        let spec = HostSpec {
            price: 0.05,
            leasable: true,
            billing,
            class: Some("x".into()),
            ..HostSpec::new(format!("x{n}"), 1.0)
        };
        b.add_host(root, spec).unwrap();
    }
    b.build().unwrap()
}

fn tasks(list: &[(&str, f64)]) -> Workflow {
    let mut b = WorkflowBuilder::new("w");
    for (name, work) in list {
        let speedup = SpeedUp::Amdahl { serial: 0.0 };
        let task = Task { speedup, max_width: u32::MAX, spread: true, ..Task::new(*name, *work) };
        b.add_task(task).unwrap();
    }
    b.build().unwrap()
}

/// v1, a loop of v3 with v5 between passes, v6.
fn cycle() -> (Arc<slackline_model::control::Control>, Workflow) {
    let mut b = ControlBuilder::default();
    for (name, region) in
        [("v1", None), ("v3", Some("cycle")), ("v5", Some("cycle.again")), ("v6", None)]
    {
        b.task(name, region);
    }
    b.edge("v1", "cycle", None);
    b.edge("cycle", "v6", None);
    b.repeat(LoopSpec {
        name: "cycle".into(),
        iterations: Some(Iterations::Again { again: 0.5, max: None }),
        ..LoopSpec::default()
    });
    let tasks = tasks(&[("v1", 30.0), ("v3", 40.0), ("v5", 10.0), ("v6", 25.0)]);
    (Arc::new(b.build().unwrap()), tasks)
}

fn near(a: &[f64], b: &[f64]) {
    assert!(
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4),
        "{a:?} {b:?}"
    );
}

#[test]
fn the_budget_is_shared_by_work_and_executions() {
    let (control, tasks) = cycle();
    let platform = machines();
    let problem = task_times(&tasks, &platform).unwrap();
    let kinds = Kinds::new(&problem);
    let with = |confidence, share| {
        let options = Options { confidence, share, ..Options::new(Method::Deferred, 29.0) };
        plan(&control, &kinds, &options).unwrap()
    };
    let half = with(0.5, Share::Work);
    near(&half.shared.money, &[14.0, 10.0, 5.0]);
    near(&with(0.9, Share::Work).shared.money, &[8.61559, 6.15399, 3.07700]);
    near(&with(0.5, Share::Floor).shared.money, &[14.2069, 8.8621, 5.9310]);
    // What is planned for all executions is the budget.
    for plan in [&half, &with(0.9, Share::Floor)] {
        let all: f64 = plan.shared.planned.iter().zip(&plan.shared.money).map(|(n, m)| n * m).sum();
        near(&[all], &[29.0]);
    }
    let found: Vec<(Vec<u32>, f64, f64)> = (half.plans.iter().flat_map(|p| &p.candidate))
        .map(|c| (c.widths.clone(), c.makespan, c.cost))
        .collect();
    assert_eq!(found, [(vec![2, 2], 35.0, 6.0), (vec![2, 1], 30.0, 6.0), (vec![1], 25.0, 3.0)]);
}

#[test]
fn leases_go_on_while_they_are_paid_and_adaptive_runs_use_them() {
    let (control, tasks) = cycle();
    let platform = machines();
    let problem = task_times(&tasks, &platform).unwrap();
    let kinds = Kinds::new(&problem);
    let mut options =
        Options { confidence: 0.5, share: Share::Work, ..Options::new(Method::Deferred, 29.0) };
    let plan = plan(&control, &kinds, &options).unwrap();
    let given = [("cycle#1", "again"), ("cycle#2", "exit")];
    let given = given.map(|(d, o)| (d.to_string(), o.to_string())).into();
    let mut chances = Chances { given, ..Chances::default() };
    let fixed = run(&control, &kinds, &plan, &options, &mut chances).unwrap();
    assert_eq!((fixed.makespan, fixed.cost), (90.0, 12.0));
    options.adaptive = true;
    let adaptive = run(&control, &kinds, &plan, &options, &mut chances).unwrap();
    assert_eq!((adaptive.makespan, adaptive.cost), (77.5, 12.0));
    let money: Vec<f64> = adaptive.released.iter().flat_map(|r| r.money).collect();
    near(&money, &[14.0, 9.2, 17.0]);
}

#[test]
fn a_bill_of_eager_stays_within_its_bound() {
    let (control, tasks) = cycle();
    let platform = machines();
    let problem = task_times(&tasks, &platform).unwrap();
    let kinds = Kinds::new(&problem);
    for budget in [10.0, 14.5, 29.0, 60.0, 200.0] {
        for given in ["start", "current"] {
            let set = vec![("rate".to_string(), given.to_string())];
            let options = Options::new(Method::Eager, budget).with(&set).unwrap();
            let plan = plan(&control, &kinds, &options).unwrap();
            for (part, chosen) in plan.parts.iter().zip(&plan.plans) {
                let Some(candidate) = &chosen.candidate else { continue };
                let bound: f64 = (part.tasks.iter().zip(&candidate.widths))
                    .map(|(&task, &width)| {
                        let seconds = kinds.seconds(candidate.kind, task, width);
                        let kind = &kinds.all()[candidate.kind];
                        f64::from(width) * kind.price * kind.billing.billed_seconds(seconds)
                    })
                    .sum();
                assert!(candidate.cost <= bound + 1e-9, "{} > {bound}", candidate.cost);
            }
        }
    }
}

#[test]
fn confidence_one_needs_a_limit() {
    let (control, tasks) = cycle();
    let platform = machines();
    let problem = task_times(&tasks, &platform).unwrap();
    let kinds = Kinds::new(&problem);
    let options = Options { confidence: 1.0, ..Options::new(Method::Eager, 29.0) };
    let error = plan(&control, &kinds, &options).unwrap_err().to_string();
    assert!(error.contains("'cycle' has no limit"), "{error}");
}
