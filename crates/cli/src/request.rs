//! Requests as documents: printed instead of carried out, or carried out instead of options.

use crate::output::Output;
use crate::path_check::Files;
use crate::verbs::{plan, run, simulate};
use serde::Serialize;
use slackline_core::{AnyRequest, Failure};
use std::path::Path;

/// Prints the request that options make, where that is asked for; whether it was.
pub(crate) fn printed<R: Serialize>(request: &R, output: &mut Output) -> Result<bool, Failure> {
    if output.print_request {
        output.json(request)?;
    }
    Ok(output.print_request)
}

/// Carries out the request in a file.
pub(crate) fn carry_out(path: &Path, json: bool, output: &mut Output) -> Result<(), Failure> {
    Files::default().reads(Some(&path)).json(json).check(output)?;
    let text = output.files.read_text(path)?;
    let request = AnyRequest::parse(&text)
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    if printed(&request, output)? {
        return Ok(());
    }
    match request {
        AnyRequest::Plan(request) => plan::carry_out(request, &plan::Outputs::only(json), output),
        AnyRequest::Simulate(request) => {
            let policies = vec![request.policy];
            simulate::carry_out(request.setup, policies, &simulate::Outputs::only(json), output)
        }
        AnyRequest::Compare(request) if request.policies.is_empty() => {
            Err(Failure::input(format!("{}: policies: none is named", path.display())))
        }
        AnyRequest::Compare(request) => {
            let outputs = simulate::Outputs::only(json);
            simulate::carry_out(request.setup, request.policies, &outputs, output)
        }
        AnyRequest::Run(request) => run::carry_out(request, &run::Outputs::only(json), output),
    }
}
