//! `slackline centre stack`: a workflow on pilots, catalogue, storages and network.

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_centre::stack;
use slackline_centre::stack::{Case, work_of};
use slackline_core::schema::names;
use slackline_report::centre::stack::{
    SaturationDocument, SaturationLine, chart, document, report, saturation, saturation_svg,
    verdict,
};
use slackline_report::picture;
use slackline_report::table::count;
use slackline_view::gantt;
use slackline_view::gantt::SvgOptions;
use std::path::{Path, PathBuf};

/// Simulate a workflow on the services of a production centre: pilots that pull jobs, a catalogue of
/// replicas, transfer queues, links
#[derive(Args)]
#[command(after_help = "\
CASE (JSON or TOML) has `tasks` [{id, work, inputs, outputs, after}], `files` {name: bytes}, \
`replicas` {file: [storages]}, `sites` {name: {speed, close, batch}}, `storages` {name: {max_active}}, \
`default_storage`, `links` {name: {bandwidth}}, `routes` {\"STORAGE SITE\": [links]}, `pilots` \
[{id, site, start, dies}] (at a batch site {id, site, submit, walltime, cores}), \
`catalogue_latency`, `idle_timeout` (seconds), `max_attempts`. See docs/centre.md.

Examples:
  slackline centre stack pilot-stack
  slackline centre stack pilot-stack --picture pilots.svg
  slackline centre stack pilot-stack --pilots 1,3,8 --picture pilots.svg
  slackline centre stack pilot-stack --json")]
pub(crate) struct Stack {
    /// The case
    case: PathBuf,
    /// Run once with each of these numbers of pilots, those of the case in turn, and compare
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pilots: Vec<u32>,
    /// Draw what the pilots do over time, or the makespan by number of pilots: .svg or .png
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Reads a case.
pub(super) fn read(path: &Path, output: &Output) -> Result<Case, Failure> {
    let text = output.files.read_text(path)?;
    Case::parse(&text).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

/// An error of the stack on its way to the user.
pub(super) fn failure(error: stack::StackError, path: &Path) -> Failure {
    match error {
        stack::StackError::Simulation(error) => Failure::work(error),
        error => Failure::input(format!("{}: {error}", path.display())),
    }
}

impl Stack {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.case))
            .draws("--picture", self.picture.as_ref())
            .json(self.json)
            .check(output)?;
        let case = read(&self.case, output)?;
        if !self.pilots.is_empty() {
            return self.saturation(&case, output);
        }
        let outcome = stack::run(&case).map_err(|error| failure(error, &self.case))?;
        if let Some(path) = &self.picture {
            let title =
                self.case.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into());
            let svg = gantt::svg(&chart(&case, &outcome, &title), &SvgOptions::default());
            picture::write(&output.files, path, &svg)?;
        }
        if self.json {
            let robust = stack::is_robust(&case, None, &outcome)
                .map_err(|error| failure(error, &self.case))?;
            output.json(&document(&case, &outcome, robust))?;
        } else {
            report(&case, &outcome, output)?;
        }
        verdict(&case, &outcome)
    }
}

impl Stack {
    /// The same workflow with different numbers of pilots.
    fn saturation(&self, case: &Case, output: &mut Output) -> Result<(), Failure> {
        let mut runs = Vec::new();
        for &pilots in &self.pilots {
            let other = case.with_pilots(pilots as usize);
            let outcome = stack::run(&other).map_err(|error| failure(error, &self.case))?;
            runs.push(SaturationLine::of(pilots, &outcome));
        }
        if let Some(path) = &self.picture {
            picture::write(&output.files, path, &saturation_svg(&runs))?;
        }
        let unfinished = runs.iter().filter(|run| run.makespan.is_none()).count();
        if self.json {
            output.json(&SaturationDocument { schema: names::CENTRE_PILOTS, runs })?;
        } else {
            saturation(&runs, output)?;
        }
        match unfinished {
            0 => Ok(()),
            _ => Err(Failure::work(format!(
                "{} do not finish the workflow",
                count(unfinished, "run")
            ))),
        }
    }
}

/// `slackline simulate WORKFLOW --stack STACK`: a workflow from anywhere on a stack from a file.
pub(crate) fn simulate_on_stack(
    workflow: &Path,
    stack: &Path,
    gantt: Option<&Path>,
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let read = slackline_formats::read_workflow(&output.files, workflow, None)?;
    let flow = &read.workflow;
    if flow.control().is_some() {
        return Err(Failure::input(format!(
            "{}: a workflow with choices or loops has no fixed tasks for pilots",
            workflow.display()
        ))
        .with_help("unfold one course of it: slackline convert --draw SEED"));
    }
    let text = output.files.read_text(stack)?;
    let case = Case::parse_stack(&text, work_of(flow))
        .map_err(|error| Failure::input(format!("{}: {error}", stack.display())))?;
    let outcome = stack::run(&case).map_err(|error| failure(error, stack))?;
    if let Some(path) = gantt {
        let svg = gantt::svg(&chart(&case, &outcome, flow.name()), &SvgOptions::default());
        picture::write(&output.files, path, &svg)?;
    }
    if json {
        let robust =
            stack::is_robust(&case, None, &outcome).map_err(|error| failure(error, stack))?;
        output.json(&document(&case, &outcome, robust))?;
    } else {
        report(&case, &outcome, output)?;
    }
    verdict(&case, &outcome)
}
