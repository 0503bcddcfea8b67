//! Checks before a run whether the cluster would accept its batch jobs, by `sbatch --test-only`: nothing is submitted.

use super::protocol::SlotId;
use super::slurm_client::{NO_ANSWER, Submission, Ticket, gres, say};
use super::{Mode, SlurmOptions};
use slackline_model::units::fmt_bytes;
use slackline_model::{HostId, Platform, TaskId, Workflow};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Time limit of a command of Slurm.
const PATIENCE: Duration = Duration::from_secs(10);

/// Parts of error messages of `sbatch` that mean a passing lack: the job would wait.
const FOR_NOW: [&str; 4] =
    ["nodes are busy", "not available now", "not available (down", "not available (inactive"];

/// Error message about nodes that are too small. Slurm also gives it for nodes that are down.
const NO_SUCH_NODE: &str = "node configuration is not available";

/// A node of the cluster as `sinfo` lists it.
#[derive(Default)]
struct Node {
    cores: u32,
    available: bool,
    /// The rest of its lines from `sinfo` (cores, partition, memory, features, devices): nodes with the same text accept
    /// the same jobs.
    kind: String,
}

/// Reason why Slurm cannot be used for a run, or a command of it failed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SlurmError {
    /// An option for `sbatch` gives jobs less memory than a task demands.
    #[error("--sbatch={word}: task '{task}' needs {}", fmt_bytes(*bytes))]
    TooLittleMemory {
        /// The option.
        word: String,
        /// Name of the task.
        task: String,
        /// Its demand in bytes.
        bytes: f64,
    },
    /// Slurm would refuse the jobs of the run; its message.
    #[error("{0}")]
    Refused(String),
    /// A command failed; its message.
    #[error("{0}")]
    Command(String),
}

/// Fails where options for `sbatch` give jobs less memory than a task demands. The last `--mem` counts; it replaces what
/// the run would request.
pub fn check_words(workflow: &Workflow, words: &[String]) -> Result<(), SlurmError> {
    let Some((word, most)) = words.iter().rev().find_map(|w| Some((w, memory_of(w)?))) else {
        return Ok(());
    };
    let demand = |task: TaskId| workflow.memory_at(task, workflow.width(task).0);
    let most_of = |best: Option<(TaskId, f64)>, task: TaskId| match best {
        Some((_, bytes)) if bytes >= demand(task) => best,
        _ => Some((task, demand(task))),
    };
    match workflow.tasks().fold(None, most_of) {
        Some((task, bytes)) if bytes > most => Err(SlurmError::TooLittleMemory {
            word: word.clone(),
            task: workflow.task_name(task).to_string(),
            bytes,
        }),
        _ => Ok(()),
    }
}

/// Bytes of an option `--mem=SIZE` as Slurm reads it: without a unit, mebibytes. None for other options and for 0, which
/// means all memory of a node.
fn memory_of(word: &str) -> Option<f64> {
    let size = word.strip_prefix("--mem=")?.trim();
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match size[digits.len()..].chars().next().map(|c| c.to_ascii_uppercase()) {
        Some('K') => 1024.0,
        None | Some('M') => 1024.0 * 1024.0,
        Some('G') => 1024.0 * 1024.0 * 1024.0,
        Some('T') => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        Some(_) => return None,
    };
    let bytes = digits.parse::<f64>().ok()? * unit;
    (bytes > 0.0).then_some(bytes)
}

/// Checks one job for each kind of host. Returns the jobs that would have to wait, with reasons; an error is the refusal
/// of Slurm.
pub fn check(
    platform: &Platform,
    workflow: &Workflow,
    options: &SlurmOptions,
) -> Result<Vec<String>, SlurmError> {
    waiting_jobs(platform, workflow, options).map_err(SlurmError::Refused)
}

