//! Running the command in a folder of its own.

#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part

pub(crate) mod runs;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A temporary folder with the bundled examples in `examples`, and the command.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// Exit code and output of a command.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        place.ok("examples examples");
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Runs `slackline` with the words of a line.
    pub(crate) fn run(&self, line: &str) -> Done {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.run_words(&words)
    }

    pub(crate) fn run_words(&self, words: &[&str]) -> Done {
        self.run_words_in("", words)
    }

    /// The same in a folder of the place.
    pub(crate) fn run_words_in(&self, folder: &str, words: &[&str]) -> Done {
        let output: Output = Command::new(env!("CARGO_BIN_EXE_slackline"))
            .args(words)
            .current_dir(self.path().join(folder))
            .env_remove("NO_COLOR")
            .env("COLUMNS", "80")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Done { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs a line that must succeed; gives what it printed.
    pub(crate) fn ok(&self, line: &str) -> String {
        let done = self.run(line);
        assert_eq!(done.code, Some(0), "slackline {line}\n{}{}", done.out, done.err);
        done.out
    }

    /// Document that a line which must succeed prints.
    pub(crate) fn json(&self, line: &str) -> Value {
        json(&self.ok(line))
    }

    /// Starts `slackline` with the words of a line, and drops what it says.
    pub(crate) fn spawn(&self, line: &str) -> Child {
        Command::new(env!("CARGO_BIN_EXE_slackline"))
            .args(line.split_whitespace())
            .current_dir(self.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Runs a line that must fail with this code; gives what it complained.
    pub(crate) fn fails(&self, code: i32, line: &str) -> String {
        let done = self.run(line);
        assert_eq!(done.code, Some(code), "slackline {line}\n{}{}", done.out, done.err);
        let complaints = done.err.lines().filter(|l| l.starts_with("error: ")).count();
        assert_eq!(complaints, 1, "slackline {line}\n{}", done.err);
        assert!(!done.err.contains("panicked"), "{}", done.err);
        done.err
    }
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}
