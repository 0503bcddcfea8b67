//! Files and directories that no other user can read or replace. Paths are followed one component at a
//! time, without symbolic links, and the owner of every component is checked.

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Flags for a directory that must not be a symbolic link.
pub(crate) const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Write permission of the group, and of all others.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// Mode bit of directories whose entries only their owners may rename or remove.
const STICKY: u32 = 0o1000;

/// Attempts at a random name before the directory counts as unusable.
const NAMES: usize = 16;

/// Creates an error of this module: always a denied permission, with the reason in words.
pub(crate) fn denied(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::PermissionDenied, format!("{}: {why}", path.display()))
}

/// Fills an array with random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(more) => filled += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

/// Bytes as hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that a hexadecimal text of the right length stands for.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Whether an owner can be trusted with what this user does: the user, the superuser, and whoever owns
/// the root directory (the superuser of the machine, as a user namespace shows it).
fn is_trusted(owner: u32) -> bool {
    let of_root = || statat(rustix::fs::CWD, "/", AtFlags::empty()).map(|found| found.st_uid);
    owner == geteuid().as_raw() || owner == 0 || of_root() == Ok(owner)
}

/// The reason why another user could replace entries of a directory.
fn who_may_replace(found: &Stat) -> Option<String> {
    let mode = found.st_mode;
    if !is_trusted(found.st_uid) {
        return Some(format!("belongs to user {}, who can replace anything in it", found.st_uid));
    }
    if mode & STICKY != 0 {
        return None;
    }
    if mode & OTHERS_WRITE != 0 {
        return Some("every user can replace anything in it (no sticky bit)".to_string());
    }
    let own_group = found.st_gid == rustix::process::getegid().as_raw();
    if mode & GROUP_WRITES != 0 && !own_group {
        let group = found.st_gid;
        return Some(format!("group {group} can replace anything in it (no sticky bit)"));
    }
    None
}

