//! MPI codes: calibration and replay.

pub mod calibration;
pub mod replay;
