//! Metaheuristics that list scheduling was measured against: ant colony, simulated annealing, tabu search,
//! genetic. They follow their publications; [`best`](crate::best) is the method to use for a short plan. Each
//! is deterministic for its seed; the unit of a limit on iterations is given in the module's documentation.
//! Lists of tasks that share more than processors are decoded by earliest starts beside pools, with insertion.

pub mod aco;
mod decoder;
pub mod ga;
mod ground;
pub mod sa;
pub mod tabu;

pub(crate) use ground::MetaContext;
