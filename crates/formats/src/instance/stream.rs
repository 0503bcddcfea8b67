//! Streams: several workflows with their dates of arrival and the processors they share, in one
//! JSON file.
//!
//! ```json
//! {
//!   "processors": [{"id": "p", "price": 1}, {"id": "q", "price": 2}],
//!   "bandwidth": 5,
//!   "workflows": [
//!     {"name": "a", "arrival": 0, "owner": "ann", "priority": 2, "budget": 30, "deadline": 20,
//!      "tasks": [{"id": "t", "cost": 6}], "edges": [], "exec": [[6, 3]]}
//!   ]
//! }
//! ```
//!
//! Processors, bandwidth, latency and billing are those of an instance, and so are `tasks`, `edges` and `exec`
//! of each workflow. Workflows are in order of arrival; a deadline counts from the arrival of its workflow.
//! Duplicate names are made distinct; one that is missing is its number, `w1`, `w2`.

use super::schema::File;
use crate::error::{FormatError, Result, json_error};
use serde::Deserialize;
use serde_json::{Map, Value};
use slackline_model::schedule::Limits;
use slackline_model::{Platform, Terms, Workflow};
use std::collections::HashMap;

/// Workflows and the platform they share.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its name, possibly empty.
    pub name: String,
    /// In order of arrival.
    pub workflows: Vec<Submitted>,
    /// The hosts in the order of their first processors; one that no processor names is a processor.
    pub platform: Platform,
}

/// A workflow of a stream.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// Tasks and dependencies.
    pub workflow: Workflow,
    /// When it arrives.
    pub arrival: f64,
    /// Its owner, priority and limits.
    pub terms: Terms,
}

/// Whether a text is a stream rather than a single instance.
pub fn recognise(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && text.contains("\"processors\"")
        && super::has_members(text, ["workflows", "processors"])
}

/// Members of a workflow of a stream in addition to those of an instance.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    arrival: f64,
    #[serde(default)]
    owner: String,
    #[serde(default)]
    priority: f64,
    budget: Option<f64>,
    deadline: Option<f64>,
}

/// Members of a workflow that are those of an instance.
const GRAPH: [&str; 7] = ["name", "tasks", "edges", "files", "exec", "choices", "loops"];

/// Reads a stream.
pub fn read(text: &str) -> Result<Stream> {
    let mut shared: Map<String, Value> = serde_json::from_str(text).map_err(json_error)?;
    let Some(Value::Array(entries)) = shared.remove("workflows") else {
        return Err(FormatError::in_path("workflows", "a list of workflows is missing"));
    };
    let name = shared.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
    let mut workflows: Vec<Submitted> = Vec::with_capacity(entries.len());
    let mut platform = None;
    let mut named: HashMap<String, usize> = HashMap::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let within = |error: FormatError| error.under(|| format!("workflows[{index}]"));
        let Value::Object(own) = entry else {
            return Err(within(FormatError::new("a workflow is an object")));
        };
        let (submitted, machines) =
            read_one(index, own, &shared, platform.is_none()).map_err(within)?;
        let before = workflows.last().map_or(0.0, |w| w.arrival);
        if submitted.arrival < before {
            let why = format!("{} is before {before}, when the last one came", submitted.arrival);
            return Err(within(FormatError::in_path("arrival", why)));
        }
        let name = submitted.workflow.name().to_string();
        if let Some(first) = named.insert(name.clone(), index) {
            let why = format!("'{name}' is the name of workflows[{first}] already");
            return Err(within(FormatError::in_path("name", why)));
        }
        workflows.push(submitted);
        platform = platform.or(machines);
    }
    let Some(platform) = platform else {
        return Err(FormatError::in_path("workflows", "there is no workflow"));
    };
    Ok(Stream { name, workflows, platform })
}

/// One workflow as an instance on the shared processors; the platform too, where it is wanted.
fn read_one(
    index: usize,
    mut own: Map<String, Value>,
    shared: &Map<String, Value>,
    with_platform: bool,
) -> Result<(Submitted, Option<Platform>)> {
    let graph = GRAPH.map(|member| own.remove_entry(member));
    let extra: Entry = serde_json::from_value(Value::Object(own)).map_err(json_error)?;
    for (path, value) in [
        ("arrival", Some(extra.arrival)),
        ("priority", Some(extra.priority)),
        ("budget", extra.budget),
        ("deadline", extra.deadline),
    ] {
        if let Some(value) = value.filter(|v| !(v.is_finite() && *v >= 0.0)) {
            return Err(FormatError::in_path(path, format!("{path} cannot be {value}")));
        }
    }
    let mut instance = shared.clone();
    let stream = instance.remove("name");
    instance.extend(graph.into_iter().flatten());
    let mut file: File = serde_json::from_value(Value::Object(instance)).map_err(json_error)?;
    if file.name.is_empty() {
        file.name = format!("w{}", index + 1);
    }
    let workflow = file.workflow()?;
    file.name = stream.as_ref().and_then(Value::as_str).unwrap_or_default().to_string();
    let platform = if with_platform { Some(file.platform()?) } else { None };
    let limits = Limits { budget: extra.budget, deadline: extra.deadline };
    let terms = Terms { owner: extra.owner, priority: extra.priority, limits };
    Ok((Submitted { workflow, arrival: extra.arrival, terms }, platform))
}
