//! Reading and writing files, with permissions as a value and no state of the process.
//!
//! A [`FileAccess`] holds what one caller may read, the texts it has read and the files it is
//! writing. Two callers in one process share nothing unless they share the value.
//!
//! ```
//! use slackline_io::FileAccess;
//! use std::io::Write;
//!
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("note.txt");
//! let files = FileAccess::default();
//! files.write(&path, |out| out.write_all(b"two words"))?;
//! assert_eq!(*files.read_text(&path)?, "two words");
//! # Ok::<(), slackline_io::FormatError>(())
//! ```

mod atomic;
mod error;
mod files;
mod identity;

pub use atomic::AtomicFile;
pub use error::{CUT, Fault, FormatError, NO_SUCH_FILE, Place, Result};
pub use files::{
    Bundled, FileAccess, HEAD_BYTES, MAX_BYTES, STANDARD, Siblings, decode, is_standard,
};
pub use identity::FileIdentity;
