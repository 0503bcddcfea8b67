//! A script that submits a plan to Slurm: a job for each task, or an array for equal ones, on its planned node.
//!
//! Jobs wait for their parents (`afterok`) and for what the plan has before them on their cores (`afterany`), so
//! that the cluster keeps the order of the plan whatever times come true.

use super::{mebibytes, planned_order, shell};
use crate::error::{FormatError, Result};
use slackline_model::workflow::Command;
use slackline_model::{Problem, Schedule, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Time limits are the planned time, this many times, and a minute.
const TIME_FACTOR: f64 = 2.0;

/// Properties that jobs of an array share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alike {
    kind: String,
    node: String,
    cores: usize,
    mebibytes: Option<u64>,
    minutes: u64,
    parents: Vec<TaskId>,
    before: Vec<TaskId>,
}

/// The job of a task: the variable that holds its number, and which element it is.
type JobId = (usize, Option<usize>);

pub(super) fn write(problem: &Problem<'_>, schedule: &Schedule) -> Result<String> {
    let workflow = problem.workflow();
    let order = planned_order(problem, schedule);
    let mut last_on: Vec<Option<TaskId>> = vec![None; problem.procs()];
    // Equal tasks that are neighbours in the order of the plan become an array.
    let mut jobs: Vec<(Alike, Vec<TaskId>)> = Vec::new();
    let mut open: BTreeMap<Alike, usize> = BTreeMap::new();
    for &task in &order {
        let Some(placement) = schedule.placement(task) else { continue };
        let procs = placement.procs();
        let hosts = problem.hosts_of(procs);
        let [host] = hosts[..] else {
            let name = workflow.task_name(task);
            return Err(FormatError::new(format!("task '{name}' is planned on several hosts"))
                .with_help("sbatch scripts are written for tasks that each stay on one node"));
        };
        let parents: BTreeSet<TaskId> = workflow.predecessors(task).map(|(p, _)| p).collect();
        let before: BTreeSet<TaskId> = procs
            .iter()
            .filter_map(|p| last_on[p.index()])
            .filter(|t| !parents.contains(t))
            .collect();
        for proc in procs {
            last_on[proc.index()] = Some(task);
        }
        let seconds = placement.finish - placement.start;
        let alike = Alike {
            kind: workflow.kind_name(workflow.kind(task)).to_string(),
            node: problem.platform().hosts()[host.index()].name.to_string(),
            cores: procs.len(),
            mebibytes: mebibytes(workflow, task, procs.len() as u32),
            minutes: (TIME_FACTOR * seconds / 60.0).ceil() as u64 + 1,
            parents: parents.into_iter().collect(),
            before: before.into_iter().collect(),
        };
        match open.get(&alike) {
            Some(&at) if !alike.kind.is_empty() => jobs[at].1.push(task),
            _ => {
                open.insert(alike.clone(), jobs.len());
                jobs.push((alike, vec![task]));
            }
        }
    }
    let mut id_of: Vec<Option<JobId>> = vec![None; workflow.len()];
    for (at, (_, members)) in jobs.iter().enumerate() {
        for (element, task) in members.iter().enumerate() {
            id_of[task.index()] = Some((at, (members.len() > 1).then_some(element)));
        }
    }
    let reference = |task: &TaskId| {
        id_of[task.index()].map(|(at, element)| match element {
            Some(element) => format!("${{job[{at}]}}_{element}"),
            None => format!("${{job[{at}]}}"),
        })
    };
    let mut text = format!(
        "#!/usr/bin/env bash\n\
         # {} tasks of '{}' in the order and on the nodes of a plan.\n\
         # Options of sbatch for all jobs are those of this script, such as --partition=short.\n\
         set -euo pipefail\n\
         submit() {{ sbatch --parsable --kill-on-invalid-dep=yes --nodes=1 --ntasks=1 \"$@\" | cut -d ';' -f 1; }}\n\
         declare -a job\n",
        workflow.len(),
        one_line(workflow.name())
    );
    for (at, (alike, members)) in jobs.iter().enumerate() {
        let mut options = Vec::new();
        let name = match members[..] {
            [task] => workflow.task_name(task),
            _ => &alike.kind,
        };
        options.push(Command::shell_word(&format!("--job-name={}", one_line(name))));
        options.push(Command::shell_word(&format!("--nodelist={}", alike.node)));
        options.push(format!("--cpus-per-task={}", alike.cores));
        options.push(format!("--time={}", alike.minutes));
        options.extend(alike.mebibytes.map(|mebibytes| format!("--mem={mebibytes}M")));
        let mut waits = Vec::new();
        for (how, tasks) in [("afterok", &alike.parents), ("afterany", &alike.before)] {
            let ids: Vec<String> = tasks.iter().filter_map(reference).collect();
            if !ids.is_empty() {
                waits.push(format!("{how}:{}", ids.join(":")));
            }
        }
        if !waits.is_empty() {
            options.push(format!("--dependency=\"{}\"", waits.join(",")));
        }
        let script = match members[..] {
            [task] => shell(workflow, task)?,
            _ => {
                options.push(format!("--array=0-{}", members.len() - 1));
                let mut script = "case $SLURM_ARRAY_TASK_ID in\n".to_string();
                for (element, &task) in members.iter().enumerate() {
                    let line = shell(workflow, task)?;
                    let _ = writeln!(script, "{element}) {line}\n;;");
                }
                script.push_str("esac");
                script
            }
        };
        let _ = writeln!(
            text,
            "job[{at}]=$(submit {} \"$@\" --wrap={})",
            options.join(" "),
            Command::shell_word(&script)
        );
    }
    text.push_str("printf '%s\\n' \"${job[@]}\"\n");
    Ok(text)
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '_' } else { c }).collect()
}
