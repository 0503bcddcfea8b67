//! Traces in our JSON Lines, read back: names become numbers of the workflow and platform that they
//! belong to.

use crate::error::{FormatError, Result, json_error};
use crate::names::Names;
use serde_json::Value;
use slackline_model::trace::Happening;
use slackline_model::{Platform, ProcId, Trace, Workflow};

fn text<'v>(line: &'v Value, member: &str) -> Result<&'v str> {
    line[member].as_str().ok_or_else(|| FormatError::new(format!("'{member}' is no text")))
}

fn number(line: &Value, member: &str) -> Result<f64> {
    let found = line[member].as_f64().filter(|x| x.is_finite());
    found.ok_or_else(|| FormatError::new(format!("'{member}' is no number")))
}

/// The first processor of every host.
fn first_procs(platform: &Platform) -> Vec<u32> {
    let before = |procs: &mut u32, cores: u32| {
        *procs += cores;
        Some(*procs - cores)
    };
    platform.hosts().iter().map(|host| host.cores).scan(0, before).collect()
}

/// The processors of `{"host": …, "cores": […]}`, or of a list of such.
fn procs(on: &Value, names: &Names<'_>, first: &[u32]) -> Result<Vec<ProcId>> {
    let parts = on.as_array().map_or(std::slice::from_ref(on), Vec::as_slice);
    let mut procs = Vec::new();
    for part in parts {
        let host = names.host(text(part, "host")?)?;
        let cores = u64::from(names.platform.host(host).cores);
        for core in part["cores"].as_array().into_iter().flatten() {
            match core.as_u64().filter(|core| *core < cores) {
                Some(core) => procs.push(ProcId(first[host.index()] + core as u32)),
                None => return Err(FormatError::new(format!("there is no core {core}"))),
            }
        }
    }
    Ok(procs)
}

fn happening(line: &Value, names: &Names<'_>, first: &[u32]) -> Result<Happening> {
    let task = || names.task(text(line, "task")?);
    let file = || names.file(text(line, "file")?);
    let host = |member: &str| names.host(text(line, member)?);
    let reason = || Ok::<_, FormatError>(text(line, "reason")?.to_string());
    Ok(match text(line, "event")? {
        "task-started" => {
            Happening::TaskStarted { task: task()?, procs: procs(&line["on"], names, first)? }
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
        "transfer-finished" => Happening::TransferFinished {
            file: file()?,
            from: host("from")?,
            to: host("to")?,
            bytes: line.get("bytes").map(|_| number(line, "bytes")).transpose()?,
        },
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
            link: names.link(text(line, "link")?)?,
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
    let (names, first) = (Names::among(workflow, platform), first_procs(platform));
    let mut trace = Trace::default();
    let mut last = 0.0f64;
    for (index, line) in input.lines().enumerate() {
        let fail = |why: &dyn std::fmt::Display| FormatError::at(index + 1, 1, why);
        let line: Value =
            serde_json::from_str(line).map_err(|e| json_error(e).on_line(index + 1))?;
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
        trace.push(at, happening(&line, &names, &first).map_err(|e| fail(&e.message))?);
    }
    Ok(trace)
}
