//! Tasks for many samples: `[samples]`, `[params]` and `foreach`, expanded before the file is read as a workflow.
//!
//! A *dimension* is a set of rows: those of the sheet are one, each list is another, and the samples are the product
//! of all, which is never written out. An instance of a task sees the rows that agree with its `foreach` columns. In
//! its lists of files a placeholder stands for every value among these rows; anywhere else there must be one value.

use crate::csv::{Csv, CsvColumn};
use crate::document::{Definition, Parameter, Template};
use crate::error::{FormatError, Result};
use crate::read_options::ReadOptions;
use slackline_model::nearest::did_you_mean;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Component, Path, PathBuf};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Most tasks that one definition may stand for, and most names that one entry of a list may.
const LIMIT: usize = 10_000_000;

/// Most values that a message lists.
const LISTED: usize = 3;

/// Placeholders of every command: the files of its task.
const FILES: [&str; 2] = ["inputs", "outputs"];

type Table<'t> = DeTable<'t>;
type Value<'t> = Spanned<DeValue<'t>>;
type Span = std::ops::Range<usize>;

/// Whether anything in a file has to be expanded.
pub(super) fn is_needed(table: &Table<'_>) -> bool {
    let has_foreach = |task: &Value<'_>| task.get_ref().get("foreach").is_some();
    table.get("samples").is_some()
        || table.get("params").is_some()
        || table
            .get("task")
            .and_then(|tasks| tasks.get_ref().as_table())
            .is_some_and(|tasks| tasks.values().any(has_foreach))
}

/// Replaces samples, parameters and `foreach` by the tasks that they stand for.
pub(super) fn expand<'t>(
    text: &'t str,
    mut table: Table<'t>,
    options: &ReadOptions<'_>,
) -> Result<(Table<'t>, Definition, Vec<String>)> {
    let mut expander = Expander {
        text,
        dimensions: Vec::new(),
        parameters: Vec::new(),
        sheet: None,
        patterns: HashMap::new(),
        warnings: Vec::new(),
    };
    if let Some(given) = table.remove("params") {
        expander.read_parameters(&given, options)?;
    }
    if let Some(samples) = table.remove("samples") {
        expander.read_samples(&samples, options)?;
    }
    let mut templates = Vec::new();
    let all = expander.all_rows();
    let whole = Scope { rows: all.iter().map(Vec::as_slice).collect(), task: "" };
    let has_kinds = table.get("defaults").is_some_and(|d| d.get_ref().get("kind").is_some());
    let mut expanded = Table::new();
    for (key, value) in table {
        let (span, value) = (value.span(), value.into_inner());
        let value = match (key.get_ref().as_ref(), value) {
            ("task", DeValue::Table(tasks)) => {
                DeValue::Table(expander.tasks(&tasks, has_kinds, &mut templates)?)
            }
            ("files", DeValue::Table(files)) => DeValue::Table(expander.files(&files)?),
            ("defaults", DeValue::Table(defaults)) => {
                DeValue::Table(expander.members(&defaults, &whole)?)
            }
            (_, other) => expander.single(&Spanned::new(span.clone(), other), &whole)?.into_inner(),
        };
        expanded.insert(key, Spanned::new(span, value));
    }
    let definition = Definition {
        templates,
        sheet: expander.sheet.as_ref().map(|path| path.display().to_string()),
        rows: expander.dimensions.iter().map(|dimension| dimension.rows).product(),
        parameters: expander.parameters,
    };
    Ok((expanded, definition, expander.warnings))
}

/// Columns with common rows: those of the sheet, or the one of a list.
struct Dimension {
    names: Vec<String>,
    columns: Vec<CsvColumn>,
    /// Number of rows.
    rows: usize,
    /// Lines of the sheet on which its rows are; empty for a list.
    lines: Vec<usize>,
}

/// The rows that one task sees of every dimension.
struct Scope<'s> {
    rows: Vec<&'s [u32]>,
    /// Name of the task in messages; empty outside of tasks.
    task: &'s str,
}

/// The names to which a task of the file expands.
struct Pattern {
    /// Its name with placeholders; those of `foreach` are appended where it has none.
    name: String,
    foreach: Vec<Column>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Column {
    dimension: usize,
    column: usize,
}

/// A piece of a text with placeholders.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Piece<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

/// Meaning of a placeholder.
#[derive(Clone, Copy)]
enum Meaning {
    /// Index of a parameter.
    Parameter(usize),
    Column(Column),
    /// Index into [`FILES`].
    Files(usize),
}

/// Kind of text into which a value is inserted.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    /// Part of a name: never empty.
    Name,
}

fn is_name_byte(byte: u8, is_first: bool) -> bool {
    byte == b'_'
        || byte.is_ascii_alphabetic()
        || !is_first && (byte.is_ascii_digit() || byte == b'-')
}

