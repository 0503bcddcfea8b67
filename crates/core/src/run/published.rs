//! Results of a run in a folder of the user (`--results`): the document `manifest.json` there says what is of the run, and
//! nothing else in it is ever replaced or removed.

use super::again;
use super::run_session::RunSession;
use crate::context::Context;
use crate::failure::Failure;
use crate::request::{PublishedAs, RunRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackline_io::FileAccess;
use slackline_machines::attempt::checksum;
use slackline_machines::folder::{self, Header};
use slackline_machines::up_to_date::History;
use slackline_model::Workflow;
use slackline_model::names::printable;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Name of the document.
const MANIFEST: &str = "manifest.json";

/// Its schema.
const SCHEMA: &str = "slackline/run-results/1";

/// The results of a run: the JSON document `slackline/run-results/1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultsManifest {
    /// `slackline/run-results/1`.
    pub schema: String,
    /// Version that wrote it.
    pub version: String,
    /// Name of the workflow.
    pub workflow: String,
    /// File of the workflow, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// Name of the run among all others.
    pub run: String,
    /// The folder of the run.
    pub folder: PathBuf,
    /// The files, by name.
    pub files: Vec<PublishedFile>,
}

/// A file among the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedFile {
    /// Its path in the folder of the manifest.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// XXH3 of its content, 64 bits, in hexadecimal.
    pub checksum: String,
    /// The task that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::work(format!("{}: {error}", path.display()))
}

/// The manifest in a folder; none where there is no such file.
fn manifest(folder: &Path) -> Result<Option<ResultsManifest>, Failure> {
    let path = folder.join(MANIFEST);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|e| Failure::input(format!("{}: {e}", path.display())))?,
    };
    match serde_json::from_slice::<ResultsManifest>(&text) {
        Ok(found) if found.schema == SCHEMA => Ok(Some(found)),
        _ => Err(Failure::input(format!("{}: this is no manifest of results", path.display()))
            .with_help("--results names a folder of its own")),
    }
}

/// Fails, before anything is done, where results could not be put into the folder that a request names.
fn check(
    request: &RunRequest,
    workflow: &Workflow,
    source: Option<&Path>,
    run: &Path,
) -> Result<(), Failure> {
    let Some(folder) = &request.results else { return Ok(()) };
    let refused = |why: String| Failure::input(format!("--results {}: {why}", folder.display()));
    let whole = |path: &Path| super::plain_path(path);
    if whole(folder)?.starts_with(whole(run)?) {
        return Err(refused("this is in the folder of the run".to_string()));
    }
    if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Err(refused("this is no folder".to_string()));
    }
    let known = manifest(folder)?;
    if let Some(of) = known.as_ref().and_then(|known| known.source.as_deref())
        && source.is_some_and(|source| source != of && of.exists())
    {
        return Err(refused(format!("results of {} are there", of.display())));
    }
    let listed = known.iter().flat_map(|known| &known.files).map(|file| file.name.as_str());
    let listed: BTreeSet<&str> = listed.collect();
    for name in again::results(workflow) {
        if name == MANIFEST {
            return Err(refused(format!("a result is called {MANIFEST}")));
        }
        let path = folder.join(&name);
        let is_listed = listed.contains(name.as_str())
            || listed.iter().any(|of| of.strip_prefix(&name).is_some_and(|r| r.starts_with('/')));
        if !is_listed && path.symlink_metadata().is_ok() {
            let name = printable(&name);
            return Err(refused(format!("'{name}' is there, and no run has put it there")));
        }
    }
    Ok(())
}

