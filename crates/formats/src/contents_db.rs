//! Contents of storages as a SQLite file: a table `files` with the columns `path` and `size` (bytes).

use crate::error::{FormatError, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use slackline_model::platform::Contents;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// First bytes of SQLite files.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Bytes of a size and its separators, for most files.
const SIZE_TEXT: usize = 13;

/// Most bytes of all paths and sizes together.
const LIMIT: usize = u32::MAX as usize;

/// Whether a file is one of SQLite.
pub(crate) fn recognise(path: &Path) -> bool {
    let mut begin = [0; MAGIC.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *MAGIC
}

/// Reads the table of files. Only one row is held beside the result.
pub(crate) fn read(path: &Path) -> Result<Contents> {
    let fault = |error: rusqlite::Error| FormatError::new(error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(fault)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(fault)?;
    let no_table = |error: rusqlite::Error| {
        FormatError::new(format!("has no table `files` with `path` and `size`: {error}"))
    };
    let (count, letters): (i64, Option<i64>) = connection
        .query_row("SELECT count(*), sum(length(path)) FROM files", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .map_err(no_table)?;
    let room = usize::try_from(letters.unwrap_or(0)).unwrap_or(0);
    let room = room.saturating_add(usize::try_from(count).unwrap_or(0).saturating_mul(SIZE_TEXT));
    let mut text = String::with_capacity(room.min(LIMIT));
    let mut query = connection.prepare("SELECT path, size FROM files").map_err(no_table)?;
    let mut rows = query.query([]).map_err(fault)?;
    let mut number = 0_u64;
    while let Some(row) = rows.next().map_err(fault)? {
        number += 1;
        let bad = |why: &str| FormatError::new(format!("table `files`, row {number}: {why}"));
        let name = match row.get_ref(0).map_err(fault)? {
            ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        };
        let name = name.ok_or_else(|| bad("the path is no UTF-8 text"))?;
        if name.is_empty() || name.trim() != name || name.starts_with('#') {
            return Err(bad(
                "a path is not empty, begins with no `#` and has no spaces at its ends",
            ));
        }
        if name.contains(['\n', '\r']) {
            return Err(bad("a path is a single line"));
        }
        let size = match row.get_ref(1).map_err(fault)? {
            ValueRef::Integer(size) => u64::try_from(size).ok(),
            _ => None,
        };
        let size = size.ok_or_else(|| {
            bad(&format!("the size of `{name}` is not a whole number of bytes, 0 or more"))
        })?;
        let _ = writeln!(text, "{name} {size}"); // a text takes all
        if text.len() > LIMIT {
            return Err(bad("all paths and sizes together take 4 GiB or more"));
        }
    }
    text.shrink_to_fit();
    Contents::parse(Arc::new(text))
        .map_err(|(line, why)| FormatError::new(format!("table `files`, row {line}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(folder: &Path, rows: &str) -> std::path::PathBuf {
        let path = folder.join("files.db");
        let _ = std::fs::remove_file(&path);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("CREATE TABLE files (path, size); {rows}")).unwrap();
        path
    }

    #[test]
    fn files_of_a_table_and_what_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = table(folder.path(), "INSERT INTO files VALUES ('/b c', 20), ('/a', 0)");
        assert!(recognise(&path));
        let contents = read(&path).unwrap();
        assert_eq!(contents.iter().collect::<Vec<_>>(), [("/a", 0), ("/b c", 20)]);
        for (rows, says) in [
            ("INSERT INTO files VALUES ('/a', -1)", "row 1"),
            ("INSERT INTO files VALUES ('/a', 1.5)", "whole number"),
            ("INSERT INTO files VALUES (NULL, 1)", "no UTF-8 text"),
            ("INSERT INTO files VALUES ('/a', 1), ('/a', 2)", "twice"),
            ("INSERT INTO files VALUES ('a' || char(10) || 'b', 1)", "single line"),
            ("DROP TABLE files", "no table `files`"),
        ] {
            let error = read(&table(folder.path(), rows)).unwrap_err().to_string();
            assert!(error.contains(says), "{rows}: {error}");
        }
        std::fs::write(&path, [&MAGIC[..], &[7; 2000]].concat()).unwrap();
        assert!(read(&path).is_err());
    }
}
