//! One line of a trace: `rank action arguments`.
//!
//! Version 3 is the format of SimGrid 3.20 and later (tags, types); version 1 that of 3.11 and
//! before. The extended format is version 3 with `comm=` and `req=` and more actions.

use crate::action::{Action, Call, Envelope, Kind, Line, Mode, Which};
use crate::datatype;

/// The format of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// No tags; `wait` takes the last request; names in mixed case.
    One,
    /// Tags and types.
    Three,
    /// Version 3 with communicators, request numbers and more actions.
    Extended,
}

/// An error in a line, and the byte at which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParseError {
    /// Byte offset in the line.
    pub(super) offset: usize,
    /// The error, in words.
    pub(super) message: String,
}

/// The context for reading lines.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The format.
    pub version: Version,
    /// Bytes of a count without type.
    pub unit: u64,
    /// Number of ranks.
    pub ranks: u32,
}

/// Sizes of the communicators a rank is in, by their number.
pub type Sizes<'a> = &'a dyn Fn(u32) -> Option<u32>;

/// Arguments of a line, one after the other.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.is_over() {
            return None;
        }
        let start = self.at;
        let rest = &self.text[start..];
        let length = rest.iter().position(|&byte| is_blank(byte)).unwrap_or(rest.len());
        self.at = start + length;
        Some(&rest[..length])
    }

    /// Skips blanks; returns whether nothing follows.
    #[inline]
    fn is_over(&mut self) -> bool {
        while self.text.get(self.at).is_some_and(|&byte| is_blank(byte)) {
            self.at += 1;
        }
        self.at == self.text.len()
    }

    /// The next word if it is made of digits; what else it may be is the caller's to find out.
    /// Most words are, and are read in one go.
    #[inline]
    fn natural(&mut self) -> Option<u64> {
        if self.is_over() {
            return None;
        }
        let (mut at, mut value) = (self.at, 0u64);
        while let Some(digit) = self.text.get(at).map(|byte| byte.wrapping_sub(b'0')) {
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
        }
        let whole = self.text.get(at).is_none_or(|&byte| is_blank(byte));
        if !whole || at - self.at > LONGEST_NUMBER {
            return None;
        }
        self.at = at;
        Some(value)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        let mut offset = self.at;
        while offset > 0 && !is_blank(self.text[offset - 1]) {
            offset -= 1;
        }
        Err(ParseError { offset, message: message.into() })
    }

    fn need(&mut self, what: &str) -> Result<&'a [u8], ParseError> {
        match self.next() {
            Some(word) => Ok(word),
            None => {
                Err(ParseError { offset: self.text.len(), message: format!("{what} is missing") })
            }
        }
    }

    /// A number that is not negative; floating point is allowed.
    #[inline]
    fn amount(&mut self, what: &str) -> Result<f64, ParseError> {
        if let Some(value) = self.natural() {
            return Ok(value as f64);
        }
        let word = self.need(what)?;
        match number(word) {
            Some(value) if value >= 0.0 && value.is_finite() => Ok(value),
            _ => self.error(format!("{what} is `{}`, not a number from 0 on", show(word))),
        }
    }

    /// A whole number that is not negative.
    #[inline]
    fn count(&mut self, what: &str) -> Result<u64, ParseError> {
        if let Some(value) = self.natural() {
            return Ok(value);
        }
        let word = self.need(what)?;
        match number(word) {
            Some(value) if (0.0..9e15).contains(&value) => Ok(value as u64),
            _ => self.error(format!("{what} is `{}`, not a count", show(word))),
        }
    }

    #[inline]
    fn integer(&mut self, what: &str) -> Result<i32, ParseError> {
        let start = self.at;
        if let Some(value) = self.natural().and_then(|v| i32::try_from(v).ok()) {
            return Ok(value);
        }
        self.at = start;
        let word = self.need(what)?;
        let (sign, word) = match word.strip_prefix(b"-") {
            Some(rest) => (-1, rest),
            None => (1, word),
        };
        match digits(word).and_then(|v| i32::try_from(v).ok()) {
            Some(value) => Ok(sign * value),
            None => self.error(format!("{what} is `{}`, not a whole number", show(word))),
        }
    }

    /// An optional type code: the factor of counts.
    #[inline]
    fn unit(&mut self, default: u64) -> Result<u64, ParseError> {
        match self.next() {
            None => Ok(default),
            Some(word) => match digits(word).and_then(datatype::size) {
                Some(size) => Ok(size),
                None => self.error(format!("`{}` is no type code (0 to 29)", show(word))),
            },
        }
    }

    fn end(&mut self) -> Result<(), ParseError> {
        match self.next() {
            None => Ok(()),
            Some(word) => self.error(format!("too many arguments, from `{}` on", show(word))),
        }
    }
}

