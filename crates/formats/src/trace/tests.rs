use super::*;
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::trace::Happening;
use slackline_model::{FileId, ProcId, Task, WorkflowBuilder};

/// a on h1 (0-2), its file to h2 (2-3), b on h2 (3-5); a second try of b was lost before.
fn run(format: TraceFormat) -> String {
    let (workflow, platform, trace) = parts();
    let mut out = Vec::new();
    write(&trace, format, &workflow, &platform, &mut out).unwrap();
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
    trace.push(3.0, Happening::TransferFinished { file, from, to, bytes: Some(7.0) });
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
fn overlapping_transfers_have_tracks_of_their_own() {
    let mut b = WorkflowBuilder::new("fan-in");
    let sink = b.add_task(Task::new("sink", 1.0)).unwrap();
    for name in ["a", "b", "c"] {
        let task = b.add_task(Task::new(name, 1.0)).unwrap();
        b.add_edge(task, sink, 10.0).unwrap();
    }
    let workflow = b.build().unwrap();
    let (_, platform, _) = parts();
    let (from, to) = (HostId(0), HostId(1));
    let mut trace = Trace::default();
    // Two overlap; the third begins when the first ends.
    let steps = [
        (0.0, 0, true),
        (1.0, 1, true),
        (2.0, 0, false),
        (2.0, 2, true),
        (3.0, 1, false),
        (4.0, 2, false),
    ];
    for (at, file, begins) in steps {
        let file = FileId(file);
        trace.push(
            at,
            if begins {
                Happening::TransferStarted { file, from, to, bytes: 10.0 }
            } else {
                Happening::TransferFinished { file, from, to, bytes: None }
            },
        );
    }
    let mut text = Vec::new();
    write(&trace, TraceFormat::Chrome, &workflow, &platform, &mut text).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let tracks = |phase: &str| -> Vec<u64> {
        let events = document["traceEvents"].as_array().unwrap().iter();
        let threads = events.filter(|e| e["ph"] == phase).filter_map(|e| e["tid"].as_u64());
        threads.map(|thread| thread - (1 << 20)).collect()
    };
    assert_eq!(tracks("X"), [0, 1, 0]);
    assert_eq!(tracks("M"), [0, 1]);
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

/// Shared buffer with the text written so far, readable while a writer has it.
#[derive(Clone, Default)]
struct Seen(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

impl Write for Seen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_line_is_there_as_soon_as_it_happened() {
    let (workflow, platform, trace) = parts();
    let seen = Seen::default();
    let lines = || seen.0.borrow().iter().filter(|byte| **byte == b'\n').count();
    let mut writer = TraceWriter::new(TraceFormat::JsonLines, &workflow, &platform, seen.clone());
    assert_eq!(lines(), 1); // the header
    for (index, record) in trace.records().iter().enumerate() {
        writer.note(record);
        assert_eq!(lines(), index + 2);
    }
    writer.finish().1.unwrap();
    assert_eq!(String::from_utf8(seen.0.take()).unwrap(), run(TraceFormat::JsonLines));
}

#[test]
fn what_cannot_be_written_is_told_in_the_end() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no room"))
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (workflow, platform, trace) = parts();
    for format in [TraceFormat::JsonLines, TraceFormat::Chrome, TraceFormat::Paje] {
        let mut writer = TraceWriter::new(format, &workflow, &platform, Full);
        trace.records().iter().for_each(|record| writer.note(record));
        assert_eq!(writer.finish().1.unwrap_err().to_string(), "no room");
    }
}

/// A second transfer is named after all tasks; a beginning at the date of an end comes after it.
#[test]
fn paje_stands_in_the_order_of_dates() {
    let text = run(TraceFormat::Paje);
    let events =
        text.lines().filter(|l| ["7", "8", "9", "10"].contains(&l.split(' ').next().unwrap_or("")));
    let told: Vec<String> =
        events.map(|l| l.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    let expected =
        ["7 0", "8 2", "9 2", "10 3", "7 3", "8 4", "7 4", "8 5"].map(|e| format!("{e}.000000"));
    assert_eq!(told, expected);
    assert!(text.contains("k3"), "the three tries at tasks are spans 0 to 2: {text}");
}
