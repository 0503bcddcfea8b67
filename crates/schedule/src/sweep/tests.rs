//! The worked examples of the study.

use super::choose::fill_from;
use super::task_groups::Waiting;
use super::*;
use proptest::prelude::*;
use slackline_model::{HostId, LinkId, ProcId, Task, TaskId, Workflow, WorkflowBuilder};

#[test]
fn steps_behind_the_good_clusters() {
    let at = |times: &[f64]| step(times, Height::Step, false);
    assert_eq!(at(&[10.0, 30.0, 31.0, 32.0, 33.0]), (1, 20.0));
    assert_eq!(at(&[10.0, 11.0, 12.0, 40.0, 41.0]), (3, 28.0));
    assert_eq!(at(&[10.0, 20.0, 30.0, 40.0, 41.0]), (5, 0.0));
    // With three clusters mean and deviation are the larger of two rises: only "at least" sees it.
    assert_eq!(at(&[10.0, 20.0, 50.0]), (2, 30.0));
    assert_eq!(at(&[10.0, 40.0, 50.0]), (1, 30.0));
    assert_eq!(step(&[10.0, 20.0, 50.0], Height::Step, true), (3, 0.0));
    assert_eq!(at(&[10.0, 13.0]), (1, 3.0));
    assert_eq!(at(&[10.0]), (1, 0.0));
    let groups = step(&[10.0, 12.0, 40.0, 44.0], Height::Groups, false);
    assert_eq!(groups, (2, 31.0));
}

/// A sweep over clusters of so many processors.
fn ground<'a>(
    workflow: &'a Workflow,
    clusters: &[(usize, f64)],
    seconds: impl Fn(TaskId, ProcId) -> f64 + Sync + 'a,
) -> Ground<'a> {
    let mut next = 0;
    let cluster = |(index, &(procs, bandwidth)): (usize, &(usize, f64))| {
        let first = next;
        next += procs as u32;
        Cluster {
            gate: HostId(first),
            procs: (first..next).map(ProcId).collect(),
            link: Some(LinkId::new(index)),
            latency: 0.0,
            bandwidth,
        }
    };
    let clusters: Vec<Cluster> = clusters.iter().enumerate().map(cluster).collect();
    let seconds = move |task: TaskId, kind: usize| seconds(task, ProcId::new(kind));
    Ground::new(workflow, clusters, (0..next).collect(), |_| true, seconds)
}

fn first_of(rule: Rule, ground: &Ground<'_>) -> (TaskId, ProcId) {
    let mut chart = Chart::new(ground);
    let open: Vec<TaskId> = ground.workflow().tasks().collect();
    let limit = Limit { tasks: 1, ..Limit::NONE };
    let mut draws = stream(1, STREAM, 0);
    fill(&mut chart, ground, &open, &Heuristic::new(rule), limit, &mut draws);
    (chart.computations[0].task, chart.computations[0].proc)
}

#[test]
fn one_step_of_each_heuristic() {
    // Completion times on two hosts of one cluster and one of another.
    let times = [[10.0, 10.0, 30.0], [12.0, 15.0, 13.0], [20.0, 25.0, 26.0]];
    let mut b = WorkflowBuilder::new("w");
    for name in ["x", "y", "z"] {
        b.add_task(Task::new(name, 1.0)).unwrap();
    }
    let workflow = b.build().unwrap();
    let ground = ground(&workflow, &[(2, 1.0), (1, 1.0)], |t, p| times[t.index()][p.index()]);
    let (x, z) = ((TaskId(0), ProcId(0)), (TaskId(2), ProcId(0)));
    assert_eq!(first_of(Rule::MinMin, &ground), x);
    assert_eq!(first_of(Rule::MaxMin, &ground), z);
    assert_eq!(first_of(Rule::Sufferage, &ground), z);
    for rule in [Rule::Extended, Rule::Clusters, Rule::Fewest] {
        assert_eq!(first_of(rule, &ground), x);
    }
}

/// Two tasks of 20 s that share a file of 100 kB, each with an input and an output of 10 kB.
fn sharing() -> Workflow {
    let mut b = WorkflowBuilder::new("w");
    let shared = b.add_file("S", 1e5).unwrap();
    for name in ["A", "B"] {
        let task = b.add_task(Task::new(name, 1.0)).unwrap();
        let own = b.add_file(&format!("p{name}"), 1e4).unwrap();
        let output = b.add_file(&format!("o{name}"), 1e4).unwrap();
        b.reads(task, own);
        b.reads(task, shared);
        b.writes(task, output).unwrap();
    }
    b.build().unwrap()
}

#[test]
fn slots_and_sharing() {
    let workflow = sharing();
    let ground = ground(&workflow, &[(2, 1e4)], |_, p| [20.0, 40.0][p.index()]);
    let mut chart = Chart::new(&ground);
    let (a, b) = (TaskId(0), TaskId(1));
    let on = |chart: &Chart<'_>, task| [0, 1].map(|p| chart.completion(task, 0, ProcId(p)));
    assert_eq!(on(&chart, a), [32.0, 52.0]);
    chart.place(a, 0, ProcId(0));
    // The shared file is not sent again; the private one goes before the reserved output.
    assert_eq!(on(&chart, b), [52.0, 53.0]);
    let mut chart = Chart::new(&ground);
    let heuristic = Heuristic::new(Rule::MinMin);
    fill(&mut chart, &ground, &[a, b], &heuristic, Limit::NONE, &mut stream(1, STREAM, 0));
    let sent: Vec<(&str, f64, f64)> =
        chart.transfers.iter().map(|t| (workflow.file_name(t.file), t.start, t.finish)).collect();
    assert_eq!(
        sent,
        [
            ("S", 0.0, 10.0),
            ("pA", 10.0, 11.0),
            ("oA", 31.0, 32.0),
            ("pB", 11.0, 12.0),
            ("oB", 51.0, 52.0)
        ]
    );
    assert_eq!(chart.computations[1].start, 31.0);
}

