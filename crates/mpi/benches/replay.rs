//! Reading and replaying traces: `cargo bench -p slackline-mpi`. Items are lines or actions.

#![allow(clippy::expect_used)] // what is replayed here is made here

use divan::counter::ItemsCount;
use slackline_formats::FileAccess;
use slackline_mpi::settings::ReplaySettings;
use slackline_mpi::{Replay, Traces};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    divan::main();
}

const RANKS: usize = 64;
const ROUNDS: usize = 500;

/// Neighbours talk in pairs, one way at a time: no two messages share a link.
fn pairs(rank: usize, round: usize, out: &mut String) {
    let other = rank ^ 1;
    let flop = 1000 * (1 + (rank + round) % 7);
    let verb = if (rank + round).is_multiple_of(2) { "send" } else { "recv" };
    let _ = writeln!(out, "{rank} compute {flop}\n{rank} {verb} {other} 0 4096");
}

/// Halos of an 8 x 8 grid that is closed to a torus: eight messages at every host.
fn halos(rank: usize, round: usize, out: &mut String) {
    const SIDE: usize = 8;
    let (x, y) = (rank % SIDE, rank / SIDE);
    let at = |x: usize, y: usize| y % SIDE * SIDE + x % SIDE;
    let around = [at(x + 1, y), at(x + SIDE - 1, y), at(x, y + 1), at(x, y + SIDE - 1)];
    let _ = writeln!(out, "{rank} compute {}", 50_000 + 100 * ((rank + round) % 7));
    for (k, other) in around.into_iter().enumerate() {
        let _ = writeln!(out, "{rank} irecv {other} {} 8192\n{rank} isend {other} {k} 8192", k ^ 1);
    }
    let _ = writeln!(out, "{rank} waitall");
}

/// Traces by a rule, one file per rank, and how many lines they have.
struct GeneratedTraces {
    _folder: tempfile::TempDir,
    files: Vec<PathBuf>,
    lines: usize,
}

fn made(rule: fn(usize, usize, &mut String)) -> GeneratedTraces {
    let folder = tempfile::tempdir().expect("a folder");
    let mut made = GeneratedTraces { files: Vec::new(), lines: 0, _folder: folder };
    for rank in 0..RANKS {
        let mut text = format!("{rank} init\n");
        (0..ROUNDS).for_each(|round| rule(rank, round, &mut text));
        let _ = writeln!(text, "{rank} finalize");
        made.lines += text.lines().count();
        let file = made._folder.path().join(format!("{rank}.tit"));
        std::fs::write(&file, text).expect("a trace");
        made.files.push(file);
    }
    made
}

fn read(bencher: divan::Bencher<'_, '_>, rule: fn(usize, usize, &mut String)) {
    let made = made(rule);
    bencher.counter(ItemsCount::new(made.lines)).bench(|| {
        let (cursors, _spools) = Traces::open(&made.files).expect("traces").into_cursors();
        for mut cursor in cursors {
            while let Some(line) = cursor.next(&|_| None).expect("a line") {
                divan::black_box(line);
            }
        }
    });
}

fn replay(bencher: divan::Bencher<'_, '_>, rule: fn(usize, usize, &mut String)) {
    let made = made(rule);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/platforms/star.toml");
    let platform =
        slackline_formats::read_platform(&FileAccess::default(), &file, None).expect("a cluster");
    let hosts: Vec<_> = platform.host_ids().collect();
    bencher.counter(ItemsCount::new(made.lines)).bench(|| {
        let traces = Traces::open(&made.files).expect("traces");
        let replay = Replay::new(&platform, &hosts, traces, ReplaySettings::default());
        replay.and_then(|replay| replay.run(&mut ())).expect("a replay").makespan
    });
}

#[divan::bench]
fn read_pairs(bencher: divan::Bencher<'_, '_>) {
    read(bencher, pairs);
}

#[divan::bench]
fn read_halos(bencher: divan::Bencher<'_, '_>) {
    read(bencher, halos);
}

#[divan::bench]
fn replay_without_contention(bencher: divan::Bencher<'_, '_>) {
    replay(bencher, pairs);
}

#[divan::bench]
fn replay_with_contention(bencher: divan::Bencher<'_, '_>) {
    replay(bencher, halos);
}
