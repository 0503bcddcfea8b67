//! Bad input for every reader behind the front door: random bytes, valid files with damage,
//! deep nesting, bombs. Whatever comes, the answer is a workflow or an error, soon.
#![allow(clippy::unwrap_used)] // tests

use crate::common;

use common::{documents, fixtures};
use proptest::prelude::*;
use slackline_formats::FileAccess;
use slackline_formats::{Format, parse_workflow, read_workflow};

/// Valid texts of a format: fixtures, and what its writer makes of our documents.
fn samples(format: Format) -> Vec<String> {
    let mut samples: Vec<String> =
        fixtures().into_iter().map(|f| f.1).filter(|text| format.recognises(text)).collect();
    if format.can_write() {
        for document in documents() {
            let mut out = Vec::new();
            // Some formats cannot hold some workflows; an error is fine.
            if format.write(&document, &mut out).is_ok() {
                samples.push(String::from_utf8(out).unwrap());
            }
        }
    }
    samples
}

fn samples_of_all() -> Vec<(Format, String)> {
    let of = |&format: &Format| samples(format).into_iter().map(move |text| (format, text));
    Format::ALL.iter().flat_map(of).collect()
}

/// Every reader, then the front door.
fn feed(text: &str) {
    for &format in Format::ALL {
        if let Err(error) = format.read(text) {
            assert!(!error.message.is_empty(), "{format}: an error without words");
        }
    }
    let _ = parse_workflow(text, None, None);
}

#[test]
fn every_format_has_valid_samples() {
    for &format in Format::ALL {
        let samples = samples(format);
        assert!(!samples.is_empty(), "{format} has no sample: add a fixture or a writer");
        for text in samples {
            format.read(&text).unwrap_or_else(|e| panic!("{format}: {e}\n{text}"));
            assert_eq!(Format::detect(None, &text).unwrap(), format);
        }
    }
}

#[test]
fn every_cut_of_a_short_file_is_survived() {
    for (format, text) in samples_of_all() {
        let step = (text.len() / 200).max(1);
        for cut in (0..text.len()).step_by(step).filter(|&cut| text.is_char_boundary(cut)) {
            let _ = format.read(&text[..cut]);
        }
    }
}

#[test]
fn deep_nesting_neither_overflows_nor_hangs() {
    const DEPTH: usize = 1_000_000;
    let wrap = |head: &str, open: &str| format!("{head}{}", open.repeat(DEPTH));
    for text in [
        wrap("", "["),
        wrap("", "{\"workflow\":"),
        wrap("{\"schemaVersion\":\"1.5\",\"workflow\":{\"x\":", "["),
        wrap("{\"schemaVersion\":\"1.5\",\"workflow\":{\"specification\":{\"tasks\":", "["),
        wrap("", "<a>"),
        wrap("<adag><job id='a'>", "<a>"),
        wrap("pegasus: '5.0'\njobs: ", "["),
        wrap("pegasus: '5.0'\njobs: ", "- "),
        wrap("pegasus: '5.0'\njobs:\n", "? "),
        wrap("pegasus: '5.0'\nx: ", "{a: "),
        wrap("digraph { ", "{"),
        wrap("a = ", "["),
        wrap("", "a."),
    ] {
        feed(&text);
    }
}

#[test]
fn bombs_do_not_go_off() {
    let entities: String = (1..20)
        .map(|i| format!("<!ENTITY e{i} \"{}\">", format!("&e{};", i - 1).repeat(10)))
        .collect();
    let xml = format!("<!DOCTYPE adag [<!ENTITY e0 \"boom\">{entities}]><adag name='&e19;'/>");
    assert!(Format::Dax.read(&xml).unwrap_err().message.contains("DOCTYPE"));
    feed(&xml);
    let mut yaml = String::from("pegasus: '5.0'\njobs: *a30\na0: &a0 [x]\n");
    for i in 1..31 {
        yaml.push_str(&format!("a{i}: &a{i} [*a{0}, *a{0}, *a{0}]\n", i - 1));
    }
    feed(&yaml);
    // All tasks write and read the same names: the product is refused or small.
    let mut dax = String::from("<adag>");
    for i in 0..300 {
        dax.push_str(&format!("<job id='j{i}' runtime='1'>"));
        for f in 0..60 {
            dax.push_str(&format!("<uses file='f{f}' link='inout' size='1'/>"));
        }
        dax.push_str("</job>");
    }
    dax.push_str("</adag>");
    assert_eq!(Format::Dax.read(&dax).unwrap().workflow.edge_count(), 0);
    // Claims of size are not believed.
    feed("999999999\n0 1 0\n");
    feed("4294967295 4294967295\n");
}

