use super::{read, write};
use crate::detect::Format;
use crate::document::Document;
use crate::times::Times;
use slackline_model::{EdgeId, TaskId};

fn written(document: &Document) -> String {
    let mut out = Vec::new();
    write(document, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// An instance of 1.5 whose specification has these tasks and files.
fn instance(tasks: &str, files: &str) -> String {
    format!(
        r#"{{"name":"w","schemaVersion":"1.5","workflow":{{"specification":
        {{"tasks":[{tasks}],"files":[{files}]}}}}}}"#
    )
}

const A: &str = r#"{"name":"a","id":"a","parents":[],"children":["b"],"outputFiles":["x"]}"#;
const B: &str = r#"{"name":"b","id":"b","parents":["a"],"children":[],"inputFiles":["x"]}"#;
const X: &str = r#"{"id":"x","sizeInBytes":5}"#;

#[test]
fn a_specification_alone_is_a_workflow() {
    let document = read(&instance(&format!("{A},{B}"), X)).unwrap();
    let w = &document.workflow;
    assert_eq!((w.len(), w.edge_count(), w.edge_bytes(EdgeId(0))), (2, 1, 5.0));
    assert_eq!(document.warnings, ["no execution is recorded: the work of all tasks is 0"]);
    assert!(!written(&document).contains("execution"));
}

