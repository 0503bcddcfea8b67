//! Errors of a platform or a route, with the name of the element.

use super::profile::ProfileError;
use crate::units::fmt_number;
use thiserror::Error;

/// The reason why a platform cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlatformError {
    /// Two elements with one name.
    #[error("the {kind} \"{name}\" is declared twice")]
    Duplicate {
        /// "host", "link", ...
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A name that nothing has.
    #[error("there is no {kind} \"{name}\"")]
    Unknown {
        /// "host", "link", ...
        kind: &'static str,
        /// The name as written.
        name: String,
    },
    /// A number out of its range.
    #[error("{element}: {what} is {}, it must be {must}", fmt_number(*value))]
    BadNumber {
        /// Kind and name of the element.
        element: String,
        /// The quantity.
        what: &'static str,
        /// The value as given.
        value: f64,
        /// The rule.
        must: &'static str,
    },
    /// A profile that cannot be played.
    #[error("{element}: {source}")]
    BadProfile {
        /// Kind and name of the element.
        element: String,
        /// The cause.
        source: ProfileError,
    },
    /// Any other broken rule.
    #[error("{element}: {message}")]
    Invalid {
        /// Kind and name of the element.
        element: String,
        /// The rule that is broken.
        message: String,
    },
}

impl PlatformError {
    pub(crate) fn invalid(element: impl Into<String>, message: impl Into<String>) -> Self {
        PlatformError::Invalid { element: element.into(), message: message.into() }
    }
}

/// A number greater than 0 and finite.
pub(crate) fn positive(
    element: impl FnOnce() -> String,
    what: &'static str,
    value: f64,
) -> Result<(), PlatformError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(PlatformError::BadNumber {
        element: element(),
        what,
        value,
        must: "a finite number above 0",
    })
}

/// A number of at least 0, finite.
pub(crate) fn not_negative(
    element: impl FnOnce() -> String,
    what: &'static str,
    value: f64,
) -> Result<(), PlatformError> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(PlatformError::BadNumber {
        element: element(),
        what,
        value,
        must: "a finite number of at least 0",
    })
}

/// The reason why there is no route.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RouteError {
    /// Nothing joins the two.
    #[error(
        "no route from \"{src}\" to \"{dst}\": zone \"{zone}\" declares none between \"{from}\" and \"{to}\""
    )]
    Unroutable {
        /// Name of the host at which the route was to start.
        src: String,
        /// Name of the host at which it was to end.
        dst: String,
        /// The zone that had to find a way.
        zone: String,
        /// The member of that zone it had to start from.
        from: String,
        /// The member of that zone it had to reach.
        to: String,
    },
    /// The platform is a matrix of bandwidths: it has no links.
    #[error("the platform \"{platform}\" is a matrix of bandwidths and has no routes")]
    Matrix {
        /// Name of the platform.
        platform: String,
    },
    /// Nested zones that multiply into an unreasonably long route.
    #[error("the route from \"{src}\" to \"{dst}\" needs more than {limit} steps")]
    TooLong {
        /// Name of the host at which the route was to start.
        src: String,
        /// Name of the host at which it was to end.
        dst: String,
        /// The most steps tried.
        limit: usize,
    },
}
