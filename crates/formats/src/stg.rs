//! Standard Task Graphs (Tobita and Kasahara, J. of Scheduling 5, 2002), read and written.
//!
//! A file is the number of tasks, then one record per task: its number, its processing time, the
//! number of its predecessors and the predecessors; `#` starts a comment. Read are
//!
//! - the standard set: tasks numbered from 0, a dummy entry and a dummy exit of no time that the
//!   first line does not count;
//! - graphs with communication: the predecessors are followed by a communication time each, on
//!   the record's own line or on a line per predecessor; the first line may also name a number of
//!   processors (passed over) and may count the dummies;
//! - the prototype set: tasks numbered from 1.
//!
//! Dummy tasks are kept: they take no time and change no makespan. Times have no unit; a unit of
//! processing is one second at the reference speed, a unit of communication one second at
//! [`REFERENCE_BANDWIDTH`]. Tasks are named by their numbers.
//!
//! Written are task numbers in index order, times and dependencies, with communication times
//! where any dependency carries data; dummies are added where they are missing. Names, kinds,
//! files, commands, memory and speed-up models are lost.

use crate::detect::Codec;
use crate::document::Document;
use crate::error::{FormatError, Result};
use crate::scan::{Scanner, Spot, byte_name};
use slackline_model::workflow::REFERENCE_SPEED;
use slackline_model::{Task, TaskId, Workflow, WorkflowBuilder};
use std::io::{Read, Write};

pub(crate) const CODEC: Codec = Codec {
    name: "stg",
    about: "Standard Task Graph, with or without communication times",
    extensions: &["stg"],
    comments: Some(crate::note::Comments::Hash),
    recognise,
    read: |text, _| Ok(Document::new(read(text.as_bytes())?)),
    write: Some(|document, out| Ok(write(&document.workflow, out)?)),
};

/// Whether the first two lines are one or two whole numbers, then a record.
fn recognise(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut numbers = || {
        let line = lines.find(|line| !line.is_empty())?;
        let numbers: Option<Vec<f64>> =
            line.split_ascii_whitespace().take(4).map(|word| word.parse().ok()).collect();
        numbers.map(|numbers| numbers.len())
    };
    matches!(numbers(), Some(1 | 2)) && matches!(numbers(), Some(3 | 4))
}

/// Bytes per unit of communication time: what Gigabit Ethernet moves in one second.
pub const REFERENCE_BANDWIDTH: f64 = 1.25e8;

/// Longest number that is read, in characters.
const NUMBER_LIMIT: usize = 400;

/// Largest count or task number that is read; numbers up to here are exact as `f64`.
const MAX_COUNT: f64 = 1e15;

/// Reads a graph.
pub fn read(source: impl Read) -> Result<Workflow> {
    let mut lines = Lines { scanner: Scanner::new(source)?, word: Vec::new() };
    let mut fields = Vec::new();
    let Some(spot) = lines.next(&mut fields, 2)? else {
        return Err(lines.scanner.spot().error("an empty file is not a task graph"));
    };
    let declared = fields[0].count("the number of tasks")?;
    if declared >= u64::from(u32::MAX) - 2 {
        return Err(spot.error(format!("{declared} tasks are more than Slackline can hold")));
    }
    let mut graph = Graph { declared, first: 0, times: Vec::new(), edges: Vec::new() };
    let mut record = TaskRecord::default();
    while let Some(spot) = lines.next(&mut fields, 3 + 2 * (declared as usize + 2))? {
        record.start(spot, &fields, &mut graph)?;
        if record.needs_lines() {
            for _ in 0..record.predecessors {
                let Some(spot) = lines.next(&mut fields, 2)? else { break };
                record.pair(spot, &fields)?;
            }
        }
        record.finish(&mut graph)?;
    }
    graph.check_length(lines.scanner.spot())?;
    graph.build()
}

/// One number and its place; small, because a line may hold very many.
#[derive(Clone, Copy)]
struct Field {
    value: f64,
    column: u32,
    line: u32,
}

impl Field {
    fn error(&self, message: impl std::fmt::Display) -> FormatError {
        FormatError::at(self.line as usize, self.column as usize, message)
    }

