//! `slackline pilot`: what a batch job of a run on a cluster does.

use crate::interrupt;
use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run;
use std::path::PathBuf;

/// Execute tasks of a run on this node (internal)
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct Pilot {
    /// The folder of the run
    folder: PathBuf,
    /// The pilot, as the engine describes it
    pilot: String,
    /// Its place in an array of jobs
    #[arg(long, default_value_t = 0)]
    index: u64,
}

impl Pilot {
    pub(crate) fn run(self, _: &mut Output) -> Result<(), Failure> {
        let pilot = run::Pilot::parse(self.folder, &self.pilot, self.index);
        let pilot =
            pilot.map_err(|why| Failure::input(format!("no pilot of this version: {why}")))?;
        run::adopt_orphans(); // where the system cannot, groups end all the same
        run::raise_open_files();
        pilot.serve(&interrupt::listen()).map_err(Failure::work)
    }
}
