//! A note on the origin at the head of a written file, in the form of comment that the format has. Formats
//! without comments carry it in a member of their own, or not at all.

use crate::detect::Format;
use crate::document::{Document, Recorded};
use crate::error::Result;
use std::io::{self, Write};

/// The comments of a text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// `# note`: TOML, STG, WorkDescription.
    Hash,
    /// `// note`: DOT.
    Slashes,
    /// `<!-- note -->` behind the declaration: DAX, SimGrid's platforms.
    Xml,
}

/// Writes a workflow with a note; a document that carries it in a member keeps it.
pub fn write_workflow(
    format: Format,
    document: &mut Document,
    note: &str,
    out: &mut dyn Write,
) -> Result<()> {
    if let Some(comments) = format.comments() {
        return comments.write(note, out, |out| format.write(document, out));
    }
    let recorded = document.recorded.get_or_insert_with(Recorded::default);
    recorded.description = Some(note.to_string());
    format.write(document, out)
}

impl Comments {
    /// Writes a note and what `write` writes.
    pub fn write<E: From<io::Error>>(
        self,
        note: &str,
        out: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        // A note is one line: it must not get out of its comment.
        let note: String = note.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        match self {
            Comments::Hash => writeln!(out, "# {note}")?,
            Comments::Slashes => writeln!(out, "// {note}")?,
            Comments::Xml => {
                // Two dashes end a comment: options are written name=value.
                let mut words = note.split(' ').peekable();
                let mut plain = String::new();
                while let Some(word) = words.next() {
                    let option = word.strip_prefix("--").map(|name| name.replace("--", "- -"));
                    match option {
                        Some(name) => {
                            let value = words.next_if(|next| !next.starts_with("--"));
                            plain.push_str(&format!(" {name}={}", value.unwrap_or_default()));
                        }
                        None => plain.push_str(&format!(" {}", word.replace("--", "- -"))),
                    }
                }
                let note = format!("<!--{plain} -->\n");
                return write(&mut AfterDeclaration { note, seen: Vec::new(), done: false, out });
            }
        }
        write(out)
    }
}

/// Puts a comment behind the first line if that is the XML declaration, else before it.
struct AfterDeclaration<'a> {
    note: String,
    seen: Vec<u8>,
    done: bool,
    out: &'a mut dyn Write,
}

impl Write for AfterDeclaration<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.done {
            return self.out.write(bytes);
        }
        self.seen.extend_from_slice(bytes);
        if let Some(end) = self.seen.iter().position(|b| *b == b'\n') {
            let (first, rest) = self.seen.split_at(end + 1);
            let declaration = first.starts_with(b"<?xml");
            self.done = true;
            let parts = if declaration {
                [first, self.note.as_bytes(), rest]
            } else {
                [self.note.as_bytes(), first, rest]
            };
            parts.into_iter().try_for_each(|part| self.out.write_all(part))?;
            self.seen = Vec::new();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::{Task, TaskId, WorkflowBuilder};

    const NOTE: &str = "slackline generate workflow chain --tasks 2 --moldable --seed 1";

    fn document() -> Document {
        let mut b = WorkflowBuilder::new("w");
        b.add_task(Task::new("a", 1e9)).unwrap();
        b.add_task(Task::new("b", 2e9)).unwrap();
        b.add_edge(TaskId(0), TaskId(1), 10.0).unwrap();
        Document::new(b.build().unwrap())
    }

    #[test]
    fn every_format_that_can_carries_the_note_and_still_loads() {
        for &format in Format::ALL.iter().filter(|f| f.can_write()) {
            let mut out = Vec::new();
            write_workflow(format, &mut document(), NOTE, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("slackline generate workflow chain"), "{format}:\n{text}");
            let back = crate::parse_workflow(&text, None, None).unwrap();
            // STG adds an entry and an exit.
            let tasks = if format.name() == "stg" { 4 } else { 2 };
            assert_eq!(back.workflow.len(), tasks, "{format}");
        }
    }

    #[test]
    fn xml_comments_hold_no_double_dash() {
        let mut out = Vec::new();
        let write = |out: &mut dyn Write| out.write_all(b"<?xml version='1.0'?>\n<a/>\n");
        Comments::Xml.write(NOTE, &mut out, write).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = "<?xml version='1.0'?>\n\
            <!-- slackline generate workflow chain tasks=2 moldable= seed=1 -->\n<a/>\n";
        assert_eq!(text, expected);
    }
}
