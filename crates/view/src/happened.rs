//! The chart of a run: what computed where, what was lost, what moved, what broke.

use crate::categories::Categories;
use crate::chart::{Arrow, Bar, Chart, Look, Mark, MarkKind, Replanning};
use crate::planned::{groups, runs};
use slackline_model::problem::Problem;
use slackline_model::trace::{Happening, Trace};
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{FileId, HostId, ProcId, TaskId};
use std::collections::HashMap;

impl Chart {
    /// Every computation of a run, coloured by kind; lost ones, outages and new plans shown as
    /// such.
    pub fn of_trace(problem: &Problem<'_>, trace: &Trace) -> Chart {
        let Categories { list, of_task, ordered } = Categories::of(problem.workflow());
        let mut chart = Chart { categories: list, ordered, happened: true, ..Chart::default() };
        chart.groups = groups(problem);
        let mut drawing = Drawing {
            problem,
            chart,
            of_task,
            running: HashMap::new(),
            finished: HashMap::new(),
            down: HashMap::new(),
        };
        for record in trace.records() {
            drawing.add(record.at, &record.what);
        }
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
        let mut wrote: HashMap<TaskId, ProcId> = HashMap::new();
        let mut begun: HashMap<(FileId, HostId, HostId), f64> = HashMap::new();
        for record in trace.records() {
            let (file, from, to, broken) = match record.what {
                Happening::TaskStarted { task, ref procs } => {
                    wrote.extend(procs.first().map(|&p| (task, p)));
                    continue;
                }
                Happening::TransferStarted { file, from, to, .. } => {
                    begun.insert((file, from, to), record.at);
                    continue;
                }
                Happening::TransferFinished { file, from, to } => (file, from, to, false),
                Happening::TransferFailed { file, from, to, .. } => (file, from, to, true),
                _ => continue,
            };
            let Some(start) = begun.remove(&(file, from, to)) else { continue };
            let bytes = fmt_bytes(workflow.file_bytes(file));
            let end = if broken { ", broken off" } else { "" };
            let note = format!("{}: {bytes}{end}", workflow.file_label(file));
            let writer = workflow.producer(file).and_then(|task| wrote.get(&task).copied());
            let row = |host: HostId, proc: Option<ProcId>| {
                let rows = problem.procs_of(host);
                proc.map(|p| p.0).filter(|p| rows.contains(p)).unwrap_or(rows.start)
            };
            let (source, target) = (row(from, writer), row(to, readers.get(&(file, to)).copied()));
            self.arrows.push(Arrow {
                from: source,
                to: target,
                start,
                finish: record.at,
                note,
                broken,
            });
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
    running: HashMap<TaskId, (Vec<ProcId>, f64)>,
    /// The bars of finished tasks, in case their result is lost.
    finished: HashMap<TaskId, std::ops::Range<usize>>,
    down: HashMap<HostId, f64>,
}

impl Drawing<'_, '_> {
    fn add(&mut self, at: f64, what: &Happening) {
        match what {
            Happening::TaskStarted { task, procs } => {
                self.running.insert(*task, (procs.clone(), at));
            }
            Happening::TaskFinished { task } => {
                let first = self.chart.bars.len();
                self.end_task(*task, at, Look::Work);
                self.finished.insert(*task, first..self.chart.bars.len());
            }
            Happening::TaskFailed { task, .. } => self.end_task(*task, at, Look::Failed),
            Happening::TaskCancelled { task } => self.end_task(*task, at, Look::Stopped),
            Happening::TaskRewound { task } => {
                for bar in self.finished.remove(task).into_iter().flatten() {
                    self.chart.bars[bar].look = Look::Rewound;
                }
            }
            Happening::HostChanged { host, availability } if *availability == 0.0 => {
                self.down.entry(*host).or_insert(at);
            }
            Happening::HostChanged { host, .. } => self.back(*host, at),
            Happening::Replanned { moved } => {
                self.chart.replannings.push(Replanning { at, moved: *moved });
            }
            _ => {}
        }
    }

    fn end_task(&mut self, task: TaskId, finish: f64, look: Look) {
        let Some((procs, start)) = self.running.remove(&task) else { return };
        let name = self.problem.workflow().task_name(task);
        let label = self.chart.labels.push(name) as u32;
        let category = self.of_task[task.index()];
        for rows in runs(&procs) {
            self.chart.bars.push(Bar { rows, start, finish, category, look, label });
        }
    }

    fn back(&mut self, host: HostId, finish: f64) {
        let Some(start) = self.down.remove(&host) else { return };
        let label = self.chart.labels.push("down") as u32;
        let rows = self.problem.procs_of(host);
        self.chart.bars.push(Bar { rows, start, finish, category: 0, look: Look::Down, label });
    }

    /// What was still under way when the trace ends.
    fn close(&mut self, end: f64) {
        let mut open: Vec<TaskId> = self.running.keys().copied().collect();
        open.sort_unstable();
        for task in open {
            self.end_task(task, end, Look::Failed);
        }
        let mut down: Vec<HostId> = self.down.keys().copied().collect();
        down.sort_unstable();
        for host in down {
            self.back(host, end);
        }
    }
}
