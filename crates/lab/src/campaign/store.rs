//! The results of a campaign as one SQLite file: a row per run, whole or not at all.

use super::case::{METRICS, Row};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params_from_iter};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Number of the tables' form.
const SCHEMA: &str = "slackline/results/1";

/// Error of reading or writing results.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum StoreError {
    #[error("{}: {message}", file.display())]
    Input { file: PathBuf, message: String, help: Option<String> },
    #[error("{}: {message}", file.display())]
    Machine { file: PathBuf, message: String },
}

impl From<StoreError> for slackline_core::Failure {
    fn from(error: StoreError) -> slackline_core::Failure {
        let message = error.to_string();
        match error {
            StoreError::Input { help, .. } => slackline_core::Failure::Input { message, help },
            StoreError::Machine { .. } => slackline_core::Failure::work(message),
        }
    }
}

type Result<T> = std::result::Result<T, StoreError>;

/// A file of results, held alone while it is open for writing.
pub struct Store {
    connection: Connection,
    file: PathBuf,
    /// The version of the program whose rows the view shows.
    version: String,
    columns: Vec<String>,
    /// Rows are being written that are not safe yet.
    open: bool,
}

/// Campaign and seed of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the campaign.
    pub name: String,
    /// Its seed.
    pub seed: u64,
}

