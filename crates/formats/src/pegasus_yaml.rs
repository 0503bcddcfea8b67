//! Pegasus 5 workflows (YAML), read.
//!
//! A job's `id` is the task's name, its `name` (the transformation) the kind; `uses` are its files by logical
//! name, `jobDependencies` the dependencies. `crate::flow` resolves names that several jobs write. Sizes are
//! given at the use of a file, in its metadata, or in the metadata of the replica catalogue; profiles of the
//! namespace `pegasus` give `runtime` (seconds), `cores`, `gpus` and `memory` (MiB). The program is the first
//! `pfn` of the transformation catalogue, else the name of the transformation. A sub-workflow is one task.
//!
//! YAML is a language for making small texts large (aliases of aliases): the parser counts what
//! it makes and stops beyond what the text itself could hold.

use crate::detect::Codec;
use crate::document::Document;
use crate::error::{FormatError, Result};
use crate::flow::{Flow, Use};
use crate::text::{Streams, set_cores, set_gpus};
use crate::times::{negative_sizes, negative_times};
use serde::Deserialize;
use slackline_model::workflow::{Command, REFERENCE_SPEED};
use slackline_model::{Task, TaskId, WorkflowBuilder};
use std::collections::{BTreeMap, HashMap};

pub(crate) const CODEC: Codec = Codec {
    name: "pegasus-yaml",
    about: "Pegasus 5 workflow (YAML)",
    extensions: &["yml", "yaml"],
    comments: None,
    recognise,
    read: |text, _| read(text),
    write: None,
};

/// Bytes in the unit of Pegasus' memory profile.
const MEMORY_UNIT: f64 = 1_048_576.0;

/// Deepest nesting that is followed; workflows stay below ten.
const MAX_DEPTH: usize = 48;

/// Events that aliases may add to what the text holds: the parser's own limit.
const MAX_REPLAYED: usize = 1_000_000;

/// Whether there are the keys `pegasus` and `jobs` at the top, in block or in flow style.
fn recognise(text: &str) -> bool {
    if text.trim_start().starts_with('{') {
        return text.contains("\"pegasus\"") && text.contains("\"jobs\"");
    }
    let (mut pegasus, mut jobs) = (false, false);
    for line in text.lines() {
        pegasus |= line.starts_with("pegasus:");
        jobs |= line.starts_with("jobs:");
        if pegasus && jobs {
            return true;
        }
    }
    false
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: Option<String>,
    jobs: Vec<JobEntry>,
    job_dependencies: Option<Vec<Dependency>>,
    replica_catalog: Option<Replicas>,
    transformation_catalog: Option<Transformations>,
}

#[derive(Deserialize)]
struct JobEntry {
    #[serde(rename = "type")]
    role: Option<String>,
    id: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    version: Option<String>,
    arguments: Option<Vec<String>>,
    stdin: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
    uses: Option<Vec<FileUse>>,
    profiles: Option<Profiles>,
}

#[derive(Deserialize)]
struct FileUse {
    lfn: Option<String>,
    #[serde(rename = "type")]
    link: Option<String>,
    size: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    size: Option<String>,
}

