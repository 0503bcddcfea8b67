//! Byte-wise reading of texts that are too large to hold in memory: keeps line and column, bounds the length of
//! every token, checks the encoding of the tokens it returns.

use crate::error::{FormatError, Result};

use std::io::Read;

/// Longest token in bytes (1 MiB), so that a binary file cannot fill the memory; no valid text comes near.
pub(crate) const TOKEN_LIMIT: usize = 1 << 20;

/// A place in the text, counted from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Spot {
    pub(crate) fn error(self, message: impl std::fmt::Display) -> FormatError {
        FormatError::at(self.line, self.column, message)
    }
}

/// A source of bytes with one byte of lookahead.
pub(crate) struct Scanner<R> {
    source: R,
    buffer: Box<[u8]>,
    /// Position of the next byte in the buffer, and the end of what was read into it.
    at: usize,
    filled: usize,
    spot: Spot,
}

impl<R: Read> Scanner<R> {
    /// Starts at the top; a byte-order mark is dropped.
    pub(crate) fn new(source: R) -> Result<Scanner<R>> {
        let buffer = vec![0; 1 << 16].into_boxed_slice();
        let spot = Spot { line: 1, column: 1 };
        let mut scanner = Scanner { source, buffer, at: 0, filled: 0, spot };
        scanner.fill()?;
        // A short first read may split the mark; it then shows as three odd characters.
        if scanner.buffer[..scanner.filled].starts_with(b"\xef\xbb\xbf") {
            scanner.at = 3;
        }
        Ok(scanner)
    }

    /// Reads the next piece of the source; `filled` is 0 at its end.
    fn fill(&mut self) -> Result<()> {
        self.at = 0;
        loop {
            match self.source.read(&mut self.buffer) {
                Ok(count) => {
                    self.filled = count;
                    return Ok(());
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(FormatError::from(e)),
            }
        }
    }

    /// Position of the next byte.
    pub(crate) fn spot(&self) -> Spot {
        self.spot
    }

    /// The next byte, without taking it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<u8>> {
        if self.at == self.filled {
            self.fill()?;
        }
        Ok(self.buffer[..self.filled].get(self.at).copied())
    }

    /// Takes the byte that [`peek`](Scanner::peek) showed.
    #[inline]
    pub(crate) fn bump(&mut self) {
        let byte = self.buffer[self.at];
        self.at += 1;
        if byte == b'\n' {
            self.spot = Spot { line: self.spot.line + 1, column: 1 };
        // Continuation bytes of UTF-8 (10xxxxxx) are no characters.
        } else if byte & 0xc0 != 0x80 {
            self.spot.column += 1;
        }
    }

    /// Takes the next byte.
    pub(crate) fn next(&mut self) -> Result<Option<u8>> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.bump();
        }
        Ok(byte)
    }

    /// Skips to the end of the line; the line feed is the next byte.
    pub(crate) fn skip_line(&mut self) -> Result<()> {
        while let Some(byte) = self.peek()? {
            if byte == b'\n' {
                break;
            }
            self.bump();
        }
        Ok(())
    }

    /// Appends the byte that [`peek`](Scanner::peek) showed to a token that started at `start`.
    #[inline]
    pub(crate) fn take_into(&mut self, token: &mut Vec<u8>, start: Spot) -> Result<()> {
        if token.len() >= TOKEN_LIMIT {
            return Err(start.error("a word of more than 1 MiB"));
        }
        token.push(self.buffer[self.at]);
        self.bump();
        Ok(())
    }
}

/// The text of a token.
pub(crate) fn text(token: Vec<u8>, start: Spot) -> Result<String> {
    String::from_utf8(token).map_err(|_| {
        start
            .error("not UTF-8 text")
            .with_help("is this a binary file, or text in another encoding (UTF-16, Latin-1)?")
    })
}

/// The name of an unexpected byte in a message.
pub(crate) fn byte_name(byte: u8) -> String {
    match byte {
        b'\n' => "the end of the line".to_string(),
        0x20..=0x7e => format!("'{}'", byte as char),
        _ => format!("byte 0x{byte:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_and_characters() {
        let mut scanner = Scanner::new("\u{feff}é\nxy".as_bytes()).unwrap();
        let mut spots = Vec::new();
        while let Some(byte) = scanner.peek().unwrap() {
            spots.push((byte, scanner.spot().line, scanner.spot().column));
            scanner.bump();
        }
        assert_eq!(spots, [(0xc3, 1, 1), (0xa9, 1, 2), (b'\n', 1, 2), (b'x', 2, 1), (b'y', 2, 2)]);
    }
}
