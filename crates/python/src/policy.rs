//! Policies written in Python: events in, decisions out.

use crate::errors::{self, bad_input};
use crate::lend::{Lendable, Loan, lend};
use crate::platform::{Host_, host_of};
use crate::quantity::number;
use crate::workflow::{Frozen, Task_, task_of};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use slackline_core::model::{FileId, HostId, Platform, TaskId, Workflow};
use slackline_core::react::registry::PolicyArguments;
use slackline_core::react::{
    Decision, Dispatcher, Event, Monitoring, Plan, Policy, ReadyTasks, Situation, TaskState,
    Transfers, frees_or_readies,
};
use slackline_react::added::{self, Make};
use slackline_schedule::list::ranks;
use slackline_schedule::{Request, registry};
use std::sync::Arc;

/// The name of a kind of event, as in the log of decisions.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::Start => "start",
        Event::WorkflowArrived { .. } => "workflow-arrived",
        Event::TasksAdded { .. } => "tasks-added",
        Event::TaskStarted(_) => "task-started",
        Event::TaskFinished(_) => "task-finished",
        Event::TaskFailed(_) => "task-failed",
        Event::TaskRestored(_) => "task-restored",
        Event::TaskAbandoned(_) => "task-abandoned",
        Event::RetryDue(_) => "retry-due",
        Event::TransferFinished { .. } => "transfer-finished",
        Event::TransferFailed { .. } => "transfer-failed",
        Event::CopyLost { .. } => "copy-lost",
        Event::HostChanged(_) => "host-changed",
        Event::NetworkChanged => "network-changed",
        Event::HostLost(_) => "host-lost",
        Event::HostBack(_) => "host-back",
        Event::LeaseReady(_) => "lease-ready",
        Event::LeaseEnded(_) => "lease-ended",
        Event::WakeUp => "wake-up",
        Event::Rejected { .. } => "rejected",
    }
}

/// An event that a policy is notified of.
#[pyclass(frozen, name = "Event", module = "slackline._native")]
pub(crate) struct Event_ {
    #[pyo3(get)]
    kind: &'static str,
    #[pyo3(get)]
    task: Option<Task_>,
    #[pyo3(get)]
    host: Option<Host_>,
    #[pyo3(get)]
    file: Option<String>,
    #[pyo3(get)]
    why: Option<String>,
}

#[pymethods]
impl Event_ {
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        let mut text = format!("<{}", self.kind);
        if let Some(task) = &self.task {
            text.push_str(&format!(" of task {:?}", task.of_name()));
        }
        if let Some(host) = &self.host {
            text.push_str(&format!(" of host {:?}", host.of_name()));
        }
        text + ">"
    }
}

impl Event_ {
    fn of(event: &Event, frozen: &Arc<Frozen>, platform: &Arc<Platform>) -> Event_ {
        let mut made = Event_ { kind: kind(event), task: None, host: None, file: None, why: None };
        match event {
            Event::TaskStarted(task)
            | Event::TaskFinished(task)
            | Event::TaskFailed(task)
            | Event::TaskRestored(task)
            | Event::TaskAbandoned(task)
            | Event::RetryDue(task) => made.task = Some(Task_::new(frozen, *task)),
            Event::HostChanged(host)
            | Event::HostLost(host)
            | Event::HostBack(host)
            | Event::LeaseReady(host)
            | Event::LeaseEnded(host) => made.host = Some(Host_::new(platform, *host)),
            Event::TransferFinished { file, to: at }
            | Event::TransferFailed { file, to: at }
            | Event::CopyLost { file, holders: at } => {
                made.file = Some(frozen.workflow().file_label(*file));
                made.host = at.host().map(|host| Host_::new(platform, host));
            }
            Event::Rejected { why, .. } => made.why = Some(why.clone()),
            Event::Start
            | Event::WorkflowArrived { .. }
            | Event::TasksAdded { .. }
            | Event::NetworkChanged
            | Event::WakeUp => {}
        }
        made
    }
}

