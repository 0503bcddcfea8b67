//! The workflow formats and their recognition: the content decides; the extension breaks ties and decides for
//! files with ambiguous content.
//!
//! A new format of this crate is one module with a `CODEC`, one variant of [`Format`], one entry of
//! [`Format::ALL`] and one line in `Format::codec`; other crates add theirs with [`Format::add`].

use crate::document::Document;
use crate::error::{FormatError, Result};
use crate::note::Comments;
use crate::read_options::ReadOptions;
use slackline_model::Workflow;
use slackline_model::resources::{Demand, Devices};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

/// Writes a document.
pub type WriteFn = fn(&Document, &mut dyn Write) -> Result<()>;

/// Reads a text, with the files beside it and values for its parameters.
pub type ReadFn = fn(&str, &ReadOptions<'_>) -> Result<Document>;

/// Functions and names of a format.
pub struct Codec {
    /// The name used on the command line.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Usual extensions without the dot, most usual first.
    pub extensions: &'static [&'static str],
    /// The comments it has.
    pub comments: Option<Comments>,
    /// Recognises a text of this format; cheap, never wrong about another format's files.
    pub recognise: fn(&str) -> bool,
    /// Reads a text.
    pub read: ReadFn,
    /// Writes a document, where the format can be written.
    pub write: Option<WriteFn>,
}

/// A file format that holds a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// WfCommons WfFormat JSON.
    WfFormat,
    /// Pegasus DAX XML.
    Dax,
    /// Pegasus 5 YAML.
    PegasusYaml,
    /// Slackline's own TOML.
    Toml,
    /// Scheduling instance JSON.
    Instance,
    /// DOT graph.
    Dot,
    /// Standard Task Graph.
    Stg,
    /// WorkDescription of parameter sweeps.
    Work,
    /// Text of the generator daggen.
    Daggen,
    /// A format that another crate has added.
    Added(AddedFormat),
}

/// Number of an added format; [`Format::add`] makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AddedFormat(usize);

/// Formats that other crates have added, for the life of the process.
static ADDED: RwLock<Vec<&'static Codec>> = RwLock::new(Vec::new());

