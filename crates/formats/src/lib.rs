//! One module per file format, reader and/or writer. A line of code that knows a file extension
//! lives here.

pub mod error;
pub mod source;

pub use error::{FormatError, Place};
