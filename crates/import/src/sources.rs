//! Finding the artefacts of a run: every file that an engine may have left under the paths that were
//! given, recognised by content.

use crate::engines::{Engine, mermaid};
use crate::record::{Figure, RecordedRun};
use slackline_io::{FileAccess, FormatError, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folders below a given one that are searched.
const DEPTH: usize = 4;
/// Most files that a search examines.
const MOST_FILES: usize = 200_000;

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Artefact {
    SnakemakeMetadata,
    SnakemakeLog,
    SnakemakeBenchmark,
    SnakemakeD3Dag,
    SnakemakeGraph,
    SnakemakeSummary,
    NextflowTrace,
    NextflowReport,
    NextflowDag,
    ParslDatabase,
    DaskGraph,
    DaskStream,
    DaskScheduler,
    DaskReport,
    CwlProv,
    CwlLog,
    RoCrate,
    MakeflowLog,
    MakeflowFile,
    MakeflowSummary,
    SacctText,
    SacctJson,
}

impl Artefact {
    fn engine(self) -> Engine {
        use Artefact::*;
        match self {
            SnakemakeMetadata | SnakemakeLog | SnakemakeBenchmark | SnakemakeD3Dag
            | SnakemakeGraph | SnakemakeSummary => Engine::Snakemake,
            NextflowTrace | NextflowReport | NextflowDag => Engine::Nextflow,
            ParslDatabase => Engine::Parsl,
            DaskGraph | DaskStream | DaskScheduler | DaskReport => Engine::Dask,
            CwlProv | CwlLog => Engine::Cwl,
            RoCrate => Engine::RoCrate,
            MakeflowLog | MakeflowFile | MakeflowSummary => Engine::Makeflow,
            SacctText | SacctJson => Engine::Slurm,
        }
    }

    /// Whether a run can be made from it without the others.
    fn is_main(self) -> bool {
        use Artefact::*;
        matches!(
            self,
            SnakemakeMetadata
                | SnakemakeLog
                | SnakemakeD3Dag
                | SnakemakeGraph
                | SnakemakeSummary
                | NextflowTrace
                | NextflowReport
                | NextflowDag
                | ParslDatabase
                | DaskStream
                | DaskReport
                | CwlProv
                | CwlLog
                | RoCrate
                | MakeflowLog
                | SacctText
                | SacctJson
        )
    }
}

/// The artefacts of one engine.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) engine: Engine,
    /// Engines whose records were found beside them.
    pub(crate) others: Vec<Engine>,
    files: BTreeMap<Artefact, Vec<PathBuf>>,
    roots: Vec<PathBuf>,
}

