//! `slackline centre storage`: operations on storages and on files.

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_centre::storage;
use slackline_centre::storage::Case;
use slackline_report::centre::storage as storage_report;
use std::path::PathBuf;

/// Simulate operations on storages: when they begin and end, or what a script answers
#[derive(Args)]
#[command(after_help = "\
CASE (JSON or TOML) has `storages` {name: {model, host, ...}}, `links`, `routes` and `operations` \
(read, write, copy, transfer), or `storages` {name: {capacity, files}}, `mounts` {host: {path: \
storage}} and a `script` of operations on files, which take no time.

Models: linear, affine, piecewise, concurrency, stochastic; bytes and bytes/s, seconds.

Examples:
  slackline centre storage ops.json
  slackline centre storage ops.json --json")]
pub(crate) struct Storage {
    /// The case
    case: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Storage {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default().reads(Some(&self.case)).json(self.json).check(output)?;
        let text = output.files.read_text(&self.case)?;
        let case = Case::parse(&text)
            .map_err(|error| Failure::input(format!("{}: {error}", self.case.display())))?;
        match case {
            Case::Operations { platform, operations } => {
                let dates = storage::run(&platform, storage::plain_models(), &operations)
                    .map_err(Failure::work)?;
                storage_report::operations(self.json, &operations, &dates, output)
            }
            Case::Script(script) => storage_report::script(self.json, *script, output),
        }
    }
}
