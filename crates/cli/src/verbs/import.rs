//! `slackline import`: the records of another engine as workflow, platform, trace and plan.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use clap::builder::PossibleValuesParser;
use slackline_core::recorded::{records, write};
use slackline_import::Engine;
use slackline_report::import::describe;
use std::path::PathBuf;

/// Read the records that another workflow engine has left behind
#[derive(Args)]
#[command(after_help = "\
Read are the working folder of Snakemake (before a run its graph or detailed summary), traces or reports of \
Nextflow with the work folder or the process graph, Parsl's monitoring.db, \
Dask's graph with task stream or performance report, CWLProv, Workflow Run RO-Crates, Makeflow's log, and \
sacct of Slurm (--parsable2, or --json). Several paths are joined. The folder DIR gets workflow.json \
(WfFormat 1.6), platform.toml, trace.jsonl, plan.json (where and when each task ran), recorded.toml (a scenario in which every task waits as long as it \
did) and import.json, which counts what was measured, derived, assumed and missing, and every repair.

Examples:
  slackline import . -o last-run
  slackline import trace.txt pipeline_dag.dot -o nextflow-run
  slackline import trace.txt --from nextflow --json")]
pub(crate) struct Import {
    /// Folders or files with the records of one run
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The engine, where its records are not recognised or several left some
    #[arg(long, value_name = "ENGINE", value_parser = PossibleValuesParser::new(Engine::ALL.map(Engine::name)))]
    from: Option<String>,
    /// Sizes of files that are gone: bytes and path on each line
    #[arg(long, value_name = "FILE")]
    sizes: Option<PathBuf>,
    /// Folder for the result
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print import.json instead of a summary
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let from = self.from.as_deref().and_then(Engine::named);
        let context = &mut output.context(false);
        let run = records(&self.paths, from, self.sizes.clone(), context)?;
        let summary = run.summary();
        if let Some(folder) = &self.output {
            write(&run, &summary, folder, &output.files)?;
        }
        if self.json {
            return output.json(&summary);
        }
        output.text(&describe(&summary, output.width))?;
        match &self.output {
            Some(folder) => output.say(&format!(
                "\n{}: workflow.json, platform.toml, trace.jsonl, plan.json, recorded.toml, import.json\n",
                folder.display()
            )),
            None => output
                .say("\nNothing was written; -o DIR writes workflow, platform, trace and plan.\n"),
        }
    }
}
