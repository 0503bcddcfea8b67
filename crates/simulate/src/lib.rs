//! The fluid simulation kernel: computations, transfers, disk operations and parallel tasks
//! share resources; the kernel says who gets which rate and what ends when.
//!
//! From the inside out: [`solver`] shares capacities, [`kernel`] lets time pass over the shares.

pub mod kernel;
pub mod solver;