/// The files in a folder and those in it, by their paths there.
fn files_in(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        let path = root.join(&inner);
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            entries => entries.map_err(failed(&path))?,
        };
        for entry in entries {
            let entry = entry.map_err(failed(&path))?;
            let name = inner.join(entry.file_name());
            if entry.file_type().map_err(failed(&path))?.is_dir() {
                open.push(name);
            } else {
                files.push(name);
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Task and checksum of what a task wrote, by the names of files.
struct Makers<'h> {
    makers: BTreeMap<&'h str, (&'h str, &'h str)>,
}

impl<'h> Makers<'h> {
    fn of(history: &'h History) -> Makers<'h> {
        let made = history.last().flat_map(|made| {
            let outputs = made.outputs.iter();
            outputs.map(|file| (file.name.as_str(), (made.name.as_str(), file.content.as_str())))
        });
        Makers { makers: made.collect() }
    }

    /// The task that wrote a file, or the folder it is in, and its checksum where that is known.
    fn find(&self, name: &str) -> (Option<&'h str>, Option<&'h str>) {
        if let Some((task, content)) = self.makers.get(name) {
            return (Some(task), Some(*content).filter(|content| !content.contains('@')));
        }
        let mut around = Path::new(name).ancestors().skip(1).filter_map(Path::to_str);
        let maker = around.find_map(|folder| self.makers.get(folder));
        (maker.map(|(task, _)| *task), None)
    }
}

/// Puts what is in the results of a run into the folder that its request names, and takes away what an earlier run had
/// put there and is no result any more.
fn publish(
    run: &Path,
    header: &Header,
    workflow: &Workflow,
    request: &RunRequest,
    files: &FileAccess,
) -> Result<(), Failure> {
    let Some(folder) = &request.results else { return Ok(()) };
    let history = folder::history(&folder::log_of(run)).map_err(Failure::work)?;
    let makers = Makers::of(&history);
    let known = manifest(folder)?;
    let listed = known.iter().flat_map(|known| &known.files);
    let mut before: BTreeMap<&str, &PublishedFile> =
        listed.map(|file| (file.name.as_str(), file)).collect();
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let results = run.join("results");
    let mut published = Vec::new();
    for path in files_in(&results)? {
        let Some(name) = path.to_str() else {
            let message = format!("result '{}' has no name in UTF-8", path.display());
            return Err(Failure::work(message));
        };
        let (from, to) = (results.join(&path), folder.join(&path));
        let found = fs::metadata(&from).map_err(failed(&from))?;
        let (task, content) = makers.find(name);
        let sum = match content {
            Some(content) => content.to_string(),
            None => checksum(&from).map_err(failed(&from))?,
        };
        let was = before.remove(name);
        put(&from, &to, &sum, was, request.results_as)?;
        published.push(PublishedFile {
            name: name.to_string(),
            bytes: found.len(),
            checksum: sum,
            task: task.map(str::to_string),
        });
    }
    for name in before.into_keys() {
        let path = folder.join(name);
        let _ = fs::remove_file(&path); // its user may have taken it away
        let mut inner = path.parent();
        while let Some(around) = inner.filter(|around| *around != folder) {
            if fs::remove_dir(around).is_err() {
                break;
            }
            inner = around.parent();
        }
    }
    let document = ResultsManifest {
        schema: SCHEMA.to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        workflow: workflow.name().to_string(),
        source: header.source.clone(),
        run: header.id.clone(),
        folder: run.canonicalize().map_err(failed(run))?,
        files: published,
    };
    files.write(&folder.join(MANIFEST), |out| -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    })?;
    Ok(())
}

/// Puts one file in its place, by a link where that is wanted and possible.
fn put(
    from: &Path,
    to: &Path,
    sum: &str,
    was: Option<&PublishedFile>,
    how: PublishedAs,
) -> Result<(), Failure> {
    let source = fs::metadata(from).map_err(failed(from))?;
    if let Ok(there) = fs::symlink_metadata(to) {
        let same_file = (there.dev(), there.ino()) == (source.dev(), source.ino());
        let is_right = match how {
            PublishedAs::Link => same_file,
            PublishedAs::Copy => {
                !same_file
                    && there.is_file()
                    && there.len() == source.len()
                    && checksum(to).is_ok_and(|found| found == sum)
            }
        };
        if is_right {
            return Ok(());
        }
        if was.is_none() {
            let message = format!("{}: no run has put this there: it stays", to.display());
            return Err(Failure::work(message));
        }
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(failed(parent))?;
    }
    let mut part = to.as_os_str().to_owned();
    part.push(".slackline-part");
    let part = PathBuf::from(part);
    let _ = fs::remove_file(&part); // an earlier run may have left one
    let linked = how == PublishedAs::Link && fs::hard_link(from, &part).is_ok();
    if !linked {
        fs::copy(from, &part).map_err(failed(&part))?;
        if how == PublishedAs::Copy {
            let mode = fs::Permissions::from_mode(source.permissions().mode() | 0o200);
            fs::set_permissions(&part, mode).map_err(failed(&part))?;
        }
    }
    fs::rename(&part, to).map_err(failed(to))
}

impl RunSession {
    /// Puts the results of the run where its request wants them.
    pub(super) fn publish(&self, context: &Context<'_>, run: &Path) -> Result<(), Failure> {
        publish(run, &self.header, &self.whole, &self.request, &context.files)
    }
}

impl super::RunInput {
    /// Fails, before anything is done, where results could not be put where the request wants them.
    pub(super) fn check_results(&self, run: &Path) -> Result<(), Failure> {
        check(&self.request, &self.document.workflow, self.source().as_deref(), run)
    }

    /// Puts the results of a run that has nothing to do where the request wants them.
    pub(super) fn publish(
        &self,
        run: &Path,
        header: &Header,
        files: &FileAccess,
    ) -> Result<(), Failure> {
        publish(run, header, &self.document.workflow, &self.request, files)
    }
}
