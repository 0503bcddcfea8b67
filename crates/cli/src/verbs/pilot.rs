//! `slackline pilot`: what a batch job of a run on a cluster does.

use crate::input::seconds;
use crate::interrupt;
use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_core::run;
use std::path::PathBuf;
use std::time::Duration;

/// Work for a run on a cluster, as one of its hosts
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct Pilot {
    /// The folder of the run
    folder: PathBuf,
    /// Name of the run
    #[arg(long)]
    run: String,
    /// The host, counted from 0
    #[arg(long)]
    host: u32,
    /// Its name
    #[arg(long)]
    name: String,
    /// Number of this host's pilot
    #[arg(long)]
    number: u32,
    /// The drive of the run that started it
    #[arg(long)]
    drive: u32,
    /// The one operation it is for
    #[arg(long)]
    only: Option<u64>,
    /// Time without an engine after which it ends
    #[arg(long, value_parser = seconds)]
    patience: f64,
}

impl Pilot {
    pub(crate) fn run(self, _: &mut Output) -> Result<(), Failure> {
        let Pilot { folder, run, host, name, number, drive, only, patience } = self;
        let patience = Duration::try_from_secs_f64(patience).map_err(Failure::input)?;
        let pilot = run::Pilot { folder, run, host, name, number, drive, only, patience };
        run::adopt_orphans(); // where the system cannot, groups end all the same
        run::raise_open_files();
        pilot.serve(&interrupt::listen()).map_err(Failure::work)
    }
}
