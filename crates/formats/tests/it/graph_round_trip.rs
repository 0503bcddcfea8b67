//! Writing and reading back gives the same workflow, up to the losses each format documents.

#![allow(clippy::unwrap_used)] // helpers of tests

use proptest::prelude::*;
use slackline_formats::{dot, instance, stg, workflow_toml};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::{EdgeId, SpeedUp, Task, TaskId, Workflow, WorkflowBuilder};

/// Work, moldability, memory, kind of one task.
type TaskDraw = (f64, Option<f64>, u32, u32, u8);

fn task_draws(width: u32) -> impl Strategy<Value = Vec<TaskDraw>> {
    let work = prop_oneof![Just(0.0), 1e-200..1e-190f64, 0.0..1e12f64, 1e20..1e29f64];
    let draw = (work, proptest::option::of(0.0..=1.0f64), 1..width, 0..100u32, any::<u8>());
    proptest::collection::vec(draw, 1..30)
}

/// Names that try a format's quoting.
fn name(index: usize, seed: u8) -> String {
    const KEYWORDS: [&str; 6] = ["node", "edge", "strict", "digraph", "graph", "subgraph"];
    match seed % 7 {
        0 => format!("{index}"),
        1 => format!("task {index} \"quoted\""),
        2 => format!("back\\slash{index}\\"),
        3 => format!("línea\n{index}"),
        4 => format!("-{index}.5"),
        5 => KEYWORDS.get(index).map_or(format!("w{index}"), |word| word.to_string()),
        _ => format!("n{index}"),
    }
}

/// A workflow of weighted edges and orderings, in no topological order.
fn workflows() -> impl Strategy<Value = Workflow> {
    workflows_up_to(5)
}

/// Workflows with tasks that can all run on less than `width` processors.
fn workflows_up_to(width: u32) -> impl Strategy<Value = Workflow> {
    let pairs = proptest::collection::vec((any::<u32>(), any::<u32>(), 0..4u8), 0..60);
    (task_draws(width), pairs, any::<bool>())
        .prop_map(|(draws, pairs, flip)| build(draws, pairs, flip))
}

fn build(draws: Vec<TaskDraw>, pairs: Vec<(u32, u32, u8)>, flip: bool) -> Workflow {
    let mut b = WorkflowBuilder::new("w");
    for (i, &(work, alpha, width, memory, seed)) in draws.iter().enumerate() {
        let kind = ["", "a", "b c"][seed as usize % 3];
        let mut task = Task::new(name(i, seed), work).of_kind(kind);
        if let Some(serial) = alpha {
            task.speedup = SpeedUp::Amdahl { serial };
            task.max_width = u32::MAX;
            task.spread = true;
        }
        if width > 2 {
            (task.min_width, task.max_width) = (width - 2, width);
        }
        task.spread ^= seed % 5 == 0;
        task.memory = f64::from(memory) * 1.5;
        b.add_task(task).unwrap();
    }
    let tasks = draws.len() as u32;
    let mut edges: Vec<(u32, u32, u8)> = pairs
        .into_iter()
        .map(|(a, b, bytes)| (a % tasks, b % tasks, bytes))
        .filter(|(a, b, _)| a != b)
        .map(|(a, b, bytes)| if (a < b) != flip { (a, b, bytes) } else { (b, a, bytes) })
        .collect();
    edges.sort_unstable();
    edges.dedup_by_key(|e| (e.0, e.1));
    for (from, to, bytes) in edges {
        let (from, to) = (TaskId(from), TaskId(to));
        match bytes {
            0 => b.add_control(from, to).unwrap(),
            _ => b.add_edge(from, to, f64::from(bytes) * stg::REFERENCE_BANDWIDTH).unwrap(),
        }
    }
    b.build().unwrap()
}

fn edges(w: &Workflow) -> Vec<(u32, u32, f64)> {
    let ends = |e: EdgeId| (w.edge_ends(e).0.0, w.edge_ends(e).1.0, w.edge_bytes(e));
    w.edges().map(ends).collect()
}

proptest! {
    #[test]
    fn dot_keeps_everything_of_such_workflows(workflow in workflows()) {
        let mut out = Vec::new();
        dot::write(&workflow, &mut out).unwrap();
        let back = dot::read(&out[..]).unwrap();
        prop_assert_eq!(back, workflow);
    }

    #[test]
    fn toml_keeps_everything_of_such_workflows(workflow in workflows()) {
        let mut out = Vec::new();
        workflow_toml::write(&workflow, &mut out).unwrap();
        let back = workflow_toml::read(std::str::from_utf8(&out).unwrap()).unwrap().workflow;
        for task in workflow.tasks() {
            let (mut there, here) = (back.task(task), workflow.task(task));
            if here.speedup == SpeedUp::Serial && here.min_width < here.max_width {
                prop_assert_eq!(there.speedup, SpeedUp::Amdahl { serial: 1.0 });
                there.speedup = SpeedUp::Serial;
            }
            prop_assert_eq!(there, here);
        }
        prop_assert_eq!(edges(&back), edges(&workflow));
        prop_assert_eq!(back.file_count(), workflow.file_count());
    }

    #[test]
    fn instances_keep_costs_and_dependencies(workflow in workflows_up_to(3)) {
        let mut platform = PlatformBuilder::new("p");
        let root = platform.root().unwrap();
        for (name, speed) in [("x", 1.5), ("y", 3e9)] {
            platform.add_host(root, HostSpec::new(name, speed)).unwrap();
        }
        platform.set_matrix(Matrix::uniform(Some(1e9), 1e-4));
        let platform = platform.build().unwrap();
        let mut out = Vec::new();
        instance::write(&workflow, &platform, &mut out).unwrap();
        let back = instance::read(std::str::from_utf8(&out).unwrap()).unwrap();
        for task in workflow.tasks() {
            prop_assert_eq!(back.workflow.task_name(task), workflow.task_name(task));
            prop_assert_eq!(back.workflow.work(task), workflow.work(task));
        }
        prop_assert_eq!(edges(&back.workflow), edges(&workflow));
        prop_assert_eq!(back.platform.network(), platform.network());
        prop_assert_eq!(back.platform.hosts()[1].speed, 3e9);
    }

    #[test]
    fn stg_keeps_times_and_dependencies(workflow in workflows()) {
        let mut out = Vec::new();
        stg::write(&workflow, &mut out).unwrap();
        let back = stg::read(&out[..]).unwrap();
        let added = back.len() - workflow.len();
        prop_assert!(added == 0 || added == 2);
        let shift = added as u32 / 2;
        for task in workflow.tasks() {
            let (there, here) = (back.work(TaskId(task.0 + shift)), workflow.work(task));
            // Seconds and flop are a division and a multiplication apart.
            prop_assert!((there - here).abs() <= 1e-15 * here, "{} {}", there, here);
        }
        let last = back.len() as u32 - 1;
        let mut inner = edges(&back);
        inner.retain(|&(from, to, _)| shift == 0 || from != 0 && to != last);
        let expected: Vec<_> =
            edges(&workflow).into_iter().map(|(a, b, c)| (a + shift, b + shift, c)).collect();
        prop_assert_eq!(inner, expected);
        // The second time nothing is added any more.
        let mut again = Vec::new();
        stg::write(&back, &mut again).unwrap();
        prop_assert_eq!(stg::read(&again[..]).unwrap().len(), back.len());
    }
}
