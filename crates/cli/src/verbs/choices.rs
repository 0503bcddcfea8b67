//! Workflows with choices and loops on leased machines: what people read and see of plans, runs and forecasts.

use crate::output::Output;
use slackline_core::Failure;
use slackline_core::choices::{ChoicesInput, Simulated};
use slackline_report::choices::{picture, text};
use slackline_report::picture::write;
use std::path::Path;

/// Prints the plan; fails (after the report) where a part does not keep to its money.
pub(super) fn plan(input: &ChoicesInput, json: bool, output: &mut Output) -> Result<(), Failure> {
    let problem = input.problem()?;
    let planned = input.plan(&problem)?;
    if json {
        output.json(&planned.report())?
    } else {
        text::plan(&planned, output)?
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
        Simulated::Run(run) => text::run(&planned, run, output)?,
        Simulated::Forecast(forecast) => {
            text::forecast(&planned, forecast, (input.limits.deadline, input.seed()), output)?;
        }
    }
    match gantt {
        Some(path) => output.say(&format!("\nWritten: {}\n", path.display())),
        None => Ok(()),
    }
}
