//! `slackline show`: what is in a file.

use crate::input::{ParamOptions, Sources, format_parser, read_document_with, read_platform};
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_core::choices::part_facts;
use slackline_core::explanation::Explanation;
use slackline_core::input::{Past, format_of};
use slackline_core::request::ModelSettings;
use slackline_core::run::clock::now;
use slackline_core::run::history::RunHistory;
use slackline_core::run::log_of;
use slackline_core::run::status::RunState;
use slackline_core::{Failure, explanation, file_kind as contents, recorded};
use slackline_formats::{
    FileAccess, Format, FormatError, PlatformFormat, schedule_file, schedule_json, trace,
};
use slackline_model::Workflow;
use slackline_model::control::Control;
use slackline_model::schedule::Summary;
use slackline_report::choices::text;
use slackline_report::picture;
use slackline_report::run::status;
use slackline_report::show::facts::{ChoicesDocument, ScheduleDocument, WithParts, schedule_facts};
use slackline_report::show::{definition, document, platform, workflow};
use slackline_view::gantt::{SvgOptions, TerminalOptions};
use slackline_view::{Chart, gantt, graph};
use std::path::{Path, PathBuf};

/// Show what is in a file: a workflow, a platform, a schedule, a run, or any document of ours
#[derive(Args)]
#[command(after_help = "\
A schedule, or the trace of a run, is drawn with the workflow and platform it belongs to.

Examples:
  slackline show montage --svg montage.svg
  slackline show two-site-grid
  slackline show plan.json --workflow montage --platform two-site-grid")]
