//! Mutations of files: unexpected bytes, tokens and numbers, pieces cut, doubled, swapped and taken
//! from other files.

use rand::RngExt;
use slackline_model::rng::Stream;

/// Tokens that are likely to confuse readers.
const TOKENS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "1e308",
    "-1e308",
    "1e-320",
    "1e999",
    "NaN",
    "inf",
    "-0.0",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "9223372036854775807",
    "0.1",
    "1000000",
    "100000000000",
    "\"\"",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "</",
    "/>",
    "<!--",
    "-->",
    "<![CDATA[",
    "&amp;",
    "&#x41;",
    "&unknown;",
    ",",
    ":",
    ";",
    "=",
    "->",
    "--",
    "\\",
    "\\u0000",
    "\\ud800",
    "#",
    "\n",
    "\r\n",
    "\t",
    " ",
    "null",
    "true",
    "false",
    "%",
    "50%",
    "1s",
    "1h",
    "1Gf",
    "1GBps",
    "10Mbps",
    "\u{1b}[2J",
    "\u{feff}",
    "é",
    "\u{202e}",
    "🦀",
    "..",
    "/dev/zero",
    "../../etc/passwd",
    "*",
    "?",
    "NA",
];

/// Most changes of one file.
const MOST: u32 = 3;

/// Longest mutated text, in bytes: bounds the time of an execution.
const LONGEST: usize = 60_000;

/// A mutated text; inserted pieces may come from `other`.
pub(crate) fn mutated(text: &[u8], other: &[u8], random: &mut Stream) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..random.random_range(1..=MOST) {
        change(&mut text, other, random);
        text.truncate(LONGEST);
    }
    text
}

/// The log of a run with its checksums corrected.
pub(crate) fn sealed(log: &[u8]) -> Vec<u8> {
    const SEAL: &[u8] = b",\"crc\":\"";
    let line = |line: &[u8]| {
        let end = line.windows(SEAL.len()).rposition(|part| part == SEAL);
        let body = &line[..end.unwrap_or(line.len())];
        let sum = end.map(|_| format!("{:08x}\"}}", crc32fast::hash(body)).into_bytes());
        sum.map_or(line.to_vec(), |sum| [body, SEAL, &sum].concat())
    };
    log.split(|b| *b == b'\n').map(line).collect::<Vec<_>>().join(&b'\n')
}

/// One random change, each of twelve cases equally likely: a flipped bit (0), a random byte (1), an inserted token (2, 3),
/// a replaced word (4 to 6), a piece removed (7) or repeated (8), a piece of the other text inserted (9), two lines swapped
/// (10), and a cut in one of four (11). Nothing happens where a case does not apply.
fn change(text: &mut Vec<u8>, other: &[u8], random: &mut Stream) {
    let at = random.random_range(0..=text.len());
    match random.random_range(0..12) {
        0 if at < text.len() => text[at] ^= 1 << random.random_range(0..8u32),
        1 if at < text.len() => text[at] = random.random_range(0..=255),
        2 | 3 => {
            let token = TOKENS[random.random_range(0..TOKENS.len())];
            text.splice(at..at, token.bytes());
        }
        4..=6 => {
            let token = TOKENS[random.random_range(0..TOKENS.len())];
            let word = word(text, at);
            text.splice(word, token.bytes());
        }
        7 => {
            let piece = piece(text, random);
            text.drain(piece);
        }
        8 => {
            let piece = piece(text, random);
            let copy = text[piece.clone()].to_vec();
            let times = if random.random_range(0..8) == 0 { 50 } else { 1 };
            for _ in 0..times {
                text.splice(piece.start..piece.start, copy.iter().copied());
            }
        }
        9 => {
            let piece = piece(other, random);
            text.splice(at..at, other[piece].iter().copied());
        }
        10 => swap_lines(text, random),
        _ if random.random_range(0..4) == 0 => text.truncate(at),
        _ => {}
    }
}

/// The extent of the word or number around a position.
fn word(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+');
    let start = text[..at].iter().rposition(|b| !part(b)).map_or(0, |i| i + 1);
    let end = text[at..].iter().position(|b| !part(b)).map_or(text.len(), |i| at + i);
    start..end
}

/// A random extent of at most 40 bytes, or 2000 in one of four.
fn piece(text: &[u8], random: &mut Stream) -> std::ops::Range<usize> {
    let start = random.random_range(0..=text.len());
    let longest = if random.random_range(0..4) == 0 { 2000 } else { 40 };
    start..(start + random.random_range(0..=longest)).min(text.len())
}

fn swap_lines(text: &mut Vec<u8>, random: &mut Stream) {
    let mut lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b) = (random.random_range(0..lines.len()), random.random_range(0..lines.len()));
    lines.swap(a, b);
    *text = lines.join(&b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_log_is_whole_again() {
        let log = include_bytes!("../run/log.jsonl");
        assert_eq!(sealed(log), log);
        let broken = String::from_utf8_lossy(log).replace("\"n\":3", "\"n\":4").into_bytes();
        let sealed = sealed(&broken);
        assert!(sealed != broken && sealed.len() == broken.len());
    }
}
