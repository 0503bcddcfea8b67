//! Requests with values of Python in the place of files, and what comes of them.

use crate::errors::{self, bad_input, input};
use crate::planner::own_planners;
use crate::platform::{Platform_, Scenario_};
use crate::policy::own_policies;
use crate::read::files;
use crate::results::{Plan_, Run_};
use crate::workflow::Workflow_;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::intern;
use pyo3::prelude::*;
use signal_hook::SigId;
use signal_hook::consts::SIGINT;
use slackline_core::engine::RunSnapshot;
use slackline_core::machines::folder::Failure as FailedAttempt;
use slackline_core::model::Schedule;
use slackline_core::model::{Platform, Problem};
use slackline_core::plan::PlanAnswer;
use slackline_core::schedule::Watch;
use slackline_core::simulation::{Outputs, Ran};
use slackline_core::{
    Answer, AnyRequest, Context, Failure, Observer, PlanRequest, RunAnswer, RunRequest, RunView,
    SimulationAnswer,
    run::{self as real, Rehearsal, RehearsalReport, Start},
};
use slackline_io::FileAccess;
use slackline_react::added as policies;
use slackline_schedule::added as planners;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Time between two reports of progress.
const EVERY: Duration = Duration::from_millis(200);

/// Collects remarks, shows progress where that is wanted, and listens to Ctrl-C while Rust works.
#[derive(Default)]
pub(crate) struct Listener {
    warnings: Vec<String>,
    notes: Vec<String>,
    signal: Option<(SigId, Arc<AtomicBool>)>,
    interrupted: bool,
    /// An object of Python that draws bars.
    bars: Option<Arc<Py<PyAny>>>,
}

/// Draws progress: how much of how many (unknown: seconds that have passed), and the best result so far. A bar that cannot be
/// drawn is no reason to end the work.
fn draw(bars: &Py<PyAny>, what: &str, done: f64, total: Option<usize>, best: Option<f64>) {
    Python::attach(|py| {
        if let Err(error) = bars.call_method1(py, intern!(py, "show"), (what, done, total, best)) {
            error.write_unraisable(py, None);
        }
    });
}

/// Draws how many tasks of a real run are done.
struct DrawnRun {
    bars: Arc<Py<PyAny>>,
    next: Instant,
}

impl RunView for DrawnRun {
    fn see(&mut self, glance: &RunSnapshot<'_>) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + EVERY;
        let tasks = &glance.situation.tasks;
        draw(&self.bars, "run", tasks.done() as f64, Some(tasks.len()), None);
    }

    fn finish(self: Box<Self>) {}
}

impl Listener {
    pub(crate) fn warnings(self) -> Vec<String> {
        self.warnings.clone()
    }

    fn end(&mut self) {
        errors::set_stop(None);
        if let Some((id, flag)) = self.signal.take() {
            signal_hook::low_level::unregister(id);
            self.interrupted |= flag.load(Ordering::Acquire);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.end();
    }
}

impl Observer for Listener {
    fn note(&mut self, text: &str) {
        self.notes.push(text.to_string());
    }

    fn warning(&mut self, text: &str) {
        self.warnings.push(text.to_string());
    }

    fn listen(&mut self) -> Arc<AtomicBool> {
        self.end();
        let flag = Arc::new(AtomicBool::new(false));
        // Handlers are chained: that of Python takes note of the signal, too.
        if let Ok(id) = signal_hook::flag::register(SIGINT, flag.clone()) {
            self.signal = Some((id, flag.clone()));
        }
        errors::set_stop(Some(flag.clone()));
        flag
    }

    fn ignore(&mut self) {
        self.end();
    }

