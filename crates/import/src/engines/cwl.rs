//! CWL: the PROV-JSON file of a CWLProv research object; the log of cwltool where that has no steps, as after
//! `--parallel`.

use super::{json, unique};
use crate::dates;
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Origin, Outcome, RecordedRun, TaskRecord};
use crate::sources::{Artefact, Found};
use serde_json::{Map, Value};
use slackline_io::{FileAccess, FormatError, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Cwl);
    let mut steps = 0;
    if let Some(path) = found.one(Artefact::CwlProv, "provenance")? {
        let document = json(files, path)?;
        steps = from_prov(&mut run, &document).map_err(|e| e.in_file(path))?;
        sizes_on_disk(&mut run, path);
    }
    let logs = found.all(Artefact::CwlLog);
    if steps == 0 {
        match found.one(Artefact::CwlLog, "logs")? {
            Some(path) => {
                run = RecordedRun {
                    began: run.began,
                    ended: run.ended,
                    ..RecordedRun::of(Engine::Cwl)
                };
                from_log(&mut run, &files.read_text(path)?);
                run.repaired("steps taken from the log: the provenance has none");
            }
            None => {
                return Err(FormatError::new(
                    "the provenance has no steps (cwltool --parallel leaves them out)",
                )
                .with_help("name the log of cwltool --timestamps too"));
            }
        }
    } else if let [log] = logs {
        memory_from_log(&mut run, &files.read_text(log)?);
    }
    let host = run.host("localhost");
    for attempt in run.tasks.iter_mut().flat_map(|t| &mut t.attempts) {
        attempt.host = Some(host);
        attempt.cores = Figure::assumed(1.0);
    }
    Ok(run)
}

fn section<'a>(document: &'a Value, name: &str) -> Option<&'a Map<String, Value>> {
    document.get(name).and_then(Value::as_object)
}

/// A member of a record as text: PROV-JSON has plain strings and typed ones, `{"$": text}`.
fn text<'a>(record: &'a Value, key: &str) -> Option<&'a str> {
    match record.get(key)? {
        Value::String(text) => Some(text),
        Value::Object(typed) => typed.get("$")?.as_str(),
        _ => None,
    }
}

/// The name and kind of a step: `trim_2` and `trim` of `Run of workflow/packed.cwl#main/trim_2`.
fn step_name(label: &str) -> (String, String) {
    let name = label.rsplit(['/', '#']).next().unwrap_or(label).trim();
    let name = name.strip_prefix("Run of ").unwrap_or(name).to_string();
    let kind = match name.rsplit_once('_') {
        Some((stem, number))
            if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            stem.to_string()
        }
        _ => name.clone(),
    };
    (name, kind)
}

