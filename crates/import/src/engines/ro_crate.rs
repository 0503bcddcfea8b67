//! Workflow Run RO-Crate: `CreateAction`s with objects and results; the action that runs the whole
//! workflow is left out. Files are named by content, so that equal outputs of several actions are one.

use super::{json, unique};
use crate::dates;
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Outcome, RecordedRun, TaskRecord};
use crate::sources::{Artefact, Found};
use serde_json::Value;
use slackline_io::{FileAccess, FormatError, Result};
use std::collections::{BTreeMap, HashMap, HashSet};

/// An action before it becomes a task.
struct Action<'a> {
    label: String,
    start: Option<f64>,
    end: Option<f64>,
    failed: bool,
    objects: Vec<&'a str>,
    results: Vec<&'a str>,
}

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::RoCrate);
    let Some(path) = found.one(Artefact::RoCrate, "crates")? else {
        return Err(FormatError::new("no crate"));
    };
    let document = json(files, path)?;
    let graph = document["@graph"].as_array();
    let graph = graph.ok_or_else(|| FormatError::in_path("@graph", "no list").in_file(path))?;
    let by_id: HashMap<&str, &Value> =
        graph.iter().filter_map(|e| Some((e["@id"].as_str()?, e))).collect();
    let wholes: HashSet<&str> = graph
        .iter()
        .filter(|e| has_type(e, "Dataset") || has_type(e, "OrganizeAction"))
        .flat_map(|e| ids(&e["mainEntity"]).into_iter().chain(ids(&e["result"])))
        .collect();
    let mut actions: Vec<Action<'_>> = Vec::new();
    let mut outside: HashSet<&str> = HashSet::new();
    for entity in graph.iter().filter(|e| has_type(e, "CreateAction")) {
        let id = entity["@id"].as_str().unwrap_or_default();
        let instruments = ids(&entity["instrument"]);
        let is_workflow = |id: &&str| {
            wholes.contains(id)
                || by_id.get(*id).is_some_and(|e| has_type(e, "ComputationalWorkflow"))
        };
        let date = |key: &str| entity[key].as_str().and_then(dates::iso);
        if wholes.contains(id) || instruments.iter().any(is_workflow) {
            run.began = date("startTime").and_then(Figure::measured);
            run.ended = date("endTime").and_then(Figure::measured);
            outside.extend(files_of(&by_id, &entity["object"]));
            run.name = entity["name"].as_str().unwrap_or("ro-crate").to_string();
            continue;
        }
        let label = entity["name"].as_str().unwrap_or(id);
        let status = entity["actionStatus"]["@id"].as_str().or(entity["actionStatus"].as_str());
        actions.push(Action {
            label: label.rsplit(['/', '#']).next().unwrap_or(label).to_string(),
            start: date("startTime"),
            end: date("endTime"),
            failed: status.is_some_and(|s| s.contains("Failed")),
            objects: files_of(&by_id, &entity["object"]),
            results: files_of(&by_id, &entity["result"]),
        });
    }
    actions.sort_by(|a, b| {
        let start = |action: &Action<'_>| action.start.unwrap_or(f64::MAX);
        start(a).total_cmp(&start(b)).then_with(|| a.label.cmp(&b.label))
    });
    let mut makers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let is_file = |id: &&str| by_id.get(*id).is_some_and(|e| has_type(e, "File"));
    for (index, action) in actions.iter().enumerate() {
        for &id in action.results.iter().filter(|id| is_file(id)) {
            makers.entry(id).or_default().push(index);
        }
    }
    let host = run.host("localhost");
    let mut taken = HashMap::new();
    let (mut shared, mut paired) = (0, 0);
    for action in &actions {
        let kind = kind_of(&action.label);
        let outcome = match (action.failed, action.end) {
            (true, _) => Outcome::Failed,
            (false, None) => Outcome::Open,
            (false, Some(_)) => Outcome::Completed,
        };
        if outcome == Outcome::Open {
            run.repaired("open task: an action has no end");
        }
        let attempt = Attempt {
            start: action.start.and_then(Figure::measured),
            end: action.end.and_then(Figure::measured),
            host: Some(host),
            cores: Figure::assumed(1.0),
            outcome,
            ..Attempt::default()
        };
        let name = unique(&mut taken, action.label.clone());
        run.tasks.push(TaskRecord { name, kind, attempts: vec![attempt], ..TaskRecord::default() });
    }
    for (index, action) in actions.iter().enumerate() {
        for &id in action.results.iter().filter(|id| is_file(id)) {
            let file = production(&mut run, &by_id, &makers, id, index);
            run.tasks[index].outputs.push(file);
        }
        for &id in action.objects.iter().filter(|id| is_file(id)) {
            // An input of the workflow may have the content of a step's output: that step reads the input.
            let is_input = |makers: &Vec<usize>| {
                outside.contains(id)
                    && makers.iter().any(|&m| run.tasks[m].kind == run.tasks[index].kind)
            };
            let producers: Vec<usize> = match makers.get(id).filter(|makers| !is_input(makers)) {
                Some(makers) if makers.len() > 1 => {
                    // Members of a scatter read what the member of the same number wrote.
                    let peers: Vec<usize> = (0..actions.len())
                        .filter(|&i| {
                            run.tasks[i].kind == run.tasks[index].kind
                                && actions[i].objects.contains(&id)
                        })
                        .collect();
                    match peers.iter().position(|&i| i == index) {
                        Some(number) if peers.len() == makers.len() => {
                            paired += 1;
                            vec![makers[number]]
                        }
                        _ => {
                            shared += 1;
                            makers.clone()
                        }
                    }
                }
                Some(makers) => makers.clone(),
                None => Vec::new(),
            };
            if producers.is_empty() {
                let file = input(&mut run, &by_id, id);
                run.tasks[index].inputs.push(file);
            }
            for producer in producers.into_iter().filter(|&p| p != index) {
                let file = production(&mut run, &by_id, &makers, id, producer);
                run.tasks[index].inputs.push(file);
            }
        }
    }
    run.repaired_times(
        "equal content of several producers: paired by number in the scatter",
        paired,
    );
    run.repaired_times("equal content of several producers: all of them count", shared);
    Ok(run)
}

