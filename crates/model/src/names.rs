//! Many short strings in one allocation: a million task names cost their bytes and four more each.
//! Also names as text: control characters from files must not reach a terminal.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};

/// An append-only list of strings in one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    ends: Vec<u32>,
}

impl Names {
    /// Appends a name; its index is the number of names before it.
    pub fn push(&mut self, name: &str) -> usize {
        self.text.push_str(name);
        self.ends.push(self.text.len() as u32);
        self.ends.len() - 1
    }

    /// The name at `index`.
    pub fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.text[start..self.ends[index] as usize]
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All names in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Whether another name of this length still fits in the buffer.
    pub fn has_room(&self, extra: usize) -> bool {
        self.text.len() + extra <= u32::MAX as usize
    }
}

/// Names that must be unique, with look-up by name. The table stores hashes and positions only,
/// the text lives once in [`Names`].
#[derive(Clone, Debug, Default)]
pub struct UniqueNames {
    names: Names,
    hasher: RandomState,
    // Hash of a name -> the first position with that hash; collisions go to `overflow`.
    first: HashMap<u64, u32, PassThrough>,
    overflow: Vec<u32>,
}

impl UniqueNames {
    /// The position of `name`, if it is there.
    pub fn position(&self, name: &str) -> Option<usize> {
        let first = *self.first.get(&self.hasher.hash_one(name))? as usize;
        if self.names.get(first) == name {
            return Some(first);
        }
        self.overflow.iter().map(|&i| i as usize).find(|&i| self.names.get(i) == name)
    }

    /// Adds a name, or gives back the position it already has as the error.
    pub fn insert(&mut self, name: &str) -> Result<usize, usize> {
        if let Some(position) = self.position(name) {
            return Err(position);
        }
        let position = self.names.push(name);
        let hash = self.hasher.hash_one(name);
        match self.first.entry(hash) {
            Entry::Vacant(entry) => {
                entry.insert(position as u32);
            }
            Entry::Occupied(_) => self.overflow.push(position as u32),
        }
        Ok(position)
    }

    /// Adds a nameless entry that no look-up finds.
    pub fn insert_anonymous(&mut self) -> usize {
        self.names.push("")
    }

    /// The names, in order of insertion.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The names without the look-up table.
    pub fn into_names(self) -> Names {
        self.names
    }
}

/// The keys are hashes already.
#[derive(Clone, Debug, Default)]
struct PassThrough;

impl BuildHasher for PassThrough {
    type Hasher = PassThroughHasher;
    fn build_hasher(&self) -> PassThroughHasher {
        PassThroughHasher(0)
    }
}

struct PassThroughHasher(u64);

impl std::hash::Hasher for PassThroughHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(b);
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Whether a character controls the terminal instead of being shown: control characters, and
/// those that turn the direction of writing.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name on one line, with everything that steers written out: `a\u{1b}[2Jb`.
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, steers)
}

/// Text of several lines with everything that steers written out; line breaks and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| steers(c) && !matches!(c, '\n' | '\t'))
}

fn escape(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if bad(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_steer_terminals() {
        assert_eq!(printable("é → b"), "é → b");
        assert_eq!(printable("a\x1b[2J\nb\u{202e}c"), "a\\u{1b}[2J\\nb\\u{202e}c");
        assert_eq!(printable_lines("a\n\tb\rc"), "a\n\tb\\rc");
    }

    #[test]
    fn finds_what_was_inserted_and_refuses_twins() {
        let mut names = UniqueNames::default();
        for i in 0..1000 {
            assert_eq!(names.insert(&format!("task {i}")), Ok(i));
        }
        assert_eq!(names.insert("task 7"), Err(7));
        assert_eq!(names.position("task 999"), Some(999));
        assert_eq!(names.position("task"), None);
        assert_eq!(names.insert_anonymous(), 1000);
        assert_eq!(names.names().get(1000), "");
    }
}
