//! Decisions of a run against a log of them.

use super::Ran;
use crate::failure::Failure;
use slackline_engine::DecisionLog;
use slackline_formats::FileAccess;
use std::path::Path;

/// Fails where a run decided otherwise than a log says.
pub fn compare_decisions(files: &FileAccess, path: &Path, runs: &[Ran]) -> Result<(), Failure> {
    let [ran] = runs else {
        return Err(Failure::input("--same-decisions compares one run; several were asked for"));
    };
    let text = files.read_text(path)?;
    let log = DecisionLog::read(&mut text.as_bytes())
        .map_err(|why| Failure::input(format!("{}: {why}", path.display())))?;
    match ran.log.first_difference(&log) {
        None => Ok(()),
        Some((call, why)) => {
            let message =
                format!("decides otherwise than {} at call {call}: {why}", path.display());
            Err(Failure::work(message))
        }
    }
}