/// Counts of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Rows in the result.
    pub rows: u64,
    /// Rows that more than one file had.
    pub common: u64,
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Store {
    fn fault(file: &Path) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        move |error| {
            let file = file.to_path_buf();
            let input = |message: &str, help: &str| StoreError::Input {
                file: file.clone(),
                message: message.to_string(),
                help: Some(help.to_string()),
            };
            match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => input(
                    "another process writes these results",
                    "wait for it, or write to another file",
                ),
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => input(
                    "is no file of results",
                    "results are a SQLite file written by compare -o",
                ),
                Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) => input(
                    &format!("cannot be opened for this: {error}"),
                    "is it there, and yours to write?",
                ),
                Some(ErrorCode::DiskFull) => {
                    StoreError::Machine { file, message: "no space is left on the device".into() }
                }
                _ => StoreError::Machine { file, message: error.to_string() },
            }
        }
    }

    /// Opens or creates the results of a campaign for writing. Those of another campaign are refused.
    pub fn create(
        file: &Path,
        identity: &Identity,
        text: &str,
        columns: &[String],
        version: &str,
    ) -> Result<Store> {
        let fault = Store::fault(file);
        if file.is_dir() {
            let message = "is a folder, not a file".to_string();
            return Err(StoreError::Input { file: file.to_path_buf(), message, help: None });
        }
        let connection = Connection::open(file).map_err(&fault)?;
        connection
            .execute_batch(
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL;
                 PRAGMA busy_timeout = 200; BEGIN EXCLUSIVE; COMMIT;",
            )
            .map_err(&fault)?;
        let mut store = Store {
            connection,
            file: file.to_path_buf(),
            version: version.to_string(),
            columns: columns.to_vec(),
            open: false,
        };
        let empty = store.number("SELECT count(*) FROM sqlite_master")? == 0;
        if empty {
            store.set_up(identity)?;
        } else {
            store.check(Some(identity))?;
        }
        store.begin()?;
        store.put("file", text)?;
        store.put("version", version)?;
        store.add_columns()?;
        store.commit()?;
        Ok(store)
    }

    /// Opens results for reading. What a killed process left half written is taken back first.
    pub fn open(file: &Path) -> Result<Store> {
        let fault = Store::fault(file);
        // A connection belongs to one thread at a time: locks of SQLite around every cell cost and add nothing.
        let opened = |flags: OpenFlags| -> rusqlite::Result<Connection> {
            let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(file, flags)?;
            connection.execute_batch("PRAGMA busy_timeout = 200;")?;
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
            Ok(connection)
        };
        let connection = match opened(OpenFlags::SQLITE_OPEN_READ_ONLY) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
                opened(OpenFlags::SQLITE_OPEN_READ_WRITE)
            }
            result => result,
        };
        let connection = connection.map_err(&fault)?;
        let mut store = Store {
            connection,
            file: file.to_path_buf(),
            version: String::new(),
            columns: Vec::new(),
            open: false,
        };
        store.check(None)?;
        store.version = store.get("version")?.unwrap_or_default();
        store.columns = store.factor_columns()?;
        Ok(store)
    }

    fn set_up(&mut self, identity: &Identity) -> Result<()> {
        let metrics: Vec<String> = METRICS.iter().map(|m| format!("{m} REAL")).collect();
        let batch = format!(
            "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
             CREATE TABLE runs (id INTEGER PRIMARY KEY, run_key TEXT UNIQUE NOT NULL, version TEXT NOT NULL,
               kind TEXT NOT NULL, repetition INTEGER NOT NULL, method TEXT NOT NULL, status TEXT NOT NULL,
               why TEXT NOT NULL, request TEXT NOT NULL);
             CREATE TABLE metrics (id INTEGER PRIMARY KEY REFERENCES runs(id), {});
             CREATE TABLE timing (id INTEGER PRIMARY KEY REFERENCES runs(id), wall_seconds REAL);",
            metrics.join(", ")
        );
        // Whole or not at all: a file that is half set up would be refused ever after.
        self.begin()?;
        self.connection.execute_batch(&batch).map_err(Store::fault(&self.file))?;
        self.put("schema", SCHEMA)?;
        self.put("campaign", &identity.name)?;
        self.put("seed", &identity.seed.to_string())?;
        self.commit()
    }

    /// Fails unless this is a file of results, and of that campaign.
    fn check(&self, identity: Option<&Identity>) -> Result<()> {
        let input = |message: String, help: &str| {
            let help = Some(help.to_string());
            Err(StoreError::Input { file: self.file.clone(), message, help })
        };
        let known = "SELECT count(*) FROM sqlite_master WHERE name IN ('about', 'runs', 'metrics', 'timing')";
        if self.number(known)? != 4 {
            let help = "results are a SQLite file written by compare -o";
            return input("is no file of results".to_string(), help);
        }
        let schema = self.get("schema")?.unwrap_or_default();
        if schema != SCHEMA {
            let help = "write to another file, or use the program that wrote it";
            return input(format!("holds {schema:?}, not {SCHEMA}"), help);
        }
        let found = self.identity()?;
        match identity {
            Some(wanted) if *wanted != found => input(
                format!(
                    "holds the campaign {} with seed {}, not {} with seed {}",
                    found.name, found.seed, wanted.name, wanted.seed
                ),
                "name another file with -o",
            ),
            _ => Ok(()),
        }
    }

    /// Returns the campaign and seed of the results.
    pub fn identity(&self) -> Result<Identity> {
        let name = self.get("campaign")?.unwrap_or_default();
        let seed = self.get("seed")?.and_then(|text| text.parse().ok()).unwrap_or_default();
        Ok(Identity { name, seed })
    }

    /// The campaign file that was run last, and the version that ran it.
    pub fn campaign_text(&self) -> Result<(String, String)> {
        Ok((self.get("file")?.unwrap_or_default(), self.version.clone()))
    }

    fn number(&self, query: &str) -> Result<i64> {
        let row = self.connection.query_row(query, [], |row| row.get(0));
        row.map_err(Store::fault(&self.file))
    }

    fn get(&self, name: &str) -> Result<Option<String>> {
        let query = "SELECT value FROM about WHERE name = ?1";
        let value = self.connection.query_row(query, [name], |row| row.get(0)).optional();
        value.map_err(Store::fault(&self.file))
    }

    fn put(&self, name: &str, value: &str) -> Result<()> {
        let query = "INSERT INTO about VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2";
        self.connection.execute(query, [name, value]).map_err(Store::fault(&self.file))?;
        Ok(())
    }

    /// Columns of factors, which have a prefix in the table so that no name is in the way.
    fn factor_columns(&self) -> Result<Vec<String>> {
        let fault = Store::fault(&self.file);
        let mut query = self
            .connection
            .prepare("SELECT name FROM pragma_table_info('runs')")
            .map_err(&fault)?;
        let names = query.query_map([], |row| row.get::<_, String>(0)).map_err(&fault)?;
        let names: rusqlite::Result<Vec<String>> = names.collect();
        let names = names.map_err(&fault)?;
        Ok(names.iter().filter_map(|n| n.strip_prefix("f_")).map(str::to_string).collect())
    }

    /// Adds the columns that are new, and shows the rows of this version in the view `results`.
    fn add_columns(&self) -> Result<()> {
        let there = self.factor_columns()?;
        let new = self.columns.iter().filter(|column| !there.contains(column));
        let mut batch: String = new
            .map(|c| {
                let name = quoted(&format!("f_{c}"));
                format!("ALTER TABLE runs ADD COLUMN {name} TEXT NOT NULL DEFAULT '';\n")
            })
            .collect();
        let mut all = there;
        all.extend(self.columns.iter().filter(|c| !all.contains(c)).cloned().collect::<Vec<_>>());
        let factors: Vec<String> =
            all.iter().map(|c| format!("{} AS {}", quoted(&format!("f_{c}")), quoted(c))).collect();
        batch += &format!(
            "DROP VIEW IF EXISTS results;
             CREATE VIEW results AS SELECT run_key, {}, kind, repetition, method, status, why, {}
             FROM runs JOIN metrics USING (id)
             WHERE version = (SELECT value FROM about WHERE name = 'version');",
            factors.join(", "),
            METRICS.join(", ")
        );
        self.connection.execute_batch(&batch).map_err(Store::fault(&self.file))
    }

    /// Rows of this version.
    pub fn len(&self) -> Result<u64> {
        let query = "SELECT count(*) FROM runs WHERE version = ?1";
        let count = self.connection.query_row(query, [&self.version], |row| row.get::<_, i64>(0));
        Ok(count.map_err(Store::fault(&self.file))? as u64)
    }

    /// Whether there is no row of this version.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The makespan of a run that is there: none if it is not, none inside if it failed.
    pub fn makespan(&self, key: &str) -> Result<Option<Option<f64>>> {
        let fault = Store::fault(&self.file);
        let query = "SELECT makespan FROM runs JOIN metrics USING (id) WHERE run_key = ?1";
        let mut query = self.connection.prepare_cached(query).map_err(&fault)?;
        query.query_row([key], |row| row.get(0)).optional().map_err(&fault)
    }

    fn begin(&mut self) -> Result<()> {
        if !self.open {
            self.connection.execute_batch("BEGIN").map_err(Store::fault(&self.file))?;
            self.open = true;
        }
        Ok(())
    }

    /// Makes safe what was added.
    pub fn commit(&mut self) -> Result<()> {
        if self.open {
            self.connection.execute_batch("COMMIT").map_err(Store::fault(&self.file))?;
            self.open = false;
        }
        Ok(())
    }

    /// Adds a row; it is safe after [`Store::commit`].
    pub fn add(&mut self, row: &Row) -> Result<()> {
        let version = self.version.clone();
        self.add_of(row, &version)
    }

    /// Adds a row of some version of the program.
    fn add_of(&mut self, row: &Row, version: &str) -> Result<()> {
        self.begin()?;
        let fault = Store::fault(&self.file);
        let names: Vec<String> = self.columns.iter().map(|c| quoted(&format!("f_{c}"))).collect();
        let marks = vec!["?"; 8 + names.len()].join(", ");
        let query = format!(
            "INSERT INTO runs (run_key, version, kind, repetition, method, status, why, request, {}) VALUES ({marks})",
            names.join(", ")
        );
        let repetition = row.repetition.to_string();
        let status = if row.done { "done" } else { "failed" };
        let fixed = [
            row.key.as_str(),
            version,
            row.kind.name(),
            &repetition,
            &row.method,
            status,
            &row.why,
            &row.request,
        ];
        let values = fixed.into_iter().chain(row.factors.iter().map(String::as_str));
        let mut insert = self.connection.prepare_cached(&query).map_err(&fault)?;
        insert.execute(params_from_iter(values)).map_err(&fault)?;
        let id = self.connection.last_insert_rowid();
        let marks = vec!["?"; METRICS.len()].join(", ");
        let query = format!("INSERT INTO metrics VALUES (?, {marks})");
        let mut insert = self.connection.prepare_cached(&query).map_err(&fault)?;
        let id_value = rusqlite::types::Value::Integer(id);
        let metrics = row.metrics.iter().map(|m| match m {
            Some(value) => rusqlite::types::Value::Real(*value),
            None => rusqlite::types::Value::Null,
        });
        insert
            .execute(params_from_iter(std::iter::once(id_value).chain(metrics)))
            .map_err(&fault)?;
        let mut insert =
            self.connection.prepare_cached("INSERT INTO timing VALUES (?1, ?2)").map_err(&fault)?;
        insert.execute((id, row.wall_seconds)).map_err(&fault)?;
        Ok(())
    }

    /// Calls `each` with the cells of every row of the view, as text; metrics in shortest form.
    pub(super) fn each_row(&self, columns: &[&str], mut each: impl FnMut(&[String])) -> Result<()> {
        let fault = Store::fault(&self.file);
        let list: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
        let query = format!("SELECT {} FROM results", list.join(", "));
        let mut query = self.connection.prepare(&query).map_err(&fault)?;
        let mut rows = query.query([]).map_err(&fault)?;
        let mut cells = vec![String::new(); columns.len()];
        while let Some(row) = rows.next().map_err(&fault)? {
            for (at, cell) in cells.iter_mut().enumerate() {
                use std::fmt::Write;
                cell.clear();
                let _ = match row.get_ref(at).map_err(&fault)? {
                    ValueRef::Null => Ok(()),
                    ValueRef::Integer(number) => write!(cell, "{number}"),
                    ValueRef::Real(number) => write!(cell, "{number}"),
                    ValueRef::Text(text) | ValueRef::Blob(text) => {
                        cell.push_str(&String::from_utf8_lossy(text));
                        Ok(())
                    }
                };
            }
            each(&cells);
        }
        Ok(())
    }

    /// Seconds that the runs took, by key.
    pub fn timing(&self) -> Result<BTreeMap<String, f64>> {
        let fault = Store::fault(&self.file);
        let query = "SELECT run_key, wall_seconds FROM runs JOIN timing USING (id)";
        let mut query = self.connection.prepare(query).map_err(&fault)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(&fault)?;
        rows.collect::<rusqlite::Result<_>>().map_err(&fault)
    }

    /// Path of the results.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Columns of factors, in the order in which they came.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }
}

