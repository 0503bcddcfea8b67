//! Slurm's accounting as `sacct --parsable2` prints it: a line of column names, then one line per
//! job and step, fields separated by `|`.
//!
//! Steps (`17.batch`, `17.0`) are no jobs. Dates have no time zone and are taken as they are.

use super::listing::Listing;
use super::{BatchLog, DateStyle, Interners, LoggedJob, Wrong};
use crate::calendar::{civil, days};
use crate::error::{FormatError, Result};
use std::borrow::Cow;
use std::collections::HashSet;

/// Columns that are read, with other names that serve as well.
const COLUMNS: [(&str, &[&str]); 10] = [
    ("JobIDRaw", &["JobID"]),
    ("Submit", &[]),
    ("Start", &[]),
    ("End", &[]),
    ("ElapsedRaw", &[]),
    ("TimelimitRaw", &[]),
    ("ReqCPUS", &["AllocCPUS", "NCPUS"]),
    ("State", &[]),
    ("User", &["UID"]),
    ("Account", &["Group"]),
];

/// Returns whether a line can be the header of such a log.
pub fn is_header(line: &str) -> bool {
    line.contains('|') && line.split('|').any(|name| name.starts_with("JobID"))
}

/// Reads a log from its text.
pub fn parse(text: &str, wrong: Wrong) -> Result<BatchLog> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((first, header)) = lines.next() else { return Ok(BatchLog::default()) };
    let listing = Listing::of(header);
    let columns = Columns::of(&listing).map_err(|error| error.on_line(first + 1))?;
    let mut log = BatchLog { dates: DateStyle::Calendar, ..BatchLog::default() };
    let mut names = Interners::default();
    let mut numbers = HashSet::new();
    let mut latest = f64::NEG_INFINITY;
    for (k, line) in lines {
        let fields = listing.split(line).fields;
        let found = match columns.entry(&fields) {
            Ok(None) => continue,
            Ok(Some(found)) if !numbers.insert(found.number) => {
                Err(("job number twice", found.number.to_string()))
            }
            Ok(Some(found)) => Ok(found),
            Err(mistake) => Err(mistake),
        };
        match found {
            Err((cause, detail)) => wrong.handle(&mut log, k + 1, cause, || detail)?,
            Ok(entry) => {
                if entry.submit < latest {
                    log.out_of_order += 1;
                }
                latest = latest.max(entry.submit);
                entry.book(&mut log, &mut names);
            }
        }
    }
    (log.users, log.groups, log.queues) =
        (names.users.names, names.groups.names, names.queues.names);
    Ok(log.finish())
}

/// Positions of the columns.
struct Columns {
    places: [usize; COLUMNS.len()],
    queue: Option<usize>,
    count: usize,
}

/// Cause and detail of what is wrong with a line.
type Mistake = (&'static str, String);

type Checked<T> = std::result::Result<T, Mistake>;

/// Outcome of a job.
enum Outcome {
    Ran { run: f64, limit: f64, cores: u64, start: f64 },
    Cancelled,
    NotEnded,
}

struct Entry<'a> {
    number: u64,
    submit: f64,
    outcome: Outcome,
    user: &'a str,
    group: &'a str,
    queue: &'a str,
}

impl Columns {
    fn of(listing: &Listing) -> Result<Columns> {
        let mut places = [usize::MAX; COLUMNS.len()];
        for (place, (name, others)) in places.iter_mut().zip(COLUMNS) {
            let known = std::iter::once(&name).chain(others);
            let found = known.filter_map(|name| listing.place(name)).next();
            *place = found.ok_or_else(|| {
                FormatError::new(format!("there is no column {name}")).with_help(
                    "ask for --format=JobIDRaw,User,Account,Partition,Submit,Start,End,ElapsedRaw,\
                     TimelimitRaw,ReqCPUS,State",
                )
            })?;
        }
        let queue = listing.place("Partition");
        Ok(Columns { places, queue, count: listing.len() })
    }

