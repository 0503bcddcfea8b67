//! `slackline centre attribute`: which component moves a simulated run how far from its record.

use super::Number;
use super::recorded;
use super::stack::{Ordered, done, failure, read};
use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use serde::Serialize;
use slackline_centre::stack::{self, Attributed, Attribution, Case, Component, Switches, Validity};
use slackline_core::schema::names;
use slackline_model::units::fmt_seconds;
use slackline_report::picture;
use slackline_report::table::Table;
use slackline_view::plot::{Cell, matrix};
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

#[derive(Serialize)]
struct AttributionDocument<'a> {
    schema: &'static str,
    recorded: Number,
    runs: Vec<RunLine<'a>>,
    validity: Validity,
}

#[derive(Serialize)]
struct RunLine<'a> {
    switches: Switches,
    makespan: Option<Number>,
    error: Option<Number>,
    done: Ordered<&'a str, Number>,
    robust: bool,
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
                recorded::of_trace(&self.case, trace, platform, output)?
            }
            _ if recorded::is_run(&self.case, output) => recorded::read(&self.case, false, output)?,
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

fn document<'a>(
    case: &'a Case,
    found: &Attribution,
    switches: Switches,
) -> AttributionDocument<'a> {
    let line = |run: &Attributed| RunLine {
        switches: run.switches,
        makespan: run.outcome.makespan().map(Number),
        error: run.error.map(Number),
        done: done(case, &run.outcome),
        robust: run.robust,
    };
    AttributionDocument {
        schema: names::CENTRE_ATTRIBUTE,
        recorded: Number(found.recorded),
        runs: found.runs.iter().map(line).collect(),
        validity: Validity::of(case, Some(switches)),
    }
}

fn percent(error: Option<f64>) -> String {
    match error {
        None => "not done".to_string(),
        Some(error) if error.abs() < 5e-5 => "0.00 %".to_string(),
        Some(error) => format!("{:+.2} %", 100.0 * error),
    }
}

fn error_of(found: &Attribution, switches: Switches) -> Option<Option<f64>> {
    found.run(switches).map(|run| run.error)
}

fn text(case: &Case, found: &Attribution, output: &mut Output) -> Result<(), Failure> {
    output.say(&format!("recorded makespan {}\n", fmt_seconds(found.recorded)))?;
    if let [run] = &found.runs[..] {
        let makespan = run.outcome.makespan().map_or_else(|| "-".to_string(), fmt_seconds);
        output.say(&format!(
            "{}: makespan {makespan}, error {}\n",
            run.switches,
            percent(run.error)
        ))?;
        return output.say(&format!("{}\n", Validity::of(case, Some(run.switches)).text()));
    }
    let mut table =
        Table::new(&["<component", "<otherwise", ">alone", ">up to here", ">all others free"]);
    let of = |switches: Switches| error_of(found, switches).map_or_else(String::new, percent);
    table.row([
        "(everything injected)".into(),
        String::new(),
        of(Switches::INJECTED),
        String::new(),
        String::new(),
    ]);
    let rows =
        Attribution::alone().zip(Attribution::cumulative()).zip(Attribution::injected_back());
    for (((component, alone), (_, so_far)), (_, back)) in rows {
        table.row([
            component.name().into(),
            component.free().into(),
            of(alone),
            of(so_far),
            of(back),
        ]);
    }
    for (component, switches) in Attribution::with_platform() {
        table.row([
            format!("platform and {}", component.name()),
            String::new(),
            of(switches),
            String::new(),
            String::new(),
        ]);
    }
    table.row([
        "(nothing injected)".into(),
        String::new(),
        String::new(),
        of(Switches::FREE),
        String::new(),
    ]);
    let text = table.render(output.width);
    output.text(&text)?;
    output.say(
        "alone: this component free, the others injected. up to here: free together with all above. all others \
         free: this one injected. The errors of single components do not add up: what is injected holds the rest in place.\n",
    )?;
    let ties = found.runs.iter().filter(|run| !run.robust).count();
    if ties > 0 {
        output.note(&format!(
            "{ties} of {} runs depend on the order of what happens at one instant",
            found.runs.len()
        ));
    }
    output.say(&format!("{}\n", Validity::of(case, Some(Switches::FREE)).text()))
}

fn svg(found: &Attribution) -> String {
    let most = found.runs.iter().filter_map(|run| run.error).fold(1e-9, |m: f64, e| m.max(e.abs()));
    let cell = |switches: Switches| {
        let error = error_of(found, switches)?;
        Some(Cell { shade: error.map_or(0.0, |error| -error / most), text: percent(error) })
    };
    let columns = ["alone", "up to here", "others free"].map(str::to_string);
    let lists = [
        Attribution::alone().collect::<Vec<_>>(),
        Attribution::cumulative().collect(),
        Attribution::injected_back().collect(),
    ];
    let rows: Vec<String> = Component::ALL.map(|component| component.name().to_string()).into();
    let cells: Vec<Vec<Option<Cell>>> =
        (0..rows.len()).map(|r| lists.iter().map(|list| cell(list[r].1)).collect()).collect();
    let note = format!("error of the makespan; recorded {}", fmt_seconds(found.recorded));
    matrix("Where the error comes from", &note, &rows, &columns, &cells)
}
