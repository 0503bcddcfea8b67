//! Quantities from Python: a number in the base unit (seconds, bytes, flop, bytes/s), or a text with a unit.

use crate::errors::{bad_input, input};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};
use slackline_model::units::{self, UnitError};

/// A number; strings and booleans are refused.
pub(crate) fn number(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        let kind = value.get_type();
        return Err(bad_input(&format!("{what} must be a number, not {kind}")));
    }
    value.extract::<f64>().map_err(|error| bad_input(&format!("{what} must be a number: {error}")))
}

fn parsed(
    value: &Bound<'_, PyAny>,
    what: &str,
    parse: impl Fn(&str) -> Result<f64, UnitError>,
) -> PyResult<f64> {
    match value.cast::<PyString>() {
        Ok(text) => {
            let text = text.to_cow()?;
            parse(&text).map_err(|error| bad_input(&format!("{what}: {error}")))
        }
        Err(_) => number(value, what),
    }
}

/// Seconds.
pub(crate) fn seconds(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    parsed(value, what, units::parse_duration)
}

/// Bytes.
pub(crate) fn bytes(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    parsed(value, what, units::parse_size)
}

/// Flop, or flop/s: `20Gf` or `20Gflop`.
pub(crate) fn flop(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    parsed(value, what, |text| {
        let short = text.trim().strip_suffix("lop").unwrap_or(text.trim());
        units::parse_speed(short)
    })
}

/// Reads a number of processors: `4`, `(1, 8)`, `"1-8"` or `"2+"`.
pub(crate) fn cores(value: &Bound<'_, PyAny>) -> PyResult<(u32, u32)> {
    let wrong = || {
        let shown = value.repr().map_or_else(|_| String::from("?"), |text| text.to_string());
        bad_input(&format!(
            "cores must be a number such as 4, or a range such as (1, 8), not {shown}"
        ))
    };
    let count = |value: &Bound<'_, PyAny>| -> PyResult<u32> {
        if value.is_instance_of::<PyBool>() {
            return Err(wrong());
        }
        value.extract::<u32>().ok().filter(|&n| n > 0).ok_or_else(wrong)
    };
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_cow()?;
        let (low, high) = match text.trim().strip_suffix('+') {
            Some(low) => (low, "4294967295"), // u32::MAX: no upper bound
            None => text.split_once('-').unwrap_or((&text, &text)),
        };
        return match (low.trim().parse(), high.trim().parse()) {
            (Ok(low), Ok(high)) if 1 <= low && low <= high => Ok((low, high)),
            _ => Err(wrong()),
        };
    }
    if let Ok(pair) = value.cast::<PyTuple>() {
        let (low, high) = (pair.get_item(0).map_err(input)?, pair.get_item(1).map_err(input)?);
        let (low, high) = (count(&low)?, count(&high)?);
        return if pair.len() == 2 && low <= high { Ok((low, high)) } else { Err(wrong()) };
    }
    count(value).map(|n| (n, n))
}

/// Seconds of a number or a text.
#[pyfunction(name = "seconds")]
pub(crate) fn seconds_of(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    seconds(value, "a time")
}

/// Bytes of a number or a text.
#[pyfunction(name = "size")]
pub(crate) fn size_of(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    bytes(value, "a size")
}

/// Flop, or flop/s, of a number or a text.
#[pyfunction(name = "flop")]
pub(crate) fn flop_of(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    flop(value, "an amount of work")
}

/// Bytes/s of a number or a text.
#[pyfunction(name = "rate")]
pub(crate) fn rate_of(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    parsed(value, "a bandwidth", units::parse_bandwidth)
}
