//! Results of runs as columns: who ran, in which block, with what result.

use super::level::Level;
use super::metric::is_known;
use slackline_formats::csv::Csv;
use slackline_formats::{FormatError, Result};
use slackline_model::nearest::did_you_mean;
use std::collections::{BTreeSet, HashMap};

/// Names under which methods are known, the first that is there counts.
const METHOD_COLUMNS: [&str; 6] =
    ["method", "policy", "algorithm", "heuristic", "planner", "scheduler"];

/// Columns that describe a run and do not identify blocks.
const BOOKKEEPING: [&str; 9] = [
    "status",
    "why",
    "run_key",
    "campaign",
    "version",
    "machine",
    "started",
    "wall_seconds",
    "parameters",
];

/// Roles of the columns of a table.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// Measures to read.
    pub metrics: Vec<String>,
    /// The column that names methods, if not one of the usual names.
    pub method: Option<String>,
    /// Columns that are left out.
    pub ignore: Vec<String>,
    /// The methods in the order in which they are shown; those not named follow by their bytes.
    pub order: Vec<String>,
}

/// A key column: its distinct levels in rising order, and the level of each row.
#[derive(Clone, Debug)]
pub struct Key {
    /// Name of the column.
    pub name: String,
    /// Distinct levels in rising order.
    pub levels: Vec<Level>,
    cells: Vec<u32>,
}

impl Key {
    /// Whether the key numbers draws rather than describing what was drawn.
    pub fn is_draw(&self) -> bool {
        self.name == "repetition" || self.name == "seed"
    }
}

/// Results of runs from one table or several.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The column that names the methods.
    pub method_column: String,
    /// Names of the methods, in the order in which they are shown.
    pub methods: Vec<String>,
    /// The columns whose combinations are blocks.
    pub keys: Vec<Key>,
    /// The values of each metric, row by row; none for a run that failed.
    pub values: Vec<Vec<Option<f64>>>,
    /// Whether each run was done.
    pub done: Vec<bool>,
    method: Vec<u32>,
    /// The table and line of each row.
    places: Vec<(u32, usize)>,
    /// The block of each row, and the key levels of each block in rising order.
    block: Vec<u32>,
    /// Codes of the levels, block after block.
    blocks: Vec<Box<[u32]>>,
}

impl Runs {
    /// Reads the results of one table.
    pub fn read(csv: &Csv, roles: &Roles) -> Result<Runs> {
        Runs::read_all(&[csv], roles)
    }

