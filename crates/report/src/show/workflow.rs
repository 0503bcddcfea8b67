//! Text view of a workflow.

use crate::Printer;
use crate::past::machines;
use crate::table::{Table, count, cut, kind_name};
use serde::Serialize;
use slackline_core::input::Past;
use slackline_core::{Failure, schema};
use slackline_formats::Times;
use slackline_formats::document::{RecordedMachine, Run};
use slackline_model::resources::Devices;
use slackline_model::units::{fmt_bytes, fmt_flops, fmt_seconds, fmt_speed};
use slackline_model::workflow::{CriticalPath, Shape};
use slackline_model::{KindId, Platform, Problem, TaskId, Workflow};
use std::fmt::Write;

/// Bytes/s at which transfers are compared with computation where no platform is known: 1 Gbit/s.
const USUAL_BANDWIDTH: f64 = 125e6;

/// Figures of a workflow.
pub struct Facts {
    shape: Shape,
    critical: CriticalPath,
    /// Seconds of all tasks on one reference processor.
    seconds: f64,
    /// Mean time of a transfer over mean time of a task, and where.
    ccr: f64,
    ccr_on: String,
    kinds: Vec<KindFacts>,
}

struct KindFacts {
    name: String,
    count: usize,
    total: f64,
    least: f64,
    most: f64,
    bytes_out: f64,
}

/// Seconds of a task: on a reference processor, or the mean of its table of times.
fn seconds(workflow: &Workflow, task: TaskId) -> f64 {
    match workflow.cost_table() {
        Some(table) => {
            let row = table.row(task);
            row.iter().sum::<f64>() / row.len().max(1) as f64
        }
        None => workflow.reference_seconds(task),
    }
}

impl Facts {
    /// The figures; with a platform, times are means over its processors.
    pub fn of(workflow: &Workflow, platform: Option<&Platform>) -> Result<Facts, Failure> {
        let total: f64 = workflow.tasks().map(|t| seconds(workflow, t)).sum();
        let (ccr, ccr_on) = match platform {
            Some(platform) => {
                let problem = Problem::new(workflow, platform)?;
                let moved = workflow.edges().map(|e| workflow.edge_bytes(e)).filter(|b| *b > 0.0);
                let transfers = mean(moved.map(|b| problem.mean_transfer(b)));
                let tasks = mean(workflow.tasks().map(|t| problem.mean_exec(t)));
                (transfers / tasks, format!("on {}", platform.name()))
            }
            None => {
                let moved = workflow.edges().map(|e| workflow.edge_bytes(e)).filter(|b| *b > 0.0);
                let tasks = mean(workflow.tasks().map(|t| seconds(workflow, t)));
                (mean(moved) / USUAL_BANDWIDTH / tasks, "at 1 Gbit/s".to_string())
            }
        };
        Ok(Facts {
            shape: Shape::of(workflow),
            critical: workflow.critical_path(|t| seconds(workflow, t), |_| 0.0),
            seconds: total,
            ccr,
            ccr_on,
            kinds: kinds(workflow),
        })
    }

