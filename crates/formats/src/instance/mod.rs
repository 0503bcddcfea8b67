//! Scheduling instances: a workflow and the processors to plan it on in one JSON file; read and
//! written.
//!
//! ```json
//! {
//!   "name": "two",
//!   "tasks": [{"id": "a", "cost": 6}, {"id": "b", "cost": 4}],
//!   "edges": [{"from": "a", "to": "b", "data": 10}],
//!   "processors": [{"id": "p", "speed": 2}, {"id": "q", "speed": 1}],
//!   "exec": [[3, 6], [2, 5]],
//!   "bandwidth": [[null, 5], [5, null]],
//!   "latency": 0.5
//! }
//! ```
//!
//! A task takes `exec[task][processor]` where that table is given (the workflow then carries it as
//! its cost table, one column per processor), else `cost / speed`. Data take `latency +
//! data / bandwidth` between different processors; a bandwidth of `null` means that they take no
//! time beyond the latency. `bandwidth` and `latency` are matrices from row to column or one
//! number for all pairs; the diagonal counts for nothing. Numbers have no units: cost is read as
//! flop, speed as flop/s, data as bytes. `cost` may be missing where `exec` is given, `speed` is 1
//! where it is missing. Ids are text or whole numbers. Other members, such as `meta`, are passed
//! over.
//!
//! Written are the processors of the platform one by one (a core each), with the contention-free
//! network that a planner sees. Lost: files that are not data from task to task, file names,
//! kinds, commands, memory, speed-up models, prices.

mod writer;

pub use writer::write;

use crate::detect::Codec;
use crate::document::Document;
use crate::error::{FormatError, Result};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder, RoutingKind};
use slackline_model::workflow::CostTable;
use slackline_model::{Platform, Task, TaskId, Workflow, WorkflowBuilder, WorkflowError};
use std::fmt;

/// Behind the front door an instance is its workflow; it takes a platform to write one.
pub(crate) const CODEC: Codec = Codec {
    name: "instance",
    about: "workflow and processors in one file (JSON)",
    extensions: &["instance.json", "json"],
    recognise,
    read: |text| Ok(Document::new(read(text)?.workflow)),
    write: None,
};

/// Whether a text has the members of an instance at its top.
fn recognise(text: &str) -> bool {
    /// Names of members seen so far: `tasks`, `processors`.
    struct Members<'a>(&'a mut [bool; 2]);
    impl<'de> Visitor<'de> for Members<'_> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                self.0[0] |= key == "tasks";
                self.0[1] |= key == "processors";
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    // The first tests spare most other files the walk.
    if !text.trim_start().starts_with('{') || !text.contains("\"processors\"") {
        return false;
    }
    let mut seen = [false; 2];
    // A file that breaks off is still an instance.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(Members(&mut seen));
    seen == [true, true]
}

/// A workflow and the platform to plan it on.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Tasks and dependencies.
    pub workflow: Workflow,
    /// Single-core hosts, named by the processors' ids, in the order of the file.
    pub platform: Platform,
}

/// Reads an instance.
pub fn read(text: &str) -> Result<Instance> {
    let file: File = serde_json::from_str(text).map_err(json_error)?;
    Ok(Instance { workflow: file.workflow()?, platform: file.platform()? })
}

/// The error of the JSON reader as ours: its place apart from its text.
pub(crate) fn json_error(error: serde_json::Error) -> FormatError {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
    match error.line() {
        0 => FormatError::new(message),
        line => FormatError::at(line, error.column().max(1), message),
    }
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    name: String,
    tasks: Vec<TaskEntry>,
    edges: Vec<EdgeEntry>,
    processors: Vec<ProcessorEntry>,
    exec: Option<Vec<Vec<f64>>>,
    bandwidth: Table,
    #[serde(default)]
    latency: Table,
}