impl Found {
    /// All artefacts of a kind, in order of their paths.
    pub(crate) fn all(&self, kind: Artefact) -> &[PathBuf] {
        self.files.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// The only artefact of a kind; several are two runs.
    pub(crate) fn one(&self, kind: Artefact, what: &str) -> Result<Option<&PathBuf>> {
        match self.all(kind) {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            [first, second, ..] => Err(FormatError::new(format!(
                "holds {what} of two runs: '{}' and '{}'",
                first.display(),
                second.display()
            ))
            .with_help("name the files of one run")),
        }
    }

    /// The folders that were searched, and those in which the other paths lie.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The last in order of paths of those that name a date.
    pub(crate) fn last(&self, kind: Artefact) -> Option<&PathBuf> {
        self.all(kind).last()
    }
}

/// Finds the artefacts under some paths; where several engines left some, the first path decides,
/// then the engine with most of them.
pub(crate) fn find(paths: &[PathBuf], from: Option<Engine>, files: &FileAccess) -> Result<Found> {
    let mut seen = 0;
    let mut by_engine: BTreeMap<Engine, BTreeMap<Artefact, Vec<PathBuf>>> = BTreeMap::new();
    let mut note = |path: &Path, kind: Artefact| {
        let of_engine = by_engine.entry(kind.engine()).or_default().entry(kind).or_default();
        if !of_engine.iter().any(|known| known == path) {
            of_engine.push(path.to_path_buf());
        }
    };
    for path in paths {
        if path.is_dir() {
            walk(path, 0, &mut seen, files, &mut note)?;
        } else {
            match kind_of(path, files).map_err(|e| e.in_file(path))? {
                Some(kind) => {
                    note(path, kind);
                    for companion in companions(path, kind) {
                        if let Ok(Some(kind)) = kind_of(&companion, files) {
                            note(&companion, kind);
                        }
                    }
                }
                None if path.exists() => {
                    return Err(FormatError::new("no records of an engine that is known")
                        .with_help(format!("engines: {}", crate::engines::names()))
                        .in_file(path));
                }
                None => files.read_text(path).map(|_| ())?, // the reader's own words for what is missing
            }
        }
    }
    let usable = |engine: &Engine, found: &BTreeMap<Artefact, Vec<PathBuf>>| {
        from.is_none_or(|from| from == *engine) && found.keys().any(|kind| kind.is_main())
    };
    by_engine.retain(|engine, found| usable(engine, found));
    let weight =
        |found: &BTreeMap<Artefact, Vec<PathBuf>>| found.values().map(Vec::len).sum::<usize>();
    // If a folder has a crate made from the records of another engine beside these records, the records win.
    let mut others: Vec<Engine> = by_engine.keys().copied().collect();
    let best = by_engine
        .into_iter()
        .max_by_key(|(engine, found)| (*engine != Engine::RoCrate, weight(found)));
    others.retain(|other| {
        *other != Engine::RoCrate && best.as_ref().is_some_and(|(engine, _)| engine != other)
    });
    let Some((engine, mut found)) = best else {
        // The first path is named as the place of the error.
        let also: Vec<String> =
            paths.iter().skip(1).map(|p| format!(", nor in '{}'", p.display())).collect();
        let also = also.concat();
        let of = from.map_or("an engine that is known".to_string(), |e| e.to_string());
        return Err(FormatError::new(format!("no records of {of}{also}"))
            .with_help(format!("engines: {}", crate::engines::names())));
    };
    found.values_mut().for_each(|paths| paths.sort());
    let root = |path: &PathBuf| {
        let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
        folder.map(Path::to_path_buf)
    };
    Ok(Found { engine, others, files: found, roots: paths.iter().filter_map(root).collect() })
}

fn walk(
    folder: &Path,
    depth: usize,
    seen: &mut usize,
    files: &FileAccess,
    note: &mut impl FnMut(&Path, Artefact),
) -> Result<()> {
    let fail = |e: std::io::Error| FormatError::from(e).in_file(folder);
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        entries.push(entry.map_err(fail)?.path());
    }
    entries.sort();
    for path in entries {
        *seen += 1;
        if *seen > MOST_FILES {
            return Err(FormatError::new(format!("holds more than {MOST_FILES} files"))
                .with_help("name the records themselves")
                .in_file(folder));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Links lead anywhere; a folder's own records are regular files.
        let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            let is_data =
                matches!(name.as_str(), ".git" | "work" | "conda" | "scripts" | "node_modules");
            if depth < DEPTH && !is_data {
                walk(&path, depth + 1, seen, files, note)?;
            }
        } else if meta.is_file()
            && let Ok(Some(kind)) = kind_of(&path, files)
        {
            note(&path, kind);
        }
    }
    Ok(())
}

/// Files beside a main artefact that belong to it.
fn companions(path: &Path, kind: Artefact) -> Vec<PathBuf> {
    let beside = |name: String| path.with_file_name(name);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match kind {
        Artefact::MakeflowLog => vec![beside(name.trim_end_matches(".makeflowlog").to_string())],
        Artefact::NextflowTrace | Artefact::NextflowReport => {
            vec![beside("pipeline_dag.dot".to_string())]
        }
        _ => Vec::new(),
    }
}

