//! Explanations of decisions.

use crate::policy::Transfers;
use serde::{Deserialize, Serialize};

/// Alternatives of one call, and the choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Cause of the evaluation.
    pub cause: String,
    /// Alternatives considered; the plan under way first, where there is one.
    pub alternatives: Vec<Alternative>,
    /// Index of the alternative chosen.
    pub taken: usize,
    /// Reason of the choice.
    pub why: String,
}

/// Something a policy could do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Origin of the plan.
    pub plan: String,
    /// When inputs would travel.
    pub transfers: Transfers,
    /// Tasks that it places elsewhere than the plan under way.
    pub moves: usize,
    /// When it would end by forecast; absent where not in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<f64>,
    /// When it ended in roll-outs, on average; absent where there were none, or it was given up after the
    /// first because it is clearly worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// The latest of these ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<f64>,
}