/// The length of a placeholder's name at the start of a text.
fn name_length(text: &[u8]) -> usize {
    text.iter().enumerate().take_while(|&(i, &b)| is_name_byte(b, i == 0)).count()
}

/// Splits at placeholders `{name}`. `{{name}}` stands for `{name}`, `${name}` is a variable of the shell, and all
/// other braces are text.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let (mut found, mut from, mut at) = (Vec::new(), 0, 0);
    fn literal<'a>(found: &mut Vec<Piece<'a>>, text: &'a str) {
        if !text.is_empty() {
            found.push(Piece::Text(text));
        }
    }
    while at < bytes.len() {
        if bytes[at] != b'{' {
            at += 1;
            continue;
        }
        let is_escaped = bytes.get(at + 1) == Some(&b'{');
        let start = at + 1 + usize::from(is_escaped);
        let end = start + name_length(&bytes[start..]);
        let is_closed = end > start && bytes.get(end) == Some(&b'}');
        let is_variable = at > 0 && bytes[at - 1] == b'$';
        if is_escaped && is_closed && bytes.get(end + 1) == Some(&b'}') {
            literal(&mut found, &text[from..at]);
            literal(&mut found, &text[at + 1..end + 1]);
            (at, from) = (end + 2, end + 2);
        } else if is_closed && !is_escaped && !is_variable {
            literal(&mut found, &text[from..at]);
            found.push(Piece::Placeholder(&text[start..end]));
            (at, from) = (end + 1, end + 1);
        } else {
            at += 1;
        }
    }
    literal(&mut found, &text[from..]);
    found
}

/// Whether a shell line at some point is inside quotes.
#[derive(Clone, Copy, PartialEq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// The state of the quotes after a piece of a shell line that begins in a state.
fn quotes_after(mut state: Quotes, text: &str) -> Quotes {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        state = match (state, byte) {
            (Quotes::None | Quotes::Double, b'\\') => {
                bytes.next();
                state
            }
            (Quotes::None, b'\'') => Quotes::Single,
            (Quotes::None, b'"') => Quotes::Double,
            (Quotes::Single, b'\'') | (Quotes::Double, b'"') => Quotes::None,
            _ => state,
        };
    }
    state
}

/// A word of a shell line.
fn shell_quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&b) || !b.is_ascii();
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''")).into()
}

/// A value as text of a shell line: one word, or part of one, whatever is in it.
fn in_shell(value: &str, quotes: Quotes) -> Cow<'_, str> {
    match quotes {
        Quotes::None => shell_quoted(value),
        Quotes::Single if value.contains('\'') => value.replace('\'', "'\\''").into(),
        Quotes::Double if value.contains(['\\', '"', '$', '`']) => {
            let mut safe = String::with_capacity(value.len() + 2);
            for c in value.chars() {
                if matches!(c, '\\' | '"' | '$' | '`') {
                    safe.push('\\');
                }
                safe.push(c);
            }
            safe.into()
        }
        _ => value.into(),
    }
}

/// The text of a value that can be a parameter or one of a list.
fn scalar_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    }
}

struct Expander<'t> {
    text: &'t str,
    dimensions: Vec<Dimension>,
    parameters: Vec<Parameter>,
    sheet: Option<PathBuf>,
    patterns: HashMap<String, Pattern>,
    warnings: Vec<String>,
}

impl<'t> Expander<'t> {
    fn error(&self, span: &Span, message: impl fmt::Display) -> FormatError {
        FormatError::at_offset(self.text, span.start, message)
    }

    fn read_parameters(&mut self, given: &Value<'t>, options: &ReadOptions<'_>) -> Result<()> {
        let Some(table) = given.get_ref().as_table() else {
            return Err(self.error(&given.span(), "[params] is a table of names and values"));
        };
        for (key, value) in table {
            let name = key.get_ref().to_string();
            self.check_name(&name, &key.span(), "a parameter")?;
            let Some(default) = scalar_text(value.get_ref()) else {
                let message = format!("the parameter '{name}' is no text, number, true or false");
                return Err(self.error(&value.span(), message));
            };
            let set = options.parameters.iter().rev().find(|(given, _)| *given == name);
            let is_set = set.is_some();
            let value = set.map_or(default, |(_, value)| value.clone());
            self.parameters.push(Parameter { name, value, is_set });
        }
        Ok(())
    }

    /// Refuses names that no placeholder can have, or that two things would share.
    fn check_name(&self, name: &str, span: &Span, kind: &str) -> Result<()> {
        if name.is_empty() || name_length(name.as_bytes()) != name.len() {
            let message = format!("'{name}' is no name of {kind}");
            return Err(self
                .error(span, message)
                .with_help("a letter or _, then letters, digits, _ and -"));
        }
        if FILES.contains(&name) {
            let message = format!("'{name}' is no name of {kind}: it stands for files of a task");
            return Err(self.error(span, message));
        }
        if self.meaning(name).is_some() {
            return Err(self.error(span, format!("two columns or parameters are named '{name}'")));
        }
        Ok(())
    }