/// Brings the results of one campaign together from several files. Runs that are in more than one
/// have to agree. An output that is there is refused, so that no row is lost.
pub fn merge(inputs: &[PathBuf], output: &Path) -> Result<Merged> {
    if output.exists() {
        return Err(StoreError::Input {
            file: output.to_path_buf(),
            message: "is there already".to_string(),
            help: Some("write to another file".into()),
        });
    }
    merge_over(inputs, output)
}

/// Brings results together likewise; an output that is there is replaced.
pub fn merge_over(inputs: &[PathBuf], output: &Path) -> Result<Merged> {
    let stores = inputs.iter().map(|file| Store::open(file)).collect::<Result<Vec<_>>>()?;
    let first = &stores[0];
    let identity = first.identity()?;
    let mut columns: Vec<String> = Vec::new();
    for store in &stores {
        let other = store.identity()?;
        let problem = if other != identity {
            Some(format!("is of another campaign than {}", inputs[0].display()))
        } else if store.version != first.version {
            Some(format!(
                "is of version {}, {} of version {}",
                store.version,
                inputs[0].display(),
                first.version
            ))
        } else {
            None
        };
        if let Some(message) = problem {
            return Err(StoreError::Input { file: store.file.clone(), message, help: None });
        }
        columns.extend(
            store.columns.iter().filter(|c| !columns.contains(c)).cloned().collect::<Vec<_>>(),
        );
    }
    // Written whole or not at all: into a file beside it, which takes its name in the end.
    let mut beside = output.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let result = merge_into(&stores, &identity, &columns, &beside);
    let fault = |error: std::io::Error| StoreError::Machine {
        file: output.to_path_buf(),
        message: error.to_string(),
    };
    match result {
        Ok(merged) => {
            drop(stores);
            std::fs::rename(&beside, output).map_err(fault)?;
            Ok(merged)
        }
        Err(error) => {
            let _ = std::fs::remove_file(&beside);
            Err(error)
        }
    }
}

