//! What engine and pilots say to each other: JSON in frames that begin with their length.

use crate::attempt::Process;
use crate::backend::OpId;
use crate::jobs::{Job, Label, Made};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slackline_model::HostId;
use std::io::{Error, ErrorKind, Read, Result, Write};

/// Most bytes of a frame: a task may read very many files.
pub(super) const LONGEST: usize = 64 << 20;

/// Most bytes of the first frame, which comes from anybody.
pub(super) const FIRST: usize = 1 << 20;

/// Which pilot: the one for all tasks of a host, or for one task only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Post {
    pub(super) host: HostId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) only: Option<OpId>,
}

/// From a pilot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FromPilot {
    /// First of all: who it is, and what it has under way.
    Hello { token: String, post: Post, number: u32, running: Vec<Label> },
    /// A job is a process now.
    Begun { label: Label, process: Process },
    /// A job has ended.
    Made(Made),
    /// It is still there.
    Alive,
    /// It ends, and why.
    Bye(String),
}

/// From the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ToPilot {
    /// After the first words: which jobs are still wanted.
    Welcome { keep: Vec<OpId> },
    /// A job to begin.
    Begin(Box<Job>),
    /// A job to end.
    Stop { op: OpId, at_once: bool },
    /// There is nothing more to do.
    Quit,
}

/// Writes one frame.
pub(super) fn write(out: &mut impl Write, what: &impl Serialize) -> Result<()> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, what)?;
    let length = u32::try_from(frame.len() - 4).ok().filter(|n| *n as usize <= LONGEST);
    let length = length.ok_or_else(|| Error::new(ErrorKind::InvalidData, "a frame is too long"))?;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    out.write_all(&frame)
}

/// Reads one frame; one that claims to be longer than it may be is not read.
pub(super) fn read<T: DeserializeOwned>(input: &mut impl Read, longest: usize) -> Result<T> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > longest {
        return Err(Error::new(ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    let mut frame = vec![0; length];
    input.read_exact(&mut frame)?;
    Ok(serde_json::from_slice(&frame)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_long_ones_are_refused() -> Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes, &ToPilot::Stop { op: OpId(7), at_once: true })?;
        write(&mut bytes, &ToPilot::Quit)?;
        let mut input = bytes.as_slice();
        let first: ToPilot = read(&mut input, 100)?;
        assert_eq!(first, ToPilot::Stop { op: OpId(7), at_once: true });
        let mut again = input;
        assert!(read::<ToPilot>(&mut again, 2).is_err());
        assert_eq!(read::<ToPilot>(&mut input, LONGEST)?, ToPilot::Quit);
        // A length alone makes nobody set memory aside.
        assert!(read::<ToPilot>(&mut [255u8; 4].as_slice(), LONGEST).is_err());
        Ok(())
    }
}