    /// Reads the results of several tables, whose blocks and methods have the same names.
    pub fn read_all(tables: &[&Csv], roles: &Roles) -> Result<Runs> {
        let first = tables[0];
        let names = || first.head.iter().map(String::as_str);
        let method_column = method_column(first, roles)?;
        for metric in &roles.metrics {
            if tables.iter().any(|t| t.column(metric).is_none()) {
                let near = did_you_mean(metric, names());
                return Err(FormatError::new(format!("there is no column {metric}{near}")));
            }
            if *metric == method_column || *metric == "status" {
                return Err(FormatError::new(format!("{metric} is not a metric")));
            }
        }
        for column in &roles.ignore {
            if tables.iter().all(|t| t.column(column).is_none()) {
                let near = did_you_mean(column, names());
                let message = format!("there is no column {column} to ignore{near}");
                return Err(FormatError::new(message));
            }
        }
        if tables.iter().all(|t| t.is_empty()) {
            return Err(FormatError::new("there are no runs, only the head line"));
        }
        let is_key = |table: &Csv, name: &str| {
            name != method_column
                && !roles.metrics.iter().any(|m| m == name)
                && !roles.ignore.iter().any(|i| i == name)
                && !is_known(name)
                && !BOOKKEEPING.contains(&name)
                && (name != "seed" || table.column("repetition").is_none())
        };
        let key_names: Vec<String> =
            first.head.iter().filter(|n| is_key(first, n)).cloned().collect();
        for (i, table) in tables.iter().enumerate().skip(1) {
            let there = |name: &&String| !is_key(table, name) || table.column(name).is_none();
            let missing = key_names.iter().find(there);
            let added = table.head.iter().find(|n| is_key(table, n) && !key_names.contains(n));
            if let Some(name) = missing.or(added) {
                let which = if added == Some(name) { i + 1 } else { 1 };
                let message = format!("column {name} is only in file {which}");
                let help = format!("leave it out with --ignore {name}");
                return Err(FormatError::new(message).with_help(help));
            }
        }
        let rows = tables.iter().map(|t| t.len()).sum();
        let keys: Vec<Key> = key_names.into_iter().map(|name| key(name, tables)).collect();
        let (methods, method) = methods(tables, &method_column, &roles.order)?;
        let mut done = Vec::with_capacity(rows);
        let mut places = Vec::with_capacity(rows);
        let mut values: Vec<Vec<Option<f64>>> = vec![Vec::with_capacity(rows); roles.metrics.len()];
        for (place, table) in tables.iter().enumerate() {
            let status: Option<Vec<bool>> = table.column("status").map(|column| {
                let texts: Vec<bool> = column.texts.iter().map(|t| is_done(t)).collect();
                column.cells.iter().map(|&c| texts[c as usize]).collect()
            });
            let begin = done.len();
            for (metric, values) in roles.metrics.iter().zip(&mut values) {
                let column = table.column(metric).expect("checked above");
                let numbers: Vec<_> = column.texts.iter().map(|text| number(text)).collect();
                for (row, &cell) in column.cells.iter().enumerate() {
                    let failed = status.as_ref().is_some_and(|s| !s[row]);
                    values.push(match &numbers[cell as usize] {
                        Ok(value) => value.filter(|_| !failed),
                        Err(_) if failed => None,
                        Err(why) => {
                            let message = format!("{metric}: {why}");
                            return Err(FormatError::new(message).on_line(table.lines[row]));
                        }
                    });
                }
            }
            match status {
                Some(status) => done.extend(status),
                None => {
                    let has = |row: usize| values.iter().any(|v| v[begin + row].is_some());
                    done.extend((0..table.len()).map(has));
                }
            }
            places.extend(table.lines.iter().map(|&line| (place as u32, line)));
        }
        let (block, blocks) = blocks(&keys, rows);
        let runs =
            Runs { method_column, methods, keys, values, done, method, places, block, blocks };
        runs.check_unique()?;
        Ok(runs)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.done.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Number of blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The level codes of a block, key by key.
    pub fn levels_of(&self, block: usize) -> &[u32] {
        &self.blocks[block]
    }

    /// The rows: table, block, method.
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let rows = self.places.iter().zip(&self.block).zip(&self.method);
        rows.map(|((place, block), method)| (place.0 as usize, *block as usize, *method as usize))
    }

    /// The key of a factor, which is not one that numbers draws.
    pub fn factor(&self, name: &str) -> Result<usize> {
        let factors = || self.keys.iter().filter(|k| !k.is_draw());
        match self.keys.iter().position(|k| k.name == name && !k.is_draw()) {
            Some(at) => Ok(at),
            None => {
                let near = did_you_mean(name, factors().map(|k| k.name.as_str()));
                let known: Vec<&str> = factors().map(|k| k.name.as_str()).collect();
                let help = if known.is_empty() {
                    "the table has no factors".to_string()
                } else {
                    format!("factors: {}", known.join(", "))
                };
                Err(FormatError::new(format!("there is no factor {name}{near}")).with_help(help))
            }
        }
    }

    /// Values of one metric: block after block, method after method.
    pub fn table(&self, metric: usize) -> Vec<Option<f64>> {
        let width = self.methods.len();
        let mut table = vec![None; self.blocks.len() * width];
        for (row, (_, block, method)) in self.rows().enumerate() {
            table[block * width + method] = self.values[metric][row];
        }
        table
    }

