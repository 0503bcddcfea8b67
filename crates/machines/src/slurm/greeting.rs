//! The greeting of a pilot and an engine. Each side proves that it knows the key of the drive that
//! started the pilot; the key itself is never sent. The proofs are HMAC-SHA256 over everything that was
//! said so far, random nonces of both sides included, and so are the keys of the connection.
//!
//! ```text
//! pilot  → engine   length, hello (JSON: versions, drive, post, nonce)
//! engine → pilot    length, challenge (JSON: versions, nonce), proof of the engine
//! pilot  → engine   proof of the pilot
//! ```
//!
//! This form stays the same in all versions, so that programs of different versions can say so.

use super::protocol::{Reader, Seal, SlotId, Writer};
use crate::private::{from_hex, hex, random};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Version of the messages that follow the greeting.
pub(super) const PROTOCOL: u32 = 2;

/// Version of this program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Maximum length of hello and challenge, in bytes.
pub(super) const LONGEST: usize = 1024;

/// Length of a proof and of the tag of a frame, in bytes.
pub(super) const TAG: usize = 32;

type Nonce = [u8; 32];

/// A secret of 256 bits.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// A key of random bytes of the operating system.
    pub(super) fn new() -> Result<Key> {
        Ok(Key(random()?))
    }

    /// Reads the text form.
    pub(super) fn parse(text: &str) -> Option<Key> {
        Some(Key(from_hex(text.trim())?))
    }

    /// The text form, for a file that only the owner can read.
    pub(super) fn to_text(&self) -> String {
        hex(&self.0)
    }

    /// HMAC-SHA256 over parts, which are told apart by their lengths.
    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        // Keys of every length are valid for HMAC.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }

    /// Authentication code of parts.
    pub(super) fn tag(&self, parts: &[&[u8]]) -> [u8; TAG] {
        self.mac(parts).finalize().into_bytes().into()
    }

    /// Whether a code is that of the parts, compared in constant time.
    pub(super) fn verifies(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.mac(parts).verify_slice(tag).is_ok()
    }

    fn derive(&self, parts: &[&[u8]]) -> Key {
        Key(self.tag(parts))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// First message, from the pilot. Nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) version: String,
    /// The drive whose key is meant.
    pub(super) drive: u32,
    pub(super) post: SlotId,
    pub(super) number: u32,
    nonce: String,
}

impl Hello {
    /// The greeting of a pilot of this version, with a new nonce.
    pub(super) fn new(drive: u32, post: SlotId, number: u32) -> Result<Hello> {
        let nonce: Nonce = random()?;
        let version = VERSION.to_string();
        Ok(Hello { protocol: PROTOCOL, version, drive, post, number, nonce: hex(&nonce) })
    }

    /// The difference of versions between this engine and the pilot.
    pub(super) fn mismatch(&self) -> Option<String> {
        let same = (self.protocol, self.version.as_str()) == (PROTOCOL, VERSION);
        (!same).then(|| {
            format!(
                "the pilot is slackline {} (protocol {}), the engine slackline {VERSION} (protocol \
                 {PROTOCOL}): engine and pilots have to be the same version",
                printable(&self.version),
                self.protocol
            )
        })
    }
}

/// Second message, from the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Challenge {
    protocol: u32,
    version: String,
    nonce: String,
}

impl Challenge {
    fn mismatch(&self) -> Option<String> {
        let same = (self.protocol, self.version.as_str()) == (PROTOCOL, VERSION);
        (!same).then(|| {
            format!(
                "the engine is slackline {} (protocol {}), this pilot slackline {VERSION} (protocol \
                 {PROTOCOL}): engine and pilots have to be the same version",
                printable(&self.version),
                self.protocol
            )
        })
    }
}

/// The version of the other side, shortened and without control characters.
fn printable(version: &str) -> String {
    let allowed = |c: &char| c.is_ascii_alphanumeric() || ".-+".contains(*c);
    version.chars().filter(allowed).take(32).collect()
}

/// Everything that was said before the proofs.
#[derive(Clone, Debug)]
struct Transcript {
    hello: Vec<u8>,
    challenge: Vec<u8>,
}

impl Transcript {
    fn parts<'t>(&'t self, label: &'static [u8]) -> [&'t [u8]; 3] {
        [label, &self.hello, &self.challenge]
    }

    /// Keys for the frames to the pilot, and to the engine.
    fn seals(&self, key: &Key) -> (Seal, Seal) {
        let to_pilot = key.derive(&self.parts(b"slackline frames to pilot"));
        let to_engine = key.derive(&self.parts(b"slackline frames to engine"));
        (Seal::new(to_pilot), Seal::new(to_engine))
    }
}

const OF_ENGINE: &[u8] = b"slackline proof of engine";
const OF_PILOT: &[u8] = b"slackline proof of pilot";

/// An engine that has answered a hello and waits for the proof of the pilot.
#[derive(Debug)]
pub(super) struct Challenged {
    pub(super) hello: Hello,
    transcript: Transcript,
    key: Key,
}

impl Challenged {
    /// Answers a hello; gives the bytes to send. None where it is not one, or of an unknown drive.
    pub(super) fn new(
        bytes: Vec<u8>,
        key: impl Fn(u32) -> Option<Key>,
    ) -> Result<Option<(Challenged, Vec<u8>)>> {
        let Ok(hello) = serde_json::from_slice::<Hello>(&bytes) else { return Ok(None) };
        let valid = from_hex::<{ size_of::<Nonce>() }>(&hello.nonce).is_some();
        let Some(key) = key(hello.drive).filter(|_| valid) else { return Ok(None) };
        let (protocol, version) = (PROTOCOL, VERSION.to_string());
        let challenge = Challenge { protocol, version, nonce: hex(&random::<32>()?) };
        let challenge = serde_json::to_vec(&challenge)?;
        let transcript = Transcript { hello: bytes, challenge };
        let mut answer = prefixed(&transcript.challenge);
        answer.extend(key.tag(&transcript.parts(OF_ENGINE)));
        Ok(Some((Challenged { hello, transcript, key }, answer)))
    }

