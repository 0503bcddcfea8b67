//! MPI programs run under simulation, without a trace.
//!
//! [`run`] starts the ranks of a program as processes whose MPI library is `slackline-mpi-rank`, and simulates
//! their calls with `slackline-mpi`: [`launch`] has the processes, `program` their requests,
//! [`library`] the files of the MPI library.

pub mod capture;
pub mod elf;
pub mod launch;
pub mod library;
mod program;
#[allow(dead_code, unreachable_pub)]
#[path = "../../mpi-rank/src/protocol.rs"]
mod protocol;
// With `launch::die_with_us` the places with `unsafe` on this side: memory shared with the ranks, and
// the arithmetic of `long double`; each use has its proof beside it.
#[allow(unsafe_code, dead_code, unreachable_pub)]
#[path = "../../mpi-rank/src/reduce.rs"]
mod reduce;
#[allow(unsafe_code, dead_code, unreachable_pub)]
#[path = "../../mpi-rank/src/ring.rs"]
mod ring;

pub use launch::{Compute, Finished, Launch, OnlineError, run};
