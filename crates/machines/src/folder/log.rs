//! The log of a run: one record a line, each with its number, its date and, at its end, a CRC-32 of
//! everything before it. It is written at once and made durable in groups by a thread of its own:
//! what has to rely on a record waits for it. What was torn by a crash is cut off and said; a damaged
//! record that others follow is no such thing, and cut off only if the user wants it.

use super::{NO_RUN, log_of};
use crate::attempt::Stamp;
use crate::up_to_date::{History, Redo, SavedHistory};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slackline_engine::Note;
use slackline_engine::{Record, RecordError};
use slackline_model::TaskId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;

const SCHEMA: &str = "slackline/run/1";

/// Settings a run was started with: the first line of its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The form of the log.
    pub schema: String,
    /// The version that began the run.
    pub version: String,
    /// Names this run among all others.
    pub id: String,
    /// When it began, seconds since 1970.
    pub began: f64,
    /// The copy of the workflow, beside the log.
    pub workflow: String,
    /// The copy of the platform.
    pub platform: String,
    /// Policy of the run.
    pub policy: String,
    /// Everything else that decisions depend on.
    pub settings: Map<String, Value>,
    /// Seed of planners and policies.
    pub seed: u64,
    /// Checksums of the copies.
    pub digests: BTreeMap<String, String>,
    /// The folder from which inputs are taken.
    pub inputs: PathBuf,
    /// Checksums of the inputs that lie there.
    #[serde(default)]
    pub input_digests: BTreeMap<String, String>,
    /// State of those inputs when their checksums were computed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_stamps: BTreeMap<String, Stamp>,
    /// The file that the copy of the workflow was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// The part of the workflow that is run; all of it where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Definition>,
    /// Figures of earlier runs that take the place of estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimates: Option<Estimates>,
}

/// Figures of earlier runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// Seconds of tasks at the reference speed, by name.
    pub tasks: BTreeMap<String, f64>,
    /// Medians by kind, for tasks that were not run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, f64>,
    /// Sizes of files in bytes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, f64>,
    /// Most memory of tasks in bytes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub peaks: BTreeMap<String, u64>,
    /// The largest by kind, for tasks that were not run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kind_peaks: BTreeMap<String, u64>,
}

/// The part of a workflow that is run in a folder that was used before. All other tasks are up to date, or
/// were not requested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Tasks that are done again, and why.
    pub redo: Vec<Redo>,
    /// Tasks that are done again if their inputs come out otherwise than they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub perhaps: Vec<String>,
    /// Number of tasks that are up to date.
    pub up_to_date: usize,
    /// Tasks that are not up to date, and were not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Changes of the definition since the one before, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// Of a workflow with choices and loops: outcomes of decisions that what was done tells, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, String>,
    /// Whether decisions are to come, so that more tasks may have to be done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
}

impl Header {
    /// Of this form.
    pub fn schema() -> String {
        SCHEMA.to_string()
    }
}

/// Reason why a log cannot be read.
#[derive(Debug, Error)]
#[error("{}: {why}", path.display())]
pub struct LogError {
    path: PathBuf,
    why: String,
}

impl LogError {
    fn of(path: &Path, error: &std::io::Error) -> LogError {
        LogError { path: path.into(), why: error.to_string() }
    }
}

/// The records of a run under one definition.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The definition.
    pub header: Header,
    /// Records with their dates, in order.
    pub records: Vec<(f64, Record)>,
}

/// A log as far as it is whole. Of a folder that was run in again and again it is the last run.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// Settings of the run.
    pub header: Header,
    /// Its records with their dates, in order.
    pub records: Vec<(f64, Record)>,
    /// Runs in the folder before, in order.
    pub earlier: Vec<Segment>,
    /// Number of runs before those, which were not read.
    pub skipped: usize,
    /// Number of the last record.
    pub lines: u64,
    /// Bytes up to the end of the last whole line.
    pub whole: u64,
    /// Defect of the rest, where there is one.
    pub torn: Option<String>,
    /// Records in the rest whose checksums are right: what comes before them is not just torn.
    pub follow: usize,
}

/// Tasks of a run that were not done again.
pub fn reused(records: &[(f64, Record)]) -> BTreeSet<TaskId> {
    let reused = |(_, record): &(f64, Record)| match record {
        Record::Note(Note::Reused { task, .. }) => Some(*task),
        _ => None,
    };
    records.iter().filter_map(reused).collect()
}

