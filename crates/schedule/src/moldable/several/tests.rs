//! Published and independently computed shares and periods, and what several graphs promise.
//!
//! `fixtures/several.jsonl`: batches of graphs with the shares of CRA and SCRAP-MAX's widths within
//! them, and the periods of MAGS, both in exact rational arithmetic.

use super::cra::{Share, constrained, shares};
use super::periods::{Direction, Periods};
use super::ready::{self, Rank};
use super::{Batch, one_cluster};
use crate::moldable::Steps;
use crate::moldable::machines::Machines;
use crate::moldable::tests::{instance, number, plan};
use crate::registry;
use crate::{Need, Request};
use serde_json::Value;
use slackline_formats::instance::Instance;
use slackline_model::schedule::{Detail, Limits, validate};
use slackline_model::{Problem, Schedule, Workflow, approx};

const FIXTURE: &str = include_str!("../../../tests/fixtures/several.jsonl");

fn lines(member: &str) -> impl Iterator<Item = Value> + '_ {
    let read = |line| serde_json::from_str::<Value>(line).unwrap();
    FIXTURE.lines().map(read).filter_map(move |line| line.get(member).cloned())
}

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).unwrap()
}

fn agree(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0))
}

/// Graphs side by side on one cluster.
fn joined(graphs: &[Instance]) -> Workflow {
    let parts: Vec<&Workflow> = graphs.iter().map(|g| &g.workflow).collect();
    Workflow::union("batch", &parts).unwrap()
}

fn graph(value: &Value, processors: usize) -> Instance {
    let tasks = value["tasks"].as_array().unwrap();
    let cost = |t: &Value| (t["cost"].as_f64().unwrap(), t["alpha"].as_f64().unwrap());
    let at = |id: &Value| tasks.iter().position(|t| t["id"] == *id).unwrap();
    let edges = value["edges"].as_array().unwrap().iter();
    let edges: Vec<_> = edges.map(|e| (at(&e["from"]), at(&e["to"]))).collect();
    instance(&tasks.iter().map(cost).collect::<Vec<_>>(), &edges, &[(processors, 1.0)])
}

#[test]
fn shares_and_their_widths() {
    let mut compared = 0;
    for batch in lines("batch") {
        let processors = batch["processors"].as_u64().unwrap() as usize;
        let graphs: Vec<Instance> =
            batch["graphs"].as_array().unwrap().iter().map(|g| graph(g, processors)).collect();
        let workflow = joined(&graphs);
        let problem = Problem::new(&workflow, &graphs[0].platform).unwrap();
        let machines = Machines::single(&problem, None, "test").unwrap();
        let all = Batch::new(&machines).unwrap();
        for (name, wanted) in batch["results"].as_object().unwrap() {
            let share = match name.as_str() {
                "cra-ndags" => Share::Equal,
                "cra-cp" => Share::CriticalPath,
                "cra-width" => Share::Width,
                "cra-work" => Share::Work,
                other => panic!("{other}"),
            };
            let found = shares(&all, share);
            assert!(agree(&found, &numbers(&wanted["beta"])), "{name}: {found:?}");
            let widths: Vec<u32> = constrained(&all, &found);
            let wanted: Vec<Vec<u32>> = serde_json::from_value(wanted["alloc"].clone()).unwrap();
            assert_eq!(widths, wanted.concat(), "{name} of {}", batch["name"]);
            compared += 1;
        }
    }
    assert_eq!(compared, 16);
}

