//! `slackline convert`: a workflow from one format to another.

use crate::failure::Failure;
use crate::input::{check_output, format_parser, read_document};
use crate::output::Output;
use clap::Args;
use slackline_formats::Format;
use std::path::PathBuf;

/// Convert a workflow to another format
#[derive(Args)]
#[command(after_help = "\
The formats are recognised from content and extension; --from and --to say it where that fails.

Example:
  slackline convert montage.dax montage.json")]
pub(crate) struct Convert {
    /// The file to read
    input: PathBuf,
    /// The file to write; - for standard output
    output: PathBuf,
    /// Format of the input
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    from: Option<Format>,
    /// Format of the output
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    to: Option<Format>,
}

impl Convert {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let to_stdout = self.output.as_os_str() == "-";
        if to_stdout && self.to.is_none() {
            return Err(Failure::input("standard output has no extension that says the format")
                .with_help("add --to FORMAT"));
        }
        if !to_stdout {
            check_output(&Some(self.output.clone()))?;
        }
        let document = read_document(&self.input, self.from, output)?;
        if let (true, Some(format)) = (to_stdout, self.to) {
            return Ok(format.write(&document, output.stream())?);
        }
        slackline_formats::write_workflow(&self.output, &document, self.to)?;
        let tasks = document.workflow.len();
        output.say(&format!("{}: {tasks} tasks written\n", self.output.display()))
    }
}