#[inline]
fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t' || byte == b'\r'
}

fn show(word: &[u8]) -> String {
    String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned()
}

/// Digits that surely fit 64 bits.
const LONGEST_NUMBER: usize = 18;

#[inline]
pub(super) fn digits(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > LONGEST_NUMBER {
        return None;
    }
    let mut value = 0u64;
    for &byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

fn number(word: &[u8]) -> Option<f64> {
    if let Some(value) = digits(word) {
        return Some(value as f64);
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// The rank at the head of a line (`3` or `p3`), and where the rest begins; `None` for empty
/// lines and comments.
#[inline]
pub(super) fn rank(text: &[u8]) -> Result<Option<(u32, usize)>, ParseError> {
    let mut words = Words { text, at: 0 };
    if let Some(rank) = words.natural().and_then(|v| u32::try_from(v).ok()) {
        return Ok(Some((rank, words.at)));
    }
    words.at = 0;
    let Some(word) = words.next().filter(|word| word[0] != b'#') else { return Ok(None) };
    let plain = match word[0] {
        b'p' | b'P' => &word[1..],
        _ => word,
    };
    match digits(plain).and_then(|v| u32::try_from(v).ok()) {
        Some(rank) => Ok(Some((rank, words.at))),
        None => words.error(format!("a line begins with a rank, not with `{}`", show(word))),
    }
}

/// Whether this line shows the version: `Some` when it can only be one of them.
pub(super) fn evidence(text: &[u8]) -> Option<Version> {
    let mut words = Words { text, at: 0 };
    let first = words.next().filter(|word| word[0] != b'#')?;
    if matches!(first[0], b'p' | b'P') {
        return Some(Version::One);
    }
    let name = words.next()?;
    let lower = name.to_ascii_lowercase();
    let arguments = std::iter::from_fn(|| words.next()).count();
    if name != lower && lower != b"sendrecv" {
        return Some(Version::One);
    }
    match (&lower[..], arguments) {
        (b"send" | b"isend" | b"recv" | b"irecv", 0..=2) => Some(Version::One),
        (b"send" | b"isend" | b"recv" | b"irecv", _) => Some(Version::Three),
        (b"wait" | b"test", 0) => Some(Version::One),
        (b"wait" | b"test", _) => Some(Version::Three),
        _ => None,
    }
}

/// Reads what follows the rank.
pub(super) fn action(
    text: &[u8],
    from: usize,
    reading: &Reading,
    sizes: Sizes<'_>,
) -> Result<Line, ParseError> {
    let mut words = Words { text, at: from };
    let name = words.need("the action")?;
    let Reading { version, unit, mut ranks } = *reading;
    let (mut comm, mut request, mut numbers) = (0, None, None);
    let mut ordered = false;
    if version == Version::Extended {
        words.text = strip_options(text, &mut comm, &mut request, &mut numbers, &mut ordered)?;
        if comm != 0 {
            ranks = match sizes(comm) {
                Some(size) => size,
                None => return words.error(format!("this rank is in no communicator {comm}")),
            };
        }
    }
    let mut small = [0u8; 16];
    let lower: &[u8] = if name.iter().any(u8::is_ascii_uppercase) && name.len() <= small.len() {
        small[..name.len()].copy_from_slice(name);
        small.make_ascii_lowercase();
        &small[..name.len()]
    } else {
        name
    };
    let tagged = version != Version::One;
    let extended = version == Version::Extended;
    let w = &mut words;
    let action = match lower {
        b"init" => {
            w.next();
            Action::Init
        }
        b"finalize" => Action::Finalize,
        b"compute" => Action::Compute(w.amount("the number of flop")?),
        b"sleep" => Action::Sleep(w.amount("the number of seconds")?),
        b"send" => Action::Send(outgoing(w, tagged, unit)?, Mode::Standard),
        b"isend" => Action::Isend(outgoing(w, tagged, unit)?, Mode::Standard),
        b"recv" => Action::Recv(incoming(w, tagged, unit)?),
        b"irecv" => Action::Irecv(incoming(w, tagged, unit)?),
        b"sendrecv" => {
            let count = w.count("the send count")?;
            let to = w.integer("the destination")?;
            let room = w.count("the receive count")?;
            let from = w.integer("the source")?;
            let send_unit = w.unit(unit)?;
            let recv_unit = w.unit(unit)?;
            let send = Envelope { peer: to, tag: 0, bytes: Some(times(w, count, send_unit)?) };
            let recv = Envelope { peer: from, tag: 0, bytes: Some(times(w, room, recv_unit)?) };
            Action::Sendrecv(send, recv)
        }
        b"wait" | b"test" | b"waitany" | b"waitsome" | b"testall" | b"testany" | b"testsome"
        | b"cancel" | b"start" | b"startall" => {
            let which = match (numbers.take(), lower) {
                (Some(numbers), _) => Which::Numbers(numbers),
                (None, b"wait" | b"test") if !tagged => Which::Last,
                (None, b"wait" | b"test") => Which::Key(
                    w.integer("the source")?,
                    w.integer("the destination")?,
                    w.integer("the tag")?,
                ),
                _ => return w.error(format!("`{}` needs requests: req=1,2,...", show(name))),
            };
            match lower {
                b"wait" => Action::Wait(which),
                b"test" | b"testall" => Action::Test(which),
                b"testany" if extended => Action::Testany(which),
                b"testsome" if extended => Action::Testsome(which),
                b"cancel" if extended => Action::Cancel(which),
                b"waitany" if extended => Action::Waitany(which),
                b"waitsome" if extended => Action::Waitsome(which),
                _ => Action::Start(which),
            }
        }
        b"waitall" => match numbers.take() {
            Some(numbers) => Action::Wait(Which::Numbers(numbers)),
            None => {
                w.next();
                Action::Waitall
            }
        },
        b"location" | b"comm_size" => {
            while w.next().is_some() {}
            Action::Nothing
        }
        b"comm_split" if extended => {
            let id = new_comm(w)?;
            let colour = w.integer("the colour")?;
            let key = if w.is_over() { 0 } else { w.integer("the key")? };
            Action::CommSplit { id, colour: (colour >= 0).then_some(colour), key }
        }
        b"comm_dup" if extended => Action::CommDup(new_comm(w)?),
        b"comm_window" if extended => Action::CommWindow(new_comm(w)?),
        b"put" if extended => Action::Put(outgoing(w, true, unit)?, Mode::Standard),
        b"accumulate" if extended => Action::Put(outgoing(w, true, unit)?, Mode::Synchronous),
        b"get" if extended => Action::Get(incoming(w, true, unit)?),
        b"comm_create" | b"comm_create_group" if extended => {
            let id = new_comm(w)?;
            let mut members = Vec::new();
            while !w.is_over() {
                members.push(w.count("a rank")? as u32);
            }
            match lower {
                b"comm_create" => Action::CommCreate(id, members.into()),
                _ => Action::CommGroup(id, members.into()),
            }
        }
        b"comm_split" | b"comm_dup" => {
            while w.next().is_some() {}
            Action::Nothing
        }
        b"ssend" if extended => Action::Send(outgoing(w, true, unit)?, Mode::Synchronous),
        b"issend" if extended => Action::Isend(outgoing(w, true, unit)?, Mode::Synchronous),
        b"send_init" if extended => Action::SendInit(outgoing(w, true, unit)?, Mode::Standard),
        b"ssend_init" if extended => Action::SendInit(outgoing(w, true, unit)?, Mode::Synchronous),
        b"recv_init" if extended => Action::RecvInit(incoming(w, true, unit)?),
        b"probe" | b"iprobe" | b"poll" if extended => {
            let peer = w.integer("the source")?;
            let wanted = Envelope { peer, tag: w.integer("the tag")?, bytes: None };
            match lower {
                b"probe" => Action::Probe(wanted),
                b"poll" => Action::Poll(wanted),
                _ => Action::Iprobe(wanted),
            }
        }
        _ => {
            let (lower, waits) = match lower.strip_prefix(b"i") {
                Some(rest) if extended => (rest, false),
                _ => (lower, true),
            };
            let mut found = collective(w, lower, unit, ranks)?;
            if let Some(call) = &mut found {
                call.ordered = ordered;
            }
            match found {
                Some(call) if waits => Action::Collective(Box::new(call)),
                Some(call) => Action::Icollective(Box::new(call)),
                None => {
                    let message = format!("unknown action `{}`", show(name));
                    return Err(ParseError { offset: from + 1, message });
                }
            }
        }
    };
    words.end()?;
    if numbers.is_some() && request.is_none() {
        return words.error("`req=` with several numbers does not fit this action");
    }
    Ok(Line { action, comm, request })
}

/// Takes `comm=` and `req=` off the end of a line.
fn strip_options<'a>(
    text: &'a [u8],
    comm: &mut u32,
    request: &mut Option<u32>,
    numbers: &mut Option<Box<[u32]>>,
    ordered: &mut bool,
) -> Result<&'a [u8], ParseError> {
    let mut end = text.len();
    let mut words = Words { text, at: 0 };
    loop {
        let before = words.at;
        let Some(word) = words.next() else { break };
        let parse = |list: &[u8]| -> Option<Vec<u32>> {
            let numbers = list.split(|&b| b == b',');
            numbers.map(|part| digits(part).and_then(|v| u32::try_from(v).ok())).collect()
        };
        if let Some(list) = word.strip_prefix(b"comm=") {
            match parse(list).as_deref() {
                Some(&[id]) => *comm = id,
                _ => return words.error("`comm=` takes the number of a communicator"),
            }
        } else if word == b"ordered=1" {
            *ordered = true;
        } else if let Some(list) = word.strip_prefix(b"req=") {
            match parse(list) {
                Some(list) => {
                    *request = (list.len() == 1).then(|| list[0]);
                    *numbers = Some(list.into());
                }
                None => return words.error("`req=` takes numbers of requests"),
            }
        } else if end < text.len() {
            return words.error("`comm=` and `req=` stand at the end of a line");
        } else {
            continue;
        }
        end = end.min(before);
    }
    Ok(&text[..end])
}

fn new_comm(w: &mut Words<'_>) -> Result<u32, ParseError> {
    match w.count("the number of the new communicator")? {
        0 => w.error("communicator 0 is the world"),
        id => Ok(u32::try_from(id).unwrap_or(u32::MAX)),
    }
}

#[inline]
fn times(w: &Words<'_>, count: u64, unit: u64) -> Result<u64, ParseError> {
    match count.checked_mul(unit).filter(|&bytes| bytes < 1 << 60) {
        Some(bytes) => Ok(bytes),
        None => w.error("the message is larger than 10^18 bytes"),
    }
}

#[inline]
fn outgoing(w: &mut Words<'_>, tagged: bool, unit: u64) -> Result<Envelope, ParseError> {
    let peer = w.integer("the destination")?;
    let tag = if tagged { w.integer("the tag")? } else { 0 };
    if tag < 0 {
        return w.error("a message has a tag from 0 on");
    }
    let count = w.count("the count")?;
    let unit = w.unit(unit)?;
    Ok(Envelope { peer, tag, bytes: Some(times(w, count, unit)?) })
}

#[inline]
fn incoming(w: &mut Words<'_>, tagged: bool, unit: u64) -> Result<Envelope, ParseError> {
    let peer = w.integer("the source")?;
    let tag = if tagged { w.integer("the tag")? } else { 0 };
    if !tagged && w.is_over() {
        return Ok(Envelope { peer, tag, bytes: None });
    }
    let mut ahead = Words { text: w.text, at: w.at };
    if ahead.next() == Some(b"-1") {
        w.at = ahead.at;
        w.unit(unit)?;
        return Ok(Envelope { peer, tag, bytes: None });
    }
    let count = w.count("the count")?;
    let unit = w.unit(unit)?;
    Ok(Envelope { peer, tag, bytes: Some(times(w, count, unit)?) })
}

fn collective(
    w: &mut Words<'_>,
    name: &[u8],
    unit: u64,
    ranks: u32,
) -> Result<Option<Call>, ParseError> {
    let root = |w: &mut Words<'_>| -> Result<u32, ParseError> {
        if w.is_over() {
            return Ok(0);
        }
        Ok(u32::try_from(w.count("the root")?).unwrap_or(u32::MAX))
    };
    let kind = match name {
        b"barrier" => return Ok(Some(Call::new(Kind::Barrier, 0))),
        b"bcast" => Kind::Bcast,
        b"reduce" => Kind::Reduce,
        b"allreduce" => Kind::Allreduce,
        b"gather" => Kind::Gather,
        b"gatherv" => Kind::Gatherv,
        b"scatter" => Kind::Scatter,
        b"scatterv" => Kind::Scatterv,
        b"allgather" => Kind::Allgather,
        b"allgatherv" => Kind::Allgatherv,
        b"alltoall" => Kind::Alltoall,
        b"alltoallv" => Kind::Alltoallv,
        b"reducescatter" | b"reduce_scatter" => Kind::ReduceScatter,
        b"scan" => Kind::Scan,
        b"exscan" => Kind::Exscan,
        _ => return Ok(None),
    };
    let mut call = Call::new(kind, 0);
    match kind {
        Kind::Bcast => {
            let count = w.count("the count")?;
            call.root = root(w)?;
            call.unit = w.unit(unit)?;
            call.bytes = times(w, count, call.unit)?;
        }
        Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => {
            let count = w.count("the count")?;
            call.flops = w.amount("the number of flop")?;
            if kind == Kind::Reduce {
                call.root = root(w)?;
            }
            call.unit = w.unit(unit)?;
            call.bytes = times(w, count, call.unit)?;
        }
        Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::Alltoall => {
            let send = w.count("the send count")?;
            let recv = w.count("the receive count")?;
            if kind.has_root() {
                call.root = root(w)?;
            }
            call.unit = w.unit(unit)?;
            let recv_unit = w.unit(call.unit)?;
            call.bytes = times(w, send, call.unit)?;
            call.recv_bytes = times(w, recv, recv_unit)?;
        }
        Kind::Gatherv | Kind::Allgatherv => {
            let send = w.count("the send count")?;
            call.counts = counts(w, ranks)?;
            if kind == Kind::Gatherv {
                call.root = root(w)?;
            }
            call.unit = w.unit(unit)?;
            let recv_unit = w.unit(call.unit)?;
            if kind == Kind::Allgatherv && !w.is_over() {
                counts(w, ranks)?; // displacements: they move no data
            }
            call.bytes = times(w, send, call.unit)?;
            scale(w, &mut call.counts, recv_unit)?;
            call.unit = recv_unit;
        }
        Kind::Scatterv => {
            call.counts = counts(w, ranks)?;
            let recv = w.count("the receive count")?;
            call.root = root(w)?;
            call.unit = w.unit(unit)?;
            let recv_unit = w.unit(call.unit)?;
            scale(w, &mut call.counts, call.unit)?;
            call.recv_bytes = times(w, recv, recv_unit)?;
        }
        Kind::Alltoallv => {
            w.count("the send total")?;
            call.counts = counts(w, ranks)?;
            w.count("the receive total")?;
            call.recv_counts = counts(w, ranks)?;
            call.unit = w.unit(unit)?;
            let recv_unit = w.unit(call.unit)?;
            scale(w, &mut call.counts, call.unit)?;
            scale(w, &mut call.recv_counts, recv_unit)?;
        }
        Kind::ReduceScatter => {
            call.counts = counts(w, ranks)?;
            call.flops = w.amount("the number of flop")?;
            call.unit = w.unit(unit)?;
            scale(w, &mut call.counts, call.unit)?;
            call.bytes = call.counts.iter().sum();
        }
        Kind::Barrier => {}
    }
    Ok(Some(call))
}

