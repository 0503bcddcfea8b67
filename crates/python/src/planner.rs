//! Planners written in Python: a function that fills a partial schedule.

use crate::errors;
use crate::lend::{Lendable, Loan, lend};
use crate::platform::{Host_, host_of};
use crate::quantity::number;
use crate::workflow::{Frozen, Task_, task_of};
use pyo3::prelude::*;
use slackline_core::model::schedule::{Limits, validate};
use slackline_core::model::{
    HostId, Placement, Platform, Problem, ProcId, Schedule, TaskId, approx,
};
use slackline_schedule::added::{self, Plan};
use slackline_schedule::list::{Partial, Slot, ranks};
use slackline_schedule::{PlanError, Request};
use std::sync::{Arc, OnceLock};

/// Host, dates (seconds) and cost at which a task could run.
#[pyclass(frozen, get_all, name = "Offer", module = "slackline._native")]
#[derive(Clone)]
pub(crate) struct Offer_ {
    host: Host_,
    start: f64,
    finish: f64,
    seconds: f64,
    cost: f64,
    processor: u32,
}

#[pymethods]
impl Offer_ {
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        let Offer_ { host, start, finish, .. } = self;
        format!("<offer of {:?} from {start} to {finish}>", host.of_name())
    }
}

/// Operations of a planner on its problem and partial schedule. A trait object, so that it can be lent to Python for the
/// time of a call; errors are broken rules.
trait PlanAccess {
    fn offers(&mut self, task: TaskId) -> Result<Vec<(ProcId, HostId, Slot, f64)>, String>;
    fn place(&mut self, task: TaskId, slot: Slot) -> Result<(), String>;
    fn place_at(&mut self, task: TaskId, host: HostId, start: f64) -> Result<(), String>;
    fn slot_on(&mut self, task: TaskId, host: HostId) -> Result<Slot, String>;
    fn placement(&self, task: TaskId) -> Option<(ProcId, f64, f64)>;
    fn is_fixed(&self, task: TaskId) -> bool;
    fn ready(&self) -> Vec<TaskId>;
    fn seconds(&self, task: TaskId, host: HostId) -> f64;
    fn transfer(&self, bytes: f64, from: HostId, to: HostId) -> f64;
    fn ranks(&self) -> Vec<f64>;
    fn host_of(&self, proc: ProcId) -> HostId;
    fn now(&self) -> f64;
    fn limits(&self) -> (Option<f64>, Option<f64>);
    fn seed(&self) -> u64;
}

/// A plan in the making.
struct PlanState<'a, 'p> {
    problem: &'a Problem<'p>,
    request: &'a Request,
    partial: Partial<'a, 'p>,
    /// Placements at dates chosen by the planner that the partial schedule cannot represent.
    own: Vec<Option<Placement>>,
    placed: Vec<bool>,
}

impl PlanState<'_, '_> {
    fn check(&self, task: TaskId) -> Result<(), String> {
        let workflow = self.problem.workflow();
        let name = workflow.task_name(task);
        if self.placed[task.index()] {
            return Err(format!("placed twice: task '{name}' has a place already"));
        }
        let missing = workflow.predecessors(task).find(|(p, _)| !self.placed[p.index()]);
        match missing {
            Some((parent, _)) => {
                let parent = workflow.task_name(parent);
                Err(format!(
                    "precedence: task '{name}' is placed before '{parent}', on which it depends"
                ))
            }
            None => Ok(()),
        }
    }

    fn nowhere(&self, task: TaskId, host: HostId) -> String {
        let (task, host) =
            (self.problem.workflow().task_name(task), &self.problem.platform().host(host).name);
        format!("task '{task}' cannot run on host '{host}'")
    }

    fn best_on(&self, task: TaskId, host: HostId) -> Option<Slot> {
        let procs = self.problem.procs_of(host).map(ProcId);
        let wide = self.problem.workflow().width(task).0 > 1;
        let procs = procs.take(if wide { 1 } else { usize::MAX });
        let slots = procs.map(|proc| self.partial.slot_on(task, proc)).filter(Slot::possible);
        slots.reduce(|best, slot| if slot.finish < best.finish { slot } else { best })
    }
}

impl PlanAccess for PlanState<'_, '_> {
    fn offers(&mut self, task: TaskId) -> Result<Vec<(ProcId, HostId, Slot, f64)>, String> {
        self.check(task)?;
        let problem = self.problem;
        let mut found = Vec::new();
        for host in problem.platform().host_ids() {
            if let Some(slot) = self.best_on(task, host) {
                let seconds = slot.finish - slot.start;
                let width = f64::from(problem.workflow().width(task).0);
                found.push((slot.proc, host, slot, seconds * width * problem.price(slot.proc)));
            }
        }
        if found.is_empty() {
            let name = problem.workflow().task_name(task);
            Err(format!("task '{name}' can run nowhere: every processor that fits it is gone"))
        } else {
            Ok(found)
        }
    }

