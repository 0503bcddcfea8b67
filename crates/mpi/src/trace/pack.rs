//! The compact form of a trace: words once, numbers as varints, repeated blocks once.
//!
//! The loops of a code repeat lines that differ only in numbers that grow by the same amount each time (a tag, a
//! step). Such a block is stored once, with the number of repetitions and the growth of its numbers. Unpacked lines are
//! those that were packed, without comments and with single blanks. Layout: magic, version, number of ranks, words, length
//! of each rank's section, sections.

use super::{Reading, Traces, Version};
use slackline_io::FormatError;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// First bytes of a packed trace.
pub(super) const MAGIC: &[u8; 8] = b"SLKTRC01";

/// Longest block, in lines; a reader keeps this many per rank.
const LONGEST_BLOCK: usize = 4096;

/// Successive lines that have to agree before a block is compared number by number.
const SEED: usize = 4;

/// Most earlier positions with the same seed that are tried.
const TRIES: usize = 256;

/// A word of the dictionary, or a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Word(u32),
    Number(i64),
}

type Tokens = Vec<Token>;

/// Appends a number as a varint: seven bits per byte, the lowest first, the top bit set in all but the last.
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Maps small numbers of either sign to small ones: 0, -1, 1, -2 to 0, 1, 2, 3.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn get(input: &mut impl Read) -> io::Result<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let mut byte = [0u8];
        input.read_exact(&mut byte)?;
        value |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            return Ok(value);
        }
    }
    Err(bad("a number never ends"))
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged packed trace: {what}"))
}

/// A whole number that is written as it was read (no sign or leading zero is lost).
fn plain_number(word: &str) -> Option<i64> {
    word.parse::<i64>().ok().filter(|number| number.to_string() == word)
}

/// Packs the lines of every rank.
pub fn pack(traces: Traces, out: &mut dyn Write) -> Result<(), FormatError> {
    let version = traces.version();
    let (cursors, _spools) = traces.into_cursors();
    let mut words: HashMap<String, u32> = HashMap::new();
    let mut sections = Vec::with_capacity(cursors.len());
    for mut cursor in cursors {
        let mut lines: Vec<Tokens> = Vec::new();
        while let Some(text) = cursor.next_text()? {
            let text = String::from_utf8_lossy(text);
            let mut tokens = Tokens::new();
            for word in text.split_whitespace().skip(1) {
                let next = words.len() as u32;
                tokens.push(match plain_number(word) {
                    Some(number) => Token::Number(number),
                    None => Token::Word(*words.entry(word.to_owned()).or_insert(next)),
                });
            }
            lines.push(tokens);
        }
        sections.push(fold(&lines));
    }
    let mut head = MAGIC.to_vec();
    put(
        &mut head,
        match version {
            Version::One => 1,
            Version::Three => 3,
            Version::Extended => 4,
        },
    );
    put(&mut head, sections.len() as u64);
    let mut sorted: Vec<(&String, &u32)> = words.iter().collect();
    sorted.sort_by_key(|(_, id)| **id);
    put(&mut head, sorted.len() as u64);
    for (word, _) in sorted {
        put(&mut head, word.len() as u64);
        head.extend_from_slice(word.as_bytes());
    }
    sections.iter().for_each(|section| put(&mut head, section.len() as u64));
    out.write_all(&head)?;
    for section in &sections {
        out.write_all(section)?;
    }
    Ok(())
}

fn same_shape(a: &Tokens, b: &Tokens) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|pair| match pair {
            (Token::Word(a), Token::Word(b)) => a == b,
            (Token::Number(_), Token::Number(_)) => true,
            _ => false,
        })
}

/// Returns the differences of the numbers of a block to the one before; `None` when its words
/// differ.
fn growth(lines: &[Tokens], at: usize, period: usize) -> Option<Vec<i64>> {
    let mut growth = Vec::new();
    for k in at..at + period {
        let (now, before) = (lines.get(k)?, &lines[k - period]);
        if !same_shape(now, before) {
            return None;
        }
        for pair in now.iter().zip(before) {
            if let (Token::Number(now), Token::Number(before)) = pair {
                growth.push(now.wrapping_sub(*before));
            }
        }
    }
    Some(growth)
}

