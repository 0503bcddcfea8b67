//! Getting text from disk and putting it there: bounded, checked, whole or not at all.

use crate::error::{Fault, FormatError, Place, Result};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Largest document that is read as one text.
pub const MAX_BYTES: u64 = 1 << 30;

/// Stands for standard input where a file is read, and for standard output where one is written.
pub const STANDARD: &str = "-";

/// Whether a path stands for a standard stream.
pub fn is_standard(path: &Path) -> bool {
    [STANDARD, "/dev/stdin", "/dev/stdout"].iter().any(|name| path.as_os_str() == *name)
}

/// Texts that a program brings along, by name.
type Brought = fn(&Path) -> Option<&'static str>;

static BROUGHT: OnceLock<Brought> = OnceLock::new();

/// From now on names that are no files may stand for texts that the program brings along: a
/// property of the process, said once.
pub fn bring(texts: Brought) {
    // Whoever said it first said the same.
    let _ = BROUGHT.set(texts);
}

/// Reads a whole UTF-8 file of at most [`MAX_BYTES`].
pub fn read_text(path: &Path) -> Result<String> {
    if is_standard(path) {
        return standard_input();
    }
    if let Some(text) = BROUGHT.get().and_then(|texts| texts(path))
        && !path.exists()
    {
        return Ok(text.to_string());
    }
    let fail = |e: std::io::Error| FormatError::from(e).in_file(path);
    let file = File::open(path).map_err(fail)?;
    let meta = file.metadata().map_err(fail)?;
    if meta.is_dir() {
        return Err(FormatError::new("is a folder, not a file").in_file(path));
    }
    if meta.len() > MAX_BYTES {
        return Err(too_large().in_file(path));
    }
    let bytes = read_bounded(file, meta.len()).map_err(|e| e.in_file(path))?;
    decode(bytes).map_err(|e| e.in_file(path))
}

/// Standard input, which can be read once only: kept for who asks again.
fn standard_input() -> Result<String> {
    static READ: OnceLock<Result<String>> = OnceLock::new();
    let read = || {
        let bytes = read_bounded(std::io::stdin().lock(), 0).and_then(decode);
        bytes.map_err(|e| e.in_file(Path::new("<stdin>")))
    };
    READ.get_or_init(read).clone()
}

fn too_large() -> FormatError {
    FormatError::new(format!("larger than the {} MiB that are read", MAX_BYTES >> 20))
}

fn read_bounded(from: impl Read, size: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size as usize);
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    // A pipe, or a file that grew.
    if bytes.len() as u64 > MAX_BYTES { Err(too_large()) } else { Ok(bytes) }
}

/// Whether files named inside other files may lie anywhere.
static OUTSIDE: AtomicBool = AtomicBool::new(false);

/// From now on files may name others outside their own folder: a permission of the process, given
/// by who started it.
pub fn permit_outside() {
    OUTSIDE.store(true, Ordering::Relaxed);
}

/// Whether that permission was given.
pub fn outside_is_permitted() -> bool {
    OUTSIDE.load(Ordering::Relaxed)
}

/// Reads a file that another one names, seen from that one's folder. It has to be a regular file
/// inside that folder: a platform from somebody else must not read what it likes.
pub fn read_beside(folder: &Path, name: &str) -> Result<(PathBuf, String)> {
    let path = folder.join(name);
    let fail = |e: std::io::Error| FormatError::from(e).in_file(&path);
    let real = std::fs::canonicalize(&path).map_err(fail)?;
    let home = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let home = std::fs::canonicalize(home).map_err(fail)?;
    if !real.starts_with(&home) && !outside_is_permitted() {
        return Err(FormatError::new("lies outside the folder of the file that names it")
            .with_help("--allow-outside reads it all the same")
            .in_file(&path));
    }
    if !real.is_file() {
        return Err(FormatError::new("is no regular file").in_file(&path));
    }
    let text = read_text(&path)?;
    Ok((path, text))
}

/// Checks the encoding; a byte-order mark is dropped.
pub fn decode(bytes: Vec<u8>) -> Result<String> {
    let text = String::from_utf8(bytes).map_err(|e| {
        let offset = e.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&e.as_bytes()[..offset]);
        FormatError {
            place: Place::of_offset(&before, before.len()),
            ..FormatError::new("not UTF-8 text")
        }
        .with_help("is this a binary file, or text in another encoding (UTF-16, Latin-1)?")
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_string(),
        None => text,
    })
}

/// Writes a file whole or not at all: the text goes to a temporary neighbour, which then takes
/// the name. An existing file stays as it was when anything fails. What is not a regular file
/// (a device, a pipe, [`STANDARD`] output) is written through, a link to a file where it points:
/// nothing is put in their place.
pub fn write_whole<E: Into<FormatError>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
) -> Result<()> {
    if is_standard(path) {
        return through(std::io::stdout(), write).map_err(|e| e.in_file(Path::new("<stdout>")));
    }
    let target = std::fs::canonicalize(path);
    let target = target.as_deref().unwrap_or(path);
    let done = match std::fs::symlink_metadata(target) {
        Ok(meta) if meta.is_dir() => Err(FormatError::new("is a folder, not a file")),
        Ok(meta) if !meta.is_file() => open_through(target).and_then(|file| through(file, write)),
        _ => replace(target, write),
    };
    done.map_err(|e| e.in_file(path))
}

