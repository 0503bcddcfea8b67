//! `slackline calibrate`: settings of a simulation from measurements.

mod runs;

use crate::output::Output;
use crate::path_check::Files;
use clap::{Args, Subcommand, ValueEnum};
use slackline_core::Failure;
use slackline_model::units::{parse_bandwidth, parse_duration};
use slackline_mpi::calibrate;
use slackline_mpi::calibrate::Criterion;
use slackline_report::mpi::calibration::{document, text};
use std::path::PathBuf;

/// Find the settings of a simulation from measurements
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
From real runs: how long kinds of tasks take against their estimates, how fast hosts are, what \
connections carry. DIR gets a platform with the levels of its hosts, the workflow with learnt times, \
and calibration.json with every figure, its samples and spread, and the runs it comes from.

Examples:
  slackline calibrate montage.run -o learnt
  slackline calibrate monday.run tuesday.run --workflow next.json -o learnt
  slackline simulate learnt/workflow.json --platform learnt/platform.toml"
)]
pub(crate) struct Calibrate {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    runs: runs::Runs,
}

#[derive(Subcommand)]
enum What {
    Mpi(Mpi),
}

/// Latency, bandwidth, overheads and compute rates of an MPI cluster
#[derive(Args)]
#[command(after_help = "\
The measurements come from ci/mpi/measure.c, run by two processes on two nodes. Latency and \
bandwidth are those the platform file gives for a route between two nodes.

Examples:
  mpicc -O2 ci/mpi/measure.c -o measure -lm && mpiexec -n 2 ./measure > data.csv
  slackline calibrate mpi data.csv --latency 1us --bandwidth 10GBps -o mpi.toml
  slackline replay lu.tit --platform small-cluster --config mpi.toml")]
struct Mpi {
    /// Measurements: kind,size,seconds
    data: PathBuf,
    /// Latency of the platform between two nodes
    #[arg(long, value_name = "TIME", value_parser = |text: &str| parse_duration(text).map_err(|e| e.to_string()))]
    latency: f64,
    /// Bandwidth of the platform between two nodes
    #[arg(long, value_name = "RATE", value_parser = |text: &str| parse_bandwidth(text).map_err(|e| e.to_string()))]
    bandwidth: f64,
    /// Criterion of the best segments: the smallest relative error, or the largest product of
    /// correlations (for data with little noise)
    #[arg(long, value_enum, default_value = "relative-error", value_name = "WHAT")]
    segments_by: SegmentsBy,
    /// Write the settings to this TOML file; the measurements are kept beside it
    #[arg(short, long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SegmentsBy {
    RelativeError,
    Correlation,
}

impl From<SegmentsBy> for Criterion {
    fn from(by: SegmentsBy) -> Criterion {
        match by {
            SegmentsBy::RelativeError => Criterion::RelativeError,
            SegmentsBy::Correlation => Criterion::Correlation,
        }
    }
}

impl Calibrate {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.what {
            Some(What::Mpi(mpi)) => mpi.run(output),
            None => self.runs.run(output),
        }
    }
}

impl Mpi {
    fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.data))
            .writes("--output", self.output.as_ref())
            .json(self.json)
            .check(output)?;
        if !(self.latency > 0.0 && self.bandwidth > 0.0) {
            return Err(Failure::input("latency and bandwidth of the platform must be above 0"));
        }
        let data = calibrate::read(&output.files, &self.data)?;
        let Some(found) = calibrate::calibrate(&data, self.segments_by.into()) else {
            return Err(Failure::input(format!("{}: too few measurements", self.data.display())));
        };
        if let Some(path) = &self.output {
            let text = found.toml(self.latency, self.bandwidth);
            output.files.write(path, |out| out.write_all(text.as_bytes()))?;
            let kept = path.with_extension("csv");
            if kept != self.data {
                let raw = output.files.read_text(&self.data)?;
                output.files.write(&kept, |out| out.write_all(raw.as_bytes()))?;
            }
        }
        let Mpi { latency, bandwidth, .. } = self;
        if self.json {
            document(&self.data, bandwidth, latency, &found, output)
        } else {
            text(bandwidth, latency, &found, output)
        }
    }
}
