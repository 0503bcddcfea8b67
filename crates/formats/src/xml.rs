//! Pulling elements out of XML: bounded depth, no entities but the predefined ones, errors with
//! line and column.

use crate::error::{FormatError, Result};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::borrow::Cow;

/// Deepest nesting that is followed; real documents stay below ten.
const MAX_DEPTH: usize = 128;

/// Next part of a document.
pub(crate) enum Node<'a> {
    /// An element begins; its [`Close`](Node::Close) follows even when it is empty.
    Open(Element<'a>),
    /// The innermost open element ends.
    Close,
    /// Characters between elements, references resolved.
    Text(Cow<'a, str>),
    /// The document ends.
    End,
}

/// The beginning of an element.
pub(crate) struct Element<'a> {
    start: BytesStart<'a>,
    text: &'a str,
    at: usize,
}

impl<'a> Element<'a> {
    /// Its name without a namespace prefix.
    pub(crate) fn name(&self) -> &str {
        self.start.local_name().into_inner()
    }

    /// Offset of its beginning in the document, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Calls `take` with every attribute: name without prefix, value with references resolved.
    pub(crate) fn attributes(
        &self,
        mut take: impl FnMut(&str, Cow<'_, str>) -> Result<()>,
    ) -> Result<()> {
        // The duplicate check of the library takes quadratic time.
        for attribute in self.start.attributes().with_checks(false) {
            let attribute = attribute.map_err(|e| self.error(e))?;
            let value =
                attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|e| self.error(e))?;
            take(attribute.key.local_name().into_inner(), value)?;
        }
        Ok(())
    }

    /// An error at this element.
    pub(crate) fn error(&self, message: impl std::fmt::Display) -> FormatError {
        FormatError::at_offset(self.text, self.at, message)
    }
}

/// A reader of one document.
pub(crate) struct Xml<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    depth: usize,
    at: usize,
    close_pending: bool,
}

