//! One attempt at a task as a process of this machine: a fresh folder with its inputs, the program
//! as it is given, its words kept, its outputs checked and moved to where they belong. Nothing here
//! knows of engines or logs: a folder and a description suffice for an attempt.

mod files;
mod limits;
mod memory;
mod orphans;
mod packed;
mod process;
mod spare;

pub(crate) use files::{Pace, copy_paced, is_missing, publish};
pub use files::{Scratch, Stamp, Version, Written, checksum, checksum_of_bytes, stamped_checksum};
pub use limits::raise_open_files;
pub use memory::{Enforce, NoControlGroups};
pub(crate) use orphans::{
    ATTEMPT_VARIABLE, HOST_VARIABLE, KIND_VARIABLE, NODES_VARIABLE, RUN_VARIABLE, TASK_VARIABLE,
};
pub use orphans::{adopt_orphans, boot, end_orphans, is_there};
pub(crate) use orphans::{end_adopted, process_of};
pub use packed::{is_packed, packed_content, unpack};
pub use process::{Control, Limits, Usage};
pub use slackline_engine::Process;
pub(crate) use spare::Spares;

use crate::load;
use serde::{Deserialize, Serialize};
use slackline_engine::Load;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Names of the files that keep what a process says.
pub const STDOUT: &str = "stdout";
/// The same for its complaints.
pub const STDERR: &str = "stderr";

/// Lines of a failed process that are kept with its failure.
const LAST_LINES: usize = 5;

/// Most bytes that are read for them.
const LAST_BYTES: u64 = 4096;

/// Command, inputs, outputs and limits of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables it gets in addition to ours.
    pub env: Vec<(String, String)>,
    /// The folder that it runs in, created for it; that in the scratch folder once there is one.
    pub work: PathBuf,
    /// Parent of its folder where that is not `folder`; the name is unpredictable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch: Option<Scratch>,
    /// Inputs: the name known to the task, and the path.
    pub inputs: Vec<(String, PathBuf)>,
    /// Inputs that are the user's own files, by position in ascending order, with the state they have to
    /// be in: they are never linked themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<(usize, Option<Stamp>)>,
    /// A folder of the store where such files are brought once, for all attempts that read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<PathBuf>,
    /// Known versions of further inputs, by position in ascending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<(usize, Version)>,
    /// Outputs: the name known to the task, and the path the attempt has to move them to, which no other attempt
    /// writes.
    pub outputs: Vec<(String, PathBuf)>,
    /// The folder for what it says; none is left where it said nothing.
    pub captured: PathBuf,
    /// Bytes beyond which an output gets no checksum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum_limit: Option<u64>,
    /// Exit codes that count as success in addition to 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<i32>,
    /// Resources it may use.
    pub limits: Limits,
}

/// An attempt that came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    /// Resources it used.
    pub usage: Usage,
    /// Its outputs, in order.
    pub written: Vec<Written>,
    /// Load of the machine at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// Reason why an attempt failed.
#[derive(Clone, Debug, Error, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptError {
    /// There is no such program, or the folders cannot be made: it would not help to try again.
    #[error("{0}")]
    Impossible(String),
    /// An input is not where it should be.
    #[error("input '{name}' is gone")]
    InputGone {
        /// Position of the input in the list.
        index: usize,
        /// Its name.
        name: String,
    },
    /// The process failed.
    #[error("{why}")]
    Failed {
        /// In words.
        why: String,
        /// Exit code.
        exit: Option<i32>,
        /// Last lines of its output.
        last_lines: Vec<String>,
    },
    /// It used more memory than it was granted.
    #[error("it ran out of memory")]
    Memory {
        /// Bytes that it was granted.
        grant: u64,
        /// The most it was seen to use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peak: Option<u64>,
        /// Last lines of its output.
        last_lines: Vec<String>,
    },
    /// It was stopped, as was asked.
    #[error("it was stopped")]
    Stopped,
}

impl Attempt {
    /// Makes the attempt, in folders of earlier ones where there are such; `begun` is notified of the process as soon
    /// as there is one. What is left in its folder is for [`clear`](Attempt::clear).
    pub(crate) fn perform(
        &mut self,
        control: &Control,
        spares: &Spares,
        begun: &mut dyn FnMut(Process),
    ) -> Result<Completed, AttemptError> {
        let done = self.try_perform(control, spares, begun);
        let created = !self.work.as_os_str().is_empty();
        if created
            && matches!(
                done,
                Err(AttemptError::Impossible(_)
                    | AttemptError::Failed { .. }
                    | AttemptError::Memory { .. })
            )
        {
            // What a failed attempt left may explain it.
            let _ = std::fs::rename(&self.work, self.captured.join("work"));
        }
        spares.take_captured(&self.captured, done.is_ok());
        done
    }