impl Recovered {
    /// A run without records, whose definition ends after so many lines and bytes.
    fn beginning(header: Header, lines: u64, whole: u64, skipped: usize) -> Recovered {
        let (records, earlier) = (Vec::new(), Vec::new());
        Recovered { header, records, earlier, skipped, lines, whole, torn: None, follow: 0 }
    }

    /// All runs in the folder, in order, each as if it were the only one.
    pub fn runs(mut self) -> Vec<Recovered> {
        let earlier = std::mem::take(&mut self.earlier);
        let alone = |Segment { header, records }| {
            let lines = records.len() as u64;
            Recovered { records, ..Recovered::beginning(header, lines, 0, 0) }
        };
        let mut runs: Vec<Recovered> = earlier.into_iter().map(alone).collect();
        runs.push(self);
        runs
    }

    /// Ending of the file that the rest is kept in.
    fn side(&self) -> &'static str {
        if self.follow > 0 { "damaged" } else { "torn" }
    }

    /// The file that keeps the rest of a log: one that is not there yet.
    pub fn side_file(&self, log: &Path) -> PathBuf {
        let named = |n: u32| match n {
            1 => log.with_extension(self.side()),
            n => log.with_extension(format!("{}-{n}", self.side())),
        };
        let mut free = (1..).map(named).filter(|path| path.symlink_metadata().is_err());
        free.next().unwrap_or_else(|| named(1))
    }
}

/// Adds the CRC to an object that lacks its closing brace.
fn seal(mut line: String) -> String {
    let crc = crc32fast::hash(line.as_bytes());
    line.push_str(&format!(",\"crc\":\"{crc:08x}\"}}\n"));
    line
}

/// The object of a line, without its CRC and its closing brace, if that is right.
fn open(line: &str) -> Option<&str> {
    let (body, crc) = line.rsplit_once(",\"crc\":\"")?;
    let crc = crc.strip_suffix("\"}")?;
    (u32::from_str_radix(crc, 16).ok()? == crc32fast::hash(body.as_bytes())).then_some(body)
}

/// The inside of a JSON object; a word stands for an object of that name.
fn members(record: &Record) -> Result<String, String> {
    let text = serde_json::to_string(record).map_err(|e| e.to_string())?;
    match text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
        Some(inside) => Ok(inside.to_string()),
        None => Ok(format!("{text}:null")),
    }
}

/// A line of a log after the first.
enum Line {
    Record(Record),
    /// Another run begins.
    Definition(Box<Header>),
}

/// Begin of a line that defines another run.
const DEFINITION: &str = "\"definition\":";

/// Reads number, date and record of a line.
fn parse(line: &str) -> Option<(u64, f64, Line)> {
    let body = open(line)?;
    let (number, rest) = body.strip_prefix("{\"n\":")?.split_once(",\"at\":")?;
    let (date, inside) = rest.split_once(',')?;
    let record = match inside.strip_prefix(DEFINITION) {
        Some(header) => Line::Definition(serde_json::from_str(header).ok()?),
        None => Line::Record(serde_json::from_str(&format!("{{{inside}}}")).ok()?),
    };
    Some((number.parse().ok()?, date.parse().ok()?, record))
}

/// Whether the clock of the run continues with a record.
fn goes_on(record: &Line, clock: &mut f64) -> bool {
    let record = match record {
        Line::Record(record) => record,
        // Dates are those of a run.
        Line::Definition(header) => {
            *clock = 0.0;
            return header.schema == SCHEMA;
        }
    };
    match record {
        Record::Next { now, .. } if *now >= *clock && now.is_finite() => {
            *clock = *now;
            true
        }
        Record::Next { .. } => false,
        _ => true,
    }
}

fn read_line(file: &mut impl BufRead, line: &mut Vec<u8>, path: &Path) -> Result<u64, LogError> {
    line.clear();
    let length = file.read_until(b'\n', line);
    length.map(|bytes| bytes as u64).map_err(|e| LogError::of(path, &e))
}

/// A line without its end, if that has come.
fn whole_text(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(line).ok().and_then(|line| line.strip_suffix('\n'))
}