    fn place(&mut self, task: TaskId, slot: Slot) -> Result<(), String> {
        self.check(task)?;
        self.placed[task.index()] = true;
        self.partial.place(task, slot);
        Ok(())
    }

    fn place_at(&mut self, task: TaskId, host: HostId, start: f64) -> Result<(), String> {
        self.check(task)?;
        let first = ProcId(self.problem.procs_of(host).start);
        let width = self.problem.workflow().width(task).0;
        let seconds = self.problem.exec_on(task, first);
        if !seconds.is_finite() || !start.is_finite() || start < 0.0 {
            return Err(self.nowhere(task, host));
        }
        let procs: Vec<ProcId> = self.problem.procs_of(host).map(ProcId).collect();
        if (width as usize) > procs.len() {
            return Err(self.nowhere(task, host));
        }
        let free = |proc: &&ProcId| {
            approx::le(self.partial.timeline(**proc).earliest(start, seconds), start)
        };
        let mut room: Vec<ProcId> =
            procs.iter().filter(free).take(width as usize).copied().collect();
        let slot = Slot { proc: *room.first().unwrap_or(&first), start, finish: start + seconds };
        if room.len() == width as usize {
            self.partial.place(task, slot);
            let found = self.partial.placement(task);
            if found.is_some_and(|found| approx::eq(found.start, start)) {
                self.placed[task.index()] = true;
                return Ok(());
            }
        } else {
            // Not enough processors are free then. The requested placement is kept for the validator, which will report
            // it; for later offers the task takes the earliest place.
            let next = self.partial.slot_on(task, first);
            self.partial.place(task, next);
        }
        room.extend(procs.iter().filter(|proc| !room.contains(proc)).copied().collect::<Vec<_>>());
        room.truncate(width as usize);
        let placement = match width {
            1 => Placement::new(slot.proc, slot.start, slot.finish),
            _ => Placement::wide(&room, slot.start, slot.finish),
        };
        self.own[task.index()] = Some(placement);
        self.placed[task.index()] = true;
        Ok(())
    }

    fn slot_on(&mut self, task: TaskId, host: HostId) -> Result<Slot, String> {
        self.check(task)?;
        self.best_on(task, host).ok_or_else(|| self.nowhere(task, host))
    }

    fn placement(&self, task: TaskId) -> Option<(ProcId, f64, f64)> {
        let placement = match &self.own[task.index()] {
            Some(own) => own,
            None => self.partial.placement(task)?,
        };
        Some((placement.proc(), placement.start, placement.finish))
    }

    fn is_fixed(&self, task: TaskId) -> bool {
        self.problem.state().fixed(task).is_some()
    }

    fn ready(&self) -> Vec<TaskId> {
        let workflow = self.problem.workflow();
        let placed = |task: TaskId| self.placed[task.index()];
        let ready = |t: &TaskId| !placed(*t) && workflow.predecessors(*t).all(|(p, _)| placed(p));
        workflow.tasks().filter(ready).collect()
    }

    fn seconds(&self, task: TaskId, host: HostId) -> f64 {
        self.problem.exec_on(task, ProcId(self.problem.procs_of(host).start))
    }

    fn transfer(&self, bytes: f64, from: HostId, to: HostId) -> f64 {
        self.problem.transfer(bytes, from, to)
    }

    fn ranks(&self) -> Vec<f64> {
        ranks::upward(self.problem)
    }

    fn host_of(&self, proc: ProcId) -> HostId {
        self.problem.host_of(proc)
    }

    fn now(&self) -> f64 {
        self.problem.state().now
    }

    fn limits(&self) -> (Option<f64>, Option<f64>) {
        let Limits { budget, deadline } = self.request.limits;
        (budget, deadline)
    }

    fn seed(&self) -> u64 {
        self.request.seed
    }
}

type Lent = Arc<Loan<dyn PlanAccess>>;

/// The planning problem that a planner gets.
#[pyclass(frozen, name = "Problem", module = "slackline._native")]
pub(crate) struct Problem_ {
    access: Lent,
    frozen: Arc<Frozen>,
    platform: Arc<Platform>,
    tasks: OnceLock<Vec<TaskId>>,
}