#[derive(Deserialize)]
struct Profiles {
    pegasus: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Dependency {
    id: Option<String>,
    children: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Replicas {
    replicas: Option<Vec<Replica>>,
}

#[derive(Deserialize)]
struct Replica {
    lfn: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Transformations {
    transformations: Option<Vec<Transformation>>,
}

#[derive(Deserialize)]
struct Transformation {
    name: Option<String>,
    namespace: Option<String>,
    version: Option<String>,
    sites: Option<Vec<TransformationSite>>,
}

#[derive(Deserialize)]
struct TransformationSite {
    pfn: Option<String>,
}

/// Reads a Pegasus 5 workflow.
pub fn read(text: &str) -> Result<Document> {
    let file: File =
        serde_saphyr::from_str_with_options(text, limits(text.len())).map_err(located)?;
    let mut builder = WorkflowBuilder::new(file.name.unwrap_or_default());
    builder.set_reference_speed(REFERENCE_SPEED);
    let mut flow = Flow::default();
    for (i, replica) in file.replica_catalog.and_then(|c| c.replicas).iter().flatten().enumerate() {
        let path = || format!("replicaCatalog.replicas[{i}].metadata.size");
        let size = replica.metadata.as_ref().and_then(|m| m.size.as_deref());
        if let (Some(lfn), Some(size)) = (&replica.lfn, size) {
            let name = flow.name(lfn)?;
            let bytes = not_negative(number(size, path)?, &mut flow.negative_sizes);
            flow.size(name, bytes);
        }
    }
    let programs = programs(file.transformation_catalog);
    let mut untimed = 0;
    for (i, job) in file.jobs.into_iter().enumerate() {
        let path = || format!("jobs[{i}]");
        untimed += usize::from(
            !add_job(&mut builder, &mut flow, job, &programs).map_err(|e| e.under(path))?,
        );
    }
    for (i, dependency) in file.job_dependencies.iter().flatten().enumerate() {
        let find = |name: &str, path: String| {
            let message = || FormatError::in_path(path, format!("no job has the id '{name}'"));
            builder.task_id(name).ok_or_else(message)
        };
        let path = format!("jobDependencies[{i}]");
        let Some(parent) = &dependency.id else {
            return Err(FormatError::in_path(path, "id is missing"));
        };
        let parent = find(parent, format!("{path}.id"))?;
        for (k, child) in dependency.children.iter().flatten().enumerate() {
            let path = format!("{path}.children[{k}]");
            let child_id = find(child, path.clone())?;
            if child_id == parent {
                return Err(FormatError::in_path(path, format!("job '{child}' is its own parent")));
            }
            flow.declare(parent, child_id);
        }
    }
    let (times, sizes) = (flow.negative_times, flow.negative_sizes);
    let mut warnings = flow.finish(&mut builder)?;
    warnings.extend(negative_times(times, "job"));
    warnings.extend(negative_sizes(sizes));
    if untimed > 0 {
        let all = builder.len();
        warnings.push(format!("{untimed} of {all} jobs have no runtime: their work is 0"));
    }
    Ok(Document { warnings, ..Document::new(builder.build()?) })
}

/// Limits of the parser for a text of that many bytes.
fn limits(bytes: usize) -> serde_saphyr::Options {
    // Every event of the text itself takes at least one character, implied ones included.
    let events = 2 * bytes + 1000 + MAX_REPLAYED;
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_documents: 1,
            max_events: events,
            max_nodes: events,
            max_total_scalar_bytes: 2 * bytes + (64 << 20),
        },
        with_snippet: false,
    }
}

fn located(error: serde_saphyr::Error) -> FormatError {
    let message = error.without_snippet().to_string();
    let message = message.lines().next().unwrap_or_default();
    let message = message.split(" at line ").next().unwrap_or_default();
    match error.location().filter(|l| l.line() > 0) {
        Some(at) => FormatError::at(at.line() as usize, (at.column() as usize).max(1), message),
        None => FormatError::new(message),
    }
}

/// Full name of a transformation.
type Transformed = (Option<String>, String, Option<String>);

fn programs(catalog: Option<Transformations>) -> HashMap<Transformed, String> {
    let all = catalog.and_then(|c| c.transformations).unwrap_or_default();
    let entry = |t: Transformation| {
        let pfn = t.sites?.into_iter().find_map(|s| s.pfn)?;
        Some(((t.namespace, t.name?, t.version), pfn))
    };
    all.into_iter().filter_map(entry).collect()
}

/// Adds a job; whether it has a run time.
fn add_job(
    builder: &mut WorkflowBuilder,
    flow: &mut Flow,
    job: JobEntry,
    programs: &HashMap<Transformed, String>,
) -> Result<bool> {
    let Some(id) = job.id.filter(|id| !id.is_empty()) else {
        return Err(FormatError::in_path("id", "missing"));
    };
    let role = job.role.unwrap_or_else(|| "job".to_string());
    let kind = job.name.unwrap_or(role);
    let mut task = Task::new(id, 0.0).of_kind(kind.clone());
    let mut timed = false;
    for (key, value) in job.profiles.and_then(|p| p.pegasus).iter().flatten() {
        let path = || format!("profiles.pegasus.{key}");
        match key.as_str() {
            "runtime" => {
                let seconds = not_negative(number(value, path)?, &mut flow.negative_times);
                task.work = seconds * REFERENCE_SPEED;
                timed = true;
            }
            "gpus" => {
                let message = || format!("must be a whole number, not '{value}'");
                let bad = || FormatError::in_path(path(), message());
                set_gpus(&mut task, value.trim().parse().ok().ok_or_else(bad)?);
            }
            "memory" => {
                let memory = number(value, path)?;
                if memory < 0.0 {
                    let message = format!("must not be negative, not '{value}'");
                    return Err(FormatError::in_path(path(), message));
                }
                task.memory = memory * MEMORY_UNIT;
            }
            "cores" => {
                let cores = value.trim().parse().ok().filter(|&cores: &u32| cores > 0);
                let message = || format!("must be a whole number from 1, not '{value}'");
                let bad = || FormatError::in_path(path(), message());
                set_cores(&mut task, cores.ok_or_else(bad)?);
            }
            _ => {}
        }
    }
    let transformed = (job.namespace, kind, job.version);
    let program = programs.get(&transformed);
    let streams = Streams { input: job.stdin, output: job.stdout, errors: job.stderr };
    if program.is_some() || job.arguments.is_some() || !streams.is_empty() {
        task.command = Some(streams.of(Command {
            program: program.cloned().unwrap_or(transformed.1),
            arguments: job.arguments.unwrap_or_default(),
            ..Command::default()
        }));
    }
    let task = builder.add_task(task)?;
    for (k, file) in job.uses.iter().flatten().enumerate() {
        add_use(flow, task, file).map_err(|e| e.under(|| format!("uses[{k}]")))?;
    }
    Ok(timed)
}

fn add_use(flow: &mut Flow, task: TaskId, file: &FileUse) -> Result<()> {
    let lfn = file.lfn.as_deref().filter(|lfn| !lfn.is_empty());
    let name = flow.name(lfn.ok_or_else(|| FormatError::in_path("lfn", "missing"))?)?;
    let size = file.size.as_ref().or(file.metadata.as_ref().and_then(|m| m.size.as_ref()));
    let bytes = size.map(|size| number(size, || "size".to_string())).transpose()?;
    let bytes = bytes.map(|bytes| not_negative(bytes, &mut flow.negative_sizes));
    let how = match file.link.as_deref() {
        Some("input") => Use::Read,
        Some("output") => Use::Write,
        Some("inout" | "checkpoint") => Use::Update,
        Some("none") => return Ok(()),
        other => {
            let known = "input, output, inout, checkpoint or none";
            let message = format!("must be {known}, not '{}'", other.unwrap_or_default());
            return Err(FormatError::in_path("type", message));
        }
    };
    flow.uses(task, name, how, bytes);
    Ok(())
}

/// A number below zero counts as 0, and is counted.
fn not_negative(value: f64, count: &mut usize) -> f64 {
    *count += usize::from(value < 0.0);
    value.max(0.0)
}

/// A finite number, also one below zero.
fn number(text: &str, path: impl Fn() -> String) -> Result<f64> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let message = format!("must be a finite number, not '{text}'");
            Err(FormatError::in_path(path(), message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::EdgeId;

    const DIAMOND: &str = include_str!("../tests/fixtures/workflows/diamond.pegasus.yml");

    #[test]
    fn reads_a_diamond() {
        assert!(recognise(DIAMOND));
        let document = read(DIAMOND).unwrap();
        let w = &document.workflow;
        assert_eq!((w.name(), w.len(), w.edge_count()), ("diamond", 4, 4));
        let first = w.task(TaskId(0));
        assert_eq!((first.name.as_str(), first.kind.as_str()), ("ID0000001", "preprocess"));
        assert_eq!(first.work, 60e9);
        let command = first.command.unwrap();
        assert_eq!(command.program, "/opt/diamond/bin/preprocess");
        assert_eq!(command.arguments, ["-T", "60", "-i", "f.a", "-o", "f.b1"]);
        let last = w.task(TaskId(3));
        assert_eq!((last.min_width, last.max_width), (4, 4));
        assert_eq!(last.memory, 2048.0 * 1048576.0);
        assert_eq!(w.edge_bytes(EdgeId(0)), 2000.0);
        assert_eq!(w.file_bytes(slackline_model::FileId(0)), 1024.0);
        assert_eq!(document.warnings, ["1 of 4 jobs have no runtime: their work is 0"]);
    }

    #[test]
    fn streams_are_joined_by_a_shell() {
        let text = "pegasus: '5.0'\njobs:\n- id: a\n  type: job\n  name: sort\n  arguments: [-n, it's]\n  stdin: in\n  stdout: out file\n";
        let command = read(text).unwrap().workflow.task(TaskId(0)).command.unwrap();
        assert_eq!(command.shell_line(), Some("exec 'sort' '-n' 'it'\\''s' < 'in' > 'out file'"));
    }

    #[test]
    fn times_and_sizes_below_zero_count_as_nothing() {
        let text = "pegasus: '5.0'\njobs:\n- id: a\n  type: job\n  profiles: {pegasus: {runtime: -3}}\n  \
                    uses: [{lfn: f, type: output, size: -1}]\n";
        let document = read(text).unwrap();
        assert_eq!(document.workflow.work(TaskId(0)), 0.0);
        let said = [
            "1 job has a negative run time, which is taken as 0",
            "1 file has a negative size, which is taken as 0",
        ];
        assert_eq!(document.warnings, said);
    }

    #[test]
    fn bad_documents_are_placed_and_explained() {
        let job = |inside: &str| format!("pegasus: '5.0'\njobs:\n- id: a\n  type: job\n{inside}");
        for (text, expected) in [
            (String::new(), ""),
            ("pegasus: '5.0'".into(), "jobs"),
            ("jobs: []".into(), "no tasks"),
            ("jobs: [\n{id: a]".into(), "line 2"),
            ("jobs:\n- name: x".into(), "jobs[0].id"),
            (job("- id: a"), "jobs[1]: two tasks are named 'a'"),
            (job("  profiles: {pegasus: {runtime: .nan}}"), "runtime"),
            (job("  profiles: {pegasus: {cores: 0.5}}"), "whole number"),
            (job("  uses: [{lfn: x, type: sideways}]"), "jobs[0].uses[0].type"),
            (job("  uses: [{lfn: x, type: input, size: big}]"), "jobs[0].uses[0].size"),
            (job("  uses: [{type: input}]"), "lfn"),
            (job("jobDependencies: [{id: b, children: [a]}]"), "no job has the id 'b'"),
            (job("jobDependencies: [{id: a, children: [a]}]"), "its own parent"),
        ] {
            let message = read(&text).unwrap_err().to_string();
            assert!(message.contains(expected), "{text}\n{message}");
        }
    }

    #[test]
    fn aliases_are_read_and_bombs_are_not() {
        let shared = "pegasus: '5.0'\njobs:\n- id: a\n  uses: &u [{lfn: x, type: input}]\n- {id: b, uses: *u}";
        assert_eq!(read(shared).unwrap().workflow.file_count(), 1);
        let mut bomb = String::from("pegasus: '5.0'\njobs: []\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for i in 1..12 {
            let aliases = vec![format!("*a{}", i - 1); 10].join(",");
            bomb.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
        }
        assert!(read(&bomb).is_err());
    }
}
