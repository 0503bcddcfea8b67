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

/// Writes a file whole or not at all; see [`Whole`].
pub fn write_whole<E: Into<FormatError>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
) -> Result<()> {
    let mut whole = Whole::create(path)?;
    match write(&mut whole) {
        Ok(()) => whole.keep(),
        Err(error) => Err(whole.fail(error)),
    }
}

/// A file that is written whole or not at all: the text goes to a temporary neighbour, which takes
/// the name when it is to be kept. An existing file stays as it was when anything fails before. What
/// is not a regular file (a device, a pipe, [`STANDARD`] output) is written through as the text
/// comes, a link to a file where it points: nothing is put in their place.
pub struct Whole {
    /// As it was asked for.
    path: PathBuf,
    out: Watched<BufWriter<Target>>,
    /// What is renamed to what in the end.
    renamed: Option<(Temporary, PathBuf)>,
}

/// Where bytes go.
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

fn machine(error: std::io::Error) -> FormatError {
    FormatError { fault: Fault::Machine, ..error.into() }
}

impl Whole {
    /// Begins a file.
    pub fn create(path: &Path) -> Result<Whole> {
        if is_standard(path) {
            let target = Target::Standard(std::io::stdout());
            return Ok(Whole::to(Path::new("<stdout>"), target, None));
        }
        let real = std::fs::canonicalize(path);
        let real = real.as_deref().unwrap_or(path);
        let begun = match std::fs::symlink_metadata(real) {
            Ok(meta) if meta.is_dir() => Err(FormatError::new("is a folder, not a file")),
            Ok(meta) if !meta.is_file() => open_through(real).map(|file| (file, None)),
            _ => beside(real).map(|(file, new)| (file, Some((new, real.to_path_buf())))),
        };
        let (file, renamed) = begun.map_err(|e| e.in_file(path))?;
        Ok(Whole::to(path, Target::File(file), renamed))
    }

    fn to(path: &Path, target: Target, renamed: Option<(Temporary, PathBuf)>) -> Whole {
        let out = Watched { out: BufWriter::with_capacity(1 << 16, target), failed: None };
        Whole { path: path.to_path_buf(), out, renamed }
    }

    /// The text is all there: gives it its name.
    pub fn keep(mut self) -> Result<()> {
        if let Err(error) = self.out.flush() {
            return Err(self.fail(error));
        }
        let (Some((temporary, path)), Target::File(file)) = (&self.renamed, self.out.out.get_ref())
        else {
            return Ok(());
        };
        if let Ok(old) = std::fs::metadata(path) {
            let _ = file.set_permissions(old.permissions());
        }
        let named = file.sync_all().and_then(|()| std::fs::rename(&temporary.0, path));
        named.map_err(|e| machine(e).in_file(&self.path))
    }

    /// The text could not be written: whose fault that is, and of which file.
    pub fn fail(&self, error: impl Into<FormatError>) -> FormatError {
        self.out.blame(error.into()).in_file(&self.path)
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// Opens a device or pipe, or the place that a dangling link points to.
fn open_through(path: &Path) -> Result<File> {
    let dangling = path.is_symlink();
    File::options().write(true).create(dangling).open(path).map_err(machine)
}

/// Opens a temporary neighbour of a file.
fn beside(path: &Path) -> Result<(File, Temporary)> {
    let name = path.file_name().ok_or_else(|| FormatError::new("not a file name"))?;
    let temporary = Temporary::beside(path, &name.to_string_lossy());
    let file = File::create(&temporary.0).map_err(machine)?;
    Ok((file, temporary))
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

/// Removes what is half written, then ends the process: for handlers of signals. No other thread
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
    fn a_file_that_grows_has_its_name_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let mut file = Whole::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no litter");
        let mut file = Whole::create(&path).unwrap();
        file.write_all(b"all").unwrap();
        file.keep().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "all");
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
