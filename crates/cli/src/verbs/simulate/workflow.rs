//! `slackline simulate WORKFLOW`: a schedule or a policy executed on a simulated platform.

use super::document::{Document, Documents};
use super::stage::Stage;
use super::{Simulate, curve, report, several, stream, why};
use crate::failure::{Failure, no_plan};
use crate::input::{Past, read_scenario};
use crate::output::Output;
use crate::picture;
use crate::search::unheeded;
use crate::told::check_needs;
use slackline_analysis::cost::Money;
use slackline_analysis::load_series::Course;
use slackline_analysis::metrics::Metrics;
use slackline_analysis::overheads::delayed;
use slackline_analysis::plan_check::Check;
use slackline_analysis::workflow_metrics::{Beside, Served, beside, served};
use slackline_engine::{DecisionLog, Ending, Outcome};
use slackline_formats::schedule_file;
use slackline_io::{AtomicFile, FileAccess};
use slackline_model::nearest::did_you_mean;
use slackline_model::parameter::{self, Given};
use slackline_model::scenario::Scenario;
use slackline_model::schedule::{Detail, Limits, validate};
use slackline_model::{Problem, Schedule};
use slackline_react::StaticPlan;
use slackline_react::gtp::Period;
use slackline_react::registry::{self as policies, Entry, Options};
use slackline_schedule::qos::pareto::Point;
use slackline_schedule::{Algorithm, Heed, Planner, registry};
use slackline_view::gantt::{self, SvgOptions};
use slackline_view::{self as view, Chart, MarkKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most looks of a periodic policy over a plan: more would not end.
const MOST_LOOKS: f64 = 1e6;

/// One run and what drove it.
pub(in crate::verbs) struct Ran {
    pub(in crate::verbs) name: String,
    /// What was given of the parameters of policy and planner.
    pub(in crate::verbs) set: Given,
    pub(in crate::verbs) outcome: Outcome,
    pub(in crate::verbs) metrics: Metrics,
    pub(in crate::verbs) money: Money,
    /// What was wanted of the one workflow.
    pub(in crate::verbs) limits: Limits,
    /// How each of several workflows fared.
    pub(in crate::verbs) served: Vec<Served>,
    /// The same beside the other policies.
    pub(in crate::verbs) beside: Option<Beside>,
    /// What the first plan promised.
    pub(in crate::verbs) planned: Arc<Schedule>,
    /// What it decided.
    pub(in crate::verbs) log: DecisionLog,
    pub(in crate::verbs) wall_seconds: f64,
    /// What the policy tells besides.
    pub(in crate::verbs) told: Vec<(&'static str, Detail)>,
    /// What made the difference to the plan.
    pub(in crate::verbs) check: Option<Check>,
    /// It was done on real machines.
    pub(in crate::verbs) real: bool,
    /// What the run took that the workflow was recorded from.
    pub(in crate::verbs) recorded: Option<f64>,
    /// Its trace, where one was written as it went on.
    pub(in crate::verbs) trace: Option<AtomicFile>,
}

impl Ran {
    /// A run of one workflow and what its first plan promised.
    pub(in crate::verbs) fn of(
        name: String,
        outcome: Outcome,
        metrics: Metrics,
        money: Money,
        planned: Schedule,
    ) -> Ran {
        let planned = Arc::new(planned);
        Ran {
            name,
            set: Given::new(),
            outcome,
            metrics,
            money,
            limits: Limits::default(),
            served: Vec::new(),
            beside: None,
            planned,
            log: DecisionLog::default(),
            wall_seconds: 0.0,
            told: Vec::new(),
            check: None,
            real: false,
            recorded: None,
            trace: None,
        }
    }

    /// Whether the run of one workflow kept to its limits, where it has any.
    pub(super) fn keeps_limits(&self) -> Option<bool> {
        let Limits { budget, deadline } = self.limits;
        let limited = budget.is_some() || deadline.is_some();
        let point = Point { makespan: self.outcome.makespan, cost: self.money.total };
        limited.then(|| self.unfinished().is_none() && point.excess(&self.limits) == 0.0)
    }

    /// The workflows of each owner, where any has one.
    pub(super) fn by_owner(&self) -> Vec<(&str, Vec<&Served>)> {
        let mut owners: Vec<(&str, Vec<&Served>)> = Vec::new();
        for (arrived, served) in self.outcome.arrived.iter().zip(&self.served) {
            let owner = arrived.terms.owner.as_str();
            match owners.iter_mut().find(|(o, _)| *o == owner) {
                Some((_, all)) => all.push(served),
                None => owners.push((owner, vec![served])),
            }
        }
        owners.retain(|_| self.outcome.arrived.iter().any(|a| !a.terms.owner.is_empty()));
        owners
    }

    /// The workflows that were given up, and why the first of them was.
    pub(super) fn abandoned(&self) -> Option<(Vec<&str>, &str)> {
        let given_up = || self.outcome.arrived.iter().filter(|a| a.abandoned.is_some());
        let why = given_up().next()?.abandoned.as_deref()?;
        Some((given_up().map(|a| a.name.as_str()).collect(), why))
    }

    /// Tells what this run differs by from its plan, given what the plan comes to undisturbed.
    pub(in crate::verbs) fn explain(&mut self, undisturbed: Option<Check>) {
        self.check = undisturbed.map(|check| {
            let simulated = self.outcome.makespan;
            let levels = simulated - (check.simulated - check.levels);
            Check { simulated, levels, ..check }
        });
    }

    /// Puts the dates of plan and run off by a wait; charts and traces count from the first task's.
    pub(in crate::verbs) fn delay(&mut self, wait: f64) {
        if wait == 0.0 {
            return;
        }
        self.outcome.schedule = delayed(std::mem::take(&mut self.outcome.schedule), wait);
        self.outcome.makespan += wait;
        self.planned = Arc::new(delayed(Schedule::clone(&self.planned), wait));
    }

    /// Why it did not finish.
    pub(in crate::verbs) fn unfinished(&self) -> Option<&str> {
        match &self.outcome.ending {
            Ending::Finished => None,
            Ending::CannotFinish(why) => Some(why),
        }
    }
}

pub(super) fn simulate(args: &Simulate, output: &mut Output) -> Result<(), Failure> {
    let mut scenario = match &args.scenario {
        Some(path) => read_scenario(&output.files, path)?,
        None => Scenario::default(),
    };
    let (mut world, arrivals) = stream::read(args, &scenario, output)?;
    if scenario.arrivals.is_empty() {
        scenario.measured = world.measured.take();
    }
    let problem = world.problem(&args.model)?;
    if args.alone && arrivals.is_empty() {
        let message = "--alone compares workflows that arrive with themselves; none arrives";
        return Err(Failure::input(message).with_help("--arrivals FILE says who does"));
    }
    let mut stage = Stage::new(args, &world, &problem, scenario, arrivals)?;
    stage.quiet = output.quiet;
    // Several are compared by their figures.
    if !output.quiet && !args.json && args.compare.len() < 2 {
        stage.is_shown();
    }
    let mut runs = runs(args, &mut stage, output)?;
    if runs.len() > 1 && runs.iter().all(|r| !r.served.is_empty()) {
        let all: Vec<Vec<Served>> = runs.iter().map(|r| r.served.clone()).collect();
        for (ran, beside) in runs.iter_mut().zip(beside(&all)) {
            ran.beside = Some(beside);
        }
    }
    let is_read = args.json || !output.quiet;
    if let [one] = runs.as_mut_slice()
        && one.unfinished().is_none()
        && is_read
    {
        one.explain(stage.check(one, output));
    }
    let mut written = Vec::new();
    let only = runs.len() == 1;
    let wait = args.overheads.wait();
    for ran in &mut runs {
        let names = [&args.gantt, &args.trace, &args.decisions]
            .map(|p| p.as_ref().map(|p| own_name(p, &ran.name, only)));
        let [gantt, _, decisions] = &names;
        if let Some(file) = ran.trace.take() {
            file.commit()?;
        }
        if let Some(path) = gantt {
            draw(&output.files, &problem, ran, path)?;
        }
        if let Some(path) = decisions {
            output.files.write(path, |out| ran.log.write(out))?;
        }
        written.extend(names.into_iter().flatten());
        ran.delay(wait);
        ran.recorded = Past::makespan(world.past.as_ref());
    }
    if let Some(path) = &args.progress {
        let svg = curve::svg(&problem, &runs);
        picture::write(&output.files, path, &svg)?;
        written.push(path.clone());
    }
    if let Some(path) = &args.same_decisions {
        compare_decisions(&output.files, path, &runs)?;
    }
    if args.json {
        let lower_bound = stage.lower_bound()? + wait;
        let documents: Vec<Document<'_>> =
            runs.iter().map(|r| Document::new(&problem, r, lower_bound)).collect();
        match documents.as_slice() {
            [one] => output.json(one)?,
            many => output.json(&Documents { schema: "slackline/simulations/1", runs: many })?,
        }
    } else if !output.quiet {
        match runs.as_slice() {
            [one] => report::one(&problem, one, output)?,
            several => report::compare(&problem, several, output)?,
        }
        for ran in runs.iter().filter(|_| args.why) {
            output.say(&why::told(ran, output.width))?;
        }
        output.say(&Past::told(world.past.as_ref(), output.width))?;
        if args.scenario.is_some() {
            output.note("one world proves little: --scenario FOLDER or --worlds N simulate many");
        }
        for path in written {
            output.say(&format!("\nWritten: {}", path.display()))?;
        }
        let named = [&args.gantt, &args.trace, &args.decisions, &args.progress];
        output.say(if named.iter().any(|n| n.is_some()) { "\n" } else { "" })?;
    }
    if let [ran] = runs.as_slice()
        && ran.unfinished().is_none()
        && let Some((names, why)) = ran.abandoned()
    {
        let which = names.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
        return Err(Failure::work(format!("{} gave up {which}: {why}", ran.name)));
    }
    // A comparison has done its work where at least one policy has.
    match runs.iter().map(|r| (r, r.unfinished())).collect::<Vec<_>>()[..] {
        [(one, Some(why))] => Err(Failure::work(format!("{} cannot finish: {why}", one.name))),
        [(_, Some(why)), ref rest @ ..] if rest.iter().all(|(_, w)| w.is_some()) => {
            Err(Failure::work(format!("none of these policies can finish: {why}")))
        }
        _ => Ok(()),
    }
}

/// Fails where a run decided otherwise than a log says.
fn compare_decisions(files: &FileAccess, path: &Path, runs: &[Ran]) -> Result<(), Failure> {
    let [ran] = runs else {
        return Err(Failure::input("--same-decisions compares one run; several were asked for"));
    };
    let text = files.read_text(path)?;
    let log = DecisionLog::read(&mut text.as_bytes())
        .map_err(|why| Failure::input(format!("{}: {why}", path.display())))?;
    match ran.log.first_difference(&log) {
        None => Ok(()),
        Some((call, why)) => {
            let message =
                format!("decides otherwise than {} at call {call}: {why}", path.display());
            Err(Failure::work(message))
        }
    }
}

/// `run.svg` of one run, `run.gtp-c.svg` of one among several.
fn own_name(path: &Path, policy: &str, only: bool) -> PathBuf {
    if only {
        return path.to_path_buf();
    }
    let policy = policy.replace('/', "-");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match path.extension() {
        Some(end) => path.with_file_name(format!("{stem}.{policy}.{}", end.to_string_lossy())),
        None => path.with_file_name(format!("{stem}.{policy}")),
    }
}

pub(in crate::verbs) fn planner(name: &str) -> Result<&'static Algorithm, Failure> {
    registry::find(name).ok_or_else(|| {
        let hint = did_you_mean(name, registry::names());
        Failure::input(format!("there is no planner '{name}'{hint}"))
            .with_help("slackline algorithms lists them")
    })
}

/// Stands for every policy that has what it needs.
const ALL_POLICIES: &str = "all";

/// The policies of a list of names.
pub(in crate::verbs) fn policies_of(
    names: &[&str],
    problem: &Problem<'_>,
    limits: &Limits,
) -> Result<Vec<&'static Entry>, Failure> {
    let fits = |e: &&Entry| e.needs.iter().all(|need| need.is_met(problem, limits));
    let mut entries: Vec<&'static Entry> = Vec::new();
    for &name in names {
        let found: Vec<&'static Entry> = match policies::find(name) {
            _ if name == ALL_POLICIES => policies::ALL.iter().filter(fits).collect(),
            Some(entry) => {
                check_needs(entry.name, entry.needs, problem, limits)?;
                vec![entry]
            }
            None => {
                let names: Vec<&str> = policies::ALL.iter().map(|e| e.name).collect();
                let hint = did_you_mean(name, names.iter().copied());
                return Err(Failure::input(format!("there is no policy '{name}'{hint}"))
                    .with_help(format!("one of: {}", names.join(", "))));
            }
        };
        for entry in found {
            if entries.iter().all(|e| e.name != entry.name) {
                entries.push(entry);
            }
        }
    }
    Ok(entries)
}

