//! Dates as engines write them, in seconds since 1970-01-01 UTC; a date without a zone counts as UTC,
//! since only differences matter.

use slackline_formats::calendar::{civil, days};

/// Reads `2026-11-15 15:35:00.308695`, with `T`, with a zone (`Z`, `+01:00`) or without.
pub(crate) fn iso(text: &str) -> Option<f64> {
    let text = text.trim();
    let (date, time) = text.split_once(['T', ' '])?;
    let mut parts = date.splitn(3, '-').map(|p| p.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1..=9999).contains(&year) {
        return None;
    }
    let (time, zone) = match time.find(['Z', '+', '-']) {
        Some(at) => (&time[..at], offset(&time[at..])?),
        None => (time, 0.0),
    };
    Some(days(year, month, day) as f64 * 86400.0 + clock(time)? - zone)
}

/// Reads `15:26:43`, with a fraction or without.
fn clock(text: &str) -> Option<f64> {
    let mut parts = text.trim().splitn(3, ':');
    let hours: f64 = parts.next()?.parse().ok()?;
    let minutes: f64 = parts.next()?.parse().ok()?;
    let seconds: f64 = parts.next().unwrap_or("0").parse().ok()?;
    let is_time = (0.0..24.0).contains(&hours)
        && (0.0..60.0).contains(&minutes)
        && (0.0..61.0).contains(&seconds);
    is_time.then_some(hours * 3600.0 + minutes * 60.0 + seconds)
}

/// Seconds east of UTC: `Z`, `+01:00`, `-0530`.
fn offset(text: &str) -> Option<f64> {
    if text == "Z" {
        return Some(0.0);
    }
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let hours: f64 = digits.get(..2)?.parse().ok()?;
    let minutes: f64 = digits.get(2..4).unwrap_or("0").parse().ok()?;
    Some(sign * (hours * 3600.0 + minutes * 60.0))
}

/// Reads `Sun Nov 15 15:26:43 2026`.
pub(crate) fn ctime(text: &str) -> Option<f64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, month, day, time, year] = words.as_slice() else { return None };
    let month = MONTHS.iter().position(|m| m == month)? as i64 + 1;
    Some(days(year.parse().ok()?, month, day.parse().ok()?) as f64 * 86400.0 + clock(time)?)
}

/// Writes a date as RFC 3339 in UTC, to the millisecond.
pub(crate) fn write(date: f64) -> String {
    let millis = (date * 1000.0).round() as i64;
    let (day, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day_of_month) = civil(day);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, millis) = (rest / 1000 % 60, rest % 1000);
    format!(
        "{year:04}-{month:02}-{day_of_month:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z"
    )
}

/// Reads `1m 19s`, `693ms`, `2h 3m`, `1d 2h`: numbers with units, added up.
pub(crate) fn words(text: &str) -> Option<f64> {
    let mut total = None;
    for word in text.split_whitespace() {
        let at = word.find(|c: char| c.is_ascii_alphabetic())?;
        let number: f64 = word[..at].parse().ok()?;
        let unit = match &word[at..] {
            "ms" => {
                total = Some(total.unwrap_or(0.0) + number / 1000.0);
                continue;
            }
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        total = Some(total.unwrap_or(0.0) + number * unit);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_every_form() {
        assert_eq!(iso("1970-01-02T00:00:01"), Some(86401.0));
        assert_eq!(iso("2026-11-15 15:35:00.5"), Some(1_794_756_900.5));
        assert_eq!(iso("2026-11-15T16:35:00.5+01:00"), Some(1_794_756_900.5));
        assert_eq!(iso("2026-11-15T15:35:00Z"), Some(1_794_756_900.0));
        assert_eq!(ctime("Sun Nov 15 15:35:00 2026"), Some(1_794_756_900.0));
        assert_eq!(write(1_794_756_900.25), "2026-11-15T15:35:00.250Z");
        for wrong in ["2026-13-01T00:00:00", "2026-11-15", "Unknown", "", "2026-11-15T25:00:00"] {
            assert_eq!(iso(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_in_every_form() {
        assert_eq!(words("1m 19s"), Some(79.0));
        assert_eq!(words("693ms"), Some(0.693));
        assert_eq!((words("-"), words("12")), (None, None));
    }
}
