//! The Python classes of plans and runs.

use crate::errors::{self, input};
use crate::workflow::{task_of, texts};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slackline_core::engine::{Counters, DecisionLog};
use slackline_core::formats::schedule_json;
use slackline_core::formats::trace::{self as trace_file, TraceFormat};
use slackline_core::input::Loaded;
use slackline_core::model::platform::Charges;
use slackline_core::model::problem::Inputs;
use slackline_core::model::trace::{End, Trace, Work};
use slackline_core::model::{Platform, Problem, Schedule, TaskId, Workflow};
use slackline_core::plan::{PlanInput, Planned};
use slackline_core::request::ModelSettings;
use slackline_core::run::RunSession;
use slackline_core::simulation::Ran;
use slackline_view::Chart;
use slackline_view::gantt::{self, SvgOptions};
use std::path::Path;
use std::sync::Arc;

/// Data from which the planning problem of a result is rebuilt, for pictures and tables.
#[derive(Clone)]
struct ProblemSource {
    loaded: Arc<Loaded>,
    charges: Charges,
    inputs: Inputs,
}

impl ProblemSource {
    fn of(loaded: Arc<Loaded>, models: &ModelSettings) -> Option<ProblemSource> {
        let charges = models.models(&loaded.platform, &loaded.workflow).ok()?;
        let charges = slackline_core::rules::charges(&charges, false);
        let inputs = models.inputs(&loaded.platform).ok()?;
        Some(ProblemSource { loaded, charges, inputs })
    }

    fn problem(&self) -> PyResult<Problem<'_>> {
        self.loaded.charged(&self.charges, self.inputs).map_err(|f| errors::of_failure(f, &[]))
    }
}

/// Placements of tasks, with the names of tasks and hosts.
#[derive(Clone)]
struct Placements {
    workflow: Arc<Workflow>,
    platform: Arc<Platform>,
    schedule: Arc<Schedule>,
    host_of: Arc<[slackline_core::model::HostId]>,
}

/// A row: task, host, all hosts, processors, start, finish.
type Row = (String, String, Vec<String>, Vec<u32>, f64, f64);

impl Placements {
    fn new(workflow: Arc<Workflow>, platform: Arc<Platform>, schedule: Schedule) -> Placements {
        let host_of = platform.host_of_procs().collect();
        Placements { workflow, platform, schedule: Arc::new(schedule), host_of }
    }

    fn host_names(&self, task: TaskId) -> Vec<String> {
        let Some(placement) = self.schedule.placement(task) else { return Vec::new() };
        let mut hosts: Vec<_> =
            placement.procs().iter().map(|proc| self.host_of[proc.index()]).collect();
        hosts.dedup();
        hosts.into_iter().map(|host| self.platform.host(host).name.to_string()).collect()
    }

    fn row(&self, task: TaskId) -> Option<Row> {
        let placement = self.schedule.placement(task)?;
        let hosts = self.host_names(task);
        let procs = placement.procs().iter().map(|proc| proc.0).collect();
        let name = self.workflow.task_name(task).to_string();
        let host = hosts.first().cloned().unwrap_or_default();
        Some((name, host, hosts, procs, placement.start, placement.finish))
    }

    fn get(&self, task: &Bound<'_, PyAny>) -> PyResult<Row> {
        let id = task_of(task, &self.workflow)?;
        self.row(id).ok_or_else(|| {
            let name = self.workflow.task_name(id);
            PyKeyError::new_err(format!("task '{name}' was not done"))
        })
    }

