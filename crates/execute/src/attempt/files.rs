//! The files of an attempt: inputs are linked in, outputs are checked and moved out by one rename.

use super::Broken;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::Xxh3;

/// An output as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Its size.
    pub bytes: u64,
    /// XXH3, 64 bits, in hexadecimal.
    pub checksum: String,
}

/// Bytes that are read or copied at a time.
const CHUNK: usize = 1 << 18;

/// Makes a folder that was not there before; what an earlier try left is taken away.
pub(super) fn fresh(folder: &Path) -> std::io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_dir_all(folder)?;
            fs::create_dir(folder)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => fs::create_dir_all(folder),
        done => done,
    }
}

/// Makes a folder where there is none; the one around it is probably missing, too.
pub(super) fn make(folder: &Path) -> std::io::Result<()> {
    if let Some(around) = folder.parent() {
        let _ = fs::create_dir(around); // what goes wrong shows in the next step
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => fs::create_dir_all(folder),
        done => done,
    }
}

/// Links inputs into a folder under their names. What could be written through a link is copied,
/// and what cannot be linked.
pub(super) fn bring(work: &Path, inputs: &[(String, PathBuf)]) -> Result<(), Broken> {
    for (index, (name, from)) in inputs.iter().enumerate() {
        let to = work.join(name);
        let fixed = fs::metadata(from).is_ok_and(|found| found.permissions().readonly());
        let linked = || if fixed { fs::hard_link(from, &to) } else { Err(ErrorKind::Other.into()) };
        let brought = with_parents(&to, || match linked() {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
            Err(_) => fs::copy(from, &to).map(drop),
            done => done,
        });
        if let Err(error) = brought {
            if !from.is_file() {
                return Err(Broken::InputGone { index, name: name.clone() });
            }
            let why = format!("input '{name}' cannot be brought: {error}");
            return Err(Broken::Failed { why, exit: None, last_lines: Vec::new() });
        }
    }
    Ok(())
}

/// Does something that needs the folder of a path; makes that where it is missing.
fn with_parents(path: &Path, mut act: impl FnMut() -> std::io::Result<()>) -> std::io::Result<()> {
    match act() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let Some(folder) = path.parent().filter(|f| !f.exists()) else { return Err(error) };
            fs::create_dir_all(folder)?;
            act()
        }
        done => done,
    }
}

/// Checks that all outputs are there, then moves them to where they belong.
pub(super) fn collect(work: &Path, outputs: &[(String, PathBuf)]) -> Result<Vec<Written>, String> {
    let mut written = Vec::with_capacity(outputs.len());
    for (name, _) in outputs {
        written.push(look_at(work, name)?);
    }
    for (name, to) in outputs {
        let from = work.join(name);
        let moved =
            with_parents(to, || fs::rename(&from, to)).or_else(|error| match error.kind() {
                // Made on a disk of the node: brought beside its place first.
                ErrorKind::CrossesDevices => {
                    let mut part = to.as_os_str().to_owned();
                    part.push(".slackline-part");
                    copy_paced(&from, to, Path::new(&part), None, &|| false).map(drop)
                }
                _ => Err(error),
            });
        moved.map_err(|e| format!("output '{name}' cannot be kept: {e}"))?;
    }
    Ok(written)
}

/// What an output is; links and folders are none, nor is what lies behind them.
fn look_at(work: &Path, name: &str) -> Result<Written, String> {
    let path = work.join(name);
    let found = match fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(format!("output '{name}' was not written"));
        }
        Err(error) => return Err(format!("output '{name}': {error}")),
    };
    if found.is_symlink() {
        return Err(format!("output '{name}' is a link, not a file"));
    }
    if !found.is_file() {
        return Err(format!("output '{name}' is no file"));
    }
    let inside = || Some(path.canonicalize().ok()?.starts_with(work.canonicalize().ok()?));
    if name.contains('/') && inside() != Some(true) {
        return Err(format!("output '{name}' lies behind a link that leaves its folder"));
    }
    let checksum = checksum(&path).map_err(|e| format!("output '{name}': {e}"))?;
    // What others will read is not to be changed in place.
    let mut permissions = found.permissions();
    permissions.set_readonly(true);
    let _ = fs::set_permissions(&path, permissions);
    Ok(Written { bytes: found.len(), checksum })
}

/// XXH3 of a file, in hexadecimal.
pub fn checksum(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len().min(CHUNK as u64) as usize;
    let (mut hash, mut chunk) = (Xxh3::new(), vec![0; size.max(1)]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(format!("{:016x}", hash.digest())),
            read => hash.update(&chunk[..read]),
        }
    }
}

/// How fast a copy may be.
pub(crate) trait Pace {
    /// Bytes that are copied at a time.
    fn chunk(&self) -> usize;
    /// When so many more bytes of a file of that size may have arrived.
    fn due(&mut self, bytes: u64, size: u64) -> Instant;
}

/// Copies a file so that its name shows only a whole one, no faster than the pace; `stop` breaks off.
pub(crate) fn copy_paced(
    from: &Path,
    to: &Path,
    part: &Path,
    pace: Option<&mut dyn Pace>,
    stop: &dyn Fn() -> bool,
) -> std::io::Result<u64> {
    let mut source = File::open(from)?;
    let meta = source.metadata()?;
    let size = meta.len();
    let _ = fs::remove_file(part); // what an earlier try left may not be writable
    if let Some(pace) = pace {
        let mut target = File::create(part)?;
        let mut chunk = vec![0; pace.chunk()];
        loop {
            let read = source.read(&mut chunk)?;
            target.write_all(&chunk[..read])?;
            let due = pace.due(read as u64, size);
            while let Some(early) = due.checked_duration_since(Instant::now()) {
                if stop() {
                    break;
                }
                std::thread::sleep(early.min(Duration::from_millis(50)));
            }
            if read == 0 || stop() {
                break;
            }
        }
    } else {
        drop(source);
        with_parents(part, || fs::copy(from, part).map(drop))?;
    }
    if stop() {
        let _ = fs::remove_file(part);
        return Err(ErrorKind::Interrupted.into());
    }
    let copied = fs::metadata(part)?.len();
    if copied != size {
        let _ = fs::remove_file(part);
        return Err(std::io::Error::other(format!("{copied} of {size} bytes were copied")));
    }
    let mut permissions = meta.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(part, permissions)?;
    with_parents(to, || fs::rename(part, to))?;
    Ok(size)
}
