use super::*;
use crate::{Document, FileAccess, ReadOptions, read_workflow, read_workflow_with};
use slackline_model::{TaskId, Workflow};
use std::path::Path;

/// A folder with these files; the workflow is `w.toml`.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn read_from(folder: &Path) -> crate::Result<Document> {
    read_workflow(&FileAccess::default(), &folder.join("w.toml"), None)
}

fn parse(text: &str) -> Document {
    read(text).unwrap()
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn names(w: &Workflow) -> Vec<&str> {
    w.tasks().map(|t| w.task_name(t)).collect()
}

fn task(w: &Workflow, name: &str) -> TaskId {
    w.tasks().find(|&t| w.task_name(t) == name).unwrap()
}

fn inputs<'w>(w: &'w Workflow, name: &str) -> Vec<&'w str> {
    w.inputs(task(w, name)).map(|f| w.file_name(f)).collect()
}

fn line<'w>(w: &'w Workflow, name: &str) -> &'w str {
    w.command(task(w, name)).unwrap().shell_line().unwrap()
}

const LANES: &str = "\
sample,lane,group
S1,L1,case
S1,L2,case
S2,L1,control
S10,L1,case
";

const PIPELINE: &str = r#"
[samples]
file = "samples.csv"
[params]
quality = 20
[defaults]
seconds = 1
[files]
"{sample}_{lane}.fq" = "1MB"
[task.align]
foreach = ["sample", "lane"]
command = "align -q {quality} {inputs} > {outputs}"
inputs = ["{sample}_{lane}.fq"]
outputs = ["{sample}.{lane}.bam"]
[task.merge]
foreach = "sample"
command = ["merge", "{inputs}", "-o", "{sample}.bam"]
inputs = ["{sample}.{lane}.bam"]
outputs = ["{sample}.bam"]
[task.check]
foreach = "group"
after = ["align"]
[task.all]
command = "cat {inputs} | awk '{print $1}' > {{all}}"
inputs = ["{sample}.bam"]
"#;

#[test]
fn rows_groups_and_gathers() {
    let place = folder(&[("samples.csv", LANES), ("w.toml", PIPELINE)]);
    let document = read_from(place.path()).unwrap();
    let w = &document.workflow;
    assert_eq!(
        names(w),
        [
            "align.S1.L1",
            "align.S1.L2",
            "align.S2.L1",
            "align.S10.L1",
            "merge.S1",
            "merge.S2",
            "merge.S10",
            "check.case",
            "check.control",
            "all"
        ]
    );
    assert_eq!(line(w, "align.S2.L1"), "align -q 20 S2_L1.fq > S2.L1.bam");
    assert_eq!(inputs(w, "merge.S1"), ["S1.L1.bam", "S1.L2.bam"]);
    let merge = w.command(task(w, "merge.S1")).unwrap();
    assert_eq!(merge.arguments, ["S1.L1.bam", "S1.L2.bam", "-o", "S1.bam"]);
    assert_eq!(inputs(w, "all"), ["S1.bam", "S2.bam", "S10.bam"]);
    assert_eq!(line(w, "all"), "cat S1.bam S2.bam S10.bam | awk '{print $1}' > {all}");
    let before: Vec<&str> =
        w.predecessors(task(w, "check.case")).map(|(t, _)| w.task_name(t)).collect();
    assert_eq!(before, ["align.S1.L1", "align.S1.L2", "align.S10.L1"]);
    assert_eq!(w.kind_name(w.kind(task(w, "merge.S2"))), "merge");
    let definition = document.definition.unwrap();
    assert_eq!((definition.rows, definition.templates.len()), (4, 4));
    assert_eq!(definition.templates[0].tasks, 4);
    assert_eq!(definition.templates[0].first, "align.S1.L1");
}

#[test]
fn parameters_are_replaced() {
    let place = folder(&[("samples.csv", LANES), ("w.toml", PIPELINE)]);
    let set = [("quality".to_string(), "30".to_string())];
    let path = place.path().join("w.toml");
    let read = read_workflow_with(&FileAccess::default(), &path, None, &set).unwrap();
    assert!(line(&read.workflow, "align.S1.L1").starts_with("align -q 30 "));
    assert!(read.definition.unwrap().parameters[0].is_set);
}

