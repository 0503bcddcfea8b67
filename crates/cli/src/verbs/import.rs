//! `slackline import`: the records of another engine as workflow, platform, trace and plan.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use clap::builder::PossibleValuesParser;
use slackline_core::run;
use slackline_core::run::history::RunHistory;
use slackline_formats::trace::TraceFormat;
use slackline_formats::{Format, scenario, schedule_json, trace};
use slackline_import::{Engine, Options, RecordedRun, Summary};
use slackline_model::Problem;
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
        let run = records(&self.paths, self.from.as_deref(), self.sizes.clone(), output)?;
        let summary = run.summary();
        if let Some(folder) = &self.output {
            write(&run, &summary, folder, output)?;
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

/// Reads the records under some paths.
pub(crate) fn records(
    paths: &[PathBuf],
    from: Option<&str>,
    sizes: Option<PathBuf>,
    output: &mut Output,
) -> Result<RecordedRun, Failure> {
    if let [path] = paths
        && from.is_none()
        && run::log_of(path).is_file()
    {
        return Ok(RunHistory::read(path, &mut output.context(false))?.recorded());
    }
    let options = Options { from: from.and_then(Engine::named), sizes, strict: output.strict };
    Ok(slackline_import::read(paths, &options, &output.files)?)
}

fn write(
    run: &RecordedRun,
    summary: &Summary,
    folder: &std::path::Path,
    output: &mut Output,
) -> Result<(), Failure> {
    let document = run.document()?;
    let platform_text = run.platform_toml();
    let platform = run.platform()?;
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::from(slackline_formats::FormatError::from(e).in_file(folder)))?;
    let files = &output.files;
    files.write(&folder.join("workflow.json"), |out| Format::WfFormat.write(&document, out))?;
    files.write(&folder.join("platform.toml"), |out| out.write_all(platform_text.as_bytes()))?;
    let workflow = &document.workflow;
    let recorded = run.trace();
    files.write(&folder.join("trace.jsonl"), |out| {
        trace::write(&recorded, TraceFormat::JsonLines, workflow, &platform, out)
    })?;
    let problem = Problem::new(workflow, &platform).map_err(Failure::input)?;
    let schedule = run.schedule();
    files.write(&folder.join("plan.json"), |out| schedule_json::write(&problem, &schedule, out))?;
    scenario::write_scenario(files, &folder.join("recorded.toml"), &run.scenario())?;
    files.write(&folder.join("import.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, summary).map_err(std::io::Error::from)?;
        out.write_all(b"\n")
    })?;
    Ok(())
}