/// Packs the lines of one rank: an even code 2 n and n literal lines, or an odd code 2 period + 1, the number of
/// repetitions of the last `period` lines, and the numbers that grow.
fn fold(lines: &[Tokens]) -> Vec<u8> {
    let shape = |tokens: &Tokens| {
        tokens.iter().fold(tokens.len() as u64, |hash, token| {
            let part = if let Token::Word(id) = token { u64::from(*id) + 2 } else { 1 };
            (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
        })
    };
    let shapes: Vec<u64> = lines.iter().map(shape).collect();
    let seed = |at: usize| {
        let lines = shapes.get(at..at + SEED)?;
        Some(lines.iter().fold(0u64, |hash, s| hash.rotate_left(7).wrapping_mul(31) ^ s))
    };
    let mut places: HashMap<u64, VecDeque<usize>> = HashMap::new();
    let mut out = Vec::new();
    let mut literals: Vec<usize> = Vec::new();
    let flush = |literals: &mut Vec<usize>, out: &mut Vec<u8>| {
        if !literals.is_empty() {
            put(out, literals.len() as u64 * 2);
            for &at in literals.iter() {
                put(out, lines[at].len() as u64);
                for token in &lines[at] {
                    match token {
                        Token::Word(id) => put(out, u64::from(*id) + 1),
                        Token::Number(number) => {
                            put(out, 0);
                            put(out, zigzag(*number));
                        }
                    }
                }
            }
            literals.clear();
        }
    };
    let mut at = 0;
    while at < lines.len() {
        // The repetition that covers most lines; of equal ones that with the shorter period.
        let mut best: Option<(usize, usize, Vec<i64>)> = None;
        let known = seed(at).and_then(|seed| places.get(&seed));
        for &before in known.into_iter().flatten().rev() {
            let period = at - before;
            if period > LONGEST_BLOCK {
                break;
            }
            let Some(grows) = growth(lines, at, period) else { continue };
            let mut count = 1;
            while growth(lines, at + count * period, period).is_some_and(|again| again == grows) {
                count += 1;
            }
            let covered = count * period;
            if best.as_ref().is_none_or(|(p, c, _)| covered > p * c) {
                best = Some((period, count, grows));
            }
        }
        let step = match best.filter(|(period, count, _)| period * count >= 2 * SEED) {
            Some((period, count, grows)) => {
                flush(&mut literals, &mut out);
                put(&mut out, period as u64 * 2 + 1);
                put(&mut out, count as u64);
                // Position of each number that grows, as a difference to the one before, and its growth.
                let moving: Vec<(usize, i64)> =
                    grows.iter().copied().enumerate().filter(|(_, g)| *g != 0).collect();
                put(&mut out, moving.len() as u64);
                let mut last = 0;
                for (k, g) in moving {
                    put(&mut out, (k - last) as u64);
                    put(&mut out, zigzag(g));
                    last = k;
                }
                period * count
            }
            None => {
                literals.push(at);
                1
            }
        };
        // A long repetition adds no new patterns; its ends are enough to continue from.
        let news = at..(at + step).min(at + LONGEST_BLOCK);
        for place in news.chain((at + step).saturating_sub(LONGEST_BLOCK).max(at)..at + step) {
            if let Some(seed) = seed(place) {
                let list = places.entry(seed).or_default();
                if list.back() != Some(&place) {
                    list.push_back(place);
                }
                if list.len() > TRIES {
                    list.pop_front();
                }
            }
        }
        at += step;
    }
    flush(&mut literals, &mut out);
    out
}

/// The head of a packed trace.
pub(super) struct Head {
    pub(super) version: Version,
    words: std::sync::Arc<Vec<String>>,
    /// Offset and length of every rank's section.
    sections: Vec<(u64, u64)>,
}

impl Head {
    pub(super) fn read(file: &Path) -> io::Result<Head> {
        let opened = File::open(file)?;
        let total = opened.metadata()?.len();
        let mut input = BufReader::new(opened);
        let mut magic = [0u8; 8];
        input.read_exact(&mut magic)?;
        let version = match get(&mut input)? {
            1 => Version::One,
            3 => Version::Three,
            4 => Version::Extended,
            _ => return Err(bad("unknown version")),
        };
        let ranks = get(&mut input)?;
        let count = get(&mut input)?;
        if ranks > total || count > total || ranks == 0 {
            return Err(bad("more ranks or words than bytes"));
        }
        let mut words = Vec::new();
        for _ in 0..count {
            let length = get(&mut input)?;
            if length > total {
                return Err(bad("a word is longer than the file"));
            }
            let mut word = vec![0u8; length as usize];
            input.read_exact(&mut word)?;
            words.push(String::from_utf8(word).map_err(|_| bad("a word is not text"))?);
        }
        let lengths: Vec<u64> = (0..ranks).map(|_| get(&mut input)).collect::<io::Result<_>>()?;
        let mut at = input.stream_position()?;
        let mut sections = Vec::with_capacity(lengths.len());
        for length in lengths {
            sections.push((at, length));
            at = at.checked_add(length).ok_or_else(|| bad("a section is too long"))?;
        }
        if at != total {
            return Err(bad("cut, or something follows"));
        }
        Ok(Head { version, words: std::sync::Arc::new(words), sections })
    }

    pub(super) fn ranks(&self) -> usize {
        self.sections.len()
    }

    pub(super) fn reading(&self) -> Reading {
        Reading { version: self.version, unit: 1, ranks: self.sections.len() as u32 }
    }

    /// The text of one rank's lines.
    pub(super) fn unpack(&self, file: &Path, rank: usize) -> io::Result<Unpacked> {
        let (start, length) = self.sections[rank];
        let mut input = File::open(file)?;
        input.seek(SeekFrom::Start(start))?;
        let input = BufReader::with_capacity(4096, input).take(length);
        let words = std::sync::Arc::clone(&self.words);
        Ok(Unpacked {
            input,
            words,
            rank,
            kept: VecDeque::new(),
            todo: Todo::Nothing,
            text: Vec::new(),
            at: 0,
        })
    }
}

/// The lines that follow, as the last code announced them.
enum Todo {
    Nothing,
    /// Literal lines still to come.
    Literals(u64),
    /// Period, lines still to come, growth of the numbers of each line of the block, and the next line of it.
    Repeat(usize, u64, Vec<Vec<i64>>, usize),
}

/// Lines of a rank as they come out of a packed trace.
pub(super) struct Unpacked {
    input: io::Take<BufReader<File>>,
    words: std::sync::Arc<Vec<String>>,
    rank: usize,
    /// The last lines, to which blocks refer.
    kept: VecDeque<Tokens>,
    todo: Todo,
    /// Text that was unpacked, and the position up to which it was read.
    text: Vec<u8>,
    at: usize,
}

impl Unpacked {
    /// The next line; `None` at the end.
    fn line(&mut self) -> io::Result<Option<Tokens>> {
        loop {
            match &mut self.todo {
                Todo::Literals(0) | Todo::Repeat(_, 0, _, _) => self.todo = Todo::Nothing,
                Todo::Literals(left) => {
                    *left -= 1;
                    let count = get(&mut self.input)?;
                    let mut tokens = Tokens::new();
                    for _ in 0..count {
                        tokens.push(match get(&mut self.input)? {
                            0 => Token::Number(unzigzag(get(&mut self.input)?)),
                            id if id <= self.words.len() as u64 => Token::Word(id as u32 - 1),
                            _ => return Err(bad("no such word")),
                        });
                    }
                    return Ok(Some(tokens));
                }
                Todo::Repeat(period, left, grows, place) => {
                    *left -= 1;
                    let mut tokens = self.kept[self.kept.len() - *period].clone();
                    let mut grows_here = grows[*place].iter();
                    for token in &mut tokens {
                        if let Token::Number(number) = token {
                            *number = number.wrapping_add(*grows_here.next().unwrap_or(&0));
                        }
                    }
                    *place = (*place + 1) % *period;
                    return Ok(Some(tokens));
                }
                Todo::Nothing => {
                    if self.input.limit() == 0 {
                        return Ok(None);
                    }
                    let code = get(&mut self.input)?;
                    self.todo = match code % 2 {
                        0 => Todo::Literals(code / 2),
                        _ => self.repetition((code / 2) as usize)?,
                    };
                }
            }
        }
    }

    fn repetition(&mut self, period: usize) -> io::Result<Todo> {
        if period == 0 || period > self.kept.len() {
            return Err(bad("a block reaches before the beginning"));
        }
        let count = get(&mut self.input)?;
        let moving = get(&mut self.input)?;
        let mut grows: Vec<Vec<i64>> = Vec::with_capacity(period);
        for line in self.kept.range(self.kept.len() - period..) {
            grows.push(vec![0; line.iter().filter(|t| matches!(t, Token::Number(_))).count()]);
        }
        let (mut last, mut line, mut before) = (0usize, 0, 0);
        for _ in 0..moving {
            last = last
                .checked_add(get(&mut self.input)? as usize)
                .ok_or_else(|| bad("no such number"))?;
            let grow = unzigzag(get(&mut self.input)?);
            while line < period && last >= before + grows[line].len() {
                before += grows[line].len();
                line += 1;
            }
            let place = grows.get_mut(line).and_then(|g| g.get_mut(last - before));
            *place.ok_or_else(|| bad("no such number"))? = grow;
        }
        let lines = (period as u64).checked_mul(count).ok_or_else(|| bad("too many lines"))?;
        Ok(Todo::Repeat(period, lines, grows, 0))
    }
}

impl Read for Unpacked {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            while self.text.len() < 4096 {
                let Some(tokens) = self.line()? else { break };
                write!(self.text, "{}", self.rank)?;
                for token in &tokens {
                    match token {
                        Token::Word(id) => write!(self.text, " {}", self.words[*id as usize])?,
                        Token::Number(number) => write!(self.text, " {number}")?,
                    }
                }
                self.text.push(b'\n');
                self.kept.push_back(tokens);
                if self.kept.len() > LONGEST_BLOCK {
                    self.kept.pop_front();
                }
            }
        }
        let count = room.len().min(self.text.len() - self.at);
        room[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Writes the lines of every rank as text, rank by rank.
pub fn unpack(traces: Traces, out: &mut dyn Write) -> Result<(), FormatError> {
    if traces.version() == Version::Extended {
        out.write_all(super::HEADER)?;
        out.write_all(b"\n")?;
    }
    let (cursors, _spools) = traces.into_cursors();
    for mut cursor in cursors {
        while let Some(text) = cursor.next_text()? {
            out.write_all(text)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_stored_once_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("t.tit");
        let mut lines = String::new();
        for rank in 0..3 {
            lines += &format!("{rank} init\n");
            for round in 0..2000 {
                let to = (rank + 1) % 3;
                lines += &format!(
                    "{rank} isend {to} {round} 1640\n{rank} irecv {} {round} 1640\n",
                    (rank + 2) % 3
                );
                lines += &format!(
                    "{rank} compute {}\n{rank} waitall\n",
                    1000 * (10 + (13 * rank + round) % 5)
                );
                if round % 10 == 9 {
                    lines += &format!("{rank} allreduce 8 1.5e3\n");
                }
            }
            lines += &format!("{rank} finalize\n");
        }
        std::fs::write(&text, &lines).unwrap();
        let packed = folder.path().join("t.tib");
        let mut bytes = Vec::new();
        pack(Traces::open(std::slice::from_ref(&text)).unwrap(), &mut bytes).unwrap();
        assert!(bytes.len() * 10 < lines.len(), "{} of {}", bytes.len(), lines.len());
        std::fs::write(&packed, &bytes).unwrap();
        let mut back = Vec::new();
        unpack(Traces::open(std::slice::from_ref(&packed)).unwrap(), &mut back).unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), lines);
        // Damage is detected, or gives other lines; it never panics.
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x15;
            std::fs::write(&packed, &damaged).unwrap();
            if let Ok(traces) = Traces::open(std::slice::from_ref(&packed)) {
                let mut sink = Limited(1 << 20);
                let _ = unpack(traces, &mut sink);
            }
        }
    }

    /// A writer that fails after a number of bytes.
    struct Limited(usize);

    impl Write for Limited {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("enough"))?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
