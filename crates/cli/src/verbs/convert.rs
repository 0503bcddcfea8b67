//! `slackline convert`: a file from one format to another.

use crate::input::{ParamOptions, Sources, format_parser, read_document_with, read_platform};
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use slackline_core::choices::read_outcomes;
use slackline_core::file_kind as contents;
use slackline_core::request::ModelSettings;
use slackline_core::{Failure, recorded};
use slackline_formats::hand_over::{self, Target};
use slackline_formats::trace::{self, TraceFormat};
use slackline_formats::{Document, Format, PlatformFormat, instance, is_standard, schedule_file};
use slackline_model::control::{Chances, draw_course};
use slackline_mpi::Traces;
use slackline_mpi::trace::{pack, unpack};
use slackline_report::table::count;
use std::path::PathBuf;
use std::sync::Arc;

/// Convert a workflow, a platform, a schedule, a trace or MPI traces to another format
#[derive(Args)]
#[command(after_help = "\
The formats are recognised from content and extension; --from and --to say it where that fails.

Examples:
  slackline convert montage montage.dax
  slackline convert montage both.json --to instance --platform two-site-grid
  slackline convert two-site-grid grid.xml
  slackline convert plan.json plan.csv --workflow montage -p two-site-grid
  slackline convert run.jsonl run.paje --workflow montage -p two-site-grid
  slackline plan fork-join -p small-cluster -o w.json
  slackline convert w.json w.sh --to slurm -w fork-join -p small-cluster
  slackline convert fork-join Snakefile --to snakemake
  slackline convert traces/ lu.tib    # MPI traces, packed; .tit unpacks them")]
pub(crate) struct Convert {
    /// The file to read
    input: PathBuf,
    /// The file to write; - for standard output
    output: PathBuf,
    /// Format of the input
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    from: Option<Format>,
    /// Format of the output, or what takes over a plan (slurm, hq, makeflow) or a workflow (snakemake, cwl, makeflow)
    #[arg(long, value_name = "FORMAT", value_parser = to_parser())]
    to: Option<To>,
    /// The workflow of a schedule or trace
    #[arg(short, long, value_name = "FILE")]
    workflow: Option<PathBuf>,
    /// The platform of an instance that is written, or of a schedule or trace
    #[arg(short, long, value_name = "FILE")]
    platform: Option<PathBuf>,
    #[command(flatten)]
    params: ParamOptions,
    /// Unfold one course of a workflow with choices and loops: its run 0, drawn from this seed
    #[arg(long, value_name = "SEED")]
    draw: Option<u64>,
    /// Outcomes of its decisions, as a JSON object; those left out are drawn
    #[arg(long, value_name = "FILE", requires = "draw")]
    choices: Option<PathBuf>,
    /// The workflow and platform of a schedule or trace in one file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workflow", "platform"])]
    instance: Option<PathBuf>,
}

/// Output formats.
#[derive(Clone, Copy, Debug)]
enum To {
    Format(Format),
    HandOver(Target),
}

fn to_parser() -> impl TypedValueParser<Value = To> {
    let formats = Format::all().map(|format| format.name());
    let names: Vec<&str> = formats.chain(Target::ALL.map(Target::name)).collect();
    PossibleValuesParser::new(names).try_map(|name| match name.parse::<Target>() {
        Ok(target) => Ok(To::HandOver(target)),
        Err(_) => name.parse::<Format>().map(To::Format),
    })
}

