//! Metaheuristics that list scheduling was measured against: ant colony, simulated annealing, tabu
//! search, genetic. They follow their publications; [`best`](crate::best) is what to use for a short
//! plan. Each is deterministic for its seed; a limit on iterations counts what its head says.

pub mod aco;
pub mod ga;
mod ground;
pub mod sa;
pub mod tabu;

pub(crate) use ground::Ground;
