//! The moldable planners against plans computed independently in exact rational arithmetic.
//!
//! `fixtures/moldable.jsonl` has one line per problem: an instance without a network, or a graph and a platform
//! with one (one cluster or several, 5 to 20 tasks, 4 to 30 processors), and the plans: widths, starts,
//! makespan, work, and the method's further facts. The first is the example of the biCPA simulator, the second
//! the same on two clusters. Where equal processors are free any may be taken, so that sets are not compared.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use serde_json::Value;
use slackline_formats::{dot, instance, platform_toml};
use slackline_model::schedule::{Detail, Limits, validate};
use slackline_model::{Platform, Problem, Schedule, Workflow};
use slackline_schedule::{Request, registry};

fn read(line: &Value) -> (Workflow, Platform) {
    if line["instance"].is_object() {
        let instance = instance::read(&line["instance"].to_string()).unwrap();
        return (instance.workflow, instance.platform);
    }
    let platform = platform_toml::parse(line["platform"].as_str().unwrap()).unwrap();
    (dot::read(line["dot"].as_str().unwrap().as_bytes()).unwrap(), platform)
}

/// A detail as the fixture writes it.
fn value(detail: &Detail) -> Value {
    match detail {
        Detail::Count(n) => (*n).into(),
        Detail::Number(x) => (*x).into(),
        Detail::Text(text) => text.as_str().into(),
        Detail::List(list) => list.iter().map(value).collect(),
        Detail::Record(parts) => parts.iter().map(|(k, v)| (k.to_string(), value(v))).collect(),
    }
}

fn told(schedule: &Schedule, name: &str) -> Value {
    let found = schedule.details.iter().find(|d| d.0 == name);
    value(&found.unwrap_or_else(|| panic!("no {name}")).1)
}

fn close(a: f64, b: &Value) -> bool {
    let b = b.as_f64().unwrap();
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn every_method_gives_the_independent_plan() {
    let mut compared = 0;
    for line in include_str!("../fixtures/moldable.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (workflow, platform) = read(&line);
        let problem = Problem::new(&workflow, &platform).unwrap();
        for plan in line["plans"].as_array().unwrap() {
            let method = plan["algorithm"].as_str().unwrap();
            let mut request = Request::default();
            for (name, value) in plan["set"].as_object().unwrap() {
                let text = value.as_str().map_or(value.to_string(), str::to_string);
                request.given.push((name.clone(), text));
            }
            let at = format!("{method} {:?} on {}", request.given, line["name"]);
            let schedule = registry::find(method).unwrap().plan(&problem, &request).unwrap();
            assert_eq!(validate(&problem, &schedule, &Limits::default()), [], "{at}");
            let widths: Vec<usize> =
                schedule.placements.iter().flatten().map(|p| p.procs().len()).collect();
            let wanted: Vec<usize> = serde_json::from_value(plan["alloc"].clone()).unwrap();
            assert_eq!(widths, wanted, "{at}");
            assert!(close(schedule.makespan(), &plan["makespan"]), "{at}");
            assert!(close(told(&schedule, "work").as_f64().unwrap(), &plan["work"]), "{at}");
            let starts = plan["start"].as_array().unwrap();
            for (placement, wanted) in schedule.placements.iter().flatten().zip(starts) {
                assert!(close(placement.start, wanted), "{at}: {placement:?}, not {wanted}");
            }
            for (member, detail) in [
                ("iterations", "iterations"),
                ("divisor", "constraint"),
                ("virtual", "virtual"),
                ("translated", "translated"),
                ("sets", "sets"),
                ("caps", "caps"),
            ] {
                if let Some(wanted) = plan.get(member) {
                    assert_eq!(told(&schedule, detail), *wanted, "{at}: {detail}");
                }
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 145);
}
