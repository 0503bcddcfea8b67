//! Real machines as backends of the engine: processes of this machine and pilots on a Slurm cluster, attempts at tasks,
//! and the folder of a run. It needs a Unix system.

pub mod attempt;
pub mod attempt_pool;
pub mod decide;
pub mod detect;
pub mod folder;
pub mod journaled_run;
mod load;
pub mod local;
pub mod machine_backend;
mod private;
pub mod slurm;
pub mod surroundings;
pub mod up_to_date;