/// Reads the log of the run in a folder up to its last whole record.
pub fn read(root: &Path) -> Result<Recovered, LogError> {
    let path = &log_of(root);
    if !path.is_file() {
        let why = if root.is_dir() {
            NO_RUN
        } else if root.exists() {
            "this is a file; name the folder of a run"
        } else {
            "no such folder"
        };
        return Err(LogError { path: root.into(), why: why.to_string() });
    }
    let fail = |why: String| LogError { path: path.into(), why };
    let mut file = BufReader::new(File::open(path).map_err(|e| fail(e.to_string()))?);
    let mut line = Vec::new();
    let whole = read_line(&mut file, &mut line, path)?;
    let header = whole_text(&line).and_then(open).map(|body| format!("{body}}}"));
    let header = header.ok_or_else(|| fail("line 1: this is no log of a run".to_string()))?;
    let header: Header = serde_json::from_str(&header).map_err(|e| fail(format!("line 1: {e}")))?;
    if header.schema != SCHEMA {
        return Err(fail(format!("line 1: schema '{}', not '{SCHEMA}'", header.schema)));
    }
    read_records(file, path, Recovered::beginning(header, 0, whole, 0))
}

/// The same without the runs before the last one, where a snapshot stands for them.
pub fn read_last(root: &Path) -> Result<Recovered, LogError> {
    let path = &log_of(root);
    match Snapshot::of(path) {
        Some((snapshot, header, file, length)) => {
            let whole = snapshot.bytes + length;
            let last = Recovered::beginning(header, snapshot.lines + 1, whole, snapshot.runs);
            read_records(file, path, last)
        }
        None => read(root),
    }
}

/// Reads the records that follow.
fn read_records(
    mut file: BufReader<File>,
    path: &Path,
    mut found: Recovered,
) -> Result<Recovered, LogError> {
    let mut line = Vec::new();
    let mut clock = 0.0;
    loop {
        let length = read_line(&mut file, &mut line, path)?;
        if length == 0 {
            return Ok(found);
        }
        let text = whole_text(&line);
        match text.and_then(parse) {
            Some((number, at, record))
                if number == found.lines + 1 && goes_on(&record, &mut clock) =>
            {
                found.lines = number;
                match record {
                    Line::Record(record) => found.records.push((at, record)),
                    Line::Definition(next) => {
                        let header = std::mem::replace(&mut found.header, *next);
                        let records = std::mem::take(&mut found.records);
                        found.earlier.push(Segment { header, records });
                    }
                }
                found.whole += length;
            }
            _ => {
                let what = match text.and_then(open) {
                    None => "is not whole",
                    Some(_) if text.and_then(parse).is_some() => "does not follow the one before",
                    Some(_) => "has a record that this version does not know",
                };
                found.torn = Some(format!("line {} {what}", found.lines + 2));
                loop {
                    found.follow += usize::from(whole_text(&line).and_then(open).is_some());
                    if read_line(&mut file, &mut line, path)? == 0 {
                        break;
                    }
                }
                return Ok(found);
            }
        }
    }
}

/// What the runs before the last one of a log come to: who continues with the last one reads this in their place. It is
/// a file beside the log, which has all of it, and counts only where the last run begins where it says.
#[derive(Serialize, Deserialize)]
struct Snapshot {
    /// Identifier of the runs.
    id: String,
    /// Records before the definition of the last run, the first line not among them.
    lines: u64,
    /// Bytes before it.
    bytes: u64,
    /// Number of runs before it.
    runs: usize,
    /// What was done in them.
    history: SavedHistory,
}

/// Shortest log, in records, that a snapshot is made of.
const WORTH_A_SNAPSHOT: u64 = 1000;

fn snapshot_beside(log: &Path) -> PathBuf {
    log.with_file_name("snapshot")
}

impl Snapshot {
    /// The snapshot beside a log, the definition of the last run, the log behind that, and the length of its line.
    fn of(log: &Path) -> Option<(Snapshot, Header, BufReader<File>, u64)> {
        let text = std::fs::read_to_string(snapshot_beside(log)).ok()?;
        let body = open(text.strip_suffix('\n')?)?;
        let snapshot: Snapshot = serde_json::from_str(&format!("{body}}}")).ok()?;
        let mut file = BufReader::new(File::open(log).ok()?);
        file.seek(SeekFrom::Start(snapshot.bytes)).ok()?;
        let mut line = Vec::new();
        let length = read_line(&mut file, &mut line, log).ok()?;
        match parse(whole_text(&line)?)? {
            (number, _, Line::Definition(header))
                if number == snapshot.lines + 1
                    && header.id == snapshot.id
                    && header.schema == SCHEMA =>
            {
                Some((snapshot, *header, file, length))
            }
            _ => None,
        }
    }
}