    /// Placed tasks as columns.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let placed: Vec<TaskId> =
            self.workflow.tasks().filter(|&t| self.schedule.placement(t).is_some()).collect();
        let columns = PyDict::new(py);
        let placement = |&t: &TaskId| self.schedule.placement(t);
        let dates = |date: fn(&slackline_core::model::Placement) -> f64| {
            placed.iter().filter_map(placement).map(date).collect::<Vec<f64>>()
        };
        let names = placed.iter().map(|&t| self.workflow.task_name(t).to_string());
        columns.set_item("task", texts(py, names)?)?;
        let kind = |&t: &TaskId| self.workflow.kind_name(self.workflow.kind(t)).to_string();
        columns.set_item("kind", texts(py, placed.iter().map(kind))?)?;
        let host = |p: &slackline_core::model::Placement| {
            let host = p.procs().first().map(|proc| self.host_of[proc.index()]);
            host.map_or(String::new(), |host| self.platform.host(host).name.to_string())
        };
        columns.set_item("host", texts(py, placed.iter().filter_map(placement).map(host))?)?;
        let procs = placed.iter().filter_map(placement).map(|p| p.procs().len());
        columns.set_item("cores", procs.collect::<Vec<usize>>())?;
        columns.set_item("start", dates(|p| p.start))?;
        columns.set_item("finish", dates(|p| p.finish))?;
        Ok(columns)
    }

    /// By host: share of its core-seconds until `end` in which tasks run.
    fn utilisation(&self, end: f64) -> Vec<(String, f64)> {
        let mut busy = vec![0.0; self.platform.hosts().len()];
        for placement in self.schedule.placements.iter().flatten() {
            for proc in placement.procs() {
                busy[self.host_of[proc.index()].index()] += placement.seconds();
            }
        }
        shares(&self.platform, &busy, end)
    }
}

/// Largest picture for a notebook, in bytes.
const SMALL: usize = 300_000;

fn drawn(chart: &Chart, small: bool) -> String {
    let usual = SvgOptions::default();
    let svg = gantt::svg(chart, &usual);
    if !small || svg.len() < SMALL {
        return svg;
    }
    // Too large: one area for each host or cluster instead of a row for each processor.
    gantt::svg(chart, &SvgOptions { most_rows: 0, most_arrows: 0, ..usual })
}

fn shares(platform: &Platform, busy: &[f64], end: f64) -> Vec<(String, f64)> {
    let share = |(host, busy): (&slackline_core::model::platform::Host, &f64)| {
        let whole = f64::from(host.cores) * end;
        (host.name.to_string(), if whole > 0.0 { busy / whole } else { 0.0 })
    };
    platform.hosts().iter().zip(busy).map(share).collect()
}

/// A plan.
#[pyclass(subclass, frozen, name = "Plan", module = "slackline._native")]
pub(crate) struct Plan_ {
    placements: Placements,
    source: Option<ProblemSource>,
    algorithm: &'static str,
    /// Whether it is the best of the plans of its request.
    best: bool,
    bound: f64,
    cost: f64,
    makespan: f64,
    simulated: Option<f64>,
    missed: Vec<String>,
}

impl Plan_ {
    pub(crate) fn new(
        given: &Arc<PlanInput>,
        planned: &Planned,
        (bound, best): (f64, bool),
    ) -> Plan_ {
        let loaded = Arc::new(given.loaded.clone());
        let schedule = planned.schedule.clone();
        let (workflow, platform) = (loaded.workflow.clone(), loaded.platform.clone());
        Plan_ {
            placements: Placements::new(workflow, platform, schedule),
            source: ProblemSource::of(loaded, &given.request.models),
            algorithm: planned.algorithm.name,
            best,
            bound,
            cost: planned.summary.cost,
            makespan: planned.summary.makespan,
            simulated: planned.check.map(|check| check.simulated),
            missed: planned.missed.iter().map(ToString::to_string).collect(),
        }
    }

    pub(crate) fn schedule(&self) -> &Arc<Schedule> {
        &self.placements.schedule
    }
}

#[pymethods]
impl Plan_ {
    #[getter]
    fn is_best(&self) -> bool {
        self.best
    }

    #[getter]
    fn algorithm(&self) -> &str {
        self.algorithm
    }

    #[getter]
    fn makespan(&self) -> f64 {
        self.makespan
    }

    #[getter]
    fn simulated(&self) -> Option<f64> {
        self.simulated
    }

    #[getter]
    fn bound(&self) -> f64 {
        self.bound
    }

    #[getter]
    fn cost(&self) -> f64 {
        self.cost
    }

    /// Limits that the plan misses, as text.
    #[getter]
    fn missed(&self) -> Vec<String> {
        self.missed.clone()
    }