    fn read_samples(&mut self, samples: &Value<'t>, options: &ReadOptions<'_>) -> Result<()> {
        let Some(table) = samples.get_ref().as_table() else {
            return Err(self
                .error(&samples.span(), "[samples] is a table: file = \"samples.csv\", or lists"));
        };
        for (key, value) in table {
            let name = key.get_ref().to_string();
            match value.get_ref() {
                DeValue::String(_) if name == "file" => self.read_sheet(value, options)?,
                DeValue::Array(list) => {
                    self.check_name(&name, &key.span(), "a list of samples")?;
                    let mut column = CsvColumn::default();
                    for item in list.iter() {
                        let Some(text) = scalar_text(item.get_ref()) else {
                            let message = format!("'{name}' is a list of texts or numbers");
                            return Err(self.error(&item.span(), message));
                        };
                        let before = column.texts.len();
                        column.push(&text);
                        if column.texts.len() == before {
                            let message = format!("'{name}' has '{text}' twice");
                            return Err(self.error(&item.span(), message));
                        }
                    }
                    let rows = column.cells.len();
                    if rows == 0 {
                        return Err(self.error(&value.span(), format!("'{name}' is empty")));
                    }
                    let (names, columns) = (vec![name], vec![column]);
                    self.dimensions.push(Dimension { names, columns, rows, lines: Vec::new() });
                }
                _ => {
                    let message = format!(
                        "'{name}': [samples] has file = \"SHEET\" and lists such as {name} = [\"a\", \"b\"]"
                    );
                    return Err(self.error(&value.span(), message));
                }
            }
        }
        if self.dimensions.is_empty() {
            return Err(self
                .error(&samples.span(), "[samples] is empty")
                .with_help("file = \"samples.csv\", or lists such as sample = [\"a\", \"b\"]"));
        }
        Ok(())
    }

    /// Reads the sheet: comma-separated, or tab-separated where its name or its head says so.
    fn read_sheet(&mut self, name: &Value<'t>, options: &ReadOptions<'_>) -> Result<()> {
        let span = name.span();
        let stated = name.get_ref().as_str().unwrap_or_default();
        let stated =
            self.scalar(stated, &span, &Scope { rows: Vec::new(), task: "" }, Style::Name)?;
        let Some(siblings) = &options.siblings else {
            let message =
                format!("[samples] names the sheet '{stated}', and a text has no files beside it");
            return Err(self
                .error(&span, message)
                .with_help("read the workflow from its file, or write lists"));
        };
        let (path, text) = siblings.read(&stated).map_err(|error| {
            let file =
                error.file.as_deref().map_or(stated.clone(), |file| file.display().to_string());
            let ours = self.error(&span, format!("the sheet {file}: {}", error.message));
            match error.help {
                Some(help) => ours.with_help(help),
                None => ours,
            }
        })?;
        let is_tsv = path.extension().is_some_and(|e| e == "tsv" || e == "tab") || {
            let head = text.lines().next().unwrap_or_default();
            head.contains('\t') && !head.contains(',')
        };
        let sheet = Csv::parse_separated(&text, if is_tsv { '\t' } else { ',' });
        let sheet = sheet.map_err(|error| error.in_file(&path))?;
        for (i, head) in sheet.head.iter().enumerate() {
            if head.is_empty() {
                let message = format!("column {} has no name", i + 1);
                return Err(FormatError::at(1, i + 1, message).in_file(&path));
            }
            if FILES.contains(&head.as_str()) || self.meaning(head).is_some() {
                let message = format!(
                    "the column '{head}' has the name of a parameter, a list or the files of a task"
                );
                return Err(FormatError::at(1, i + 1, message).in_file(&path));
            }
        }
        if sheet.is_empty() {
            return Err(FormatError::new("the sheet has a head and no rows")
                .on_line(1)
                .in_file(&path));
        }
        let mut columns = Vec::with_capacity(sheet.columns.len());
        for column in &sheet.columns {
            let mut trimmed = CsvColumn::default();
            for row in 0..sheet.len() {
                trimmed.push(column.text(row).trim());
            }
            columns.push(trimmed);
        }
        let (rows, lines) = (sheet.len(), sheet.lines);
        let mut seen: HashMap<Vec<u32>, usize> = HashMap::with_capacity(rows);
        for row in 0..rows {
            let cells = columns.iter().map(|column| column.cells[row]).collect();
            if let Some(first) = seen.insert(cells, row) {
                self.warnings.push(format!(
                    "{}, line {}: the same row as line {}",
                    path.display(),
                    lines[row],
                    lines[first]
                ));
            }
        }
        self.dimensions.push(Dimension { names: sheet.head, columns, rows, lines });
        self.sheet = Some(path);
        Ok(())
    }

