//! Workflows with choices and loops on leased machines: what people read and see of plans, runs and forecasts.

mod picture;
pub(super) mod report;

use crate::output::Output;
use crate::picture::write;
use slackline_core::Failure;
use slackline_core::choices::{ChoicesInput, Simulated};
use std::path::Path;

/// Prints the plan; fails (after the report) where a part does not keep to its money.
pub(super) fn plan(input: &ChoicesInput, json: bool, output: &mut Output) -> Result<(), Failure> {
    let problem = input.problem()?;
    let planned = input.plan(&problem)?;
    if json {
        output.json(&planned.report())?
    } else {
        report::plan(&planned, output)?
    }
    planned.verdict()
}

/// Simulates and prints; the picture is of the run, or of the forecast.
pub(super) fn simulate(
    input: &ChoicesInput,
    json: bool,
    gantt: Option<&Path>,
    output: &mut Output,
) -> Result<(), Failure> {
    let problem = input.problem()?;
    let planned = input.plan(&problem)?;
    let simulated = input.simulate(&planned, &mut output.context(false))?;
    if let Some(path) = gantt {
        let svg = match &simulated {
            Simulated::Run(run) => picture::run(&planned, run)?,
            Simulated::Forecast(forecast) => {
                picture::forecast(&planned, forecast, input.limits.deadline)
            }
        };
        write(&output.files, path, &svg)?;
    }
    if json {
        return output.json(&input.report(&planned, &simulated));
    }
    match &simulated {
        Simulated::Run(run) => report::run(&planned, run, output)?,
        Simulated::Forecast(forecast) => {
            report::forecast(&planned, forecast, (input.limits.deadline, input.seed()), output)?;
        }
    }
    match gantt {
        Some(path) => output.say(&format!("\nWritten: {}\n", path.display())),
        None => Ok(()),
    }
}
