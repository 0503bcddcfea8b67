//! The words of the DOT language, one at a time.

use crate::error::{FormatError, Result};
use crate::scan::{Scanner, Spot, byte_name, text};
use std::io::Read;

/// A word of DOT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A name, number or text.
    Id(String),
    /// An unquoted `strict`, `graph`, `digraph`, `node`, `edge` or `subgraph`, in lower case.
    Keyword(&'static str),
    /// `->`
    Arrow,
    /// One of `{ } [ ] = ; , :`
    Mark(u8),
    /// End of the file.
    End,
}

impl Word {
    /// Name of the word in error messages.
    pub(super) fn name(&self) -> String {
        match self {
            Word::Id(id) => format!("'{}'", id.chars().take(40).collect::<String>()),
            Word::Keyword(word) => format!("'{word}'"),
            Word::Arrow => "'->'".to_string(),
            Word::Mark(mark) => byte_name(*mark),
            Word::End => "the end of the file".to_string(),
        }
    }
}

const KEYWORDS: [&str; 6] = ["strict", "graph", "digraph", "node", "edge", "subgraph"];

/// Whether DOT reads this name as a keyword when it is not quoted.
pub(super) fn keyword(name: &str) -> Option<&'static str> {
    KEYWORDS.into_iter().find(|word| word.eq_ignore_ascii_case(name))
}

/// Whether the first word of a text, after comments, opens a graph.
pub(super) fn starts_graph(text: &str) -> bool {
    let first = Lexer::new(text.as_bytes()).and_then(|mut lexer| lexer.next());
    matches!(first, Ok((Word::Keyword("strict" | "graph" | "digraph"), _)))
}

/// Whether a byte may occur in an unquoted name.
fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || byte >= 0x80
}

/// Cuts a source into words.
pub(super) struct Lexer<R> {
    scanner: Scanner<R>,
}

impl<R: Read> Lexer<R> {
    pub(super) fn new(source: R) -> Result<Lexer<R>> {
        Ok(Lexer { scanner: Scanner::new(source)? })
    }

    /// The next word and its place.
    pub(super) fn next(&mut self) -> Result<(Word, Spot)> {
        loop {
            self.skip_space()?;
            let spot = self.scanner.spot();
            let Some(byte) = self.scanner.peek()? else { return Ok((Word::End, spot)) };
            let word = match byte {
                b'{' | b'}' | b'[' | b']' | b'=' | b';' | b',' | b':' => {
                    self.scanner.bump();
                    Word::Mark(byte)
                }
                b'/' => {
                    self.skip_comment(spot)?;
                    continue;
                }
                b'#' if spot.column == 1 => {
                    self.scanner.skip_line()?; // a preprocessor line
                    continue;
                }
                b'"' => Word::Id(self.quoted(spot)?),
                b'<' => Word::Id(self.html(spot)?),
                b'-' => self.dash(spot)?,
                byte if in_name(byte) => {
                    let name = self.name(Vec::new(), spot)?;
                    keyword(&name).map_or(Word::Id(name), Word::Keyword)
                }
                byte => return Err(spot.error(format!("{} makes no sense here", byte_name(byte)))),
            };
            return Ok((word, spot));
        }
    }

    fn skip_space(&mut self) -> Result<()> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c) = self.scanner.peek()? {
            self.scanner.bump();
        }
        Ok(())
    }

    fn skip_comment(&mut self, spot: Spot) -> Result<()> {
        self.scanner.bump();
        match self.scanner.next()? {
            Some(b'/') => self.scanner.skip_line(),
            Some(b'*') => {
                let mut star = false;
                while let Some(byte) = self.scanner.next()? {
                    if star && byte == b'/' {
                        return Ok(());
                    }
                    star = byte == b'*';
                }
                Err(spot.error("this comment never ends"))
            }
            _ => Err(spot.error("'/' makes no sense here")),
        }
    }

    /// `->`, or a number below zero.
    fn dash(&mut self, spot: Spot) -> Result<Word> {
        self.scanner.bump();
        match self.scanner.peek()? {
            Some(b'>') => {
                self.scanner.bump();
                Ok(Word::Arrow)
            }
            Some(b'-') => Err(undirected(spot)),
            Some(byte) if byte.is_ascii_digit() || byte == b'.' => {
                Ok(Word::Id(self.name(vec![b'-'], spot)?))
            }
            _ => Err(spot.error("'-' makes no sense here")),
        }
    }

    fn name(&mut self, mut word: Vec<u8>, spot: Spot) -> Result<String> {
        while self.scanner.peek()?.is_some_and(in_name) {
            self.scanner.take_into(&mut word, spot)?;
        }
        text(word, spot)
    }

    /// A quoted text; `"a" + "b"` is one text.
    fn quoted(&mut self, spot: Spot) -> Result<String> {
        let mut word = Vec::new();
        loop {
            self.scanner.bump();
            self.until_quote(&mut word, spot)?;
            self.skip_space()?;
            if self.scanner.peek()? != Some(b'+') {
                return text(word, spot);
            }
            self.scanner.bump();
            self.skip_space()?;
            if self.scanner.peek()? != Some(b'"') {
                return Err(self.scanner.spot().error("'+' joins quoted texts only"));
            }
        }
    }

    fn until_quote(&mut self, word: &mut Vec<u8>, spot: Spot) -> Result<()> {
        while let Some(byte) = self.scanner.peek()? {
            match byte {
                b'"' => {
                    self.scanner.bump();
                    return Ok(());
                }
                b'\\' => {
                    self.scanner.bump();
                    match self.scanner.peek()? {
                        Some(b'"' | b'\\') => self.scanner.take_into(word, spot)?,
                        Some(b'\n') => self.scanner.bump(), // the text continues on the next line
                        _ => word.push(b'\\'),              // \n, \l ... are the drawer's business
                    }
                }
                _ => self.scanner.take_into(word, spot)?,
            }
        }
        Err(spot.error("this text never ends: its closing '\"' is missing"))
    }

    /// `<b>label</b>` between angle brackets that pair up.
    fn html(&mut self, spot: Spot) -> Result<String> {
        let mut word = Vec::new();
        let mut depth = 0usize;
        while let Some(byte) = self.scanner.peek()? {
            self.scanner.take_into(&mut word, spot)?;
            match byte {
                b'<' => depth += 1,
                b'>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return text(word, spot);
            }
        }
        Err(spot.error("this '<' is never closed"))
    }
}

/// The error for a graph whose edges have no direction.
pub(super) fn undirected(spot: Spot) -> FormatError {
    spot.error("dependencies need a direction: a workflow is a digraph with '->'")
}