    fn column(&self, name: &str) -> Option<Column> {
        let mut dimensions = self.dimensions.iter().enumerate();
        dimensions.find_map(|(dimension, d)| {
            let column = d.names.iter().position(|known| known == name)?;
            Some(Column { dimension, column })
        })
    }

    fn meaning(&self, name: &str) -> Option<Meaning> {
        let parameter = self.parameters.iter().position(|parameter| parameter.name == name);
        let files = || FILES.iter().position(|known| *known == name).map(Meaning::Files);
        (parameter.map(Meaning::Parameter))
            .or_else(|| self.column(name).map(Meaning::Column))
            .or_else(files)
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        let columns = self.dimensions.iter().flat_map(|d| d.names.iter().map(String::as_str));
        columns.chain(self.parameters.iter().map(|parameter| parameter.name.as_str()))
    }

    fn unknown(&self, name: &str, span: &Span, scope: &Scope<'_>) -> FormatError {
        let known: Vec<&str> = self.known().collect();
        let message = format!("{}unknown placeholder {{{name}}}", of_task(scope.task));
        let near = did_you_mean(name, known.iter().copied());
        let help = if known.is_empty() {
            "[samples] and [params] define placeholders".to_string()
        } else if near.is_empty() {
            format!("the placeholders are {{{}}}; ", known.join("}, {"))
        } else {
            format!("{}; ", near.trim().trim_start_matches([',', ';', ' ']))
        };
        let help = format!("{help}{{{{{name}}}}} stands for the text {{{name}}}");
        self.error(span, message).with_help(help)
    }

    fn all_rows(&self) -> Vec<Vec<u32>> {
        self.dimensions.iter().map(|dimension| (0..dimension.rows as u32).collect()).collect()
    }

    /// The only value of a column among the rows of a scope.
    fn only(&self, at: Column, name: &str, span: &Span, scope: &Scope<'_>) -> Result<&str> {
        let column = &self.dimensions[at.dimension].columns[at.column];
        let rows = scope.rows.get(at.dimension).copied().unwrap_or_default();
        let Some((&first, rest)) = rows.split_first() else {
            return Err(self.error(
                span,
                format!("{{{name}}} is a column of samples, and none can be meant here"),
            ));
        };
        let cell = column.cells[first as usize];
        if rest.iter().any(|&row| column.cells[row as usize] != cell) {
            let mut values: Vec<&str> = Vec::new();
            let mut seen = HashSet::new();
            for &row in rows {
                if seen.insert(column.cells[row as usize]) {
                    values.push(column.text(row as usize));
                }
            }
            let more = if values.len() > LISTED { ", …" } else { "" };
            let message = format!(
                "{}{{{name}}} has {} values here: {}{more}",
                of_task(scope.task),
                values.len(),
                values[..values.len().min(LISTED)].join(", ")
            );
            let help = format!(
                "foreach = \"{name}\" makes a task for each; {{inputs}} and {{outputs}} in a command are all files of the task"
            );
            return Err(self.error(span, message).with_help(help));
        }
        Ok(column.text(first as usize))
    }

    /// The error for a cell that is empty where it cannot be.
    fn empty(&self, at: Column, name: &str, row: u32, span: &Span) -> FormatError {
        let lines = &self.dimensions[at.dimension].lines;
        match (&self.sheet, lines.get(row as usize)) {
            (Some(sheet), Some(&line)) => {
                let message = format!("the cell of '{name}' is empty, and a name is made with it");
                FormatError::new(message).on_line(line).in_file(sheet)
            }
            _ => self
                .error(span, format!("a value of '{name}' is empty, and a name is made with it")),
        }
    }

