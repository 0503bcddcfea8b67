//! The Standard Workload Format: 18 numbers a line, comments behind `;`.
//!
//! Fields that are read: number (field 1), submission (2), run time (4), cores (8, else 5), requested time (9,
//! else the run time), status (11), user (12), group (13) and queue (15). A job with status 5 and a run time of
//! 0 or -1 was cancelled before it began.

use super::{BatchLog, Interner, Interners, LoggedJob, Wrong};
use crate::error::Result;
use std::collections::HashSet;

const FIELDS: usize = 18;

/// Reads a log from its text.
pub fn parse(text: &str, wrong: Wrong) -> Result<BatchLog> {
    let mut log = BatchLog::default();
    let mut names = Interners::default();
    let mut numbers = HashSet::new();
    let mut latest = f64::NEG_INFINITY;
    for (k, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if let Some(comment) = trimmed.strip_prefix(';') {
            log.machine_cores = log.machine_cores.or(machine_cores(comment));
            continue;
        }
        if trimmed.is_empty() {
            continue;
        }
        match Line::parse(trimmed).and_then(|line| line.job(&mut numbers)) {
            Err(Mistake { cause, detail }) => wrong.handle(&mut log, k + 1, cause, || detail)?,
            Ok(line) => {
                let submit = line.numbers[1];
                if submit < latest {
                    log.out_of_order += 1;
                }
                latest = latest.max(submit);
                match line.logged(&mut names) {
                    Some(job) => log.jobs.push(job),
                    None => log.cancelled.push(line.number),
                }
            }
        }
    }
    (log.users, log.groups, log.queues) =
        (names.users.names, names.groups.names, names.queues.names);
    Ok(log.finish())
}

/// `MaxProcs: 128` in a comment.
fn machine_cores(comment: &str) -> Option<u64> {
    let (key, value) = comment.split_once(':')?;
    let value = value.split_whitespace().next()?.parse().ok()?;
    (key.trim() == "MaxProcs" && value > 0).then_some(value)
}

type Checked<T> = std::result::Result<T, Mistake>;

/// Cause and detail of a wrong line.
struct Mistake {
    cause: &'static str,
    detail: String,
}

fn mistake<T>(cause: &'static str, detail: impl Into<String>) -> Checked<T> {
    Err(Mistake { cause, detail: detail.into() })
}

/// A line of 18 numbers.
struct Line<'a> {
    numbers: [f64; FIELDS],
    words: [&'a str; FIELDS],
    number: u64,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Checked<Line<'a>> {
        let mut words = [""; FIELDS];
        let mut count = 0;
        for word in text.split_whitespace() {
            if let Some(place) = words.get_mut(count) {
                *place = word;
            }
            count += 1;
        }
        if count < FIELDS {
            return mistake("fields missing", format!("{count} of {FIELDS}"));
        }
        if count > FIELDS {
            return mistake("too many fields", format!("{count} instead of {FIELDS}"));
        }
        let mut numbers = [0.0; FIELDS];
        for (k, (number, word)) in numbers.iter_mut().zip(words).enumerate() {
            match parse_number(word) {
                Some(value) => *number = value,
                None => return mistake("not a number", format!("`{word}` in field {}", k + 1)),
            }
        }
        // All whole numbers up to 2^53 are exact.
        let number = numbers[0];
        if number < 0.0 || number.fract() != 0.0 || number > 9e15 {
            return mistake("not a number", format!("`{}` as job number", words[0]));
        }
        Ok(Line { numbers, words, number: number as u64 })
    }

    /// The cores asked for, or those that were used.
    fn cores(&self) -> f64 {
        if self.numbers[7] > 0.0 { self.numbers[7] } else { self.numbers[4] }
    }

    fn is_cancelled(&self) -> bool {
        self.numbers[10] == 5.0 && matches!(self.numbers[3], 0.0 | -1.0)
    }

    /// Checks what a job needs.
    fn job(self, seen: &mut HashSet<u64>) -> Checked<Line<'a>> {
        let [_, submit, _, run, ..] = self.numbers;
        if seen.contains(&self.number) {
            return mistake("job number twice", format!("{}", self.number));
        }
        if submit < 0.0 {
            return mistake("no submit time", format!("field 2 is {}", self.words[1]));
        }
        if run < 0.0 && !self.is_cancelled() {
            return mistake("no run time", format!("field 4 is {}", self.words[3]));
        }
        if !self.is_cancelled() {
            let cores = self.cores();
            if cores <= 0.0 {
                let detail = format!("fields 8 and 5 are {} and {}", self.words[7], self.words[4]);
                return mistake("no processors", detail);
            }
            if cores.fract() != 0.0 || cores > 9e15 {
                return mistake("not a number", format!("{cores} processors"));
            }
        }
        seen.insert(self.number);
        Ok(self)
    }

    /// The job, unless it never began.
    fn logged(&self, names: &mut Interners) -> Option<LoggedJob> {
        let [_, submit, wait, run, ..] = self.numbers;
        let name = |k: usize, names: &mut Interner| {
            let plain = self.numbers[k];
            // `7`, `+7` and `7.0` are one user.
            if plain.fract() == 0.0 && plain.abs() < 1e15 && self.words[k].len() > 1 {
                names.number(&format!("{}", plain as i64))
            } else {
                names.number(self.words[k])
            }
        };
        (!self.is_cancelled()).then(|| LoggedJob {
            number: self.number,
            submit,
            start: (wait >= 0.0).then_some(submit + wait),
            cores: self.cores() as u64,
            limit: if self.numbers[8] > 0.0 { self.numbers[8] } else { run },
            run,
            user: name(11, &mut names.users),
            group: name(12, &mut names.groups),
            queue: name(14, &mut names.queues),
        })
    }
}

/// A finite decimal number below 1e15, which leaves dates exact.
fn parse_number(word: &str) -> Option<f64> {
    let bytes = word.as_bytes();
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if !digits.is_empty() && digits.len() <= 15 && digits.iter().all(u8::is_ascii_digit) {
        let value = digits.iter().fold(0u64, |n, digit| 10 * n + u64::from(digit - b'0')) as f64;
        return Some(if digits.len() < bytes.len() { -value } else { value });
    }
    // `nan` and `infinity` are numbers to the parser of the language.
    let decimal = |c: u8| c.is_ascii_digit() || matches!(c, b'.' | b'+' | b'-' | b'e' | b'E');
    let value: f64 = bytes.iter().all(|&c| decimal(c)).then(|| word.parse().ok())??;
    (value.abs() < 1e15).then_some(value)
}