#[test]
fn other_encodings_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (format, text) in samples_of_all() {
        let path = folder.path().join(format!("x.{}", format.extensions()[0]));
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut with_mark = vec![0xff, 0xfe];
        with_mark.extend(utf16);
        std::fs::write(&path, with_mark).unwrap();
        let error = read_workflow(&FileAccess::default(), &path, None).unwrap_err();
        assert!(error.to_string().contains("not UTF-8"), "{error}");
        std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
        read_workflow(&FileAccess::default(), &path, None).unwrap();
    }
}

/// One way to damage a text.
#[derive(Clone, Debug)]
enum Damage {
    Cut(usize, usize),
    Repeat(usize, usize),
    Insert(usize, &'static str),
    Replace(usize, &'static str),
    Byte(usize, u8),
}

const SCRAPS: [&str; 24] = [
    "-1",
    "NaN",
    "1e999",
    "-0",
    "inf",
    "99999999999999999999",
    "1e-320",
    "null",
    "true",
    "\"",
    "'",
    "<",
    ">",
    "&",
    "{",
    "}",
    "[",
    "]",
    "\n",
    "\t",
    "\u{0}",
    "é",
    "->",
    "#",
];

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<usize>;
    let scrap = || proptest::sample::select(SCRAPS.as_slice());
    prop_oneof![
        (at(), 1..40usize).prop_map(|(at, n)| Damage::Cut(at, n)),
        (at(), 1..200usize).prop_map(|(at, n)| Damage::Repeat(at, n)),
        (at(), scrap()).prop_map(|(at, s)| Damage::Insert(at, s)),
        (at(), scrap()).prop_map(|(at, s)| Damage::Replace(at, s)),
        (at(), any::<u8>()).prop_map(|(at, b)| Damage::Byte(at, b)),
    ]
}

/// The text with the damage done; positions wrap around, broken characters are replaced.
fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for damage in damages {
        let length = bytes.len().max(1);
        let range = |at: usize, n: usize| at % length..(at % length + n).min(bytes.len());
        match *damage {
            Damage::Cut(at, n) => drop(bytes.drain(range(at, n))),
            Damage::Repeat(at, n) => {
                let part = bytes[range(at, n)].to_vec();
                let end = range(at, n).end;
                bytes.splice(end..end, part);
            }
            Damage::Insert(at, scrap) => {
                let at = at % length;
                bytes.splice(at..at, scrap.bytes());
            }
            Damage::Replace(at, scrap) => {
                // A whole word, so that numbers become other numbers.
                let start = at % length;
                let is_word = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'.';
                let n = bytes[start..].iter().take_while(is_word).count();
                bytes.splice(start..start + n, scrap.bytes());
            }
            Damage::Byte(at, byte) => {
                if let Some(b) = bytes.get_mut(at % length) {
                    *b = byte;
                }
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #![proptest_config(slackline_testkit::cases(400))]

    #[test]
    fn damaged_files_are_survived(which in any::<usize>(), damages in prop::collection::vec(damage(), 1..6)) {
        let samples = samples_of_all();
        let (format, text) = &samples[which % samples.len()];
        let text = damaged(text, &damages);
        if let Ok(document) = format.read(&text) {
            // Accepted documents are sound: every format that can write them reads them again.
            for &to in Format::ALL.iter().filter(|f| f.can_write()) {
                let mut out = Vec::new();
                if to.write(&document, &mut out).is_ok() {
                    let out = String::from_utf8(out).unwrap();
                    let again = to.read(&out);
                    prop_assert!(again.is_ok(), "{} wrote what it does not read: {}\n{}", to, again.unwrap_err(), out);
                }
            }
        }
        feed(&text);
    }

    #[test]
    fn random_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        feed(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_scraps_are_survived(which in prop::collection::vec(0..SCRAPS.len(), 0..40), head in "[a-z{<0-9]{0,8}") {
        let scraps: String = which.into_iter().map(|i| SCRAPS[i]).collect();
        feed(&format!("{head}{scraps}"));
    }
}