#[test]
fn lists_make_products_and_sheets_may_have_tabs() {
    let text = "[samples]\nfile = \"s.tsv\"\nseed = [1, 2]\nsize = [\"a\", \"b\"]\n\
                [task.\"run-{seed}-{name}\"]\nforeach = [\"name\", \"seed\"]\nseconds = \"{time}\"\n\
                outputs = [\"{name}.{seed}.{size}\"]\n";
    let place = folder(&[("s.tsv", "name\ttime\nx y\t3\nz\t4.5\n"), ("w.toml", text)]);
    let w = read_from(place.path()).unwrap().workflow;
    assert_eq!(names(&w), ["run-1-x y", "run-2-x y", "run-1-z", "run-2-z"]);
    let outputs: Vec<&str> = w.outputs(TaskId(3)).map(|f| w.file_name(f)).collect();
    assert_eq!(outputs, ["z.2.a", "z.2.b"]);
    assert_eq!(w.reference_seconds(TaskId(3)), 4.5);
    assert_eq!(w.kind_name(w.kind(TaskId(0))), "run");
}

#[test]
fn values_are_quoted_for_the_shell() {
    let text = "[samples]\ns = [\"a b\", \"it's; rm -rf x\"]\n[task.t]\nforeach = \"s\"\nseconds = 1\n\
                command = \"echo {s} '{s}' \\\"{s}\\\" ${s}\"";
    let w = parse(text).workflow;
    assert_eq!(line(&w, "t.a b"), "echo 'a b' 'a b' \"a b\" ${s}");
    let other = line(&w, "t.it's; rm -rf x");
    assert_eq!(other, "echo 'it'\\''s; rm -rf x' 'it'\\''s; rm -rf x' \"it's; rm -rf x\" ${s}");
}

#[test]
fn the_expanded_form_is_written_and_means_the_same() {
    let place = folder(&[("samples.csv", LANES), ("w.toml", PIPELINE)]);
    let document = read_from(place.path()).unwrap();
    let mut bytes = Vec::new();
    write(&document.workflow, &mut bytes).unwrap();
    let again = parse(std::str::from_utf8(&bytes).unwrap()).workflow;
    assert_eq!(names(&again), names(&document.workflow));
    for t in again.tasks() {
        assert_eq!(again.command(t), document.workflow.command(t));
        let files = |w: &Workflow| -> Vec<String> {
            w.inputs(t).chain(w.outputs(t)).map(|f| w.file_name(f).to_string()).collect()
        };
        assert_eq!(files(&again), files(&document.workflow));
    }
}

#[test]
fn a_text_without_any_of_it_is_not_touched() {
    let w = parse("[task.a]\nseconds = 1\ncommand = \"echo {print} {{x}}\"").workflow;
    assert_eq!(line(&w, "a"), "echo {print} {{x}}");
}

