//! `slackline calibrate`: settings of a simulation from measurements.

mod runs;

use crate::output::Output;
use crate::path_check::Files;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use slackline_core::Failure;
use slackline_model::units::{parse_bandwidth, parse_duration};
use slackline_mpi::calibrate::{self, Calibration, Criterion};
use slackline_report::table::Table;
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

#[derive(Serialize)]
struct CalibrationDocument<'a> {
    settings: std::collections::BTreeMap<&'static str, String>,
    segments: Vec<[f64; 4]>,
    mean_log_error: Errors,
    #[serde(skip_serializing_if = "Option::is_none")]
    limiter: Option<f64>,
    measurements: &'a str,
}

#[derive(Serialize)]
struct Errors {
    affine: f64,
    best_affine: f64,
    segments: f64,
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
        if self.json { self.document(&found, output) } else { self.text(&found, output) }
    }

    fn document(&self, found: &Calibration, output: &mut Output) -> Result<(), Failure> {
        let [affine, best_affine, segments] = found.errors;
        output.json(&CalibrationDocument {
            settings: found.settings(self.latency, self.bandwidth).into_iter().collect(),
            segments: found
                .transfer
                .iter()
                .map(|p| [p.from, p.constant, p.rate(self.bandwidth), p.correlation])
                .collect(),
            mean_log_error: Errors { affine, best_affine, segments },
            limiter: found.limiter,
            measurements: &self.data.to_string_lossy(),
        })
    }

    fn text(&self, found: &Calibration, output: &mut Output) -> Result<(), Failure> {
        let heads = [">above bytes", ">latency s", ">bandwidth B/s", ">correlation"];
        let mut table = Table::new(&heads);
        for piece in &found.transfer {
            table.row([
                format!("{:.0}", piece.from),
                format!("{:.3e}", piece.constant),
                format!("{:.4e}", piece.rate(self.bandwidth)),
                format!("{:.4}", piece.correlation),
            ]);
        }
        output.say(&table.render(output.width))?;
        let [plain, best, segments] = found.errors;
        output.say(&format!(
            "mean logarithmic error: {plain:.3} affine, {best:.3} best affine, {segments:.3} segments\n"
        ))?;
        if let Some(limiter) = found.limiter {
            output.say(&format!("both directions at once: {limiter:.2} times one direction\n"))?;
        }
        for (key, value) in found.settings(self.latency, self.bandwidth) {
            output.text(&format!("{key}:{value}\n"))?;
        }
        Ok(())
    }
}
