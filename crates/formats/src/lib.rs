//! One module per file format, reader and/or writer. A line of code that knows a file extension
//! lives here.

pub mod dot;
pub mod error;
mod scan;
pub mod source;
pub mod stg;

pub use error::{FormatError, Place};
