//! Figures from plans and runs: metrics, plan checks, costs, statistics, and calibration from traces. Each figure is
//! computed in one place, whoever prints it.
//!
//! ```
//! use slackline_analysis::statistics::Estimate;
//!
//! // Two policies in the same four scenarios: variation that both share does not widen the interval of the ratio.
//! let (one, other) = ([90.0, 180.0, 45.0, 27.0], [100.0, 200.0, 50.0, 30.0]);
//! let ratio = Estimate::ratio(&one, &other);
//! assert!((ratio.value - 0.9).abs() < 1e-12 && ratio.margin.is_some_and(|m| m < 1e-9));
//! ```

pub mod calibration;
pub mod cost;
pub mod elsewhere;
pub mod forecast;
pub mod load_series;
pub mod metrics;
pub mod overheads;
pub mod plan_check;
pub mod sizing;
pub mod statistics;
pub mod storage;
pub mod waits;
pub mod workflow_metrics;