    /// Keys of the connection to and from the pilot, if the proof is right.
    pub(super) fn verify(&self, proof: &[u8]) -> Option<(Seal, Seal)> {
        let proven = self.key.verifies(&self.transcript.parts(OF_PILOT), proof);
        proven.then(|| self.transcript.seals(&self.key))
    }
}

fn prefixed(message: &[u8]) -> Vec<u8> {
    let mut bytes = (message.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(message);
    bytes
}

/// Reason why a greeting led to no connection.
#[derive(Debug)]
pub(super) enum Refusal {
    /// No process with the key answered in time.
    Unproven(Error),
    /// The engine is another version.
    Mismatch(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Unproven(error)
    }
}

/// Greets an engine as a pilot.
pub(super) fn greet(
    stream: &TcpStream,
    key: &Key,
    hello: &Hello,
    patience: Duration,
) -> std::result::Result<(Reader<TcpStream>, Writer<TcpStream>), Refusal> {
    let mut until = Until { stream, end: Instant::now() + patience };
    let hello = serde_json::to_vec(hello).map_err(Error::from)?;
    let mut out = stream;
    out.write_all(&prefixed(&hello))?;
    let mut length = [0; 4];
    until.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > LONGEST {
        return Err(Error::from(ErrorKind::InvalidData).into());
    }
    let (mut challenge, mut proof) = (vec![0; length], [0; TAG]);
    until.read_exact(&mut challenge)?;
    until.read_exact(&mut proof)?;
    let transcript = Transcript { hello, challenge };
    if !key.verifies(&transcript.parts(OF_ENGINE), &proof) {
        let why = "whoever listens there does not know the key of the run";
        return Err(Error::new(ErrorKind::PermissionDenied, why).into());
    }
    let challenge: Challenge =
        serde_json::from_slice(&transcript.challenge).map_err(Error::from)?;
    out.write_all(&key.tag(&transcript.parts(OF_PILOT)))?;
    if let Some(why) = challenge.mismatch() {
        return Err(Refusal::Mismatch(why));
    }
    let (to_pilot, to_engine) = transcript.seals(key);
    stream.set_read_timeout(None)?;
    Ok((Reader::new(stream.try_clone()?, to_pilot), Writer::new(stream.try_clone()?, to_engine)))
}

/// Reads that all have to be done by one date.
struct Until<'s> {
    stream: &'s TcpStream,
    end: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::HostId;
    use std::net::TcpListener;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// An engine that knows a key and answers one greeting with a challenge of its own.
    fn answer(key: Key, challenge: Challenge) -> Result<TcpStream> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        std::thread::spawn(move || -> Result<()> {
            let (mut stream, _) = listener.accept()?;
            let mut length = [0; 4];
            stream.read_exact(&mut length)?;
            let mut hello = vec![0; u32::from_be_bytes(length) as usize];
            stream.read_exact(&mut hello)?;
            let transcript = Transcript { hello, challenge: serde_json::to_vec(&challenge)? };
            stream.write_all(&prefixed(&transcript.challenge))?;
            stream.write_all(&key.tag(&transcript.parts(OF_ENGINE)))?;
            let mut proof = [0; TAG];
            stream.read_exact(&mut proof)
        });
        TcpStream::connect(address)
    }

    #[test]
    fn a_pilot_names_both_versions_of_an_engine_that_is_another_one() -> Result<()> {
        let key = Key::new()?;
        let hello = Hello::new(1, SlotId { host: HostId(0), only: None }, 1)?;
        let nonce = hex(&random::<32>()?);
        let same = Challenge { protocol: PROTOCOL, version: VERSION.to_string(), nonce };
        let newer = Challenge { protocol: PROTOCOL + 7, ..same.clone() };
        let named = Challenge { version: "99.1\u{1b}[2J".to_string(), ..same.clone() };
        assert!(greet(&answer(key.clone(), same.clone())?, &key, &hello, PATIENCE).is_ok());
        for challenge in [newer, named] {
            let wanted = [printable(&challenge.version), challenge.protocol.to_string()];
            match greet(&answer(key.clone(), challenge.clone())?, &key, &hello, PATIENCE) {
                Err(Refusal::Mismatch(why)) => {
                    assert!(wanted.iter().all(|w| why.contains(w)) && why.contains(VERSION));
                    assert!(!why.contains('\u{1b}'), "{why:?}");
                }
                other => panic!("{other:?}"),
            }
            // A process without the key can claim any version: that is no reason to end.
            let claimed = greet(&answer(Key::new()?, challenge)?, &key, &hello, PATIENCE);
            assert!(matches!(claimed, Err(Refusal::Unproven(_))));
        }
        Ok(())
    }

    #[test]
    fn a_silent_engine_is_given_up_after_one_deadline() -> Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        let (mut other, _) = listener.accept()?;
        // A byte now and then does not prolong it.
        let dripping = std::thread::spawn(move || {
            while other.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let (key, begin) = (Key::new()?, Instant::now());
        let hello = Hello::new(1, SlotId { host: HostId(0), only: None }, 1)?;
        let greeted = greet(&stream, &key, &hello, Duration::from_millis(200));
        assert!(matches!(greeted, Err(Refusal::Unproven(_))));
        assert!(begin.elapsed() < PATIENCE);
        drop(stream);
        let _ = dripping.join();
        Ok(())
    }
}