/// Starts a task on a host, as soon as its data is there.
#[pyclass(frozen, get_all, module = "slackline._native")]
pub(crate) struct Start {
    task: Py<PyAny>,
    on: Py<PyAny>,
}

#[pymethods]
impl Start {
    #[new]
    fn new(task: Py<PyAny>, on: Py<PyAny>) -> Start {
        Start { task, on }
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> (Bound<'py, PyAny>, (Bound<'py, PyAny>, Bound<'py, PyAny>)) {
        let (start, py) = (slf.get(), slf.py());
        let ends = (start.task.bind(py).clone(), start.on.bind(py).clone());
        (slf.get_type().into_any(), ends)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Start({}, on={})", self.task.bind(py).repr()?, self.on.bind(py).repr()?))
    }
}

/// Any other decision: its name, its subject, and a detail for some.
#[pyclass(frozen, get_all, subclass, module = "slackline._native")]
pub(crate) struct Choice {
    verb: String,
    subject: Py<PyAny>,
    detail: Option<Py<PyAny>>,
}

#[pymethods]
impl Choice {
    #[new]
    #[pyo3(signature = (verb, subject, detail = None))]
    fn new(verb: String, subject: Py<PyAny>, detail: Option<Py<PyAny>>) -> Choice {
        Choice { verb, subject, detail }
    }

