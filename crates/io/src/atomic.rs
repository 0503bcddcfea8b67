//! Files that are written whole or not at all.

use crate::error::{Fault, FormatError, Result};
use crate::files::is_standard;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tempfile::TempPath;

/// A file that is written whole or not at all: the text goes to a temporary file in the same
/// folder, which is renamed on [`AtomicFile::commit`]. An existing file stays as it was when
/// anything fails before that. Missing parent folders are created. Devices, pipes and [`crate::STANDARD`]
/// output are written directly; of a symbolic link, the target is replaced, not the link.
pub struct AtomicFile {
    /// The path as the caller gave it.
    path: PathBuf,
    out: ErrorWatch<BufWriter<Target>>,
    /// The temporary file and the path it is renamed to.
    renamed: Option<(TemporaryFile, PathBuf)>,
}

/// The destination of bytes.
enum Target {
    Standard(std::io::Stdout),
    File(File),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Target::Standard(out) => out.write(bytes),
            Target::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Target::Standard(out) => out.flush(),
            Target::File(out) => out.flush(),
        }
    }
}

/// An error of the system as one of the machine, not of the input.
fn machine(error: std::io::Error) -> FormatError {
    FormatError { fault: Fault::Machine, ..error.into() }
}

impl AtomicFile {
    pub(crate) fn create(path: &Path, unfinished: &Unfinished) -> Result<AtomicFile> {
        if is_standard(path) {
            let target = Target::Standard(std::io::stdout());
            return Ok(AtomicFile::new(Path::new("<stdout>"), target, None));
        }
        let real = std::fs::canonicalize(path);
        let real = real.as_deref().unwrap_or(path);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|e| machine(e).in_file(folder))?;
        }
        let begun = match std::fs::symlink_metadata(real) {
            Ok(meta) if meta.is_dir() => Err(FormatError::new("is a folder, not a file")),
            Ok(meta) if !meta.is_file() => open_directly(real).map(|file| (file, None)),
            _ => TemporaryFile::beside(real, unfinished)
                .map(|(file, temporary)| (file, Some((temporary, real.to_path_buf())))),
        };
        let (file, renamed) = begun.map_err(|e| e.in_file(path))?;
        Ok(AtomicFile::new(path, Target::File(file), renamed))
    }

    fn new(path: &Path, target: Target, renamed: Option<(TemporaryFile, PathBuf)>) -> AtomicFile {
        let out = ErrorWatch { out: BufWriter::with_capacity(1 << 16, target), failed: None };
        AtomicFile { path: path.to_path_buf(), out, renamed }
    }

    /// Flushes the text to disk and renames the file. A file that it replaces hands on its permissions.
    pub fn commit(mut self) -> Result<()> {
        if let Err(error) = self.out.flush() {
            return Err(self.fail(error));
        }
        let Some((temporary, path)) = self.renamed.take() else { return Ok(()) };
        let Target::File(file) = self.out.out.get_ref() else { return Ok(()) };
        if let Ok(old) = std::fs::metadata(&path) {
            let _ = file.set_permissions(old.permissions());
        }
        let named = file.sync_all().and_then(|()| temporary.rename(&path));
        named.map_err(|e| machine(e).in_file(&self.path))
    }

    /// Completes the error of a text that could not be written, with the file and the [`Fault`].
    pub fn fail(&self, error: impl Into<FormatError>) -> FormatError {
        self.out.blame(error.into()).in_file(&self.path)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// Opens a device or pipe, or creates the target of a dangling link.
fn open_directly(path: &Path) -> Result<File> {
    let dangling = path.is_symlink();
    File::options().write(true).create(dangling).open(path).map_err(machine)
}

/// A writer that remembers the first error of the system: formatters above it report another one, which
/// no longer shows whose fault it was.
struct ErrorWatch<W> {
    out: W,
    failed: Option<ErrorKind>,
}

impl<W> ErrorWatch<W> {
    /// The error with the fault that the first error of the system implies.
    fn blame(&self, error: FormatError) -> FormatError {
        let fault = match self.failed {
            None => error.fault,
            Some(ErrorKind::BrokenPipe) => Fault::ReaderGone,
            Some(_) => Fault::Machine,
        };
        FormatError { fault, ..error }
    }

    fn watch<T>(&mut self, done: std::io::Result<T>) -> std::io::Result<T> {
        self.failed = self.failed.or(done.as_ref().err().map(std::io::Error::kind));
        done
    }
}

impl<W: Write> Write for ErrorWatch<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let done = self.out.write(bytes);
        self.watch(done)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let done = self.out.flush();
        self.watch(done)
    }
}

