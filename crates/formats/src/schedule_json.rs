//! Schedules as JSON; read and written.
//!
//! ```json
//! {
//!   "makespan": 9,
//!   "schedule": [
//!     {"task": "a", "processor": "fast", "start": 0, "finish": 4},
//!     {"task": "b", "processors": ["big/0", "big/1"], "start": 5, "finish": 9}
//!   ],
//!   "transfers": [{"file": "a_to_b", "source": "fast", "target": "big", "link": "wan",
//!                  "start": 4, "finish": 5}],
//!   "leases": [{"host": "big", "from": 0, "to": 9}]
//! }
//! ```
//!
//! Tasks, files, processors, hosts and links are named as in the workflow and the platform; the
//! file of a weighted edge is `producer_to_consumer`. Transfers may also name two tasks, `from` and
//! `to`, which stands for the files that one reads of the other. `transfers`
//! and `leases` appear where the method plans them. Other members, such as those that `plan
//! --json` adds, are passed over: its output reads as a schedule. What a reader cannot decide,
//! such as whether every task is placed, is left to the validator.

use crate::error::{FormatError, Result, json_error};
use serde::Deserialize;
use slackline_model::schedule::{Lease, PlannedTransfer};
use slackline_model::{FileId, HostId, Placement, Problem, ProcId, Schedule, TaskId};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::io::Write;

#[derive(Deserialize)]
struct File {
    schedule: Vec<Entry>,
    #[serde(default)]
    transfers: Vec<TransferEntry>,
    #[serde(default)]
    leases: Vec<LeaseEntry>,
}

#[derive(Deserialize)]
struct Entry {
    task: String,
    processor: Option<String>,
    #[serde(default)]
    processors: Vec<String>,
    start: f64,
    finish: f64,
}

#[derive(Deserialize)]
struct TransferEntry {
    file: Option<String>,
    from: Option<String>,
    to: Option<String>,
    source: String,
    target: String,
    link: Option<String>,
    start: f64,
    finish: f64,
}

#[derive(Deserialize)]
struct LeaseEntry {
    host: String,
    from: f64,
    to: f64,
}

/// Reads a schedule of that problem.
pub fn read(text: &str, problem: &Problem<'_>) -> Result<Schedule> {
    let file: File = serde_json::from_str(text).map_err(json_error)?;
    let names = Names::of(problem);
    let mut placements: Vec<Option<Placement>> = vec![None; problem.tasks()];
    for (i, entry) in file.schedule.iter().enumerate() {
        let path = format!("schedule[{i}]");
        let task = names.task(&entry.task, &path)?;
        let listed = entry.processor.iter().chain(&entry.processors);
        let procs: Vec<ProcId> =
            listed.map(|name| names.proc(name, &path)).collect::<Result<_>>()?;
        if procs.is_empty() {
            let message = format!("task '{}' has no processor", entry.task);
            return Err(FormatError::in_path(path, message));
        }
        let slot = &mut placements[task.index()];
        if slot.is_some() {
            let message = format!("task '{}' is placed twice", entry.task);
            return Err(FormatError::in_path(path, message));
        }
        *slot = Some(Placement::wide(&procs, entry.start, entry.finish));
    }
    let mut transfers = Vec::with_capacity(file.transfers.len());
    for (i, entry) in file.transfers.iter().enumerate() {
        transfers.extend(names.transfer(entry, &format!("transfers[{i}]"))?);
    }
    let mut leases = Vec::with_capacity(file.leases.len());
    for (i, entry) in file.leases.iter().enumerate() {
        let host = names.host(&entry.host, &format!("leases[{i}]"))?;
        let class = problem.platform().host(host).class;
        leases.push(Lease { class, host, from: entry.from, to: entry.to });
    }
    Ok(Schedule { placements, transfers, leases, ..Schedule::default() })
}

/// What names mean in a problem.
struct Names<'a> {
    problem: &'a Problem<'a>,
    tasks: HashMap<&'a str, TaskId>,
    /// Filled on first use: few schedules name files.
    files: OnceCell<HashMap<String, FileId>>,
    procs: HashMap<String, ProcId>,
}

