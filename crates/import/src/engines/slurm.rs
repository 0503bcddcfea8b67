//! Slurm: `sacct --parsable2` with whatever columns, and `sacct --json`. No column has dependencies: they are
//! taken from the line with which a job was submitted.

use super::{json, unique};
use crate::dates;
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Origin, Outcome, RecordedRun, TaskRecord};
use crate::sources::{Artefact, Found};
use serde_json::Value;
use slackline_formats::batch_log::listing::{Line, Listing};
use slackline_io::{FileAccess, FormatError, Result};
use std::collections::{BTreeMap, HashMap};

/// A job, with what its steps add.
#[derive(Clone, Debug, Default)]
struct Job {
    /// As users see it: `2_1`, `7`.
    id: String,
    name: String,
    attempt: Attempt,
    memory: Option<f64>,
    cores: Option<f64>,
    limit: Option<f64>,
    nodes: Option<String>,
    submit_line: Option<String>,
}

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Slurm);
    let mut jobs: BTreeMap<String, Vec<Job>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut add = |job: Job| {
        let of_id = jobs.entry(job.id.clone()).or_default();
        if of_id.is_empty() {
            order.push(job.id.clone());
        }
        of_id.push(job);
    };
    let texts = found.all(Artefact::SacctText);
    // The listing with most columns has most information; the others are the same jobs.
    let mut best: Option<(usize, &std::path::PathBuf)> = None;
    for path in texts {
        let text = files.read_text(path)?;
        let columns = text.lines().next().unwrap_or_default().split('|').count();
        if best.is_none_or(|(most, _)| columns > most) {
            best = Some((columns, path));
        }
    }
    if texts.len() > 1 {
        run.notes.push("several listings: the one with most columns counts".to_string());
    }
    match (best, found.last(Artefact::SacctJson)) {
        (Some((_, path)), _) => {
            let text = files.read_text(path)?;
            parse(&text, &mut run, &mut add).map_err(|e| e.in_file(path))?;
        }
        (None, Some(path)) => {
            let document = json(files, path)?;
            parse_json(&document, &mut add).map_err(|e| e.in_file(path))?;
        }
        (None, None) => return Err(FormatError::new("no accounting records")),
    }
    let mut ids: HashMap<String, usize> = HashMap::new();
    let mut taken = HashMap::new();
    let mut waits: Vec<(usize, String)> = Vec::new();
    for id in order {
        let mut attempts = jobs.remove(&id).unwrap_or_default();
        attempts.sort_by(|a, b| {
            let date = |job: &Job| {
                job.attempt.start.or(job.attempt.submitted).map_or(f64::MAX, |f| f.value)
            };
            date(a).total_cmp(&date(b))
        });
        let Some(last) = attempts.last().cloned() else { continue };
        let index = run.tasks.len();
        let mut task = TaskRecord {
            name: unique(&mut taken, format!("{}:{}", last.name, last.id)),
            kind: last.name.clone(),
            command: last.submit_line.clone(),
            cores: last.cores.and_then(Figure::measured),
            memory: last.memory.and_then(Figure::measured),
            time_limit: last.limit.and_then(Figure::measured),
            ..TaskRecord::default()
        };
        for job in attempts {
            let mut attempt = job.attempt;
            attempt.host = job.nodes.as_deref().map(|nodes| {
                let first = first_node(nodes);
                run.host(&first)
            });
            if attempt.outcome == Outcome::Open {
                run.repaired("open task: the job had not ended");
            }
            task.attempts.push(attempt);
        }
        if let Some(line) = last.submit_line {
            waits.push((index, line));
        }
        ids.insert(id.clone(), index);
        run.tasks.push(task);
    }
    // An array is waited for by its own number.
    let mut arrays: HashMap<String, Vec<usize>> = HashMap::new();
    for (id, &index) in &ids {
        if let Some((array, _)) = id.split_once('_') {
            arrays.entry(array.to_string()).or_default().push(index);
        }
    }
    arrays.values_mut().for_each(|members| members.sort_unstable());
    let mut unknown = 0;
    for (index, line) in waits {
        for id in dependencies(&line) {
            let several = arrays.get(&id).cloned();
            match several.or_else(|| ids.get(&id).map(|&one| vec![one])) {
                Some(parents) => {
                    for parent in parents.into_iter().filter(|&p| p != index) {
                        if !run.tasks[index].after.iter().any(|a| a.0 == parent) {
                            run.tasks[index].after.push((parent, Origin::Derived));
                        }
                    }
                }
                None => unknown += 1,
            }
        }
    }
    run.repaired_times("dependency on a job that is not in the listing left out", unknown);
    let lines = run.tasks.iter().filter(|t| t.command.is_some()).count();
    if lines == 0 {
        run.notes.push("no column SubmitLine: dependencies are not known".to_string());
    }
    Ok(run)
}

