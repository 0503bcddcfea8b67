//! The replay does not depend on the distribution of traces over files.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::platform;
use slackline_mpi::settings::ReplaySettings;
use slackline_mpi::{Replay, Traces};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A ring whose ranks compute differently.
fn lines(rank: usize) -> Vec<String> {
    let mut lines = vec![format!("{rank} init")];
    for round in 0..50 {
        let (next, last) = ((rank + 1) % 4, (rank + 3) % 4);
        lines.push(format!("{rank} compute {}", 1000 * (rank + round)));
        lines.push(format!("{rank} isend {next} {round} 5000"));
        lines.push(format!("{rank} recv {last} {round} 5000"));
        lines.push(format!("{rank} waitall"));
    }
    lines.push(format!("{rank} finalize"));
    lines
}

fn ends(paths: &[PathBuf]) -> Vec<f64> {
    let platform = platform("star");
    let hosts: Vec<_> = platform.host_ids().collect();
    let traces = Traces::open(paths).unwrap();
    let replay = Replay::new(&platform, &hosts, traces, ReplaySettings::default()).unwrap();
    replay.run(&mut ()).unwrap().ends
}

fn gzip(path: &Path, text: &str) {
    let file = std::fs::File::create(path).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap();
}

#[test]
fn one_file_many_files_lists_folders_and_compressed_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = |rank: usize| lines(rank).join("\n") + "\n";
    let whole: String = (0..4).map(text).collect();
    std::fs::write(at("one.tit"), &whole).unwrap();
    let expected = ends(&[at("one.tit")]);
    assert!(expected.iter().all(|&end| end > 0.01));

    // Ranks take turns line by line.
    let all: Vec<Vec<String>> = (0..4).map(lines).collect();
    let mut turns = String::from("# a comment\n");
    for k in 0..all[0].len() {
        all.iter().for_each(|rank| turns += &format!("{}\n\n", rank[k]));
    }
    std::fs::write(at("turns.tit"), turns).unwrap();
    assert_eq!(ends(&[at("turns.tit")]), expected);

    std::fs::create_dir(at("each")).unwrap();
    let mut list = String::new();
    for rank in 0..4 {
        std::fs::write(at(&format!("each/{rank}.tit")), text(rank)).unwrap();
        list += &format!("each/{rank}.tit\n");
    }
    std::fs::write(at("list.txt"), list).unwrap();
    assert_eq!(ends(&[at("list.txt")]), expected);
    assert_eq!(ends(&[at("each")]), expected);
    let backwards: Vec<PathBuf> = (0..4).rev().map(|r| at(&format!("each/{r}.tit"))).collect();
    assert_eq!(ends(&backwards), expected);

    gzip(&at("one.tit.gz"), &whole);
    assert_eq!(ends(&[at("one.tit.gz")]), expected);
    std::fs::create_dir(at("gz")).unwrap();
    (0..4).for_each(|rank| gzip(&at(&format!("gz/{rank}.tit.gz")), &text(rank)));
    assert_eq!(ends(&[at("gz")]), expected);
    let zst = ruzstd::encoding::compress_to_vec(
        whole.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    std::fs::write(at("one.tit.zst"), zst).unwrap();
    assert_eq!(ends(&[at("one.tit.zst")]), expected);

    let mut packed = Vec::new();
    let traces = Traces::open(&[at("one.tit")]).unwrap();
    slackline_mpi::trace::pack(traces, &mut packed).unwrap();
    std::fs::write(at("one.tib"), packed).unwrap();
    assert_eq!(ends(&[at("one.tib")]), expected);
}

#[test]
fn files_that_do_not_fit_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("0.tit"), "0 compute 1\n").unwrap();
    std::fs::write(at("again.tit"), "0 compute 1\n").unwrap();
    std::fs::write(at("mixed.tit"), "1 compute 1\n0 compute 1\n").unwrap();
    let complaint = |paths: &[PathBuf]| match Traces::open(paths) {
        Err(error) => error.to_string(),
        Ok(traces) => {
            let platform = platform("star");
            let hosts: Vec<_> = platform.host_ids().collect();
            let replay = Replay::new(&platform, &hosts, traces, ReplaySettings::default()).unwrap();
            replay.run(&mut ()).unwrap_err().to_string()
        }
    };
    assert!(complaint(&[at("0.tit"), at("again.tit")]).contains("rank 0 also has"));
    let mixed = complaint(&[at("0.tit"), at("mixed.tit")]);
    assert!(mixed.contains("mixed.tit:2:1") && mixed.contains("line of rank 0"), "{mixed}");
    assert!(complaint(&[at("nothing.tit")]).contains("no such file"));
}
