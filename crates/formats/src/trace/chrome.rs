//! Chrome's trace events: a process per host, a thread per core and as many for arriving data as
//! transfers overlap there (events of one thread have to nest, or viewers drop them);
//! complete events (`X`) for tasks and transfers, instants (`i`) for what happens to the platform.

use super::{Begun, Doing, FinishedTransfer, Form, Subject};
use serde_json::{Value, json};
use slackline_model::TaskId;
use slackline_model::trace::{End, Happening, Record, UnderWay};
use std::collections::HashMap;
use std::io::Write;

/// The first thread on which data arrives.
const ARRIVALS: u32 = 1 << 20;

/// Tasks are written as they end; transfers come after all of them, then instants.
#[derive(Default)]
pub(super) struct Chrome {
    begun: bool,
    under_way: UnderWay<Begun>,
    moved: Vec<FinishedTransfer>,
    instants: Vec<Record>,
    /// Attempts at tasks so far, of real runs.
    attempts: HashMap<TaskId, u32>,
}

impl Chrome {
    fn event(&mut self, out: &mut dyn Write, value: Value) -> std::io::Result<()> {
        let comma = if std::mem::replace(&mut self.begun, true) { ",\n" } else { "\n" };
        write!(out, "{comma}{value}")
    }
}

fn micros(seconds: f64) -> f64 {
    seconds * 1e6
}

impl Form for Chrome {
    fn begin(&mut self, run: &Subject<'_>, out: &mut dyn Write) -> std::io::Result<()> {
        write!(out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        for (index, host) in run.platform.hosts().iter().enumerate() {
            let name = json!({ "name": &*host.name });
            self.event(
                out,
                json!({"ph": "M", "name": "process_name", "pid": index, "args": name}),
            )?;
        }
        Ok(())
    }

    fn note(
        &mut self,
        run: &Subject<'_>,
        record: &Record,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let finish = record.at;
        let ended = self.under_way.note(&record.what, |work| Some(Begun::at(finish, work)));
        let Some((Begun { start, work }, end)) = ended else {
            if instant(run, &record.what).is_some() {
                self.instants.push(record.clone());
            }
            return Ok(());
        };
        let lost = end != End::Finished;
        let (task, procs) = match work {
            Doing::Task { task, procs } => (task, procs),
            Doing::Transfer { file, from, to } => {
                self.moved.push(FinishedTransfer { start, finish, file, from, to, lost });
                return Ok(());
            }
        };
        let kind = run.workflow.kind_name(run.workflow.kind(task));
        let mut args = json!({ "kind": kind, "lost": lost });
        if let (Some(attempts), Some(args)) = (run.attempts, args.as_object_mut()) {
            let number = self.attempts.entry(task).or_insert(0);
            *number += 1;
            let attempt = attempts(task, *number, !lost);
            args.insert("attempt".to_string(), json!(*number));
            args.extend(attempt.exit_code.map(|code| ("exit_code".to_string(), json!(code))));
            args.extend(attempt.stderr.map(|path| ("stderr".to_string(), json!(path))));
        }
        for proc in &procs {
            let Some(&(host, core)) = run.cores.get(proc.index()) else { continue };
            let category = if lost { "lost" } else { "task" };
            self.event(
                out,
                json!({
                    "ph": "X", "name": run.workflow.task_name(task), "cat": category,
                    "ts": micros(start), "dur": micros(finish - start),
                    "pid": host.0, "tid": core, "args": args,
                }),
            )?;
        }
        Ok(())
    }

    fn end(&mut self, run: &Subject<'_>, out: &mut dyn Write) -> std::io::Result<()> {
        let mut moved = std::mem::take(&mut self.moved);
        moved.sort_by(|a, b| a.start.total_cmp(&b.start)); // stable: equal starts as they ended
        let mut tracks = Tracks::new(run.platform.hosts().len());
        for FinishedTransfer { start, finish, file, from, to, lost } in moved {
            let (track, is_new) = tracks.place(to.index(), start, finish);
            let thread = ARRIVALS + track;
            if is_new {
                let name = match track {
                    0 => "data arriving".to_string(),
                    _ => format!("data arriving {}", track + 1),
                };
                let args = json!({ "name": name });
                self.event(
                    out,
                    json!({"ph": "M", "name": "thread_name", "pid": to.0, "tid": thread, "args": args}),
                )?;
            }
            let source = run.platform.host(from).name.to_string();
            self.event(
                out,
                json!({
                    "ph": "X", "name": run.workflow.file_label(file), "cat": "transfer",
                    "ts": micros(start), "dur": micros(finish - start),
                    "pid": to.0, "tid": thread,
                    "args": {
                        "from": source, "bytes": run.workflow.file_bytes(file), "lost": lost
                    },
                }),
            )?;
        }
        for record in std::mem::take(&mut self.instants) {
            let Some((name, host)) = instant(run, &record.what) else { continue };
            let scope = if host.is_some() { "p" } else { "g" };
            let ts = micros(record.at);
            self.event(
                out,
                json!({"ph": "i", "name": name, "s": scope, "ts": ts, "pid": host.unwrap_or(0), "tid": 0}),
            )?;
        }
        writeln!(out, "\n]}}")
    }
}

/// The tracks of arriving data of every host, each with the date until which it is in use.
struct Tracks {
    busy_until: Vec<Vec<f64>>,
}

impl Tracks {
    fn new(hosts: usize) -> Tracks {
        Tracks { busy_until: vec![Vec::new(); hosts] }
    }

    /// Returns the first track of a host that is free at `start`, and whether it is a new one.
    /// Calls come in order of `start`.
    fn place(&mut self, host: usize, start: f64, finish: f64) -> (u32, bool) {
        let tracks = &mut self.busy_until[host];
        match tracks.iter().position(|&until| until <= start) {
            Some(track) => {
                tracks[track] = finish;
                (track as u32, false)
            }
            None => {
                tracks.push(finish);
                (tracks.len() as u32 - 1, true)
            }
        }
    }
}

/// The name of what takes no time, and the host it happens to.
fn instant(run: &Subject<'_>, what: &Happening) -> Option<(String, Option<u32>)> {
    Some(match what {
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
        _ => return None,
    })
}