fn parse(text: &str, run: &mut RecordedRun, add: &mut impl FnMut(Job)) -> Result<()> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.next() else { return Err(FormatError::new("empty")) };
    let listing = Listing::of(header);
    for needed in ["JobID", "State"] {
        if listing.place(needed).is_none() {
            return Err(FormatError::at(1, 1, format!("no column {needed}")));
        }
    }
    let (mut shifted, mut cut) = (0, 0);
    let mut current: Option<Job> = None;
    for (index, line) in lines.filter(|(_, l)| !l.is_empty()) {
        let Line { fields, is_mended } = listing.split(line);
        if fields.len() < listing.len() {
            cut += 1;
            continue;
        }
        if fields.len() > listing.len() {
            let message = format!("{} values under {} columns", fields.len(), listing.len());
            return Err(FormatError::at(index + 1, 1, message)
                .with_help("a '|' in a value that is neither JobName nor SubmitLine"));
        }
        shifted += usize::from(is_mended);
        let cell = |name: &str| {
            let value = listing.place(name).map(|place| fields[place].trim())?;
            let is_known = !matches!(
                value,
                "" | "Unknown" | "None" | "None assigned" | "INVALID" | "Partition_Limit"
            );
            is_known.then_some(value)
        };
        let Some(id) = cell("JobID") else {
            return Err(FormatError::at(index + 1, 1, "a job without an id"));
        };
        let memory = cell("MaxRSS").and_then(amount);
        let cpu = cell("TotalCPU").and_then(dates::slurm).filter(|s| *s > 0.0);
        let (read, written) =
            (cell("MaxDiskRead").and_then(amount), cell("MaxDiskWrite").and_then(amount));
        if let Some((of, _)) = id.split_once('.') {
            // A step: what it used is the job's.
            if let Some(job) = current.as_mut().filter(|job| job.id == of) {
                let most = |known: &mut Option<Figure>, value: Option<f64>| {
                    let known_value = known.map(|f| f.value);
                    if let Some(value) =
                        value.filter(|v| *v > 0.0 && known_value.is_none_or(|k| *v > k))
                    {
                        *known = Figure::measured(value);
                    }
                };
                most(&mut job.attempt.peak_memory, memory);
                most(&mut job.attempt.read, read);
                most(&mut job.attempt.written, written);
            }
            continue;
        }
        if let Some(done) = current.take() {
            add(done);
        }
        let date = |name: &str| cell(name).and_then(dates::iso).and_then(Figure::measured);
        let state = cell("State").unwrap_or("UNKNOWN");
        let start = date("Start");
        let end = date("End").filter(|_| start.is_some());
        let cores = cell("AllocCPUS").or_else(|| cell("NCPUS")).and_then(|c| c.parse::<f64>().ok());
        let requested = cell("ReqCPUS").and_then(|c| c.parse::<f64>().ok()).or(cores);
        let mut job = Job {
            id: id.to_string(),
            name: cell("JobName").unwrap_or("job").to_string(),
            memory: cell("ReqMem").and_then(|m| requested_memory(m, requested, cell("NNodes"))),
            cores: requested,
            limit: cell("Timelimit").and_then(dates::slurm),
            nodes: cell("NodeList").map(str::to_string),
            submit_line: cell("SubmitLine").map(str::to_string),
            ..Job::default()
        };
        job.attempt = Attempt {
            submitted: date("Submit"),
            start,
            end,
            cores: cores.and_then(Figure::measured).or(Figure::assumed(1.0)),
            outcome: outcome(state),
            exit: cell("ExitCode").and_then(|c| c.split(':').next()?.parse().ok()),
            peak_memory: memory.and_then(Figure::measured),
            cpu: cpu.and_then(Figure::measured),
            read: read.and_then(Figure::measured),
            written: written.and_then(Figure::measured),
            ..Attempt::default()
        };
        current = Some(job);
    }
    if let Some(done) = current {
        add(done);
    }
    run.repaired_times("'|' in a value: columns moved back", shifted);
    run.repaired_times("cut-off line left out", cut);
    Ok(())
}

