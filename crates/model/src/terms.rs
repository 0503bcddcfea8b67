//! Whose a workflow is and what is wanted of it.

use crate::schedule::Limits;

/// What a workflow was submitted under, where several share a platform.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// Who submitted it; empty when nobody says.
    pub owner: String,
    /// Its weight among others; larger comes first.
    pub priority: f64,
    /// Most money, and the latest end counted from the arrival.
    pub limits: Limits,
}
