//! Getting text from disk and putting it there: bounded, checked, whole or not at all.

use crate::error::{FormatError, Place, Result};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// Largest document that is read as one text.
pub const MAX_BYTES: u64 = 1 << 30;

/// Reads a whole UTF-8 file of at most [`MAX_BYTES`].
pub fn read_text(path: &Path) -> Result<String> {
    let fail = |e: std::io::Error| FormatError::from(e).in_file(path);
    let file = File::open(path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    let too_large = || {
        FormatError::new(format!("larger than the {} MiB that are read", MAX_BYTES >> 20))
            .in_file(path)
    };
    if size > MAX_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large()); // a pipe, or a file that grew
    }
    decode(bytes).map_err(|e| e.in_file(path))
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
/// the name. An existing file stays as it was when anything fails.
pub fn write_whole<E: Into<FormatError>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
) -> Result<()> {
    if path.is_dir() {
        return Err(FormatError::new("is a folder, not a file").in_file(path));
    }
    let name = path.file_name().ok_or_else(|| FormatError::new("not a file name").in_file(path))?;
    let temporary = Temporary::beside(path, &name.to_string_lossy());
    let attempt = || -> Result<()> {
        let file = File::create(&temporary.0)?;
        let mut out = std::io::BufWriter::with_capacity(1 << 16, file);
        write(&mut out).map_err(Into::into)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        Ok(std::fs::rename(&temporary.0, path)?)
    };
    attempt().map_err(|e| e.in_file(path))
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
    fn wrong_encodings_are_placed() {
        let error = decode(b"line one\nab\xff".to_vec()).unwrap_err();
        assert_eq!(error.place, Place::At { line: 2, column: 3 });
        assert_eq!(decode("\u{feff}x".as_bytes().to_vec()).unwrap(), "x");
    }
}