    /// A whole number.
    fn count(&self, what: &str) -> Result<u64> {
        if self.value >= 0.0 && self.value.fract() == 0.0 && self.value <= MAX_COUNT {
            return Ok(self.value as u64);
        }
        Err(self.error(format!("{what} must be a whole number, not {}", self.value)))
    }

    /// A time: finite, not negative.
    fn time(&self, what: &str) -> Result<f64> {
        if self.value.is_finite() && self.value >= 0.0 {
            return Ok(self.value);
        }
        let message =
            format!("{what} must be a finite number that is not negative, not {}", self.value);
        Err(self.error(message))
    }
}

/// Lines of numbers without comments and empty lines.
struct Lines<R> {
    scanner: Scanner<R>,
    word: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// The numbers of the next line, at most `limit`, and where they start.
    fn next(&mut self, fields: &mut Vec<Field>, limit: usize) -> Result<Option<Spot>> {
        fields.clear();
        let mut first = None;
        while let Some(byte) = self.scanner.peek()? {
            match byte {
                b'\n' if first.is_some() => break,
                b' ' | b'\t' | b'\r' | b'\n' => self.scanner.bump(),
                b'#' => self.scanner.skip_line()?,
                _ => {
                    let spot = self.scanner.spot();
                    if fields.len() == limit {
                        let message = format!("too many numbers: the line has room for {limit}");
                        return Err(spot.error(message));
                    }
                    first.get_or_insert(spot);
                    let value = self.number(spot)?;
                    let place = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
                    let (line, column) = (place(spot.line), place(spot.column));
                    fields.push(Field { value, column, line });
                }
            }
        }
        Ok(first)
    }

    fn number(&mut self, spot: Spot) -> Result<f64> {
        self.word.clear();
        while let Some(byte) = self.scanner.peek()? {
            if matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'#') {
                break;
            }
            if !byte.is_ascii_graphic() {
                let found = byte_name(byte);
                return Err(self.scanner.spot().error(format!("{found} instead of a number")));
            }
            if self.word.len() == NUMBER_LIMIT {
                return Err(spot.error("a number of more than 400 characters"));
            }
            self.scanner.take_into(&mut self.word, spot)?;
        }
        let word = std::str::from_utf8(&self.word).unwrap_or_default(); // ASCII, checked above
        word.parse().map_err(|_| spot.error(format!("'{word}' instead of a number")))
    }
}

/// State of the reader.
struct Graph {
    /// Tasks as the first line counts them.
    declared: u64,
    /// Number of the first task: 0, or 1 in the prototype set.
    first: u64,
    times: Vec<f64>,
    /// (from, to, communication time), as positions.
    edges: Vec<(u32, u32, f64)>,
}

/// The record of one task while it is read.
#[derive(Default)]
struct TaskRecord {
    spot: Option<Spot>,
    task: u64,
    predecessors: u64,
    /// (predecessor, communication time) as far as read.
    parents: Vec<(u32, f64)>,
}

impl TaskRecord {
    /// The line that starts the record: number, time, count and, in most files, the rest.
    fn start(&mut self, spot: Spot, fields: &[Field], graph: &mut Graph) -> Result<()> {
        let [task, time, many, rest @ ..] = fields else {
            return Err(spot.error(format!(
                "a task needs its number, its time and the number of its predecessors, not {} \
                 numbers",
                fields.len()
            )));
        };
        let number = task.count("the task number")?;
        if graph.times.is_empty() && number == 1 {
            graph.first = 1;
        }
        let expected = graph.first + graph.times.len() as u64;
        if number != expected {
            let message = format!("task {number} where task {expected} is due");
            return Err(task.error(message).with_help("tasks are numbered without gaps"));
        }
        if number >= graph.declared + 2 {
            let declared = graph.declared;
            return Err(task.error(format!("more tasks than the {declared} announced")));
        }
        graph.times.push(time.time("the processing time")?);
        let predecessors = many.count("the number of predecessors")?;
        if predecessors > graph.declared + 1 {
            return Err(many.error(format!("{predecessors} predecessors, of so few tasks")));
        }
        self.spot = Some(spot);
        self.task = number;
        self.predecessors = predecessors;
        self.parents.clear();
        match rest.len() as u64 {
            0 => {}
            n if n == predecessors => {
                for field in rest {
                    let parent = self.parent(field, graph)?;
                    self.parents.push((parent, 0.0));
                }
            }
            n if n == 2 * predecessors => {
                for pair in rest.chunks_exact(2) {
                    let parent = self.parent(&pair[0], graph)?;
                    self.parents.push((parent, pair[1].time("the communication time")?));
                }
            }
            n => {
                return Err(many.error(format!(
                    "task {number} announces {predecessors} predecessors but {n} numbers follow"
                )));
            }
        }
        Ok(())
    }