fn outcome_of(state: &str) -> Option<Outcome> {
    Some(match state.split([' ', '+']).next().unwrap_or_default() {
        "COMPLETED" => Outcome::Completed,
        "FAILED" | "NODE_FAIL" | "BOOT_FAIL" | "DEADLINE" => Outcome::Failed,
        "TIMEOUT" => Outcome::TimedOut,
        "OUT_OF_MEMORY" => Outcome::OutOfMemory,
        "CANCELLED" | "PREEMPTED" | "REVOKED" | "REQUEUED" => Outcome::Cancelled,
        "RUNNING" | "PENDING" | "SUSPENDED" | "RESIZING" => Outcome::Open,
        _ => return None,
    })
}

fn outcome(state: &str) -> Outcome {
    outcome_of(state).unwrap_or(Outcome::Failed)
}

/// `3352K`, `0.01M`, `12G`: powers of 1024.
fn amount(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let power = match &text[at..] {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some(text[..at].parse::<f64>().ok()? * 1024f64.powi(power))
}

/// `100M`; older versions add `c` (per core) or `n` (per node).
fn requested_memory(text: &str, cores: Option<f64>, nodes: Option<&str>) -> Option<f64> {
    if let Some(per_core) = text.strip_suffix('c') {
        return Some(amount(per_core)? * cores.unwrap_or(1.0));
    }
    if let Some(per_node) = text.strip_suffix('n') {
        return Some(amount(per_node)? * nodes.and_then(|n| n.parse().ok()).unwrap_or(1.0));
    }
    amount(text)
}

/// The first of `n[1-3],m2`.
fn first_node(list: &str) -> String {
    let Some((stem, rest)) = list.split_once('[').filter(|(stem, _)| !stem.contains(',')) else {
        return list.split(',').next().unwrap_or(list).to_string();
    };
    let number = rest.split([',', '-', ']']).next().unwrap_or_default();
    format!("{stem}{number}")
}

/// Jobs named by `--dependency=afterok:1:2,afterany:3` or `-d …` in a line of submission.
fn dependencies(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let list = if let Some(list) = word.strip_prefix("--dependency=") {
            list
        } else if *word == "--dependency" || *word == "-d" {
            words.get(index + 1).copied().unwrap_or_default()
        } else if let Some(list) = word.strip_prefix("-d").filter(|l| l.starts_with("after")) {
            list
        } else if *word == "--wrap" || word.starts_with("--wrap=") {
            break; // the script is not Slurm's
        } else {
            continue;
        };
        for clause in list.split([',', '?']) {
            let mut parts = clause.split(':');
            if parts.next().is_some_and(|kind| kind.starts_with("after")) {
                // `after:3+10` waits ten minutes more.
                found.extend(parts.map(|id| id.split('+').next().unwrap_or(id).to_string()));
            }
        }
    }
    found.retain(|id| !id.is_empty());
    found
}

