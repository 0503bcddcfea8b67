//! Real runs against what they cost elsewhere: trivial tasks beside `xargs -P 2`, playing a log beside
//! simulating the same tasks, memory per task. `cargo bench -p slackline --bench run` prints the ratios.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a broken bench is to be seen

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const TASKS: usize = 10_000;

/// Tasks of the longer log: each has its request, its process and its end.
const LOGGED: usize = 34_000;

const TWO_CORES: &str = "name = \"two cores\"\n[host.here]\ncores = 2\nspeed = \"1Gf\"\n";

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    std::fs::write(place.join("p.toml"), TWO_CORES).unwrap();
    workflow(place, "w.toml", TASKS);
    let run = "run w.toml --platform p.toml --folder r --quiet";
    let (ours, kilobytes) = timed(place, run);
    let lines: String = (0..TASKS).map(|_| "x\n").collect();
    std::fs::write(place.join("lines"), lines).unwrap();
    let begin = Instant::now();
    let xargs = "xargs -P 2 -I{} true < lines";
    assert!(Command::new("sh").args(["-c", xargs]).current_dir(place).status().unwrap().success());
    let theirs = begin.elapsed().as_secs_f64();
    println!(
        "{TASKS} trivial tasks, two cores, durable log: {ours:.2} s, xargs -P 2: {theirs:.2} s"
    );
    println!("  rate over that of xargs: {:.2} (wanted: 0.5)", theirs / ours);
    println!("  memory: {:.2} kB a task (wanted: 3)", kilobytes / TASKS as f64);

    workflow(place, "v.toml", LOGGED);
    timed(place, "run v.toml --platform p.toml --folder s --quiet");
    let log = std::fs::read_to_string(place.join("s/log.jsonl")).unwrap();
    let (resumed, _) = timed(place, "resume s --quiet");
    let (simulated, _) = timed(place, "simulate v.toml --platform p.toml --quiet");
    println!("{} records played: {resumed:.2} s, simulated: {simulated:.2} s", log.lines().count());
    println!("  over simulating: {:.2} (wanted: at most 3)", resumed / simulated);
}

fn workflow(place: &Path, name: &str, tasks: usize) {
    let mut text = String::new();
    for task in 0..tasks {
        writeln!(text, "[task.t{task}]\ncommand = [\"true\"]\ntime = \"1ms\"").unwrap();
    }
    std::fs::write(place.join(name), text).unwrap();
}

/// Seconds and most kilobytes of a command.
fn timed(place: &Path, line: &str) -> (f64, f64) {
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args(line.split_whitespace())
        .current_dir(place)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let used = wait4::Wait4::wait4(&mut child).unwrap();
    assert!(used.status.success(), "{line}");
    (begin.elapsed().as_secs_f64(), used.rusage.maxrss as f64 / 1000.0)
}
