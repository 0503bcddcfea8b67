//! Load times: a WfFormat file of some 4 MB (the size of the largest real ones that are commonly used) compared
//! with `serde_json` reading the same bytes as untyped values, and the same workflow as DAX.
//!
//! `FILE=path cargo bench -p slackline-formats` measures a file of your own instead.
#![allow(clippy::unwrap_used)] // a bench

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use slackline_formats::FileAccess;
use slackline_formats::{Document, Format};
use slackline_model::workflow::Command;
use slackline_model::{Task, WorkflowBuilder};

fn main() {
    divan::main();
}

/// 2,000 tasks on 20 levels, three edges each, with commands.
fn generated() -> Document {
    const WIDTH: usize = 100;
    let mut b = WorkflowBuilder::new("generated");
    b.set_reference_speed(1e9);
    let mut above = Vec::new();
    for level in 0..20 {
        let mut files = Vec::new();
        for i in 0..WIDTH {
            let name = format!("level{level:02}_ID{:07}", level * WIDTH + i);
            let mut task = Task::new(name, 1e9 * (1.0 + i as f64 * 0.37));
            task.kind = format!("level{level:02}");
            let arguments = (0..24).map(|k| format!("--option-{k}=value-{i}")).collect();
            task.command =
                Some(Command { program: task.kind.clone(), arguments, ..Command::default() });
            let task = b.add_task(task).unwrap();
            for k in [0, 1, 7].into_iter().filter(|_| level > 0) {
                b.reads(task, above[(i + k) % WIDTH]);
            }
            let file = b.add_file(&format!("poss2ukstu_{level:02}_{i:03}.fits"), 1e6).unwrap();
            b.writes(task, file).unwrap();
            files.push(file);
        }
        above = files;
    }
    Document::new(b.build().unwrap())
}

fn written(format: Format) -> String {
    let document = match std::env::var_os("FILE") {
        Some(path) => {
            slackline_formats::read_workflow(&FileAccess::default(), path.as_ref(), None).unwrap()
        }
        None => generated(),
    };
    let mut out = Vec::new();
    format.write(&document, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The bytes to read: the file itself where one is given.
fn wfformat() -> String {
    match std::env::var_os("FILE") {
        Some(path) => FileAccess::default().read_text(path.as_ref()).unwrap().to_string(),
        None => written(Format::WfFormat),
    }
}

#[divan::bench]
fn wfformat_as_untyped_json(bencher: Bencher<'_, '_>) {
    let text = wfformat();
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| serde_json::from_str::<serde_json::Value>(black_box(&text)).unwrap());
}

#[divan::bench]
fn wfformat_to_workflow(bencher: Bencher<'_, '_>) {
    let text = wfformat();
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| Format::WfFormat.read(black_box(&text)).unwrap());
}

#[divan::bench]
fn dax_to_workflow(bencher: Bencher<'_, '_>) {
    let text = written(Format::Dax);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| Format::Dax.read(black_box(&text)).unwrap());
}
