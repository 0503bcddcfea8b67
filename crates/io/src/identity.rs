//! Identity of files, whatever their paths are spelled like.

use crate::is_standard;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Identity of the file behind a path, whatever its spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileIdentity {
    /// Standard input or output.
    Standard,
    /// A file that exists, by device and number: hard links are one file.
    Existing {
        /// Number of the device.
        device: u64,
        /// Number of the file on it.
        number: u64,
    },
    /// A file to come.
    New(PathBuf),
}

impl FileIdentity {
    /// Returns the identity of the file at a path; none for devices and pipes: any number may read and write those.
    pub fn of(path: &Path) -> Option<FileIdentity> {
        if is_standard(path) {
            return Some(FileIdentity::Standard);
        }
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_file() => {
                Some(FileIdentity::Existing { device: meta.dev(), number: meta.ino() })
            }
            Ok(_) => None,
            Err(_) => {
                let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new("."));
                let folder = std::fs::canonicalize(folder).unwrap_or(folder.to_path_buf());
                Some(FileIdentity::New(folder.join(path.file_name()?)))
            }
        }
    }
}
