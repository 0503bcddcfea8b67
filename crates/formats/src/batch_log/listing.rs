//! Lines of `sacct --parsable2` as fields: names of columns first, fields separated by `|`, which nothing escapes.

use std::borrow::Cow;
use std::collections::HashMap;

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It ended with its result.
    Completed,
    /// It failed, or its node did.
    Failed,
    /// It was killed at its time limit.
    Timeout,
    /// It was killed for lack of memory.
    OutOfMemory,
    /// It was cancelled or preempted, before or while it ran.
    Cancelled,
    /// It has not ended.
    Open,
}

impl State {
    /// The state of a column `State`, such as `CANCELLED by 1000`.
    pub fn of(text: &str) -> Option<State> {
        Some(match text.split([' ', '+']).next().unwrap_or_default() {
            "COMPLETED" => State::Completed,
            "FAILED" | "NODE_FAIL" | "BOOT_FAIL" | "DEADLINE" => State::Failed,
            "TIMEOUT" => State::Timeout,
            "OUT_OF_MEMORY" => State::OutOfMemory,
            "CANCELLED" | "PREEMPTED" | "REVOKED" | "REQUEUED" => State::Cancelled,
            "RUNNING" | "PENDING" | "SUSPENDED" | "RESIZING" | "COMPLETING" => State::Open,
            _ => return None,
        })
    }
}

/// Whether a value stands for none.
pub fn is_unknown(value: &str) -> bool {
    matches!(value, "" | "Unknown" | "None" | "None assigned" | "INVALID" | "Partition_Limit")
}

/// Commands with which jobs are submitted.
const COMMANDS: [&str; 3] = ["sbatch", "srun", "salloc"];

/// The columns of a listing.
#[derive(Clone, Debug)]
pub struct Listing {
    count: usize,
    places: HashMap<String, usize>,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line<'t> {
    /// Its fields; as many as there are columns, unless the line is cut off or cannot be mended.
    pub fields: Vec<Cow<'t, str>>,
    /// Whether a name or a line of submission held a `|` and was put together again.
    pub is_mended: bool,
}

impl Listing {
    /// The columns that a header names.
    pub fn of(header: &str) -> Listing {
        let header = header.trim_end_matches('\r');
        let header = header.strip_suffix('|').unwrap_or(header);
        let names: Vec<&str> = header.split('|').map(str::trim).collect();
        let mut places = HashMap::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            places.entry(name.to_string()).or_insert(place);
        }
        Listing { count: names.len(), places }
    }

    /// The place of a column.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Number of columns; at least one.
    #[allow(clippy::len_without_is_empty)] // a header has a name
    pub fn len(&self) -> usize {
        self.count
    }

    /// The fields of a line.
    pub fn split<'t>(&self, line: &'t str) -> Line<'t> {
        let line = line.trim_end_matches('\r');
        let mut fields: Vec<Cow<'t, str>> = line.split('|').map(Cow::Borrowed).collect();
        // `--parsable` ends every line with a separator.
        if fields.len() == self.count + 1 && fields.last().is_some_and(|last| last.is_empty()) {
            fields.pop();
        }
        let mended = match fields.len().checked_sub(self.count) {
            Some(extra) if extra > 0 => self.mend(&fields, extra),
            _ => None,
        };
        match mended {
            Some(fields) => Line { fields, is_mended: true },
            None => Line { fields, is_mended: false },
        }
    }

    /// Puts fields together again, so that the state is one and numbers are numbers.
    fn mend<'t>(&self, fields: &[Cow<'t, str>], extra: usize) -> Option<Vec<Cow<'t, str>>> {
        let state = self.place("State")?;
        let (name, line) = (self.place("JobName"), self.place("SubmitLine"));
        for of_name in (0..=extra).rev() {
            let parts = [(name, of_name), (line, extra - of_name)];
            if parts.iter().any(|(column, more)| *more > 0 && column.is_none()) {
                continue;
            }
            let mut joined: Vec<Cow<'t, str>> = Vec::with_capacity(self.count);
            let mut rest = fields.iter();
            for column in 0..self.count {
                let more: usize =
                    parts.iter().filter(|(c, _)| *c == Some(column)).map(|(_, m)| m).sum();
                let own: Vec<&str> = rest.by_ref().take(1 + more).map(|f| &**f).collect();
                joined.push(Cow::Owned(own.join("|")));
            }
            let is_number = |name: &str| {
                let text = self.place(name).map(|place| &joined[place]);
                text.is_none_or(|text| text.parse::<u32>().is_ok())
            };
            // A line of submission begins with the command's name.
            let is_line = |text: &str| {
                let word = text.split(' ').next().and_then(|word| word.rsplit('/').next());
                text.is_empty() || word.is_some_and(|word| COMMANDS.contains(&word))
            };
            if State::of(&joined[state]).is_some()
                && is_number("AllocCPUS")
                && is_number("NCPUS")
                && line.is_none_or(|place| is_line(&joined[place]))
            {
                return Some(joined);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_lines_with_separators_are_put_together() {
        let listing = Listing::of("JobID|JobName|State|AllocCPUS|SubmitLine");
        let fields = |line: &str| -> Vec<String> {
            let line = listing.split(line);
            line.fields.into_iter().map(Cow::into_owned).collect()
        };
        let line = "7|a|b|COMPLETED|2|sbatch --wrap x|y";
        assert_eq!(fields(line), ["7", "a|b", "COMPLETED", "2", "sbatch --wrap x|y"]);
        assert!(listing.split(line).is_mended);
        assert_eq!(fields("7|a|COMPLETED|2||"), ["7", "a", "COMPLETED", "2", ""]);
        assert_eq!(fields("7|a|COMPLETED"), ["7", "a", "COMPLETED"]);
        assert_eq!(listing.split("7|a|b|c|d|e|f").fields.len(), 7);
    }
}
