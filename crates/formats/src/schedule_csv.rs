//! Schedules as CSV for spreadsheets and statistics; written.
//!
//! One line per task and processor, tasks in index order: `task,kind,host,processor,start,finish`.
//! Names with commas or quotes are quoted as RFC 4180 says, control characters are written out, and
//! a name that a spreadsheet would take for a formula gets a quote mark in front.

use slackline_model::names::printable;
use slackline_model::{Problem, Schedule};
use std::borrow::Cow;
use std::io::Write;

/// Writes a schedule.
pub fn write(
    problem: &Problem<'_>,
    schedule: &Schedule,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let workflow = problem.workflow();
    writeln!(out, "task,kind,host,processor,start,finish")?;
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
    let text = printable(text);
    let formula = text.starts_with(['=', '+', '-', '@']);
    if formula || text.contains([',', '"']) {
        let mark = if formula { "'" } else { "" };
        return Cow::Owned(format!("\"{mark}{}\"", text.replace('"', "\"\"")));
    }
    text
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
        let (first, second) = (problem.proc_name(ProcId(0)), problem.proc_name(ProcId(1)));
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!(
                "task,kind,host,processor,start,finish\n\
                 a,k<1>,small,small,0,1\n\
                 \"b, \"\"x\"\"\",,big,{first},3,5.5\n\
                 \"b, \"\"x\"\"\",,big,{second},3,5.5\n"
            )
        );
    }
}