/// Makes a snapshot of a log as it was before its last run was defined, and of what was done until then. Small logs
/// need none.
pub fn keep_snapshot(
    log: &Path,
    recovered: &Recovered,
    history: &History,
) -> Result<(), std::io::Error> {
    if recovered.lines < WORTH_A_SNAPSHOT {
        return Ok(());
    }
    let snapshot = Snapshot {
        id: recovered.header.id.clone(),
        lines: recovered.lines,
        bytes: recovered.whole,
        runs: recovered.skipped + recovered.earlier.len() + 1,
        history: history.into(),
    };
    let text = serde_json::to_string(&snapshot)?;
    let line = seal(text.strip_suffix('}').unwrap_or(&text).to_string());
    let (path, new) = (snapshot_beside(log), log.with_file_name("snapshot.new"));
    std::fs::write(&new, line)?;
    std::fs::rename(&new, &path)
}

/// Goes through the notes of a log as far as it is whole; nothing of it is kept. Where another run begins there
/// is none.
fn each_note(
    path: &Path,
    mut file: BufReader<File>,
    mut see: impl FnMut(Option<Note>),
) -> Result<(), LogError> {
    let mut line = Vec::new();
    while read_line(&mut file, &mut line, path)? > 0 {
        let Some(text) = whole_text(&line) else { break };
        let beginning = text.get(..text.len().min(64)).unwrap_or(text);
        if beginning.contains(DEFINITION) {
            see(None);
        } else if beginning.contains(",\"note\":")
            && let Some((_, _, Line::Record(Record::Note(note)))) = parse(text)
        {
            see(Some(note));
        }
    }
    Ok(())
}

fn opened(path: &Path) -> Result<BufReader<File>, LogError> {
    Ok(BufReader::new(File::open(path).map_err(|e| LogError::of(path, &e))?))
}

/// Goes through the notes of the last run of a log.
pub fn notes(path: &Path, mut see: impl FnMut(Note)) -> Result<(), LogError> {
    let mut all = Vec::new();
    let file = match Snapshot::of(path) {
        Some((_, _, file, _)) => file,
        None => opened(path)?,
    };
    each_note(path, file, |note| match note {
        Some(note) => all.push(note),
        None => all.clear(),
    })?;
    all.into_iter().for_each(&mut see);
    Ok(())
}

/// All that was done in a folder, by the log as far as it is whole.
pub fn history(path: &Path) -> Result<History, LogError> {
    let (mut history, file) = match Snapshot::of(path) {
        Some((snapshot, _, file, _)) => (snapshot.history.into(), file),
        None => (History::default(), opened(path)?),
    };
    each_note(path, file, |note| {
        if let Some(note) = note {
            history.hear(&note);
        }
    })?;
    Ok(history)
}

/// Shortest time between two calls that make records durable, if none is urgent.
const PACE: Duration = Duration::from_millis(20);

struct State {
    records: u64,
    /// Bytes written, and those of them that are durable.
    written: u64,
    durable: u64,
    /// A caller waits until all records are durable.
    urgent: bool,
    /// Whether the keeper has nothing to do.
    idle: bool,
    closing: bool,
    broken: Option<RecordError>,
}