#[test]
fn tasks_that_share_begin_together() {
    // Two clusters of two and three hosts, the first processors of each busy.
    let mut b = WorkflowBuilder::new("w");
    let files: Vec<_> = (0..3).map(|f| b.add_file(&format!("f{f}"), 1e4).unwrap()).collect();
    for (task, inputs) in [(0, vec![0, 1]), (1, vec![2]), (2, vec![2])] {
        let id = b.add_task(Task::new(format!("t{task}"), 1.0)).unwrap();
        inputs.into_iter().for_each(|f: usize| b.reads(id, files[f]));
        let output = b.add_file(&format!("o{task}"), 1e4).unwrap();
        b.writes(id, output).unwrap();
    }
    let workflow = b.build().unwrap();
    let ground = ground(&workflow, &[(2, 1e4), (3, 1e4)], |_, _| 10.0);
    let mut chart = Chart::new(&ground);
    chart.block_proc(ProcId(0), 3.0);
    chart.block_proc(ProcId(2), 3.0);
    chart.place(TaskId(0), 0, ProcId(0));
    chart.place(TaskId(1), 1, ProcId(3));
    chart.place(TaskId(2), 1, ProcId(4));
    let begins: Vec<f64> = chart.computations.iter().map(|c| c.start).collect();
    assert_eq!(begins, [3.0, 1.0, 1.0]);
    let crossed = chart.transfers.iter().filter(|t| t.file == files[2]).count();
    assert_eq!(crossed, 1);
}

/// Tasks of few sorts: which of three shared files they read, private inputs, outputs, seconds.
type Sorts = Vec<(Vec<usize>, usize, usize, u32)>;

fn few_sorts(sorts: &Sorts, tasks: &[usize]) -> Workflow {
    let mut b = WorkflowBuilder::new("w");
    let shared: Vec<_> =
        (0..3).map(|f| b.add_file(&format!("s{f}"), 9e3 * f as f64).unwrap()).collect();
    for (index, &sort) in tasks.iter().enumerate() {
        let (reads, inputs, outputs, seconds) = &sorts[sort % sorts.len()];
        let task = b.add_task(Task::new(format!("t{index}"), f64::from(*seconds))).unwrap();
        reads.iter().for_each(|&file| b.reads(task, shared[file]));
        for input in 0..*inputs {
            let file = b.add_file(&format!("i{index}.{input}"), 2e3 + 1e3 * input as f64).unwrap();
            b.reads(task, file);
        }
        for output in 0..*outputs {
            let file = b.add_file(&format!("o{index}.{output}"), 3e3).unwrap();
            b.writes(task, file).unwrap();
        }
    }
    b.build().unwrap()
}

proptest! {
    #[test]
    fn classes_change_nothing(
        sorts in prop::collection::vec(
            (prop::collection::vec(0usize..3, 0..3), 0usize..4, 0usize..3, 1u32..9),
            1..5,
        ),
        tasks in prop::collection::vec(0usize..5, 1..30),
        clusters in prop::collection::vec((1usize..5, 1u32..4), 1..5),
        speeds in prop::collection::vec(1u32..3, 16),
        there in prop::collection::vec((0usize..4, 0usize..12), 0..4),
        options in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let workflow = few_sorts(&sorts, &tasks);
        let clusters: Vec<(usize, f64)> =
            clusters.iter().map(|&(procs, speed)| (procs, 1e3 * f64::from(speed))).collect();
        let mut ground = ground(&workflow, &clusters, |task, proc| {
            workflow.work(task) / f64::from(speeds[proc.index()])
        });
        ground.until_computed = options.0;
        let open: Vec<TaskId> = workflow.tasks().collect();
        for rule in [
            Rule::MinMin, Rule::MaxMin, Rule::Sufferage, Rule::Extended, Rule::Fewest, Rule::Clusters,
        ] {
            let height = if options.1 { Height::Groups } else { Height::Step };
            let (strict_step, literal_second) = (options.2, options.3);
            let heuristic = Heuristic { height, strict_step, literal_second, ..Heuristic::new(rule) };
            let limit = Limit { tasks: 25, ..Limit::NONE };
            let filled = |alike: bool| {
                let mut chart = Chart::new(&ground);
                for &(cluster, file) in &there {
                    let file = slackline_model::FileId::new(file % workflow.files().len());
                    chart.bring(cluster % clusters.len(), file, 2.0);
                }
                let waiting = if alike { Waiting::alike(&open, &ground, &chart) } else { Waiting::apart(&open) };
                let classes = waiting.classes();
                let mut draws = stream(1, STREAM, 0);
                fill_from(waiting, &mut chart, &ground, &heuristic, limit, &mut draws);
                (classes, chart.computations, chart.transfers)
            };
            let ((classes, alike, sent), (tasks, apart, apart_sent)) = (filled(true), filled(false));
            prop_assert!(classes <= tasks);
            prop_assert_eq!((alike, sent), (apart, apart_sent));
        }
    }
}
