//! Position of a rank in its trace: a small buffer over its part of a file, refilled as it is read.
//!
//! No file stays open: with one file per rank there may be more ranks than a process may have
//! open files, and the cost of opening one again for every few thousand lines is negligible.

use super::parse::{self, ParseError, Reading, Sizes};
use crate::action::Line;
use slackline_io::FormatError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes read at a time.
const CHUNK: usize = 16 << 10;

/// Longest line that is read: the counts of a hundred thousand ranks.
const LONGEST: usize = 4 << 20;

/// Lines that follow each other in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Number of the first line.
    pub(super) line: u64,
}

/// The source of the bytes.
pub(super) enum Source {
    /// Parts of a file.
    Extents { extents: Box<[Extent]>, next: usize },
    /// A decoder, read to its end.
    Stream(Box<dyn Read + Send>),
}

/// The lines of one rank.
pub struct Cursor {
    /// Path of the bytes, and the path for messages.
    file: Arc<PathBuf>,
    name: Arc<PathBuf>,
    /// Whether line numbers count the lines of the rank: those of a file that was first sorted by rank.
    own_lines: bool,
    source: Source,
    rank: u32,
    buffer: Vec<u8>,
    /// The next byte in the buffer, and the end of what was read into it.
    at: usize,
    end: usize,
    /// Offsets in the file of the end of the buffer and of the end of the present extent.
    offset: u64,
    limit: u64,
    /// Number of the line read last.
    line: u64,
    /// Whether the source has ended.
    drained: bool,
    reading: Reading,
}

impl Cursor {
    pub(super) fn new(file: Arc<PathBuf>, source: Source, rank: u32, reading: Reading) -> Cursor {
        Cursor {
            name: Arc::clone(&file),
            own_lines: false,
            file,
            source,
            rank,
            buffer: Vec::new(),
            at: 0,
            end: 0,
            offset: 0,
            limit: 0,
            line: 0,
            drained: false,
            reading,
        }
    }

    /// The cursor under the name of the file from which its lines came.
    pub(super) fn named(mut self, name: Arc<PathBuf>, own_lines: bool) -> Cursor {
        (self.name, self.own_lines) = (name, own_lines);
        self
    }

    /// An error about the action read last.
    pub fn error(&self, message: impl std::fmt::Display) -> FormatError {
        self.error_at(1, message)
    }

    fn error_at(&self, column: usize, message: impl std::fmt::Display) -> FormatError {
        self.error_of(self.line as usize, column, message)
    }

    /// Number of the line read last.
    #[inline]
    pub fn line(&self) -> u32 {
        u32::try_from(self.line).unwrap_or(u32::MAX)
    }

    /// An error about an action read before.
    pub fn error_of(
        &self,
        line: usize,
        column: usize,
        message: impl std::fmt::Display,
    ) -> FormatError {
        let error = if self.own_lines {
            FormatError::new(format!("line {line} of rank {}: {message}", self.rank))
        } else {
            FormatError::at(line, column, message)
        };
        error.in_file(&self.name)
    }

    /// The format.
    pub fn version(&self) -> parse::Version {
        self.reading.version
    }

    /// The next action.
    #[inline]
    pub fn next(&mut self, sizes: Sizes<'_>) -> Result<Option<Line>, FormatError> {
        loop {
            let Some(length) = self.find_line()? else { return Ok(None) };
            let text = &self.buffer[self.at..self.at + length];
            self.line += 1;
            let read = parse::rank(text).and_then(|head| match head {
                None => Ok(None),
                Some((rank, _)) if rank != self.rank => Err(ParseError {
                    offset: 0,
                    message: format!("a line of rank {rank} among those of rank {}", self.rank),
                }),
                Some((_, from)) => {
                    if is_init_with_argument(&text[from..]) {
                        self.reading.unit = crate::datatype::DOUBLE;
                    }
                    parse::action(text, from, &self.reading, sizes).map(Some)
                }
            });
            // The last line of a file may lack its end.
            self.at = (self.at + length + 1).min(self.end);
            match read {
                Ok(None) => {}
                Ok(Some(line)) => return Ok(Some(line)),
                Err(ParseError { offset, message }) => {
                    return Err(self.error_at(offset + 1, message));
                }
            }
        }
    }