    /// A line as a job; none for steps.
    fn entry<'a>(&self, fields: &'a [Cow<'_, str>]) -> Checked<Option<Entry<'a>>> {
        let field = |k: usize| fields.get(self.places[k]).map_or("", |text| text.trim());
        if fields.len() >= self.count && field(0).contains('.') {
            return Ok(None);
        }
        if fields.len() < self.count {
            return Err(("fields missing", format!("{} of {}", fields.len(), self.count)));
        }
        if fields.len() > self.count {
            let detail = format!("{} instead of {}", fields.len(), self.count);
            return Err(("too many fields", detail));
        }
        let Ok(number) = field(0).parse() else {
            return Err(("not a number", format!("`{}` as job number", field(0))));
        };
        let Some(submit) = seconds(field(1)) else {
            return Err(("no submit time", format!("Submit is `{}`", field(1))));
        };
        let state = field(7).split_whitespace().next().unwrap_or_default();
        let outcome = match (seconds(field(2)), seconds(field(3))) {
            (None, _) if state == "CANCELLED" => Outcome::Cancelled,
            (_, None) => Outcome::NotEnded,
            (None, Some(_)) => {
                return Err(("no start", format!("Start is `{}`, State {state}", field(2))));
            }
            (Some(start), Some(_)) => {
                let Ok(run) = field(4).parse::<u32>() else {
                    return Err(("no run time", format!("ElapsedRaw is `{}`", field(4))));
                };
                let Some(cores) = field(6).parse::<u64>().ok().filter(|&cores| cores > 0) else {
                    return Err(("no processors", format!("ReqCPUS is `{}`", field(6))));
                };
                let (run, minutes) = (f64::from(run), field(5));
                let limit = match minutes.parse::<u32>() {
                    Ok(0) => run,
                    Ok(minutes) => 60.0 * f64::from(minutes),
                    // `UNLIMITED`, `Partition_Limit`, nothing.
                    Err(_) if !minutes.starts_with(|c: char| c.is_ascii_digit() || c == '-') => run,
                    Err(_) => return Err(("not a number", format!("TimelimitRaw is `{minutes}`"))),
                };
                Outcome::Ran { run, limit, cores: cores.min(1 << 53), start }
            }
        };
        let queue = self.queue.and_then(|k| fields.get(k)).map_or("", |text| text.trim());
        Ok(Some(Entry { number, submit, outcome, user: field(8), group: field(9), queue }))
    }
}

impl Entry<'_> {
    fn book(&self, log: &mut BatchLog, names: &mut Interners) {
        match self.outcome {
            Outcome::Cancelled => log.cancelled.push(self.number),
            Outcome::NotEnded => log.not_ended.push(self.number),
            Outcome::Ran { run, limit, cores, start } => log.jobs.push(LoggedJob {
                number: self.number,
                submit: self.submit,
                start: Some(start),
                cores,
                limit,
                run,
                user: names.users.number(self.user),
                group: names.groups.number(self.group),
                queue: names.queues.number(self.queue),
            }),
        }
    }
}

/// `2024-03-31T12:00:00` as seconds since 1970, as if it were in UTC; none for `Unknown`, `None`
/// and anything else.
pub fn seconds(text: &str) -> Option<f64> {
    let (date, time) = text.split_once('T')?;
    let whole = |text: &str, digits: usize| {
        let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| text.parse::<i64>().ok()).flatten()
    };
    let mut parts = date.split('-');
    let (year, month, day) =
        (whole(parts.next()?, 4)?, whole(parts.next()?, 2)?, whole(parts.next()?, 2)?);
    let mut clock = time.split(':');
    let (hour, minute, second) =
        (whole(clock.next()?, 2)?, whole(clock.next()?, 2)?, whole(clock.next()?, 2)?);
    let over = parts.next().is_some() || clock.next().is_some();
    let fits = (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    (fits && !over)
        .then(|| (days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second) as f64)
}

/// Seconds since 1970 as `2024-03-31T12:00:00`; fractions of seconds are kept.
pub fn calendar(date: f64) -> String {
    let whole = date.floor();
    let (day, second) = ((whole / 86400.0).floor() as i64, whole.rem_euclid(86400.0) as i64);
    let (year, month, day) = civil(day);
    let (hour, minute, rest) = (second / 3600, second / 60 % 60, second % 60);
    let fraction = format!("{}", date - whole);
    let fraction = fraction.strip_prefix('0').unwrap_or_default();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{rest:02}{fraction}")
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
