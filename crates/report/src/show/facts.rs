//! Documents of workflows with choices, and of schedules.

use crate::show::definition;
use crate::table::count;
use slackline_core::choices::part_facts;
use slackline_core::choices::{Named, PartFacts};
use slackline_core::schema::names;
use slackline_model::control::Control;
use slackline_model::schedule::Summary;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{Problem, Workflow};

/// Facts of a workflow, with what belongs to some of them.
#[derive(serde::Serialize)]
pub struct WithParts<'a, F> {
    /// The facts.
    #[serde(flatten)]
    pub facts: F,
    /// Short form, where tasks were expanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<definition::DefinitionDocument<'a>>,
    /// Sub-workflows on leased machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subworkflows: Option<Named<PartFacts>>,
}

/// A workflow with choices or loops.
#[derive(serde::Serialize)]
pub struct ChoicesDocument<'a> {
    /// Name and version of the document.
    pub schema: &'static str,
    /// Name of the workflow.
    pub name: &'a str,
    /// Number of tasks.
    pub tasks: usize,
    /// Number of choices.
    pub choices: usize,
    /// Number of loops.
    pub loops: usize,
    /// Sub-workflows between decisions.
    pub subworkflows: Named<PartFacts>,
}

/// Figures of a schedule.
#[derive(serde::Serialize)]
pub struct ScheduleDocument {
    /// Name and version of the document.
    pub schema: &'static str,
    /// Number of tasks.
    pub tasks: usize,
    /// Seconds.
    pub makespan: f64,
    /// Time on the fastest processor over the makespan.
    pub speedup: f64,
    /// Share of the processors that is busy.
    pub utilisation: f64,
    /// Processors that are used.
    pub used_processors: usize,
    /// Money.
    pub cost: f64,
    /// Bytes that travel.
    pub bytes_moved: f64,
}

impl<'a> ChoicesDocument<'a> {
    /// Makes the document of a workflow with choices or loops.
    pub fn of(workflow: &'a Workflow, control: &Control) -> ChoicesDocument<'a> {
        ChoicesDocument {
            schema: names::CHOICES,
            name: workflow.name(),
            tasks: workflow.len(),
            choices: control.choices().len(),
            loops: control.loops().len(),
            subworkflows: part_facts(control),
        }
    }
}

impl ScheduleDocument {
    /// Makes the document of a schedule with this summary.
    pub fn of(problem: &Problem<'_>, summary: &Summary) -> ScheduleDocument {
        ScheduleDocument {
            schema: names::SCHEDULE_FACTS,
            tasks: problem.tasks(),
            makespan: summary.makespan,
            speedup: summary.speedup,
            utilisation: summary.utilisation,
            used_processors: summary.used_procs,
            cost: summary.cost,
            bytes_moved: summary.bytes_moved,
        }
    }
}

/// Figures of a schedule as a line.
pub fn schedule_facts(summary: &Summary) -> String {
    format!(
        "makespan {}, utilisation {:.0} % of {}, {} moved",
        fmt_seconds(summary.makespan),
        100.0 * summary.utilisation,
        count(summary.used_procs, "processor"),
        fmt_bytes(summary.bytes_moved)
    )
}
