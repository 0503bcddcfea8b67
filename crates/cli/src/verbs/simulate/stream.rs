//! Who arrives when: the workflows of a scenario or of an instance with several.

use super::Simulate;
use crate::failure::Failure;
use crate::input::{World, read_workflow};
use crate::output::Output;
use slackline_execute::{Arrivals, Coming};
use slackline_formats::instance::stream;
use slackline_formats::source;
use slackline_model::scenario::{Scenario, When};
use slackline_model::schedule::Limits;
use slackline_model::{Terms, Workflow};
use std::path::Path;
use std::sync::Arc;

/// What is to be run where, and who arrives when, if several do.
pub(super) fn read(
    args: &Simulate,
    scenario: &Scenario,
    output: &mut Output,
) -> Result<(World, Vec<Coming>), Failure> {
    if let Some(path) = &args.sources.instance {
        let text = source::read_text(path)?;
        if stream::recognise(&text) {
            return of_instance(path, &text, scenario);
        }
    }
    let mut world = args.sources.read(args.workflow.as_deref(), output)?;
    let coming = of_scenario(&world, scenario, args, output)?;
    if !coming.is_empty() {
        world.workflow = all_of(&coming)?;
    }
    Ok((world, coming))
}

/// All workflows side by side.
fn all_of(coming: &[Coming]) -> Result<Workflow, Failure> {
    let supply = Arrivals::new(coming.to_vec()).map_err(Failure::input)?;
    Ok(Arc::unwrap_or_clone(supply.all().map_err(Failure::input)?))
}

fn of_instance(
    path: &Path,
    text: &str,
    scenario: &Scenario,
) -> Result<(World, Vec<Coming>), Failure> {
    if !scenario.arrivals.is_empty() {
        let message = "both the instance and the scenario say which workflows arrive";
        return Err(Failure::input(message).with_help("leave [[arrival]] out of the scenario"));
    }
    let read = stream::read(text).map_err(|e| e.in_file(path))?;
    let coming = |w: stream::Submitted| Coming {
        workflow: Arc::new(w.workflow),
        when: When::At(w.arrival),
        terms: w.terms,
    };
    let coming: Vec<Coming> = read.workflows.into_iter().map(coming).collect();
    let name = match read.name.as_str() {
        "" => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        name => name.to_string(),
    };
    let workflow = all_of(&coming)?.renamed(name);
    Ok((World { workflow, platform: read.platform, measured: None, past: None }, coming))
}

/// The workflows of a scenario with arrivals.
fn of_scenario(
    world: &World,
    scenario: &Scenario,
    args: &Simulate,
    output: &mut Output,
) -> Result<Vec<Coming>, Failure> {
    let mut coming: Vec<Coming> = Vec::new();
    let folder = args.scenario.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let given = args.workflow.as_deref().and_then(Path::file_name);
    for arrival in &scenario.arrivals {
        let is_given = arrival.workflow == world.workflow.name()
            || given.is_some_and(|name| name.to_string_lossy() == arrival.workflow);
        let workflow = if is_given {
            world.workflow.clone()
        } else {
            read_workflow(&folder.join(&arrival.workflow), None, output)?
        };
        let limits = Limits { deadline: arrival.deadline, budget: arrival.budget };
        let terms = Terms { limits, ..Terms::default() };
        coming.push(Coming { workflow: Arc::new(workflow), when: arrival.when, terms });
    }
    Ok(coming)
}
