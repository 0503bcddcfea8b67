//! The attributes of one element: by name, with units; unknown ones are refused.

use crate::error::{FormatError, Result};
use quick_xml::events::BytesStart;
use slackline_model::units::{Quantity, UnitError};

/// An element with its attributes.
pub(super) struct Attributes<'a> {
    element: String,
    list: Vec<(String, String)>,
    text: &'a str,
    offset: usize,
}

impl<'a> Attributes<'a> {
    /// Reads the attributes of a tag that begins at `offset`; each must be one of `known`.
    pub(super) fn read(
        tag: &BytesStart<'_>,
        text: &'a str,
        offset: usize,
        known: &[&str],
    ) -> Result<Self> {
        let element = tag.name().0.to_string();
        let fail = |message: String| FormatError::at_offset(text, offset, message);
        let mut list: Vec<(String, String)> = Vec::new();
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|e| fail(format!("<{element}>: {e}")))?;
            let name = attribute.key.0;
            if !known.contains(&name) {
                return Err(fail(format!("<{element}> has no attribute \"{name}\""))
                    .with_help(format!("it knows {}", known.join(", "))));
            }
            let value = attribute
                .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                .map_err(|e| fail(format!("<{element}> {name}: {e}")))?;
            list.push((name.to_string(), value.into_owned()));
        }
        Ok(Attributes { element, list, text, offset })
    }

    /// Offset of the element's beginning.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// An error about this element.
    pub(super) fn error(&self, message: impl std::fmt::Display) -> FormatError {
        FormatError::at_offset(self.text, self.offset, format!("<{}>: {message}", self.element))
    }

    /// The first of `names` that is given: versions 3 and 4 have different names for the same attribute.
    pub(super) fn get(&self, names: &[&str]) -> Option<&str> {
        let found = names.iter().find_map(|name| self.list.iter().find(|(key, _)| key == name));
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn required(&self, names: &[&str]) -> Result<&str> {
        self.get(names)
            .ok_or_else(|| self.error(format!("the attribute \"{}\" is missing", names[0])))
    }

    /// A number with a unit, or bare in base units, as SimGrid has it.
    pub(super) fn quantity(&self, names: &[&str], quantity: Quantity) -> Result<Option<f64>> {
        self.get(names)
            .filter(|value| !value.trim().is_empty())
            .map(|value| {
                let number = parse_quantity(quantity, value);
                number.map_err(|e| self.error(format!("{}: {e}", names[0])))
            })
            .transpose()
    }

    pub(super) fn required_quantity(&self, names: &[&str], quantity: Quantity) -> Result<f64> {
        self.required(names)?;
        self.quantity(names, quantity)?
            .ok_or_else(|| self.error(format!("the attribute \"{}\" is empty", names[0])))
    }

    /// A word out of a list.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[(&str, T)],
        default: T,
    ) -> Result<T> {
        let Some(value) = self.get(&[name]) else { return Ok(default) };
        let found = choices.iter().find(|(word, _)| *word == value);
        found.map(|&(_, choice)| choice).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|&(word, _)| word).collect();
            self.error(format!("{name} is \"{value}\", it must be one of {}", words.join(", ")))
        })
    }

    /// A whole number of at least 1.
    pub(super) fn count(&self, name: &str, default: u32) -> Result<u32> {
        match self.get(&[name]) {
            None => Ok(default),
            Some(value) => match value.trim().parse::<u32>() {
                Ok(count) if count > 0 => Ok(count),
                _ => Err(self.error(format!("{name} is \"{value}\", it must be a number above 0"))),
            },
        }
    }

    /// A plain finite number.
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>> {
        self.get(&[name])
            .map(|value| match value.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number),
                _ => Err(self.error(format!("{name} is \"{value}\", it must be a finite number"))),
            })
            .transpose()
    }

    /// Three numbers separated by blanks.
    pub(super) fn coordinates(&self) -> Result<Option<[f64; 3]>> {
        let Some(value) = self.get(&["coordinates"]) else { return Ok(None) };
        let numbers: Option<Vec<f64>> = value
            .split_whitespace()
            .map(|word| word.parse().ok().filter(|number: &f64| number.is_finite()))
            .collect();
        match numbers.as_deref() {
            Some([x, y, z]) => Ok(Some([*x, *y, *z])),
            Some([x, y]) => Ok(Some([*x, *y, 0.0])),
            _ => {
                Err(self.error(format!("coordinates are \"{value}\", they must be three numbers")))
            }
        }
    }
}

/// A number with a unit, or bare in base units. SimGrid accepts `K` as well as `k` for a thousand.
pub(super) fn parse_quantity(
    quantity: Quantity,
    text: &str,
) -> std::result::Result<f64, UnitError> {
    quantity.parse_or_bare(text).or_else(|error| {
        let kilo = text.replace('K', "k");
        let reread =
            if text.contains("Ki") { Err(error.clone()) } else { quantity.parse_or_bare(&kilo) };
        reread.map_err(|_| error)
    })
}
