//! `slackline reproduce`: published results, run again, with a verdict per claim.

use crate::output::Output;
use crate::path_check::Files;
use crate::progress::Bar;
use clap::Args;
use slackline_core::{Failure, schema};
use slackline_lab::papers;
use slackline_lab::papers::{Options, Paper, Progress, Report, Size, Watch};
use slackline_model::nearest::did_you_mean;
use slackline_model::units::fmt_seconds;
use slackline_report::study::{
    Cells, Emitted, List, ReproductionDocument, cells_in_words, list, tell,
};
use slackline_report::table::wrap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Repeat a published study and compare its claims with our results
#[derive(Args)]
#[command(after_help = "\
Without a name, lists what can be reproduced. The same seed and size give the same report on any number \
of threads; what depends on wall time is separate and marked.

Examples:
  slackline reproduce
  slackline reproduce selective-rescheduling --quick
  slackline reproduce selective-rescheduling -o report.md
  slackline reproduce gtp --quick --list-cells
  slackline reproduce gtp --quick --emit-cell 40 -o cell")]
pub(crate) struct Reproduce {
    /// Name of the study
    name: Option<String>,
    /// Seed of every draw
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Graphs per setting instead of the usual number
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    graphs: Option<u32>,
    /// A quick impression within seconds: few graphs, small settings
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As many runs as the source made, or more
    #[arg(long)]
    full: bool,
    /// Threads; all cores if left out
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print the tables of numbers too
    #[arg(long)]
    tables: bool,
    /// List the single runs and plans of the study, with their numbers, instead of making them
    #[arg(long, requires = "name", conflicts_with_all = ["tables", "output", "threads"])]
    list_cells: bool,
    /// Write what this one of them takes into a folder (-o), with the command that makes it again
    #[arg(
        long,
        value_name = "NUMBER",
        requires_all = ["name", "output"],
        conflicts_with_all = ["list_cells", "tables", "threads"]
    )]
    emit_cell: Option<usize>,
    /// Write the whole report to this file, in Markdown; with --emit-cell the folder of the cell
    #[arg(short, long, value_name = "FILE.md|FOLDER")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Reproduce {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let Some(name) = &self.name else { return self.list(output) };
        let Some(paper) = papers::find(name) else {
            let names: Vec<&str> = papers::ALL.iter().map(|p| p.name).collect();
            let hint = did_you_mean(name, names.iter().copied());
            return Err(Failure::input(format!("there is no reproduction '{name}'{hint}"))
                .with_help(format!("one of: {}", names.join(", "))));
        };
        if self.list_cells {
            return self.list_cells(paper, output);
        }
        if let (Some(number), Some(folder)) = (self.emit_cell, &self.output) {
            return self.emit_cell(paper, number, folder, output);
        }
        Files::default().writes("--output", self.output.as_ref()).json(self.json).check(output)?;
        let report = self.study(paper, output)?;
        if let Some(path) = &self.output {
            let page = report.markdown();
            output.files.write(path, |out| out.write_all(page.as_bytes()))?;
        }
        if self.json {
            let schema = schema::names::REPRODUCTION;
            return output.json(&ReproductionDocument { schema, report: &report });
        }
        tell(self.tables, self.output.as_deref(), &report, output)
    }

    fn list(&self, output: &mut Output) -> Result<(), Failure> {
        if self.json {
            return output.json(&List::of_all());
        }
        let text = list(output);
        output.text(&text)
    }

    fn options(&self) -> Options {
        let size = match (self.quick, self.full) {
            (true, _) => Size::Quick,
            (_, true) => Size::Full,
            _ => Size::Standard,
        };
        Options { seed: self.seed, size, graphs: self.graphs.map(|g| g as usize) }
    }

    /// The words that name the study as it was asked for.
    fn asked(&self, paper: &Paper) -> String {
        let size = match self.options().size {
            Size::Quick => " --quick",
            Size::Full => " --full",
            Size::Standard => "",
        };
        let graphs = self.graphs.map(|g| format!(" --graphs {g}")).unwrap_or_default();
        format!("{}{size} --seed {}{graphs}", paper.name, self.seed)
    }

    fn list_cells(&self, paper: &Paper, output: &mut Output) -> Result<(), Failure> {
        let cells = (paper.cells)(&self.options()).map_err(Failure::work)?;
        if self.json {
            return output.json(&Cells::of(paper, &cells));
        }
        let text = cells_in_words(&cells);
        output.text(&text)?;
        output.note("--emit-cell NUMBER -o FOLDER writes one of them out");
        if !paper.unlisted.is_empty() {
            output.note(paper.unlisted);
        }
        Ok(())
    }

    fn emit_cell(
        &self,
        paper: &Paper,
        number: usize,
        folder: &Path,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let cells = (paper.cells)(&self.options()).map_err(Failure::work)?;
        let Some(recipe) = number.checked_sub(1).and_then(|index| cells.get(index)) else {
            let asked = self.asked(paper);
            let message = format!("--emit-cell {number}: there is no such cell");
            let help = format!(
                "{asked} has the cells 1 to {}: slackline reproduce {asked} --list-cells",
                cells.len()
            );
            return Err(Failure::input(message).with_help(help));
        };
        if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            let message = format!("{}: this folder is not empty", folder.display());
            let help = "a cell takes a new folder: files of another one would pass for its own";
            return Err(Failure::input(message).with_help(help));
        }
        let failed = |e: std::io::Error| {
            Failure::input(format!("{}: cannot make this folder: {e}", folder.display()))
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let from = format!("slackline reproduce {} --emit-cell {number}", self.asked(paper));
        let cell = recipe.cell().map_err(Failure::work)?;
        let about = [from, recipe.name.clone()];
        let written = cell.write(&output.files, folder, &about).map_err(Failure::work)?;
        if self.json {
            return output.json(&Emitted {
                schema: schema::names::CELL,
                study: paper.name,
                number,
                name: &recipe.name,
                folder: folder.display().to_string(),
                files: &written.files,
                command: &written.command,
                makespan: written.end.is_finite().then_some(written.end),
            });
        }
        let end = if written.end.is_finite() {
            format!("makespan {}", fmt_seconds(written.end))
        } else {
            "cannot finish".to_string()
        };
        let mut text = wrap(&format!("{}: {end}", recipe.name), 0, output.width);
        let _ = write!(text, "\ncd {}\n{}\n", folder.display(), written.line());
        output.say(&text)
    }

    fn study(&self, paper: &Paper, output: &Output) -> Result<Report, Failure> {
        let options = self.options();
        let bar = Bar::new(output.quiet);
        let tell = |p: Progress<'_>| bar.show(p.stage, p.done, p.total);
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(threads) = self.threads {
            pool = pool.num_threads(usize::from(threads));
        }
        let pool = pool.build().map_err(Failure::work)?;
        let report = pool.install(|| (paper.run)(&options, &Watch::new(&tell)));
        bar.finish();
        report.map_err(Failure::work)
    }
}
