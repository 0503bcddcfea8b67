//! Three small workflows that share three processors, against a straightforward implementation of
//! the rules in another language.

use super::{Pivot, parts};
use crate::registry;
use crate::{Need, Request};
use slackline_formats::instance::stream;
use slackline_model::schedule::{Detail, Limits, validate};
use slackline_model::{Problem, Schedule, TaskId, Workflow, approx};

/// Works 4 8 6 10 4, 6 4 5 and 2 5 5 5 2; processors of speed 1/4, 1/2 and 1.
const THREE: &str = r#"{
  "processors": [{"id": "P1", "speed": 0.25}, {"id": "P2", "speed": 0.5}, {"id": "P3"}],
  "bandwidth": 1,
  "workflows": [
    {"name": "A", "tasks": [{"id": "1", "cost": 4}, {"id": "2", "cost": 8}, {"id": "3", "cost": 6},
                            {"id": "4", "cost": 10}, {"id": "5", "cost": 4}],
     "edges": [{"from": "1", "to": "2", "data": 2}, {"from": "1", "to": "3", "data": 4},
               {"from": "1", "to": "4", "data": 3}, {"from": "2", "to": "5", "data": 2},
               {"from": "3", "to": "5", "data": 1}, {"from": "4", "to": "5", "data": 5}]},
    {"name": "B", "tasks": [{"id": "1", "cost": 6}, {"id": "2", "cost": 4}, {"id": "3", "cost": 5}],
     "edges": [{"from": "1", "to": "2", "data": 2}, {"from": "2", "to": "3", "data": 2}]},
    {"name": "C", "tasks": [{"id": "1", "cost": 2}, {"id": "2", "cost": 5}, {"id": "3", "cost": 5},
                            {"id": "4", "cost": 5}, {"id": "5", "cost": 2}],
     "edges": [{"from": "1", "to": "2", "data": 1}, {"from": "1", "to": "3", "data": 1},
               {"from": "1", "to": "4", "data": 1}, {"from": "2", "to": "5", "data": 1},
               {"from": "3", "to": "5", "data": 1}, {"from": "4", "to": "5", "data": 1}]}
  ]
}"#;

fn three() -> (Workflow, slackline_model::Platform) {
    let read = stream::read(THREE).unwrap();
    let graphs: Vec<&Workflow> = read.workflows.iter().map(|w| &w.workflow).collect();
    (Workflow::union("three", &graphs).unwrap(), read.platform)
}

fn plan(problem: &Problem<'_>, name: &str, set: &[(&str, &str)]) -> Schedule {
    let algorithm = registry::find(name).unwrap();
    let schedule = algorithm.plan(problem, &Request::default().preset(set)).unwrap();
    assert_eq!(validate(problem, &schedule, &Limits::default()), [], "{name}");
    schedule
}