    /// Unpickles by the constructor of this class, since subclasses have constructors of their own.
    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>, String, Py<PyAny>, Option<Py<PyAny>>))>
    {
        let (choice, py) = (slf.get(), slf.py());
        let make = py.get_type::<Choice>().getattr(intern!(py, "__new__"))?;
        let detail = choice.detail.as_ref().map(|detail| detail.clone_ref(py));
        let members = (choice.verb.clone(), choice.subject.clone_ref(py), detail);
        Ok((make, (slf.get_type().into_any(), members.0, members.1, members.2)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{}({})", self.verb, self.subject.bind(py).repr()?))
    }
}

/// A plan for the rest of a run, to be adopted.
#[pyclass(frozen, name = "Adoptable", module = "slackline._native")]
pub(crate) struct Adoptable {
    plan: Plan,
    #[pyo3(get)]
    makespan: f64,
}

/// Operations of a policy on the situation of one call. A trait object, so that it can be lent to Python for the time of
/// the call.
trait SituationAccess {
    fn time(&self) -> f64;
    /// Ready tasks by rank or in order.
    fn ready(&mut self) -> Vec<TaskId>;
    fn prioritise(&mut self, priority: &[f64]);
    fn is_ready(&self, task: TaskId) -> bool;
    fn has_place(&self, task: TaskId) -> bool;
    fn idle(&self) -> Vec<HostId>;
    fn idle_procs(&self) -> usize;
    fn idle_on(&self, host: HostId) -> usize;
    fn seconds(&self, task: TaskId, host: HostId) -> Result<f64, String>;
    fn quickest(&self, task: TaskId) -> Result<Option<(HostId, f64)>, String>;
    fn lost(&self) -> Vec<TaskId>;
    fn ranks(&self) -> Result<Vec<f64>, String>;
    fn state(&self, task: TaskId) -> (&'static str, Option<HostId>, f64);
    fn availability(&self, host: HostId) -> f64;
    fn is_alive(&self, host: HostId) -> bool;
    fn holders(&self, file: FileId) -> Vec<HostId>;
    fn counts(&self) -> (usize, usize);
    fn plan(&self, planner: &str) -> Result<(Plan, f64), String>;
    fn start(&mut self, task: TaskId, host: HostId);
    fn decide(&mut self, decision: Decision);
}

/// The situation of a call, and the decisions made so far.
struct PolicyCall<'s> {
    now: &'s Situation,
    dispatcher: Dispatcher<'s>,
    ready: &'s mut ReadyTasks,
    decisions: Vec<Decision>,
}

impl SituationAccess for PolicyCall<'_> {
    fn time(&self) -> f64 {
        self.now.now
    }

    fn ready(&mut self) -> Vec<TaskId> {
        let ready = self.ready.in_order(self.dispatcher.situation());
        ready.into_iter().filter(|&task| self.dispatcher.is_ready(task)).collect()
    }

    fn prioritise(&mut self, priority: &[f64]) {
        self.ready.prioritise(priority, self.dispatcher.situation());
    }

    fn is_ready(&self, task: TaskId) -> bool {
        self.dispatcher.is_ready(task)
    }

    fn has_place(&self, task: TaskId) -> bool {
        self.dispatcher.has_place(task)
    }

    fn idle(&self) -> Vec<HostId> {
        self.dispatcher.idle_hosts()
    }

    fn idle_procs(&self) -> usize {
        self.dispatcher.idle_procs()
    }

    fn idle_on(&self, host: HostId) -> usize {
        self.dispatcher.idle_on(host)
    }

    fn seconds(&self, task: TaskId, host: HostId) -> Result<f64, String> {
        self.dispatcher.seconds(task, host).map_err(|error| error.to_string())
    }

    fn quickest(&self, task: TaskId) -> Result<Option<(HostId, f64)>, String> {
        let found = self.dispatcher.quickest(task).map_err(|error| error.to_string())?;
        Ok(found.map(|(seconds, procs)| (self.now.host(&procs), seconds)))
    }

    fn lost(&self) -> Vec<TaskId> {
        self.dispatcher.lost()
    }

    fn ranks(&self) -> Result<Vec<f64>, String> {
        let problem = self.now.nominal_problem().map_err(|error| error.to_string())?;
        Ok(ranks::upward(&problem))
    }

    fn state(&self, task: TaskId) -> (&'static str, Option<HostId>, f64) {
        let situation = self.dispatcher.situation();
        let state = situation.task(task);
        let host = state.procs().map(|procs| situation.host(procs));
        match state {
            TaskState::Waiting => ("waiting", None, 0.0),
            TaskState::Placed { .. } => ("placed", host, 0.0),
            TaskState::Running { .. } => ("running", host, situation.progress[task.index()]),
            TaskState::Done(_) => ("done", host, 1.0),
        }
    }

    fn availability(&self, host: HostId) -> f64 {
        if self.now.is_alive(host) { self.now.view.availability[host.index()] } else { 0.0 }
    }

    fn is_alive(&self, host: HostId) -> bool {
        self.now.is_alive(host)
    }

    fn holders(&self, file: FileId) -> Vec<HostId> {
        self.now.holders(file).collect()
    }

    fn counts(&self) -> (usize, usize) {
        (self.now.tasks.done(), self.now.tasks.open())
    }

    fn plan(&self, planner: &str) -> Result<(Plan, f64), String> {
        let algorithm =
            registry::find(planner).ok_or_else(|| format!("there is no planner '{planner}'"))?;
        let lost: Vec<TaskId> = self.dispatcher.lost();
        let problem = self.now.problem_after(&lost).map_err(|error| error.to_string())?;
        let plan =
            algorithm.plan(&problem, &Request::default()).map_err(|error| error.to_string())?;
        Ok((Plan::of_schedule(&problem, &plan, Transfers::Push), plan.makespan()))
    }

    fn start(&mut self, task: TaskId, host: HostId) {
        let procs = self.dispatcher.choose(task, host);
        self.dispatcher.start(task, &procs);
        self.decisions.push(Decision::Start { task, procs: procs.into() });
    }

    fn decide(&mut self, decision: Decision) {
        if let Decision::Rewind(tasks) = &decision {
            self.dispatcher.rewind(tasks);
            let situation = self.dispatcher.situation();
            self.ready.update(&[Event::Start], situation);
        }
        self.decisions.push(decision);
    }
}

type Lent = Arc<Loan<dyn SituationAccess>>;