    /// The text for people.
    pub fn tell(&self, workflow: &Workflow, past: &Past, output: &dyn Printer) -> String {
        let mut text = format!("{}\n\n", output.bold(workflow.name()));
        let mut table = Table::new(&["<", "<"]);
        let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
        let entries = workflow.entries().count();
        row(
            "tasks",
            format!(
                "{} ({entries} at the start, {} at the end)",
                workflow.len(),
                workflow.exits().count()
            ),
        );
        row("dependencies", workflow.edge_count().to_string());
        row("files", self.files(workflow));
        row(
            "levels",
            format!(
                "{}, the widest has {}",
                self.shape.depth(),
                count(self.shape.width() as usize, "task")
            ),
        );
        row(
            "shape",
            sparkline(&self.shape.widths, output.style().width.saturating_sub(24).min(60)),
        );
        row("work", self.work(workflow));
        if past.times != Times::Work {
            row("times", past.times.to_string());
        }
        if let Some(run) = &past.run {
            if let Some(seconds) = run.makespan_seconds {
                row("recorded run", format!("{}{}", fmt_seconds(seconds), machines(run)));
            }
            if !run.machines.is_empty() {
                row("machines", recorded_machines(run));
            }
        }
        for demand in demands(workflow) {
            let range = if demand.least == demand.most {
                demand.show(demand.most)
            } else {
                format!("{} to {}", demand.show(demand.least), demand.show(demand.most))
            };
            let tasks = count(demand.tasks, "task");
            row(&demand.resource, format!("{range}, demanded by {tasks}"));
        }
        row("critical path", self.path(workflow));
        let path = self.critical.length.max(f64::MIN_POSITIVE);
        row("parallelism", format!("{:.1} (work over critical path)", self.seconds / path));
        row("data between tasks", fmt_bytes(workflow.total_edge_bytes()));
        if self.ccr.is_finite() {
            row("CCR", format!("{:.3}, a transfer over a task {}", self.ccr, self.ccr_on));
        }
        if !workflow.members().is_empty() {
            row("joined from", format!("{} workflows", workflow.members().len()));
        }
        text.push_str(&table.render(output.style().table_width));
        if self.kinds.len() > 1 || self.kinds.first().is_some_and(|k| !k.name.is_empty()) {
            text.push('\n');
            text.push_str(&self.kind_table(output.style().table_width));
        }
        text
    }

    fn files(&self, workflow: &Workflow) -> String {
        let inputs: Vec<_> = workflow.files().filter(|&f| workflow.producer(f).is_none()).collect();
        let bytes = |files: &mut dyn Iterator<Item = slackline_model::FileId>| -> f64 {
            files.map(|f| workflow.file_bytes(f)).fold(0.0, |sum, bytes| sum + bytes)
        };
        let mut text =
            format!("{}, {}", workflow.file_count(), fmt_bytes(bytes(&mut workflow.files())));
        if !inputs.is_empty() {
            let size = fmt_bytes(bytes(&mut inputs.iter().copied()));
            let inputs = count(inputs.len(), "input");
            let _ = write!(text, " ({inputs} of the workflow, {size})");
        }
        text
    }

    fn work(&self, workflow: &Workflow) -> String {
        match workflow.cost_table() {
            Some(table) => format!(
                "{}, mean over {} columns of run times",
                fmt_seconds(self.seconds),
                table.columns.len()
            ),
            None => format!(
                "{}, {} at {}",
                fmt_flops(workflow.total_work()),
                fmt_seconds(self.seconds),
                fmt_speed(workflow.reference_speed())
            ),
        }
    }

    fn path(&self, workflow: &Workflow) -> String {
        let names: Vec<&str> = self.critical.tasks.iter().map(|&t| workflow.task_name(t)).collect();
        let mut shown: Vec<&str> = names.iter().take(3).copied().collect();
        if names.len() > 4 {
            shown.push("…");
        }
        shown.extend(names.iter().skip(names.len().saturating_sub(1).max(3)));
        format!(
            "{}, {}: {}",
            fmt_seconds(self.critical.length),
            count(names.len(), "task"),
            shown.join(" → ")
        )
    }

    fn kind_table(&self, width: usize) -> String {
        const SHOWN: usize = 20;
        let mut table =
            Table::new(&["<kind", ">tasks", ">share", ">mean", ">least", ">most", ">data out"]);
        for kind in self.kinds.iter().take(SHOWN) {
            let name = kind_name(&kind.name);
            let share = if self.seconds > 0.0 { kind.total / self.seconds } else { 0.0 };
            table.row([
                cut(name, if width > 400 { usize::MAX } else { 24 }),
                kind.count.to_string(),
                format!("{:.1} %", 100.0 * share),
                fmt_seconds(kind.total / kind.count.max(1) as f64),
                fmt_seconds(kind.least),
                fmt_seconds(kind.most),
                fmt_bytes(kind.bytes_out),
            ]);
        }
        let mut text = table.render(width);
        if self.kinds.len() > SHOWN {
            let _ = writeln!(text, "  … and {} more kinds", self.kinds.len() - SHOWN);
        }
        text
    }