/// A figure of every workflow.
fn told(schedule: &Schedule, figure: &str) -> Vec<f64> {
    let Some((_, Detail::List(rows))) = schedule.details.iter().find(|d| d.0 == "workflows") else {
        panic!("no workflows");
    };
    let value = |row: &Detail| match row {
        Detail::Record(parts) => match parts.iter().find(|p| p.0 == figure) {
            Some((_, Detail::Number(x))) => *x,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    rows.iter().map(value).collect()
}

/// `A1@P3[0-4]` for every task, in order of time.
fn written(problem: &Problem<'_>, schedule: &Schedule) -> String {
    let mut rows: Vec<(f64, TaskId, String)> = Vec::new();
    for task in problem.workflow().tasks() {
        let place = schedule.placement(task).unwrap();
        let (name, proc) = (problem.workflow().task_name(task), place.proc().0 + 1);
        let text = format!("{}@P{proc}[{}-{}]", name.replace('/', ""), place.start, place.finish);
        rows.push((place.start, task, text));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    rows.into_iter().map(|row| row.2).collect::<Vec<_>>().join(" ")
}

#[test]
fn three_workflows_task_by_task() {
    let (workflow, platform) = three();
    let problem = Problem::new(&workflow, &platform).unwrap();
    for (name, ends, tasks) in [
        (
            "fairness-finish",
            [44.0, 24.0, 27.0],
            "A1@P3[0-4] C1@P2[0-4] B1@P3[4-10] C2@P2[4-14] A2@P1[6-38] C3@P3[10-15] C4@P2[14-24] \
             B2@P3[15-19] B3@P3[19-24] A3@P2[24-36] C5@P3[25-27] A4@P3[27-37] A5@P3[40-44]",
        ),
        (
            "fairness-current",
            [49.0, 29.0, 35.0],
            "A1@P3[0-4] C1@P2[0-4] B1@P3[4-10] C2@P2[4-14] C3@P1[5-25] A4@P3[10-20] B2@P2[14-22] \
             C4@P2[22-32] B3@P3[24-29] A3@P2[32-44] C5@P3[33-35] A2@P3[35-43] A5@P3[45-49]",
        ),
        (
            "share-cp",
            [43.0, 39.0, 41.0],
            "A1@P3[0-4] C1@P2[0-4] B1@P3[4-10] C2@P2[4-14] A4@P3[10-20] B2@P1[12-28] C3@P2[14-24] \
             A2@P3[20-28] C4@P2[24-34] A3@P3[28-34] B3@P3[34-39] A5@P2[35-43] C5@P3[39-41]",
        ),
        (
            "sequential",
            [28.0, 43.0, 46.0],
            "A1@P3[0-4] C1@P1[0-8] A4@P3[4-14] A2@P2[6-22] C2@P1[8-28] A3@P3[14-20] C3@P2[22-32] \
             A5@P3[24-28] B1@P3[28-34] C4@P2[32-42] B2@P3[34-38] B3@P3[38-43] C5@P2[42-46]",
        ),
        (
            "interleave",
            [39.0, 29.0, 44.0],
            "A1@P3[0-4] C1@P2[0-4] A4@P3[4-14] C2@P2[4-14] C3@P1[5-25] A2@P2[14-30] B1@P3[14-20] \
             B2@P3[20-24] B3@P3[24-29] A3@P3[29-35] C4@P2[30-40] A5@P3[35-39] C5@P2[40-44]",
        ),
        (
            "group",
            [39.0, 29.0, 46.0],
            "A1@P3[0-4] C1@P1[0-8] A4@P3[4-14] A2@P2[6-22] C2@P1[8-28] B1@P3[14-20] B2@P3[20-24] \
             C3@P2[22-32] B3@P3[24-29] A3@P3[29-35] C4@P2[32-42] A5@P3[35-39] C5@P2[42-46]",
        ),
    ] {
        let schedule = plan(&problem, name, &[]);
        assert_eq!(written(&problem, &schedule), tasks, "{name}");
        assert_eq!(told(&schedule, "finish"), ends, "{name}");
        assert_eq!(told(&schedule, "alone"), [28.0, 15.0, 16.0], "{name}");
        let stretch: Vec<f64> =
            ends.iter().zip([28.0, 15.0, 16.0]).map(|(end, alone)| end / alone).collect();
        assert_eq!(told(&schedule, "stretch"), stretch, "{name}");
    }
}

/// Alone, a workflow is planned as its pivot plans it.
#[test]
fn pivots_plan_as_they_are() {
    let read = stream::read(THREE).unwrap();
    let (workflow, platform) = three();
    let problem = Problem::new(&workflow, &platform).unwrap();
    for (name, pivot) in [("heft", Pivot::Heft), ("hybrid-bmct", Pivot::HybridBmct)] {
        let batch = super::Batch::new(&problem, pivot, "test").unwrap();
        for (graph, submitted) in batch.graphs.iter().zip(&read.workflows) {
            let alone = Problem::new(&submitted.workflow, &platform).unwrap();
            assert_eq!(graph.alone, plan(&alone, name, &[]).makespan(), "{name}");
        }
        let fair = plan(&problem, "fairness-finish", &[("pivot", name)]);
        let alone: Vec<f64> = batch.graphs.iter().map(|g| g.alone).collect();
        assert_eq!(told(&fair, "alone"), alone);
    }
}

/// With all in proportion to the work, the workflow without any holds one processor at a time.
#[test]
fn shares_are_kept() {
    let (workflow, _) = three();
    let hosts: Vec<String> = (0..12).map(|h| format!("{{\"id\": \"h{h}\"}}")).collect();
    let text = format!(
        "{{\"processors\": [{}], \"bandwidth\": null, \"edges\": [], \"tasks\": [{{\"id\": \"t\", \"cost\": 1}}]}}",
        hosts.join(", ")
    );
    let platform = slackline_formats::instance::read(&text).unwrap().platform;
    let problem = Problem::new(&workflow, &platform).unwrap();
    let part_of = parts(&problem);
    for (name, mu) in [("share-work", "0"), ("share-cp", "0.5"), ("share-width", "1")] {
        let schedule = plan(&problem, name, &[("mu", mu)]);
        let Some((_, Detail::List(shares))) = schedule.details.iter().find(|d| d.0 == "shares")
        else {
            panic!("no shares");
        };
        for (part, share) in shares.iter().enumerate() {
            let Detail::Number(share) = share else { panic!("{share:?}") };
            let most = (share * 12.0).round().max(1.0) as usize;
            let own = || workflow.tasks().filter(|t| part_of[t.index()] == part);
            let places = || own().filter_map(|t| schedule.placement(t));
            for place in places() {
                let holds = |p: &&slackline_model::Placement| {
                    approx::le(p.start, place.start) && approx::gt(p.finish, place.start)
                };
                assert!(places().filter(holds).count() <= most, "{name}: {part}");
            }
        }
    }
}

#[test]
fn one_workflow_is_refused() {
    let read = stream::read(THREE).unwrap();
    let problem = Problem::new(&read.workflows[0].workflow, &read.platform).unwrap();
    let several = registry::ALL.iter().filter(|a| a.needs == [Need::Several]);
    for algorithm in several {
        let error = algorithm.plan(&problem, &Request::default()).unwrap_err().to_string();
        assert!(error.contains("it plans several workflows, there is one"), "{error}");
    }
}

/// With time to spare everything goes to the slowest processor, which is the cheapest.
#[test]
fn an_ensemble_is_admitted_as_far_as_the_money_goes() {
    let priced = THREE
        .replace("\"speed\": 0.25", "\"speed\": 0.25, \"price\": 0.15625")
        .replace("\"speed\": 0.5", "\"speed\": 0.5, \"price\": 0.375")
        .replace("\"id\": \"P3\"", "\"id\": \"P3\", \"price\": 1");
    let read = stream::read(&priced).unwrap();
    let graphs: Vec<&Workflow> = read.workflows.iter().map(|w| &w.workflow).collect();
    let all = Workflow::union("three", &graphs).unwrap();
    let problem = Problem::new(&all, &read.platform).unwrap();
    let spss = |budget: f64, deadline: f64| {
        let limits = Limits { budget: Some(budget), deadline: Some(deadline) };
        let plan = super::spss::SPSS.plan(&problem, &Request { limits, ..Request::default() });
        plan.inspect(|schedule| assert_eq!(validate(&problem, schedule, &limits), []))
    };
    // 20 for A, 9.375 for B, 11.875 for C.
    let plan = spss(41.25, 1e4).unwrap();
    assert!(plan.placements.iter().flatten().all(|p| p.proc().0 == 0));
    let error = spss(41.0, 1e4).unwrap_err().to_string();
    assert!(error.contains("fit: A, B; not 'C' (cost 11.8750"), "{error}");
    // A tight deadline costs more; an infeasible one admits no workflow.
    assert!(spss(66.0, 60.0).unwrap().makespan() <= 60.0);
    let error = spss(1e4, 5.0).unwrap_err().to_string();
    assert!(error.contains("fit: none"), "{error}");
}