    /// Fails where two methods exist and no block has two of them; the error names the columns in which blocks
    /// differ.
    pub fn check_paired(&self) -> Result<()> {
        if self.methods.len() < 2 || self.shares_blocks(&[]) {
            return Ok(());
        }
        let alone = |&&at: &&usize| self.shares_blocks(&[at]);
        let all: Vec<usize> = (0..self.keys.len()).collect();
        let mut apart: Vec<usize> = all.iter().filter(alone).copied().collect();
        if apart.is_empty() {
            // No column alone: leave out one after the other, measures (at the end) first.
            for at in all.into_iter().rev() {
                apart.push(at);
                if self.shares_blocks(&apart) {
                    break;
                }
            }
            apart.reverse();
        }
        let names: Vec<&str> = apart.iter().map(|&at| self.keys[at].name.as_str()).collect();
        let message = format!(
            "no two methods share a block, so there is nothing to compare: their runs differ in {}",
            names.join(", ")
        );
        let (is, them) = if names.len() == 1 { ("is it", "it") } else { ("are these", "them") };
        let help = format!(
            "{is} measured rather than given? leave {them} out with --ignore {}",
            names.join(",")
        );
        Err(FormatError::new(message).with_help(help))
    }

    /// Whether some block has two methods once these keys are left out.
    fn shares_blocks(&self, without: &[usize]) -> bool {
        let mut first: HashMap<Vec<u32>, usize> = HashMap::new();
        self.rows().any(|(_, block, method)| {
            let codes = self.blocks[block].iter().enumerate();
            let rest = codes.filter(|(at, _)| !without.contains(at)).map(|(_, &c)| c).collect();
            *first.entry(rest).or_insert(method) != method
        })
    }

    fn check_unique(&self) -> Result<()> {
        // One place for each method of each block of each table, as the values have (`table`).
        let (blocks, methods) = (self.blocks.len(), self.methods.len());
        let tables = self.places.last().map_or(0, |place| place.0 as usize + 1);
        let mut seen = vec![u32::MAX; tables * blocks * methods];
        for (row, (&(_, line), (table, block, method))) in
            self.places.iter().zip(self.rows()).enumerate()
        {
            let earlier = &mut seen[(table * blocks + block) * methods + method];
            if *earlier != u32::MAX {
                let before = self.places[*earlier as usize].1;
                let method = &self.methods[method];
                let message =
                    format!("lines {before} and {line} are the same run of method {method}");
                let help = "runs that were drawn several times need a column repetition or seed";
                return Err(FormatError::new(message).on_line(line).with_help(help));
            }
            *earlier = row as u32;
        }
        Ok(())
    }
}

fn method_column(table: &Csv, roles: &Roles) -> Result<String> {
    let names = || table.head.iter().map(String::as_str);
    match &roles.method {
        Some(name) if table.column(name).is_some() => Ok(name.clone()),
        Some(name) => {
            let near = did_you_mean(name, names());
            Err(FormatError::new(format!("there is no column {name}{near}")))
        }
        None => {
            let usual = METHOD_COLUMNS.iter().find(|name| table.column(name).is_some());
            usual.map(|name| name.to_string()).ok_or_else(|| {
                FormatError::new("no column names the methods")
                    .with_help("say which one does with --method COLUMN")
            })
        }
    }
}

