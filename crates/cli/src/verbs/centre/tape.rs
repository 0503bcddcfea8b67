//! `slackline centre tape`: requests to a tape library under scheduling policies.

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_centre::tape;
use slackline_centre::tape::{Case, Outcome, Policy};
use slackline_report::centre::tape::{chart, document, text};
use slackline_report::picture;
use slackline_view::gantt;
use slackline_view::gantt::SvgOptions;
use std::path::PathBuf;

/// Serve requests for files on tape, through a disk cache and a request scheduler
#[derive(Args)]
#[command(after_help = "\
CASE (JSON or TOML) has `library` {drives, mount, unmount, wind, rate}, `requests` [{id, file, \
tape, position, size, arrival}], and may have `weights` {requests, age}, `starvation` (seconds), \
`cache` (bytes), `policies`, `seed`. Mount and unmount are seconds or a distribution, e.g. \
{\"distribution\": \"lognormal\", \"mu\": 3.4, \"sigma\": 0.4}.

Examples:
  slackline centre tape tape-hierarchy --picture drives.svg
  slackline centre tape case.json --policy fifo,most_requests --json")]
pub(crate) struct Tape {
    /// The case
    case: PathBuf,
    /// Policies, separated by commas; those of the case, else all, if left out
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    policy: Vec<Policy>,
    /// Draw what the drives do over time, under the first policy: .svg or .png
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Tape {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.case))
            .draws("--picture", self.picture.as_ref())
            .json(self.json)
            .check(output)?;
        let read = output.files.read_text(&self.case)?;
        let case = Case::parse(&read)
            .map_err(|error| Failure::input(format!("{}: {error}", self.case.display())))?;
        let mut policies: Vec<Policy> = Vec::new();
        let wanted = [&self.policy, &case.policies].into_iter().find(|list| !list.is_empty());
        for policy in wanted.map_or(&Policy::ALL[..], Vec::as_slice) {
            if !policies.contains(policy) {
                policies.push(*policy);
            }
        }
        let outcomes: Vec<Outcome> =
            policies.into_iter().map(|policy| tape::run(&case, policy)).collect();
        if let (Some(path), Some(first)) = (&self.picture, outcomes.first()) {
            let svg = gantt::svg(&chart(&case, first), &SvgOptions::default());
            picture::write(&output.files, path, &svg)?;
        }
        if self.json {
            return output.json(&document(&case, &outcomes));
        }
        text(&case, &outcomes, output)
    }
}
