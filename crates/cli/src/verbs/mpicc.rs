//! `slackline mpicc`: compile MPI programs where no MPI is installed.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use slackline_mpi_online::library::Unpacked;
use std::ffi::OsString;
use std::process::Command;

/// Compile a C program against Slackline's MPI
#[derive(Args)]
#[command(after_help = "\
Calls the C compiler (CC, or cc) with the folder of our mpi.h and, unless -c, -S or -E is given, the \
library. The program runs under `slackline mpirun`, and with MPICH.

Example:
  slackline mpicc -O2 ring.c -o ring
  slackline mpirun -np 4 -p small-cluster ./ring")]
pub(crate) struct Mpicc {
    /// Arguments of the compiler
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

impl Mpicc {
    pub(crate) fn run(self, _output: &mut Output) -> Result<(), Failure> {
        let library = Unpacked::new()
            .and_then(Unpacked::with_headers)
            .map_err(|e| Failure::work(format!("the library cannot be unpacked: {e}")))?;
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(&compiler);
        command.args(&self.arguments).arg("-I").arg(library.path());
        let links = !self.arguments.iter().any(|a| a == "-c" || a == "-S" || a == "-E");
        if links {
            command.arg("-L").arg(library.path()).arg("-lmpich");
        }
        let status = command.status().map_err(|e| {
            Failure::input(format!("{}: {e}", compiler.to_string_lossy()))
                .with_help("install a C compiler, or name one in CC")
        })?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::work(format!("the compiler failed ({status})")))
        }
    }
}