fn from_prov(run: &mut RecordedRun, document: &Value) -> Result<usize> {
    let none = Map::new();
    let of = |name: &str| section(document, name).unwrap_or(&none);
    let has_type = |record: &Value, wanted: &str| {
        let types = record.get("prov:type");
        let list =
            types.and_then(Value::as_array).cloned().or_else(|| types.map(|t| vec![t.clone()]));
        list.into_iter().flatten().any(|t| t.get("$").unwrap_or(&t).as_str() == Some(wanted))
    };
    let mut tasks: HashMap<&str, usize> = HashMap::new();
    let mut taken = HashMap::new();
    // Activities that are runs of whole workflows.
    let mut workflows: BTreeSet<&str> = BTreeSet::new();
    for (id, activity) in of("activity") {
        if !has_type(activity, "wfprov:ProcessRun") {
            workflows.insert(id);
            continue;
        }
        let (name, kind) = step_name(text(activity, "prov:label").unwrap_or(id));
        tasks.insert(id, run.tasks.len());
        let name = unique(&mut taken, name);
        run.tasks.push(TaskRecord {
            name,
            kind,
            attempts: vec![Attempt::default()],
            ..TaskRecord::default()
        });
    }
    for (kind, is_start) in [("wasStartedBy", true), ("wasEndedBy", false)] {
        for record in of(kind).values() {
            let Some(id) = text(record, "prov:activity") else { continue };
            let date = text(record, "prov:time").and_then(dates::iso).and_then(Figure::measured);
            if let Some(&task) = tasks.get(id) {
                let attempt = &mut run.tasks[task].attempts[0];
                *(if is_start { &mut attempt.start } else { &mut attempt.end }) = date;
            } else if workflows.contains(id) {
                *(if is_start { &mut run.began } else { &mut run.ended }) = date;
            }
        }
    }
    let mut open = 0;
    for attempt in run.tasks.iter_mut().map(|t| &mut t.attempts[0]).filter(|a| a.end.is_none()) {
        attempt.outcome = Outcome::Open;
        open += 1;
    }
    run.repaired_times("open task: an activity has no end", open);
    // Content by entity: an entity is one production of a content, so that equal outputs stay apart.
    let mut content: HashMap<&str, &str> = HashMap::new();
    for record in of("specializationOf").values() {
        if let (Some(entity), Some(general)) =
            (text(record, "prov:specificEntity"), text(record, "prov:generalEntity"))
        {
            content.insert(entity, general);
        }
    }
    let mut members: HashMap<&str, Vec<&str>> = HashMap::new();
    for record in of("hadMember").values() {
        if let (Some(collection), Some(entity)) =
            (text(record, "prov:collection"), text(record, "prov:entity"))
        {
            members.entry(collection).or_default().push(entity);
        }
    }
    let mut made: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut makers: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    for record in of("wasGeneratedBy").values() {
        let (Some(entity), Some(id)) = (text(record, "prov:entity"), text(record, "prov:activity"))
        else {
            continue;
        };
        let Some(&task) = tasks.get(id) else { continue };
        let Some(&data) = content.get(entity) else { continue };
        // One file per production, named by the content and its maker where several make it.
        let file = run.file(&format!("{data} of {}", run.tasks[task].name.clone()));
        run.tasks[task].outputs.push(file);
        made.insert(entity, (task, file));
        makers.entry(data).or_default().insert(task);
    }
    for record in of("used").values() {
        let (Some(entity), Some(id)) = (text(record, "prov:entity"), text(record, "prov:activity"))
        else {
            continue;
        };
        let Some(&task) = tasks.get(id) else { continue };
        let mut open = vec![entity];
        let mut seen = BTreeSet::new();
        while let Some(entity) = open.pop() {
            if !seen.insert(entity) {
                continue;
            }
            open.extend(members.get(entity).into_iter().flatten());
            let file = if let Some((_, file)) = made.get(entity) {
                *file
            } else if let Some(data) = content.get(entity) {
                // An entity that no activity made came from outside, even where a step writes the
                // same content.
                run.file(data)
            } else {
                continue;
            };
            if !run.tasks[task].inputs.contains(&file) && !run.tasks[task].outputs.contains(&file) {
                run.tasks[task].inputs.push(file);
            }
        }
    }
    run.repaired_times(
        "equal content of several producers kept apart by production",
        makers.values().filter(|m| m.len() > 1).count(),
    );
    order_by_start(run);
    Ok(tasks.len())
}

/// Sorts tasks by start (equal ones: by name), as the ids of the provenance are random.
fn order_by_start(run: &mut RecordedRun) {
    let start = |task: &TaskRecord| {
        task.attempts.first().and_then(|a| a.start).map_or(f64::MAX, |f| f.value)
    };
    let mut order: Vec<usize> = (0..run.tasks.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&run.tasks[a], &run.tasks[b]);
        start(a).total_cmp(&start(b)).then_with(|| a.name.cmp(&b.name))
    });
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
    let mut tasks: Vec<TaskRecord> =
        order.iter().map(|&old| std::mem::take(&mut run.tasks[old])).collect();
    tasks.iter_mut().flat_map(|t| &mut t.after).for_each(|after| after.0 = place[after.0]);
    run.tasks = tasks;
}

/// Takes the sizes of files from the research object, which keeps contents as `data/7a/7a2c…` in a folder above the
/// provenance (at most four levels up).
fn sizes_on_disk(run: &mut RecordedRun, prov: &Path) {
    let roots: Vec<_> = prov.ancestors().skip(1).take(4).map(Path::to_path_buf).collect();
    for file in &mut run.files {
        let hash =
            file.name.trim_start_matches("data:").split(' ').next().unwrap_or_default().to_string();
        if hash.len() < 40 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            continue;
        }
        let candidates = roots.iter().map(|root| root.join("data").join(&hash[..2]).join(&hash));
        let size =
            candidates.filter_map(|path| std::fs::metadata(path).ok()).map(|m| m.len()).next();
        file.bytes = size.and_then(|bytes| Figure::measured(bytes as f64));
    }
}

/// A job of cwltool's log.
#[derive(Default)]
struct CwlJob {
    /// Its command.
    words: Vec<String>,
    start: Option<f64>,
    end: Option<f64>,
    ok: bool,
    memory: Option<f64>,
}

/// A log of cwltool.
struct Log {
    jobs: Vec<(String, CwlJob)>,
    version: Option<String>,
    began: Option<f64>,
    ended: Option<f64>,
}