    /// Takes away what is left of the attempt's folder: nothing in it is needed. That of an attempt that has succeeded
    /// is for those to come.
    pub(crate) fn clear(&self, spares: &Spares, succeeded: bool) {
        if succeeded && self.scratch.is_none() {
            spares.take_work(&self.work);
        } else if !self.work.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.work); // it may be gone
        }
    }

    fn try_perform(
        &mut self,
        control: &Control,
        spares: &Spares,
        begun: &mut dyn FnMut(Process),
    ) -> Result<Completed, AttemptError> {
        match &self.scratch {
            Some(scratch) => {
                self.work = PathBuf::new();
                self.work = scratch.fresh().map_err(|e| impossible(&scratch.base, &e))?;
            }
            None => spares.make_work(&self.work).map_err(|e| impossible(&self.work, &e))?,
        }
        let captured = spares.make_captured(&self.captured);
        captured.map_err(|e| impossible(&self.captured, &e))?;
        // On another disk nothing can be linked.
        let keep = self.keep.as_deref().filter(|_| self.scratch.is_none());
        let (files, own, versions) = (&self.inputs[..], &self.own[..], &self.versions[..]);
        let linked = files::bring(&self.work, &files::Inputs { files, own, versions, keep })?;
        let usage = process::run(self, control, begun);
        let spoilt = files::spoilt(&self.work, &self.inputs, &linked);
        let usage = usage?;
        if let Some(name) = spoilt {
            return Err(self.failed(format!("its input '{name}' was changed"), usage.exit));
        }
        if let Some(grant) = self.limits.memory.filter(|_| usage.out_of_memory) {
            let (peak, last_lines) = (usage.peak_memory, self.last_lines());
            return Err(AttemptError::Memory { grant, peak, last_lines });
        }
        if !usage.succeeded(&self.accepts) || usage.overran {
            return Err(self.failed(usage.describe_end(self.limits.seconds), usage.exit));
        }
        match files::collect(&self.work, &self.outputs, self.checksum_limit) {
            Ok(written) => Ok(Completed { usage, written, load: load::now() }),
            Err(why) => Err(self.failed(why, usage.exit)),
        }
    }

    fn failed(&self, why: String, exit: Option<i32>) -> AttemptError {
        AttemptError::Failed { why, exit, last_lines: self.last_lines() }
    }

    /// Last lines of its output.
    fn last_lines(&self) -> Vec<String> {
        let lines = last_lines(&self.captured.join(STDERR));
        if lines.is_empty() { last_lines(&self.captured.join(STDOUT)) } else { lines }
    }
}

fn impossible(path: &Path, error: &std::io::Error) -> AttemptError {
    let why = format!("{}: {error}", path.display());
    if is_passing(error) { failed_for_now(why) } else { AttemptError::Impossible(why) }
}

fn failed_for_now(why: String) -> AttemptError {
    AttemptError::Failed { why, exit: None, last_lines: Vec::new() }
}

/// Whether what the system refused it may permit later: a disk that is full, a file server that is away, too
/// many open files or threads. Not so what follows from names and arguments, nor refusals of our own.
fn is_passing(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let lasting = [
        Errno::NAMETOOLONG,
        Errno::LOOP,
        Errno::NOTDIR,
        Errno::ISDIR,
        Errno::INVAL,
        Errno::NOEXEC,
        Errno::TOOBIG,
        Errno::ILSEQ,
        Errno::NOSYS,
    ];
    crate::private::errno(error).is_some_and(|errno| !lasting.contains(&errno))
}

/// The end of a text file, as far as it is text.
fn last_lines(path: &Path) -> Vec<String> {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LAST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|l| l.to_string()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;
    use rustix::io::Errno;
    use std::io::Error;

    #[test]
    fn errors_that_pass_are_told_from_those_that_last() {
        let path = Path::new("/some/where");
        let of = |errno: Errno| impossible(path, &errno.into());
        for errno in [
            Errno::ACCESS,
            Errno::MFILE,
            Errno::NFILE,
            Errno::IO,
            Errno::STALE,
            Errno::ROFS,
            Errno::AGAIN,
            Errno::NOMEM,
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::TXTBSY,
        ] {
            assert!(matches!(of(errno), AttemptError::Failed { .. }), "{errno}");
        }
        for errno in [Errno::NAMETOOLONG, Errno::LOOP, Errno::TOOBIG, Errno::NOEXEC] {
            assert!(matches!(of(errno), AttemptError::Impossible(_)), "{errno}");
        }
        // What is refused for safety stays so.
        let denied = crate::private::denied(path, "belongs to another user");
        assert!(matches!(impossible(path, &denied), AttemptError::Impossible(_)));
        let root = tempfile::tempdir().unwrap();
        let missing = root.path().canonicalize().unwrap().join("none");
        let wrapped = crate::private::open_directory(&missing, false);
        assert!(is_passing(&wrapped.unwrap_err()));
        assert!(!is_passing(&Error::other("nothing of the system")));
    }

    #[test]
    fn a_program_without_permission_is_not_tried_again() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("program"), "").unwrap();
        let mut attempt = Attempt {
            argv: vec!["./program".to_string()],
            work: root.path().join("work"),
            inputs: vec![("program".to_string(), root.path().join("program"))],
            captured: root.path().join("captured"),
            ..Attempt::default()
        };
        let done = attempt.perform(&Control::default(), &Spares::default(), &mut |_| {});
        assert!(matches!(done, Err(AttemptError::Impossible(_))), "{done:?}");
    }
}
