//! `slackline explain`: what decided the makespan of a recorded run.

use super::import::{records, repaired, without_common};
use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use crate::picture;
use crate::table::{Table, cut, wrap};
use clap::Args;
use clap::builder::PossibleValuesParser;
use slackline_analysis::waits::Cause;
use slackline_core::explanation::{self, Explanation, Stretch};
use slackline_import::Engine;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_view::gantt::{self, SvgOptions};
use std::path::PathBuf;

/// Links of the chain that are shown to people.
const SHOWN: usize = 12;

/// Explain what decided the makespan of a run of another workflow engine
#[derive(Args)]
#[command(after_help = "\
The chain of waits goes from the end of the run back to its begin: what the last task ran, what it waited \
for before that, then the same of the parent that ended last. Its seconds add up to the makespan. 'Waited \
for a slot' means that no host had as many free cores as the task takes; 'in the queue', that it was \
submitted and had room; 'waited for the engine', the rest.

Examples:
  slackline explain .
  slackline explain trace.txt pipeline_dag.dot --svg chain.svg
  slackline explain trace.txt --json")]
pub(crate) struct Explain {
    /// Folders or files with the records of one run
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The engine, where its records are not recognised or several left some
    #[arg(long, value_name = "ENGINE", value_parser = PossibleValuesParser::new(Engine::ALL.map(Engine::name)))]
    from: Option<String>,
    /// Draw the run with the chain marked into this file (.svg or .png)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads_all(&self.paths)
            .draws("--svg", self.svg.as_ref())
            .json(self.json)
            .check(output)?;
        let run = records(&self.paths, self.from.as_deref(), None, output)?;
        let Some(explanation) = Explanation::of(&run) else {
            let paths: Vec<String> = self.paths.iter().map(|p| p.display().to_string()).collect();
            return Err(Failure::input(format!(
                "{}: the records have no times: there is nothing to explain",
                paths.join(", ")
            )));
        };
        if let Some(path) = &self.svg {
            let chart = explanation::chart(&run, &explanation)?;
            picture::write(&output.files, path, &gantt::svg(&chart, &SvgOptions::default()))?;
        }
        if self.json {
            return output.json(&explanation);
        }
        let text = describe(&explanation, output.width);
        output.text(&text)?;
        if !explanation::tells_slots(&run) {
            output.say(&wrap(
                "Note: the records name neither cores of tasks nor of hosts. How many tasks ran at once stands for the \
                 slots: what waited for one may count as waiting for the engine.\n",
                0,
                output.width,
            ))?;
        }
        for note in &run.notes {
            output.say(&wrap(&format!("Note: {note}.\n"), 0, output.width))?;
        }
        for (repair, times) in &run.repairs {
            output.say(&wrap(&repaired(repair, *times), 0, output.width))?;
        }
        Ok(())
    }
}

fn describe(explanation: &Explanation, width: usize) -> String {
    let makespan = explanation.makespan;
    let mut text = format!(
        "What decided the {} of this run of {}\n\n",
        fmt_seconds(makespan),
        explanation.engine
    );
    for cause in Cause::ALL {
        if let Some(seconds) = explanation.sums.get(&cause) {
            let share = format!("{:.1} %", 100.0 * seconds / makespan);
            text.push_str(&format!(
                "  {share:>7}  {:<23} {}\n",
                cause.name(),
                fmt_seconds(*seconds)
            ));
        }
    }
    text.push_str("\nThe chain, from the begin to the end\n\n");
    let mut table = Table::new(&["from", "seconds", "", "task"]);
    let mut longest: Vec<usize> = (0..explanation.chain.len()).collect();
    longest.sort_by(|&a, &b| {
        let seconds = |i: usize| explanation.chain[i].link.to - explanation.chain[i].link.from;
        seconds(b).total_cmp(&seconds(a))
    });
    longest.truncate(SHOWN);
    longest.sort_unstable();
    for &index in &longest {
        let Stretch { task, link } = &explanation.chain[index];
        table.row([
            fmt_seconds(link.from),
            fmt_seconds(link.to - link.from),
            link.cause.name().to_string(),
            cut(task, 34),
        ]);
    }
    text.push_str(&table.render(width));
    let more = explanation.chain.len() - longest.len();
    if more > 0 {
        text.push_str(&format!("  and {more} shorter stretches (all with --json)\n"));
    }
    let what_if = &explanation.what_if;
    let repeated = explanation.repeated;
    text.push_str(&format!(
        "\nRepeated as it was, the run takes {}; with\n\n",
        fmt_seconds(repeated)
    ));
    for (what, seconds) in [
        ("twice the slots", what_if.twice_the_slots),
        ("no queue", what_if.no_queue),
        ("no failures", what_if.no_failures),
    ] {
        let gain = (100.0 * (repeated - seconds) / repeated).round();
        let told = match gain {
            0.0 => "no change".to_string(),
            gain if gain < 0.0 => format!("{:.0} % more", -gain),
            gain => format!("{gain:.0} % less"),
        };
        text.push_str(&format!("  {what:<16} {:<12} {told}\n", fmt_seconds(seconds)));
    }
    text.push_str("\nRequested and used, by kind\n\n");
    let mut table = Table::new(&["kind", "tasks", "failed", "core use", "memory asked", "used"]);
    let names = without_common(explanation.kinds.iter().map(|kind| kind.kind.as_str()));
    for (kind, name) in explanation.kinds.iter().zip(names).take(SHOWN) {
        let bytes = |value: Option<f64>| value.map_or("-".to_string(), fmt_bytes);
        table.row([
            cut(name, 30),
            kind.tasks.to_string(),
            kind.failed.to_string(),
            kind.used_cores.map_or("-".to_string(), |share| format!("{:.0} %", 100.0 * share)),
            bytes(kind.requested_memory),
            bytes(kind.used_memory),
        ]);
    }
    text.push_str(&table.render(width));
    let more = explanation.kinds.len().saturating_sub(SHOWN);
    if more > 0 {
        text.push_str(&format!("  and {more} more that ran for less time (all with --json)\n"));
    }
    text
}
