//! The width of text, shortening, and escapes for XML.

use slackline_model::names::printable;
use std::fmt::Write;

/// Approximate width of a text in a sans-serif font, in units of the font size. It rather overestimates, because the
/// font depends on the viewer.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | '\u{2009}' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | ' ' | '-' | '·' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '…' | '%' => 0.97,
        'A'..='Z' | '_' => 0.70,
        c if c.is_ascii() => 0.63,
        _ => 1.0,
    }
}

/// The text shortened to a width in units of the font size, by an ellipsis in the middle: the ends of task names
/// distinguish them best. `None` when fewer than three letters fit.
pub(crate) fn fit(text: &str, room: f64) -> Option<String> {
    if width(text) <= room {
        return (!text.is_empty()).then(|| text.to_string());
    }
    let chars: Vec<char> = text.chars().collect();
    let mut room = room - char_width('…');
    let (mut head, mut tail) = (0, 0);
    while head + tail < chars.len() {
        let from_head = head <= tail;
        let c = if from_head { chars[head] } else { chars[chars.len() - 1 - tail] };
        room -= char_width(c);
        if room < 0.0 {
            break;
        }
        if from_head { head += 1 } else { tail += 1 }
    }
    (head + tail >= 3).then(|| joined(&chars, head, tail))
}

/// The text shortened to a number of terminal columns, by an ellipsis in the middle.
pub(crate) fn fit_columns(text: &str, columns: usize) -> String {
    let text = &*printable(text);
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= columns {
        return text.to_string();
    }
    if columns < 3 {
        return chars[..columns].iter().collect();
    }
    let kept = columns - 1;
    joined(&chars, kept.div_ceil(2), kept / 2)
}

fn joined(chars: &[char], head: usize, tail: usize) -> String {
    let mut text: String = chars[..head].iter().collect();
    text.push('…');
    text.extend(&chars[chars.len() - tail..]);
    text
}

/// A range of names such as `node-8 … 12`: the common prefix of numbered names appears once.
pub(crate) fn span_of(first: &str, last: &str) -> String {
    let stem = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (head, rest) = last.split_at(stem(last));
    let numbered = !rest.is_empty() && stem(first) == head.len() && first.starts_with(head);
    format!("{first} … {}", if numbered { rest } else { last })
}

/// Appends a text with reserved characters of XML escaped and forbidden ones removed.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(' '),
            c if (c as u32) < 0x20 || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
}

/// A text for XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_escaped(&mut out, text);
    out
}

/// A coordinate in pixels with at most one decimal, which is finer than visible.
pub(crate) fn coordinate(value: f64) -> String {
    let mut text = String::new();
    let _ = write!(text, "{value:.1}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    if text == "-0" { "0".to_string() } else { text }
}

/// A count with thin spaces between thousands, from five digits on.
pub(crate) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            out.push('\u{2009}');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_common_prefix_once() {
        assert_eq!(span_of("node-8", "node-12"), "node-8 … 12");
        assert_eq!(span_of("node-8", "other-12"), "node-8 … other-12");
        assert_eq!(span_of("a", "b"), "a … b");
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(fit_columns("mProjectPP_ID00042", 9), "mPro…0042");
        assert_eq!(fit_columns("short", 9), "short");
        assert_eq!(fit_columns("xyz", 2), "xy");
        assert_eq!(fit("task", 10.0).as_deref(), Some("task"));
        assert_eq!(fit("task", 1.0), None);
        assert_eq!(fit("", 10.0), None);
        let cut = fit("mProjectPP_ID00042", 5.0).unwrap();
        assert!(cut.contains('…') && width(&cut) <= 5.0, "{cut}");
    }

    #[test]
    fn xml_and_numbers() {
        assert_eq!(escaped("a<b>&\"\u{1}\n"), "a&lt;b&gt;&amp;&quot; ");
        assert_eq!(coordinate(12.04), "12");
        assert_eq!(coordinate(-0.01), "0");
        assert_eq!(coordinate(3.25), "3.2");
        assert_eq!(grouped(12345), "12\u{2009}345");
        assert_eq!(grouped(1234), "1234");
    }
}
