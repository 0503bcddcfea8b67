//! Texts kept in files beside the tests: `UPDATE_EXPECT=1 cargo test` writes them again.

use std::path::Path;

/// Compares a text with the file that keeps it; the difference is shown, and the variable that takes the new text over.
pub fn assert_snapshot(file: &Path, text: &str) {
    expect_test::ExpectFile { path: file.to_path_buf(), position: "" }.assert_eq(text);
}
