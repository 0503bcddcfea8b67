//! The chart of a run: what computed where, what was lost, what moved, what broke.

use crate::categories::Categories;
use crate::chart::{Arrow, Bar, Chart, Look, Mark, MarkKind};
use crate::planned::{groups, runs};
use slackline_model::problem::Problem;
use slackline_model::trace::{Happening, Trace};
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{FileId, HostId, ProcId, TaskId};
use std::collections::HashMap;

/// Most marks for re-planning: more would hide the chart.
const MOST_REPLANNINGS: usize = 40;

impl Chart {
    /// Every computation of a run, coloured by kind; lost ones, outages and failures shown as such.
    pub fn of_trace(problem: &Problem<'_>, trace: &Trace) -> Chart {
        let Categories { list, of_task, ordered } = Categories::of(problem.workflow());
        let mut chart = Chart { categories: list, ordered, ..Chart::default() };
        chart.groups = groups(problem);
        let mut drawing =
            Drawing { problem, chart, of_task, running: HashMap::new(), down: HashMap::new() };
        for record in trace.records() {
            drawing.add(record.at, &record.what);
        }
        let end = trace.records().last().map_or(0.0, |r| r.at);
        drawing.close(end);
        let mut chart = drawing.chart;
        chart.span = 0.0..end;
        let replannings = chart.marks.iter().filter(|m| m.label.starts_with("re-planned")).count();
        if replannings > MOST_REPLANNINGS {
            chart.marks.retain(|m| !m.label.starts_with("re-planned"));
            chart.facts.push(format!("re-planned {replannings} times"));
        }
        chart.marks.push(Mark {
            at: end,
            label: format!("end {}", fmt_seconds(end)),
            kind: MarkKind::End,
        });
        chart
    }

    /// Adds the transfers of a run.
    pub fn with_traced_transfers(mut self, problem: &Problem<'_>, trace: &Trace) -> Chart {
        let mut begun: HashMap<(FileId, HostId, HostId), (f64, f64)> = HashMap::new();
        for record in trace.records() {
            match record.what {
                Happening::TransferStarted { file, from, to, bytes } => {
                    begun.insert((file, from, to), (record.at, bytes));
                }
                Happening::TransferFinished { file, from, to } => {
                    let Some((start, bytes)) = begun.remove(&(file, from, to)) else { continue };
                    let bytes = fmt_bytes(bytes);
                    let note = format!("{}: {bytes}", problem.workflow().file_label(file));
                    let row = |host| problem.procs_of(host).start;
                    let (from, to, finish) = (row(from), row(to), record.at);
                    self.arrows.push(Arrow { from, to, start, finish, note });
                }
                _ => {}
            }
        }
        self
    }
}

struct Drawing<'a, 'p> {
    problem: &'a Problem<'p>,
    chart: Chart,
    of_task: Vec<u16>,
    running: HashMap<TaskId, (Vec<ProcId>, f64)>,
    down: HashMap<HostId, f64>,
}

impl Drawing<'_, '_> {
    fn add(&mut self, at: f64, what: &Happening) {
        match what {
            Happening::TaskStarted { task, procs } => {
                self.running.insert(*task, (procs.clone(), at));
            }
            Happening::TaskFinished { task } => self.end_task(*task, at, Look::Work),
            Happening::TaskFailed { task, .. } | Happening::TaskCancelled { task } => {
                self.end_task(*task, at, Look::Lost);
            }
            Happening::HostChanged { host, availability } if *availability == 0.0 => {
                let name = &self.problem.platform().host(*host).name;
                self.mark(at, format!("{name} lost"));
                self.down.insert(*host, at);
            }
            Happening::HostChanged { host, .. } => self.back(*host, at),
            Happening::Replanned { reason } => self.mark(at, format!("re-planned: {reason}")),
            _ => {}
        }
    }

    fn mark(&mut self, at: f64, label: String) {
        self.chart.marks.push(Mark { at, label, kind: MarkKind::Event });
    }

    fn end_task(&mut self, task: TaskId, finish: f64, look: Look) {
        let Some((procs, start)) = self.running.remove(&task) else { return };
        let label = self.chart.labels.push(self.problem.workflow().task_name(task)) as u32;
        let category = self.of_task[task.index()];
        for rows in runs(&procs) {
            self.chart.bars.push(Bar { rows, start, finish, category, look, label });
        }
    }

    fn back(&mut self, host: HostId, finish: f64) {
        let Some(start) = self.down.remove(&host) else { return };
        let label = self.chart.labels.push("not there") as u32;
        let rows = self.problem.procs_of(host);
        self.chart.bars.push(Bar { rows, start, finish, category: 0, look: Look::Down, label });
    }

    /// What was still under way when the trace ends.
    fn close(&mut self, end: f64) {
        let mut open: Vec<TaskId> = self.running.keys().copied().collect();
        open.sort_unstable();
        for task in open {
            self.end_task(task, end, Look::Lost);
        }
        let mut down: Vec<HostId> = self.down.keys().copied().collect();
        down.sort_unstable();
        for host in down {
            self.back(host, end);
        }
    }
}
