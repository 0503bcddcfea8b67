//! A quantity of a resource over time: a piece-wise constant function given as dated values, played
//! once or for ever.

use crate::units::fmt_number;
use thiserror::Error;

/// Latest permitted date (30 million years): beyond it, seconds are lost in rounding.
pub const LATEST: f64 = 1e15;

/// Changes that repeat more often than this, in seconds, are refused: no run would ever get past them.
pub const LEAST_GAP: f64 = 1e-6;

/// From `date` on (seconds), the value is `value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileEvent {
    /// Seconds since the start, or since the start of the period.
    pub date: f64,
    /// Ratio of the peak speed, bytes/s, seconds, or on (> 0) / off, as the place of use says.
    pub value: f64,
}

/// A piece-wise constant change over time. Before the first date the nominal value holds; with
/// a period the events, but for those of a prelude, repeat at `date + k * period`.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    events: Box<[ProfileEvent]>,
    /// Number of events at the beginning that do not repeat.
    prelude: usize,
    period: Option<f64>,
}

/// The reason why a list of events is no profile.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ProfileError {
    /// A profile needs an event.
    #[error("a profile needs at least one event")]
    Empty,
    /// A date is negative or too late.
    #[error("event {index}: the date {} is not a number from 0 to 1e15 (seconds)", fmt_number(*date))]
    BadDate {
        /// Position in the list, from 0.
        index: usize,
        /// The date as given.
        date: f64,
    },
    /// A value is negative or not finite.
    #[error("event {index}: the value {} is not a finite number >= 0", fmt_number(*value))]
    BadValue {
        /// Position in the list, from 0.
        index: usize,
        /// The value as given.
        value: f64,
    },
    /// Dates must not decrease.
    #[error("event {index}: the date {date} is before the date {previous} of the event above it")]
    Backwards {
        /// Position in the list, from 0.
        index: usize,
        /// The date as given.
        date: f64,
        /// The date of the event before it.
        previous: f64,
    },
    /// The repeated events follow each other too fast.
    #[error("{events} changes every {period} s: more than one per microsecond cannot be followed")]
    TooOften {
        /// The period.
        period: f64,
        /// Number of events that it repeats.
        events: usize,
    },
    /// The period does not cover the events, or is not a positive number.
    #[error("the period {} must be positive, at most 1e15 s and reach the last date {last}", fmt_number(*period))]
    BadPeriod {
        /// The period as given.
        period: f64,
        /// Date of the last event.
        last: f64,
    },
}

impl Profile {
    /// Events played once.
    pub fn once(events: Vec<ProfileEvent>) -> Result<Self, ProfileError> {
        Self::checked(events, 0, None)
    }

    /// Events repeated every `period` seconds (`PERIODICITY` in SimGrid's files).
    pub fn periodic(events: Vec<ProfileEvent>, period: f64) -> Result<Self, ProfileError> {
        Self::checked(events, 0, Some(period))
    }

    /// The first `prelude` events once, then the others repeated every `period` seconds.
    pub fn settling(
        events: Vec<ProfileEvent>,
        prelude: usize,
        period: f64,
    ) -> Result<Self, ProfileError> {
        Self::checked(events, prelude, Some(period))
    }

    /// Events that start again `delay` seconds after the last one (`LOOPAFTER`).
    pub fn looping(events: Vec<ProfileEvent>, delay: f64) -> Result<Self, ProfileError> {
        let last = events.last().map_or(0.0, |e| e.date);
        if delay.is_nan() || delay <= 0.0 {
            return Err(ProfileError::BadPeriod { period: delay, last });
        }
        Self::checked(events, 0, Some(last + delay))
    }

    /// One value for ever, from the start.
    pub fn constant(value: f64) -> Result<Self, ProfileError> {
        Self::once(vec![ProfileEvent { date: 0.0, value }])
    }

    /// The value, where it is one for ever, from the start.
    pub fn constant_value(&self) -> Option<f64> {
        let first = self.events.first().filter(|e| e.date == 0.0)?;
        self.events.iter().all(|e| e.value == first.value).then_some(first.value)
    }

    fn checked(
        events: Vec<ProfileEvent>,
        prelude: usize,
        period: Option<f64>,
    ) -> Result<Self, ProfileError> {
        let mut previous = 0.0;
        for (index, &ProfileEvent { date, value }) in events.iter().enumerate() {
            if !(0.0..=LATEST).contains(&date) {
                return Err(ProfileError::BadDate { index, date });
            }
            if !(value.is_finite() && value >= 0.0) {
                return Err(ProfileError::BadValue { index, value });
            }
            if date < previous {
                return Err(ProfileError::Backwards { index, date, previous });
            }
            previous = date;
        }
        let Some(first) = events.get(prelude) else { return Err(ProfileError::Empty) };
        // Without a prelude the period is counted from the start, not from the first event.
        let last = if prelude == 0 { previous } else { previous - first.date };
        if let Some(period) = period
            && !(period <= LATEST && period > 0.0 && period >= last)
        {
            return Err(ProfileError::BadPeriod { period, last });
        }
        let repeated = events.len() - prelude;
        if let Some(period) = period.filter(|period| *period < LEAST_GAP * repeated as f64) {
            return Err(ProfileError::TooOften { period, events: repeated });
        }
        Ok(Profile { events: events.into(), prelude, period })
    }

    /// The same dates with every value multiplied by a finite factor that is not negative.
    pub fn scaled(&self, factor: f64) -> Profile {
        let scale = |e: &ProfileEvent| ProfileEvent { value: e.value * factor, ..*e };
        let events = self.events.iter().map(scale).collect();
        Profile { events, prelude: self.prelude, period: self.period }
    }

