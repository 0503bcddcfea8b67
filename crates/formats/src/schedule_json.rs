//! Schedules as JSON; read and written.
//!
//! ```json
//! {
//!   "schema": "slackline/schedule/1",
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
//! Tasks, files, processors, hosts and links are named as in the workflow and the platform; the file of a
//! weighted edge is `producer_to_consumer`. Transfers may also name two tasks, `from` and `to`, meaning the
//! files that one reads of the other. `transfers` and `leases` appear where the method plans them. Other
//! members, such as those that `plan --json` adds, are ignored: its output reads as a schedule, that of
//! `simulate --json` too, and of several plans or runs (`plans`, `runs`) the shortest is taken. Whether every
//! task is placed, and similar questions that a reader cannot decide, are left to the validator.

use crate::error::{FormatError, Result, json_error};
use crate::names::Names;
use serde::Deserialize;
use slackline_model::schedule::{Lease, PlannedTransfer, devices};
use slackline_model::{FileId, HostId, Placement, Problem, ProcId, Schedule};
use std::io::Write;

/// Value of `schema` in documents of [`write()`].
pub const SCHEMA: &str = "slackline/schedule/1";

#[derive(Deserialize)]
struct File {
    schedule: Option<Vec<Entry>>,
    /// Several plans or runs of one problem, each with a schedule.
    #[serde(default, alias = "runs")]
    plans: Vec<File>,
    makespan: Option<f64>,
    simulated: Option<f64>,
    #[serde(default = "yes")]
    finished: bool,
    #[serde(default)]
    transfers: Transfers,
    #[serde(default)]
    leases: Vec<LeaseEntry>,
}

/// The transfers of a plan, or how many there were in a run.
#[derive(Deserialize)]
#[serde(untagged)]
enum Transfers {
    Planned(Vec<TransferEntry>),
    /// A run contains only their number.
    Counted(#[allow(dead_code)] u64),
}

impl Default for Transfers {
    fn default() -> Transfers {
        Transfers::Planned(Vec::new())
    }
}

fn yes() -> bool {
    true
}

impl File {
    /// The one with a schedule: itself, or of several the shortest that is finished, which is the
    /// one that a comparison shows.
    fn shortest(self) -> Result<(Vec<Entry>, Vec<TransferEntry>, Vec<LeaseEntry>)> {
        if let Some(schedule) = self.schedule {
            let transfers = match self.transfers {
                Transfers::Planned(list) => list,
                Transfers::Counted(_) => Vec::new(),
            };
            return Ok((schedule, transfers, self.leases));
        }
        let length = |file: &File| match (file.finished, file.simulated.or(file.makespan)) {
            (true, Some(makespan)) => makespan,
            _ => f64::INFINITY,
        };
        let shortest = self.plans.into_iter().min_by(|a, b| length(a).total_cmp(&length(b)));
        match shortest {
            Some(file) => file.shortest(),
            None => Err(FormatError::new("there is no member `schedule`")),
        }
    }
}

#[derive(Deserialize)]
struct Entry {
    task: String,
    processor: Option<String>,
    #[serde(default)]
    processors: Vec<String>,
    devices: Option<Vec<u32>>,
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
    let (entries, moves, rents) = file.shortest()?;
    let names = Names::of(problem);
    let mut placements: Vec<Option<Placement>> = vec![None; problem.tasks()];
    let mut devices = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        let path = || format!("schedule[{i}]");
        let task = names.task(&entry.task).map_err(|e| e.under(path))?;
        // If tasks may be wide, documents list all processors, and for narrow tasks also the single one.
        let listed = match entry.processors.is_empty() {
            true => entry.processor.as_slice(),
            false => &entry.processors,
        };
        let procs = listed.iter().map(|name| names.proc(name)).collect::<Result<Vec<ProcId>>>();
        let procs = procs.map_err(|e| e.under(path))?;
        if procs.is_empty() {
            let message = format!("task '{}' has no processor", entry.task);
            return Err(FormatError::in_path(path(), message));
        }
        let slot = &mut placements[task.index()];
        if slot.is_some() {
            let message = format!("task '{}' is placed twice", entry.task);
            return Err(FormatError::in_path(path(), message));
        }
        *slot = Some(Placement::wide(&procs, entry.start, entry.finish));
        devices.extend(entry.devices.as_ref().map(|ids| (task, ids.clone())));
    }
    let mut transfers = Vec::with_capacity(moves.len());
    for (i, entry) in moves.iter().enumerate() {
        let moved = names.transfer(entry);
        transfers.extend(moved.map_err(|e| e.under(|| format!("transfers[{i}]")))?);
    }
    let mut leases = Vec::with_capacity(rents.len());
    for (i, entry) in rents.iter().enumerate() {
        let host = names.host(&entry.host).map_err(|e| e.under(|| format!("leases[{i}]")))?;
        let class = problem.platform().host(host).class;
        leases.push(Lease { class, host, from: entry.from, to: entry.to });
    }
    Ok(Schedule { placements, transfers, leases, devices, ..Schedule::default() })
}

impl Names<'_> {
    /// The files that a transfer brings: the one it names, or those one task reads of another.
    fn moved(&self, entry: &TransferEntry) -> Result<Vec<FileId>> {
        let (from, to) = match (&entry.file, &entry.from, &entry.to) {
            (Some(file), None, None) => return Ok(vec![self.file(file)?]),
            (None, Some(from), Some(to)) => (from, to),
            _ => {
                let message = "a transfer names its file, or the tasks it goes from and to";
                return Err(FormatError::new(message));
            }
        };
        let (parent, child) = (self.task(from)?, self.task(to)?);
        let mut edges = self.workflow.successors(parent);
        let Some((_, edge)) = edges.find(|&(to, _)| to == child) else {
            return Err(FormatError::new(format!("'{to}' does not depend on '{from}'")));
        };
        Ok(self.workflow.edge_files(edge).collect())
    }

    fn transfer(&self, entry: &TransferEntry) -> Result<Vec<PlannedTransfer>> {
        let link = entry.link.as_deref().map(|name| self.link(name)).transpose()?;
        let (from, to) = (self.host(&entry.source)?, self.host(&entry.target)?);
        let (start, finish) = (entry.start, entry.finish);
        let of_file = |file| PlannedTransfer { file, from, to, link, start, finish };
        Ok(self.moved(entry)?.into_iter().map(of_file).collect())
    }
}

/// Writes a schedule.
pub fn write(problem: &Problem<'_>, schedule: &Schedule, out: &mut dyn Write) -> Result<()> {
    let makespan = number(schedule.makespan())?;
    write!(out, "{{\n  \"schema\": \"{SCHEMA}\",\n  \"makespan\": {makespan},\n")?;
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
    let given = devices(problem, schedule);
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
            "{{\"task\": {}, {procs}, \"start\": {start}, \"finish\": {finish}{}}}",
            quoted(problem.workflow().task_name(task)),
            given
                .get(task.index())
                .filter(|ids| !ids.is_empty())
                .map_or(String::new(), |ids| { format!(", \"devices\": {ids:?}") })
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
    use slackline_model::TaskId;

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
        assert!(text.contains("\n  \"makespan\": 9.5,\n"), "{text}");
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
        assert!(error("{}").contains("no member `schedule`"));
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