/// The situation that a policy is given; it can be used until `react` returns.
#[pyclass(frozen, name = "Situation", module = "slackline._native")]
pub(crate) struct Situation_ {
    access: Lent,
    frozen: Arc<Frozen>,
    platform: Arc<Platform>,
}

impl Situation_ {
    fn workflow(&self) -> &Workflow {
        self.frozen.workflow()
    }

    fn task_id(&self, task: &Bound<'_, PyAny>) -> PyResult<TaskId> {
        task_of(task, self.workflow())
    }

    fn host_id(&self, host: &Bound<'_, PyAny>) -> PyResult<HostId> {
        host_of(host, &self.platform)
    }

    fn tasks_of(&self, ids: Vec<TaskId>) -> Vec<Task_> {
        ids.into_iter().map(|id| Task_::new(&self.frozen, id)).collect()
    }

    fn hosts_of(&self, ids: Vec<HostId>) -> Vec<Host_> {
        ids.into_iter().map(|id| Host_::new(&self.platform, id)).collect()
    }

    fn file_id(&self, name: &str) -> PyResult<FileId> {
        let workflow = self.workflow();
        let found = workflow.files().find(|&file| workflow.file_label(file) == name);
        found.ok_or_else(|| bad_input(&format!("there is no file '{name}'")))
    }

    fn all(&self, what: &Bound<'_, PyAny>) -> PyResult<Vec<TaskId>> {
        if what.is_instance_of::<PyString>() || what.cast::<Task_>().is_ok() {
            return Ok(vec![self.task_id(what)?]);
        }
        what.try_iter()?.map(|task| self.task_id(&task?)).collect()
    }

    /// Takes a decision that a policy has yielded.
    fn take(&self, decision: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(start) = decision.cast::<Start>() {
            let start = start.get();
            let task = self.task_id(start.task.bind(decision.py()))?;
            let host = self.host_id(start.on.bind(decision.py()))?;
            return self.access.with(|access| access.start(task, host));
        }
        let Ok(choice) = decision.cast::<Choice>() else {
            let found = decision.repr().map_or_else(|_| String::from("?"), |text| text.to_string());
            return Err(bad_input(&format!(
                "a policy yields decisions such as Start, not {found}"
            )));
        };
        let choice = choice.get();
        let subject = choice.subject.bind(decision.py());
        let detail = choice.detail.as_ref().map(|detail| detail.bind(decision.py()));
        let host = |given: Option<&Bound<'_, PyAny>>| match given {
            Some(host) if !host.is_none() => self.host_id(host).map(Some),
            _ => Ok(None),
        };
        let decision = match choice.verb.as_str() {
            "Cancel" => Decision::Cancel(self.task_id(subject)?),
            "Rewind" => Decision::Rewind(self.all(subject)?),
            "Restore" => Decision::Restore(self.all(subject)?),
            "Adopt" => {
                let Ok(plan) = subject.cast::<Adoptable>() else {
                    return Err(bad_input("a policy adopts a plan of now.plan(...)"));
                };
                Decision::Adopt(plan.get().plan.clone())
            }
            "WakeAt" => {
                let date = number(subject, "the date of WakeAt")?;
                if date.is_nan() {
                    return Err(bad_input("the date of WakeAt cannot be NaN"));
                }
                Decision::WakeAt(date)
            }
            "Copy" => {
                let file = self.file_id(&subject.extract::<String>()?)?;
                let ends: (Bound<'_, PyAny>, Bound<'_, PyAny>) = match detail {
                    Some(detail) => detail.extract()?,
                    None => return Err(bad_input("Copy needs a host")),
                };
                Decision::Copy { file, from: host(Some(&ends.1))?, to: self.host_id(&ends.0)? }
            }
            "Drop" => {
                let file = self.file_id(&subject.extract::<String>()?)?;
                let host = host(detail)?.ok_or_else(|| bad_input("Drop needs a host"))?;
                Decision::Drop { file, host }
            }
            "Lease" => {
                let name: String = subject.extract()?;
                let class = self.platform.classes().iter().position(|class| *class.name == name);
                let unknown = || bad_input(&format!("there is no class of machines '{name}'"));
                Decision::Lease(slackline_core::model::ClassId::new(class.ok_or_else(unknown)?))
            }
            "Release" => Decision::Release(self.host_id(subject)?),
            "Abandon" => {
                let why = detail.map_or(Ok(String::new()), |why| why.extract())?;
                Decision::Abandon { workflow: subject.extract()?, why }
            }
            "GiveUp" => Decision::GiveUp(subject.extract()?),
            other => return Err(bad_input(&format!("there is no decision '{other}'"))),
        };
        self.access.with(|access| access.decide(decision))
    }
}