impl<'a> Names<'a> {
    fn of(problem: &'a Problem<'a>) -> Names<'a> {
        let workflow = problem.workflow();
        Names {
            problem,
            tasks: workflow.tasks().map(|t| (workflow.task_name(t), t)).collect(),
            files: OnceCell::new(),
            procs: problem.proc_ids().map(|p| (problem.proc_name(p), p)).collect(),
        }
    }

    fn task(&self, name: &str, path: &str) -> Result<TaskId> {
        let missing = || FormatError::in_path(path, format!("the workflow has no task '{name}'"));
        self.tasks.get(name).copied().ok_or_else(missing)
    }

    fn proc(&self, name: &str, path: &str) -> Result<ProcId> {
        let missing = || {
            let message = format!("the platform has no processor '{name}'");
            FormatError::in_path(path, message)
        };
        self.procs.get(name).copied().ok_or_else(missing)
    }

    fn host(&self, name: &str, path: &str) -> Result<HostId> {
        let missing = || FormatError::in_path(path, format!("the platform has no host '{name}'"));
        self.problem.platform().host_named(name).ok_or_else(missing)
    }

    fn file(&self, name: &str, path: &str) -> Result<FileId> {
        let workflow = self.problem.workflow();
        let all = || workflow.files().map(|f| (workflow.file_label(f), f)).collect();
        let missing = || FormatError::in_path(path, format!("the workflow has no file '{name}'"));
        self.files.get_or_init(all).get(name).copied().ok_or_else(missing)
    }

    /// The files that a transfer brings: the one it names, or those one task reads of another.
    fn moved(&self, entry: &TransferEntry, path: &str) -> Result<Vec<FileId>> {
        let (from, to) = match (&entry.file, &entry.from, &entry.to) {
            (Some(file), None, None) => return Ok(vec![self.file(file, path)?]),
            (None, Some(from), Some(to)) => (from, to),
            _ => {
                let message = "a transfer names its file, or the tasks it goes from and to";
                return Err(FormatError::in_path(path, message));
            }
        };
        let (parent, child) = (self.task(from, path)?, self.task(to, path)?);
        let mut edges = self.problem.workflow().successors(parent);
        let Some((_, edge)) = edges.find(|&(to, _)| to == child) else {
            let message = format!("'{to}' does not depend on '{from}'");
            return Err(FormatError::in_path(path, message));
        };
        Ok(self.problem.workflow().edge_files(edge).collect())
    }

    fn transfer(&self, entry: &TransferEntry, path: &str) -> Result<Vec<PlannedTransfer>> {
        let link = match &entry.link {
            None => None,
            Some(name) => Some(self.problem.platform().link_named(name).ok_or_else(|| {
                FormatError::in_path(path, format!("the platform has no link '{name}'"))
            })?),
        };
        let (from, to) = (self.host(&entry.source, path)?, self.host(&entry.target, path)?);
        let (start, finish) = (entry.start, entry.finish);
        let of_file = |file| PlannedTransfer { file, from, to, link, start, finish };
        Ok(self.moved(entry, path)?.into_iter().map(of_file).collect())
    }
}

/// Writes a schedule.
pub fn write(problem: &Problem<'_>, schedule: &Schedule, out: &mut dyn Write) -> Result<()> {
    write!(out, "{{\n  \"makespan\": {},\n", number(schedule.makespan())?)?;
    write_list(out, "schedule", entries(problem, schedule)?)?;
    let host = |host: HostId| quoted(&problem.platform().host(host).name);
    if !schedule.transfers.is_empty() {
        let mut list = Vec::new();
        for transfer in &schedule.transfers {
            let link = match transfer.link {
                None => String::new(),
                Some(link) => {
                    format!(", \"link\": {}", quoted(&problem.platform().link(link).name))
                }
            };
            list.push(format!(
                "{{\"file\": {}, \"source\": {}, \"target\": {}{link}, \"start\": {}, \
                 \"finish\": {}}}",
                quoted(&problem.workflow().file_label(transfer.file)),
                host(transfer.from),
                host(transfer.to),
                number(transfer.start)?,
                number(transfer.finish)?
            ));
        }
        writeln!(out, ",")?;
        write_list(out, "transfers", list)?;
    }
    if !schedule.leases.is_empty() {
        let mut list = Vec::new();
        for lease in &schedule.leases {
            let (from, to) = (number(lease.from)?, number(lease.to)?);
            list.push(format!(
                "{{\"host\": {}, \"from\": {from}, \"to\": {to}}}",
                host(lease.host)
            ));
        }
        writeln!(out, ",")?;
        write_list(out, "leases", list)?;
    }
    Ok(writeln!(out, "\n}}")?)
}

