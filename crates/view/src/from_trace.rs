//! The chart of a run: what computed where, what was lost, what moved, what broke.

use crate::categories::Categories;
use crate::chart::{Arrow, Bar, Chart, Look, Mark, MarkKind, Replanning};
use crate::from_schedule::{groups, runs};
use slackline_model::problem::Problem;
use slackline_model::trace::{End, Happening, Span, Trace, Work};
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{FileId, HostId, ProcId, TaskId};
use std::collections::HashMap;

impl Chart {
    /// Every computation of a run, coloured by kind; lost ones, outages and new plans shown as
    /// such.
    pub fn of_trace(problem: &Problem<'_>, trace: &Trace) -> Chart {
        let Categories { list, of_task, ordered } = Categories::of(problem.workflow());
        let mut chart = Chart { categories: list, ordered, ..Chart::default() };
        chart.groups = groups(problem);
        let mut drawing =
            Drawing { problem, chart, of_task, finished: HashMap::new(), down: HashMap::new() };
        let mut spans = trace.spans().into_iter().peekable();
        for (index, record) in trace.records().iter().enumerate() {
            while let Some(span) = spans.next_if(|s| s.record == index && s.end != End::Open) {
                drawing.ended(&span);
            }
            drawing.add(record.at, &record.what);
        }
        // What was still under way when the trace ends.
        spans.for_each(|span| drawing.ended(&span));
        let end = trace.records().last().map_or(0.0, |r| r.at);
        drawing.close(end);
        let mut chart = drawing.chart;
        chart.span = 0.0..end;
        chart.marks.push(Mark {
            at: end,
            label: format!("end {}", fmt_seconds(end)),
            kind: MarkKind::End,
        });
        chart
    }

    /// Adds the transfers of a run, from the row of the task that wrote a file to the row of
    /// the first that reads it.
    pub fn with_traced_transfers(mut self, problem: &Problem<'_>, trace: &Trace) -> Chart {
        let workflow = problem.workflow();
        let readers = first_readers(problem, trace);
        let mut wrote: HashMap<TaskId, Vec<(usize, ProcId)>> = HashMap::new();
        let spans = trace.spans();
        for span in &spans {
            if let Work::Task { task, procs: [first, ..] } = span.work {
                wrote.entry(task).or_default().push((span.record, *first));
            }
        }
        for span in spans.iter().filter(|span| span.end != End::Open) {
            let Work::Transfer { file, from, to, .. } = span.work else { continue };
            let broken = !span.is_finished();
            let bytes = fmt_bytes(workflow.file_bytes(file));
            let end = if broken { ", broken off" } else { "" };
            let note = format!("{}: {bytes}{end}", workflow.file_label(file));
            // The last run of the writer that ended before.
            let runs = workflow.producer(file).and_then(|task| wrote.get(&task));
            let before = |runs: &&Vec<(usize, ProcId)>| runs.partition_point(|r| r.0 < span.record);
            let writer = runs
                .map(|runs| (runs, before(&runs)))
                .and_then(|(runs, n)| Some(runs.get(n.checked_sub(1)?)?.1));
            let row = |host: HostId, proc: Option<ProcId>| {
                let mut rows = problem.procs_of(host);
                proc.map(|p| p.0).filter(|p| rows.contains(p)).or(rows.next())
            };
            let target = row(to, readers.get(&(file, to)).copied());
            // A host may keep files and compute nothing.
            let (Some(source), Some(target)) = (row(from, writer), target) else { continue };
            let (start, finish) = (span.start, span.finish);
            self.arrows.push(Arrow { from: source, to: target, start, finish, note, broken });
        }
        self
    }
}

/// The processor of the first task that reads a file on a host.
fn first_readers(problem: &Problem<'_>, trace: &Trace) -> HashMap<(FileId, HostId), ProcId> {
    let mut readers = HashMap::new();
    for record in trace.records() {
        if let Happening::TaskStarted { task, procs } = &record.what {
            for file in problem.workflow().inputs(*task) {
                for &proc in procs {
                    readers.entry((file, problem.host_of(proc))).or_insert(proc);
                }
            }
        }
    }
    readers
}

struct Drawing<'a, 'p> {
    problem: &'a Problem<'p>,
    chart: Chart,
    of_task: Vec<u16>,
    /// The bars of finished tasks, in case their result is lost.
    finished: HashMap<TaskId, std::ops::Range<usize>>,
    down: HashMap<HostId, f64>,
}

impl Drawing<'_, '_> {
    fn add(&mut self, at: f64, what: &Happening) {
        match what {
            Happening::TaskRewound { task } => {
                for bar in self.finished.get(task).cloned().into_iter().flatten() {
                    self.chart.bars[bar].look = Look::Rewound;
                }
            }
            Happening::TaskRestored { task } => {
                self.restored(*task);
            }
            Happening::HostLost { host } => {
                self.down.entry(*host).or_insert(at);
            }
            Happening::HostBack { host } => self.back(*host, at),
            Happening::Replanned { moved } => {
                self.chart.replannings.push(Replanning { at, moved: *moved });
            }
            _ => {}
        }
    }

    /// Restores the bars of a task whose result was considered lost.
    fn restored(&mut self, task: TaskId) {
        for bar in self.finished.get(&task).cloned().into_iter().flatten() {
            self.chart.bars[bar].look = Look::Work;
        }
    }

    fn ended(&mut self, span: &Span<'_>) {
        let Work::Task { task, procs } = span.work else { return };
        let name = self.problem.workflow().task_name(task);
        let label = self.chart.labels.push(name) as u32;
        let category = self.of_task[task.index()];
        let look = match span.end {
            End::Finished => Look::Work,
            End::Cancelled => Look::Stopped,
            End::Failed | End::Open => Look::Failed,
        };
        let first = self.chart.bars.len();
        let (start, finish) = (span.start, span.finish);
        for rows in runs(procs) {
            self.chart.bars.push(Bar { rows, start, finish, category, look, label });
        }
        if span.is_finished() {
            self.finished.insert(task, first..self.chart.bars.len());
        }
    }

    fn back(&mut self, host: HostId, finish: f64) {
        let Some(start) = self.down.remove(&host) else { return };
        let label = self.chart.labels.push("down") as u32;
        let rows = self.problem.procs_of(host);
        self.chart.bars.push(Bar { rows, start, finish, category: 0, look: Look::Down, label });
    }

    /// Hosts that were still down when the trace ends.
    fn close(&mut self, end: f64) {
        let mut down: Vec<HostId> = self.down.keys().copied().collect();
        down.sort_unstable();
        for host in down {
            self.back(host, end);
        }
    }
}
