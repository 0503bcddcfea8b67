//! Documents of workflows with choices, and of schedules.

use crate::show::definition;
use slackline_core::choices::{Named, PartFacts};
use slackline_core::schema;

#[derive(serde::Serialize)]
pub struct WithParts<'a, F> {
    #[serde(flatten)]
    pub facts: F,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<definition::DefinitionDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subworkflows: Option<Named<PartFacts>>,
}

#[derive(serde::Serialize)]
pub struct ChoicesDocument<'a> {
    pub schema: &'static str,
    pub name: &'a str,
    pub tasks: usize,
    pub choices: usize,
    pub loops: usize,
    pub subworkflows: Named<PartFacts>,
}

#[derive(serde::Serialize)]
pub struct ScheduleDocument {
    pub schema: &'static str,
    pub tasks: usize,
    pub makespan: f64,
    pub speedup: f64,
    pub utilisation: f64,
    pub used_processors: usize,
    pub cost: f64,
    pub bytes_moved: f64,
}
