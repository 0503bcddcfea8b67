//! JSON Schemas of requests and reports, generated from their types and doc comments. `docs/schema` has them as files;
//! a test compares both.

use crate::choices::{ChoicesPlanReport, ChoicesRunReport, ForecastReport};
use crate::plan::{FrontReport, PlanReport, PlanReports};
use crate::request::{CompareRequest, PlanRequest, RunRequest, SimulateRequest};
use crate::run::status::{LogReport, StatusReport};
use crate::run::stop::StopReport;
use crate::run::{
    CleanReport, RehearsalReport, RepetitionReport, ResultsManifest, RunReport, UpToDateReport,
};
use crate::simulation::{ReplicationsReport, SimulationReport, SimulationReports};
use crate::what_if::WhatIfReport;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names of documents without a type here, which other parts of the command print.
pub mod names {
    /// The document `slackline/campaigns/1`.
    pub const CAMPAIGNS: &str = "slackline/campaigns/1";
    /// The document `slackline/centre-adopt/1`.
    pub const CENTRE_ADOPT: &str = "slackline/centre-adopt/1";
    /// The document `slackline/centre-attribute/1`.
    pub const CENTRE_ATTRIBUTE: &str = "slackline/centre-attribute/1";
    /// The document `slackline/centre-batch/1`.
    pub const CENTRE_BATCH: &str = "slackline/centre-batch/1";
    /// The document `slackline/centre-pilots/1`.
    pub const CENTRE_PILOTS: &str = "slackline/centre-pilots/1";
    /// The document `slackline/centre-stack/1`.
    pub const CENTRE_STACK: &str = "slackline/centre-stack/1";
    /// The document `slackline/centre-storage/1`.
    pub const CENTRE_STORAGE: &str = "slackline/centre-storage/1";
    /// The document `slackline/centre-tape/1`.
    pub const CENTRE_TAPE: &str = "slackline/centre-tape/1";
    /// The document `slackline/choices/1`.
    pub const CHOICES: &str = "slackline/choices/1";
    /// The document `slackline/mpirun/1`.
    pub const MPIRUN: &str = "slackline/mpirun/1";
    /// The document `slackline/versus/1`.
    pub const VERSUS: &str = "slackline/versus/1";
    /// The document `slackline/versus-all/1`.
    pub const VERSUS_ALL: &str = "slackline/versus-all/1";
    /// The document `slackline/activities/1`.
    pub const ACTIVITIES: &str = "slackline/activities/1";
    /// The document `slackline/algorithms/1`.
    pub const ALGORITHMS: &str = "slackline/algorithms/1";
    /// The document `slackline/calibration/1`.
    pub const CALIBRATION: &str = "slackline/calibration/1";
    /// The document `slackline/cell/1`.
    pub const CELL: &str = "slackline/cell/1";
    /// The document `slackline/cells/1`.
    pub const CELLS: &str = "slackline/cells/1";
    /// The document `slackline/difference/1`.
    pub const DIFFERENCE: &str = "slackline/difference/1";
    /// The document `slackline/manifest/1`.
    pub const MANIFEST: &str = "slackline/manifest/1";
    /// The document `slackline/platform/1`.
    pub const PLATFORM: &str = "slackline/platform/1";
    /// The document `slackline/replay/1`.
    pub const REPLAY: &str = "slackline/replay/1";
    /// The document `slackline/reproduction/1`.
    pub const REPRODUCTION: &str = "slackline/reproduction/1";
    /// The document `slackline/reproductions/1`.
    pub const REPRODUCTIONS: &str = "slackline/reproductions/1";
    /// The document `slackline/schedule-facts/1`.
    pub const SCHEDULE_FACTS: &str = "slackline/schedule-facts/1";
    /// The document `slackline/trace/1`.
    pub const TRACE: &str = "slackline/trace/1";
    /// The document `slackline/validation/1`.
    pub const VALIDATION: &str = "slackline/validation/1";
    /// The document `slackline/workflow/1`.
    pub const WORKFLOW: &str = "slackline/workflow/1";
}

/// The JSON Schema of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentSchema {
    /// The name of its file.
    pub file: &'static str,
    /// The member `schema` of the documents it describes.
    pub name: &'static str,
    /// The JSON Schema.
    pub schema: Value,
}

fn document<T: JsonSchema>(file: &'static str, name: &'static str) -> DocumentSchema {
    let mut schema = schema_for!(T).to_value();
    schema["properties"]["schema"]["const"] = json!(name);
    DocumentSchema { file, name, schema }
}