    /// The events of one pass, by date.
    pub fn events(&self) -> &[ProfileEvent] {
        &self.events
    }

    /// Seconds after which the events start again; `None` when they are played once.
    pub fn period(&self) -> Option<f64> {
        self.period
    }

    /// Number of events at the beginning that do not repeat.
    pub fn prelude(&self) -> usize {
        self.prelude
    }

    /// All events in order of date; without end when there is a period.
    pub fn iter(&self) -> ProfileIter<'_> {
        ProfileIter { profile: self, cursor: ProfileCursor::default() }
    }

    /// The event under `cursor`, which moves on; `None` after the last of a profile without
    /// period. The cursor borrows nothing, so that a simulator can keep it beside the profile.
    pub fn next_event(&self, cursor: &mut ProfileCursor) -> Option<ProfileEvent> {
        if cursor.index == self.events.len() {
            self.period?;
            cursor.index = self.prelude;
            cursor.round += 1;
        }
        let event = self.events[cursor.index];
        cursor.index += 1;
        // The date is computed from the round, not summed up: no drift over a million periods.
        let shift = self.period.map_or(0.0, |period| cursor.round as f64 * period);
        Some(ProfileEvent { date: event.date + shift, value: event.value })
    }

    /// The value in force at `date`; `None` before the first event.
    pub fn value_at(&self, date: f64) -> Option<f64> {
        if date < self.events[0].date {
            return None;
        }
        // Rounds are counted from the start, or from where a prelude ends.
        let from = if self.prelude == 0 { 0.0 } else { self.events[self.prelude].date };
        let local = match self.period {
            Some(period) if date >= from => date - ((date - from) / period).floor() * period,
            _ => date,
        };
        match self.events.partition_point(|e| e.date <= local) {
            0 => self.events.last().map(|e| e.value),
            n => Some(self.events[n - 1].value),
        }
    }
}

/// A place in a profile; starts at its first event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfileCursor {
    index: usize,
    round: u64,
}

/// Iterator over the events of a profile, see [`Profile::iter`].
#[derive(Clone, Debug)]
pub struct ProfileIter<'a> {
    profile: &'a Profile,
    cursor: ProfileCursor,
}

impl Iterator for ProfileIter<'_> {
    type Item = ProfileEvent;

    fn next(&mut self) -> Option<ProfileEvent> {
        self.profile.next_event(&mut self.cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(list: &[(f64, f64)]) -> Vec<ProfileEvent> {
        list.iter().map(|&(date, value)| ProfileEvent { date, value }).collect()
    }

    #[test]
    fn periodic_dates_repeat_modulo_the_period() {
        let profile = Profile::periodic(events(&[(1.0, 0.5), (3.0, 1.0)]), 4.0).unwrap();
        let dates: Vec<f64> = profile.iter().take(5).map(|e| e.date).collect();
        assert_eq!(dates, [1.0, 3.0, 5.0, 7.0, 9.0]);
        assert_eq!(profile.value_at(0.5), None);
        assert_eq!(profile.value_at(1.0), Some(0.5));
        // 4.5 is 0.5 into the second round: the last value of the first still holds.
        assert_eq!(profile.value_at(4.5), Some(1.0));
        assert_eq!(profile.value_at(6.0), Some(0.5));
    }

    #[test]
    fn loop_after_starts_again_after_the_last_event() {
        // Last date 3, delay 2: period 5, so the first event comes back at 1 + 5.
        let profile = Profile::looping(events(&[(1.0, 0.5), (3.0, 1.0)]), 2.0).unwrap();
        assert_eq!(profile.period(), Some(5.0));
        assert_eq!(profile.iter().nth(2).unwrap().date, 6.0);
    }

    #[test]
    fn a_prelude_is_played_once() {
        let all = events(&[(0.0, 0.9), (4.0, 0.1), (7.0, 0.5), (12.0, 0.6)]);
        let profile = Profile::settling(all.clone(), 2, 10.0).unwrap();
        let dates: Vec<f64> = profile.iter().take(6).map(|e| e.date).collect();
        assert_eq!(dates, [0.0, 4.0, 7.0, 12.0, 17.0, 22.0]);
        for (date, value) in [(3.0, 0.9), (6.0, 0.1), (8.0, 0.5), (16.9, 0.6), (17.0, 0.5)] {
            assert_eq!(profile.value_at(date), Some(value), "{date}");
        }
        assert!(Profile::settling(all.clone(), 2, 4.0).is_err());
        assert!(Profile::settling(all, 4, 10.0).is_err());
    }

    #[test]
    fn once_ends() {
        let profile = Profile::once(events(&[(2.0, 0.0), (2.0, 1.0)])).unwrap();
        assert_eq!(profile.iter().count(), 2);
        assert_eq!(profile.value_at(2.0), Some(1.0));
        assert_eq!(profile.value_at(1e9), Some(1.0));
    }

    #[test]
    fn bad_profiles_are_named() {
        assert_eq!(Profile::once(vec![]), Err(ProfileError::Empty));
        let backwards = Profile::once(events(&[(2.0, 1.0), (1.0, 1.0)]));
        assert!(matches!(backwards, Err(ProfileError::Backwards { index: 1, .. })));
        assert!(Profile::once(events(&[(f64::NAN, 1.0)])).is_err());
        assert!(Profile::once(events(&[(0.0, -1.0)])).is_err());
        assert!(Profile::periodic(events(&[(5.0, 1.0)]), 4.0).is_err());
        assert!(Profile::periodic(events(&[(0.0, 1.0)]), 1e-9).is_err());
        assert!(Profile::once(events(&[(1e300, 1.0)])).is_err());
        assert!(Profile::looping(events(&[(5.0, 1.0)]), 0.0).is_err());
    }
}
