//! Reading, refusals and writing of instances.

#![allow(clippy::unwrap_used)]

use super::*;
use slackline_model::platform::{Billing, HostSpec, Matrix, PlatformBuilder};
use slackline_model::speedup::SpeedUp;
use slackline_model::{HostId, Problem, ProcId, TaskId};

const TWO: &str = r#"{
  "name": "two", "meta": {"anything": [1, {"at": "all"}]},
  "tasks": [{"id": "a", "cost": 6}, {"id": 7, "cost": 4}],
  "edges": [{"from": "a", "to": 7, "data": 10}],
  "processors": [{"id": "p", "speed": 2}, {"id": "q", "speed": 1}],
  "bandwidth": [[null, 5], [2, null]],
  "latency": [[0, 0.5], [1, 0]]
}"#;

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn costs_and_transfers_follow_the_file() {
    let Instance { workflow, platform } = read(TWO).unwrap();
    let problem = Problem::new(&workflow, &platform).unwrap();
    let (a, b) = (TaskId(0), TaskId(1));
    assert_eq!(workflow.task_name(b), "7");
    assert_eq!(problem.exec_on(a, ProcId(0)), 6.0 / 2.0);
    assert_eq!(problem.exec_on(a, ProcId(1)), 6.0 / 1.0);
    assert_eq!(problem.transfer(10.0, HostId(0), HostId(1)), 0.5 + 10.0 / 5.0);
    assert_eq!(problem.transfer(10.0, HostId(1), HostId(0)), 1.0 + 10.0 / 2.0);
    assert_eq!(problem.transfer(10.0, HostId(1), HostId(1)), 0.0);
}

#[test]
fn the_exec_table_goes_before_cost_and_speed() {
    let text = TWO.replace("\"bandwidth\"", "\"exec\": [[3, 8], [2, 5]], \"bandwidth\"");
    let Instance { workflow, platform } = read(&text).unwrap();
    let problem = Problem::new(&workflow, &platform).unwrap();
    assert_eq!(problem.exec_on(TaskId(0), ProcId(1)), 8.0);
    assert_eq!(workflow.cost_table().unwrap().columns, ["p", "q"]);
    let without = text.replace(", \"cost\": 6", "").replace(", \"cost\": 4", "");
    assert_eq!(read(&without).unwrap().workflow.work(TaskId(0)), (3.0 + 8.0) / 2.0);
}

#[test]
fn one_number_is_a_uniform_network_and_null_is_free() {
    let with = |network: &str| {
        let start = TWO.split("\"bandwidth\"").next().unwrap();
        let Instance { workflow, platform } = read(&format!("{start}{network}}}")).unwrap();
        let problem = Problem::new(&workflow, &platform).unwrap();
        problem.transfer(10.0, HostId(0), HostId(1))
    };
    assert_eq!(with("\"bandwidth\": 4"), 10.0 / 4.0);
    assert_eq!(with("\"bandwidth\": 4, \"latency\": 1"), 1.0 + 10.0 / 4.0);
    assert_eq!(with("\"bandwidth\": null, \"latency\": 1"), 1.0);
    assert_eq!(with("\"bandwidth\": [[null, null], [null, null]]"), 0.0);
    assert_eq!(with("\"bandwidth\": 4, \"latency\": [[0, 2], [1, 0]]"), 2.0 + 10.0 / 4.0);
}

#[test]
fn a_processor_may_be_called_like_the_instance() {
    let text = TWO.replace("\"two\"", "\"p\"").replace("\"q\"", "\"processors\"");
    let platform = read(&text).unwrap().platform;
    assert!(platform.host_named("processors").is_some());
}

