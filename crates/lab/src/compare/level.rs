//! Values of key columns: numbers where a column has nothing else, text otherwise.

use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// A value of a key column. Numbers are exact decimals: two seeds of twenty digits stay apart,
/// and `0.10` is `0.1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// A number.
    Number(Decimal),
    /// Any other text.
    Text(String),
}

/// A decimal number: a sign and `0.DIGITS * 10^exponent`, without zeros at either end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    negative: bool,
    exponent: i32,
    digits: String,
}

impl Decimal {
    /// Parses a decimal number such as `-1.50e3`; none for any other text.
    pub fn parse(text: &str) -> Option<Decimal> {
        let text = text.trim();
        let (negative, rest) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (text.starts_with('-'), rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let significant = digits.trim_start_matches('0');
        let zeros = (digits.len() - significant.len()) as i32;
        let digits = significant.trim_end_matches('0').to_string();
        if digits.is_empty() {
            return Some(Decimal { negative: false, exponent: 0, digits });
        }
        let exponent = exponent.checked_add(whole.len() as i32 - zeros)?;
        Some(Decimal { negative, exponent, digits })
    }

    /// The nearest double.
    pub fn value(&self) -> f64 {
        self.text().parse().unwrap_or(f64::NAN)
    }

    fn text(&self) -> String {
        if self.digits.is_empty() {
            return "0".to_string();
        }
        let sign = if self.negative { "-" } else { "" };
        let (digits, n) = (&self.digits, self.digits.len() as i32);
        match self.exponent {
            e if e <= -6 || e > 21 => format!("{sign}0.{digits}e{e}"),
            e if e <= 0 => format!("{sign}0.{}{digits}", "0".repeat(-e as usize)),
            e if e >= n => format!("{sign}{digits}{}", "0".repeat((e - n) as usize)),
            e => format!("{sign}{}.{}", &digits[..e as usize], &digits[e as usize..]),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |d: &Decimal| match (d.digits.is_empty(), d.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        };
        let size = |a: &Decimal, b: &Decimal| {
            a.exponent.cmp(&b.exponent).then_with(|| a.digits.cmp(&b.digits))
        };
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            -1 => size(other, self),
            _ => size(self, other),
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Level {
    /// Returns the levels of a column: numbers where every text is one.
    pub fn of_texts<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Vec<Level> {
        let numbers: Option<Vec<Level>> =
            texts.clone().map(|text| Decimal::parse(text).map(Level::Number)).collect();
        numbers.unwrap_or_else(|| texts.map(|text| Level::Text(text.to_string())).collect())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Number(number) => f.write_str(&number.text()),
            Level::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Level::Text(text) => serializer.serialize_str(text),
            Level::Number(number) => {
                let text = number.text();
                match (text.parse::<i64>(), text.parse::<u64>()) {
                    (Ok(whole), _) => serializer.serialize_i64(whole),
                    (_, Ok(whole)) => serializer.serialize_u64(whole),
                    _ if number.value().is_finite() => serializer.serialize_f64(number.value()),
                    _ => serializer.serialize_str(&text),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers() {
        let level = |text: &str| Decimal::parse(text).map(Level::Number);
        assert_eq!(level("0.10"), level("1e-1"));
        assert_eq!(level("-0"), level("0.0"));
        assert_ne!(level("18446744073709551615"), level("18446744073709551614"));
        let mut mixed: Vec<_> = ["100", "5", "-3", "0.5", "-20", "0"].map(level).to_vec();
        mixed.sort();
        let shown: Vec<String> = mixed.iter().flatten().map(Level::to_string).collect();
        assert_eq!(shown, ["-20", "-3", "0", "0.5", "5", "100"]);
        for text in ["", "nan", "1,5", "0x10", ".", "1e", "12 s"] {
            assert_eq!(level(text), None, "{text}");
        }
        assert_eq!(level("12.50").map(|l| l.to_string()).as_deref(), Some("12.5"));
        assert_eq!(level("1e30").map(|l| l.to_string()).as_deref(), Some("0.1e31"));
    }
}