    fn search(&mut self, what: &str, watch: Option<&Watch>, work: &mut dyn FnMut()) {
        let Some(bars) = self.bars.clone() else { return work() };
        let (begin, done) = (Instant::now(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            // The work calls planners of Python: it stays on this thread, and another one draws.
            let looker = std::thread::Builder::new().spawn_scoped(scope, || {
                while !done.load(Ordering::Acquire) {
                    let best = watch.and_then(Watch::best);
                    draw(&bars, what, begin.elapsed().as_secs_f64(), None, best);
                    std::thread::park_timeout(EVERY);
                }
            });
            struct Done<'l>(&'l AtomicBool, Option<std::thread::Thread>);
            impl Drop for Done<'_> {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Release);
                    if let Some(thread) = self.1.take() {
                        thread.unpark();
                    }
                }
            }
            let _done = Done(&done, looker.ok().map(|looker| looker.thread().clone()));
            work();
        });
    }

    fn progress(&mut self, what: &str, done: usize, total: usize) {
        if let Some(bars) = &self.bars {
            draw(bars, what, done as f64, Some(total), None);
        }
        errors::end_if_interrupted();
    }

    fn view<'a>(
        &mut self,
        _problem: &'a Problem<'a>,
        _planned: &'a Schedule,
        _failures: Receiver<FailedAttempt>,
    ) -> Option<Box<dyn RunView + 'a>> {
        let bars = self.bars.clone()?;
        Some(Box::new(DrawnRun { bars, next: Instant::now() }))
    }
}