    /// The next line that is neither empty nor a comment, as it is.
    pub(super) fn next_text(&mut self) -> Result<Option<&[u8]>, FormatError> {
        loop {
            let Some(length) = self.find_line()? else { return Ok(None) };
            let from = self.at;
            self.line += 1;
            self.at = (from + length + 1).min(self.end);
            let text = &self.buffer[from..from + length];
            if text.trim_ascii().first().is_some_and(|&byte| byte != b'#') {
                return Ok(Some(&self.buffer[from..from + length]));
            }
        }
    }

    /// Length of the next line, whole in the buffer.
    #[inline]
    fn find_line(&mut self) -> Result<Option<usize>, FormatError> {
        let mut seen = 0;
        loop {
            let rest = &self.buffer[self.at..self.end];
            if let Some(k) = end_of_line(&rest[seen..]) {
                return Ok(Some(seen + k));
            }
            seen = rest.len();
            if self.drained {
                return Ok((seen > 0).then_some(seen));
            }
            if seen > LONGEST {
                return Err(self.error("the next line never ends"));
            }
            self.refill()?;
        }
    }

    /// Reads more bytes after those that are left in the buffer; sets `drained` at the end.
    #[cold]
    fn refill(&mut self) -> Result<(), FormatError> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.end -= self.at;
        self.at = 0;
        let fail = |e: std::io::Error, file: &Path| FormatError::from(e).in_file(file);
        if self.buffer.len() < self.end + CHUNK {
            self.buffer.resize(self.end + CHUNK, 0);
        }
        let room = &mut self.buffer[self.end..];
        let got = match &mut self.source {
            Source::Stream(stream) => stream.read(room).map_err(|e| fail(e, &self.name))?,
            Source::Extents { extents, next } => {
                if self.offset == self.limit {
                    // Whole lines were read, but for a last line without its end.
                    let Some(extent) = extents.get(*next).filter(|_| self.end == 0) else {
                        self.drained = true;
                        return Ok(());
                    };
                    *next += 1;
                    (self.offset, self.limit) = (extent.start, extent.end);
                    self.line = extent.line - 1;
                }
                let mut file = File::open(&**self.file).map_err(|e| fail(e, &self.name))?;
                file.seek(SeekFrom::Start(self.offset)).map_err(|e| fail(e, &self.name))?;
                let room_len = room.len().min((self.limit - self.offset) as usize);
                let got = file.read(&mut room[..room_len]).map_err(|e| fail(e, &self.name))?;
                self.offset += got as u64;
                if got == 0 {
                    self.limit = self.offset;
                    return Ok(());
                }
                got
            }
        };
        self.end += got;
        self.drained |= got == 0;
        Ok(())
    }
}

/// Returns the end of the first line, found eight bytes at a time: a byte of `lines` is zero where
/// `text` has a line feed, and subtracting one from each byte borrows from the lowest zero first.
#[inline]
fn end_of_line(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const FEEDS: u64 = ONES * b'\n' as u64;
    let (words, rest) = text.as_chunks::<8>();
    for (k, word) in words.iter().enumerate() {
        let lines = u64::from_le_bytes(*word) ^ FEEDS;
        let found = lines.wrapping_sub(ONES) & !lines & (ONES << 7);
        if found != 0 {
            return Some(8 * k + found.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|&byte| byte == b'\n').map(|k| 8 * words.len() + k)
}

/// Whether an `init` has an argument: from then on, counts of version 1 are in doubles instead of bytes.
#[inline]
fn is_init_with_argument(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.len() > 5 && text[..4].eq_ignore_ascii_case(b"init") && !text[4..].trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::end_of_line;

    #[test]
    fn lines_end_at_their_first_feed() {
        for length in 0..40 {
            for at in 0..length {
                for other in [b'\x0b', b'\x00', b'\x8a', b'x'] {
                    let mut text = vec![other; length];
                    assert_eq!(end_of_line(&text), None);
                    text[at] = b'\n';
                    text[length - 1] = b'\n';
                    assert_eq!(end_of_line(&text), Some(at));
                }
            }
        }
    }
}
