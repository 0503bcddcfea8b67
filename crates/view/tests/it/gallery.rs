//! Draws worlds of 10 to 10,000 tasks and checks what can be checked without eyes. With
//! `SLACKLINE_GALLERY=folder` the pictures are also written there, for the eyes.

#![allow(clippy::unwrap_used)]

use slackline_model::platform::{HostSpec, Matrix, Platform, PlatformBuilder, RoutingKind};
use slackline_model::problem::Problem;
use slackline_model::schedule::{Placement, Schedule};
use slackline_model::trace::{Happening, Trace};
use slackline_model::{ProcId, Task, TaskId, Workflow, WorkflowBuilder};
use slackline_view::gantt::{SvgOptions, TerminalOptions, svg, terminal};
use slackline_view::{Chart, graph};

/// A small reproducible source of variety.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
}

/// Levels of `width` tasks, each with a few parents on the level before.
fn layered(tasks: usize, width: usize, kinds: usize) -> Workflow {
    let mut draw = Draw(tasks as u64 + 7);
    let mut b = WorkflowBuilder::new(format!("layered {tasks}"));
    let names = [
        "project",
        "difference",
        "fit",
        "model",
        "background",
        "table",
        "add",
        "shrink",
        "jpeg",
        "split",
        "filter",
        "map",
        "merge",
    ];
    for i in 0..tasks {
        let level = i / width;
        let kind = if kinds == 0 { "" } else { names[level % kinds.min(names.len())] };
        let name = if kinds == 0 { format!("T{}", i + 1) } else { format!("{kind}_{i:05}") };
        let work = 1e9 * (5.0 + 60.0 * draw.next() * draw.next());
        b.add_task(Task::new(name, work).of_kind(kind)).unwrap();
    }
    for i in width..tasks {
        let before = (i / width - 1) * width;
        for _ in 0..1 + draw.below(3) {
            let parent = before + draw.below(width);
            let _ =
                b.add_edge(TaskId::new(parent), TaskId::new(i), 1e6 * (1.0 + 50.0 * draw.next()));
        }
    }
    b.build().unwrap()
}

/// Clusters of multi-core hosts of different speeds.
fn grid(clusters: usize, hosts: usize, cores: u32) -> Platform {
    let mut b = PlatformBuilder::new("grid");
    let root = b.root().unwrap();
    for c in 0..clusters {
        let zone = b.add_zone(Some(root), format!("site-{c}"), RoutingKind::Full).unwrap();
        for h in 0..hosts {
            let mut host = HostSpec::new(format!("node-{c}-{h}"), 1e9 * (1.0 + c as f64));
            host.cores = cores;
            b.add_host(zone, host).unwrap();
        }
    }
    b.set_matrix(Matrix::Uniform { bandwidth: 1e8, latency: 1e-3 });
    b.build().unwrap()
}