/// The schemas of all documents.
pub fn all() -> Vec<DocumentSchema> {
    vec![
        document::<PlanRequest>("plan-request.json", PlanRequest::SCHEMA),
        document::<PlanReport>("plan.json", "slackline/plan/1"),
        document::<PlanReports>("plans.json", "slackline/plans/1"),
        document::<FrontReport>("plan-front.json", "slackline/front/1"),
        document::<ChoicesPlanReport>("plan-choices.json", "slackline/choices-plan/1"),
        document::<SimulateRequest>("simulation-request.json", SimulateRequest::SCHEMA),
        document::<CompareRequest>("simulation-compare-request.json", CompareRequest::SCHEMA),
        document::<SimulationReport>("simulation.json", "slackline/simulation/1"),
        document::<SimulationReports>("simulations.json", "slackline/simulations/1"),
        document::<ReplicationsReport>("simulation-worlds.json", "slackline/worlds/1"),
        document::<ChoicesRunReport>("simulation-choices.json", "slackline/choices-run/1"),
        document::<ForecastReport>("simulation-forecast.json", "slackline/forecast/1"),
        document::<RunRequest>("execution-request.json", RunRequest::SCHEMA),
        document::<RunReport>("execution.json", "slackline/execution/1"),
        document::<RehearsalReport>("execution-rehearsal.json", "slackline/simulation/1"),
        document::<UpToDateReport>("execution-up-to-date.json", "slackline/up-to-date/1"),
        document::<CleanReport>("execution-clean.json", "slackline/clean/1"),
        document::<ResultsManifest>("execution-results.json", "slackline/run-results/1"),
        document::<RepetitionReport>("execution-repetition.json", "slackline/repetition/1"),
        document::<StatusReport>("status.json", "slackline/status/1"),
        document::<LogReport>("log.json", "slackline/log/1"),
        document::<StopReport>("stop.json", "slackline/stop/1"),
        document::<WhatIfReport>("what-if.json", "slackline/what-if/1"),
    ]
}

/// The types of all members of a schema by their paths, `[]` for the items of a list and `*` for members of any name.
pub fn members(schema: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(schema, schema, "", &mut found);
    found
}

/// Adds the members below `at` to `found`, by path.
fn collect(root: &Value, at: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    let at = resolved(root, at);
    for part in ["anyOf", "allOf", "oneOf"] {
        for one in at[part].as_array().into_iter().flatten() {
            collect(root, one, path, found);
        }
    }
    for (name, member) in at["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        found.insert(path.clone(), kind(root, member));
        collect(root, member, &path, found);
    }
    if at["items"].is_object() {
        collect(root, &at["items"], &format!("{path}[]"), found);
    }
    if at["additionalProperties"].is_object() {
        let path = format!("{path}.*");
        found.insert(path.clone(), kind(root, &at["additionalProperties"]));
        collect(root, &at["additionalProperties"], &path, found);
    }
}

/// Follows a reference (`$ref`) of a schema to its definition.
fn resolved<'v>(root: &'v Value, at: &'v Value) -> &'v Value {
    let place = at["$ref"].as_str().and_then(|place| place.strip_prefix('#'));
    place.and_then(|place| root.pointer(place)).unwrap_or(at)
}

/// The type of a member: its JSON types and, where they are named, its values.
fn kind(root: &Value, member: &Value) -> String {
    let member = resolved(root, member);
    let mut parts: Vec<String> = Vec::new();
    for one in
        ["anyOf", "oneOf", "allOf"].iter().flat_map(|part| member[*part].as_array()).flatten()
    {
        parts.push(kind(root, one));
    }
    for name in ["type", "enum", "const"] {
        if !member[name].is_null() {
            parts.push(member[name].to_string());
        }
    }
    parts.join("|")
}

/// Lists the changes that break readers of documents of an older schema: removed members, and members with another type
/// (which includes other named values).
pub fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let (was, is) = (members(old), members(new));
    let changed = was.iter().filter_map(|(path, kind)| match is.get(path) {
        None => Some(format!("{path} is gone")),
        Some(now) if now != kind => Some(format!("{path} was {kind} and is {now}")),
        Some(_) => None,
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removals_and_changes_are_found_and_additions_are_not() {
        let all = all();
        let plan = &all.iter().find(|d| d.file == "plan.json").unwrap().schema;
        assert_eq!(breaks(plan, plan), Vec::<String>::new());
        let mut less = plan.clone();
        less["properties"].as_object_mut().unwrap().remove("makespan");
        assert_eq!(breaks(plan, &less), ["makespan is gone"]);
        assert!(breaks(&less, plan).is_empty());
        let mut other = plan.clone();
        other["properties"]["tasks"] = json!({ "type": "string" });
        let found = breaks(plan, &other);
        assert!(found.len() == 1 && found[0].starts_with("tasks was "), "{found:?}");
        let mut nested = plan.clone();
        let item = "/$defs/Placed/properties";
        nested.pointer_mut(item).unwrap().as_object_mut().unwrap().remove("start");
        assert_eq!(breaks(plan, &nested), ["schedule[].start is gone"]);
    }
}
