//! The MPI library that ranks of a simulated program are linked with.
//!
//! A program built with MPICH's headers, or with Slackline's, calls these functions; each becomes a
//! record for the simulator (`ring`, `protocol`), which decides dates and matching and sends the data
//! back. Calls that need no answer are queued. Datatypes, groups, attributes and reductions by the
//! program's own functions live here. There are no dependencies and nothing runs before `MPI_Init`.
//!
//! # Safety
//!
//! Pointers come from C. By MPI's rules a buffer holds as many elements of its type as the call
//! says, arrays have one entry per rank or request, and outputs point to writable memory; each
//! function relies on that and on nothing more, and keeps a pointer only for a request, until it is
//! complete. Panics cannot cross the border: a panic in an `extern "C"` function ends the process.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments, non_snake_case, unused_unsafe)]
#![allow(unsafe_op_in_unsafe_fn, missing_docs)]
#![allow(clippy::needless_range_loop, clippy::manual_dangling_ptr)]

mod attributes;
mod call;
mod collective;
mod communicator;
mod datatype;
mod fortran;
mod general;
mod group;
mod message;
// The other side of these is the simulator.
#[allow(dead_code)]
mod protocol;
mod reduce;
#[allow(dead_code)]
mod ring;
mod rma;
mod sample;
mod state;
mod stubs;
mod time;
mod types;
