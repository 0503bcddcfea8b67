//! Real machines as backends of the engine: processes of this machine and pilots on a Slurm cluster, attempts at tasks,
//! and the folder of a run. It needs a Unix system.

pub mod attempt;
pub mod decide;
pub mod detect;
pub mod folder;
pub mod jobs;
mod load;
pub mod local;
mod private;
pub mod real;
pub mod session;
pub mod slurm;