#[pymethods]
impl Situation_ {
    /// The date, in seconds.
    #[getter]
    fn time(&self) -> PyResult<f64> {
        self.access.with(|access| access.time())
    }

    #[getter]
    fn tasks(&self) -> Vec<Task_> {
        self.tasks_of(self.workflow().tasks().collect())
    }

    #[getter]
    fn hosts(&self) -> Vec<Host_> {
        self.hosts_of(self.platform.host_ids().collect())
    }

    /// Ready tasks that could begin on some idle host, after the decisions yielded so far.
    #[getter]
    fn ready(slf: &Bound<'_, Self>) -> Ready {
        Ready { now: slf.clone().unbind(), priority: None }
    }

    /// The ready tasks, those of higher priority first.
    fn ready_by(slf: &Bound<'_, Self>, priority: Py<Priority>) -> Ready {
        Ready { now: slf.clone().unbind(), priority: Some(priority) }
    }

    /// All ready tasks, whether or not there is room for them.
    #[getter]
    fn all_ready(&self) -> PyResult<Vec<Task_>> {
        Ok(self.tasks_of(self.access.with(|access| access.ready())?))
    }

    /// Hosts with idle processors.
    #[getter]
    fn idle(&self) -> PyResult<Vec<Host_>> {
        Ok(self.hosts_of(self.access.with(|access| access.idle())?))
    }

    /// Idle processors of a host, or of all.
    #[pyo3(signature = (host = None))]
    fn idle_cores(&self, host: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        match host {
            Some(host) => {
                let host = self.host_id(host)?;
                self.access.with(|access| access.idle_on(host))
            }
            None => self.access.with(|access| access.idle_procs()),
        }
    }

    fn seconds(&self, task: &Bound<'_, PyAny>, host: &Bound<'_, PyAny>) -> PyResult<f64> {
        let (task, host) = (self.task_id(task)?, self.host_id(host)?);
        self.access.with(|access| access.seconds(task, host))?.map_err(|why| bad_input(&why))
    }

    fn quickest(&self, task: &Bound<'_, PyAny>) -> PyResult<Option<(Host_, f64)>> {
        let task = self.task_id(task)?;
        let found =
            self.access.with(|access| access.quickest(task))?.map_err(|why| bad_input(&why))?;
        Ok(found.map(|(host, seconds)| (Host_::new(&self.platform, host), seconds)))
    }

    /// Finished tasks whose results are gone and needed.
    #[getter]
    fn lost(&self) -> PyResult<Vec<Task_>> {
        Ok(self.tasks_of(self.access.with(|access| access.lost())?))
    }

    /// Upward ranks of all tasks, as priorities.
    fn ranks(&self) -> PyResult<Priority> {
        let ranks = self.access.with(|access| access.ranks())?.map_err(|why| bad_input(&why))?;
        Ok(Priority { of: ranks })
    }

    fn state(&self, task: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let task = self.task_id(task)?;
        self.access.with(|access| access.state(task).0)
    }

    fn host_of(&self, task: &Bound<'_, PyAny>) -> PyResult<Option<Host_>> {
        let task = self.task_id(task)?;
        let host = self.access.with(|access| access.state(task).1)?;
        Ok(host.map(|host| Host_::new(&self.platform, host)))
    }