fn waiting_jobs(
    platform: &Platform,
    workflow: &Workflow,
    options: &SlurmOptions,
) -> Result<Vec<String>, String> {
    let nodes = nodes()?;
    let widths: Vec<u32> = workflow.tasks().map(|task| workflow.width(task).0.max(1)).collect();
    let mut kinds: BTreeMap<(u32, &str), HostId> = BTreeMap::new();
    for host in platform.host_ids().filter(|host| platform.host(*host).cores > 0) {
        let most = platform.host(host).cores;
        let cores = match options.mode {
            Mode::Pilots => most,
            Mode::Job => widths.iter().copied().filter(|w| *w <= most).max().unwrap_or(1),
        };
        let node = nodes.get(&*platform.host(host).name);
        let kind = node.map_or("", |node| node.kind.as_str());
        let known = kinds.entry((cores, kind)).or_insert(host);
        let available = |host| nodes.get(&*platform.host(host).name).is_some_and(|n| n.available);
        if available(host) && !available(*known) {
            *known = host;
        }
    }
    let mut waits = Vec::new();
    for ((cores, _), host) in kinds {
        let name = platform.host(host).name.to_string();
        let node = nodes.get(&name);
        let memory = platform.host(host).memory;
        let own = platform.host(host).resources.as_ref();
        let devices = own.map_or(Vec::new(), |own| gres(&own.gpus));
        let batch_seconds = platform.batch().and_then(|batch| batch.seconds);
        let submission = Submission {
            ticket: Ticket { post: SlotId { host, only: None }, number: 0 },
            script: "#!/bin/sh\n".to_string(),
            cores,
            nodes: 1,
            memory: memory.filter(|_| options.mode == Mode::Pilots),
            devices: if options.mode == Mode::Pilots { devices } else { Vec::new() },
            licences: Vec::new(),
            node: node.map(|_| name.clone()),
            output: PathBuf::from("/dev/null"),
            seconds: (options.mode == Mode::Pilots)
                .then(|| batch_seconds.or(own.and_then(|own| own.wall_time)))
                .flatten(),
            options: platform.batch().cloned().unwrap_or_default(),
        };
        let mut words = vec!["--test-only".to_string()];
        words.extend(submission.words(&options.run, &options.sbatch));
        let Err(why) = say("sbatch", &words, &submission.script, PATIENCE) else { continue };
        let candidates = node.map_or_else(|| nodes.values().collect(), |node| vec![node]);
        let later = |node: &&Node| !node.available && node.cores >= cores;
        let would_wait = FOR_NOW.iter().any(|words| why.contains(words))
            || (why.contains(NO_SUCH_NODE) && candidates.iter().any(later));
        if would_wait {
            waits.push(format!("the job for host '{name}' has to wait: {why}"));
            continue;
        }
        let has = match node {
            Some(node) if node.cores < cores => format!(", of which the node has {}", node.cores),
            _ => String::new(),
        };
        let unit = if cores == 1 { "core" } else { "cores" };
        return Err(format!("no job for host '{name}' ({cores} {unit}{has}): {why}"));
    }
    Ok(waits)
}

/// The nodes of the cluster by name; none where `sinfo` lists none.
fn nodes() -> Result<BTreeMap<String, Node>, String> {
    let words = ["--noheader", "--Node", "--format=%N|%t|%c|%P|%m|%f|%G"];
    let listing = match say("sinfo", &words, "", PATIENCE) {
        Err(why) if why.contains(NO_ANSWER) => return Err(why),
        listing => listing.unwrap_or_default(),
    };
    let mut nodes: BTreeMap<String, Node> = BTreeMap::new();
    for line in listing.lines() {
        let mut words = line.trim().splitn(3, '|');
        let (Some(name), Some(state), Some(kind)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        // A node is listed once for each partition.
        let node = nodes.entry(name.to_string()).or_default();
        let cores = kind.split('|').next().unwrap_or_default().trim_end_matches('+');
        // Unknown: it may have enough.
        node.cores = cores.parse().unwrap_or(u32::MAX);
        let up = ["idle", "alloc", "mix", "comp", "plnd"];
        node.available = up.iter().any(|word| state.starts_with(word)) && !state.ends_with('*');
        node.kind += &format!("{kind}\n");
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;
    use slackline_model::{Task, WorkflowBuilder};

    #[test]
    fn options_that_give_less_memory_than_a_task_demands_are_refused() {
        let mut b = WorkflowBuilder::new("one");
        b.add_task(Task { memory: 2e9, ..Task::new("align", 1.0) }).unwrap();
        b.add_task(Task::new("count", 1.0)).unwrap();
        let workflow = b.build().unwrap();
        let check = |words: &[&str]| {
            check_words(&workflow, &words.iter().map(|w| w.to_string()).collect::<Vec<_>>())
        };
        let why = check(&["--mem=1G", "--time=5"]).unwrap_err();
        assert_eq!(why.to_string(), "--sbatch=--mem=1G: task 'align' needs 2 GB");
        assert!(check(&["--mem=1900"]).is_err());
        for fits in [&["--mem=2G"][..], &["--mem=1G", "--mem=4000"], &["--mem=0"], &["--time=5"]] {
            assert_eq!(check(fits), Ok(()), "{fits:?}");
        }
    }
}
