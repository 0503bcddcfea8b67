//! Results of a campaign, compared.

use super::{Campaign, METRICS, Method, MethodKind, Store};
use crate::compare::{Comparison, Options, compare};
use slackline_core::Failure;
use slackline_formats::csv::Csv;

/// A comparison per kind of method, by the order of `methods`.
pub fn comparisons(
    store: &Store,
    methods: &[Method],
    mut options: Options,
) -> Result<Vec<(MethodKind, Comparison)>, Failure> {
    // A part of a campaign as a unit is what was drawn of it.
    let text = store.campaign_text()?.0;
    let columns = |name: &String| Campaign::unit_columns(&text, store.columns(), name);
    let units = options.unit.iter();
    options.unit =
        units.flat_map(|name| columns(name).unwrap_or_else(|| vec![name.clone()])).collect();
    let table = store.table_of(&options.metric)?;
    if table.is_empty() {
        let message = format!("{}: there are no runs", store.file().display());
        return Err(Failure::input(message));
    }
    let kinds = [MethodKind::Plan, MethodKind::Simulate];
    let there: Vec<MethodKind> = kinds
        .into_iter()
        .filter(|kind| {
            let column = table.column("kind");
            column.is_some_and(|c| c.texts.iter().any(|text| text == kind.name()))
        })
        .collect();
    let known = |name: &str| table.head.iter().any(|h| h == name);
    let mut comparisons = Vec::new();
    for kind in there {
        let of_kind = only(&table, kind);
        let mut options = options.clone();
        options.order = methods.iter().filter(|m| m.kind == kind).map(|m| m.text.clone()).collect();
        options.ignore.retain(|name| known(name) || !METRICS.contains(&name.as_str()));
        let other_kind = |name: &String| {
            !options.order.contains(name) && methods.iter().any(|m| m.text == *name)
        };
        // A method of the other kind is no mistake where both kinds are compared.
        if options.against.as_ref().is_some_and(other_kind) {
            options.against = None;
        }
        let found = compare(&of_kind, &options).map_err(|e| e.in_file(store.file()))?;
        comparisons.push((kind, found));
    }
    Ok(comparisons)
}

/// The rows of one kind.
fn only(table: &Csv, kind: MethodKind) -> Csv {
    let Some(column) = table.column("kind") else { return table.clone() };
    if column.texts.len() == 1 {
        return table.clone();
    }
    let mut csv = Csv::with_head(table.head.clone()).unwrap_or_default();
    for row in 0..table.len() {
        if column.text(row) == kind.name() {
            let cells: Vec<&str> = table.columns.iter().map(|c| c.text(row)).collect();
            // The cells are as many as the head has.
            let _ = csv.push(table.lines[row], &cells);
        }
    }
    csv
}