pub(crate) struct Show {
    /// The file
    file: PathBuf,
    /// Format of the workflow, where it is not recognised
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    from: Option<Format>,
    /// Draw the workflow's graph or the schedule's chart into this file (.svg or .png)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    params: ParamOptions,
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
            .draws("--svg", self.svg.as_ref())
            .json(self.json)
            .check(output)?;
        if log_of(&self.file).is_file() {
            return self.real_run(output);
        }
        let recorded = recorded::engine_of(&self.file, &output.files).is_some();
        if self.from.is_some() || recorded {
            return self.workflow(output);
        }
        let text = output.files.read_text(&self.file)?;
        let platform = PlatformFormat::recognise(Some(&self.file), &text).is_some();
        let placed = self.workflow.is_some() || self.instance.is_some();
        // The file of a schedule alone says nothing without its workflow.
        if let Some(schema) = contents::schema(&text).filter(|name| name != schedule_json::SCHEMA)
            && !(placed && contents::holds_schedule(&text))
        {
            self.document(&schema, &text, output)
        } else if let Some(form) = trace::one_way(&text) {
            let message = format!("{}: {form}, for viewers only", self.file.display());
            let help = "`simulate --trace RUN.jsonl` writes one that can be read again";
            Err(Failure::input(message).with_help(help))
        } else if contents::holds_schedule(&text) {
            self.schedule(&text, output)
        } else if platform {
            drop(text);
            self.platform(output)
        } else {
            drop(text);
            self.workflow(output)
        }
    }

    /// The folder of a real run.
    fn real_run(&self, output: &mut Output) -> Result<(), Failure> {
        let history = RunHistory::read(&self.file, &mut output.context(true))?;
        let recorded = history.recorded();
        let drawn = match Explanation::of(&recorded) {
            Some(explanation) => Some(explanation::chart(&recorded, &explanation)?),
            None => None,
        };
        let status = history.status(now());
        if self.json {
            output.json(&status)?;
        } else {
            let mut text = status::tell(&status, output);
            if let Some(chart) = &drawn {
                let options = TerminalOptions {
                    width: output.width,
                    colour: output.colour,
                    ..TerminalOptions::default()
                };
                text.push('\n');
                text.push_str(&gantt::terminal(chart, &options));
            }
            let folder = self.file.display();
            text.push_str(&format!(
                "\nslackline log {folder}, explain {folder}, report {folder} tell more\n"
            ));
            if status.state == RunState::Stopped {
                text.push_str(&format!("slackline resume {folder} continues\n"));
            }
            output.text(&text)?;
        }
        let Some(chart) = drawn else { return Ok(()) };
        self.write_svg(output, || gantt::svg(&chart, &SvgOptions::default()))
    }

    fn workflow(&self, output: &mut Output) -> Result<(), Failure> {
        let document = read_document_with(&self.file, self.from, &self.params, output)?;
        let workflow = &document.workflow;
        // The processors of an instance, or the platform named.
        let platform = match &self.platform {
            Some(path) => Some(read_platform(path, output)?),
            None if document_is_instance(&output.files, &self.file, self.from) => {
                Some(read_platform(&self.file, output)?)
            }
            None => None,
        };
        if let Some(control) = workflow.control() {
            return self.choices(workflow, control, output);
        }
        let past = Past::of(&document, format_of(&output.files, &self.file, self.from)?);
        let facts = workflow::Facts::of(workflow, platform.as_ref())?;
        if self.json {
            let leased = platform.as_ref().is_some_and(slackline_model::Platform::has_leasable);
            let subworkflows = if leased {
                // As the methods for leased machines see it.
                let control = Control::of_plain(workflow).map_err(Failure::input)?;
                Some(part_facts(&control))
            } else {
                None
            };
            let facts = facts.document(workflow, &past);
            let definition = document.definition.as_ref().map(definition::DefinitionDocument::of);
            output.json(&WithParts { facts, definition, subworkflows })?;
        } else {
            let mut text = facts.tell(workflow, &past, output);
            if let Some(definition) = &document.definition {
                text.push('\n');
                text.push_str(&definition::tell(definition, output));
            }
            output.text(&text)?;
        }
        self.write_svg(output, || graph::svg(workflow, &graph::GraphOptions::default()))
    }

    /// A workflow with choices and loops.
    fn choices(
        &self,
        workflow: &Workflow,
        control: &Control,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if self.json {
            output.json(&ChoicesDocument::of(workflow, control))?;
        } else {
            let text = text::of_control(workflow, control, output);
            output.text(&text)?;
        }
        self.write_svg(output, || graph::regions_svg(workflow, control))
    }

    fn platform(&self, output: &mut Output) -> Result<(), Failure> {
        let platform = read_platform(&self.file, output)?;
        if self.svg.is_some() {
            return Err(Failure::input("a platform has no picture")
                .with_help("leave out --svg, or name a workflow or a schedule"));
        }
        if self.json {
            return output.json(&platform::PlatformDocument::of(&platform));
        }
        let text = platform::tell(&platform, output);
        output.text(&text)
    }

    /// Any document of ours, by its members.
    fn document(&self, schema: &str, text: &str, output: &mut Output) -> Result<(), Failure> {
        if self.svg.is_some() && contents::holds_schedule(text) {
            let sources = Sources::of_schedule(&self.platform, &self.instance);
            sources.read_for_schedule(&self.file, None, output)?;
        }
        if self.svg.is_some() {
            let message = format!("{}: {schema} has no picture", self.file.display());
            return Err(Failure::input(message).with_help("leave out --svg"));
        }
        let fail = |e: FormatError| e.in_file(&self.file);
        if self.json {
            return output.json(&document::parse(text).map_err(fail)?);
        }
        let shown = document::tell(schema, text, output).map_err(fail)?;
        output.text(&shown)
    }

    fn schedule(&self, text: &str, output: &mut Output) -> Result<(), Failure> {
        let sources = Sources::of_schedule(&self.platform, &self.instance);
        let world = sources.read_for_schedule(&self.file, self.workflow.as_deref(), output)?;
        let problem = world.problem(&ModelSettings::default())?;
        let schedule = schedule_file::read_schedule(&output.files, &self.file, &problem)?;
        let summary = Summary::of(&problem, &schedule);
        if self.json {
            return output.json(&ScheduleDocument::of(&problem, &summary));
        }
        let chart = if trace::recognise(text) {
            let read = trace::read(text, problem.workflow(), problem.platform());
            let trace = read.map_err(|e| e.in_file(&self.file))?;
            Chart::of_trace(&problem, &trace).with_traced_transfers(&problem, &trace)
        } else {
            Chart::of_schedule(&problem, &schedule)
        };
        let mut chart = chart.without_idle_hosts();
        chart.title = file_name(&self.file);
        let facts = schedule_facts(&summary);
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
        picture::write(&output.files, path, &draw())?;
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

fn document_is_instance(files: &FileAccess, path: &Path, from: Option<Format>) -> bool {
    match from {
        Some(format) => format == Format::Instance,
        None => files.read_text(path).is_ok_and(|text| Format::Instance.recognises(&text)),
    }
}
