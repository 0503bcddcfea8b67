//! SimGrid's trace files: lines `date value`, comments, `PERIODICITY` or `LOOPAFTER`.

use crate::error::{FormatError, Result};
use slackline_model::platform::{Profile, ProfileError, ProfileEvent};

/// Repetition of the events of a trace.
#[derive(Clone, Copy, PartialEq)]
enum Repeat {
    Never,
    Period(f64),
    After(f64),
}

/// Reads a trace; `None` if it has no event. Errors name the line and never quote it: a platform
/// may name a file that its author is not meant to see. `period` is the attribute of an inline trace: a
/// positive number repeats the events.
pub fn parse_trace(text: &str, period: Option<f64>) -> Result<Option<Profile>> {
    let mut repeat = match period {
        Some(period) if period > 0.0 => Repeat::Period(period),
        _ => Repeat::Never,
    };
    let mut events = Vec::new();
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let fail = |message: String| FormatError::at(line_number, 1, message);
        let mut words = line.split_whitespace();
        let (first, second) = (words.next(), words.next());
        let Some(first) = first.filter(|word| !word.starts_with(['#', '%'])) else { continue };
        let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite());
        let (Some(second), None) = (second, words.next()) else {
            return Err(fail("this is no line of a trace".to_string())
                .with_help("write a date and a value, PERIODICITY seconds or LOOPAFTER seconds"));
        };
        let Some(value) = number(second) else {
            return Err(fail("the value is no finite number".to_string()));
        };
        match first {
            "PERIODICITY" if value > 0.0 => repeat = Repeat::Period(value),
            "PERIODICITY" => repeat = Repeat::Never,
            "LOOPAFTER" if value > 0.0 => repeat = Repeat::After(value),
            "LOOPAFTER" => repeat = Repeat::Never,
            date => {
                let Some(date) = number(date) else {
                    return Err(fail("the date is no finite number".to_string()));
                };
                events.push(ProfileEvent { date, value });
                lines.push(line_number);
            }
        }
    }
    if events.is_empty() {
        return Ok(None);
    }
    let profile = match repeat {
        Repeat::Never => Profile::once(events),
        Repeat::Period(period) => Profile::periodic(events, period),
        Repeat::After(delay) => Profile::looping(events, delay),
    };
    profile.map(Some).map_err(|error| match error {
        ProfileError::BadDate { index, .. }
        | ProfileError::BadValue { index, .. }
        | ProfileError::Backwards { index, .. } => FormatError::at(lines[index], 1, error),
        _ => FormatError::new(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_comments_periods_and_loops() {
        let profile = parse_trace("# halved\n% twice\n\n2 0.5\n5 1.0\n", None).unwrap().unwrap();
        assert_eq!((profile.events().len(), profile.period()), (2, None));
        let profile = parse_trace("PERIODICITY 4.0\n1 .5\n3 1", None).unwrap().unwrap();
        assert_eq!(profile.period(), Some(4.0));
        let profile = parse_trace("2 2e6\n4 3e6\nLOOPAFTER 6", None).unwrap().unwrap();
        assert_eq!(profile.period(), Some(10.0));
        assert_eq!(parse_trace("1 2", Some(5.0)).unwrap().unwrap().period(), Some(5.0));
        assert_eq!(parse_trace("1 2", Some(-1.0)).unwrap().unwrap().period(), None);
        assert_eq!(parse_trace("# nothing", None).unwrap(), None);
    }

    #[test]
    fn errors_have_a_line() {
        for (text, line) in
            [("1 1\nx 2", 2), ("1 1\n0 1", 2), ("\n1 NaN", 2), ("1 -1", 1), ("1", 1)]
        {
            let error = parse_trace(text, None).unwrap_err();
            assert_eq!(error.place, crate::Place::At { line, column: 1 }, "{error}");
        }
    }
}
