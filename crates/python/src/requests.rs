//! Requests with values of Python in the place of files, and what comes of them.

use crate::errors::{self, bad_input, input};
use crate::planner::own_planners;
use crate::platform::{Platform_, Scenario_};
use crate::policy::own_policies;
use crate::read::files;
use crate::results::{Plan_, Run_};
use crate::workflow::Workflow_;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use signal_hook::SigId;
use signal_hook::consts::SIGINT;
use slackline_core::model::{Platform, Problem};
use slackline_core::plan::PlanAnswer;
use slackline_core::simulation::{Outputs, Ran};
use slackline_core::{
    Answer, AnyRequest, Context, Failure, Observer, PlanRequest, RunAnswer, RunRequest,
    SimulationAnswer, run as real,
};
use slackline_io::FileAccess;
use slackline_react::added as policies;
use slackline_schedule::added as planners;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Collects remarks, and listens to Ctrl-C while Rust works.
#[derive(Default)]
pub(crate) struct Listener {
    warnings: Vec<String>,
    notes: Vec<String>,
    signal: Option<(SigId, Arc<AtomicBool>)>,
    interrupted: bool,
}

impl Listener {
    pub(crate) fn warnings(self) -> Vec<String> {
        self.warnings.clone()
    }

    fn end(&mut self) {
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
        flag
    }

    fn ignore(&mut self) {
        self.end();
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
/// for this request alone.
#[pyfunction]
#[pyo3(signature = (document, values, own_planners_, own_policies_, wants_trace = true))]
pub(crate) fn carry_out(
    py: Python<'_>,
    document: &str,
    values: &Bound<'_, PyAny>,
    own_planners_: &Bound<'_, PyAny>,
    own_policies_: &Bound<'_, PyAny>,
    wants_trace: bool,
) -> PyResult<Reply> {
    let request =
        AnyRequest::parse(document).map_err(|error| bad_input(&plain(&error.to_string())))?;
    let written = serde_json::to_string_pretty(&request).map_err(input)?;
    let access = with_values(values)?;
    let named = named_files(&request);
    let (own_planners, own_policies) = (own_planners(own_planners_)?, own_policies(own_policies_)?);
    let (done, answer, warnings, notes, interrupted) = errors::guarded(|| {
        py.detach(|| {
            let mut listener = Listener::default();
            let done = policies::within(own_policies, || {
                planners::within(own_planners, || {
                    let mut context = Context::new(access, &mut listener);
                    work(request, &mut context, wants_trace)
                })
            });
            listener.end();
            let (done, answer) = done.map_err(|failure| errors::of_failure(failure, &named))?;
            let answer = answer.to_json().map_err(|failure| errors::of_failure(failure, &named))?;
            let interrupted = listener.interrupted;
            let notes = std::mem::take(&mut listener.notes);
            Ok((done, answer, std::mem::take(&mut listener.warnings), notes, interrupted))
        })
    })?;
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
    let input = Arc::new(request.read(context)?);
    let problem = input.problem()?;
    if input.request.front {
        let front = input.front(&problem, context)?;
        return Ok((Done::Document, Answer::Plan(PlanAnswer::Front(front))));
    }
    let plans = input.plans(&problem, context)?;
    let answer = plans.report();
    let one = matches!(answer, PlanAnswer::Plan(_));
    let chosen: Vec<_> = match one {
        true => vec![plans.best()],
        false => plans.plans.iter().collect(),
    };
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
        let session = input.rehearsal()?;
        let problem = session.problem()?;
        let (ran, bound) = session.rehearse(&problem, context)?;
        let report = slackline_core::SimulationReport::new(&problem, &ran, bound);
        let run = Run_::of_session(&session, ran, None);
        return Ok((Done::Runs(vec![run]), Answer::Run(RunAnswer::Rehearsal(Box::new(report)))));
    }
    let open = input.begin(context)?;
    let path = open.path.clone();
    let (session, driver) = open.parts();
    let problem: Problem<'_> = session.problem()?;
    let finished = driver.drive(&session, &problem, context)?;
    let report = real::report(&problem, &path, &finished)?;
    let run = Run_::of_session(&session, finished.ran, Some(&path));
    Ok((Done::Runs(vec![run]), Answer::Run(RunAnswer::Run(Box::new(report)))))
}
