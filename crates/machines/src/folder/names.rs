//! Names of workflows as names of files and folders.

use slackline_model::{TaskId, Workflow};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// Longest name of a folder, in bytes; file systems accept 255, and names are extended.
const LONGEST: usize = 200;

/// Any name as one component of a path. `/`, `%`, NUL and a leading dot are escaped as `%XX`; long names end with a hash.
/// Different names give different components.
pub fn component(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        match c {
            '/' | '%' | '\0' => out.push_str(&format!("%{:02X}", c as u32)),
            '.' if at == 0 => out.push_str("%2E"),
            c => out.push(c),
        }
    }
    if out.is_empty() {
        return "%".to_string();
    }
    if out.len() > LONGEST {
        // 18 bytes are for `%x` and the hash.
        let cut = (0..=LONGEST - 20).rev().find(|&at| out.is_char_boundary(at)).unwrap_or(0);
        out.truncate(cut);
        out.push_str(&format!("%x{:016x}", xxhash_rust::xxh3::xxh3_64(name.as_bytes())));
    }
    out
}

/// The normalised relative path of a file name; an error if it would leave its folder.
fn plain(name: &str) -> Result<PathBuf, &'static str> {
    if name.contains('\0') {
        return Err("no file can be named so");
    }
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) if part.len() > 255 => return Err("the name is too long"),
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir => return Err("'..' leaves the folder of the run"),
            Component::RootDir | Component::Prefix(_) => {
                return Err("an absolute name leaves the folder of the run");
            }
        }
    }
    if path.as_os_str().is_empty() || name.ends_with('/') {
        return Err("this names a folder, not a file");
    }
    Ok(path)
}

/// A file of a workflow whose name cannot be used in a run folder; the text has task, file and cause.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct NameError(String);

/// The files of a workflow that have names, each with a task that reads or writes it.
fn files_of(workflow: &Workflow) -> Vec<(&str, Cow<'_, str>)> {
    if let Some(control) = workflow.control() {
        let files = control.file_uses();
        let uses = |task: &u32, name: &String| {
            files.read_by(*task).contains(name) || files.written_by(*task).contains(name)
        };
        let user = |name: &String| (0..control.tasks() as u32).find(|task| uses(task, name));
        let named = |name| user(name).map_or("", |task| control.task_name(task)).into();
        return files.names().iter().map(|name| (name.as_str(), named(name))).collect();
    }
    let user = |file| workflow.producer(file).or(workflow.consumers(file).next());
    let named = |task: Option<TaskId>| {
        task.map_or(Cow::Borrowed(""), |task| workflow.task_name(task).into())
    };
    let files = workflow.files().filter(|file| !workflow.file_name(*file).is_empty());
    files.map(|file| (workflow.file_name(file), named(user(file)))).collect()
}

/// Fails where a file of a workflow would leave the folder of its run or have the same path as another one; the error
/// names task and file.
pub fn refuse_names(workflow: &Workflow) -> Result<(), NameError> {
    let mut taken: HashMap<PathBuf, &str> = HashMap::new();
    for (name, task) in files_of(workflow) {
        let path =
            plain(name).map_err(|why| NameError(format!("task '{task}', file '{name}': {why}")))?;
        if let Some(of) = in_a_pass(workflow, &path) {
            return Err(NameError(format!(
                "task '{task}', file '{name}': the folder '{of}' is for files of that pass"
            )));
        }
        if let Some(other) = taken.insert(path, name) {
            return Err(NameError(format!(
                "task '{task}', file '{name}': the same file as '{other}'"
            )));
        }
    }
    let folder = |path: &Path| taken.get(path).copied();
    for (path, name) in &taken {
        if let Some(other) = path.ancestors().skip(1).find_map(folder) {
            return Err(NameError(format!("file '{name}': '{other}' is a file, not a folder")));
        }
    }
    Ok(())
}

/// The first component of a path, where it is the folder `LOOP#N` of a pass of a loop.
fn in_a_pass(workflow: &Workflow, path: &Path) -> Option<String> {
    let first = path.components().next()?.as_os_str().to_str()?;
    let (name, pass) = first.rsplit_once('#')?;
    let is_loop = workflow.control()?.loops().iter().any(|l| l.name == name);
    let is_pass = !pass.is_empty() && pass.bytes().all(|b| b.is_ascii_digit());
    (is_loop && is_pass).then(|| first.to_string())
}
