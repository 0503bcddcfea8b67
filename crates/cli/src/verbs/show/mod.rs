//! `slackline show`: what is in a file.

pub(crate) mod platform;
mod workflow;

use crate::failure::Failure;
use crate::files::Files;
use crate::input::{Past, Sources, format_of, format_parser, read_document, read_platform};
use crate::model::ModelOptions;
use crate::output::Output;
use clap::Args;
use slackline_formats::{Format, PlatformFormat, schedule_file, source};
use slackline_model::schedule::Summary;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_view::gantt::{self, SvgOptions, TerminalOptions};
use slackline_view::{Chart, graph};
use std::path::{Path, PathBuf};

/// Show what is in a file: a workflow, a platform or a schedule
#[derive(Args)]
#[command(after_help = "\
A schedule is shown with the workflow and platform it belongs to.

Examples:
  slackline show montage.json --svg montage.svg
  slackline show two-site-grid.toml
  slackline show plan.json --workflow montage.json --platform two-site-grid.toml")]
pub(crate) struct Show {
    /// The file
    file: PathBuf,
    /// Format of the workflow, where it is not recognised
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    from: Option<Format>,
    /// Draw the workflow's graph or the schedule's chart into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// The workflow of a schedule
    #[arg(short, long, value_name = "FILE")]
    workflow: Option<PathBuf>,
    /// The platform of a schedule, or the one to compare a workflow's data with
    #[arg(short, long, value_name = "FILE")]
    platform: Option<PathBuf>,
    /// The workflow and platform of a schedule in one file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workflow", "platform"])]
    instance: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.file))
            .reads(self.workflow.as_ref())
            .reads(self.platform.as_ref())
            .reads(self.instance.as_ref())
            .writes("--svg", self.svg.as_ref())
            .json(self.json)
            .check(output)?;
        if self.from.is_some() {
            return self.workflow(output);
        }
        let text = source::read_text(&self.file)?;
        let platform = PlatformFormat::recognise(Some(&self.file), &text).is_some();
        if schedule_file::is_schedule(&text) {
            self.schedule(output)
        } else if platform {
            drop(text);
            self.platform(output)
        } else {
            drop(text);
            self.workflow(output)
        }
    }

    fn workflow(&self, output: &mut Output) -> Result<(), Failure> {
        let document = read_document(&self.file, self.from, output)?;
        let workflow = &document.workflow;
        // The processors of an instance, or the platform named.
        let platform = match &self.platform {
            Some(path) => Some(read_platform(path, output)?),
            None if document_is_instance(&self.file, self.from) => {
                Some(read_platform(&self.file, output)?)
            }
            None => None,
        };
        let past = Past::of(&document, format_of(&self.file, self.from)?);
        let facts = workflow::Facts::of(workflow, platform.as_ref())?;
        if self.json {
            output.json(&facts.document(workflow, &past))?;
        } else {
            let text = facts.tell(workflow, &past, output);
            output.text(&text)?;
        }
        self.write_svg(output, || graph::svg(workflow, &graph::GraphOptions::default()))
    }

    fn platform(&self, output: &mut Output) -> Result<(), Failure> {
        let platform = read_platform(&self.file, output)?;
        if self.svg.is_some() {
            return Err(Failure::input("a platform has no picture")
                .with_help("leave out --svg, or name a workflow or a schedule"));
        }
        if self.json {
            return output.json(&platform::Document::of(&platform));
        }
        let text = platform::tell(&platform, output);
        output.text(&text)
    }

    fn schedule(&self, output: &mut Output) -> Result<(), Failure> {
        if self.workflow.is_none() && self.instance.is_none() {
            return Err(Failure::input(format!("{}: this is a schedule", self.file.display()))
                .with_help(
                    "add what it is for: --workflow FILE --platform FILE, or --instance FILE",
                ));
        }
        let (platform, instance) = (self.platform.clone(), self.instance.clone());
        let sources = Sources { platform, instance, from: None, reference_speed: None };
        let world = sources.read(self.workflow.as_deref(), output)?;
        let problem = world.problem(&ModelOptions::default())?;
        let schedule = schedule_file::read_schedule(&self.file, &problem)?;
        let summary = Summary::of(&problem, &schedule);
        if self.json {
            return output.json(&ScheduleDocument {
                schema: "slackline/schedule/1",
                tasks: problem.tasks(),
                makespan: summary.makespan,
                speedup: summary.speedup,
                utilisation: summary.utilisation,
                used_processors: summary.used_procs,
                cost: summary.cost,
                bytes_moved: summary.bytes_moved,
            });
        }
        let mut chart = Chart::of_schedule(&problem, &schedule).without_idle_hosts();
        chart.title = file_name(&self.file);
        let facts = format!(
            "makespan {}, utilisation {:.0} % of {} processors, {} moved",
            fmt_seconds(summary.makespan),
            100.0 * summary.utilisation,
            summary.used_procs,
            fmt_bytes(summary.bytes_moved)
        );
        chart.facts = vec![facts.clone()];
        let title = output.bold(&chart.title);
        output.text(&format!("{title}: {facts}\n\n"))?;
        let options = TerminalOptions {
            width: output.width,
            colour: output.colour,
            ..TerminalOptions::default()
        };
        output.text(&gantt::terminal(&chart, &options))?;
        self.write_svg(output, || gantt::svg(&chart, &SvgOptions::default()))
    }

    fn write_svg(&self, output: &mut Output, draw: impl FnOnce() -> String) -> Result<(), Failure> {
        let Some(path) = &self.svg else { return Ok(()) };
        let svg = draw();
        source::write_whole(path, |out| out.write_all(svg.as_bytes()))?;
        if self.json {
            Ok(())
        } else {
            output.say(&format!("\nPicture written to {}\n", path.display()))
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn document_is_instance(path: &Path, from: Option<Format>) -> bool {
    match from {
        Some(format) => format == Format::Instance,
        None => source::read_text(path).is_ok_and(|text| Format::Instance.recognises(&text)),
    }
}

#[derive(serde::Serialize)]
struct ScheduleDocument {
    schema: &'static str,
    tasks: usize,
    makespan: f64,
    speedup: f64,
    utilisation: f64,
    used_processors: usize,
    cost: f64,
    bytes_moved: f64,
}
