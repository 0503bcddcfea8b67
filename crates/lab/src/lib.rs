//! Studies: the same policies and planners over many cases, and the claims of papers about them.
//!
//! ```
//! use slackline_analysis::statistics::Estimate;
//!
//! // Two policies in the same four worlds: what they share does not blur their ratio.
//! let (one, other) = ([90.0, 180.0, 45.0, 27.0], [100.0, 200.0, 50.0, 30.0]);
//! let ratio = Estimate::ratio(&one, &other);
//! assert!((ratio.value - 0.9).abs() < 1e-12 && ratio.margin.is_some_and(|m| m < 1e-9));
//! ```

pub mod adopt;
pub mod campaign;
pub mod cell;
pub mod compare;
pub mod gtp_cases;
pub mod papers;
pub mod realistic_cases;
pub mod recorded;
pub mod site_logs;
pub mod study;
pub mod versus;
