//! Files that are on a storage from the start: inert names and sizes, a few bytes each beside
//! their text.

use std::fmt;
use std::sync::Arc;

/// A list of files with sizes, one a line: `PATH SIZE`. The text stays as it was read; what is added is four
/// bytes per file.
#[derive(Clone, PartialEq)]
pub struct Contents {
    text: Arc<String>,
    /// Offsets at which lines begin, in the order of the paths.
    lines: Vec<u32>,
    used: u64,
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Contents({} files, {} bytes)", self.lines.len(), self.used)
    }
}

impl Contents {
    /// Reads a list; the error has the number of its line. Blank lines and lines that begin with
    /// `#` are skipped; a path may contain spaces.
    pub fn parse(text: Arc<String>) -> Result<Contents, (usize, String)> {
        if text.len() > u32::MAX as usize {
            return Err((1, "a list of contents of 4 GiB or more".into()));
        }
        let mut lines = Vec::new();
        let mut used: u64 = 0;
        let mut at = 0;
        for (k, line) in text.split_inclusive('\n').enumerate() {
            let begin = at;
            at += line.len();
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let (path, size) = split(line).ok_or_else(|| (k + 1, "is not `PATH SIZE`".into()))?;
            let Ok(bytes) = size.parse::<u64>() else {
                return Err((
                    k + 1,
                    format!("the size of `{path}` is `{size}`, not a number of bytes"),
                ));
            };
            used = used
                .checked_add(bytes)
                .ok_or_else(|| (k + 1, "all sizes together exceed 2^64 bytes".to_string()))?;
            lines.push(begin as u32);
        }
        lines.sort_unstable_by(|&a, &b| path_at(&text, a).cmp(path_at(&text, b)).then(a.cmp(&b)));
        lines.shrink_to_fit();
        if let Some(twice) =
            lines.windows(2).find(|pair| path_at(&text, pair[0]) == path_at(&text, pair[1]))
        {
            let second = twice[1] as usize;
            let number = text[..second].bytes().filter(|byte| *byte == b'\n').count() + 1;
            return Err((
                number,
                format!("the path `{}` is there twice", path_at(&text, twice[1])),
            ));
        }
        Ok(Contents { text, lines, used })
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes of all files.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The size of a file.
    pub fn size(&self, path: &str) -> Option<u64> {
        let found = self.lines.binary_search_by(|&line| path_at(&self.text, line).cmp(path));
        found.ok().map(|k| size_at(&self.text, self.lines[k]))
    }

    /// All files with their sizes, by path.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, u64)> + '_ {
        self.lines.iter().map(|&line| (path_at(&self.text, line), size_at(&self.text, line)))
    }
}

/// Path and size of a line.
fn split(line: &str) -> Option<(&str, &str)> {
    let (path, size) = line.trim().rsplit_once(char::is_whitespace)?;
    Some((path.trim_end(), size))
}

fn line_at(text: &str, begin: u32) -> (&str, &str) {
    let rest = &text[begin as usize..];
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    split(line).unwrap_or((line, ""))
}

fn path_at(text: &str, begin: u32) -> &str {
    line_at(text, begin).0
}

fn size_at(text: &str, begin: u32) -> u64 {
    line_at(text, begin).1.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Contents, (usize, String)> {
        Contents::parse(Arc::new(text.to_string()))
    }

    #[test]
    fn files_are_found_by_path() {
        let contents = parse("/z 3\n# a comment\n\n/a b\t10\r\n/m 0").unwrap();
        assert_eq!(contents.iter().collect::<Vec<_>>(), [("/a b", 10), ("/m", 0), ("/z", 3)]);
        assert_eq!((contents.size("/z"), contents.size("/y")), (Some(3), None));
        assert_eq!((contents.len(), contents.used()), (3, 13));
    }

    #[test]
    fn wrong_lines_are_named() {
        assert_eq!(parse("/a 1\n/b").unwrap_err().0, 2);
        assert_eq!(parse("/a 1\n/b -1").unwrap_err().0, 2);
        let (line, why) = parse("/a 1\n/b 1\n/a 2").unwrap_err();
        assert!(line == 3 && why.contains("twice"), "{why}");
    }
}
