//! Access to files: bounded reads of each text once, and the files being written.

use crate::atomic::{AtomicFile, Unfinished};
use crate::error::{FormatError, Place, Result};
use flate2::read::MultiGzDecoder;
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest document that is read as one text, in bytes (1 GiB); larger ones are an error, before memory
/// runs out.
pub const MAX_BYTES: u64 = 1 << 30;

/// Bytes of the beginning of a file, by which it is recognised.
pub const HEAD_BYTES: usize = 4096;

/// Most files that are kept open after their beginning was read; further ones are opened again for their text.
const MOST_BEGUN: usize = 64;

/// The path of standard input where a file is read, and of standard output where one is written.
pub const STANDARD: &str = "-";

/// Returns whether a path means a standard stream.
pub fn is_standard(path: &Path) -> bool {
    [STANDARD, "/dev/stdin", "/dev/stdout"].iter().any(|name| path.as_os_str() == *name)
}

/// Looks up a text bundled with the program (an example) by name; none where the name is unknown.
pub type Bundled = fn(&Path) -> Option<&'static str>;

/// The files one caller may read, the texts it has read, and the files it is writing.
///
/// Clones share the texts and the files being written; each text is read from disk once, so that
/// pipes and standard input can be asked for again.
#[derive(Clone, Default)]
pub struct FileAccess {
    bundled: Option<Bundled>,
    allow_outside: bool,
    texts: Arc<Mutex<HashMap<PathBuf, Arc<String>>>>,
    values: Values,
    begun: Arc<Mutex<HashMap<PathBuf, Begun>>>,
    touched: Arc<Mutex<Touched>>,
    unfinished: Unfinished,
}

/// A file whose beginning was read, before or as part of its text.
struct Begun {
    head: Vec<u8>,
    /// The open file after its head; none once the text was read.
    rest: Option<File>,
}

/// Files on disk that were read or written, so that no write destroys an input.
#[derive(Default)]
struct Touched {
    /// Device and inode of what was read, so that hard links are one file.
    read: HashSet<(u64, u64)>,
    /// What the caller wrote itself: it may be read and then written again.
    written: HashSet<PathBuf>,
}

/// Documents that a caller has in memory, by the names under which they stand for files.
type Values = Arc<HashMap<PathBuf, Arc<dyn Any + Send + Sync>>>;

impl FileAccess {
    /// Resolves names that are no files to bundled texts.
    pub fn with_bundled(mut self, bundled: Bundled) -> FileAccess {
        self.bundled = Some(bundled);
        self
    }

    /// Sets whether a file may name others outside its own folder (`--allow-outside`); by default not.
    pub fn allow_outside(mut self, allow: bool) -> FileAccess {
        self.allow_outside = allow;
        self
    }

    /// Lets a value in memory stand for the file of that name. Readers that know its type take it as it is.
    pub fn with_value<T: Any + Send + Sync>(mut self, name: &Path, value: Arc<T>) -> FileAccess {
        Arc::make_mut(&mut self.values).insert(name.to_path_buf(), value);
        self
    }

    /// Returns the value that replaces a file, where there is one of that type.
    pub fn value<T: Any + Send + Sync>(&self, name: &Path) -> Option<Arc<T>> {
        self.values.get(name).cloned()?.downcast().ok()
    }

    /// Returns whether a value replaces a file.
    pub fn has_value(&self, name: &Path) -> bool {
        self.values.contains_key(name)
    }

    /// Returns whether a file may name others outside its own folder.
    pub fn is_outside_allowed(&self) -> bool {
        self.allow_outside
    }

    /// Reads a whole UTF-8 file of at most [`MAX_BYTES`], once: later calls return the same text.
    /// Text compressed with gzip is decompressed; the limit holds for the text.
    pub fn read_text(&self, path: &Path) -> Result<Arc<String>> {
        let key = if is_standard(path) { Path::new(STANDARD) } else { path };
        if let Some(text) = self.texts().get(key) {
            return Ok(Arc::clone(text));
        }
        let text = Arc::new(self.read_uncached(key)?);
        self.texts().insert(key.to_path_buf(), Arc::clone(&text));
        Ok(text)
    }

