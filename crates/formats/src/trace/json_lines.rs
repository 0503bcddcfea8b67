//! One JSON object a line: a header with the schema, then the records with names, not numbers.

use super::{Form, Subject};
use serde_json::{Value, json};
use slackline_model::trace::{Happening, Record};
use slackline_model::{FileId, HostId, ProcId, TaskId};
use std::io::Write;

pub(super) struct JsonLines;

impl Form for JsonLines {
    fn begin(&mut self, run: &Subject<'_>, out: &mut dyn Write) -> std::io::Result<()> {
        let header = json!({
            "schema": "slackline/trace/1",
            "workflow": run.workflow.name(),
            "platform": run.platform.name(),
            "tasks": run.workflow.len(),
        });
        writeln!(out, "{header}")
    }

    fn note(
        &mut self,
        run: &Subject<'_>,
        record: &Record,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let mut line = describe(run, &record.what);
        line["at"] = json!(record.at);
        writeln!(out, "{line}")
    }

    fn end(&mut self, _: &Subject<'_>, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }
}

fn describe(run: &Subject<'_>, what: &Happening) -> Value {
    let task = |t: TaskId| run.workflow.task_name(t);
    let file = |f: FileId| run.workflow.file_label(f);
    let host = |h: HostId| run.platform.host(h).name.to_string();
    let place = |procs: &[ProcId]| -> Value {
        let at = |p: &ProcId| run.cores.get(p.index()).copied().unwrap_or((HostId(0), 0));
        let mut places: Vec<Value> = procs
            .chunk_by(|a, b| at(a).0 == at(b).0)
            .map(|on| {
                let cores: Vec<u32> = on.iter().map(|p| at(p).1).collect();
                json!({ "host": host(at(&on[0]).0), "cores": cores })
            })
            .collect();
        // A list only where a parallel task spans hosts.
        if places.len() == 1 { places.remove(0) } else { places.into() }
    };
    match what {
        Happening::TaskStarted { task: t, procs } => {
            json!({ "event": "task-started", "task": task(*t), "on": place(procs) })
        }
        Happening::TaskFinished { task: t } => {
            json!({ "event": "task-finished", "task": task(*t) })
        }
        Happening::TaskFailed { task: t, reason } => {
            json!({ "event": "task-failed", "task": task(*t), "reason": reason })
        }
        Happening::TaskCancelled { task: t } => {
            json!({ "event": "task-cancelled", "task": task(*t) })
        }
        Happening::TaskRewound { task: t } => json!({ "event": "task-rewound", "task": task(*t) }),
        Happening::TaskRestored { task: t } => {
            json!({ "event": "task-restored", "task": task(*t) })
        }
        Happening::TaskAbandoned { task: t, reason } => {
            json!({ "event": "task-abandoned", "task": task(*t), "reason": reason })
        }
        Happening::TransferStarted { file: f, from, to, bytes } => json!({
            "event": "transfer-started", "file": file(*f), "from": host(*from), "to": host(*to),
            "bytes": bytes,
        }),
        Happening::TransferFinished { file: f, from, to, bytes } => {
            let mut line = json!({
                "event": "transfer-finished", "file": file(*f), "from": host(*from), "to": host(*to),
            });
            if let Some(bytes) = bytes {
                line["bytes"] = json!(bytes);
            }
            line
        }
        Happening::TransferFailed { file: f, from, to, bytes, reason } => json!({
            "event": "transfer-failed", "file": file(*f), "from": host(*from), "to": host(*to),
            "bytes": bytes, "reason": reason,
        }),
        Happening::HostLost { host: h } => json!({ "event": "host-lost", "host": host(*h) }),
        Happening::HostBack { host: h } => json!({ "event": "host-back", "host": host(*h) }),
        Happening::HostChanged { host: h, availability } => {
            json!({ "event": "host-changed", "host": host(*h), "availability": availability })
        }
        Happening::LinkChanged { link, bandwidth } => {
            let name = run.platform.link(*link).name.to_string();
            json!({ "event": "link-changed", "link": name, "bandwidth": bandwidth })
        }
        Happening::LeaseReady { host: h } => json!({ "event": "lease-ready", "host": host(*h) }),
        Happening::LeaseEnded { host: h } => json!({ "event": "lease-ended", "host": host(*h) }),
        Happening::Replanned { moved } => json!({ "event": "replanned", "moved": moved }),
    }
}