    /// The document for machines.
    pub fn document<'a>(&'a self, workflow: &'a Workflow, past: &'a Past) -> WorkflowDocument<'a> {
        WorkflowDocument {
            schema: schema::names::WORKFLOW,
            name: workflow.name(),
            tasks: workflow.len(),
            dependencies: workflow.edge_count(),
            files: workflow.file_count(),
            entries: workflow.entries().count(),
            exits: workflow.exits().count(),
            levels: self.shape.depth(),
            level_widths: &self.shape.widths,
            width: self.shape.width(),
            work_flop: workflow.total_work(),
            work_seconds: self.seconds,
            bytes_between_tasks: workflow.total_edge_bytes(),
            critical_path: Path {
                seconds: self.critical.length,
                tasks: self.critical.tasks.iter().map(|&t| workflow.task_name(t)).collect(),
            },
            ccr: self.ccr.is_finite().then_some(self.ccr),
            times: (past.times != Times::Work).then(|| past.times.to_string()),
            recorded: past.run.as_ref().map(|run| RecordedEntry {
                makespan: run.makespan_seconds,
                executed_at: run.executed_at.as_deref(),
                machines: run.machines.iter().map(MachineEntry::of).collect(),
            }),
            demands: demands(workflow),
            results: workflow
                .files()
                .filter(|&f| workflow.is_kept(f))
                .map(|f| workflow.file_name(f))
                .collect(),
            kinds: self
                .kinds
                .iter()
                .map(|k| KindEntry {
                    name: &k.name,
                    tasks: k.count,
                    seconds: k.total,
                    least_seconds: k.least,
                    most_seconds: k.most,
                    bytes_out: k.bytes_out,
                })
                .collect(),
        }
    }
}

/// The first machines of a run with what is known of them.
fn recorded_machines(run: &Run) -> String {
    const SHOWN: usize = 4;
    let one = |m: &RecordedMachine| {
        let known = [
            m.cores.map(|cores| count(cores as usize, "core")),
            m.speed_mhz.map(|mhz| fmt_speed(mhz * 1e6)),
            m.memory_bytes.map(fmt_bytes),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        if known.is_empty() { m.name.clone() } else { format!("{} ({})", m.name, known.join(", ")) }
    };
    let mut shown: Vec<String> = run.machines.iter().take(SHOWN).map(one).collect();
    if run.machines.len() > SHOWN {
        shown.push(format!("{} more", run.machines.len() - SHOWN));
    }
    shown.join(", ")
}

/// Mean; not a number where there is nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    sum / f64::from(count)
}

/// Kinds in order of first appearance.
fn kinds(workflow: &Workflow) -> Vec<KindFacts> {
    let blank = |kind: usize| KindFacts {
        name: workflow.kind_name(KindId::new(kind)).to_string(),
        count: 0,
        total: 0.0,
        least: f64::INFINITY,
        most: 0.0,
        bytes_out: 0.0,
    };
    let mut kinds: Vec<KindFacts> = (0..workflow.kinds()).map(blank).collect();
    for task in workflow.tasks() {
        let kind = &mut kinds[workflow.kind(task).index()];
        let seconds = seconds(workflow, task);
        kind.count += 1;
        kind.total += seconds;
        kind.least = kind.least.min(seconds);
        kind.most = kind.most.max(seconds);
        kind.bytes_out += workflow.outputs(task).map(|f| workflow.file_bytes(f)).sum::<f64>();
    }
    kinds.retain(|kind| kind.count > 0);
    kinds
}

