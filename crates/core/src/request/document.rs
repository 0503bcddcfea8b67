//! Requests as JSON documents.

use super::{CompareRequest, PlanRequest, RunRequest, SimulateRequest};
use crate::context::Context;
use crate::failure::Failure;
use crate::plan::PlanAnswer;
use crate::run::RunAnswer;
use crate::simulation::SimulationAnswer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A request of any kind; the member `schema` determines the kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnyRequest {
    /// For plans.
    Plan(PlanRequest),
    /// For a simulated run.
    Simulate(SimulateRequest),
    /// For simulated runs of several policies.
    Compare(CompareRequest),
    /// For a run on real machines.
    Run(RunRequest),
}

/// The report of a request of any kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Of plans.
    Plan(PlanAnswer),
    /// Of simulated runs.
    Simulation(SimulationAnswer),
    /// Of a run on real machines, or its rehearsal.
    Run(RunAnswer),
}

impl Answer {
    /// The JSON document, as the command prints it.
    pub fn to_json(&self) -> Result<String, Failure> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Reason why a text is no request.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RequestError {
    /// It is not JSON, or a member is unknown or of the wrong type.
    #[error("{line}:{column}: {why}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// Description of the error.
        why: String,
    },
    /// The member `schema` is missing.
    #[error("a request has a member \"schema\", such as \"{}\"", PlanRequest::SCHEMA)]
    NoSchema,
    /// The member `schema` names something else.
    #[error("\"{0}\" is no request; there is: {known}", known = SCHEMAS.join(", "))]
    Unknown(String),
}

/// The schemas of all requests.
const SCHEMAS: [&str; 4] =
    [PlanRequest::SCHEMA, SimulateRequest::SCHEMA, CompareRequest::SCHEMA, RunRequest::SCHEMA];

impl AnyRequest {
    /// Carries the request out.
    pub fn report(self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        Ok(match self {
            AnyRequest::Plan(request) => Answer::Plan(request.report(context)?),
            AnyRequest::Simulate(request) => Answer::Simulation(request.report(context)?),
            AnyRequest::Compare(request) => Answer::Simulation(request.report(context)?),
            AnyRequest::Run(request) => Answer::Run(request.report(context)?),
        })
    }

    /// Reads a request; members that it does not have are refused by name.
    pub fn parse(text: &str) -> Result<AnyRequest, RequestError> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<String>,
        }
        let head: Head = read(text)?;
        match head.schema.as_deref() {
            None => Err(RequestError::NoSchema),
            Some(PlanRequest::SCHEMA) => read(text).map(AnyRequest::Plan),
            Some(SimulateRequest::SCHEMA) => read(text).map(AnyRequest::Simulate),
            Some(CompareRequest::SCHEMA) => read(text).map(AnyRequest::Compare),
            Some(RunRequest::SCHEMA) => read(text).map(AnyRequest::Run),
            Some(other) => Err(RequestError::Unknown(other.to_string())),
        }
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, RequestError> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let place = format!(" at line {line} column {column}");
        let why = text.strip_suffix(&place).unwrap_or(&text);
        let why = why
            .replace("unknown field", "unknown member")
            .replace("missing field", "missing member");
        RequestError::Malformed { line, column, why }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_members_are_refused_by_name_and_place() {
        let refused = |text: &str| AnyRequest::parse(text).unwrap_err().to_string();
        let text = "{\"schema\": \"slackline/plan-request/1\",\n \"planer\": [\"heft\"]}";
        let error = refused(text);
        assert!(error.starts_with("2:9: unknown member `planer`"), "{error}");
        let text =
            r#"{"schema": "slackline/simulate-request/1", "setup": {"input": {"flows": []}}}"#;
        assert!(refused(text).contains("unknown member `flows`"));
        assert!(refused("{}").contains("a member \"schema\""));
        assert!(refused(r#"{"schema": "slackline/plan/1"}"#).contains("is no request"));
        assert!(refused("[1").starts_with("1:"));
    }

    #[test]
    fn a_request_reads_back_as_it_was_written() {
        let mut plan = PlanRequest::new(["montage"]);
        plan.parameters.0.push(("b".into(), "2".into()));
        plan.parameters.0.push(("a".into(), "1".into()));
        plan.limits.deadline = Some(0.1 + 0.2);
        for request in [
            AnyRequest::Plan(plan),
            AnyRequest::Simulate(SimulateRequest::new("montage", "aheft")),
            AnyRequest::Compare(CompareRequest::default()),
            AnyRequest::Run(RunRequest::new("montage", "static")),
        ] {
            let text = serde_json::to_string_pretty(&request).unwrap();
            assert_eq!(AnyRequest::parse(&text).unwrap(), request, "{text}");
        }
    }
}