    /// The computed share of a task, as last measured.
    fn progress(&self, task: &Bound<'_, PyAny>) -> PyResult<f64> {
        let task = self.task_id(task)?;
        self.access.with(|access| access.state(task).2)
    }

    /// The share of its speed that a host has, as last observed.
    fn availability(&self, host: &Bound<'_, PyAny>) -> PyResult<f64> {
        let host = self.host_id(host)?;
        self.access.with(|access| access.availability(host))
    }

    fn is_alive(&self, host: &Bound<'_, PyAny>) -> PyResult<bool> {
        let host = self.host_id(host)?;
        self.access.with(|access| access.is_alive(host))
    }

    /// Hosts that hold a file.
    fn holders(&self, file: &str) -> PyResult<Vec<Host_>> {
        let file = self.file_id(file)?;
        Ok(self.hosts_of(self.access.with(|access| access.holders(file))?))
    }

    /// Finished tasks.
    #[getter]
    fn done(&self) -> PyResult<usize> {
        self.access.with(|access| access.counts().0)
    }

    /// Tasks that are not done.
    #[getter]
    fn open(&self) -> PyResult<usize> {
        self.access.with(|access| access.counts().1)
    }

    /// A plan for the rest of the run, to be adopted.
    #[pyo3(signature = (planner = "heft"))]
    fn plan(&self, planner: &str) -> PyResult<Adoptable> {
        let (plan, makespan) =
            self.access.with(|access| access.plan(planner))?.map_err(|why| bad_input(&why))?;
        Ok(Adoptable { plan, makespan })
    }

    fn __repr__(&self) -> String {
        match self.access.with(|access| (access.time(), access.counts())) {
            Ok((time, (done, open))) => {
                format!("<situation at {time} s: {done} done, {open} open>")
            }
            Err(_) => "<situation of an earlier call>".to_string(),
        }
    }
}

/// A number for every task; tasks of higher numbers come first.
#[pyclass(frozen, module = "slackline._native")]
pub(crate) struct Priority {
    of: Vec<f64>,
}

#[pymethods]
impl Priority {
    #[new]
    fn new(of: Vec<f64>) -> PyResult<Priority> {
        if of.iter().any(|priority| priority.is_nan()) {
            Err(bad_input("a priority cannot be NaN"))
        } else {
            Ok(Priority { of })
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Vec<f64>,)) {
        (slf.get_type().into_any(), (slf.get().of.clone(),))
    }

    fn __len__(&self) -> usize {
        self.of.len()
    }

    fn __getitem__(&self, index: usize) -> PyResult<f64> {
        let missing = || pyo3::exceptions::PyIndexError::new_err(index);
        self.of.get(index).copied().ok_or_else(missing)
    }
}

/// The ready tasks of a situation, while hosts are idle.
#[pyclass(frozen, module = "slackline._native")]
pub(crate) struct Ready {
    now: Py<Situation_>,
    priority: Option<Py<Priority>>,
}

impl Ready {
    fn snapshot(&self) -> PyResult<Vec<TaskId>> {
        self.now.get().access.with(|access| {
            if let Some(priority) = &self.priority {
                access.prioritise(&priority.get().of);
            }
            if access.idle_procs() == 0 { Vec::new() } else { access.ready() }
        })
    }

    fn tasks(&self) -> PyResult<Vec<TaskId>> {
        let now = self.now.get();
        let ready = self.snapshot()?;
        now.access.with(|access| ready.into_iter().filter(|&task| access.has_place(task)).collect())
    }
}

#[pymethods]
impl Ready {
    fn __iter__(&self, py: Python<'_>) -> PyResult<ReadyIter> {
        let tasks = self.snapshot()?.into_iter();
        Ok(ReadyIter { now: self.now.clone_ref(py), tasks })
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.tasks()?.len())
    }

    fn __getitem__(&self, index: isize) -> PyResult<Task_> {
        let tasks = self.tasks()?;
        let at = if index < 0 { index + tasks.len() as isize } else { index };
        let missing = || pyo3::exceptions::PyIndexError::new_err(index);
        let id = usize::try_from(at).ok().and_then(|at| tasks.get(at)).ok_or_else(missing)?;
        Ok(Task_::new(&self.now.get().frozen, *id))
    }
}

