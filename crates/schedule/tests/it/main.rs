//! The integration tests of this crate, as one binary.

mod budgets_and_deadlines;
mod every_planner;
mod inputs;
mod layered;
mod makespans;
mod moldable_plans;
mod moldable_properties;
mod optimality;
mod published;
mod random;
mod timing_graphs;
mod worked_examples;
