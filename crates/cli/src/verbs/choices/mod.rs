//! Workflows with choices and loops: what they consist of, plans under a budget, runs and forecasts.

mod document;
mod picture;
pub(super) mod report;
mod simulate;

pub(super) use document::{Named, PartFacts, part_facts};
pub(super) use simulate::{Asked, read_outcomes, simulate};

use crate::output::Output;
use document::PlanDocument;
use slackline_core::Failure;
use slackline_model::control::Control;
use slackline_model::parameter::Given;
use slackline_model::schedule::Limits;
use slackline_model::{Platform, Workflow};
use slackline_schedule::nondet::{self, Kinds, Method, NondetError, Options};
use std::path::Path;
use std::sync::Arc;

/// A workflow, its structure, and the tasks alone.
pub(super) struct Template {
    pub(super) control: Arc<Control>,
    pub(super) tasks: Workflow,
}

impl Template {
    /// Of any workflow; one without choices and loops is a single part.
    pub(super) fn of(workflow: &Workflow) -> Result<Template, Failure> {
        let control = match workflow.control() {
            Some(control) => control.clone(),
            None => Arc::new(Control::of_plain(workflow).map_err(Failure::input)?),
        };
        Ok(Template { control, tasks: workflow.clone().without_control() })
    }
}

/// The methods among these names; an error where they are mixed with others, or where the workflow
/// needs one and there is none.
pub(super) fn method_of(names: &[String], workflow: &Workflow) -> Result<Option<Method>, Failure> {
    let found: Vec<Method> = names.iter().filter_map(|name| Method::find(name)).collect();
    let all = Method::ALL.map(Method::name).join(", ");
    match (found.as_slice(), names.len()) {
        ([one], 1) => Ok(Some(*one)),
        ([], 0) if workflow.control().is_some() => Ok(Some(Method::Combined)),
        ([], _) if workflow.control().is_none() => Ok(None),
        ([], _) => {
            let message = format!(
                "'{}' has choices and loops, which {} cannot plan",
                workflow.name(),
                names.join(", ")
            );
            Err(Failure::input(message).with_help(format!(
                "plan it with {all}, or unfold one course of it: slackline convert FILE out.json --draw 0"
            )))
        }
        _ => Err(Failure::input(format!("{all} are planned one at a time"))
            .with_help("name one of them with --algorithm")),
    }
}

/// Whether a file mentions choices or loops: cheaper to say than what they are.
pub(super) fn may_have_choices(file: &Path, output: &Output) -> bool {
    let words = ["[choice.", "[loop.", "\"choices\"", "\"loops\"", "\"in\""];
    output.files.read_text(file).is_ok_and(|text| words.iter().any(|word| text.contains(word)))
}

/// The options of a method: what was set, and a budget.
pub(super) fn options(method: Method, limits: &Limits, given: &Given) -> Result<Options, Failure> {
    let Some(budget) = limits.budget else {
        return Err(Failure::input(format!("{} needs a budget", method.name()))
            .with_help("give one with --budget MONEY"));
    };
    Ok(Options::new(method, budget).with(given)?)
}

pub(super) fn failure(error: NondetError) -> Failure {
    Failure::input(error)
}

/// Plans a workflow; fails (after the report) where a part does not keep to its money.
pub(super) fn plan(
    workflow: &Workflow,
    platform: &Platform,
    (method, limits, given): (Method, &Limits, &Given),
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let options = options(method, limits, given)?;
    let template = Template::of(workflow)?;
    let problem = nondet::task_times(&template.tasks, platform)?;
    let kinds = Kinds::new(&problem);
    let plan = nondet::plan(&template.control, &kinds, &options).map_err(failure)?;
    if json {
        let document = PlanDocument::new(&template, platform, &kinds, &plan, &options, given);
        output.json(&document)?;
    } else {
        report::plan(&template, platform, &kinds, &plan, &options, output)?;
    }
    match plan.is_feasible() {
        true => Ok(()),
        false => {
            let missed = plan.parts.iter().zip(&plan.plans).filter(|(_, p)| !p.feasible);
            let names: Vec<&str> = missed.map(|(part, _)| part.name.as_str()).collect();
            let least: f64 = plan.shared.planned.iter().zip(&plan.floor).map(|(n, f)| n * f).sum();
            Err(Failure::work(format!("the budget does not suffice for {}", names.join(", ")))
                .with_help(format!(
                    "running everything one after the other on one machine costs {least:.6} at this confidence"
                )))
        }
    }
}
