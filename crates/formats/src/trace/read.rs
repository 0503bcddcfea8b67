//! Traces in our JSON Lines, read back: names become numbers of the workflow and platform that they
//! belong to.

use crate::error::{FormatError, Result};
use serde_json::Value;
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, LinkId, Platform, ProcId, TaskId, Trace, Workflow};
use std::collections::HashMap;

struct Names {
    tasks: HashMap<String, TaskId>,
    files: HashMap<String, FileId>,
    hosts: HashMap<String, HostId>,
    links: HashMap<String, LinkId>,
    /// First processor of every host.
    first: Vec<u32>,
    procs: u32,
}

impl Names {
    fn of(workflow: &Workflow, platform: &Platform) -> Names {
        let mut first = Vec::with_capacity(platform.hosts().len());
        let mut procs = 0;
        for host in platform.hosts() {
            first.push(procs);
            procs += host.cores;
        }
        let links = platform.links().iter().enumerate();
        Names {
            tasks: workflow.tasks().map(|t| (workflow.task_name(t).to_string(), t)).collect(),
            files: workflow.files().map(|f| (workflow.file_label(f), f)).collect(),
            hosts: platform.host_ids().map(|h| (platform.host(h).name.to_string(), h)).collect(),
            links: links.map(|(l, link)| (link.name.to_string(), LinkId::new(l))).collect(),
            first,
            procs,
        }
    }
}

fn find<T: Copy>(line: &Value, member: &str, known: &HashMap<String, T>) -> Result<T> {
    let name = text(line, member)?;
    let unknown = || FormatError::new(format!("there is no {member} '{name}'"));
    known.get(name).copied().ok_or_else(unknown)
}

fn text<'v>(line: &'v Value, member: &str) -> Result<&'v str> {
    line[member].as_str().ok_or_else(|| FormatError::new(format!("'{member}' is no text")))
}

fn number(line: &Value, member: &str) -> Result<f64> {
    let found = line[member].as_f64().filter(|x| x.is_finite());
    found.ok_or_else(|| FormatError::new(format!("'{member}' is no number")))
}

/// The processors of `{"host": …, "cores": […]}`, or of a list of such.
fn procs(on: &Value, names: &Names) -> Result<Vec<ProcId>> {
    let parts = on.as_array().map_or(std::slice::from_ref(on), Vec::as_slice);
    let mut procs = Vec::new();
    for part in parts {
        let host: HostId = find(part, "host", &names.hosts)?;
        let first = names.first[host.index()];
        for core in part["cores"].as_array().into_iter().flatten() {
            let proc = core.as_u64().and_then(|c| u32::try_from(c).ok()).map(|c| first + c);
            match proc.filter(|p| *p < names.procs) {
                Some(proc) => procs.push(ProcId(proc)),
                None => return Err(FormatError::new(format!("there is no core {core}"))),
            }
        }
    }
    Ok(procs)
}

fn happening(line: &Value, names: &Names) -> Result<Happening> {
    let task = || find(line, "task", &names.tasks);
    let file = || find(line, "file", &names.files);
    let host = |member: &str| -> Result<HostId> {
        let name = text(line, member)?;
        let unknown = || FormatError::new(format!("there is no host '{name}'"));
        names.hosts.get(name).copied().ok_or_else(unknown)
    };
    let reason = || Ok::<_, FormatError>(text(line, "reason")?.to_string());
    Ok(match text(line, "event")? {
        "task-started" => {
            Happening::TaskStarted { task: task()?, procs: procs(&line["on"], names)? }
        }
        "task-finished" => Happening::TaskFinished { task: task()? },
        "task-failed" => Happening::TaskFailed { task: task()?, reason: reason()? },
        "task-cancelled" => Happening::TaskCancelled { task: task()? },
        "task-rewound" => Happening::TaskRewound { task: task()? },
        "task-restored" => Happening::TaskRestored { task: task()? },
        "task-abandoned" => Happening::TaskAbandoned { task: task()?, reason: reason()? },
        "transfer-started" => Happening::TransferStarted {
            file: file()?,
            from: host("from")?,
            to: host("to")?,
            bytes: number(line, "bytes")?,
        },
        "transfer-finished" => {
            Happening::TransferFinished { file: file()?, from: host("from")?, to: host("to")? }
        }
        "transfer-failed" => Happening::TransferFailed {
            file: file()?,
            from: host("from")?,
            to: host("to")?,
            bytes: number(line, "bytes")?,
            reason: reason()?,
        },
        "host-lost" => Happening::HostLost { host: host("host")? },
        "host-back" => Happening::HostBack { host: host("host")? },
        "host-changed" => Happening::HostChanged {
            host: host("host")?,
            availability: number(line, "availability")?,
        },
        "link-changed" => Happening::LinkChanged {
            link: find(line, "link", &names.links)?,
            bandwidth: number(line, "bandwidth")?,
        },
        "lease-ready" => Happening::LeaseReady { host: host("host")? },
        "lease-ended" => Happening::LeaseEnded { host: host("host")? },
        "replanned" => {
            let moved = line["moved"].as_u64().unwrap_or(0) as usize;
            Happening::Replanned { moved }
        }
        other => return Err(FormatError::new(format!("there is no event '{other}'"))),
    })
}

/// Reads a trace of a run of a workflow on a platform; an error names the line.
pub fn read(input: &str, workflow: &Workflow, platform: &Platform) -> Result<Trace> {
    let names = Names::of(workflow, platform);
    let mut trace = Trace::default();
    let mut last = 0.0f64;
    for (index, line) in input.lines().enumerate() {
        let fail = |why: &dyn std::fmt::Display| FormatError::at(index + 1, 1, why);
        let line: Value = serde_json::from_str(line).map_err(|e| fail(&e))?;
        if index == 0 {
            match line["schema"].as_str() {
                Some("slackline/trace/1") => continue,
                _ => return Err(fail(&"this is no trace (slackline/trace/1)")),
            }
        }
        let at = number(&line, "at").map_err(|e| fail(&e.message))?;
        if at < last {
            return Err(fail(&"a date before the one above"));
        }
        last = at;
        trace.push(at, happening(&line, &names).map_err(|e| fail(&e.message))?);
    }
    Ok(trace)
}
