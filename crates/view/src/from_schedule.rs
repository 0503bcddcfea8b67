//! The chart of a schedule.

use crate::categories::Categories;
use crate::chart::{Arrow, Bar, Chart, Group, Look, Mark, MarkKind};
use slackline_model::problem::Problem;
use slackline_model::schedule::Schedule;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{HostId, ProcId};

impl Chart {
    /// Every task of a schedule on its processors, coloured by kind, or by depth where the
    /// workflow knows no kinds.
    pub fn of_schedule(problem: &Problem<'_>, schedule: &Schedule) -> Chart {
        let Categories { list, of_task, ordered } = Categories::of(problem.workflow());
        let mut chart = Chart { categories: list, ordered, ..Chart::default() };
        chart.groups = groups(problem);
        for task in problem.workflow().tasks() {
            let Some(placement) = schedule.placement(task) else { continue };
            let label = chart.labels.push(problem.workflow().task_name(task)) as u32;
            let category = of_task[task.index()];
            for rows in runs(placement.procs()) {
                let (start, finish) = (placement.start, placement.finish);
                chart.bars.push(Bar { rows, start, finish, category, look: Look::Work, label });
            }
        }
        chart.span = 0.0..schedule.makespan();
        chart.marks.push(Mark {
            at: schedule.makespan(),
            label: format!("makespan {}", fmt_seconds(schedule.makespan())),
            kind: MarkKind::End,
        });
        if problem.platform().is_fifo() { chart.with_link_rows(problem, schedule) } else { chart }
    }

    /// Adds a mark at a date before which no schedule can end.
    pub fn with_bound(mut self, seconds: f64) -> Chart {
        let label = format!("lower bound {}", fmt_seconds(seconds));
        self.marks.push(Mark { at: seconds, label, kind: MarkKind::Bound });
        self
    }

    /// Adds the transfers between hosts: the planned ones, or else what the dependencies need.
    pub fn with_transfers(mut self, problem: &Problem<'_>, schedule: &Schedule) -> Chart {
        let workflow = problem.workflow();
        let row = |task| schedule.placement(task).map(|p| p.proc().0);
        let note = |edge| {
            let (from, to) = workflow.edge_ends(edge);
            let bytes = fmt_bytes(workflow.edge_bytes(edge));
            format!("{} → {}: {bytes}", workflow.task_name(from), workflow.task_name(to))
        };
        let first = |host: HostId| problem.procs_of(host).next();
        let mut planned_results = false;
        for transfer in &schedule.transfers {
            let writer = workflow.producer(transfer.file);
            planned_results |= writer.is_some();
            let from = writer.and_then(row).or(first(transfer.from));
            let mut readers = workflow.consumers(transfer.file).filter_map(row);
            let there = |&proc: &u32| problem.host_of(ProcId(proc)) == transfer.to;
            let to = readers.find(there).or(first(transfer.to));
            // A host may keep files and compute nothing.
            let (Some(from), Some(to)) = (from, to) else { continue };
            let (start, finish) = (transfer.start, transfer.finish);
            let bytes = fmt_bytes(workflow.file_bytes(transfer.file));
            let note = format!("{}: {bytes}", workflow.file_label(transfer.file));
            self.arrows.push(Arrow { from, to, start, finish, note, broken: false });
        }
        if planned_results {
            return self;
        }
        for edge in workflow.edges().filter(|&e| !workflow.is_control(e)) {
            let (parent, child) = workflow.edge_ends(edge);
            let (Some(source), Some(target)) =
                (schedule.placement(parent), schedule.placement(child))
            else {
                continue;
            };
            let seconds = problem.edge_transfer(edge, source.procs(), target.procs());
            if problem.places_of(source.procs()) != problem.places_of(target.procs()) {
                let (start, finish) = (source.finish, source.finish + seconds);
                let (from, to) = (source.proc().0, target.proc().0);
                let (note, broken) = (note(edge), false);
                self.arrows.push(Arrow { from, to, start, finish, note, broken });
            }
        }
        self
    }
}

pub(crate) fn groups(problem: &Problem<'_>) -> Vec<Group> {
    let platform = problem.platform();
    let group = |(index, host): (usize, &slackline_model::platform::Host)| Group {
        name: host.name.to_string(),
        section: platform.zone(host.zone).name.to_string(),
        rows: problem.procs_of(slackline_model::HostId::new(index)).len() as u32,
    };
    platform.hosts().iter().enumerate().map(group).filter(|group| group.rows > 0).collect()
}

/// Neighbouring processors as ranges.
pub(crate) fn runs(procs: &[ProcId]) -> Vec<std::ops::Range<u32>> {
    let mut runs: Vec<std::ops::Range<u32>> = Vec::new();
    for proc in procs {
        match runs.last_mut() {
            Some(run) if run.end == proc.0 => run.end += 1,
            _ => runs.push(proc.0..proc.0 + 1),
        }
    }
    runs
}