#[pymethods]
impl Problem_ {
    /// Tasks that are still to be placed.
    #[getter]
    fn tasks(&self) -> PyResult<Vec<Task_>> {
        let open = match self.tasks.get() {
            Some(open) => open,
            None => {
                let workflow = self.frozen.workflow();
                let open = self.access.with(|access| {
                    workflow.tasks().filter(|&task| !access.is_fixed(task)).collect::<Vec<_>>()
                })?;
                self.tasks.get_or_init(|| open)
            }
        };
        Ok(open.iter().map(|&id| Task_::new(&self.frozen, id)).collect())
    }

    #[getter]
    fn hosts(&self) -> Vec<Host_> {
        self.platform.host_ids().map(|id| Host_::new(&self.platform, id)).collect()
    }

    /// The date at which planning begins.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        self.access.with(|access| access.now())
    }

    #[getter]
    fn budget(&self) -> PyResult<Option<f64>> {
        self.access.with(|access| access.limits().0)
    }

    #[getter]
    fn deadline(&self) -> PyResult<Option<f64>> {
        self.access.with(|access| access.limits().1)
    }

    #[getter]
    fn seed(&self) -> PyResult<u64> {
        self.access.with(|access| access.seed())
    }

    fn task(&self, task: &Bound<'_, PyAny>) -> PyResult<Task_> {
        Ok(Task_::new(&self.frozen, task_of(task, self.frozen.workflow())?))
    }

    fn host(&self, host: &Bound<'_, PyAny>) -> PyResult<Host_> {
        Ok(Host_::new(&self.platform, host_of(host, &self.platform)?))
    }

    /// Seconds that a task computes on a host; infinite where it does not fit.
    fn seconds(&self, task: &Bound<'_, PyAny>, host: &Bound<'_, PyAny>) -> PyResult<f64> {
        let task = task_of(task, self.frozen.workflow())?;
        let host = host_of(host, &self.platform)?;
        self.access.with(|access| access.seconds(task, host))
    }

    /// Seconds of a transfer between two hosts without contention.
    fn transfer(
        &self,
        bytes: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
    ) -> PyResult<f64> {
        let bytes = crate::quantity::bytes(bytes, "bytes")?;
        let (from, to) = (host_of(source, &self.platform)?, host_of(target, &self.platform)?);
        self.access.with(|access| access.transfer(bytes, from, to))
    }

    /// The upward rank of every task, by position.
    fn ranks(&self) -> PyResult<Vec<f64>> {
        self.access.with(|access| access.ranks())
    }
}

/// A partial schedule.
#[pyclass(frozen, name = "Partial", module = "slackline._native")]
pub(crate) struct Partial_ {
    access: Lent,
    frozen: Arc<Frozen>,
    platform: Arc<Platform>,
}

impl Partial_ {
    fn offer(&self, host: HostId, slot: Slot, cost: f64) -> Offer_ {
        Offer_ {
            host: Host_::new(&self.platform, host),
            start: slot.start,
            finish: slot.finish,
            seconds: slot.finish - slot.start,
            cost,
            processor: slot.proc.0,
        }
    }
}

#[pymethods]
impl Partial_ {
    /// Lists one offer for each host on which a task fits; its parents have to be placed.
    fn offers(&self, task: &Bound<'_, PyAny>) -> PyResult<Vec<Offer_>> {
        let id = task_of(task, self.frozen.workflow())?;
        let offers = self
            .access
            .with(|access| access.offers(id))?
            .map_err(|why| errors::broken_rule(&why))?;
        let made =
            |(_, host, slot, cost): (ProcId, HostId, Slot, f64)| self.offer(host, slot, cost);
        Ok(offers.into_iter().map(made).collect())
    }

    /// Places a task as in an offer or on a host: as early as possible, or at a given date, which is validated with the
    /// finished plan.
    #[pyo3(signature = (task, on, start = None))]
    fn place(
        &self,
        task: &Bound<'_, PyAny>,
        on: &Bound<'_, PyAny>,
        start: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let id = task_of(task, self.frozen.workflow())?;
        let done = match (on.cast::<Offer_>(), start) {
            (Ok(offer), None) => {
                let offer = offer.get();
                let (proc, start, finish) = (ProcId(offer.processor), offer.start, offer.finish);
                self.access.with(|access| {
                    // The offer may be outdated, or of another task: it is computed again.
                    let now = access.slot_on(id, access.host_of(proc))?;
                    let same = now.start <= start && now.finish - now.start == finish - start;
                    access.place(
                        id,
                        if same && now.proc == proc {
                            Slot { proc, start: now.start, finish: now.finish }
                        } else {
                            now
                        },
                    )
                })
            }
            (Ok(offer), Some(date)) => {
                let (host, date) = (offer.get().host.id, number(date, "start")?);
                self.access.with(|access| access.place_at(id, host, date))
            }
            (Err(_), date) => {
                let host = host_of(on, &self.platform)?;
                match date {
                    Some(date) => {
                        let date = number(date, "start")?;
                        self.access.with(|access| access.place_at(id, host, date))
                    }
                    None => self.access.with(|access| {
                        let slot = access.slot_on(id, host)?;
                        access.place(id, slot)
                    }),
                }
            }
        };
        done?.map_err(|why| errors::broken_rule(&why))
    }

