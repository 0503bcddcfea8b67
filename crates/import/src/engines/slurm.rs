//! Slurm: `sacct --parsable2` with any columns, and `sacct --json`. No column has dependencies: they are
//! taken from the command line with which a job was submitted (`SubmitLine`).

use super::{json, unique};
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Origin, Outcome, RecordedRun, TaskRecord};
use crate::sources::{Artefact, Found};
use slackline_formats::batch_log::accounting::{self, Accounting, Job};
use slackline_formats::batch_log::listing::State;
use slackline_io::{FileAccess, FormatError, Result};
use std::collections::{BTreeMap, HashMap};

/// An attempt at a job: a requeued job has several.
struct SlurmJob {
    job: Job,
    attempt: Attempt,
}

impl SlurmJob {
    fn of(job: Job) -> SlurmJob {
        let figure = |value: Option<f64>| value.and_then(Figure::measured);
        let attempt = Attempt {
            submitted: figure(job.submit),
            start: figure(job.start),
            end: figure(job.end),
            cores: figure(job.allocated_cores).or(Figure::assumed(1.0)),
            outcome: outcome(job.state),
            exit: job.exit,
            peak_memory: figure(job.peak_memory),
            cpu: figure(job.cpu),
            read: figure(job.read),
            written: figure(job.written),
            ..Attempt::default()
        };
        SlurmJob { job, attempt }
    }
}

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Slurm);
    let mut jobs: BTreeMap<String, Vec<SlurmJob>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let texts = found.all(Artefact::SacctText);
    // The listing with most columns is used; the others are assumed to list the same jobs.
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
    let accounting = match (best, found.last(Artefact::SacctJson)) {
        (Some((_, path)), _) => {
            accounting::parse(&files.read_text(path)?).map_err(|e| e.in_file(path))?
        }
        (None, Some(path)) => {
            let jobs = accounting::parse_json(&json(files, path)?).map_err(|e| e.in_file(path))?;
            Accounting { jobs, ..Accounting::default() }
        }
        (None, None) => return Err(FormatError::new("no accounting records")),
    };
    run.repaired_times("'|' in a value: columns moved back", accounting.mended);
    run.repaired_times("cut-off line left out", accounting.cut_off);
    for job in accounting.jobs {
        let of_id = jobs.entry(job.id.clone()).or_default();
        if of_id.is_empty() {
            order.push(job.id.clone());
        }
        of_id.push(SlurmJob::of(job));
    }
    let mut ids: HashMap<String, usize> = HashMap::new();
    let mut taken = HashMap::new();
    let mut waits: Vec<(usize, String)> = Vec::new();
    for id in order {
        let mut attempts = jobs.remove(&id).unwrap_or_default();
        attempts.sort_by(|a, b| {
            let date = |job: &SlurmJob| {
                job.attempt.start.or(job.attempt.submitted).map_or(f64::MAX, |f| f.value)
            };
            date(a).total_cmp(&date(b))
        });
        let Some(last) = attempts.last().map(|attempt| attempt.job.clone()) else { continue };
        let index = run.tasks.len();
        let mut task = TaskRecord {
            name: unique(&mut taken, format!("{}:{}", last.name, last.id)),
            kind: last.name.clone(),
            command: last.submit_line.clone(),
            cores: last.requested_cores.and_then(Figure::measured),
            memory: last.memory.and_then(Figure::measured),
            time_limit: last.limit.and_then(Figure::measured),
            ..TaskRecord::default()
        };
        for SlurmJob { job, mut attempt } in attempts {
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
    // A dependency on the number of an array is one on all its jobs.
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

fn outcome(state: Option<State>) -> Outcome {
    match state {
        Some(State::Completed) => Outcome::Completed,
        Some(State::Timeout) => Outcome::TimedOut,
        Some(State::OutOfMemory) => Outcome::OutOfMemory,
        Some(State::Cancelled) => Outcome::Cancelled,
        Some(State::Open) => Outcome::Open,
        Some(State::Failed) | None => Outcome::Failed,
    }
}

/// The first node of a list such as `n[1-3],m2`.
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
            break; // the rest belongs to the wrapped command
        } else {
            continue;
        };
        // `,` joins dependencies that must all hold, `?` ones of which any must.
        for clause in list.split([',', '?']) {
            let mut parts = clause.split(':');
            if parts.next().is_some_and(|kind| kind.starts_with("after")) {
                // In `after:3+10` the number after `+` is a delay in minutes.
                found.extend(parts.map(|id| id.split('+').next().unwrap_or(id).to_string()));
            }
        }
    }
    found.retain(|id| !id.is_empty());
    found
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
    fn first_nodes() {
        assert_eq!((first_node("n[3-5,7]").as_str(), first_node("a1,b2").as_str()), ("n3", "a1"));
    }
}
