//! Snapshots: expected texts in files next to the tests. `UPDATE_EXPECT=1 cargo test` updates them.

use std::path::Path;

/// Compares a text with its snapshot file. A failure shows the difference and how to update the file.
pub fn assert_snapshot(file: &Path, text: &str) {
    expect_test::ExpectFile { path: file.to_path_buf(), position: "" }.assert_eq(text);
}