/// The placements as JSON objects, one per placed task, in index order.
pub fn entries(problem: &Problem<'_>, schedule: &Schedule) -> Result<Vec<String>> {
    let mut list = Vec::with_capacity(schedule.placements.len());
    for task in problem.workflow().tasks() {
        let Some(placement) = schedule.placement(task) else { continue };
        let name = |&proc: &ProcId| quoted(&problem.proc_name(proc));
        let procs = match placement.procs() {
            [one] => format!("\"processor\": {}", name(one)),
            many => {
                let names: Vec<String> = many.iter().map(name).collect();
                format!("\"processors\": [{}]", names.join(", "))
            }
        };
        let (start, finish) = (number(placement.start)?, number(placement.finish)?);
        list.push(format!(
            "{{\"task\": {}, {procs}, \"start\": {start}, \"finish\": {finish}}}",
            quoted(problem.workflow().task_name(task))
        ));
    }
    Ok(list)
}

fn write_list(out: &mut dyn Write, name: &str, items: Vec<String>) -> std::io::Result<()> {
    write!(out, "  \"{name}\": [")?;
    for (i, item) in items.iter().enumerate() {
        write!(out, "{}\n    {item}", if i > 0 { "," } else { "" })?;
    }
    write!(out, "\n  ]")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// JSON has no infinity: a schedule with one is not finished.
fn number(value: f64) -> Result<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(FormatError::new(format!("a schedule with a time of {value} cannot be written")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule_csv::tests::{platform, workflow};

    #[test]
    fn writes_what_it_reads() {
        let (workflow, platform) = (workflow(), platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let schedule = Schedule {
            placements: vec![
                Some(Placement::new(ProcId(2), 0.0, 0.1)),
                Some(Placement::wide(&[ProcId(0), ProcId(1)], 5.0, 9.5)),
                None,
            ],
            transfers: vec![PlannedTransfer {
                file: FileId(0),
                from: HostId(1),
                to: HostId(0),
                link: None,
                start: 0.1,
                finish: 5.0,
            }],
            leases: vec![Lease {
                class: platform.host(HostId(0)).class,
                host: HostId(0),
                from: 0.0,
                to: 9.5,
            }],
            ..Schedule::default()
        };
        let mut out = Vec::new();
        write(&problem, &schedule, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(read(&text, &problem).unwrap(), schedule, "{text}");
        assert!(text.starts_with("{\n  \"makespan\": 9.5,\n"), "{text}");
        let by_tasks =
            text.replace("\"file\": \"a_to_b, \\\"x\\\"\"", r#""from": "a", "to": "b, \"x\"""#);
        assert_ne!(by_tasks, text);
        assert_eq!(read(&by_tasks, &problem).unwrap(), schedule, "{by_tasks}");
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let (workflow, platform) = (workflow(), platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let error = |text: &str| read(text, &problem).unwrap_err().to_string();
        let entry = r#"{"task": "a", "processor": "small", "start": 0, "finish": 1}"#;
        let cases = [
            (r#"{"task": "x", "processor": "small", "start": 0, "finish": 1}"#, "no task 'x'"),
            (r#"{"task": "a", "processor": "tiny", "start": 0, "finish": 1}"#, "processor 'tiny'"),
            (r#"{"task": "a", "start": 0, "finish": 1}"#, "task 'a' has no processor"),
            (r#"{"task": "a", "processor": "small", "start": 0}"#, "missing field `finish`"),
        ];
        for (bad, message) in cases {
            let text = format!("{{\"schedule\": [{bad}]}}");
            assert!(error(&text).contains(message), "{}", error(&text));
        }
        let twice = format!("{{\"schedule\": [{entry}, {entry}]}}");
        assert_eq!(error(&twice), "at schedule[1]: task 'a' is placed twice");
        assert!(error("{}").contains("missing field `schedule`"));
        assert!(error("{\"schedule\": [").starts_with("line 1, column "));
        let transfer = r#"{"from": "a", "to": "c d", "source": "big", "target": "small",
            "start": 0, "finish": 1}"#;
        let text = format!("{{\"schedule\": [], \"transfers\": [{transfer}]}}");
        assert!(error(&text).contains("'c d' does not depend on 'a'"), "{}", error(&text));
        let text = text.replace(r#""from": "a", "to": "c d""#, r#""file": "f""#);
        assert!(error(&text).contains("the workflow has no file 'f'"), "{}", error(&text));
        let text = text.replace(r#""file": "f", "#, "");
        assert!(error(&text).contains("a transfer names its file"), "{}", error(&text));
    }

    #[test]
    fn an_unfinished_schedule_is_not_written() {
        let (workflow, platform) = (workflow(), platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let mut schedule = Schedule::start(&problem);
        schedule.place(TaskId(0), Placement::new(ProcId(0), 0.0, f64::INFINITY));
        assert!(write(&problem, &schedule, &mut Vec::new()).is_err());
    }
}
