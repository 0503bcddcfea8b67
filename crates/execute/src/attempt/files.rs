//! The files of an attempt: inputs are brought in so that the original cannot be changed through them,
//! outputs are checked and moved out by one rename.

use super::Broken;
use crate::private::{self, DIRECTORY};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fchmod, openat, renameat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::Xxh3;

/// An output as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Its size.
    pub bytes: u64,
    /// XXH3, 64 bits, in hexadecimal; none where it was too large for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

/// State of one of the user's own files when a run began, or was resumed: a file that has another one
/// has been changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Its size.
    pub bytes: u64,
    /// Its time of modification: seconds since 1970, and nanoseconds.
    pub modified: (i64, i64),
}

impl Stamp {
    /// The state of a file now.
    pub fn of(found: &Metadata) -> Stamp {
        Stamp { bytes: found.len(), modified: (found.mtime(), found.mtime_nsec()) }
    }
}

/// Fails where a file of the user has changed since the run began.
fn check_stamp(file: &File, stamp: Option<Stamp>) -> std::io::Result<()> {
    match stamp {
        Some(stamp) if Stamp::of(&file.metadata()?) != stamp => {
            Err(Error::new(ErrorKind::InvalidData, CHANGED))
        }
        _ => Ok(()),
    }
}

/// What is said of a file of the user that is not what it was.
const CHANGED: &str = "has changed since the run began";

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

/// Brings inputs into a folder under their names. Files of a store are linked where nobody can write
/// through the link: they are read-only, and this user is not exempt from that. All others are copied,
/// above all those of the user.
pub(super) fn bring(
    work: &Path,
    inputs: &[(String, PathBuf)],
    own: &[(usize, Option<Stamp>)],
) -> Result<Vec<Linked>, Broken> {
    let mut linked = Vec::new();
    for (index, (name, from)) in inputs.iter().enumerate() {
        let to = work.join(name);
        let stamp = own.binary_search_by_key(&index, |(index, _)| *index);
        let copied = |stamp: Option<Stamp>| {
            let mut source = File::open(from)?;
            check_stamp(&source, stamp)?;
            let mut target = File::options().write(true).create_new(true).open(&to)?;
            std::io::copy(&mut source, &mut target)?;
            check_stamp(&source, stamp)?;
            let mode = source.metadata()?.mode() & 0o777;
            Ok(fchmod(&target, Mode::from_raw_mode(mode | 0o600))?)
        };
        let brought = with_parents(&to, || match stamp {
            Ok(at) => copied(own[at].1),
            Err(_) if is_fixed(from) => match fs::hard_link(from, &to) {
                Ok(()) => {
                    let found = fs::metadata(&to)?;
                    linked.push(Linked { index, file: found.ino(), stamp: Stamp::of(&found) });
                    Ok(())
                }
                Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
                Err(_) => copied(None),
            },
            Err(_) => copied(None),
        });
        match brought {
            Ok(()) => {}
            Err(_) if !from.is_file() => {
                return Err(Broken::InputGone { index, name: name.clone() });
            }
            Err(error) if error.to_string() == CHANGED => {
                return Err(Broken::Impossible(format!("input '{name}' {CHANGED}")));
            }
            Err(error) => {
                let why = format!("input '{name}' cannot be brought: {error}");
                return Err(Broken::Failed { why, exit: None, last_lines: Vec::new() });
            }
        }
    }
    Ok(linked)
}

/// An input that is a file of a store under a further name.
pub(super) struct Linked {
    index: usize,
    /// Its inode: another file may take its name while the task runs.
    file: u64,
    stamp: Stamp,
}

/// Looks for inputs that a task has made writable in spite of their mode, and takes those away from the
/// store that it has changed: they are fetched or made again. Gives the name of one.
pub(super) fn spoilt<'a>(inputs: &'a [(String, PathBuf)], linked: &[Linked]) -> Option<&'a str> {
    let mut spoilt = None;
    for Linked { index, file, stamp } in linked {
        let (name, from) = &inputs[*index];
        let Some(found) = fs::symlink_metadata(from).ok().filter(|found| found.ino() == *file)
        else {
            continue;
        };
        if Stamp::of(&found) != *stamp {
            let _ = fs::remove_file(from); // another attempt may have done so
            spoilt = Some(name.as_str());
        } else if !found.permissions().readonly() {
            let mode = Mode::from_raw_mode(found.mode() & 0o555);
            let _ = rustix::fs::chmod(from, mode); // it may be gone
        }
    }
    spoilt
}

