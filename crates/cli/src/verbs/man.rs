//! `slackline man`: a manual page for the command and one for each verb.

use crate::output::Output;
use clap::{Args, Command, CommandFactory};
use slackline_core::Failure;
use slackline_io::FileAccess;
use slackline_report::table::count;
use std::path::{Path, PathBuf};

/// Write the manual pages, one for each verb, into a folder
#[derive(Args)]
#[command(after_help = "\
Where `man` looks in your home: ~/.local/share/man/man1

Example:
  slackline man man1")]
pub(crate) struct Man {
    /// The folder, made if it is not there
    folder: PathBuf,
}

impl Man {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let folder = self.folder.display();
        std::fs::create_dir_all(&self.folder)
            .map_err(|e| Failure::input(format!("{folder}: cannot be made: {e}")))?;
        let written = pages(&output.files, crate::Cli::command(), "slackline", &self.folder)?;
        output.say(&format!("{folder}: {} written\n", count(written, "manual page")))?;
        output.say(&format!("Try: man {folder}/slackline-plan.1\n"))
    }
}

/// Writes the page of a command and those below it; gives how many.
fn pages(
    files: &FileAccess,
    command: Command,
    name: &str,
    folder: &Path,
) -> Result<usize, Failure> {
    let below: Vec<Command> = command.get_subcommands().cloned().collect();
    // Kinds of generators are listed on the page of their family.
    let deeper = name.matches('-').count() < 2;
    let words = name.replace('-', " ");
    let command = command.display_name(name).bin_name(words).disable_help_subcommand(true);
    let page = clap_mangen::Man::new(command);
    let path = folder.join(format!("{name}.1"));
    files.write(&path, |out| page.render(out))?;
    let mut written = 1;
    for verb in below.into_iter().filter(|_| deeper) {
        let name = format!("{name}-{}", verb.get_name());
        written += pages(files, verb, &name, folder)?;
    }
    Ok(written)
}
