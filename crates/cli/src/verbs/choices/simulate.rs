//! Runs of workflows with choices and loops under eager, deferred and combined, and forecasts of many.

use super::document::{ForecastDocument, Head, RunDocument};
use super::{Template, failure, options, report};
use crate::output::Output;
use crate::picture;
use rayon::prelude::*;
use slackline_analysis::forecast::Forecast;
use slackline_core::Failure;
use slackline_model::control::{Chances, Given as Outcomes};
use slackline_model::parameter::Given;
use slackline_model::schedule::Limits;
use slackline_model::{Platform, Workflow};
use slackline_schedule::nondet::{self, Course, Kinds, Method, Run};
use std::path::{Path, PathBuf};

/// What is asked for.
pub(in crate::verbs) struct Asked<'a> {
    pub(in crate::verbs) method: Method,
    pub(in crate::verbs) limits: Limits,
    pub(in crate::verbs) given: Given,
    pub(in crate::verbs) seed: u64,
    /// The number of the run.
    pub(in crate::verbs) run: u64,
    /// How many runs make a forecast; none for a single run.
    pub(in crate::verbs) runs: Option<u32>,
    /// Outcomes that are given.
    pub(in crate::verbs) choices: Option<&'a Path>,
    /// A picture of the run, or of the forecast.
    pub(in crate::verbs) gantt: Option<&'a PathBuf>,
    pub(in crate::verbs) json: bool,
}

/// Outcomes from a JSON object, checked against the workflow.
pub(in crate::verbs) fn read_outcomes(
    path: Option<&Path>,
    control: &slackline_model::control::Control,
    output: &Output,
) -> Result<Outcomes, Failure> {
    let Some(path) = path else { return Ok(Outcomes::new()) };
    let text = output.files.read_text(path)?;
    let fail = |why: String| Failure::input(format!("{}: {why}", path.display()));
    let given: Outcomes = serde_json::from_str(&text).map_err(|e| {
        fail(format!(
            "{e}; expected an object such as {{\"quality\": \"bad\", \"polish#1\": \"again\"}}"
        ))
    })?;
    control.check_given(&given).map_err(|e| fail(e.to_string()))?;
    Ok(given)
}

pub(in crate::verbs) fn simulate(
    workflow: &Workflow,
    platform: &Platform,
    asked: &Asked<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let options = options(asked.method, &asked.limits, &asked.given)?;
    let template = Template::of(workflow)?;
    let given = read_outcomes(asked.choices, &template.control, output)?;
    let problem = nondet::task_times(&template.tasks, platform)?;
    let kinds = Kinds::new(&problem);
    let plan = nondet::plan(&template.control, &kinds, &options).map_err(failure)?;
    let course = Course::new(template.control.clone(), &kinds, &plan).map_err(failure)?;
    let one = |run: u64| {
        let mut chances = Chances { seed: asked.seed, run, given: given.clone() };
        course.run(&options, &mut chances)
    };
    let deadline = asked.limits.deadline;
    let head =
        || Head::new(&template.tasks, platform, &options, &asked.given, deadline, asked.seed);
    if !plan.is_feasible() && !options.adaptive {
        output.warning(
            "the budget does not suffice for every sub-workflow; the cheapest plans are followed",
        );
    }
    let Some(runs) = asked.runs else {
        let run = one(asked.run).map_err(failure)?;
        if let Some(path) = asked.gantt {
            picture::write(&output.files, path, &super::picture::run(&template, &kinds, &run))?;
        }
        if asked.json {
            let control = &template.control;
            let document = RunDocument::new(head(), asked.run, control, &kinds, &plan, &run);
            return output.json(&document);
        }
        return report::run(&template.control, &kinds, &plan, &run, &options, output);
    };
    let all: Result<Vec<Run>, _> = (0..u64::from(runs)).into_par_iter().map(one).collect();
    let all = all.map_err(failure)?;
    let names: Vec<&str> = plan.parts.iter().map(|p| p.name.as_str()).collect();
    let forecast = Forecast::of(&template.control, &all, &names, options.budget, deadline);
    if let Some(path) = asked.gantt {
        let svg =
            super::picture::forecast(template.tasks.name(), &forecast, options.budget, deadline);
        picture::write(&output.files, path, &svg)?;
    }
    if asked.json {
        return output.json(&ForecastDocument::new(head(), &forecast));
    }
    report::forecast(template.tasks.name(), &forecast, &options, (deadline, asked.seed), output)
}
