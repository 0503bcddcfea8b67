//! Texts on their way to a terminal.

use slackline_model::names::printable_lines;
use std::borrow::Cow;

/// A text as a terminal may get it: names that came from files are only names. Our own colours
/// pass where there are any.
pub fn shown(text: &str, colour: bool) -> Cow<'_, str> {
    if !colour {
        return printable_lines(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('\x1b');
    out.push_str(&printable_lines(parts.next().unwrap_or_default()));
    for part in parts {
        let style = part.strip_prefix('[').and_then(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            rest[end..].starts_with('m').then_some(end + 2)
        });
        match style {
            Some(end) => {
                out.push('\x1b');
                out.push_str(&part[..end]);
                out.push_str(&printable_lines(&part[end..]));
            }
            None => {
                out.push_str("\\u{1b}");
                out.push_str(&printable_lines(part));
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn only_colours_pass() {
        assert_eq!(shown("\x1b[1mbold\x1b[0m\n", true), "\x1b[1mbold\x1b[0m\n");
        assert_eq!(shown("\x1b[1mbold", false), "\\u{1b}[1mbold");
        assert_eq!(shown("a\x1b[2Jb\x1b]0;t\x07", true), "a\\u{1b}[2Jb\\u{1b}]0;t\\u{7}");
    }
}