#[test]
fn what_is_refused_has_a_line() {
    let head = "[samples]\ns = [\"a\", \"b\"]\nr = [1, 2]\n[defaults]\nseconds = 1\n";
    for (rest, says) in [
        ("[task.t]\nforeach = \"q\"", "line 7, column 11: task 't': there is no column 'q'"),
        (
            "[task.t]\nforeach = \"s\"\noutputs = [\"{x}\"]",
            "line 8, column 12: task 't.a': unknown placeholder {x}",
        ),
        ("[task.t]\nforeach = \"s\"\ncommand = \"echo {r}\"", "{r} has 2 values here: 1, 2"),
        ("[task.\"t{s}\"]", "its name has a placeholder, and it has no foreach"),
        ("[task.\"t{s}\"]\nforeach = [\"s\", \"r\"]", "two tasks are named 'ta'"),
        ("[task.\"t.a\"]\n[task.t]\nforeach = \"s\"", "two tasks are named 't.a'"),
        ("[task.t]\nforeach = \"s\"\noutputs = [\"x\"]", "'x'"),
        ("[task.t]\nforeach = \"s\"\nin = \"c/b\"", "inside a choice or loop"),
        ("[task.t]\nforeach = [\"s\", \"s\"]", "twice"),
        ("[task.t]\noutputs = [\"{inputs}\"]", "can only be in a command"),
        ("[params]\ns = 1\n[task.t]", "are named 's'"),
        ("[params]\ninputs = 1\n[task.t]", "stands for files"),
    ] {
        let said = error(&format!("{head}{rest}"));
        assert!(said.contains(says) && said.contains("line "), "{rest}: {said}");
    }
    let up = "[samples]\ns = [\"../../x\"]\n[task.t]\nforeach = \"s\"\nseconds = 1\noutputs = [\"{s}.o\"]";
    assert!(error(up).contains("leaves its folder"), "{}", error(up));
    let far =
        "[samples]\ns = [\"/etc\"]\n[task.t]\nforeach = \"s\"\nseconds = 1\noutputs = [\"{s}/o\"]";
    assert!(error(far).contains("leaves its folder"), "{}", error(far));
}

#[test]
fn sheets_that_are_refused_are_named_with_their_line() {
    let text = "[samples]\nfile = \"s.csv\"\n[task.t]\nforeach = \"a\"\nseconds = 1\noutputs = [\"{a}\"]\n";
    for (sheet, says) in [
        ("a,a\n1,2\n", "s.csv:1:2: column a is there twice"),
        ("a,\n1,2\n", "s.csv:1:2: column 2 has no name"),
        ("b\n1\n", "w.toml:4:11: task 't': there is no column 'a'"),
        ("a,b\n1\n", "s.csv:2:"),
        ("a,b\n1,x\n,y\n", "s.csv:3:1: the cell of 'a' is empty"),
        ("a,b\n", "a head and no rows"),
        ("", "s.csv"),
    ] {
        let place = folder(&[("s.csv", sheet), ("w.toml", text)]);
        let said = read_from(place.path()).unwrap_err().to_string();
        assert!(said.contains(says), "{sheet:?}: {said}");
    }
    let place = folder(&[("w.toml", text)]);
    let said = read_from(place.path()).unwrap_err().to_string();
    assert!(said.contains("w.toml:2:8") && said.contains("s.csv"), "{said}");
    let said = read(text).unwrap_err().to_string();
    assert!(said.contains("no files beside it"), "{said}");
    let place = folder(&[("s.csv", "a,b\n1,2\n1,2\n"), ("w.toml", text)]);
    let warned = read_from(place.path()).unwrap().warnings;
    assert!(warned[0].contains("line 3: the same row as line 2"), "{warned:?}");
}

#[test]
fn ten_thousand_samples() {
    let mut sheet = String::from("sample,group\n");
    for i in 0..10_000 {
        sheet.push_str(&format!("S{i},{}\n", i % 7));
    }
    let text = "[samples]\nfile = \"s.csv\"\n[defaults]\nseconds = 1\n[files]\n\"{sample}.fq\" = \"1MB\"\n\
                [task.a]\nforeach = \"sample\"\ncommand = \"a {inputs}\"\ninputs = [\"{sample}.fq\"]\noutputs = [\"{sample}.a\"]\n\
                [task.b]\nforeach = \"sample\"\ncommand = \"b {inputs}\"\ninputs = [\"{sample}.a\"]\noutputs = [\"{sample}.b\"]\n\
                [task.c]\nforeach = \"group\"\ninputs = [\"{sample}.b\"]\noutputs = [\"{group}.c\"]\n\
                [task.d]\ninputs = [\"{group}.c\"]\n";
    let place = folder(&[("s.csv", &sheet), ("w.toml", text)]);
    let read = crate::read_workflow_with(
        &FileAccess::default(),
        &place.path().join("w.toml"),
        None,
        ReadOptions::default().parameters,
    );
    let w = read.unwrap().workflow;
    assert_eq!(w.len(), 20_008);
    assert_eq!(w.edge_count(), 20_007);
}
