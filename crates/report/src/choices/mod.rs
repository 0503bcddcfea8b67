//! Workflows with choices and loops on leased machines: plans, runs and forecasts.

pub mod picture;
pub mod text;