struct Shared {
    file: File,
    state: Mutex<State>,
    /// Signalled when a record was written, when all are durable, and at the end.
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes durable what was written, again and again: one call for all that came meanwhile.
    fn keep(&self) {
        let mut state = self.state();
        loop {
            while state.durable == state.written && !state.closing {
                state.idle = true;
                state = self.wait(state);
            }
            state.idle = false;
            if state.durable == state.written || state.broken.is_some() {
                return;
            }
            if !state.urgent && !state.closing {
                // What comes in the next moment goes along.
                let soon = |state: &mut State| !state.urgent && !state.closing;
                let waited = self.changed.wait_timeout_while(state, PACE, soon);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            state.urgent = false;
            let written = state.written;
            drop(state);
            let done = self.file.sync_data();
            state = self.state();
            match done {
                Ok(()) => state.durable = written,
                Err(error) => state.broken = Some(RecordError(error.to_string())),
            }
            self.changed.notify_all();
        }
    }
}

/// A log that is being written; any thread may.
pub struct RunLog {
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
}

impl RunLog {
    /// Begins a log; it is durable when this returns.
    pub fn create(path: &Path, header: &Header) -> Result<RunLog, RecordError> {
        let text = serde_json::to_string(header).map_err(|e| e.to_string())?;
        let line = seal(text.strip_suffix('}').unwrap_or(&text).to_string());
        let write = || -> std::io::Result<File> {
            let mut file = File::options().append(true).create_new(true).open(path)?;
            file.write_all(line.as_bytes())?;
            file.sync_all()?;
            // The name as well.
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
            Ok(file)
        };
        let file = write().map_err(|e| format!("{}: {e}", path.display()))?;
        RunLog::started(file, 0, line.len() as u64)
    }

    /// Continues with a log; what was torn is put aside.
    pub fn resume(path: &Path, recovered: &Recovered) -> Result<RunLog, RecordError> {
        let cut = || -> std::io::Result<File> {
            let file = File::options().append(true).open(path)?;
            if recovered.torn.is_some() {
                let bytes = std::fs::read(path)?;
                let rest = bytes.get(recovered.whole as usize..).unwrap_or_default();
                let side = recovered.side_file(path);
                let mut kept = File::options().write(true).create_new(true).open(side)?;
                kept.write_all(rest)?;
                kept.sync_all()?;
                file.set_len(recovered.whole)?;
                file.sync_all()?;
            }
            Ok(file)
        };
        let file = cut().map_err(|e| format!("{}: {e}", path.display()))?;
        RunLog::started(file, recovered.lines, recovered.whole)
    }

    fn started(file: File, records: u64, bytes: u64) -> Result<RunLog, RecordError> {
        let state = State {
            records,
            written: bytes,
            durable: bytes,
            urgent: false,
            idle: false,
            closing: false,
            broken: None,
        };
        let shared = Shared { file, state: Mutex::new(state), changed: Condvar::new() };
        let shared = Arc::new(shared);
        let keeper = Arc::clone(&shared);
        let keeper = std::thread::Builder::new().spawn(move || keeper.keep());
        let keeper = keeper.map_err(|e| format!("no thread can be started: {e}"))?;
        Ok(RunLog { shared, keeper: Some(keeper) })
    }

    /// Begins another run in the same folder; it is durable when this returns.
    pub fn define(&self, header: &Header) -> Result<(), RecordError> {
        let header = serde_json::to_string(header).map_err(|e| e.to_string())?;
        self.write(0.0, &format!("{DEFINITION}{header}"))?;
        self.settle()
    }

    /// Writes a record. It outlives this process from now on, and the machine a little later.
    pub fn append(&self, at: f64, record: &Record) -> Result<(), RecordError> {
        self.write(at, &members(record)?)
    }

    fn write(&self, at: f64, inside: &str) -> Result<(), RecordError> {
        let mut state = self.shared.state();
        if let Some(why) = &state.broken {
            return Err(why.clone());
        }
        let line = seal(format!("{{\"n\":{},\"at\":{at},{inside}", state.records + 1));
        if let Err(error) = (&self.shared.file).write_all(line.as_bytes()) {
            let error = RecordError(error.to_string());
            state.broken = Some(error.clone());
            return Err(error);
        }
        state.records += 1;
        state.written += line.len() as u64;
        let wake = std::mem::take(&mut state.idle);
        drop(state);
        if wake {
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    /// Waits until everything that was written is durable.
    pub fn settle(&self) -> Result<(), RecordError> {
        let mut state = self.shared.state();
        let written = state.written;
        while state.durable < written && state.broken.is_none() {
            state.urgent = true;
            self.shared.changed.notify_all();
            state = self.shared.wait(state);
        }
        state.broken.as_ref().map_or(Ok(()), |why| Err(why.clone()))
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        self.shared.state().closing = true;
        self.shared.changed.notify_all();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}
