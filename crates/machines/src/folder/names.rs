//! Names of workflows as names of files and folders.

use slackline_model::{FileId, TaskId, Workflow};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Longest name of a folder, in bytes; file systems take 255.
const LONGEST: usize = 200;

/// Any name as one component of a path: what cannot stand in one is written as `%XX`, different
/// names stay different.
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
        let cut = (0..=LONGEST - 20).rev().find(|&at| out.is_char_boundary(at)).unwrap_or(0);
        out.truncate(cut);
        out.push_str(&format!("%x{:016x}", xxhash_rust::xxh3::xxh3_64(name.as_bytes())));
    }
    out
}

/// A file name that stays in its folder, without detours.
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

/// Fails where a file of a workflow would leave the folder of its run, or take the name of
/// another one; says which task and which file.
pub fn refuse_names(workflow: &Workflow) -> Result<(), String> {
    let mut taken: HashMap<PathBuf, FileId> = HashMap::new();
    for file in workflow.files() {
        let name = workflow.file_name(file);
        if name.is_empty() {
            continue;
        }
        let user: Option<TaskId> = workflow.producer(file).or(workflow.consumers(file).next());
        let task = user.map_or(Cow::Borrowed(""), |t| workflow.task_name(t).into());
        let path = plain(name).map_err(|why| format!("task '{task}', file '{name}': {why}"))?;
        if let Some(other) = taken.insert(path, file) {
            let other = workflow.file_name(other);
            return Err(format!("task '{task}', file '{name}': the same file as '{other}'"));
        }
    }
    let folder = |path: &Path| taken.get_key_value(path).map(|(_, file)| *file);
    for (path, file) in &taken {
        if let Some(other) = path.ancestors().skip(1).find_map(folder) {
            let (name, other) = (workflow.file_name(*file), workflow.file_name(other));
            return Err(format!("file '{name}': '{other}' is a file, not a folder"));
        }
    }
    Ok(())
}
