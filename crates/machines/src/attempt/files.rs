//! The files of an attempt: inputs are brought in so that the original cannot be changed through them,
//! outputs are checked and moved out by one rename.

use super::{AttemptError, packed, process};
use crate::private::{self, DIRECTORY};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fchmod, openat, renameat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use xxhash_rust::xxh3::Xxh3;

/// An output as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Its size.
    pub bytes: u64,
    /// XXH3, 64 bits, in hexadecimal; none where it was too large for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Its time of modification, as in [`Stamp`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<(i64, i64)>,
    /// Path at which the attempt has left it, for the acceptance of the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
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

/// The content that a file of a store has to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Its state when it was accepted. A file in another state has to have the checksum.
    pub stamp: Stamp,
    /// XXH3, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl Version {
    /// Whether a file whose state was found to be so has this content.
    fn is_in(&self, path: &Path, found: Stamp) -> std::io::Result<bool> {
        let same = |known: &String| Ok(checksum(path)? == *known);
        match &self.checksum {
            _ if found == self.stamp => Ok(true),
            Some(known) if found.bytes == self.stamp.bytes => same(known),
            _ => Ok(false),
        }
    }

    /// Whether a copy of a file has this content, though the original may have been changed meanwhile.
    pub(crate) fn is_in_copy(&self, original: &Path, copy: &Path) -> std::io::Result<bool> {
        self.is_in(copy, Stamp::of(&fs::metadata(original)?))
    }
}

/// Whether there is certainly no file at a path. One that cannot be examined for another reason, such as
/// a denied permission or a stale handle, may be there.
pub(crate) fn is_missing(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(found) => !found.is_file(),
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
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

/// Message about a user's file that was modified during the run.
const CHANGED: &str = "has changed since the run began";

/// Size in bytes from which files of the user are linked for the superuser, too, although their mode does not prevent the
/// superuser from writing: a copy for each attempt would fill disks, and what was written to is found after the attempt.
const LINKED_FOR_ANYBODY: u64 = 16 << 20;

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

/// Inputs of an attempt.
pub(super) struct Inputs<'a> {
    /// The name that the task knows, and where the file is.
    pub(super) files: &'a [(String, PathBuf)],
    /// Those that are the user's own, by position.
    pub(super) own: &'a [(usize, Option<Stamp>)],
    /// Expected versions of other inputs, by position.
    pub(super) versions: &'a [(usize, Version)],
    /// The folder of the store where the user's files are kept for all attempts, if there is one.
    pub(super) keep: Option<&'a Path>,
}

/// Brings inputs into a folder under their names. Files of a store are linked if attempts cannot write
/// through the link: they are read-only, and this user is not exempt from that. All others are copied. Those of the
/// user are brought into the store once, and linked from there alone; [`spoilt`] finds what was written to all the same.
pub(super) fn bring(work: &Path, inputs: &Inputs<'_>) -> Result<Vec<Linked>, AttemptError> {
    let mut linked = Vec::new();
    let mut programs = false;
    for (index, (name, from)) in inputs.files.iter().enumerate() {
        let to = work.join(name);
        let stamp = inputs.own.binary_search_by_key(&index, |(index, _)| *index);
        let known = inputs.versions.binary_search_by_key(&index, |(index, _)| *index);
        let known = known.ok().map(|at| &inputs.versions[at].1);
        let mut copied = |stamp: Option<Stamp>| {
            let mut source = File::open(from)?;
            check_stamp(&source, stamp)?;
            let mut target = File::options().write(true).create_new(true).open(&to)?;
            std::io::copy(&mut source, &mut target)?;
            check_stamp(&source, stamp)?;
            let meta = source.metadata()?;
            let mode = meta.mode() & 0o777;
            programs |= mode & 0o111 != 0;
            fchmod(&target, Mode::from_raw_mode(mode | 0o600))?;
            Ok(Stamp::of(&meta))
        };
        let kept = match (stamp.map(|at| inputs.own[at].1), inputs.keep) {
            (Ok(Some(stamp)), Some(folder)) => keep(from, &folder.join(name), stamp),
            _ => Ok(None),
        };
        let is_kept = matches!(kept, Ok(Some(_)));
        let stored = match (&stamp, &kept) {
            (Err(_), _) => Some(from),
            (Ok(_), Ok(kept)) => kept.as_ref(),
            (Ok(_), Err(_)) => None,
        };
        // A folder that a task has written is kept packed.
        let folder = stamp.is_err() && packed::is_packed(from).unwrap_or(false);
        let stamp = stamp.map_or(None, |at| inputs.own[at].1);
        let brought = if folder {
            let unpacked = with_parents(&to, || packed::unpack(from, &to));
            unpacked.and_then(|has_programs| {
                programs |= has_programs;
                Ok(Stamp::of(&fs::metadata(from)?))
            })
        } else {
            kept.as_ref().map_err(|e| Error::new(e.kind(), e.to_string())).and_then(|_| {
                with_parents(&to, || match stored.filter(|path| is_kept || is_fixed(path)) {
                    Some(path) => match fs::hard_link(path, &to) {
                        Ok(()) => {
                            let meta = fs::metadata(&to)?;
                            let found = Stamp::of(&meta);
                            let version =
                                known.cloned().unwrap_or(Version { stamp: found, checksum: None });
                            linked.push(Linked {
                                index,
                                path: path.clone(),
                                file: meta.ino(),
                                version,
                            });
                            Ok(found)
                        }
                        Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
                        Err(_) => copied(stamp),
                    },
                    None => copied(stamp),
                })
            })
        };
        let brought = brought.and_then(|found| match known {
            Some(known) => known.is_in(if folder { from } else { &to }, found),
            None => Ok(true),
        });
        match brought {
            Ok(true) => {}
            Ok(false) => {
                let _ = fs::remove_file(from); // the process that changed it may have done so
                return Err(AttemptError::InputGone { index, name: name.clone() });
            }
            Err(_) if is_missing(from) => {
                return Err(AttemptError::InputGone { index, name: name.clone() });
            }
            Err(error) if error.to_string() == CHANGED => {
                return Err(AttemptError::Impossible(format!("input '{name}' {CHANGED}")));
            }
            Err(error) => {
                let why = format!("input '{name}' cannot be brought: {error}");
                return Err(AttemptError::Failed { why, exit: None, last_lines: Vec::new() });
            }
        }
    }
    if programs {
        process::wait_for_starts();
    }
    Ok(linked)
}