fn counts(w: &mut Words<'_>, ranks: u32) -> Result<Box<[u64]>, ParseError> {
    let mut counts = Vec::with_capacity(ranks as usize);
    for rank in 0..ranks {
        if w.is_over() {
            let message =
                format!("one count for each of {ranks} ranks is needed, {rank} are given");
            return Err(ParseError { offset: w.text.len(), message });
        }
        counts.push(w.count("a count")?);
    }
    Ok(counts.into())
}

fn scale(w: &Words<'_>, counts: &mut [u64], unit: u64) -> Result<(), ParseError> {
    for count in counts {
        *count = times(w, *count, unit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, version: Version) -> Result<Line, ParseError> {
        let reading = Reading { version, unit: 1, ranks: 3 };
        let (_, from) = rank(text.as_bytes())?.unwrap();
        action(text.as_bytes(), from, &reading, &|comm| (comm == 7).then_some(2))
    }

    #[test]
    fn lines_of_all_versions() {
        let envelope = |peer, tag, bytes| Envelope { peer, tag, bytes };
        let line = read("0 send 1 5 10 0", Version::Three).unwrap();
        assert_eq!(line.action, Action::Send(envelope(1, 5, Some(80)), Mode::Standard));
        let line = read("p0 Irecv 1", Version::One).unwrap();
        assert_eq!(line.action, Action::Irecv(envelope(1, 0, None)));
        let line = read("2 wait req=4,5", Version::Extended).unwrap();
        assert_eq!(line.action, Action::Wait(Which::Numbers([4, 5].into())));
        let line = read("2 bcast 10 1 comm=7", Version::Extended).unwrap();
        assert_eq!(line.comm, 7);
        let line = read("1 gatherv 5 1 2 3 2 1", Version::Three).unwrap();
        let Action::Collective(call) = line.action else { panic!() };
        assert_eq!((&*call.counts, call.root, call.unit), (&[4, 8, 12][..], 2, 4));
    }

    #[test]
    fn mistakes_are_placed() {
        let complaint = read("0 send 1 5 -10", Version::Three).unwrap_err();
        assert_eq!(complaint.offset, 11);
        for bad in [
            "0 jump 1",
            "0 send 1",
            "0 compute NaN",
            "0 compute -1",
            "0 send 1 2 3 99",
            "0 barrier 3",
            "0 gatherv 1 1 1",
            "0 isend 1 0 5 req=1",
            "0 compute",
            "0 send 1 -1 3",
        ] {
            assert!(read(bad, Version::Three).is_err(), "{bad}");
        }
    }
}
