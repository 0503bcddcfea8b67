//! `slackline mpirun`: an MPI program itself, on machines one does not have.

use super::replay::{Options, failure, places};
use crate::failure::Failure;
use crate::input::read_platform;
use crate::output::Output;
use crate::path_check::Files;
use clap::{Args, ValueEnum};
use serde::Serialize;
use slackline_core::schema::names;
use slackline_mpi_online::{Launch, OnlineError};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

/// Run an MPI program on a simulated platform
#[derive(Args)]
#[command(after_help = "\
The program runs on this machine, one process per rank, and sees the simulated time. Programs built with \
MPICH's compilers run as they are; `slackline mpicc` builds them where no MPI is installed. Settings have \
SimGrid's names; failed tests cost the same each time unless smpi/grow-injected-times=yes.

Examples:
  slackline mpirun -np 8 -p small-cluster ./stencil 1000
  slackline mpirun -np 16 -p cluster.xml --hosts hosts.txt ./solver
  slackline mpirun -np 4 -p small-cluster --record trace.tit ./ring")]
pub(crate) struct Mpirun {
    /// Number of ranks (also `-np N`); one per place if left out
    #[arg(short = 'n', long = "np", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// The platform
    #[arg(short, long, value_name = "FILE")]
    platform: PathBuf,
    /// Hosts of the ranks, one `host` or `host:count` per line; rank r on host r if left out
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Source of computing times: nothing, CPU time measured here, or charges of the program
    #[arg(long, value_enum, default_value = "none")]
    compute: Compute,
    /// Flop/s of a core of this machine, for --compute measure [default: the simulated host's]
    #[arg(long, value_name = "SPEED")]
    host_speed: Option<String>,
    /// Change a setting, e.g. smpi/coll-selector=ompi; or a TOML file with settings
    #[arg(long = "config", value_name = "KEY=VALUE|FILE")]
    settings: Vec<String>,
    /// Write a trace that `slackline replay` gives the same dates for
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print one JSON document; what ranks print goes to standard error
    #[arg(long)]
    json: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Compute {
    /// Computations take no time: results are the same in every run
    None,
    /// CPU time of this machine, scaled to the simulated host
    Measure,
    /// Charges of the program (slackline.h)
    Charged,
}

#[derive(Serialize)]
struct MpirunDocument<'a> {
    schema: &'static str,
    makespan: f64,
    ends: &'a [f64],
    actions: u64,
    wall_seconds: f64,
}

impl Mpirun {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.platform))
            .reads(self.hosts.as_ref())
            .writes("--record", self.record.as_ref())
            .json(self.json)
            .check(output)?;
        let begin = Instant::now();
        let options = Options { settings: &self.settings, hosts: self.hosts.as_deref() };
        let first = [("smpi/grow-injected-times".to_owned(), "no".to_owned())];
        let (settings, pairs) = options.settings(&output.files, &first)?;
        let setting = |key: &str| pairs.iter().rev().find(|(k, _)| k == key).map(|(_, v)| &v[..]);
        let host_speed = match self.host_speed.as_deref().or(setting("smpi/host-speed")) {
            None | Some("auto") => None,
            Some(text) => match slackline_model::units::parse_speed(text) {
                Ok(speed) if speed > 0.0 => Some(speed),
                _ => {
                    return Err(Failure::input(format!("`{text}` is no speed"))
                        .with_help("write a number of flop/s, e.g. 2e9 or 2Gf"));
                }
            },
        };
        let threshold = match setting("smpi/cpu-threshold").map(str::parse::<f64>) {
            None => 1e-6,
            Some(Ok(seconds)) => seconds,
            Some(Err(_)) => {
                return Err(Failure::input("smpi/cpu-threshold is no number of seconds"));
            }
        };
        let platform = read_platform(&self.platform, output)?;
        let hosts =
            places(&output.files, &platform, options.hosts, self.ranks.map(|n| n as usize))?;
        let launch = Launch {
            command: self.command.clone(),
            compute: match self.compute {
                Compute::None => slackline_mpi_online::Compute::None,
                Compute::Measure => slackline_mpi_online::Compute::Measure,
                Compute::Charged => slackline_mpi_online::Compute::Charged,
            },
            host_speed,
            threshold,
            record: self.record.is_some(),
            to_stderr: self.json,
        };
        let finished = slackline_mpi_online::run(&platform, &hosts, settings, &launch, &mut ())
            .map_err(|error| match error {
                OnlineError::Start(text) => Failure::input(text),
                OnlineError::Run(slackline_mpi::ReplayError::TooFewHosts { ranks, places }) => {
                    failure(slackline_mpi::ReplayError::TooFewHosts { ranks, places })
                }
                OnlineError::Run(error) => Failure::work(error),
            })?;
        if let (Some(path), Some(record)) = (&self.record, &finished.record) {
            output.files.write(path, |out| {
                writeln!(out, "#slackline-trace 1")?;
                record.iter().try_for_each(|lines| out.write_all(lines))
            })?;
        }
        let replayed = &finished.replayed;
        let wall = begin.elapsed().as_secs_f64();
        if self.json {
            return output.json(&MpirunDocument {
                schema: names::MPIRUN,
                makespan: replayed.makespan,
                ends: &replayed.ends,
                actions: replayed.actions,
                wall_seconds: wall,
            });
        }
        output.say(&format!("makespan {} s\n", replayed.makespan))?;
        let (ranks, actions) = (replayed.ends.len(), replayed.actions);
        output.detail(&format!("{ranks} ranks, {actions} actions, {wall:.3} s"));
        Ok(())
    }
}
