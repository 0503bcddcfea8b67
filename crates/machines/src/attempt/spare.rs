//! Folders of attempts that have ended, empty again, for attempts to come: a file system renames a folder far faster
//! than it removes one and creates another, with the files in it.

use super::{STDERR, STDOUT, files, orphans};
use crate::private::DIRECTORY;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs;
use std::io::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Folders for attempts to come.
#[derive(Default)]
pub(crate) struct Spares {
    /// Only this process makes attempts of the run.
    exclusive: bool,
    lists: Mutex<Lists>,
}

#[derive(Default)]
struct Lists {
    /// Working folders, empty.
    work: Vec<PathBuf>,
    /// Folders for what attempts say, with the files for it, which are empty.
    captured: Vec<Captured>,
    /// Those of attempts under way.
    busy: Vec<Captured>,
    /// Mode, user and group of new working folders, by the folder around them.
    forms: HashMap<PathBuf, Form>,
}

type Form = (u32, u32, u32);

/// A folder for what an attempt says, inside that of its task.
struct Captured {
    folder: PathBuf,
    /// Nothing else is in the folder of the task.
    alone: bool,
}

impl Captured {
    fn of_task(&self) -> &Path {
        around(&self.folder)
    }

    /// Removes the folder with its empty files.
    fn remove(&self) {
        for name in [STDOUT, STDERR] {
            let _ = fs::remove_file(self.folder.join(name)); // it may be gone
        }
        self.remove_empty();
    }

    /// Removes the folder, and that of the task, where nothing is in them.
    fn remove_empty(&self) {
        if fs::remove_dir(&self.folder).is_ok() {
            let _ = fs::remove_dir(self.of_task()); // other attempts may be in it
        }
    }

    /// Renames the folder; returns whether nothing else is in that of the task there.
    fn rename(&self, to: &Path) -> Option<bool> {
        let of_task = around(to);
        if self.alone && fs::rename(self.of_task(), of_task).is_ok() {
            if self.folder.file_name() == to.file_name() {
                return Some(true);
            }
            let moved = of_task.join(self.folder.file_name()?);
            return fs::rename(moved, to).is_ok().then_some(true);
        }
        let created = fs::create_dir(of_task).is_ok();
        fs::rename(&self.folder, to).ok()?;
        let _ = fs::remove_dir(self.of_task()); // other attempts may be in it
        Some(created)
    }
}

fn around(folder: &Path) -> &Path {
    folder.parent().unwrap_or(folder)
}

impl Spares {
    /// None yet; `exclusive` says that no other process makes attempts of the run.
    pub(crate) fn new(exclusive: bool) -> Spares {
        Spares { exclusive, ..Spares::default() }
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a working folder, with nothing in it.
    pub(super) fn make_work(&self, folder: &Path) -> std::io::Result<()> {
        let (spare, form) = {
            let mut lists = self.lists();
            let at = lists.work.iter().position(|spare| around(spare) == around(folder));
            let spare = at.map(|at| lists.work.swap_remove(at));
            (spare, lists.forms.get(around(folder)).copied())
        };
        if let Some(spare) = spare {
            if fs::rename(&spare, folder).is_err() {
                let _ = fs::remove_dir(&spare); // its host may be gone
            } else if is_empty(folder, form) {
                return Ok(());
            }
        }
        files::fresh(folder)?;
        if form.is_none() {
            let found = fs::symlink_metadata(folder)?;
            let form = (found.mode(), found.uid(), found.gid());
            self.lists().forms.insert(around(folder).to_path_buf(), form);
        }
        Ok(())
    }

    /// Takes back the working folder of an attempt that has succeeded; what is in it is removed.
    pub(super) fn take_work(&self, folder: &Path) {
        let form = self.lists().forms.get(around(folder)).copied();
        // Whatever has taken its place is not followed.
        let emptied = openat(CWD, folder, DIRECTORY, Mode::empty())
            .map_err(Error::from)
            .and_then(|opened| empty(&opened).map(|()| form_of(&opened)));
        if form.is_some() && matches!(emptied, Ok(found) if found == form) {
            self.lists().work.push(folder.to_path_buf());
        } else {
            let _ = fs::remove_dir_all(folder); // it may be gone
        }
    }

    /// Makes a folder for what an attempt says.
    pub(super) fn make_captured(&self, folder: &Path) -> std::io::Result<()> {
        let mut guard = self.lists();
        let lists = &mut *guard;
        for other in lists.captured.iter_mut().chain(&mut lists.busy) {
            other.alone &= other.of_task() != around(folder);
        }
        let spare = lists.captured.pop();
        let renamed = spare.as_ref().and_then(|spare| spare.rename(folder));
        let alone = match renamed {
            Some(alone) => alone,
            None => {
                spare.iter().for_each(Captured::remove);
                let created = fs::create_dir(around(folder)).is_ok();
                files::make(folder)?;
                created
            }
        };
        let alone = alone && self.exclusive;
        lists.busy.push(Captured { folder: folder.to_path_buf(), alone });
        Ok(())
    }

    /// Takes back the folder for what an attempt says, unless it said something or left something else there. Files
    /// that are empty are removed: a run of many tasks would use up the inodes of a file system.
    pub(super) fn take_captured(&self, folder: &Path, succeeded: bool) {
        let mut lists = self.lists();
        let at = lists.busy.iter().position(|busy| busy.folder == folder);
        let Some(captured) = at.map(|at| lists.busy.swap_remove(at)) else { return };
        let is_silent = |name: &&str| {
            fs::symlink_metadata(folder.join(name))
                .is_ok_and(|found| found.is_file() && found.len() == 0 && found.nlink() == 1)
        };
        let silent: Vec<&str> = [STDOUT, STDERR].into_iter().filter(is_silent).collect();
        // Where processes can outlive their attempt they may still write there.
        if silent.len() == 2 && succeeded && orphans::adopts() {
            lists.captured.push(captured);
            return;
        }
        for name in silent {
            let _ = fs::remove_file(folder.join(name)); // an empty file more does no harm
        }
        captured.remove_empty();
    }

    /// Removes all of them.
    pub(crate) fn remove(&self) {
        let mut lists = self.lists();
        for folder in lists.work.drain(..) {
            let _ = fs::remove_dir(folder); // its host may be gone
        }
        lists.captured.drain(..).for_each(|captured| captured.remove());
    }
}

/// Mode and owner of an open folder.
fn form_of(folder: &OwnedFd) -> Option<Form> {
    fstat(folder).ok().map(|found| (found.st_mode, found.st_uid, found.st_gid))
}

/// Whether a folder is as it was made, and nothing is in it.
fn is_empty(folder: &Path, form: Option<Form>) -> bool {
    let Ok(opened) = openat(CWD, folder, DIRECTORY, Mode::empty()) else { return false };
    form_of(&opened) == form && entries(&opened).is_ok_and(|entries| entries.is_empty())
}

/// Names in a folder.
fn entries(folder: &OwnedFd) -> Result<Vec<(std::ffi::CString, FileType)>, Errno> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            found.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(found)
}

