//! Dates as engines write them, in seconds since 1970-01-01 UTC; a date without a zone counts as UTC,
//! since only differences matter.

use slackline_formats::calendar::{civil, days};

/// Reads `2026-11-15 15:35:00.308695`, with `T`, with a zone (`Z`, `+01:00`) or without.
pub(crate) fn iso(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(date) = plain(text.as_bytes()) {
        return Some(date);
    }
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

/// Reads `2026-11-15 15:35:00`, with up to nine decimals and without a zone, as the dates of most long records are: the
/// number that they have read in any other way, in a fraction of the time.
pub(crate) fn plain(text: &[u8]) -> Option<f64> {
    let number = |digits: &[u8]| {
        let digit = |digit: &u8| digit.is_ascii_digit().then(|| u64::from(digit - b'0'));
        digits.iter().try_fold(0, |sum, next| Some(10 * sum + digit(next)?))
    };
    let (whole, rest) = text.split_at_checked(19)?;
    let marks = [whole[4], whole[7], whole[13], whole[16]];
    if marks != *b"--::" || ![b' ', b'T'].contains(&whole[10]) {
        return None;
    }
    let decimals = rest.strip_prefix(b".").unwrap_or(rest);
    // Either nothing follows, or a point and digits.
    if decimals.len() > 9
        || decimals.is_empty() != rest.is_empty()
        || rest.first().is_some_and(|c| *c != b'.')
    {
        return None;
    }
    let (year, month, day) = (number(&whole[..4])?, number(&whole[5..7])?, number(&whole[8..10])?);
    let (hour, minute) = (number(&whole[11..13])?, number(&whole[14..16])?);
    // One division of whole numbers: rounded as a decimal number is.
    let scale = 10u64.pow(decimals.len() as u32);
    let second = (number(&whole[17..])? * scale + number(decimals)?) as f64 / scale as f64;
    let is_date =
        (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second >= 61.0 {
        return None;
    }
    let clock = hour as f64 * 3600.0 + minute as f64 * 60.0 + second;
    Some(days(year as i64, month as i64, day as i64) as f64 * 86400.0 + clock)
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

/// Reads a number, one of a few digits in a fraction of the time: the same number, since a whole number below 2^53 and a
/// power of ten below 10^22 are exact, and their quotient is rounded once.
pub(crate) fn number(text: &str) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (mut whole, mut decimals, mut is_behind) = (0u64, 0, false);
    let bytes = text.as_bytes();
    if !(1..=15).contains(&bytes.len()) || !bytes[0].is_ascii_digit() {
        return text.parse().ok();
    }
    for &byte in bytes {
        match byte {
            b'0'..=b'9' => {
                whole = 10 * whole + u64::from(byte - b'0');
                decimals += usize::from(is_behind);
            }
            b'.' if !is_behind => is_behind = true,
            _ => return text.parse().ok(),
        }
    }
    Some(whole as f64 / POWERS[decimals])
}

/// Reads `1m 19s`, `693ms`, `2h 3m`, `1d 2h`: numbers with units, added up.
pub(crate) fn words(text: &str) -> Option<f64> {
    let mut total = None;
    for word in text.split(char::is_whitespace).filter(|word| !word.is_empty()) {
        let at = word.bytes().position(|b| b.is_ascii_alphabetic())?;
        let number = number(&word[..at])?;
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
        for (text, longer) in [
            ("2026-11-15 15:35:07.308695", "2026-11-15 15:35:07.308695Z"),
            ("2026-11-15T05:05:00.8", "2026-11-15T05:05:00.8+00:00"),
            ("2021-02-17 17:03:21", "2021-02-17 17:03:21Z"),
        ] {
            assert_eq!((plain(text.as_bytes()), plain(longer.as_bytes())), (iso(longer), None));
        }
        for wrong in ["2026-11-15 15:35:00.", "2026-11-15 15:35:0x", "2026-11-15 15:35:00x5"] {
            assert_eq!(
                (plain(wrong.as_bytes()), iso(wrong).is_some()),
                (None, wrong.ends_with('.'))
            );
        }
        for wrong in ["2026-13-01T00:00:00", "2026-11-15", "Unknown", "", "2026-11-15T25:00:00"] {
            assert_eq!(iso(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_in_every_form() {
        assert_eq!(words("1m 19s"), Some(79.0));
        assert_eq!(words("693ms"), Some(0.693));
        assert_eq!((words("-"), words("12")), (None, None));
        for text in [
            "0",
            "7.",
            "0.1",
            "123456789.12345",
            "99999999999999.9",
            "1e3",
            ".5",
            "1.2.3",
            "-1",
            "",
        ] {
            assert_eq!(number(text), text.parse().ok(), "{text}");
        }
    }
}