    /// Whether the predecessors are on lines of their own.
    fn needs_lines(&self) -> bool {
        self.predecessors > 0 && self.parents.is_empty()
    }

    /// A line of its own: a predecessor and its communication time.
    fn pair(&mut self, spot: Spot, fields: &[Field]) -> Result<()> {
        let [parent, communication] = fields else {
            return Err(spot.error(format!(
                "task {} announces {} predecessors: a predecessor and its communication time are \
                 due here",
                self.task, self.predecessors
            )));
        };
        let number = parent.count("the predecessor")?;
        let Ok(number) = u32::try_from(number) else {
            return Err(parent.error(format!("there is no task {number}")));
        };
        self.parents.push((number, communication.time("the communication time")?));
        Ok(())
    }

    fn parent(&self, field: &Field, graph: &Graph) -> Result<u32> {
        let number = field.count("the predecessor")?;
        match u32::try_from(number) {
            Ok(parent) if number < graph.declared + 2 => Ok(parent),
            _ => Err(field.error(format!("there is no task {number}"))),
        }
    }

    /// Checks the predecessors together and hands them over.
    fn finish(&mut self, graph: &mut Graph) -> Result<()> {
        let Some(spot) = self.spot else { return Ok(()) };
        let task = self.task;
        if (self.parents.len() as u64) < self.predecessors {
            return Err(spot.error(format!(
                "the file ends inside task {task}: {} of {} predecessors",
                self.parents.len(),
                self.predecessors
            )));
        }
        // After sorting, duplicates are adjacent; the order of predecessors means nothing.
        self.parents.sort_unstable_by_key(|&(parent, _)| parent);
        if let Some(twins) = self.parents.windows(2).find(|w| w[0].0 == w[1].0) {
            return Err(spot.error(format!("task {task} names predecessor {} twice", twins[0].0)));
        }
        let first = graph.first as u32;
        for &(parent, communication) in &self.parents {
            if u64::from(parent) == task {
                return Err(spot.error(format!("task {task} depends on itself")));
            }
            if parent < first || u64::from(parent) >= graph.declared + 2 {
                return Err(spot.error(format!("there is no task {parent}")));
            }
            graph.edges.push((parent - first, task as u32 - first, communication));
        }
        Ok(())
    }
}

impl Graph {
    /// Whether the number of records fits the first line.
    fn check_length(&self, end: Spot) -> Result<()> {
        let tasks = self.times.len() as u64;
        let dummy = |time: Option<&f64>| time == Some(&0.0);
        let fits = if self.first == 1 {
            tasks == self.declared || tasks == self.declared + 1
        } else {
            // A file cut two records short still has its dummy entry, but not its exit.
            tasks == self.declared + 2
                || tasks == self.declared && dummy(self.times.first()) == dummy(self.times.last())
        };
        if fits {
            return Ok(());
        }
        let announced = self.declared;
        Err(end
            .error(format!("the file ends after {tasks} tasks; {announced} are announced"))
            .with_help("the first line counts the tasks without the dummy entry and exit"))
    }

    fn build(self) -> Result<Workflow> {
        let mut builder = WorkflowBuilder::new("");
        for (position, &time) in self.times.iter().enumerate() {
            let name = (position as u64 + self.first).to_string();
            builder.add_task(Task::new(name, time * REFERENCE_SPEED))?;
        }
        let tasks = self.times.len();
        for (from, to, communication) in self.edges {
            if from as usize >= tasks {
                let missing = u64::from(from) + self.first;
                let to = builder.task_name(TaskId(to));
                let message = format!("task {to} names predecessor {missing}, which is not there");
                return Err(FormatError::new(message));
            }
            if communication > 0.0 {
                let bytes = communication * REFERENCE_BANDWIDTH;
                builder.add_edge(TaskId(from), TaskId(to), bytes)?;
            } else {
                builder.add_control(TaskId(from), TaskId(to))?;
            }
        }
        Ok(builder.build()?)
    }
}

