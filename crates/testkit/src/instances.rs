//! Small instances of the papers: unrelated machines, one bandwidth per pair.

use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::workflow::CostTable;
use slackline_model::{Platform, Task, TaskId, Workflow, WorkflowBuilder};

/// A workflow from rows of execution times (a row per task, seconds per machine) and edges `(from, to, bytes)`.
pub fn workflow<Row: AsRef<[f64]>>(times: &[Row], edges: &[(u32, u32, f64)]) -> Workflow {
    let mut b = WorkflowBuilder::new("example");
    for i in 0..times.len() {
        b.add_task(Task::new(format!("v{i}"), 1.0)).unwrap();
    }
    for &(from, to, data) in edges {
        b.add_edge(TaskId(from), TaskId(to), data).unwrap();
    }
    b.set_cost_table(CostTable {
        columns: (1..=times[0].as_ref().len()).map(|p| format!("p{p}")).collect(),
        seconds: times.iter().flat_map(|row| row.as_ref().iter().copied()).collect(),
    });
    b.build().unwrap()
}

/// Machines `p1`, `p2`, … with bandwidths per pair, in bytes per second.
pub fn platform(hosts: usize, bandwidth: impl Fn(usize, usize) -> f64) -> Platform {
    let mut b = PlatformBuilder::new("example");
    let table: Vec<f64> =
        (0..hosts * hosts)
            .map(|k| {
                if k / hosts == k % hosts { f64::INFINITY } else { bandwidth(k / hosts, k % hosts) }
            })
            .collect();
    let latency = vec![0.0; hosts * hosts].into();
    b.set_matrix(Matrix::Dense { hosts, bandwidth: table.into(), latency });
    let root = b.root().unwrap();
    for p in 1..=hosts {
        b.add_host(root, HostSpec::new(format!("p{p}"), 1.0)).unwrap();
    }
    b.build().unwrap()
}

/// Tasks by falling rank. Ties: lower task.
pub fn by_rank(ranks: &[f64]) -> Vec<TaskId> {
    let mut order: Vec<TaskId> = (0..ranks.len()).map(TaskId::new).collect();
    order.sort_by(|a, b| ranks[b.index()].total_cmp(&ranks[a.index()]).then(a.cmp(b)));
    order
}

/// A ten-task instance that satisfies every statement of the GTP thesis about its main example, whose figures are not
/// printed there.
pub fn test_a() -> (Workflow, Platform) {
    let times: [&[f64]; 10] = [
        &[11.0, 12.0, 10.0],
        &[4.0, 22.0, 19.0],
        &[13.0, 10.0, 8.0],
        &[11.0, 18.0, 5.0],
        &[15.0, 15.0, 11.0],
        &[12.0, 10.0, 23.0],
        &[19.0, 7.0, 17.0],
        &[10.0, 4.0, 12.0],
        &[12.0, 7.0, 4.0],
        &[8.0, 14.0, 19.0],
    ];
    let edges = [
        (0, 1, 4.0),
        (0, 2, 4.0),
        (0, 3, 19.0),
        (0, 4, 19.0),
        (0, 5, 4.0),
        (1, 7, 14.0),
        (1, 8, 16.0),
        (2, 6, 7.0),
        (2, 7, 11.0),
        (3, 7, 4.0),
        (3, 8, 3.0),
        (4, 6, 15.0),
        (4, 8, 3.0),
        (5, 6, 19.0),
        (5, 8, 12.0),
        (6, 9, 10.0),
        (7, 9, 6.0),
        (8, 9, 10.0),
    ];
    (workflow(&times, &edges), platform(3, |_, _| 1.0))
}