/// Returns access to files in which values replace the files of a request.
fn with_values(values: &Bound<'_, PyAny>) -> PyResult<FileAccess> {
    let mut access = files();
    for item in values.try_iter()? {
        let (name, value): (String, Bound<'_, PyAny>) = item?.extract()?;
        let name = Path::new(&name);
        access = if let Ok(workflow) = value.cast::<Workflow_>() {
            access.with_value(name, workflow.get().frozen()?.value())
        } else if let Ok(platform) = value.cast::<Platform_>() {
            access.with_value(name, platform.get().platform.clone())
        } else if let Ok(plan) = value.cast::<Plan_>() {
            access.with_value(name, plan.get().schedule().clone())
        } else if let Ok(pair) = value.extract::<(Bound<'_, Scenario_>, Bound<'_, Platform_>)>() {
            let platform: Arc<Platform> = pair.1.get().platform.clone();
            access.with_value(name, Arc::new(pair.0.get().on(&platform, 0)?))
        } else {
            let found = value.get_type();
            return Err(bad_input(&format!("{found} cannot stand for a file")));
        };
    }
    Ok(access)
}

/// Results of a request.
enum Done {
    Plans(Vec<Plan_>),
    Runs(Vec<Run_>),
    Document,
}

/// The answer to a request: objects, the request with its defaults, the document, and remarks.
type Reply = (Vec<Py<PyAny>>, String, String, Vec<String>, Vec<String>, bool);

/// Carries a request out. `values` replace files by name; `own` are planners and policies of Python by name,
/// for this request alone; `bars` shows progress.
#[pyfunction]
#[pyo3(signature = (document, values, own_planners_, own_policies_, wants_trace = true, bars = None))]
pub(crate) fn carry_out(
    py: Python<'_>,
    document: &str,
    values: &Bound<'_, PyAny>,
    own_planners_: &Bound<'_, PyAny>,
    own_policies_: &Bound<'_, PyAny>,
    wants_trace: bool,
    bars: Option<Py<PyAny>>,
) -> PyResult<Reply> {
    let request =
        AnyRequest::parse(document).map_err(|error| bad_input(&plain(&error.to_string())))?;
    let written = serde_json::to_string_pretty(&request).map_err(input)?;
    let access = with_values(values)?;
    let named = named_files(&request);
    let own = (own_planners(own_planners_)?, own_policies(own_policies_)?);
    let (done, answer, remarks) = listened(py, own, bars, &named, |listener| {
        work(request, &mut Context::new(access, listener), wants_trace)
    })?;
    reply(py, done, written, answer, remarks)
}

/// Continues with a run on real machines from its folder. Its planner and policy may be of Python: they are found by the names
/// under which the run was begun.
#[pyfunction]
#[pyo3(signature = (folder, own_planners_, own_policies_, force = false, bars = None))]
pub(crate) fn resume(
    py: Python<'_>,
    folder: &str,
    own_planners_: &Bound<'_, PyAny>,
    own_policies_: &Bound<'_, PyAny>,
    force: bool,
    bars: Option<Py<PyAny>>,
) -> PyResult<Reply> {
    let own = (own_planners(own_planners_)?, own_policies(own_policies_)?);
    let mut request = RunRequest::default();
    let (done, answer, remarks) = listened(py, own, bars, &[folder.to_string()], |listener| {
        let mut context = Context::new(files(), listener);
        let open = match real::OpenRun::resume(Path::new(folder), force, false, &mut context)? {
            Start::Run(open) => *open,
            Start::UpToDate(report) => {
                return Ok((Done::Document, Answer::Run(RunAnswer::UpToDate(report))));
            }
        };
        request = open.session.request.clone();
        driven(open, &mut context)
    })?;
    let written = serde_json::to_string_pretty(&AnyRequest::Run(request)).map_err(input)?;
    reply(py, done, written, answer, remarks)
}

/// Planners and policies of Python by name.
type Own = (Vec<(String, Arc<planners::Plan>)>, Vec<(String, Arc<policies::Make>)>);

/// Carries out work with the interpreter released and planners and policies of Python at hand; returns its results, its
/// document and the listener's remarks.
fn listened(
    py: Python<'_>,
    (own_planners, own_policies): Own,
    bars: Option<Py<PyAny>>,
    named: &[String],
    work: impl FnOnce(&mut Listener) -> Result<(Done, Answer), Failure> + Send,
) -> PyResult<(Done, String, Remarks)> {
    errors::guarded(|| {
        py.detach(|| {
            let mut listener = Listener::default();
            listener.bars = bars.map(Arc::new);
            let done = policies::within(own_policies, || {
                planners::within(own_planners, || work(&mut listener))
            });
            listener.end();
            let (done, answer) = done.map_err(|failure| errors::of_failure(failure, named))?;
            let answer = answer.to_json().map_err(|failure| errors::of_failure(failure, named))?;
            let interrupted = listener.interrupted;
            let notes = std::mem::take(&mut listener.notes);
            let warnings = std::mem::take(&mut listener.warnings);
            Ok((done, answer, Remarks { warnings, notes, interrupted }))
        })
    })
}

/// Remarks that were made while a request was carried out, and whether Ctrl-C ended it.
struct Remarks {
    warnings: Vec<String>,
    notes: Vec<String>,
    interrupted: bool,
}

fn reply(
    py: Python<'_>,
    done: Done,
    written: String,
    answer: String,
    remarks: Remarks,
) -> PyResult<Reply> {
    let Remarks { warnings, notes, interrupted } = remarks;
    if interrupted {
        // The search has ended with what it has: that is the answer, the interruption is served.
        match py.check_signals() {
            Err(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => return Err(error),
            _ => {}
        }
    }
    let objects = match done {
        Done::Plans(plans) => plans
            .into_iter()
            .map(|plan| Ok(Py::new(py, plan)?.into_any()))
            .collect::<PyResult<Vec<_>>>()?,
        Done::Runs(runs) => runs
            .into_iter()
            .map(|run| Ok(Py::new(py, run)?.into_any()))
            .collect::<PyResult<Vec<_>>>()?,
        Done::Document => Vec::new(),
    };
    Ok((objects, written, answer, warnings, notes, interrupted))
}

/// Removes the place from an error about the request's text, which the caller never saw.
fn plain(message: &str) -> String {
    let end = message.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(0);
    message[end..].trim_start().replace("unknown member", "there is no member")
}

/// The files that a request names.
fn named_files(request: &AnyRequest) -> Vec<String> {
    let (sources, more) = match request {
        AnyRequest::Plan(request) => (&request.input, None),
        AnyRequest::Simulate(request) => (&request.setup.input, request.setup.scenario.clone()),
        AnyRequest::Compare(request) => (&request.setup.input, request.setup.scenario.clone()),
        AnyRequest::Run(request) => (&request.input, None),
    };
    let single = [&sources.platform, &sources.instance, &sources.arrivals];
    let all = sources.workflows.iter().chain(single.into_iter().flatten()).chain(more.iter());
    all.map(|path: &PathBuf| path.display().to_string()).collect()
}

fn work(
    request: AnyRequest,
    context: &mut Context<'_>,
    wants_trace: bool,
) -> Result<(Done, Answer), Failure> {
    match request {
        AnyRequest::Plan(request) => plan(request, context),
        AnyRequest::Simulate(request) => {
            simulate(request.setup, vec![request.policy], wants_trace, context)
        }
        AnyRequest::Compare(request) => {
            if request.policies.is_empty() {
                return Err(Failure::input("policies: none is named"));
            }
            simulate(request.setup, request.policies, wants_trace, context)
        }
        AnyRequest::Run(request) => run(request, context),
    }
}

fn plan(request: PlanRequest, context: &mut Context<'_>) -> Result<(Done, Answer), Failure> {
    if let Some(input) = request.choices(context)? {
        let problem = input.problem()?;
        return Ok((Done::Document, Answer::Plan(input.plan(&problem)?.report())));
    }
    let input = Arc::new(request.read(context)?);
    let problem = input.problem()?;
    if input.request.front {
        let front = input.front(&problem, context)?;
        return Ok((Done::Document, Answer::Plan(PlanAnswer::Front(front))));
    }
    let plans = input.plans(&problem, context)?;
    let answer = plans.report();
    let one = matches!(answer, PlanAnswer::Plan(_));
    let chosen: Vec<_> = if one { vec![plans.best()] } else { plans.plans.iter().collect() };
    let best = plans.best();
    let made = chosen.into_iter().map(|planned| {
        Plan_::new(&input, planned, (plans.lower_bound, std::ptr::eq(planned, best)))
    });
    let made: Vec<Plan_> = made.collect();
    Ok((Done::Plans(made), Answer::Plan(answer)))
}

fn simulate(
    setup: slackline_core::request::SimulationSetup,
    policies: Vec<String>,
    wants_trace: bool,
    context: &mut Context<'_>,
) -> Result<(Done, Answer), Failure> {
    if setup.is_replicated() {
        let report = setup.replicate(&policies, context)?;
        return Ok((Done::Document, Answer::Simulation(SimulationAnswer::Replications(report))));
    }
    let input = Arc::new(setup.read(policies, context)?);
    let problem = input.problem()?;
    let wanted = wants_trace;
    let outputs = Outputs { report: true, decisions: wanted, work: wanted, ..Outputs::default() };
    let mut simulated = input.simulate(&problem, &outputs, context)?;
    simulated.delay(&input);
    let answer = simulated.report()?;
    let loaded = Arc::new(input.loaded.clone());
    let models = input.setup.models.clone();
    let runs = std::mem::take(&mut simulated.runs);
    let runs = runs.into_iter().map(|ran: Ran| Run_::new(&loaded, &models, ran, None)).collect();
    Ok((Done::Runs(runs), Answer::Simulation(answer)))
}

fn run(request: RunRequest, context: &mut Context<'_>) -> Result<(Done, Answer), Failure> {
    let input = request.read(context)?;
    if input.request.dry_run {
        let session = match input.rehearsal(context)? {
            Rehearsal::Run(session) => session,
            Rehearsal::UpToDate(report) => {
                return Ok((Done::Document, Answer::Run(RunAnswer::UpToDate(report))));
            }
        };
        let problem = session.problem()?;
        let (ran, bound) = session.rehearse(&problem, context)?;
        let report = RehearsalReport::new(&session, &problem, &ran, bound);
        let run = Run_::of_session(&session, ran, None);
        return Ok((Done::Runs(vec![run]), Answer::Run(RunAnswer::Rehearsal(Box::new(report)))));
    }
    match input.begin(context)? {
        Start::Run(open) => driven(*open, context),
        Start::UpToDate(report) => Ok((Done::Document, Answer::Run(RunAnswer::UpToDate(report)))),
    }
}

/// Drives a real run to its end.
fn driven(open: real::OpenRun, context: &mut Context<'_>) -> Result<(Done, Answer), Failure> {
    let path = open.path.clone();
    let (session, driver) = open.parts();
    let problem: Problem<'_> = session.problem()?;
    let finished = driver.drive(&session, &problem, context)?;
    let report = real::report(&problem, &path, &finished)?;
    let run = Run_::of_session(&session, finished.ran, Some(&path));
    Ok((Done::Runs(vec![run]), Answer::Run(RunAnswer::Run(Box::new(report)))))
}
