//! The files a verb reads and writes, checked before it begins: nobody wants to learn after an
//! hour that the result has no place, or took that of an input.

use crate::output::Output;
use slackline_core::Failure;
use slackline_io::{FileIdentity, STANDARD, is_standard};
use slackline_report::picture;
use std::path::{Path, PathBuf};

/// Paths a verb is about to read and write.
#[derive(Default)]
pub(crate) struct Files<'a> {
    reads: Vec<&'a Path>,
    writes: Vec<(&'static str, &'a Path)>,
    pictures: Vec<(&'static str, &'a Path)>,
}

impl<'a> Files<'a> {
    /// A file that is read, where it is named.
    pub(crate) fn reads<P: AsRef<Path>>(mut self, path: Option<&'a P>) -> Self {
        self.reads.extend(path.map(AsRef::as_ref));
        self
    }

    /// Several files that are read.
    pub(crate) fn reads_all(mut self, paths: &'a [PathBuf]) -> Self {
        self.reads.extend(paths.iter().map(PathBuf::as_path));
        self
    }

    /// A file that an option names to be written, where it does.
    pub(crate) fn writes(mut self, option: &'static str, path: Option<&'a PathBuf>) -> Self {
        self.writes.extend(path.map(|path| (option, path.as_path())));
        self
    }

    /// A picture that an option names, where it does.
    pub(crate) fn draws(mut self, option: &'static str, path: Option<&'a PathBuf>) -> Self {
        self.pictures.extend(path.map(|path| (option, path.as_path())));
        self.writes(option, path)
    }

    /// The document of `--json`, which takes standard output.
    pub(crate) fn json(mut self, wanted: bool) -> Self {
        if wanted {
            self.writes.push(("--json", Path::new(STANDARD)));
        }
        self
    }

    /// Refuses an output in what is no folder, an output that is also an input, two outputs of
    /// one name, and pictures of a kind that is not drawn. Where an output takes standard output, what is said to people goes to standard
    /// error.
    pub(crate) fn check(self, output: &mut Output) -> Result<(), Failure> {
        let inputs: Vec<FileIdentity> =
            self.reads.iter().filter_map(|p| FileIdentity::of(p)).collect();
        if inputs.iter().filter(|i| **i == FileIdentity::Standard).count() > 1 {
            return Err(Failure::input("two files are to be read from standard input")
                .with_help("only one of them can be -"));
        }
        let mut outputs: Vec<(&str, FileIdentity)> = Vec::new();
        for (option, path) in self.writes {
            if is_standard(path) {
                if option != "--json" {
                    output.leave_stdout();
                }
            } else {
                check_place(path)?;
            }
            let Some(identity) = FileIdentity::of(path) else { continue };
            if identity != FileIdentity::Standard && inputs.contains(&identity) {
                return Err(Failure::input(format!("{option} {}: is read too", path.display()))
                    .with_help("write to another file: this one would be lost"));
            }
            if let Some((other, _)) = outputs.iter().find(|(_, o)| *o == identity) {
                let name = path.display();
                return Err(Failure::input(format!("{other} and {option} both write to {name}"))
                    .with_help("give one of them another name"));
            }
            outputs.push((option, identity));
        }
        self.pictures.iter().try_for_each(|(option, path)| picture::check(option, path))
    }
}

/// Fails where the path is a folder, or something on the way to it is none. Folders that are
/// missing are created when the file is written.
fn check_place(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::input(format!("{}: is a folder, not a file", path.display())));
    }
    let existing = path.ancestors().skip(1).find(|folder| folder.exists());
    match existing {
        Some(folder) if !folder.is_dir() => {
            Err(Failure::input(format!("{}: is no folder", folder.display())))
        }
        _ => Ok(()),
    }
}