fn has_type(entity: &Value, wanted: &str) -> bool {
    match &entity["@type"] {
        Value::String(one) => one == wanted,
        Value::Array(several) => several.iter().any(|t| t == wanted),
        _ => false,
    }
}

/// The ids a property refers to, one or a list.
fn ids(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(several) => several.iter().filter_map(|v| v["@id"].as_str()).collect(),
        one => one["@id"].as_str().into_iter().collect(),
    }
}

/// The files a property refers to: directly, as the value of a parameter, or as parts of a collection;
/// each once.
fn files_of<'a>(by_id: &HashMap<&'a str, &'a Value>, value: &'a Value) -> Vec<&'a str> {
    let mut files = Vec::new();
    let mut seen = HashSet::new();
    let mut open = ids(value);
    open.reverse();
    while let Some(id) = open.pop() {
        let Some(&entity) = by_id.get(id) else { continue };
        if !seen.insert(id) {
            continue;
        }
        if has_type(entity, "File") {
            files.push(id);
        } else if has_type(entity, "PropertyValue") {
            open.extend(ids(&entity["value"]).into_iter().rev());
        } else if has_type(entity, "Collection") || has_type(entity, "Dataset") {
            open.extend(ids(&entity["hasPart"]).into_iter().rev());
        }
    }
    files
}

/// `align_2` is of kind `align`.
fn kind_of(label: &str) -> String {
    match label.rsplit_once('_') {
        Some((stem, number))
            if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            stem.to_string()
        }
        _ => label.to_string(),
    }
}

fn size(by_id: &HashMap<&str, &Value>, id: &str) -> Option<Figure> {
    let size = &by_id.get(id)?["contentSize"];
    let bytes = size.as_str().and_then(|s| s.parse::<f64>().ok()).or(size.as_f64())?;
    Figure::measured(bytes).filter(|f| f.value >= 0.0)
}

fn label<'a>(by_id: &HashMap<&str, &'a Value>, id: &'a str) -> &'a str {
    by_id.get(id).and_then(|e| e["alternateName"].as_str()).unwrap_or(id)
}

/// The file as one of its producers made it.
fn production(
    run: &mut RecordedRun,
    by_id: &HashMap<&str, &Value>,
    makers: &BTreeMap<&str, Vec<usize>>,
    id: &str,
    maker: usize,
) -> usize {
    let several = makers.get(id).is_some_and(|m| m.len() > 1);
    let name = if several { format!("{id} of {}", run.tasks[maker].name) } else { id.to_string() };
    let file = run.file(&name);
    run.files[file].bytes = size(by_id, id);
    file
}

fn input(run: &mut RecordedRun, by_id: &HashMap<&str, &Value>, id: &str) -> usize {
    // Two contents may have one name: the id distinguishes them.
    let name = match label(by_id, id) {
        same if same == id => id.to_string(),
        name => format!("{name} {id}"),
    };
    let file = run.file(&name);
    run.files[file].bytes = size(by_id, id);
    file
}