    /// The plan as a schedule file.
    #[getter]
    fn schedule_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let Some(source) = &self.source else {
                return Err(errors::refused("this plan cannot be written"));
            };
            let problem = source.problem()?;
            let mut document = Vec::new();
            schedule_json::write(&problem, &self.placements.schedule, &mut document)
                .map_err(input)?;
            String::from_utf8(document).map_err(input)
        })
    }

    fn row(&self, task: &Bound<'_, PyAny>) -> PyResult<Row> {
        self.placements.get(task)
    }

    fn __len__(&self) -> usize {
        self.placements.schedule.placements.iter().flatten().count()
    }

    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.placements.columns(py)
    }

    fn shares(&self) -> Vec<(String, f64)> {
        self.placements.utilisation(self.makespan)
    }

    /// Planned transfers, as rows: file, from, to, bytes, start, finish.
    fn transfers(&self) -> Vec<(String, String, String, f64, f64, f64)> {
        let Placements { workflow, platform, schedule, .. } = &self.placements;
        let name = |host| platform.host(host).name.to_string();
        let row = |t: &slackline_core::model::schedule::PlannedTransfer| {
            let (file, bytes) = (workflow.file_label(t.file), workflow.file_bytes(t.file));
            (file, name(t.from), name(t.to), bytes, t.start, t.finish)
        };
        schedule.transfers.iter().map(row).collect()
    }

    /// A Gantt chart as SVG; with `small`, processors are summarised where it would be large.
    #[pyo3(signature = (small = false))]
    fn svg(&self, py: Python<'_>, small: bool) -> PyResult<String> {
        py.detach(|| {
            let Some(source) = &self.source else {
                return Err(errors::refused("this plan cannot be drawn"));
            };
            let problem = source.problem()?;
            let mut chart = Chart::of_schedule(&problem, &self.placements.schedule);
            if self.bound.is_finite() {
                chart = chart.with_bound(self.bound);
            }
            let workflow = self.placements.workflow.name();
            chart.title = format!("{workflow}: {}", self.algorithm);
            Ok(drawn(&chart.without_idle_hosts(), small))
        })
    }
}

/// A run, simulated or real.
#[pyclass(subclass, frozen, name = "Run", module = "slackline._native")]
pub(crate) struct Run_ {
    placements: Placements,
    source: Option<ProblemSource>,
    policy: String,
    finished: bool,
    why: Option<String>,
    makespan: f64,
    planned: f64,
    cost: f64,
    counters: Counters,
    trace: Trace,
    log: DecisionLog,
    folder: Option<String>,
}

impl Run_ {
    fn with(
        loaded: Arc<Loaded>,
        source: Option<ProblemSource>,
        ran: Ran,
        folder: Option<&Path>,
    ) -> Run_ {
        let why = ran.unfinished().map(str::to_string);
        let Ran { name, outcome, money, planned, log, .. } = ran;
        let (workflow, platform) = (outcome.workflow, loaded.platform.clone());
        Run_ {
            placements: Placements::new(workflow, platform, outcome.schedule),
            source,
            policy: name,
            finished: why.is_none(),
            why,
            makespan: outcome.makespan,
            planned: planned.makespan(),
            cost: money.total,
            counters: outcome.counters,
            trace: outcome.trace,
            log,
            folder: folder.map(|folder| folder.display().to_string()),
        }
    }

    pub(crate) fn new(
        loaded: &Arc<Loaded>,
        models: &ModelSettings,
        ran: Ran,
        folder: Option<&Path>,
    ) -> Run_ {
        Run_::with(loaded.clone(), ProblemSource::of(loaded.clone(), models), ran, folder)
    }

    pub(crate) fn of_session(session: &RunSession, ran: Ran, folder: Option<&Path>) -> Run_ {
        let loaded = Arc::new(session.loaded.clone());
        let inputs = Inputs::of(&loaded.platform);
        let source = ProblemSource { loaded: loaded.clone(), charges: session.charges(), inputs };
        Run_::with(loaded, Some(source), ran, folder)
    }
}

