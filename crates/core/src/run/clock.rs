//! Dates on the clock of the machine, in its own time zone.

use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

/// A clock at some distance from UTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    offset: i64,
}

impl Clock {
    /// The clock of this machine, as `date` has it; UTC where there is no such program.
    pub fn local() -> Clock {
        let date =
            Command::new("date").arg("+%z").stdin(Stdio::null()).stderr(Stdio::null()).output();
        let text = date.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_string());
        Clock { offset: text.ok().and_then(|text| offset(&text)).unwrap_or(0) }
    }

    /// `14:05:09`.
    pub fn time(self, seconds_since_1970: f64) -> String {
        let of_day = (seconds_since_1970.round() as i64 + self.offset).rem_euclid(86_400);
        format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60)
    }

    /// `2026-11-19 14:05:09`.
    pub fn date(self, seconds_since_1970: f64) -> String {
        let shifted = seconds_since_1970.round() + self.offset as f64;
        super::page::utc(shifted).trim_end_matches(" UTC").to_string()
    }
}

/// Seconds of `+0530`.
fn offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_at_checked(2)?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_a_zone() {
        assert_eq!(offset("-0530"), Some(-19_800));
        assert_eq!(offset("UTC"), None);
        let clock = Clock { offset: 7200 };
        assert_eq!(clock.time(0.4), "02:00:00");
        assert_eq!(clock.date(86_400.0), "1970-01-02 02:00:00");
    }
}
