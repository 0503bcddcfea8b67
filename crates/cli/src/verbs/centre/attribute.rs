//! `slackline centre attribute`: which component moves a simulated run how far from its record.

use super::stack::{failure, read};
use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_centre::stack;
use slackline_centre::stack::{Attribution, Case, Switches};
use slackline_lab::recorded;
use slackline_report::centre::attribute::{document, svg, text};
use slackline_report::picture;
use std::path::PathBuf;

/// Attribute the error of a simulated run to its components, by injecting them from a record
#[derive(Args)]
#[command(after_help = "\
CASE is a case of `centre stack` with a `record` {attempts, pilots} of a run, and what is believed \
otherwise: `model` {latency, pacing, lifetime} and `platform_model` {sites, links}. It may be a recorded \
run instead: the folder of a run, what `import -o` wrote, or the records of another engine. What is \
believed is then the nominal platform, or what --stack says.

Components: application, transfers, workflow, placement, queue_wait, provisioning, failures, \
platform. Each is injected from the record, or modelled or simulated.

Examples:
  slackline centre attribute pilot-stack
  slackline centre attribute pilot-stack --switch transfers=simulate
  slackline centre attribute pilot-stack --picture errors.svg --json
  slackline simulate montage -p two-site-grid --trace run.jsonl
  slackline centre attribute montage --trace run.jsonl -p two-site-grid
  slackline centre attribute tuesday.run --stack monday.toml")]
pub(crate) struct Attribute {
    /// The case, with a record, or a recorded run; with --trace, a workflow
    case: PathBuf,
    /// A trace of a simulated or real run of the workflow (.jsonl), as the record
    #[arg(long, value_name = "FILE.jsonl", requires = "platform")]
    trace: Option<PathBuf>,
    /// The platform of that run, with the nominal speeds
    #[arg(short, long, value_name = "FILE", requires = "trace")]
    platform: Option<PathBuf>,
    /// A stack that says what is believed of a recorded run, such as `platform from-logs --stack` writes
    #[arg(long, value_name = "FILE.toml")]
    stack: Option<PathBuf>,
    /// Only the run with this component not injected, e.g. platform=model (repeatable)
    #[arg(long, value_name = "COMPONENT=VALUE")]
    switch: Vec<String>,
    /// Draw the errors: .svg or .png
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Attribute {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(Some(&self.case))
            .reads(self.trace.as_ref())
            .reads(self.platform.as_ref())
            .reads(self.stack.as_ref())
            .draws("--picture", self.picture.as_ref())
            .json(self.json)
            .check(output)?;
        let mut switches = Switches::INJECTED;
        for text in &self.switch {
            switches = switches.set(text).map_err(Failure::input)?;
        }
        let case = self.case(output)?;
        let Some(record) = &case.record else {
            return Err(Failure::input(format!(
                "{}: the case has no `record` to inject from",
                self.case.display()
            )));
        };
        let found = if self.switch.is_empty() {
            stack::attribute(&case)
        } else {
            let one = stack::attribute_one(&case, switches);
            one.map(|run| Attribution { recorded: record.makespan, runs: vec![run] })
        };
        let found = found.map_err(|error| failure(error, &self.case))?;
        if let Some(path) = &self.picture {
            picture::write(&output.files, path, &svg(&found))?;
        }
        if self.json {
            return output.json(&document(&case, &found, switches));
        }
        text(&case, &found, output)
    }

    fn case(&self, output: &mut Output) -> Result<Case, Failure> {
        let run = match (&self.trace, &self.platform) {
            (Some(trace), Some(platform)) => {
                recorded::of_trace(&self.case, trace, platform, &output.files)?
            }
            _ if recorded::is_run(&self.case, &output.files) => {
                recorded::read(&self.case, false, &mut output.context(false))?
            }
            _ if self.stack.is_some() => {
                return Err(Failure::input("--stack is for recorded runs")
                    .with_help("a case says itself what is believed: `model`, `platform_model`"));
            }
            _ => return read(&self.case, output),
        };
        let operations = run.operations_per_task();
        let mut case = run.case;
        if let Some(path) = &self.stack {
            let wrong = |error| Failure::input(format!("{}: {error}", path.display()));
            let text = output.files.read_text(path)?;
            let stack = Case::parse_stack(&text, stack::Work::default()).map_err(wrong)?;
            case.believe(&stack, operations).map_err(wrong)?;
        }
        Ok(case)
    }
}