fn merge_into(
    stores: &[Store],
    identity: &Identity,
    columns: &[String],
    beside: &Path,
) -> Result<Merged> {
    let (text, version) = stores[0].campaign_text()?;
    let mut all = Store::create(beside, identity, &text, columns, &version)?;
    let mut merged = Merged::default();
    for store in stores {
        let metrics: Vec<String> = METRICS.iter().map(|m| format!("metrics.{m}")).collect();
        let factors: Vec<String> = columns
            .iter()
            .map(|c| {
                if store.columns.contains(c) { quoted(&format!("f_{c}")) } else { "''".to_string() }
            })
            .collect();
        let query = format!(
            "SELECT run_key, kind, repetition, method, status, why, request, wall_seconds, {}, {}, version
             FROM runs JOIN metrics USING (id) JOIN timing USING (id) ORDER BY run_key",
            metrics.join(", "),
            factors.join(", ")
        );
        let fault = Store::fault(&store.file);
        let mut query = store.connection.prepare(&query).map_err(&fault)?;
        let mut rows = query.query([]).map_err(&fault)?;
        while let Some(found) = rows.next().map_err(&fault)? {
            let read = || -> rusqlite::Result<Row> {
                let kind: String = found.get(1)?;
                let status: String = found.get(4)?;
                let mut metrics = [None; METRICS.len()];
                for (at, metric) in metrics.iter_mut().enumerate() {
                    *metric = found.get(8 + at)?;
                }
                let factors = (0..columns.len()).map(|at| found.get(8 + METRICS.len() + at));
                Ok(Row {
                    key: found.get(0)?,
                    factors: factors.collect::<rusqlite::Result<_>>()?,
                    kind: if kind == "plan" {
                        super::MethodKind::Plan
                    } else {
                        super::MethodKind::Simulate
                    },
                    repetition: found.get::<_, i64>(2)? as u64,
                    method: found.get(3)?,
                    done: status == "done",
                    why: found.get(5)?,
                    metrics,
                    request: found.get(6)?,
                    wall_seconds: found.get(7)?,
                })
            };
            let row = read().map_err(&fault)?;
            let of: String = found.get(8 + METRICS.len() + columns.len()).map_err(&fault)?;
            // Runs of other versions are kept, and not counted: they are not shown.
            let counts = u64::from(of == version);
            match all.same(&row)? {
                None => {
                    all.add_of(&row, &of)?;
                    merged.rows += counts;
                }
                Some(true) => merged.common += counts,
                Some(false) => {
                    let message = format!(
                        "does not agree with the others on a run of {} (repetition {}, {})",
                        row.method, row.repetition, row.request
                    );
                    let help = Some(
                        "the same run has two results: one of them is not of this program".into(),
                    );
                    return Err(StoreError::Input { file: store.file.clone(), message, help });
                }
            }
        }
    }
    all.commit()?;
    Ok(merged)
}

impl Store {
    /// Whether a run is there with the same result; none if it is not there.
    fn same(&self, row: &Row) -> Result<Option<bool>> {
        let fault = Store::fault(&self.file);
        let query = format!(
            "SELECT status, why, {} FROM runs JOIN metrics USING (id) WHERE run_key = ?1",
            METRICS.join(", ")
        );
        let mut query = self.connection.prepare_cached(&query).map_err(&fault)?;
        let found = query
            .query_row([&row.key], |found| {
                let status: String = found.get(0)?;
                let why: String = found.get(1)?;
                let mut same = (status == "done") == row.done && why == row.why;
                for (at, metric) in row.metrics.iter().enumerate() {
                    same &= found.get::<_, Option<f64>>(2 + at)? == *metric;
                }
                Ok(same)
            })
            .optional();
        found.map_err(&fault)
    }
}