#[test]
fn periods_and_their_shares() {
    let mut compared = 0;
    for case in lines("periods") {
        let alone = numbers(&case["dedicated"]);
        let processors = case["processors"].as_u64().unwrap() as usize;
        for (name, direction) in
            [("backward", Direction::Backward), ("forward", Direction::Forward)]
        {
            let found = Periods::new(&alone, processors, direction, (1.0, 0.0), 1.0);
            let wanted = &case[name];
            assert!(agree(&[found.stretch], &[case["stretch"].as_f64().unwrap()]));
            assert!(agree(&found.ends, &numbers(&wanted["ends"])), "{name}: {:?}", found.ends);
            let last: Vec<u64> = found.last.iter().map(|&k| k as u64 + 1).collect();
            assert_eq!(Value::from(last), wanted["period"], "{name}");
            let bound: Vec<f64> =
                alone.iter().zip(&found.last).map(|(t, &k)| found.ends[k] / t).collect();
            assert!(agree(&bound, &numbers(&wanted["bound"])), "{name}: {bound:?}");
            for (row, wanted) in found.share.iter().zip(wanted["share"].as_array().unwrap()) {
                assert!(agree(row, &numbers(wanted)), "{name}: {row:?}, not {wanted}");
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 12);
}

/// A large and a small graph on two processors: by levels alone the small one would come last, at
/// 9.5; from a list of ready tasks both are as fast as alone.
#[test]
fn a_small_graph_is_not_pushed_to_the_end() {
    let large = instance(&[(3.0, 1.0), (3.5, 1.0), (3.5, 1.0)], &[(0, 1), (0, 2)], &[(2, 1.0)]);
    let small = instance(&[(1.0, 1.0); 3], &[(0, 1), (1, 2)], &[(2, 1.0)]);
    let graphs = [large, small];
    let workflow = joined(&graphs);
    let problem = Problem::new(&workflow, &graphs[0].platform).unwrap();
    let machines = Machines::single(&problem, None, "test").unwrap();
    let batch = Batch::new(&machines).unwrap();
    let steps = Steps { packing: false, backfill: false };
    let width = [1; 6];
    let global = steps.map(&machines, &width, &batch.levels(&width)).unwrap().schedule;
    assert_eq!(global.makespan(), 9.5);
    let schedule = ready::map(&batch, &width, Rank::Level, steps).unwrap();
    assert_eq!(schedule.makespan(), 6.5);
    let told = batch.told(schedule, false, Vec::new());
    assert_eq!(stretches(&told), [1.0, 1.0]);
}

fn stretches(schedule: &Schedule) -> Vec<f64> {
    let Some((_, Detail::List(rows))) = schedule.details.iter().find(|d| d.0 == "workflows") else {
        panic!("no workflows");
    };
    let stretch = |row: &Detail| match row {
        Detail::Record(parts) => match parts.iter().find(|p| p.0 == "stretch") {
            Some((_, Detail::Number(x))) => *x,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    rows.iter().map(stretch).collect()
}

#[test]
fn every_method_plans_several_graphs() {
    for batch in lines("batch") {
        let processors = batch["processors"].as_u64().unwrap() as usize;
        let graphs: Vec<Instance> =
            batch["graphs"].as_array().unwrap().iter().map(|g| graph(g, processors)).collect();
        let workflow = joined(&graphs);
        let problem = Problem::new(&workflow, &graphs[0].platform).unwrap();
        let several = registry::every().filter(|a| a.needs.contains(&Need::Several));
        for algorithm in several.filter(|a| a.needs.contains(&Need::Moldable)) {
            let schedule = plan(&problem, algorithm.name, &[]);
            let least = stretches(&schedule).into_iter().fold(f64::INFINITY, f64::min);
            assert!(least > 0.3, "{}", algorithm.name);
            let backfilled = schedule.makespan();
            let without = plan(&problem, algorithm.name, &[("backfill", "no")]).makespan();
            assert!(approx::le(backfilled, without), "{}", algorithm.name);
        }
        for periods in ["backward", "forward"] {
            let schedule = plan(&problem, "mags", &[("periods", periods)]);
            let most = stretches(&schedule).into_iter().fold(0.0, f64::max);
            let slack = number(&schedule, "slack") * number(&schedule, "fair_stretch");
            assert!(approx::le(most, number(&schedule, "guarantee")), "{periods}");
            assert!(approx::le(number(&schedule, "guarantee"), 2.0 * slack), "{periods}");
        }
    }
}

#[test]
fn one_graph_is_refused() {
    let one = instance(&[(3.0, 0.1)], &[], &[(2, 1.0)]);
    let problem = Problem::new(&one.workflow, &one.platform).unwrap();
    let values = super::cra::SELFISH.values(&Request::default()).unwrap();
    let error = one_cluster(&problem, &values, "selfish").err().unwrap().to_string();
    assert!(error.contains("it plans several workflows, there is one"), "{error}");
    assert_eq!(validate(&problem, &plan(&problem, "cpa", &[]), &Limits::default()), []);
}