/// Methods in their order, and the one of each row.
fn methods(tables: &[&Csv], column: &str, order: &[String]) -> Result<(Vec<String>, Vec<u32>)> {
    let mut names = BTreeSet::new();
    for table in tables {
        let Some(cells) = table.column(column) else {
            return Err(FormatError::new(format!("there is no column {column} in every file")));
        };
        if let Some(row) = (0..table.len()).find(|&row| cells.text(row).trim().is_empty()) {
            let message = format!("{column} is empty: whose run is this?");
            return Err(FormatError::new(message).on_line(table.lines[row]));
        }
        names.extend(cells.texts.iter().cloned());
    }
    let mut methods: Vec<String> = order.iter().filter(|n| names.contains(*n)).cloned().collect();
    let rest: Vec<String> = names.into_iter().filter(|n| !methods.contains(n)).collect();
    methods.extend(rest);
    let place: HashMap<&str, u32> =
        methods.iter().enumerate().map(|(i, name)| (name.as_str(), i as u32)).collect();
    let mut rows = Vec::new();
    for table in tables {
        let cells = table.column(column).expect("checked above");
        let codes: Vec<u32> = cells.texts.iter().map(|text| place[text.as_str()]).collect();
        rows.extend(cells.cells.iter().map(|&cell| codes[cell as usize]));
    }
    Ok((methods, rows))
}

fn key(name: String, tables: &[&Csv]) -> Key {
    let columns: Vec<_> = tables.iter().filter_map(|t| t.column(&name)).collect();
    let texts = columns.iter().flat_map(|c| c.texts.iter().map(String::as_str));
    let read = Level::of_texts(texts);
    let mut levels = read.clone();
    levels.sort();
    levels.dedup();
    let places: HashMap<&Level, u32> = levels.iter().zip(0..).collect();
    let mut codes = read.iter().map(|level| places[level]);
    let mut cells = Vec::new();
    for column in &columns {
        let codes: Vec<u32> = codes.by_ref().take(column.texts.len()).collect();
        cells.extend(column.cells.iter().map(|&cell| codes[cell as usize]));
    }
    drop(places);
    Key { name, levels, cells }
}

/// The block of each row, and the distinct blocks in rising order of their levels.
fn blocks(keys: &[Key], rows: usize) -> (Vec<u32>, Vec<Box<[u32]>>) {
    let mut known: HashMap<Box<[u32]>, u32> = HashMap::new();
    let mut of_row: Vec<u32> = Vec::with_capacity(rows);
    let mut codes: Vec<u32> = Vec::with_capacity(keys.len());
    let mut last = 0;
    for row in 0..rows {
        // The methods of a block mostly follow each other.
        if row > 0 && keys.iter().zip(&codes).all(|(k, &code)| k.cells[row] == code) {
            of_row.push(last);
            continue;
        }
        codes.clear();
        codes.extend(keys.iter().map(|k| k.cells[row]));
        last = match known.get(codes.as_slice()) {
            Some(&block) => block,
            None => {
                let next = known.len() as u32;
                known.insert(codes.as_slice().into(), next);
                next
            }
        };
        of_row.push(last);
    }
    let mut blocks: Vec<(Box<[u32]>, u32)> = known.into_iter().collect();
    blocks.sort();
    let mut place = vec![0; blocks.len()];
    for (now, (_, before)) in blocks.iter().enumerate() {
        place[*before as usize] = now as u32;
    }
    of_row.iter_mut().for_each(|block| *block = place[*block as usize]);
    (of_row, blocks.into_iter().map(|(codes, _)| codes).collect())
}

/// Whether a status means that a run was finished.
pub fn is_done(status: &str) -> bool {
    const DONE: [&str; 7] = ["done", "ok", "finished", "success", "completed", "true", "1"];
    DONE.contains(&status.trim().to_lowercase().as_str())
}

/// The value of a cell; none where there is no value.
fn number(text: &str) -> std::result::Result<Option<f64>, String> {
    const NONE: [&str; 11] =
        ["", "na", "n/a", "nan", "null", "none", "-", "inf", "+inf", "-inf", "infinity"];
    let trimmed = text.trim();
    if NONE.contains(&trimmed.to_lowercase().as_str()) {
        return Ok(None);
    }
    match trimmed.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Some(value)),
        Ok(_) => Err(format!("{text:?} is too large a number")),
        Err(_) => Err(format!("{text:?} is not a number")),
    }
}
