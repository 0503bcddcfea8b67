//! Any document that a verb prints with `--json` or writes as JSON Lines: single members as a list,
//! lists of objects as tables.

use crate::Printer;
use crate::table::{Table, count, cut};
use serde_json::{Map, Number, Value};
use slackline_formats::FormatError;
use std::collections::BTreeMap;

/// Rows of a list that are shown.
const SHOWN: usize = 12;

/// Characters of a cell on a terminal, and columns that no terminal has.
const CELL: usize = 40;
const TERMINAL: usize = 400;

/// Members that say what an object is about.
const KEYS: [&str; 7] = ["name", "task", "id", "algorithm", "policy", "file", "owner"];

/// The document as JSON; of several lines a list.
pub fn parse(text: &str) -> Result<Value, FormatError> {
    let fail = |e: serde_json::Error| FormatError::at(e.line().max(1), e.column().max(1), e);
    match serde_json::from_str::<Value>(text) {
        Ok(value) => Ok(value),
        Err(_) if text.lines().next().is_some_and(|line| line.trim_end().ends_with('}')) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let read = |(number, line)| {
                serde_json::from_str(line)
                    .map_err(|e: serde_json::Error| FormatError::at(number + 1, e.column(), e))
            };
            Ok(Value::Array(lines.enumerate().map(read).collect::<Result<_, _>>()?))
        }
        Err(error) => Err(fail(error)),
    }
}

/// The document for people.
pub fn tell(schema: &str, text: &str, output: &dyn Printer) -> Result<String, FormatError> {
    let mut out = format!("{}\n", output.bold(schema));
    match parse(text)? {
        Value::Object(members) => object(&members, &mut out, output.style().table_width),
        Value::Array(lines) => log(&lines, &mut out, output.style().table_width),
        _ => {}
    }
    Ok(out)
}

/// One object: what is single first, then its lists.
fn object(members: &Map<String, Value>, out: &mut String, width: usize) {
    let mut singles = Table::new(&["<", "<"]);
    for (name, value) in members.iter().filter(|(name, _)| *name != "schema") {
        if let Some(text) = single(value) {
            singles.row([name.clone(), text]);
        }
    }
    *out += &format!("\n{}", singles.render(width));
    for (name, value) in members {
        if let Value::Array(items) = value
            && single(value).is_none()
        {
            *out += &format!("\n{name}: {}\n\n", items.len());
            list(items, out, width);
        }
    }
}

/// A list of objects as a table of their single members, those of the first.
fn list(items: &[Value], out: &mut String, width: usize) {
    let Some(Value::Object(first)) = items.first() else { return };
    let is_column = |(_, value): &(&String, &Value)| single(value).is_some();
    let mut columns: Vec<&String> = first.iter().filter(is_column).map(|(name, _)| name).collect();
    // What a row is about comes first.
    columns.sort_by_key(|name| KEYS.iter().position(|key| key == name).unwrap_or(KEYS.len()));
    let wide: Vec<&&String> = columns.iter().take((width / 12).max(3)).collect();
    let most = if width > TERMINAL { usize::MAX } else { CELL };
    let headings: Vec<String> = wide.iter().map(|name| format!("<{name}")).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = Table::new(&headings);
    for item in items.iter().take(SHOWN) {
        let cell = |name: &&&String| item.get(name.as_str()).and_then(single).unwrap_or_default();
        table.row(wide.iter().map(|name| cut(&cell(name), most)));
    }
    *out += &table.render(width);
    if items.len() > SHOWN {
        *out += &format!("  … and {} more\n", items.len() - SHOWN);
    }
}

/// A log: what its first line says, and how often each event occurs.
fn log(lines: &[Value], out: &mut String, width: usize) {
    if let Some(Value::Object(head)) = lines.first() {
        object(head, out, width);
    }
    let mut events: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lines.iter().skip(1) {
        let named = line.get("event").and_then(Value::as_str);
        let keyed = || line.as_object().and_then(|o| o.keys().next()).map(String::as_str);
        *events.entry(named.or_else(keyed).unwrap_or("lines")).or_default() += 1;
    }
    let mut table = Table::new(&["<", ">"]);
    for (event, number) in events {
        table.row([event.to_string(), number.to_string()]);
    }
    let after = lines.len().saturating_sub(1);
    *out += &format!("\n{}:\n\n{}", count(after, "line"), table.render(width));
}

/// A number for people: whole ones as they are, others with about five digits.
fn short(number: &Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract() != 0.0 => {
            let digits = (4.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
            let text = format!("{value:.digits$}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
        Some(value) if number.is_f64() && value.abs() < 1e15 => format!("{value:.0}"),
        _ => number.to_string(),
    }
}

/// Text of a value that fits into a cell; none for lists and objects that need a table.
fn single(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("-".to_string()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.to_string()),
        Value::Number(number) => Some(short(number)),
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => None,
        Value::Array(items) => {
            let shown: Vec<String> = items.iter().take(SHOWN).filter_map(single).collect();
            let more = if items.len() > SHOWN { ", …" } else { "" };
            Some(shown.join(", ") + more)
        }
        Value::Object(members) => {
            let parts: Option<Vec<String>> =
                members.iter().map(|(name, v)| Some(format!("{name} {}", single(v)?))).collect();
            parts.map(|parts| parts.join(", "))
        }
    }
}