/// Writes a graph; see the module's head for what is lost.
pub fn write(workflow: &Workflow, out: &mut dyn Write) -> std::io::Result<()> {
    let tasks = workflow.len() as u32;
    let (first, last) = (TaskId(0), TaskId(tasks - 1));
    let idle = |task: TaskId| workflow.work(task) == 0.0;
    let only = |mut ends: Box<dyn Iterator<Item = TaskId> + '_>, task: TaskId| {
        ends.next() == Some(task) && ends.next().is_none()
    };
    let has_dummies = tasks >= 2
        && idle(first)
        && idle(last)
        && only(Box::new(workflow.entries()), first)
        && only(Box::new(workflow.exits()), last);
    let communication = workflow.edges().any(|edge| workflow.edge_bytes(edge) > 0.0);
    let shift = u32::from(!has_dummies);
    writeln!(out, "{:>11}", if has_dummies { tasks - 2 } else { tasks })?;
    if !has_dummies {
        write_record(out, 0, 0.0, &[], communication)?;
    }
    let mut parents: Vec<(u32, f64)> = Vec::new();
    for task in workflow.tasks() {
        parents.clear();
        parents.extend(workflow.predecessors(task).map(|(parent, edge)| {
            (parent.0 + shift, workflow.edge_bytes(edge) / REFERENCE_BANDWIDTH)
        }));
        if parents.is_empty() && !has_dummies {
            parents.push((0, 0.0));
        }
        let seconds = crate::text::seconds(workflow.work(task), workflow.reference_speed());
        write_record(out, task.0 + shift, seconds, &parents, communication)?;
    }
    if !has_dummies {
        let exits: Vec<(u32, f64)> = workflow.exits().map(|task| (task.0 + 1, 0.0)).collect();
        write_record(out, tasks + 1, 0.0, &exits, communication)?;
    }
    writeln!(out, "# Tasks             : {}", if has_dummies { tasks - 2 } else { tasks })?;
    writeln!(out, "# Written by Slackline")
}

