//! Chrome's trace events: a process per host, a thread per core and one for arriving data;
//! complete events (`X`) for tasks and transfers, instants (`i`) for what happens to the platform.

use super::{TracedRun, ended};
use serde_json::{Value, json};
use slackline_model::trace::{Happening, Work};
use std::io::Write;

/// The thread on which data arrives.
const ARRIVALS: u32 = 1 << 20;

pub(super) fn write(run: &TracedRun<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    let cores = run.cores();
    let mut first = true;
    write!(out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    let mut event = |out: &mut dyn Write, value: Value| -> std::io::Result<()> {
        let comma = if std::mem::take(&mut first) { "\n" } else { ",\n" };
        write!(out, "{comma}{value}")
    };
    for (index, host) in run.platform.hosts().iter().enumerate() {
        let name = json!({ "name": &*host.name });
        event(out, json!({"ph": "M", "name": "process_name", "pid": index, "args": name}))?;
        let data = json!({ "name": "data arriving" });
        event(
            out,
            json!({"ph": "M", "name": "thread_name", "pid": index, "tid": ARRIVALS, "args": data}),
        )?;
    }
    let micros = |seconds: f64| seconds * 1e6;
    for span in ended(run.trace) {
        let (start, finish, lost) = (span.start, span.finish, !span.is_finished());
        match span.work {
            Work::Task { task, procs } => {
                let kind = run.workflow.kind_name(run.workflow.kind(task));
                for proc in procs {
                    let Some(&(host, core)) = cores.get(proc.index()) else { continue };
                    let category = if lost { "lost" } else { "task" };
                    event(
                        out,
                        json!({
                            "ph": "X", "name": run.workflow.task_name(task), "cat": category,
                            "ts": micros(start), "dur": micros(finish - start),
                            "pid": host.0, "tid": core, "args": { "kind": kind, "lost": lost },
                        }),
                    )?;
                }
            }
            Work::Transfer { file, from, to, .. } => {
                let source = run.platform.host(from).name.to_string();
                event(
                    out,
                    json!({
                        "ph": "X", "name": run.workflow.file_label(file), "cat": "transfer",
                        "ts": micros(start), "dur": micros(finish - start),
                        "pid": to.0, "tid": ARRIVALS,
                        "args": {
                            "from": source, "bytes": run.workflow.file_bytes(file), "lost": lost
                        },
                    }),
                )?;
            }
        }
    }
    for record in run.trace.records() {
        let (name, host) = match &record.what {
            Happening::HostLost { host } => ("host lost".to_string(), Some(host.0)),
            Happening::HostBack { host } => ("host back".to_string(), Some(host.0)),
            Happening::HostChanged { host, availability } => {
                (format!("availability {availability:.3}"), Some(host.0))
            }
            Happening::LeaseReady { host } => ("lease ready".to_string(), Some(host.0)),
            Happening::LeaseEnded { host } => ("lease ended".to_string(), Some(host.0)),
            Happening::TaskRewound { task } => {
                (format!("rewound {}", run.workflow.task_name(*task)), None)
            }
            Happening::TaskRestored { task } => {
                (format!("restored {}", run.workflow.task_name(*task)), None)
            }
            Happening::TaskAbandoned { task, .. } => {
                (format!("abandoned {}", run.workflow.task_name(*task)), None)
            }
            Happening::Replanned { moved } => (format!("new plan, {moved} tasks moved"), None),
            _ => continue,
        };
        let scope = if host.is_some() { "p" } else { "g" };
        let ts = micros(record.at);
        event(
            out,
            json!({"ph": "i", "name": name, "s": scope, "ts": ts, "pid": host.unwrap_or(0), "tid": 0}),
        )?;
    }
    writeln!(out, "\n]}}")
}
