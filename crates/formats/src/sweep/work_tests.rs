use super::*;

/// The application of the report's appendix: 10 inputs, 12 tasks, an output each.
fn report() -> String {
    let sizes = [
        10456, 22356, 1230456, 234559, 1130456, 1230456, 230456, 1334559, 120456, 1223456, 230456,
        323459, 230456, 334559, 230456, 234559, 230456, 323459, 230456, 334559, 230456, 234559,
    ];
    let tasks = [
        ("0 1 2", "600 500 600", "610 503 602"),
        ("1 2 3", "600 500 600", "590 502 604"),
        ("3 4 5", "700 600 600", "703 604 623"),
        ("2 6 8", "300 200 600", "304 206 601"),
        ("5 8 9", "500 300 600", "502 308 578"),
        ("7 2 3", "300 200 600", "303 210 600"),
        ("4 1 2", "600 500 600", "610 503 592"),
        ("9 2 6", "600 500 600", "612 512 600"),
        ("2 4 9", "700 600 600", "689 603 620"),
        ("2 6 8", "300 200 600", "256 202 577"),
        ("3 8 5", "500 300 600", "512 301 609"),
        ("6 2 3", "300 200 600", "300 200 600"),
    ];
    let mut text = String::from("WorkDescription 1 22 12\n\n# inputs and outputs\n");
    for (id, size) in sizes.iter().enumerate() {
        text.push_str(&format!("File: <{id}> <file{id}> <{size}> <{size}>\n"));
    }
    for (id, (inputs, real, estimated)) in tasks.iter().enumerate() {
        let output = 10 + id;
        text.push_str(&format!(
            "Work: <{id}> < 3 : {inputs}> < 1 : {output} > < 3 : {real} > <3 :{estimated} >\n"
        ));
    }
    text
}

#[test]
fn the_application_of_the_report() {
    let document = read(&report()).unwrap();
    let workflow = &document.workflow;
    assert_eq!((workflow.len(), workflow.file_count(), workflow.edge_count()), (12, 22, 0));
    let usage: Vec<usize> = workflow.files().map(|f| workflow.consumers(f).len()).collect();
    assert_eq!(usage[..10], [1, 3, 9, 5, 3, 3, 4, 1, 4, 3]);
    let table = workflow.cost_table().unwrap();
    assert_eq!(table.columns, ["arch0", "arch1", "arch2"]);
    assert_eq!(table.row(TaskId(9)), [256.0, 202.0, 577.0]);
    let measured = document.measured.unwrap();
    assert_eq!(measured.seconds.row(TaskId(9)), [300.0, 200.0, 600.0]);
    assert_eq!(measured.bytes[7], 1334559.0);
}

#[test]
fn what_is_written_is_read_again() {
    let document = read(&report()).unwrap();
    let mut out = Vec::new();
    CODEC.write.unwrap()(&document, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(read(&text).unwrap(), document, "{text}");
    // Without estimates of their own, what is stated is the truth.
    let plain =
        "WorkDescription 1 1 1\nFile: <0> <o> <2> <2>\nWork: <0> <0 :> <1 : 0> <1 : 2.5> <1 : 2.5>";
    let document = read(plain).unwrap();
    assert_eq!(document.measured, None);
    let mut out = Vec::new();
    CODEC.write.unwrap()(&document, &mut out).unwrap();
    assert_eq!(read(std::str::from_utf8(&out).unwrap()).unwrap(), document);
}

#[test]
fn mistakes_are_placed() {
    let file = "File: <0> <a> <1> <1>\nFile: <1> <b> <1> <1>\n";
    for (counts, body, message) in [
        ("3 0", "", "line 1, column 1: 3 files are announced, there are 2"),
        ("2 1", "", "1 tasks are announced, there are 0"),
        (
            "2 1",
            "Work: <0> <1 : 7> <1 : 1> <1 : 5> <1 : 5>",
            "line 4, column 11: the inputs: file '7' has not been declared",
        ),
        ("2 1", "Work: <0> <2 : 0> <1 : 1> <1 : 5> <1 : 5>", "2 are announced, there are 1"),
        (
            "2 1",
            "Work: <0> <1 : 0> <1 : 1> <2 : 5 6> <1 : 5>",
            "run times for 2 architectures and estimates for 1",
        ),
        ("2 1", "Work: <0> <1 : 0> <1 : 1> <1 : -5> <1 : 5>", "'-5' is no number >= 0"),
        ("2 1", "Work: <0> <1 : 0> <1 : 1> <0 :> <0 :>", "the run times are missing"),
        ("2 1", "Work: <0> <1 : 0> <1 : 1> <1 : 5>", "the estimated run times is missing"),
        ("2 1", "Work: <0> <0> <1 : 1> <1 : 5> <1 : 5>", "<how many : which>"),
        ("2 1", "File: <1> <c> <1> <1>", "file 1 is declared twice"),
        ("2 1", "File: <2> <a> <1> <1>", "'a'"),
        ("2 1", "Fill: <2> <a> <1> <1>", "'Fill:' is not known"),
        ("2 1", "nothing", "expected 'File: <...>'"),
    ] {
        let text = format!("WorkDescription 1 {counts}\n{file}{body}\n");
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{body}: {error}");
    }
    let two = "WorkDescription 1 0 2\nWork: <0> <0:> <0:> <1 : 1> <1 : 1>\nWork: <1> <0:> <0:> <2 : 1 1> <2 : 1 1>\n";
    assert!(read(two).unwrap_err().to_string().starts_with("line 3, column 7: run times for 2"));
    assert!(read("WorkDescription 1 0 0").is_err(), "no task");
    assert!(read("").is_err());
}
