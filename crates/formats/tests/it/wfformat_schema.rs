//! Our WfFormat fixtures and everything our writer emits, checked against the rules of the
//! published schemas 1.3 to 1.6: required properties, types, bounds, enumerations, patterns.
#![allow(clippy::unwrap_used)] // tests

use crate::common;

use serde_json::Value;
use slackline_formats::{Document, Format};

/// Rule for a property.
#[derive(Clone)]
enum Rule {
    Text,
    Number,
    NumberFrom(f64),
    IntegerFrom(f64),
    OneOf(&'static [&'static str]),
    /// A text of letters, digits and these characters.
    Id(&'static str),
    /// At least so many of these.
    List(usize, Box<Rule>),
    /// Properties with their rules; a `!` in front of a name means it must be there.
    Object(Vec<(&'static str, Rule)>),
}
use Rule::*;

fn list(rule: Rule) -> Rule {
    List(0, Box::new(rule))
}

fn check(value: &Value, rule: &Rule, path: &str, faults: &mut Vec<String>) {
    let mut expect = |fine: bool, what: &str| {
        if !fine {
            faults.push(format!("{path}: {what}, not {value}"));
        }
    };
    let at_least = |low: f64| value.as_f64().is_some_and(|v| v >= low);
    match rule {
        Text => expect(value.as_str().is_some_and(|t| !t.is_empty()), "a text"),
        Number => expect(value.is_number(), "a number"),
        NumberFrom(low) => expect(at_least(*low), "a large enough number"),
        IntegerFrom(low) => {
            let whole = value.as_f64().is_some_and(|v| v.fract() == 0.0);
            expect(whole && at_least(*low), "a large enough whole number");
        }
        OneOf(known) => expect(value.as_str().is_some_and(|t| known.contains(&t)), "a known word"),
        Id(others) => {
            let allowed = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            let fine = value.as_str().is_some_and(|t| !t.is_empty() && t.chars().all(allowed));
            expect(fine, "an id");
        }
        List(fewest, item) => match value.as_array() {
            Some(items) => {
                expect(items.len() >= *fewest, "a longer list");
                for (i, value) in items.iter().enumerate() {
                    check(value, item, &format!("{path}[{i}]"), faults);
                }
            }
            None => expect(false, "a list"),
        },
        Object(properties) => {
            expect(value.is_object(), "an object");
            for (name, rule) in properties {
                let (required, name) = match name.strip_prefix('!') {
                    Some(name) => (true, name),
                    None => (false, *name),
                };
                match value.get(name) {
                    Some(value) => check(value, rule, &format!("{path}.{name}"), faults),
                    None if required => faults.push(format!("{path}.{name} is missing")),
                    None => {}
                }
            }
        }
    }
}

fn machine(memory: &'static str, count: &'static str, speed: &'static str) -> Rule {
    Object(vec![
        ("system", OneOf(&["linux", "macos", "windows"])),
        ("architecture", Text),
        ("!nodeName", Text),
        ("release", Text),
        (memory, IntegerFrom(1.0)),
        (
            "cpu",
            Object(vec![(count, IntegerFrom(1.0)), (speed, IntegerFrom(1.0)), ("vendor", Text)]),
        ),
    ])
}

fn command() -> Rule {
    Object(vec![("program", Text), ("arguments", list(Text))])
}

/// The names that 1.3 and 1.4 have for the same thing.
struct OldNames {
    makespan: &'static str,
    machine_memory: &'static str,
    size: &'static str,
    runtime: &'static str,
    numbers: [&'static str; 3],
}

fn old_workflow(names: OldNames) -> Rule {
    let file = Object(vec![
        ("!name", Text),
        (names.size, IntegerFrom(0.0)),
        ("!link", OneOf(&["input", "output"])),
    ]);
    let mut task = vec![
        ("!name", Text),
        ("id", Text),
        ("category", Text),
        ("!type", OneOf(&["compute", "transfer", "auxiliary"])),
        ("command", command()),
        ("parents", list(Id("-_."))),
        ("files", list(file)),
        (names.runtime, Number),
        ("cores", NumberFrom(1.0)),
        ("avgCPU", Number),
        ("energy", Number),
        ("avgPower", Number),
        ("priority", Number),
        ("machine", Text),
    ];
    task.extend(names.numbers.map(|name| (name, Number)));
    Object(vec![
        (names.makespan, Number),
        ("!executedAt", Text),
        ("machines", List(1, Box::new(machine(names.machine_memory, "count", "speed")))),
        ("!tasks", List(1, Box::new(Object(task)))),
    ])
}

fn new_workflow(task_id: &'static str, file_id: &'static str, with_metrics: bool) -> Rule {
    let task = Object(vec![
        ("!name", Text),
        ("!id", Id(task_id)),
        ("!parents", list(Id(task_id))),
        ("!children", list(Id(task_id))),
        ("inputFiles", list(Id(file_id))),
        ("outputFiles", list(Id(file_id))),
    ]);
    let file = Object(vec![("!id", Id(file_id)), ("!sizeInBytes", IntegerFrom(0.0))]);
    let executed = Object(vec![
        ("!id", Id(task_id)),
        ("!runtimeInSeconds", Number),
        ("executedAt", Text),
        ("command", command()),
        ("coreCount", NumberFrom(1.0)),
        ("avgCPU", Number),
        ("readBytes", Number),
        ("writtenBytes", Number),
        ("memoryInBytes", Number),
        ("energyInKWh", Number),
        ("avgPowerInW", Number),
        ("priority", Number),
        ("machine", Text),
        ("machines", list(Text)),
    ]);
    let mut specification = vec![("!tasks", List(1, Box::new(task))), ("files", list(file))];
    if with_metrics {
        let names = [
            "numberOfTasks",
            "numberOfFiles",
            "sumOfFileSizesInBytes",
            "numberOfLevels",
            "minimumWidth",
            "maximumWidth",
        ];
        specification
            .push(("metrics", Object(names.map(|name| (name, IntegerFrom(0.0))).to_vec())));
    }
    let execution = vec![
        ("!makespanInSeconds", Number),
        ("!executedAt", Text),
        ("!tasks", List(1, Box::new(executed))),
        ("machines", List(1, Box::new(machine("memoryInBytes", "coreCount", "speedInMHz")))),
    ];
    Object(vec![("!specification", Object(specification)), ("execution", Object(execution))])
}

fn schema(version: &'static str) -> Rule {
    let system = Object(vec![("!name", Text), ("!version", Text), ("url", Text)]);
    let author = vec![("!name", Text), ("!email", Text), ("institution", Text), ("country", Text)];
    let (system_name, versions, workflow): (_, &[&str], _) = match version {
        "1.3" => {
            let names = OldNames {
                makespan: "!makespan",
                machine_memory: "memory",
                size: "!size",
                runtime: "runtime",
                numbers: ["bytesRead", "bytesWritten", "memory"],
            };
            ("wms", &["1.3"], old_workflow(names))
        }
        "1.4" => {
            let names = OldNames {
                makespan: "!makespanInSeconds",
                machine_memory: "memoryInBytes",
                size: "!sizeInBytes",
                runtime: "runtimeInSeconds",
                numbers: ["readBytes", "writtenBytes", "memoryInBytes"],
            };
            ("wms", &["1.4"], old_workflow(names))
        }
        "1.5" => ("runtimeSystem", &["1.5"], new_workflow("-_.", "-_.", false)),
        _ => ("runtimeSystem", &["1.6"], new_workflow("_.#:/-", "-_./:#", true)),
    };
    Object(vec![
        ("!name", Text),
        ("description", Text),
        ("createdAt", Text),
        ("!schemaVersion", OneOf(versions)),
        (system_name, system),
        ("author", Object(author)),
        ("!workflow", workflow),
    ])
}

fn faults(text: &str, version: &'static str) -> Vec<String> {
    let mut faults = Vec::new();
    check(&serde_json::from_str(text).unwrap(), &schema(version), "$", &mut faults);
    faults
}

/// Beyond the schema: parents and children agree, references resolve, the metrics are right.
fn check_meaning(text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    let specification = &value["workflow"]["specification"];
    let tasks = specification["tasks"].as_array().unwrap();
    let names = |task: &Value, key: &str| -> Vec<String> {
        let list = task[key].as_array().cloned().unwrap_or_default();
        list.iter().map(|v| v.as_str().unwrap().to_string()).collect()
    };
    let by_id = |id: &str| tasks.iter().find(|t| t["id"] == id).unwrap();
    let files = specification["files"].as_array().unwrap();
    for task in tasks {
        let id = task["id"].as_str().unwrap().to_string();
        for parent in names(task, "parents") {
            assert!(names(by_id(&parent), "children").contains(&id), "{parent} -> {id}");
        }
        for child in names(task, "children") {
            assert!(names(by_id(&child), "parents").contains(&id), "{id} -> {child}");
        }
        for file in names(task, "inputFiles").iter().chain(&names(task, "outputFiles")) {
            assert!(files.iter().any(|f| f["id"] == **file), "{file}");
        }
    }
    let metrics = &specification["metrics"];
    assert_eq!(metrics["numberOfTasks"], tasks.len());
    assert_eq!(metrics["numberOfFiles"], files.len());
    let bytes: f64 = files.iter().map(|f| f["sizeInBytes"].as_f64().unwrap()).sum();
    assert_eq!(metrics["sumOfFileSizesInBytes"].as_f64(), Some(bytes));
}

const FIXTURES: [(&str, &str); 4] = [
    ("1.3", include_str!("../fixtures/workflows/sweep-1.3.json")),
    ("1.4", include_str!("../fixtures/workflows/sweep-1.4.json")),
    ("1.5", include_str!("../fixtures/workflows/sweep-1.5.json")),
    ("1.6", include_str!("../fixtures/workflows/sweep-1.6.json")),
];

fn read(text: &str) -> Document {
    Format::WfFormat.read(text).unwrap()
}

fn written(document: &Document) -> String {
    let mut out = Vec::new();
    Format::WfFormat.write(document, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_checker_notices_faults() {
    let (_, text) = FIXTURES[3];
    for (from, to, expected) in [
        ("\"1.6\"", "\"1.5\"", "$.schemaVersion"),
        ("\"name\": \"sweep\",", "", "$.name is missing"),
        ("\"sizeInBytes\": 12", "\"sizeInBytes\": 1.5", "files[5].sizeInBytes"),
        ("\"id\": \"README\"", "\"id\": \"READ ME\"", "files[5].id"),
        ("\"macos\"", "\"beos\"", "machines[1].system"),
        ("\"coreCount\": 1.5", "\"coreCount\": 0.5", "coreCount"),
        ("\"makespanInSeconds\": 95.5,", "", "makespanInSeconds is missing"),
    ] {
        let found = faults(&text.replacen(from, to, 1), "1.6");
        assert!(found.len() == 1 && found[0].contains(expected), "{from}: {found:?}");
    }
}

#[test]
fn fixtures_obey_their_schemas() {
    for (version, text) in FIXTURES {
        assert_eq!(faults(text, version), [""; 0], "{version}");
    }
    check_meaning(FIXTURES[3].1);
}

#[test]
fn what_we_write_obeys_the_newest_schema() {
    for (version, text) in FIXTURES {
        let text = written(&read(text));
        assert_eq!(faults(&text, "1.6"), [""; 0], "from {version}");
        check_meaning(&text);
    }
    for document in common::documents() {
        let text = written(&document);
        assert_eq!(faults(&text, "1.6"), [""; 0], "{}", document.workflow.name());
        check_meaning(&text);
    }
}

#[test]
fn every_version_says_the_same() {
    let [old, _, _, _] = FIXTURES.map(|(_, text)| read(text));
    let w = &old.workflow;
    assert_eq!((w.len(), w.file_count(), w.edge_count()), (4, 5, 4));
    let split = w.task(slackline_model::TaskId(0));
    assert_eq!(split.kind, "split");
    assert_eq!((split.work, split.memory), (5.25 * 2.4e9, 120e3)); // seconds on a machine of 2.4 GHz
    assert_eq!(split.command.unwrap().arguments, ["-n", "2", "all input.csv"]);
    assert_eq!(w.width(slackline_model::TaskId(1)), (2, 2));
    assert_eq!(w.total_edge_bytes(), 1500.0 + 2500.0 + 30.0 + 0.0);
    let recorded = old.recorded.as_ref().unwrap();
    let run = recorded.run.as_ref().unwrap();
    assert_eq!((run.makespan_seconds, run.machines.len()), (Some(95.0), 2));
    assert_eq!(run.machines[0].memory_bytes, Some(16e9));
    assert_eq!(recorded.tasks[0].read_bytes, Some(4000.0));
    assert_eq!(recorded.tasks[3].machines, ["node-2"]);
    for (version, text) in &FIXTURES[1..3] {
        let new = read(text);
        assert_eq!(common::facts(&new), common::facts(&old), "{version}");
        let (mut new, mut old) = (new.recorded.unwrap(), old.recorded.clone().unwrap());
        for recorded in [&mut new, &mut old] {
            // 1.5 has no roles; the texts differ on purpose.
            recorded.tasks.iter_mut().for_each(|t| t.role = None);
            (recorded.description, recorded.created_at) = (None, None);
        }
        assert_eq!(new, old, "{version}");
    }
}

#[test]
fn a_recorded_run_survives() {
    for (version, text) in FIXTURES {
        let document = read(text);
        let again = read(&written(&document));
        assert_eq!(again, document, "{version}");
        assert_eq!(written(&again), written(&document), "{version}");
    }
    // Fractional cores are kept beside the whole width.
    let document = read(FIXTURES[3].1);
    assert_eq!(document.workflow.width(slackline_model::TaskId(2)), (2, 2));
    assert_eq!(document.recorded.unwrap().tasks[2].cores, Some(1.5));
}