    /// Reads the beginning of a file, at most [`HEAD_BYTES`] as they are on disk. The file stays open for
    /// [`FileAccess::read_text`], which reads what follows: pipes can be recognised, and a file is opened once.
    pub fn read_head(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        if let Some(begun) = self.begun().get(path) {
            return Ok(begun.head.clone());
        }
        let mut file = File::open(path)?;
        let mut head = Vec::with_capacity(HEAD_BYTES);
        (&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        let mut begun = self.begun();
        if begun.values().filter(|begun| begun.rest.is_some()).count() < MOST_BEGUN {
            begun.insert(path.to_path_buf(), Begun { head: head.clone(), rest: Some(file) });
        }
        Ok(head)
    }

    fn read_uncached(&self, path: &Path) -> Result<String> {
        if is_standard(path) {
            let bytes = read_bounded(std::io::stdin().lock(), 0).and_then(unpack).and_then(decode);
            return bytes.map_err(|e| e.in_file(Path::new("<stdin>")));
        }
        if let Some(text) = self.bundled.and_then(|texts| texts(path))
            && !path.exists()
        {
            return Ok(text.to_string());
        }
        let fail = |e: std::io::Error| FormatError::from(e).in_file(path);
        let begun = self.begun().remove(path);
        let (head, file) = match begun {
            Some(Begun { head, rest: Some(file) }) => (head, file),
            _ => (Vec::new(), File::open(path).map_err(fail)?),
        };
        let meta = file.metadata().map_err(fail)?;
        if meta.is_dir() {
            return Err(FormatError::new("is a folder, not a file").in_file(path));
        }
        if meta.len() > MAX_BYTES {
            return Err(too_large().in_file(path));
        }
        if meta.is_file() && !self.touched().written.contains(path) {
            self.touched().read.insert((meta.dev(), meta.ino()));
        }
        let from = head.as_slice().chain(file);
        let bytes = read_bounded(from, meta.len()).map_err(|e| e.in_file(path))?;
        let head = bytes[..bytes.len().min(HEAD_BYTES)].to_vec();
        self.begun().insert(path.to_path_buf(), Begun { head, rest: None });
        unpack(bytes).and_then(decode).map_err(|e| e.in_file(path))
    }

    /// Returns access to the files that a document names, relative to its own folder.
    pub fn siblings<'a>(&'a self, document: &'a Path) -> Siblings<'a> {
        Siblings { files: self, folder: document.parent().unwrap_or(Path::new("")) }
    }

    /// Resolves a name that a document in `folder` contains; see [`Siblings::read`] for the rules.
    fn sibling(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        let path = folder.join(name);
        let fail = |e: std::io::Error| FormatError::from(e).in_file(&path);
        let real = std::fs::canonicalize(&path).map_err(fail)?;
        let home = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let home = std::fs::canonicalize(home).map_err(fail)?;
        if !real.starts_with(&home) && !self.allow_outside {
            return Err(FormatError::new("is outside the folder of the file that names it")
                .with_help("--allow-outside reads it all the same")
                .in_file(&path));
        }
        if !real.is_file() {
            return Err(FormatError::new("is no regular file").in_file(&path));
        }
        Ok(path)
    }

    /// Writes a file whole or not at all; see [`AtomicFile`].
    pub fn write<E: Into<FormatError>>(
        &self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
    ) -> Result<()> {
        let mut file = self.create(path)?;
        match write(&mut file) {
            Ok(()) => file.commit(),
            Err(error) => Err(file.fail(error)),
        }
    }

    /// Writes a file that may have been read before, for state that the caller owns, such as a cache.
    pub fn rewrite<E: Into<FormatError>>(
        &self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
    ) -> Result<()> {
        if let Ok(meta) = std::fs::metadata(path) {
            self.touched().read.remove(&(meta.dev(), meta.ino()));
        }
        self.write(path, write)
    }

    /// Begins a file that is written whole or not at all. A file that was read is not replaced.
    pub fn create(&self, path: &Path) -> Result<AtomicFile> {
        self.check_not_read(path)?;
        self.touched().written.insert(path.to_path_buf());
        // A text read before is not that of the new file.
        self.texts().remove(path);
        self.begun().remove(path);
        AtomicFile::create(path, &self.unfinished)
    }

    /// Fails where the path is a file that was read, also by another name of it.
    fn check_not_read(&self, path: &Path) -> Result<()> {
        let is_read = |meta: &Metadata| self.touched().read.contains(&(meta.dev(), meta.ino()));
        if is_standard(path) || !std::fs::metadata(path).is_ok_and(|meta| is_read(&meta)) {
            return Ok(());
        }
        Err(FormatError::new("is read too")
            .with_help("write to another file: this one would be lost")
            .in_file(path))
    }

    /// Removes the temporary files of all unfinished writes, and makes further writes and commits fail: for
    /// a caller that ends the process next.
    pub fn abandon_writes(&self) {
        self.unfinished.abandon();
    }

    fn touched(&self) -> std::sync::MutexGuard<'_, Touched> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begun(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn texts(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Arc<String>>> {
        // Whole entries only are inserted: a panic elsewhere leaves the map usable.
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Access to the files beside a document.
#[derive(Clone, Copy)]
pub struct Siblings<'a> {
    files: &'a FileAccess,
    folder: &'a Path,
}

impl Siblings<'_> {
    /// Reads a file that the document names, and returns its path with the text. It has to be a
    /// regular file inside the document's folder unless outside is allowed: a platform from
    /// another author must not read arbitrary files.
    pub fn read(&self, name: &str) -> Result<(PathBuf, Arc<String>)> {
        let path = self.path(name)?;
        let text = self.files.read_text(&path)?;
        Ok((path, text))
    }