/// Opens a device or pipe, or the place that a dangling link points to.
fn open_through(path: &Path) -> Result<File> {
    let dangling = path.is_symlink();
    File::options()
        .write(true)
        .create(dangling)
        .open(path)
        .map_err(|e| FormatError { fault: Fault::Machine, ..FormatError::from(e) })
}

/// Writes to what is open.
fn through<E: Into<FormatError>>(
    file: impl Write,
    write: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
) -> Result<()> {
    let mut out = Watched { out: BufWriter::with_capacity(1 << 16, file), failed: None };
    let done = write(&mut out).map_err(Into::into).and_then(|()| Ok(out.flush()?));
    done.map_err(|e| out.blame(e))
}

/// Writes a regular file beside its name, then gives it the name.
fn replace<E: Into<FormatError>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
) -> Result<()> {
    let machine = |e: std::io::Error| FormatError { fault: Fault::Machine, ..e.into() };
    let name = path.file_name().ok_or_else(|| FormatError::new("not a file name"))?;
    let temporary = Temporary::beside(path, &name.to_string_lossy());
    let file = File::create(&temporary.0).map_err(machine)?;
    through(&file, write)?;
    file.sync_all().map_err(machine)?;
    if let Ok(old) = std::fs::metadata(path) {
        let _ = file.set_permissions(old.permissions());
    }
    std::fs::rename(&temporary.0, path).map_err(machine)
}

/// Remembers that the machine refused a byte, whatever the writer above makes of it.
struct Watched<W> {
    out: W,
    failed: Option<ErrorKind>,
}

impl<W> Watched<W> {
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

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let done = self.out.write(bytes);
        self.watch(done)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let done = self.out.flush();
        self.watch(done)
    }
}

/// Temporary files that are being written.
static LIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn live() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is whole whatever happened to the thread that held it.
    LIVE.lock().unwrap_or_else(|e| e.into_inner())
}

/// A temporary file, gone at the latest when this is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn beside(path: &Path, name: &str) -> Temporary {
        let path = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        live().push(path.clone());
        Temporary(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a successful write it has its final name, and there is nothing to remove.
        let _ = std::fs::remove_file(&self.0);
        live().retain(|path| *path != self.0);
    }
}

/// Removes what is half written, then ends the process: for handlers of Ctrl-C. No other thread
/// begins a file in between.
pub fn abandon_writes_and_exit(code: i32) -> ! {
    let unfinished = live();
    for path in unfinished.iter() {
        let _ = std::fs::remove_file(path);
    }
    std::process::exit(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        write_whole(&path, |out| out.write_all(b"first")).unwrap();
        let failed = write_whole(&path, |out| {
            out.write_all(b"second")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no litter");
    }

    #[test]
    fn links_and_pipes_are_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        write_whole(&link, |out| out.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");

        let (nowhere, dangling) = (folder.path().join("nowhere"), folder.path().join("dangling"));
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        write_whole(&dangling, |out| out.write_all(b"there")).unwrap();
        assert!(dangling.is_symlink());
        assert_eq!(std::fs::read_to_string(&nowhere).unwrap(), "there");

        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        write_whole(&pipe, |out| out.write_all(b"through")).unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(!std::fs::symlink_metadata(&pipe).unwrap().is_file());
    }

    #[test]
    fn files_name_only_their_neighbours() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("in"), "1 2").unwrap();
        std::fs::write(folder.path().join("out"), "secret").unwrap();
        std::os::unix::fs::symlink("../out", home.join("link")).unwrap();
        assert_eq!(read_beside(&home, "in").unwrap().1, "1 2");
        for name in ["../out", "link", folder.path().join("out").to_str().unwrap()] {
            let error = read_beside(&home, name).unwrap_err().to_string();
            assert!(error.contains("outside the folder"), "{error}");
        }
        assert!(
            std::process::Command::new("mkfifo").arg(home.join("p")).status().unwrap().success()
        );
        assert!(read_beside(&home, "p").unwrap_err().to_string().contains("no regular file"));
    }

    #[test]
    fn a_full_disk_is_the_machines_fault() {
        let full = Path::new("/dev/full");
        if full.exists() {
            let error = write_whole(full, |out| out.write_all(b"x")).unwrap_err();
            assert_eq!(error.fault, Fault::Machine);
        }
        let folder = tempfile::tempdir().unwrap();
        let refused = |_: &mut dyn Write| Err(FormatError::new("cannot be said in this format"));
        let error = write_whole(&folder.path().join("x"), refused).unwrap_err();
        assert_eq!(error.fault, Fault::Input);
    }

    #[test]
    fn wrong_encodings_are_placed() {
        let error = decode(b"line one\nab\xff".to_vec()).unwrap_err();
        assert_eq!(error.place, Place::At { line: 2, column: 3 });
        assert_eq!(decode("\u{feff}x".as_bytes().to_vec()).unwrap(), "x");
    }
}