impl<'a> Xml<'a> {
    /// Starts at the beginning of a text.
    pub(crate) fn new(text: &'a str) -> Xml<'a> {
        Xml { text, reader: Reader::from_str(text), depth: 0, at: 0, close_pending: false }
    }

    /// The next node; comments, declarations and processing instructions are passed over.
    pub(crate) fn next(&mut self) -> Result<Node<'a>> {
        if std::mem::take(&mut self.close_pending) {
            return Ok(Node::Close);
        }
        loop {
            self.at = self.reader.buffer_position() as usize;
            let event = match self.reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    let at = self.reader.error_position() as usize;
                    return Err(FormatError::at_offset(self.text, at, format!("not XML: {error}")));
                }
            };
            match event {
                Event::Start(start) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(self.error(format!("nested deeper than {MAX_DEPTH} elements")));
                    }
                    return Ok(Node::Open(self.element(start)));
                }
                Event::Empty(start) => {
                    self.close_pending = true;
                    return Ok(Node::Open(self.element(start)));
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Node::Close);
                }
                Event::Text(text) => return Ok(Node::Text(text.xml10_content())),
                Event::CData(text) => return Ok(Node::Text(text.xml10_content())),
                Event::GeneralRef(reference) => {
                    if let Some(c) = reference.resolve_char_ref().map_err(|e| self.error(e))? {
                        return Ok(Node::Text(Cow::Owned(c.to_string())));
                    }
                    return match quick_xml::escape::resolve_predefined_entity(&reference) {
                        Some(text) => Ok(Node::Text(Cow::Borrowed(text))),
                        None => Err(self.error(format!("unknown entity '&{};'", &*reference))),
                    };
                }
                Event::DocType(declaration) => {
                    if declaration.contains("<!") {
                        return Err(self
                            .error("a DOCTYPE with declarations is not read")
                            .with_help("remove the part in [brackets] after <!DOCTYPE"));
                    }
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Eof if self.depth > 0 => {
                    return Err(self.error("the document ends inside an element"));
                }
                Event::Eof => return Ok(Node::End),
            }
        }
    }

    fn element(&self, start: BytesStart<'a>) -> Element<'a> {
        Element { start, text: self.text, at: self.at }
    }

    /// Passes over the rest of the element that was opened last.
    pub(crate) fn skip(&mut self) -> Result<()> {
        let mut open = 1;
        while open > 0 {
            match self.next()? {
                Node::Open(_) => open += 1,
                Node::Close => open -= 1,
                Node::Text(_) => {}
                Node::End => return Err(self.error("the document ends inside an element")),
            }
        }
        Ok(())
    }

    /// The text of the element that was opened last, up to its end; `inner` returns the text that replaces an
    /// element inside it.
    pub(crate) fn content(
        &mut self,
        mut inner: impl FnMut(&Element<'a>) -> Result<String>,
    ) -> Result<String> {
        let mut content = String::new();
        loop {
            match self.next()? {
                Node::Open(element) => {
                    content.push_str(&inner(&element)?);
                    self.skip()?;
                }
                Node::Text(text) => content.push_str(&text),
                Node::Close => return Ok(content),
                Node::End => return Err(self.error("the document ends inside an element")),
            }
        }
    }

    /// An error at the node read last.
    pub(crate) fn error(&self, message: impl std::fmt::Display) -> FormatError {
        FormatError::at_offset(self.text, self.at, message)
    }
}

/// The name of the first element of a text that is XML.
pub(crate) fn root_name(text: &str) -> Option<String> {
    if !text.trim_start().starts_with('<') {
        return None;
    }
    let mut xml = Xml::new(text);
    loop {
        match xml.next().ok()? {
            Node::Open(element) => return Some(element.name().to_string()),
            Node::Text(_) => {}
            Node::Close | Node::End => return None,
        }
    }
}

/// Escapes a text for an attribute's quotes or between elements. XML cannot hold control characters other than
/// tab and line ends, not even by number: they are the error.
pub(crate) fn escaped(raw: &str) -> Result<Cow<'_, str>> {
    let plain = |b: u8| b >= b' ' && !matches!(b, b'<' | b'>' | b'&' | b'"' | b'\'' | 0x7f);
    let special = raw.contains(['\u{fffe}', '\u{ffff}']);
    if raw.bytes().all(plain) && !special {
        return Ok(Cow::Borrowed(raw));
    }
    let mut text = String::with_capacity(raw.len() + 16);
    for c in raw.chars() {
        match c {
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '&' => text.push_str("&amp;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&apos;"),
            '\n' => text.push_str("&#10;"),
            '\t' => text.push_str("&#9;"),
            '\r' => text.push_str("&#13;"),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                let message = format!("XML cannot hold the character {c:?} of {raw:?}");
                return Err(FormatError::new(message));
            }
            c => text.push(c),
        }
    }
    Ok(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_text(source: &str) -> Result<String> {
        let mut xml = Xml::new(source);
        let mut text = String::new();
        loop {
            match xml.next()? {
                Node::Text(part) => text.push_str(&part),
                Node::End => return Ok(text),
                Node::Open(element) => element.attributes(|_, value| {
                    text.push_str(&value);
                    Ok(())
                })?,
                Node::Close => {}
            }
        }
    }

    #[test]
    fn escapes_survive() {
        let raw = "a<b>&\"c'\nd\te\r — é";
        let text = escaped(raw).unwrap();
        assert_eq!(
            all_text(&format!("<x y=\"{text}\">{text}</x>")).unwrap(),
            format!("{raw}{raw}")
        );
        assert!(escaped("\u{1}").is_err());
    }

    #[test]
    fn entities_depth_and_truncation_are_errors() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        assert!(all_text(bomb).unwrap_err().to_string().contains("DOCTYPE"));
        let error = all_text("<a>\n  &c;</a>").unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 3: unknown entity '&c;'");
        assert!(all_text("<a b='&c;'/>").is_err());
        assert!(all_text(&"<a>".repeat(100_000)).unwrap_err().to_string().contains("deeper"));
        for cut in ["<a>", "<a", "<a><b></a>", "<a x='", "<!-- x", "</a>", "<a>&lt"] {
            assert!(all_text(cut).is_err(), "{cut}");
        }
        assert_eq!(all_text("<!DOCTYPE a SYSTEM 'x.dtd'><a>&#65;&lt;</a>").unwrap(), "A<");
    }
}
