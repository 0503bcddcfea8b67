//! Behaviour files: the number of entries, then the entries. An entry is an availability in
//! percent for a host, a latency in ms and a bandwidth in bytes/s for a link; a course is circular,
//! one entry every five seconds.

use super::{MOST_STEPS, STEP, amount, lines};
use crate::error::{FormatError, Result};
use slackline_model::platform::{Profile, ProfileEvent};

/// A circular course of one or two values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series<const N: usize>(Vec<[f64; N]>);

impl<const N: usize> Series<N> {
    /// Reads a file's text.
    pub(super) fn parse(text: &str) -> Result<Series<N>> {
        let words = lines(text).flat_map(|(number, line)| {
            let line = line.split('#').next().unwrap_or("");
            line.split_whitespace().map(move |word| (number, word))
        });
        let mut last = 1;
        let mut numbers = Vec::new();
        for (number, word) in words {
            last = number;
            let value = amount(word)
                .ok_or_else(|| FormatError::at(number, 1, format!("'{word}' is no number >= 0")))?;
            numbers.push((number, value));
        }
        let Some((&(line, count), values)) = numbers.split_first() else {
            return Err(FormatError::new("a behaviour without entries"));
        };
        if count < 1.0 || count.fract() != 0.0 {
            return Err(FormatError::at(line, 1, format!("{count} is no number of entries")));
        }
        if values.len() as f64 != count * N as f64 {
            let what = if N == 1 { "a value" } else { "a latency and a bandwidth" };
            let message = format!(
                "{count} entries of {what} each are announced, there are {} numbers",
                values.len()
            );
            return Err(FormatError::at(last, 1, message));
        }
        let entry = |chunk: &[(usize, f64)]| std::array::from_fn(|k| chunk[k].1);
        Ok(Series(values.chunks(N).map(entry).collect()))
    }

    /// The entries.
    pub(super) fn entries(&self) -> &[[f64; N]] {
        &self.0
    }
}

/// A series from a date on, beginning at one of its entries.
pub(super) struct Attached<const N: usize> {
    pub(super) at: f64,
    pub(super) series: std::sync::Arc<Series<N>>,
    pub(super) offset: usize,
}

/// The course that attached series give for one of their values; none where the nominal value holds
/// throughout.
pub(super) fn course<const N: usize>(
    attached: &[Attached<N>],
    value: impl Fn(&[f64; N]) -> f64,
    nominal: f64,
) -> Result<Option<Profile>> {
    let mut events: Vec<ProfileEvent> = Vec::new();
    let mut prelude = 0;
    let mut period = None;
    for (index, now) in attached.iter().enumerate() {
        let entries = now.series.entries();
        let at = |step: usize| value(&entries[(now.offset + step) % entries.len()]);
        let until = attached.get(index + 1).map(|next| next.at);
        // Before it exists a resource is off, whatever its level.
        if index == 0 && now.at > 0.0 {
            events.push(ProfileEvent { date: 0.0, value: at(0) });
        }
        prelude = events.len();
        let steady = (1..entries.len()).all(|step| at(step) == at(0));
        let steps = match until {
            _ if steady => 1,
            None => {
                period = Some(STEP * entries.len() as f64);
                entries.len()
            }
            Some(until) => {
                let steps = ((until - now.at) / STEP).ceil();
                if steps > MOST_STEPS {
                    let message = format!("a behaviour is changed after {steps} steps of it");
                    return Err(FormatError::new(message));
                }
                steps as usize
            }
        };
        for step in 0..steps {
            let event = ProfileEvent { date: now.at + STEP * step as f64, value: at(step) };
            let same = events.last().is_some_and(|last| last.value == event.value);
            if !same || (step == 0 && until.is_none()) {
                events.push(event);
            }
        }
    }
    if events.iter().all(|event| event.value == nominal) {
        return Ok(None);
    }
    let profile = match period {
        Some(period) => Profile::settling(events, prelude, period),
        None => {
            events.dedup_by(|next, event| next.value == event.value);
            Profile::once(events)
        }
    };
    profile.map(Some).map_err(FormatError::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn attached(at: f64, text: &str, offset: usize) -> Attached<1> {
        Attached { at, series: Arc::new(Series::parse(text).unwrap()), offset }
    }

    fn values(attached: &[Attached<1>], dates: &[f64]) -> Vec<f64> {
        let profile = course(attached, |e| e[0], 0.0).unwrap().unwrap();
        dates.iter().map(|&date| profile.value_at(date).unwrap()).collect()
    }

    #[test]
    fn a_series_goes_round_from_its_offset() {
        let three = [attached(0.0, "3\n10 20 30\n", 4)];
        assert_eq!(values(&three, &[0.0, 4.9, 5.0, 10.0, 15.0]), [20.0, 20.0, 30.0, 10.0, 20.0]);
        // The index counts from when the series was attached.
        let late = [attached(7.0, "3 10 20 30", 1)];
        assert_eq!(values(&late, &[7.0, 11.9, 12.0, 17.0, 22.0]), [20.0, 20.0, 30.0, 10.0, 20.0]);
    }

    #[test]
    fn a_change_takes_over_at_its_date() {
        let both = [attached(0.0, "2 10 20", 0), attached(12.0, "2 1 2", 1)];
        let dates = [0.0, 5.0, 10.0, 11.9, 12.0, 17.0, 22.0];
        assert_eq!(values(&both, &dates), [10.0, 20.0, 10.0, 10.0, 2.0, 1.0, 2.0]);
        let steady = [attached(0.0, "1 50", 3), attached(12.0, "2 50 50", 0)];
        assert_eq!(course(&steady, |e| e[0], 50.0).unwrap(), None);
    }

    #[test]
    fn what_is_no_behaviour_is_said() {
        let error = |text: &str| Series::<2>::parse(text).unwrap_err().to_string();
        assert_eq!(error("# nothing\n"), "a behaviour without entries");
        assert!(error("2\n0 100\n").contains("there are 2 numbers"), "{}", error("2\n0 100\n"));
        assert!(error("1\n0 fast").contains("line 2") && error("1\n0 fast").contains("'fast'"));
        assert!(error("0").contains("0 is no number of entries"));
    }
}