/// Files that are being brought into a store, one of each at a time.
static KEEPING: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());

/// Brings a file of the user into a store, read-only, where it is not there in this state yet. Returns where it is; nowhere
/// for small files of the superuser, who could write to them all the same.
fn keep(from: &Path, to: &Path, stamp: Stamp) -> std::io::Result<Option<PathBuf>> {
    if stamp.bytes < LINKED_FOR_ANYBODY && rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let lock = {
        let mut keeping = KEEPING.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(keeping.entry(to.to_path_buf()).or_default())
    };
    let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let is_kept = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && Stamp::of(&found) == stamp)
    };
    if !is_kept(to) {
        // Pilots on other nodes may bring it at the same time.
        let mut part = to.as_os_str().to_owned();
        part.push(format!(
            ".{}.{:x}.part",
            std::process::id(),
            u64::from_ne_bytes(private::random()?)
        ));
        let part = PathBuf::from(part);
        let brought = copy_paced(from, &part, None, &|| false, Some(stamp)).and_then(|_| {
            set_modified(&part, stamp.modified);
            publish(&part, to)
        });
        if brought.is_err() {
            let _ = fs::remove_file(&part); // it may never have been there
        }
        brought?;
    }
    // Where the file system keeps dates less exactly it is copied each time.
    Ok(is_kept(to).then(|| to.to_path_buf()))
}

/// An input that is a file of a store under a further name.
pub(super) struct Linked {
    index: usize,
    /// Path in the store.
    path: PathBuf,
    /// Its inode: another file may take its name while the task runs.
    file: u64,
    version: Version,
}

/// Looks for inputs that were changed in spite of their mode while a task ran, by this one or by another
/// that reads the same file, and removes them from the store: they are fetched or made again. Returns the
/// name of one.
pub(super) fn spoilt<'a>(
    work: &Path,
    inputs: &'a [(String, PathBuf)],
    linked: &[Linked],
) -> Option<&'a str> {
    let mut spoilt = None;
    for Linked { index, path: from, file, version } in linked {
        let (name, _) = &inputs[*index];
        let same = |path: &Path| {
            fs::symlink_metadata(path).ok().filter(|found| found.ino() == *file && found.is_file())
        };
        // The task may have removed its own name of the file, others that of the store.
        let own = work.join(name);
        let found = [&own, from].into_iter().find_map(|path| Some((path, same(path)?)));
        let Some((path, found)) = found else {
            spoilt = Some(name.as_str());
            continue;
        };
        if !version.is_in(path, Stamp::of(&found)).unwrap_or(false) {
            if same(from).is_some() {
                let _ = fs::remove_file(from); // another attempt may have done so
            }
            spoilt = Some(name.as_str());
            continue;
        }
        if Stamp::of(&found) != version.stamp {
            set_modified(path, version.stamp.modified); // so that it need not be read next time
        }
        if !found.permissions().readonly() {
            let mode = Mode::from_raw_mode(found.mode() & 0o555);
            let _ = rustix::fs::chmod(path, mode); // it may be gone
        }
    }
    spoilt
}