/// Iterator over ready tasks; whether a task can still begin is checked when it is reached.
#[pyclass(module = "slackline._native")]
pub(crate) struct ReadyIter {
    now: Py<Situation_>,
    tasks: std::vec::IntoIter<TaskId>,
}

#[pymethods]
impl ReadyIter {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> PyResult<Option<Task_>> {
        let now = self.now.get();
        let tasks = &mut self.tasks;
        let next = now.access.with(|access| {
            tasks.find(|&task| {
                access.idle_procs() > 0 && access.is_ready(task) && access.has_place(task)
            })
        })?;
        Ok(next.map(|id| Task_::new(&now.frozen, id)))
    }
}

/// A policy written in Python.
struct PythonPolicy {
    object: Py<PyAny>,
    ready: ReadyTasks,
    frozen: Option<(Arc<Workflow>, Arc<Frozen>)>,
    /// Called only for events that free processors or make tasks ready (class attribute `dispatches`).
    dispatches: bool,
    /// A rejected decision is an exception (class attribute `strict`).
    strict: bool,
    /// Progress of tasks is measured before each call (class attribute `progress`).
    progress: bool,
    monitoring: Monitoring,
}

impl PythonPolicy {
    fn new(object: Py<PyAny>) -> PythonPolicy {
        Python::attach(|py| {
            let flag = |name: &str, usual: bool| {
                let value = object.bind(py).getattr(name);
                value.ok().and_then(|value| value.extract::<bool>().ok()).unwrap_or(usual)
            };
            let (dispatches, strict) = (flag("dispatches", false), flag("strict", true));
            let progress = flag("progress", true);
            // Periodic policies set the class attribute `looks`.
            let monitoring =
                if flag("looks", false) { Monitoring::OnWakeUp } else { Monitoring::Continuous };
            let (ready, frozen) = (ReadyTasks::default(), None);
            PythonPolicy { object, ready, frozen, dispatches, strict, progress, monitoring }
        })
    }

    fn frozen(&mut self, now: &Situation) -> Arc<Frozen> {
        match &self.frozen {
            Some((workflow, frozen)) if Arc::ptr_eq(workflow, &now.workflow) => frozen.clone(),
            _ => {
                let frozen = Arc::new(Frozen::shared(now.workflow.clone()));
                self.frozen = Some((now.workflow.clone(), frozen.clone()));
                frozen
            }
        }
    }