fn parse_log(text: &str) -> Log {
    let mut jobs: Vec<(String, CwlJob)> = Vec::new();
    let mut version = None;
    let mut current: Option<usize> = None;
    let (mut began, mut ended) = (None, None);
    for line in text.lines() {
        let dated = line.strip_prefix('[').and_then(|l| l.split_once("] "));
        let Some((date, rest)) = dated.and_then(|(date, rest)| Some((dates::iso(date)?, rest)))
        else {
            // The command continues over several lines.
            if let Some(job) = current {
                jobs[job]
                    .1
                    .words
                    .extend(line.split_whitespace().filter(|w| *w != "\\").map(str::to_string));
            }
            continue;
        };
        current = None;
        began.get_or_insert(date);
        ended = Some(date);
        let message = rest.split_once(' ').map_or(rest, |(_, m)| m);
        if version.is_none()
            && let Some(at) = message.find("cwltool ")
            && !message.starts_with('[')
        {
            version = message[at + 8..].split_whitespace().next().map(str::to_string);
        }
        let Some((name, message)) = message.strip_prefix("[job ").and_then(|m| m.split_once("] "))
        else {
            continue;
        };
        let at = jobs.iter().position(|(known, job)| known == name && job.end.is_none());
        if let Some(memory) = message.strip_prefix("Max memory used: ") {
            if let Some(at) = at {
                jobs[at].1.memory = size(memory);
            }
        } else if let Some(how) = message.strip_prefix("completed ") {
            if let Some(at) = at {
                jobs[at].1.end = Some(date);
                jobs[at].1.ok = how.trim() == "success";
            }
        } else if let Some((_, command)) = message.split_once("$ ") {
            let mut job = CwlJob { start: Some(date), ..CwlJob::default() };
            job.words.extend(command.split_whitespace().filter(|w| *w != "\\").map(str::to_string));
            current = Some(jobs.len());
            jobs.push((name.to_string(), job));
        }
    }
    Log { jobs, version, began, ended }
}

/// Reads a size such as `13MiB` in bytes.
fn size(text: &str) -> Option<f64> {
    let text = text.trim();
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let unit = match &text[at..] {
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(text[..at].parse::<f64>().ok()? * unit)
}

fn memory_from_log(run: &mut RecordedRun, text: &str) {
    let Log { jobs, version, .. } = parse_log(text);
    run.version = version;
    let known: BTreeMap<String, f64> =
        jobs.into_iter().filter_map(|(name, job)| Some((name, job.memory?))).collect();
    for task in &mut run.tasks {
        let memory = known.get(&task.name).copied();
        task.attempts[0].peak_memory = memory.and_then(Figure::measured);
    }
}

/// Takes tasks from the jobs of a log. Commands name inputs by staged paths (`/…/stg…/name`) and outputs by their names:
/// the first job that names a file otherwise than as a staged input is taken as its producer.
fn from_log(run: &mut RecordedRun, text: &str) {
    let Log { jobs, version, began, ended } = parse_log(text);
    run.version = version;
    run.began = run.began.or(began.and_then(Figure::measured));
    run.ended = run.ended.or(ended.and_then(Figure::measured));
    let mut taken = HashMap::new();
    let staged = |word: &str| word.starts_with('/') && word.contains("/stg");
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_string();
    // Files without a producer (scripts, inputs of the workflow) are only staged.
    let mut makers: HashMap<String, usize> = HashMap::new();
    for (index, (_, job)) in jobs.iter().enumerate() {
        for word in job.words.iter().skip(1).filter(|w| !staged(w) && !w.starts_with('-')) {
            makers.entry(base(word)).or_insert(index);
        }
    }
    for (index, (name, job)) in jobs.iter().enumerate() {
        let (name, kind) = step_name(name);
        let mut task = TaskRecord {
            name: unique(&mut taken, name),
            kind,
            command: Some(job.words.join(" ")),
            ..TaskRecord::default()
        };
        for word in job.words.iter().filter(|w| staged(w)) {
            let name = base(word);
            let file = run.file(&name);
            match makers.get(&name) {
                Some(&maker) if maker != index => {
                    task.inputs.push(file);
                    let is_output = run.tasks.get(maker).is_some_and(|t| t.outputs.contains(&file));
                    if let Some(maker) = run.tasks.get_mut(maker).filter(|_| !is_output) {
                        maker.outputs.push(file);
                    }
                }
                _ => task.inputs.push(file),
            }
        }
        task.inputs.sort_unstable();
        task.inputs.dedup();
        let origin =
            |date: Option<f64>| date.map(|value| Figure { value, origin: Origin::Measured });
        let outcome = match (job.end, job.ok) {
            (None, _) => Outcome::Open,
            (Some(_), true) => Outcome::Completed,
            (Some(_), false) => Outcome::Failed,
        };
        if outcome == Outcome::Open {
            run.repaired("open task: the log has no end of a job");
        }
        task.attempts.push(Attempt {
            start: origin(job.start),
            end: origin(job.end),
            outcome,
            peak_memory: job.memory.and_then(Figure::measured),
            ..Attempt::default()
        });
        run.tasks.push(task);
    }
}
