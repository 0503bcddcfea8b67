//! Memory use of simulations, through the whole command.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use std::process::{Command, Stdio};
use wait4::Wait4;

/// Most bytes a command had at once.
fn peak(place: &Place, line: &str) -> f64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args(line.split(' '))
        .current_dir(place.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let done = child.wait4().unwrap();
    assert!(done.status.success(), "{line}");
    done.rusage.maxrss as f64
}

/// Reading, planning, running and counting: workflow and platform are there once, the trace not at
/// all, whether it is written or not.
#[test]
fn a_run_takes_a_kilobyte_a_task() {
    let place = Place::new();
    place.ok("generate platform cluster --hosts 64 -o p.toml");
    for tasks in [5_000, 25_000] {
        let costs = "--costs uniform --ccr 0.1 --seed 1";
        place.ok(&format!("generate workflow layered --tasks {tasks} {costs} -o {tasks}.stg"));
    }
    let a_task = |more: &str| {
        let of =
            |tasks: u32| peak(&place, &format!("simulate {tasks}.stg -p p.toml --quiet{more}"));
        (of(25_000) - of(5_000)) / 20_000.0
    };
    let plain = a_task("");
    assert!(plain < 1_200.0, "{plain:.0} bytes a task");
    let traced = a_task(" --trace t.jsonl");
    // One that is kept takes 600 more.
    assert!(traced < plain + 200.0, "{traced:.0} bytes a task with a trace, {plain:.0} without");
}

/// Contents of a storage stay the text they are, with four bytes a file.
#[test]
fn a_million_files_are_declared_in_64_megabytes() {
    let place = Place::new();
    let disk = "[host.h]\nspeed = \"1Gf\"\n[[disk]]\nname = \"d\"\nhost = \"h\"\nread = \"1MBps\"\nwrite = \"1MBps\"\n";
    for (name, files) in [("few", 1), ("many", 1_000_000)] {
        let list: String =
            (0..files).map(|k| format!("/data/run{:03}/f{k:07} 1048576\n", k % 997)).collect();
        place.write(&format!("{name}.txt"), list);
        place.write(&format!("{name}.toml"), format!("{disk}content = \"{name}.txt\"\n"));
    }
    let few = peak(&place, "show few.toml --json");
    let more = peak(&place, "show many.toml --json") - few;
    assert!(more < f64::from(64 << 20), "{more:.0} bytes");
    // The same in a table.
    let connection = rusqlite::Connection::open(place.path().join("many.db")).unwrap();
    connection
        .execute_batch(
            "PRAGMA synchronous = off; CREATE TABLE files (path TEXT, size INTEGER);
             WITH RECURSIVE n (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < 999999)
             INSERT INTO files SELECT printf('/data/run%03d/f%07d', k % 997, k), 1048576 FROM n;",
        )
        .unwrap();
    drop(connection);
    place.write("table.toml", format!("{disk}content = \"many.db\"\n"));
    let more = peak(&place, "show table.toml --json") - few;
    assert!(more < f64::from(64 << 20), "{more:.0} bytes from a table");
}
