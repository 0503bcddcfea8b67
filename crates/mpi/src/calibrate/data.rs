//! Raw measurements: `kind,bytes,seconds` lines of comma-separated text.

use super::fit::Point;
use slackline_io::{FileAccess, FormatError};
use std::path::Path;

/// All that was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// One way of a ping-pong.
    pub transfer: Vec<Point>,
    /// Inside send, the receiver being ready.
    pub send: Vec<Point>,
    /// Inside a non-blocking send.
    pub isend: Vec<Point>,
    /// Inside receive, the message being there.
    pub receive: Vec<Point>,
    /// Bursts of computation: flop and seconds.
    pub bursts: Vec<Point>,
    /// Bytes/s sent and received at once.
    pub both_ways: Vec<(f64, f64)>,
}

/// Reads a file of measurements.
pub fn read(files: &FileAccess, path: &Path) -> Result<Measurements, FormatError> {
    let text = files.read_text(path)?;
    let mut data = Measurements::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("kind,") {
            continue;
        }
        let fail = |message: String| FormatError::at(number + 1, 1, message).in_file(path);
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let &[kind, first, second] = &fields[..] else {
            return Err(fail("expected kind,size,seconds".to_owned()));
        };
        let value = |text: &str| text.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
        let (Some(first), Some(second)) = (value(first), value(second)) else {
            return Err(fail(format!("`{first}` or `{second}` is not a number from 0 on")));
        };
        let point = Point { size: first, time: second };
        match kind {
            "pingpong" => data.transfer.push(point),
            "send" => data.send.push(point),
            "isend" => data.isend.push(point),
            "recv" => data.receive.push(point),
            "compute" => data.bursts.push(point),
            "both" => data.both_ways.push((first, second)),
            _ => return Err(fail(format!("unknown kind of measurement `{kind}`"))),
        }
    }
    if data.transfer.len() < 3 {
        return Err(FormatError::new("fewer than three `pingpong` measurements").in_file(path));
    }
    Ok(data)
}