    /// A text with one value for each placeholder.
    fn scalar(&self, text: &str, span: &Span, scope: &Scope<'_>, style: Style) -> Result<String> {
        let mut made = String::with_capacity(text.len() + 16);
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => made.push_str(text),
                Piece::Placeholder(name) => match self.meaning(name) {
                    Some(Meaning::Parameter(p)) => made.push_str(&self.parameters[p].value),
                    Some(Meaning::Column(column)) => {
                        let value = self.only(column, name, span, scope)?;
                        if value.is_empty() && style == Style::Name {
                            let row = scope.rows[column.dimension][0];
                            return Err(self.empty(column, name, row, span));
                        }
                        made.push_str(value);
                    }
                    Some(Meaning::Files(_)) => {
                        let message =
                            format!("{}{{{name}}} can only be in a command", of_task(scope.task));
                        return Err(self.error(span, message));
                    }
                    None => return Err(self.unknown(name, span, scope)),
                },
            }
        }
        Ok(made)
    }

    /// A shell line, in which values of samples and names of files are quoted where the shell would split or change
    /// them; parameters are put as they are.
    fn shell(
        &self,
        text: &str,
        span: &Span,
        scope: &Scope<'_>,
        files: &[Vec<String>; 2],
    ) -> Result<String> {
        let mut made = String::with_capacity(text.len() + 16);
        let mut quotes = Quotes::None;
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => {
                    quotes = quotes_after(quotes, text);
                    made.push_str(text);
                }
                Piece::Placeholder(name) => match self.meaning(name) {
                    Some(Meaning::Parameter(p)) => {
                        quotes = quotes_after(quotes, &self.parameters[p].value);
                        made.push_str(&self.parameters[p].value);
                    }
                    Some(Meaning::Column(column)) => {
                        made.push_str(&in_shell(self.only(column, name, span, scope)?, quotes));
                    }
                    Some(Meaning::Files(which)) => {
                        for (i, file) in files[which].iter().enumerate() {
                            if i > 0 {
                                made.push(' ');
                            }
                            made.push_str(&in_shell(file, quotes));
                        }
                    }
                    None => return Err(self.unknown(name, span, scope)),
                },
            }
        }
        Ok(made)
    }

    /// Every text that a text stands for: one for each value of its placeholders among the rows of the scope.
    fn list(&self, text: &str, span: &Span, scope: &Scope<'_>) -> Result<Vec<String>> {
        let pieces = pieces(text);
        // The columns that are used, by dimension, and of each piece its place there.
        let mut used: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut places = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let Piece::Placeholder(name) = piece else {
                places.push(None);
                continue;
            };
            let column = match self.meaning(name) {
                Some(Meaning::Column(column)) => column,
                Some(Meaning::Parameter(_)) => {
                    places.push(None);
                    continue;
                }
                Some(Meaning::Files(_)) => {
                    let message =
                        format!("{}{{{name}}} can only be in a command", of_task(scope.task));
                    return Err(self.error(span, message));
                }
                None => return Err(self.unknown(name, span, scope)),
            };
            let d = used.iter().position(|(d, _)| *d == column.dimension).unwrap_or_else(|| {
                used.push((column.dimension, Vec::new()));
                used.len() - 1
            });
            let columns = &mut used[d].1;
            let c = columns.iter().position(|c| *c == column.column).unwrap_or_else(|| {
                columns.push(column.column);
                columns.len() - 1
            });
            places.push(Some((d, c)));
        }
        // One row for each combination of values in a dimension.
        let mut choices: Vec<Vec<u32>> = Vec::with_capacity(used.len());
        for (d, columns) in &used {
            let rows = scope.rows.get(*d).copied().unwrap_or_default();
            let dimension = &self.dimensions[*d];
            let mut seen = HashSet::new();
            let cells = |row: u32| -> Vec<u32> {
                columns.iter().map(|&c| dimension.columns[c].cells[row as usize]).collect()
            };
            let distinct =
                rows.iter().copied().filter(|&row| rows.len() == 1 || seen.insert(cells(row)));
            let distinct: Vec<u32> = distinct.collect();
            for &row in &distinct {
                for &c in columns {
                    if dimension.columns[c].text(row as usize).is_empty() {
                        let at = Column { dimension: *d, column: c };
                        return Err(self.empty(at, &dimension.names[c], row, span));
                    }
                }
            }
            choices.push(distinct);
        }
        let count = choices.iter().try_fold(1usize, |n, rows| n.checked_mul(rows.len()));
        let Some(count) = count.filter(|&count| count <= LIMIT) else {
            return Err(self.error(span, format!("\"{text}\" stands for more than {LIMIT} names")));
        };
        let mut all = Vec::with_capacity(count);
        for number in 0..count {
            // The last dimension changes fastest.
            let mut rest = number;
            let mut rows = vec![0; choices.len()];
            for (row, choice) in rows.iter_mut().zip(&choices).rev() {
                *row = choice[rest % choice.len()];
                rest /= choice.len();
            }
            let mut made = String::with_capacity(text.len() + 16);
            for (piece, place) in pieces.iter().zip(&places) {
                match (piece, place) {
                    (Piece::Text(text), _) => made.push_str(text),
                    (_, Some((d, c))) => {
                        let column = &self.dimensions[used[*d].0].columns[used[*d].1[*c]];
                        made.push_str(column.text(rows[*d] as usize));
                    }
                    (Piece::Placeholder(name), None) => {
                        if let Some(Meaning::Parameter(p)) = self.meaning(name) {
                            made.push_str(&self.parameters[p].value);
                        }
                    }
                }
            }
            all.push(made);
        }
        Ok(all)
    }

    /// The names of files that a text stands for, as [`list`](Self::list) gives them. A value of a sample must not lead
    /// out of the folder (`..`, `/`) where the text itself does not.
    fn paths(&self, text: &str, span: &Span, scope: &Scope<'_>) -> Result<Vec<String>> {
        let all = self.list(text, span, scope)?;
        let leaves = |name: &str| {
            let mut parts = Path::new(name).components();
            parts.any(|part| matches!(part, Component::ParentDir | Component::RootDir))
        };
        if !leaves(text)
            && let Some(name) = all.iter().find(|name| leaves(name))
        {
            let message = format!(
                "{}\"{text}\" becomes \"{name}\", which leaves its folder",
                of_task(scope.task)
            );
            return Err(self.error(span, message));
        }
        Ok(all)
    }

    /// A value in which every placeholder is replaced by its only value.
    fn single(&self, value: &Value<'t>, scope: &Scope<'_>) -> Result<Value<'t>> {
        let span = value.span();
        let made = match value.get_ref() {
            DeValue::String(text) if text.contains('{') => {
                DeValue::String(self.scalar(text, &span, scope, Style::Plain)?.into())
            }
            DeValue::Array(list) => {
                let mut made = DeArray::new();
                for item in list.iter() {
                    made.push(self.single(item, scope)?);
                }
                DeValue::Array(made)
            }
            DeValue::Table(table) => {
                let mut made = Table::new();
                for (key, value) in table {
                    made.insert(key.clone(), self.single(value, scope)?);
                }
                DeValue::Table(made)
            }
            other => other.clone(),
        };
        Ok(Spanned::new(span, made))
    }

    /// The names of files in a list.
    fn file_list(&self, value: &Value<'t>, scope: &Scope<'_>) -> Result<(Value<'t>, Vec<String>)> {
        let DeValue::Array(list) = value.get_ref() else { return Ok((value.clone(), Vec::new())) };
        let (mut made, mut names) = (DeArray::new(), Vec::new());
        for item in list.iter() {
            let Some(text) = item.get_ref().as_str() else {
                made.push(item.clone());
                continue;
            };
            for name in self.paths(text, &item.span(), scope)? {
                made.push(Spanned::new(item.span(), DeValue::String(name.clone().into())));
                names.push(name);
            }
        }
        Ok((Spanned::new(value.span(), DeValue::Array(made)), names))
    }

    /// The members of `[defaults]`, or those of a task that are neither its command nor what it waits for.
    fn members(&self, table: &Table<'t>, scope: &Scope<'_>) -> Result<Table<'t>> {
        let mut made = Table::new();
        for (key, value) in table {
            let value = match key.get_ref().as_ref() {
                "results" => self.file_list(value, scope)?.0,
                _ => self.single(value, scope)?,
            };
            made.insert(key.clone(), value);
        }
        Ok(made)
    }

    /// `[files]`: a name with placeholders stands for a file of each row.
    fn files(&self, files: &Table<'t>) -> Result<Table<'t>> {
        let mut made = Table::new();
        let all = self.all_rows();
        for (key, value) in files {
            let span = key.span();
            let mut columns: Vec<Column> = Vec::new();
            for piece in pieces(key.get_ref()) {
                if let Piece::Placeholder(name) = piece
                    && let Some(column) = self.column(name)
                    && !columns.contains(&column)
                {
                    columns.push(column);
                }
            }
            self.each(&columns, &all, &span, |scope| {
                for name in self.paths(key.get_ref(), &span, scope)? {
                    // A file that several rows share is stated once.
                    let value = self.single(value, scope)?;
                    made.entry(Spanned::new(span.clone(), Cow::Owned(name))).or_insert(value);
                }
                Ok(())
            })?;
        }
        Ok(made)
    }

    /// Calls a function for each combination of values of some columns, with the rows that have them.
    fn each(
        &self,
        columns: &[Column],
        all: &[Vec<u32>],
        span: &Span,
        mut call: impl FnMut(&Scope<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut groups: Vec<Vec<Vec<u32>>> = Vec::with_capacity(self.dimensions.len());
        for (d, dimension) in self.dimensions.iter().enumerate() {
            let used: Vec<usize> =
                columns.iter().filter(|c| c.dimension == d).map(|c| c.column).collect();
            if used.is_empty() {
                groups.push(vec![all[d].clone()]);
                continue;
            }
            let mut numbers: HashMap<Vec<u32>, usize> = HashMap::new();
            let mut found: Vec<Vec<u32>> = Vec::new();
            for row in 0..dimension.rows {
                let cells = used.iter().map(|&c| dimension.columns[c].cells[row]).collect();
                let number = *numbers.entry(cells).or_insert(found.len());
                if number == found.len() {
                    found.push(Vec::new());
                }
                found[number].push(row as u32);
            }
            groups.push(found);
        }
        let count = groups.iter().try_fold(1usize, |n, groups| n.checked_mul(groups.len()));
        let Some(count) = count.filter(|&count| count <= LIMIT) else {
            return Err(
                self.error(span, format!("this stands for more than {LIMIT} tasks or files"))
            );
        };
        let mut scope = Scope { rows: vec![&[]; groups.len()], task: "" };
        for number in 0..count {
            let mut rest = number;
            for (rows, groups) in scope.rows.iter_mut().zip(&groups).rev() {
                *rows = &groups[rest % groups.len()];
                rest /= groups.len();
            }
            call(&scope)?;
        }
        Ok(())
    }

    /// The columns of `foreach`.
    fn foreach(&self, task: &str, value: &Value<'t>) -> Result<Vec<Column>> {
        let names: Vec<&Value<'t>> = match value.get_ref() {
            DeValue::String(_) => vec![value],
            DeValue::Array(list) if !list.is_empty() => list.iter().collect(),
            _ => {
                let message = format!(
                    "task '{task}': foreach is a column of [samples], or a list of columns"
                );
                return Err(self.error(&value.span(), message));
            }
        };
        let mut columns = Vec::new();
        for name in names {
            let span = name.span();
            let Some(text) = name.get_ref().as_str() else {
                return Err(
                    self.error(&span, format!("task '{task}': foreach has names of columns"))
                );
            };
            let Some(column) = self.column(text) else {
                let known = self.dimensions.iter().flat_map(|d| d.names.iter().map(String::as_str));
                let known: Vec<&str> = known.collect();
                let message = format!("task '{task}': there is no column '{text}' for foreach");
                let help = match did_you_mean(text, known.iter().copied()) {
                    _ if known.is_empty() => "[samples] names a sheet, or has lists".to_string(),
                    near if near.is_empty() => format!("the columns are {}", known.join(", ")),
                    near => near.trim().trim_start_matches([',', ';', ' ']).to_string(),
                };
                return Err(self.error(&span, message).with_help(help));
            };
            if columns.contains(&column) {
                return Err(self.error(&span, format!("task '{task}': foreach has '{text}' twice")));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn tasks(
        &mut self,
        tasks: &Table<'t>,
        has_kinds: bool,
        templates: &mut Vec<Template>,
    ) -> Result<Table<'t>> {
        for (key, value) in tasks {
            let written = key.get_ref().as_ref();
            let foreach = match value.get_ref().get("foreach") {
                Some(foreach) => self.foreach(written, foreach)?,
                None => Vec::new(),
            };
            let has_column = pieces(written).iter().any(
                |piece| matches!(piece, Piece::Placeholder(name) if self.column(name).is_some()),
            );
            if foreach.is_empty() && has_column {
                let message =
                    format!("task '{written}': its name has a placeholder, and it has no foreach");
                return Err(self.error(&key.span(), message));
            }
            let mut name = written.to_string();
            if !has_column {
                for c in &foreach {
                    name.push_str(&format!(
                        ".{{{}}}",
                        self.dimensions[c.dimension].names[c.column]
                    ));
                }
            }
            self.patterns.insert(written.to_string(), Pattern { name, foreach });
        }
        let all = self.all_rows();
        let mut made = Table::new();
        for (key, value) in tasks {
            let (span, written) = (key.span(), key.get_ref().as_ref());
            let pattern = &self.patterns[written];
            let Some(table) = value.get_ref().as_table() else {
                made.insert(key.clone(), value.clone());
                continue;
            };
            if let Some(region) = table.get("in")
                && !pattern.foreach.is_empty()
            {
                let message =
                    format!("task '{written}': foreach inside a choice or loop is not supported");
                return Err(self.error(&region.span(), message));
            }
            let mut template = Template {
                name: written.to_string(),
                foreach: pattern
                    .foreach
                    .iter()
                    .map(|c| self.dimensions[c.dimension].names[c.column].clone())
                    .collect(),
                tasks: 0,
                first: String::new(),
            };
            let kind = (!has_kinds && !pattern.foreach.is_empty() && !table.contains_key("kind"))
                .then(|| kind_of(written))
                .filter(|kind| !kind.is_empty());
            self.each(&pattern.foreach, &all, &span, |scope| {
                let name = self.scalar(&pattern.name, &span, scope, Style::Name)?;
                let scope = Scope { rows: scope.rows.clone(), task: &name };
                let mut entry = self.task(table, &scope)?;
                if let Some(kind) = &kind {
                    let value = DeValue::String(kind.clone().into());
                    entry.insert(Spanned::new(span.clone(), Cow::Borrowed("kind")), Spanned::new(span.clone(), value));
                }
                if template.tasks == 0 {
                    template.first.clone_from(&name);
                }
                template.tasks += 1;
                let entry = Spanned::new(value.span(), DeValue::Table(entry));
                let before = made.len();
                let task = name.clone();
                made.insert(Spanned::new(span.clone(), Cow::Owned(name)), entry);
                if made.len() == before {
                    let message = format!("two tasks are named '{task}' after expansion");
                    return Err(self.error(&span, message).with_help(
                        "a name with placeholders has one for each column of foreach, with something between them",
                    ));
                }
                Ok(())
            })?;
            templates.push(template);
        }
        Ok(made)
    }

    /// One task of a template.
    fn task(&self, table: &Table<'t>, scope: &Scope<'_>) -> Result<Table<'t>> {
        let mut made = Table::new();
        let mut files: [Vec<String>; 2] = Default::default();
        for (key, value) in table {
            let value = match key.get_ref().as_ref() {
                "foreach" | "command" => continue,
                list @ ("inputs" | "outputs" | "results") => {
                    let (value, names) = self.file_list(value, scope)?;
                    if let Some(which) = FILES.iter().position(|name| *name == list) {
                        files[which] = names;
                    }
                    value
                }
                "after" => self.after(value, scope)?,
                _ => self.single(value, scope)?,
            };
            made.insert(key.clone(), value);
        }
        if let Some((key, value)) = table.get_key_value("command") {
            made.insert(key.clone(), self.command(value, scope, &files)?);
        }
        Ok(made)
    }

    fn command(
        &self,
        value: &Value<'t>,
        scope: &Scope<'_>,
        files: &[Vec<String>; 2],
    ) -> Result<Value<'t>> {
        let span = value.span();
        let made = match value.get_ref() {
            DeValue::String(line) => DeValue::String(self.shell(line, &span, scope, files)?.into()),
            DeValue::Array(words) => {
                let mut made = DeArray::new();
                for word in words.iter() {
                    let whole = word.get_ref().as_str().map(pieces);
                    let meaning = match whole.as_deref() {
                        Some([Piece::Placeholder(name)]) => self.meaning(name),
                        _ => None,
                    };
                    if let Some(Meaning::Files(which)) = meaning {
                        for file in &files[which] {
                            made.push(Spanned::new(
                                word.span(),
                                DeValue::String(file.clone().into()),
                            ));
                        }
                    } else {
                        made.push(self.single(word, scope)?);
                    }
                }
                DeValue::Array(made)
            }
            other => other.clone(),
        };
        Ok(Spanned::new(span, made))
    }

    /// Names of tasks to wait for; that of a template stands for those of its tasks that share their rows with this
    /// one.
    fn after(&self, value: &Value<'t>, scope: &Scope<'_>) -> Result<Value<'t>> {
        let DeValue::Array(list) = value.get_ref() else { return Ok(value.clone()) };
        let names = |text: &str, span: &Span| {
            let pattern = self.patterns.get(text).map_or(text, |pattern| pattern.name.as_str());
            self.list(pattern, span, scope)
        };
        let mut made = DeArray::new();
        for item in list.iter() {
            let span = item.span();
            match item.get_ref() {
                DeValue::String(text) => {
                    for name in names(text, &span)? {
                        made.push(Spanned::new(span.clone(), DeValue::String(name.into())));
                    }
                }
                DeValue::Table(table) => {
                    let text = table.get("task").and_then(|task| task.get_ref().as_str());
                    for name in names(text.unwrap_or_default(), &span)? {
                        let mut one = Table::new();
                        for (key, value) in table {
                            let value = match key.get_ref().as_ref() {
                                "task" => {
                                    Spanned::new(value.span(), DeValue::String(name.clone().into()))
                                }
                                _ => self.single(value, scope)?,
                            };
                            one.insert(key.clone(), value);
                        }
                        made.push(Spanned::new(span.clone(), DeValue::Table(one)));
                    }
                }
                other => made.push(Spanned::new(span, other.clone())),
            }
        }
        Ok(Spanned::new(value.span(), DeValue::Array(made)))
    }
}

