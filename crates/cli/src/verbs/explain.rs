//! `slackline explain`: what decided the makespan of a recorded run.

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use clap::builder::PossibleValuesParser;
use slackline_core::explanation;
use slackline_core::explanation::Explanation;
use slackline_core::recorded::records;
use slackline_import::Engine;
use slackline_report::explanation::describe;
use slackline_report::import::repaired;
use slackline_report::picture;
use slackline_report::table::wrap;
use slackline_view::gantt;
use slackline_view::gantt::SvgOptions;
use std::path::PathBuf;

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
        let run = records(
            &self.paths,
            self.from.as_deref().and_then(Engine::named),
            None,
            &mut output.context(false),
        )?;
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
