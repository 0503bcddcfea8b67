use super::*;
use slackline_model::{SpeedUp, TaskId, Workflow};

/// The example of the module's head.
fn example() -> String {
    let head = include_str!("mod.rs");
    let start = head.find("```toml\n").unwrap() + "```toml\n".len();
    let body = &head[start..start + head[start..].find("//! ```").unwrap()];
    body.lines()
        .map(|l| l.trim_start_matches("//!").trim_start_matches(' ').to_string() + "\n")
        .collect()
}

fn parse(text: &str) -> Workflow {
    read(text).unwrap().workflow
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn the_example_means_what_its_comments_say() {
    let w = parse(&example());
    assert_eq!((w.name(), w.reference_speed()), ("thumbnails", 2e9));
    let [unpack, shrink, report] = [0, 1, 2].map(TaskId);
    assert_eq!(w.task_name(report), "report");
    assert_eq!(w.command(unpack).unwrap().shell_line(), Some("tar xf photos.tar"));
    assert_eq!(w.command(shrink).unwrap().arguments.len(), 4);
    assert_eq!(w.memory(report), 5e8);
    assert_eq!(w.kind_name(w.kind(shrink)), "convert");
    assert_eq!(w.width(shrink), (1, 8));
    assert_eq!(w.speedup(shrink), &SpeedUp::Amdahl { serial: 0.1 });
    // 20 s and 30 s at 2 Gflop/s
    assert_eq!([unpack, shrink, report].map(|t| w.work(t)), [40e9, 60e9, 1e9]);
    let edges: Vec<_> = w.edges().map(|e| (w.edge_ends(e), w.edge_bytes(e))).collect();
    assert_eq!(edges, [((unpack, shrink), 0.0), ((unpack, report), 0.0), ((shrink, report), 3e6)]);
    assert_eq!(w.file_bytes(slackline_model::FileId(0)), 250e6);
}

#[test]
fn a_table_of_times_has_a_column_per_host() {
    let text = "[task.a]\nseconds = { slow = 45, fast = 10 }\n\
                [task.b]\nwork = \"1Gf\"\nseconds = { fast = 0.5, slow = 1 }";
    let w = parse(text);
    assert_eq!(w.cost_table().unwrap().columns, ["fast", "slow"]);
    assert_eq!(w.cost_table().unwrap().row(TaskId(1)), [0.5, 1.0]);
    // By default the mean of 10 and 45 seconds.
    assert_eq!([w.work(TaskId(0)), w.work(TaskId(1))], [27.5e9, 1e9]);
}

#[test]
fn times_speeds_and_defaults() {
    let w = parse(
        r#"
        [defaults]
        time = "2min"
        size = "1kB"
        cores = 2
        [task.b]
        outputs = ["x"]
        [task.a]
        work = "3Gflop"
        inputs = ["x"]
        cores = 1
        [task.c]
        seconds = 1.5
        speedup = [1, 0.5]
        "#,
    );
    // In the order of the file, not of the alphabet.
    assert_eq!(w.tasks().map(|t| w.task_name(t)).collect::<String>(), "bac");
    assert_eq!([0, 1, 2].map(|t| w.work(TaskId(t))), [120e9, 3e9, 1.5e9]);
    assert_eq!([0, 1, 2].map(|t| w.width(TaskId(t))), [(2, 2), (1, 1), (2, 2)]);
    assert_eq!(w.total_edge_bytes(), 1000.0);
    assert_eq!(w.speedup(TaskId(2)).factor(2), 0.5);
}

#[test]
fn guesses_are_told() {
    let document = read("[files]\nx = \"1B\"\n[task.a]\n[task.b]\nseconds = 1").unwrap();
    assert_eq!(
        document.warnings,
        [
            "1 of 2 tasks say no work, time or seconds and count as no work, e.g. 'a'",
            "no task reads or writes the listed file 'x'",
        ]
    );
}

#[test]
fn says_what_is_wrong_and_where() {
    let cases = [
        ("", "there are no tasks"),
        ("[task.a]\nworks = 1", "line 2, column 1: unknown field `works`"),
        (
            "[task.a]\nwork = 5",
            "line 2, column 8: invalid type: integer `5`, expected work in quotes",
        ),
        ("[task.a]\nwork = \"5\"", "line 2, column 8: \"5\" is no work"),
        ("[task.a]\nwork = \"5GHz\"", "is no work"),
        ("[task.a]\ntime = \"5\"", "line 2, column 8: \"5\" has no unit"),
        ("[task.a]\nseconds = -5", "line 2, column 11: a time cannot be -5"),
        ("[task.a]\nseconds = nan", "a time cannot be NaN"),
        ("[task.a]\nseconds = { x = -1 }", "the time of 'a' on x is -1"),
        ("[task.a]\nseconds = {}", "needs a host"),
        ("[task.a]\nseconds = { x = 1 }\n[task.b]", "line 3, column 7: 'a' has times per host"),
        ("[task.a]\nseconds = 1\ntime = \"1s\"", "more than one of work, time and seconds"),
        ("[task.a]\ncores = 0", "line 2, column 9: a task cannot take 0 cores"),
        ("[task.a]\ncores = \"3-2\"\nalpha = 0", "no range of cores"),
        ("[task.a]\ncores = \"1-4\"", "does not say what it gains by them"),
        ("[task.a]\nalpha = 7", "line 1, column 7: speed-up of 'a'"),
        ("[task.a]\nalpha = 0\nspeedup = [1]", "only one of alpha, speedup and downey"),
        ("[task.a]\nmemory = \"2GX\"", "\"GX\" in \"2GX\" is no unit of size"),
        ("[task.a]\nafter = [\"b\"]", "line 2, column 10: there is no task 'b'"),
        ("[task.a]\nafter = [{ task = \"b\", size = 1 }]", "unknown field `size`"),
        ("[task.a]\nafter = [\"a\"]", "line 2, column 10: task 'a' depends on itself"),
        ("[task.a]\ninputs = [\"x\"]", "line 2, column 11: 'a' reads 'x', which no task writes"),
        (
            "[task.a]\noutputs = [\"x\"]\n[task.b]\noutputs = [\"x\"]",
            "line 4, column 12: file 'x' is written by both 'a' and 'b'",
        ),
        ("[task.a]\n[task.a]", "line 2, column 7: duplicate key"),
        ("[files]\nx = \"1B\"\nx = \"2B\"", "line 3, column 1: duplicate key"),
        ("[task.a]\nafter = [\"b\"]\n[task.b]\nafter = [\"a\"]", "in a circle"),
        ("[task.a", "line 1, column 8: "),
        ("[task.a]\ncommand = []", "a command needs a program"),
        ("task = 3", "line 1, column 8: invalid type"),
    ];
    for (text, message) in cases {
        assert!(error(text).contains(message), "{text}\n  gives {}", error(text));
    }
    for deep in ["[", "{a=", "[[", "a."] {
        error(&format!("x = {}", deep.repeat(200_000)));
        error(&deep.repeat(200_000));
    }
}

#[test]
fn writes_what_it_reads() {
    let text = r#"
name = "all \"sorts\"\n"
reference-speed = "3Gf"
[files]
"in put" = "7B"
out = "1.5MB"
unused = "0B"
[task."a b"]
kind = "k"
command = ["x", "", "y\\"]
inputs = ["in put"]
outputs = ["out", "other"]
work = "1e29f"
seconds = { p = 1, q = 1e-300 }
cores = 3
alpha = 0.25
[task.c]
command = "echo 'é' | wc"
inputs = ["out"]
after = ["a b", { task = "a b", data = "12.5kB" }]
time = "1ms"
seconds = { p = 0, q = 2 }
downey = { parallelism = 8, sigma = 0.5 }
cores = "2+"
[task.d]
after = ["c"]
seconds = { p = 0.1, q = 0.3 }
speedup = [1, 0.75]
memory = "3GiB"
"#;
    let first = parse(text);
    let mut out = Vec::new();
    write(&first, &mut out).unwrap();
    let written = String::from_utf8(out).unwrap();
    assert_eq!(parse(&written), first, "{written}");
}

#[test]
fn surroundings_are_read_with_their_defaults_and_written_again() {
    let w = parse(
        r#"
[defaults]
env = { ALL = "all", OWN = "default" }
time-limit = "2h"
modules = "gcc/13 fftw"
[task.a]
command = "x"
env = { OWN = 7 }
container = { image = "debian:12", engine = "podman" }
outputs = ["o", "p"]
temp = ["o"]
time = "1s"
[task.b]
command = ["y", "z"]
conda = "./env"
retries = 0
modules = []
inputs = ["o"]
time = "1s"
[task.c]
command = "false | true"
shell = "bash -o pipefail"
time = "1s"
"#,
    );
    let [a, b, c] = [0, 1, 2].map(TaskId);
    let around = |task| w.command(task).unwrap().surroundings.as_deref().unwrap();
    let env: Vec<(&str, &str)> =
        around(a).env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(env, [("ALL", "all"), ("OWN", "7")]);
    assert_eq!((around(a).time_limit, around(a).modules.len()), (Some(7200.0), 2));
    assert_eq!(around(a).temp, ["o"]);
    assert_eq!(around(a).container.as_ref().unwrap().engine.as_deref(), Some("podman"));
    assert_eq!((around(b).retries, around(b).modules.len()), (Some(0), 0));
    assert_eq!(around(b).conda.as_deref(), Some("./env"));
    assert_eq!(w.command(c).unwrap().program, "bash");
    assert_eq!(w.command(c).unwrap().arguments, ["-o", "pipefail", "-c", "false | true"]);
    let mut out = Vec::new();
    write(&w, &mut out).unwrap();
    let written = String::from_utf8(out).unwrap();
    assert_eq!(parse(&written), w, "{written}");
    for (text, said) in [
        ("env = { SLACKLINE_X = \"1\" }", "SLACKLINE_X"),
        ("container = { image = \"i\", engine = \"dokcer\" }", "docker"),
        ("temp = [\"q\"]", "'q' is no output"),
        ("conda = \"\"", "no name"),
    ] {
        let error = error(&format!("[task.a]\ncommand = \"x\"\noutputs = [\"o\"]\n{text}\n"));
        assert!(error.contains(said), "{error}");
    }
}