/// Tasks in topological order, each where it ends first.
fn greedy(problem: &Problem<'_>) -> Schedule {
    let workflow = problem.workflow();
    let mut schedule = Schedule::start(problem);
    let mut free = vec![0.0f64; problem.procs()];
    for &task in workflow.topological_order() {
        let ready = |proc: ProcId| {
            workflow.predecessors(task).fold(free[proc.index()], |latest, (parent, edge)| {
                let source = schedule.placement(parent).unwrap();
                let seconds =
                    problem.transfer_between(workflow.edge_bytes(edge), source.procs(), &[proc]);
                latest.max(source.finish + seconds)
            })
        };
        let (finish, proc, start) = problem
            .proc_ids()
            .map(|proc| {
                let start = ready(proc);
                (start + problem.exec_on(task, proc), proc, start)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap();
        free[proc.index()] = finish;
        schedule.place(task, Placement::new(proc, start, finish));
    }
    schedule
}

fn keep(name: &str, text: &str) {
    if let Ok(folder) = std::env::var("SLACKLINE_GALLERY") {
        std::fs::write(std::path::Path::new(&folder).join(name), text).unwrap();
    }
}

/// Draws everything; gives the sizes of the Gantt chart and the graph in bytes.
fn draw(name: &str, workflow: &Workflow, platform: &Platform) -> (usize, usize) {
    let problem = Problem::new(workflow, platform).unwrap();
    let schedule = greedy(&problem);
    let mut chart = Chart::of_schedule(&problem, &schedule)
        .with_bound(schedule.makespan() * 0.83)
        .with_transfers(&problem, &schedule);
    chart.title = format!("{} on {}", workflow.name(), platform.name());
    chart.facts = vec!["greedy".into(), format!("{} tasks", workflow.len())];
    let picture = svg(&chart, &SvgOptions::default());
    keep(&format!("{name}.svg"), &picture);
    assert!(picture.ends_with("</svg>\n") && !picture.contains("NaN"));
    assert!(!picture.contains("inf\""), "infinite coordinate");
    let graph = graph::svg(workflow, &graph::GraphOptions::default());
    keep(&format!("{name}-graph.svg"), &graph);
    for (suffix, width, colour) in [("", 80, false), ("-wide", 120, true)] {
        let text = terminal(&chart, &TerminalOptions { width, colour, ..Default::default() });
        keep(&format!("{name}{suffix}.txt"), &text);
        if !colour {
            let longest = text.lines().map(|l| l.chars().count()).max().unwrap();
            assert!(longest <= width, "{name}: {longest} columns\n{text}");
        }
        assert!(text.lines().count() < 50, "{text}");
    }
    (picture.len(), graph.len())
}

#[test]
fn ten_tasks_on_three_processors() {
    draw("10", &layered(10, 3, 0), &grid(3, 1, 1));
}

#[test]
fn a_hundred_tasks_on_two_sites() {
    draw("100", &layered(100, 12, 8), &grid(2, 3, 2));
}

#[test]
fn a_thousand_tasks_on_sixty_four_processors() {
    let (gantt, _) = draw("1000", &layered(1000, 100, 13), &grid(4, 4, 4));
    assert!(gantt < 400_000, "{gantt} bytes");
}

#[test]
fn ten_thousand_tasks_stay_below_two_megabytes() {
    let (gantt, graph) = draw("10000", &layered(10_000, 500, 13), &grid(4, 8, 2));
    assert!(gantt < 2_000_000, "{gantt} bytes");
    assert!(graph < 200_000, "{graph} bytes");
    let (gantt, _) = draw("10000-deep", &layered(10_000, 20, 0), &grid(2, 4, 2));
    assert!(gantt < 2_000_000, "{gantt} bytes");
}

#[test]
fn a_thousand_processors_become_one_area_per_host() {
    let (gantt, _) = draw("1000-procs", &layered(4000, 1000, 5), &grid(4, 16, 16));
    assert!(gantt < 1_000_000, "{gantt} bytes");
}

/// The greedy schedule as a run: every seventh task is first stopped half-way, every eleventh
/// done twice, every host goes down once for a while after the end of all work on it.
fn troubled(problem: &Problem<'_>) -> Trace {
    let schedule = greedy(problem);
    let mut events: Vec<(f64, Happening)> = Vec::new();
    for task in problem.workflow().tasks() {
        let placement = schedule.placement(task).unwrap();
        let (start, finish) = (placement.start, placement.finish);
        let half = (start + finish) / 2.0;
        let begin = Happening::TaskStarted { task, procs: placement.procs().to_vec() };
        events.push((start, begin.clone()));
        match task.0 {
            t if t % 7 == 3 => events.push((half, Happening::TaskCancelled { task })),
            t if t % 11 == 5 => {
                events.push((half, Happening::TaskFinished { task }));
                events.push((half, Happening::TaskRewound { task }));
            }
            _ => {
                events.push((finish, Happening::TaskFinished { task }));
                continue;
            }
        }
        events.push((half, Happening::Replanned { moved: 1 }));
        events.push((half, begin));
        events.push((finish, Happening::TaskFinished { task }));
    }
    let end = schedule.makespan();
    for host in problem.platform().host_ids() {
        events.push((end, Happening::HostLost { host }));
        events.push((end * 1.1, Happening::HostBack { host }));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut trace = Trace::default();
    for (at, what) in events {
        trace.push(at, what);
    }
    trace
}

#[test]
fn runs_show_what_was_in_vain_at_every_size() {
    for (name, tasks, hosts, cores, most) in [
        ("run-100", 100, 3, 2, 60_000),
        ("run-5000", 5000, 8, 2, 1_000_000),
        ("run-procs", 4000, 64, 8, 1_000_000),
    ] {
        let (workflow, platform) = (layered(tasks, 12, 5), grid(1, hosts, cores));
        let problem = Problem::new(&workflow, &platform).unwrap();
        let trace = troubled(&problem);
        let mut chart = Chart::of_trace(&problem, &trace).without_idle_hosts();
        chart.title = name.to_string();
        let picture = svg(&chart, &SvgOptions::default());
        keep(&format!("{name}.svg"), &picture);
        assert!(picture.len() < most, "{name}: {} bytes", picture.len());
        for sign in ["id=\"stopped\"", "id=\"rewound\"", "class=\"down\"", "new plan ("] {
            assert!(picture.contains(sign), "{name} shows no {sign}");
        }
        for sign in ["id=\"failed\"", "transfer"] {
            assert!(!picture.contains(sign), "{name} explains {sign}, which does not occur");
        }
        let text = terminal(&chart, &TerminalOptions::default());
        keep(&format!("{name}.txt"), &text);
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
}

#[test]
fn one_task_on_one_processor() {
    draw("1", &layered(1, 1, 0), &grid(1, 1, 1));
}
