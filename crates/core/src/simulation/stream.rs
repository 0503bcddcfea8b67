//! Arrivals of workflows: those of a stream, of a scenario, or of an instance with several.

use crate::bundled;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Loaded, read_scenario, read_workflow, stream_name};
use crate::request::{DataPlace, SimulationSetup};
use slackline_analysis::workflow_metrics::Negotiable;
use slackline_engine::{ArrivalError, Arrivals, Coming};
use slackline_formats::instance::stream;
use slackline_model::nearest::nearest;
use slackline_model::scenario::{Arrival, Scenario, When};
use slackline_model::{Platform, Problem, Workflow};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads workflow and platform, and the arrivals if there are several workflows.
pub(super) fn read(
    setup: &SimulationSetup,
    scenario: &Scenario,
    context: &mut Context<'_>,
) -> Result<(Loaded, Vec<Coming>), Failure> {
    let (mut world, mut coming) = read_plain(setup, scenario, context)?;
    setup.overheads.apply(&mut world);
    for one in &mut coming {
        one.workflow = setup.overheads.of(one.workflow.clone(), &world.platform);
    }
    Ok((world, coming))
}

/// Reads workflow, platform and arrivals without overheads.
fn read_plain(
    setup: &SimulationSetup,
    scenario: &Scenario,
    context: &mut Context<'_>,
) -> Result<(Loaded, Vec<Coming>), Failure> {
    if let Some(path) = &setup.input.arrivals {
        refuse_second(scenario, "--arrivals")?;
        let stream = read_scenario(&context.files, path)?;
        only_arrivals(path, &stream)?;
        let platform = setup.input.read_platform(context)?;
        let coming = arrivals(path, &stream.arrivals, &platform, setup, None, context)?;
        let workflow = all_of(path, &coming)?.renamed(stream_name(&stream.name, path));
        return Ok((Loaded::plain(workflow, platform), coming));
    }
    if let Some(path) = &setup.input.instance {
        let text = context.files.read_text(path)?;
        if stream::recognise(&text) {
            refuse_second(scenario, "the instance")?;
            return of_instance(path, &text);
        }
    }
    let mut world =
        setup.input.read(setup.input.workflows.first().map(PathBuf::as_path), context)?;
    let Some(path) = setup.scenario.as_deref().filter(|_| !scenario.arrivals.is_empty()) else {
        return Ok((world, Vec::new()));
    };
    let given = Some(&*world.workflow);
    let coming = arrivals(path, &scenario.arrivals, &world.platform, setup, given, context)?;
    world.workflow = all_of(path, &coming)?.into();
    Ok((world, coming))
}

fn refuse_second(scenario: &Scenario, first: &str) -> Result<(), Failure> {
    if scenario.arrivals.is_empty() {
        return Ok(());
    }
    let message = format!("both {first} and the scenario say which workflows arrive");
    Err(Failure::input(message).with_help("leave [[arrival]] out of the scenario"))
}

/// Fails where a stream contains anything other than arrivals.
fn only_arrivals(path: &Path, stream: &Scenario) -> Result<(), Failure> {
    let place = path.display();
    if stream.arrivals.is_empty() {
        return Err(Failure::input(format!("{place}: no workflow arrives"))
            .with_help("[[arrival]] with `workflow` and `at` says who and when"));
    }
    let rest = Scenario { arrivals: Vec::new(), ..stream.clone() };
    let named = Scenario {
        name: rest.name.clone(),
        note: rest.note.clone(),
        seed: rest.seed,
        ..Scenario::default()
    };
    if rest != named {
        return Err(Failure::input(format!("{place}: a stream says only who arrives"))
            .with_help("what happens to the platform is in a file for --scenario"));
    }
    Ok(())
}