impl Convert {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.input))
            .reads(self.workflow.as_ref())
            .reads(self.platform.as_ref())
            .reads(self.instance.as_ref())
            .writes("the output", Some(&self.output))
            .check(output)?;
        if let Some(To::HandOver(target)) = self.to {
            return self.hand_over(target, output);
        }
        let extension = self.output.extension().unwrap_or_default();
        if self.from.is_none() && self.to.is_none() && (extension == "tib" || extension == "tit") {
            return self.traces(extension == "tib", output);
        }
        let recorded = recorded::engine_of(&self.input, &output.files).is_some();
        if self.from.is_none() && self.to.is_none() && !recorded {
            let text = output.files.read_text(&self.input)?;
            if contents::holds_schedule(&text) || trace::one_way(&text).is_some() {
                return self.schedule(&text, output);
            }
            if PlatformFormat::recognise(Some(&self.input), &text).is_some() {
                return self.platform(output);
            }
        }
        self.workflow(output)
    }

    fn to_stdout(&self) -> bool {
        is_standard(&self.output)
    }

    /// MPI traces: packed, or as text in one file.
    fn traces(&self, packed: bool, output: &mut Output) -> Result<(), Failure> {
        let traces = Traces::open(std::slice::from_ref(&self.input))?;
        let ranks = traces.ranks();
        output.files.write(&self.output, |out| {
            if packed { pack(traces, out) } else { unpack(traces, out) }
        })?;
        output.say(&format!("{}: traces of {ranks} ranks written\n", self.output.display()))
    }

    fn platform(&self, output: &mut Output) -> Result<(), Failure> {
        let platform = read_platform(&self.input, output)?;
        slackline_formats::write_platform(&output.files, &self.output, &platform, None)?;
        let hosts = platform.hosts().len();
        output.say(&format!("{}: {} written\n", self.output.display(), count(hosts, "host")))
    }

    /// A schedule, or the trace of a run: `.json` of a trace is Chrome's, as of `simulate --trace`.
    fn schedule(&self, text: &str, output: &mut Output) -> Result<(), Failure> {
        let sources = Sources::of_schedule(&self.platform, &self.instance);
        let world = sources.read_for_schedule(&self.input, self.workflow.as_deref(), output)?;
        let problem = world.problem(&ModelSettings::default())?;
        let extension = self.output.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let said = self.output.display();
        if trace::recognise(text) && !matches!(extension, "csv" | "jed") {
            let (workflow, platform) = (problem.workflow(), problem.platform());
            let trace =
                trace::read(text, workflow, platform).map_err(|e| e.in_file(&self.input))?;
            let format = TraceFormat::of_path(&self.output)?;
            output
                .files
                .write(&self.output, |out| trace::write(&trace, format, workflow, platform, out))?;
            let records = count(trace.records().len(), "record");
            return output.say(&format!("{said}: {records} written\n"));
        }
        let schedule = schedule_file::read_schedule(&output.files, &self.input, &problem)?;
        schedule_file::write_schedule(&output.files, &self.output, &problem, &schedule)?;
        let placed = schedule.placements.iter().flatten().count();
        output.say(&format!("{said}: the places of {} written\n", count(placed, "task")))
    }

    /// A plan, or a workflow, in the words of a system that carries it out.
    fn hand_over(&self, target: Target, output: &mut Output) -> Result<(), Failure> {
        let is_plan = self.from.is_none()
            && recorded::engine_of(&self.input, &output.files).is_none()
            && contents::holds_schedule(&output.files.read_text(&self.input)?);
        let said = self.output.display().to_string();
        let text = if is_plan {
            let sources = Sources::of_schedule(&self.platform, &self.instance);
            let world = sources.read_for_schedule(&self.input, self.workflow.as_deref(), output)?;
            let problem = world.problem(&ModelSettings::default())?;
            let schedule = schedule_file::read_schedule(&output.files, &self.input, &problem)?;
            let dropped = target.drops().join(", ");
            if !dropped.is_empty() {
                output.warning(&format!("{said}: {target} cannot say {dropped}: left out"));
            }
            hand_over::write_plan(target, &problem, &schedule)
        } else {
            let mut document = read_document_with(&self.input, self.from, &self.params, output)?;
            self.unfold(&mut document, output)?;
            hand_over::write_workflow(target, &document.workflow)
        };
        let text = text.map_err(|e| e.in_file(&self.input))?;
        output.files.write(&self.output, |out| out.write_all(text.as_bytes()))?;
        output.say(&format!("{said}: written for {target}\n"))
    }

    /// Replaces choices and loops by one course of the workflow.
    fn unfold(&self, document: &mut Document, output: &Output) -> Result<(), Failure> {
        let Some(seed) = self.draw else { return Ok(()) };
        let Some(control) = document.workflow.control() else {
            let message = format!("{}: there is nothing to draw", self.input.display());
            return Err(Failure::input(message)
                .with_help("--draw unfolds choices and loops; this workflow has none"));
        };
        let given = read_outcomes(&output.files, self.choices.as_deref(), control)?;
        let mut chances = Chances { seed, run: 0, given };
        let template = Arc::new(document.workflow.clone());
        let (unfolded, _) = draw_course(&template, &mut chances).map_err(Failure::input)?;
        *document = Document::new(Arc::unwrap_or_clone(unfolded));
        Ok(())
    }

    fn workflow(&self, output: &mut Output) -> Result<(), Failure> {
        let format = match self.to {
            Some(To::Format(format)) => format,
            Some(To::HandOver(target)) => return self.hand_over(target, output),
            None if self.to_stdout() => {
                return Err(Failure::input(
                    "standard output has no extension that says the format",
                )
                .with_help("add --to FORMAT"));
            }
            None => Format::for_output(&self.output)?,
        };
        let mut document = read_document_with(&self.input, self.from, &self.params, output)?;
        self.unfold(&mut document, output)?;
        let mut bytes = Vec::new();
        match (&self.platform, format) {
            (Some(platform), Format::Instance) => {
                let platform = read_platform(platform, output)?;
                instance::write(&document.workflow, &platform, &mut bytes)?;
            }
            (None, Format::Instance)
                if recorded::engine_of(&self.input, &output.files).is_some() =>
            {
                let platform = read_platform(&self.input, output)?;
                instance::write(&document.workflow, &platform, &mut bytes)?;
            }
            (None, Format::Instance)
                if Format::Instance.recognises(&output.files.read_text(&self.input)?) =>
            {
                let platform = read_platform(&self.input, output)?;
                instance::write(&document.workflow, &platform, &mut bytes)?;
            }
            (None, Format::Instance) => {
                return Err(Failure::input("an instance holds processors too")
                    .with_help("say which: --platform FILE"));
            }
            _ => format.write(&document, &mut bytes)?,
        }
        let dropped = format.drops(&document.workflow);
        if !dropped.is_empty() {
            let (said, dropped) = (self.output.display(), dropped.join(", "));
            output.warning(&format!("{said}: {format} cannot say {dropped}: left out"));
        }
        output.files.write(&self.output, |out| out.write_all(&bytes))?;
        let tasks = count(document.workflow.len(), "task");
        output.say(&format!("{}: {tasks} written as {format}\n", self.output.display()))
    }
}
