//! Figures have one source: a row of a user page that links another page states what that page states, rounded.
#![allow(clippy::unwrap_used)]

use std::path::Path;

/// Pages that quote figures of others.
const QUOTING: [&str; 2] = ["choosing.md", "performance.md"];

fn page(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(name)).unwrap()
}

/// Numbers of a text with their decimals, in the order of appearance.
fn numbers(text: &str) -> Vec<(f64, usize)> {
    let mut found = Vec::new();
    let of_number = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let within_word =
            rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        let end = rest[at..].find(|c| !of_number(c)).map_or(rest.len(), |length| at + length);
        let number = rest[at..end].trim_end_matches(['.', ',']).replace(',', "");
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        if let (false, Ok(value)) = (within_word, number.parse()) {
            found.push((value, decimals));
        }
        rest = &rest[end..];
    }
    found
}

/// The pages that a row links, and its text without the links.
fn linked(row: &str) -> (Vec<String>, String) {
    let (mut pages, mut text) = (Vec::new(), String::new());
    let mut rest = row;
    while let Some((before, after)) = rest.split_once("](") {
        let (target, behind) = after.split_once(')').unwrap();
        let file = target.split('#').next().unwrap_or(target);
        if file.ends_with(".md") {
            pages.push(file.to_string());
        }
        text.push_str(before);
        rest = behind;
    }
    text.push_str(rest);
    (pages, text)
}

#[test]
fn quoted_figures_are_those_of_their_source() {
    let mut checked = 0;
    for name in QUOTING {
        for row in page(name).lines().filter(|line| line.starts_with("| ")) {
            let (pages, text) = linked(row);
            // The column of commands has numbers of its own.
            let text: String = text.split('`').step_by(2).collect();
            let sources: Vec<(f64, usize)> =
                pages.iter().flat_map(|page| numbers(&self::page(page))).collect();
            if sources.is_empty() {
                continue;
            }
            for (value, decimals) in numbers(&text) {
                let scale = 10f64.powi(decimals as i32);
                let same = |&(of_source, precision): &(f64, usize)| {
                    precision >= decimals
                        && ((of_source * scale).round() - value * scale).abs() < 0.5
                };
                assert!(
                    sources.iter().any(same),
                    "docs/{name}: {value} is not in {pages:?}: {row}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "only {checked} figures are compared");
}

#[test]
fn numbers_are_read_with_their_precision() {
    assert_eq!(numbers("16.10 % of 1,000, h4, 0.5."), [(16.1, 2), (1000.0, 0), (0.5, 1)]);
    let (pages, text) = linked("| 3 of [four](a.md#b) and [x](y) |");
    assert_eq!((pages, text.as_str()), (vec!["a.md".to_string()], "| 3 of [four and [x |"));
}
