//! Why a policy decided as it did.

use crate::policy::Transfers;
use serde::{Deserialize, Serialize};

/// What was weighed at one call, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// What called for it.
    pub cause: String,
    /// What could have been done; first what is under way, where something is.
    pub alternatives: Vec<Alternative>,
    /// Which of them is done.
    pub taken: usize,
    /// Why that one.
    pub why: String,
}

/// Something a policy could do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Where the plan comes from.
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
