//! Replaying short texts.
#![allow(dead_code, clippy::unwrap_used)] // no test uses all of it, and all want to fail

use slackline_formats::FileAccess;
use slackline_model::{HostId, Platform};
use slackline_mpi::settings::{ReplaySettings, split_pair};
use slackline_mpi::{Replay, ReplayError, Replayed, Traces};
use std::path::Path;

/// One of the test platforms.
pub(crate) fn platform(name: &str) -> Platform {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/platforms");
    slackline_formats::read_platform(
        &FileAccess::default(),
        &folder.join(format!("{name}.toml")),
        None,
    )
    .unwrap()
}

/// Replays a trace with rank r on host r, or says why not.
pub(crate) fn try_replay(
    platform: &Platform,
    trace: &str,
    changes: &[&str],
) -> Result<Replayed, ReplayError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.tit");
    std::fs::write(&file, trace).unwrap();
    let pairs: Vec<_> = changes.iter().map(|change| split_pair(change).unwrap()).collect();
    let settings = ReplaySettings::from_pairs(&pairs).unwrap();
    let hosts: Vec<HostId> = platform.host_ids().collect();
    let traces = Traces::open(&[file])?;
    let mut replay = Replay::new(platform, &hosts, traces, settings)?;
    replay.keep_dates();
    replay.run(&mut ())
}

/// Dates of all actions, in microseconds to a tenth.
pub(crate) fn dates(trace: &str, changes: &[&str]) -> Vec<Vec<f64>> {
    let outcome = try_replay(&platform("star"), trace, changes).unwrap();
    let round = |date: f64| (date * 1e7).round() / 10.0;
    let dates = outcome.dates.unwrap().into_iter();
    dates.map(|rank| rank.into_iter().map(round).collect()).collect()
}
