//! Strict units: text such as `2.5GHz`, `10MBps` or `100us` to numbers in flop/s, bytes/s, bytes
//! and seconds, and back to text for people.
//!
//! Upper and lower case matter: `B` is a byte and `b` a bit, `k`, `M`, `G` are powers of 1000 and
//! `Ki`, `Mi`, `Gi` powers of 1024. A number without a unit is refused, unless the format at hand
//! says that it means the base unit ([`Quantity::parse_or_bare`]).

use std::fmt;
use thiserror::Error;

/// The quantity that a text with a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Flop per second; a hertz counts as one flop per second.
    Speed,
    /// Bytes per second.
    Bandwidth,
    /// Bytes.
    Size,
    /// Seconds.
    Duration,
}

/// The reason why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum UnitError {
    /// It does not begin with a number.
    #[error("\"{text}\" is no {quantity}: it must begin with a number, e.g. {}", quantity.example())]
    NoNumber {
        /// The text as written.
        text: String,
        /// The expected quantity.
        quantity: Quantity,
    },
    /// A number and nothing else.
    #[error("\"{text}\" has no unit: write e.g. {} ({})", quantity.example(), quantity.known())]
    NoUnit {
        /// The text as written.
        text: String,
        /// The expected quantity.
        quantity: Quantity,
    },
    /// A unit that does not exist or measures something else.
    #[error("\"{unit}\" in \"{text}\" is no unit of {quantity}{}: use {}", hint(unit, *quantity), quantity.known())]
    UnknownUnit {
        /// The text as written.
        text: String,
        /// The unit in it.
        unit: String,
        /// The expected quantity.
        quantity: Quantity,
    },
    /// Below zero, or too large for a number.
    #[error("\"{text}\" is no {quantity}: it must be a finite number of at least 0")]
    OutOfRange {
        /// The text as written.
        text: String,
        /// The expected quantity.
        quantity: Quantity,
    },
}