fn added() -> Vec<&'static Codec> {
    ADDED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Format {
    /// The formats of this crate, in the order in which content is tested.
    pub const ALL: &[Format] = &[
        Format::WfFormat,
        Format::Dax,
        Format::PegasusYaml,
        Format::Toml,
        Format::Instance,
        Format::Dot,
        Format::Stg,
        Format::Work,
        Format::Daggen,
    ];

    /// Adds a format, which is read, recognised and written like those of this crate; fails if its name is taken.
    pub fn add(codec: &'static Codec) -> Result<Format> {
        let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
        let same = |name: &str| name.eq_ignore_ascii_case(codec.name);
        if Format::ALL.iter().any(|f| same(f.name())) || added.iter().any(|c| same(c.name)) {
            return Err(FormatError::new(format!("a format is named '{}' already", codec.name)));
        }
        added.push(codec);
        Ok(Format::Added(AddedFormat(added.len() - 1)))
    }

    /// Every format: those of this crate in the order in which content is tested, then added ones.
    pub fn all() -> impl Iterator<Item = Format> {
        let added = (0..added().len()).map(|k| Format::Added(AddedFormat(k)));
        Format::ALL.iter().copied().chain(added)
    }

    fn codec(self) -> &'static Codec {
        match self {
            Format::WfFormat => &crate::wfformat::CODEC,
            Format::Dax => &crate::dax::CODEC,
            Format::PegasusYaml => &crate::pegasus_yaml::CODEC,
            Format::Toml => &crate::workflow_toml::CODEC,
            Format::Instance => &crate::instance::CODEC,
            Format::Dot => &crate::dot::CODEC,
            Format::Stg => &crate::stg::CODEC,
            Format::Work => &crate::sweep::CODEC,
            Format::Daggen => &crate::daggen::CODEC,
            Format::Added(AddedFormat(k)) => added()[k],
        }
    }

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        self.codec().name
    }

    /// One line for people.
    pub fn about(self) -> &'static str {
        self.codec().about
    }

    /// Usual extensions without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        self.codec().extensions
    }

    /// The comments it has.
    pub fn comments(self) -> Option<Comments> {
        self.codec().comments
    }

    /// Whether the format can be written.
    pub fn can_write(self) -> bool {
        self.codec().write.is_some()
    }

    /// Whether its tasks have seconds that were measured at some speed, instead of work.
    pub fn tells_seconds(self) -> bool {
        matches!(self, Format::WfFormat | Format::Dax | Format::PegasusYaml | Format::Stg)
    }

    /// Whether the format can hold workflows with choices and loops.
    pub fn has_choices(self) -> bool {
        matches!(self, Format::Toml | Format::Instance)
    }

    /// Whether a text is recognised as this format.
    pub fn recognises(self, text: &str) -> bool {
        (self.codec().recognise)(text)
    }

    /// Reads a workflow from a text of this format.
    pub fn read(self, text: &str) -> Result<Document> {
        (self.codec().read)(text, &ReadOptions::default())
    }

    /// Reads a workflow from a text of this format, with the files beside it and values for its parameters.
    pub fn read_with(self, text: &str, options: &ReadOptions<'_>) -> Result<Document> {
        (self.codec().read)(text, options)
    }

    /// Writes a workflow in this format.
    pub fn write(self, document: &Document, out: &mut dyn Write) -> Result<()> {
        let is_plain = document.workflow.control().is_none();
        match self.codec().write.filter(|_| is_plain || self.has_choices()) {
            None if !is_plain => Err(FormatError::new(format!(
                "{self} has no choices and loops, and this workflow has some"
            ))
            .with_help("unfold one course of it with --draw SEED, or write toml or instance")),
            Some(write) => write(document, out),
            None => Err(FormatError::new(format!("{self} can be read but not written"))
                .with_help(format!("formats that can be written: {}", writable()))),
        }
    }

    /// Demands of a workflow's tasks that this format cannot represent; empty if it represents all.
    pub fn drops(self, workflow: &Workflow) -> Vec<&'static str> {
        let any = |has: &dyn Fn(&Demand) -> bool| {
            workflow.tasks().filter_map(|t| workflow.demand(t)).any(has)
        };
        let says = |formats: &[Format]| formats.contains(&self);
        let whole = [Format::Toml, Format::Instance];
        let numbers = [Format::Dax, Format::PegasusYaml, Format::Dot];
        let kinds = |d: &Demand| matches!(d.gpus, Some(Devices::Kinds(_)));
        let mut dropped = Vec::new();
        if says(&whole) {
            return dropped;
        }
        if any(&|d| d.memory_per_core > 0.0) {
            dropped.push("memory per core");
        }
        if says(&numbers) {
            if any(&kinds) {
                dropped.push("kinds of devices");
            }
        } else if any(&|d| d.gpus.is_some()) {
            dropped.push("devices");
        }
        if any(&|d| !d.named.is_empty()) {
            dropped.push("named resources");
        }
        if workflow.files().any(|f| workflow.is_kept(f)) {
            dropped.push("results that are read");
        }
        dropped
    }

    /// The format of a text, with the path of its file as a hint.
    pub fn detect(path: Option<&Path>, text: &str) -> Result<Format> {
        let hinted = |format: &Format| path.is_some_and(|path| format.has_extension_of(path));
        let recognised = |format: &Format| format.recognises(text);
        let found = (Format::all().filter(hinted).find(recognised))
            .or_else(|| Format::all().find(recognised));
        if let Some(format) = found {
            return Ok(format);
        }
        // Nothing in the text: its extension speaks if it means one format only.
        let mut by_extension = Format::all().filter(hinted);
        match (by_extension.next(), by_extension.next()) {
            (Some(format), None) => Ok(format),
            _ => Err(FormatError::new("not a workflow format Slackline knows")
                .with_help(format!("say which it is; the formats are: {}", all_names()))),
        }
    }

    /// The format to write a file in: by its extension.
    pub fn for_output(path: &Path) -> Result<Format> {
        let fits = |f: &Format| f.can_write() && f.has_extension_of(path);
        Format::all().find(fits).ok_or_else(|| {
            FormatError::new("the extension of the file does not say which format to write")
                .with_help(format!("say which it is; the formats are: {}", writable()))
                .in_file(path)
        })
    }

    /// Whether the name of a file ends in one of this format's extensions (`x.dax`,
    /// `x.workflow.json`).
    fn has_extension_of(self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let ends =
            |ext: &&'static str| name.strip_suffix(*ext).is_some_and(|stem| stem.ends_with('.'));
        self.extensions().iter().any(ends)
    }
}

fn all_names() -> String {
    Format::all().map(|f| f.name()).collect::<Vec<_>>().join(", ")
}

fn writable() -> String {
    let names = Format::all().filter(|f| f.can_write()).map(|f| f.name());
    names.collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Format> {
        let same = |f: &Format| f.name().eq_ignore_ascii_case(name);
        Format::all().find(same).ok_or_else(|| {
            FormatError::new(format!("no format is named '{name}'"))
                .with_help(format!("the formats are: {}", all_names()))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use slackline_model::{Task, WorkflowBuilder};

    /// Seconds, a task a line, and the file of another name beside it first.
    const LINES: Codec = Codec {
        name: "lines-of-a-test",
        about: "seconds, a task a line",
        extensions: &["lines-of-a-test"],
        comments: None,
        recognise: |text| text.starts_with("lines of a test"),
        read: |text, _| {
            let mut b = WorkflowBuilder::new("lines");
            for (number, line) in text.lines().enumerate().skip(1) {
                let seconds: f64 =
                    line.parse().map_err(|_| FormatError::new(format!("no number: {line}")))?;
                b.add_task(Task::new(format!("t{number}"), seconds)).map_err(FormatError::new)?;
            }
            Ok(Document::new(b.build().map_err(FormatError::new)?))
        },
        write: None,
    };

    #[test]
    fn an_added_format_is_read_like_any_other() {
        let format = Format::add(&LINES).unwrap();
        assert!(Format::add(&LINES).unwrap_err().to_string().contains("named 'lines-of-a-test'"));
        let text = "lines of a test\n1\n2\n";
        assert_eq!(Format::detect(None, text).unwrap(), format);
        assert_eq!("lines-of-a-test".parse::<Format>().unwrap(), format);
        assert_eq!(format.read(text).unwrap().workflow.len(), 2);
        assert!(format.read("lines of a test\nx\n").is_err() && !format.can_write());
        assert!(Format::for_output(Path::new("x.lines-of-a-test")).is_err());
    }
}