/// All workflows side by side.
fn all_of(path: &Path, coming: &[Coming]) -> Result<Workflow, Failure> {
    let failed = |why: ArrivalError| Failure::input(format!("{}: {why}", path.display()));
    let supply = Arrivals::new(coming.to_vec()).map_err(failed)?;
    Ok(Arc::unwrap_or_clone(supply.all().map_err(failed)?))
}

fn of_instance(path: &Path, text: &str) -> Result<(Loaded, Vec<Coming>), Failure> {
    let read = stream::read(text).map_err(|e| e.in_file(path))?;
    let coming = |w: stream::Submitted| Coming {
        workflow: Arc::new(w.workflow),
        when: When::At(w.arrival),
        terms: w.terms,
    };
    let coming: Vec<Coming> = read.workflows.into_iter().map(coming).collect();
    let workflow = all_of(path, &coming)?.renamed(stream_name(&read.name, path));
    Ok((Loaded::plain(workflow, read.platform), coming))
}

/// The workflows of a list of arrivals; `given` is the one that the command names.
fn arrivals(
    path: &Path,
    list: &[Arrival],
    platform: &Platform,
    setup: &SimulationSetup,
    given: Option<&Workflow>,
    context: &mut Context<'_>,
) -> Result<Vec<Coming>, Failure> {
    let mut coming: Vec<Coming> = Vec::new();
    let folder = path.parent().unwrap_or(Path::new(""));
    let file_name = setup.input.workflows.first().and_then(|p| p.file_name());
    for (index, arrival) in list.iter().enumerate() {
        let is_given = |w: &&Workflow| {
            arrival.workflow == w.name()
                || file_name.is_some_and(|name| name.to_string_lossy() == arrival.workflow)
        };
        let workflow = match given.filter(is_given) {
            Some(given) => given.clone(),
            None => {
                let place = place_of(path, index, context);
                let file = named(folder, &arrival.workflow, || place.clone())?;
                let read = read_workflow(&file, None, context);
                read.map_err(|failure| failure.named_by(&place))?
            }
        };
        let mut terms = arrival.terms.clone();
        if arrival.deadline_factor.is_some() || arrival.budget_factor.is_some() {
            let problem = Problem::new(&workflow, platform)?;
            let bounds = Negotiable::of(&problem, setup.data == DataPlace::Central);
            let between = |bounds, part: Option<f64>| part.map(|p| Negotiable::at(bounds, p));
            let (deadline, budget) = (arrival.deadline_factor, arrival.budget_factor);
            terms.limits.deadline = between(bounds.deadline, deadline).or(terms.limits.deadline);
            terms.limits.budget = between(bounds.budget, budget).or(terms.limits.budget);
        }
        coming.push(Coming { workflow: Arc::new(workflow), when: arrival.when, terms });
    }
    Ok(coming)
}

/// Returns the place of an arrival in its file, for errors.
fn place_of(path: &Path, index: usize, context: &Context<'_>) -> String {
    let text = context.files.read_text(path).unwrap_or_default();
    let mut heads = text.lines().enumerate().filter(|(_, line)| {
        let line: String = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        line == "[[arrival]]"
    });
    match heads.nth(index) {
        Some((line, _)) => format!("{}:{}: arrival[{index}]", path.display(), line + 1),
        None => format!("{}: arrival[{index}]", path.display()),
    }
}

/// The workflow that an arrival names: a file beside the stream, or a bundled one.
fn named(folder: &Path, name: &str, place: impl Fn() -> String) -> Result<PathBuf, Failure> {
    let (file, bundled) = (folder.join(name), PathBuf::from(name));
    if file.is_file() {
        return Ok(file);
    }
    if bundled::names("workflows").any(|workflow| workflow == name) && !bundled.exists() {
        return Ok(bundled);
    }
    let failure = Failure::input(format!("{}: there is no file '{}'", place(), file.display()));
    Err(match nearest(name, bundled::names("workflows")) {
        Some(near) => failure.with_help(format!("'{near}' is bundled")),
        None => failure,
    })
}