const PREFIXES: [(&str, f64); 13] = [
    ("", 1.0),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
    ("Ki", 1024.0),
    ("Mi", 1024.0 * 1024.0),
    ("Gi", 1024.0 * 1024.0 * 1024.0),
    ("Ti", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("Pi", 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("Ei", 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0),
];

const DURATIONS: [(&str, f64); 11] = [
    ("s", 1.0),
    ("ps", 1e-12),
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86400.0),
    ("w", 604_800.0),
];

/// The unit that was probably meant, as a question; case distinguishes bits from bytes and counts.
fn hint(unit: &str, quantity: Quantity) -> String {
    let known = quantity.known();
    let mut units = known.split(|c: char| !c.is_alphanumeric()).filter(|u| !u.is_empty());
    let begun = units.clone().find(|known| unit.len() > 1 && known.starts_with(unit));
    let longer = || units.rfind(|known| known.len() > 1 && unit.starts_with(*known));
    begun.or_else(longer).map_or(String::new(), |near| format!(" (did you mean '{near}'?)"))
}

impl Quantity {
    /// The units that take a prefix, with their size in base units.
    fn bases(self) -> &'static [(&'static str, f64)] {
        match self {
            Quantity::Speed => &[("f", 1.0), ("flops", 1.0), ("flop/s", 1.0), ("Hz", 1.0)],
            Quantity::Bandwidth => {
                &[("Bps", 1.0), ("bps", 0.125), ("B/s", 1.0), ("b/s", 0.125), ("bit/s", 0.125)]
            }
            Quantity::Size => &[("B", 1.0), ("b", 0.125), ("bit", 0.125)],
            Quantity::Duration => &[],
        }
    }

    fn known(self) -> &'static str {
        match self {
            Quantity::Speed => "f (flop/s), kf, Mf, Gf, Tf, Pf, Hz, kHz, MHz, GHz",
            Quantity::Bandwidth => {
                "Bps, kBps, MBps, GBps (bytes), bps, kbps, Mbps, Gbps (bits), KiBps, MiBps, GiBps"
            }
            Quantity::Size => "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, b (bits)",
            Quantity::Duration => "ps, ns, us, ms, s, m or min, h, d, w",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Quantity::Speed => "2.5Gf",
            Quantity::Bandwidth => "125MBps",
            Quantity::Size => "16GiB",
            Quantity::Duration => "100us",
        }
    }

    /// Size of a unit in base units.
    fn scale(self, unit: &str) -> Option<f64> {
        if self == Quantity::Duration {
            return DURATIONS.iter().find(|(name, _)| *name == unit).map(|&(_, scale)| scale);
        }
        self.bases().iter().find_map(|&(base, size)| {
            let prefix = unit.strip_suffix(base)?;
            let (_, scale) = PREFIXES.iter().find(|(name, _)| *name == prefix)?;
            Some(scale * size)
        })
    }

    /// A number with a unit, in base units: never negative, always finite.
    pub fn parse(self, text: &str) -> Result<f64, UnitError> {
        self.parse_with(text, false)
    }

    /// A number in base units, with a unit or without one.
    pub fn parse_or_bare(self, text: &str) -> Result<f64, UnitError> {
        self.parse_with(text, true)
    }

    fn parse_with(self, text: &str, bare: bool) -> Result<f64, UnitError> {
        let shown = || text.chars().take(60).collect::<String>();
        let trimmed = text.trim();
        let (number, unit) = trimmed.split_at(number_length(trimmed));
        let Ok(number) = number.parse::<f64>() else {
            return Err(UnitError::NoNumber { text: shown(), quantity: self });
        };
        let unit = unit.trim_start();
        let scale = match self.scale(unit) {
            _ if unit.is_empty() && bare => 1.0,
            _ if unit.is_empty() => {
                return Err(UnitError::NoUnit { text: shown(), quantity: self });
            }
            Some(scale) => scale,
            None => {
                let unit = unit.chars().take(20).collect();
                return Err(UnitError::UnknownUnit { text: shown(), unit, quantity: self });
            }
        };
        // Dividing by a thousand is exact where multiplying by 0.001 is not: 100us is 1e-4.
        let value = if scale < 1.0 { number / (1.0 / scale).round() } else { number * scale };
        if value.is_finite() && value >= 0.0 {
            Ok(value.abs()) // no negative zero
        } else {
            Err(UnitError::OutOfRange { text: shown(), quantity: self })
        }
    }

    /// The shortest text with a unit that [`Quantity::parse`] reads back as exactly `value`.
    pub fn write(self, value: f64) -> String {
        self.write_with(
            value,
            match self {
                Quantity::Speed => &["f", "kf", "Mf", "Gf", "Tf", "Pf"],
                Quantity::Bandwidth => &["Bps", "kBps", "MBps", "GBps", "TBps", "Gbps", "GiBps"],
                Quantity::Size => &["B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"],
                Quantity::Duration => &["s", "ms", "us", "ns", "min", "h", "d"],
            },
        )
    }

    /// The shortest text of a bandwidth in bytes, never in bits.
    pub fn write_in_bytes(value: f64) -> String {
        Quantity::Bandwidth.write_with(value, &["Bps", "kBps", "MBps", "GBps", "TBps"])
    }

    fn write_with(self, value: f64, units: &[&str]) -> String {
        let text = |number: f64, unit: &str| {
            if number == 0.0 || (1e-5..1e16).contains(&number) {
                format!("{number}{unit}")
            } else {
                format!("{number:e}{unit}")
            }
        };
        let candidates = units.iter().filter_map(|unit| {
            let scale = self.scale(unit)?;
            let number = if scale < 1.0 { value * (1.0 / scale).round() } else { value / scale };
            let text = text(number, unit);
            (self.parse(&text) == Ok(value)).then_some(text)
        });
        // 100us reads better than 0.1ms.
        let shortest = candidates.min_by_key(|text| (text.starts_with("0."), text.len()));
        shortest.unwrap_or_else(|| text(value, units[0]))
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quantity::Speed => "speed",
            Quantity::Bandwidth => "bandwidth",
            Quantity::Size => "size",
            Quantity::Duration => "duration",
        })
    }
}

