//! Schedules as CSV for spreadsheets and statistics; read and written.
//!
//! One line per task and processor, tasks in index order: `task,kind,host,processor,start,finish`. Names with
//! commas or quotes are quoted as in RFC 4180, control characters are written out, and a name that a
//! spreadsheet would take for a formula gets a quote mark in front.

use crate::error::{FormatError, Result};
use crate::names::unknown;
use slackline_model::names::printable;
use slackline_model::{Placement, Problem, ProcId, Schedule, TaskId};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

/// The first line.
const HEADINGS: &str = "task,kind,host,processor,start,finish";

/// Writes a schedule.
pub fn write(
    problem: &Problem<'_>,
    schedule: &Schedule,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let workflow = problem.workflow();
    writeln!(out, "{HEADINGS}")?;
    for task in workflow.tasks() {
        let Some(placement) = schedule.placement(task) else { continue };
        let name = field(workflow.task_name(task));
        let kind = field(workflow.kind_name(workflow.kind(task)));
        for &proc in placement.procs() {
            let host = field(&problem.platform().host(problem.host_of(proc)).name);
            let proc = problem.proc_name(proc);
            let (start, finish) = (placement.start, placement.finish);
            writeln!(out, "{name},{kind},{host},{},{start},{finish}", field(&proc))?;
        }
    }
    Ok(())
}

fn field(text: &str) -> Cow<'_, str> {
    let text = shown(text);
    match text.contains([',', '"']) || text.starts_with('\'') {
        true => Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))),
        false => text,
    }
}

/// A name as a cell shows it: printable, and no formula.
fn shown(text: &str) -> Cow<'_, str> {
    let text = printable(text);
    match text.starts_with(['=', '+', '-', '@']) {
        true => Cow::Owned(format!("'{text}")),
        false => text,
    }
}

/// Whether a text is a schedule written here.
pub fn recognise(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.trim_end() == HEADINGS)
}

/// Processors, start and end of a task.
type Row = (Vec<ProcId>, f64, f64);

/// Reads a schedule of that problem; names are those that [`write()`] shows.
pub fn read(text: &str, problem: &Problem<'_>) -> Result<Schedule> {
    let workflow = problem.workflow();
    let tasks: BTreeMap<Cow<'_, str>, TaskId> =
        workflow.tasks().map(|t| (shown(workflow.task_name(t)), t)).collect();
    let procs: BTreeMap<String, ProcId> =
        problem.proc_ids().map(|p| (shown(&problem.proc_name(p)).into_owned(), p)).collect();
    let mut rows: Vec<Option<Row>> = vec![None; problem.tasks()];
    for (number, line) in text.lines().enumerate().skip(1) {
        let bad = |message: String| FormatError::at(number + 1, 1, message);
        if line.trim().is_empty() {
            continue;
        }
        let cells = cells(line).ok_or_else(|| bad("a quotation mark is not closed".into()))?;
        let [task, _, _, proc, start, finish] = cells.as_slice() else {
            return Err(bad(format!("expected 6 cells ({HEADINGS}), found {}", cells.len())));
        };
        let known = || tasks.keys().map(|name| &**name);
        let missing = || bad(unknown("workflow has no task", task, known()).message);
        let id = *tasks.get(task.as_str()).ok_or_else(missing)?;
        let known = || procs.keys().map(String::as_str);
        let missing = || bad(unknown("platform has no processor", proc, known()).message);
        let proc = *procs.get(proc).ok_or_else(missing)?;
        let date = |cell: &String| match cell.parse::<f64>() {
            Ok(date) if date.is_finite() => Ok(date),
            _ => Err(bad(format!("'{cell}' is no time in seconds"))),
        };
        let (start, finish) = (date(start)?, date(finish)?);
        match &mut rows[id.index()] {
            Some((all, s, f)) if (*s, *f) == (start, finish) && !all.contains(&proc) => {
                all.push(proc);
            }
            Some(_) => return Err(bad(format!("task '{task}' is placed twice"))),
            empty => *empty = Some((vec![proc], start, finish)),
        }
    }
    let placed = |(procs, start, finish): Row| Placement::wide(&procs, start, finish);
    let placements = rows.into_iter().map(|row| row.map(placed)).collect();
    Ok(Schedule { placements, ..Schedule::default() })
}

/// The cells of a line; none where a quotation mark is not closed.
fn cells(line: &str) -> Option<Vec<String>> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut chars) = (false, line.chars().peekable());
    while let Some(c) = chars.next() {
        let cell = cells.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                cell.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cell.push(c),
        }
    }
    (!quoted).then_some(cells)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
    use slackline_model::{Placement, Platform, ProcId, Task, TaskId, Workflow, WorkflowBuilder};

    /// `a` -> `b, "x"` (two cores), and `c d` alone.
    pub(crate) fn workflow() -> Workflow {
        let mut b = WorkflowBuilder::new("w");
        let first = b.add_task(Task::new("a", 1.0).of_kind("k<1>")).unwrap();
        let wide = Task { min_width: 2, max_width: 2, ..Task::new("b, \"x\"", 2.0) };
        let second = b.add_task(wide).unwrap();
        b.add_task(Task::new("c d", 3.0)).unwrap();
        b.add_edge(first, second, 8.0).unwrap();
        b.build().unwrap()
    }

    /// `big` of two cores in a cluster, `small` of one beside it.
    pub(crate) fn platform() -> Platform {
        let mut b = PlatformBuilder::new("site");
        let root = b.root().unwrap();
        let routing = slackline_model::platform::RoutingKind::None;
        let cluster = b.add_zone(Some(root), "cluster", routing).unwrap();
        b.add_host(cluster, HostSpec { cores: 2, ..HostSpec::new("big", 1.0) }).unwrap();
        b.add_host(root, HostSpec::new("small", 1.0)).unwrap();
        b.set_matrix(Matrix::uniform(Some(4.0), 0.0));
        b.build().unwrap()
    }

    #[test]
    fn names_are_no_formulas_and_no_escapes() {
        assert_eq!(field("=1+2"), "\"'=1+2\"");
        assert_eq!(field("a\x1b[2J\nb"), "a\\u{1b}[2J\\nb");
        assert_eq!(field("plain-name"), "plain-name");
    }

    #[test]
    fn one_line_per_task_and_processor() {
        let (workflow, platform) = (workflow(), platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let mut schedule = Schedule::start(&problem);
        schedule.place(TaskId(0), Placement::new(ProcId(2), 0.0, 1.0));
        schedule.place(TaskId(1), Placement::wide(&[ProcId(0), ProcId(1)], 3.0, 5.5));
        let mut out = Vec::new();
        write(&problem, &schedule, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (first, second) = (problem.proc_name(ProcId(0)), problem.proc_name(ProcId(1)));
        assert_eq!(
            text,
            format!(
                "task,kind,host,processor,start,finish\n\
                 a,k<1>,small,small,0,1\n\
                 \"b, \"\"x\"\"\",,big,{first},3,5.5\n\
                 \"b, \"\"x\"\"\",,big,{second},3,5.5\n"
            )
        );
        assert_eq!(read(&text, &problem).unwrap().placements, schedule.placements);
        let error = |bad: &str| read(bad, &problem).unwrap_err().to_string();
        assert!(error(&text.replace("small,small", "small,smal")).contains("did you mean 'small'"));
        assert!(error(&text.replace("5.5", "soon")).contains("line 3"));
        assert!(error(&text.replace("a,k", "\"a,k")).contains("not closed"));
    }
}