/// Gives a file its time of modification back, as far as that is permitted.
fn set_modified(path: &Path, (seconds, nanoseconds): (i64, i64)) {
    let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds))
    else {
        return;
    };
    let modified = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
    let _ = File::open(path).and_then(|file| file.set_modified(modified));
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
fn with_parents<T>(path: &Path, mut act: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
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
    /// It is a folder, which is packed.
    folder: bool,
}

/// Checks that all outputs are there, then moves them to where the attempt has to leave them; all or none
/// are there in the end.
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
        let Found { written: mut output, shared, folder } = found;
        let kept = if folder {
            let packed = with_parents(to, || {
                let packed = packed::pack_into(&work.join(name), to)?;
                Ok((packed, Stamp::of(&fs::metadata(to)?)))
            });
            packed.map_err(|e| format!("output '{name}': {e}")).map(|((_, checksum), stamp)| {
                let is_known = checksum_limit.is_none_or(|limit| stamp.bytes <= limit);
                output.checksum = is_known.then_some(checksum);
                (output.bytes, output.modified) = (stamp.bytes, Some(stamp.modified));
            })
        } else {
            parent_of(&opened, name).and_then(|(parent, last)| {
                let from = parent.as_ref().unwrap_or(&opened);
                let mut moved = || {
                    match if shared { Err(Errno::XDEV) } else { renameat(from, &last, CWD, to) } {
                        // Made on a disk of the node: brought beside its place first.
                        Err(Errno::XDEV) => {
                            output.modified = Some(copy_output(
                                from,
                                &last,
                                to,
                                output.checksum.as_deref(),
                                output.bytes,
                            )?);
                            Ok(())
                        }
                        done => Ok(done?),
                    }
                };
                let kept = with_parents(to, &mut moved);
                kept.map_err(|e| format!("output '{name}' cannot be kept: {e}"))
            })
        };
        if let Err(why) = kept {
            outputs.iter().take(written.len()).for_each(|(_, to)| drop(fs::remove_file(to)));
            return Err(why);
        }
        output.path = Some(to.clone());
        written.push(output);
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
                format!("output '{name}' is behind a link, or in what is no folder")
            }
            error => format!("output '{name}': {}", Error::from(error)),
        })?);
    }
    Ok((parent, last))
}

const READ: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Checks one output; links are none, nor is what is behind them.
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
    if found.is_dir() {
        let written = Written { bytes: 0, checksum: None, modified: None, path: None };
        return Ok(Found { written, shared: false, folder: true });
    }
    if !found.is_file() {
        return Err(format!("output '{name}' is neither file nor folder"));
    }
    if packed::begins_packed(&mut file).map_err(told)? {
        return Err(format!("output '{name}' is a folder that slackline has packed: unpack it"));
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
    let Stamp { bytes, modified } = Stamp::of(&found);
    let written = Written { bytes, checksum, modified: Some(modified), path: None };
    Ok(Found { written, shared, folder: false })
}

/// Copies an output to its place, where it appears whole and read-only; the original stays as it is. Returns
/// when the copy was modified.
fn copy_output(
    from: &OwnedFd,
    last: &OsStr,
    to: &Path,
    known: Option<&str>,
    bytes: u64,
) -> std::io::Result<(i64, i64)> {
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
        let same = match known {
            Some(checksum) => checksum_of(&mut target)? == *checksum,
            None => target.metadata()?.len() == bytes,
        };
        if !same {
            return Err(Error::other("it was changed while it was copied"));
        }
        fs::rename(part, to)?;
        Ok(Stamp::of(&target.metadata()?).modified)
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

/// The checksum of a file of these bytes.
pub fn checksum_of_bytes(bytes: &[u8]) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bytes))
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

/// Limit on the speed of a copy.
pub(crate) trait Pace {
    /// Bytes that are copied at a time.
    fn chunk(&self, size: u64) -> usize;
    /// When so many more bytes of a file of that size may have arrived.
    fn due(&mut self, bytes: u64, size: u64) -> Instant;
}