#[derive(Deserialize)]
struct TaskEntry {
    id: Id,
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct EdgeEntry {
    from: Id,
    to: Id,
    #[serde(default)]
    data: f64,
}

#[derive(Deserialize)]
struct ProcessorEntry {
    id: Id,
    speed: Option<f64>,
}

/// Text, or a whole number taken as text.
struct Id(String);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Id, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Id;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id (text or a whole number)")
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Id, E> {
                Ok(Id(text.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> std::result::Result<Id, E> {
                Ok(Id(number.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> std::result::Result<Id, E> {
                Ok(Id(number.to_string()))
            }
        }
        deserializer.deserialize_any(Words)
    }
}

/// A number for every pair of processors, or one for all; `None` where the file has `null`.
enum Table {
    One(Option<f64>),
    Matrix(Vec<Vec<Option<f64>>>),
}

impl Default for Table {
    fn default() -> Table {
        Table::One(None)
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Table, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Table;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, null or a matrix")
            }
            fn visit_unit<E>(self) -> std::result::Result<Table, E> {
                Ok(Table::One(None))
            }
            fn visit_f64<E>(self, number: f64) -> std::result::Result<Table, E> {
                Ok(Table::One(Some(number)))
            }
            fn visit_u64<E>(self, number: u64) -> std::result::Result<Table, E> {
                Ok(Table::One(Some(number as f64)))
            }
            fn visit_i64<E>(self, number: i64) -> std::result::Result<Table, E> {
                Ok(Table::One(Some(number as f64)))
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut rows: A,
            ) -> std::result::Result<Table, A::Error> {
                let mut matrix = Vec::new();
                while let Some(row) = rows.next_element()? {
                    matrix.push(row);
                }
                Ok(Table::Matrix(matrix))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Table {
    /// One number where the file has one, or the same for all pairs.
    fn uniform(&self) -> Option<Option<f64>> {
        let rows = match self {
            Table::One(value) => return Some(*value),
            Table::Matrix(rows) => rows,
        };
        let mut off_diagonal = rows.iter().enumerate().flat_map(|(i, row)| {
            row.iter().enumerate().filter(move |&(j, _)| i != j).map(|(_, entry)| *entry)
        });
        let first = off_diagonal.next()?;
        off_diagonal.all(|entry| entry == first).then_some(first)
    }

    /// Entry of a pair of different processors.
    fn entry(&self, from: usize, to: usize) -> Option<f64> {
        match self {
            Table::One(value) => *value,
            Table::Matrix(rows) => rows[from][to],
        }
    }

    /// Whether it has a row and a column per processor, and no entry that `bad` refuses.
    fn check(&self, what: &str, processors: usize, bad: impl Fn(f64) -> bool) -> Result<()> {
        let refuse = |path: String, value: f64| {
            Err(FormatError::in_path(path, format!("{what} cannot be {value}")))
        };
        let rows = match self {
            Table::One(Some(value)) if bad(*value) => return refuse(what.to_string(), *value),
            Table::One(_) => return Ok(()),
            Table::Matrix(rows) => rows,
        };
        check_length(what, rows.len(), processors, "processors")?;
        for (i, row) in rows.iter().enumerate() {
            check_length(&format!("{what}[{i}]"), row.len(), processors, "processors")?;
            for (j, entry) in row.iter().enumerate() {
                match *entry {
                    Some(value) if i != j && bad(value) => {
                        return refuse(format!("{what}[{i}][{j}]"), value);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

fn check_length(path: &str, found: usize, due: usize, of: &str) -> Result<()> {
    if found == due {
        return Ok(());
    }
    Err(FormatError::in_path(path, format!("{found} entries for {due} {of}")))
}

impl File {
    fn workflow(&self) -> Result<Workflow> {
        let mut builder = WorkflowBuilder::new(self.name.as_str());
        builder.set_reference_speed(1.0);
        let table = self.cost_table()?;
        for (i, task) in self.tasks.iter().enumerate() {
            let work = match (task.cost, &table) {
                (Some(cost), _) => cost,
                (None, Some(table)) => {
                    let row = table.row(TaskId::new(i));
                    row.iter().sum::<f64>() / row.len() as f64
                }
                (None, None) => {
                    let message = "a task needs a cost where there is no exec table";
                    return Err(FormatError::in_path(format!("tasks[{i}].cost"), message));
                }
            };
            builder
                .add_task(Task::new(task.id.0.as_str(), work))
                .map_err(|e| FormatError::in_path(format!("tasks[{i}]"), e))?;
        }
        let mut pairs = Vec::with_capacity(self.edges.len());
        for (i, edge) in self.edges.iter().enumerate() {
            let end = |name: &str, side: &str| {
                builder.task_id(name).ok_or_else(|| {
                    let message = format!("there is no task '{name}'");
                    FormatError::in_path(format!("edges[{i}].{side}"), message)
                })
            };
            let (from, to) = (end(&edge.from.0, "from")?, end(&edge.to.0, "to")?);
            builder
                .add_edge(from, to, edge.data)
                .map_err(|e| FormatError::in_path(format!("edges[{i}]"), e))?;
            pairs.push((from, to, i));
        }
        pairs.sort_unstable();
        if let Some(twins) = pairs.windows(2).find(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1)) {
            let (first, second) = (twins[0].2, twins[1].2);
            let message = format!("the same two tasks as edges[{first}]");
            return Err(FormatError::in_path(format!("edges[{second}]"), message));
        }
        if let Some(table) = table {
            builder.set_cost_table(table);
        }
        builder.build().map_err(|error| match error {
            WorkflowError::Empty => FormatError::in_path("tasks", error),
            WorkflowError::BadCostTable { .. } => FormatError::in_path("exec", error),
            other => other.into(),
        })
    }

    fn cost_table(&self) -> Result<Option<CostTable>> {
        let Some(exec) = &self.exec else { return Ok(None) };
        check_length("exec", exec.len(), self.tasks.len(), "tasks")?;
        let processors = self.processors.len();
        for (i, row) in exec.iter().enumerate() {
            check_length(&format!("exec[{i}]"), row.len(), processors, "processors")?;
            if let Some(j) = row.iter().position(|s| !(s.is_finite() && *s >= 0.0)) {
                let message = format!("a time cannot be {}", row[j]);
                return Err(FormatError::in_path(format!("exec[{i}][{j}]"), message));
            }
        }
        let columns = self.processors.iter().map(|p| p.id.0.clone()).collect();
        Ok(Some(CostTable { columns, seconds: exec.concat() }))
    }

    fn platform(&self) -> Result<Platform> {
        let processors = self.processors.len();
        if processors == 0 {
            return Err(FormatError::in_path("processors", "there is no processor"));
        }
        self.bandwidth.check("bandwidth", processors, |b| b <= 0.0)?;
        self.latency.check("latency", processors, |l| l < 0.0)?;
        let mut builder = PlatformBuilder::new(self.name.as_str());
        let zone = builder
            .add_zone(None, self.zone_name(), RoutingKind::None)
            .map_err(FormatError::new)?;
        for (i, processor) in self.processors.iter().enumerate() {
            let spec = HostSpec::new(processor.id.0.as_str(), processor.speed.unwrap_or(1.0));
            builder
                .add_host(zone, spec)
                .map_err(|e| FormatError::in_path(format!("processors[{i}]"), e))?;
        }
        builder.set_matrix(self.matrix());
        builder.build().map_err(FormatError::new)
    }

    /// A name for the zone around the processors that none of them has.
    fn zone_name(&self) -> String {
        let mut name = "processors".to_string();
        while self.processors.iter().any(|p| p.id.0 == name) {
            name.push('_');
        }
        name
    }

    fn matrix(&self) -> Matrix {
        if let (Some(bandwidth), Some(latency)) = (self.bandwidth.uniform(), self.latency.uniform())
        {
            return Matrix::uniform(bandwidth, latency.unwrap_or(0.0));
        }
        let hosts = self.processors.len();
        let cells = |table: &Table, missing: f64| {
            (0..hosts * hosts)
                .map(|cell| table.entry(cell / hosts, cell % hosts).unwrap_or(missing))
                .collect()
        };
        Matrix::Dense {
            hosts,
            bandwidth: cells(&self.bandwidth, f64::INFINITY),
            latency: cells(&self.latency, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::{HostId, Problem, ProcId};

    const TWO: &str = r#"{
      "name": "two", "meta": {"anything": [1, {"at": "all"}]},
      "tasks": [{"id": "a", "cost": 6}, {"id": 7, "cost": 4}],
      "edges": [{"from": "a", "to": 7, "data": 10}],
      "processors": [{"id": "p", "speed": 2}, {"id": "q", "speed": 1}],
      "bandwidth": [[null, 5], [2, null]],
      "latency": [[0, 0.5], [1, 0]]
    }"#;

    fn error(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn costs_and_transfers_follow_the_file() {
        let Instance { workflow, platform } = read(TWO).unwrap();
        let problem = Problem::new(&workflow, &platform).unwrap();
        let (a, b) = (TaskId(0), TaskId(1));
        assert_eq!(workflow.task_name(b), "7");
        assert_eq!(problem.exec_on(a, ProcId(0)), 6.0 / 2.0);
        assert_eq!(problem.exec_on(a, ProcId(1)), 6.0 / 1.0);
        assert_eq!(problem.transfer(10.0, HostId(0), HostId(1)), 0.5 + 10.0 / 5.0);
        assert_eq!(problem.transfer(10.0, HostId(1), HostId(0)), 1.0 + 10.0 / 2.0);
        assert_eq!(problem.transfer(10.0, HostId(1), HostId(1)), 0.0);
    }

    #[test]
    fn the_exec_table_goes_before_cost_and_speed() {
        let text = TWO.replace("\"bandwidth\"", "\"exec\": [[3, 8], [2, 5]], \"bandwidth\"");
        let Instance { workflow, platform } = read(&text).unwrap();
        let problem = Problem::new(&workflow, &platform).unwrap();
        assert_eq!(problem.exec_on(TaskId(0), ProcId(1)), 8.0);
        assert_eq!(workflow.cost_table().unwrap().columns, ["p", "q"]);
        let without = text.replace(", \"cost\": 6", "").replace(", \"cost\": 4", "");
        assert_eq!(read(&without).unwrap().workflow.work(TaskId(0)), (3.0 + 8.0) / 2.0);
    }

    #[test]
    fn one_number_is_a_uniform_network_and_null_is_free() {
        let with = |network: &str| {
            let start = TWO.split("\"bandwidth\"").next().unwrap();
            let Instance { workflow, platform } = read(&format!("{start}{network}}}")).unwrap();
            let problem = Problem::new(&workflow, &platform).unwrap();
            problem.transfer(10.0, HostId(0), HostId(1))
        };
        assert_eq!(with("\"bandwidth\": 4"), 10.0 / 4.0);
        assert_eq!(with("\"bandwidth\": 4, \"latency\": 1"), 1.0 + 10.0 / 4.0);
        assert_eq!(with("\"bandwidth\": null, \"latency\": 1"), 1.0);
        assert_eq!(with("\"bandwidth\": [[null, null], [null, null]]"), 0.0);
        assert_eq!(with("\"bandwidth\": 4, \"latency\": [[0, 2], [1, 0]]"), 2.0 + 10.0 / 4.0);
    }

    #[test]
    fn a_processor_may_be_called_like_the_instance() {
        let text = TWO.replace("\"two\"", "\"p\"").replace("\"q\"", "\"processors\"");
        let platform = read(&text).unwrap().platform;
        assert!(platform.host_named("processors").is_some());
    }

    #[test]
    fn is_recognised() {
        assert!(recognise(TWO) && recognise(&TWO[..TWO.len() - 20]));
        assert!(!recognise(r#"{"workflow": {"tasks": [], "processors": []}}"#));
        assert!(!recognise("[]") && !recognise(""));
    }

    #[test]
    fn writes_what_it_reads() {
        let exec = TWO.replace("\"bandwidth\"", "\"exec\": [[3, 8], [2, 5]], \"bandwidth\"");
        for text in [TWO, exec.as_str()] {
            let Instance { workflow, platform } = read(text).unwrap();
            let mut out = Vec::new();
            write(&workflow, &platform, &mut out).unwrap();
            let back = read(std::str::from_utf8(&out).unwrap()).unwrap();
            assert_eq!(back.workflow, workflow);
            assert_eq!(back.platform.network(), platform.network());
            let speeds = |p: &Platform| p.hosts().iter().map(|h| h.speed).collect::<Vec<_>>();
            assert_eq!(speeds(&back.platform), speeds(&platform));
        }
    }

    #[test]
    fn cores_become_processors_that_share_for_free() {
        let mut b = PlatformBuilder::new("p");
        let root = b.root().unwrap();
        b.add_host(root, HostSpec { cores: 2, ..HostSpec::new("big", 3.0) }).unwrap();
        b.add_host(root, HostSpec::new("small", 1.0)).unwrap();
        b.set_matrix(Matrix::uniform(Some(8.0), 0.0));
        let workflow = read(TWO).unwrap().workflow;
        let mut out = Vec::new();
        write(&workflow, &b.build().unwrap(), &mut out).unwrap();
        let back = read(std::str::from_utf8(&out).unwrap()).unwrap();
        let problem = Problem::new(&back.workflow, &back.platform).unwrap();
        assert_eq!(problem.procs(), 3);
        assert_eq!(problem.transfer(16.0, HostId(0), HostId(1)), 0.0);
        assert_eq!(problem.transfer(16.0, HostId(0), HostId(2)), 2.0);
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let cases = [
            ("\"cost\": 6", "\"cost\": -6", "at tasks[0]: the work of 'a'"),
            ("\"cost\": 6", "\"cost\": 1e999", "number out of range"),
            (", \"cost\": 6", "", "at tasks[0].cost: a task needs a cost"),
            ("\"id\": 7", "\"id\": \"a\"", "at tasks[1]: two tasks are named 'a'"),
            ("\"to\": 7", "\"to\": \"b\"", "at edges[0].to: there is no task 'b'"),
            ("\"to\": 7", "\"to\": \"a\"", "at edges[0]: task 'a' depends on itself"),
            ("\"data\": 10", "\"data\": -1", "at edges[0]: the data of 'a -> 7'"),
            ("\"speed\": 2", "\"speed\": 0", "at processors[0]: host \"p\": speed"),
            (
                "\"id\": \"q\"",
                "\"id\": \"p\"",
                "at processors[1]: the host \"p\" is declared twice",
            ),
            ("[2, null]", "[0, null]", "at bandwidth[1][0]: bandwidth cannot be 0"),
            ("[2, null]", "[2]", "at bandwidth[1]: 1 entries for 2 processors"),
            ("[1, 0]", "[-1, 0]", "at latency[1][0]: latency cannot be -1"),
            (
                "\"bandwidth\"",
                "\"exec\": [[1, 2]], \"bandwidth\"",
                "at exec: 1 entries for 2 tasks",
            ),
            (
                "\"bandwidth\"",
                "\"exec\": [[1, 2], [1, -1]], \"bandwidth\"",
                "at exec[1][1]: a time cannot be -1",
            ),
            ("\"tasks\"", "\"task\"", "missing field `tasks`"),
            (
                "\"data\": 10}",
                "\"data\": 10}, {\"from\": \"a\", \"to\": 7}",
                "at edges[1]: the same two tasks as edges[0]",
            ),
            (
                "\"data\": 10}",
                "\"data\": 10}, {\"from\": 7, \"to\": \"a\"}",
                "the tasks depend on each other in a circle",
            ),
        ];
        for (old, new, message) in cases {
            let text = TWO.replacen(old, new, 1);
            assert_ne!(text, TWO);
            assert!(error(&text).contains(message), "{new}: {}", error(&text));
        }
        assert!(error(&TWO[..TWO.len() - 20]).starts_with("line 7, column "));
        assert!(error(&"[".repeat(1_000_000)).contains("line 1"));
    }
}
