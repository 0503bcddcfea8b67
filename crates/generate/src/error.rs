//! Errors of generators.

use slackline_model::WorkflowError;
use slackline_model::parameter::{self, ParameterError};
use slackline_model::platform::PlatformError;
use slackline_model::platform::ProfileError;
use thiserror::Error;

/// The reason why a generator refuses.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages say it
pub enum GenerateError {
    #[error("there is no {family} generator '{name}'; known are: {known}")]
    UnknownGenerator { family: &'static str, name: String, known: String },
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error("{0}")]
    Impossible(String),
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
    #[error(transparent)]
    Platform(#[from] PlatformError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// The result of generating.
pub type Result<T> = std::result::Result<T, GenerateError>;

/// An error about one parameter.
pub(crate) fn bad(
    name: &str,
    value: impl std::fmt::Display,
    why: impl Into<String>,
) -> GenerateError {
    parameter::bad(name, value, why).into()
}
