//! Agreement of the state that a walk updates from change to change with a fresh decoding.

use super::walk::Walk;
use crate::bounds::Bounder;
use crate::compact::Compact;
use crate::{Request, registry};
use rand::RngExt;
use slackline_formats::platform_toml;
use slackline_model::rng::stream;
use slackline_model::{Problem, Task, TaskId, WorkflowBuilder};

const GRID: &str = r#"
name = "grid"
[cluster.a]
count = 3
cores = 4
speed = "1f"
bandwidth = "1Bps"
latency = "1ms"
[cluster.b]
count = 2
cores = 2
speed = "2f"
bandwidth = "2Bps"
latency = "1ms"
"#;

#[test]
fn a_walk_stays_on_its_way() {
    let platform = platform_toml::parse(GRID).unwrap();
    for seed in 0..30u64 {
        let mut rng = stream(seed, "walk", 0);
        let count = rng.random_range(2..70u32);
        let mut b = WorkflowBuilder::new("w");
        for t in 0..count {
            let width = if rng.random_range(0..8) == 0 { 2 } else { 1 };
            let work = f64::from(rng.random_range(0..30u32));
            let task = Task::new(format!("t{t}"), work);
            b.add_task(Task { min_width: width, max_width: width, ..task }).unwrap();
        }
        for from in 0..count {
            for to in from + 1..count {
                if rng.random_range(0..10) == 0 {
                    let bytes = f64::from(rng.random_range(0..9u32));
                    b.add_edge(TaskId(from), TaskId(to), bytes).unwrap();
                }
            }
        }
        let workflow = b.build().unwrap();
        let problem = Problem::new(&workflow, &platform).unwrap();
        let compact = Compact::new(&problem).unwrap();
        let tails = Bounder::new(&problem, &compact).levels().tail;
        let heft = registry::find("heft").unwrap().plan(&problem, &Request::default()).unwrap();
        let (order, choice) = compact.read(&heft).unwrap();
        let mut walk = Walk::new(&compact, &tails, super::Draft { order, choice });
        for _ in 0..400 {
            let limit = walk.makespan() * rng.random_range(1.0..1.1);
            walk.step(&mut rng, limit);
            let fresh = Walk::new(&compact, &tails, walk.plan().clone());
            assert_eq!(walk.makespan(), fresh.makespan(), "seed {seed}");
            assert_eq!(walk.decided(), fresh.decided(), "seed {seed}");
        }
    }
}
