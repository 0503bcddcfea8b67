//! The files of the parameter sweep study of Berman et al. (1999): a grid that comes and goes
//! ([`grid`]) with the courses of its hosts and links (`behaviour`), and an application
//! ([`work`]). Angle brackets hold the words of a line; blanks inside and between them vary. Blank
//! lines and lines that begin with `#` are passed over.

mod behaviour;
pub mod grid;
pub mod work;

pub(crate) use work::CODEC;

use crate::error::{FormatError, Result};
use std::str::FromStr;

/// Seconds between two entries of a behaviour.
const STEP: f64 = 5.0;

/// Most lines of a course that are written out; far more than sensible files need.
const MOST_STEPS: f64 = 1e7;

/// The lines other than comments and blank ones, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let trimmed = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    trimmed.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Whether a text begins with this word.
fn begins_with(text: &str, word: &str) -> bool {
    let first = lines(text).next().and_then(|(_, line)| line.split_whitespace().next());
    first == Some(word)
}

/// One line that is being taken apart.
struct Line<'a> {
    number: usize,
    text: &'a str,
    rest: &'a str,
}

impl<'a> Line<'a> {
    fn new(number: usize, text: &'a str, rest: &'a str) -> Line<'a> {
        Line { number, text, rest }
    }

    /// An error where the line has been read to.
    fn error(&self, message: impl std::fmt::Display) -> FormatError {
        let read = self.text.len() - self.rest.trim_start().len();
        let column = self.text[..read].chars().count() + 1;
        FormatError::at(self.number, column, message)
    }

    /// The next group in angle brackets, or the next word where there are none.
    fn group(&mut self, what: &str) -> Result<&'a str> {
        let rest = self.rest.trim_start();
        self.rest = rest;
        let (group, after) = match rest.strip_prefix('<') {
            Some(inside) => match inside.split_once('>') {
                Some((group, after)) => (group.trim(), after),
                None => return Err(self.error(format!("'<' of {what} is never closed"))),
            },
            None => {
                let ends = |c: char| c == '<' || c.is_whitespace();
                rest.split_at(rest.find(ends).unwrap_or(rest.len()))
            }
        };
        if group.is_empty() {
            return Err(self.error(format!("{what} is missing")));
        }
        self.rest = after;
        Ok(group)
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T> {
        let before = Line { ..*self };
        let group = self.group(what)?;
        group.parse().map_err(|_| before.error(format!("{what} '{group}' is no number")))
    }

    /// A finite number, 0 or more.
    fn amount(&mut self, what: &str) -> Result<f64> {
        let before = Line { ..*self };
        let group = self.group(what)?;
        amount(group).ok_or_else(|| before.error(format!("{what} '{group}' is no number >= 0")))
    }

    fn end(&self) -> Result<()> {
        match self.rest.trim() {
            "" => Ok(()),
            more => Err(self.error(format!("'{more}' is one word too many"))),
        }
    }
}

fn amount(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}