/// The kind of a file, from its beginning and its name.
fn kind_of(path: &Path, files: &FileAccess) -> Result<Option<Artefact>> {
    let Ok(head) = files.read_head(path) else { return Ok(None) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if head.starts_with(b"SQLite format 3\0") {
        return Ok(crate::engines::parsl::is_monitoring(path).then_some(Artefact::ParslDatabase));
    }
    if name.ends_with(".snakemake.log") {
        return Ok(Some(Artefact::SnakemakeLog));
    }
    let text = String::from_utf8_lossy(&head);
    let first = text.lines().next().unwrap_or_default();
    let columns: Vec<&str> = first.split('\t').collect();
    let has = |name: &str| columns.contains(&name);
    if first.split('|').any(|c| c == "JobID") && first.contains('|') {
        return Ok(Some(Artefact::SacctText));
    }
    if has("status")
        && (has("realtime") || has("duration") || has("complete"))
        && (has("name") || has("process"))
    {
        return Ok(Some(Artefact::NextflowTrace));
    }
    if columns.first() == Some(&"output_file") && has("rule") && has("input-file(s)") {
        return Ok(Some(Artefact::SnakemakeSummary));
    }
    if columns.first() == Some(&"s") && has("max_rss") {
        return Ok(Some(Artefact::SnakemakeBenchmark));
    }
    if text.contains("INFO [cwltool]") || text.contains("INFO [workflow ]") {
        return Ok(Some(Artefact::CwlLog));
    }
    let start = text.trim_start();
    if start.starts_with(['{', '[']) {
        return Ok(json_kind(start, &name, path));
    }
    if start.starts_with("digraph") && name.ends_with(".dot") && text.contains("pipeline_dag") {
        return Ok(Some(Artefact::NextflowDag));
    }
    // Graphs of files have tables for labels.
    if start.starts_with("digraph snakemake_dag") && !text.contains("<table") {
        return Ok(Some(Artefact::SnakemakeGraph));
    }
    if name.ends_with(".html") && text.contains("Dask Performance Report") {
        return Ok(Some(Artefact::DaskReport));
    }
    if name.ends_with(".html") && text.to_lowercase().contains("nextflow workflow report") {
        return Ok(Some(Artefact::NextflowReport));
    }
    let is_chart = [".mmd", ".mermaid", ".html"].iter().any(|end| name.ends_with(end));
    if is_chart && text.lines().any(|line| mermaid::is_header(line.trim())) {
        let is_snakemake = start.starts_with("---") && text.contains("title: DAG");
        let kind = if is_snakemake { Artefact::SnakemakeGraph } else { Artefact::NextflowDag };
        return Ok(Some(kind));
    }
    if text.contains("# STARTED ") && text.lines().any(|l| l.starts_with("# FILE "))
        || name.ends_with(".makeflowlog")
    {
        return Ok(Some(Artefact::MakeflowLog));
    }
    if name.ends_with(".makeflow") || name == "Makeflow" {
        return Ok(Some(Artefact::MakeflowFile));
    }
    Ok(None)
}

/// The kind of a JSON document, from its beginning.
fn json_kind(head: &str, name: &str, path: &Path) -> Option<Artefact> {
    let has = |key: &str| head.contains(&format!("\"{key}\""));
    let in_metadata = path.parent().and_then(Path::file_name).is_some_and(|f| f == "metadata");
    if has("rule") && (in_metadata || has("record_format_version")) {
        return Some(Artefact::SnakemakeMetadata);
    }
    if has("max_rss") && has("h:m:s") {
        return Some(Artefact::SnakemakeBenchmark);
    }
    if has("@graph") && (has("@context") || name == "ro-crate-metadata.json") {
        return Some(Artefact::RoCrate);
    }
    if has("prefix") && (has("wfprov") || has("cwlprov")) {
        return Some(Artefact::CwlProv);
    }
    if has("monitor_version") && has("exit_type") {
        return Some(Artefact::MakeflowSummary);
    }
    if has("startstops") {
        return Some(Artefact::DaskStream);
    }
    if has("task_prefixes") || (has("workers") && has("bandwidth_workers")) {
        return Some(Artefact::DaskScheduler);
    }
    if head.contains("\"nodes\"") && head.contains("\"jobid\"") && head.contains("\"rule\"") {
        return Some(Artefact::SnakemakeD3Dag);
    }
    if has("meta") && head.to_lowercase().contains("slurm") {
        return Some(Artefact::SacctJson);
    }
    // An object of lists of strings.
    let is_graph = name.ends_with(".json")
        && head.starts_with('{')
        && head[1..].trim_start().starts_with('"')
        && head.split_once("\":").is_some_and(|(_, rest)| {
            let rest = rest.trim_start();
            rest.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(['"', ']']))
        });
    is_graph.then_some(Artefact::DaskGraph)
}

/// Takes sizes from lines of bytes, white space and path; a path also speaks for files whose own path
/// ends in it.
pub(crate) fn apply_sizes(run: &mut RecordedRun, path: &Path, files: &FileAccess) -> Result<()> {
    let text = files.read_text(path)?;
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let parsed = line.trim().split_once(char::is_whitespace);
        let parsed =
            parsed.and_then(|(bytes, name)| Some((bytes.parse::<u64>().ok()?, name.trim())));
        let Some((bytes, name)) = parsed else {
            return Err(
                FormatError::at(index + 1, 1, "not a size in bytes and a path").in_file(path)
            );
        };
        sizes.insert(name.trim_start_matches("./"), bytes as f64);
    }
    for file in run.files.iter_mut().filter(|file| file.bytes.is_none()) {
        let name = file.name.as_str();
        let suffixes =
            std::iter::once(name).chain(name.match_indices('/').map(|(at, _)| &name[at + 1..]));
        let known = suffixes.filter_map(|suffix| sizes.get(suffix)).next();
        file.bytes = known.and_then(|&bytes| Figure::measured(bytes));
    }
    Ok(())
}