#[pymethods]
impl Run_ {
    #[getter]
    fn policy(&self) -> &str {
        &self.policy
    }

    #[getter]
    fn finished(&self) -> bool {
        self.finished
    }

    #[getter]
    fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    #[getter]
    fn makespan(&self) -> f64 {
        self.makespan
    }

    #[getter]
    fn planned(&self) -> f64 {
        self.planned
    }

    #[getter]
    fn cost(&self) -> f64 {
        self.cost
    }

    #[getter]
    fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// Figures of the run by name.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let c = &self.counters;
        let counts = PyDict::new(py);
        counts.set_item("replannings", c.replannings)?;
        counts.set_item("migrations", c.migrations)?;
        counts.set_item("rewound", c.rewound)?;
        counts.set_item("hosts_lost", c.hosts_lost)?;
        counts.set_item("failures", c.failures)?;
        counts.set_item("rejected", c.rejected)?;
        counts.set_item("transfers", c.transfers)?;
        counts.set_item("bytes_moved", c.bytes_moved)?;
        counts.set_item("lost_seconds", c.lost_seconds)?;
        Ok(counts)
    }

    fn row(&self, task: &Bound<'_, PyAny>) -> PyResult<Row> {
        self.placements.get(task)
    }

    fn __len__(&self) -> usize {
        self.placements.schedule.placements.iter().flatten().count()
    }

    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.placements.columns(py)
    }

    /// By host: share of its core-seconds in which tasks ran, including wasted work.
    fn shares(&self) -> Vec<(String, f64)> {
        let Placements { platform, host_of, .. } = &self.placements;
        if self.trace.records().is_empty() {
            return self.placements.utilisation(self.makespan);
        }
        let mut busy = vec![0.0; platform.hosts().len()];
        for span in self.trace.spans() {
            if let Work::Task { procs, .. } = span.work
                && span.end != End::Open
            {
                for proc in procs {
                    busy[host_of[proc.index()].index()] += span.finish - span.start;
                }
            }
        }
        shares(platform, &busy, self.makespan)
    }

    /// Transfers that arrived or broke off, as rows: file, from, to, bytes, start, finish, whether it arrived.
    #[allow(clippy::type_complexity)]
    fn transfers(&self) -> Vec<(String, String, String, f64, f64, f64, bool)> {
        let Placements { workflow, platform, .. } = &self.placements;
        let name = |host| platform.host(host).name.to_string();
        let row = |span: slackline_core::model::trace::Span<'_>| match span.work {
            Work::Transfer { file, from, to, bytes } => Some((
                workflow.file_label(file),
                name(from),
                name(to),
                bytes,
                span.start,
                span.finish,
                span.is_finished(),
            )),
            Work::Task { .. } => None,
        };
        self.trace.spans().into_iter().filter_map(row).collect()
    }

    /// The trace, one JSON object a line.
    fn trace_lines(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let Placements { workflow, platform, .. } = &self.placements;
            let mut out = Vec::new();
            trace_file::write(&self.trace, TraceFormat::JsonLines, workflow, platform, &mut out)
                .map_err(input)?;
            String::from_utf8(out).map_err(input)
        })
    }

    /// The log of decisions, one JSON object a line.
    fn decision_lines(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let mut out = Vec::new();
            self.log.write(&mut out).map_err(input)?;
            String::from_utf8(out).map_err(input)
        })
    }

    /// A Gantt chart as SVG; with `small`, processors are summarised where it would be large.
    #[pyo3(signature = (small = false))]
    fn svg(&self, py: Python<'_>, small: bool) -> PyResult<String> {
        py.detach(|| {
            let Some(source) = &self.source else {
                return Err(errors::refused("this run cannot be drawn"));
            };
            let problem = source.problem()?;
            let mut chart = Chart::of_trace(&problem, &self.trace)
                .with_traced_transfers(&problem, &self.trace)
                .without_idle_hosts();
            let workflow = self.placements.workflow.name();
            chart.title = format!("{workflow}: {}", self.policy);
            Ok(drawn(&chart, small))
        })
    }
}
