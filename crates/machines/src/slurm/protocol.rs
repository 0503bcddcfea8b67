//! Messages between engine and pilots: JSON in frames that begin with their length and end with an
//! authentication code over direction, position in the connection and content. A frame that was forged,
//! repeated, left out or moved ends the connection.

use super::greeting::{Key, TAG};
use crate::attempt::Process;
use crate::attempt_pool::{Job, JobResult, Label};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slackline_engine::OpId;
use slackline_model::HostId;
use std::io::{Error, ErrorKind, Read, Result, Write};

/// Maximum length of a frame in bytes: a task may read very many files.
pub(super) const LONGEST: usize = 64 << 20;

/// Identity of a pilot: the one for all tasks of a host, or for one task only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct SlotId {
    pub(super) host: HostId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) only: Option<OpId>,
}

/// Wall time of a batch job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JobTime {
    /// Seconds that are left.
    pub(super) left: f64,
    /// Seconds in all.
    pub(super) whole: f64,
}

/// From a pilot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FromPilot {
    /// First message of a connection: attempts that are under way.
    Present {
        running: Vec<Label>,
        /// The time that its batch job has, where that is limited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time: Option<JobTime>,
        /// Requirement of tasks that the node does not meet: the pilot is of no use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lacks: Option<String>,
    },
    /// A job is a process now.
    Begun { label: Label, process: Process },
    /// A job has ended.
    Made(JobResult),
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

/// Authentication of the frames of one direction: a key of the connection, and the number of frames so
/// far.
#[derive(Debug)]
pub(super) struct Seal {
    key: Key,
    count: u64,
}

impl Seal {
    pub(super) fn new(key: Key) -> Seal {
        Seal { key, count: 0 }
    }

    fn next(&mut self) -> [u8; 8] {
        let count = self.count.to_be_bytes();
        self.count += 1;
        count
    }
}

/// The sending end of a connection.
#[derive(Debug)]
pub(super) struct Writer<W> {
    out: W,
    seal: Seal,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W, seal: Seal) -> Writer<W> {
        Writer { out, seal }
    }

    /// Sends one message.
    pub(super) fn write(&mut self, message: &impl Serialize) -> Result<()> {
        let mut frame = vec![0; 4];
        serde_json::to_writer(&mut frame, message)?;
        let length = u32::try_from(frame.len() - 4).ok().filter(|n| *n as usize <= LONGEST);
        let length =
            length.ok_or_else(|| Error::new(ErrorKind::InvalidData, "a frame is too long"))?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        let count = self.seal.next();
        let tag = self.seal.key.tag(&[&count, &frame[4..]]);
        frame.extend(tag);
        self.out.write_all(&frame)
    }

    /// The connection itself.
    pub(super) fn get_ref(&self) -> &W {
        &self.out
    }
}

/// The receiving end of a connection.
#[derive(Debug)]
pub(super) struct Reader<R> {
    input: R,
    seal: Seal,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(input: R, seal: Seal) -> Reader<R> {
        Reader { input, seal }
    }

    /// Receives one message; one that is too long or not authentic is an error, after which nothing
    /// more can be read.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<T> {
        let mut length = [0; 4];
        self.input.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > LONGEST {
            return Err(Error::new(ErrorKind::InvalidData, format!("a frame of {length} bytes")));
        }
        // Memory grows with the bytes that arrive, not with the length that is announced.
        let mut frame = Vec::with_capacity(length.min(1 << 16));
        let whole = length + TAG;
        self.input.by_ref().take(whole as u64).read_to_end(&mut frame)?;
        if frame.len() < whole {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let (message, tag) = frame.split_at(length);
        let count = self.seal.next();
        if !self.seal.key.verifies(&[&count, message], tag) {
            let why = "a frame that is not authentic";
            return Err(Error::new(ErrorKind::PermissionDenied, why));
        }
        Ok(serde_json::from_slice(message)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(key: &Key, messages: &[ToPilot]) -> Result<Vec<Vec<u8>>> {
        let mut writer = Writer::new(Vec::new(), Seal::new(key.clone()));
        let mut frames = Vec::new();
        for message in messages {
            writer.write(message)?;
            frames.push(std::mem::take(&mut writer.out));
        }
        Ok(frames)
    }

    fn read_all(key: &Key, bytes: &[u8]) -> Vec<ToPilot> {
        let mut reader = Reader::new(bytes, Seal::new(key.clone()));
        std::iter::from_fn(|| reader.read().ok()).collect()
    }

    #[test]
    fn authentic_frames_are_read_in_order() -> Result<()> {
        let key = Key::new()?;
        let sent = [ToPilot::Stop { op: OpId(7), at_once: true }, ToPilot::Quit];
        assert_eq!(read_all(&key, &frames(&key, &sent)?.concat()), sent);
        // A length alone sets no memory aside.
        assert!(read_all(&key, &[255; 4]).is_empty());
        assert!(read_all(&key, &[0, 255, 255, 255]).is_empty());
        Ok(())
    }

    #[test]
    fn forged_repeated_and_moved_frames_are_rejected() -> Result<()> {
        let key = Key::new()?;
        let sent: Vec<ToPilot> =
            (0..3).map(|op| ToPilot::Stop { op: OpId(op), at_once: false }).collect();
        let frames = frames(&key, &sent)?;
        let [a, b, c] = [&frames[0], &frames[1], &frames[2]];
        let cases: [(&[&Vec<u8>], usize); 5] =
            [(&[a, a], 1), (&[b, a], 0), (&[a, c], 1), (&[a, b, a, c], 2), (&[c], 0)];
        for (order, accepted) in cases {
            let bytes: Vec<u8> = order.iter().flat_map(|frame| frame.iter().copied()).collect();
            assert_eq!(read_all(&key, &bytes), sent[..accepted]);
        }
        // Every altered bit, in length, content and code.
        for bit in 0..a.len() * 8 {
            let mut altered = a.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            altered.extend_from_slice(b);
            assert!(read_all(&key, &altered).is_empty(), "bit {bit}");
        }
        // Another key, as of the other direction or of another connection.
        assert!(read_all(&Key::new()?, a).is_empty());
        Ok(())
    }
}