/// The beginning of a message about a task.
fn of_task(task: &str) -> String {
    if task.is_empty() { String::new() } else { format!("task '{task}': ") }
}

/// The kind of the tasks of a template: its name without placeholders.
fn kind_of(name: &str) -> String {
    let text = |piece| match piece {
        Piece::Text(text) => text,
        Piece::Placeholder(_) => "",
    };
    let kind: String = pieces(name).into_iter().map(text).collect();
    kind.trim_matches(['.', '-', '_', ' ']).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_that_are_no_placeholders_stay() {
        let text = |t| Piece::Text(t);
        let name = |t| Piece::Placeholder(t);
        assert_eq!(pieces("{a}.x"), [name("a"), text(".x")]);
        assert_eq!(pieces("awk '{print $1}' {} ${HOME} {1..3} {a,b}").len(), 1);
        assert_eq!(pieces("{{a}}"), [text("{a}")]);
        assert_eq!(pieces("{ {a-b_1} }"), [text("{ "), name("a-b_1"), text(" }")]);
        assert_eq!(pieces("{if(x){y}}"), [text("{if(x)"), name("y"), text("}")]);
    }

    #[test]
    fn values_are_one_word_of_a_shell_line() {
        assert_eq!(in_shell("S1", Quotes::None), "S1");
        assert_eq!(in_shell("a b", Quotes::None), "'a b'");
        assert_eq!(in_shell("it's", Quotes::Single), "it'\\''s");
        assert_eq!(in_shell("$(x)", Quotes::Double), "\\$(x)");
        assert!(quotes_after(Quotes::None, "echo \"a\\\"") == Quotes::Double);
        assert!(quotes_after(Quotes::None, "echo 'a\\'") == Quotes::None);
    }
}
