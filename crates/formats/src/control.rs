//! Shared parts of formats with choices and loops: the notations for the passes of a loop.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use slackline_model::control::Iterations;
use std::fmt;

/// A number of passes, or a table with their distribution.
pub(crate) enum IterationsEntry {
    Number(f64),
    Law(LawEntry),
}

/// The distribution of the passes of a loop: one of `{table}` (the probabilities of 1, 2, ... passes),
/// `{again, max}` (the probability of one more), `{mean, sd, min, max}` (normal, rounded and bounded) or `{min, max}` (uniform).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LawEntry {
    table: Option<Vec<f64>>,
    again: Option<f64>,
    mean: Option<f64>,
    /// Standard deviation.
    sd: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
}

impl<'de> Deserialize<'de> for IterationsEntry {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = IterationsEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of iterations, or a table such as { again = 0.6, max = 8 }")
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<IterationsEntry, E> {
                Ok(IterationsEntry::Number(number))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<IterationsEntry, E> {
                self.visit_f64(number as f64)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<IterationsEntry, E> {
                self.visit_f64(number as f64)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<IterationsEntry, A::Error> {
                let law = LawEntry::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(IterationsEntry::Law(law))
            }
        }
        d.deserialize_any(Either)
    }
}

/// A whole number from 1 to 2^53, up to which `f64` has every whole number.
fn whole(what: &str, value: f64) -> Result<u64, String> {
    if value >= 1.0 && value.fract() == 0.0 && value <= 2f64.powi(53) {
        Ok(value as u64)
    } else {
        Err(format!("{what} is {value}; iterations are whole numbers from 1 on"))
    }
}

impl IterationsEntry {
    /// Converts to the model; the error describes an invalid combination.
    pub(crate) fn read(&self) -> Result<Iterations, String> {
        let law = match self {
            IterationsEntry::Number(n) => {
                return Ok(Iterations::Fixed(whole("the number of iterations", *n)?));
            }
            IterationsEntry::Law(law) => law,
        };
        let min = law.min.map(|n| whole("min", n)).transpose()?;
        let max = law.max.map(|n| whole("max", n)).transpose()?;
        match law {
            LawEntry { table: Some(table), again: None, mean: None, sd: None, min: None, max: None } => {
                Ok(Iterations::Table(table.clone()))
            }
            LawEntry { again: Some(again), table: None, mean: None, sd: None, min: None, .. } => {
                Ok(Iterations::Again { again: *again, max })
            }
            LawEntry { mean: Some(mean), sd: Some(sd), table: None, again: None, .. } => {
                Ok(Iterations::Normal { mean: *mean, sd: *sd, min: min.unwrap_or(1), max })
            }
            LawEntry { min: Some(_), max: Some(_), table: None, again: None, mean: None, sd: None } => {
                Ok(Iterations::Between { min: min.unwrap_or(1), max: max.unwrap_or(1) })
            }
            _ => Err("iterations are a number, {table}, {again, max}, {mean, sd, min, max} or {min, max}"
                .to_string()),
        }
    }
}

/// Writes the passes of a loop as JSON.
pub(crate) fn json(iterations: &Iterations) -> String {
    match iterations {
        Iterations::Fixed(n) => n.to_string(),
        Iterations::Table(table) => {
            let table: Vec<String> = table.iter().map(f64::to_string).collect();
            format!("{{\"table\": [{}]}}", table.join(", "))
        }
        Iterations::Again { again, max: None } => format!("{{\"again\": {again}}}"),
        Iterations::Again { again, max: Some(max) } => {
            format!("{{\"again\": {again}, \"max\": {max}}}")
        }
        Iterations::Normal { mean, sd, min, max } => {
            let max = max.map_or(String::new(), |max| format!(", \"max\": {max}"));
            format!("{{\"mean\": {mean}, \"sd\": {sd}, \"min\": {min}{max}}}")
        }
        Iterations::Between { min, max } => format!("{{\"min\": {min}, \"max\": {max}}}"),
    }
}

/// Writes the passes of a loop as a number or an inline table of TOML: JSON in another notation, as no name or
/// number contains any of the characters replaced.
pub(crate) fn toml(iterations: &Iterations) -> String {
    match iterations {
        Iterations::Table(table) => format!("{{ table = {table:?} }}"),
        other => {
            json(other).replace('"', "").replace(':', " =").replace('{', "{ ").replace('}', " }")
        }
    }
}