/// Demands of tasks other than cores, by resource in order of first appearance.
fn demands(workflow: &Workflow) -> Vec<DemandEntry> {
    let mut list: Vec<DemandEntry> = Vec::new();
    let mut add = |resource: &str, amount: f64, bytes: bool| {
        if amount <= 0.0 {
            return;
        }
        let at = list.iter().position(|known| known.resource == resource && known.bytes == bytes);
        let at = at.unwrap_or_else(|| {
            let resource = resource.to_string();
            list.push(DemandEntry { resource, tasks: 0, least: f64::INFINITY, most: 0.0, bytes });
            list.len() - 1
        });
        list[at].tasks += 1;
        list[at].least = list[at].least.min(amount);
        list[at].most = list[at].most.max(amount);
    };
    for task in workflow.tasks() {
        add("memory", workflow.memory(task), true);
        let Some(demand) = workflow.demand(task) else { continue };
        add("memory per core", demand.memory_per_core, true);
        match &demand.gpus {
            Some(Devices::Any(count)) => add("gpus", f64::from(*count), false),
            Some(Devices::Kinds(kinds)) => {
                for (kind, count) in kinds {
                    add(&format!("gpus:{kind}"), f64::from(*count), false);
                }
            }
            None => {}
        }
        for (name, amount) in &demand.named {
            add(name, amount.value(), amount.is_bytes());
        }
    }
    list
}

/// Tasks per level as one line of blocks.
fn sparkline(widths: &[u32], columns: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let per_column = widths.len().div_ceil(columns.max(1)).max(1);
    let peaks: Vec<u32> =
        widths.chunks(per_column).map(|c| c.iter().copied().max().unwrap_or(0)).collect();
    let most = f64::from(peaks.iter().copied().max().unwrap_or(1).max(1));
    peaks
        .iter()
        .map(|&peak| BLOCKS[((f64::from(peak) / most * 8.0).ceil() as usize).clamp(1, 8) - 1])
        .collect()
}

/// The JSON document of a workflow.
#[derive(Serialize)]
pub struct WorkflowDocument<'a> {
    schema: &'static str,
    name: &'a str,
    tasks: usize,
    dependencies: usize,
    files: usize,
    entries: usize,
    exits: usize,
    levels: usize,
    level_widths: &'a [u32],
    width: u32,
    work_flop: f64,
    work_seconds: f64,
    bytes_between_tasks: f64,
    critical_path: Path<'a>,
    ccr: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<RecordedEntry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    demands: Vec<DemandEntry>,
    /// Files that are kept although somebody reads them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    results: Vec<&'a str>,
    kinds: Vec<KindEntry<'a>>,
}

/// Demands of tasks for one resource other than cores.
#[derive(Serialize)]
struct DemandEntry {
    resource: String,
    tasks: usize,
    least: f64,
    most: f64,
    bytes: bool,
}

impl DemandEntry {
    fn show(&self, amount: f64) -> String {
        if self.bytes { fmt_bytes(amount) } else { amount.to_string() }
    }
}

/// The run that a workflow was recorded from.
#[derive(Serialize)]
struct RecordedEntry<'a> {
    makespan: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executed_at: Option<&'a str>,
    machines: Vec<MachineEntry<'a>>,
}

#[derive(Serialize)]
struct MachineEntry<'a> {
    name: &'a str,
    cores: Option<f64>,
    /// Flop/s of a core.
    speed: Option<f64>,
    memory: Option<f64>,
}

impl<'a> MachineEntry<'a> {
    fn of(machine: &'a RecordedMachine) -> MachineEntry<'a> {
        MachineEntry {
            name: &machine.name,
            cores: machine.cores,
            speed: machine.speed_mhz.map(|mhz| mhz * 1e6),
            memory: machine.memory_bytes,
        }
    }
}

#[derive(Serialize)]
struct Path<'a> {
    seconds: f64,
    tasks: Vec<&'a str>,
}

#[derive(Serialize)]
struct KindEntry<'a> {
    name: &'a str,
    tasks: usize,
    seconds: f64,
    least_seconds: f64,
    most_seconds: f64,
    bytes_out: f64,
}