#[test]
fn one_side_of_a_dependency_is_enough() {
    let child_only = B.replace(r#""parents":["a"]"#, r#""parents":[]"#);
    let document = read(&instance(&format!("{A},{child_only}"), X)).unwrap();
    assert_eq!(document.workflow.edge_count(), 1);
}

#[test]
fn a_made_up_run_is_not_a_run() {
    let mut b = slackline_model::WorkflowBuilder::new("");
    b.add_task(slackline_model::Task::new("odd name (1)", 13.39e9).of_kind("k")).unwrap();
    b.add_task(slackline_model::Task::new("odd_name__1_", 1e9)).unwrap();
    let document = Document::new(b.build().unwrap());
    let text = written(&document);
    assert!(text.contains("\"runtimeInSeconds\": 13.39"), "{text}");
    let again = read(&text).unwrap();
    assert_eq!(again.recorded.as_ref().unwrap().run, None);
    let w = &again.workflow;
    assert_eq!(w.task_name(TaskId(0)), "odd_name__1_#2");
    assert_eq!(w.kind_name(w.kind(TaskId(0))), "k");
    assert_eq!((w.name(), w.work(TaskId(0))), ("workflow", 13.39e9));
    assert_eq!(written(&again), text);
}

#[test]
fn bad_instances_are_placed_and_explained() {
    let both = format!("{A},{B}");
    let with_run = |tasks: &str| {
        let execution = format!(
            r#","execution":{{"makespanInSeconds":1,"executedAt":"t","tasks":[{tasks}]}}}}}}"#
        );
        let base = instance(&both, X);
        format!("{}{execution}", base.trim_end().strip_suffix("}}").unwrap())
    };
    assert!(read(&with_run("")).is_ok());
    for (text, expected) in [
        (String::new(), "the file is empty"),
        ("{\n\"name\": 3}".into(), "line 2, column 9: invalid type"),
        ("{\"workflow\":{}}".into(), "schemaVersion"),
        (r#"{"schemaVersion":"1.5","workflow":{"tasks":[]}}"#.into(), "specification"),
        (r#"{"schemaVersion":"1.4","workflow":{"specification":{"tasks":[]}}}"#.into(), "tasks"),
        (r#"{"schemaVersion":"2.0","workflow":{"tasks":[]}}"#.into(), "'2.0' is not known"),
        (instance("", ""), "no tasks"),
        (instance(A, X), "tasks[0].children[0]: no task has the id 'b'"),
        (instance(&format!("{A},{A},{B}"), X), "tasks[1]: two tasks are named 'a'"),
        (instance(&both, ""), "'x' is not among the files"),
        (instance(&both, &format!("{X},{X}")), "files[1]: two files have the id 'x'"),
        (instance(&both, &X.replace('5', "1e999")), "out of range"),
        (instance(&both, &X.replace('5', "NaN")), "expected value"),
        (instance(&both, r#"{"id":"x"}"#), "sizeInBytes is missing"),
        (instance(&both.replace(r#""id":"a""#, r#""id":"""#), X), "tasks[0]: id is missing"),
        (instance(&both.replace(r#"["a"]"#, r#"["b"]"#), X), "task 'b' depends on itself"),
        (
            instance(&both.replace(r#""parents":[]"#, r#""parents":["b"]"#), X),
            "circle: b -> a -> b",
        ),
        (with_run(r#"{"id":"c","runtimeInSeconds":1}"#), "execution.tasks[0].id: no task"),
        (with_run(r#"{"id":"a"},{"id":"a"}"#), "execution.tasks[1]: task 'a' is listed twice"),
        (with_run(r#"{"id":"a","coreCount":0}"#), "tasks[0].coreCount: a task takes"),
        (with_run(r#"{"id":"a","coreCount":1e12}"#), "coreCount"),
        (with_run(r#"{"id":"a","memoryInBytes":-1}"#), "memoryInBytes"),
    ] {
        let message = read(&text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}\n{message}");
    }
    // Run times and sizes below zero, as real files have them, count as nothing.
    let warnings = |text: &str| {
        let document = read(text).unwrap();
        let w = &document.workflow;
        assert!(w.files().all(|f| w.file_bytes(f) == 0.0) || w.work(TaskId(0)) == 0.0);
        document.warnings.join("; ")
    };
    let small = warnings(&instance(&both, &X.replace('5', "-5")));
    assert!(small.contains("1 file has a negative size, which is taken as 0"), "{small}");
    let short = warnings(&with_run(r#"{"id":"a","runtimeInSeconds":-1}"#));
    assert!(short.contains("1 task has a negative run time, which is taken as 0"), "{short}");
}

#[test]
fn later_versions_are_read_with_a_warning() {
    let text = instance(&format!("{A},{B}"), X).replace("1.5", "1.7");
    assert!(read(&text).unwrap().warnings[0].contains("1.7 is not known"));
}

#[test]
fn old_names_that_repeat_take_their_ids() {
    let text = r#"{"name":"w","schemaVersion":"1.4","workflow":{"makespanInSeconds":1,
      "executedAt":"t","tasks":[
      {"name":"t","id":"1","type":"compute","runtimeInSeconds":1},
      {"name":"t","id":"2","type":"compute","runtimeInSeconds":1,"parents":["1"]}]}}"#;
    let document = read(text).unwrap();
    let w = &document.workflow;
    assert_eq!((w.task_name(TaskId(0)), w.task_name(TaskId(1))), ("t_1", "t_2"));
    assert_eq!(w.edge_count(), 1);
    let twice = text.replace(r#""id":"2""#, r#""id":"1""#);
    assert!(read(&twice).unwrap_err().to_string().contains("two tasks are named 't_1'"));
}

/// Two tasks that ran on machines of 1200 and 2500 MHz, and one on a machine of unknown speed.
fn recorded() -> String {
    let task = |id: &str| format!(r#"{{"name":"{id}","id":"{id}","parents":[],"children":[]}}"#);
    let ran = |id: &str, machine: &str| {
        format!(r#"{{"id":"{id}","runtimeInSeconds":10,"machines":["{machine}"]}}"#)
    };
    format!(
        r#"{{"name":"w","schemaVersion":"1.5","workflow":{{"specification":{{"tasks":[{},{},{}],
        "files":[]}},"execution":{{"makespanInSeconds":30,"executedAt":"2020-01-01T00:00:00Z",
        "tasks":[{},{},{}],"machines":[{{"nodeName":"m","cpu":{{"speedInMHz":1200}}}},
        {{"nodeName":"n","cpu":{{"speedInMHz":2500,"coreCount":4}}}},{{"nodeName":"o"}}]}}}}}}"#,
        task("a"),
        task("b"),
        task("c"),
        ran("a", "m"),
        ran("b", "n"),
        ran("c", "o")
    )
}

#[test]
fn seconds_count_at_the_speed_of_their_machine() {
    let document = read(&recorded()).unwrap();
    let work = |d: &Document| [0, 1, 2].map(|t| d.workflow.work(TaskId(t)));
    assert_eq!(work(&document), [12e9, 25e9, 10e9]);
    let times = document.times(Format::WfFormat);
    assert_eq!(times, Times::Machines { least: 1.2e9, most: 2.5e9, unknown: 1 });
    let back = read(&written(&document)).unwrap();
    assert_eq!(work(&back), work(&document));
    let at_two = document.at_reference_speed(Format::WfFormat, 2e9).unwrap();
    assert_eq!((work(&at_two), at_two.workflow.reference_speed()), ([20e9; 3], 2e9));
    assert_eq!(at_two.times(Format::WfFormat), Times::Assumed { speed: 2e9 });
    // All machines alike: tasks need not name theirs.
    let alike = recorded().replace("1200", "2500").replace(r#"{"nodeName":"o"}"#, "");
    let alike = alike.replace("},\n        {", "},{").replace(",]", "]");
    let nameless = ["m", "n", "o"]
        .iter()
        .fold(alike, |text, name| text.replace(&format!(r#","machines":["{name}"]"#), ""));
    let document = read(&nameless).unwrap();
    assert_eq!((work(&document), document.workflow.reference_speed()), ([25e9; 3], 2.5e9));
}

#[test]
fn machines_that_are_not_there_and_stand_still_are_refused() {
    let error = |text: &str| read(text).unwrap_err().to_string();
    let missing = recorded().replace(r#""machines":["n"]"#, r#""machines":["p"]"#);
    assert_eq!(
        error(&missing),
        "at the execution of task 'b': it ran on 'p', which is not among the machines"
    );
    let still = error(&recorded().replace("1200", "0"));
    assert!(still.contains("machines[0].cpu.speedInMHz: a machine cannot have a speed of 0"));
    let endless = recorded().replace(r#"":10,"#, r#"":1e300,"#);
    assert!(error(&endless).contains("is too much"), "{}", error(&endless));
}
