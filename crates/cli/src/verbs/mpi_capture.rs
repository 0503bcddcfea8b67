//! `slackline mpi-capture`: a trace of a real MPI run.

use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, ValueEnum};
use slackline_mpi_online::capture::{Capture, CaptureError};
use slackline_mpi_online::elf::Mpi;
use slackline_report::table::count;
use std::ffi::OsString;
use std::path::PathBuf;

/// Record a trace of a real MPI run, for `slackline replay`
#[derive(Args)]
#[command(after_help = "\
The program runs as it is, under MPICH or Open MPI: a library is loaded before its MPI, which is compiled with \
that MPI's mpicc. What ranks compute between two calls is their CPU time, at --speed flop/s, or the instructions that \
they execute. Receives from anybody are recorded with their real sources, looks that see nothing are left out. \
One-sided communication stops the run: a trace cannot say it.

Example:
  slackline mpi-capture -o trace -- mpiexec -n 4 ./solver input.dat
  slackline replay trace --platform cluster.xml")]
pub(crate) struct MpiCapture {
    /// The folder for the traces of the ranks, new or empty
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// The MPI of the program; found in its file if left out (not where a script starts it)
    #[arg(long, value_enum)]
    mpi: Option<MpiLibrary>,
    /// The compiler of that MPI [default: mpicc.mpich or mpicc.openmpi, else mpicc]
    #[arg(long, value_name = "MPICC")]
    cc: Option<PathBuf>,
    /// Source of computing times
    #[arg(long, value_enum, default_value = "time")]
    count: Count,
    /// Flop/s of a core, for --count time: `slackline calibrate mpi` measures it
    #[arg(long, value_name = "SPEED", default_value = "1Gf")]
    speed: String,
    /// The command that starts the ranks
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum MpiLibrary {
    Mpich,
    OpenMpi,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Count {
    /// CPU time
    Time,
    /// Instructions in user mode, where the system lets them be counted
    Instructions,
}

impl MpiCapture {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let speed = match slackline_model::units::parse_speed(&self.speed) {
            Ok(speed) if speed > 0.0 => speed,
            _ => {
                return Err(Failure::input(format!("--speed: `{}` is no speed", self.speed))
                    .with_help("write a number of flop/s, e.g. 2e9 or 2Gf"));
            }
        };
        let mpi = self.mpi.map(|mpi| match mpi {
            MpiLibrary::Mpich => Mpi::Mpich,
            MpiLibrary::OpenMpi => Mpi::OpenMpi,
        });
        let capture = Capture {
            command: &self.command,
            folder: &self.output,
            mpi,
            cc: self.cc.as_deref(),
            count: match self.count {
                Count::Time => "time",
                Count::Instructions => "instructions",
            },
            speed,
        };
        let found = capture.run().map_err(|error| match error {
            CaptureError::Input { message, help } => Failure::Input { message, help },
            CaptureError::Run { message, help } => Failure::Work { message, help },
            CaptureError::File(error) => Failure::from(error),
        })?;
        output.say(&format!(
            "{} of {} recorded in {}\n",
            count(found.actions, "action"),
            count(found.ranks, "rank"),
            self.output.display()
        ))
    }
}