/// Fails where something is given that neither the planner nor one of the policies has, or that
/// they cannot take.
pub(in crate::verbs) fn check_parameters(
    entries: &[&'static Entry],
    options: &Options,
) -> Result<(), Failure> {
    let planner = options.planner.algorithm;
    let of_policies = entries.iter().map(|e| (e.name, e.parameters));
    let methods: Vec<_> = of_policies.chain([(planner.name, planner.parameters)]).collect();
    parameter::check_known(&options.given, methods.into_iter())?;
    planner.values(&options.planner.request)?;
    for entry in entries {
        entry.policy(options)?;
    }
    Ok(())
}

/// Fails where outputs shall go to a host that does not exist.
pub(in crate::verbs) fn check_results(given: &Given, problem: &Problem<'_>) -> Result<(), Failure> {
    let platform = problem.platform();
    match given.iter().rfind(|(name, _)| name == "results") {
        Some((_, host)) if host != "auto" && platform.host_named(host).is_none() => {
            let hint = did_you_mean(host, platform.hosts().iter().map(|h| &*h.name));
            Err(Failure::input(format!("results: there is no host '{host}'{hint}")))
        }
        _ => Ok(()),
    }
}

/// Turns a period that is a part of the makespan into seconds, by the plan of what everybody is told, not by
/// each policy's first plan. Fails where it is far too short.
pub(in crate::verbs) fn settle_period(
    options: &mut Options,
    planned: &Schedule,
) -> Result<(), Failure> {
    let given = options.given.iter_mut().rev().find(|(name, _)| name == "period");
    let period = match &given {
        Some((_, text)) => policies::period(text)?,
        None => options.period,
    };
    match (period, given) {
        (Period::OfMakespan(share), given) => {
            let seconds = share * planned.makespan();
            options.period = Period::Seconds(seconds);
            if let Some((_, text)) = given {
                *text = format!("{seconds}s");
            }
            Ok(())
        }
        (Period::Seconds(seconds), Some((_, text)))
            if planned.makespan() / seconds > MOST_LOOKS =>
        {
            Err(parameter::bad("period", text, "the plan is over a million times as long").into())
        }
        (Period::Seconds(_), _) => Ok(()),
    }
}

/// The runs that were asked for: a given schedule, one policy, or several.
pub(super) fn runs(
    args: &Simulate,
    stage: &mut Stage<'_>,
    output: &mut Output,
) -> Result<Vec<Ran>, Failure> {
    let (transfers, given) = (stage.transfers, args.given());
    let mut options = Options {
        transfers,
        given: given.clone(),
        seed: args.seed.unwrap_or_default(),
        ..Options::new(stage.planner.clone())
    };
    let mut names: Vec<&str> = args.compare.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.push(args.policy.as_deref().unwrap_or("static"));
    }
    let limits = args.limits.limits();
    let Planner { algorithm, request } = &stage.planner;
    check_needs(algorithm.name, algorithm.needs, stage.problem, &request.limits)?;
    let entries = policies_of(&names, stage.problem, &limits)?;
    check_parameters(&entries, &options)?;
    let lots = algorithm.heeds().contains(&Heed::Seed) || entries.iter().any(|e| e.draws_lots());
    if args.seed.is_some() && !lots {
        return Err(unheeded(Heed::Seed));
    }
    check_results(&given, stage.problem)?;
    if !names.contains(&ALL_POLICIES) {
        for entry in &entries {
            entry.policy(&options)?.check(stage.problem)?;
        }
    }
    if let Some(path) = &args.schedule {
        let schedule = schedule_file::read_schedule(&output.files, path, stage.problem)?;
        if let Some(violation) = validate(stage.problem, &schedule, &Limits::default()).first() {
            output.warning(&format!("{}: {violation}", path.display()));
        }
        stage.settle_moments(&schedule)?;
        let planner = stage.planner.clone();
        let policy = StaticPlan::of_schedule(schedule.clone(), planner, stage.transfers);
        let schedule = Arc::new(schedule);
        let trace = args.trace.as_deref();
        return Ok(vec![stage.run(
            "schedule",
            Box::new(policy),
            schedule,
            trace.map(|path| (&output.files, path)),
        )?]);
    }
    let told = stage.told()?;
    let platform = args.sources.platform.as_deref();
    let planned = stage.planner.plan(&told).map_err(|e| no_plan(e, &told, platform))?;
    stage.settle_moments(&planned)?;
    let planned = Arc::new(planned);
    settle_period(&mut options, &planned)?;
    let run = |entry: &&'static Entry| {
        let trace = args.trace.as_ref().map(|p| own_name(p, entry.name, entries.len() == 1));
        let policy = entry.policy(&options)?;
        let mut ran = stage.run(
            entry.name,
            policy,
            planned.clone(),
            trace.as_deref().map(|path| (&output.files, path)),
        )?;
        if args.alone {
            let make = || Ok(entry.policy(&options)?);
            let alone = stage.alone(&ran.outcome, &make)?;
            ran.served = served(stage.problem, &ran.outcome, &alone);
        }
        let parameters = [entry.parameters, stage.planner.algorithm.parameters].concat();
        let set = parameter::own(&given, &parameters).cloned().collect();
        Ok(Ran { set, ..ran })
    };
    entries.iter().map(run).collect()
}

/// Draws a run.
pub(in crate::verbs) fn draw(
    files: &FileAccess,
    problem: &Problem<'_>,
    ran: &Ran,
    path: &Path,
) -> Result<(), Failure> {
    let mut chart = Chart::of_trace(problem, &ran.outcome.trace)
        .with_traced_transfers(problem, &ran.outcome.trace)
        .without_idle_hosts();
    chart.title = report::title(problem, &ran.name, ran.real);
    chart.facts = report::facts(problem, ran);
    if !ran.served.is_empty() {
        let course = |(name, course): (&str, _)| {
            let Course(steps) = course;
            view::Course { name: name.to_string(), steps }
        };
        chart.courses = several::courses(problem, ran).into_iter().map(course).collect();
    }
    if ran.unfinished().is_some() {
        let ends = chart.marks.iter_mut().filter(|m| m.kind == MarkKind::End);
        ends.for_each(|mark| mark.label = "nothing moves any more".to_string());
    }
    let svg = gantt::svg(&chart, &SvgOptions::default());
    picture::write(files, path, &svg)
}