/// Opens an absolute path component by component. No component may be a symbolic link, and none may
/// belong to, or be writable by, anyone who could replace what it holds. What is missing is created,
/// for this user only, if `create` says so.
pub(crate) fn open_directory(path: &Path, create: bool) -> Result<OwnedFd> {
    let mut directory = openat(rustix::fs::CWD, "/", DIRECTORY, Mode::empty())?;
    let mut so_far = std::path::PathBuf::from("/");
    let check = |directory: &OwnedFd, so_far: &Path| match who_may_replace(&fstat(directory)?) {
        Some(why) => Err(denied(so_far, why)),
        None => Ok(()),
    };
    for component in path.components() {
        let name = match component {
            Component::RootDir | Component::CurDir => continue,
            Component::Normal(name) => name,
            _ => return Err(denied(path, "'..' is not followed")),
        };
        check(&directory, &so_far)?;
        so_far.push(name);
        if create {
            match mkdirat(&directory, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                // It may be there though nothing can be created beside it.
                Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Who owns an entry of a directory that all can write to may still rename it: whoever owns the
        // root directory may stand for any user there.
        let all_write = fstat(&directory)?.st_mode & OTHERS_WRITE != 0;
        directory = enter(&directory, name, &so_far)?;
        let owner = fstat(&directory)?.st_uid;
        if all_write && owner != geteuid().as_raw() && owner != 0 {
            return Err(denied(&so_far, format!("belongs to user {owner}, who can replace it")));
        }
    }
    check(&directory, &so_far)?;
    Ok(directory)
}

/// Opens a directory inside another one; a symbolic link is refused.
pub(crate) fn enter(directory: impl AsFd, name: &OsStr, path: &Path) -> Result<OwnedFd> {
    match openat(&directory, name, DIRECTORY, Mode::empty()) {
        Ok(opened) => Ok(opened),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let found = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let linked = rustix::fs::FileType::from_raw_mode(found.st_mode).is_symlink();
            let why = if linked {
                "is a symbolic link; name the directory that it leads to"
            } else {
                "is not a directory"
            };
            Err(denied(path, why))
        }
        Err(error) => {
            let kind = Error::from(error).kind();
            Err(Error::new(kind, AtPath { path: path.to_path_buf(), error }))
        }
    }
}

/// An error of the system with the path it is about.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", path.display(), Error::from(*error))]
struct AtPath {
    path: PathBuf,
    error: Errno,
}

/// The number that the system gave an error; none where the refusal is our own.
pub(crate) fn errno(error: &Error) -> Option<Errno> {
    let wrapped = || error.get_ref()?.downcast_ref::<AtPath>().map(|found| found.error);
    error.raw_os_error().map(Errno::from_raw_os_error).or_else(wrapped)
}

/// Creates a directory with a random name that no other user can enter, as `mkdtemp` does; gives its
/// name and the opened directory.
pub(crate) fn fresh_directory(
    parent: impl AsFd,
    path: &Path,
    prefix: &str,
) -> Result<(String, OwnedFd)> {
    for _ in 0..NAMES {
        let name = format!("{prefix}{}", hex(&random::<12>()?));
        match mkdirat(&parent, &name, Mode::RWXU) {
            Ok(()) => {
                let made = path.join(&name);
                let directory = enter(&parent, OsStr::new(&name), &made)?;
                check_private(&directory, &made)?;
                return Ok((name, directory));
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(denied(path, "no new directory can be created in it"))
}

/// Fails where an opened file or directory belongs to another user or is open to one.
pub(crate) fn check_private(opened: impl AsFd, path: &Path) -> Result<()> {
    let found = fstat(opened)?;
    if found.st_uid != geteuid().as_raw() {
        return Err(denied(path, format!("belongs to user {}", found.st_uid)));
    }
    if found.st_mode & 0o077 != 0 {
        let mode = found.st_mode & 0o7777;
        return Err(denied(path, format!("is open to other users (mode {mode:o})")));
    }
    Ok(())
}

/// Creates a directory that only its owner can enter, or takes one that is there and belongs to this
/// user; other users lose their access to it.
pub(crate) fn make_directory(path: &Path) -> Result<()> {
    match rustix::fs::mkdir(path, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let opened = enter(rustix::fs::CWD, path.as_os_str(), path)?;
    let found = fstat(&opened)?;
    if found.st_uid != geteuid().as_raw() {
        return Err(denied(path, format!("belongs to user {}", found.st_uid)));
    }
    if found.st_mode & 0o7777 != 0o700 {
        rustix::fs::fchmod(&opened, Mode::RWXU)?;
    }
    Ok(())
}

/// Reads a file that belongs to this user and that no other user can read or write.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = openat(rustix::fs::CWD, path, flags, Mode::empty())?;
    check_private(&opened, path)?;
    let mut file = File::from(opened);
    if !file.metadata()?.is_file() {
        return Err(denied(path, "is not a file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Fails where a directory belongs to another user.
pub(crate) fn check_owner(path: &Path) -> Result<()> {
    let found = statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    if found.st_uid == geteuid().as_raw() {
        Ok(())
    } else {
        Err(denied(path, format!("belongs to user {}, not to this one", found.st_uid)))
    }
}

/// Whether users other than the owner can write to a directory.
pub(crate) fn is_open_to_writers(path: &Path) -> Result<bool> {
    let found = statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(found.st_mode & (GROUP_WRITES | OTHERS_WRITE) != 0)
}

/// The reason why every user could replace a directory: one around it is open to all, without the
/// sticky bit.
pub(crate) fn replaceable_by_all(path: &Path) -> Option<String> {
    let open = |around: &&Path| {
        let found = statat(rustix::fs::CWD, *around, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| found.st_mode & (OTHERS_WRITE | STICKY) == OTHERS_WRITE)
    };
    let around = path.ancestors().skip(1).find(open)?;
    Some(format!("every user can replace it: {} has no sticky bit", around.display()))
}