/// Whether a file cannot be opened for writing, neither by its mode nor by a privilege of this process.
fn is_fixed(path: &Path) -> bool {
    let readonly = fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().readonly());
    readonly
        && !rustix::process::geteuid().is_root()
        && accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_err()
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

/// An output that was found.
struct Found {
    written: Written,
    /// It has other names, through which it could be changed later.
    shared: bool,
}

/// Checks that all outputs are there, then moves them to where they belong.
pub(super) fn collect(
    work: &Path,
    outputs: &[(String, PathBuf)],
    checksum_limit: Option<u64>,
) -> Result<Vec<Written>, String> {
    if outputs.is_empty() {
        return Ok(Vec::new());
    }
    let opened = openat(CWD, work, DIRECTORY, Mode::empty());
    let opened = opened.map_err(|e| format!("{}: {}", work.display(), Error::from(e)))?;
    let mut all = Vec::with_capacity(outputs.len());
    for (name, _) in outputs {
        all.push(look_at(&opened, name, checksum_limit)?);
    }
    let mut written = Vec::with_capacity(outputs.len());
    for ((name, to), found) in outputs.iter().zip(all) {
        let (parent, last) = parent_of(&opened, name)?;
        let from = parent.as_ref().unwrap_or(&opened);
        let moved = || match renameat(from, &last, CWD, to) {
            // Made on a disk of the node: brought beside its place first.
            Err(Errno::XDEV) => copy_output(from, &last, to, &found.written),
            done => Ok(done?),
        };
        let copied = || copy_output(from, &last, to, &found.written);
        let kept = if found.shared { with_parents(to, copied) } else { with_parents(to, moved) };
        kept.map_err(|e| format!("output '{name}' cannot be kept: {e}"))?;
        written.push(found.written);
    }
    Ok(written)
}

/// The folder of an output inside that of the attempt, if it is not that itself, and its last name. No
/// link is followed.
fn parent_of(work: &OwnedFd, name: &str) -> Result<(Option<OwnedFd>, OsString), String> {
    let mut parent: Option<OwnedFd> = None;
    let path = Path::new(name);
    let last = path.file_name().unwrap_or(OsStr::new(name)).to_os_string();
    for part in path.parent().into_iter().flat_map(Path::components) {
        let std::path::Component::Normal(part) = part else { continue };
        let inner = openat(parent.as_ref().unwrap_or(work), part, DIRECTORY, Mode::empty());
        parent = Some(inner.map_err(|error| match error {
            Errno::NOENT => format!("output '{name}' was not written"),
            Errno::NOTDIR | Errno::LOOP => {
                format!("output '{name}' lies behind a link, or in what is no folder")
            }
            error => format!("output '{name}': {}", Error::from(error)),
        })?);
    }
    Ok((parent, last))
}

const READ: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Checks one output; links and folders are none, nor is what lies behind them.
fn look_at(work: &OwnedFd, name: &str, checksum_limit: Option<u64>) -> Result<Found, String> {
    let (parent, last) = parent_of(work, name)?;
    let opened = openat(parent.as_ref().unwrap_or(work), &last, READ, Mode::empty());
    let mut file = File::from(opened.map_err(|error| match error {
        Errno::NOENT => format!("output '{name}' was not written"),
        Errno::LOOP => format!("output '{name}' is a link, not a file"),
        Errno::NXIO => format!("output '{name}' is no file"),
        error => format!("output '{name}': {}", Error::from(error)),
    })?);
    let told = |e: Error| format!("output '{name}': {e}");
    let found = file.metadata().map_err(told)?;
    if !found.is_file() {
        return Err(format!("output '{name}' is no file"));
    }
    let checksum = match checksum_limit {
        Some(limit) if found.len() > limit => None,
        _ => Some(checksum_of(&mut file).map_err(told)?),
    };
    let shared = found.nlink() > 1;
    if !shared {
        // What others will read is not to be changed in place.
        let _ = fchmod(&file, Mode::from_raw_mode(found.mode() & 0o555));
    }
    Ok(Found { written: Written { bytes: found.len(), checksum }, shared })
}