#[test]
fn is_recognised() {
    assert!(recognise(TWO) && recognise(&TWO[..TWO.len() - 20]));
    assert!(!recognise(r#"{"workflow": {"tasks": [], "processors": []}}"#));
    assert!(!recognise("[]") && !recognise(""));
}

#[test]
fn writes_what_it_reads() {
    let exec = TWO.replace("\"bandwidth\"", "\"exec\": [[3, 8], [2, 5]], \"bandwidth\"");
    for text in [TWO, exec.as_str()] {
        let Instance { workflow, platform } = read(text).unwrap();
        let mut out = Vec::new();
        write(&workflow, &platform, &mut out).unwrap();
        let back = read(std::str::from_utf8(&out).unwrap()).unwrap();
        assert_eq!(back.workflow, workflow);
        assert_eq!(back.platform.network(), platform.network());
        let speeds = |p: &Platform| p.hosts().iter().map(|h| h.speed).collect::<Vec<_>>();
        assert_eq!(speeds(&back.platform), speeds(&platform));
    }
}

#[test]
fn cores_become_processors_that_share_for_free() {
    let mut b = PlatformBuilder::new("p");
    let root = b.root().unwrap();
    b.add_host(root, HostSpec { cores: 2, ..HostSpec::new("big", 3.0) }).unwrap();
    b.add_host(root, HostSpec::new("small", 1.0)).unwrap();
    b.set_matrix(Matrix::uniform(Some(8.0), 0.0));
    let workflow = read(TWO).unwrap().workflow;
    let mut out = Vec::new();
    write(&workflow, &b.build().unwrap(), &mut out).unwrap();
    let back = read(std::str::from_utf8(&out).unwrap()).unwrap();
    let problem = Problem::new(&back.workflow, &back.platform).unwrap();
    assert_eq!(problem.procs(), 3);
    assert_eq!(back.platform.host(HostId(0)).cores, 2);
    assert_eq!(problem.proc_name(ProcId(1)), "big/1");
    assert_eq!(problem.transfer(16.0, HostId(0), HostId(1)), 2.0);
}

#[test]
fn says_what_is_wrong_and_where() {
    let cases = [
        ("\"cost\": 6", "\"cost\": -6", "at tasks[0]: the work of 'a'"),
        ("\"cost\": 6", "\"cost\": 1e999", "number out of range"),
        (", \"cost\": 6", "", "at tasks[0].cost: a task needs a cost"),
        ("\"id\": 7", "\"id\": \"a\"", "at tasks[1]: two tasks are named 'a'"),
        ("\"to\": 7", "\"to\": \"b\"", "at edges[0].to: there is no task 'b'"),
        ("\"to\": 7", "\"to\": \"a\"", "at edges[0]: task 'a' depends on itself"),
        ("\"data\": 10", "\"data\": -1", "at edges[0]: the data of 'a -> 7'"),
        ("\"speed\": 2", "\"speed\": 0", "at processors[0]: host \"p\": speed"),
        ("\"id\": \"q\"", "\"id\": \"p\"", "at processors[1]: the host \"p\" is declared twice"),
        ("[2, null]", "[0, null]", "at bandwidth[1][0]: bandwidth cannot be 0"),
        ("[2, null]", "[2]", "at bandwidth[1]: 1 entries for 2 processors"),
        ("[1, 0]", "[-1, 0]", "at latency[1][0]: latency cannot be -1"),
        ("\"bandwidth\"", "\"exec\": [[1, 2]], \"bandwidth\"", "at exec: 1 entries for 2 tasks"),
        (
            "\"bandwidth\"",
            "\"exec\": [[1, 2], [1, -1]], \"bandwidth\"",
            "at exec[1][1]: a time cannot be -1",
        ),
        ("\"tasks\"", "\"task\"", "unknown field `task`"),
        ("\"speed\": 2", "\"sped\": 2", "unknown field `sped`"),
        ("\"speed\": 2", "\"price\": -1", "at processors[0]: host \"p\": price"),
        (
            "\"bandwidth\"",
            "\"billing\": {\"quantum\": -60}, \"bandwidth\"",
            "at billing.quantum: quantum cannot be -60",
        ),
        ("\"cost\": 6", "\"cost\": 6, \"alpha\": 2", "at tasks[0]: speed-up of 'a'"),
        (
            "\"cost\": 6",
            "\"cost\": 6, \"alpha\": 0.5, \"speedup\": [1, 0.5]",
            "at tasks[0]: only one of alpha, speedup and downey can hold",
        ),
        (
            "\"cost\": 6",
            "\"cost\": 6, \"width\": [1, 4]",
            "at tasks[0].width: it can take a range of processors",
        ),
        ("\"cost\": 6", "\"cost\": 6, \"alpha\": 0, \"width\": [3, 2]", "at tasks[0]: "),
        (
            "\"data\": 10}",
            "\"data\": 10}, {\"from\": \"a\", \"to\": 7}",
            "at edges[1]: the same two tasks as edges[0]",
        ),
        (
            "\"data\": 10}",
            "\"data\": 10}, {\"from\": 7, \"to\": \"a\"}",
            "the tasks depend on each other in a circle",
        ),
    ];
    for (old, new, message) in cases {
        let text = TWO.replacen(old, new, 1);
        assert_ne!(text, TWO);
        assert!(error(&text).contains(message), "{new}: {}", error(&text));
    }
    assert!(error(&TWO[..TWO.len() - 20]).starts_with("line 7, column "));
    assert!(error(&"[".repeat(1_000_000)).contains("line 1"));
}

const WHOLE: &str = r#"{
  "name": "whole",
  "tasks": [
    {"id": "a", "cost": 6, "alpha": 0.25},
    {"id": "b", "cost": 4, "downey": {"parallelism": 4, "sigma": 0.5}, "width": [1, 3]},
    {"id": "c", "cost": 2, "speedup": [1, 0.6], "width": [1, 2]},
    {"id": "d", "cost": 1}
  ],
  "edges": [],
  "processors": [
    {"id": "p0", "speed": 2, "price": 3, "cluster": "fast"},
    {"id": "p1", "speed": 2, "price": 3, "cluster": "fast"},
    {"id": "p2", "speed": 2, "price": 3, "leasable": true},
    {"id": "p3", "speed": 2, "price": 3, "billing": {"quantum": 60}}
  ],
  "billing": {"quantum": 3600, "minimum": 60, "setup": 90},
  "bandwidth": null
}"#;

#[test]
fn prices_clusters_leases_and_speed_ups_are_read_and_written() {
    let instance = read(WHOLE).unwrap();
    let mut out = Vec::new();
    write(&instance.workflow, &instance.platform, &mut out).unwrap();
    let back = read(std::str::from_utf8(&out).unwrap()).unwrap();
    for Instance { workflow, platform } in [instance, back] {
        assert_eq!(workflow.speedup(TaskId(0)), &SpeedUp::Amdahl { serial: 0.25 });
        assert_eq!(workflow.width(TaskId(0)), (1, u32::MAX));
        let downey = SpeedUp::Downey { parallelism: 4.0, sigma: 0.5 };
        assert_eq!((workflow.speedup(TaskId(1)), workflow.width(TaskId(1))), (&downey, (1, 3)));
        assert_eq!(workflow.speedup(TaskId(2)).factor(2), 0.6);
        assert_eq!((workflow.width(TaskId(2)), workflow.width(TaskId(3))), ((1, 2), (1, 1)));
        let classes: Vec<_> = platform.classes().iter().collect();
        let names: Vec<&str> = classes.iter().map(|c| &*c.name).collect();
        assert_eq!(names, ["fast", "p2", "p3"]);
        assert_eq!(classes[0].hosts, [HostId(0), HostId(1)]);
        assert!(classes.iter().all(|c| c.price == 3.0));
        assert_eq!(classes.iter().map(|c| c.leasable).collect::<Vec<_>>(), [false, true, false]);
        let hourly = Billing { quantum: 3600.0, minimum: 60.0, setup: 90.0 };
        assert_eq!((classes[0].billing, classes[1].billing), (hourly, hourly));
        assert_eq!(classes[2].billing, Billing { quantum: 60.0, ..Billing::default() });
    }
}

#[test]
fn processors_of_one_cluster_agree() {
    let cases = [
        (r#""p1", "speed": 2"#, r#""p1", "speed": 1"#, "at processors[1]: its speed differs"),
        (
            r#"3, "cluster": "fast"},
    {"id": "p2""#,
            r#"4, "cluster": "fast"},
    {"id": "p2""#,
            "at processors[1]: its price differs from that of 'p0'",
        ),
        (
            r#""fast"},
    {"id": "p2""#,
            r#""fast", "leasable": true},
    {"id": "p2""#,
            "at processors[1]: its lease or billing differs",
        ),
        (
            r#""edges""#,
            r#""exec": [[1, 1, 1, 1], [1, 1, 1, 1], [1, 2, 1, 1], [1, 1, 1, 1]], "edges""#,
            "at processors[1]: its column of exec differs",
        ),
        (r#""p2""#, r#""fast""#, "at processors[2].id: 'fast' is also the name of a cluster"),
    ];
    for (old, new, message) in cases {
        let text = WHOLE.replacen(old, new, 1);
        assert_ne!(text, WHOLE);
        assert!(error(&text).contains(message), "{new}: {}", error(&text));
    }
}

#[test]
fn without_clusters_equal_processors_stay_together_unless_told_apart() {
    let same = TWO.replace("\"speed\": 1", "\"speed\": 2");
    assert_eq!(read(&same).unwrap().platform.classes().len(), 1);
    let apart = same.replace("\"bandwidth\"", "\"exec\": [[3, 8], [2, 5]], \"bandwidth\"");
    assert_eq!(read(&apart).unwrap().platform.classes().len(), 2);
}
