//! The SVG canvas that all pictures share: fonts, light and dark background, text.

use crate::chart::Category;
use crate::palette;
use crate::text::{coordinate, fit, grouped, push_escaped, width};
use std::fmt::Write;

/// Space around everything.
pub(crate) const MARGIN: f64 = 20.0;

const TITLE: Type = Type { class: "ink head", size: 17.0, anchor: Anchor::Start };
const FACTS: Type = Type { class: "dim", size: 12.5, anchor: Anchor::Start };
const LEGEND: Type = Type { class: "ink", size: 11.5, anchor: Anchor::Start };

const STYLE: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\
.bg{fill:#fff}.ink{fill:#1f2328}.dim{fill:#59636e}.band{fill:#f5f7f9}\
.grid{stroke:#dfe4e9}.rule{stroke:#b4bcc5}.end{stroke:#1f2328}.bound{stroke:#0a7d4f}\
.bt{fill:#0a7d4f}.alarm{stroke:#c62839}.at{fill:#c62839}.wire{stroke:#59636e;fill:none}\
.head{font-weight:600}.pale{fill-opacity:.3}.down{fill:#ccd2d9}.hatch{stroke:#59636e}\
.undo{stroke:#9a6700}.snap{stroke:#c62839;stroke-dasharray:3 2}.plan{stroke:#6639ba;fill:none}\
.pt{fill:#6639ba}.course{fill:#7c93ab}\
@media (prefers-color-scheme:dark){.bg{fill:#0f1419}.ink{fill:#e6edf3}.dim{fill:#9aa4af}\
.band{fill:#171d24}.grid{stroke:#2b333c}.rule{stroke:#4a545f}.end{stroke:#e6edf3}\
.bound{stroke:#4cc38a}.bt{fill:#4cc38a}.alarm{stroke:#ff7b87}.at{fill:#ff7b87}\
.wire{stroke:#9aa4af}.down{fill:#343d47}.hatch{stroke:#9aa4af}.undo{stroke:#d4a72c}\
.snap{stroke:#ff7b87}.plan{stroke:#b083f0}.pt{fill:#b083f0}.course{fill:#5b7288}}";

/// The position of a text relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text style: class, size in pixels, anchor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    pub(crate) class: &'static str,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
}

/// The heading of a picture.
pub(crate) struct Heading<'a> {
    pub(crate) title: &'a str,
    pub(crate) facts: &'a [String],
    pub(crate) categories: &'a [Category],
    pub(crate) ordered: bool,
    pub(crate) width: f64,
}

/// An SVG picture being drawn.
pub(crate) struct Canvas {
    pub(crate) body: String,
    style: String,
}

impl Canvas {
    pub(crate) fn new() -> Canvas {
        Canvas { body: String::new(), style: STYLE.to_string() }
    }

    /// Title, facts and legend; gives the height they took. Category `i` gets the class `ki` for
    /// shapes and `ti` for text on them.
    pub(crate) fn heading(&mut self, heading: &Heading<'_>) -> f64 {
        let mut y = MARGIN;
        let room = heading.width - 2.0 * MARGIN;
        if !heading.title.is_empty() {
            y += 15.0;
            let title = fit(heading.title, room / TITLE.size).unwrap_or_default();
            self.text(MARGIN, y, TITLE, &title);
            y += 5.0;
        }
        if !heading.facts.is_empty() {
            y += 15.0;
            let facts = heading.facts.join("  ·  ");
            self.text(MARGIN, y, FACTS, &fit(&facts, room / FACTS.size).unwrap_or_default());
            y += 7.0;
        }
        y + self.legend(heading, y)
    }

    fn legend(&mut self, heading: &Heading<'_>, top: f64) -> f64 {
        let (mut x, mut y) = (MARGIN, top + 14.0);
        for (index, category) in heading.categories.iter().enumerate() {
            let count = heading.categories.len();
            let colour = palette::of(index, count, heading.ordered, category.rest);
            let ink = if colour.dark { "#fff" } else { "#16191d" };
            let _ =
                write!(self.style, ".k{index}{{fill:#{:06x}}}.t{index}{{fill:{ink}}}", colour.rgb);
            let mut name = fit(&category.name, 26.0).unwrap_or_default();
            if category.count > 1 {
                let _ = write!(name, " ({})", grouped(category.count));
            }
            let needed = 16.0 + width(&name) * LEGEND.size + 12.0;
            if x + needed > heading.width - MARGIN && x > MARGIN {
                x = MARGIN;
                y += 18.0;
            }
            let _ = writeln!(
                self.body,
                "<rect class=\"k{index}\" x=\"{}\" y=\"{}\" width=\"11\" height=\"11\" rx=\"2.5\"/>",
                coordinate(x),
                coordinate(y - 9.5)
            );
            self.text(x + 16.0, y, LEGEND, &name);
            x += needed;
        }
        y + 10.0 - top
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, style: Type, text: &str) {
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = write!(
            self.body,
            "<text class=\"{}\" x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}>",
            style.class,
            coordinate(x),
            coordinate(y),
            coordinate(style.size),
        );
        push_escaped(&mut self.body, text);
        self.body.push_str("</text>\n");
    }

    pub(crate) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let [x, y, width, height] = [x, y, width, height].map(coordinate);
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    pub(crate) fn line(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
        let _ = writeln!(self.body, "<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>");
    }

    /// The whole document.
    pub(crate) fn finish(self, width: f64, height: f64, title: &str) -> String {
        let (w, h) = (coordinate(width.ceil()), coordinate(height.ceil()));
        let mut out = String::with_capacity(self.body.len() + self.style.len() + 400);
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\" role=\"img\">\n<title>"
        );
        push_escaped(&mut out, title);
        let _ = write!(out, "</title>\n<style>{}</style>\n", self.style);
        let _ = writeln!(out, "<rect class=\"bg\" width=\"{w}\" height=\"{h}\"/>");
        out.push_str(&self.body);
        out.push_str("</svg>\n");
        out
    }
}