/// Bytes of `text` that are a decimal number; the `E` of `1Ef` is a unit, that of `1E6f` is not.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while at < bytes.len() && bytes[at].is_ascii_digit() {
            at += 1;
        }
        at
    };
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mut end = digits(sign);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// `2.5Gf`, `1Mf`, `2.5GHz` to flop/s.
pub fn parse_speed(text: &str) -> Result<f64, UnitError> {
    Quantity::Speed.parse(text)
}

/// `10MBps` (bytes), `10Mbps` (bits), `1GiBps` to bytes/s.
pub fn parse_bandwidth(text: &str) -> Result<f64, UnitError> {
    Quantity::Bandwidth.parse(text)
}

/// `100MB`, `16GiB` to bytes.
pub fn parse_size(text: &str) -> Result<f64, UnitError> {
    Quantity::Size.parse(text)
}

/// `10us`, `5ms`, `90s`, `2h`, `1d` to seconds.
pub fn parse_duration(text: &str) -> Result<f64, UnitError> {
    Quantity::Duration.parse(text)
}

/// Bytes for people: `1.5 GB`.
pub fn fmt_bytes(bytes: f64) -> String {
    fmt_scaled(bytes, "B")
}

/// A number as it was given, in a few digits also where it is far too large: `1500`, `1.7e308`.
pub fn fmt_number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e16 && size.is_finite() => format!("{value:e}"),
        _ => format!("{value}"),
    }
}

/// Bytes per second for people: `125 MB/s`.
pub fn fmt_rate(bytes_per_second: f64) -> String {
    fmt_scaled(bytes_per_second, "B/s")
}

/// Flop for people: `4.2 Gflop`.
pub fn fmt_flops(flops: f64) -> String {
    fmt_scaled(flops, "flop")
}

/// Flop per second for people: `2.5 Gflop/s`.
pub fn fmt_speed(flops_per_second: f64) -> String {
    fmt_scaled(flops_per_second, "flop/s")
}

/// Seconds for people: `12.3 us`, `1.5 s`, `2 min 05 s`, `3 h 07 min`, `2 d 04 h`.
pub fn fmt_seconds(seconds: f64) -> String {
    let size = seconds.abs();
    if !size.is_finite() {
        return format!("{seconds}");
    }
    let sign = if seconds < 0.0 { "-" } else { "" };
    let pair = |unit: f64, name: &str, part: f64, part_name: &str| {
        let parts = (size / part).round();
        let per_unit = unit / part;
        let whole = (parts / per_unit).floor();
        format!("{sign}{whole} {name} {:02} {part_name}", parts - whole * per_unit)
    };
    match size {
        0.0 => "0 s".into(),
        _ if size < 1e-6 => format!("{} ns", three_digits(seconds * 1e9)),
        _ if size < 1e-3 => format!("{} us", three_digits(seconds * 1e6)),
        _ if size < 1.0 => format!("{} ms", three_digits(seconds * 1e3)),
        _ if size < 99.95 => format!("{} s", three_digits(seconds)),
        _ if size < 3599.5 => pair(60.0, "min", 1.0, "s"),
        _ if size < 86370.0 => pair(3600.0, "h", 60.0, "min"),
        _ => pair(86400.0, "d", 3600.0, "h"),
    }
}

fn fmt_scaled(value: f64, unit: &str) -> String {
    let size = value.abs();
    if !size.is_finite() {
        return format!("{value} {unit}");
    }
    // 999.6 k rounds to 1000 k: it is shown as 1 M.
    let steps = PREFIXES[..7].iter().rev();
    let (prefix, scale) =
        steps.clone().find(|(_, scale)| size >= 0.9995 * scale).unwrap_or(&PREFIXES[0]);
    format!("{} {prefix}{unit}", three_digits(value / scale))
}