/// Copies an output to its place, where it appears whole and read-only; the original stays as it is.
fn copy_output(from: &OwnedFd, last: &OsStr, to: &Path, written: &Written) -> std::io::Result<()> {
    let mut source = File::from(openat(from, last, READ, Mode::empty())?);
    let mut part = to.as_os_str().to_owned();
    part.push(".slackline-part");
    let part = Path::new(&part);
    let _ = fs::remove_file(part); // an earlier try may have left one
    let copied = (|| {
        let mut target = File::options().read(true).write(true).create_new(true).open(part)?;
        std::io::copy(&mut source, &mut target)?;
        let mode = source.metadata()?.mode() & 0o555;
        fchmod(&target, Mode::from_raw_mode(mode))?;
        std::io::Seek::rewind(&mut target)?;
        let same = match &written.checksum {
            Some(checksum) => checksum_of(&mut target)? == *checksum,
            None => target.metadata()?.len() == written.bytes,
        };
        if !same {
            return Err(Error::other("it was changed while it was copied"));
        }
        fs::rename(part, to)
    })();
    if copied.is_err() {
        let _ = fs::remove_file(part); // it may not be there
    }
    copied
}

/// XXH3 of a file, in hexadecimal.
pub fn checksum(path: &Path) -> std::io::Result<String> {
    checksum_of(&mut File::open(path)?)
}

/// State and checksum of one of the user's own files.
pub fn stamped_checksum(path: &Path) -> std::io::Result<(Stamp, String)> {
    let mut file = File::open(path)?;
    let stamp = Stamp::of(&file.metadata()?);
    let checksum = checksum_of(&mut file)?;
    check_stamp(&file, Some(stamp))?;
    Ok((stamp, checksum))
}

fn checksum_of(file: &mut File) -> std::io::Result<String> {
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

/// Copies a file so that its name shows only a whole one, no faster than the pace; `stop` breaks off. A
/// file of the user has to be in the state given.
pub(crate) fn copy_paced(
    from: &Path,
    to: &Path,
    part: &Path,
    pace: Option<&mut dyn Pace>,
    stop: &dyn Fn() -> bool,
    stamp: Option<Stamp>,
) -> std::io::Result<u64> {
    let mut source = File::open(from)?;
    check_stamp(&source, stamp)?;
    let meta = source.metadata()?;
    let size = meta.len();
    let _ = fs::remove_file(part); // what an earlier try left may not be writable
    let mut target = None;
    with_parents(part, || {
        target = Some(File::options().write(true).create_new(true).open(part)?);
        Ok(())
    })?;
    let mut target = target.ok_or(ErrorKind::NotFound)?;
    if let Some(pace) = pace {
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
        std::io::copy(&mut source, &mut target)?;
    }
    let done =
        if stop() { Err(ErrorKind::Interrupted.into()) } else { check_stamp(&source, stamp) };
    if let Err(error) = done {
        let _ = fs::remove_file(part);
        return Err(error);
    }
    let copied = target.metadata()?.len();
    if copied != size {
        let _ = fs::remove_file(part);
        return Err(Error::other(format!("{copied} of {size} bytes were copied")));
    }
    fchmod(&target, Mode::from_raw_mode(meta.mode() & 0o555))?;
    with_parents(to, || fs::rename(part, to))?;
    Ok(size)
}

/// A folder of a machine in which attempts get folders with random names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratch {
    /// The folder, by an absolute path without links.
    pub base: PathBuf,
    /// How names of a host of the run begin.
    pub host: String,
    /// How names of the attempt begin.
    pub attempt: String,
}

impl Scratch {
    /// Creates a folder for the attempt that nobody else can enter.
    pub(super) fn fresh(&self) -> std::io::Result<PathBuf> {
        let base = private::open_directory(&self.base, true)?;
        let (name, _) = private::fresh_directory(&base, &self.base, &self.attempt)?;
        Ok(self.base.join(name))
    }

    /// Removes folders of this user that dead attempts have left: all of the host, or those of the
    /// attempt only.
    pub(crate) fn sweep(&self, whole_host: bool) {
        let begin = if whole_host { &self.host } else { &self.attempt };
        let Ok(base) = private::open_directory(&self.base, false) else { return };
        let Ok(entries) = rustix::fs::Dir::read_from(&base) else { return };
        for entry in entries.flatten() {
            let Some(name) = entry.file_name().to_str().ok().filter(|n| n.starts_with(begin))
            else {
                continue;
            };
            let path = self.base.join(name);
            let own = private::enter(&base, OsStr::new(name), &path)
                .and_then(|opened| private::check_private(opened, &path));
            if own.is_ok() {
                let _ = fs::remove_dir_all(&path); // as far as it goes
            }
        }
    }
}
