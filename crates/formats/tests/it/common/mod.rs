//! Documents to try formats on, and what must not get lost between them.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses a part

mod facts;

#[allow(unused_imports)] // as above
pub(crate) use facts::facts;
use slackline_formats::{Document, Format};
use slackline_model::workflow::Command;
use slackline_model::{Task, TaskId, WorkflowBuilder};
use std::path::PathBuf;

/// All workflow fixtures, by file name.
pub(crate) fn fixtures() -> Vec<(PathBuf, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/workflows");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    };
    paths.into_iter().filter(|p| p.is_file()).map(read).collect()
}

/// Workflows of our own making: layered with shared files, weighted edges, odd names, one task.
pub(crate) fn documents() -> Vec<Document> {
    vec![
        Document::new(layered(6, 5)),
        Document::new(weighted()),
        Document::new(odd()),
        Document::new(single()),
    ]
}

/// `depth` levels of `width` tasks; every task reads two files of the level above and one input.
pub(crate) fn layered(depth: usize, width: usize) -> slackline_model::Workflow {
    let mut b = WorkflowBuilder::new("layered");
    b.set_reference_speed(1e9);
    let shared = b.add_file("params.txt", 77.0).unwrap();
    let mut above = Vec::new();
    for level in 0..depth {
        let mut files = Vec::new();
        for i in 0..width {
            let seconds = 0.1 * (level * width + i + 1) as f64;
            let mut task = Task::new(format!("t{level}_{i}"), seconds * 1e9);
            task.kind = format!("kind{}", i % 3);
            task.memory = 1e6 * i as f64;
            if i % 2 == 1 {
                (task.min_width, task.max_width) = (3, 3);
            }
            let arguments = vec!["-i".to_string(), format!("{i} {level}")];
            task.command =
                Some(Command { program: task.kind.clone(), arguments, ..Command::default() });
            let task = b.add_task(task).unwrap();
            b.reads(task, shared);
            if level > 0 {
                b.reads(task, above[i]);
                b.reads(task, above[(i + 1) % width]);
            }
            let file = b.add_file(&format!("f{level}_{i}.dat"), (100 * level + i) as f64).unwrap();
            b.writes(task, file).unwrap();
            files.push(file);
        }
        above = files;
    }
    b.add_control(TaskId(0), TaskId::new(depth * width - 1)).unwrap();
    b.build().unwrap()
}

fn weighted() -> slackline_model::Workflow {
    let mut b = WorkflowBuilder::new("weighted");
    for i in 0..6 {
        b.add_task(Task::new(format!("{i}"), f64::from(i) * 1e9)).unwrap();
    }
    for (from, to, bytes) in [(0, 1, 10.0), (0, 2, 20.0), (1, 3, 0.0), (2, 3, 5.0), (0, 1, 7.0)] {
        b.add_edge(TaskId(from), TaskId(to), bytes).unwrap();
    }
    b.add_control(TaskId(3), TaskId(4)).unwrap();
    b.build().unwrap()
}

fn odd() -> slackline_model::Workflow {
    let mut b = WorkflowBuilder::new("odd <names> & \"such\"");
    let a = b.add_task(Task::new("a task", 1e9).of_kind("k & <k>")).unwrap();
    let c = b.add_task(Task::new("ÿ/\"q\"", 2e9)).unwrap();
    let file = b.add_file("dir/file one.txt", 3.0).unwrap();
    b.writes(a, file).unwrap();
    b.reads(c, file);
    let own = b.add_file("log", 4.0).unwrap();
    b.writes(c, own).unwrap();
    b.reads(c, own);
    b.add_file("nobody's", 9.0).unwrap();
    b.build().unwrap()
}

fn single() -> slackline_model::Workflow {
    let mut b = WorkflowBuilder::new("");
    b.add_task(Task::new("only", 0.0)).unwrap();
    b.build().unwrap()
}

/// Writes in a format and reads it again.
pub(crate) fn through(document: &Document, format: Format) -> Document {
    let mut out = Vec::new();
    format.write(document, &mut out).unwrap();
    format.read(std::str::from_utf8(&out).unwrap()).unwrap()
}