fn parse_json(document: &Value, add: &mut impl FnMut(Job)) -> Result<()> {
    let jobs =
        document["jobs"].as_array().ok_or_else(|| FormatError::in_path("jobs", "no list"))?;
    // Newer versions write {"set": …, "number": N}.
    let number = |value: &Value| -> Option<f64> {
        match value {
            Value::Object(object) if object.get("set") == Some(&Value::Bool(false)) => None,
            Value::Object(object) => object.get("number")?.as_f64(),
            other => other.as_f64(),
        }
    };
    for (index, record) in jobs.iter().enumerate() {
        let fail = |key: &str| {
            FormatError::in_path(format!("jobs[{index}].{key}"), "missing or of another type")
        };
        let id = record["job_id"].as_u64().ok_or_else(|| fail("job_id"))?;
        let array = record["array"]["job_id"].as_u64().filter(|&array| array != 0);
        let member = number(&record["array"]["task_id"]);
        let time = &record["time"];
        let date = |key: &str| number(&time[key]).filter(|at| *at > 0.0).and_then(Figure::measured);
        let state = match &record["state"]["current"] {
            Value::Array(states) => states.first().and_then(Value::as_str).unwrap_or("UNKNOWN"),
            state => state.as_str().unwrap_or("UNKNOWN"),
        };
        let cores = number(&record["required"]["CPUs"]).filter(|c| *c > 0.0);
        let memory = number(&record["required"]["memory"]).or_else(|| {
            let per_cpu = number(&record["required"]["memory_per_cpu"])?;
            Some(per_cpu * cores.unwrap_or(1.0))
        });
        let mut peak: Option<f64> = None;
        for step in record["steps"].as_array().into_iter().flatten() {
            for used in step["tres"]["requested"]["max"].as_array().into_iter().flatten() {
                if used["type"] == "mem" {
                    let count = used["count"].as_f64().unwrap_or(0.0);
                    peak = Some(peak.map_or(count, |known| known.max(count)));
                }
            }
        }
        let cpu = &time["total"];
        let cpu =
            cpu["seconds"].as_f64().zip(cpu["microseconds"].as_f64()).map(|(s, us)| s + us / 1e6);
        let start = date("start");
        let nodes = record["nodes"].as_str().filter(|n| !n.is_empty() && *n != "None assigned");
        let line = record["submit_line"].as_str().filter(|l| !l.is_empty());
        add(Job {
            id: match (array, member) {
                (Some(array), Some(member)) => format!("{array}_{member}"),
                _ => id.to_string(),
            },
            name: record["name"].as_str().unwrap_or("job").to_string(),
            memory: memory.filter(|m| *m > 0.0).map(|mb| mb * 1024.0 * 1024.0),
            cores,
            limit: number(&time["limit"]).map(|minutes| minutes * 60.0),
            nodes: nodes.map(str::to_string),
            submit_line: line.map(str::to_string),
            attempt: Attempt {
                submitted: date("submission"),
                start,
                end: date("end").filter(|_| start.is_some()),
                cores: cores.and_then(Figure::measured).or(Figure::assumed(1.0)),
                outcome: outcome(state),
                exit: number(&record["exit_code"]["return_code"]).map(|c| c as i64),
                peak_memory: peak.filter(|p| *p > 0.0).and_then(Figure::measured),
                cpu: cpu.filter(|s| *s > 0.0).and_then(Figure::measured),
                ..Attempt::default()
            },
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_submit_lines() {
        let line = "sbatch -J x --dependency=afterok:4:5,afterany:3+10 --wrap echo -d afterok:9";
        assert_eq!(dependencies(line), ["4", "5", "3"]);
        assert_eq!(dependencies("sbatch -d afterok:7 job.sh"), ["7"]);
        assert!(dependencies("sbatch --dependency=singleton job.sh").is_empty());
    }

    #[test]
    fn amounts_and_nodes() {
        assert_eq!(amount("3352K"), Some(3352.0 * 1024.0));
        assert_eq!(requested_memory("2Gc", Some(4.0), None), Some(8.0 * 1024f64.powi(3)));
        assert_eq!((first_node("n[3-5,7]").as_str(), first_node("a1,b2").as_str()), ("n3", "a1"));
    }
}
