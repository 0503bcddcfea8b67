//! `slackline validate`: a schedule against its workflow and platform.

use crate::input::{LimitOptions, Sources};
use crate::model::ModelOptions;
use crate::output::Output;
use clap::Args;
use serde::Serialize;
use slackline_core::{Failure, schema};
use slackline_formats::schedule_file;
use slackline_model::schedule::{Violation, validate};
use slackline_model::units::fmt_seconds;
use slackline_report::table::count;
use std::path::PathBuf;

/// Most violations listed unless all are asked for.
const SHOWN: usize = 20;

/// Check a schedule against its workflow and platform
#[derive(Args)]
#[command(after_help = "\
Exit code 1 and a list of broken rules if the schedule is not valid.

Example:
  slackline validate plan.json --workflow montage --platform two-site-grid")]
pub(crate) struct Validate {
    /// The schedule: a file of plan -o, a document of plan or simulate --json, a trace (.jsonl)
    schedule: PathBuf,
    /// The workflow it is for
    #[arg(short, long, value_name = "FILE", required_unless_present = "instance")]
    workflow: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    model: ModelOptions,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ValidationDocument {
    schema: &'static str,
    valid: bool,
    makespan: f64,
    violations: Vec<String>,
}

impl Validate {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let world = self.sources.read(self.workflow.as_deref(), output)?;
        let problem = world.problem(&self.model.request()?)?;
        let schedule = schedule_file::read_schedule(&output.files, &self.schedule, &problem)?;
        let violations = validate(&problem, &schedule, &self.limits.settings().limits());
        if self.json {
            output.json(&ValidationDocument {
                schema: schema::names::VALIDATION,
                valid: violations.is_empty(),
                makespan: schedule.makespan(),
                violations: violations.iter().map(Violation::to_string).collect(),
            })?;
        } else if violations.is_empty() {
            output.say(&format!(
                "{}: valid, {}, makespan {}\n",
                self.schedule.display(),
                count(problem.tasks(), "task"),
                fmt_seconds(schedule.makespan())
            ))?;
        } else {
            let shown = if output.verbose { violations.len() } else { SHOWN };
            for violation in violations.iter().take(shown) {
                output.text(&format!("{violation}\n"))?;
            }
            if violations.len() > shown {
                output.text(&format!("… and {} more; -v lists all\n", violations.len() - shown))?;
            }
        }
        match violations.len() {
            0 => Ok(()),
            1 => Err(Failure::work(format!("{}: a rule is broken", self.schedule.display()))),
            n => Err(Failure::work(format!("{}: {n} rules are broken", self.schedule.display()))),
        }
    }
}