/// The temporary files of writes that have begun and not ended; clones share the list.
#[derive(Clone, Default)]
pub(crate) struct Unfinished(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    paths: Vec<PathBuf>,
    /// No write may begin or be committed any more.
    abandoned: bool,
}

impl Unfinished {
    fn lock(&self) -> MutexGuard<'_, Open> {
        // A list of paths is whole whatever happened to the thread that held it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn abandon(&self) {
        let mut open = self.lock();
        open.abandoned = true;
        for path in open.paths.drain(..) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A temporary file with a unique name, removed when this is dropped.
struct TemporaryFile {
    path: TempPath,
    unfinished: Unfinished,
}

impl TemporaryFile {
    fn beside(path: &Path, unfinished: &Unfinished) -> Result<(File, TemporaryFile)> {
        let name = path.file_name().ok_or_else(|| FormatError::new("not a file name"))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut open = unfinished.lock();
        if open.abandoned {
            return Err(machine(ErrorKind::Interrupted.into()));
        }
        let made = tempfile::Builder::new()
            .prefix(&format!(".{}.", name.to_string_lossy()))
            .suffix(".tmp")
            .make_in(folder.unwrap_or(Path::new(".")), |path| {
                // The user's own mask sets the permissions, as for any other file.
                File::options().write(true).create_new(true).open(path)
            });
        let (file, path) = made.map_err(machine)?.into_parts();
        open.paths.push(path.to_path_buf());
        drop(open);
        Ok((file, TemporaryFile { path, unfinished: unfinished.clone() }))
    }

    fn rename(self, path: &Path) -> std::io::Result<()> {
        // The lock keeps `abandon` from removing the file between the check and the rename.
        let open = self.unfinished.lock();
        if open.abandoned {
            return Err(ErrorKind::Interrupted.into());
        }
        std::fs::rename(&self.path, path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // The file itself is removed by its path's own destructor, if it still has that name.
        self.unfinished.lock().paths.retain(|path| *path != *self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileAccess;

    fn count(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let files = FileAccess::default();
        files.write(&path, |out| out.write_all(b"first")).unwrap();
        let failed = files.write(&path, |out| {
            out.write_all(b"second")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(count(folder.path()), 1, "no litter");
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let files = FileAccess::default();
        let mut file = files.create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(count(folder.path()), 0, "no litter");
        let mut file = files.create(&path).unwrap();
        file.write_all(b"all").unwrap();
        file.commit().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "all");
        assert_eq!(count(folder.path()), 1, "no litter");
    }

    #[test]
    fn abandoned_writes_leave_nothing_and_cannot_continue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let files = FileAccess::default();
        let mut file = files.create(&path).unwrap();
        file.write_all(b"half").unwrap();
        files.abandon_writes();
        assert_eq!(count(folder.path()), 0, "no litter");
        assert!(file.commit().is_err());
        assert!(files.create(&path).is_err());
        assert_eq!(count(folder.path()), 0, "no litter");
        // Another caller's writes continue.
        FileAccess::default().write(&path, |out| out.write_all(b"other")).unwrap();
    }

    #[test]
    fn two_writers_of_one_file_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let files = FileAccess::default();
        let (mut one, mut two) = (files.create(&path).unwrap(), files.create(&path).unwrap());
        one.write_all(b"one").unwrap();
        two.write_all(b"two").unwrap();
        one.commit().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one");
        two.commit().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(count(folder.path()), 1, "no litter");
    }

    #[test]
    fn links_and_pipes_are_written_directly() {
        let folder = tempfile::tempdir().unwrap();
        let files = FileAccess::default();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        files.write(&link, |out| out.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");

        let (nowhere, dangling) = (folder.path().join("nowhere"), folder.path().join("dangling"));
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        files.write(&dangling, |out| out.write_all(b"there")).unwrap();
        assert!(dangling.is_symlink());
        assert_eq!(std::fs::read_to_string(&nowhere).unwrap(), "there");

        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        files.write(&pipe, |out| out.write_all(b"through")).unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(!std::fs::symlink_metadata(&pipe).unwrap().is_file());
    }

    #[test]
    fn a_full_disk_is_the_machines_fault() {
        let files = FileAccess::default();
        let full = Path::new("/dev/full");
        if full.exists() {
            let error = files.write(full, |out| out.write_all(b"x")).unwrap_err();
            assert_eq!(error.fault, Fault::Machine);
        }
        let folder = tempfile::tempdir().unwrap();
        let refused = |_: &mut dyn Write| Err(FormatError::new("cannot be said in this format"));
        let error = files.write(&folder.path().join("x"), refused).unwrap_err();
        assert_eq!(error.fault, Fault::Input);
    }
}