    fn call(&mut self, events: &[Event], now: &Situation) -> PyResult<Vec<Decision>> {
        if self.strict
            && now.decision_seconds == 0.0
            && let Some(why) = events.iter().find_map(rejected)
        {
            return Err(errors::broken_rule(&why));
        }
        let (frozen, platform) = (self.frozen(now), now.platform.clone());
        let mut call = PolicyCall {
            now,
            dispatcher: Dispatcher::new(now),
            ready: &mut self.ready,
            decisions: Vec::new(),
        };
        let access: *mut (dyn SituationAccess + '_) = &mut call;
        // SAFETY: only the lifetime of the trait object changes, and `call` is neither used nor dropped before `lend` has
        // returned.
        #[allow(unsafe_code)]
        let access = unsafe {
            Lendable::new(std::mem::transmute::<
                *mut (dyn SituationAccess + '_),
                *mut (dyn SituationAccess + 'static),
            >(access))
        };
        let object = &self.object;
        lend("the situation of a policy", access, |loan| {
            Python::attach(|py| {
                let all = events.iter().map(|event| Event_::of(event, &frozen, &platform));
                let all = PyList::new(py, all.collect::<Vec<_>>())?;
                let now = Bound::new(py, Situation_ { access: loan.clone(), frozen, platform })?;
                let answer = object.bind(py).call_method1(intern!(py, "react"), (all, &now))?;
                if answer.is_none() {
                    return Ok(());
                }
                if answer.cast::<Start>().is_ok() || answer.cast::<Choice>().is_ok() {
                    return now.get().take(&answer);
                }
                let nonsense = |_| {
                    let found = answer.get_type();
                    bad_input(&format!("react returns decisions, not {found}"))
                };
                for decision in answer.try_iter().map_err(nonsense)? {
                    now.get().take(&decision?)?;
                }
                Ok(())
            })
        })?;
        Ok(call.decisions)
    }
}

/// The rule that a rejected decision breaks, as text.
fn rejected(event: &Event) -> Option<String> {
    match event {
        Event::Rejected { decision, why } => Some(format!("{}: {why}", verb(decision))),
        _ => None,
    }
}

fn verb(decision: &Decision) -> &'static str {
    match decision {
        Decision::Adopt(_) => "Adopt",
        Decision::Start { .. } => "Start",
        Decision::Cancel(_) => "Cancel",
        Decision::Rewind(_) => "Rewind",
        Decision::Restore(_) => "Restore",
        Decision::Copy { .. } => "Copy",
        Decision::Drop { .. } => "Drop",
        Decision::WakeAt(_) => "WakeAt",
        Decision::Lease(_) => "Lease",
        Decision::Release(_) => "Release",
        Decision::Abandon { .. } => "Abandon",
        Decision::GiveUp(_) => "GiveUp",
    }
}

impl Policy for PythonPolicy {
    fn monitoring(&self) -> Monitoring {
        self.monitoring
    }

    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        self.ready.update(events, now);
        let refused = |event: &Event| matches!(event, Event::Rejected { .. });
        !self.dispatches || events.iter().any(|e| frees_or_readies(e) || refused(e))
    }

    fn looks_at_progress(&self) -> bool {
        self.progress
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let why = if errors::has_raised() {
            "a callback has raised".to_string()
        } else {
            match self.call(events, now) {
                Ok(made) => return decisions.extend(made),
                Err(error) => {
                    let why = error.to_string();
                    errors::raise_later(error);
                    why
                }
            }
        };
        // A real run is interrupted as by Ctrl-C. Giving up would be a decision in its log, and it could not be resumed.
        if !errors::is_stoppable() {
            decisions.push(Decision::GiveUp(why));
        }
    }
}

/// A constructor of policies: a class is instantiated for each run, an object is used as it is.
fn maker(object: Py<PyAny>) -> Arc<Make> {
    Arc::new(move |_: &PolicyArguments<'_>| {
        let made = Python::attach(|py| {
            let object = object.bind(py);
            if object.is_instance_of::<pyo3::types::PyType>() {
                object.call0()
            } else {
                Ok(object.clone())
            }
            .map(Bound::unbind)
        });
        match made {
            Ok(object) => Ok(Box::new(PythonPolicy::new(object)) as Box<dyn Policy>),
            Err(error) => {
                let why = error.to_string();
                errors::raise_later(error);
                Err(slackline_model::parameter::bad("policy", "a class", why))
            }
        }
    })
}

/// Policies that exist for one request only.
pub(crate) fn own_policies(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Arc<Make>)>> {
    let mut own = Vec::new();
    for item in given.try_iter()? {
        let (name, object): (String, Py<PyAny>) = item?.extract()?;
        if !added::is_free(&name) {
            return Err(bad_input(&format!("there is a policy '{name}' already")));
        }
        own.push((name, maker(object)));
    }
    Ok(own)
}

/// Registers a policy for the whole process.
#[pyfunction]
pub(crate) fn add_policy(name: &str, about: &str, object: Py<PyAny>) -> PyResult<()> {
    if !added::is_free(name) {
        return Err(bad_input(&format!("there is a policy '{name}' already")));
    }
    added::add(name, about, maker(object));
    Ok(())
}