    /// The path of a file that the document names, under the same rules: for files that are not read as text.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        self.files.sibling(self.folder, name)
    }
}

fn too_large() -> FormatError {
    FormatError::new(format!("larger than the {} MiB that are read", MAX_BYTES >> 20))
}

/// Reads at most [`MAX_BYTES`]; `size` is the expected number, 0 where it is unknown.
fn read_bounded(from: impl Read, size: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size as usize);
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    // Only now is the size of a pipe known, or of a file that grew.
    if bytes.len() as u64 > MAX_BYTES { Err(too_large()) } else { Ok(bytes) }
}

/// Decompresses text that begins with the two magic bytes of gzip.
fn unpack(bytes: Vec<u8>) -> Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    read_bounded(MultiGzDecoder::new(bytes.as_slice()), 0)
        .map_err(|e| FormatError::new(format!("cannot be decompressed: {}", e.message)))
}

/// Checks the encoding and drops a byte-order mark.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_only_their_siblings() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("in"), "1 2").unwrap();
        std::fs::write(folder.path().join("out"), "secret").unwrap();
        std::os::unix::fs::symlink("../out", home.join("link")).unwrap();
        let files = FileAccess::default();
        assert_eq!(*files.siblings(&home.join("document")).read("in").unwrap().1, "1 2");
        for name in ["../out", "link", folder.path().join("out").to_str().unwrap()] {
            let error = files.siblings(&home.join("document")).read(name).unwrap_err().to_string();
            assert!(error.contains("outside the folder"), "{error}");
            // Another caller in the same process has other permissions.
            let trusting = FileAccess::default().allow_outside(true);
            assert_eq!(*trusting.siblings(&home.join("document")).read(name).unwrap().1, "secret");
        }
        let pipe = home.join("p");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        let error = files.siblings(&home.join("document")).read("p").unwrap_err().to_string();
        assert!(error.contains("no regular file"), "{error}");
    }

    #[test]
    fn a_file_is_opened_once_for_its_head_and_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let text = "word ".repeat(HEAD_BYTES);
        let (to, said) = (pipe.clone(), text.clone());
        let writer = std::thread::spawn(move || std::fs::write(to, said));
        let files = FileAccess::default();
        // A second opening would wait for another writer for ever.
        assert_eq!(files.read_head(&pipe).unwrap(), &text.as_bytes()[..HEAD_BYTES]);
        assert_eq!(*files.read_text(&pipe).unwrap(), text);
        assert_eq!(files.read_head(&pipe).unwrap(), &text.as_bytes()[..HEAD_BYTES]);
        writer.join().unwrap().unwrap();
        // The beginning of a file that was written since is that of the new one.
        let path = folder.path().join("text");
        std::fs::write(&path, "old").unwrap();
        assert_eq!(files.read_head(&path).unwrap(), b"old");
        files.write(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(files.read_head(&path).unwrap(), b"new");
        assert_eq!(*files.read_text(&path).unwrap(), "new");
    }

    #[test]
    fn a_text_is_read_once_per_access() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "old").unwrap();
        let files = FileAccess::default();
        assert_eq!(*files.read_text(&path).unwrap(), "old");
        std::fs::write(&path, "new").unwrap();
        assert_eq!(*files.clone().read_text(&path).unwrap(), "old");
        assert_eq!(*FileAccess::default().read_text(&path).unwrap(), "new");
        // What the caller writes itself it reads, and may write again.
        let own = folder.path().join("own");
        for text in ["one", "two"] {
            files.write(&own, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(*files.read_text(&own).unwrap(), text);
        }
    }

    #[test]
    fn what_was_read_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "old").unwrap();
        std::fs::hard_link(&path, folder.path().join("hard")).unwrap();
        std::os::unix::fs::symlink("text", folder.path().join("soft")).unwrap();
        let files = FileAccess::default();
        files.read_text(&path).unwrap();
        for name in ["text", "hard", "soft"] {
            let written = files.write(&folder.path().join(name), |out| out.write_all(b"new"));
            assert!(written.unwrap_err().to_string().contains("is read too"), "{name}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        }
        FileAccess::default().write(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn gzip_is_decompressed() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"a text").unwrap();
        let packed = packed.finish().unwrap();
        let cut = packed[..packed.len() - 6].to_vec();
        assert_eq!(unpack(packed).unwrap(), b"a text");
        let error = unpack(cut).unwrap_err().to_string();
        assert!(error.contains("cannot be decompressed"), "{error}");
    }

    #[test]
    fn wrong_encodings_are_placed() {
        let error = decode(b"line one\nab\xff".to_vec()).unwrap_err();
        assert_eq!(error.place, Place::At { line: 2, column: 3 });
        assert_eq!(decode("\u{feff}x".as_bytes().to_vec()).unwrap(), "x");
    }
}