fn write_record(
    out: &mut dyn Write,
    task: u32,
    seconds: f64,
    parents: &[(u32, f64)],
    communication: bool,
) -> std::io::Result<()> {
    // Fields are 11 wide; a longer number still keeps its distance.
    write!(out, " {task:>10} {seconds:>10} {:>10}", parents.len())?;
    for (parent, time) in parents {
        if communication {
            write!(out, "\n {parent:>10} {time:>10}")?;
        } else {
            write!(out, " {parent:>10}")?;
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::EdgeId;

    fn error(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    /// 3 tasks in a chain of 2 and 1 + 4 beside it: 0 -> 1 -> 2 -> 4, 0 -> 3 -> 4.
    const PLAIN: &str = "\
          3
          0          0          0
          1          2          1          0
          2          4          1          1
          3          5          1          0
          4          0          2          2          3
# CP Length           : 6
";

    #[test]
    fn reads_the_standard_set_with_its_dummies() {
        let w = read(PLAIN.as_bytes()).unwrap();
        assert_eq!((w.len(), w.edge_count()), (5, 5));
        assert_eq!(w.task_name(TaskId(3)), "3");
        assert_eq!(w.reference_seconds(TaskId(3)), 5.0);
        // 2 + 4 through the dummies of no time
        assert_eq!(w.critical_path(|t| w.reference_seconds(t), |_| 0.0).length, 6.0);
        assert_eq!(w.total_edge_bytes(), 0.0);
    }

    #[test]
    fn both_layouts_of_communication_times_mean_the_same() {
        let lines = "4 2\n0 0 0\n1 2 1\n 0 0\n2 3 1\n 0 0\n3 0 2\n 1 4\n 2 5\n";
        let inline = "2\n0 0 0\n1 2 1 0 0\n2 3 1 0 0\n3 0 2 1 4 2 5\n";
        let w = read(lines.as_bytes()).unwrap();
        assert_eq!(w, read(inline.as_bytes()).unwrap());
        assert_eq!(w.edge_ends(EdgeId(3)), (TaskId(2), TaskId(3)));
        assert_eq!(w.edge_bytes(EdgeId(3)), 5.0 * REFERENCE_BANDWIDTH);
    }

    #[test]
    fn reads_the_prototype_set() {
        let w = read("2 3\n1 14 0\n2 20 1 1\n3 0 1 2\n".as_bytes()).unwrap();
        assert_eq!((w.len(), w.task_name(TaskId(0))), (3, "1"));
        assert_eq!(w.edge_ends(EdgeId(1)), (TaskId(1), TaskId(2)));
    }

    #[test]
    fn writes_what_it_reads() {
        for text in [PLAIN, "4 2\n0 0 0\n1 2.5 1\n 0 0\n2 3 1\n 0 0\n3 0 2\n 1 4\n 2 5\n"] {
            let w = read(text.as_bytes()).unwrap();
            let mut out = Vec::new();
            write(&w, &mut out).unwrap();
            assert_eq!(read(&out[..]).unwrap(), w, "{}", String::from_utf8_lossy(&out));
        }
    }

    #[test]
    fn adds_missing_dummies() {
        let mut b = WorkflowBuilder::new("two");
        let a = b.add_task(Task::new("a", 3e9)).unwrap();
        let c = b.add_task(Task::new("c", 4e9)).unwrap();
        b.add_edge(a, c, 2.0 * REFERENCE_BANDWIDTH).unwrap();
        let mut out = Vec::new();
        write(&b.build().unwrap(), &mut out).unwrap();
        let w = read(&out[..]).unwrap();
        assert_eq!((w.len(), w.edge_count()), (4, 3));
        assert_eq!(w.reference_seconds(TaskId(2)), 4.0);
        assert_eq!(w.total_edge_bytes(), 2.0 * REFERENCE_BANDWIDTH);
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        assert_eq!(error(""), "line 1, column 1: an empty file is not a task graph");
        assert_eq!(
            error("1.5\n"),
            "line 1, column 1: the number of tasks must be a whole number, not 1.5"
        );
        assert_eq!(error("digraph\n"), "line 1, column 1: 'digraph' instead of a number");
        assert_eq!(error("1\n0 0 0\n2 1 0\n"), "line 3, column 1: task 2 where task 1 is due");
        assert_eq!(error("1\n0 0 0\n1 2 1 9\n"), "line 3, column 7: there is no task 9");
        assert_eq!(error("2\n0 0 0\n1 2 1 1\n"), "line 3, column 1: task 1 depends on itself");
        assert_eq!(
            error("2\n0 0 0\n1 2 2 0 0\n"),
            "line 3, column 1: task 1 names predecessor 0 twice"
        );
        assert_eq!(
            error("2\n0 0 0\n1 2 3 0 0\n"),
            "line 3, column 5: task 1 announces 3 predecessors but 2 numbers follow"
        );
        assert_eq!(
            error("1\n0 0 0\n1 -2 0\n"),
            "line 3, column 3: the processing time must be a finite number that is not negative, \
             not -2"
        );
        assert!(error("1\n0 nan 0\n").contains("finite number"));
        assert_eq!(error("1\n0 0 0 é\n"), "line 2, column 7: byte 0xc3 instead of a number");
        assert!(error(&format!("1\n0 {} 0\n", "9".repeat(500))).contains("400 characters"));
        assert!(error("3\n0 0 0\n1 2 1 2\n2 2 1 1\n3 1 0\n4 0 1 3\n").contains("in a circle"));
    }

    #[test]
    fn is_recognised() {
        assert!(recognise(PLAIN) && recognise("# c\n4 2\n0 0 0\n1 2 1\n"));
        for other in ["", "12\n", "1\n2\n", "1 2 3\n1 2 3\n", "digraph {\n 1 2 3 }", "{}"] {
            assert!(!recognise(other), "{other}");
        }
    }

    #[test]
    fn truncated_files_are_noticed() {
        let lines: Vec<&str> = PLAIN.lines().collect();
        for kept in 1..6 {
            let cut = lines[..kept].join("\n");
            assert!(error(&cut).contains("the file ends after"), "{kept} lines");
        }
        assert!(error("4 2\n0 0 0\n1 2 1\n 0 0\n2 3 1\n 0 0\n3 0 2\n 1 4\n").contains("1 of 2"));
    }
}