/// Copies a file under a name of its own, read-only, no faster than the pace; `stop` breaks off. A file of
/// the user has to be in the state given. Returns the state of the copy.
pub(crate) fn copy_paced(
    from: &Path,
    part: &Path,
    pace: Option<&mut dyn Pace>,
    stop: &dyn Fn() -> bool,
    stamp: Option<Stamp>,
) -> std::io::Result<Stamp> {
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
        let mut chunk = vec![0; pace.chunk(size)];
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
    let copied = Stamp::of(&target.metadata()?);
    if copied.bytes != size {
        let _ = fs::remove_file(part);
        return Err(Error::other(format!("{} of {size} bytes were copied", copied.bytes)));
    }
    fchmod(&target, Mode::from_raw_mode(meta.mode() & 0o555))?;
    Ok(copied)
}

/// Gives a whole file the name under which others find it, in place of what had that name.
pub(crate) fn publish(from: &Path, to: &Path) -> std::io::Result<()> {
    with_parents(to, || fs::rename(from, to))
}

/// A folder of a machine in which attempts get folders with random names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratch {
    /// The folder, by an absolute path without links.
    pub base: PathBuf,
    /// Prefix of the names of a host of the run.
    pub host: String,
    /// Prefix of the names of the attempt.
    pub attempt: String,
}

impl Scratch {
    /// Creates a folder for the attempt that no other user can enter.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn brought(root: &Path, known: &Version, name: &str) -> Result<Vec<Linked>, AttemptError> {
        let work = root.join(name);
        fs::create_dir(&work).unwrap();
        let files = [("in".to_string(), root.join("stored"))];
        let versions = [(0, known.clone())];
        bring(&work, &Inputs { files: &files, own: &[], versions: &versions, keep: None })
    }

    #[test]
    fn a_file_that_was_touched_is_used_and_one_that_was_changed_is_not() {
        let root = tempfile::tempdir().unwrap();
        let stored = root.path().join("stored");
        fs::write(&stored, "right").unwrap();
        fs::set_permissions(&stored, fs::Permissions::from_mode(0o444)).unwrap();
        let (stamp, sum) = stamped_checksum(&stored).unwrap();
        let known = Version { stamp, checksum: Some(sum) };
        assert!(brought(root.path(), &known, "same").is_ok());
        set_modified(&stored, (1_000_000_000, 0));
        assert_ne!(Stamp::of(&fs::metadata(&stored).unwrap()), stamp);
        assert!(brought(root.path(), &known, "touched").is_ok());
        // Without a checksum this is unknown, and it is made again.
        let unsure = Version { checksum: None, ..known.clone() };
        let gone = |made: Result<Vec<Linked>, AttemptError>| {
            matches!(made, Err(AttemptError::InputGone { .. }))
        };
        assert!(gone(brought(root.path(), &unsure, "unsure")));
        assert!(!stored.exists());
        fs::write(&stored, "wrong").unwrap();
        assert!(gone(brought(root.path(), &known, "changed")));
        assert!(!stored.exists());
    }

    /// A reader whose input is changed by another one that has ended meanwhile, and has taken it away.
    #[test]
    fn a_reader_notices_what_another_one_has_changed() {
        let root = tempfile::tempdir().unwrap();
        let (stored, work) = (root.path().join("stored"), root.path().join("work"));
        fs::write(&stored, "right").unwrap();
        fs::create_dir(&work).unwrap();
        fs::hard_link(&stored, work.join("in")).unwrap();
        let meta = fs::metadata(&stored).unwrap();
        let known = checksum(&stored).ok();
        let version = Version { stamp: Stamp::of(&meta), checksum: known };
        let linked = [Linked { index: 0, path: stored.clone(), file: meta.ino(), version }];
        let inputs = [("in".to_string(), stored.clone())];
        assert_eq!(spoilt(&work, &inputs, &linked), None);
        // Only its date: it gets that back.
        set_modified(&stored, (1_000_000_000, 0));
        assert_eq!(spoilt(&work, &inputs, &linked), None);
        assert_eq!(Stamp::of(&fs::metadata(&stored).unwrap()), linked[0].version.stamp);
        // The file is made again by others; its own name shows what it has read.
        fs::write(&stored, "wrong").unwrap();
        set_modified(&stored, (1_000_000_000, 0));
        fs::remove_file(&stored).unwrap();
        fs::write(&stored, "right").unwrap();
        assert_eq!(spoilt(&work, &inputs, &linked), Some("in"));
        assert!(stored.exists());
        // If nothing is left of it, this cannot be known.
        fs::remove_file(work.join("in")).unwrap();
        assert_eq!(spoilt(&work, &inputs, &linked), Some("in"));
    }
}