/// Removes everything in a folder; no link is followed.
fn empty(folder: &OwnedFd) -> std::io::Result<()> {
    for (name, kind) in entries(folder)? {
        if kind != FileType::Directory {
            match unlinkat(folder.as_fd(), &name, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) if kind == FileType::Unknown => {}
                done => {
                    done?;
                    continue;
                }
            }
        }
        let inner =
            openat(folder.as_fd(), &name, DIRECTORY.union(OFlags::NONBLOCK), Mode::empty())?;
        empty(&inner)?;
        unlinkat(folder.as_fd(), &name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn working_folders_are_used_again_only_as_they_were_made() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("1"), root.path().join("2"));
        let spares = Spares::new(true);
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        spares.make_work(&one).unwrap();
        let first = inode(&one);
        fs::create_dir_all(one.join("a/b")).unwrap();
        fs::write(one.join("a/b/c"), "").unwrap();
        symlink("/", one.join("a/root")).unwrap();
        spares.take_work(&one);
        spares.make_work(&two).unwrap();
        assert!(
            !one.exists() && inode(&two) == first && fs::read_dir(&two).unwrap().next().is_none()
        );
        // A changed copy is not used, nor one that was written to since.
        fs::set_permissions(&two, fs::Permissions::from_mode(0o777)).unwrap();
        spares.take_work(&two);
        assert!(!two.exists());
        spares.make_work(&one).unwrap();
        spares.take_work(&one);
        fs::write(one.join("late"), "").unwrap();
        spares.make_work(&two).unwrap();
        assert!(fs::read_dir(&two).unwrap().next().is_none());
        // A link in its place is removed, and nothing behind it.
        let precious = root.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "").unwrap();
        fs::remove_dir(&two).unwrap();
        symlink(&precious, &two).unwrap();
        spares.take_work(&two);
        assert!(precious.join("file").exists() && two.symlink_metadata().is_err());
        spares.make_work(&two).unwrap();
        spares.take_work(&two);
        spares.remove();
        assert!(!two.exists());
    }

    #[test]
    fn folders_of_silent_attempts_are_used_again_and_those_with_words_stay() {
        let root = tempfile::tempdir().unwrap();
        let folder = |task: &str, attempt: u32| root.path().join(task).join(attempt.to_string());
        let adopting = orphans::adopt_orphans();
        for exclusive in [true, false] {
            let spares = Spares::new(exclusive);
            let make = |path: &Path, said: &str| {
                spares.make_captured(path).unwrap();
                assert_eq!(
                    fs::read_dir(path)
                        .unwrap()
                        .filter(|e| e.as_ref().unwrap().metadata().unwrap().len() > 0)
                        .count(),
                    0
                );
                fs::write(path.join(STDOUT), "").unwrap();
                fs::write(path.join(STDERR), said).unwrap();
            };
            make(&folder("a", 1), "");
            let first = fs::metadata(folder("a", 1)).unwrap().ino();
            spares.take_captured(&folder("a", 1), true);
            // Under another number, of another task.
            make(&folder("b", 2), "");
            if adopting {
                assert_eq!(fs::metadata(folder("b", 2)).unwrap().ino(), first);
            }
            assert!(!root.path().join("a").exists());
            // Another attempt at the same task keeps its folder.
            make(&folder("b", 3), "words");
            spares.take_captured(&folder("b", 2), true);
            make(&folder("c", 1), "");
            spares.take_captured(&folder("b", 3), true);
            assert_eq!(fs::read_to_string(folder("b", 3).join(STDERR)).unwrap(), "words");
            assert!(!folder("b", 3).join(STDOUT).exists() && !folder("b", 2).exists());
            spares.take_captured(&folder("c", 1), false);
            assert!(!root.path().join("c").exists());
            make(&folder("d", 1), "");
            spares.take_captured(&folder("d", 1), true);
            spares.remove();
            assert!(!root.path().join("d").exists());
            fs::remove_dir_all(root.path().join("b")).unwrap();
        }
    }
}
