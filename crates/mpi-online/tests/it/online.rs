//! Programs in C, compiled with our header, run under simulation.

#![allow(clippy::unwrap_used)]

use slackline_formats::FileAccess;
use slackline_model::{HostId, Platform};
use slackline_mpi::{Replay, ReplaySettings, Traces};
use slackline_mpi_online::library::Unpacked;
use slackline_mpi_online::{Compute, Finished, Launch, OnlineError, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder of compiled programs; a C compiler is there wherever Rust programs can be linked.
fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap().keep();
        let mpi = Unpacked::new().unwrap().with_headers().unwrap();
        for name in ["calls", "groups", "errors", "broken", "kernels", "charged"] {
            let source = format!("tests/programs/{name}.c");
            let mut compiler = Command::new("cc");
            compiler.args(["-O1", "-w", &source, "-o"]).arg(folder.join(name));
            compiler.arg("-I").arg(mpi.path()).arg("-L").arg(mpi.path()).args(["-lmpich", "-lm"]);
            assert!(compiler.status().unwrap().success(), "{source}");
        }
        folder
    })
}

fn platform() -> (Platform, Vec<HostId>) {
    let file = Path::new("../mpi/tests/platforms/star.toml");
    let platform = slackline_formats::read_platform(&FileAccess::default(), file, None).unwrap();
    let hosts = platform.host_ids().collect();
    (platform, hosts)
}

fn start(name: &str, arguments: &[&str], compute: Compute) -> Launch {
    let mut command = vec![programs().join(name).into_os_string()];
    command.extend(arguments.iter().map(Into::into));
    Launch { command, compute, host_speed: None, threshold: 1e-6, record: true, to_stderr: true }
}

fn simulate(
    name: &str,
    arguments: &[&str],
    ranks: usize,
    pairs: &[(&str, &str)],
    compute: Compute,
) -> Result<Finished, OnlineError> {
    let (platform, hosts) = platform();
    let launch = start(name, arguments, compute);
    run(&platform, &hosts[..ranks], settings(pairs), &launch, &mut ())
}

fn settings(pairs: &[(&str, &str)]) -> ReplaySettings {
    let pairs: Vec<_> = [("smpi/grow-injected-times", "no")]
        .iter()
        .chain(pairs)
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    ReplaySettings::from_pairs(&pairs).unwrap()
}

/// Runs twice, replays what was recorded, and gives the dates.
fn check(name: &str, ranks: usize, pairs: &[(&str, &str)]) -> Vec<f64> {
    let first = simulate(name, &[], ranks, pairs, Compute::None).unwrap();
    let second = simulate(name, &[], ranks, pairs, Compute::None).unwrap();
    assert_eq!(first.replayed.ends, second.replayed.ends, "{name} {pairs:?}");
    assert_eq!(first.record, second.record, "{name} {pairs:?}");
    let trace = tempfile::Builder::new().suffix(".tit").tempfile().unwrap();
    let mut text = b"#slackline-trace 1\n".to_vec();
    text.extend(first.record.unwrap().concat());
    std::fs::write(trace.path(), text).unwrap();
    let (platform, hosts) = platform();
    let traces = Traces::open(&[trace.path().to_path_buf()]).unwrap();
    let replay = Replay::new(&platform, &hosts, traces, settings(pairs)).unwrap();
    let replayed = replay.run(&mut ()).unwrap();
    assert_eq!(replayed.ends, first.replayed.ends, "{name} {pairs:?}");
    first.replayed.ends
}

#[test]
fn runs_repeat_and_their_traces_replay_to_the_same_dates() {
    for pairs in [&[][..], &[("network/model", "LV08")], &[("smpi/async-small-thresh", "65536")]] {
        check("calls", 4, pairs);
        check("groups", 4, pairs);
        check("kernels", 4, pairs);
    }
    for selector in ["ompi", "mpich"] {
        check("kernels", 3, &[("smpi/coll-selector", selector)]);
    }
}

/// The programs print what they find wrong; their exit codes say it, too.
#[test]
fn data_are_right() {
    for ranks in [2, 3, 4] {
        for name in ["calls", "groups", "errors", "kernels"] {
            let (platform, hosts) = platform();
            let mut launch = start(name, &[], Compute::None);
            launch.record = false;
            run(&platform, &hosts[..ranks], settings(&[]), &launch, &mut ()).unwrap();
        }
    }
}

#[test]
fn charged_work_takes_its_time() {
    let (platform, hosts) = platform();
    let speed = platform.host(hosts[0]).speed;
    let finished = simulate("charged", &[], 2, &[], Compute::Charged).unwrap();
    // Rank r charges (r + 1) * 1e9 flop, then sleeps half a second; nothing is sent.
    for (rank, end) in finished.replayed.ends.iter().enumerate() {
        let expected = (rank + 1) as f64 * 1e9 / speed + 0.5;
        assert!((end - expected).abs() < 1e-9, "{end} {expected}");
    }
    let skipped = simulate("charged", &[], 2, &[], Compute::None).unwrap();
    assert!(skipped.replayed.ends.iter().all(|end| (end - 0.5).abs() < 1e-9));
}

#[test]
fn broken_programs_end_with_their_cause() {
    let cases = [
        ("crash", "rank 1 was killed by signal 6"),
        ("exit", "rank 1 exited with code 0 without calling MPI_Finalize"),
        ("abort", "rank 1: called MPI_Abort with code 3"),
        ("deadlock", "deadlock"),
        ("rank", "MPI_Send: there is no rank 3"),
        ("long", "MPI_Recv: truncation"),
    ];
    for (how, cause) in cases {
        let error = simulate("broken", &[how], 3, &[], Compute::None).unwrap_err().to_string();
        assert!(error.contains(cause), "{how}: {error}");
    }
    let error = simulate("broken", &["poll"], 2, &[("smpi/test", "0")], Compute::None).unwrap_err();
    assert!(error.to_string().contains("smpi/test"), "{error}");
    // Nothing wrong: it ends.
    simulate("broken", &[], 3, &[], Compute::None).unwrap();
}

#[test]
fn programs_without_mpi_are_named() {
    let (platform, hosts) = platform();
    let launch = Launch { command: vec!["true".into()], ..start("calls", &[], Compute::None) };
    let error = run(&platform, &hosts[..1], settings(&[]), &launch, &mut ()).unwrap_err();
    assert!(error.to_string().contains("MPI_Init"), "{error}");
    let launch = Launch { command: vec!["no/such".into()], ..launch };
    let error = run(&platform, &hosts[..1], settings(&[]), &launch, &mut ()).unwrap_err();
    assert!(matches!(error, OnlineError::Start(_)), "{error}");
}