    /// Tasks without a place whose parents all have one.
    #[getter]
    fn ready(&self) -> PyResult<Vec<Task_>> {
        let ready = self.access.with(|access| access.ready())?;
        Ok(ready.into_iter().map(|id| Task_::new(&self.frozen, id)).collect())
    }

    /// Host, start and finish of a task that has a place.
    fn placement(&self, task: &Bound<'_, PyAny>) -> PyResult<Option<(Host_, f64, f64)>> {
        let id = task_of(task, self.frozen.workflow())?;
        let found = self.access.with(|access| {
            access.placement(id).map(|(proc, start, finish)| (access.host_of(proc), start, finish))
        })?;
        Ok(found.map(|(host, start, finish)| (Host_::new(&self.platform, host), start, finish)))
    }
}

/// Calls a Python function as a planner; its plan is validated.
fn plan(
    function: &Py<PyAny>,
    name: &'static str,
    problem: &Problem<'_>,
    request: &Request,
) -> Result<Schedule, PlanError> {
    let unsupported = |why: String| PlanError::Unsupported { algorithm: name, why };
    if errors::has_raised() {
        return Err(unsupported("it raised before".to_string()));
    }
    let placed = |task| problem.state().fixed(task).is_some();
    let mut state = PlanState {
        problem,
        request,
        partial: Partial::new(problem),
        own: vec![None; problem.tasks()],
        placed: problem.workflow().tasks().map(placed).collect(),
    };
    let frozen = Arc::new(Frozen::shared(Arc::new(problem.workflow().clone())));
    let platform = Arc::new(problem.platform().clone());
    let access: *mut (dyn PlanAccess + '_) = &mut state;
    // SAFETY: only the lifetime of the trait object changes, and `state` is neither used nor dropped before `lend` has
    // returned.
    #[allow(unsafe_code)]
    let access = unsafe {
        Lendable::new(std::mem::transmute::<
            *mut (dyn PlanAccess + '_),
            *mut (dyn PlanAccess + 'static),
        >(access))
    };
    let called = lend("the problem of a planner", access, |loan| {
        Python::attach(|py| {
            let (frozen_, platform_) = (frozen.clone(), platform.clone());
            let problem = Problem_ {
                access: loan.clone(),
                frozen: frozen.clone(),
                platform: platform.clone(),
                tasks: OnceLock::new(),
            };
            let partial = Partial_ { access: loan.clone(), frozen: frozen_, platform: platform_ };
            function.bind(py).call1((problem, partial)).map(drop)
        })
    });
    if let Err(error) = called {
        let why = error.to_string();
        errors::raise_later(error);
        return Err(unsupported(why));
    }
    let own = std::mem::take(&mut state.own);
    let mut schedule = state.partial.into_schedule();
    for (at, placement) in own.into_iter().enumerate() {
        if let Some(placement) = placement {
            schedule.place(TaskId::new(at), placement);
        }
    }
    match validate(problem, &schedule, &Limits::default()).first() {
        None => Ok(schedule),
        Some(violation) => {
            let why = format!("planner '{name}': {violation}");
            errors::raise_later(errors::broken_rule(&why));
            Err(unsupported(why))
        }
    }
}

fn planner(name: &str, function: Py<PyAny>) -> Arc<Plan> {
    let name: Arc<str> = name.into();
    Arc::new(move |problem: &Problem<'_>, request: &Request| {
        let known = slackline_schedule::registry::find(&name).map_or("a planner", |a| a.name);
        plan(&function, known, problem, request)
    })
}

/// Planners that exist for one request only.
pub(crate) fn own_planners(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Arc<Plan>)>> {
    let mut own = Vec::new();
    for item in given.try_iter()? {
        let (name, function): (String, Py<PyAny>) = item?.extract()?;
        if !added::is_free(&name) {
            return Err(errors::bad_input(&format!("there is a planner '{name}' already")));
        }
        let plan = planner(&name, function);
        own.push((name, plan));
    }
    Ok(own)
}

/// Registers a planner for the whole process.
#[pyfunction]
pub(crate) fn add_planner(name: &str, about: &str, function: Py<PyAny>) -> PyResult<()> {
    if !added::is_free(name) {
        return Err(errors::bad_input(&format!("there is a planner '{name}' already")));
    }
    added::add(name, about, planner(name, function));
    Ok(())
}