/// Three significant digits, no trailing zeros after the point.
fn three_digits(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_not_bytes_and_kibi_is_not_kilo() {
        assert_eq!(parse_bandwidth("10MBps"), Ok(1e7));
        assert_eq!(parse_bandwidth("10Mbps"), Ok(1.25e6));
        assert_eq!(parse_bandwidth("1Gbps"), Ok(1.25e8));
        assert_eq!(parse_bandwidth("1GiBps"), Ok(1_073_741_824.0));
        assert_eq!(parse_bandwidth("41.279125MBps"), Ok(41_279_125.0));
        assert_eq!(parse_size("1kB"), Ok(1000.0));
        assert_eq!(parse_size("1KiB"), Ok(1024.0));
        assert_eq!(parse_size("100 MB"), Ok(1e8));
    }

    #[test]
    fn speeds_and_durations() {
        assert_eq!(parse_speed("2.5GHz"), Ok(2.5e9));
        assert_eq!(parse_speed("2.5Gf"), Ok(2.5e9));
        assert_eq!(parse_speed("1Ef"), Ok(1e18));
        assert_eq!(parse_speed("1E6f"), Ok(1e6));
        assert_eq!(parse_speed("1e-3Mf"), Ok(1e3));
        assert_eq!(parse_duration("100us"), Ok(1e-4));
        assert_eq!(parse_duration("59.904us"), Ok(59.904e-6));
        assert_eq!(parse_duration("5ms"), Ok(5e-3));
        assert_eq!(parse_duration("2h"), Ok(7200.0));
        assert_eq!(parse_duration("1d"), Ok(86400.0));
        assert_eq!(parse_duration("3min"), Ok(180.0));
    }

    #[test]
    fn anything_else_is_refused_with_the_known_units() {
        let error = parse_bandwidth("10MB").unwrap_err().to_string();
        assert!(error.contains("\"MB\"") && error.contains("MBps"), "{error}");
        assert!(parse_bandwidth("10MBPS").is_err());
        assert!(parse_bandwidth("10KBps").is_err(), "K alone is no prefix");
        assert!(matches!(parse_speed("1000"), Err(UnitError::NoUnit { .. })));
        assert_eq!(Quantity::Speed.parse_or_bare("1e9"), Ok(1e9));
        for text in ["", "f", "NaNf", "inff", "-1f", "1e999f", "..f", "1,5Gf", "1e400Gf", "-", "+f"]
        {
            assert!(parse_speed(text).is_err(), "{text}");
        }
        assert!(parse_size("1é").is_err());
    }

    #[test]
    fn written_quantities_read_back_exactly() {
        assert_eq!(Quantity::Bandwidth.write(1.25e8), "1Gbps");
        assert_eq!(Quantity::Bandwidth.write(1e7), "10MBps");
        assert_eq!(Quantity::Speed.write(2.5e9), "2.5Gf");
        assert_eq!(Quantity::Duration.write(1e-4), "100us");
        assert_eq!(Quantity::Duration.write(0.0), "0s");
        assert_eq!(Quantity::Size.write(17_179_869_184.0), "16GiB");
        for value in [1.0 / 3.0, 1e-300, 1e300, 59.904e-6, 0.1 + 0.2, 5.2297e9] {
            let kinds = [Quantity::Speed, Quantity::Bandwidth, Quantity::Size, Quantity::Duration];
            for quantity in kinds {
                let text = quantity.write(value);
                assert_eq!(quantity.parse(&text), Ok(value), "{text}");
            }
        }
    }

    #[test]
    fn people_read_three_digits() {
        assert_eq!(fmt_bytes(1.5e9), "1.5 GB");
        assert_eq!(fmt_bytes(999.6e3), "1 MB");
        assert_eq!(fmt_bytes(0.0), "0 B");
        assert_eq!(fmt_rate(1.25e8), "125 MB/s");
        assert_eq!(fmt_speed(2.5e9), "2.5 Gflop/s");
        assert_eq!(fmt_seconds(0.0), "0 s");
        assert_eq!(fmt_seconds(1.234e-5), "12.3 us");
        assert_eq!(fmt_seconds(1.5), "1.5 s");
        assert_eq!(fmt_seconds(125.0), "2 min 05 s");
        assert_eq!(fmt_seconds(3599.9), "1 h 00 min");
        assert_eq!(fmt_seconds(11220.0), "3 h 07 min");
        assert_eq!(fmt_seconds(187_200.0), "2 d 04 h");
    }
}
