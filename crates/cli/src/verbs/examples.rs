//! `slackline examples`: workflows and platforms to try things with.

use crate::output::Output;
use clap::Args;
use slackline_core::Failure;
use slackline_core::bundled::FILES;
use std::path::PathBuf;

/// Write the bundled example workflows and platforms into a folder
#[derive(Args)]
#[command(after_help = "\
Files that are already there are kept unless --force is given.

Example:
  slackline examples try")]
pub(crate) struct Examples {
    /// The folder, made if it is not there
    #[arg(default_value = "slackline-examples")]
    folder: PathBuf,
    /// Write over files that are already there
    #[arg(long)]
    force: bool,
}

impl Examples {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let (mut written, mut kept) = (0, 0);
        for (name, text) in FILES {
            let path = self.folder.join(name);
            if path.exists() && !self.force {
                kept += 1;
                continue;
            }
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(|e| {
                    Failure::input(format!("{}: cannot be made: {e}", folder.display()))
                })?;
            }
            output.files.write(&path, |out| out.write_all(text.as_bytes()))?;
            output.detail(&format!("wrote {}", path.display()));
            written += 1;
        }
        let folder = self.folder.display();
        let kept = if kept == 0 { String::new() } else { format!(", {kept} kept as they were") };
        output.say(&format!("{folder}: {written} files written{kept}\n"))?;
        output.say(&format!("Try: slackline show {folder}/workflows/montage.json\n"))
    }
}
