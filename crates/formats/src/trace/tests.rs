use super::*;
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::trace::Happening;
use slackline_model::{FileId, ProcId, Task, WorkflowBuilder};

/// a on h1 (0-2), its file to h2 (2-3), b on h2 (3-5); a second try of b was lost before.
fn run(format: TraceFormat) -> String {
    let (workflow, platform, trace) = parts();
    let mut out = Vec::new();
    TracedRun { trace: &trace, workflow: &workflow, platform: &platform }
        .write(format, &mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

fn parts() -> (Workflow, Platform, Trace) {
    let mut b = WorkflowBuilder::new("two \"steps\"");
    let first = b.add_task(Task::new("a", 1.0)).unwrap();
    let second = b.add_task(Task::new("b", 1.0)).unwrap();
    b.add_edge(first, second, 10.0).unwrap();
    let workflow = b.build().unwrap();
    let mut b = PlatformBuilder::new("pair");
    b.set_matrix(Matrix::uniform(Some(10.0), 0.0));
    let root = b.root().unwrap();
    for name in ["h1", "h2"] {
        b.add_host(root, HostSpec::new(name, 1.0)).unwrap();
    }
    let platform = b.build().unwrap();
    let (file, from, to) = (FileId(0), HostId(0), HostId(1));
    let mut trace = Trace::default();
    trace.push(0.0, Happening::TaskStarted { task: first, procs: vec![ProcId(0)] });
    trace.push(2.0, Happening::TaskFinished { task: first });
    trace
        .push(2.0, Happening::TransferStarted { file, from, to, bytes: workflow.file_bytes(file) });
    trace.push(3.0, Happening::TransferFinished { file, from, to });
    trace.push(3.0, Happening::TaskStarted { task: second, procs: vec![ProcId(1)] });
    trace.push(4.0, Happening::TaskCancelled { task: second });
    trace.push(4.0, Happening::TaskStarted { task: second, procs: vec![ProcId(1)] });
    trace.push(5.0, Happening::TaskFinished { task: second });
    (workflow, platform, trace)
}

#[test]
fn what_was_written_is_read_back() {
    let (workflow, platform, trace) = parts();
    let text = run(TraceFormat::JsonLines);
    assert_eq!(read(&text, &workflow, &platform).unwrap(), trace);
    let fails = |text: &str| read(text, &workflow, &platform).unwrap_err().to_string();
    assert!(fails(&text.replace("\"h2\"", "\"h9\"")).contains("the platform has no host 'h9'"));
    assert!(fails(&text.replace("slackline/trace/1", "x")).contains("no trace"));
    assert!(fails(&text.replace("task-finished", "task-vanished")).contains("task-vanished"));
}

#[test]
fn json_lines_are_json() {
    let text = run(TraceFormat::JsonLines);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 9);
    assert_eq!(lines[0]["schema"], "slackline/trace/1");
    assert_eq!(lines[1]["on"]["host"], "h1");
    assert_eq!(
        (lines[3]["event"].as_str(), lines[3]["at"].as_f64()),
        (Some("transfer-started"), Some(2.0))
    );
}

#[test]
fn chrome_events_have_their_times_in_microseconds() {
    let document: serde_json::Value = serde_json::from_str(&run(TraceFormat::Chrome)).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    let complete: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    assert_eq!(complete.len(), 4); // a, b lost, b, the transfer
    let b = complete.iter().find(|e| e["name"] == "b" && e["args"]["lost"] == false).unwrap();
    assert_eq!((b["ts"].as_f64(), b["dur"].as_f64()), (Some(4e6), Some(1e6)));
    assert!(complete.iter().any(|e| e["name"] == "b" && e["cat"] == "lost"));
}

#[test]
fn paje_pops_what_it_pushed() {
    let text = run(TraceFormat::Paje);
    let count = |start: &str| text.lines().filter(|l| l.starts_with(start)).count();
    assert_eq!((count("7 "), count("8 ")), (3, 3));
    assert_eq!((count("9 "), count("10 ")), (1, 1));
    // At 4 the first b is popped before the second is pushed.
    let at_four: Vec<&str> = text.lines().filter(|l| l.contains(" 4.000000 TASK")).collect();
    assert!(at_four[0].starts_with("8 ") && at_four[1].starts_with("7 "), "{at_four:?}");
}
