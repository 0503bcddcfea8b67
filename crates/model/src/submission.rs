//! Owner, priority and limits of a submitted workflow.

use crate::schedule::Limits;

/// Owner, priority and limits of a workflow, where several share a platform.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// The user who submitted it; empty when unknown.
    pub owner: String,
    /// Its weight among others; larger comes first.
    pub priority: f64,
    /// Most money, and the latest end counted from the arrival.
    pub limits: Limits,
}
